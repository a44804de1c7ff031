"""Runs side by side: the same probe at the same step, the same head, their curves and settings."""

from typing import Any, ClassVar

import numpy as np
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input

from mlx_gpt.errors import UserError
from mlx_gpt.terminal import one_line, visible
from tui.attention import Question, Survey, maps_text
from tui.columns import wrapped
from tui.curves import WEIGHTS, Overlay, neighbour, overlay_figure
from tui.feed import Feed
from tui.grid import Grid
from tui.history import history_path, read_prompts, remembered, write_prompts
from tui.i18n import t
from tui.inside import DEMO, Place, place_of
from tui.keymap import bind
from tui.launch import at_root, shell
from tui.lineup import MOST, prompts_of, sample_text, settings_text, steps_of, title
from tui.page import TALL, Page
from tui.plot import Look
from tui.recorded import recorded_prompts
from tui.views import Room
from tui.widgets.chart import Chart
from tui.widgets.pane import BAR, FRAME, Pane
from tui.widgets.prompt import Prompt
from tui.widgets.words import Words

PROMPT = "Once upon a time"
PARTS = ("samples", "attention", "curves", "settings")
VIEWS = tuple((part,) for part in PARTS)
TALL_VIEWS = (PARTS[:2], PARTS[2:])
POLL_SECONDS = 0.02
WEIGHT = WEIGHTS[3]
NEEDS = {
    "scrub": ("samples", "curves"),
    "now": ("samples", "curves"),
    "probe": ("samples",),
    "curve": ("curves",),
    "outliers": ("curves",),
    "block": ("attention",),
    "head": ("attention",),
    "edit": ("attention",),
    "marks": ("attention",),
    "scroll_tables": ("attention",),
    "reload": ("attention",),
}  # the parts on which a key acts


class Side(Page):
    """Two to four runs, a column each."""

    NAME = "side"
    topic = "help.side"
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("side.view", "v", "view"),
        bind("side.back", "left", "scrub(-1)"),
        bind("side.forward", "right", "scrub(1)"),
        bind("side.probe", "s", "probe(1)"),
        bind("side.block", "space", "block(1)"),
        bind("side.less", "comma", "head(-1)"),
        bind("side.more", "full_stop", "head(1)"),
        bind("side.edit", "e", "edit"),
        bind("side.marks", "m", "marks"),
        bind("side.curve", "k", "curve"),
        bind("side.outliers", "o", "outliers"),
        bind("side.leave", "escape", "leave"),
        bind("side.now", "0", "now", show=False),
        bind("side.probe_back", "S", "probe(-1)", show=False),
        bind("side.block_back", "p", "block(-1)", show=False),
        bind("side.left", "left_square_bracket", "scroll_tables(0, -1)", show=False),
        bind("side.right", "right_square_bracket", "scroll_tables(0, 1)", show=False),
        bind("side.upward", "left_curly_bracket", "scroll_tables(-1, 0)", show=False),
        bind("side.downward", "right_curly_bracket", "scroll_tables(1, 0)", show=False),
        bind("side.reload", "R", "reload", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.feeds: list[Feed] = []
        self.part = PARTS[0]
        self.probe = 0
        self.step: float | None = None  # None follows the newest
        self.block = self.head = 0
        self.prompt = ""
        self.curve, self.robust = "loss", True
        self.survey = Survey()
        self.asked: list[Question] = []
        self.grids = [Grid() for _ in range(MOST)]
        self.drawn: object = None

    def body(self) -> ComposeResult:
        """What is compared, the line of the prompt, and the parts."""
        yield Words("facts")
        yield Prompt("edit")
        with Horizontal(id="samples"):
            for number in range(MOST):
                yield Pane(f"sample{number}", "help.beside")
        with Horizontal(id="attention"):
            for number in range(MOST):
                yield Pane(f"map{number}", "help.maps")
        yield Chart("curves")
        yield Pane("settings", "help.settings")

    def on_mount(self) -> None:
        """Nothing is written yet."""
        self.survey = Survey(str(self.ours.root))
        self.query_one("#edit").display = False
        self.screen_layout_refresh_signal.subscribe(self, self.laid_out)
        self.retranslate()

    # What is there

    def retranslate(self) -> None:
        """Say it all again."""
        self.query_one("#edit", Prompt).placeholder = t("trace.prompt")
        self.draw_anew()

    def tick(self) -> bool:
        """Read what is new of the runs, and draw it."""
        feeds = [self.ours.feed(run) for run in self.ours.compared]
        if feeds != self.feeds:
            self.take(feeds)
        for feed in feeds:
            feed.poll(POLL_SECONDS)
        self.draw()
        return any(feed.behind for feed in feeds)

    def take(self, feeds: list[Feed]) -> None:
        """Other runs than before."""
        self.feeds, self.step, self.prompt, self.probe = feeds, None, "", 0
        self.block = self.head = 0
        for grid in self.grids:
            grid.leave()
        self.lay_out()
        self.focus_first()

    def shown(self) -> tuple[str, ...]:
        """The parts that are seen: two where the terminal is tall."""
        return next(view for view in self.views() if self.part in view)

    def views(self) -> tuple[tuple[str, ...], ...]:
        """The parts that are seen together."""
        return TALL_VIEWS if self.app.size.height >= TALL else VIEWS

    def lay_out(self) -> None:
        """Show the parts there is room for, a column for each run; draw once they have sizes."""
        shown = self.shown()
        for part in PARTS:
            self.query_one(f"#{part}").display = part in shown
        for name in ("sample", "map"):
            for number in range(MOST):
                self.query_one(f"#{name}{number}").display = number < len(self.feeds)
        self.refresh_bindings()
        self.call_after_refresh(self.draw_anew)

    def focus_first(self) -> None:
        """Give the keys to the first part that takes some."""
        self.set_focus(next(iter(self.focus_chain), None))

    def on_resize(self) -> None:
        """Another size, perhaps another number of parts."""
        super().on_resize()
        if self.begun:
            self.lay_out()

    def laid_out(self, _: Screen[Any]) -> None:
        """Draw what another layout has given more room or less."""
        self.draw()

    def draw_anew(self) -> None:
        """Draw, whatever has been drawn."""
        self.drawn = None
        self.draw()

    def draw(self) -> None:
        """The parts that are seen, where anything has changed."""
        state = (
            [(feed, feed.revision, feed.curve_revision) for feed in self.feeds],
            (self.part, self.probe, self.step, self.block, self.head, self.prompt),
            (self.curve, self.robust),
            [pane.size for pane in self.query("#attention Pane")],
            (self.language, self.size, self.ours.marks),
        )
        if state == self.drawn or not (self.feeds and self.query("#settings")):
            return  # nothing has, or the page comes or goes
        self.drawn = state
        facts = {
            "samples": self.draw_samples,
            "attention": self.draw_maps,
            "curves": self.draw_curves,
            "settings": self.draw_settings,
        }
        told = "\n".join(one_line(facts[part]()) for part in self.shown())
        self.query_one("#facts", Words).update(told)

    def column_title(self, number: int) -> str:
        """What stands above the column of a run."""
        return title(self.feeds, number, self.column_width() - 2)

    def column_width(self) -> int:
        """The width of the narrowest column, so that all of them are drawn alike."""
        return self.size.width // len(self.feeds) - FRAME

    def draw_samples(self) -> str:
        """What each run made of the probe prompt; which one, and at which step."""
        prompt, step, steps = self.probe_prompt(), self.moment(), self.steps()
        for number in range(len(self.feeds)):
            alive = self.feeds[number].alive
            words = Content(t("side.no_probe" if alive else "probe.over"))
            content = words if prompt is None else sample_text(self.feeds, number, prompt, step)
            self.query_one(f"#sample{number}", Pane).show(self.column_title(number), content)
        if prompt is None:
            return t("pane.probes")
        at = int((steps <= step).sum())
        when = t("probe.place", step=step, at=at, count=len(steps))
        prompts = prompts_of(self.feeds)
        which = f"‘{prompt}’ ({prompts.index(prompt) + 1}/{len(prompts)})"
        return f"{t('pane.probes')} · {when} · {which}"

    def probe_prompt(self) -> str | None:
        """The prompt whose samples are looked at."""
        prompts = prompts_of(self.feeds)
        return prompts[self.probe % len(prompts)] if prompts else None

    def steps(self) -> np.ndarray:
        """The steps at which any of the runs was asked that prompt."""
        return steps_of(self.feeds, self.probe_prompt())

    def moment(self) -> int:
        """The step that is looked at: the one chosen, else the newest with what is seen."""
        if self.step is not None:
            return int(self.step)
        newest = max((feed.step for feed in self.feeds), default=0)
        return int(max(self.steps(), default=newest)) if "samples" in self.shown() else newest

    # Attention

    def draw_maps(self) -> str:
        """The same head of each run; which one, and over which prompt."""
        missing = []
        for number, feed in enumerate(self.feeds):
            pane = self.query_one(f"#map{number}", Pane)
            try:
                question = self.question(feed)
            except UserError as error:
                pane.show(self.column_title(number), Content(visible(str(error))))
                continue
            if question not in self.survey.known:
                missing.append(question)
            pane.show(self.column_title(number), self.map_text(number, question))
        self.want(missing)
        place = t("side.place", layer=self.block, head=self.head)
        return f"{t('view.attention')} · {place} · ‘{self.asked_prompt()}’"

    def question(self, feed: Feed) -> Question:
        """What is asked of a run: of the blocks that it has, the last where it has too few."""
        return Question(self.place(feed), self.asked_prompt(), self.near("n_layers", feed))

    def place(self, feed: Feed) -> Place:
        """Where the model of a run lies; why there is none is told where the run is in hand."""
        try:
            place = DEMO if self.ours.is_recorded(feed.run) else place_of(None, feed.run)
        except UserError:
            place = None
        if place is None:
            raise UserError(t("side.no_model"))
        return place

    def asked_prompt(self) -> str:
        """The prompt that is typed, else the first probe prompt of all that says anything."""
        if self.prompt:
            return self.prompt
        first, *others = (feed.probe_prompts for feed in self.feeds)
        shared = (each for each in first if all(each in probes for probes in others))
        return next((each for each in shared if len(each) > 6), PROMPT)

    def near(self, name: str, feed: Feed) -> int:
        """The block or head that is looked at, of a model with fewer the last."""
        at = self.block if name == "n_layers" else self.head
        return min(at, count_of(feed, name) - 1)

    def map_text(self, number: int, question: Question) -> Content:
        """The heatmap of a run, or why there is none yet."""
        found = self.survey.known.get(question)
        if found is None:
            return Content(t("inside.loading"))
        if isinstance(found, UserError):
            return Content(visible(str(found)))
        pane = self.query_one(f"#map{number}", Pane)
        if not pane.size:
            return Content("")  # it has been shown just now, and will be drawn again
        colour = not self.app.no_color and self.app.console.color_system not in (None, "standard")
        width = self.column_width()
        words = self.fewer(self.feeds[number])
        fewer = wrapped(words, width) if words else []
        room = Room(width, pane.size.height - len(fewer), colour)
        shown = maps_text(found, self.head, self.grids[number], room)
        if not fewer:
            return shown
        return Content("\n").join([Content.styled("\n".join(fewer), "$text-warning"), shown])

    def fewer(self, feed: Feed) -> str:
        """That a run has not the block or the head that is looked at; nothing where it has."""
        layer, head = self.near("n_layers", feed), self.near("n_heads", feed)
        if (layer, head) == (self.block, self.head):
            return ""
        layers, heads = count_of(feed, "n_layers"), count_of(feed, "n_heads")
        return t("side.fewer", layers=layers, heads=heads, layer=layer, head=head)

    def want(self, missing: list[Question]) -> None:
        """Ask what is not known, once."""
        if missing and missing != self.asked:
            self.asked = missing
            self.run_worker(self.ask(missing), group="maps", exclusive=True)

    async def ask(self, questions: list[Question]) -> None:
        """One run after the other; each is drawn as soon as it has answered."""
        for question in questions:
            await self.survey.ask(question)
            self.asked = self.asked[1:]
            self.draw_anew()

    async def on_screen_suspend(self) -> None:
        """Whoever goes to another page needs no worker here; a dialog over this one does."""
        if self.app.current_mode != self.NAME:
            await self.let_go()

    async def on_unmount(self) -> None:
        """The worker goes with the page."""
        await self.let_go()

    async def let_go(self) -> None:
        """Ask no more."""
        self.workers.cancel_group(self, "maps")
        self.asked, self.drawn = [], None
        await self.survey.close()

    # Curves and settings

    def draw_curves(self) -> str:
        """The curves over each other; which ones, and at which step."""
        overlays = [Overlay(visible(feed.run.name), feed) for feed in self.feeds]
        look = Look(robust=self.robust, cursor=self.step, marks=self.ours.marks)
        self.query_one("#curves", Chart).show(overlay_figure(overlays, self.curve, WEIGHT), look)
        return f"{t(f'curve.{self.curve}')} · {t('side.step', step=self.moment())}"

    def draw_settings(self) -> str:
        """The settings that differ."""
        names, configs = zip(*((feed.run.name, feed.config) for feed in self.feeds), strict=True)
        content = settings_text(names, configs, self.size.width - FRAME - BAR)
        self.query_one("#settings", Pane).show(t("runs.differences"), content)
        return t("runs.settings")

    # Actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The keys that act on a part that is seen."""
        acts = any(part in self.shown() for part in NEEDS.get(action, PARTS))
        return acts or None

    def action_view(self) -> None:
        """The next part."""
        views = self.views()
        self.part = views[(views.index(self.shown()) + 1) % len(views)][0]
        self.lay_out()
        self.focus_first()

    def action_scrub(self, move: int) -> None:
        """To the step before or after at which any of the runs was asked."""
        self.step = neighbour(self.steps(), self.step, move, self.moment())
        self.draw()

    def action_now(self) -> None:
        """Back to the newest step."""
        self.step = None
        self.draw()

    def action_probe(self, move: int) -> None:
        """Another probe prompt."""
        self.probe = (self.probe + move) % max(len(prompts_of(self.feeds)), 1)
        self.draw()

    def action_block(self, move: int) -> None:
        """Another block."""
        self.block = self.beyond("n_layers", self.block + move)
        self.draw()

    def action_head(self, move: int) -> None:
        """Another head."""
        self.head = self.beyond("n_heads", self.head + move)
        self.draw()

    def beyond(self, name: str, at: int) -> int:
        """A block or head of the model that has most, from the last round to the first."""
        return at % max((count_of(feed, name) for feed in self.feeds), default=1)

    def action_curve(self) -> None:
        """Training loss or validation loss."""
        self.curve = "val_loss" if self.curve == "loss" else "loss"
        self.draw()

    def action_outliers(self) -> None:
        """Take outliers in, or let them not set the range."""
        self.robust = not self.robust
        self.draw()

    def action_marks(self) -> None:
        """Numbers, blocks, half blocks or signs."""
        for grid in self.grids:
            grid.next_mode()
        self.draw_anew()

    def action_scroll_tables(self, rows: int, columns: int) -> None:
        """Another part of tables that are larger than their columns."""
        for grid in self.grids[: len(self.feeds)]:
            grid.scroll(rows, columns)
        self.draw_anew()

    def action_reload(self) -> None:
        """Ask again, as of a run that has saved more meanwhile."""
        self.survey.known = {}
        self.draw_anew()

    def action_edit(self) -> None:
        """Write another prompt."""
        recorded = any(self.ours.is_recorded(feed.run) for feed in self.feeds)
        line = self.query_one("#edit", Prompt)
        line.past = list(recorded_prompts()) if recorded else read_prompts(history_path())
        line.value, line.display = self.asked_prompt(), True
        line.cursor_position = len(line.value)
        line.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """A prompt for all of them."""
        event.stop()
        self.prompt = event.value
        self.on_prompt_left()
        try:
            path = history_path()
            write_prompts(path, remembered(read_prompts(path), event.value))
        except UserError as error:
            self.refuse(error)

    def on_prompt_left(self) -> None:
        """Back to the columns."""
        self.query_one("#edit").display = False
        self.focus_first()
        self.draw()

    def action_leave(self) -> None:
        """Back to the table of runs."""
        self.ours.switch_mode("runs")

    def word_in_hand(self) -> str:
        """What the part that is seen is about."""
        return "attention" if self.part == "attention" else "loss"

    def shows_recorded(self) -> bool:
        """Whether the recorded run is one of the two that the command takes."""
        return any(self.ours.is_recorded(feed.run) for feed in self.feeds[:2])

    def command_line(self) -> str:
        """The command that compares them; it takes two."""
        names = [feed.run.name for feed in self.feeds[:2]]
        return shell(at_root(self.ours.root, ["mlx-gpt", "runs", "compare", *names]))

    def command_note(self) -> str:
        """That the command leaves runs out, where it does."""
        return t("side.note_two") if len(self.feeds) > 2 else ""


def count_of(feed: Feed, name: str) -> int:
    """How many blocks or heads a run's model has, as its settings say."""
    count = feed.setting(f"model.{name}")
    return count if isinstance(count, int) and count > 0 else 1
