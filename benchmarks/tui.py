"""What the terminal app costs: start, idling, following, opening a long run, keys, quitting.

Run `python benchmarks/tui.py`; it prints one JSON line a figure, with the limit it should keep.
CPU times are those of the app's process alone, driven through a pseudo-terminal.
"""

import compileall
import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mlx_gpt.config import Config, dump
from mlx_gpt.run import Run, append, hold_lock

ROOT = Path(__file__).parent.parent
TICKS = os.sysconf("SC_CLK_TCK")
LONG = 100_000
# Of a lone escape Textual waits for 0.1 s whether it begins another key.
KEYS = (
    ("?", "Keys"),
    ("q", "samples"),
    ("\x1b[D", "step"),
    ("3", "new text"),
    ("4", "small ended before"),
    ("5", "parameters"),
    ("1", "state"),
    ("2", "samples"),
)
KEY_ROUNDS = 7
STARTS = 5


class Figure(NamedTuple):
    """A measured figure and the most it may be."""

    name: str
    value: float
    limit: float
    unit: str


def step_record(step: int) -> dict[str, object]:
    """A logged step as the trainer writes it."""
    loss = 2 + 4 / (1 + step / 300) + 0.1 * ((step * 7919) % 13) / 13
    return {
        "kind": "step",
        "time": 1.7e9 + step / 10,
        "step": step,
        "loss": loss,
        "loss_min": loss - 0.05,
        "loss_max": loss + 0.05,
        "lr": 1e-3,
        "grad_norm": 0.5,
        "tokens_per_second": 10000.0,
        "active_memory": 10_000_000,
        "peak_memory": 20_000_000,
        "averaged": 1,
    }


def made_run(root: Path, name: str, steps: int) -> Run:
    """A run folder with so many logged steps."""
    run = Run(root / name)
    run.path.mkdir(parents=True)
    run.data_json.write_text("{}", encoding="utf-8")
    run.config_toml.write_text(dump(Config()), encoding="utf-8")
    append(run.events, {"kind": "started", "time": 1.7e9, "step": 0, "steps": 2 * LONG})
    lines = "".join(json.dumps(step_record(step)) + "\n" for step in range(1, steps + 1))
    run.metrics.write_text(lines, encoding="utf-8")
    return run


class Terminal:
    """The app in a pseudo-terminal of 120 columns and 40 rows."""

    def __init__(self, root: Path, *arguments: str) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        command = [sys.executable, "-m", "tui.cli", "tui", "--out", str(root)]
        command += ["--lang", "en", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
        environment["XDG_CONFIG_HOME"] = str(root / "config")  # not the user's choices and keys
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=environment, cwd=root
        )
        os.close(slave)
        self.seen = b""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        """Take in what the app draws, as a terminal would."""
        with contextlib.suppress(OSError):
            while chunk := os.read(self.master, 1 << 16):
                self.seen += chunk

    def cpu(self) -> float:
        """CPU seconds of the process so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def wait_for(self, text: str, seconds: float = 30) -> float:
        """Seconds until this text has been drawn."""
        began = time.monotonic()
        while text not in visible(self.seen):
            if time.monotonic() - began > seconds:
                raise TimeoutError(f"{text!r} was never drawn: {visible(self.seen)[-300:]}")
            time.sleep(0.005)
        return time.monotonic() - began

    def press(self, keys: str) -> None:
        """Type, forgetting what was drawn before."""
        self.seen = b""
        os.write(self.master, keys.encode())

    def used(self, seconds: float) -> float:
        """The share of a core that the app uses while one waits."""
        before = self.cpu()
        time.sleep(seconds)
        return (self.cpu() - before) / seconds

    def quit(self) -> float:
        """Seconds from the key to the end of the process."""
        began = time.monotonic()
        os.write(self.master, b"q")
        self.process.wait(30)
        return time.monotonic() - began


def visible(drawn: bytes) -> str:
    """What was drawn, without escape sequences."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", drawn.decode(errors="replace"))


@contextlib.contextmanager
def opened(root: Path, *arguments: str) -> Iterator[Terminal]:
    """The app, ended in any case."""
    terminal = Terminal(root, *arguments)
    try:
        yield terminal
    finally:
        if terminal.process.poll() is None:
            terminal.process.send_signal(signal.SIGKILL)
        terminal.process.wait()


def first_paint(root: Path) -> float:
    """CPU seconds until the table of runs is seen."""
    with opened(root) as terminal:
        terminal.wait_for("small")
        return terminal.cpu()


def start_and_idle(root: Path) -> Iterator[Figure]:
    """The table of one small run that nobody trains."""
    starts = [first_paint(root) for _ in range(STARTS)]
    yield Figure("start to first paint", statistics.median(starts), 0.6, "s of CPU")
    with opened(root) as terminal:
        terminal.wait_for("small")
        time.sleep(2)
        yield Figure("idle", terminal.used(10), 0.01, "of a core")
        terminal.press("?")
        yield Figure("key to answer", terminal.wait_for("Keys"), 0.1, "s")
        terminal.press("\x1b")
        time.sleep(0.5)
        yield from at_rest_on_pages(terminal)
        yield Figure("quit", terminal.quit(), 0.5, "s")


def at_rest_on_pages(terminal: Terminal) -> Iterator[Figure]:
    """The page that idles least; a trace is let run to its end first."""
    shares = {}
    for key in "23451":
        terminal.press(key)
        time.sleep(10 if key == "4" else 2)
        shares[key] = terminal.used(8)
    busiest = max(shares, key=lambda key: shares[key])
    yield Figure(f"idle, page {busiest} of 5", shares[busiest], 0.01, "of a core")


def following(root: Path, run: Run) -> Iterator[Figure]:
    """A run that logs ten lines a second."""
    stop = threading.Event()

    def write() -> None:
        step = 2000
        while not stop.wait(0.1):
            step += 1
            append(run.metrics, step_record(step))

    with hold_lock(run), opened(root, "small") as terminal:
        writer = threading.Thread(target=write)
        writer.start()
        terminal.wait_for("running")
        time.sleep(2)
        yield Figure("following 10 lines a second", terminal.used(10), 0.05, "of a core")
        stop.set()
        writer.join()


def long_run(root: Path) -> Iterator[Figure]:
    """A run of 100 000 logged steps, opened; a key pressed meanwhile."""
    with opened(root, "long") as terminal:
        terminal.wait_for("mlx-gpt")
        before = terminal.cpu()
        seconds = terminal.wait_for("100000/200000")
        yield Figure("opening 100 000 steps", seconds, 1.5, "s")
        yield Figure("opening 100 000 steps, CPU", terminal.cpu() - before, 1.5, "s of CPU")
    with opened(root, "long") as terminal:
        terminal.wait_for("/200000")
        terminal.press("?")
        yield Figure("key while a long run opens", terminal.wait_for("Keys"), 0.1, "s")


def keys(terminal: Terminal, name: str) -> Iterator[Figure]:
    """The median answer to the slowest of some keys, help, pages, curves; and the slowest first."""
    times: dict[str, list[float]] = {}
    for _ in range(KEY_ROUNDS):
        for key, text in KEYS:
            terminal.press(key)
            times.setdefault(key, []).append(terminal.wait_for(text))
            time.sleep(0.3)
    medians = {key: statistics.median(found) for key, found in times.items()}
    slowest = max(medians, key=lambda key: medians[key])
    yield Figure(f"key, {name}: {slowest!r} of {len(KEYS)}", medians[slowest], 0.1, "s")
    first = max(times, key=lambda key: times[key][0])
    yield Figure(f"key, {name}: {first!r} for the first time", times[first][0], 0.1, "s")


def beside_training(root: Path) -> Iterator[Figure]:
    """Keys while a training computes on all cores."""
    command = [sys.executable, "-m", "mlx_gpt", "train", "stories", "--out", str(root / "others")]
    quiet = subprocess.DEVNULL
    training = subprocess.Popen(
        [*command, "train.compile=off"], stdout=quiet, stderr=quiet, cwd=ROOT
    )
    try:
        while not (root / "others" / "stories" / "metrics.jsonl").exists():
            time.sleep(0.1)
        with opened(root, "small") as terminal:
            terminal.wait_for("mlx-gpt")
            time.sleep(5)
            yield from keys(terminal, "beside a training")
    finally:
        training.kill()
        training.wait()


def busy(root: Path) -> Iterator[Figure]:
    """Keys while two processes keep both cores busy."""
    spin = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(spin) for _ in range(2)]
    try:
        with opened(root, "small") as terminal:
            terminal.wait_for("mlx-gpt")
            time.sleep(5)
            yield from keys(terminal, "both cores busy")
    finally:
        for other in others:
            other.kill()
            other.wait()


def at_rest(root: Path) -> Iterator[Figure]:
    """Keys while nothing else runs."""
    with opened(root, "small") as terminal:
        terminal.wait_for("mlx-gpt")
        time.sleep(4)
        yield from keys(terminal, "nothing else runs")


def main() -> None:
    """Measure everything, the code compiled as an installation leaves it."""
    for package in ("mlx_gpt", "tui"):
        compileall.compile_dir(ROOT / package, quiet=1)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        small = made_run(root, "small", 2000)
        figures = [*start_and_idle(root), *following(root, small), *at_rest(root)]
        figures += [*beside_training(root), *busy(root)]
        made_run(root, "long", LONG)
        figures += long_run(root)
    for figure in figures:
        record = figure._asdict() | {"ok": figure.value <= figure.limit}
        print(json.dumps(record | {"value": round(figure.value, 4)}))


if __name__ == "__main__":
    main()
