"""Every row again, in NumPy float64 and from its equation alone: the proof that a trace is right.

A row is recomputed from its recorded inputs, so an error shows in the row where it is made and
in no other. Composed, the same functions are a second forward pass. Nothing here is of MLX.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mlx_gpt.config import ModelConfig, SampleConfig
from mlx_gpt.measures import distance
from mlx_gpt.steps import Step, layout
from mlx_gpt.traces import TOLERANCES, Proof

Array = np.ndarray
Piece = tuple[slice, Array]  # a range of the last axis, and its numbers

TF32 = 3e-3  # of a product whose factors a GPU rounds to 10 bits
PRODUCTS = {"q_proj", "k_proj", "v_proj", "scores", "context", "attn_out", "up", "gate", "down"}
PRODUCTS |= {"logits"}
COLUMNS = 1024  # of a matrix product, computed in one go
ROUNDING = 1e-6  # as in sampling: what a sum of probabilities may be off by
GREEDY_BELOW = 1e-6  # likewise: a temperature that leaves nothing to chance


class Given(NamedTuple):
    """What a row is computed from: its inputs, parameters, place and settings."""

    step: Step
    rows: Sequence[Array]
    params: Sequence[Array]
    config: ModelConfig
    sample: SampleConfig
    start: int  # tokens in the cache before these
    length: int  # tokens of this pass
    found: Array | None  # the recorded row, of which only what came from the cache is used


def wide(x: Array) -> Array:
    """In float64."""
    return np.asarray(x, np.float64)


def make_erf_table() -> Array:
    """Taylor coefficients of erf at 0, 1/32, 2/32, …, 6; (order, node).

    The n-th derivative is 2/√π · (-1)^(n-1) · H_(n-1)(a) · e^(-a²), with Hermite's polynomials.
    """
    nodes = np.arange(6 * 32 + 1) / 32
    slope = 2 / math.sqrt(math.pi) * np.exp(-nodes * nodes)
    hermite = [np.ones_like(nodes), 2 * nodes]
    for n in range(1, 8):
        hermite.append(2 * nodes * hermite[n] - 2 * n * hermite[n - 1])
    orders = [(-1) ** n * slope * h / math.factorial(n + 1) for n, h in enumerate(hermite)]
    return np.array([[math.erf(node) for node in nodes], *orders])


ERF = make_erf_table()


def erf(x: Array) -> Array:
    """The error function within 1e-14: Taylor's series about the nearest of 193 nodes."""
    size = np.fmin(np.abs(x), 6.0)  # beyond 6 it is 1 in float64; of NaN and 6 fmin takes 6
    node = np.rint(size * 32).astype(np.int64)
    step, total = size - node / 32, np.zeros_like(size)
    for coefficients in ERF[::-1]:
        total = total * step + coefficients[node]
    return np.where(np.isnan(x), x, np.copysign(total, x))


def tok(given: Given) -> Array:
    """Rows of the embedding matrix."""
    return given.params[0][given.rows[0]]


def pos(given: Given) -> Array:
    """Rows of the position matrix, after those of the cache."""
    return given.params[0][given.start : given.start + given.length]


def add(given: Given) -> Array:
    """The sum of two rows."""
    return wide(given.rows[0]) + wide(given.rows[1])


def norm(given: Given) -> Array:
    """LayerNorm (gain and bias) or RMSNorm (gain alone); the variance is divided by d."""
    x = wide(given.rows[0])
    if given.config.norm == "layernorm":
        x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt(np.mean(x**2, -1, keepdims=True) + given.config.norm_eps)
    gain, *bias = map(wide, given.params)
    return x * gain + (bias[0] if bias else 0.0)


def linear(given: Given) -> Iterator[Piece]:
    """x Wᵀ + b, some columns at a time."""
    x, (weight, *bias) = wide(given.rows[0]), given.params
    for first in range(0, len(weight), COLUMNS):
        columns = slice(first, first + COLUMNS)
        y = x @ wide(weight[columns]).T
        yield columns, y + wide(bias[0][columns]) if bias else y


def split(given: Given) -> Array:
    """(B, T, heads · d_head) -> (B, heads, T, d_head)"""
    B, T, width = given.rows[0].shape
    d_head = given.config.d_head
    return np.moveaxis(given.rows[0].reshape(B, T, width // d_head, d_head), 2, 1)


def merge(given: Given) -> Array:
    """(B, heads, T, d_head) -> (B, T, heads · d_head)"""
    return np.concatenate(np.moveaxis(given.rows[0], 1, 0), axis=-1)


def rotate(given: Given) -> Array:
    """RoPE as a complex number times e^(i t θ); what lies beyond d_rope stays."""
    x, half = wide(given.rows[0]), given.config.d_rope // 2
    t = given.start + np.arange(x.shape[-2])[:, None]
    theta = given.config.rope_base ** -(np.arange(half) / half)
    turned = (x[..., :half] + 1j * x[..., half : 2 * half]) * np.exp(1j * t * theta)
    return np.concatenate([turned.real, turned.imag, x[..., 2 * half :]], axis=-1)


def extend(given: Given) -> Array:
    """The new keys or values behind those that the cache held."""
    new, found = given.rows[0], given.found
    assert found is not None
    return np.concatenate([found[..., : found.shape[-2] - new.shape[-2], :], new], axis=-2)


def shared(x: Array, config: ModelConfig) -> Array:
    """Keys or values as every query head sees them."""
    return np.repeat(wide(x), config.n_heads // config.n_kv_heads, axis=1)


def scores(given: Given) -> Array:
    """Every query with every key, over the root of d_head."""
    q, k = wide(given.rows[0]), shared(given.rows[1], given.config)
    return np.einsum("bhtj,bhsj->bhts", q, k, optimize=True) / math.sqrt(q.shape[-1])


def mask(given: Given) -> Array:
    """-∞ where the key comes after the query; the last query stands at the last key."""
    t, s = np.indices(given.rows[0].shape[-2:])
    T, S = given.rows[0].shape[-2:]
    return np.where(s <= t + (S - T), given.rows[0], -np.inf)


def softmax(given: Given) -> Array:
    """Shares that sum to 1 over the last axis."""
    x = np.array(given.rows[0], np.float64)
    np.exp(np.subtract(x, x.max(-1, keepdims=True), out=x), out=x)
    return np.divide(x, x.sum(-1, keepdims=True), out=x)


def context(given: Given) -> Array:
    """The values, mixed in the shares of the weights."""
    v = shared(given.rows[1], given.config)
    return np.einsum("bhts,bhsj->bhtj", wide(given.rows[0]), v, optimize=True)


def activate(given: Given) -> Array:
    """The configured non-linearity."""
    x = wide(given.rows[0])
    match given.config.activation:
        case "gelu":
            return x * (1 + erf(x / math.sqrt(2))) / 2
        case "gelu_tanh":
            return x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2
        case "relu":
            return np.where(x > 0, x, 0.0)
        case "swiglu":
            return x * np.exp(-np.logaddexp(0.0, -x))


def multiply(given: Given) -> Array:
    """The product of two rows."""
    return wide(given.rows[0]) * wide(given.rows[1])


def nll(given: Given) -> Array:
    """log Σ e^logits − logits[target], a position at a time."""
    logits, targets = given.rows
    found = np.empty(targets.shape)
    for place in np.ndindex(targets.shape):
        x = wide(logits[place])
        top = x.max()
        found[place] = top + np.log(np.exp(x - top).sum()) - x[targets[place]]
    return found


def mean(given: Given) -> Array:
    """The mean of a row."""
    return wide(given.rows[0]).mean()


def last(given: Given) -> Array:
    """The logits of the last position."""
    return given.rows[0][:, -1]


def known(given: Given) -> Array:
    """The ids that were not forbidden, as they were."""
    assert given.found is not None
    end = np.argmax(np.isneginf(given.found[0])) or given.found.shape[-1]
    return np.where(np.arange(given.found.shape[-1]) < end, given.rows[0], -np.inf)


def penalise(given: Given) -> Array:
    """Used tokens made less likely."""
    x, penalty = np.array(given.rows[0], np.float64), given.sample.repetition_penalty
    for sequence, ids in zip(x, given.rows[1], strict=True):
        used = np.unique(ids)
        sequence[used] *= np.where(sequence[used] > 0, 1 / penalty, penalty)
    return x


def heat(given: Given) -> Array:
    """Differences to the largest logit, over the temperature."""
    x = wide(given.rows[0])
    return (x - x.max(-1, keepdims=True)) / given.sample.temperature


def filter_logits(given: Given) -> Array:
    """-∞ for what top-k, top-p and min-p forbid; at temperature 0 for all but the likeliest."""
    x, sample = given.rows[0], given.sample
    if sample.temperature < GREEDY_BELOW:
        best = x.argmax(-1)[:, None] == np.arange(x.shape[-1])
        return np.where(best, x, -np.inf)
    return np.stack([filter_one(sequence, sample) for sequence in x])


def filter_one(x: Array, sample: SampleConfig) -> Array:
    """The filters, on the logits of one sequence."""
    order = np.lexsort((np.arange(x.size), -x))  # the likeliest first, of equals the lower id
    p = np.exp(wide(x) - x.max())[order]
    stays = np.isfinite(x)[order]
    if 0 < sample.top_k < x.size:
        stays[sample.top_k :] = False
    p = np.where(stays, p, 0.0)
    if sample.top_p < 1:
        before = np.cumsum(p / p.sum()) - p / p.sum()
        stays[1:] &= before[1:] < sample.top_p - ROUNDING
    if sample.min_p > 0:
        stays &= p >= sample.min_p * (1 - ROUNDING)
    kept = np.full(x.size, -np.inf, x.dtype)
    kept[order[stays]] = x[order[stays]]
    return kept


def choose(given: Given) -> Array:
    """The likeliest token; what chance has drawn is accepted if it could be drawn."""
    p, found = given.rows[0], given.found
    best = p.argmax(-1)
    if given.sample.temperature < GREEDY_BELOW or found is None:
        return best
    drawn = found.astype(np.int64)
    return np.where(np.take_along_axis(p, drawn[:, None], -1)[:, 0] > 0, drawn, best)


REPLAYS: dict[str, Callable[[Given], Array]] = {
    "tok": tok,
    "pos": pos,
    **dict.fromkeys(("embed", "resid_attn", "resid_ffn"), add),
    **dict.fromkeys(("norm1", "norm2", "final_norm"), norm),
    **dict.fromkeys(("q", "k", "v"), split),
    **dict.fromkeys(("q_rot", "k_rot"), rotate),
    **dict.fromkeys(("keys", "values"), extend),
    "scores": scores,
    "masked": mask,
    **dict.fromkeys(("weights", "probs"), softmax),
    "context": context,
    "merged": merge,
    "act": activate,
    "gated": multiply,
    "nll": nll,
    "loss": mean,
    "last": last,
    "known": known,
    "penalised": penalise,
    "temperature": heat,
    "filtered": filter_logits,
    "token": choose,
}
LINEAR = PRODUCTS - {"scores", "context"}


def pieces(given: Given) -> Iterator[Piece]:
    """The row in float64, in pieces where it may be large."""
    if given.step.kind in LINEAR:
        yield from linear(given)
    else:
        yield slice(None), REPLAYS[given.step.kind](given)


def tolerance(step: Step, dtype: str, *, tf32: bool = False) -> float:
    """The error that a row of this kind and precision may have; a move may have none."""
    if step.entry.move:
        return 0.0
    rounding = TOLERANCES.get(dtype, 0.0)
    return max(rounding, TF32) if tf32 and step.kind in PRODUCTS else rounding


def prove(given: Given, scale: float, tol: float) -> Proof:
    """Compare a recorded row, whose largest number is `scale`, with its replay."""
    found = given.found
    assert found is not None
    worst = 0.0
    for columns, expected in pieces(given):
        part = found[..., columns] if found.ndim else found
        worst = max(worst, distance(part, expected))
    return Proof(worst / scale if scale else worst, tol)


def forward(
    config: ModelConfig,
    params: Mapping[str, Array],
    ids: Array,
    targets: Array | None = None,
) -> dict[str, Array]:
    """Every row of a forward pass of ids (B, T), in float64: the oracle of the tests and labs."""
    rows = {"ids": ids} if targets is None else {"ids": ids, "targets": targets}
    T = ids.shape[1]
    for step in layout(config, loss=targets is not None):
        inputs = [rows[name] for name in step.inputs]
        arrays = [wide(params[name]) for name in step.params]
        given = Given(step, inputs, arrays, config, SampleConfig(), 0, T, None)
        parts = [part for _, part in pieces(given)]
        rows[step.name] = np.concatenate(parts, axis=-1) if len(parts) > 1 else parts[0]
    return {name: row for name, row in rows.items() if name not in ("ids", "targets")}
