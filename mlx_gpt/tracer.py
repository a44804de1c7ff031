"""`trace`: one forward pass with every row measured, replayed and, if asked, kept."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

from mlx_gpt.device import kind, mx

import numpy as np

from mlx_gpt.config import ModelConfig, SampleConfig, nearest
from mlx_gpt.errors import UserError
from mlx_gpt.measures import measure
from mlx_gpt.model import GPT, KVCache, check_ids
from mlx_gpt.observer import Facts, Observer, Pass, Weights, as_numpy, dtype_name, stream_rows
from mlx_gpt.replay import tolerance
from mlx_gpt.sampling import choose, is_greedy, key, mark
from mlx_gpt.steps import Step, layout, product
from mlx_gpt.traces import TOLERANCES, Check, Input, Made, Row, Trace
from mlx_gpt.tracing import Edit, Tape, matches
from mlx_gpt.training import mean_loss

Ids = Sequence[int] | Sequence[Sequence[int]] | np.ndarray
SIDE_BRANCH = ("scores", "masked", "weights")


class Gradients(NamedTuple):
    """A loss and its derivative by every row."""

    loss: mx.array
    rows: dict[str, mx.array]


def trace(
    model: GPT,
    ids: Ids,
    *,
    targets: Ids | None = None,
    cache: KVCache | None = None,
    keep: str | Iterable[str] = (),
    edits: Mapping[str, Edit] | None = None,
    grad: bool = False,
    replay: bool = True,
    lens: int = 0,
    sample: SampleConfig | None = None,
    seed: int = 0,
    known: int | None = None,
    texts: Sequence[Sequence[str]] | None = None,
    checkpoint: Mapping[str, Any] | None = None,
) -> Trace:
    """Trace a forward pass of ids (T,) or (B, T) through the model; it leaves the model as it was.

    `targets` are the tokens that follow the first positions: they bring the rows of the loss,
    and `grad` its derivative by every row. `sample` brings the rows of choosing the next token,
    `lens` so many guesses after every block. Values are kept for rows that fit `keep`. A cache
    is extended, as by any forward pass.
    """
    config = model.config
    given = Pass(
        batch_of(ids, config),
        None if targets is None else batch_of(targets, config),
        cache.length if cache else 0,
        sample,
        known if known is not None and known < config.vocab_size else None,
    )
    check_request(given, grad=grad, cache=cache)
    plan = planned(given, config, cached=cache is not None)
    check_edits(edits or {}, plan)
    globs = (keep,) if isinstance(keep, str) else tuple(keep)
    observer = Observer(model, plan, given, keep=globs, lens=lens)
    observer.weights = Weights(model) if replay else None
    tape = Tape(edits=edits, watch=observer)
    logits, loss = run(model, given, cache, tape, seed=seed)
    slopes = {}
    if grad and given.targets is not None:
        slopes = gradients(model, given.tokens, given.targets, edits=edits).rows
    dims = given.sizes(config)
    return Trace(
        made=Made(version("mlx"), kind(), dtype_name(logits), observer.tf32),
        config=dataclasses.asdict(config),
        checkpoint=checkpoint,
        input=Input(
            nested(given.tokens),
            None if texts is None else tuple(map(tuple, texts)),
            None if given.targets is None else nested(given.targets),
            given.start,
        ),
        dims=dims,
        rows=tuple(
            row(
                i,
                step,
                observer.facts[step.name],
                dims,
                slopes.get(step.name),
                globs,
                fused=f"blocks.{step.layer}.context" in tape.differences,
            )
            for i, step in enumerate(plan)
        ),
        checks=tuple(checks(config, tape, observer)),
        lens=tuple(observer.lens),
        loss=None if loss is None else float(loss),
    )


def planned(given: Pass, config: ModelConfig, *, cached: bool) -> tuple[Step, ...]:
    """The rows that will come."""
    sampling = sampling_rows(given.sample, given.known) if given.sample else ()
    return layout(config, cached=cached, loss=given.targets is not None, sampling=sampling)


def nested(array: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """Ids (B, T) as plain numbers."""
    return tuple(map(tuple, array.tolist()))


def run(
    model: GPT, given: Pass, cache: KVCache | None, tape: Tape, *, seed: int = 0
) -> tuple[mx.array, mx.array | None]:
    """The pass through the model, then the loss and the choice of a token where asked for."""
    logits, loss = model(mx.array(given.tokens), cache, tap=tape), None
    if given.targets is not None:
        loss = mean_loss(logits[:, : given.targets.shape[1]], mx.array(given.targets), tape)
    if given.sample:
        sample_next(logits, given, given.sample, seed, tape)
    tape.flush()
    return logits, loss


def batch_of(ids: Ids, config: ModelConfig) -> np.ndarray:
    """Ids as (B, T), checked: MLX would read garbage for an id that is not in the vocabulary."""
    try:
        tokens = np.atleast_2d(np.asarray(ids))
    except ValueError:
        raise UserError("the sequences of a batch differ in length; give them one length") from None
    if tokens.size == 0:
        raise UserError("there is no token to trace; give a prompt")
    if tokens.ndim > 2 or tokens.dtype.kind not in "iu":
        raise UserError(f"ids are whole numbers (T,) or (B, T), not {tokens.dtype} {tokens.shape}")
    check_ids(tokens.reshape(-1).tolist(), config.vocab_size)
    return tokens.astype(np.int32)


def check_request(given: Pass, *, grad: bool, cache: KVCache | None) -> None:
    """Refuse what cannot be traced."""
    tokens, targets = given.tokens, given.targets
    if targets is None:
        if grad:
            raise UserError("a gradient is that of a loss; give targets, the tokens that follow")
    elif len(targets) != len(tokens) or targets.shape[1] > tokens.shape[1]:
        raise UserError(
            f"targets {targets.shape} do not fit ids {tokens.shape}; give one for each position "
            "or for the first ones"
        )
    if grad and cache:
        raise UserError("gradients are taken of a whole text; leave out the cache")


def check_edits(edits: Mapping[str, Edit], plan: Sequence[Step]) -> None:
    """Refuse to edit a row that will not come."""
    names = [step.name for step in plan]
    for name in edits:
        if name not in names:
            raise UserError(f"no row {name} to edit{nearest(name, names)}")


def sampling_rows(sample: SampleConfig, known: int | None) -> list[str]:
    """The rows of choosing a token, for these settings."""
    used = sample.repetition_penalty != 1
    return [
        "last",
        *(["known"] if known is not None else []),
        *(["penalised"] if used else []),
        *([] if is_greedy(sample) else ["temperature"]),
        *("filtered", "probs", "token"),
    ]


def sample_next(logits: mx.array, given: Pass, sample: SampleConfig, seed: int, tape: Tape) -> None:
    """Choose the next token of every sequence, as `generate` does."""
    used = None
    if sample.repetition_penalty != 1:
        used = mark(mx.array(given.tokens), logits.shape[-1])
    B, T = given.tokens.shape
    keys = [key(seed, sequence, given.start + T) for sequence in range(B)]
    last = tape("last", logits[:, -1].astype(mx.float32))
    choose(last, sample, keys, used=used, known=given.known, tap=tape)


def row(
    i: int,
    step: Step,
    facts: Facts,
    dims: Mapping[str, int],
    slope: mx.array | None,
    keep: Sequence[str],
    *,
    fused: bool,
) -> Row:
    """A row of the trace, from the step table and what was seen."""
    entry = step.entry
    gradient = None if slope is None else as_numpy(slope)
    return Row(
        i=i,
        name=step.name,
        kind=step.kind,
        layer=step.layer,
        part=entry.part,
        axes=named_axes(entry.axes, dims),
        shape=facts.shape,
        dtype=facts.dtype,
        bytes=facts.bytes,
        flops=product(entry.flops, dims),
        formula=step.equation,
        inputs=step.inputs,
        params=step.params,
        side_branch=fused and step.kind in SIDE_BRANCH,
        stats=facts.stats,
        replay=facts.replay,
        grad=None if gradient is None else measure(gradient),
        value=facts.value,
        grad_value=gradient if matches(step.name, keep) else None,
    )


def named_axes(axes: str, dims: Mapping[str, int]) -> str:
    """The axes in their plainer names where every query head has a key head of its own."""
    if dims["n_kv_heads"] < dims["n_heads"]:
        return axes
    return axes.replace("n_kv_heads·d_head", "d_model").replace("n_kv_heads", "n_heads")


def checks(config: ModelConfig, tape: Tape, observer: Observer) -> list[Check]:
    """What must hold in every trace: fused = explicit attention, and a stream of sums."""
    found = []
    for name, (gap, scale) in tape.differences.items():
        share = tolerance(observer.plan[name], observer.facts[name].dtype, tf32=observer.tf32)
        tol = share * max(1.0, float(scale))
        layer = observer.plan[name].layer
        found.append(Check("fused = explicit", layer, float(gap), float(f"{tol:.6g}")))
    if config.norm_order == "pre":
        dtype = observer.facts[stream_rows(config)[-1]].dtype
        found.append(Check("x_L = x_0 + Σ", None, observer.ledger.error(), TOLERANCES[dtype]))
    return found


def gradients(
    model: GPT, ids: Ids, targets: Ids, *, edits: Mapping[str, Edit] | None = None
) -> Gradients:
    """The derivative of the loss by every row: of zeros that are added to the rows.

    Attention then runs step by step, since the fused kernel shows nothing of its inside.
    """
    given = Pass(batch_of(ids, model.config), batch_of(targets, model.config), 0, None, None)

    def loss(tape: Tape) -> mx.array:
        found = run(model, given, None, tape)[1]
        assert found is not None
        return found

    shapes = Tape("*", edits=edits)
    loss(shapes)
    zeros = {name: mx.zeros(x.shape, x.dtype) for name, x in shapes.rows.items()}
    derive = mx.value_and_grad(lambda probes: loss(Tape(edits=edits, probes=probes)))
    value, slopes = derive(zeros)
    mx.eval(value, slopes)
    return Gradients(value, slopes)
