"""The app: five pages over the run folders, in two languages.

How it hangs together, for whoever adds a part:

- A page is a `Page` (tui/page.py) in tui/screens/, reached by `App.MODES`; it gives `NAME`, `topic`
  (a key of the catalogues), `BINDINGS`, `body()`, `tick()`, `retranslate()` and `command_line()`.
  The top bar, the key bar, the sentence for small terminals and the help come from `Page`.
- Words come from `t("key")` (tui/i18n); every key is in en.py and es.py. A text names what to press
  as `{press[train.stop]}`. Anything that keeps words (a column, a placeholder, a border title) is
  said again in `retranslate()`.
- A binding is `bind("page.action", "keys", "action")`; the catalogues hold `key.page.action` (its
  name, at most 12 letters) and `tip.page.action` (a sentence). `MlxGptApp.action_*` are for all
  pages. A widget explains itself by a class attribute `topic`, a key `help.NAME` of the catalogues
  with its name under `topic.NAME`; the words of the field are `word.*` and `gloss.*`, a formula
  and then its meaning, and each is a card (`Page.word_in_hand`, `Page.card`).
- Keys that cannot act now are told by `check_action` (None: explained in the help, not shown).
- A passing note (`tell`, `refuse`) takes the place of the one before.
- The app ticks four times a second and only the page on top: `tick()` reads what is new in slices
  and returns whether more is waiting. Draw only what has changed.
- Curves come from `app.feed(run)` (tui/feed.py); nothing else parses a run folder. Commands go out
  by `mlx_gpt.run.send`. New trainings are processes of their own (tui/launch.py).
- What a user chooses for good (language, theme, marks) goes through `app.choose` (tui/choices.py).
- Text from outside goes through `mlx_gpt.terminal.visible` and is never parsed as markup.
- Colours are variables of the theme; what they say is also said by a sign or a number.
"""

import asyncio
import gc
import shlex
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, ReturnType, SystemCommand
from textual.binding import Binding, BindingType
from textual.command import CommandPalette
from textual.css.query import NoMatches
from textual.dom import DOMNode
from textual.notifications import Notify
from textual.screen import Screen
from textual.widgets import Input

from mlx_gpt.errors import UserError
from mlx_gpt.language import say
from mlx_gpt.power import Battery, read_battery
from mlx_gpt.run import Run, is_alive, list_runs
from mlx_gpt.terminal import visible
from tui import clipboard
from tui.choices import Choices, read_choices, write_choices
from tui.desktop import keep_awake
from tui.diagnosis import lower_rate
from tui.drain import Drain, is_low, warning_text
from tui.feed import Feed, last_written
from tui.i18n import KEYS, known, t
from tui.keymap import bind, keymap_path, keymap_text, lies_at, read_keymap, write_keymap
from tui.launch import Launch, at_root, demo_words, resume_words, shell
from tui.page import TALL, WIDE, Bare, Page
from tui.plot import MARKS, Marks
from tui.screens.dialogs import Ask
from tui.tour import STATIONS, station_text
from tui.widgets.status import MARKS as STATE_MARKS
from tui.widgets.topbar import PAGES, TopBar
from tui.widgets.tour_bar import TourBar

if TYPE_CHECKING:
    from tui.inside import Inside
    from tui.replay import Replay

TICK_SECONDS = 0.25
WIDTHS = [(0, "-narrow"), (WIDE, "-wide")]
HEIGHTS = [(0, "-short"), (TALL, "-tall")]
SOON_SECONDS = 0.005
ABOUT_SECONDS = 0.005
LOAD_SECONDS = 0.2
# In the order in which they are got ready after the first paint: screens, and pages by their mode.
LATER = ("help", "card", "side")
PAGES_LATER = ("sample", "trace", "runs", "new", "train")


def runs_page() -> Screen[None]:
    """The table of runs."""
    from tui.screens.runs import Runs

    return Runs()


def train_page() -> Screen[None]:
    """A run as it trains."""
    from tui.screens.train import Train

    return Train()


def sample_page() -> Screen[None]:
    """Talking to a model."""
    from tui.screens.sample import Sample

    return Sample()


def trace_page() -> Screen[None]:
    """Stepping through a model."""
    from tui.screens.trace import Trace

    return Trace()


def new_page() -> Screen[None]:
    """The form of a new run."""
    from tui.screens.new_run import NewRun

    return NewRun()


def side_page() -> Screen[None]:
    """Runs side by side."""
    from tui.screens.side import Side

    return Side()


class MlxGptApp(App[None]):
    """Watch it learn, talk to it, step through it."""

    CSS_PATH: ClassVar = ["app.tcss", "models.tcss"]
    TITLE = "mlx-gpt"
    DEFAULT_MODE = "start"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    MODES: ClassVar[dict[str, str | Callable[[], Screen[None]]]] = {
        "start": Bare,  # empty, and gone before it is seen: where to begin is decided later
        "runs": runs_page,
        "train": train_page,
        "sample": sample_page,
        "trace": trace_page,
        "new": new_page,
        "side": side_page,
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("app.help", "question_mark,f1", "help"),
        bind("app.card", "i", "card"),
        bind("app.copy", "y,f4", "copy"),
        bind("app.save", "Y", "save", show=False),
        bind("app.language", "L,f2", "language"),
        bind("app.theme", "T,f3", "theme", show=False),
        bind("app.runs", "1,f5", "page('runs')", show=False),
        bind("app.train", "2,f6", "page('train')", show=False),
        bind("app.sample", "3,f7", "page('sample')", show=False),
        bind("app.trace", "4,f8", "page('trace')", show=False),
        bind("app.new", "5,n,f9", "page('new')", show=False),
        bind("app.tour", "t", "tour", show=False),
        bind("app.end_tour", "escape", "end_tour", show=False, priority=True),
        bind("app.palette", "ctrl+p,colon", "command_palette"),
        bind("app.quit", "q,f10", "quit"),
    ]

    def __init__(
        self,
        root: Path = Path("runs"),
        *,
        run: Run | None = None,
        model: str | None = None,
        demo: bool = False,
        awake: bool = False,
        ahead: bool = False,
        choices: Path | None = None,
        language_is_given: bool = False,
        clock: Callable[[], float] = time.time,
        battery: Callable[[], Battery | None] = read_battery,
    ) -> None:
        super().__init__()
        self.root, self.clock = root, clock
        self.ahead = ahead  # whether pages are built before their keys are pressed
        self.faults: list[str] = []  # of the user's files
        self.keys: dict[str, str] = {}  # by binding, as the user has changed them
        KEYS.shown = self.key_of
        self.choices_path, self.choices = choices, Choices()  # without a path none are kept
        self.take_choices(language_is_given=language_is_given)
        self.run_in_hand = run or newest_run(root)
        self.model = model  # what the Sample and Trace pages load: a run, a preset, a path
        self.feeds: dict[Path, Feed] = {}
        self.launches: list[Launch] = []
        self.unseen: Run | None = None  # began while something was typed or asked
        self.compared: tuple[Run, ...] = ()  # what stands side by side
        self.sent: set[str] = set()  # ids of the commands from here
        self.drain = Drain(battery)
        self.replay: Replay | None = None
        self.station: int | None = None  # of the guided tour
        self.insides: dict[bool, Inside] = {}  # who answers about models: a recording, a worker
        self.prompt = ""  # what one page hands to another
        self.start_page = "train" if run or living(self.run_in_hand) else "runs"
        self.demo = demo
        self.awake = awake  # whether the machine is kept so while a training from here runs

    def on_mount(self) -> None:
        """The user's keys, the first page, the clock."""
        self.take_keys()
        if self.faults:
            faults = visible("\n".join(self.faults))
            self.notify(faults, severity="error", timeout=20, markup=False)
        if self.demo:
            self.action_demo()
        else:
            self.switch_mode(self.start_page)
        self.set_interval(TICK_SECONDS, self.tick)
        # The terminal is left as it was found; of one that hangs up nothing is left to mend.
        leave = partial(self.exit, return_code=128 + signal.SIGTERM)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leave)
        for place, make_ready in enumerate(self.to_make_ready(), 1):
            self.set_timer(place * LOAD_SECONDS, make_ready)

    def to_make_ready(self) -> Iterator[Callable[[], object]]:
        """What is done in the first seconds, so that keys are answered sooner afterwards."""
        for mode in PAGES_LATER if self.ahead else ():
            yield partial(self._init_mode, mode)
        for name in LATER:
            yield partial(import_module, f"tui.screens.{name}")
        if self.ahead:
            yield gc.freeze  # nothing of this goes before the app does

    def delay_update(self, delay: float = SOON_SECONDS) -> None:
        """Show another page sooner than Textual does, which hides half-built ones for 0.05 s."""
        super().delay_update(min(delay, SOON_SECONDS))

    # What the user has chosen

    def take_keys(self) -> None:
        """The user's own keys."""
        path = keymap_path()
        if not lies_at(path):
            return
        try:
            self.keys = read_keymap(path, all_bindings())
            self.set_keymap(self.keys)
        except UserError as error:
            self.faults.append(str(error))

    def take_choices(self, *, language_is_given: bool) -> None:
        """What was chosen another time; a language given on the command line goes before."""
        if self.choices_path is None:
            return
        self.choices, faults = read_choices(self.choices_path, self.available_themes)
        self.faults += faults
        if self.choices.language and not language_is_given:
            say.language = self.choices.language
        if self.choices.theme:
            self.theme = self.choices.theme

    def choose(self, choices: Choices) -> None:
        """Keep choices for the next time."""
        self.choices = choices
        if self.choices_path is None:
            return
        try:
            write_choices(self.choices_path, choices)
        except UserError as error:
            self.notify(visible(str(error)), severity="error", markup=False)

    def validate_theme(self, theme: str) -> str:
        """Without colour no theme of the terminal's own colours: they would all turn black."""
        return self.theme if self.no_color and self.available_themes[theme].ansi else theme

    def watch_theme(self, theme: str) -> None:
        """Keep the theme, whether a key or the palette has changed it."""
        if theme != self.choices.theme:
            self.choose(self.choices._replace(theme=theme))

    @property
    def marks(self) -> Marks:
        """What the charts are drawn with."""
        return self.choices.marks or MARKS[0]

    def next_marks(self) -> None:
        """Draw the charts with other characters."""
        marks = MARKS[(MARKS.index(self.marks) + 1) % len(MARKS)]
        self.choose(self.choices._replace(marks=marks))

    def key_of(self, binding_id: str) -> str:
        """The first key of a binding as it is now, remapped or not, on whatever page it acts."""
        keys = self.keys.get(binding_id) or self.declared_keys(binding_id)
        return self.get_key_display(Binding(keys.partition(",")[0].strip(), ""))

    def declared_keys(self, binding_id: str) -> str:
        """The keys that a binding has by itself; pages not yet seen are imported last."""
        page = self.page_on_top()
        near = [*self.BINDINGS, *(page.BINDINGS if page else ())]
        known = {each.id: each.key for each in near if isinstance(each, Binding)}
        if binding_id not in known:
            known = {each.id: each.key for found in all_bindings().values() for each in found}
        return known[binding_id]

    # The run in hand

    def feed(self, run: Run) -> Feed:
        """A run's curves; kept, so that coming back to a run shows it at once."""
        path = run.path.absolute()
        if path not in self.feeds:
            self.feeds[path] = Feed(run)
        return self.feeds[path]

    @property
    def current(self) -> Feed | None:
        """The feed of the run in hand."""
        return self.feed(self.run_in_hand) if self.run_in_hand else None

    @property
    def replaying(self) -> bool:
        """Whether the run in hand is the recorded one."""
        return self.run_in_hand is not None and self.is_recorded(self.run_in_hand)

    def recorded_prompts(self) -> tuple[str, ...]:
        """The prompts that are answered, where that is a recording's choice."""
        from tui.recorded import recorded_prompts

        return recorded_prompts() if self.replaying else ()

    def is_answered(self, do: str, fields: Mapping[str, object]) -> bool:
        """Whether a kind of question about a pass has an answer: a recording has not all."""
        from tui.recorded import is_answered

        return not self.replaying or is_answered(do, fields)

    def is_recorded(self, run: Run) -> bool:
        """Whether a run is the one that is replayed."""
        return self.replay is not None and run.path == self.replay.run.path

    def runs(self) -> list[Run]:
        """The runs in the folder, and the one that is replayed."""
        played = [self.replay.run] if self.replay is not None else []
        return [*list_runs(self.root), *played]

    def look_inside(self) -> "Inside":
        """Who answers about the model in hand: of the recorded run a recording, else a worker."""
        from tui.inside import Inside
        from tui.recorded import Recorded
        from tui.worker import Worker

        if self.replaying not in self.insides:
            client = Recorded() if self.replaying else Worker()
            self.insides[self.replaying] = Inside(client, str(self.root))
        return self.insides[self.replaying]

    def attach(self, run: Run) -> None:
        """Take a run in hand and watch it; it is also the model to talk to."""
        self.run_in_hand, self.model, self.unseen = run, None, None
        self.action_page("train")

    def compare(self, runs: Sequence[Run]) -> None:
        """Show runs side by side."""
        self.compared = tuple(runs)
        self.switch_mode("side")

    def about(self) -> str:
        """What the top bar says: a training on its way, else the model or the run in hand."""
        if self.launches:
            return self.preparing()
        talks = self.current_mode in ("sample", "trace")
        if self.model is not None and (talks or self.run_in_hand is None):
            return Path(self.model).name or self.model
        feed = self.current
        return f"{feed.run.name} {STATE_MARKS[feed.condition]}" if feed else ""

    def page_on_top(self) -> Page | None:
        """The page that is seen, perhaps under a dialog."""
        pages = [screen for screen in self.screen_stack if isinstance(screen, Page)]
        return pages[-1] if pages else None

    def tick(self) -> None:
        """Let the page look for what is new; soon again where more is waiting."""
        self.tend_launches()
        if self.replay is not None:
            self.replay.advance()
        self.tend_battery()
        page = self.page_on_top()
        if page is None:
            return
        if page.ticked():
            self.set_timer(SOON_SECONDS, self.tick_page)
        self.tell_about(page)

    def tick_page(self) -> None:
        """One more slice of what is waiting."""
        page = self.page_on_top()
        if page is not None and page.ticked():
            self.set_timer(SOON_SECONDS, self.tick_page)

    def tell_about(self, page: Page) -> None:
        """Keep the top bar true, and the keys that act on the run in that state."""
        if self.run_in_hand is not None and page.NAME != "train":
            self.feed(self.run_in_hand).poll(ABOUT_SECONDS)
        for bar in page.query(TopBar):
            if bar.about != self.about():
                bar.about = self.about()
                page.refresh_bindings()
        for line in page.query(TourBar):
            line.text = "" if self.station is None else station_text(self.station)

    def tend_battery(self) -> None:
        """Look at the battery now and then while the run in hand trains."""
        feed = self.current
        if feed is None or feed.state != "running" or self.replaying or not self.drain.is_due():
            return
        self.run_worker(self.warn_of_battery(eco=feed.eco), exit_on_error=False)

    async def warn_of_battery(self, *, eco: bool) -> None:
        """Say that the training runs on battery, where that is new."""
        battery = await self.drain.look()
        if battery is not None:
            severity = "error" if is_low(battery) else "warning"
            told = warning_text(battery, eco=eco)
            self.notify(told, severity=severity, timeout=15, markup=False)

    # Trainings on their way

    def launch(self, words: list[str]) -> Launch:
        """Start a training; the page on top tells when it has begun."""
        for launch in self.launches:
            if launch.words == words:
                self.notify(t("launch.twice"), markup=False)
                return launch
        launch = Launch(words)
        self.launches.append(launch)
        self.notify(t("launch.begun"), markup=False)
        return launch

    def preparing(self) -> str:
        """What the newest training on its way is doing; empty where there is none."""
        if not self.launches:
            return ""
        stage = self.launches[-1].stage()
        return f"{t(f'stage.{stage.name}')} {stage.percent}%" if stage else t("launch.first")

    def tend_launches(self) -> None:
        """Take in hand what has begun, and say what was refused."""
        for launch in [each for each in self.launches if each.finished()]:
            self.launches.remove(launch)
            try:
                run, pid = launch.begun()
                self.welcome(run)
                if self.awake:
                    keep_awake(pid)
            except UserError as error:
                self.notify(visible(str(error)), severity="error", timeout=15, markup=False)
            launch.close()

    def welcome(self, run: Run) -> None:
        """Watch a run that has begun; what is being typed or asked keeps its page."""
        if len(self.screen_stack) == 1 and not isinstance(self.focused, Input):
            self.attach(run)
            return
        self.unseen = run
        self.notify(t("launch.unseen", name=visible(run.name)), timeout=15, markup=False)

    def action_built_in(self) -> None:
        """Train the built-in stories."""
        self.launch(at_root(self.root, ["mlx-gpt", "train", "stories"]))

    def action_demo(self) -> None:
        """Replay the recorded run."""
        from tui.replay import Replay

        if self.replay is None:
            self.replay, self.station = Replay(), 0
        self.attach(self.replay.run)

    def action_tour(self) -> None:
        """On to the next station of the guided tour, which needs the recorded run."""
        if len(self.screen_stack) > 1:
            return
        if not self.replaying:
            self.action_demo()
            self.go_to_station(0)
        elif self.station is None or self.station + 1 == len(STATIONS):
            self.go_to_station(1 if self.station is None else None)
        else:
            self.go_to_station(self.station + 1)

    def go_to_station(self, station: int | None) -> None:
        """Show a station on its page, with no note over it; without one the tour ends."""
        self.station = station
        self.clear_notifications()
        if station is not None:
            self.switch_mode(STATIONS[station])
        page = self.page_on_top()
        if page is not None:
            self.tell_about(page)
            page.refresh_bindings()

    def action_end_tour(self) -> None:
        """Leave the guided tour."""
        self.go_to_station(None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Escape ends a tour only where there is one."""
        touring = self.station is not None and isinstance(self.screen, Page)
        return touring if action == "end_tour" else True

    def resume(self, run: Run) -> None:
        """Go on with a run: from where it stopped, slower where it diverged, longer when done."""
        if self.is_recorded(run):
            self.play_again()
            return
        feed = self.feed(run)
        while feed.poll() or feed.behind:
            pass
        if feed.state in ("running", "paused"):
            self.notify(t("resume.alive", name=visible(run.name)), markup=False)
        elif feed.state == "finished":
            question = t("resume.steps", name=run.name, steps=feed.total)
            self.push_screen(Ask(question, str(2 * feed.total), whole_number), self.lengthen(feed))
        else:
            self.launch(self.words_to_resume(feed))

    def words_to_resume(self, feed: Feed) -> list[str]:
        """The command that goes on with a run as it was; one that diverged learns more slowly."""
        slower = lower_rate(feed) if feed.state == "diverged" else ""
        return resume_words(feed.run, lr=slower, eco=feed.eco)

    def lengthen(self, feed: Feed) -> Callable[[str | None], None]:
        """What to do with the number of steps that a finished run shall have."""

        def go_on(steps: str | None) -> None:
            if steps:
                self.launch(resume_words(feed.run, steps=int(steps), eco=feed.eco))

        return go_on

    def follow(self, run: Run, path: Path) -> None:
        """Keep in hand, and in mind, a run whose folder has another name now."""
        if self.run_in_hand is not None and self.run_in_hand.name == run.name:
            self.run_in_hand = Run(path)
        if self.unseen is not None and self.unseen.name == run.name:
            self.unseen = Run(path)

    def forget(self, run: Run) -> None:
        """Let go of a run that is no more."""
        self.feeds.pop(run.path.absolute(), None)
        if self.unseen is not None and self.unseen.path == run.path:
            self.unseen = None
        if self.run_in_hand is not None and self.run_in_hand.path == run.path:
            self.run_in_hand = newest_run(self.root)

    def play_again(self) -> None:
        """Replay the recorded run from its start."""
        if self.replay is not None:
            self.feeds.pop(self.replay.run.path.absolute(), None)
            self.replay.close()
            self.replay = None
        self.action_demo()

    # Words

    def on_notify(self, _message: Notify) -> None:
        """A passing note takes the place of the one before."""
        self.clear_notifications()

    def get_key_display(self, binding: Binding) -> str:
        """A key as the footer and the help name it, in the language of the moment."""
        display = super().get_key_display(binding)
        return t(f"keyboard.{display}") if known(f"keyboard.{display}") else display

    # Actions of every page

    def action_help_quit(self) -> None:
        """Ctrl+C leaves nothing; it says which key does."""
        self.notify(t("app.how_to_quit"), markup=False)

    def action_command_palette(self) -> None:
        """Every command by its name."""
        if not isinstance(self.screen, CommandPalette):
            palette = CommandPalette(id="--command-palette", placeholder=t("palette.search"))
            self.push_screen(palette)

    def action_page(self, name: str) -> None:
        """Go to a page."""
        if len(self.screen_stack) > 1:
            return
        if name == "train" and self.unseen is not None:
            self.run_in_hand, self.model, self.unseen = self.unseen, None, None
        self.switch_mode(name)

    def action_help(self) -> None:
        """Explain what has the focus."""
        from tui.screens.help import help_for

        if isinstance(self.screen, Page):
            self.push_screen(help_for(self.screen))

    def action_card(self) -> None:
        """Explain what is in hand in a few lines."""
        from tui.screens.card import Cards

        if isinstance(self.screen, Page):
            self.push_screen(Cards(self.screen))

    def action_language(self) -> None:
        """Switch between English and Spanish."""
        say.language = "en" if say.language == "es" else "es"
        self.choose(self.choices._replace(language=say.language))
        for screen in self.screen_stack:
            if isinstance(screen, Page):
                screen.say_again()

    def action_theme(self) -> None:
        """Switch between light and dark."""
        self.theme = "textual-light" if self.current_theme.dark else "textual-dark"

    def command_of(self, page: Page) -> tuple[str, str]:
        """The command that does what a page shows, and what it cannot tell of that."""
        if page.shows_recorded():
            return shell(demo_words(self.root)), ""
        return page.command_line(), page.command_note()

    def action_copy(self) -> None:
        """Copy the command that does what the page shows."""
        page = self.page_on_top()
        if page is not None:
            line, note = self.command_of(page)
            clipboard.copy(self, line)
            told = (t("app.copied"), visible(line), note)
            self.notify("\n".join(filter(None, told)), markup=False)

    def action_save(self) -> None:
        """Write that command into a file."""
        page = self.page_on_top()
        if page is None:
            return
        try:
            path = clipboard.save(self.command_of(page)[0])
        except UserError as error:
            self.notify(visible(str(error)), severity="error", markup=False)
            return
        self.notify(t("app.saved", path=visible(str(path))), markup=False)

    def action_write_keymap(self) -> None:
        """Write a file in which every key can be changed."""
        path = keymap_path()
        try:
            write_keymap(path, keymap_text(all_bindings()))
        except UserError as error:
            self.notify(visible(str(error)), severity="error", markup=False)
            return
        self.notify(t("app.keymap", path=visible(str(path))), markup=False)

    def get_system_commands(self, screen: Screen[ReturnType]) -> Iterator[SystemCommand]:
        """Everything the keys do, by name; the runs; the theme and the screenshot."""
        offered = {"app.palette"}
        for active in screen.active_bindings.values():
            binding = active.binding
            if binding.id and binding.tooltip and binding.id not in offered:
                offered.add(binding.id)
                yield SystemCommand(
                    f"{binding.description} ({self.get_key_display(binding)})",
                    binding.tooltip,
                    run_action(self, active.node, binding),
                )
        for run in list_runs(self.root):
            name = visible(run.name)
            yield SystemCommand(f"{t('palette.open')} {name}", name, attaches(self, run))
        yield SystemCommand(t("palette.theme"), t("palette.theme.tip"), self.search_themes)
        yield SystemCommand(t("palette.keymap"), t("palette.keymap.tip"), self.action_write_keymap)
        yield SystemCommand(
            t("palette.screenshot"), t("palette.screenshot.tip"), self.deliver_later
        )

    def _handle_exception(self, error: Exception) -> None:
        """While the app ends, parts that a page is built of may be gone before it is."""
        if not (self._exit and isinstance(error, NoMatches)):
            super()._handle_exception(error)

    async def on_unmount(self) -> None:
        """The replayed run and the worker go with the app; trainings do not."""
        for launch in self.launches:
            launch.close()
        if self.replay is not None:
            self.replay.close()
        for inside in self.insides.values():
            await inside.close()

    def deliver_later(self) -> None:
        """Save a picture of the screen once the palette is gone."""
        self.set_timer(0.1, self.deliver_screenshot)


def run_action(app: MlxGptApp, node: DOMNode, binding: Binding) -> Callable[[], object]:
    """What the palette calls for a binding."""

    async def act() -> None:
        await app.run_action(binding.action, default_namespace=node)

    return act


def attaches(app: MlxGptApp, run: Run) -> Callable[[], None]:
    """What the palette calls for a run."""
    return lambda: app.attach(run)


def whole_number(text: str) -> None:
    """Refuse what is not a number of steps."""
    if not text.isdecimal() or not int(text):
        raise UserError(t("resume.number", text=text))


def living(run: Run | None) -> bool:
    """Whether there is a run and a trainer holds it."""
    return run is not None and is_alive(run)


def newest_run(root: Path) -> Run | None:
    """A living run, else the one that wrote last."""
    runs = list_runs(root)
    return max(runs, key=lambda run: (is_alive(run), last_written(run)), default=None)


def all_bindings() -> dict[str, list[Binding]]:
    """Every binding of ours by the page it belongs to."""
    from tui.screens.card import Cards
    from tui.screens.dialogs import Ask, Confirm, Reading
    from tui.screens.files import Files, TextTree
    from tui.screens.new_run import NewRun
    from tui.screens.pick import Menu
    from tui.screens.runs import Runs
    from tui.screens.sample import Sample
    from tui.screens.side import Side
    from tui.screens.trace import Trace
    from tui.screens.train import Train
    from tui.widgets.form import Form
    from tui.widgets.line import Line
    from tui.widgets.pane import Pane
    from tui.widgets.prompt import Answer, Prompt
    from tui.widgets.run_table import RunTable
    from tui.widgets.view_pane import ViewPane

    pages = (Runs, Train, Sample, Trace, NewRun, Side)
    places = (MlxGptApp, *pages, Ask, Confirm, Reading, RunTable, Pane, Prompt, Menu)
    places += (Form, Files, TextTree, Page, Line, ViewPane, Answer, Cards)
    names = ("app", *PAGES, "side", "ask", "confirm", "reading", "table", "pane", "prompt", "menu")
    names += ("form", "files", "tree", "page", "line", "cell", "answer", "card")
    return {
        name: [binding for binding in place.BINDINGS if isinstance(binding, Binding)]
        for name, place in zip(names, places, strict=True)
    }


def goes_on(app: MlxGptApp) -> str | None:
    """What to say at the end of a trained run that outlives the app."""
    names = [run.name for run in list_runs(app.root) if is_alive(run)]
    again = shell(at_root(app.root, ["mlx-gpt", "tui"]))
    return t("app.goes_on", names=shlex.join(names), again=again) if names else None
