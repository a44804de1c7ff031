"""Labs of learning: the start, the loss, gradients, the head, a batch learned by heart."""

import math
from collections.abc import Callable, Iterable, Mapping

from mlx_gpt.device import mx

import numpy as np

from mlx_gpt import replay
from mlx_gpt.config import ModelConfig
from mlx_gpt.kernels import fusing
from mlx_gpt.labs.mutants import fill, param
from mlx_gpt.labs.subject import (
    Answer,
    Array,
    Measure,
    Skip,
    Subject,
    apart,
    gap,
    least,
    most,
    parameters,
    rows,
    slopes,
    whole,
)
from mlx_gpt.model import GPT, INIT_STD
from mlx_gpt.steps import layout
from mlx_gpt.tracer import gradients

# L04


def overfit(subject: Subject) -> Answer:
    """A batch can be learned by heart, through the step that training takes."""
    T, B, V = 16, 4, 31
    model = subject.fresh(vocab_size=V, context_length=T, d_model=32)
    learner = subject.learner(model, steps=150, lr=3e-3, batch_size=B, grad_clip=0.0)
    text = subject.chance(3).integers(0, V, B * T + 1)
    each = subject.parts.batch(text, T, B, 0, 0)
    losses = [learner.step(step, [each])[0] for step in range(1, 151)]
    return [
        Measure(
            "loss after 150 steps on one batch",
            "pérdida tras 150 pasos con un lote",
            losses[-1],
            high=0.05,
        ),
        Measure("first loss - ln V", "primera pérdida - ln V", losses[0] - math.log(V), -0.3, 0.3),
    ]


# L05


def finite_differences(subject: Subject) -> Answer:
    """Gradients against differences of the float64 oracle's loss."""
    config = subject.small
    model, (inputs, targets) = subject.loud(config), example(subject, config)
    learner = subject.learner(model)
    plain = slopes(learner, inputs, targets)[1]
    with fusing():
        fused = slopes(learner, inputs, targets)[1]
    arrays = {name: array.astype(np.float64) for name, array in parameters(model).items()}
    chance, errors = subject.chance(4), {"plain": [], "fused": []}
    for name, array in arrays.items():
        for place in zip(*(chance.integers(0, n, 5) for n in array.shape), strict=True):
            if name == "embedding.weight":
                place = (int(chance.choice(inputs.reshape(-1))), *place[1:])
            slope = central(config, arrays, name, place, inputs, targets)
            for form, found in (("plain", plain), ("fused", fused)):
                error = abs(float(found[name][place]) - slope)
                errors[form].append(error / (1e-3 * abs(slope) + 2e-6))
    return [
        Measure(
            "error of gradients / (0.001 |slope| + 2e-6)",
            "error de gradientes / (0.001 |pendiente| + 2e-6)",
            most(errors["plain"]),
            high=1,
        ),
        Measure(
            "the same in the forms that a compiled step uses",
            "lo mismo en las formas que usa un paso compilado",
            most(errors["fused"]),
            high=1,
        ),
    ]


def example(subject: Subject, config: ModelConfig) -> tuple[Array, Array]:
    """Tokens and those that follow, (2, 7) each."""
    text = subject.tokens(2, 8, config)
    return text[:, :-1], text[:, 1:]


def central(
    config: ModelConfig,
    arrays: Mapping[str, Array],
    name: str,
    place: tuple[int, ...],
    inputs: Array,
    targets: Array,
    h: float = 1e-5,
) -> float:
    """The slope of the oracle's loss by one number."""

    def loss(change: float) -> float:
        moved = arrays[name].copy()
        moved[place] += change
        found = replay.forward(config, {**arrays, name: moved}, inputs, targets)["loss"]
        return float(found)

    return (loss(h) - loss(-h)) / (2 * h)


# L08


def tied(subject: Subject) -> Answer:
    """The embedding matrix is one: used twice, counted once, with the gradient of both uses."""
    if not subject.config.tied_head:
        return Skip("the head has a matrix of its own", "la cabeza tiene su propia matriz")
    config = subject.small
    model, (inputs, targets) = subject.loud(config), example(subject, config)
    learner = subject.learner(model, lr=1e-2)
    both = slopes(learner, inputs, targets)[1]["embedding.weight"]
    reading, writing = two_uses(model, inputs, targets)
    text = np.concatenate([inputs.reshape(-1), targets.reshape(-1)[:1]])
    learner.step(1, [subject.parts.batch(text, 7, 2, 0, 0)])
    after, matrix = rows(model, inputs), parameters(model)["embedding.weight"]
    before_head = layout(config)[-1].inputs[0]
    return [
        Measure(
            "gradient - sum of that of both uses",
            "gradiente - suma del de ambos usos",
            apart(both, reading + writing) / float(np.abs(both).max()),
            high=1e-6,
        ),
        Measure(
            "control: the smaller of the two",
            "control: el menor de los dos",
            least([np.abs(reading).max(), np.abs(writing).max()]),
            low=1e-6,
        ),
        Measure(
            "after a step: logits - h·Eᵀ",
            "tras un paso: logits - h·Eᵀ",
            gap(after[before_head] @ matrix.T, after["logits"]),
            high=1e-5,
        ),
        Measure(
            "matrices of V rows",
            "matrices de V filas",
            sum(len(a) == config.vocab_size for a in parameters(model).values()),
            1,
            1,
        ),
    ]


def two_uses(model: GPT, inputs: Array, targets: Array) -> tuple[Array, Array]:
    """The gradient of the embedding matrix where tokens are read, and where logits are written."""
    found = rows(model, inputs)
    before_head = layout(model.config)[-1].inputs[0]
    by_row = {name: whole(x) for name, x in gradients(model, inputs, targets).rows.items()}
    reading = np.zeros(param(model, "embedding.weight").shape)
    np.add.at(reading, inputs, by_row["tok"])
    d_logits, h = (x.reshape(-1, x.shape[-1]) for x in (by_row["logits"], found[before_head]))
    return reading, d_logits.T @ h


# L09


def pre_and_post(subject: Subject) -> Answer:
    """Under Xavier's start, Pre-LN's last gradients shrink with depth; Post-LN's do not."""
    if subject.config.norm_order == "post" or subject.config.parallel_residual:
        return Skip(
            "it compares Pre-LN with Post-LN, from a model that is Pre-LN",
            "compara Pre-LN con Post-LN, desde un modelo Pre-LN",
        )
    pre, post = (depth_ratio(subject, order, range(5)) for order in ("pre", "post"))
    return [
        Measure(
            "Pre-LN: gradient with 16 layers / with 2",
            "Pre-LN: gradiente con 16 capas / con 2",
            pre,
            high=0.5,
        ),
        Measure(
            "Post-LN: gradient with 16 layers / with 2",
            "Post-LN: gradiente con 16 capas / con 2",
            post,
            low=0.7,
        ),
    ]


Start = Callable[[str, mx.array, np.random.Generator], mx.array]


def as_drawn(name: str, array: mx.array, chance: np.random.Generator) -> mx.array:
    """The start of our own models."""
    return array


def xavier(name: str, array: mx.array, chance: np.random.Generator) -> mx.array:
    """Matrices from N(0, 2 / (in + out)) (Glorot 2010)."""
    if array.ndim < 2 or name == "positions.weight":
        return array
    std = math.sqrt(2 / sum(array.shape))
    return mx.array(chance.normal(scale=std, size=array.shape).astype(np.float32))


def depth_ratio(subject: Subject, order: str, seeds: Iterable[int], start: Start = xavier) -> float:
    """The last layer's gradient with 16 layers over that with 2; NaN where there is none."""
    many, few = (
        sum(last_gradient(subject, order, n_layers, seed, start) for seed in seeds)
        for n_layers in (16, 2)
    )
    return many / few if few else math.nan


def last_gradient(subject: Subject, order: str, n_layers: int, seed: int, start: Start) -> float:
    """The length of the gradient of the last feed-forward projection before training."""
    model = subject.fresh(seed=seed, norm_order=order, n_layers=n_layers, d_model=32, vocab_size=64)
    chance = subject.chance(100 + seed)
    fill(model, lambda name, array: start(name, array, chance))
    text = chance.integers(0, 64, (4, 17)).astype(np.int32)
    grads = slopes(subject.learner(model), text[:, :-1], text[:, 1:])[1]
    return float(np.linalg.norm(grads[f"blocks.{n_layers - 1}.feed_forward.down_proj.weight"]))


# L10


def residual_growth(subject: Subject) -> Answer:
    """At the start the stream's variance does not grow with the number of layers."""
    if subject.config.norm_order == "post":
        return Skip(
            "Post-LN brings the stream back to 1 after every sublayer",
            "Post-LN devuelve la corriente a 1 tras cada subcapa",
        )
    few, many = (added_variance(subject, n_layers) for n_layers in (2, 16))
    return [
        Measure(
            "variance added by 16 layers / by 2",
            "varianza añadida por 16 capas / por 2",
            many / few,
            0.7,
            1.3,
        ),
        Measure("variance added by 16 layers", "varianza añadida por 16 capas", many, low=1e-6),
    ]


def added_variance(subject: Subject, n_layers: int) -> float:
    """How much the variance of the stream grows from the embedding to the last block."""
    total = 0.0
    for seed in range(4):
        model = subject.fresh(seed=seed, n_layers=n_layers, d_model=64, context_length=32)
        found = rows(model, subject.tokens(4, 32, model.config))
        begin = "embed" if "embed" in found else "tok"
        total += float(found[f"blocks.{n_layers - 1}.resid_ffn"].var() - found[begin].var())
    return total / 4


# L11


def initial_loss(subject: Subject) -> Answer:
    """An untrained model knows nothing: ln V, and a little more for the spread of its logits."""
    V, T, d_model = 512, 32, 128
    model = subject.fresh(vocab_size=V, context_length=T, d_model=d_model)
    text = subject.chance(5).integers(0, V, 5000)
    inputs, targets = subject.parts.batch(text, T, 24, subject.seed, 0)
    loss = slopes(subject.learner(model), inputs, targets)[0]
    expected = math.log(V) + d_model * INIT_STD**2 / 2
    return [
        Measure(
            "first loss - (ln V + d·σ²/2)",
            "primera pérdida - (ln V + d·σ²/2)",
            loss - expected,
            -0.05,
            0.05,
        )
    ]
