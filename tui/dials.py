"""The settings of sampling as dials: each has a ladder of values, and turns one rung at a time."""

from collections.abc import Mapping
from typing import Any, NamedTuple

Settings = Mapping[str, Any]


class Dial(NamedTuple):
    """A setting, its short name, its rungs, and the value that switches it off."""

    name: str
    label: str
    rungs: tuple[float, ...]
    off: float | None = None


def steps(first: int, last: int, unit: float) -> tuple[float, ...]:
    """Multiples of a unit."""
    return tuple(round(number * unit, 4) for number in range(first, last + 1))


DIALS = (
    Dial("temperature", "T", steps(0, 40, 0.05)),
    Dial("top_k", "top-k", (0, 1, 2, 3, 4, 5, 8, 10, 15, 20, 30, 40, 60, 100, 200, 500), 0),
    Dial("top_p", "top-p", steps(1, 20, 0.05), 1.0),
    Dial("min_p", "min-p", (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5), 0.0),
    Dial("repetition_penalty", "rep", steps(20, 40, 0.05), 1.0),
    Dial("max_tokens", "n", (1, 8, 16, 32, 64, 128, 256, 512, 1024)),
    Dial("samples", "×", (1, 2, 3, 4)),
)
WHOLE = ("top_k", "max_tokens", "samples")


def turned(dial: Dial, value: float, move: int) -> float:
    """The next rung above or below a value, which need not be on one itself."""
    if move > 0:
        found = next((rung for rung in dial.rungs if rung > value + 1e-9), value)
    else:
        found = next((rung for rung in reversed(dial.rungs) if rung < value - 1e-9), value)
    return int(found) if dial.name in WHOLE else float(found)


def dial_text(dial: Dial, value: float, off: str) -> str:
    """A dial and its value in few characters: two decimals, and more only where it has more."""
    if value == dial.off:
        return f"{dial.label} {off}"
    short = dial.name not in WHOLE and round(value, 2) == value
    return f"{dial.label} {value:.2f}" if short else f"{dial.label} {value:g}"
