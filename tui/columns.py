"""Text in columns, each wrapped within its own."""

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text


def columns(rows: Iterable[Sequence[str]], *widths: int) -> Table:
    """Rows of texts: bold heads in columns of these widths, the last text in what is left."""
    grid = Table.grid(padding=(0, 2, 0, 0), expand=True)
    for width in widths:
        grid.add_column(width=width)
    grid.add_column(ratio=1)
    for *heads, last in rows:
        grid.add_row(*(Text(head, "bold") for head in heads), Text(last))
    return grid
