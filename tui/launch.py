"""Starting trainings: processes of their own, which outlive the app."""

import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mlx_gpt.errors import UserError
from mlx_gpt.language import say
from mlx_gpt.run import Run, new_run_name
from mlx_gpt.terminal import STAGES


def shell(words: Sequence[str]) -> str:
    """Words as a line for a shell."""
    return shlex.join(words)


def at_root(root: Path, words: list[str]) -> list[str]:
    """A command, told where the runs lie unless that is where they lie anyway."""
    return words if root == Path("runs") else [*words, "--out", str(root)]


def demo_words(root: Path) -> list[str]:
    """The command that replays the recorded run, which no other command knows."""
    return at_root(root, ["mlx-gpt", "tui", "--demo"])


def resume_words(run: Run, *, lr: str = "", steps: int = 0, eco: bool = False) -> list[str]:
    """The command that goes on with a run: at another rate, to more steps, resting between them."""
    rate = [f"train.lr={lr}"] if lr else []
    more = ["--steps", str(steps), "--curve", "stretch"] if steps else []
    return ["mlx-gpt", "train", "--resume", str(run.path), *rate, *more, *["--eco"] * eco]


def again_words(run: Run, root: Path) -> list[str]:
    """The command that trains a run once more from its start, under the next name that is free.

    The name of a folder may be one that no new run can have; then the trainer finds one.
    """
    try:
        name = ["--name", new_run_name(root, run.name)]
    except UserError:
        name = []
    return at_root(root, ["mlx-gpt", "train", str(run.config_toml), *name])


class Stage(NamedTuple):
    """What a training that prepares is doing, by a name of `STAGES`, and how much of it is done."""

    name: str
    percent: int


class Begun(NamedTuple):
    """A training that runs in the background: its run and its process."""

    run: Run
    pid: int


class Launch:
    """A training on its way into the background: it prepares, then detaches."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self.folder = tempfile.TemporaryDirectory(prefix="mlx-gpt-")
        self.output, self.notes = (Path(self.folder.name) / name for name in ("output", "notes"))
        command = [sys.executable, "-m", "mlx_gpt", *self.words[1:], "--detach", "--json"]
        with self.output.open("wb") as output, self.notes.open("wb") as notes:
            self.process = subprocess.Popen(
                [*command, "--lang", say.language],
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=notes,
            )

    def close(self) -> None:
        """Take away what the process said; it goes on."""
        self.folder.cleanup()

    def finished(self) -> bool:
        """Whether the training has begun or has been refused."""
        return self.process.poll() is not None

    def noted(self) -> list[str]:
        """The lines that the process wrote for people."""
        return self.notes.read_text("utf-8", "replace").splitlines()

    def stage(self) -> Stage | None:
        """The newest stage that the process told; None before the first."""
        told = (re.fullmatch(r"(\w+) (\d+)%", line) for line in reversed(self.noted()))
        stages = (Stage(each[1], int(each[2])) for each in told if each and each[1] in STAGES)
        return next(stages, None)

    def begun(self) -> Begun:
        """The training that has begun; UserError with the reason where none has."""
        said = self.output.read_text("utf-8", "replace").strip().splitlines()
        try:
            answer = json.loads(said[-1])
        except (IndexError, ValueError):
            last = "".join(self.noted()[-1:])
            raise UserError(last or "the training ended before it began") from None
        if "error" in answer:
            raise UserError(answer["error"])
        return Begun(Run(Path(answer["path"])), int(answer["pid"]))
