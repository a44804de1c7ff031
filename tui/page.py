"""What every screen of the app has: the top bar, its body, the key bar, and its manners."""

from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import ActiveBinding
from textual.containers import Vertical
from textual.content import Content
from textual.css.query import NoMatches
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from mlx_gpt.errors import UserError
from mlx_gpt.language import say
from mlx_gpt.terminal import visible
from tui.i18n import known, t
from tui.widgets.keybar import KeyBar
from tui.widgets.topbar import TopBar

if TYPE_CHECKING:
    from tui.app import MlxGptApp

SMALLEST = (80, 24)
WIDE = 110  # columns from which there is room side by side
TALL = 34


def translated(bindings: dict[str, ActiveBinding]) -> dict[str, ActiveBinding]:
    """The bindings with their words in the language of the moment."""
    result = {}
    for key, active in bindings.items():
        words = f"key.{active.binding.id}"
        if active.binding.id and known(words):
            binding = active.binding
            plain = type(binding)(
                binding.key,
                binding.action,
                description=t(words),
                show=binding.show,
                key_display=binding.key_display,
                priority=binding.priority,
                tooltip=t(f"tip.{binding.id}"),
                id=binding.id,
            )
            active = ActiveBinding(active.node, plain, active.enabled, plain.tooltip)
        result[key] = active
    return result


class TooSmall(Widget):
    """The sentence that stands in place of everything in a terminal too small for it."""

    def render(self) -> Content:
        """The sentence."""
        width, height = self.app.size
        return Content(t("app.too_small", width=width, height=height))


class Page(Screen[None]):
    """A screen of the app; subclasses give `NAME`, `topic`, `body` and what else they need."""

    NAME: ClassVar[str] = ""
    topic = ""  # key of the help in the catalogues

    def __init__(self) -> None:
        super().__init__()
        self.language = say.language
        self.begun = False
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
        """Top bar, body, key bar."""
        yield TopBar()
        with Vertical(id="body"):
            yield from self.body()
        yield KeyBar()
        yield TooSmall()

    def body(self) -> ComposeResult:
        """What this page shows between the bars."""
        yield Static()

    def on_resize(self) -> None:
        """Too small a terminal shows one sentence."""
        width, height = self.app.size
        self.set_class(width < SMALLEST[0] or height < SMALLEST[1], "-too-small")

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
        """Come back to the top, perhaps after a change of language."""
        if self.begun and self.language != say.language:
            self.say_again()
        self.ticked()

    def command_line(self) -> str:
        """The command that does what this page shows."""
        return "mlx-gpt tui"

    @property
    def active_bindings(self) -> dict[str, ActiveBinding]:
        """The keys that act now, with their words in the language of the moment."""
        return translated(super().active_bindings)

    def key_of(self, binding_id: str) -> str:
        """The key of a binding as it is now, remapped or not."""
        for active in self.active_bindings.values():
            if active.binding.id == binding_id:
                return self.app.get_key_display(active.binding)
        return ""

    def tell(self, text: str) -> None:
        """A passing note; text from outside is shown as it is."""
        self.app.notify(visible(text), markup=False)

    def refuse(self, error: UserError | str) -> None:
        """A passing refusal."""
        self.app.notify(visible(str(error)), severity="error", timeout=10, markup=False)
