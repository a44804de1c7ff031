"""What every screen of the app has: the top bar, its body, the key bar, and its manners."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.css.query import NoMatches
from textual.keys import key_to_character
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from mlx_gpt.errors import UserError
from mlx_gpt.language import say
from mlx_gpt.terminal import visible
from tui.cards import Card, word_card
from tui.i18n import known, t
from tui.keymap import bind
from tui.widgets.keybar import KeyBar
from tui.widgets.topbar import TopBar
from tui.widgets.tour_bar import TourBar

if TYPE_CHECKING:
    from tui.app import MlxGptApp

SMALLEST = (80, 24)
WIDE = 110  # columns from which there is room side by side
TALL = 34


def translated(
    bindings: dict[str, ActiveBinding], said_as: Callable[[str], str] = str
) -> dict[str, ActiveBinding]:
    """The bindings in the language of the moment, each with the words of what it does now."""
    result = {}
    for key, active in bindings.items():
        binding = active.binding
        name = said_as(binding.id or "")
        if known(f"key.{name}"):
            plain = type(binding)(
                binding.key,
                binding.action,
                description=t(f"key.{name}"),
                show=binding.show,
                key_display=binding.key_display,
                priority=binding.priority,
                tooltip=t(f"tip.{name}"),
                id=binding.id,
            )
            active = ActiveBinding(active.node, plain, active.enabled, plain.tooltip)
        result[key] = active
    return result


def reachable(screen: Screen[Any], bindings: dict[str, ActiveBinding]) -> dict[str, ActiveBinding]:
    """The bindings without those whose keys the focused line takes as text."""
    line = screen.focused
    if line is None:
        return bindings
    return {
        key: active
        for key, active in bindings.items()
        if not line.check_consume_key(key, typed(screen, active.binding))
    }


def typed(screen: Screen[Any], binding: Binding) -> str | None:
    """The character that a key types, if it types one."""
    display = screen.app.get_key_display(binding)
    sign = display if len(display) == 1 and display.isascii() else None
    return key_to_character(binding.key) or sign


class TooSmall(Widget):
    """The sentence that stands in place of everything in a terminal too small for it."""

    def render(self) -> Content:
        """The sentence."""
        width, height = self.app.size
        return Content(t("app.too_small", width=width, height=height))


class Bare(Screen[None]):
    """An empty screen that comes up without every style sheet being parsed once more."""

    def __init__(self) -> None:
        super().__init__()
        # Its parts are styled as they are built; Textual parses all sheets where this differs.
        self._css_update_count = self.app._css_update_count


class Page(Bare):
    """A screen of the app; subclasses give `NAME`, `topic`, `body` and what else they need."""

    NAME: ClassVar[str] = ""
    AUTO_FOCUS: ClassVar[str | None] = ""  # the first part may be a line, which would take a key
    topic = ""  # key of the help in the catalogues
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("page.next", "tab", "app.focus_next", show=False),
        bind("page.previous", "shift+tab", "app.focus_previous", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.language = say.language
        self.begun = False
        self.put_away: Widget | None = None  # had the focus when the terminal became too small
        self.parts: list[Widget] = []

    def on_mount(self) -> None:
        """From here on the parts of the page are there."""
        self.begun = True
        self.parts = list(self.walk_children(Widget))

    def ticked(self) -> bool:
        """A tick, unless the page is not there yet, or is being taken down part by part."""
        try:
            return self.begun and self.tick()
        except NoMatches:
            if all(part.is_attached for part in self.parts):
                raise
            return False

    @property
    def ours(self) -> "MlxGptApp":
        """The app, by its own type."""
        return cast("MlxGptApp", self.app)

    def compose(self) -> ComposeResult:
        """Top bar, body, the line of the tour, key bar."""
        yield TopBar()
        with Vertical(id="body"):
            yield from self.body()
        yield TourBar()
        yield KeyBar()
        yield TooSmall()

    def body(self) -> ComposeResult:
        """What this page shows between the bars."""
        yield Static()

    def on_resize(self) -> None:
        """Too small a terminal shows one sentence; what had the focus before has it afterwards."""
        width, height = self.app.size
        small = width < SMALLEST[0] or height < SMALLEST[1]
        if small and not self.has_class("-too-small"):
            self.put_away = self.focused
        self.set_class(small, "-too-small")
        if not small and self.focused is None and self.put_away is not None:
            self.call_after_refresh(self.set_focus, self.put_away)

    def tick(self) -> bool:
        """Look for what is new, a slice at a time; whether more is waiting."""
        return False

    def say_again(self) -> None:
        """Say everything in the language of the moment."""
        self.language = say.language
        self.retranslate()
        self.refresh_bindings()
        for widget in self.walk_children(Widget):
            widget.refresh(layout=True)

    def retranslate(self) -> None:
        """Renew the words that widgets keep; what is drawn anew each time needs nothing."""

    def on_screen_resume(self) -> None:
        """What is built ahead is told so too, though nobody sees it yet."""
        if self.is_current:
            self.come_back()

    def come_back(self) -> None:
        """Be on top, perhaps after a change of language."""
        if self.begun and self.language != say.language:
            self.say_again()
        self.ticked()
        self.ours.tell_about(self)

    def own_words(self) -> Sequence[str]:
        """What the cards of this page explain before the words of the field."""
        return ()

    def word_in_hand(self) -> str:
        """What a card explains first: whatever the keys of the page act on now."""
        return ""

    def card(self, word: str) -> Card:
        """The card of a word."""
        return word_card(word)

    def command_line(self) -> str:
        """The command that does what this page shows."""
        return "mlx-gpt tui"

    def shows_recorded(self) -> bool:
        """Whether the recorded run is part of what that command should do."""
        return self.ours.replaying

    def command_note(self) -> str:
        """What that command cannot tell of what the page shows; nothing where it tells all."""
        return ""

    @property
    def active_bindings(self) -> dict[str, ActiveBinding]:
        """The keys that act now, with their words in the language of the moment."""
        return reachable(self, self.bindings_in_words())

    def bindings_in_words(self) -> dict[str, ActiveBinding]:
        """Every binding of the page, with its words in the language of the moment."""
        return translated(super().active_bindings, self.said_as)

    def said_as(self, binding_id: str) -> str:
        """The name in the catalogues of what a binding does now; some act differently at times."""
        return binding_id

    def tell(self, text: str) -> None:
        """A passing note; text from outside is shown as it is."""
        self.app.notify(visible(text), markup=False)

    def refuse(self, error: UserError | str) -> None:
        """A passing refusal."""
        self.app.notify(visible(str(error)), severity="error", timeout=10, markup=False)
