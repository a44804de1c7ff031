"""What a trace is: its rows, their checks, and how two traces are compared."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from mlx_gpt.config import nearest
from mlx_gpt.errors import UserError
from mlx_gpt.measures import Stats, distance, relative

# The worst error of a row against float64, as a share of its largest number.
TOLERANCES = {"float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}


@dataclass(frozen=True)
class Proof:
    """How far a row is from float64 arithmetic on the same inputs, as a share of its largest."""

    rel: float
    tol: float

    @property
    def ok(self) -> bool:
        """Whether the row is what its equation says."""
        return self.rel <= self.tol


@dataclass(frozen=True)
class Check:
    """A statement that must hold in every trace, with the figure measured."""

    name: str
    layer: int | None
    max_abs: float
    tol: float

    @property
    def ok(self) -> bool:
        """Whether it holds."""
        return self.max_abs <= self.tol


@dataclass(frozen=True, eq=False)
class Row:
    """One tensor of a forward pass."""

    i: int
    name: str
    kind: str
    layer: int | None
    part: str
    axes: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    flops: int
    formula: str
    inputs: tuple[str, ...]
    params: tuple[str, ...]
    side_branch: bool
    stats: Stats
    replay: Proof | None = None
    grad: Stats | None = None
    value: np.ndarray | None = None
    grad_value: np.ndarray | None = None


@dataclass(frozen=True)
class Guess:
    """A token and its probability."""

    id: int
    p: float


@dataclass(frozen=True)
class Lens:
    """What the model would say if it stopped at this row: the last position, first sequence."""

    row: str
    norm: float
    top: tuple[Guess, ...]


@dataclass(frozen=True)
class Made:
    """What the trace was computed with."""

    mlx: str
    device: str
    dtype: str
    tf32: bool


@dataclass(frozen=True)
class Input:
    """The tokens of the pass; `start` others came before them in the cache."""

    ids: tuple[tuple[int, ...], ...]
    tokens: tuple[tuple[str, ...], ...] | None = None
    targets: tuple[tuple[int, ...], ...] | None = None
    start: int = 0


@dataclass(frozen=True, eq=False)
class Trace:
    """One forward pass, row by row."""

    made: Made
    config: Mapping[str, Any]
    checkpoint: Mapping[str, Any] | None
    input: Input
    dims: Mapping[str, int]
    rows: tuple[Row, ...]
    checks: tuple[Check, ...]
    lens: tuple[Lens, ...] = ()
    loss: float | None = None

    def __getitem__(self, name: str) -> Row:
        """The row of that name."""
        for row in self.rows:
            if row.name == name:
                return row
        raise UserError(f"no row {name}{nearest(name, [row.name for row in self.rows])}")

    def only(self, *globs: str) -> "Trace":
        """The same trace with the rows that fit one of the patterns."""
        rows = [row for row in self.rows if any(fnmatchcase(row.name, glob) for glob in globs)]
        if not rows:
            names = [row.name for row in self.rows]
            raise UserError(f"no row fits {' '.join(globs)}{nearest(globs[0], names)}")
        return dataclasses.replace(self, rows=tuple(rows))

    @property
    def ok(self) -> bool:
        """Whether every check holds and every row is what its equation says."""
        proofs = [row.replay for row in self.rows if row.replay]
        return all(item.ok for item in (*self.checks, *proofs))


@dataclass(frozen=True)
class Gap:
    """How far one row of a trace is from the same row of another."""

    name: str
    rel: float
    tol: float
    by: str  # "values", "statistics" or "shape"

    @property
    def ok(self) -> bool:
        """Whether the two agree."""
        return self.rel <= self.tol


def diff(a: Trace, b: Trace, tol: float | None = None) -> list[Gap]:
    """Row by row, in the order of `a`, how far `b` is from it; rows of one alone are left out."""
    others = {row.name: row for row in b.rows}
    if tol is None:
        tol = max(TOLERANCES.get(trace.made.dtype, 0.0) for trace in (a, b))
    return [gap(row, others[row.name], tol) for row in a.rows if row.name in others]


def gap(a: Row, b: Row, tol: float) -> Gap:
    """How far two rows are apart: by their values if both have them, else by their statistics."""
    tol = tol if "float" in a.dtype else 0.0
    if a.shape != b.shape:
        return Gap(a.name, math.inf, tol, "shape")
    if a.value is not None and b.value is not None:
        return Gap(a.name, relative(a.value, b.value), tol, "values")
    return Gap(a.name, relative(figures(a.stats), figures(b.stats)), tol, "statistics")


def gaps_along(a: Row, b: Row) -> np.ndarray | None:
    """How far `b` is from `a` at each position that both have, as a share of the largest number.

    None where the rows have no positions, or their values were not kept.
    """
    axes = a.axes.split()
    along = next((axes.index(name) for name in ("T", "P") if name in axes), None)
    if along is None or a.value is None or b.value is None:
        return None
    common = tuple(slice(min(sizes)) for sizes in zip(a.shape, b.shape, strict=True))
    values = (np.moveaxis(value[common], along, 0) for value in (a.value, b.value))
    scale = np.abs(a.value[np.isfinite(a.value)]).max(initial=0.0) or 1.0
    return np.array([distance(one, other) / scale for one, other in zip(*values, strict=True)])


def figures(stats: Stats) -> np.ndarray:
    """The statistics that are of the size of the row's own numbers."""
    values = [stats.mean, stats.std, stats.min, stats.max]
    return np.array([math.nan if value is None else value for value in values])
