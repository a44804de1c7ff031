"""Questions a trace can answer: what a changed token reaches, and what a logit is made of."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mlx_gpt.device import mx

import numpy as np
from mlx.utils import tree_flatten, tree_unflatten

from mlx_gpt.config import ModelConfig
from mlx_gpt.errors import UserError
from mlx_gpt.model import GPT
from mlx_gpt.observer import Weights, as_numpy, stream_rows
from mlx_gpt.steps import layout
from mlx_gpt.tracer import Ids, batch_of
from mlx_gpt.tracing import Edit, Rows, Tape
from mlx_gpt.training import mean_loss


@dataclass(frozen=True)
class Reach:
    """How much a row changes at each position, as a share of its largest number."""

    name: str
    changes: tuple[float, ...]


def light_cone(model: GPT, ids: Ids, position: int, token: int | None = None) -> list[Reach]:
    """Which positions change, row by row, when the token at one position is another.

    Without a `token` the next id of the vocabulary takes its place.
    """
    tokens = batch_of(ids, model.config)[:1]
    position = check_position(position, tokens.shape[1])
    changed = tokens.copy()
    other = (tokens[0, position] + 1) % model.config.vocab_size if token is None else token
    changed[0, position] = other
    batch_of(changed, model.config)
    before = Tape("*")
    model(mx.array(tokens), tap=before)
    axes = {step.name: step.entry.axes.split() for step in layout(model.config)}
    found: list[Reach] = []

    def compare(name: str, x: mx.array, rows: Rows) -> None:
        reach = change(as_numpy(before.rows.pop(name)), as_numpy(x), axes[name].index("T"))
        found.append(Reach(name, tuple(reach.tolist())))

    after = Tape(watch=compare)
    model(mx.array(changed), tap=after)
    after.flush()
    return found


def change(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
    """The largest difference at each place of one axis, as a share of the largest number."""
    finite = np.isfinite(a) & np.isfinite(b)
    gaps = np.abs(np.where(finite, b, 0.0) - np.where(finite, a, 0.0))
    largest = np.abs(np.where(finite, a, 0.0)).max()
    others = tuple(i for i in range(a.ndim) if i != axis)
    return gaps.max(axis=others) / (largest or 1.0)


def check_position(position: int, length: int) -> int:
    """A position counted from the front; negative ones are counted from the end."""
    if not -length <= position < length:
        raise UserError(
            f"position {position} is outside the {length} tokens of the prompt; "
            f"give one from 0 to {length - 1}, or from -{length} to -1"
        )
    return position % length


@dataclass(frozen=True)
class Entry:
    """What one part of the model adds to a logit."""

    name: str
    amount: float


@dataclass(frozen=True)
class Account:
    """A logit as a sum: every entry, their total, and how far it is from the logit itself."""

    token: int
    position: int
    logit: float
    entries: tuple[Entry, ...]

    @property
    def total(self) -> float:
        """The sum of all entries."""
        return sum(entry.amount for entry in self.entries)

    @property
    def error(self) -> float:
        """The difference as a share of the largest entry."""
        largest = max(abs(entry.amount) for entry in self.entries)
        return abs(self.total - self.logit) / max(largest, abs(self.logit), 1e-30)


def account(model: GPT, ids: Ids, *, token: int | None = None, position: int = -1) -> Account:
    """The logit of a token as the sum of what the embedding, each head and each FFN add to it.

    The final norm divides by a size that depends on all of them; it is taken as it came out,
    so that the rest is a sum. Without a `token` it is the likeliest one.
    """
    config = model.config
    if config.norm_order == "post":
        raise UserError(
            "model.norm_order = post: a norm after every write rescales the stream, so a logit "
            "is no sum of writes; take a model with norm_order = pre"
        )
    tokens = batch_of(ids, config)[:1]
    position = check_position(position, tokens.shape[1])
    tape = Tape(["tok", "pos", "*.merged", "*.down", stream_rows(config)[-1], "logits"])
    model(mx.array(tokens), tap=tape)
    rows = {name: as_numpy(x).astype(np.float64) for name, x in tape.rows.items()}
    logits = rows["logits"][0, position]
    token = int(logits.argmax()) if token is None else token
    batch_of([token], config)
    weights = Weights(model)
    stream = rows[stream_rows(config)[-1]][0, position]
    reading, constant = read_out(config, weights, stream, token)
    entries = [
        Entry(name, float(write @ reading))
        for name, write in writes(rows, weights, config, position)
    ]
    if constant is not None:
        entries.append(Entry("final_norm.bias", constant))
    return Account(token, position, float(logits[token]), tuple(entries))


def read_out(
    config: ModelConfig, weights: Weights, stream: np.ndarray, token: int
) -> tuple[np.ndarray, float | None]:
    """The vector with which a write to the stream counts for a token, and the head's constant."""
    head = weights["embedding.weight" if config.tied_head else "head.weight"][token]
    reading = head.astype(np.float64)
    if not config.final_norm:
        return reading, None
    centred = config.norm == "layernorm"
    x = stream - stream.mean() if centred else stream
    gained = reading * weights["final_norm.weight"] / np.sqrt(np.mean(x * x) + config.norm_eps)
    if not centred:
        return gained, None
    return gained - gained.mean(), float(reading @ weights["final_norm.bias"])


def writes(
    rows: dict[str, np.ndarray], weights: Weights, config: ModelConfig, position: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Everything that is added to the stream at a position, by name."""
    yield "tok", rows["tok"][0, position]
    if config.position == "learned":
        yield "pos", rows["pos"][position]
    for layer in range(config.n_layers):
        at = f"blocks.{layer}"
        merged = rows[f"{at}.merged"][0, position].reshape(config.n_heads, config.d_head)
        out = weights[f"{at}.attention.out_proj.weight"].astype(np.float64)
        for head, part in enumerate(np.split(out, config.n_heads, axis=1)):
            yield f"{at}.head {head}", part @ merged[head]
        down = rows[f"{at}.down"][0, position]
        if config.attn_bias:
            yield (
                f"{at}.attention bias",
                weights[f"{at}.attention.out_proj.bias"].astype(np.float64),
            )
        bias = weights[f"{at}.feed_forward.down_proj.bias"] if config.ffn_bias else 0.0
        yield f"{at}.feed-forward", down - bias
        if config.ffn_bias:
            yield f"{at}.feed-forward bias", np.asarray(bias, np.float64)


@dataclass(frozen=True)
class Slope:
    """A weight, its length, and that of the loss's gradient by it."""

    name: str
    weight: float
    norm: float


def slopes(
    model: GPT, ids: Ids, targets: Ids, *, edits: Mapping[str, Edit] | None = None
) -> tuple[float, list[Slope]]:
    """The loss of a text and, weight by weight, how long its gradient is; the model stays as is."""
    tokens, wanted = (mx.array(batch_of(part, model.config)) for part in (ids, targets))
    weights: dict[str, mx.array] = dict(tree_flatten(model.parameters(), destination={}))

    def loss(params: dict[str, mx.array]) -> mx.array:
        model.update(tree_unflatten(list(params.items())))
        logits = model(tokens, tap=Tape(edits=edits))
        return mean_loss(logits[:, : wanted.shape[1]], wanted)

    try:
        value, gradients = mx.value_and_grad(loss)(weights)
        mx.eval(value, gradients)
    finally:
        model.update(tree_unflatten(list(weights.items())))
    lengths = [(name, length(array), length(gradients[name])) for name, array in weights.items()]
    return float(value), [Slope(*each) for each in lengths]


def length(array: mx.array) -> float:
    """The length of all numbers as one vector."""
    return float(mx.linalg.norm(array.astype(mx.float32).flatten()))
