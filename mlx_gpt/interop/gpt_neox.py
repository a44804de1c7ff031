"""GPT-NeoX and Pythia: RoPE, LayerNorm; q, k and v interleaved head by head in one matrix."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from mlx_gpt.device import mx

from mlx_gpt.config import ModelConfig
from mlx_gpt.interop import fields
from mlx_gpt.interop.layout import Arrays, Given, Names, fuse, unfuse
from mlx_gpt.interop.layout import with_biases as filled

NAMES = Names(
    layers="gpt_neox.layers.{}",
    outer={
        "embedding": "gpt_neox.embed_in",
        "final_norm": "gpt_neox.final_layer_norm",
        "head": "embed_out",
    },
    inner={
        "norm1": "input_layernorm",
        "attention.qkv": "attention.query_key_value",
        "attention.out_proj": "attention.dense",
        "norm2": "post_attention_layernorm",
        "feed_forward.up_proj": "mlp.dense_h_to_4h",
        "feed_forward.down_proj": "mlp.dense_4h_to_h",
    },
)
ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu"}


def to_hf(config: ModelConfig, arrays: Given) -> Arrays:
    """Our arrays in GPT-NeoX's layout, which always has biases and a head of its own."""
    fused = fuse(filled(config, arrays), partial(interleave, n_heads=config.n_heads))
    # mlx_lm and llama.cpp look for the head even where it is tied.
    heads = {name: fused[name.replace("head", "embedding")] for name in head_names(fused)}
    return NAMES.all_theirs(fused | heads)


def head_names(arrays: Given) -> list[str]:
    """The arrays that the head must have and has not."""
    leaves = [name.partition(".")[2] for name in arrays if name.startswith("embedding.")]
    return [f"head.{leaf}" for leaf in leaves if f"head.{leaf}" not in arrays]


def from_hf(config: ModelConfig, arrays: Given) -> Arrays:
    """GPT-NeoX's arrays in our layout."""
    return unfuse(NAMES.all_ours(arrays), partial(separate, n_heads=config.n_heads))


def interleave(parts: Sequence[mx.array], n_heads: int) -> mx.array:
    """Rows q, k, v of head 0, then of head 1, and so on."""
    by_head = [part.reshape(n_heads, -1, *part.shape[1:]) for part in parts]
    return mx.stack(by_head, axis=1).reshape(-1, *parts[0].shape[1:])


def separate(array: mx.array, n_heads: int) -> list[mx.array]:
    """The other way round."""
    by_head = array.reshape(n_heads, 3, -1, *array.shape[1:])
    return [by_head[:, i].reshape(-1, *array.shape[1:]) for i in range(3)]


def config_to_hf(config: ModelConfig) -> dict[str, Any]:
    """GPT-NeoX's words for the configuration, the rotary settings in both spellings."""
    return {
        "architectures": ["GPTNeoXForCausalLM"],
        "model_type": "gpt_neox",
        "attention_bias": True,
        "attention_dropout": config.dropout,
        "hidden_act": ACTIVATIONS[config.activation],
        "hidden_dropout": config.dropout,
        "hidden_size": config.d_model,
        "intermediate_size": config.d_ff,
        "layer_norm_eps": config.norm_eps,
        "max_position_embeddings": config.context_length,
        "num_attention_heads": config.n_heads,
        "num_hidden_layers": config.n_layers,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": config.rope_base,
            "partial_rotary_factor": config.rope_fraction,
        },
        "rotary_emb_base": config.rope_base,
        "rotary_pct": config.rope_fraction,
        "tie_word_embeddings": config.tied_head,
        "use_parallel_residual": config.parallel_residual,
        "vocab_size": config.vocab_size,
    }


def config_from_hf(table: fields.Table) -> ModelConfig:
    """The configuration in our words."""
    fields.check_heads(table, "hidden_size", "num_attention_heads")
    base, fraction = fields.rope(table, "rotary_emb_base", "rotary_pct", 0.25)
    return ModelConfig(
        vocab_size=fields.whole(table, "vocab_size"),
        context_length=fields.whole(table, "max_position_embeddings"),
        d_model=fields.whole(table, "hidden_size"),
        n_layers=fields.whole(table, "num_hidden_layers"),
        n_heads=fields.whole(table, "num_attention_heads"),
        d_ff=fields.whole(table, "intermediate_size"),
        norm_eps=fields.number(table, "layer_norm_eps", 1e-5),
        activation=fields.activation(table, "hidden_act", "gelu"),
        attn_bias=fields.flag(table, "attention_bias", True),
        tied_head=fields.flag(table, "tie_word_embeddings", False),
        rope_base=base,
        rope_fraction=fraction,
        parallel_residual=fields.flag(table, "use_parallel_residual", True),
    )
