"""A menu over a page."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from mlx_gpt.terminal import visible
from tui.columns import Columns
from tui.keymap import bind
from tui.screens.dialogs import Dialog
from tui.widgets.keybar import KeyBar
from tui.widgets.words import Words

NAME_WIDTH = 18


class Item(NamedTuple):
    """Something to pick: its name, and what it is."""

    name: str
    words: str


class Menu(OptionList, inherit_bindings=False):
    """The items; the keys have names in both languages."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bind("menu.pick", "enter", "select"),
        bind("menu.up", "up,k", "cursor_up"),
        bind("menu.down", "down,j", "cursor_down"),
        bind("menu.page_up", "pageup", "page_up", show=False),
        bind("menu.page_down", "pagedown", "page_down", show=False),
        bind("menu.first", "home", "first", show=False),
        bind("menu.last", "end", "last", show=False),
    ]


class Pick(Dialog[str | None]):
    """Asks for one of several things."""

    BINDINGS: ClassVar[list[BindingType]] = [bind("ask.cancel", "escape", "cancel")]

    def __init__(self, title: str, items: Sequence[Item]) -> None:
        super().__init__()
        self.heading, self.items = title, tuple(items)

    def compose(self) -> ComposeResult:
        """The title and the items."""
        with Vertical(classes="dialog pick"):
            yield Words(text=visible(self.heading))
            yield Menu(
                *(Option(item_text(item), id=item.name) for item in self.items), markup=False
            )
        yield KeyBar()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """This one."""
        event.stop()
        self.dismiss(event.option_id)

    def action_cancel(self) -> None:
        """Leave without an answer."""
        self.dismiss(None)


def item_text(item: Item) -> Columns:
    """An item: its name, and beside it what it is."""
    return Columns([(item.name, visible(item.words))], NAME_WIDTH)
