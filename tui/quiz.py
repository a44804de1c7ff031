"""Guessing shapes before they are shown."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from mlx_gpt.traces import Row
from tui.i18n import t

SAME = {"d": "d_model", "h": "n_heads", "hd": "d_head", "c": "d_model", "f": "d_ff"}


class Verdict(NamedTuple):
    """Whether a guess is right, and what is to be said of it."""

    right: bool
    words: str


def parts_of(guess: str) -> list[str]:
    """The axes of a guess, however they are separated."""
    return [part for part in re.split(r"[\s,×x*()\[\]]+", guess.strip()) if part]


def judge(guess: str, row: Row, dims: dict[str, int]) -> Verdict:
    """Compare a guess with a row's axes: each may be a name or a number."""
    axes, parts = row.axes.split(), parts_of(guess)
    answer = f"({', '.join(axes)}) = ({', '.join(map(str, row.shape))})"
    if len(parts) != len(axes):
        return Verdict(False, t("quiz.count", count=len(axes), given=len(parts), answer=answer))
    for number, (part, axis, size) in enumerate(zip(parts, axes, row.shape, strict=True), 1):
        if not fits(part, axis, size):
            given = f"{part} = {value_of(part, dims)}" if value_of(part, dims) else part
            expected = f"{axis} = {size}, {meaning(axis)}"
            why = t("quiz.axis", number=number, expected=expected, given=given)
            return Verdict(False, f"{why} {answer}")
    return Verdict(True, t("quiz.right", answer=answer))


def fits(part: str, axis: str, size: int) -> bool:
    """Whether one part of a guess names this axis."""
    if part.isdecimal():
        return int(part) == size
    name = part.lower().replace("·", "")
    plain = axis.lower().replace("·", "")
    return name == plain or SAME.get(name, "").replace("·", "") == plain


def value_of(part: str, dims: dict[str, int]) -> int | None:
    """The size that a name stands for here, if it is the name of an axis."""
    names = {name.lower(): name for name in dims}
    name = SAME.get(part.lower(), names.get(part.lower(), ""))
    return dims.get(name)


def meaning(axis: str) -> str:
    """What an axis counts, in words."""
    return " · ".join(t(f"axis.{name}") for name in axis.split("·"))


class Quiz:
    """Which shapes have been guessed, and how many of them rightly."""

    def __init__(self) -> None:
        self.on = False
        self.said: dict[str, str] = {}  # what was said of a guess, by the name of its row
        self.right = 0

    def begin(self) -> None:
        """Hide every shape."""
        self.on, self.said, self.right = True, {}, 0

    def hidden(self, rows: Iterable[Row]) -> frozenset[str]:
        """The rows whose shape is still to be guessed."""
        return frozenset(row.name for row in rows) - set(self.said) if self.on else frozenset()

    def take(self, guess: str, row: Row, dims: dict[str, int]) -> None:
        """A guess: each row has one."""
        verdict = judge(guess, row, dims)
        self.right += verdict.right
        self.said[row.name] = f"{'✓' if verdict.right else '✗'} {verdict.words}"

    @property
    def score(self) -> str:
        """How it stands."""
        return t("quiz.score", right=self.right, asked=len(self.said))
