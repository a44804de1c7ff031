"""The run folder: the contract between the trainer, the command line and the app.

Standard library only, so that runs are read without MLX.
"""

import contextlib
import fcntl
import json
import math
import os
import platform
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple

from mlx_gpt.config import nearest, read_toml
from mlx_gpt.errors import UserError

Record = dict[str, Any]  # one line of JSON
State = Literal["running", "paused", "finished", "stopped", "interrupted", "diverged"]
Pointer = Literal["latest", "best"]

LIFE = ("started", "paused", "resumed", "finished")  # kinds of events that tell a state

DECODER = json.JSONDecoder(parse_constant=lambda _: None)  # NaN and infinity are no JSON
POLL_SECONDS = 0.02
LOCK_PATIENCE_SECONDS = 0.5


class Run:
    """One run folder and the places of what lies in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.absolute().name
        self.config_toml = path / "config.toml"
        self.data_json = path / "data.json"
        self.metrics = path / "metrics.jsonl"
        self.events = path / "events.jsonl"
        self.samples = path / "samples.jsonl"
        self.control = path / "control.jsonl"
        self.lock = path / "lock"
        self.checkpoints = path / "checkpoints"
        self.snapshot = path / "snapshot"
        self.log = path / "log.txt"


# Records: whole lines of strict JSON


def append(path: Path, record: Mapping[str, Any]) -> None:
    """Add one record as a whole line, in one write; NaN and infinity become null."""
    text = json.dumps(finite(record), ensure_ascii=False, allow_nan=False)
    # backslashreplace writes a lone surrogate as \udc80, which is its JSON escape
    line = text.encode(errors="backslashreplace") + b"\n"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            line = b"\n" * ends_within_a_line(descriptor) + line
            while line:
                line = line[os.write(descriptor, line) :]
        finally:
            os.close(descriptor)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}; make room or allow it") from error


def finite(value: Any) -> Any:
    """The same value with null for every number that strict JSON cannot write."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def ends_within_a_line(descriptor: int) -> bool:
    """Whether a writer died in the middle of the last line."""
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"


def parse(line: bytes) -> Record | None:
    """The record of one line, or nothing when the line is broken."""
    try:
        record = DECODER.decode(line.decode())
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def parsed(lines: Sequence[bytes]) -> list[Record]:
    """The records of those lines that hold one."""
    return [record for line in lines if line and (record := parse(line)) is not None]


def whole_lines(path: Path) -> list[bytes]:
    """The finished lines of a file; none when there is no file, UserError when none can be read."""
    try:
        if path.is_fifo():
            raise UserError(f"cannot read {path}: it is a pipe")
        return path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error


def mentions(line: bytes, kinds: Sequence[str]) -> bool:
    """A cheap look before parsing: whether the line can be of one of these kinds."""
    return any(f'"{kind}"'.encode() in line for kind in kinds)


def read(path: Path, *kinds: str) -> list[Record]:
    """The records of these kinds, or all of them, in the order written."""
    lines = whole_lines(path)
    if not kinds:
        return parsed(lines)
    records = parsed([line for line in lines if mentions(line, kinds)])
    return [record for record in records if record.get("kind") in kinds]


def last(path: Path, *kinds: str) -> Record | None:
    """The newest record of one of these kinds."""
    for line in reversed(whole_lines(path)):
        record = parse(line) if mentions(line, kinds) else None
        if record and record.get("kind") in kinds:
            return record
    return None


class Tail:
    """Follows a growing file of records: from its start, or from its present end."""

    def __init__(self, path: Path, *, from_end: bool = False) -> None:
        self.path = path
        self.inode = 0
        self.offset = 0
        self.unfinished = b""
        if from_end and path.is_file():
            content = path.read_bytes()
            self.inode, self.offset = path.stat().st_ino, content.rfind(b"\n") + 1

    def read(self) -> list[Record]:
        """The whole records that came since the last call."""
        try:
            with self.path.open("rb") as file:
                status = os.fstat(file.fileno())
                if status.st_size < self.offset or self.inode not in (0, status.st_ino):
                    self.offset, self.unfinished = 0, b""
                self.inode = status.st_ino
                if status.st_size == self.offset:
                    return []
                file.seek(self.offset)
                fresh = file.read()
        except FileNotFoundError:
            return []
        self.offset += len(fresh)
        *lines, self.unfinished = (self.unfinished + fresh).split(b"\n")
        return parsed(lines)


def read_metrics(run: Run) -> list[Record]:
    """The steps and evaluations in step order; what a resumed run wrote again replaces the old."""
    newest: dict[tuple[str, int], Record] = {}
    for record in read(run.metrics):
        kind, step = record.get("kind"), record.get("step")
        if isinstance(kind, str) and isinstance(step, int):
            newest[kind, step] = record
    return sorted(newest.values(), key=lambda record: record["step"])


# Life: the lock and what it says


class Holder(NamedTuple):
    """Who holds a lock."""

    pid: int
    host: str


class Lock:
    """Holds a run for one trainer until released or until the process ends."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def release(self) -> None:
        """Let another trainer have the run."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __enter__(self) -> "Lock":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def hold_lock(run: Run) -> Lock:
    """Take the run for this process, making its folder; refused while a trainer lives."""
    try:
        run.path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(run.lock, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise UserError(f"cannot make the run folder {run.path}: {error.strerror}") from error
    if not lock_soon(descriptor):
        os.close(descriptor)
        raise UserError(
            f"run {run.name} is in use{trained_by(run)}; "
            f"stop it first with mlx-gpt ctl {run.name} stop"
        )
    owner = json.dumps({"pid": os.getpid(), "host": platform.node()}).encode() + b"\n"
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, owner, 0)
    return Lock(descriptor)


def lock_soon(descriptor: int) -> bool:
    """Take the lock, with patience for those who only look whether it is held."""
    deadline = time.monotonic() + LOCK_PATIENCE_SECONDS
    while not try_lock(descriptor, fcntl.LOCK_EX):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def try_lock(descriptor: int, kind: int) -> bool:
    """Whether the lock could be taken at once."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_alive(run: Run) -> bool:
    """Whether a trainer holds the run."""
    try:
        descriptor = os.open(run.lock, os.O_RDONLY)
    except OSError:
        return False
    try:
        return not try_lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def holder(run: Run) -> Holder | None:
    """The process that holds the run, or held it last."""
    for record in read(run.lock):
        with contextlib.suppress(KeyError, TypeError, ValueError):
            return Holder(int(record["pid"]), str(record["host"]))
    return None


def trained_by(run: Run) -> str:
    """Words for the process that trains the run, where it is known."""
    owner = holder(run)
    return f": process {owner.pid} on {owner.host} trains it" if owner else ""


def state(run: Run) -> State:
    """What the run is doing, from its lock and its last events."""
    alive = is_alive(run)  # before the events: a trainer writes `finished`, then lets go
    return state_of(alive, last(run.events, *LIFE))


def state_of(alive: bool, event: Record | None) -> State:
    """The state that the lock and the last event of a life tell."""
    kind = event.get("kind") if event else None
    if alive:
        return "paused" if kind == "paused" else "running"
    if kind != "finished" or event is None:
        return "interrupted"
    ends: dict[Any, State] = {"done": "finished", "stopped": "stopped", "diverged": "diverged"}
    return ends.get(str(event.get("reason")), "interrupted")


# Finding runs


def is_run(path: Path) -> bool:
    """Whether a folder is a run: it has a configuration and traces of a trainer."""
    traces = ("lock", "events.jsonl", "metrics.jsonl", "checkpoints")
    return (path / "config.toml").is_file() and any((path / name).exists() for name in traces)


def list_runs(root: Path) -> list[Run]:
    """The runs in a folder, by name; not those that one may not look into."""
    runs: list[Run] = []
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        with contextlib.suppress(PermissionError):
            runs += [Run(path)] if is_run(path) else []
    return runs


def find_run(name_or_path: str, root: Path = Path("runs")) -> Run:
    """A run by its name under root, or by its path."""
    for path in (root / name_or_path, Path(name_or_path)):
        if name_or_path and is_run(path):
            return Run(path)
    names = [run.name for run in list_runs(root)]
    if Path(name_or_path).is_dir() and name_or_path:
        raise UserError(
            f"{name_or_path} is a folder but no run: a run has config.toml and events.jsonl"
        )
    if not names:
        raise UserError(
            f"no run {name_or_path}: {root} holds no runs; start one with mlx-gpt train"
        )
    hint = nearest(name_or_path, names)
    raise UserError(f"no run {name_or_path} in {root}{hint} (there are {', '.join(names)})")


def check_name(name: str) -> str:
    """The name, refused where it could not be a folder of its own."""
    faults = {
        "is empty": not name.strip(),
        "begins with a dot or a dash": name.startswith((".", "-")),
        "has a slash": "/" in name or "\\" in name,
        "has a space at an end": name != name.strip(),
        "has a control character": not name.isprintable(),
        "is longer than 200 bytes": len(name.encode(errors="replace")) > 200,
    }
    for fault, found in faults.items():
        if found:
            raise UserError(f"run name {name!r} {fault}; give letters and digits, as in stories-2")
    return name


def new_run_name(root: Path, base: str) -> str:
    """The base as a name, or with the first number that is free: stories, stories-2 …"""
    name, number = check_name(base), 2
    while os.path.lexists(root / name):
        name, number = f"{base}-{number}", number + 1
    return name


def remove(run: Run) -> None:
    """Delete a run folder with everything in it; refused while a trainer lives."""
    if run.path.is_symlink():
        raise UserError(f"{run.path} is a link to {run.path.resolve()}; name that, or rm the link")
    with hold_lock(run):
        try:
            shutil.rmtree(run.path)
        except OSError as error:
            raise UserError(f"cannot remove {run.path}: {error.strerror}") from error


# Checkpoints, by name only: their content needs MLX


def step_name(step: int) -> str:
    """The folder name of a step's checkpoint."""
    return f"step_{step:06d}"


def step_of(name: str) -> int | None:
    """The step in a checkpoint's folder name, or nothing for another name."""
    digits = name.removeprefix("step_")
    return int(digits) if digits.isdecimal() and name == step_name(int(digits)) else None


def saved_steps(run: Run) -> list[int]:
    """The steps that have a checkpoint folder, in order; whether it is whole is not looked at."""
    return steps_in(run.checkpoints)


def steps_in(folder: Path) -> list[int]:
    """The steps that have a folder of their own in a folder, in order."""
    if not folder.is_dir():
        return []
    steps = (step_of(path.name) for path in folder.iterdir() if path.is_dir())
    return sorted(step for step in steps if step is not None)


def pointed_step(run: Run, pointer: Pointer) -> int | None:
    """The step that `latest` or `best` names, or nothing when it names none."""
    try:
        return step_of((run.checkpoints / pointer).read_text(encoding="utf-8").strip())
    except (OSError, UnicodeDecodeError):
        return None


# Control: commands and their answers


def send(run: Run, cmd: str, **arguments: Any) -> str:
    """Write a command for the living trainer; the id under which it will be answered."""
    command_id = uuid.uuid4().hex[:12]
    append(run.control, {"id": command_id, "time": time.time(), "cmd": cmd, **arguments})
    return command_id


class Inbox:
    """The commands that arrive for a trainer; those from before it opened are not replayed."""

    def __init__(self, run: Run) -> None:
        self.tail = Tail(run.control, from_end=True)
        self.arrived: list[Record] = []

    def waiting(self) -> bool:
        """Whether there are commands to poll; cheap enough for every step."""
        new = self.tail.read()
        self.arrived += [record for record in new if "id" in record and "cmd" in record]
        return bool(self.arrived)

    def poll(self) -> list[Record]:
        """The commands that have come since the last time."""
        self.waiting()
        commands, self.arrived = self.arrived, []
        return commands


def replies(run: Run, command_id: str, *, timeout: float) -> Iterator[Record]:
    """The events that answer a command, as they come.

    Ends when the trainer is gone or has been silent for `timeout` seconds.
    """
    tail = Tail(run.events)
    deadline = time.monotonic() + timeout
    while True:
        alive = is_alive(run)  # before reading: the last answer precedes the end
        answers = [record for record in tail.read() if record.get("id") == command_id]
        yield from answers
        if answers:
            deadline = time.monotonic() + timeout
        if not alive or time.monotonic() > deadline:
            return
        time.sleep(POLL_SECONDS)


def acknowledged(run: Run, command_id: str, timeout: float) -> Record | None:
    """The trainer's acknowledgement of a command, or nothing in that time."""
    answers = replies(run, command_id, timeout=timeout)
    return next((answer for answer in answers if answer.get("kind") == "ack"), None)


# A run at a glance


class Summary(NamedTuple):
    """What a list of runs shows; None where the run has not come so far."""

    name: str
    path: str
    state: State
    step: int
    steps: int | None
    loss: float | None
    val_loss: float | None
    best_val_loss: float | None
    tokens_per_second: float | None
    updated: float


def summary(run: Run) -> Summary:
    """The run at a glance, without reading every step."""
    step = last(run.metrics, "step") or {}
    evaluations = read(run.metrics, "eval")
    measured = [loss for loss in map(best_loss, evaluations) if isinstance(loss, int | float)]
    return Summary(
        name=run.name,
        path=str(run.path),
        state=state(run),
        step=step.get("step", 0),
        steps=planned_steps(run),
        loss=step.get("loss"),
        val_loss=evaluations[-1].get("val_loss") if evaluations else None,
        best_val_loss=min(measured, default=None),
        tokens_per_second=step.get("tokens_per_second"),
        updated=updated(run),
    )


def best_loss(evaluation: Record) -> Any:
    """The validation loss of an evaluation that may be a run's best; None of any other.

    One that was asked for between two of the run's own keeps no checkpoint, however low it is.
    """
    return None if evaluation.get("best") is False else evaluation.get("val_loss")


def planned_steps(run: Run) -> int | None:
    """How many steps the run shall have: as it was last started, else as configured."""
    started = last(run.events, "started")
    if started and isinstance(started.get("steps"), int):
        return started["steps"]
    try:
        steps = read_toml(run.config_toml).get("train", {}).get("steps")
    except UserError:
        return None
    return steps if isinstance(steps, int) else None


def updated(run: Run) -> float:
    """When the run last wrote something, in seconds since 1970."""
    written = [path for path in (run.metrics, run.events, run.config_toml) if path.exists()]
    return max((path.stat().st_mtime for path in written), default=0.0)
