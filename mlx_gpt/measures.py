"""Figures about arrays: statistics a chunk at a time, and how far two arrays are apart."""

import math
from dataclasses import dataclass

import numpy as np

BINS = 12
CHUNK = 2**20  # numbers looked at in one go, so that statistics need little memory


@dataclass(frozen=True)
class Stats:
    """A row in figures; those of size are over its finite numbers, None when there are none."""

    mean: float | None
    std: float | None
    min: float | None
    max: float | None
    norm: float | None
    zeros: int
    nan: int
    pos_inf: int
    neg_inf: int
    histogram: tuple[int, ...]


def measure(array: np.ndarray) -> Stats:
    """The statistics of an array, a chunk at a time."""
    flat = array.reshape(-1)
    pieces = [flat[i : i + CHUNK] for i in range(0, flat.size, CHUNK)]
    nan = pos_inf = neg_inf = zeros = count = 0
    total, low, high = 0.0, math.inf, -math.inf
    for piece in pieces:
        zeros += piece.size - int(np.count_nonzero(piece))
        real = finite(piece)
        if real.size < piece.size:
            nan += int(np.isnan(piece).sum())
            pos_inf += int(np.isposinf(piece).sum())
            neg_inf += int(np.isneginf(piece).sum())
        if real.size:
            count += real.size
            total += float(real.sum(dtype=np.float64))
            low, high = min(low, float(real.min())), max(high, float(real.max()))
    if not count:
        return Stats(None, None, None, None, None, zeros, nan, pos_inf, neg_inf, (0,) * BINS)
    mean = total / count
    squares, histogram = 0.0, np.zeros(BINS, np.int64)
    for piece in pieces:
        real = finite(piece).astype(np.float64)
        histogram += bins(real, low, high)
        real -= mean
        squares += float(np.square(real).sum())  # not dot: its threads get in the way of MLX
    norm = math.sqrt(squares + count * mean * mean)
    counts = tuple(histogram.tolist())
    std = math.sqrt(squares / count)
    return Stats(mean, std, low, high, norm, zeros, nan, pos_inf, neg_inf, counts)


def finite(piece: np.ndarray) -> np.ndarray:
    """The finite numbers of a flat array; the array itself when all are."""
    kept = np.isfinite(piece)
    return piece if kept.all() else piece[kept]


def bins(real: np.ndarray, low: float, high: float) -> np.ndarray:
    """How many numbers fall into each of the equal parts from low to high."""
    if high <= low:
        return np.bincount(np.zeros(real.size, np.int64), minlength=BINS)
    at = ((real - low) * (BINS / (high - low))).astype(np.int64)
    return np.bincount(np.minimum(at, BINS - 1), minlength=BINS)


def relative(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference as a share of the largest number; infinite numbers must agree."""
    worst, scale = distance(a, b), np.abs(a[np.isfinite(a)]).max(initial=0.0)
    return float(worst / scale) if scale else worst


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference; infinite where one is infinite or NaN and the other is not."""
    if a.size > CHUNK and a.ndim > 1:
        return max(map(distance, a, b))
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return 0.0
    gaps = np.abs(a[~same] - b[~same])
    return float(gaps.max()) if np.isfinite(gaps).all() else math.inf
