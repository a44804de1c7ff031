"""A run as it trains: curves, samples through time, surprise, log, and what it all means."""

from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content

from mlx_gpt.errors import UserError
from mlx_gpt.run import list_runs, saved_steps, send
from mlx_gpt.terminal import visible
from tui.columns import wrapped
from tui.curves import METRICS, WEIGHTS, figure, neighbour, untold, zoomed
from tui.diagnosis import Advice, diagnose
from tui.draft import Estimate
from tui.feed import Feed
from tui.i18n import KEYS, t
from tui.keymap import bind
from tui.launch import again_words, shell
from tui.messages import Pointed, Zoomed
from tui.pace import paces_of
from tui.page import WIDE, Page
from tui.plan import plan_text, planned
from tui.plot import Figure, Look
from tui.screens.dialogs import Ask
from tui.story import answer_sentence, log_text, probe_text, surprise_text
from tui.widgets.chart import Chart
from tui.widgets.pane import Pane
from tui.widgets.status import Status
from tui.widgets.words import Words

if TYPE_CHECKING:
    from tui.replay import Replay

PANES = ("probes", "surprise", "log", "plan")
UNCLIPPED = ("lr", "memory")
METRIC_WORDS = {"lr": "learning_rate", "tokens_per_second": "speed"}
REPLAYED = {"train.stop": "replay.stop", "train.resume": "replay.again"}
LOOKS = ("scrub", "step", "now", "chart", "pane", "log", "outliers", "smooth")
LOOKS += ("zoom", "whole", "glyphs")  # the actions that look at a run
NO_BREAK = "\N{NO-BREAK SPACE}"
SIDE = 4
SIDE_TURNS = 8


class Train(Page):
    """The run in hand."""

    NAME = "train"
    topic = "help.train"
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("train.pause", "p", "pause"),
        bind("train.save", "s", "tell_trainer('save')"),
        bind("train.sample", "a", "ask_sample"),
        bind("train.stop", "X", "stop"),
        bind("train.resume", "R", "resume"),
        bind("train.speed", "S", "replay_speed"),
        bind("train.replay_step", "N", "replay_step"),
        bind("train.evaluate", "e", "tell_trainer('eval')"),
        bind("train.eco", "E", "eco"),
        bind("train.back", "left", "scrub(-1)"),
        bind("train.forward", "right", "scrub(1)"),
        bind("train.chart", "g", "chart"),
        bind("train.pane", "v", "pane"),
        bind("train.log", "l", "log"),
        bind("train.outliers", "o", "outliers"),
        bind("train.smoother", "plus,equals_sign", "smooth(1)"),
        bind("train.rougher", "minus", "smooth(-1)"),
        bind("train.closer", "z", "zoom(0.6)"),
        bind("train.further", "Z", "zoom(1.7)"),
        bind("train.all", "0", "whole", show=False),
        bind("train.fine_back", "comma", "step(-1)", show=False),
        bind("train.fine_forward", "full_stop", "step(1)", show=False),
        bind("train.glyphs", "m", "glyphs", show=False),
        bind("train.now", "escape", "now", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.metric = "loss"
        self.pane = "probes"
        self.weight = 3
        self.look = Look()
        self.drawn_curves: object = None
        self.drawn_words: object = None
        self.drawn_needs: object = None
        self.drawn_plan: object = None
        self.plan: Estimate | None = None
        self.planned_for: object = None
        self.advised: object = None
        self.advice_lines = 0
        self.drawn_side: object = None
        self.drawn_keys: object = None
        self.turns = 0
        self.told = 0

    def body(self) -> ComposeResult:
        """Status, charts, advice, panes."""
        yield Words("empty")
        yield Status()
        with Horizontal(id="charts"):
            yield Chart("main")
            with Vertical(id="side"):
                for number in range(SIDE):
                    yield Chart(f"side{number}")
        yield Words("advice")
        with Horizontal(id="lower"):
            yield Pane("probes", "help.probes")
            yield Pane("surprise", "help.surprise")
            yield Pane("log", "help.log", at_end=True)
            yield Pane("plan", "help.plan")

    def on_mount(self) -> None:
        """The first look."""
        self.lay_out()
        self.query_one("#probes").focus()
        self.tick()

    # What is there

    def tick(self) -> bool:
        """Read what is new of the run in hand, and draw it."""
        self.look = self.look._replace(marks=self.ours.marks)
        feed = self.ours.current
        self.set_class(feed is None, "-empty")
        if feed is None:
            self.draw_keys(feed)
            preparing = self.ours.preparing()
            advice = t("advice.preparing", stage=preparing) if preparing else t("train.empty")
            self.query_one("#empty", Words).update(advice)
            return False
        feed.poll()
        self.draw_keys(feed)
        self.tell_answers(feed)
        if feed.behind and self.drawn_curves is not None:
            return True
        self.draw(feed)
        return feed.behind

    def draw_keys(self, feed: Feed | None) -> None:
        """Show the keys anew where others act than before, or one does something else."""
        acting = feed and (feed.run.path, feed.condition, self.will_pause(feed), self.by_step)
        if acting != self.drawn_keys:
            self.drawn_keys = acting
            self.refresh_bindings()

    @property
    def replay(self) -> "Replay | None":
        """The replay of the run in hand, if it is a recorded one."""
        return self.ours.replay if self.ours.replaying else None

    @property
    def by_step(self) -> bool:
        """Whether a replay waits for a key before each evaluation."""
        return self.replay is not None and self.replay.by_step

    def seconds_left(self, feed: Feed) -> float | None:
        """The time to the end: of a replay its own, not that of the training."""
        return feed.seconds_left() if self.replay is None else self.replay.seconds_left()

    def draw(self, feed: Feed) -> None:
        """Everything that has changed."""
        self.query_one(Status).show(feed, self.seconds_left(feed), by_step=self.by_step)
        base = (feed.run.path, feed.revision, self.pane, self.language, self.size)
        curves = (base, feed.curve_revision, self.metric, self.weight, self.look)
        words = (base, feed.gone, self.look.cursor)
        if curves != self.drawn_curves:
            self.drawn_curves = curves
            self.draw_charts(feed)
        if words != self.drawn_words:
            self.drawn_words = words
            self.draw_panes(feed)
        if (base, feed.curve_revision) != self.drawn_plan:
            self.drawn_plan = (base, feed.curve_revision)
            self.draw_plan(feed)
        needs = (curves, feed.gone, self.ours.preparing(), self.by_step)
        if needs != self.drawn_needs:
            self.drawn_needs = needs
            self.advise(self.advice(feed))

    def advice(self, feed: Feed) -> Advice:
        """What is to be said: of a training on its way, else of the run."""
        if preparing := self.ours.preparing():
            return Advice("preparing", {"stage": preparing})
        if self.by_step:
            values = {"step": feed.step, "total": feed.total}
            return Advice("by_step", values, "train.replay_step")
        advice = diagnose(feed)
        replay_ended = advice.key == "stopped" and self.ours.replaying
        return advice._replace(key="replay_stopped") if replay_ended else advice

    def advise(self, advice: Advice) -> None:
        """Say what the run needs, where that is something new."""
        if (advice, self.language) == self.advised:
            return
        self.advised = (advice, self.language)
        text = advice_text(advice, self.said_as(advice.action or ""), max(self.size.width - 2, 1))
        lines = text.plain.count("\n")
        self.query_one("#advice", Words).update(text, layout=lines != self.advice_lines)
        self.advice_lines = lines

    def draw_anew(self) -> None:
        """Forget what is drawn, and draw."""
        self.drawn_curves = self.drawn_words = self.drawn_needs = None
        self.advised = self.drawn_side = self.drawn_plan = None
        self.tick()

    def draw_charts(self, feed: Feed) -> None:
        """The chosen metric large, the others beside it."""
        weight = WEIGHTS[self.weight]
        look = looked_at(self.metric, self.look)
        self.query_one("#main", Chart).show(figure(feed, self.metric, weight), look)
        if self.side_is_due(feed):
            self.draw_side(feed, weight)

    def side_is_due(self, feed: Feed) -> bool:
        """Whether to draw the small charts: at once after a key, else every two seconds."""
        chosen = (feed.run.path, self.metric, self.weight, self.look, self.size, self.language)
        self.turns = 0 if chosen != self.drawn_side else self.turns + 1
        self.drawn_side = chosen
        due = self.turns % SIDE_TURNS == 0 or not feed.alive
        return due and self.app.size.width >= WIDE

    def draw_side(self, feed: Feed, weight: float) -> None:
        """The metrics that are not in the large chart."""
        others = [metric for metric in METRICS if metric != self.metric]
        for number, metric in enumerate(others):
            look = looked_at(metric, self.look._replace(log=False))
            shown = figure(feed, metric, weight)._replace(step="")  # the large one tells it
            if metric == "lr" and look.cursor is None:
                shown = untold(shown)  # the status tells it, and more often
            self.query_one(f"#side{number}", Chart).show(shown, look)

    def draw_panes(self, feed: Feed) -> None:
        """The panes that are seen."""
        cursor = self.look.cursor
        shown = self.shown_panes()
        if "probes" in shown:
            title, content = probe_text(feed, cursor, self.way_to_samples(feed))
            pane = self.query_one("#probes", Pane)
            pane.show(title, content)
            if feed.is_answering:
                pane.call_after_refresh(pane.scroll_end, animate=False)
        if "surprise" in shown:
            title, content = surprise_text(feed, cursor)
            self.query_one("#surprise", Pane).show(title, content)
        if "log" in shown:
            self.query_one("#log", Pane).show(t("pane.log"), log_text(feed))

    def way_to_samples(self, feed: Feed) -> str:
        """How there can be a sample of now: the trainer is asked, else what was saved."""
        if self.check_action("ask_sample", ()):
            return t("probe.ask")
        has_model = self.ours.replaying or saved_steps(feed.run)
        return t("probe.saved") if has_model else ""

    def draw_plan(self, feed: Feed) -> None:
        """What the run costs beside what it was to cost, where that is seen."""
        if "plan" in self.shown_panes():
            self.query_one("#plan", Pane).show(*plan_text(feed, self.plan_of(feed)))

    def plan_of(self, feed: Feed) -> Estimate | None:
        """What the run was to cost, estimated once; the recorded one was made elsewhere."""
        if (feed.run.path, feed.configured_at) != self.planned_for:
            self.planned_for = (feed.run.path, feed.configured_at)
            others = [run for run in list_runs(self.ours.root) if run.name != feed.run.name]
            self.plan = planned(feed, [] if self.ours.replaying else paces_of(others))
        return self.plan

    def tell_answers(self, feed: Feed) -> None:
        """What the trainer answered to commands from here."""
        for ack in feed.acks[self.told :]:
            if str(ack.get("id")) in self.ours.sent:
                self.ours.sent.remove(str(ack.get("id")))
                tell = self.tell if ack.get("ok") else self.refuse
                tell(answer_sentence(ack))
        self.told = len(feed.acks)

    def shown_panes(self) -> tuple[str, ...]:
        """The panes there is room for, beginning with the chosen one."""
        room = 3 if self.app.size.width >= 150 else 2 if self.app.size.width >= WIDE else 1
        at = PANES.index(self.pane)
        return tuple(PANES[(at + i) % len(PANES)] for i in range(room))

    def lay_out(self) -> None:
        """Show the panes there is room for."""
        shown = self.shown_panes()
        for name in PANES:
            self.query_one(f"#{name}").display = name in shown

    def on_resize(self) -> None:
        """Another size, perhaps another number of panes."""
        super().on_resize()
        if self.begun:
            self.lay_out()
            self.call_after_refresh(self.draw_anew)

    def retranslate(self) -> None:
        """Draw again."""
        self.draw_anew()

    def changed(self, look: Look) -> None:
        """Look at the curves in another way."""
        self.look = look
        self.tick()

    def main_figure(self) -> Figure:
        """What the large chart shows."""
        return self.query_one("#main", Chart).figure

    # Actions on the picture

    def on_pointed(self, message: Pointed) -> None:
        """A click in a chart."""
        self.changed(self.look._replace(cursor=message.step))

    def on_zoomed(self, message: Zoomed) -> None:
        """The wheel over a chart."""
        self.changed(zoomed(self.main_figure(), self.look, message.step, message.factor))

    def action_scrub(self, move: int) -> None:
        """To the evaluation or the answer before or after: curves and samples move together."""
        feed = self.ours.current
        if feed is not None:
            answers = [each.step for each in feed.answers.values() if each.step is not None]
            stops = np.array(sorted({*feed.evals["step"], *answers}))
            steps = stops if len(stops) else feed.steps["step"]
            cursor = neighbour(steps, self.look.cursor, move, feed.step)
            self.changed(self.look._replace(cursor=cursor))

    def action_step(self, move: int) -> None:
        """To the logged step before or after."""
        feed = self.ours.current
        if feed is not None:
            cursor = neighbour(feed.steps["step"], self.look.cursor, move, feed.step)
            self.changed(self.look._replace(cursor=cursor))

    def action_now(self) -> None:
        """Back to the newest step."""
        self.changed(self.look._replace(cursor=None))

    def action_zoom(self, factor: float) -> None:
        """Look closer, or from further away, around the cursor."""
        feed = self.ours.current
        if feed is not None:
            step = self.look.cursor if self.look.cursor is not None else float(feed.step)
            self.changed(zoomed(self.main_figure(), self.look, step, factor))

    def action_whole(self) -> None:
        """The whole run."""
        self.changed(self.look._replace(x0=None, x1=None, cursor=None))

    def action_log(self) -> None:
        """A logarithmic axis."""
        self.changed(self.look._replace(log=not self.look.log))

    def action_outliers(self) -> None:
        """A range that outliers do not set."""
        self.changed(self.look._replace(robust=not self.look.robust))

    def action_smooth(self, move: int) -> None:
        """More or less smoothing."""
        self.weight = min(max(self.weight + move, 0), len(WEIGHTS) - 1)
        self.tick()

    def action_glyphs(self) -> None:
        """Other marks: braille, blocks, ASCII."""
        self.ours.next_marks()
        self.tick()

    def action_chart(self) -> None:
        """The next metric in the large chart."""
        self.metric = METRICS[(METRICS.index(self.metric) + 1) % len(METRICS)]
        self.tick()

    def action_pane(self) -> None:
        """The next pane."""
        self.pane = PANES[(PANES.index(self.pane) + 1) % len(PANES)]
        self.lay_out()
        self.call_after_refresh(self.draw_anew)

    # Actions on the training

    def living(self) -> Feed | None:
        """The run in hand, if it is being trained; else a note that it is not."""
        feed = self.ours.current
        if feed is None:
            self.refuse(t("train.none"))
        elif not feed.alive:
            self.refuse(t("train.not_alive", name=feed.run.name))
        else:
            return feed
        return None

    def command(self, feed: Feed, cmd: str, *, asked: str = "", **arguments: object) -> str | None:
        """Write a command for the trainer; its answer comes with the events.

        What is asked is told meanwhile, by a name of its own where `cmd` does not say it all.
        """
        try:
            command_id = send(feed.run, cmd, **arguments)
        except UserError as error:
            self.refuse(error)
            return None
        self.ours.sent.add(command_id)
        feed.await_answer(command_id, asked or cmd)
        self.tick()
        return command_id

    def will_pause(self, feed: Feed) -> bool:
        """Whether the key pauses; it lets go on what is paused, or will be."""
        return not feed.will_be("pause", "resume", now=feed.state == "paused")

    def action_pause(self) -> None:
        """Pause, or go on."""
        feed = self.living()
        if feed is not None:
            self.command(feed, "pause" if self.will_pause(feed) else "resume")

    def action_tell_trainer(self, cmd: str) -> None:
        """Save or evaluate now."""
        feed = self.living()
        if feed is not None:
            self.command(feed, cmd)

    def action_eco(self) -> None:
        """Rest after each step for as long as it took, or no longer."""
        feed = self.living()
        if feed is not None:
            on = not feed.will_be("eco.on", "eco.off", now=feed.eco)
            self.command(feed, "eco", asked="eco.on" if on else "eco.off", on=on)

    def action_stop(self) -> None:
        """Save and stop; `R` goes on from there."""
        feed = self.living()
        if feed is not None:
            self.command(feed, "stop")

    def action_ask_sample(self) -> None:
        """Let the model as it is now continue a prompt."""
        feed = self.living()
        if feed is not None:
            self.app.push_screen(Ask(t("train.prompt")), partial(self.sample, feed))

    def sample(self, feed: Feed, prompt: str | None) -> None:
        """Send the prompt; the text grows in the pane of samples."""
        if prompt is None:
            return
        command_id = self.command(feed, "sample", prompt=prompt)
        if command_id is not None:
            feed.expect(command_id, prompt)
            self.look = self.look._replace(cursor=None)
            self.pane = "probes"
            self.lay_out()
            self.tick()

    def action_resume(self) -> None:
        """Go on with a run whose trainer is gone."""
        feed = self.ours.current
        if feed is not None:
            self.ours.resume(feed.run)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The keys that have something to act on now; those of a replay only in one."""
        feed = self.ours.current
        alive = feed is not None and feed.alive
        if action in ("replay_speed", "replay_step"):
            return self.replay is not None and not self.replay.finished
        acts = {
            "pause": alive and not self.by_step,
            "stop": alive,
            "tell_trainer": alive and not self.ours.replaying,
            "ask_sample": alive and not self.ours.replaying,
            "eco": alive and not self.ours.replaying,
            "resume": self.ours.replaying or (feed is not None and not (alive or feed.gone)),
            "pane": len(self.shown_panes()) < len(PANES),
        }
        acts |= {look: feed is not None and acts.get(look, True) for look in LOOKS}
        return acts.get(action, True) or None

    def said_as(self, binding_id: str) -> str:
        """Some keys do something else in a replay, or with a run that is paused or diverged."""
        feed = self.ours.current
        if binding_id == "train.pause" and feed is not None and not self.will_pause(feed):
            return "train.go_on"
        if self.ours.replaying:
            return REPLAYED.get(binding_id, binding_id)
        if binding_id == "train.resume" and feed is not None and feed.state == "diverged":
            return "train.slower" if saved_steps(feed.run) else "train.again"
        return binding_id

    def action_replay_speed(self) -> None:
        """Replay faster, slower, or step by step."""
        if self.ours.replay is not None:
            self.tell(self.ours.replay.change_speed())
            self.tick()

    def action_replay_step(self) -> None:
        """One evaluation further."""
        if self.ours.replay is not None:
            self.ours.replay.step_on()
            self.tick()

    def word_in_hand(self) -> str:
        """The metric of the large chart."""
        return METRIC_WORDS.get(self.metric, self.metric)

    def command_line(self) -> str:
        """The command that trains this run again, or goes on with it."""
        feed = self.ours.current
        if feed is None:
            return "mlx-gpt train"
        if feed.alive:
            return shell(["mlx-gpt", "tui", str(feed.run.path)])
        if feed.state == "finished":
            return shell(again_words(feed.run, self.ours.root))
        return shell(self.ours.words_to_resume(feed))


def looked_at(metric: str, look: Look) -> Look:
    """How to look at a metric: nothing of what is set or is bounded counts as an outlier."""
    return look._replace(robust=look.robust and metric not in UNCLIPPED)


def advice_text(advice: Advice, action: str, width: int) -> Content:
    """The sentence, and the key that acts on it by the name of what it does now.

    The lines are broken here, so that none ends between the key and its name.
    """
    sentence = visible(t(f"advice.{advice.key}", **advice.values))
    key = f"→ {KEYS[advice.action]} {t(f'key.{action}')}" if advice.action else ""
    words = f"{'▲' if advice.grave else '·'} {sentence}  {key.replace(' ', NO_BREAK)}"
    text = "\n".join(wrapped(words, width)).replace(NO_BREAK, " ")
    style = "bold $text-error" if advice.grave else "$text"
    return Content.assemble((text.removesuffix(key), style), (key, "bold $text-accent"))
