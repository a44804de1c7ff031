"""A pane whose text depends on its size, and in whose tables a cell can be pointed at."""

from dataclasses import dataclass
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message

from tui.keymap import bind
from tui.widgets.pane import Pane


class ViewPane(Pane):
    """Tells its page when it has another size, and where the arrow keys go."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bind("cell.left", "left", "point(0, -1)"),
        bind("cell.right", "right", "point(0, 1)"),
        bind("cell.up", "up", "point(-1, 0)"),
        bind("cell.down", "down", "point(1, 0)"),
    ]
    cells = False  # whether there is a table; a text only scrolls, up and down

    class Sized(Message):
        """The pane has another size."""

    @dataclass
    class Moved(Message):
        """An arrow key was pressed: so many rows down, so many columns to the right."""

        rows: int
        columns: int

    def on_resize(self) -> None:
        """Another size: what is shown may have to be drawn again."""
        self.post_message(self.Sized())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A text has nothing to its sides."""
        return action != "point" or self.cells or parameters[1] == 0

    def action_point(self, rows: int, columns: int) -> None:
        """Another cell, or another part of the text."""
        self.post_message(self.Moved(rows, columns))
