"""A line in which something is typed."""

from typing import ClassVar

from textual.binding import BindingType
from textual.widgets import Input

from tui.keymap import bind


class Line(Input):
    """A line of text; Enter takes it."""

    BINDINGS: ClassVar[list[BindingType]] = [bind("line.take", "enter", "submit")]

    def __init__(self, name: str, text: str = "", placeholder: str = "") -> None:
        super().__init__(text, placeholder, id=name, compact=True)
