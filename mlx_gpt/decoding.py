"""A step of one token, with the weights laid out as a Linux CPU reads them fastest.

A product with a single row takes as long as its matrix takes to come from memory, and a BLAS
reads long rows fastest. So every matrix lies with its longer side in rows, those that read the
same x are one, and the operations are few, for a small model spends its time between them. The
logits are those of the model; on other devices the model itself is as fast.
"""

import math
from typing import NamedTuple

from mlx_gpt.device import LINUX, kind, mx

import mlx.nn as nn

from mlx_gpt.config import ModelConfig
from mlx_gpt.model import ACTIVATIONS, GPT, Attention, Block, CacheState, FeedForward, LayerNorm

PARTS = {GPT, Block, Attention, FeedForward, LayerNorm, nn.RMSNorm, nn.Linear, nn.Embedding}

Product = tuple[mx.array, mx.array | None]  # a matrix (in, out), and a bias (out,)
Layer = dict[str, Product]
Cache = tuple[mx.array, mx.array]  # keys and values


class Folded(NamedTuple):
    """The products of every layer and of the head, and cosine and sine of every position."""

    layers: list[Layer]
    head: mx.array
    angles: mx.array | None


def can_fold(model: GPT) -> bool:
    """Whether the step stands for this model here: of float32, and of no other parts."""
    plain = {type(module) for _, module in model.named_modules()} <= PARTS
    return LINUX and kind() == "cpu" and plain and model.embedding.weight.dtype == mx.float32


def fold(model: GPT) -> Folded:
    """The weights of a model as the step takes them; what is laid out anew is a copy."""
    config = model.config
    head = model.embedding if config.tied_head else model.head
    rope = config.position == "rope"
    return Folded(
        [fold_block(block) for block in model.blocks],
        laid_out(head.weight),
        turns(config.context_length, config.d_rope, config.rope_base) if rope else None,
    )


def fold_block(block: Block) -> Layer:
    """The four products of a block."""
    attention, feed_forward = block.attention, block.feed_forward
    ups = [feed_forward.gate_proj] if feed_forward.gated else []
    return {
        "qkv": joined(attention.q_proj, attention.k_proj, attention.v_proj),
        "out": joined(attention.out_proj),
        "up": joined(*ups, feed_forward.up_proj),
        "down": joined(feed_forward.down_proj),
    }


def joined(*layers: nn.Linear) -> Product:
    """Layers that read the same x as one."""
    biases = [layer.bias for layer in layers if "bias" in layer]
    weight = laid_out(mx.concatenate([layer.weight for layer in layers]))
    return weight, mx.concatenate(biases) if biases else None


def laid_out(weight: mx.array) -> mx.array:
    """A matrix (out, in) as (in, out), its longer side in rows."""
    out, into = weight.shape
    return mx.contiguous(weight.T) if out > into else weight.T


def turns(length: int, dims: int, base: float) -> mx.array:
    """Cosine and sine of RoPE at every position, as MLX has them: (length, 2, 1, dims / 2)."""
    unit = mx.zeros((1, 1, length, dims))
    unit[..., : dims // 2] = 1
    turned = mx.fast.rope(unit, dims, traditional=False, base=base, scale=1.0, offset=0)
    return turned.reshape(length, 2, 1, dims // 2)


def times(x: mx.array, product: Product) -> mx.array:
    """x @ matrix + bias."""
    matrix, bias = product
    return x @ matrix if bias is None else x @ matrix + bias


def step(
    model: GPT, folded: Folded, tokens: mx.array, state: CacheState
) -> tuple[mx.array, CacheState]:
    """Logits (n, V) after one more token (n, 1) of n samples, and the cache with it."""
    layers, head, angles = folded
    config, length, room = model.config, mx.array(state[0][2]), state[0][0].shape[2]
    hidden = mx.where(mx.arange(room) <= length, 0.0, -math.inf)
    place = Place(length, hidden, None if angles is None else angles[length])
    x = model.embedding(tokens[:, 0])
    if config.position == "learned":
        x = x + model.positions(length)
    states: CacheState = []
    for block, layer, (keys, values, _) in zip(model.blocks, layers, state, strict=True):
        x, cache = through(block, layer, x, (keys, values), place)
        states.append((*cache, length + 1))
    if config.final_norm:
        x = model.final_norm(x)
    return x @ head, states


class Place(NamedTuple):
    """Where the new token stands: its position, what to add to the scores, its turn by RoPE."""

    position: mx.array
    hidden: mx.array
    turn: mx.array | None


def through(
    block: Block, layer: Layer, x: mx.array, cache: Cache, place: Place
) -> tuple[mx.array, Cache]:
    """The residual stream (n, d_model) after a block, and its cache with the token."""
    config = block.config
    if config.norm_order == "post":
        attended, cache = attend(config, layer, x, cache, place)
        x = block.norm1(x + attended)
        return block.norm2(x + feed_forward(config, layer, x)), cache
    attended, cache = attend(config, layer, block.norm1(x), cache, place)
    after = x + attended
    seen = x if config.parallel_residual else after
    return after + feed_forward(config, layer, block.norm2(seen)), cache


def attend(
    config: ModelConfig, layer: Layer, x: mx.array, cache: Cache, place: Place
) -> tuple[mx.array, Cache]:
    """What attention writes for the new token, which sees itself and all before it."""
    n, groups, d_head = x.shape[0], config.n_kv_heads, config.d_head
    heads = times(x, layer["qkv"]).reshape(n, -1, d_head)
    turned, v = heads[:, :-groups], heads[:, -groups:, None]
    if place.turn is not None:
        turned = rotated(turned, place.turn)
    q, k = turned[:, :-groups].reshape(n, groups, -1, d_head), turned[:, -groups:, None]
    keys = mx.slice_update(cache[0], k, place.position, axes=(2,))
    values = mx.slice_update(cache[1], v, place.position, axes=(2,))
    scores = d_head**-0.5 * (q @ keys.swapaxes(-1, -2)) + place.hidden
    context = mx.softmax(scores, axis=-1, precise=True) @ values
    return times(context.reshape(n, -1), layer["out"]), (keys, values)


def rotated(x: mx.array, turn: mx.array) -> mx.array:
    """RoPE on the first dimensions of every head (n, H, d_head)."""
    cosine, sine = turn[0], turn[1]
    half = cosine.shape[-1]
    a, b, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return mx.concatenate([a * cosine - b * sine, a * sine + b * cosine, rest], axis=-1)


def feed_forward(config: ModelConfig, layer: Layer, x: mx.array) -> mx.array:
    """What the feed-forward network writes."""
    activation, up = ACTIVATIONS[config.activation], times(x, layer["up"])
    if config.activation == "swiglu":
        gate, up = mx.split(up, 2, axis=-1)
        return times(activation(gate) * up, layer["down"])
    return times(activation(up), layer["down"])
