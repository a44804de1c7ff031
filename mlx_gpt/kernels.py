"""The operations for which a device may have something better than the plain form.

On a GPU, and on a CPU outside a compiled step, that is MLX's own. Only on a Linux CPU is MLX
slow: it takes exp, tanh and erf of one number at a time, and its attention computes the half
that the mask throws away. Where a whole step is traced for mx.compile (`fusing`), polynomials
stand in for them: a C++ compiler turns those into vector instructions. The results are the same
but for rounding.
"""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, NamedTuple, TypeVar, cast

from mlx_gpt.device import LINUX, kind, mx

import mlx.nn as nn
import numpy as np

F = TypeVar("F", bound=Callable)
Function = Callable[[mx.array], mx.array]
Arrays = Sequence[mx.array]
Mask = mx.array | Literal["causal"] | None

BLOCK = 64  # queries at least that see the same keys before the mask
MOST_BLOCKS = 8  # more of them save little, and make a long graph
MASKED = -1e30  # added to a score; finite, so that no row of scores becomes NaN

FUSING = ContextVar("FUSING", default=False)


@contextmanager
def fusing(on: bool = True) -> Iterator[None]:
    """Within it a whole step is traced for mx.compile, and fused forms pay."""
    token = FUSING.set(on)
    try:
        yield
    finally:
        FUSING.reset(token)


def pays(x: mx.array) -> bool:
    """Whether a fused form is better than MLX's own for an operation on x."""
    return FUSING.get() and LINUX and kind() == "cpu" and x.dtype == mx.float32


def with_gradient(forward: F, gradient: Callable) -> F:
    """A function whose derivative is the one given: from inputs, cotangents and outputs."""
    function = mx.custom_function(forward)
    function.vjp(gradient)
    return cast(F, function)


def pass_on(_: mx.array, cotangent: mx.array, __: mx.array) -> mx.array:
    """The gradient of the identity."""
    return cotangent


def alone(x: mx.array) -> mx.array:
    """x itself, across which mx.compile fuses nothing.

    A kernel with a broadcast, a minimum or a maximum in it is not vectorised, whatever else it
    computes, so these are kept apart.
    """
    return barrier(x)


barrier = with_gradient(lambda x: x, pass_on)


def spread(x: mx.array, like: mx.array) -> mx.array:
    """x in the shape of another, without a copy and not fused."""
    return alone(mx.broadcast_to(x, like.shape))


@functools.cache
def column(value: float, length: int) -> mx.array:
    """(length, 1): a product with it adds up rows faster than a sum does."""
    return mx.array(np.full((length, 1), value, np.float32))


def times(x: mx.array, factor: float) -> mx.array:
    """Factor times x, in no kernel of its own: each new constant would cost a compilation."""
    return alone(x * spread(column(factor, 1), x))


def polynomial(coefficients: Sequence[float], x: mx.array) -> mx.array:
    """Σ cᵢ xⁱ in pairs of pairs (Estrin), for mx.compile fuses only to a depth of eleven."""
    terms: list[mx.array | float] = list(coefficients)
    while len(terms) > 1:
        pairs = [terms[i] + terms[i + 1] * x for i in range(0, len(terms) - 1, 2)]
        terms = [*pairs, *terms[2 * len(pairs) :]]
        x = x * x
    return cast(mx.array, terms[0])


class Step(NamedTuple):
    """A smooth step from 0 to 1: ½ + x P(x²)/Q(x²) within ±limit, beyond which it stays.

    Minimax fits, weighted so that the error is the same everywhere: below 2e-7 in float32.
    """

    top: tuple[float, ...]
    bottom: tuple[float, ...]
    limit: float

    def __call__(self, x: mx.array) -> mx.array:
        square = x * x
        return 0.5 + polynomial(self.top, square) * x / polynomial(self.bottom, square)


# fmt: off
GELU = Step(  # Φ(x)
    (0.398942143, 0.0368763842, 0.00486282026, 0.000199134287, 6.51366008e-06, 2.01559409e-08),
    (1, 0.259099841, 0.0303765405, 0.00205737632, 8.30787176e-05, 1.13319095e-06), 6.0,
)
GELU_SLOPE = Step(  # Φ(x) + x φ(x)
    (0.797884524, -0.0180378128, 0.013569002, 0.000285227812, 3.20271574e-05, 1.12194505e-06,
     1.30031426e-08, -2.88803894e-11),
    (1, 0.310725808, 0.0455828942, 0.00415022997, 0.000258607091, 1.08122831e-05,
     3.63639543e-07), 6.0,
)
GELU_TANH = Step(  # (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2
    (0.398942322, 0.0300575346, 0.00363137759, 0.00013190489, 7.18664887e-06, 2.53282302e-08),
    (1, 0.242835566, 0.0242020022, 0.00129226933, 7.59356626e-05, 1.36244785e-06), 5.7,
)
GELU_TANH_SLOPE = Step(
    (0.797884524, -0.0484164841, 0.0134151848, -0.000263773603, 2.8851784e-05, 1.50200975e-07,
     1.01166044e-08, -3.48445439e-11),
    (1, 0.274301708, 0.0319862254, 0.00180384901, 0.000129293767, 4.22236235e-06,
     1.66597843e-07), 5.7,
)
SILU = Step(  # 1 / (1 + exp(-x))
    (0.25, 0.0087870406, 6.83262042e-05, 1.59844561e-07, 1.01151101e-10, 7.85557583e-15),
    (1, 0.118481494, 0.00181342976, 7.66665016e-06, 9.68474279e-09, 2.61156548e-12), 20.0,
)
SILU_SLOPE = Step(
    (0.5, 0.0325367898, 0.0014097807, 1.82590429e-05, 1.01692997e-07, 1.69625494e-10,
     3.98015395e-14, -3.10162289e-18),
    (1, 0.231740236, 0.0164429396, 0.000356515666, 3.07479672e-06, 9.96093252e-09,
     7.31934739e-12), 21.0,
)
# exp(-x/4) on [-18, 0] to 2e-8. Odd powers are negative, so that it grows without bound to the
# left of it and its reciprocal falls to exactly 0, as exp does.
EXP_QUARTER = (
    1, -0.25, 0.0312496815, -0.00260487222, 0.000162168304, -8.39510631e-06, 2.73644446e-07,
    -2.24665619e-08, -6.61623534e-10, -7.58828417e-11, -2.14976236e-12, -4.92719845e-14,
)
# fmt: on


def exp(x: mx.array) -> mx.array:
    """exp(x) for x ≤ 0, as (1/p)⁴ with a polynomial p near exp(-x / 4)."""
    root = polynomial(EXP_QUARTER, x)
    square = root * root
    return 1.0 / (square * square)


def gated(step: Step, slope: Step, plain: Function) -> Function:
    """x · step(x) with its derivative, where that pays; else the plain form."""

    def forward(x: mx.array) -> list[mx.array]:
        within = alone(mx.clip(x, -step.limit, step.limit))
        return [x * step(within), within]

    def gradient(_: mx.array, cotangents: Arrays, outputs: Arrays) -> mx.array:
        return cotangents[0] * slope(outputs[1])

    fused = with_gradient(forward, gradient)

    def activation(x: mx.array) -> mx.array:
        return fused(x)[0] if pays(x) else plain(x)

    return activation


def plain_gelu_tanh(x: mx.array) -> mx.array:
    """GELU as GPT-2 computes it (Hendrycks & Gimpel 2016, tanh form)."""
    return 0.5 * x * (1 + mx.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


gelu = gated(GELU, GELU_SLOPE, nn.gelu)
gelu_tanh = gated(GELU_TANH, GELU_TANH_SLOPE, plain_gelu_tanh)
silu = gated(SILU, SILU_SLOPE, nn.silu)


def rope(x: mx.array, dims: int, *, base: float, offset: int | mx.array) -> mx.array:
    """Turn the pair (j, j + dims/2) of (B, H, T, d) by position · base^(-2j/dims) (Su 2021)."""
    if pays(x) and isinstance(offset, int):
        return fused_rope(*x.shape[2:], dims, base, offset)(x)
    return mx.fast.rope(x, dims, traditional=False, base=base, scale=1.0, offset=offset)


@functools.cache
def fused_rope(T: int, d: int, dims: int, base: float, offset: int) -> Function:
    """x · cos + (x · quarter) · sin, with the angles that MLX itself computes.

    `quarter` is a matrix that turns every pair by 90°.
    """
    half = dims // 2
    unit = np.zeros((1, 1, T, d), np.float32)
    unit[..., :half] = 1
    turned = mx.fast.rope(
        mx.array(unit), dims, traditional=False, base=base, scale=1.0, offset=offset
    )
    cosine, sine = np.ones((T, d), np.float32), np.zeros((T, d), np.float32)
    cosine[:, :dims] = np.tile(np.array(turned)[0, 0, :, :half], 2)
    sine[:, :dims] = np.tile(np.array(turned)[0, 0, :, half:dims], 2)
    quarter = np.zeros((d, d), np.float32)
    quarter[range(half), range(half, dims)], quarter[range(half, dims), range(half)] = 1, -1
    cos, sin, right, left = (mx.array(each) for each in (cosine, sine, quarter, quarter.T))

    def forward(x: mx.array) -> mx.array:
        x = mx.contiguous(x)
        return alone(x * spread(cos, x)) + alone((x @ right) * spread(sin, x))

    def gradient(_: mx.array, cotangent: mx.array, __: mx.array) -> mx.array:
        x = mx.contiguous(cotangent)
        return alone(x * spread(cos, x)) + (x * spread(sin, x)) @ left

    return with_gradient(forward, gradient)


def layer_norm(x: mx.array, weight: mx.array, bias: mx.array, eps: float) -> mx.array:
    """(x - mean) / √(variance + eps) · weight + bias, over the last axis (Ba 2016)."""
    if pays(x):
        rows = x.reshape(-1, x.shape[-1])
        return fused_layer_norm(rows, weight, bias, column(eps, 1))[0].reshape(x.shape)
    return mx.fast.layer_norm(x, weight, bias, eps)


def repeated(row: mx.array, like: mx.array) -> mx.array:
    """A vector as each row of a matrix in the shape of another, without a copy and not fused."""
    return mx.as_strided(row, like.shape, (0, 1))


def normalised(x: mx.array, weight: mx.array, bias: mx.array, eps: mx.array) -> list[mx.array]:
    """LayerNorm of rows; x before weight and bias; and one over its standard deviation."""
    mean = column(1 / x.shape[-1], x.shape[-1])
    centred = x - spread(x @ mean, x)
    share = mx.rsqrt(mx.addmm(eps, alone(centred * centred), mean))
    normal = centred * spread(share, x)
    return [alone(normal * repeated(weight, x)) + repeated(bias, x), normal, share]


def normalised_gradient(primals: Arrays, cotangents: Arrays, outputs: Arrays) -> Arrays:
    """What x, weight and bias get back; eps nothing."""
    weight, (_, normal, share) = primals[1], outputs
    cotangent = cotangents[0]
    by_weight = cotangent * normal
    shares = weight[:, None] @ column(1 / weight.size, 1)
    dx = alone(alone(cotangent * repeated(weight, normal)) - spread(cotangent @ shares, normal))
    dx = alone(dx - alone(normal * spread(by_weight @ shares, normal)))
    by_row = dx * spread(share, normal)
    return by_row, by_weight.sum(axis=0), cotangent.sum(axis=0), mx.zeros_like(primals[3])


fused_layer_norm = with_gradient(normalised, normalised_gradient)


def cross_entropy(logits: mx.array, targets: mx.array) -> mx.array:
    """-log p(target) in nats for every position, computed in float32: (B, T)."""
    if kind() == "gpu":
        return mx.fast.cross_entropy(logits, targets)
    logits = logits.astype(mx.float32)
    if pays(logits):
        return fused_cross_entropy(logits, targets)[0]
    return mx.fast.cross_entropy(logits, targets)


def losses(logits: mx.array, targets: mx.array) -> list[mx.array]:
    """Cross-entropy; and the parts of softmax, which the gradient needs again."""
    highest = logits.max(-1, keepdims=True)
    weights = exp(alone(logits - spread(highest, logits)))
    total = weights @ column(1.0, logits.shape[-1])
    chosen = mx.take_along_axis(logits, targets[..., None], -1)
    loss = alone(alone(mx.log(total)) + highest) - chosen
    return [loss.squeeze(-1), weights, total]


def losses_gradient(primals: Arrays, cotangents: Arrays, outputs: Arrays) -> Arrays:
    """softmax(logits) - onehot(target), times the cotangent of each loss."""
    targets, places = primals[1], primals[1][..., None]
    _, weights, total = outputs
    cotangent = cotangents[0][..., None]
    grad = alone(weights * spread(cotangent / total, weights))
    chosen = mx.take_along_axis(grad, places, -1) - cotangent
    return mx.put_along_axis(grad, places, chosen, -1), mx.zeros_like(targets)


fused_cross_entropy = with_gradient(losses, losses_gradient)


def attention(q: mx.array, k: mx.array, v: mx.array, *, scale: float, mask: Mask) -> mx.array:
    """softmax(scale · q kᵀ) v, masked; q (B, H, T, d), k and v (B, n_kv_heads, S, d)."""
    if pays(q) and isinstance(mask, str) and q.shape[2] == k.shape[2]:
        q, k, v = (mx.contiguous(x) for x in (q, k, v))
        return causal_attention(q.shape[2], scale)(q, k, v)[0]
    return mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=mask)


@functools.cache
def later_keys(start: int, end: int, repeats: int) -> mx.array:
    """What to add to the scores of the queries from start to end: (repeats · queries, end)."""
    later = np.arange(end) > np.arange(start, end)[:, None]
    return mx.array(np.tile(np.where(later, MASKED, 0).astype(np.float32), (repeats, 1)))


def below(x: mx.array, groups: int) -> mx.array:
    """The heads that share keys, below each other: (B, H, T, d) -> (B, groups, H/groups·T, d)."""
    B, H, T, d = x.shape
    return x if groups == H else x.reshape(B, groups, H // groups * T, d)


def join(parts: Arrays) -> mx.array:
    """Blocks of tokens, one after the other."""
    return parts[0] if len(parts) == 1 else mx.concatenate(list(parts), axis=2)


def sum_of_starts(parts: Arrays) -> mx.array:
    """The sum of arrays over the first tokens only, each longer than the one before."""
    ends = [part.shape[2] for part in parts]
    sums = []
    for i, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        total = parts[i][:, :, start:end]
        for part in parts[i + 1 :]:
            total = alone(total + part[:, :, start:end])
        sums.append(total)
    return join(sums)


def block_context(
    q: mx.array, k: mx.array, v: mx.array, start: int
) -> tuple[mx.array, mx.array, mx.array]:
    """Context of the queries from start on, their weights, and the sum of those.

    The keys are those up to the last of the queries.
    """
    groups, end = k.shape[1], k.shape[2]
    scores = below(q, groups) @ k.swapaxes(-1, -2)
    later = later_keys(start, end, q.shape[1] // groups)
    scores = scores + spread(later, scores)
    weights = exp(alone(scores - spread(scores.max(-1, keepdims=True), scores)))
    total = weights @ column(1.0, end)
    context = weights @ v
    return (context / spread(total, context)).reshape(q.shape), weights, total


def block_gradient(
    inputs: Arrays, weights: mx.array, total: mx.array, cotangent: mx.array, dot: mx.array
) -> tuple[mx.array, mx.array, mx.array]:
    """What q, k and v of a block get back.

    `dot` is the product of the cotangent with the context, which is what softmax takes off.
    """
    q, k, v = inputs
    groups = k.shape[1]
    cotangent = below(cotangent, groups)
    cotangent = alone(cotangent / spread(total, cotangent))
    dot = alone(below(dot, groups) / total)
    of_weights = cotangent @ v.swapaxes(-1, -2)
    of_scores = alone(weights * alone(of_weights - spread(dot, of_weights)))
    return (
        (of_scores @ k).reshape(q.shape),
        of_scores.swapaxes(-1, -2) @ below(q, groups),
        weights.swapaxes(-1, -2) @ cotangent,
    )


@functools.cache
def causal_attention(T: int, scale: float) -> Callable[..., Arrays]:
    """Attention over T tokens in blocks of queries, each with the keys up to its own end.

    The function returns the context, and of each block what its gradient needs again.
    """
    size = max(BLOCK, math.ceil(T / MOST_BLOCKS))
    blocks = [(start, min(start + size, T)) for start in range(0, T, size)]

    def forward(q: mx.array, k: mx.array, v: mx.array) -> list[mx.array]:
        q = times(q, scale)
        parts = [
            block_context(q[:, :, start:end], k[:, :, :end], v[:, :, :end], start)
            for start, end in blocks
        ]
        contexts, weights, totals = zip(*parts, strict=True)
        return [join(contexts), *weights, *totals]

    def gradient(primals: Arrays, cotangents: Arrays, outputs: Arrays) -> Arrays:
        (q, k, v), context = (times(primals[0], scale), *primals[1:]), outputs[0]
        weights, totals = outputs[1 : len(blocks) + 1], outputs[len(blocks) + 1 :]
        cotangent = mx.contiguous(cotangents[0])
        dot = alone(cotangent * context) @ column(1.0, context.shape[-1])
        parts = [
            block_gradient(
                (q[:, :, start:end], k[:, :, :end], v[:, :, :end]),
                weight,
                total,
                cotangent[:, :, start:end],
                dot[:, :, start:end],
            )
            for (start, end), weight, total in zip(blocks, weights, totals, strict=True)
        ]
        dq, dk, dv = zip(*parts, strict=True)
        return times(join(dq), scale), sum_of_starts(dk), sum_of_starts(dv)

    return with_gradient(forward, gradient)
