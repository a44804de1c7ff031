"""Labs of the numbers in a forward pass: rows, norms, counts, the ledger, the trace itself."""

import dataclasses
import math
from collections.abc import Sequence

from mlx_gpt.device import mx

import numpy as np

from mlx_gpt import replay
from mlx_gpt.config import load_preset
from mlx_gpt.insights import account
from mlx_gpt.inventory import inventory
from mlx_gpt.labs.mutants import fill
from mlx_gpt.labs.subject import (
    Answer,
    Array,
    Measure,
    Skip,
    Subject,
    apart,
    arrays,
    cramped,
    gap,
    least,
    logits,
    most,
    parameters,
    rows,
    whole,
)
from mlx_gpt.model import GPT, KVCache
from mlx_gpt.steps import layout, shape, sizes
from mlx_gpt.tracer import stream_rows
from mlx_gpt.tracing import Tape

# L00


def hand_trace(subject: Subject) -> Answer:
    """Every row against the float64 oracle; and a model small enough for paper."""
    if skip := cramped(subject):
        return skip
    config, model, tokens = subject.config, subject.model, subject.tokens(2, 7)
    found, expected = rows(model, tokens), replay.forward(config, parameters(model), tokens)
    plan, dims = layout(config), sizes(config, B=2, T=7)
    worst = most(gap(row, found.get(name, np.array([]))) for name, row in expected.items())
    misshapen = [
        step.name
        for step in plan
        if step.name not in found or found[step.name].shape != shape(step.entry.axes, dims)
    ]
    return [
        Measure("every row = float64 oracle", "cada fila = oráculo float64", worst, high=2e-5),
        Measure(
            "rows whose shape is not what their axes say",
            "filas cuya forma no es la de sus ejes",
            len(misshapen),
            high=0,
        ),
        paper(subject),
    ]


def paper(subject: Subject) -> Measure:
    """The norm of two numbers is (1, -1) or (-1, 1), up to ε: a model to compute by hand."""
    config = dataclasses.replace(
        subject.small,
        vocab_size=3,
        context_length=3,
        d_model=2,
        n_layers=1,
        n_heads=1,
        n_kv_heads=1,
        d_ff=2,
        rope_fraction=1.0,
    )
    model, tokens = subject.loud(config), np.array([[0, 1, 2]])
    expected = replay.forward(config, parameters(model), tokens)["logits"]
    return Measure(
        "logits of the model for paper (d_model 2, 3 tokens)",
        "logits del modelo para papel (d_model 2, 3 tokens)",
        gap(expected, logits(model, tokens)),
        high=2e-5,
    )


# L01


def final_norm(subject: Subject) -> Answer:
    """Logits do not depend on the size of the stream; norms divide by √(σ² + ε)."""
    if skip := cramped(subject):
        return skip
    model, tokens = subject.model, subject.tokens(3, 7)
    end = f"blocks.{subject.config.n_layers - 1}.resid_ffn"
    small, large = (
        rows(model, tokens, edits={end: lambda x, _, by=by: x * by})["logits"] for by in (100, 1000)
    )
    return [
        Measure(
            "logits, the stream being 100 and 1000 times as large",
            "logits, con la corriente 100 y 1000 veces mayor",
            apart(small, large) / float(np.abs(small).max()),
            high=1e-3,
        ),
        Measure(
            "variance after a norm - σ²/(σ² + ε)",
            "varianza tras una norma - σ²/(σ² + ε)",
            norm_error(subject, tokens),
            high=1e-4,
        ),
    ]


def norm_error(subject: Subject, tokens: Array) -> float:
    """How far mean and variance after a norm, without gain and bias, are from their values."""
    config = subject.config
    model = subject.loud(config) if subject.weights is None else copied(subject)
    fill(model, lambda name, array: plain_norm(name, array))
    found, errors = rows(model, tokens), []
    center = config.norm == "layernorm"
    for step in layout(config):
        if step.kind in ("norm1", "norm2", "final_norm") and step.name in found:
            before, after = (found[name].astype(np.float64) for name in (*step.inputs, step.name))
            mean = before.mean(-1, keepdims=True) if center else 0.0
            variance = np.square(before - mean).mean(-1)
            expected = variance / (variance + config.norm_eps)
            off_center = np.abs(after.mean(-1)).max() if center else 0.0
            errors += [apart(np.square(after).mean(-1), expected), float(off_center)]
    return most(errors)


def copied(subject: Subject) -> GPT:
    """The examined model once more, so that it can be changed."""
    return dataclasses.replace(subject).model


def plain_norm(name: str, array: mx.array) -> mx.array:
    """Gains of 1 and biases of 0 in norms, everything else as it is."""
    if "norm" not in name:
        return array
    return mx.zeros(array.shape) if name.endswith("bias") else mx.ones(array.shape)


# L02


def counts(subject: Subject) -> Answer:
    """The arrays that a model really has, against the formula and the courses' totals."""
    found = sum(array.size for array in arrays(subject.model).values())
    formula = inventory(subject.config).total
    measures = [Measure("parameters", "parámetros", found, formula, formula)]
    if subject.weights is None:
        measures += [counted(subject, *fact) for fact in TOTALS]
        measures.append(norms(subject))
    return measures


TOTALS = [("mini", (), 103_680), ("toy", (), 867_072), ("toy", ('model.position="rope"',), 858_880)]
TOTALS += [("gpt2", (), 124_439_808)]


def counted(subject: Subject, preset: str, settings: tuple[str, ...], total: int) -> Measure:
    """The parameters of a preset, without computing any of them."""
    model = subject.parts.make(load_preset(preset, settings).model, 0)
    found = sum(array.size for array in arrays(model).values())
    name = " ".join([preset, *(text.partition(".")[2] for text in settings)])
    return Measure(f"parameters of {name}", f"parámetros de {name}", found, total, total)


def norms(subject: Subject) -> Measure:
    """All norms of two layers of width 64: the first course forgot a factor of 2."""
    model = subject.parts.make(load_preset("mini").model, 0)
    found = sum(array.size for name, array in arrays(model).items() if "norm" in name)
    return Measure(
        "norm parameters of mini (the first course says 384)",
        "parámetros de normas de mini (el primer curso dice 384)",
        found,
        640,
        640,
    )


# L13


def ledger(subject: Subject) -> Answer:
    """The stream is a sum of what was written to it, and so is every logit."""
    config = subject.config
    if config.norm_order == "post":
        return Skip(
            "in Post-LN the stream is no sum: norms lie on it",
            "en Post-LN la corriente no es una suma: hay normas sobre ella",
        )
    if skip := cramped(subject):
        return skip
    model, tokens = subject.model, subject.tokens(2, 7)
    found = rows(model, tokens)
    begin, *_, end = stream_rows(config)
    written = [row for name, row in found.items() if name.endswith(("attn_out", "down"))]
    accounts = [account(model, tokens, position=position) for position in range(7)]
    return [
        Measure(
            "x_L - (x_0 + Σ writes)",
            "x_L - (x_0 + Σ escrituras)",
            gap(np.stack([found[begin], *written]).sum(0, np.float64), found[end]),
            high=1e-5,
        ),
        Measure(
            "logits - what embedding, heads and networks pay in",
            "logits - lo que aportan embedding, cabezas y redes",
            most(each.error for each in accounts),
            high=1e-4,
        ),
    ]


# L15


def faithful_trace(subject: Subject) -> Answer:
    """A trace shows the model itself: the same bits, every row once, nothing touched."""
    if skip := cramped(subject):
        return skip
    config, model, tokens = subject.config, subject.model, subject.tokens(2, 7)
    names = [step.name for step in layout(config)]
    tape = Tape("*")
    traced = whole(model(mx.array(tokens), tap=tape))
    wrong = [name for name in dict.fromkeys([*names, *tape.names]) if name not in tape.names]
    wrong += [name for name in tape.names if name not in names]
    return [
        Measure(
            "logits traced - untraced",
            "logits trazados - sin trazar",
            apart(logits(model, tokens), traced),
            high=0,
        ),
        Measure(
            "row of logits - logits",
            "fila de logits - logits",
            apart(traced, whole(tape.rows["logits"])),
            high=0,
        ),
        Measure("rows missing or unknown", "filas ausentes o desconocidas", len(wrong), high=0),
        Measure(
            "rows that come in another order than in the table",
            "filas en otro orden que en la tabla",
            sum(a != b for a, b in zip(names, tape.names, strict=False)),
            high=0,
        ),
        Measure(
            "fused attention - its steps",
            "atención fundida - sus pasos",
            fused_gap(tape),
            high=1e-5,
        ),
        Measure(
            "fused attention - its steps, d_head 64, 16 tokens and one",
            "atención fundida - sus pasos, d_head 64, 16 tokens y uno",
            fused_gap_of_wide_heads(subject),
            high=1e-5,
        ),
        Measure(
            "control: least change of logits when a row is moved",
            "control: menor cambio de los logits al mover una fila",
            least(moved_by(model, tokens, name, traced) for name in pushed(names)),
            low=1e-7,
        ),
        dropout_left_out(subject),
    ]


def fused_gap(tape: Tape) -> float:
    """How far the fused attention is from its steps, in the layer where it is furthest."""
    gaps = [float(gap.max_abs) / max(1.0, float(gap.scale)) for gap in tape.differences.values()]
    return most(gaps)


def fused_gap_of_wide_heads(subject: Subject) -> float:
    """The same for heads that a GPU's kernel serves: a whole text, then one token more."""
    model, tokens = subject.wide, mx.array(subject.tokens(2, 17, subject.small))
    cache = KVCache(model.config, 2) if model.config.causal else None
    whole_text, one_more = Tape(), Tape()
    model(tokens[:, :16], cache, tap=whole_text)
    model(tokens[:, 16:], cache, tap=one_more)
    return most([fused_gap(whole_text), fused_gap(one_more)])


def pushed(names: Sequence[str]) -> list[str]:
    """The rows of the last block that are moved: what comes after each of them must move too."""
    kinds = ("v", "weights", "context", "merged", "attn_out", "resid_attn", "up", "act", "down")
    last = max(int(name.split(".")[1]) for name in names if name.startswith("blocks."))
    return [f"blocks.{last}.{kind}" for kind in kinds] + ["logits"]


def moved_by(model: GPT, tokens: Array, name: str, before: Array) -> float:
    """The largest change of the logits when one row is made half as large again."""
    tape = Tape(edits={name: lambda x, _: x * 1.5})
    return apart(before, whole(model(mx.array(tokens), tap=tape)))


def dropout_left_out(subject: Subject) -> Measure:
    """Tracing a model that is being trained with dropout: no dropout, no random numbers used."""
    model = subject.loud(subject.shaped(dropout=0.5)).train()
    tokens = mx.array(subject.tokens(2, 7, subject.small))
    mx.random.seed(subject.seed)
    undisturbed = float(mx.random.uniform())
    mx.random.seed(subject.seed)
    plain, traced = whole(model(tokens)), whole(model(tokens, tap=Tape("*")))
    untouched = model.training and float(mx.random.uniform()) == undisturbed
    return Measure(
        "in training with dropout: logits traced - untraced, random state untouched",
        "en entrenamiento con dropout: logits trazados - sin trazar, azar intacto",
        apart(plain, traced) if untouched else math.inf,
        high=0,
    )
