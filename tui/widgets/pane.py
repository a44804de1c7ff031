"""A part of a page that shows text and scrolls."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content

from tui.keymap import bind
from tui.widgets.words import Words

FRAME = 4  # the columns that a pane takes beside its text
BAR = 1


class Pane(VerticalScroll, inherit_bindings=False):
    """Text under a title."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bind("pane.up", "up", "scroll_up", show=False),
        bind("pane.down", "down", "scroll_down", show=False),
        bind("pane.page_up", "pageup", "page_up", show=False),
        bind("pane.page_down", "pagedown", "page_down", show=False),
        bind("pane.top", "home", "scroll_home", show=False),
        bind("pane.bottom", "end", "scroll_end", show=False),
    ]

    def __init__(self, name: str, topic: str, *, at_end: bool = False) -> None:
        super().__init__(id=name, classes="pane")
        self.at_end = at_end
        self.topic = topic
        self.shown = Content("")
        self.text = Words()

    def compose(self) -> ComposeResult:
        """The text."""
        yield self.text

    def on_mount(self) -> None:
        """A text that grows at its end stays scrolled to it until someone scrolls up."""
        self.anchor(self.at_end)

    @property
    def line(self) -> int:
        """The columns of a line, beside the scrollbar that may come."""
        return max(self.outer_size.width - FRAME - BAR, 0)

    def show(self, title: str, content: Content) -> None:
        """Another text."""
        if self.border_title != title:
            self.border_title = Content(title)
        self.shown = content
        self.text.update(content)
