"""GPT-2: learned positions; q, k and v in one matrix; every linear layer transposed (Conv1D)."""

from typing import Any

from mlx_gpt.device import mx

from mlx_gpt.config import ModelConfig
from mlx_gpt.interop import fields
from mlx_gpt.interop.layout import Arrays, Given, Names, cut_rows, fuse, stack_rows, unfuse
from mlx_gpt.interop.layout import with_biases as filled

NAMES = Names(
    layers="h.{}",
    outer={"embedding": "wte", "positions": "wpe", "final_norm": "ln_f", "head": "lm_head"},
    inner={
        "norm1": "ln_1",
        "attention.qkv": "attn.c_attn",
        "attention.out_proj": "attn.c_proj",
        "norm2": "ln_2",
        "feed_forward.up_proj": "mlp.c_fc",
        "feed_forward.down_proj": "mlp.c_proj",
    },
)
ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu"}


def to_hf(config: ModelConfig, arrays: Given) -> Arrays:
    """Our arrays in GPT-2's layout, which always has biases."""
    return transposed(NAMES.all_theirs(fuse(filled(config, arrays), stack_rows)))


def from_hf(config: ModelConfig, arrays: Given) -> Arrays:
    """GPT-2's arrays in our layout."""
    return unfuse(NAMES.all_ours(transposed(arrays)), cut_rows)


def transposed(arrays: Given) -> Arrays:
    """Linear layers as (in, out) instead of (out, in), or back; quantised ones are never turned."""
    return {
        name: mx.contiguous(array.T) if is_conv1d(name, arrays) else array
        for name, array in arrays.items()
    }


def is_conv1d(name: str, arrays: Given) -> bool:
    """Whether an array is the matrix of a Conv1D."""
    layer = name.removesuffix(".weight")
    return layer.endswith(("c_attn", "c_proj", "c_fc")) and f"{layer}.scales" not in arrays


def config_to_hf(config: ModelConfig) -> dict[str, Any]:
    """GPT-2's words for the configuration."""
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "activation_function": ACTIVATIONS[config.activation],
        "attn_pdrop": config.dropout,
        "embd_pdrop": config.dropout,
        "layer_norm_epsilon": config.norm_eps,
        "n_ctx": config.context_length,  # mlx_lm requires it
        "n_embd": config.d_model,
        "n_head": config.n_heads,
        "n_inner": config.d_ff,
        "n_layer": config.n_layers,
        "n_positions": config.context_length,
        "resid_pdrop": config.dropout,
        "tie_word_embeddings": True,
        "vocab_size": config.vocab_size,
    }


def config_from_hf(table: fields.Table) -> ModelConfig:
    """The configuration in our words."""
    fields.check_heads(table, "n_embd", "n_head")
    return ModelConfig(
        vocab_size=fields.whole(table, "vocab_size"),
        context_length=fields.whole(table, "n_positions"),
        d_model=fields.whole(table, "n_embd"),
        n_layers=fields.whole(table, "n_layer"),
        n_heads=fields.whole(table, "n_head"),
        d_ff=fields.whole(table, "n_inner", 4 * fields.whole(table, "n_embd")),
        position="learned",
        norm_eps=fields.number(table, "layer_norm_epsilon", 1e-5),
        activation=fields.activation(table, "activation_function", "gelu_new"),
        tied_head=fields.flag(table, "tie_word_embeddings", True),
    )
