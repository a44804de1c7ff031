"""A second GPT in NumPy float64, written from the equations alone, to hold the real one against."""

import math
from collections.abc import Mapping

import numpy as np

from mlx_gpt.config import ModelConfig

Array = np.ndarray
Parameters = Mapping[str, Array]

erf = np.vectorize(math.erf, otypes=[np.float64])


def shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Every parameter that a model of this configuration has, with its shape."""
    d_model, vocab_size = config.d_model, config.vocab_size
    found: dict[str, tuple[int, ...]] = {"embedding.weight": (vocab_size, d_model)}
    if config.position == "learned":
        found["positions.weight"] = (config.context_length, d_model)
    for layer in range(config.n_layers):
        found |= block_shapes(config, f"blocks.{layer}")
    if config.final_norm:
        found |= norm_shapes(config, "final_norm")
    if not config.tied_head:
        found["head.weight"] = (vocab_size, d_model)
    return found


def block_shapes(config: ModelConfig, name: str) -> dict[str, tuple[int, ...]]:
    """The parameters of one block."""
    d_model, d_ff = config.d_model, config.d_ff
    d_kv = config.n_kv_heads * config.d_head
    attention, feed_forward = f"{name}.attention", f"{name}.feed_forward"
    linears = [
        (f"{attention}.q_proj", d_model, d_model, config.attn_bias),
        (f"{attention}.k_proj", d_kv, d_model, config.attn_bias),
        (f"{attention}.v_proj", d_kv, d_model, config.attn_bias),
        (f"{attention}.out_proj", d_model, d_model, config.attn_bias),
        (f"{feed_forward}.up_proj", d_ff, d_model, config.ffn_bias),
        (f"{feed_forward}.down_proj", d_model, d_ff, config.ffn_bias),
    ]
    if config.activation == "swiglu":
        linears.append((f"{feed_forward}.gate_proj", d_ff, d_model, config.ffn_bias))
    found: dict[str, tuple[int, ...]] = {}
    for linear, width_out, width_in, bias in linears:
        found[f"{linear}.weight"] = (width_out, width_in)
        if bias:
            found[f"{linear}.bias"] = (width_out,)
    return found | norm_shapes(config, f"{name}.norm1") | norm_shapes(config, f"{name}.norm2")


def norm_shapes(config: ModelConfig, name: str) -> dict[str, tuple[int, ...]]:
    """The gain of a norm, and the shift that only LayerNorm has."""
    shift = {f"{name}.bias": (config.d_model,)} if config.norm == "layernorm" else {}
    return {f"{name}.weight": (config.d_model,)} | shift


def forward(parameters: Parameters, config: ModelConfig, tokens: Array) -> Array:
    """Logits (B, T, V) of tokens (B, T)."""
    x = parameters["embedding.weight"].astype(np.float64)[tokens]
    if config.position == "learned":
        x = x + parameters["positions.weight"].astype(np.float64)[: tokens.shape[1]]
    for layer in range(config.n_layers):
        x = block(parameters, config, f"blocks.{layer}", x)
    if config.final_norm:
        x = norm(parameters, config, "final_norm", x)
    head = "embedding.weight" if config.tied_head else "head.weight"
    return x @ parameters[head].astype(np.float64).T


def loss(parameters: Parameters, config: ModelConfig, tokens: Array, targets: Array) -> float:
    """Mean cross-entropy of the targets (B, T), in nats."""
    logits = forward(parameters, config, tokens)
    highest = logits.max(axis=-1, keepdims=True)
    log_total = highest[..., 0] + np.log(np.exp(logits - highest).sum(axis=-1))
    chosen = np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return float(np.mean(log_total - chosen))


def block(parameters: Parameters, config: ModelConfig, name: str, x: Array) -> Array:
    """One block, with its norms before or after the sublayers."""
    if config.norm_order == "pre":
        z = x + attention(parameters, config, name, norm(parameters, config, f"{name}.norm1", x))
        read = norm(parameters, config, f"{name}.norm2", x if config.parallel_residual else z)
        return z + feed_forward(parameters, config, name, read)
    z = norm(parameters, config, f"{name}.norm1", x + attention(parameters, config, name, x))
    return norm(parameters, config, f"{name}.norm2", z + feed_forward(parameters, config, name, z))


def norm(parameters: Parameters, config: ModelConfig, name: str, x: Array) -> Array:
    """LayerNorm or RMSNorm over the last axis, with the variance divided by d, not d - 1."""
    shift = 0.0
    if config.norm == "layernorm":
        x = x - x.mean(axis=-1, keepdims=True)
        shift = parameters[f"{name}.bias"].astype(np.float64)
    size = np.sqrt((x * x).mean(axis=-1, keepdims=True) + config.norm_eps)
    return parameters[f"{name}.weight"].astype(np.float64) * x / size + shift


def linear(parameters: Parameters, name: str, bias: bool, x: Array) -> Array:
    """x W^T, plus b where there is one."""
    y = x @ parameters[f"{name}.weight"].astype(np.float64).T
    return y + parameters[f"{name}.bias"].astype(np.float64) if bias else y


def attention(parameters: Parameters, config: ModelConfig, name: str, x: Array) -> Array:
    """Softmax attention head by head, each in a plain loop."""
    name, bias, d_head = f"{name}.attention", config.attn_bias, config.d_head
    queries, keys, values = (
        linear(parameters, f"{name}.{part}_proj", bias, x) for part in ("q", "k", "v")
    )
    heads_per_kv = config.n_heads // config.n_kv_heads
    contexts = []
    for head in range(config.n_heads):
        q = columns(queries, head, d_head)
        k = columns(keys, head // heads_per_kv, d_head)
        v = columns(values, head // heads_per_kv, d_head)
        if config.position == "rope":
            d_rope = int(d_head * config.rope_fraction)
            q, k = (
                np.concatenate([rope(x[..., :d_rope], config.rope_base), x[..., d_rope:]], axis=-1)
                for x in (q, k)
            )
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(d_head)
        contexts.append(softmax(masked(scores) if config.causal else scores) @ v)
    return linear(parameters, f"{name}.out_proj", bias, np.concatenate(contexts, axis=-1))


def columns(x: Array, head: int, d_head: int) -> Array:
    """The share of one head in the last axis."""
    return x[..., head * d_head : (head + 1) * d_head]


def rope(x: Array, base: float, offset: int = 0) -> Array:
    """Turn each pair (j, j + d/2) of x (B, T, d) by position * base^(-2j/d)."""
    half = x.shape[-1] // 2
    position = offset + np.arange(x.shape[-2])[:, None]
    angle = position * base ** (-2.0 * np.arange(half) / x.shape[-1])
    turned = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angle)
    return np.concatenate([turned.real, turned.imag], axis=-1)


def masked(scores: Array) -> Array:
    """Scores (B, T, T) with -inf where the key lies after the query."""
    query, key = np.indices(scores.shape[-2:])
    return np.where(key <= query, scores, -np.inf)


def softmax(scores: Array) -> Array:
    """Positive weights that sum to 1 over the last axis."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def feed_forward(parameters: Parameters, config: ModelConfig, name: str, x: Array) -> Array:
    """down(activation(up x)), or down(silu(gate x) * up x)."""
    name, bias = f"{name}.feed_forward", config.ffn_bias
    hidden = linear(parameters, f"{name}.up_proj", bias, x)
    if config.activation == "swiglu":
        gate = linear(parameters, f"{name}.gate_proj", bias, x)
        hidden = hidden * gate / (1 + np.exp(-gate))
    elif config.activation == "gelu":
        hidden = hidden * (1 + erf(hidden / math.sqrt(2))) / 2
    elif config.activation == "gelu_tanh":
        inner = math.sqrt(2 / math.pi) * (hidden + 0.044715 * hidden**3)
        hidden = hidden * (1 + np.tanh(inner)) / 2
    else:
        hidden = np.maximum(hidden, 0)
    return linear(parameters, f"{name}.down_proj", bias, hidden)
