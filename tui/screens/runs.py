"""The table of all runs: what each is doing, their curves over each other, their differences."""

import math
import os
import subprocess
import sys
import time
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.coordinate import Coordinate
from textual.widgets import Input, Static

from mlx_gpt.errors import UserError
from mlx_gpt.run import Run, check_name, is_alive, list_runs, remove
from mlx_gpt.terminal import table, visible
from tui import clipboard
from tui.compare import differences, flat, keeps, text
from tui.curves import WEIGHTS, Overlay, overlay_figure
from tui.feed import Glance, last_written
from tui.i18n import t
from tui.keymap import bind
from tui.launch import shell
from tui.page import Page
from tui.plot import MARKS, Look, short
from tui.screens.dialogs import Ask, Confirm
from tui.widgets.chart import Chart
from tui.widgets.pane import Pane
from tui.widgets.run_table import RunTable
from tui.widgets.status import MARKS as STATE_MARKS

COLUMNS = (
    ("mark", 2),
    ("name", 21),
    ("state", 14),
    ("step", 13),
    ("loss", 7),
    ("val", 7),
    ("speed", 7),
    ("age", 8),
)
GLANCE_SECONDS = 0.03
RELIST_SECONDS = 1.0
VIEWS = ("curves", "settings")


def cells(glance: Glance, now: float, *, marked: bool) -> list[str]:
    """A run as a row."""
    state = glance.state
    step = str(glance.step) if not glance.steps else f"{glance.step}/{glance.steps}"
    return [
        "▸" if marked else "",
        shortened(visible(glance.run.name), 20),
        f"{STATE_MARKS[state]} {t(f'state.{state}')}",
        step,
        figure(glance.loss),
        figure(glance.val_loss),
        short(glance.speed),
        age(now - glance.updated),
    ]


def shortened(words: str, most: int) -> str:
    """Words cut to a width, the cut made visible."""
    return words if len(words) <= most else f"{words[: most - 1]}…"


def figure(value: float) -> str:
    """A loss, or a dash."""
    return f"{value:.3f}" if math.isfinite(value) else "–"


def age(seconds: float) -> str:
    """How long ago, in one unit; never negative, even where a clock was set back."""
    seconds = max(seconds, 0)
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{seconds:.0f} s"


class Runs(Page):
    """All runs in the folder."""

    NAME = "runs"
    topic = "help.runs"
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("runs.built_in", "b", "built_in"),
        bind("runs.new", "n", "app.page('new')"),
        bind("runs.demo", "D", "demo"),
        bind("runs.mark", "space", "mark"),
        bind("runs.filter", "slash", "filter"),
        bind("runs.view", "v", "view"),
        bind("runs.curve", "k", "curve"),
        bind("runs.resume", "R", "resume"),
        bind("runs.rename", "r", "rename"),
        bind("runs.delete", "x,delete", "delete"),
        bind("runs.folder", "f", "folder"),
        bind("runs.log", "l", "log", show=False),
        bind("runs.outliers", "o", "outliers", show=False),
        bind("runs.smoother", "plus,equals_sign", "smooth(1)", show=False),
        bind("runs.rougher", "minus", "smooth(-1)", show=False),
        bind("runs.glyphs", "m", "glyphs", show=False),
        bind("runs.clear", "escape", "clear", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.glances: dict[str, Glance] = {}
        self.order: list[str] = []
        self.marked: list[str] = []
        self.words = ""
        self.view = "curves"
        self.curve = "loss"
        self.weight = 3
        self.look = Look()
        self.listed_at = -math.inf
        self.drawn: object = None

    def body(self) -> ComposeResult:
        """Filter, table, and below it curves or settings."""
        yield Input(placeholder=t("runs.filter"), id="filter", compact=True)
        yield RunTable()
        yield Static("", id="empty", markup=False)
        with Horizontal(id="compare"):
            yield Chart("curves")
            yield Pane("settings", "help.settings")

    def on_mount(self) -> None:
        """Columns first, then what there is."""
        for key, width in COLUMNS:
            self.table.add_column(Text(t(f"column.{key}")), key=key, width=width)
        self.tick()
        self.table.focus()

    @property
    def table(self) -> RunTable:
        """The table."""
        return self.query_one(RunTable)

    # What is there

    def tick(self) -> bool:
        """Look for new runs and at what is new in those shown."""
        now = time.monotonic()
        if now - self.listed_at >= RELIST_SECONDS:
            self.listed_at = now
            self.relist()
        waiting = self.glance_round()
        waiting = self.poll_feeds() or waiting
        self.fill()
        self.draw_comparison()
        return waiting

    def relist(self) -> None:
        """Runs that came or went."""
        runs = {run.name: run for run in list_runs(self.ours.root)}
        if set(runs) == set(self.glances):
            return
        self.glances = {
            name: self.glances[name] if name in self.glances else Glance(run)
            for name, run in runs.items()
        }
        self.marked = [name for name in self.marked if name in runs]
        newest = {name: (is_alive(run), last_written(run)) for name, run in runs.items()}
        self.order = sorted(runs, key=lambda name: newest[name], reverse=True)

    def glance_round(self) -> bool:
        """Look at every run, for a while at most; whether more is waiting."""
        until = time.monotonic() + GLANCE_SECONDS
        for name in self.order:
            self.glances[name].poll()
            if time.monotonic() > until:
                return True
        return any(glance.behind for glance in self.glances.values())

    def poll_feeds(self) -> bool:
        """Read the curves that are drawn; whether more is waiting."""
        waiting = False
        for run in self.compared():
            feed = self.ours.feed(run)
            feed.poll(GLANCE_SECONDS)
            waiting = waiting or feed.behind
        return waiting

    def shown_names(self) -> list[str]:
        """The runs that pass the filter, in order."""
        return [name for name in self.order if keeps(self.glances[name], self.words)]

    def fill(self) -> None:
        """Make the table true, touching only the cells that changed."""
        table, names = self.table, self.shown_names()
        if [key.value for key in table.rows] != names:
            chosen = self.chosen_name()
            table.clear()
            for name in names:
                table.add_row(*self.row(name), key=name)
            if chosen in names:
                table.move_cursor(row=names.index(chosen))
        else:
            for name in names:
                for (column, _), value in zip(COLUMNS, self.row(name), strict=True):
                    if table.get_cell(name, column) != value:
                        table.update_cell(name, column, value)
        self.set_class(not self.glances, "-empty")
        if not self.glances:
            self.query_one("#empty", Static).update(t("runs.empty", folder=self.ours.root))

    def row(self, name: str) -> list[Text]:
        """The cells of a run."""
        now, marked = self.ours.clock(), name in self.marked
        return [Text(cell) for cell in cells(self.glances[name], now, marked=marked)]

    def chosen_name(self) -> str | None:
        """The run under the cursor."""
        table = self.table
        if not table.row_count:
            return None
        return table.coordinate_to_cell_key(Coordinate(table.cursor_row, 0)).row_key.value

    def chosen(self) -> Run | None:
        """The run under the cursor, or a note that there is none."""
        name = self.chosen_name()
        if name is None or name not in self.glances:
            self.tell(t("runs.none"))
            return None
        return self.glances[name].run

    def compared(self) -> list[Run]:
        """The marked runs and the one under the cursor."""
        name = self.chosen_name()
        names = self.marked if name is None or name in self.marked else [*self.marked, name]
        return [self.glances[each].run for each in names if each in self.glances]

    # The lower half

    def draw_comparison(self) -> None:
        """Curves and settings of the compared runs, where anything has changed."""
        runs = self.compared()
        feeds = [self.ours.feed(run) for run in runs]
        state = (
            [(feed.run.path, feed.revision, feed.curve_revision) for feed in feeds],
            self.curve,
            self.weight,
            self.look,
            self.language,
        )
        if state == self.drawn:
            return
        self.drawn = state
        overlays = [
            Overlay(shortened(visible(run.name), 16), feed)
            for run, feed in zip(runs, feeds, strict=True)
        ]
        figure = overlay_figure(overlays, self.curve, WEIGHTS[self.weight])
        self.query_one("#curves", Chart).show(figure, self.look)
        self.show_settings(runs)

    def show_settings(self, runs: list[Run]) -> None:
        """What one run is, or in what several differ."""
        configs = [self.glances[run.name].config for run in runs]
        if len(runs) > 1:
            rows = [(key, *values) for key, values in differences(configs)]
            names = [shortened(visible(run.name), 18) for run in runs]
            title = t("runs.differences")
            content = table([(t("runs.setting"), *names), *rows]) if rows else t("runs.same")
        else:
            title = t("runs.settings")
            settings = flat(configs[0]) if configs else {}
            content = "\n".join(f"{key} = {text(settings, key)}" for key in settings)
        self.query_one("#settings", Pane).show(title, Content(visible(content)))

    def retranslate(self) -> None:
        """Column heads and placeholders."""
        self.query_one("#filter", Input).placeholder = t("runs.filter")
        for key, column in self.table.columns.items():
            column.label = Text(t(f"column.{key.value}"))
        self.drawn = None
        self.tick()

    # Actions

    def on_data_table_row_selected(self) -> None:
        """Enter or a click on the row under the cursor opens it."""
        self.action_open()

    def on_data_table_row_highlighted(self) -> None:
        """Another run is compared."""
        self.tick()

    def action_open(self) -> None:
        """Watch the run under the cursor."""
        run = self.chosen()
        if run is not None:
            self.ours.attach(run)

    def action_built_in(self) -> None:
        """Train the built-in stories."""
        self.ours.action_built_in()

    def action_demo(self) -> None:
        """Replay the recorded run."""
        self.ours.action_demo()

    def action_mark(self) -> None:
        """Compare this run with others."""
        name = self.chosen_name()
        if name is None:
            return
        if name in self.marked:
            self.marked.remove(name)
        else:
            self.marked.append(name)
        self.tick()

    def action_filter(self) -> None:
        """Type what the runs shown must have."""
        self.add_class("-filtering")
        self.query_one("#filter", Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter as one types."""
        self.words = event.value
        self.fill()

    def on_input_submitted(self) -> None:
        """Back to the table, filtered."""
        self.set_class(bool(self.words), "-filtering")
        self.table.focus()

    def action_clear(self) -> None:
        """Take the filter and the marks away."""
        self.query_one("#filter", Input).value = ""
        self.remove_class("-filtering")
        self.marked = []
        self.table.focus()
        self.tick()

    def action_view(self) -> None:
        """Curves or settings, where there is no room for both."""
        self.view = VIEWS[(VIEWS.index(self.view) + 1) % len(VIEWS)]
        self.set_class(self.view == "settings", "-settings")

    def action_curve(self) -> None:
        """Training loss or validation loss."""
        self.curve = "val_loss" if self.curve == "loss" else "loss"
        self.tick()

    def action_log(self) -> None:
        """A logarithmic axis."""
        self.look = self.look._replace(log=not self.look.log)
        self.tick()

    def action_outliers(self) -> None:
        """Hide outliers."""
        self.look = self.look._replace(robust=not self.look.robust)
        self.tick()

    def action_smooth(self, move: int) -> None:
        """More or less smoothing."""
        self.weight = min(max(self.weight + move, 0), len(WEIGHTS) - 1)
        self.tick()

    def action_glyphs(self) -> None:
        """Other marks for the curves."""
        marks = MARKS[(MARKS.index(self.look.marks) + 1) % len(MARKS)]
        self.look = self.look._replace(marks=marks)
        self.tick()

    def action_resume(self) -> None:
        """Go on with a run whose trainer is gone."""
        run = self.chosen()
        if run is not None:
            self.ours.resume(run)

    def action_rename(self) -> None:
        """Give the run another name."""
        run = self.chosen()
        if run is None:
            return
        if is_alive(run):
            self.refuse(t("runs.rename_alive", name=run.name))
            return
        question = t("runs.rename", name=run.name)
        self.app.push_screen(Ask(question, run.name, check_name), partial(self.rename, run))

    def rename(self, run: Run, name: str | None) -> None:
        """Move the folder."""
        if name is None or name == run.name:
            return
        target = run.path.with_name(name)
        try:
            if os.path.lexists(target):
                raise UserError(t("runs.taken", name=name))
            run.path.rename(target)
        except (OSError, UserError) as error:
            self.refuse(str(error))
            return
        if self.ours.run_in_hand is not None and self.ours.run_in_hand.name == run.name:
            self.ours.run_in_hand = Run(target)
        self.look_again()

    def action_delete(self) -> None:
        """Delete a run, after a question."""
        run = self.chosen()
        if run is None:
            return
        if is_alive(run):
            self.refuse(t("runs.delete_alive", name=run.name))
            return
        question = t("runs.delete", name=run.name, path=run.path)
        self.app.push_screen(Confirm(question), partial(self.delete, run))

    def delete(self, run: Run, agreed: bool | None) -> None:
        """Remove the folder with everything in it."""
        if not agreed:
            return
        try:
            remove(run)
        except UserError as error:
            self.refuse(error)
            return
        self.tell(t("runs.deleted", name=run.name))
        self.ours.forget(run)
        self.look_again()

    def look_again(self) -> None:
        """List the folder at once."""
        self.listed_at = -math.inf
        self.tick()

    def action_folder(self) -> None:
        """Open the folder where the system can, and copy its path."""
        run = self.chosen()
        if run is None:
            return
        path = str(run.path.absolute())
        clipboard.copy(self.ours, path)
        if sys.platform == "darwin":
            subprocess.run(["open", path], check=False)
        self.tell(t("runs.folder", path=path))

    def command_line(self) -> str:
        """The runs as the command line shows them."""
        where = [] if str(self.ours.root) == "runs" else ["--out", str(self.ours.root)]
        names = [run.name for run in self.compared()]
        if len(names) == 2:
            return shell(["mlx-gpt", "runs", "compare", *names, *where])
        return shell(["mlx-gpt", "runs", *where])
