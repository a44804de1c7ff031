"""Every fused form against NumPy in float64, forward and backward, and where it must not act."""

import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mlx_gpt.device import LINUX, choose, mx

import mlx.nn as nn
import numpy as np
import pytest

from mlx_gpt import kernels

ROOT = Path(__file__).parent.parent
Array = np.ndarray
Function = Callable[..., mx.array]
TOLERANCE = 1e-6
erf = np.vectorize(math.erf)


@pytest.fixture(autouse=True)
def on_a_linux_cpu() -> Iterator[None]:
    """Where the fused forms act; elsewhere all of these are MLX's own."""
    if not LINUX:
        pytest.skip("the fused forms are for Linux CPUs")
    choose("cpu")
    yield
    choose("auto")


def pull(function: Function, inputs: Sequence[Array], cotangent: Array) -> list[Array]:
    """The output of a fused form and what each input gets back."""
    with kernels.fusing():
        outputs, grads = mx.vjp(function, [mx.array(x) for x in inputs], [mx.array(cotangent)])
    return [np.array(array) for array in (*outputs, *grads)]


def error(found: Array, expected: Array) -> float:
    """The largest difference, as a share of the largest number expected."""
    assert found.shape == expected.shape
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def draw(*shape: int, seed: int = 0, scale: float = 1.0) -> Array:
    return (scale * np.random.default_rng(seed).normal(size=shape)).astype(np.float32)


def fused(function: Function, *inputs: mx.array) -> mx.array:
    with kernels.fusing():
        return function(*inputs)


def phi(x: Array) -> Array:
    return 0.5 * (1 + erf(x / math.sqrt(2)))


def logistic(x: Array) -> Array:
    return 0.5 * (1 + np.tanh(x / 2))


def inner(x: Array) -> Array:
    return math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)


def gelu_slope(x: Array) -> Array:
    return phi(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def gelu_tanh_slope(x: Array) -> Array:
    by_inner = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)
    return (1 + np.tanh(inner(x))) / 2 + x / 2 * (1 - np.tanh(inner(x)) ** 2) * by_inner


def silu_slope(x: Array) -> Array:
    return logistic(x) * (1 + x * (1 - logistic(x)))


ACTIVATIONS = {
    "gelu": (kernels.gelu, lambda x: x * phi(x), gelu_slope, nn.gelu),
    "gelu_tanh": (
        kernels.gelu_tanh,
        lambda x: x * (1 + np.tanh(inner(x))) / 2,
        gelu_tanh_slope,
        kernels.plain_gelu_tanh,
    ),
    "silu": (kernels.silu, lambda x: x * logistic(x), silu_slope, nn.silu),
}
each_activation = pytest.mark.parametrize("name", ACTIVATIONS)
# Every binade of small numbers, the bend in detail, and far beyond it.
SMALL = np.array([2.0**e for e in range(-149, 1, 3)], np.float32)
RANGE = np.concatenate(
    [SMALL, -SMALL, np.linspace(-30, 30, 200_001), np.array([-1e30, -1e4, -300, 0, 300, 1e4, 1e30])]
).astype(np.float32)


@each_activation
def test_an_activation_and_its_slope_are_those_of_float64_over_the_whole_range(name: str) -> None:
    function, value, slope, _ = ACTIVATIONS[name]
    found, grad = pull(function, [RANGE], np.ones_like(RANGE))
    wide = RANGE.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        expected, steep = value(wide), np.nan_to_num(slope(wide), posinf=0, neginf=0)
    steep[np.abs(wide) > 1e3] = wide[np.abs(wide) > 1e3] > 0
    size = np.maximum(1, np.abs(wide))
    assert (np.abs(found - expected) / size).max() < TOLERANCE / 2
    assert np.abs(grad - steep).max() < TOLERANCE / 2


@each_activation
def test_far_from_zero_an_activation_is_exact(name: str) -> None:
    x = np.array([1e30, 1e4, 30, -30, -1e4, -1e30], np.float32)
    found = np.array(fused(ACTIVATIONS[name][0], mx.array(x)))
    assert np.array_equal(found, np.maximum(x, 0))


@each_activation
def test_an_activation_of_what_is_no_number_is_that_of_the_plain_form(name: str) -> None:
    function, _, _, plain = ACTIVATIONS[name]
    x = mx.array([math.nan, math.inf, -math.inf])
    assert np.array_equal(np.array(fused(function, x)), np.array(plain(x)), equal_nan=True)


def test_exp_is_that_of_float64_and_falls_to_zero() -> None:
    x = np.concatenate([-SMALL, np.linspace(-18, 0, 200_001)]).astype(np.float32)
    found, expected = np.array(kernels.exp(mx.array(x))), np.exp(x.astype(np.float64))
    assert (np.abs(found - expected) / expected).max() < 1.5 * TOLERANCE
    assert kernels.exp(mx.array(0.0)) == 1
    far = np.array(kernels.exp(mx.array([-87.0, -1e12, -1e30, -3e38, -math.inf])))
    assert far[0] < 1e-20
    assert (far[1:] == 0).all()
    assert mx.isnan(kernels.exp(mx.array(math.nan)))


def attend(q: Array, k: Array, v: Array, scale: float) -> Array:
    """Causal attention weights, (B, H, T, T)."""
    scores = scale * q @ np.repeat(k, q.shape[1] // k.shape[1], 1).swapaxes(-1, -2)
    scores = np.where(np.tri(q.shape[2], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def attention_by_hand(inputs: Sequence[Array], cotangent: Array, scale: float) -> list[Array]:
    """Context and gradients in float64."""
    q, k, v, cotangent = (x.astype(np.float64) for x in (*inputs, cotangent))
    repeats, weights = q.shape[1] // k.shape[1], attend(q, k, v, scale)
    wide_k, wide_v = np.repeat(k, repeats, 1), np.repeat(v, repeats, 1)
    of_weights = cotangent @ wide_v.swapaxes(-1, -2)
    of_scores = weights * (of_weights - (weights * of_weights).sum(-1, keepdims=True)) * scale
    dk, dv = of_scores.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ cotangent
    gathered = [x.reshape(k.shape[0], k.shape[1], repeats, *k.shape[2:]).sum(2) for x in (dk, dv)]
    return [weights @ wide_v, of_scores @ wide_k, *gathered]


SIZES = {
    "one block": (2, 4, 4, 64, 32),
    "less than a block": (3, 2, 2, 5, 4),
    "two tokens": (1, 1, 1, 2, 6),
    "one more than a block": (2, 3, 3, 65, 6),
    "grouped": (1, 4, 2, 100, 16),
    "one key head": (2, 6, 1, 200, 8),
    "four blocks": (1, 2, 2, 256, 64),
    "as many blocks as there may be": (1, 1, 1, 601, 2),
}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES.keys())
@pytest.mark.parametrize("loud", [0.5, 3.0])
def test_attention_is_that_of_float64(size: tuple[int, ...], loud: float) -> None:
    B, H, groups, T, d = size
    inputs = [
        draw(B, heads, T, d, seed=i, scale=loud if i < 2 else 1.0)
        for i, heads in enumerate((H, groups, groups))
    ]
    cotangent, scale = draw(B, H, T, d, seed=3), d**-0.5

    def function(*arrays: mx.array) -> mx.array:
        return kernels.attention(*arrays, scale=scale, mask="causal")

    outputs, grads = mx.vjp(function, [mx.array(x) for x in inputs], [mx.array(cotangent)])
    found, plain = pull(function, inputs, cotangent), (*outputs, *grads)
    expected = attention_by_hand(inputs, cotangent, scale)
    for ours, theirs, exact in zip(found, plain, expected, strict=True):
        # Scores in the tens leave float32 itself unsure; then MLX's own form sets the measure.
        unsure = 2 * error(np.array(theirs), exact) if loud > 1 else 0
        assert error(ours, exact) < TOLERANCE + unsure


def test_attention_takes_what_is_not_laid_out_row_by_row() -> None:
    q, k, v = (draw(2, 70, 3, 8, seed=i) for i in range(3))
    swapped = [mx.array(x).swapaxes(1, 2) for x in (q, k, v)]
    with kernels.fusing():
        found = kernels.attention(*swapped, scale=0.3, mask="causal")
    expected = attention_by_hand([x.swapaxes(1, 2) for x in (q, k, v)], q.swapaxes(1, 2), 0.3)[0]
    assert error(np.array(found), expected) < TOLERANCE


def test_a_later_token_changes_no_bit_of_attention() -> None:
    q, k, v = (mx.array(draw(1, 2, 150, 8, seed=i)) for i in range(3))
    before = np.array(fused_attention(q, k, v))
    for place in (1, 63, 64, 100, 149):
        later = np.where(np.arange(150)[:, None] >= place, 1e4, 0).astype(np.float32)
        after = np.array(fused_attention(q + later, k + later, v + later))
        assert np.array_equal(after[:, :, :place], before[:, :, :place])
        assert not np.array_equal(after[:, :, place:], before[:, :, place:])


def fused_attention(q: mx.array, k: mx.array, v: mx.array) -> mx.array:
    with kernels.fusing():
        return kernels.attention(q, k, v, scale=0.5, mask="causal")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_attention_hides_no_spoilt_key_from_those_that_see_it(bad: float) -> None:
    q, k, v = (draw(1, 1, 130, 4, seed=i) for i in range(3))
    k[0, 0, 90, 0] = bad
    found, plain = (
        np.array(f(*(mx.array(x) for x in (q, k, v)), scale=0.5, mask="causal"))
        for f in (
            lambda *a, **b: fused(lambda *c: kernels.attention(*c, **b), *a),
            mx.fast.scaled_dot_product_attention,
        )
    )
    assert (np.isnan(found) >= np.isnan(plain)).all()
    assert np.isfinite(found[:, :, :64]).all()
    if not np.isnan(bad):
        return
    assert np.isnan(found[:, :, 90:]).all()


def cross_entropy_by_hand(logits: Array, targets: Array) -> tuple[Array, Array]:
    """Losses, and the gradient of their sum, in float64."""
    wide = logits.astype(np.float64)
    wide = wide - wide.max(-1, keepdims=True)
    log_p = wide - np.log(np.exp(wide).sum(-1, keepdims=True))
    hot = np.arange(logits.shape[-1]) == targets[..., None]
    return -log_p[hot].reshape(targets.shape), np.exp(log_p) - hot


@pytest.mark.parametrize("shape", [(1, 1, 2), (2, 7, 13), (3, 5, 513), (4, 1000)])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 20.0])
def test_cross_entropy_is_that_of_float64(shape: tuple[int, ...], scale: float) -> None:
    logits, cotangent = draw(*shape, scale=scale), draw(*shape[:-1], seed=1)
    targets = np.random.default_rng(2).integers(shape[-1], size=shape[:-1])
    losses, grad = cross_entropy_by_hand(logits, targets)

    def function(x: mx.array) -> mx.array:
        return kernels.cross_entropy(x, mx.array(targets))

    found, back = pull(function, [logits], cotangent)
    assert found == pytest.approx(losses, rel=TOLERANCE, abs=TOLERANCE)
    assert error(back, grad * cotangent[..., None]) < TOLERANCE


def test_cross_entropy_survives_large_logits_and_passes_on_what_is_no_number() -> None:
    targets = mx.array([0, 1, 0, 0])
    logits = mx.array([[1e4, 0], [1e4, 0], [math.nan, 0], [3e38, -3e38]])
    found = np.array(fused(kernels.cross_entropy, logits, targets))
    assert np.array_equal(found, [0, 1e4, math.nan, 0], equal_nan=True)


@pytest.mark.parametrize("shape", [(1, 1, 2), (2, 7, 30), (5, 384), (3, 64, 128)])
@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1e-3, 0.0), (30.0, 0.0), (1.0, 10.0)])
def test_layer_norm_is_that_of_float64(shape: tuple[int, ...], scale: float, shift: float) -> None:
    x, cotangent = draw(*shape, scale=scale) + np.float32(shift), draw(*shape, seed=1)
    weight, bias = 1 + draw(shape[-1], seed=2), draw(shape[-1], seed=3)
    found = pull(lambda *a: kernels.layer_norm(*a, eps=1e-5), [x, weight, bias], cotangent)
    wide, g, w = (each.astype(np.float64) for each in (x, cotangent, weight))
    centred = wide - wide.mean(-1, keepdims=True)
    share = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    n, gw, before = centred * share, g * w, tuple(range(x.ndim - 1))
    dx = share * (gw - gw.mean(-1, keepdims=True) - n * (gw * n).mean(-1, keepdims=True))
    for ours, expected in zip(
        found, [n * w + bias, dx, (g * n).sum(before), g.sum(before)], strict=True
    ):
        # What is left of x after its mean is taken off has lost as many digits as x was large.
        assert error(ours, expected) < TOLERANCE * (1 + 2 * shift) or shape[-1] == 2


@pytest.mark.parametrize(("T", "d", "dims"), [(1, 2, 2), (7, 10, 10), (128, 64, 64), (9, 10, 4)])
@pytest.mark.parametrize("offset", [0, 5])
def test_rope_turns_as_mlx_does_and_back(T: int, d: int, dims: int, offset: int) -> None:
    x, cotangent = draw(2, 3, T, d), draw(2, 3, T, d, seed=1)

    def plain(x: mx.array) -> mx.array:
        return mx.fast.rope(x, dims, traditional=False, base=1e4, scale=1.0, offset=offset)

    found = pull(lambda x: kernels.rope(x, dims, base=1e4, offset=offset), [x], cotangent)
    outputs, grads = mx.vjp(plain, [mx.array(x)], [mx.array(cotangent)])
    for ours, expected in zip(found, (*outputs, *grads), strict=True):
        assert error(ours, np.array(expected)) < TOLERANCE


EVERY = {
    "gelu": kernels.gelu,
    "gelu_tanh": kernels.gelu_tanh,
    "silu": kernels.silu,
    "rope": lambda x: kernels.rope(x, 8, base=1e4, offset=0),
    "attention": lambda x: kernels.attention(x, x, x, scale=0.3, mask="causal"),
    "layer_norm": lambda x: kernels.layer_norm(x, x[0, 0, 0], x[0, 0, 1], 1e-5),
    "cross_entropy": lambda x: kernels.cross_entropy(x, mx.zeros(x.shape[:-1], mx.int32)),
}
each_function = pytest.mark.parametrize("function", EVERY.values(), ids=EVERY.keys())


@each_function
def test_it_is_the_plain_form_but_for_rounding(function: Function) -> None:
    x = mx.array(draw(2, 3, 66, 8))
    assert mx.allclose(function(x), fused(function, x), 1e-5, 1e-5)


@pytest.mark.parametrize("name", sorted(EVERY.keys() - {"cross_entropy"}))
def test_in_bfloat16_mlx_itself_computes(name: str) -> None:
    x = mx.array(draw(2, 3, 66, 8)).astype(mx.bfloat16)
    plain, again = EVERY[name](x), fused(EVERY[name], x)
    assert again.dtype == mx.bfloat16
    assert mx.array_equal(plain, again)


@pytest.mark.parametrize("name", ["gelu", "gelu_tanh", "silu", "attention", "cross_entropy"])
def test_only_within_a_compiled_step_the_fused_form_acts(name: str) -> None:
    x = mx.array(draw(2, 3, 66, 8))
    assert not mx.array_equal(EVERY[name](x), fused(EVERY[name], x))


@each_function
def test_a_second_call_gives_the_same_bits(function: Function) -> None:
    x = mx.array(draw(2, 3, 66, 8))
    assert mx.array_equal(fused(function, x), fused(function, x + 0))


def test_attention_that_is_not_causal_or_reads_a_cache_is_left_to_mlx() -> None:
    q, k = mx.array(draw(1, 2, 3, 8)), mx.array(draw(1, 2, 9, 8, seed=1))
    cases: list[tuple[kernels.Mask, mx.array]] = [(None, q), ("causal", k), (mx.zeros((3, 3)), q)]
    for mask, keys in cases:
        plain = mx.fast.scaled_dot_product_attention(q, keys, keys, scale=1.0, mask=mask)
        with kernels.fusing():
            assert mx.array_equal(kernels.attention(q, keys, keys, scale=1.0, mask=mask), plain)


def test_fusing_ends_with_its_block_even_after_an_error() -> None:
    def fail() -> None:
        with kernels.fusing():
            assert kernels.FUSING.get()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not kernels.FUSING.get()


COMPILED = """
from mlx_gpt.device import mx, choose
choose("cpu")
import numpy as np
from mlx_gpt import kernels
x = mx.array(np.random.default_rng(0).normal(size=(2, 3, 70, 8)).astype(np.float32))
targets = mx.zeros((2, 3, 70), mx.int32)

def loss(x):
    y = kernels.rope(x, 8, base=1e4, offset=0)
    y = y + kernels.attention(y, y, y, scale=0.3, mask="causal")
    y = kernels.layer_norm(y, x[0, 0, 0], x[0, 0, 1], 1e-5)
    y = kernels.gelu(y) + kernels.gelu_tanh(y) + kernels.silu(y)
    return kernels.cross_entropy(y, targets).mean()

def step(x):
    with kernels.fusing():
        return mx.value_and_grad(loss)(x)

plain, compiled = mx.value_and_grad(loss)(x), mx.compile(step)(x)
print(abs(float(plain[0] - compiled[0]) / float(plain[0])))
print(float(mx.abs(plain[1] - compiled[1]).max() / mx.abs(plain[1]).max()))
"""


@pytest.mark.slow
def test_compiled_together_they_give_what_the_plain_forms_give() -> None:
    environment = {k: v for k, v in os.environ.items() if k != "MLX_DISABLE_COMPILE"}
    done = subprocess.run(
        [sys.executable, "-c", COMPILED],
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(float(line) < 2e-6 for line in done.stdout.split())
