"""A recorded run played again: a real run folder, written by the app as time goes on.

The pages follow it as they follow any run. Nothing here needs MLX.
"""

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from mlx_gpt.run import Inbox, Record, Run, append, hold_lock, read
from tui.i18n import t

RECORDING = Path(__file__).parent / "demo"
SPEEDS = (10, 1, 0)  # 0: step by step
WHOLE = ("config.toml", "data.json")
GROWING = ("metrics.jsonl", "events.jsonl", "samples.jsonl")


class Moment(NamedTuple):
    """A recorded line: when it was written, and where."""

    time: float
    file: str
    record: Record


def moments(source: Run) -> list[Moment]:
    """Everything the recorded run wrote, in the order of time."""
    found = [
        Moment(float(record.get("time") or 0.0), name, record)
        for name in GROWING
        for record in read(source.path / name)
    ]
    return sorted(found, key=lambda moment: moment.time)


class Replay:
    """A run that is played, faster or slower, and obeys like a trainer."""

    def __init__(
        self, source: Path = RECORDING, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.source, self.clock = Run(source), clock
        self.folder = tempfile.TemporaryDirectory(prefix="mlx-gpt-demo-")
        self.run = Run(Path(self.folder.name) / "demo")
        self.run.path.mkdir()
        for name in WHOLE:
            shutil.copy(source / name, self.run.path / name)
        self.lock = hold_lock(self.run)
        self.inbox = Inbox(self.run)
        self.moments = moments(self.source)
        self.at = 0
        self.seconds = 0.0  # of the recording that have been played
        self.looked_at = clock()
        self.speed = SPEEDS[0]
        self.paused = False

    @staticmethod
    def recorded() -> Run:
        """The run that ships with the app."""
        return Run(RECORDING)

    @property
    def step(self) -> int:
        """The step that was played last."""
        played = reversed(self.moments[: self.at])
        steps = (each.record.get("step") for each in played if each.file == "metrics.jsonl")
        return next((step for step in steps if isinstance(step, int)), 0)

    @property
    def finished(self) -> bool:
        """Whether everything has been played."""
        return self.at >= len(self.moments)

    @property
    def waiting(self) -> bool:
        """Whether it does not play by itself."""
        return self.paused or not self.speed

    @property
    def by_step(self) -> bool:
        """Whether it waits for a key before each evaluation."""
        return not self.speed and not self.finished

    def seconds_left(self) -> float | None:
        """The time to the end at the speed of the replay; None where it does not play by itself."""
        if not self.speed or not self.moments:
            return None
        whole = self.moments[-1].time - self.moments[0].time
        return max(whole - self.seconds, 0.0) / self.speed

    def advance(self) -> None:
        """Write what has become due since the last look, and obey."""
        now = self.clock()
        passed, self.looked_at = now - self.looked_at, now
        if not self.paused:
            self.seconds += max(passed, 0.0) * self.speed
            self.play_until(self.seconds)
        for command in self.inbox.poll():
            self.obey(command)

    def play_until(self, seconds: float) -> None:
        """Write everything recorded in so many seconds."""
        if self.finished:
            return
        end = self.moments[0].time + seconds
        while not self.finished and self.moments[self.at].time <= end:
            moment = self.moments[self.at]
            append(self.run.path / moment.file, moment.record)
            self.at += 1
        if self.finished:
            self.lock.release()

    def step_on(self) -> None:
        """Play up to the next evaluation and what was sampled at it."""
        later = self.moments[self.at :]
        evals = [moment for moment in later if moment.record.get("kind") == "eval"]
        if len(evals) < 2:
            self.seconds = later[-1].time - self.moments[0].time if later else self.seconds
        else:
            self.seconds = evals[1].time - self.moments[0].time - 1e-3
        self.play_until(self.seconds)

    def change_speed(self) -> str:
        """The next speed, and what to say of it; step by step it waits as if paused."""
        waited = self.waiting
        self.speed = SPEEDS[(SPEEDS.index(self.speed) + 1) % len(SPEEDS)]
        if self.waiting != waited:
            self.note(kind="paused" if self.waiting else "resumed", step=self.step)
        return t("replay.speed", speed=self.speed) if self.speed else t("replay.by_step")

    def obey(self, command: Record) -> None:
        """Answer a command as a trainer would, as far as a recording can."""
        cmd = command["cmd"]
        if cmd in ("pause", "resume"):
            self.paused = cmd == "pause"
            self.answer(command, step=self.step)
            self.note(kind="paused" if self.waiting else "resumed", step=self.step)
        elif cmd == "stop":
            self.answer(command, message=t("replay.stopped", step=self.step))
            self.note(kind="finished", reason="stopped", step=self.step, replayed=True)
            self.at = len(self.moments)
            self.lock.release()
        else:
            self.answer(command, ok=False, message=t("replay.refused"))

    def answer(self, command: Record, *, ok: bool = True, **values: object) -> None:
        """Acknowledge a command."""
        self.note(kind="ack", id=command["id"], cmd=command["cmd"], ok=ok, **values)

    def note(self, **values: object) -> None:
        """A line among the events."""
        append(self.run.events, {"time": time.time(), **values})

    def close(self) -> None:
        """Let go of the run and take its folder away."""
        self.lock.release()
        self.folder.cleanup()
