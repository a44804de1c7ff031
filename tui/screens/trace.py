"""Stepping through a model: the forward pass as a debugger shows a program."""

from contextlib import aclosing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import ActiveBinding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input

from mlx_gpt.errors import UserError
from mlx_gpt.language import say
from mlx_gpt.run import Record, is_alive
from mlx_gpt.terminal import visible
from tui.cards import Card, word_card
from tui.history import history_path, read_prompts, remembered, write_prompts
from tui.i18n import t
from tui.inquiry import Edit, Given, Inquiry
from tui.inside import DEMO, Place, command_for, place_of
from tui.inspect import (
    Seen,
    group_card,
    group_text,
    prompt_text,
    row_card,
    row_text,
    signs,
)
from tui.keymap import bind
from tui.launch import shell
from tui.messages import Chosen
from tui.page import WIDE, Page
from tui.quiz import Quiz
from tui.screens.pick import Item, Pick
from tui.trainer import Trainer
from tui.views import ASKS, TABLES, VIEWS, Room, Views
from tui.walk import Walk
from tui.widgets.pane import Pane
from tui.widgets.prompt import Answer, Prompt
from tui.widgets.row_tree import Marks, RowTree, node_name
from tui.widgets.view_pane import ViewPane
from tui.widgets.words import Words

PROMPT = "Once upon a time"
VIEW_WORDS = {
    "attention": "attention",
    "lens": "lens",
    "cone": "cone",
    "account": "account",
    "next": "logits",
    "rope": "rope",
    "gradients": "gradients",
}
SCROLLED = {"cell.up": "scroll.up", "cell.down": "scroll.down"}  # what arrows do in a text
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
        bind("trace.edit", "e", "edit"),
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
        bind("trace.source", "c", "look('source')"),
        bind("trace.cone", "C", "look('cone')", show=False),
        bind("trace.next", "s", "look('next')", show=False),
        bind("trace.rope", "d", "look('rope')", show=False),
        bind("trace.gradients", "g", "look('gradients')", show=False),
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
        self.stood: Walk | None = None  # in the model before
        self.views = Views(self.inquiry, self.want)
        self.full = False
        self.quiz = Quiz()
        self.place: Place | None = None
        self.tried: object = None  # the model that a trace was last asked of
        self.fault = ""
        self.newer = ""  # what could be shown in place of what is shown, as find_newer tells it
        self.busy = False
        self.turn = 0  # how often a trace was asked for
        self.wanted = ""  # the question of the view that is being answered

    def body(self) -> ComposeResult:
        """Facts, tokens, lines to write in, tree and panes."""
        yield Words("empty")
        with Vertical(id="inside"):
            yield Words("facts")
            yield Words("pass")
            yield Prompt("edit")
            yield Answer("answer")
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
        self.query_one("#empty", Words).update(t("trace.empty"))
        if self.fault and self.inquiry.trace is None:
            self.tried = None  # asked anew, it is refused in the language of the moment
        self.draw()

    def tick(self) -> bool:
        """Notice another model in hand, or a text that another page hands over."""
        nothing = self.ours.model is None and self.ours.run_in_hand is None
        self.set_class(nothing, "-empty")
        handed, self.ours.prompt = self.ours.prompt, ""
        if nothing:
            return False
        if self.in_hand() != self.tried:
            self.start(Given(handed or self.inquiry.given.prompt or self.first_prompt()))
        elif handed:
            self.start(self.inquiry.given._replace(prompt=handed))
        return False

    def in_hand(self) -> object:
        """What should be looked into: a model, a run, or the recording."""
        return self.ours.model, self.ours.run_in_hand, self.ours.replaying

    def first_prompt(self) -> str:
        """A text to begin with: the first probe prompt of the run that says anything."""
        feed = self.ours.current
        words = [probe for probe in feed.probe_prompts if len(probe) > 6] if feed else []
        return words[0] if words else PROMPT

    def start(self, given: Given, against: Given | None = None) -> None:
        """Trace a pass; of another model, after letting go of what is shown."""
        if self.in_hand() != self.tried:
            self.let_go()
        self.tried = self.in_hand()
        self.busy = True
        self.run_worker(self.run_trace(given, against), group="trace", exclusive=True)

    def let_go(self) -> None:
        """Forget the model that was looked into, but not where the cursor stood."""
        self.stood, self.walk, self.place = self.walk or self.stood, None, None
        self.inquiry.forget()
        self.views.forget()
        if self.quiz.on:
            self.end_quiz()

    async def run_trace(self, given: Given, against: Given | None) -> None:
        """Trace a pass, and show it."""
        self.turn += 1
        turn = self.turn
        self.busy, self.fault = True, ""
        self.draw()
        try:
            inside = self.ours.look_inside()
            self.place = self.place or await self.find_place()
            await self.inquiry.look(inside, self.place, given, against)
            self.take_trace()
            if news := inside.news():
                self.tell(news)
        except UserError as error:
            self.fault = str(error)
            if self.inquiry.trace is not None:
                self.refuse(error)
        finally:
            if turn == self.turn:  # nothing else has been asked meanwhile
                self.busy = False
            self.refresh_bindings()
            self.draw()

    async def find_place(self) -> Place:
        """Where the model in hand is loaded from: of a living run, the weights of this moment."""
        run = self.ours.run_in_hand
        if self.ours.replaying:
            return DEMO
        if self.ours.model is None and run is not None and is_alive(run):
            return await Trainer(run).snapshot()
        place = place_of(self.ours.model, run)
        if place is None:
            raise UserError(t("sample.no_model"))
        return place

    def take_trace(self) -> None:
        """Walk through the new trace from where the old one stood."""
        trace = self.inquiry.trace
        assert trace is not None
        walk, old = Walk(trace.rows), self.walk or self.stood
        if old is not None:
            walk.follow(old)
        else:
            walk.open.update(i for i, node in enumerate(walk.nodes) if node.label == "block")
        self.walk = walk
        self.views.settle()
        self.refresh_bindings()
        if self.inquiry.first and self.inquiry.change is None:
            walk.go(self.inquiry.first)
        if self.inquiry.compared and not self.inquiry.first:
            self.tell(t("trace.same"))

    # Drawing

    def draw(self) -> None:
        """Everything, as it is now."""
        if not self.query("#view"):
            return  # the app is being closed
        trace, walk = self.inquiry.trace, self.walk
        self.offer_newer()
        self.query_one("#facts", Words).update(visible(self.facts()))
        self.lay_out()
        if trace is None or walk is None:
            self.draw_nothing()
            return
        shown = prompt_text(trace, self.views.place, self.inquiry.piece)
        self.query_one("#pass", Words).update(shown)
        self.query_one(RowTree).show(walk, Marks(self.inquiry.gaps, self.hidden()))
        self.draw_row(walk)
        if self.views.name != "row":
            self.draw_view(walk)

    def draw_nothing(self) -> None:
        """What is there without a trace: why there is none, or that it is on its way."""
        words = Content(visible(self.fault or t("trace.wait")))
        self.query_one("#pass", Words).update("")
        self.query_one(RowTree).show(None, Marks({}, frozenset()))
        self.query_one("#row" if self.views.name == "row" else "#view", Pane).show("", words)

    def lay_out(self) -> None:
        """The panes there is room for."""
        roomy = self.app.size.width >= WIDE
        other = self.views.name != "row"
        self.query_one("#row").display = not other or (roomy and not self.full)
        self.query_one("#view").display = other
        self.query_one("#tree").display = not (other and self.full)

    def facts(self) -> str:
        """Model, pass, loss, what is changed, and the score."""
        inquiry = self.inquiry
        if inquiry.trace is None or inquiry.loaded is None:
            return ""
        parts = [*([self.quiz.score] if self.quiz.on else []), inquiry.loaded.title]
        if self.newer:
            parts.append(t(self.newer))
        if inquiry.trace.loss is not None:
            parts.append(f"{t('metric.loss')} {inquiry.trace.loss:.3f}")
        if inquiry.given.changes:
            parts.append(f"✂ {inquiry.given.changes}")
        if inquiry.change is not None:
            old, new = map(signs, inquiry.changed_tokens)
            parts.append(t("trace.parts", at=inquiry.change.at, old=old, new=new))
        elif inquiry.first:
            parts.append(t("trace.first", name=inquiry.first))
        if inquiry.cut:
            parts.append(t("trace.cut", count=inquiry.cut))
        parts.append(t("trace.busy") if self.busy else t("sample.count", count=len(inquiry.ids)))
        return " · ".join(parts)

    def offer_newer(self) -> None:
        """See whether something newer could be shown: that has a key of its own."""
        newer = self.find_newer()
        if newer != self.newer:
            self.newer = newer
            self.refresh_bindings()

    def find_newer(self) -> str:
        """What could be shown in place of what is shown, as a key of the catalogues."""
        run = self.place.run if self.place else None
        if run is None or run != self.ours.run_in_hand:
            return ""
        if is_alive(run):
            return "trace.living"
        try:
            return "trace.stale" if place_of(None, run) != self.place else ""
        except UserError:
            return ""

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
        """Ask for what the view needs, once; with a trace on its way, that will ask again."""
        question = self.inquiry.key(do, fields)
        if not self.busy and question != self.wanted:
            self.wanted = question
            asking = partial(self.fetch, do, fields, question)
            self.run_worker(asking, group="view", exclusive=True)

    async def fetch(self, do: str, fields: Record, question: str) -> None:
        """Ask, and draw again once this is over: that may ask for more."""
        try:
            await self.inquiry.fetch(do, fields)
        finally:
            if self.wanted == question:  # nothing else is wanted meanwhile
                self.wanted = ""
        self.call_later(self.draw)

    # Actions: the debugger

    def on_resize(self) -> None:
        """Another size, perhaps another number of panes."""
        super().on_resize()
        self.lay_out()

    def on_view_pane_sized(self) -> None:
        """The view has another size."""
        if self.walk is not None and self.views.name != "row":
            self.draw_view(self.walk)

    def on_view_pane_moved(self, message: ViewPane.Moved) -> None:
        """Another cell of the table, or another part of the text."""
        if self.views.name in TABLES:
            self.views.grid.point(message.rows, message.columns)
            self.draw()
        else:
            pane = self.query_one("#view", ViewPane)
            pane.scroll_relative(message.columns, message.rows, animate=False)

    def stepped(self) -> None:
        """The cursor stands elsewhere."""
        self.views.grid.leave()
        if self.quiz.on:
            self.ask_shape()
        self.refresh_bindings()
        self.draw()

    def action_step(self, move: int) -> None:
        """The next row, or the one before."""
        if self.walk is not None:
            self.walk.step(move)
            self.stepped()

    def action_into(self) -> None:
        """Into a group; on a row, to its numbers, and among these to a single one."""
        if self.walk is None:
            return
        if self.walk.into():
            self.stepped()
        elif self.views.name in TABLES:
            self.query_one(ViewPane).focus()
            self.views.grid.point(0, 0)
            self.draw()
        else:
            self.action_look("values" if self.views.name == "row" else self.views.name)

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
        """The next view that has an answer."""
        views = [view for view in VIEWS if view == self.views.name or self.offers(view)]
        self.action_look(views[(views.index(self.views.name) + move) % len(views)])

    def action_look(self, view: str) -> None:
        """One of the views."""
        self.look(view)
        self.draw()

    def look(self, view: str) -> None:
        """Choose a view; the keys act on what it shows."""
        self.views.look(view)
        self.query_one(ViewPane).cells = view in TABLES
        self.refresh_bindings()

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
        line.past = list(self.ours.recorded_prompts()) or read_prompts(history_path())
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
        self.query_one(RowTree).focus()

    def on_answer_stepped(self, message: Answer.Stepped) -> None:
        """The quiz goes to another row."""
        self.step_to_row(message.move)

    def on_answer_left(self) -> None:
        """Enough of the quiz."""
        self.end_quiz()

    def sound(self) -> Given:
        """The same prompt through the model as it is."""
        return Given(self.inquiry.given.prompt)

    def action_knock_out(self) -> None:
        """Set to zero what the cursor stands on: a row, a part, or the head that is looked at."""
        if self.walk is None or self.busy:
            return
        self.start(self.knocked_out(self.walk), self.sound())

    def knocked_out(self, walk: Walk) -> Given:
        """The pass without what the cursor stands on."""
        edits = dict.fromkeys([*self.inquiry.given.edits, *self.edits_here(walk)])
        return self.inquiry.given._replace(edits=tuple(edits))

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
        self.look("labs")
        given = self.inquiry.given._replace(broken=broken["name"])
        self.busy = True
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
            self.views.forget()
            self.start(self.sound())

    def action_reload(self) -> None:
        """The weights of now, or the newest checkpoint."""
        if self.has_class("-empty"):
            return
        self.place = None
        if self.inquiry.inside is not None:
            self.inquiry.inside.loaded = None
        self.start(
            self.inquiry.given._replace(prompt=self.inquiry.given.prompt or self.first_prompt())
        )

    def action_leave(self) -> None:
        """Out of the quiz, or back to the row."""
        if self.quiz.on:
            self.action_quiz()
        elif self.query_one(ViewPane).has_focus and self.query_one(RowTree).display:
            self.query_one(RowTree).focus()
            self.views.grid.leave()
            self.draw()
        else:
            self.action_look("row")

    # The quiz

    def action_quiz(self) -> None:
        """Hide the shapes, to be guessed; or end."""
        if self.walk is None:
            return
        if self.quiz.on:
            self.end_quiz()
            return
        self.quiz.begin()
        self.look("row")
        if self.walk.node.row is None:
            self.walk.go(self.walk.rows[self.walk.node.first].name)
        self.ask_shape()
        line = self.query_one(Answer)
        line.display = True
        line.focus()
        self.draw()

    def end_quiz(self) -> None:
        """Show the shapes again."""
        self.quiz.on = False
        self.query_one("#answer").display = False
        self.query_one(RowTree).focus()
        self.draw()

    def ask_shape(self) -> None:
        """Ask for the shape of the row under the cursor."""
        line = self.query_one(Answer)
        line.value = ""
        name = self.walk.row.name if self.walk and self.walk.node.row is not None else ""
        line.placeholder = t("quiz.line", name=name) if self.is_asked() else t("quiz.next")
        self.refresh_bindings()

    def is_asked(self) -> bool:
        """Whether the cursor stands on a row whose shape is still to be guessed."""
        walk = self.walk
        return walk is not None and walk.node.row is not None and walk.row.name in self.hidden()

    def step_to_row(self, move: int) -> None:
        """To the next row, or the one before, whatever group it is in."""
        walk = self.walk
        if walk is None:
            return
        at = walk.node.end - 1 if walk.node.row is not None or move < 0 else walk.node.first - 1
        walk.go(walk.rows[min(max(at + move, 0), len(walk.rows) - 1)].name)
        self.stepped()

    def judge(self, guess: str) -> None:
        """Compare a guess with the row; without a guess, step on."""
        trace, walk = self.inquiry.trace, self.walk
        if trace is None or walk is None:
            return
        if not guess.strip() or not self.is_asked():
            self.step_to_row(1)
            return
        self.quiz.take(guess, walk.row, dict(trace.dims))
        self.ask_shape()
        self.draw()

    def offers(self, view: str) -> bool:
        """Whether what a view asks about the pass has an answer."""
        asked = ASKS.get(view)
        given = self.inquiry.given.fields()
        return asked is None or self.inquiry.trace is None or self.ours.is_answered(asked, given)

    def said_as(self, binding_id: str) -> str:
        """Enter goes on where nothing is to be guessed; arrows scroll where there are no cells."""
        if binding_id == "answer.check" and not self.is_asked():
            return "answer.next"
        return binding_id if self.views.name in TABLES else SCROLLED.get(binding_id, binding_id)

    def bindings_in_words(self) -> dict[str, ActiveBinding]:
        """The key that loads is shown where there is something newer, or nothing yet."""
        found = super().bindings_in_words()
        for key, active in found.items():
            if active.binding.id == "trace.reload":
                shown = replace(active.binding, show=bool(self.newer or self.fault))
                found[key] = active._replace(binding=shown)
        return found

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The keys of tables act only where there is one; those of questions, with an answer."""
        if action == "look":
            return self.offers(str(parameters[0]))
        if action == "knock_out" and self.walk is not None:
            return self.ours.is_answered("trace", self.knocked_out(self.walk).fields())
        if action in ("into", "out"):
            return self.views.name in TABLES or not isinstance(self.focused, ViewPane)
        if action in ("pair", "hold"):
            return self.views.name == "values" and self.has_axes(2 if action == "pair" else 4)
        if action in ("marks", "scroll_table"):
            return self.views.name in TABLES
        if action == "wide":
            return self.views.name != "row"
        if action == "restore":
            return bool(self.inquiry.given.changes)
        return True

    def has_axes(self, least: int) -> bool:
        """Whether the row has so many axes that there is something to choose among them."""
        return self.walk is not None and len(self.walk.row.shape) >= least

    def own_words(self) -> tuple[str, ...]:
        """The row or group under the cursor."""
        return ("row",) if self.walk is not None else ()

    def word_in_hand(self) -> str:
        """What the view shows, else the row."""
        return VIEW_WORDS.get(self.views.name, "row")

    def card(self, word: str) -> Card:
        """The card of the row under the cursor, or of a word."""
        if word != "row" or self.walk is None:
            return word_card(word)
        node, row = self.walk.node, self.walk.row
        if node.row is None:
            return group_card(node, node_name(node))
        return row_card(row, hidden=row.name in self.hidden())

    def command_line(self) -> str:
        """The command that shows the same; of a mistake, the one with which the labs look at it."""
        place = self.place or self.quiet_place()
        if place is None:
            return "mlx-gpt trace"
        if self.views.name == "labs" and self.views.broken is not None:
            return shell(["mlx-gpt", "check", "--break", self.views.broken["name"]])
        prompt = self.inquiry.given.prompt or self.first_prompt()
        return command_for("trace", place, self.ours.root, prompt, *self.told_view())

    def told_view(self) -> list[str]:
        """The options that show the view."""
        views = self.views
        options = {
            "attention": ["--attention"],
            "lens": ["--lens"],
            "cone": ["--light-cone", str(views.changed)],
            "account": ["--account", "--position", str(views.position)],
            "gradients": ["--grad"],
        }
        if views.name == "values" and self.walk is not None and self.walk.node.row is not None:
            return ["--only", self.walk.row.name, "--values"]
        return options.get(views.name, [])

    def command_note(self) -> str:
        """What the command cannot tell: what is done to the model, and weights that pass by."""
        changes, run = self.inquiry.given.changes, self.place.run if self.place else None
        notes = []
        if changes and self.views.name != "labs":
            notes.append(t("trace.note_sound", changes=changes))
        if run is not None and run.snapshot in Path(self.place_name()).parents:
            notes.append(t("trace.note_living"))
        return "\n".join(notes)

    def place_name(self) -> str:
        """The name or folder of the model that is looked into."""
        return self.place.name if self.place else ""

    def quiet_place(self) -> Place | None:
        """The model in hand, if it can be loaded."""
        try:
            return place_of(self.ours.model, self.ours.run_in_hand)
        except UserError:
            return None
