"""Stepping through a model: the forward pass as a debugger shows a program."""

from contextlib import aclosing
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Static

from mlx_gpt.errors import UserError
from mlx_gpt.language import say
from mlx_gpt.run import Record
from mlx_gpt.terminal import visible
from tui.history import history_path, read_prompts, remembered, write_prompts
from tui.i18n import t
from tui.inquiry import Edit, Given, Inquiry
from tui.inside import DEMO, Place, command_for, place_of
from tui.inspect import (
    Seen,
    group_text,
    prompt_text,
    row_text,
)
from tui.keymap import bind
from tui.messages import Chosen
from tui.page import WIDE, Page
from tui.quiz import Quiz
from tui.screens.pick import Item, Pick
from tui.views import TABLES, VIEWS, Room, Views
from tui.walk import Walk
from tui.widgets.pane import Pane
from tui.widgets.prompt import Prompt
from tui.widgets.row_tree import Marks, RowTree, node_name
from tui.widgets.view_pane import ViewPane

PROMPT = "Once upon a time"
WRITERS = {
    "attention": ("attn_out",),
    "feed-forward": ("down",),
    "block": ("attn_out", "down"),
}


class Trace(Page):
    """The rows of a forward pass, one after the other."""

    NAME = "trace"
    topic = "help.trace"
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("trace.step", "down,j", "step(1)"),
        bind("trace.back", "up,k", "step(-1)"),
        bind("trace.into", "right,enter", "into"),
        bind("trace.out", "left", "out"),
        bind("trace.block", "space", "block(1)"),
        bind("trace.view", "v", "view(1)"),
        bind("trace.less", "comma", "move(-1)"),
        bind("trace.more", "full_stop", "move(1)"),
        bind("trace.edit", "e,i", "edit"),
        bind("trace.break", "b", "break"),
        bind("trace.zero", "o", "knock_out"),
        bind("trace.restore", "0", "restore"),
        bind("trace.quiz", "z", "quiz"),
        bind("trace.pair", "w", "pair"),
        bind("trace.hold", "h", "hold"),
        bind("trace.marks", "m", "marks"),
        bind("trace.wide", "f", "wide"),
        bind("trace.block_back", "p", "block(-1)", show=False),
        bind("trace.view_back", "V", "view(-1)", show=False),
        bind("trace.values", "x", "look('values')", show=False),
        bind("trace.attention", "a", "look('attention')", show=False),
        bind("trace.lens", "l", "look('lens')", show=False),
        bind("trace.cone", "c", "look('cone')", show=False),
        bind("trace.account", "u", "look('account')", show=False),
        bind("trace.row", "r", "look('row')", show=False),
        bind("trace.left", "left_square_bracket", "scroll_table(0, -1)", show=False),
        bind("trace.right", "right_square_bracket", "scroll_table(0, 1)", show=False),
        bind("trace.upward", "left_curly_bracket", "scroll_table(-1, 0)", show=False),
        bind("trace.downward", "right_curly_bracket", "scroll_table(1, 0)", show=False),
        bind("trace.reload", "R", "reload", show=False),
        bind("trace.leave", "escape", "leave", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.inquiry = Inquiry()
        self.walk: Walk | None = None
        self.views = Views(self.inquiry, self.want)
        self.full = False
        self.quiz = Quiz()
        self.place: Place | None = None
        self.tried: object = None  # the model that a trace was last asked of
        self.fault = ""
        self.busy = False
        self.turn = 0  # how often a trace was asked for

    def body(self) -> ComposeResult:
        """Facts, tokens, lines to write in, tree and panes."""
        yield Static("", id="empty", markup=False)
        with Vertical(id="inside"):
            yield Static("", id="facts", markup=False)
            yield Static("", id="pass", markup=False)
            yield Prompt("edit")
            yield Prompt("answer")
            with Horizontal(id="bench"):
                yield RowTree()
                yield Pane("row", "help.row")
                yield ViewPane("view", "help.view")

    def on_mount(self) -> None:
        """Nothing is written yet; the tree has the keys."""
        self.query_one("#edit").display = self.query_one("#answer").display = False
        self.query_one(RowTree).focus()
        self.retranslate()

    # What is there

    def retranslate(self) -> None:
        """Say it all again."""
        self.query_one("#edit", Prompt).placeholder = t("trace.prompt")
        self.query_one("#empty", Static).update(t("trace.empty"))
        self.draw()

    def tick(self) -> bool:
        """Notice another model in hand, or a text that another page hands over."""
        nothing = self.ours.model is None and self.ours.run_in_hand is None
        self.set_class(nothing, "-empty")
        handed, self.ours.prompt = self.ours.prompt, ""
        if nothing or self.busy:
            return False
        if handed:
            self.start(self.inquiry.given._replace(prompt=handed))
        elif self.in_hand() != self.tried:
            self.start(Given(self.inquiry.given.prompt or self.first_prompt()))
        return False

    def in_hand(self) -> object:
        """What should be looked into: a model, a run, or the recording."""
        return self.ours.model, self.ours.run_in_hand, self.ours.replaying

    def first_prompt(self) -> str:
        """A text to begin with: the first probe prompt of the run that says anything."""
        feed = self.ours.current
        probes = feed.setting("train.probe_prompts") if feed else None
        words = [probe for probe in probes or [] if isinstance(probe, str) and len(probe) > 6]
        return words[0] if words else PROMPT

    def start(self, given: Given, against: Given | None = None) -> None:
        """Trace a pass."""
        self.tried = self.in_hand()
        self.busy = True
        self.run_worker(self.run_trace(given, against), group="trace", exclusive=True)

    async def run_trace(self, given: Given, against: Given | None) -> None:
        """Trace a pass, and show it."""
        self.turn += 1
        turn = self.turn
        self.busy, self.fault = True, ""
        self.draw()
        try:
            inside = self.ours.look_inside()
            self.place = self.find_place()
            await self.inquiry.look(inside, self.place, given, against)
            self.take_trace()
        except UserError as error:
            self.fault = str(error)
            self.refuse(error)
        finally:
            if turn == self.turn:  # nothing else has been asked meanwhile
                self.busy = False
            self.draw()

    def find_place(self) -> Place:
        """Where the model in hand is loaded from."""
        place = DEMO if self.ours.replaying else place_of(self.ours.model, self.ours.run_in_hand)
        if place is None:
            raise UserError(t("sample.no_model"))
        return place

    def take_trace(self) -> None:
        """Walk through the new trace from where the old one stood."""
        trace = self.inquiry.trace
        assert trace is not None
        walk = Walk(trace.rows)
        if self.walk is not None:
            walk.follow(self.walk)
        else:
            walk.open.update(i for i, node in enumerate(walk.nodes) if node.label == "block")
        self.walk = walk
        self.views.settle()
        if self.inquiry.first:
            walk.go(self.inquiry.first)
        for note in self.inquiry.loaded.notes if self.inquiry.loaded else ():
            self.tell(note)
        if self.inquiry.compared and not self.inquiry.first:
            self.tell(t("trace.same"))

    # Drawing

    def draw(self) -> None:
        """Everything, as it is now."""
        if not self.query("#view"):
            return  # the app is being closed
        trace, walk = self.inquiry.trace, self.walk
        self.query_one("#facts", Static).update(visible(self.facts()))
        self.lay_out()
        if trace is None or walk is None:
            self.query_one("#row", Pane).show("", Content(visible(self.fault or t("trace.wait"))))
            return
        shown = prompt_text(trace, self.views.place, self.inquiry.piece)
        self.query_one("#pass", Static).update(shown)
        self.query_one(RowTree).show(walk, Marks(self.inquiry.gaps, self.hidden()))
        self.draw_row(walk)
        if self.views.name != "row":
            self.draw_view(walk)

    def lay_out(self) -> None:
        """The panes there is room for."""
        roomy = self.app.size.width >= WIDE
        other = self.views.name != "row"
        self.query_one("#row").display = not other or (roomy and not self.full)
        self.query_one("#view").display = other
        self.query_one("#tree").display = not self.full

    def facts(self) -> str:
        """Model, pass, loss, what is changed, and the score."""
        inquiry = self.inquiry
        if inquiry.trace is None or inquiry.loaded is None:
            return t("trace.wait") if self.busy else self.fault
        parts = [inquiry.loaded.source]
        if inquiry.given.changes:
            parts.append(f"✂ {inquiry.given.changes}")
        if inquiry.first:
            parts.append(t("trace.first", name=inquiry.first))
        parts.append(t("sample.count", count=len(inquiry.ids)))
        if inquiry.trace.loss is not None:
            parts.append(f"{t('metric.loss')} {inquiry.trace.loss:.3f}")
        if inquiry.cut:
            parts.append(t("trace.cut", count=inquiry.cut))
        if self.quiz.on:
            parts.append(self.quiz.score)
        if self.stale():
            parts.append(t("trace.stale", press=self.key_of("trace.reload")))
        return " · ".join(parts) + (f" · {t('trace.busy')}" if self.busy else "")

    def stale(self) -> bool:
        """Whether the run has a newer checkpoint than the one that is shown."""
        try:
            return (
                self.place is not None
                and self.place.run is not None
                and (place_of(self.ours.model, self.ours.run_in_hand) != self.place)
            )
        except UserError:
            return False

    def draw_row(self, walk: Walk) -> None:
        """What is to be said of the row under the cursor."""
        node = walk.node
        title = node_name(node)
        if node.row is None:
            self.query_one("#row", Pane).show(title, group_text(node, walk.rows, title))
            return
        row = walk.row
        seen = Seen(row.name in self.hidden(), self.inquiry.gaps.get(row.name))
        content = row_text(row, seen)
        if row.name in self.quiz.said:
            words = Content.styled(visible(self.quiz.said[row.name]), "bold $accent")
            content = Content("\n\n").join([words, content])
        self.query_one("#row", Pane).show(title, content)

    def draw_view(self, walk: Walk) -> None:
        """The chosen view."""
        pane = self.query_one("#view", Pane)
        if not pane.size:
            return  # it has been shown just now, and will tell its size
        colour = not self.app.no_color and self.app.console.color_system not in (None, "standard")
        room = Room(pane.size.width, pane.size.height, colour)
        pane.show(*self.views.text(walk, room, self.hidden()))

    def hidden(self) -> frozenset[str]:
        """The rows whose shape is still to be guessed."""
        return self.quiz.hidden(self.inquiry.trace.rows if self.inquiry.trace else ())

    def want(self, do: str, fields: Record) -> None:
        """Ask for what the view needs; with a trace on its way, that will ask again."""
        if not self.busy:
            self.run_worker(self.fetch(do, fields), group="view", exclusive=True)

    async def fetch(self, do: str, fields: Record) -> None:
        """Ask, and draw again."""
        await self.inquiry.fetch(do, fields)
        self.draw()

    # Actions: the debugger

    def on_resize(self) -> None:
        """Another size, perhaps another number of panes."""
        super().on_resize()
        self.lay_out()

    def on_view_pane_sized(self) -> None:
        """The view has another size."""
        if self.walk is not None and self.views.name != "row":
            self.draw_view(self.walk)

    def stepped(self) -> None:
        """The cursor stands elsewhere."""
        self.views.grid.corner = (0, 0)
        if self.quiz.on:
            self.ask_shape()
        self.draw()

    def action_step(self, move: int) -> None:
        """The next row, or the one before."""
        if self.walk is not None:
            self.walk.step(move)
            self.stepped()

    def action_into(self) -> None:
        """Into a group; on a row, to its numbers."""
        if self.walk is not None and not self.walk.into():
            self.action_look("values" if self.views.name == "row" else self.views.name)
        else:
            self.stepped()

    def action_out(self) -> None:
        """Out of the group."""
        if self.walk is not None:
            self.walk.out()
            self.stepped()

    def action_block(self, move: int) -> None:
        """The next part of the model, or the one before."""
        if self.walk is not None:
            self.walk.block(move)
            self.stepped()

    def on_chosen(self, message: Chosen) -> None:
        """The node that was clicked; a second click opens or closes it."""
        (place,) = message.place
        if self.walk is None:
            return
        if self.walk.cursor == place and self.walk.node.row is None:
            (self.walk.open.discard if place in self.walk.open else self.walk.open.add)(place)
        self.walk.cursor = place
        self.stepped()

    # Actions: views

    def action_view(self, move: int) -> None:
        """The next view."""
        self.action_look(VIEWS[(VIEWS.index(self.views.name) + move) % len(VIEWS)])

    def action_look(self, view: str) -> None:
        """One of the views."""
        self.views.look(view)
        self.refresh_bindings()
        self.draw()

    def action_move(self, move: int) -> None:
        """Another head, another index, or another position."""
        if self.walk is not None:
            self.views.move(self.walk.row, move)
            self.inquiry.faults = {}
            self.draw()

    def action_pair(self) -> None:
        """Another pair of axes as the table."""
        self.views.grid.turn()
        self.draw()

    def action_hold(self) -> None:
        """Another axis to move along."""
        self.views.grid.held += 1
        self.draw()

    def action_marks(self) -> None:
        """Numbers, blocks, half blocks or signs."""
        self.views.grid.next_mode()
        self.draw()

    def action_scroll_table(self, rows: int, columns: int) -> None:
        """Another part of a table that is larger than its pane."""
        self.views.grid.scroll(rows, columns)
        self.draw()

    def action_wide(self) -> None:
        """The whole width for the view, or the tree beside it."""
        self.full = not self.full
        self.lay_out()

    # Actions: changing things

    def action_edit(self) -> None:
        """Write another prompt."""
        line = self.query_one("#edit", Prompt)
        line.past = read_prompts(history_path())
        line.value, line.display = self.inquiry.given.prompt, True
        line.cursor_position = len(line.value)
        line.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """A prompt, or a guess."""
        event.stop()
        if event.input.id == "answer":
            self.judge(event.value)
            return
        self.on_prompt_left()
        given, old = self.inquiry.given._replace(prompt=event.value), self.inquiry.given
        try:
            path = history_path()
            write_prompts(path, remembered(read_prompts(path), event.value))
        except UserError as error:
            self.refuse(error)
        self.start(given, old)

    def on_prompt_left(self) -> None:
        """Back to the tree."""
        self.query_one("#edit").display = False
        if self.quiz.on:
            self.action_quiz()
        self.query_one(RowTree).focus()

    def sound(self) -> Given:
        """The same prompt through the model as it is."""
        return Given(self.inquiry.given.prompt)

    def action_knock_out(self) -> None:
        """Set to zero what the cursor stands on: a row, a part, or the head that is looked at."""
        if self.walk is None or self.busy:
            return
        edits = dict.fromkeys([*self.inquiry.given.edits, *self.edits_here(self.walk)])
        self.start(self.inquiry.given._replace(edits=tuple(edits)), self.sound())

    def edits_here(self, walk: Walk) -> list[Edit]:
        """What a knock-out means at the cursor."""
        node, at = walk.node, f"blocks.{walk.node.layer or 0}"
        if self.views.name == "attention":
            return [Edit(f"{at}.context", 1, self.views.head)]
        if node.row is None and node.label in WRITERS:
            return [Edit(f"{at}.{kind}") for kind in WRITERS[node.label]]
        return [Edit(walk.row.name)]

    def action_break(self) -> None:
        """Choose a mistake to make."""
        if self.walk is not None and not self.busy:
            self.run_worker(self.offer_breaks(), group="breaks", exclusive=True)

    async def offer_breaks(self) -> None:
        """The menu of mistakes that this model can have."""
        try:
            fits = await self.inquiry.breaks()
        except UserError as error:
            self.refuse(error)
            return
        items = [Item(each["name"], say(each["en"], each["es"])) for each in fits]
        named = {each["name"]: each for each in fits}

        def picked(name: str | None) -> None:
            if name is not None:
                self.make_break(named[name])

        self.app.push_screen(Pick(t("labs.choose"), items), picked)

    def make_break(self, broken: Record) -> None:
        """Trace the broken model, and let the labs look at it."""
        views = self.views
        views.broken, views.verdicts, views.examining = broken, [], True
        self.views.look("labs")
        given = self.inquiry.given._replace(broken=broken["name"])
        self.tried, self.busy = self.in_hand(), True
        self.run_worker(self.break_and_check(given), group="trace", exclusive=True)

    async def break_and_check(self, given: Given) -> None:
        """The broken trace, then the verdicts one by one."""
        await self.run_trace(given, self.sound())
        try:
            async with aclosing(self.inquiry.check(given.broken)) as verdicts:
                async for verdict in verdicts:
                    self.views.verdicts.append(verdict)
                    self.draw()
        except UserError as error:
            self.refuse(error)
        finally:
            self.views.examining = False
            self.draw()

    def action_restore(self) -> None:
        """The model as it is."""
        if self.inquiry.given.changes and self.walk is not None:
            views = self.views
            views.broken, views.verdicts, views.examining = None, [], False
            self.start(self.sound())

    def action_reload(self) -> None:
        """The newest checkpoint."""
        if self.inquiry.inside is not None:
            self.inquiry.inside.loaded = None
        self.start(self.inquiry.given)

    def action_leave(self) -> None:
        """Out of the quiz, or back to the row."""
        if self.quiz.on:
            self.action_quiz()
        else:
            self.action_look("row")

    # The quiz

    def action_quiz(self) -> None:
        """Hide the shapes, to be guessed; or end."""
        if self.walk is None:
            return
        if self.quiz.on:
            self.quiz.on = False
        else:
            self.quiz.begin()
        self.views.look("row")
        line = self.query_one("#answer", Prompt)
        line.display = self.quiz.on
        if self.quiz.on:
            if self.walk.node.row is None:
                self.walk.go(self.walk.rows[self.walk.node.first].name)
            self.ask_shape()
            line.focus()
        else:
            self.query_one(RowTree).focus()
        self.draw()

    def ask_shape(self) -> None:
        """Ask for the shape of the row under the cursor."""
        line = self.query_one("#answer", Prompt)
        line.value = ""
        name = self.walk.row.name if self.walk and self.walk.node.row is not None else ""
        line.placeholder = t("quiz.line", name=name) if name in self.hidden() else t("quiz.next")

    def judge(self, guess: str) -> None:
        """Compare a guess with the row; without a guess, step on."""
        trace, walk = self.inquiry.trace, self.walk
        if trace is None or walk is None:
            return
        if not guess.strip() or walk.node.row is None or walk.row.name in self.quiz.said:
            self.action_step(1)
            return
        self.quiz.take(guess, walk.row, dict(trace.dims))
        self.ask_shape()
        self.draw()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The keys of tables act only where there is one."""
        if action in ("pair", "hold"):
            return self.views.name == "values"
        if action in ("marks", "scroll_table", "wide"):
            return self.views.name in TABLES
        if action == "restore":
            return bool(self.inquiry.given.changes)
        return True

    def command_line(self) -> str:
        """The command that traces the same text."""
        place: Any = self.place
        if place is None:
            try:
                place = place_of(self.ours.model, self.ours.run_in_hand)
            except UserError:
                place = None
        only = []
        if self.walk is not None and self.walk.node.row is not None and self.views.name == "values":
            only = ["--only", self.walk.row.name, "--values"]
        prompt = self.inquiry.given.prompt or self.first_prompt()
        return command_for("trace", place, prompt, *only)
