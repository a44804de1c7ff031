"""What the claims of the courses are measured with: each function returns figures and bounds."""

import dataclasses
import math
from collections.abc import Callable, Sequence

from mlx_gpt.device import mx

import mlx.nn as nn
import numpy as np

from mlx_gpt import replay
from mlx_gpt.config import ModelConfig, load_preset
from mlx_gpt.insights import light_cone
from mlx_gpt.inventory import inventory
from mlx_gpt.kernels import gelu_tanh
from mlx_gpt.labs import attention, forward, learning
from mlx_gpt.labs.breaks import BREAKS
from mlx_gpt.labs.mutants import Parts, fill, param
from mlx_gpt.labs.subject import (
    Array,
    Measure,
    Rows,
    Skip,
    Subject,
    arrays,
    gap,
    logits,
    most,
    parameters,
    rows,
    slopes,
    sound,
    whole,
)
from mlx_gpt.model import GPT, INIT_STD
from mlx_gpt.steps import layout

Figures = Sequence[Measure]
ROPE = sound("rope")
LEARNED = sound("learned")
V = 512


def exactly(en: str, es: str, figure: float, value: float) -> Measure:
    """A figure that can be only one number."""
    return Measure(en, es, figure, value, value)


def of_lab(run: Callable[[Subject], Figures | Skip], *places: int) -> Figures:
    """Some statements of a lab, on the small model with RoPE."""
    answer = run(ROPE)
    assert not isinstance(answer, Skip)
    return [answer[place] for place in places] if places else answer


def broken(name: str, subject: Subject = ROPE) -> Subject:
    """The same subject with a break in it."""
    return dataclasses.replace(subject, parts=BREAKS[name].parts)


def both(config: ModelConfig, subject: Subject) -> tuple[Rows, Rows]:
    """The rows of a loud model, and those of the oracle."""
    model, tokens = subject.loud(config), subject.tokens(2, 7)
    return rows(model, tokens), replay.forward(config, parameters(model), tokens)


def worst(config: ModelConfig, *kinds: str) -> float:
    """How far rows of some kinds are from the oracle."""
    found, expected = both(config, ROPE)
    return most(gap(row, found[name]) for name, row in expected.items() if name.endswith(kinds))


# Course A


def residual_sums() -> Figures:
    """z = x + MHA(LN₁ x), y = z + FFN(LN₂ z)."""
    error = worst(ROPE.config, "resid_attn", "resid_ffn")
    return [Measure("z and y - oracle", "z e y - oráculo", error, high=2e-5)]


def widths() -> Figures:
    """The shape of every stream row."""
    found, _ = both(ROPE.config, ROPE)
    shapes = {row.shape for name, row in found.items() if "resid" in name or name == "tok"}
    return [exactly("shapes of the stream", "formas de la corriente", len(shapes), 1)]


def post_norm() -> Figures:
    """LN₁(x + MHA x)."""
    config = dataclasses.replace(ROPE.config, norm_order="post")
    error = worst(config, "norm1")
    return [Measure("Post-LN rows - oracle", "filas Post-LN - oráculo", error, high=2e-5)]


def layer_norm() -> Figures:
    """The norm of MLX against float64."""
    error = worst(ROPE.config, "norm1", "norm2", "final_norm")
    return [Measure("LayerNorm - float64", "LayerNorm - float64", error, high=2e-5)]


def norm_total() -> Figures:
    """The parameters of all norms of mini."""
    return [forward.norms(ROPE)]


def updates() -> Figures:
    """Residual updates of a model of two layers, and the axes of its logits."""
    found, _ = both(ROPE.config, ROPE)
    count = sum("resid" in name for name in found)
    _, _, width = found["logits"].shape
    return [
        exactly("residual updates, L = 2", "sumas residuales, L = 2", count, 4),
        exactly("logits per position - V", "logits por posición - V", width - 29, 0),
    ]


def tensors() -> Figures:
    """How many rows a trace of two layers has."""
    n_rope, n_learned = (len(layout(subject.config)) for subject in (ROPE, LEARNED))
    return [
        Measure("rows of a trace, RoPE", "filas de una traza, RoPE", n_rope, low=7),
        Measure("rows, learned positions", "filas, posiciones aprendidas", n_learned, low=7),
    ]


def additions() -> Figures:
    """The stream as a sum."""
    return of_lab(forward.ledger, 0)


def spread() -> Figures:
    """How many of seven positions change when the third token does."""
    cone = {reach.name: reach for reach in light_cone(ROPE.model, ROPE.tokens(1, 7), 2)}

    def reached(name: str) -> int:
        return sum(change > 0 for change in cone[name].changes)

    return [
        exactly(
            f"positions reached: {name}",
            f"posiciones alcanzadas: {name}",
            reached(f"blocks.0.{name}"),
            expected,
        )
        for name, expected in (("v_proj", 1), ("attn_out", 5), ("up", 5), ("down", 5))
    ]


def mask() -> Figures:
    """What the first token sees, and what falls on the future."""
    return of_lab(attention.causality, 2, 3)


def rope_alone() -> Figures:
    """A model with RoPE and no mask: relative all the same, but not causal."""
    loose = broken("mask_none")
    answer = attention.relative_positions(loose)
    assert not isinstance(answer, Skip)
    before = attention.causality(loose)
    assert not isinstance(before, Skip)
    change = before[0].figure
    return [
        exactly("failures of the RoPE lab", "fallos del lab de RoPE", wrong(answer), 0),
        Measure("change before a token", "cambio antes de un token", change, low=1e-6),
    ]


def wrong(answer: Figures) -> int:
    """How many statements fail."""
    return sum(not measure.ok for measure in answer)


def unmasked() -> Figures:
    """How the last logits of a model move when its mask is taken away."""

    def moved(n_layers: int) -> float:
        config = ROPE.shaped(n_layers=n_layers)
        tokens = ROPE.tokens(1, 7)
        masked, loose = (each.loud(config) for each in (ROPE, broken("mask_none")))
        return float(np.abs(logits(masked, tokens) - logits(loose, tokens))[0, -1].max())

    return [
        Measure("last logits, L = 1", "últimos logits, L = 1", moved(1), high=1e-5),
        Measure("last logits, L = 2", "últimos logits, L = 2", moved(2), low=1e-2),
    ]


def without_final_norm() -> Figures:
    """What notices that the final norm is missing: the scale of the logits, not the loss."""
    lost = broken("no_ln_f")
    answer, loss = forward.final_norm(lost), learning.initial_loss(lost)
    assert not isinstance(answer, Skip)
    assert not isinstance(loss, Skip)
    return [
        Measure("change with scale", "cambio con la escala", answer[0].figure, low=1e-3),
        Measure("first loss - expected", "primera pérdida - esperada", loss[0].figure, -0.05, 0.05),
    ]


def by_hand() -> Figures:
    """Both meanings of lab 00."""
    return of_lab(forward.hand_trace, 0, 2)


def rms() -> Figures:
    """What RMSNorm saves: a bias per norm."""
    config = load_preset("mini").model
    plain = dataclasses.replace(config, norm="rmsnorm")
    saved = (inventory(config).total - inventory(plain).total) / config.d_model
    return [exactly("biases fewer, in d_model", "sesgos menos, en d_model", saved, 5)]


# Course B


def up_matrix() -> Figures:
    """The axes of the first matrix of the feed-forward network."""
    out, into = param(GPT(load_preset("toy").model), "blocks.0.feed_forward.up_proj.weight").shape
    return [exactly("rows / columns", "filas / columnas", out / into, 4)]


def share() -> Figures:
    """The feed-forward network's share of a block."""

    def of(preset: str) -> float:
        own = arrays(GPT(load_preset(preset).model))
        block = {name: array.size for name, array in own.items() if name.startswith("blocks.0.")}
        return sum(n for name, n in block.items() if "feed_forward" in name) / sum(block.values())

    return [
        Measure("share, d = 128", "parte, d = 128", of("toy"), 0.66, 0.67),
        Measure("share, d = 768", "parte, d = 768", of("gpt2"), 0.66, 0.67),
    ]


def gelus() -> Figures:
    """How far the two forms of GELU are apart."""
    x = mx.linspace(-6, 6, 100_001)
    difference = float(mx.abs(nn.gelu(x) - gelu_tanh(x)).max())
    return [Measure("largest difference", "mayor diferencia", difference, 4e-4, 5e-4)]


def gpt2() -> Figures:
    """The formula's total of GPT-2, and the exact one."""
    config = load_preset("gpt2").model
    total = forward.counted(ROPE, "gpt2", (), 124_439_808)
    formula = inventory(config).formula
    return [exactly("formula", "fórmula", formula, 124_318_464), total]


def toy() -> Figures:
    """The total of the course's model."""
    return [forward.counted(ROPE, "toy", (), 867_072)]


def double_count() -> Figures:
    """What MLX makes of `head.weight = embedding.weight`: counted twice, and untied by a step."""
    parts = BREAKS["untied"].parts
    config = load_preset("toy").model
    extra = sum(a.size for a in arrays(parts.make(config, 0)).values()) - inventory(config).total
    answer = learning.tied(dataclasses.replace(ROPE, parts=parts))
    assert not isinstance(answer, Skip)
    return [
        exactly("counted too often", "contados de más", extra, V * config.d_model),
        Measure("logits - h·Eᵀ after a step", "tras un paso", answer[2].figure, low=1e-4),
    ]


def residual_start() -> Figures:
    """The variance that 16 layers add over that of 2, with the scaled start and without."""

    def ratio(subject: Subject) -> float:
        few, many = (learning.added_variance(subject, n) for n in (2, 16))
        return many / few

    return [
        Measure("scaled: L = 16 / L = 2", "escalado: L = 16 / L = 2", ratio(ROPE), 0.7, 1.3),
        Measure("unscaled", "sin escalar", ratio(broken("init_unscaled")), 5, 20),
    ]


def two_writers() -> Figures:
    """How much more the network writes at the start than attention."""
    model = ROPE.fresh(d_model=128, context_length=64, n_layers=1)
    found = rows(model, ROPE.tokens(4, 64, model.config))
    ratio = float(found["blocks.0.down"].var() / found["blocks.0.attn_out"].var())
    return [Measure("variance FFN / attention", "varianza FFN / atención", ratio, low=2)]


def last_gradients() -> Figures:
    """Gradients of deep models over those of shallow ones: with Xavier's start, and with 0.02."""
    pre, post = of_lab(learning.pre_and_post)
    plain = [learning.depth_ratio(ROPE, order, [0], learning.as_drawn) for order in ("pre", "post")]
    return [
        pre,
        post,
        Measure("0.02: Pre, 16 / 2", "0.02: Pre, 16 / 2", plain[0], 0.5, 2),
        Measure("0.02: Post, 16 / 2", "0.02: Post, 16 / 2", plain[1], 0.5, 2),
    ]


def first_loss() -> Figures:
    """The loss of the untrained toy on random text."""
    found = untrained_loss(Parts())
    return [Measure("first loss, V = 512", "primera pérdida, V = 512", found, 6.2, 6.3)]


def untrained_loss(parts: Parts, make: Callable[[ModelConfig, int], GPT] = GPT) -> float:
    """The loss on random text of the toy, with a break in it or another start."""
    config = load_preset("toy").model
    text = np.random.default_rng(0).integers(0, V, 5000)
    inputs, targets = parts.batch(text, config.context_length, 12, 0, 0)
    subject = dataclasses.replace(LEARNED, parts=parts)
    return slopes(subject.learner(make(config, 0)), inputs, targets)[0]


def predictions() -> Figures:
    """How many distributions a sequence of 7 tokens brings."""
    return [
        exactly("predictions", "predicciones", logits(ROPE.model, ROPE.tokens(1, 7)).shape[1], 7)
    ]


def no_table() -> Figures:
    """The parameters that depend on the context length, with learned positions and with RoPE."""

    def grown(subject: Subject) -> int:
        wide = dataclasses.replace(subject.config, context_length=25)
        return inventory(wide).total - inventory(subject.config).total

    return [
        exactly("learned: one more place", "aprendidas: un lugar más", grown(LEARNED), 24),
        exactly("RoPE: one more place", "RoPE: un lugar más", grown(ROPE), 0),
    ]


# Traps


def variances() -> Figures:
    """The variance of the stream after 16 layers, Post-LN and Pre-LN."""

    def after(order: str) -> float:
        model = ROPE.fresh(n_layers=16, d_model=64, norm_order=order, residual_init=False)
        found = rows(model, ROPE.tokens(4, 24, model.config))
        end = "resid_ffn" if order == "pre" else "norm2"
        return float(found[f"blocks.15.{end}"].var() / found[f"blocks.0.{end}"].var())

    return [
        Measure(
            "Post-LN: layer 16 / layer 1", "Post-LN: capa 16 / capa 1", after("post"), 0.9, 1.1
        ),
        Measure("Pre-LN: layer 16 / layer 1", "Pre-LN: capa 16 / capa 1", after("pre"), low=4),
    ]


def copying() -> Figures:
    """The first loss when the targets are the inputs."""
    found = untrained_loss(BREAKS["targets_unshifted"].parts)
    return [Measure("first loss", "primera pérdida", found, 5.0, 5.6)]


def first_norm() -> Figures:
    """The variance after the first norm of an untrained model."""
    model = GPT(load_preset("mini").model)
    found = rows(model, ROPE.tokens(4, 24))["blocks.0.norm1"]
    expected = INIT_STD**2 / (INIT_STD**2 + 1e-5)
    return [Measure("variance", "varianza", float(found.var()), expected - 0.005, expected + 0.005)]


def suffixes() -> Figures:
    """How many matrices of a block end in proj.weight, and how many write into the stream."""
    names = [name for name in arrays(ROPE.model) if name.startswith("blocks.0.")]
    ends = sum(name.endswith("proj.weight") for name in names)
    writers = sum(name.endswith(("out_proj.weight", "down_proj.weight")) for name in names)
    return [
        exactly("end in proj.weight", "acaban en proj.weight", ends, 6),
        exactly("write into the stream", "escriben en la corriente", writers, 2),
    ]


def mlx_start() -> Figures:
    """The first loss with the weights that MLX's own layers start with."""

    def make(config: ModelConfig, seed: int) -> GPT:
        mx.random.seed(seed)
        model = GPT(config, seed)
        fill(model, lambda name, array: drawn_by_mlx(array))
        return model

    found = untrained_loss(Parts(), make) - math.log(V)
    return [Measure("first loss - ln V", "primera pérdida - ln V", found, low=0.3)]


def drawn_by_mlx(array: mx.array) -> mx.array:
    """What nn.Embedding or nn.Linear would hold, for a matrix."""
    if array.ndim < 2:
        return array
    rows_, columns = array.shape
    if rows_ in (V, 64):  # the embedding and the positions of toy
        return nn.Embedding(rows_, columns).weight
    return nn.Linear(columns, rows_).weight


def slices() -> Figures:
    """Whether the shifted targets lie in one piece, as `view` demands; MLX reshapes either way."""
    idx: Array = np.zeros((2, 8))
    whole_piece = int(idx[:, 1:].data.contiguous)
    reshaped = whole(mx.array(idx)[:, 1:].reshape(-1))
    return [
        exactly("idx[:, 1:] in one piece", "idx[:, 1:] en una pieza", whole_piece, 0),
        exactly("reshaped by MLX", "con reshape de MLX", reshaped.size, 14),
    ]
