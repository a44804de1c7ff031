"""The table of runs, with keys that have names in both languages."""

from typing import ClassVar

from rich.text import Text
from textual.binding import BindingType
from textual.widgets import DataTable

from tui.keymap import bind


class RunTable(DataTable[Text], inherit_bindings=False):
    """Rows of runs; Enter opens one, Space marks one."""

    topic = "help.table"
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("table.open", "enter", "select_cursor"),
        bind("table.up", "up", "cursor_up", show=False),
        bind("table.down", "down", "cursor_down", show=False),
        bind("table.page_up", "pageup", "page_up", show=False),
        bind("table.page_down", "pagedown", "page_down", show=False),
        bind("table.top", "home", "scroll_top", show=False),
        bind("table.bottom", "end", "scroll_bottom", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(cursor_type="row", cell_padding=0, id="table")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enter needs a run to open."""
        return None if action == "select_cursor" and not self.row_count else True
