"""The table of all runs: what each is doing, their curves over each other, their differences."""

import math
import os
import time
from functools import partial
from typing import ClassVar

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.coordinate import Coordinate
from textual.widgets import Input
from textual.widgets.data_table import ColumnKey

from mlx_gpt.errors import UserError
from mlx_gpt.run import Run, State, check_name, is_alive, remove, saved_steps
from mlx_gpt.terminal import visible
from tui import clipboard
from tui.columns import shortened
from tui.compare import flat, keeps, misfit, text
from tui.curves import WEIGHTS, Overlay, overlay_figure, sign_of, style_of
from tui.desktop import opener, show_folder
from tui.feed import Glance, last_written
from tui.i18n import t
from tui.keymap import bind
from tui.launch import shell
from tui.lineup import MOST, settings_text
from tui.order import SORTABLE, Sort, arranged
from tui.page import Page
from tui.plot import Look, number, short
from tui.screens.dialogs import Ask, Confirm
from tui.widgets.chart import Chart
from tui.widgets.line import Line
from tui.widgets.pane import Pane
from tui.widgets.run_table import RunTable
from tui.widgets.status import MARKS as STATE_MARKS
from tui.widgets.words import Words

COLUMNS = (
    ("mark", 3),
    ("name", 21),
    ("state", 14),
    ("step", 13),
    ("loss", 7),
    ("val", 7),
    ("speed", 7),
    ("age", 7),
)
WIDTHS = dict(COLUMNS)
NARROWEST = sum(WIDTHS.values()) + 1  # with a scrollbar
GLANCE_SECONDS = 0.03
RELIST_SECONDS = 1.0
VIEWS = ("curves", "settings")
COLUMN_WORDS = {"state": "state", "step": "step", "val": "validation", "speed": "speed"}
CHANGES_RUN = ("rename", "delete")
NEEDS_RUN = (*CHANGES_RUN, "select_cursor", "mark", "sort", "reverse", "view", "curve")
NEEDS_RUN += ("compare", "resume", "folder", "log", "outliers", "smooth", "glyphs")


def cells(glance: Glance, now: float, name_width: int) -> list[str]:
    """A run as a row, but for the marks before it."""
    state = glance.state
    return [
        shortened(visible(glance.run.name), name_width - 1),
        f"{STATE_MARKS[state]} {t(f'state.{state}')}",
        progress(glance.step, glance.steps),
        figure(glance.loss),
        figure(glance.val_loss),
        short(glance.speed),
        age(now - glance.updated),
    ]


def progress(step: int, steps: int) -> str:
    """The step, and how many there shall be; in round numbers where the column is too narrow."""
    if not steps:
        return str(step)
    exact = f"{step}/{steps}"
    return exact if len(exact) < WIDTHS["step"] else f"{short(step)}/{short(steps)}"


def figure(value: float) -> str:
    """A loss, with fewer digits where its column is too narrow; a dash where there is none."""
    if not math.isfinite(value):
        return "–"
    exact = f"{value:.3f}"
    return exact if len(exact) < WIDTHS["loss"] else number(value)


def age(seconds: float) -> str:
    """How long ago, in one unit; never negative, even where a clock was set back.

    Seconds come in tens: a table of runs that nobody trains then stands still.
    """
    seconds = max(seconds, 0)
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{seconds // 10 * 10:.0f} s"


class Runs(Page):
    """All runs in the folder."""

    NAME = "runs"
    topic = "help.runs"
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("runs.built_in", "b", "built_in"),
        bind("runs.new", "n", "app.page('new')"),
        bind("runs.demo", "D", "demo"),
        bind("runs.mark", "space", "mark"),
        bind("runs.compare", "c", "compare"),
        bind("runs.filter", "slash", "filter"),
        bind("runs.clear", "escape", "clear"),
        bind("runs.sort", "s", "sort"),
        bind("runs.reverse", "S", "reverse", show=False),
        bind("runs.view", "v", "view"),
        bind("runs.curve", "k", "curve"),
        bind("runs.outliers", "o", "outliers"),
        bind("runs.resume", "R", "resume"),
        bind("runs.rename", "r", "rename"),
        bind("runs.delete", "x,delete", "delete"),
        bind("runs.folder", "f", "folder"),
        bind("runs.log", "l", "log", show=False),
        bind("runs.smoother", "plus,equals_sign", "smooth(1)", show=False),
        bind("runs.rougher", "minus", "smooth(-1)", show=False),
        bind("runs.glyphs", "m", "glyphs", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.glances: dict[str, Glance] = {}
        self.listed: list[str] = []  # living runs first, then by what was written last
        self.order: list[str] = []
        self.sort = Sort()
        self.marked: list[str] = []
        self.words = ""
        self.view = "curves"
        self.curve = "loss"
        self.weight = 3
        self.look = Look(robust=True)  # one run that diverged would flatten all others
        self.places: dict[str, int] = {}  # of the runs that lie over each other
        self.listed_at = -math.inf
        self.drawn: object = None
        self.had_rows = False
        self.had_state: State | None = None  # of the run under the cursor

    def body(self) -> ComposeResult:
        """Filter, table, and below it curves or settings."""
        yield Line("filter", placeholder=t("runs.filter"))
        yield Words("nothing")
        yield RunTable()
        yield Words("empty")
        with Horizontal(id="compare"):
            yield Chart("curves")
            yield Pane("settings", "help.settings")

    def on_mount(self) -> None:
        """Columns first, then what there is."""
        for key, width in COLUMNS:
            self.table.add_column(self.head(key), key=key, width=width)
        self.tick()
        self.table.focus()

    @property
    def filtering(self) -> bool:
        """Whether the line of the filter is seen."""
        return self.has_class("-filtering")

    @property
    def table(self) -> RunTable:
        """The table."""
        return self.query_one(RunTable)

    def head(self, column: str) -> Text:
        """The head of a column, with an arrow where it is sorted by."""
        return Text(t(f"column.{column}") + self.sort.arrow * (column == self.sort.column))

    # What is there

    def tick(self) -> bool:
        """Look for new runs and at what is new in those shown."""
        self.look = self.look._replace(marks=self.ours.marks)
        now = time.monotonic()
        due = now - self.listed_at >= RELIST_SECONDS
        if due:
            self.listed_at = now
            self.relist()
        waiting = self.glance_round()
        if due:
            self.put_in_order()
        waiting = self.poll_feeds() or waiting
        self.fill()
        self.draw_comparison()
        return waiting

    def relist(self) -> None:
        """Runs that came or went."""
        runs = {run.name: run for run in self.ours.runs()}
        known = {name: glance.run.path for name, glance in self.glances.items()}
        if known == {name: run.path for name, run in runs.items()}:
            return
        self.glances = {
            name: self.glances[name] if known.get(name) == run.path else Glance(run)
            for name, run in runs.items()
        }
        self.marked = [name for name in self.marked if name in runs]
        newest = {name: (is_alive(run), last_written(run)) for name, run in runs.items()}
        self.listed = sorted(runs, key=lambda name: newest[name], reverse=True)

    def put_in_order(self) -> None:
        """Sort the runs by what is known of them."""
        self.order = arranged(self.listed, self.glances, self.sort)

    def glance_round(self) -> bool:
        """Look at every run, for a while at most; whether more is waiting."""
        until = time.monotonic() + GLANCE_SECONDS
        for name in self.listed:
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

    def fill(self, *, anew: bool = False) -> None:
        """Make the table true, touching only the cells that changed unless all is wanted anew."""
        table, names, compared = self.table, self.shown_names(), self.compared()
        several = len(compared) > 1
        self.places = {run.name: place for place, run in enumerate(compared) if several}
        if self.fit_names() or anew or [key.value for key in table.rows] != names:
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
        self.say_nothing(names)
        self.refresh_bindings_of(bool(names))
        self.set_class(not self.glances, "-empty")
        if not self.glances:
            self.query_one("#empty", Words).update(t("runs.empty", folder=self.ours.root))

    def say_nothing(self, names: list[str]) -> None:
        """Why no run passes the filter, where none does."""
        nothing = bool(self.glances) and not names
        self.set_class(nothing, "-nothing")
        if nothing:
            wrong = misfit(list(self.glances.values()), self.words)
            words = t("runs.misfit", word=wrong) if wrong else t("runs.nothing", words=self.words)
            self.query_one("#nothing", Words).update(visible(words))

    def refresh_bindings_of(self, has_rows: bool) -> None:
        """Show the keys anew when the first row came or the last went, or the chosen run ended."""
        glance = self.glances.get(self.chosen_name() or "")
        state = glance.state if glance else None
        if (has_rows, state) != (self.had_rows, self.had_state):
            self.had_rows, self.had_state = has_rows, state
            self.refresh_bindings()

    def row(self, name: str) -> list[Text]:
        """The cells of a run."""
        row = cells(self.glances[name], self.ours.clock(), self.name_width)
        return [self.mark_of(name), *map(Text, row)]

    def mark_of(self, name: str) -> Text:
        """Whether a run is marked, and the sign and colour of its curve among others."""
        mark = Text("▸" if name in self.marked else " ")
        if name in self.places:
            place = self.places[name]
            chart = self.query_one("#curves", Chart)
            colour = chart.style_named(style_of(place)).color
            mark.append(sign_of(place), Style(color=colour))
        return mark

    @property
    def name_width(self) -> int:
        """The width of the column of names: what they need, as far as the others leave it."""
        least = WIDTHS["name"]
        spare = max(self.app.size.width - NARROWEST, 0)
        longest = max((cell_len(visible(name)) for name in self.glances), default=0)
        return min(max(longest + 1, least), least + spare)

    def fit_names(self) -> bool:
        """Give the names the room they need; whether that has changed."""
        column = self.table.columns[ColumnKey("name")]
        before, column.width = column.width, self.name_width
        return column.width != before

    def on_resize(self) -> None:
        """Another size: more room for names, or less."""
        super().on_resize()
        if self.begun:
            self.fill()

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
            self.query_one("#settings", Pane).line,
        )
        if state == self.drawn:
            return
        self.drawn = state
        overlays = [Overlay(visible(feed.run.name), feed) for feed in feeds]
        figure = overlay_figure(overlays, self.curve, WEIGHTS[self.weight])
        self.query_one("#curves", Chart).show(figure, self.look)
        self.show_settings(runs)

    def show_settings(self, runs: list[Run]) -> None:
        """What one run is, or in what several differ."""
        pane = self.query_one("#settings", Pane)
        configs = [self.glances[run.name].config for run in runs]
        if len(runs) > 1:
            title = t("runs.differences")
            content = settings_text([run.name for run in runs], configs, pane.line)
        else:
            title = t("runs.settings")
            settings = flat(configs[0]) if configs else {}
            words = "\n".join(f"{key} = {text(settings, key)}" for key in settings)
            content = Content(visible(words))
        pane.show(title, content)

    def retranslate(self) -> None:
        """Column heads and placeholders."""
        self.query_one("#filter", Input).placeholder = t("runs.filter")
        self.drawn = None
        self.tick()
        self.relabel()

    def relabel(self) -> None:
        """Column heads anew; the table draws them only with its rows."""
        for key, column in self.table.columns.items():
            column.label = self.head(str(key.value))
        self.fill(anew=True)

    # Actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The keys that have a run to act on; the recorded one is not the user's to change."""
        if action in NEEDS_RUN and not self.had_rows:
            return None
        if action == "clear":
            return self.filtering or bool(self.marked) or None
        if action in CHANGES_RUN and self.chosen_name() is not None:
            return not self.ours.is_recorded(self.glances[str(self.chosen_name())].run) or None
        return True

    def said_as(self, binding_id: str) -> str:
        """One that diverged goes on more slowly, the recorded one is played again.

        The filter goes before the marks.
        """
        if binding_id == "runs.clear" and self.filtering:
            return "runs.unfilter"
        if binding_id != "runs.resume":
            return binding_id
        glance = self.glances.get(self.chosen_name() or "")
        if glance is None:
            return binding_id
        if glance.state == "diverged":
            return "train.slower" if saved_steps(glance.run) else "train.again"
        return "replay.again" if self.ours.is_recorded(glance.run) else binding_id

    def action_sort(self) -> None:
        """Sort by the next column."""
        self.sort_by(self.sort.by_next())

    def action_reverse(self) -> None:
        """Turn the order round; without a column it is about that of age."""
        self.sort_by(self.sort.by(self.sort.column) if self.sort.column else Sort("age", True))

    def on_data_table_header_selected(self, event: RunTable.HeaderSelected) -> None:
        """A click on a head sorts by it, or turns the order round."""
        column = str(event.column_key.value)
        if column in SORTABLE:
            self.sort_by(self.sort.by(column))

    def sort_by(self, sort: Sort) -> None:
        """Sort in another way; the cursor stays on its run."""
        self.sort = sort
        self.put_in_order()
        self.relabel()

    def on_data_table_row_selected(self) -> None:
        """Enter or a click on the row under the cursor opens it."""
        self.action_open()

    def on_data_table_row_highlighted(self) -> None:
        """Another run is compared, and other keys may act on it."""
        self.tick()
        self.refresh_bindings()

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
        self.refresh_bindings()
        self.tick()

    def action_compare(self) -> None:
        """Look at the compared runs side by side."""
        runs = self.compared()
        if len(runs) < 2:
            self.tell(t("side.how"))
            return
        if len(runs) > MOST:
            self.tell(t("side.most", most=MOST, count=len(runs)))
        self.ours.compare(runs[:MOST])

    def action_filter(self) -> None:
        """Type what the runs shown must have."""
        self.add_class("-filtering")
        self.query_one("#filter", Input).focus()
        self.refresh_bindings()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter as one types."""
        self.words = event.value
        self.fill()

    def on_input_submitted(self) -> None:
        """Back to the table, filtered."""
        self.set_class(bool(self.words), "-filtering")
        self.table.focus()
        self.refresh_bindings()

    def action_clear(self) -> None:
        """Take the filter away, or where there is none the marks."""
        if self.filtering:
            self.query_one("#filter", Input).value = ""
            self.remove_class("-filtering")
            self.table.focus()
        else:
            self.marked = []
        self.refresh_bindings()
        self.tick()

    def action_view(self) -> None:
        """Curves or settings, where there is no room for both."""
        self.view = VIEWS[(VIEWS.index(self.view) + 1) % len(VIEWS)]
        self.set_class(self.view == "settings", "-settings")
        self.call_after_refresh(self.draw_comparison)

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
        self.ours.next_marks()
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
        self.ours.follow(run, target)
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
        """Copy the path of the folder, and have it shown where something can."""
        run = self.chosen()
        if run is None:
            return
        path = run.path.absolute()
        clipboard.copy(self.ours, str(path))
        done = "runs.folder_shown" if show_folder(path) else "runs.folder_copied"
        self.tell(t(done, path=path, program=opener()))

    def word_in_hand(self) -> str:
        """The column that the runs are sorted by, else the loss."""
        return COLUMN_WORDS.get(self.sort.column, "loss")

    def shows_recorded(self) -> bool:
        """Whether the recorded run is one of two that are compared."""
        runs = self.compared()
        return len(runs) == 2 and any(map(self.ours.is_recorded, runs))

    def command_line(self) -> str:
        """The runs as the command line shows them."""
        where = [] if str(self.ours.root) == "runs" else ["--out", str(self.ours.root)]
        names = [run.name for run in self.compared()]
        if len(names) == 2:
            return shell(["mlx-gpt", "runs", "compare", *names, *where])
        return shell(["mlx-gpt", "runs", *where])
