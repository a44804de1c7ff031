"""A card over a page: what is in hand in a few lines, and beside it the page's other words."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content

from tui.cards import card_text
from tui.keymap import bind
from tui.page import Page
from tui.screens.dialogs import Dialog
from tui.screens.help import WORDS, help_for
from tui.widgets.keybar import KeyBar
from tui.widgets.words import Words


class Cards(Dialog[None]):
    """One card at a time, beginning with what is in hand."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bind("card.back", "left,k", "turn(-1)"),
        bind("card.next", "right,j", "turn(1)"),
        bind("card.help", "question_mark,f1", "help"),
        bind("card.close", "escape,enter,i,q", "close"),
        bind("app.language", "L,f2", "language"),
    ]

    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page = page
        self.words = [*page.own_words(), *WORDS.get(page.NAME, ())]
        held = page.word_in_hand()
        self.at = self.words.index(held) if held in self.words else 0

    def compose(self) -> ComposeResult:
        """The box of the card."""
        with Vertical(classes="dialog"):
            yield Words("card")
        yield KeyBar()

    def on_mount(self) -> None:
        """The first card."""
        self.action_turn(0)

    def action_turn(self, move: int) -> None:
        """The next card, or the one before."""
        self.at = (self.at + move) % len(self.words)
        card = self.page.card(self.words[self.at])
        box = self.query_one(Vertical)
        box.border_title = Content(card.name)
        box.border_subtitle = f"{self.at + 1}/{len(self.words)}"
        self.query_one("#card", Words).update(card_text(card))

    async def action_language(self) -> None:
        """The card, and the page below, in the other language."""
        await self.app.run_action("language")
        self.action_turn(0)
        self.refresh_bindings()

    def action_help(self) -> None:
        """The help of the page in the place of the card."""
        self.app.switch_screen(help_for(self.page))

    def action_close(self) -> None:
        """Back to the page."""
        self.dismiss(None)
