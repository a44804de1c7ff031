"""Text in columns, each wrapped within its own."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual

GAP = 2


class Line(NamedTuple):
    """A line: what stands in the columns, and what comes after them."""

    heads: str
    last: str


class Columns(Visual):
    """Rows of texts: bold heads in columns of these widths, the last text in what is left.

    It is laid out once for each width: a table of Rich's takes several times as long, each time.
    """

    def __init__(self, rows: Iterable[Sequence[str]], *widths: int) -> None:
        self.rows, self.widths = tuple(rows), widths
        self.laid_out: dict[int, list[Line]] = {}

    def lines(self, width: int) -> list[Line]:
        """The rows at a width."""
        if width not in self.laid_out:
            self.laid_out[width] = [line for row in self.rows for line in self.lay_out(row, width)]
        return self.laid_out[width]

    def lay_out(self, row: Sequence[str], width: int) -> Iterator[Line]:
        """A row at a width."""
        rest = max(width - sum(self.widths) - GAP * len(self.widths), 1)
        cells = [wrapped(text, room) for text, room in zip(row, (*self.widths, rest), strict=True)]
        for *heads, last in zip_longest(*cells, fillvalue=""):
            yield Line("".join(map(padded, heads, self.widths)), last)

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """All there is."""
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:
        """The lines at a width."""
        return len(self.lines(width))

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        """The lines, drawn."""
        plain, bold = style.rich_style, (style + Style(bold=True)).rich_style
        return [
            Strip([Segment(line.heads, bold), Segment(line.last, plain)])
            for line in self.lines(width)[:height]
        ]


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines of a width; its own line breaks stay."""
    return [line for part in text.split("\n") for line in textwrap.wrap(part, width) or [""]]


def shortened(text: str, most: int) -> str:
    """A text cut to so many columns, the cut made visible."""
    if cell_len(text) <= most:
        return text
    return f"{set_cell_size(text, most - 1)}…" if most > 0 else ""


def fitted(text: str, width: int) -> str:
    """A text in exactly so many columns."""
    words = shortened(text, width)
    return words + " " * (width - cell_len(words))


def padded(text: str, width: int) -> str:
    """A text and blanks up to the next column."""
    return text + " " * (width + GAP - cell_len(text))
