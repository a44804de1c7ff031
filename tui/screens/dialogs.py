"""Small questions over a page: a line of text, or yes or no."""

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.binding import ActiveBinding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from mlx_gpt.errors import UserError
from mlx_gpt.terminal import visible
from tui.columns import Columns
from tui.i18n import t
from tui.keymap import bind
from tui.page import reachable, translated
from tui.widgets.keybar import KeyBar
from tui.widgets.line import Line
from tui.widgets.words import Words

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """A box in the middle of the screen; Escape leaves it without an answer."""

    @property
    def active_bindings(self) -> dict[str, ActiveBinding]:
        """The keys that act now, in the language of the moment."""
        return reachable(self, translated(super().active_bindings))


class Ask(Dialog[str | None]):
    """Asks for one line of text."""

    BINDINGS: ClassVar[list[BindingType]] = [bind("ask.cancel", "escape", "cancel")]

    def __init__(
        self, question: str, text: str = "", check: Callable[[str], object] | None = None
    ) -> None:
        super().__init__()
        self.question, self.text, self.check = visible(question), text, check

    def compose(self) -> ComposeResult:
        """The question and the line."""
        with Vertical(classes="dialog"):
            yield Words(text=self.question)
            yield Line("answer", self.text)
            yield Words("fault")
        yield KeyBar()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Answer, unless the text is refused."""
        event.stop()
        try:
            if self.check:
                self.check(event.value)
        except UserError as error:
            self.query_one("#fault", Words).update(visible(str(error)))
            return
        self.dismiss(event.value)

    def action_cancel(self) -> None:
        """Leave without an answer."""
        self.dismiss(None)


class Confirm(Dialog[bool]):
    """Asks for yes or no; only the letter for yes means yes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bind("ask.yes", "y,s", "yes"),
        bind("ask.no", "n,escape", "no"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self.question = visible(question)

    def compose(self) -> ComposeResult:
        """The question and how to answer."""
        with Vertical(classes="dialog"):
            yield Words(text=self.question)
            yield Words(text=t("ask.yes_or_no"))
        yield KeyBar()

    def action_yes(self) -> None:
        """Yes."""
        self.dismiss(True)

    def action_no(self) -> None:
        """No."""
        self.dismiss(False)


class Text(NamedTuple):
    """A title, and the parts below it."""

    title: str
    parts: Sequence[Content | Columns]


class Reading(Dialog[None]):
    """A text to read, told anew in another language; any of Escape, Enter, q or ? closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bind("reading.close", "escape,enter,q,question_mark,f1", "close"),
        bind("app.language", "L,f2", "language"),
    ]

    def __init__(self, told: Callable[[], Text]) -> None:
        super().__init__()
        self.told = told

    def compose(self) -> ComposeResult:
        """The text, scrollable."""
        text = self.told()
        with VerticalScroll(classes="reading") as box:
            box.border_title = Content(text.title)
            for part in text.parts:
                yield Static(part)
        yield KeyBar()

    async def action_language(self) -> None:
        """The text, and the page below, in the other language."""
        await self.app.run_action("language")
        await self.recompose()
        self.query_one(VerticalScroll).focus()

    def on_click(self, event: events.Click) -> None:
        """A click beside the box closes it."""
        if event.widget is self:
            self.dismiss(None)

    def action_close(self) -> None:
        """Back to the page."""
        self.dismiss(None)
