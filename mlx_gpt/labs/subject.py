"""What a lab examines and what it answers with.

A statement holds when its figure lies within its bounds. Some statements are controls: they
hold only if the experiment could have failed.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from mlx_gpt.device import mx

import numpy as np
from mlx.utils import tree_flatten

from mlx_gpt.config import ModelConfig, TrainConfig
from mlx_gpt.errors import UserError
from mlx_gpt.labs.breaks import find_break
from mlx_gpt.labs.mutants import SOUND, Parts, fill
from mlx_gpt.language import say
from mlx_gpt.measures import distance
from mlx_gpt.model import GPT, KVCache
from mlx_gpt.tracer import Weights
from mlx_gpt.tracing import Edit, Tape
from mlx_gpt.training import Learner

Array = np.ndarray
Rows = dict[str, Array]
ROOM = 16  # positions that the labs need


@dataclass(frozen=True)
class Measure:
    """A statement about a model: the figure measured, and the bounds within which it holds."""

    en: str
    es: str
    figure: float
    low: float = -math.inf
    high: float = math.inf

    @property
    def text(self) -> str:
        """What was measured, in the language of the reader."""
        return say(self.en, self.es)

    @property
    def bound(self) -> float:
        """The bound as one number: the upper one where there are two."""
        return self.low if math.isinf(self.high) else self.high

    @property
    def ok(self) -> bool:
        """Whether it holds; NaN never does."""
        return self.low <= self.figure <= self.high

    @property
    def strain(self) -> float:
        """How near the figure is to its bounds: 0 in the middle of them, 1 at one of them."""
        if math.isnan(self.figure):
            return math.inf
        if math.isinf(self.low):
            return self.figure / self.high if self.high else float(self.figure != 0)
        if math.isinf(self.high):
            return self.low / self.figure if self.figure > 0 else math.inf
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        return abs(self.figure - middle) / half if half else float(self.figure != middle)


class Skip(NamedTuple):
    """Why a lab has nothing to say about a model."""

    en: str
    es: str

    @property
    def text(self) -> str:
        """The reason, in the language of the reader."""
        return say(self.en, self.es)


Answer = Sequence[Measure] | Skip


def small(config: ModelConfig) -> ModelConfig:
    """A small model with the same settings, in which all axes differ in size."""
    return dataclasses.replace(
        config,
        vocab_size=29,
        context_length=24,
        d_model=24,
        n_layers=2,
        n_heads=3,
        n_kv_heads=3 if config.n_kv_heads == config.n_heads else 1,
        d_ff=77,
        rope_fraction=1.0 if config.rope_fraction == 1 else 0.5,
        dropout=0.0,
    )


def sound(position: str) -> "Subject":
    """A small model of the courses: exact GELU, LayerNorm, all biases."""
    config = ModelConfig(activation="gelu")
    return Subject(small(dataclasses.replace(config, position=position)))


@dataclass(frozen=True)
class Subject:
    """A model under examination: its settings, weights, and how to make more of its kind."""

    config: ModelConfig
    parts: Parts = SOUND
    seed: int = 0
    weights: Mapping[str, mx.array] | None = None  # none: those of a loud small model

    @cached_property
    def model(self) -> GPT:
        """The model itself."""
        if self.weights is None:
            return self.loud(self.config)
        model, weights = self.parts.make(self.config, self.seed), self.weights
        fill(model, lambda name, array: weights.get(name, array))
        return model

    @property
    def broken(self) -> bool:
        """Whether a mistake was put into it."""
        return self.parts != SOUND

    @cached_property
    def small(self) -> ModelConfig:
        """The settings of a small model of the same kind."""
        return small(self.config)

    def fresh(self, *, seed: int = 0, **settings: Any) -> GPT:
        """An untrained small model of the same kind, with some settings changed."""
        return self.parts.make(self.shaped(**settings), self.seed + seed)

    def shaped(self, **settings: Any) -> ModelConfig:
        """The small settings with some changed; a width brings its own d_ff, heads their own."""
        if "d_model" in settings:
            settings = {"d_ff": 0, "n_heads": 4, "n_kv_heads": 4} | settings
        return dataclasses.replace(self.small, **settings)

    def loud(self, config: ModelConfig) -> GPT:
        """A model with every parameter moved: gains of 1 and biases of 0 would hide mistakes."""
        model, chance = self.parts.make(config, self.seed), self.chance(1)

        def moved(name: str, array: mx.array) -> mx.array:
            size = 0.3 if array.ndim > 1 else 0.2
            return array + mx.array(chance.normal(scale=size, size=array.shape).astype(np.float32))

        fill(model, moved)
        return model

    @cached_property
    def wide(self) -> GPT:
        """A loud model with d_head = 64, which a GPU's fused attention serves."""
        return self.loud(self.shaped(d_model=128, n_heads=2, n_kv_heads=2, n_layers=1))

    def chance(self, stream: int) -> np.random.Generator:
        """Random numbers of this subject, one stream for each purpose."""
        return np.random.default_rng([self.seed, stream])

    def tokens(self, B: int, T: int, config: ModelConfig | None = None) -> Array:
        """Random tokens (B, T)."""
        V = (config or self.config).vocab_size
        return self.chance(2).integers(0, V, (B, T)).astype(np.int32)

    def learner(self, model: GPT, **settings: Any) -> Learner:
        """What trains a model of this kind, with the settings of an experiment."""
        plain = {"weight_decay": 0.0, "warmup": 0, "schedule": "constant", "min_lr": 0.0}
        return self.parts.learner(model, dataclasses.replace(TrainConfig(), **(plain | settings)))


def subject_of(model: GPT, broken: str | None = None, seed: int = 0) -> Subject:
    """A model with its own weights; its `model` is a copy, with a break in it if one is named."""
    parts, config, source = SOUND, model.config, Weights(model)
    if broken:
        mistake = find_break(broken)
        if not mistake.fits(config):
            needs = " and ".join(f"model.{key} = {value}" for key, value in mistake.needs.items())
            raise UserError(f"the break {broken} needs {needs}, which this model has not")
        parts = mistake.parts
    weights = {name: mx.array(source[name]) for name in arrays(GPT(config))}
    return Subject(config, parts, seed, weights)


def whole(x: mx.array) -> Array:
    """An array for NumPy."""
    return np.array(x.astype(mx.float32))


def logits(model: GPT, tokens: Array, cache: KVCache | None = None) -> Array:
    """The logits of tokens (B, T), as the model gives them when nobody looks."""
    return whole(model(mx.array(tokens), cache))


def rows(
    model: GPT,
    tokens: Array,
    *,
    cache: KVCache | None = None,
    edits: Mapping[str, Edit] | None = None,
) -> Rows:
    """Every row of a forward pass."""
    tape = Tape("*", edits=edits)
    model(mx.array(tokens), cache, tap=tape)
    return {name: whole(x) for name, x in tape.rows.items()}


def in_pieces(model: GPT, tokens: Array, length: int) -> Array:
    """The logits of tokens that come a few at a time."""
    cache = KVCache(model.config, len(tokens))
    pieces = [tokens[:, i : i + length] for i in range(0, tokens.shape[1], length)]
    return np.concatenate([logits(model, piece, cache) for piece in pieces], axis=1)


def arrays(model: GPT) -> dict[str, mx.array]:
    """Every parameter by name, which need not have been computed yet."""
    return dict(tree_flatten(model.parameters(), destination={}))


def parameters(model: GPT) -> Rows:
    """Every parameter by name, for NumPy."""
    return {name: whole(array) for name, array in arrays(model).items()}


def slopes(learner: Learner, tokens: Array, targets: Array) -> tuple[float, Rows]:
    """Loss and gradient by every parameter, as training takes them."""
    pair = mx.array(tokens), mx.array(targets)
    loss, grads = learner.gradients(learner.params, *pair, None)
    return float(loss), {name: whole(grad) for name, grad in grads.items()}


def size(x: Array) -> float:
    """The largest number, but at least 1: what a tolerance is a share of."""
    return max(1.0, float(np.abs(x[np.isfinite(x)]).max(initial=0.0)))


def apart(a: Array, b: Array) -> float:
    """The largest difference; NaN where either holds one, so that no statement holds."""
    if a.shape != b.shape:
        return math.inf
    return math.nan if np.isnan(a).any() or np.isnan(b).any() else distance(a, b)


def gap(a: Array, b: Array) -> float:
    """How far two arrays are apart, as a share of the larger of 1 and the largest number."""
    return apart(a, b) / size(a)


def most(figures: Iterable[float]) -> float:
    """The largest; NaN if there is one, or if there is nothing."""
    return float(np.max(list(figures) or [math.nan]))


def least(figures: Iterable[float]) -> float:
    """The smallest; NaN if there is one, or if there is nothing."""
    return float(np.min(list(figures) or [math.nan]))


def cramped(subject: Subject) -> Skip | None:
    """Why a model is too small to be examined, if it is."""
    config = subject.config
    if config.context_length >= ROOM and config.vocab_size > 1:
        return None
    return Skip(
        f"it needs {ROOM} positions and two tokens; the model has {config.context_length} and "
        f"{config.vocab_size}",
        f"hacen falta {ROOM} posiciones y dos tokens; el modelo tiene {config.context_length} y "
        f"{config.vocab_size}",
    )
