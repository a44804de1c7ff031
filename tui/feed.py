"""Following runs as they grow: the curves of one, and a glance at many.

Everything is read in slices of some milliseconds, so that no key waits for a big file.
"""

import json
import stat
import time
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mlx_gpt.config import build, read_toml
from mlx_gpt.errors import UserError
from mlx_gpt.inventory import training_bytes
from mlx_gpt.run import (
    DECODER,
    LIFE,
    Record,
    Run,
    State,
    best_loss,
    is_alive,
    mentions,
    parsed,
    state_of,
)

SLICE_BYTES = 1 << 17  # parsed at once: about 5 ms
SCAN_BYTES = 1 << 22  # only searched at once
SLICE_SECONDS = 0.01
STEP_FIELDS = (
    "step",
    "time",
    "loss",
    "loss_min",
    "loss_max",
    "lr",
    "grad_norm",
    "tokens_per_second",
    "active_memory",
    "peak_memory",
)
EVAL_FIELDS = ("step", "time", "train_loss", "val_loss", "best_loss")
EVENTS_KEPT = 500
LARGEST, LARGEST_WHOLE = 1e100, 2**53  # beyond that floats have no whole numbers
RATE_WINDOW = 60  # log lines


class Reader:
    """The new whole lines of a growing file, a slice at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.inode = self.offset = self.size = 0
        self.unfinished = b""

    @property
    def behind(self) -> bool:
        """Whether there was more in the file than has been read."""
        return self.offset < self.size

    def lines(self, most: int) -> tuple[list[bytes], bool]:
        """Whole lines from the next `most` bytes, and whether the file began anew."""
        try:
            status = self.path.stat()
            if not stat.S_ISREG(status.st_mode):
                raise OSError  # a pipe would be waited for
            known = status.st_ino, status.st_size
            if known == (self.inode, self.offset):
                return [], False
            anew = self.inode not in (0, status.st_ino) or status.st_size < self.offset
            if anew:
                self.offset, self.unfinished = 0, b""
            with self.path.open("rb") as file:
                file.seek(self.offset)
                fresh = file.read(most)
        except OSError:
            self.size = self.offset  # what cannot be read is not waited for
            return [], False
        self.inode, self.size = known
        self.offset += len(fresh)
        *lines, self.unfinished = (self.unfinished + fresh).split(b"\n")
        return lines, anew


def records(lines: Sequence[bytes]) -> list[Record]:
    """The records of some lines: parsed all at once, or one by one where any is broken."""
    if not lines:
        return []
    try:
        found = DECODER.decode((b"[" + b",".join(lines) + b"]").decode())
    except (ValueError, RecursionError):
        return parsed(lines)
    whole = len(found) == len(lines) and all(isinstance(record, dict) for record in found)
    return found if whole else parsed(lines)


def number(value: Any) -> float:
    """A number from a record that anyone may have written; NaN for anything else.

    One so large that sums of it are infinite is no measurement.
    """
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if plain and abs(value) < LARGEST else np.nan


def whole(value: Any) -> int | None:
    """A whole number from a record that anyone may have written; None for anything else."""
    plain = isinstance(value, int) and not isinstance(value, bool)
    return value if plain and abs(value) < LARGEST_WHOLE else None


class Columns:
    """Records of numbers as arrays that grow, by ascending step."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.table = np.empty((len(names), 256))
        self.count = 0

    def __getitem__(self, name: str) -> np.ndarray:
        return self.table[self.names.index(name), : self.count]

    def __len__(self) -> int:
        return self.count

    def add(self, rows: Sequence[Record]) -> None:
        """Append records; a step that comes again replaces what followed it before."""
        fresh = np.array([[number(row.get(name)) for name in self.names] for row in rows]).T
        fresh = fresh[:, np.abs(fresh[0]) < LARGEST_WHOLE] if fresh.size else fresh
        if not fresh.size:
            return
        fresh = fresh[:, ascending(fresh[0])]
        self.count = int(np.searchsorted(self.table[0, : self.count], fresh[0, 0]))
        total = self.count + fresh.shape[1]
        if total > self.table.shape[1]:
            grown = np.empty((len(self.names), 2 * total))
            grown[:, : self.count] = self.table[:, : self.count]
            self.table = grown
        self.table[:, self.count : total] = fresh
        self.count = total

    def clear(self) -> None:
        """Forget everything."""
        self.count = 0


def ascending(steps: np.ndarray) -> np.ndarray:
    """The entries that survive when a step that comes again replaces what followed it."""
    known = np.isfinite(steps)
    lowest_after = np.minimum.accumulate(np.where(known, steps, np.inf)[::-1])[::-1]
    return np.flatnonzero(known & (np.r_[lowest_after[1:], np.inf] > steps))


class Probe(NamedTuple):
    """What the model made of a probe prompt at some step."""

    step: int
    text: str


class Surprise(NamedTuple):
    """How unexpected each token of the fixed validation text was at some step."""

    step: int
    pieces: tuple[str, ...]
    losses: tuple[float, ...]


class Best(NamedTuple):
    """The lowest validation loss of a run's own evaluations, and at which step."""

    step: int
    loss: float


class Answer(NamedTuple):
    """A sample asked for while the run trains, as it grows."""

    prompt: str | None  # None where it was asked for elsewhere
    text: str
    finished: bool
    step: int | None = None


class Feed:
    """One run, followed: curves, probes, surprises, events, state."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.revision = 0  # grows with everything but the curves
        self.curve_revision = 0
        self.steps, self.evals = Columns(STEP_FIELDS), Columns(EVAL_FIELDS)
        self.probes: dict[str, list[Probe]] = {}
        self.surprises: list[Surprise] = []
        self.events: deque[Record] = deque(maxlen=EVENTS_KEPT)
        self.life: Record | None = None
        self.started: Record = {}
        self.eco = False  # whether the trainer rests after each step
        self.rested = False  # whether it has done so at any time
        self.paced_from = 0  # the step after which eco is as it is
        self.acks: list[Record] = []
        self.unanswered: dict[str, str] = {}  # commands sent from here, by id
        self.answers: dict[str, Answer] = {}
        self.alive = False
        self.config: Record = {}
        self.facts: Record = {}
        self.planned_memory = np.nan
        self.configured_at = 0.0
        self.metrics = Reader(run.metrics)
        self.samples = Reader(run.samples)
        self.history = Reader(run.events)

    @property
    def behind(self) -> bool:
        """Whether there is more to read at once."""
        return self.metrics.behind or self.samples.behind or self.history.behind

    @property
    def gone(self) -> bool:
        """Whether the run folder has vanished."""
        return not self.run.config_toml.exists()

    @property
    def condition(self) -> str:
        """The state as it is shown, which is `gone` with the folder."""
        return "gone" if self.gone else self.state

    def poll(self, seconds: float = SLICE_SECONDS) -> bool:
        """Read what is new, for so long at most; whether anything was."""
        before, until = self.revision + self.curve_revision, time.monotonic() + seconds
        alive = is_alive(self.run)
        self.revision += alive != self.alive
        self.alive = alive
        self.read_settings()
        while True:
            self.read_slice()
            if not self.behind or time.monotonic() > until:
                return self.revision + self.curve_revision != before

    def read_slice(self) -> None:
        """One slice of each file; events first, so that what they speak of has been read too."""
        lines, anew = self.history.lines(SLICE_BYTES)
        if anew:
            self.events.clear()
        self.take_events(records(lines))
        lines, anew = self.metrics.lines(SLICE_BYTES)
        if anew:
            self.steps.clear()
            self.evals.clear()
        self.take_metrics(records(lines))
        lines, anew = self.samples.lines(SLICE_BYTES)
        if anew:
            self.probes.clear()
            self.surprises.clear()
        self.take_samples(records(lines))

    def read_settings(self) -> None:
        """The configuration and the facts, when they have changed."""
        try:
            changed_at = self.run.config_toml.stat().st_mtime
            if changed_at == self.configured_at:
                return
            self.config = read_toml(self.run.config_toml)
            self.planned_memory = planned_memory(self.config)
            facts = json.loads(self.run.data_json.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError, UserError):
            return
        self.facts = facts if isinstance(facts, dict) else {}
        self.configured_at = changed_at
        self.revision += 1

    def take_metrics(self, found: Sequence[Record]) -> None:
        """Add steps and evaluations to the curves."""
        if found:
            self.steps.add([record for record in found if record.get("kind") == "step"])
            evals = [record for record in found if record.get("kind") == "eval"]
            self.evals.add([record | {"best_loss": best_loss(record)} for record in evals])
            self.curve_revision += 1

    def take_samples(self, found: Iterable[Record]) -> None:
        """Add probe samples and surprises; a step that comes again replaces the old."""
        for record in found:
            step = whole(record.get("step"))
            if step is None:
                continue
            if record.get("kind") == "sample":
                prompt = str(record.get("prompt") or "")
                through_time = self.probes.setdefault(prompt, [])
                forget_from(through_time, step)
                through_time.append(Probe(step, str(record.get("text") or "")))
            elif record.get("kind") == "surprise":
                forget_from(self.surprises, step)
                self.surprises.append(surprise(step, record))
            self.revision += 1

    def take_events(self, found: Iterable[Record]) -> None:
        """Keep events, the state they tell, and the answers to commands."""
        for record in found:
            kind = record.get("kind")
            self.revision += 1
            if kind in LIFE:
                self.life = record
            if kind in ("started", "eco"):
                self.eco = record.get("on") is True
                self.rested = self.rested or self.eco
                self.paced_from = whole(record.get("step")) or 0
            if kind == "started":
                self.started = record
            elif kind == "ack":
                self.acks.append(record)
                self.unanswered.pop(str(record.get("id")), None)
            elif kind in ("token", "sample_end"):
                self.grow_answer(record)
            if kind != "token":
                self.events.append(record)

    def grow_answer(self, record: Record) -> None:
        """A piece of a sample asked for, or its end."""
        command = str(record.get("id"))
        before = self.answers.get(command, Answer(None, "", False))
        text = str(record.get("text") or "")
        if record.get("kind") == "token":
            self.answers[command] = before._replace(text=before.text + text)
        else:
            told = record.get("prompt") if before.prompt is None else before.prompt
            prompt = told if isinstance(told, str) else None
            self.answers[command] = Answer(prompt, text, True, whole(record.get("step")))

    def expect(self, command_id: str, prompt: str) -> None:
        """Remember the prompt of a sample that has been asked for."""
        self.answers[command_id] = Answer(prompt, "", False)
        self.revision += 1

    @property
    def is_answering(self) -> bool:
        """Whether a sample that was asked for is growing."""
        return self.alive and any(not answer.finished for answer in self.answers.values())

    def await_answer(self, command_id: str, cmd: str) -> None:
        """Remember a command that has been sent, until the trainer answers."""
        self.unanswered[command_id] = cmd
        self.revision += 1

    def will_be(self, done: str, undone: str, *, now: bool) -> bool:
        """Whether something will be so once the trainer has answered what was asked last."""
        asked = [cmd for cmd in self.unanswered.values() if cmd in (done, undone)]
        return asked[-1] == done if asked else now

    @property
    def state(self) -> State:
        """What the run is doing."""
        return state_of(self.alive, self.life)

    def setting(self, key: str) -> Any:
        """A setting of the run by section.name, or None."""
        section, _, name = key.partition(".")
        values = self.config.get(section)
        return values.get(name) if isinstance(values, dict) else None

    @property
    def probe_prompts(self) -> list[str]:
        """The prompts that the run continues at its evaluations."""
        told = self.setting("train.probe_prompts")
        return [each for each in told if isinstance(each, str)] if isinstance(told, list) else []

    @property
    def step(self) -> int:
        """How far the run has come."""
        return int(self.steps["step"][-1]) if len(self.steps) else 0

    @property
    def total(self) -> int:
        """How many steps it shall have; 0 where nobody has said."""
        told = (whole(self.started.get("steps")), whole(self.setting("train.steps")))
        return next((steps for steps in told if steps is not None and steps > 0), 0)

    def seconds_left(self) -> float | None:
        """The time to the end at the pace of the last lines; None before there is one."""
        first = int(np.searchsorted(self.steps["step"], self.paced_from, side="right"))
        pace = seconds_per_step(self.steps["step"][first:], self.steps["time"][first:])
        if pace is None or self.total <= self.step:
            return None
        return pace * (self.total - self.step)

    def seconds_in_all(self) -> float:
        """The time from the first line to the end, what is still to come at the pace of now."""
        return self.seconds_worked() + (self.seconds_left() or 0.0)

    def seconds_worked(self) -> float:
        """The time from the first line to the last; NaN before there are two."""
        seconds, _ = worked(self.steps["step"], self.steps["time"])
        return float(seconds.sum()) if len(seconds) else np.nan

    @property
    def best(self) -> Best | None:
        """The evaluation that the best checkpoint is of."""
        losses = self.evals["best_loss"]
        known = np.flatnonzero(np.isfinite(losses))
        if not len(known):
            return None
        at = known[np.argmin(losses[known])]
        return Best(int(self.evals["step"][at]), float(losses[at]))

    def last(self, name: str) -> float:
        """The newest value of a step's field; NaN where there is none."""
        return float(self.steps[name][-1]) if len(self.steps) else np.nan


def seconds_per_step(steps: np.ndarray, times: np.ndarray) -> float | None:
    """The pace over the last lines."""
    seconds, done = worked(steps[-RATE_WINDOW:], times[-RATE_WINDOW:])
    return float(seconds.sum() / done.sum()) if len(done) else None


def worked(steps: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The seconds and steps from line to line; pauses and a clock set back do not count."""
    seconds, done = np.diff(times), np.diff(steps)
    forward = (seconds > 0) & (done > 0)
    seconds, done = seconds[forward], done[forward]
    usual = float(np.median(seconds)) if len(seconds) else 0.0
    return np.minimum(seconds, 20 * usual), done


def planned_memory(config: Record) -> float:
    """The bytes that a training with these settings was estimated to need; NaN where unknown."""
    try:
        built = build(config)
    except UserError:
        return np.nan
    return float(training_bytes(built.model, built.train))


def forget_from(entries: list[Any], step: int) -> None:
    """Drop what was said of this step and later ones before the run went back to it."""
    while entries and entries[-1].step >= step:
        entries.pop()


def surprise(step: int, record: Record) -> Surprise:
    """A surprise map from its record; pieces and losses of equal number."""
    pieces, losses = record.get("pieces"), record.get("losses")
    if not isinstance(pieces, list) or not isinstance(losses, list):
        return Surprise(step, (), ())
    count = min(len(pieces), len(losses))
    return Surprise(step, tuple(map(str, pieces[:count])), tuple(map(number, losses[:count])))


class Glance:
    """One run as a row of a table, kept up to date without parsing every step."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.metrics, self.history = Reader(run.metrics), Reader(run.events)
        self.step_record: Record = {}
        self.evaluations: dict[int, Record] = {}
        self.life: Record | None = None
        self.steps = 0
        self.alive = False
        self.updated = 0.0
        self.config: Record = {}
        self.configured_at = 0.0

    @property
    def behind(self) -> bool:
        """Whether there is more to read at once."""
        return self.metrics.behind or self.history.behind

    def poll(self) -> None:
        """Read what is new."""
        self.alive = is_alive(self.run)
        self.read_settings()
        lines, anew = self.metrics.lines(SCAN_BYTES)
        if anew:
            self.step_record, self.evaluations = {}, {}
        self.take_metrics(lines)
        lines, _ = self.history.lines(SCAN_BYTES)
        for record in parsed([line for line in lines if mentions(line, LIFE)]):
            if record.get("kind") in LIFE:
                self.life = record
            if record.get("kind") == "started":
                self.steps = whole(record.get("steps")) or self.steps
        self.updated = last_written(self.run)

    def read_settings(self) -> None:
        """The configuration, when it has changed."""
        try:
            changed_at = self.run.config_toml.stat().st_mtime
            if changed_at != self.configured_at:
                self.configured_at, self.config = changed_at, read_toml(self.run.config_toml)
        except (OSError, UserError):
            return
        train = self.config.get("train")
        planned = train.get("steps") if isinstance(train, dict) else None
        self.steps = self.steps or whole(planned) or 0

    def take_metrics(self, lines: Sequence[bytes]) -> None:
        """The evaluations and the newest step among some lines."""
        for record in parsed([line for line in lines if b'"eval"' in line]):
            step = whole(record.get("step"))
            if record.get("kind") == "eval" and step is not None:
                later = [known for known in self.evaluations if known >= step]
                for known in later:
                    del self.evaluations[known]
                self.evaluations[step] = record
        for line in reversed(lines):
            found = parsed([line]) if b'"step"' in line and b'"eval"' not in line else []
            if found and found[0].get("kind") == "step":
                self.step_record = found[0]
                return

    @property
    def state(self) -> State:
        """What the run is doing."""
        return state_of(self.alive, self.life)

    @property
    def step(self) -> int:
        """How far the run has come."""
        return whole(self.step_record.get("step")) or 0

    @property
    def loss(self) -> float:
        """The newest training loss."""
        return number(self.step_record.get("loss"))

    @property
    def val_loss(self) -> float:
        """The newest validation loss."""
        evaluations = list(self.evaluations.values())
        return number(evaluations[-1].get("val_loss")) if evaluations else np.nan

    @property
    def best(self) -> float:
        """The lowest validation loss of the run's own evaluations."""
        losses = [number(best_loss(record)) for record in self.evaluations.values()]
        return min(filter(np.isfinite, losses), default=np.nan)

    @property
    def speed(self) -> float:
        """The newest tokens per second."""
        return number(self.step_record.get("tokens_per_second"))


def last_written(run: Run) -> float:
    """When the run last wrote something, in seconds since 1970."""
    times = []
    for path in (run.metrics, run.events, run.config_toml):
        try:
            times.append(path.stat().st_mtime)
        except OSError:
            continue
    return max(times, default=0.0)
