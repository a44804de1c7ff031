"""Contestants in processes of their own, which take turns: A B A B, so that noise hits all alike.

A contestant says "ready", then for every line it reads does its work once and answers with the
seconds of wall clock and of CPU that it took.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

REST = 0.5  # seconds before a turn: threads of OpenMP go on spinning for 0.2 s after theirs


class Turn(NamedTuple):
    """What one turn took."""

    wall: float
    cpu: float


class Ratio(NamedTuple):
    """Least, median and greatest of the ratios within the same round."""

    least: float
    median: float
    most: float

    def __str__(self) -> str:
        return f"{self.least:.2f}-{self.median:.2f}-{self.most:.2f}"


def serve(work: Callable[[], object]) -> None:
    """Be a contestant: do the work once to warm up, and then for every line of stdin."""
    work()
    print("ready", flush=True)
    for _ in sys.stdin:
        work()  # the others have had the caches meanwhile
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        print(time.perf_counter() - wall, time.process_time() - cpu, flush=True)


class Contestant:
    """A process that waits for its turn."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str]):
        self.process = subprocess.Popen(
            command, env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.answer_until("ready")

    def answer_until(self, word: str) -> str:
        """The next line that begins with the word; libraries may print others before."""
        assert self.process.stdout
        for line in self.process.stdout:
            if line.startswith(word):
                return line
        raise SystemExit(f"a contestant ended: {' '.join(map(str, self.process.args))}")

    def turn(self) -> Turn:
        """Let it do its work once."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a contestant ended: {' '.join(map(str, self.process.args))}")
        return Turn(*map(float, line.split()))

    def end(self) -> None:
        """No more turns."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def alternate(contestants: Mapping[str, Contestant], rounds: int) -> dict[str, list[Turn]]:
    """Turns of all, round by round."""
    turns: dict[str, list[Turn]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, contestant in contestants.items():
            time.sleep(REST)
            turns[name].append(contestant.turn())
    return turns


def ratio(ours: Iterable[float], theirs: Iterable[float]) -> Ratio:
    """How many times faster we are: their seconds over ours, round by round."""
    each = [b / a for a, b in zip(ours, theirs, strict=True)]
    return Ratio(min(each), statistics.median(each), max(each))


def lines(turns: Mapping[str, Sequence[Turn]], amount: float, unit: str) -> Iterable[str]:
    """A line per contestant: its median speed, and how many times faster the first is."""
    first = next(iter(turns.values()))
    for name, each in turns.items():
        speed = amount / statistics.median(turn.wall for turn in each)
        wall = ratio([turn.wall for turn in first], [turn.wall for turn in each])
        cpu = ratio([turn.cpu for turn in first], [turn.cpu for turn in each])
        compared = "" if each is first else f"  ours is {wall} times as fast (CPU time {cpu})"
        yield f"  {name:<14} {speed:10.1f} {unit}{compared}"
