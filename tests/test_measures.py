"""Statistics and distances of arrays against NumPy's own."""

import math

import numpy as np
import pytest

from mlx_gpt import measures
from mlx_gpt.measures import BINS, distance, measure, relative


@pytest.mark.parametrize("size", [1, 12, 1000, 2 * measures.CHUNK + 5])
def test_statistics_are_those_of_the_whole_array(size: int) -> None:
    x = np.random.default_rng(3).normal(0.4, 2.0, size).astype(np.float32)
    found, wide = measure(x), x.astype(np.float64)
    assert found.mean == pytest.approx(wide.mean(), rel=1e-12)
    assert found.std == pytest.approx(wide.std(), rel=1e-12, abs=1e-12)
    assert found.norm == pytest.approx(np.linalg.norm(wide), rel=1e-12)
    assert (found.min, found.max) == (x.min(), x.max())
    if size > 1:
        assert sum(found.histogram) == size
        assert np.abs(np.subtract(found.histogram, np.histogram(wide, BINS)[0])).max() <= 1


def test_only_finite_numbers_are_averaged_and_the_others_counted() -> None:
    x = np.array([[1.0, -np.inf, np.nan], [0.0, 3.0, np.inf]], np.float32)
    found = measure(x)
    assert (found.nan, found.pos_inf, found.neg_inf, found.zeros) == (1, 1, 1, 1)
    assert (found.mean, found.min, found.max) == (pytest.approx(4 / 3), 0.0, 3.0)
    assert found.histogram == (1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1)


def test_nothing_finite_has_no_size() -> None:
    found = measure(np.full(3, np.nan))
    assert found.mean is found.std is found.min is found.max is found.norm is None
    assert found.nan == 3
    assert sum(found.histogram) == 0


def test_a_constant_fills_one_bin_and_a_shifted_one_keeps_its_tiny_spread() -> None:
    assert measure(np.full(5, 2.5)).histogram == (5, *[0] * (BINS - 1))
    shifted = measure(np.array([1e8, 1e8 + 2], np.float64))
    assert shifted.std == pytest.approx(1.0)


def test_any_layout_and_whole_numbers_are_measured() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    assert measure(x.swapaxes(0, 2)) == measure(x) == measure(x.astype(np.float64))


def test_a_large_distance_is_that_of_its_parts() -> None:
    a = np.zeros((3, measures.CHUNK), np.float32)
    b = a.copy()
    b[1, 7] = -2.5
    assert distance(a, b) == 2.5


def test_distances_see_infinite_numbers() -> None:
    a = np.array([1.0, -np.inf, np.nan])
    assert distance(a, a) == 0
    assert distance(a, np.array([1.5, -np.inf, np.nan])) == 0.5
    assert distance(a, np.array([1.0, np.inf, np.nan])) == math.inf
    assert distance(a, np.array([1.0, 0.0, np.nan])) == math.inf
    assert distance(np.array([np.nan]), np.array([1.0])) == math.inf
    assert relative(np.array([4.0, 0.0]), np.array([4.0, 1.0])) == 0.25
    assert relative(np.zeros(2), np.ones(2)) == 1.0
