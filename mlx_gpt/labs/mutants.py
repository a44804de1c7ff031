"""How a sound model is given one mistake, for the labs to find.

Most mistakes change rows on their way through the tap, which is what the same mistake in
model.py would do to them. The others replace how a model is made, its batches or its loss.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from mlx_gpt.device import mx

import mlx.nn as nn
import numpy as np
from mlx.utils import tree_flatten, tree_unflatten

from mlx_gpt.config import ModelConfig, TrainConfig
from mlx_gpt.data import Batch, batch
from mlx_gpt.model import GPT, KVCache
from mlx_gpt.steps import Step, layout
from mlx_gpt.tracing import EXPLICIT, Edit, Tap, off
from mlx_gpt.training import Arrays, Learner

Make = Callable[[ModelConfig, int], GPT]
MakeLearner = Callable[[GPT, TrainConfig], Learner]
MakeBatch = Callable[[np.ndarray, int, int, int, int], Batch]
NORMS = ("norm1", "norm2", "final_norm")


@dataclass(frozen=True)
class Parts:
    """What a model is made and trained with; a break replaces one of them."""

    make: Make = GPT
    learner: MakeLearner = Learner
    batch: MakeBatch = batch


SOUND = Parts()


class At(NamedTuple):
    """A row that is about to be changed: what it is, and what it was made from."""

    step: Step
    x: mx.array
    inputs: tuple[mx.array, ...]
    model: GPT
    start: int | mx.array  # tokens in the cache before these

    def param(self, name: str) -> mx.array:
        """A parameter of the model, by its full name."""
        return param(self.model, name)


Change = Callable[[At], mx.array]
Wrap = Callable[
    [GPT, Tap, int | mx.array, bool], Tap
]  # a tap around another, for a model and its cache


def param(model: GPT, name: str) -> mx.array:
    """A parameter of the model, by its full name."""
    found: Any = model
    for part in name.split("."):
        found = found[int(part) if part.isdigit() else part]
    return found


def fill(model: GPT, value: Callable[[str, mx.array], mx.array]) -> None:
    """Give every parameter a new value; what was one array under two names stays one."""
    arrays = dict(tree_flatten(model.parameters(), destination={}))
    names: dict[int, str] = {}
    filled: Arrays = {}
    for name, array in arrays.items():
        first = names.setdefault(id(array), name)
        filled[name] = filled[first] if first in filled else value(name, array)
    model.update(tree_unflatten(list(filled.items())))


class Editing:
    """A tap that changes rows before the tap around which it stands sees them."""

    live = True

    def __init__(
        self,
        edits: Mapping[str, Edit],
        outer: Tap,
        prefix: str = "",
        rows: dict[str, mx.array] | None = None,
    ):
        self.edits, self.outer, self.prefix = edits, outer, prefix
        self.rows = {} if rows is None else rows

    def changed(self, name: str, x: mx.array) -> mx.array:
        """The row after its edit, if it has one."""
        edit = self.edits.get(self.prefix + name)
        return edit(x, self.rows) if edit else x

    def __call__(self, name: str, x: mx.array) -> mx.array:
        x = self.outer(name, self.changed(name, x))
        self.rows[self.prefix + name] = x
        return x

    def at(self, place: str) -> Tap:
        """The same for a part of the model."""
        return Editing(self.edits, self.outer.at(place), f"{self.prefix}{place}.", self.rows)

    def choose(self, name: str, explicit: mx.array, fused: mx.array) -> mx.array:
        """The explicit computation where a row that the fused one does not show is edited."""
        if self.edits.keys() & {self.prefix + row for row in EXPLICIT}:
            explicit = fused = self.changed(name, explicit)
        x = self.outer.choose(name, explicit, fused)
        self.rows[self.prefix + name] = x
        return x


class Deaf:
    """A tap that shows every row and ignores what it is given back."""

    live = True

    def __init__(self, outer: Tap):
        self.outer = outer

    def __call__(self, name: str, x: mx.array) -> mx.array:
        self.outer(name, x)
        return x

    def at(self, place: str) -> Tap:
        """The same for a part of the model."""
        return Deaf(self.outer.at(place))

    def choose(self, name: str, explicit: mx.array, fused: mx.array) -> mx.array:
        """The fused computation, whatever the outer tap wants."""
        self.outer.choose(name, explicit, fused)
        return fused


class Forgetful:
    """A tap that shows every row but the merged heads."""

    live = True

    def __init__(self, outer: Tap):
        self.outer = outer

    def __call__(self, name: str, x: mx.array) -> mx.array:
        return x if name == "merged" else self.outer(name, x)

    def at(self, place: str) -> Tap:
        """The same for a part of the model."""
        return Forgetful(self.outer.at(place))

    def choose(self, name: str, explicit: mx.array, fused: mx.array) -> mx.array:
        """The outer tap's choice."""
        return self.outer.choose(name, explicit, fused)


class Edited(GPT):
    """A GPT whose tap is wrapped in another; it is made and called like any GPT."""

    def __init__(self, config: ModelConfig, seed: int, wrap: Wrap, *, always: bool = True):
        super().__init__(config, seed)
        self.wrap, self.always = wrap, always

    def __call__(
        self,
        tokens: mx.array,
        cache: KVCache | None = None,
        dropout_key: mx.array | None = None,
        tap: Tap = off,
        *,
        last: bool = False,
    ) -> mx.array:
        """The forward pass with the mistake in it."""
        if self.always or tap.live:
            start = cache.length if cache else 0
            tap = self.wrap(self, tap, start, cache is not None)
        return super().__call__(tokens, cache, dropout_key, tap, last=last)


class Twice(GPT):
    """A GPT that is traced by a second forward pass, written without positions."""

    def __call__(
        self,
        tokens: mx.array,
        cache: KVCache | None = None,
        dropout_key: mx.array | None = None,
        tap: Tap = off,
        *,
        last: bool = False,
    ) -> mx.array:
        """Logits of the first pass, rows of the second."""
        if tap.live and cache is None:
            second = rows_of(dict.fromkeys(("q_rot", "k_rot", "embed"), first_input))
            super().__call__(tokens, cache, dropout_key, second(self, tap, 0, False))
            tap = off
        return super().__call__(tokens, cache, dropout_key, tap, last=last)


class Drops(GPT):
    """A GPT that drops activations while it is traced, with a key from the global state."""

    def __call__(
        self,
        tokens: mx.array,
        cache: KVCache | None = None,
        dropout_key: mx.array | None = None,
        tap: Tap = off,
        *,
        last: bool = False,
    ) -> mx.array:
        """The forward pass; a traced one is not that of an untraced one."""
        if tap.live:
            dropout_key = mx.random.key(int(mx.random.randint(0, 2**30)))
        return super().__call__(tokens, cache, dropout_key, tap, last=last)


def rows_of(changes: Mapping[str, Change]) -> Wrap:
    """A wrap that changes every row of some kinds."""

    def wrap(model: GPT, outer: Tap, start: int | mx.array, cached: bool) -> Tap:
        def edit(step: Step) -> Edit:
            def change(x: mx.array, rows: Mapping[str, mx.array]) -> mx.array:
                inputs = tuple(rows[name] for name in step.inputs if name in rows)
                return changes[step.kind](At(step, x, inputs, model, start))

            return change

        plan = layout(model.config, cached=cached)
        return Editing({step.name: edit(step) for step in plan if step.kind in changes}, outer)

    return wrap


def edited(change: Change, *kinds: str) -> Parts:
    """Models in which every row of these kinds is changed."""
    wrap = rows_of(dict.fromkeys(kinds, change))
    return Parts(make=lambda config, seed: Edited(config, seed, wrap))


def configured(**settings: Any) -> Parts:
    """Models that silently have other settings than they are asked to have."""
    return Parts(make=lambda config, seed: GPT(dataclasses.replace(config, **settings), seed))


def tapped(kind: Callable[[Tap], Tap]) -> Parts:
    """Models whose tap does not show what it should."""

    def wrap(model: GPT, outer: Tap, start: int | mx.array, cached: bool) -> Tap:
        return kind(outer)

    return Parts(make=lambda config, seed: Edited(config, seed, wrap, always=False))


def first_input(at: At) -> mx.array:
    """The row that this one was made from, as if nothing happened here."""
    return at.inputs[0]


# Masks: `keep` says which key (column) a query (row) may see.


def masked_by(keep: Callable[[mx.array, mx.array], mx.array]) -> Parts:
    """Another mask, of the positions of queries and keys."""

    def change(at: At) -> mx.array:
        T, S = at.x.shape[-2:]
        query, key = mx.arange(S - T, S)[:, None], mx.arange(S)[None]
        return mx.where(keep(query, key), at.inputs[0], -mx.inf)

    return edited(change, "masked")


def from_upper_left(at: At) -> mx.array:
    """The first new query sees the first key alone, though others lie in the cache."""
    return mx.where(mx.tri(*at.x.shape[-2:], dtype=mx.bool_), at.inputs[0], -mx.inf)


def open_chunk(at: At) -> mx.array:
    """No mask where keys come from the cache."""
    T, S = at.x.shape[-2:]
    return at.inputs[0] if S > T else at.x


# RoPE


def turned(x: mx.array, at: At, **other: Any) -> mx.array:
    """RoPE as the model has it, but for what is given."""
    config = at.model.config
    settings = {
        "traditional": False,
        "base": config.rope_base,
        "scale": 1.0,
        "offset": at.start,
    } | other
    return mx.fast.rope(x, config.d_rope, **settings)


def rotated(**other: Any) -> Parts:
    """RoPE with other settings."""
    return edited(lambda at: turned(at.inputs[0], at, **other), "q_rot", "k_rot")


def first_alone(at: At) -> mx.array:
    """With a single token all sequences but the first come out as zeros (mlx #3494)."""
    if at.x.shape[-2] > 1:
        return at.x
    return mx.where(mx.arange(at.x.shape[0])[:, None, None, None] == 0, at.x, 0.0)


# Attention


def scaled_by(factor: Callable[[int], float]) -> Parts:
    """Scores with another factor in place of 1/√d_head."""

    def change(at: At) -> mx.array:
        d_head = at.model.config.d_head
        return at.x * (d_head**0.5 * factor(d_head))

    return edited(change, "scores")


def transposed(at: At) -> mx.array:
    """Keys ask and queries answer; with a cache there is no square to transpose."""
    T, S = at.x.shape[-2:]
    return at.x.swapaxes(-1, -2) if T == S else at.x


def cut_wrong(at: At) -> mx.array:
    """Heads cut out of the whole sequence instead of out of each token."""
    return at.inputs[0].reshape(at.x.shape)


# Norms


def normed(
    at: At,
    *,
    axis: int = -1,
    less: int = 0,
    eps: float | None = None,
    center: bool = True,
    params: tuple[str, ...] | None = None,
) -> mx.array:
    """LayerNorm with something else in it."""
    x, (gain, bias) = at.inputs[0], (at.param(name) for name in params or at.step.params)
    mean = x.mean(axis, keepdims=True) if center else mx.array(0.0)
    squares = mx.square(x - mean).sum(axis, keepdims=True)
    variance = squares / max(x.shape[axis] - less, 1)
    epsilon = at.model.config.norm_eps if eps is None else eps
    return (x - mean) * mx.rsqrt(variance + epsilon) * gain + (bias if center else 0.0)


def layernorm(**other: Any) -> Parts:
    """Every norm with something else in it."""
    return edited(lambda at: normed(at, **other), *NORMS)


def norm_of_the_first(at: At) -> mx.array:
    """norm2 with the gain and bias of norm1."""
    names = tuple(name.replace("norm2", "norm1") for name in at.step.params)
    return normed(at, params=names)


# Head, initialisation, loss, data


def shared_by_name(config: ModelConfig, seed: int) -> GPT:
    """A head that is given the embedding's array: equal until the first step."""
    model = GPT(dataclasses.replace(config, tied_head=False), seed)
    model.head.weight = model.embedding.weight
    return model


def without_bias(config: ModelConfig, seed: int) -> GPT:
    """One projection of every block lacks its bias."""
    model = GPT(config, seed)
    for block in model.blocks:
        weight = block.attention.out_proj.weight
        block.attention.out_proj = nn.Linear(*reversed(weight.shape), bias=False)
        block.attention.out_proj.weight = weight
    return model


def ten_times(config: ModelConfig, seed: int) -> GPT:
    """Matrices drawn with a standard deviation of 0.2."""
    model = GPT(config, seed)
    fill(model, lambda _, array: array * 10 if array.ndim > 1 else array)
    return model


def always_pre(config: ModelConfig, seed: int) -> GPT:
    """Norms before the sublayers, whatever is asked."""
    return GPT(dataclasses.replace(config, norm_order="pre"), seed)


def read_by_constant(at: At) -> mx.array:
    """Logits whose gradient does not reach the head."""
    matrix = "embedding.weight" if at.model.config.tied_head else "head.weight"
    return at.inputs[0] @ mx.stop_gradient(at.param(matrix)).T


def with_loss(loss: Callable[[mx.array, mx.array], mx.array]) -> Parts:
    """A learner with another loss of logits and targets."""

    def make(model: GPT, config: TrainConfig) -> Learner:
        learner = Learner(model, config)

        def broken(
            params: Arrays, inputs: mx.array, targets: mx.array, key: mx.array | None
        ) -> mx.array:
            learner.put(params)
            return loss(model(inputs, dropout_key=key), targets)

        learner.gradients = mx.value_and_grad(broken)
        return learner

    return Parts(learner=make)


def frozen(model: GPT, config: TrainConfig) -> Learner:
    """A learner that computes loss and gradient with the first weights for ever."""
    learner = Learner(model, config)
    fresh, first = learner.gradients, dict(learner.params)
    learner.gradients = lambda _, *rest: fresh(first, *rest)
    return learner


def unshifted(tokens: np.ndarray, length: int, size: int, seed: int, index: int) -> Batch:
    """Targets that are the inputs."""
    inputs = batch(tokens, length, size, seed, index).inputs
    return Batch(inputs, inputs)
