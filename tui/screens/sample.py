"""Talking to a model: a prompt, samples that stream in, and what could have come instead."""

import math
import secrets
import time
from contextlib import aclosing
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from mlx_gpt.errors import UserError
from mlx_gpt.run import Record, Run, is_alive
from mlx_gpt.terminal import visible
from tui.author import Author, Hand, Round
from tui.dials import DIALS, turned
from tui.history import history_path, read_prompts, remembered, write_prompts
from tui.i18n import t
from tui.inside import DEMO, Inside, Loaded, Place, command_for, place_of
from tui.keymap import bind
from tui.messages import Chosen
from tui.page import Page
from tui.strand import Piece, Strand, piece_of, reshaped
from tui.trainer import Trainer
from tui.widgets.dial_row import DialRow
from tui.widgets.prompt import Prompt
from tui.widgets.rivals import Choice, Rivals
from tui.widgets.token_text import TokenText
from tui.widgets.words import Words
from tui.worker import Client, ask

DRAW_SECONDS = 0.1
DEFAULTS: dict[str, Any] = {
    "temperature": 0.8,
    "top_k": 0,
    "top_p": 1.0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "max_tokens": 64,
    "samples": 1,
}


class Sample(Page):
    """Samples from the model in hand."""

    NAME = "sample"
    topic = "help.sample"
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("sample.prompt", "e,slash", "prompt"),
        bind("sample.generate", "g", "generate"),
        bind("sample.again", "r", "again"),
        bind("sample.stop", "space", "stop"),
        bind("sample.back", "left", "move(-1)"),
        bind("sample.forward", "right", "move(1)"),
        bind("sample.likelier", "up", "rival(-1)"),
        bind("sample.unlikelier", "down", "rival(1)"),
        bind("sample.branch", "enter,b", "branch"),
        bind("sample.undo", "u", "undo"),
        bind("sample.dial", "d", "dial(1)"),
        bind("sample.more", "plus,equals_sign", "turn(1)"),
        bind("sample.less", "minus", "turn(-1)"),
        bind("sample.other", "v", "other"),
        bind("sample.dial_back", "D", "dial(-1)", show=False),
        bind("sample.reset", "0", "reset", show=False),
        bind("sample.first", "home", "move(-1000000)", show=False),
        bind("sample.last", "end", "move(1000000)", show=False),
        bind("sample.trace", "x", "trace"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.prompt = ""
        self.settings: dict[str, Any] = dict(DEFAULTS)
        self.dial = 0
        self.touched = "dial"  # what a key acted on last: a dial, a token, a rival
        self.round: Round | None = None
        self.past: list[Round] = []
        self.active = self.cursor = self.rival = 0
        self.hand = Hand(None, None)
        self.turn = 0  # how often something was asked
        self.running = self.following = False
        self.stopping = self.is_loading = False
        self.drawn_at = 0.0
        self.spelt: set[tuple[int, ...]] = set()  # tokens that their text gives again

    def body(self) -> ComposeResult:
        """Status, prompt, dials, samples, rivals."""
        yield Words("empty")
        with Vertical(id="talk"):
            yield Words("facts")
            yield Prompt("prompt")
            yield DialRow()
            with Vertical(id="speech"):
                yield TokenText()
                yield Rivals()

    def on_mount(self) -> None:
        """The prompts of the past; the first look."""
        self.prompts = read_prompts(history_path())
        self.retranslate()
        self.query_one(TokenText).focus()

    # What is there

    def retranslate(self) -> None:
        """Say it all again."""
        self.draw()

    def tick(self) -> bool:
        """Notice another model in hand: the texts stay, each with the model that wrote it."""
        hand = self.hand_now()
        if hand != self.hand or hand.empty != self.has_class("-empty"):
            self.hand = hand
            self.set_class(hand.empty, "-empty")
            self.draw()
        return False

    def hand_now(self) -> Hand:
        """What the app has in hand."""
        return Hand.of(self.ours.model, self.ours.run_in_hand)

    def draw(self) -> None:
        """Everything, as it is now."""
        if not self.query(Rivals):
            return  # the app is being closed
        self.drawn_at = time.monotonic()
        self.refresh_bindings()
        self.offer_prompts()
        self.query_one("#empty", Words).update(t("sample.empty"))
        self.query_one("#facts", Words).update(visible(self.facts()))
        self.query_one(DialRow).show(self.settings, self.dial)
        self.query_one(TokenText).show(self.strands, self.active, self.cursor)
        self.query_one(Rivals).show(self.choice())

    def offer_prompts(self) -> None:
        """The prompts of the past, or those that a recording answers."""
        recorded = self.ours.recorded_prompts()
        words = t("recorded.prompts", prompts=" · ".join(recorded))
        line = self.query_one("#prompt", Prompt)
        line.offer(recorded or self.prompts, words if recorded else t("sample.placeholder"))

    def facts(self) -> str:
        """Who wrote the text, how it ended, and how to have it again, in a line or two."""
        if self.is_loading:
            return t("inside.loading")
        if self.round is None:
            return t("sample.start")
        strand, count = self.strand, len(self.strands)
        parts = [
            self.round.author.title,
            self.ending(),
            t("sample.count", count=len(strand.pieces)),
        ]
        if count > 1:
            parts.append(t("sample.of", place=f"{self.active + 1}/{count}"))
        parts.append(f"{t('sample.seed')} {strand.seed}")
        if self.round.speed:
            parts.append(f"{self.round.speed:.0f} tok/s")
        if DIALS[self.dial].name == "repetition_penalty" and not self.knows_logits():
            parts.append(t("sample.rep_note"))
        return " · ".join(filter(None, parts))

    def ending(self) -> str:
        """Why the sample in hand ended, or how to end it."""
        if self.running:
            return t("sample.running")
        return t(f"finish.{self.strand.finish}") if self.strand.finish else ""

    @property
    def strands(self) -> list[Strand]:
        """The samples that are seen."""
        return self.round.strands if self.round else []

    @property
    def strand(self) -> Strand:
        """The sample in hand."""
        return self.strands[self.active]

    @property
    def piece(self) -> Piece | None:
        """The token under the cursor."""
        pieces = self.strand.pieces if self.strands else ()
        return pieces[self.cursor] if pieces else None

    def choice(self) -> Choice | None:
        """The token under the cursor with its odds as the dials shape them."""
        piece = self.piece
        if self.round is None or piece is None:
            return None
        before = self.strand.prefix(self.cursor)
        vocab_size = self.round.author.vocab_size or len(piece.ids)
        odds = reshaped(piece, vocab_size, self.settings, before)
        return Choice(piece, odds, min(self.rival, max(len(piece.names) - 1, 0)))

    def knows_logits(self) -> bool:
        """Whether the dial of the repetition penalty can act on the token under the cursor."""
        return self.piece is None or math.isfinite(self.piece.scale)

    # Asking

    async def ready(self) -> tuple[Client, Author]:
        """Who answers: a living trainer, the recorded demo, or the worker with its model."""
        hand, run = self.hand_now(), self.ours.run_in_hand
        inside = self.ours.look_inside()
        replaying = self.ours.replaying
        if self.ours.model is None and run is not None and not replaying and is_alive(run):
            return Trainer(run), self.trainer(run)
        place = DEMO if replaying else place_of(self.ours.model, run)
        if place is None:
            raise UserError(t("sample.no_model"))
        loaded = await self.load(inside, place)
        author = Author(hand, place, loaded.vocab_size, loaded.sample, loaded)
        author.recorded = replaying
        return inside.client, author

    async def load(self, inside: Inside, place: Place) -> Loaded:
        """The model of a place, and what there is to tell of it."""
        self.is_loading = True
        self.draw()
        try:
            loaded = await inside.load(place)
        finally:
            self.is_loading = False
        if news := inside.news():
            self.tell(news)
        return loaded

    def trainer(self, run: Run) -> Author:
        """A run that answers while it trains."""
        feed = self.ours.feed(run)
        size = feed.setting("model.vocab_size")
        base = {dial.name: feed.setting(f"sample.{dial.name}") for dial in DIALS[:-1]}
        place = Place(str(run.path), "latest", None, run)
        return Author(self.hand_now(), place, size if isinstance(size, int) else 0, base)

    def ask(self, strands: list[Strand], seed: int, **fields: Any) -> None:
        """Let samples grow; what was asked before stops."""
        self.run_worker(self.grow(strands, seed, fields), group="sample", exclusive=True)

    async def grow(self, strands: list[Strand], seed: int, fields: dict[str, Any]) -> None:
        """Take the tokens in as they come; where none can come, all stays as it was."""
        self.turn += 1
        turn, began, reason, answered = self.turn, time.monotonic(), "stopped", False
        before = self.round, self.active, self.cursor, self.rival, self.past
        self.running, self.stopping = True, False
        try:
            client, author = await self.ready()
            asked = Round(strands, author)
            self.show(asked)
            if author.loaded is not None and "ids" in fields:
                await self.spell(client, strands[0], fields["ids"])
            settings = {key: value for key, value in self.settings.items() if key != "samples"}
            stream = client.stream("sample", settings=settings, seed=seed, **fields)
            async with aclosing(stream) as answers:
                async for record in answers:
                    answered = True
                    self.take_record(record, asked)
                    if self.stopping:
                        break
                else:
                    reason = "length"
        except UserError as error:
            reason = "failed"
            self.refuse(error)
            if not answered:
                self.round, self.active, self.cursor, self.rival, self.past = before
                self.following = False
        finally:
            for strand in strands:
                strand.finish = strand.finish or ("end" if strand.is_whole else reason)
            if turn == self.turn:  # nothing else has been asked meanwhile
                self.end(failed=reason == "failed", seconds=time.monotonic() - began)

    def show(self, asked: Round) -> None:
        """The samples that were asked for, in the place of those before."""
        if self.round is not None:
            self.past = [*self.past[-20:], self.round]
        self.round, self.following = asked, True
        self.active = min(self.active, len(asked.strands) - 1)
        self.follow()

    async def spell(self, client: Client, strand: Strand, ids: list[int]) -> None:
        """Learn whether the text of some tokens gives them again, as a command line needs it."""
        try:
            answer = await ask(client, "encode", prompt=strand.text_at(len(strand.pieces)))
        except UserError:
            return  # a recording does not know
        if answer["ids"] == ids:
            self.spelt.add(tuple(ids))

    def take_record(self, record: Record, asked: Round) -> None:
        """What one line of the answer says."""
        name_of = asked.author.loaded.piece if asked.author.loaded else str
        for row in record.get("rows") or ([record["tokens"]] if "tokens" in record else []):
            for strand, token in zip(asked.strands, row, strict=False):
                if token is not None:
                    strand.pieces.append(piece_of(token, name_of))
        if "prompt" in record:
            self.begin(record, asked.strands)
        for strand, finish in zip(asked.strands, record.get("finish", []), strict=False):
            strand.finish = str(finish)
        asked.speed = float(record.get("tokens_per_second", asked.speed))
        if isinstance(record.get("step"), int):
            asked.author.step = record["step"]
        if time.monotonic() - self.drawn_at >= DRAW_SECONDS:
            self.follow()

    def begin(self, record: Record, strands: list[Strand]) -> None:
        """The prompt as tokens, and the seed that is used."""
        for strand in strands:
            strand.seed = int(record.get("seed", strand.seed))
            if not strand.pieces:
                strand.prompt = tuple(record["prompt"])

    def follow(self) -> None:
        """Show the newest token."""
        if self.following and self.strands:
            self.cursor = max(len(self.strand.pieces) - 1, 0)
            self.rival = self.own_place()
        self.draw()

    def end(self, *, failed: bool, seconds: float) -> None:
        """No more tokens come."""
        self.running = False
        if self.round is not None and not self.round.speed and not failed:
            count = sum(len(strand.pieces) for strand in self.strands)
            self.round.speed = count / max(seconds, 1e-3)  # a trainer does not tell its own
        self.follow()

    # Actions

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """A prompt: sample from it."""
        event.stop()
        self.prompt = event.value
        self.remember(event.value)
        self.query_one(TokenText).focus()
        self.action_generate()

    def on_prompt_left(self) -> None:
        """The prompt line was left."""
        self.query_one(TokenText).focus()

    def remember(self, prompt: str) -> None:
        """Keep a prompt for another day."""
        self.prompts = remembered(read_prompts(history_path()) or self.prompts, prompt)
        self.query_one("#prompt", Prompt).back = 0
        try:
            write_prompts(history_path(), self.prompts)
        except UserError as error:
            self.refuse(error)

    def action_prompt(self) -> None:
        """Write a prompt; other pages may have kept some meanwhile."""
        self.prompts = read_prompts(history_path()) or self.prompts
        self.offer_prompts()
        self.set_focus(self.query_one("#prompt", Prompt))

    def action_generate(self) -> None:
        """Sample with a new seed."""
        self.begin_with(self.prompt, secrets.randbelow(2**32))

    def action_again(self) -> None:
        """Sample with the same seed: what the dials change shows."""
        if self.strands:
            self.begin_with(self.strand.text, self.strand.seed)

    def begin_with(self, prompt: str, seed: int) -> None:
        """Sample from a prompt."""
        n = int(self.settings["samples"])
        strands = [Strand((), prompt, number, seed) for number in range(n)]
        self.ask(strands, seed, prompt=prompt, n=n)

    def action_stop(self) -> None:
        """Stop between two tokens."""
        self.stopping = self.running

    def action_branch(self) -> None:
        """Put the rival in the token's place, and go on from there."""
        choice = self.choice()
        if choice is None or not self.can_branch():
            return
        branch = self.strand.branch(self.cursor, choice.rival)
        ids = branch.prefix(len(branch.pieces))
        self.ask([branch], branch.seed, ids=ids, n=1, first=branch.number)

    def can_branch(self) -> bool:
        """Whether there is a rival, and the model that wrote the text can go on from it."""
        if self.round is None or self.piece is None or not self.piece.names:
            return False
        author = self.round.author
        return author.hand == self.hand_now() and not author.recorded

    def action_undo(self) -> None:
        """The samples before the last question."""
        if self.past and not self.running:
            self.round = self.past.pop()
            self.active = min(self.active, len(self.strands) - 1)
            self.prompt = self.strand.text
            self.action_move(0)

    def action_move(self, move: int) -> None:
        """The cursor to another token."""
        if self.strands and self.strand.pieces:
            self.touched = "token"
            last = len(self.strand.pieces) - 1
            self.cursor = min(max(self.cursor + move, 0), last)
            self.following = self.cursor == last and move > 0
            self.rival = self.own_place()
        self.draw()

    def own_place(self) -> int:
        """The place of the token under the cursor among its rivals."""
        if not self.strand.pieces:
            return 0
        self.cursor = min(self.cursor, len(self.strand.pieces) - 1)
        piece = self.strand.pieces[self.cursor]
        return next((i for i, token in enumerate(piece.ids) if token == piece.id), 0)

    def action_rival(self, move: int) -> None:
        """Another rival."""
        choice = self.choice()
        if choice is not None:
            self.choose(min(max(choice.rival + move, 0), max(len(choice.piece.names) - 1, 0)))

    def on_chosen(self, message: Chosen) -> None:
        """A click on a token, a rival or a dial."""
        does = {"token": self.point, "rival": self.choose, "dial": self.take}
        does[message.what](*message.place)

    def choose(self, rival: int) -> None:
        """Take a rival in hand."""
        self.rival, self.following, self.touched = rival, False, "rival"
        self.draw()

    def point(self, strand: int, index: int) -> None:
        """The token that was clicked."""
        if strand < len(self.strands):
            self.active, self.cursor = strand, index
            self.action_move(0)

    def action_other(self) -> None:
        """The next of several samples."""
        if self.strands:
            self.active = (self.active + 1) % len(self.strands)
            self.action_move(0)

    def action_dial(self, move: int) -> None:
        """Take another dial in hand."""
        self.take((self.dial + move) % len(DIALS))

    def take(self, number: int) -> None:
        """Take a dial in hand."""
        self.dial, self.touched = number, "dial"
        self.draw()

    def action_turn(self, move: int) -> None:
        """Turn the dial in hand; the bars follow at once."""
        dial = DIALS[self.dial]
        self.settings[dial.name] = turned(dial, self.settings[dial.name], move)
        self.take(self.dial)

    def action_reset(self) -> None:
        """The dials as they were at first."""
        self.settings = dict(DEFAULTS)
        self.draw()

    def action_trace(self) -> None:
        """Trace the text up to the cursor."""
        text = self.prompt
        if self.strands:
            text = self.strand.text_at(self.cursor + 1)
        self.ours.prompt = text
        self.ours.action_page("trace")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that have something to act on."""
        if action in ACTIONS and self.hand_now().empty:
            return None
        acts = {
            "stop": self.running,
            "again": bool(self.strands),
            "undo": bool(self.past) and not self.running,
            "other": len(self.strands) > 1,
            "move": self.piece is not None,
            "rival": self.piece is not None,
            "branch": self.can_branch(),
        }
        return acts.get(action, True) or None

    def word_in_hand(self) -> str:
        """The dial, the token or the rivals, whichever was acted on last."""
        dial = DIALS[self.dial].name
        return {"token": "nats", "rival": "rivals"}.get(self.touched, dial)

    def command_line(self) -> str:
        """The command that samples the same text."""
        place = self.round.author.place if self.round else self.quiet_place()
        if place is None:
            return "mlx-gpt sample"
        settings, prompt = self.told_dials(), self.prompt
        if self.strands:
            prompt = self.strand.text_at(self.strand.chosen_up_to)
            settings += ["--seed", str(self.strand.seed)]
        if len(self.strands) > 1 or (self.strands and self.strand.number):
            settings += ["-n", str(self.strands[-1].number + 1)]
        return command_for("sample", place, self.ours.root, prompt, *settings)

    def shows_recorded(self) -> bool:
        """Whether the text comes from the recording."""
        return self.round.author.recorded if self.round else super().shows_recorded()

    def told_dials(self) -> list[str]:
        """The dials that stand elsewhere than the model's own settings of sampling."""
        base = self.round.author.base if self.round else {}
        words = []
        for dial in DIALS[:-1]:
            value = self.settings[dial.name]
            if value != base.get(dial.name):
                words += [f"--{dial.name.replace('_', '-')}", f"{value:g}"]
        return words

    def command_note(self) -> str:
        """What the command cannot tell: weights that are not saved, tokens that no text gives."""
        if self.round is None:
            return ""
        author, ids = self.round.author, tuple(self.strand.prefix(self.strand.chosen_up_to))
        notes = []
        if author.place.checkpoint == "latest" and author.place.run and is_alive(author.place.run):
            notes.append(t("sample.note_living", name=visible(author.name)))
        if self.strand.chosen_up_to and ids not in self.spelt:
            notes.append(t("sample.note_tokens"))
        if len(self.strands) == 1 and self.strand.number:
            notes.append(t("sample.note_last"))
        return "\n".join(notes)

    def quiet_place(self) -> Place | None:
        """The model in hand, if it can be loaded."""
        try:
            return place_of(self.ours.model, self.ours.run_in_hand)
        except UserError:
            return None


ACTIONS = {each.action.partition("(")[0] for each in Sample.BINDINGS if isinstance(each, Binding)}
