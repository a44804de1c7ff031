"""One run from start to end: steps, evaluations, probe samples, checkpoints, commands.

`Session.train` is a generator of events. What the command line prints and what the run folder
records are the same events.
"""

import dataclasses
import json
import math
import os
import shutil
import signal
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any, Literal, NamedTuple

from mlx_gpt.device import is_asynchronous, memory, wired

from mlx_gpt import checkpoint
from mlx_gpt.config import Config, SampleConfig, broken_settings, dump, field_names
from mlx_gpt.data import Facts, Tokens, eval_batches
from mlx_gpt.errors import UserError
from mlx_gpt.interop.folder import export_run, exported_step
from mlx_gpt.inventory import inventory, training_bytes
from mlx_gpt.model import GPT, load_arrays
from mlx_gpt.run import Inbox, Record, Run, append, step_of
from mlx_gpt.sampling import Sample, Token, write
from mlx_gpt.tokenizer import Decoder, Tokenizer, name_of
from mlx_gpt.training import Learner, Step, spoilt, tokens_per_step, train_steps

LOG_SECONDS = 0.1  # at most ten lines a second in metrics.jsonl
PAUSE_SECONDS = 0.02
SLOW_STEP = 0.5  # seconds, of which the milliseconds between two steps are no part
ECO_REST = 1.0  # seconds of rest for each second of work
END_SIGN = "∎"  # where a text ends among the pieces of several
Reason = Literal["done", "stopped", "diverged"]


class Plan(NamedTuple):
    """What is about to happen, before the first step."""

    kind = "plan"
    run: str
    path: str
    parameters: int
    vocab_size: int
    steps: int
    done: int
    tokens_per_step: int
    train_tokens: int
    val_tokens: int
    epochs: float
    memory_bytes: int
    memory_limit: int
    compiled: bool
    breaks: tuple[str, ...]


class Progress(NamedTuple):
    """The steps since the last of these: the loss is their mean."""

    kind = "step"
    step: int
    loss: float
    loss_min: float
    loss_max: float
    lr: float
    grad_norm: float
    tokens_per_second: float
    active_memory: int
    peak_memory: int
    averaged: int


class Evaluation(NamedTuple):
    """The loss on the fixed validation windows, and the mean training loss since the last."""

    kind = "eval"
    step: int
    train_loss: float
    val_loss: float
    best: bool


class Probe(NamedTuple):
    """What the model makes of a probe prompt."""

    kind = "sample"
    step: int
    prompt: str
    text: str
    ids: tuple[int, ...]
    p: tuple[float, ...]
    seed: int


class Saved(NamedTuple):
    """A checkpoint is on disk."""

    kind = "checkpoint"
    step: int
    path: str
    best: bool


class Warned(NamedTuple):
    """Something the user should know."""

    kind = "warning"
    step: int
    message: str


class Eco(NamedTuple):
    """From this step on the run rests after each step, or no longer."""

    kind = "eco"
    step: int
    on: bool


class Finished(NamedTuple):
    """The end of the run in this process."""

    kind = "finished"
    run: str
    step: int
    train_loss: float
    val_loss: float
    best_val_loss: float
    tokens_per_second: float
    reason: Reason
    early: bool


Event = Plan | Progress | Evaluation | Probe | Saved | Warned | Eco | Finished


def record(event: Event) -> Record:
    """An event as a record of strict JSON; what is not finite becomes null."""
    values = {
        key: to_json(value) if isinstance(value, float) else value
        for key, value in event._asdict().items()
    }
    return {"kind": event.kind, "time": round(time.time(), 3), **values}


def to_json(number: float) -> float | None:
    """A number as strict JSON has it: no NaN, no infinity."""
    return number if math.isfinite(number) else None


def from_json(number: float | None) -> float:
    """The other way round."""
    return math.nan if number is None else number


def lay_out(run: Run, config: Config, facts: Facts, tokenizer: Tokenizer) -> None:
    """Write what says what the run is; config.toml comes last, for it makes the folder a run."""
    run.path.mkdir(parents=True, exist_ok=True)
    tokenizer.save(run.path)
    write_whole(run.data_json, json.dumps(dataclasses.asdict(facts), ensure_ascii=False, indent=2))
    write_whole(run.config_toml, dump(config))


def write_whole(path: Path, text: str) -> None:
    """Replace a small file at once, so that no reader sees half of it."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error


class Request(NamedTuple):
    """A command from control.jsonl; what is of the wrong type counts as not given."""

    id: str
    cmd: str
    prompt: str
    ids: tuple[int, ...]  # tokens in place of the prompt
    seed: int | None
    first: int  # which of the samples with this seed
    top: int  # rivals to tell of each token; with none, only the text is told
    on: bool | None  # which way eco is switched
    settings: dict[str, Any]  # of SampleConfig, as far as they are given

    @classmethod
    def read(cls, command: Record) -> "Request":
        """The command in a record that anyone may have written."""
        return cls(
            id=str(command["id"]),
            cmd=str(command["cmd"]),
            prompt=str(command.get("prompt") or ""),
            ids=naturals(command.get("ids")),
            seed=natural(command.get("seed")),
            first=natural(command.get("first")) or 0,
            top=natural(command.get("top")) or 0,
            on=switch(command.get("on")),
            settings={
                name: command[name]
                for name in field_names(SampleConfig)
                if command.get(name) is not None
            },
        )


def natural(value: Any) -> int | None:
    """A whole number from 0, or None for anything else."""
    return value if type(value) is int and value >= 0 else None


def naturals(value: Any) -> tuple[int, ...]:
    """Whole numbers from 0, or none for anything else."""
    listed = value if isinstance(value, list) else []
    return tuple(number for number in map(natural, listed) if number is not None)


def switch(value: Any) -> bool | None:
    """True or false, or None for anything else."""
    return value if isinstance(value, bool) else None


class Signals:
    """SIGINT and SIGTERM as a flag that is looked at between steps; SIGHUP does nothing."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self.before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Signals":
        for number in (signal.SIGINT, signal.SIGTERM):
            self.before[number] = signal.signal(number, self.receive)
        self.before[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def receive(self, number: int, _: FrameType | None) -> None:
        """Remember the first signal."""
        self.received = self.received or signal.Signals(number)


class DivergenceError(Exception):
    """The weights are spoilt; the message says by what it is known."""


class Session:
    """A run in training: the learner, its data, and how far it has come."""

    def __init__(
        self,
        run: Run,
        config: Config,
        tokens: Tokens,
        tokenizer: Tokenizer,
        *,
        eco: bool = False,
    ):
        self.inbox = Inbox(run)  # before the slow part: commands may come while the model is made
        self.run, self.config = run, config
        self.tokens, self.tokenizer = tokens, tokenizer
        model = GPT(config.model, config.train.seed)
        self.learner = Learner(model, config.train, compiled=config.train.compile == "on")
        self.signals = Signals()
        self.step = 0
        self.saved_step = -1
        self.val_loss = self.best_val_loss = self.train_loss = math.nan
        self.evals_without_best = 0
        self.stop_asked = self.resting = False
        self.eco = eco
        self.overlaps = is_asynchronous()
        self.unlogged: list[Step] = []
        self.logged_at = 0.0
        self.losses: list[float] = []
        self.step_seconds = math.inf  # not known yet
        self.seconds = 0.0
        self.trained_tokens = 0

    def restore(self, saved: checkpoint.Checkpoint) -> None:
        """Go on from a checkpoint."""
        if saved.state.get("tokenizer") != self.tokenizer.fingerprint:
            raise UserError(f"the tokenizer in {self.run.path} is not that of {saved.path}")
        load_arrays(self.learner.model, saved.model)
        self.learner.load(saved.model, saved.optimizer)
        self.step = self.saved_step = saved.step
        self.val_loss = from_json(saved.state["val_loss"])
        self.best_val_loss = from_json(saved.state["best_val_loss"])
        self.train_loss = from_json(saved.state["train_loss"])
        self.evals_without_best = saved.state["evals_without_best"]
        self.losses = list(saved.state["losses"])

    def plan(self) -> Plan:
        """The figures of what is about to happen."""
        config = self.config
        per_step = tokens_per_step(config.train, config.model.context_length)
        return Plan(
            run=self.run.name,
            path=str(self.run.path),
            parameters=inventory(config.model).total,
            vocab_size=config.model.vocab_size,
            steps=config.train.steps,
            done=self.step,
            tokens_per_step=per_step,
            train_tokens=len(self.tokens.train),
            val_tokens=len(self.tokens.val),
            epochs=config.train.steps * per_step / len(self.tokens.train),
            memory_bytes=training_bytes(config.model, config.train),
            memory_limit=memory().limit,
            compiled=config.train.compile == "on",
            breaks=broken_settings(config.model),
        )

    def train(self) -> Generator[Event, None, None]:
        """Train to the end, or until stopped; every event is in the run folder when it comes."""
        with self.signals, wired():
            limit = memory().limit
            steps = self.config.train.steps
            self.note("started", step=self.step, steps=steps, pid=os.getpid(), memory_limit=limit)
            if self.eco:
                yield self.switch_eco(on=True)
            try:
                if self.step == 0:
                    yield from self.evaluate()
                yield from self.learn()
            except DivergenceError as error:
                yield from self.diverge(str(error))
            else:
                yield from self.finish("stopped" if self.unfinished() else "done")

    def learn(self) -> Iterator[Event]:
        """Take the steps that are left, with what is due between them."""
        data, done = self.tokens.train, self.step
        for step in train_steps(self.learner, data, done=done, rests=self.rests):
            self.count(step)
            yield from self.log(step)
            if step.diverged(self.config.model.vocab_size):
                raise DivergenceError(f"loss {step.loss:g}, gradient norm {step.grad_norm:g}")
            if not self.resting:
                continue
            yield from self.due()
            yield from self.obey()
            if done + 1 < step.step < self.config.train.steps:  # the first may have been compiled
                yield from self.cool_down(ECO_REST * step.seconds)
            if self.ends():
                return

    def ends(self) -> bool:
        """Whether no further step is to be taken, though some may be left."""
        return self.stop_asked or self.signals.received is not None or self.early()

    def cool_down(self, seconds: float) -> Iterator[Event]:
        """With eco on, leave the machine alone for so long; commands are obeyed meanwhile."""
        until = time.monotonic() + seconds
        while self.eco and not self.ends() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, PAUSE_SECONDS))
            yield from self.obey()

    def switch_eco(self, *, on: bool) -> Eco:
        """From now on rest after each step, or no longer."""
        self.eco = on
        switched = Eco(self.step, on)
        append(self.run.events, record(switched))
        return switched

    def rests(self, step: int) -> bool:
        """Whether something is to be done with the weights as they are after that step.

        A slow step gains nothing from the next having begun, and whoever says stop should not
        wait for both. With eco on the machine cools down after every step.
        """
        train = self.config.train
        due = step == train.steps or 0 in (step % train.eval_every, step % train.save_every)
        asked = self.inbox.waiting() or self.signals.received is not None
        quick = self.overlaps and self.step_seconds < SLOW_STEP
        self.resting = due or asked or self.eco or not quick
        return self.resting

    def unfinished(self) -> bool:
        """Whether steps are left that someone decided not to take."""
        return self.step < self.config.train.steps and not self.early()

    def early(self) -> bool:
        """Whether validation has not improved for `patience` evaluations."""
        patience = self.config.train.patience
        return patience > 0 and self.evals_without_best >= patience

    def note(self, kind: str, **values: Any) -> None:
        """A line in events.jsonl."""
        append(self.run.events, {"kind": kind, "time": round(time.time(), 3), **values})

    def count(self, step: Step) -> None:
        """Keep the sums from which means and speed are told."""
        self.step = step.step
        self.losses.append(step.loss)
        self.step_seconds = step.seconds
        self.seconds += step.seconds
        self.trained_tokens += step.tokens

    def log(self, step: Step) -> Iterator[Event]:
        """Write the steps since the last line, unless that was a moment ago."""
        self.unlogged.append(step)
        last = step.step == self.config.train.steps
        if last or time.monotonic() - self.logged_at >= LOG_SECONDS:
            yield from self.flush()

    def flush(self) -> Iterator[Event]:
        """Write the steps that are not yet in metrics.jsonl."""
        if not self.unlogged:
            return
        steps, self.unlogged, self.logged_at = self.unlogged, [], time.monotonic()
        losses = [each.loss for each in steps]
        memory_now = memory()
        progress = Progress(
            step=steps[-1].step,
            loss=sum(losses) / len(losses),
            loss_min=min(losses),
            loss_max=max(losses),
            lr=steps[-1].lr,
            grad_norm=steps[-1].grad_norm,
            tokens_per_second=sum(s.tokens for s in steps) / sum(s.seconds for s in steps),
            active_memory=memory_now.active,
            peak_memory=memory_now.peak,
            averaged=len(steps),
        )
        append(self.run.metrics, record(progress))
        yield progress

    def due(self) -> Iterator[Event]:
        """Evaluate, sample and save where the step says so."""
        train, last = self.config.train, self.step == self.config.train.steps
        if self.step % train.eval_every == 0 or last:
            yield from self.evaluate()
            yield from self.probe()
        if self.step % train.save_every == 0 and self.saved_step != self.step:
            yield self.save()

    def measure(self) -> float:
        """The loss on the validation windows; NaN without validation."""
        train, context_length = self.config.train, self.config.model.context_length
        windows = eval_batches(
            self.tokens.val, context_length, train.batch_size, train.eval_windows
        )
        return self.learner.evaluate(windows)

    def evaluate(self) -> Iterator[Event]:
        """Measure the validation loss; a new best is saved at once."""
        self.val_loss = self.measure()
        best = self.val_loss < self.best_val_loss or math.isnan(self.best_val_loss)
        best = best and math.isfinite(self.val_loss)
        self.evals_without_best = (
            0 if best or not len(self.tokens.val) else self.evals_without_best + 1
        )
        if best:
            self.best_val_loss = self.val_loss
        if self.losses:
            self.train_loss = sum(self.losses) / len(self.losses)
            self.losses = []
        evaluation = Evaluation(self.step, self.train_loss, self.val_loss, best)
        append(self.run.metrics, record(evaluation))
        self.map_surprise()
        yield evaluation
        if len(self.tokens.val) and spoilt(self.val_loss, self.config.model.vocab_size):
            raise DivergenceError(f"validation loss {self.val_loss:g}")
        if best and self.step:
            yield self.save(best=True)

    def measure_aside(self) -> Generator[Event, None, float]:
        """Put the validation loss of this moment on record; it decides nothing."""
        yield from self.flush()
        val_loss = self.measure()
        train_loss = sum(self.losses) / len(self.losses) if self.losses else self.train_loss
        again = val_loss == self.best_val_loss  # these weights are the best, and stay so on record
        evaluation = Evaluation(self.step, train_loss, val_loss, best=again)
        append(self.run.metrics, record(evaluation))
        yield evaluation
        return val_loss

    def map_surprise(self) -> None:
        """Write how unexpected each token of a fixed validation text is, for the app to colour."""
        for window in eval_batches(self.tokens.val, self.config.model.context_length, 1, 1):
            pieces = pieces_of(self.tokenizer, window.targets[0].tolist())
            losses = [round(loss, 4) for loss in self.learner.surprises(window)]
            values = {"step": self.step, "pieces": pieces, "losses": losses}
            append(self.run.samples, {"kind": "surprise", "time": round(time.time(), 3), **values})

    def probe(self) -> Iterator[Event]:
        """Continue each probe prompt, always with the same seed."""
        settings = self.sample_config({})
        for prompt in self.config.train.probe_prompts:
            try:
                ids = self.tokenizer.encode(prompt)
                *_, [sample] = self.growing(ids, settings, self.config.train.seed)
            except UserError as error:
                yield self.warn(f"no sample at step {self.step}: {error}")
                return
            ids = tuple(token.id for token in sample.tokens)
            p = tuple(round(token.p, 6) for token in sample.tokens)
            probe = Probe(self.step, prompt, sample.text, ids, p, self.config.train.seed)
            append(self.run.samples, record(probe))
            yield probe

    def sample_config(self, given: dict[str, Any]) -> SampleConfig:
        """How to sample: as given, else as configured, but no longer than a probe."""
        settings = {"max_tokens": self.config.train.probe_tokens} | given
        return dataclasses.replace(self.config.sample, **settings)

    def growing(
        self, ids: Sequence[int], settings: SampleConfig, seed: int, *, first: int = 0, top: int = 0
    ) -> Iterator[list[Sample]]:
        """A continuation by the model as it is now, as it grows."""
        model = self.learner.model
        return write(model, self.tokenizer, ids, settings, seed=seed, first=first, top=top)

    def save(self, *, best: bool = False) -> Saved:
        """Write a checkpoint of this step."""
        path = checkpoint.save(
            self.run,
            self.step,
            self.learner.params,
            self.learner.optimizer_arrays(),
            self.state(),
            best=best,
            keep_last=self.config.train.keep_last,
        )
        self.saved_step = self.step
        self.publish()
        saved = Saved(self.step, str(path), best)
        append(self.run.events, record(saved))
        return saved

    def publish(self) -> None:
        """Let the run folder itself hold the best model, as others load it."""
        path = checkpoint.best(self.run)
        step = step_of(path.name)
        if step == exported_step(self.run.path):
            return
        now = step == self.step
        params = self.learner.params if now else checkpoint.load(path, with_optimizer=False).model
        export_run(self.run.path, self.config, params, self.tokenizer, step)

    def state(self) -> Record:
        """What a checkpoint must say beside its arrays for the run to go on exactly."""
        return {
            "val_loss": to_json(self.val_loss),
            "best_val_loss": to_json(self.best_val_loss),
            "train_loss": to_json(self.train_loss),
            "evals_without_best": self.evals_without_best,
            "losses": self.losses,
            "seed": self.config.train.seed,
            "tokenizer": self.tokenizer.fingerprint,
            "data": self.tokens.facts.sha256,
            "mlx": version("mlx"),
        }

    def speed(self) -> float:
        """Tokens per second of the steps taken by this process."""
        return self.trained_tokens / self.seconds if self.seconds else 0.0

    def finish(self, reason: Reason) -> Iterator[Event]:
        """Save what is not saved, and say how the run ended."""
        if self.saved_step != self.step and self.step:
            yield self.save()
        yield from self.end(reason)

    def end(self, reason: Reason) -> Iterator[Event]:
        """The last event; whoever looked into the living model looks at checkpoints from now on."""
        yield from self.flush()
        shutil.rmtree(self.run.snapshot, ignore_errors=True)
        if self.losses:
            self.train_loss = sum(self.losses) / len(self.losses)
        finished = Finished(
            run=self.run.name,
            step=self.step,
            train_loss=self.train_loss,
            val_loss=self.val_loss,
            best_val_loss=self.best_val_loss,
            tokens_per_second=self.speed(),
            reason=reason,
            early=self.early(),
        )
        append(self.run.events, record(finished))
        yield finished

    def warn(self, message: str) -> Warned:
        """Put a warning on record."""
        warned = Warned(self.step, message)
        append(self.run.events, record(warned))
        return warned

    def diverge(self, sign: str) -> Iterator[Event]:
        """Stop without saving: the weights are spoilt, the checkpoints are not."""
        kept = f"the last checkpoint is step {self.saved_step}" if self.saved_step > 0 else ""
        yield from self.flush()
        yield self.warn(
            f"diverged at step {self.step}: {sign}; {kept or 'no checkpoint had been saved'}; "
            f"try a lower train.lr than {self.config.train.lr:g}, or a longer train.warmup"
        )
        yield from self.end("diverged")

    def obey(self) -> Iterator[Event]:
        """Carry out the commands that have come; while paused, wait for more."""
        paused = yield from self.carry_out(paused=False)
        if paused:
            yield from self.flush()
        while paused and not self.stop_asked and not self.signals.received:
            time.sleep(PAUSE_SECONDS)
            paused = yield from self.carry_out(paused=True)

    def carry_out(self, *, paused: bool) -> Generator[Event, None, bool]:
        """One look into the inbox; the value is whether the run is paused afterwards."""
        for command in self.inbox.poll():
            request = Request.read(command)
            told = {"id": request.id, "cmd": request.cmd, "step": self.step}
            told |= {} if request.on is None else {"on": request.on}
            try:
                message = yield from self.answer(request)
            except UserError as error:
                self.note("ack", **told, ok=False, message=str(error))
                continue
            self.note("ack", **told, ok=True, message=message)
            if request.cmd in ("pause", "resume") and paused != (request.cmd == "pause"):
                paused = request.cmd == "pause"
                self.note("paused" if paused else "resumed", step=self.step)
            if request.cmd == "sample":
                self.stream(request)
        return paused

    def answer(self, request: Request) -> Generator[Event, None, str]:
        """Carry out a command at once; the value is the sentence that acknowledges it."""
        if request.cmd == "stop":
            self.stop_asked = True
            return f"stopping at step {self.step}"
        if request.cmd == "save":
            if self.saved_step != self.step:
                yield self.save()
            return f"saved step {self.step}"
        if request.cmd == "eval":
            if not len(self.tokens.val):
                raise UserError("this run has no validation text")
            val_loss = yield from self.measure_aside()
            return f"validation loss {val_loss:.4f} at step {self.step}"
        if request.cmd == "sample":
            self.prompt_ids(request)
            self.sample_config(request.settings)
            return f"sampling at step {self.step}"
        if request.cmd == "snapshot":
            path = checkpoint.save_snapshot(self.run, self.step, self.learner.params, self.state())
            return f"weights of step {self.step} in {path}"
        if request.cmd in ("pause", "resume"):
            return f"{request.cmd}d at step {self.step}"
        if request.cmd == "eco":
            if request.on is None:
                raise UserError('eco takes "on": true or false')
            if request.on != self.eco:
                yield self.switch_eco(on=request.on)
            return f"eco {'on' if request.on else 'off'} at step {self.step}"
        known = "pause, resume, stop, save, snapshot, sample, eval and eco"
        raise UserError(f"no command {request.cmd}; there are {known}")

    def prompt_ids(self, request: Request) -> list[int]:
        """The tokens that a command asks to be continued; never none."""
        ids = list(request.ids) or self.tokenizer.encode(request.prompt)
        return ids or [self.tokenizer.end_id]

    def stream(self, request: Request) -> None:
        """Sample for a command; the text goes to events.jsonl as it grows."""
        seed = self.config.train.seed if request.seed is None else request.seed
        settings, ids = self.sample_config(request.settings), self.prompt_ids(request)
        text, told, prompt = "", 0, request.prompt
        if request.top:
            self.note("token", id=request.id, text="", prompt=ids, tokens=[])
        try:
            prompt = prompt or self.tokenizer.decode(list(request.ids))
            growing = self.growing(ids, settings, seed, first=request.first, top=request.top)
            for [sample] in growing:
                fresh, tokens = sample.text[len(text) :], sample.tokens[told:]
                if request.top and tokens:
                    tellable = [self.tellable(token) for token in tokens]
                    self.note("token", id=request.id, text=fresh, tokens=tellable)
                elif fresh:
                    self.note("token", id=request.id, text=fresh)
                text, told = text + fresh, told + len(tokens)
                if self.signals.received:
                    break
        except UserError as error:
            self.note("error", id=request.id, message=str(error))
        end = {"step": self.step, "prompt": prompt, "text": text, "seed": seed}
        self.note("sample_end", id=request.id, **end)

    def tellable(self, token: Token) -> Record:
        """A token with its rivals, for whoever reads events.jsonl."""

        def told(token_id: int, p: float) -> list[Any]:
            return [token_id, name_of(self.tokenizer, token_id), float(f"{p:.6g}")]

        rivals = [told(*rival) for rival in token.top]
        logit = to_json(float(f"{token.logit:.6g}"))
        return {"token": told(token.id, token.p), "rivals": rivals, "logit": logit}


def pieces_of(tokenizer: Tokenizer, ids: Iterable[int]) -> list[str]:
    """What each token adds to a text, which half a character does not; a sign where a text ends."""
    decoder = Decoder(tokenizer)
    return [END_SIGN if token == tokenizer.end_id else decoder.feed(token) for token in ids]
