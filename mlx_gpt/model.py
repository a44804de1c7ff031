"""The model: a GPT, read top to bottom.

Axes: B sequences in a batch, T tokens, H heads, V vocabulary, S keys seen so far.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from mlx_gpt.device import mx

import mlx.nn as nn
from mlx.nn.utils import checkpoint
from mlx.utils import tree_flatten, tree_unflatten

from mlx_gpt import kernels
from mlx_gpt.config import ModelConfig
from mlx_gpt.errors import UserError
from mlx_gpt.tracing import Tap, off

INIT_STD = 0.02


class LayerCache:
    """One layer's keys and values of the tokens seen so far, preallocated.

    `length` is a number; or an array, for a compiled step of one token that serves every
    length: all places are then handed out, and the mask hides those still empty.
    """

    def __init__(self, config: ModelConfig, batch_size: int, dtype: mx.Dtype, room: int):
        shape = (batch_size, config.n_kv_heads, room, config.d_head)
        self.keys, self.values = mx.zeros(shape, dtype), mx.zeros(shape, dtype)
        self.length: int | mx.array = 0

    @property
    def mask(self) -> mx.array | Literal["causal"]:
        """Which of the keys handed out a new token may see."""
        if isinstance(self.length, int):
            return "causal"
        return mx.arange(self.keys.shape[2]) < self.length

    def extend(self, k: mx.array, v: mx.array) -> tuple[mx.array, mx.array]:
        """Store keys and values of new tokens; return those of all so far, (B, H, S, d_head)."""
        start, self.length = self.length, self.length + k.shape[2]
        if isinstance(start, mx.array):
            self.keys = mx.slice_update(self.keys, k, start, axes=(2,))
            self.values = mx.slice_update(self.values, v, start, axes=(2,))
            return self.keys, self.values
        self.keys[..., start : self.length, :] = k
        self.values[..., start : self.length, :] = v
        return self.keys[..., : self.length, :], self.values[..., : self.length, :]


CacheState = list[tuple[mx.array, mx.array, int | mx.array]]


class KVCache:
    """The keys and values of every layer, so that a new token need not recompute the old."""

    def __init__(
        self,
        config: ModelConfig,
        batch_size: int,
        dtype: mx.Dtype = mx.float32,
        room: int | None = None,
    ):
        room, layers = room or config.context_length, range(config.n_layers)
        self.layers = [LayerCache(config, batch_size, dtype, room) for _ in layers]

    @property
    def capacity(self) -> int:
        """Tokens there is room for."""
        return self.layers[0].keys.shape[2]

    @property
    def length(self) -> int:
        """Tokens held."""
        return int(self.layers[0].length)

    @property
    def state(self) -> CacheState:
        """Keys, values and length of every layer: what a compiled step takes and gives back."""
        return [(layer.keys, layer.values, layer.length) for layer in self.layers]

    @state.setter
    def state(self, state: CacheState) -> None:
        """Hold these instead."""
        for layer, (keys, values, length) in zip(self.layers, state, strict=True):
            layer.keys, layer.values, layer.length = keys, values, length


def dropout(x: mx.array, rate: float, key: mx.array | None) -> mx.array:
    """Zero a share of x and scale up the rest; without a key, x as it is."""
    if key is None or rate == 0:
        return x
    return x * mx.random.bernoulli(1 - rate, x.shape, key) / (1 - rate)


ACTIVATIONS = {
    "gelu": kernels.gelu,
    "gelu_tanh": kernels.gelu_tanh,
    "relu": nn.relu,
    "swiglu": kernels.silu,
}


class Attention(nn.Module):
    """Multi-head causal self-attention, with RoPE on queries and keys."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config = config
        d_model, bias = config.d_model, config.attn_bias
        self.q_proj = nn.Linear(d_model, config.n_heads * config.d_head, bias=bias)
        self.k_proj = nn.Linear(d_model, config.n_kv_heads * config.d_head, bias=bias)
        self.v_proj = nn.Linear(d_model, config.n_kv_heads * config.d_head, bias=bias)
        self.out_proj = nn.Linear(config.n_heads * config.d_head, d_model, bias=bias)

    def __call__(
        self, x: mx.array, cache: LayerCache | None, key: mx.array | None, tap: Tap
    ) -> mx.array:
        q = tap("q", self.split(tap("q_proj", self.q_proj(x))))
        k = tap("k", self.split(tap("k_proj", self.k_proj(x))))
        v = tap("v", self.split(tap("v_proj", self.v_proj(x))))
        if self.config.position == "rope":
            offset = cache.length if cache else 0
            q, k = tap("q_rot", self.rotate(q, offset)), tap("k_rot", self.rotate(k, offset))
        if cache:
            k, v = cache.extend(k, v)
            k, v = tap("keys", k), tap("values", v)
        mask = cache.mask if cache else "causal"
        context = self.attend(q, k, v, mask if self.config.causal else None, key, tap)
        return tap("attn_out", self.out_proj(tap("merged", context.swapaxes(1, 2).flatten(2))))

    def split(self, x: mx.array) -> mx.array:
        """(B, T, H·d_head) -> (B, H, T, d_head)"""
        B, T, _ = x.shape
        return x.reshape(B, T, -1, self.config.d_head).swapaxes(1, 2)

    def rotate(self, x: mx.array, offset: int | mx.array) -> mx.array:
        """Turn the pair (j, j + d_rope/2) by position · base^(-2j/d_rope) (Su 2021)."""
        base, d_rope = self.config.rope_base, self.config.d_rope
        return kernels.rope(x, d_rope, base=base, offset=offset)

    def attend(
        self,
        q: mx.array,
        k: mx.array,
        v: mx.array,
        mask: mx.array | Literal["causal"] | None,
        key: mx.array | None,
        tap: Tap,
    ) -> mx.array:
        """softmax(q kᵀ / √d_head) v, a query seeing no later key (Vaswani 2017, equation 1).

        One fused kernel; step by step where dropout acts on the weights or a tap looks at them.
        """
        config, fused = self.config, None
        scale = config.d_head**-0.5
        if key is None or config.dropout == 0:
            fused = kernels.attention(q, k, v, scale=scale, mask=mask)
            if not tap.live:
                return fused
        repeats = config.n_heads // config.n_kv_heads
        k, v = mx.repeat(k, repeats, axis=1), mx.repeat(v, repeats, axis=1)
        scores = tap("scores", (q * scale) @ k.swapaxes(-1, -2))
        if config.causal:
            T, S = scores.shape[-2:]
            past = mx.tri(T, S, S - T, dtype=mx.bool_)
            scores = tap("masked", mx.where(past, scores, -mx.inf))
        weights = tap("weights", mx.softmax(scores, axis=-1, precise=True))
        context = dropout(weights, config.dropout, key) @ v
        return tap("context", context) if fused is None else tap.choose("context", context, fused)


class FeedForward(nn.Module):
    """down(activation(up(x))), or down(silu(gate(x)) · up(x)) for SwiGLU (Shazeer 2020)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.gated = config.activation == "swiglu"
        self.activation = ACTIVATIONS[config.activation]
        self.up_proj = nn.Linear(config.d_model, config.d_ff, bias=config.ffn_bias)
        if self.gated:
            self.gate_proj = nn.Linear(config.d_model, config.d_ff, bias=config.ffn_bias)
        self.down_proj = nn.Linear(config.d_ff, config.d_model, bias=config.ffn_bias)

    def __call__(self, x: mx.array, tap: Tap) -> mx.array:
        up = tap("up", self.up_proj(x))
        if self.gated:
            gate = tap("gate", self.gate_proj(x))
            hidden = tap("gated", tap("act", self.activation(gate)) * up)
        else:
            hidden = tap("act", self.activation(up))
        return tap("down", self.down_proj(hidden))


class LayerNorm(nn.LayerNorm):
    """(x - mean) / √(variance + eps) · weight + bias (Ba 2016)."""

    def __call__(self, x: mx.array) -> mx.array:
        return kernels.layer_norm(x, self.weight, self.bias, self.eps)


def make_norm(config: ModelConfig) -> nn.LayerNorm | nn.RMSNorm:
    """The configured normalisation over d_model."""
    kind = LayerNorm if config.norm == "layernorm" else nn.RMSNorm
    return kind(config.d_model, eps=config.norm_eps)


class Block(nn.Module):
    """One transformer layer: attention moves information between tokens, the FFN works on each."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config = config
        self.norm1 = make_norm(config)
        self.attention = Attention(config)
        self.norm2 = make_norm(config)
        self.feed_forward = FeedForward(config)

    def __call__(
        self,
        x: mx.array,
        cache: LayerCache | None = None,
        key: mx.array | None = None,
        tap: Tap = off,
    ) -> mx.array:
        rate = self.config.dropout
        keys = [None] * 3 if key is None else list(mx.random.split(key, 3))

        def attention(x: mx.array) -> mx.array:
            return dropout(self.attention(x, cache, keys[0], tap), rate, keys[1])

        def feed_forward(x: mx.array) -> mx.array:
            return dropout(self.feed_forward(x, tap), rate, keys[2])

        if self.config.norm_order == "post":
            x = tap("norm1", self.norm1(tap("resid_attn", x + attention(x))))
            return tap("norm2", self.norm2(tap("resid_ffn", x + feed_forward(x))))
        after = tap("resid_attn", x + attention(tap("norm1", self.norm1(x))))
        seen = x if self.config.parallel_residual else after
        return tap("resid_ffn", after + feed_forward(tap("norm2", self.norm2(seen))))


class GPT(nn.Module):
    """A decoder-only transformer: tokens (B, T) in, logits (B, T, V) out."""

    def __init__(self, config: ModelConfig, seed: int = 0):
        super().__init__()
        self.config = config
        self.recompute = False  # training may set it: activations are computed twice, not kept
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        if config.position == "learned":
            self.positions = nn.Embedding(config.context_length, config.d_model)
        self.blocks = [Block(config) for _ in range(config.n_layers)]
        if config.final_norm:
            self.final_norm = make_norm(config)
        if not config.tied_head:
            self.head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        initialise(self, seed)

    def __call__(
        self,
        tokens: mx.array,
        cache: KVCache | None = None,
        dropout_key: mx.array | None = None,
        tap: Tap = off,
        *,
        last: bool = False,
    ) -> mx.array:
        """Logits for every position, or the last alone; dropout acts only if given a key."""
        config = self.config
        start, T = cache.layers[0].length if cache else 0, tokens.shape[1]
        if isinstance(start, int):
            check_fits(config, start + T)
        if cache and not config.causal:
            raise ValueError("without the causal mask a new token changes the keys of the old")
        keys = [None] * (config.n_layers + 1)
        if dropout_key is not None:
            keys = list(mx.random.split(dropout_key, config.n_layers + 1))
        x = tap("tok", self.embedding(tokens))
        if config.position == "learned":
            x = tap("embed", x + tap("pos", self.positions(start + mx.arange(T))))
        x = dropout(x, config.dropout, keys[-1])
        for i, block in enumerate(self.blocks):
            layer_cache = cache.layers[i] if cache else None
            x = self.run(block, x, layer_cache, keys[i], tap.at(f"blocks.{i}"))
        return self.read_out(x[:, -1:] if last else x, tap)

    def read_out(self, x: mx.array, tap: Tap = off) -> mx.array:
        """Logits from the residual stream: the final norm, then the head."""
        if self.config.final_norm:
            x = tap("final_norm", self.final_norm(x))
        logits = self.embedding.as_linear(x) if self.config.tied_head else self.head(x)
        return tap("logits", logits)

    def run(
        self,
        block: Block,
        x: mx.array,
        cache: LayerCache | None,
        key: mx.array | None,
        tap: Tap,
    ) -> mx.array:
        """One block, its activations kept for the backward pass or computed again there."""

        def forward(x: mx.array) -> mx.array:
            return block(x, cache, key, tap)  # the key in the closure: it has no gradient

        return checkpoint(block, forward)(x) if self.recompute and not tap.live else forward(x)


def initialise(model: GPT, seed: int) -> None:
    """Draw fresh weights: N(0, 0.02), residual writers N(0, 0.02/√(2·n_layers)), biases 0.

    The two projections that write into the residual stream are named, not matched
    by suffix: q_proj, k_proj and v_proj end in "proj" too.
    """
    config = model.config
    writer_std = INIT_STD / (2 * config.n_layers) ** 0.5 if config.residual_init else INIT_STD
    arrays = dict(tree_flatten(model.parameters(), destination={}))
    keys = mx.random.split(mx.random.key(seed), len(arrays))
    for (name, array), key in zip(arrays.items(), keys, strict=True):
        if name.endswith(".bias"):
            arrays[name] = mx.zeros(array.shape)
        elif "norm" in name:
            arrays[name] = mx.ones(array.shape)
        else:
            writes = name.endswith(("attention.out_proj.weight", "feed_forward.down_proj.weight"))
            std = writer_std if writes else INIT_STD
            arrays[name] = mx.random.normal(array.shape, scale=std, key=key)
    model.update(tree_unflatten(list(arrays.items())))


def check_fits(config: ModelConfig, length: int) -> None:
    """Refuse more tokens than the context holds."""
    if length > config.context_length:
        raise UserError(
            f"{length} tokens do not fit the context of {config.context_length}; "
            "give fewer, or train with a larger model.context_length"
        )


def check_ids(ids: Iterable[int], vocab_size: int) -> None:
    """Refuse ids the embedding does not have: MLX would read garbage in their place."""
    for token in ids:
        if not 0 <= token < vocab_size:
            raise UserError(
                f"token id {token} is outside the vocabulary of {vocab_size} "
                f"(0 to {vocab_size - 1}); use the tokenizer the model was trained with"
            )


def load_arrays(model: GPT, arrays: Mapping[str, mx.array]) -> None:
    """Put weights into the model; a missing, extra or misshapen one is refused by name."""
    own = dict(tree_flatten(model.parameters(), destination={}))
    if missing := sorted(own.keys() - arrays.keys()):
        raise UserError(f"the weights lack {missing[0]} ({len(missing)} missing in all)")
    if extra := sorted(arrays.keys() - own.keys()):
        raise UserError(f"the weights hold {extra[0]}, which this model has no place for")
    for name, array in own.items():
        if arrays[name].shape != array.shape:
            raise UserError(
                f"{name} has shape {arrays[name].shape} in the file, but {array.shape} in the model"
            )
    model.update(tree_unflatten(list(arrays.items())))
