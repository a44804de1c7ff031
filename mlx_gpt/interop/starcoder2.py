"""StarCoder2: RoPE, LayerNorm, GELU, fewer K/V heads than query heads."""

from typing import Any

from mlx_gpt.config import ModelConfig
from mlx_gpt.interop import fields
from mlx_gpt.interop.layout import Arrays, Given, Names
from mlx_gpt.interop.layout import with_biases as filled

NAMES = Names(
    layers="model.layers.{}",
    outer={"embedding": "model.embed_tokens", "final_norm": "model.norm", "head": "lm_head"},
    inner={
        "norm1": "input_layernorm",
        "attention.q_proj": "self_attn.q_proj",
        "attention.k_proj": "self_attn.k_proj",
        "attention.v_proj": "self_attn.v_proj",
        "attention.out_proj": "self_attn.o_proj",
        "norm2": "post_attention_layernorm",
        "feed_forward.up_proj": "mlp.c_fc",
        "feed_forward.down_proj": "mlp.c_proj",
    },
)
ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_pytorch_tanh", "relu": "relu"}


def to_hf(config: ModelConfig, arrays: Given) -> Arrays:
    """Our arrays under StarCoder2's names, with biases everywhere."""
    return NAMES.all_theirs(filled(config, arrays))


def from_hf(config: ModelConfig, arrays: Given) -> Arrays:
    """StarCoder2's arrays under our names."""
    return NAMES.all_ours(arrays)


def config_to_hf(config: ModelConfig) -> dict[str, Any]:
    """StarCoder2's words for the configuration, the rotary base in both places."""
    return {
        "architectures": ["Starcoder2ForCausalLM"],
        "model_type": "starcoder2",
        "attention_dropout": config.dropout,
        "embedding_dropout": config.dropout,
        "hidden_act": ACTIVATIONS[config.activation],
        "hidden_size": config.d_model,
        "intermediate_size": config.d_ff,
        "max_position_embeddings": config.context_length,
        "norm_epsilon": config.norm_eps,
        "num_attention_heads": config.n_heads,
        "num_hidden_layers": config.n_layers,
        "num_key_value_heads": config.n_kv_heads,
        "residual_dropout": config.dropout,
        "rope_parameters": {"rope_type": "default", "rope_theta": config.rope_base},
        "rope_theta": config.rope_base,
        "sliding_window": None,
        "tie_word_embeddings": config.tied_head,
        "use_bias": True,
        "vocab_size": config.vocab_size,
    }


def config_from_hf(table: fields.Table) -> ModelConfig:
    """The configuration in our words."""
    fields.check_heads(table, "hidden_size", "num_attention_heads")
    bias = fields.flag(table, "use_bias", True)
    return ModelConfig(
        vocab_size=fields.whole(table, "vocab_size"),
        context_length=fields.whole(table, "max_position_embeddings", 4096),
        d_model=fields.whole(table, "hidden_size"),
        n_layers=fields.whole(table, "num_hidden_layers"),
        n_heads=fields.whole(table, "num_attention_heads"),
        n_kv_heads=fields.whole(table, "num_key_value_heads", 2),
        d_ff=fields.whole(table, "intermediate_size"),
        norm_eps=fields.number(table, "norm_epsilon", 1e-5),
        activation=fields.activation(table, "hidden_act", "gelu_pytorch_tanh"),
        attn_bias=bias,
        ffn_bias=bias,
        tied_head=fields.flag(table, "tie_word_embeddings", True),
        rope_base=fields.rope(table, "rope_theta").base,
    )
