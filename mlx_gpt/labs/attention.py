"""Labs of who sees whom: the mask, RoPE, the cache, the order of tokens, the batch."""

from collections.abc import Mapping
from itertools import pairwise

from mlx_gpt.device import mx

import numpy as np

from mlx_gpt.labs.subject import (
    Answer,
    Array,
    Measure,
    Rows,
    Skip,
    Subject,
    apart,
    cramped,
    gap,
    in_pieces,
    least,
    logits,
    most,
    rows,
    size,
    whole,
)
from mlx_gpt.model import GPT, KVCache
from mlx_gpt.tracing import Tape

GHOSTS = 9  # tokens that the RoPE lab puts into the cache, only to move what comes after


# L03


def causality(subject: Subject) -> Answer:
    """A token changes what comes at and after it, and nothing before."""
    if skip := cramped(subject):
        return skip
    model, T = subject.model, 8
    tokens = np.repeat(subject.tokens(1, T), T, axis=0)
    changed = tokens.copy()
    places = np.arange(T)
    changed[places, places] = (changed[places, places] + 1) % subject.config.vocab_size
    moved = np.abs(logits(model, tokens) - logits(model, changed)).max(-1)  # (token, position)
    later = places[None] >= places[:, None]
    weights = [row for name, row in rows(model, tokens[:2]).items() if name.endswith("weights")]
    diagonal = least(float(np.diagonal(row, axis1=-2, axis2=-1).min()) for row in weights)
    reach = jacobian(model, tokens[:1, :6])
    past = np.tri(6, dtype=bool)
    return [
        Measure(
            "change of logits before a changed token",
            "cambio de los logits antes del token cambiado",
            float(moved[~later].max()),
            high=0,
        ),
        Measure(
            "least change at and after it",
            "menor cambio en él y después",
            float(moved[later].min()),
            low=1e-6,
        ),
        Measure(
            "weight on the future",
            "peso sobre el futuro",
            most(float(np.triu(row, 1).max()) for row in weights),
            high=0,
        ),
        Measure(
            "1 - what the first token pays to itself",
            "1 - lo que el primer token se da a sí mismo",
            most(float(np.abs(1 - row[..., 0, 0]).max()) for row in weights),
            high=0,
        ),
        Measure("least weight on itself", "menor peso sobre sí mismo", diagonal, low=1e-30),
        Measure(
            "sum of weights - 1",
            "suma de los pesos - 1",
            most(float(np.abs(row.sum(-1) - 1).max()) for row in weights),
            high=1e-6,
        ),
        Measure(
            "∂logits/∂embedding of later tokens",
            "∂logits/∂embedding de tokens posteriores",
            float(reach[~past].max()),
            high=0,
        ),
        Measure(
            "∂logits/∂embedding of earlier tokens",
            "∂logits/∂embedding de tokens anteriores",
            float(reach[past].min()),
            low=1e-30,
        ),
    ]


def jacobian(model: GPT, tokens: Array) -> Array:
    """How strongly logits at i depend on the embedding at j: the largest derivative (i, j)."""
    T = tokens.shape[1]
    ids, zeros = mx.array(tokens), mx.zeros((1, T, model.config.d_model))

    def outputs(probe: mx.array) -> mx.array:
        return model(ids, tap=Tape(probes={"tok": probe}))

    reach = np.zeros((T, T))
    weights = mx.random.normal((model.config.vocab_size,), key=mx.random.key(0))
    for i in range(T):
        cotangent = mx.where(mx.arange(T)[:, None] == i, weights, 0.0)[None]
        _, (slope,) = mx.vjp(outputs, [zeros], [cotangent])
        reach[i] = np.abs(whole(slope)[0]).max(-1)
    return reach


# L06


def relative_positions(subject: Subject) -> Answer:
    """RoPE: only distances matter, lengths stay, values are not turned."""
    if subject.config.position != "rope":
        return Skip("the model has no RoPE", "el modelo no tiene RoPE")
    if not subject.config.causal:
        return Skip("without a mask there is no cache", "sin máscara no hay caché")
    if skip := cramped(subject):
        return skip
    model, tokens = subject.model, subject.tokens(2, 7)
    here, there = rows(model, tokens), after_ghosts(model, tokens)
    far = there["blocks.0.scores"][..., GHOSTS:]
    near = here["blocks.0.scores"]
    same = rows(model, np.full((1, 7), tokens[0, 0], np.int32))["blocks.0.scores"][0]
    stripes = [np.diagonal(same, -k, -2, -1) for k in range(7)]
    within = most(float(np.ptp(stripe, axis=-1).max()) for stripe in stripes)
    lengths = [
        apart(length(here[f"blocks.{i}.{each}_rot"]), length(here[f"blocks.{i}.{each}"]))
        for i in range(subject.config.n_layers)
        for each in "qk"
    ]
    turned = np.abs(here["blocks.0.q_rot"] - there["blocks.0.q_rot"]).max()
    return [
        Measure(
            f"logits at positions 0 and {GHOSTS}",
            f"logits en las posiciones 0 y {GHOSTS}",
            gap(here["logits"], there["logits"]),
            high=1e-3,
        ),
        Measure("scores likewise", "puntuaciones, igual", gap(near, far), high=1e-4),
        Measure("change of |q| and |k|", "cambio de |q| y |k|", most(lengths), high=1e-4),
        Measure(
            "scores of equal tokens at one distance",
            "puntuaciones de tokens iguales a una distancia",
            within / size(same),
            high=1e-4,
        ),
        Measure(
            "control: scores of equal tokens differ by distance",
            "control: las de tokens iguales varían con la distancia",
            most(float(np.abs(b[..., 0] - a[..., 0]).max()) for a, b in pairwise(stripes)),
            low=1e-3,
        ),
        Measure(
            f"control: q at 0 and {GHOSTS} differ",
            f"control: q en 0 y {GHOSTS} difieren",
            float(turned),
            low=1e-3,
        ),
    ]


def length(x: Array) -> Array:
    """The length of each vector."""
    return np.sqrt(np.square(x.astype(np.float64)).sum(-1))


def after_ghosts(model: GPT, tokens: Array) -> Rows:
    """The rows of tokens that stand after empty cache entries, which nobody may look at."""
    cache = KVCache(model.config, len(tokens))
    for layer in cache.layers:
        layer.length = GHOSTS

    def unseen(x: mx.array, _: Mapping[str, mx.array]) -> mx.array:
        return mx.where(mx.arange(x.shape[-1]) < GHOSTS, -mx.inf, x)

    edits = {f"blocks.{i}.masked": unseen for i in range(model.config.n_layers)}
    return rows(model, tokens, cache=cache, edits=edits)


# L07


def cached(subject: Subject) -> Answer:
    """Tokens that come in pieces, with a cache, give the logits of the whole."""
    if not subject.config.causal:
        return Skip("without a mask there is no cache", "sin máscara no hay caché")
    if skip := cramped(subject):
        return skip
    model, tokens = subject.model, subject.tokens(3, 12)
    full = logits(model, tokens)
    return [
        Measure(
            f"logits in pieces of {length} and whole",
            f"logits en trozos de {length} y de una vez",
            gap(full, in_pieces(model, tokens, length)),
            high=1e-4,
        )
        for length in (1, 3, 5)
    ]


# L12


def order(subject: Subject) -> Answer:
    """With one layer, only positions tell the order of the tokens before the last."""
    tokens = subject.tokens(1, 9, subject.small)
    tokens[0, 4] = (tokens[0, 1] + 1) % subject.small.vocab_size
    swapped = tokens.copy()
    swapped[0, [1, 4]] = tokens[0, [4, 1]]
    one = subject.loud(subject.shaped(n_layers=1))
    blind = subject.loud(subject.shaped(n_layers=1, position="none"))
    loose = subject.loud(subject.shaped(position="none", causal=False))
    mixed = subject.chance(6).permutation(9)
    return [
        Measure(
            "change of the last logits when two tokens change places",
            "cambio de los últimos logits al intercambiar dos tokens",
            float(np.abs(logits(one, tokens)[0, -1] - logits(one, swapped)[0, -1]).max()),
            low=1e-2,
        ),
        Measure(
            "control: the same without positions",
            "control: lo mismo sin posiciones",
            float(np.abs(logits(blind, tokens)[0, -1] - logits(blind, swapped)[0, -1]).max()),
            high=1e-4,
        ),
        Measure(
            "no mask, no positions: logits of mixed tokens, mixed back",
            "sin máscara ni posiciones: logits de tokens barajados, en su orden",
            gap(logits(loose, tokens)[:, mixed], logits(loose, tokens[:, mixed])),
            high=1e-4,
        ),
    ]


# L14


def sequences_apart(subject: Subject) -> Answer:
    """The sequences of a batch know nothing of each other."""
    if skip := cramped(subject):
        return skip
    model, tokens = subject.model, subject.tokens(3, 7)
    alone = np.concatenate([logits(model, tokens[i : i + 1]) for i in range(3)])
    return [
        Measure(
            "logits of three sequences together and alone",
            "logits de tres secuencias juntas y por separado",
            gap(alone, logits(model, tokens)),
            high=1e-4,
        )
    ]
