"""What a model consists of: parameters, FLOPs and bytes, by formula alone.

Nothing here builds a model; the tests compare every figure with the real arrays.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from mlx_gpt.config import ModelConfig, TrainConfig


@dataclass(frozen=True)
class Component:
    """One parameter array: its name, shape and the formula of its count."""

    name: str
    shape: tuple[int, ...]
    formula: str

    @property
    def count(self) -> int:
        """Number of parameters."""
        return math.prod(self.shape)


class Inventory(NamedTuple):
    """Every parameter of a model, in the order of the forward pass."""

    components: tuple[Component, ...]
    formula: int

    @property
    def total(self) -> int:
        """All parameters; a tied head counts once."""
        return sum(part.count for part in self.components)

    @property
    def norms(self) -> int:
        """The parameters of all normalisations."""
        return sum(part.count for part in self.components if "norm" in part.name)

    def group(self, prefix: str) -> int:
        """The parameters whose names start with the prefix."""
        return sum(part.count for part in self.components if part.name.startswith(prefix))


def inventory(config: ModelConfig) -> Inventory:
    """Count the parameters of a configuration."""
    c = config
    d, V = c.d_model, c.vocab_size
    parts = [Component("embedding.weight", (V, d), "V·d")]
    if c.position == "learned":
        parts.append(Component("positions.weight", (c.context_length, d), "T_max·d"))
    for layer in range(c.n_layers):
        parts += block(c, f"blocks.{layer}")
    if c.final_norm:
        parts += norm(c, "final_norm")
    if not c.tied_head:
        parts.append(Component("head.weight", (V, d), "V·d"))
    return Inventory(tuple(parts), estimate(c))


def one_block(config: ModelConfig) -> Inventory:
    """The parameters of the same model with a single block: all others are like it."""
    return inventory(replace(config, n_layers=1))


def parameter_count(config: ModelConfig) -> int:
    """All parameters, without a list of them."""
    counted = one_block(config)
    return counted.total + (config.n_layers - 1) * counted.group("blocks.")


def estimate(config: ModelConfig) -> int:
    """The textbook estimate 12·L·d² + V·d, plus T_max·d with learned positions."""
    c = config
    positions = c.context_length * c.d_model if c.position == "learned" else 0
    return 12 * c.n_layers * c.d_model**2 + c.vocab_size * c.d_model + positions


def block(config: ModelConfig, name: str) -> list[Component]:
    """The parameters of one block."""
    c = config
    kv = c.n_kv_heads * c.d_head
    kv_formula = "d·d" if c.n_kv_heads == c.n_heads else "n_kv_heads·d_head·d"
    attention, ffn = f"{name}.attention", f"{name}.feed_forward"
    gate = [(f"{ffn}.gate_proj", c.d_ff, c.d_model, "d_ff·d")] if c.activation == "swiglu" else []
    return [
        *norm(c, f"{name}.norm1"),
        *linear(f"{attention}.q_proj", c.d_model, c.d_model, "d·d", c.attn_bias),
        *linear(f"{attention}.k_proj", kv, c.d_model, kv_formula, c.attn_bias),
        *linear(f"{attention}.v_proj", kv, c.d_model, kv_formula, c.attn_bias),
        *linear(f"{attention}.out_proj", c.d_model, c.d_model, "d·d", c.attn_bias),
        *norm(c, f"{name}.norm2"),
        *linear(f"{ffn}.up_proj", c.d_ff, c.d_model, "d_ff·d", c.ffn_bias),
        *(part for entry in gate for part in linear(*entry, c.ffn_bias)),
        *linear(f"{ffn}.down_proj", c.d_model, c.d_ff, "d·d_ff", c.ffn_bias),
    ]


def norm(config: ModelConfig, name: str) -> list[Component]:
    """A LayerNorm has gain and bias, an RMSNorm only a gain."""
    parts = [Component(f"{name}.weight", (config.d_model,), "d")]
    if config.norm == "layernorm":
        parts.append(Component(f"{name}.bias", (config.d_model,), "d"))
    return parts


def linear(name: str, out: int, into: int, formula: str, bias: bool) -> list[Component]:
    """A projection (out, in) and its bias, if it has one."""
    parts = [Component(f"{name}.weight", (out, into), formula)]
    if bias:
        parts.append(Component(f"{name}.bias", (out,), formula.rpartition("·")[0]))
    return parts


def forward_flops(config: ModelConfig, batch_size: int, length: int) -> int:
    """FLOPs of one forward pass: a multiply-add is 2, scores fill the whole square T·T.

    Norms count 8 an element, softmax 5, activations 8, RoPE 6, as the tracer does.
    """
    c = config
    tokens = batch_size * length
    d, kv = c.d_model, c.n_kv_heads * c.d_head
    square = batch_size * length * length
    rope = 3 * tokens * (c.n_heads + c.n_kv_heads) * c.d_rope if c.position == "rope" else 0
    attention = 2 * tokens * d * (2 * d + 2 * kv) + 4 * square * d + 5 * square * c.n_heads
    matrices = 3 if c.activation == "swiglu" else 2
    gate = tokens * c.d_ff if c.activation == "swiglu" else 0
    ffn = 2 * tokens * d * c.d_ff * matrices + 8 * tokens * c.d_ff + gate
    per_block = 2 * 8 * tokens * d + rope + attention + ffn + 2 * tokens * d
    final = 8 * tokens * d if c.final_norm else 0
    embed = tokens * d if c.position == "learned" else 0
    return embed + c.n_layers * per_block + final + 2 * tokens * d * c.vocab_size


def training_flops(config: ModelConfig, batch_size: int, length: int) -> int:
    """FLOPs of a training step: the backward pass costs twice the forward."""
    return 3 * forward_flops(config, batch_size, length)


# How many arrays of width d_ff a layer keeps for the backward pass.
FFN_ARRAYS = {"relu": 1, "gelu": 2, "swiglu": 5, "gelu_tanh": 6}


class Memory(NamedTuple):
    """The peak memory of a training step in bytes, part by part."""

    weights: int
    gradients: int
    moments: int
    activations: int  # or the copies that the update makes, where they are more

    @property
    def resting(self) -> int:
        """What stays between two steps."""
        return self.weights + self.moments


def training_bytes(config: ModelConfig, train: TrainConfig) -> int:
    """Estimated peak memory of a training step, in bytes: within 30 % of a CPU's."""
    return sum(training_memory(config, train))


def training_memory(config: ModelConfig, train: TrainConfig) -> Memory:
    """The parts of that peak.

    It is either in the backward pass, which holds weights, gradients, two moments and the
    activations, or in the update, which holds a few more copies of the largest matrix.
    """
    c, count = config, parameter_count(config)
    tokens, number = train.batch_size * c.context_length, 2 if train.precision == "bfloat16" else 4
    scores = c.n_heads * c.context_length
    kept = tokens * (14 * c.d_model + FFN_ARRAYS[c.activation] * c.d_ff)
    kept += tokens * scores * (3 if c.dropout else 1)
    if train.grad_checkpoint:  # one layer is recomputed at a time, from its input
        kept += tokens * c.d_model * c.n_layers
    else:
        kept *= c.n_layers
    passing = tokens * (7 * c.d_ff + 2 * scores)  # in the layer that is being gone through
    logits = 3 * tokens * c.vocab_size
    backward = number * (kept + passing) + 4 * logits
    largest = max(part.count for part in one_block(c).components)
    update = 4 * (count + 3 * largest)
    return Memory(4 * count, 4 * count, 8 * count, max(backward, update))


def decoding_bytes(config: ModelConfig, length: int, number: int = 4) -> int:
    """Bytes read to sample a token after so many: every weight, and all keys and values.

    Of the tables only a row is needed, but the head reads the whole of one that it shares.
    """
    c = config
    counted = inventory(c)
    tables = counted.group("positions.") + (0 if c.tied_head else counted.group("embedding."))
    keys_and_values = 2 * c.n_layers * c.n_kv_heads * c.d_head * length
    return number * (counted.total - tables + keys_and_values)
