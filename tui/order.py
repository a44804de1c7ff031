"""In which order runs stand in a table: by any column, and what is not known comes last."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, get_args

from mlx_gpt.run import State
from tui.feed import Glance

SORTABLE = ("name", "state", "step", "loss", "val", "speed", "age")
LARGEST_FIRST = ("step", "speed")
STATES: tuple[State, ...] = get_args(State)


class Sort(NamedTuple):
    """A column to sort by, or none; and whether against the way that it is sorted at first."""

    column: str = ""
    turned: bool = False

    @property
    def falling(self) -> bool:
        """Whether the largest comes first."""
        return (self.column in LARGEST_FIRST) != self.turned

    @property
    def arrow(self) -> str:
        """The direction as a sign."""
        return "▼" if self.falling else "▲"

    def by(self, column: str) -> "Sort":
        """By another column, or by the same one the other way round."""
        return self._replace(turned=not self.turned) if column == self.column else Sort(column)

    def by_next(self) -> "Sort":
        """By the next column; after the last by none."""
        columns = ("", *SORTABLE)
        return Sort(columns[(columns.index(self.column) + 1) % len(columns)])


def rank(glance: Glance, column: str) -> tuple[str, float]:
    """What a run is sorted by in a column; NaN where that is not known."""
    if column == "name":  # numbers within names count as numbers
        return re.sub(r"\d+", lambda digits: digits[0].zfill(20), glance.run.name.casefold()), 0.0
    figures = {
        "state": STATES.index(glance.state),
        "step": glance.step,
        "loss": finite(glance.loss),
        "val": finite(glance.val_loss),
        "speed": finite(glance.speed),
        "age": -math.inf if glance.alive else -(glance.updated or math.nan),
    }
    return "", float(figures[column])


def finite(figure: float) -> float:
    """A figure; infinity, as of a loss that diverged, is as good as unknown."""
    return figure if math.isfinite(figure) else math.nan


def arranged(names: Sequence[str], glances: Mapping[str, Glance], sort: Sort) -> list[str]:
    """The names in order; of equals, those stand first that stood first."""
    if not sort.column:
        return list(names)
    ranks = {name: rank(glances[name], sort.column) for name in names}
    known = [name for name in names if not math.isnan(ranks[name][1])]
    unknown = [name for name in names if math.isnan(ranks[name][1])]
    return sorted(known, key=lambda name: ranks[name], reverse=sort.falling) + unknown
