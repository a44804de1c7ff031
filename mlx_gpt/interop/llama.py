"""Llama and its kin (SmolLM2, TinyLlama): RoPE, RMSNorm, SwiGLU, perhaps fewer K/V heads."""

from typing import Any

from mlx_gpt.config import ModelConfig
from mlx_gpt.interop import fields
from mlx_gpt.interop.layout import Arrays, Given, Names

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
        "feed_forward.gate_proj": "mlp.gate_proj",
        "feed_forward.up_proj": "mlp.up_proj",
        "feed_forward.down_proj": "mlp.down_proj",
    },
)


def to_hf(config: ModelConfig, arrays: Given) -> Arrays:
    """Our arrays under Llama's names."""
    return NAMES.all_theirs(arrays)


def from_hf(config: ModelConfig, arrays: Given) -> Arrays:
    """Llama's arrays under our names."""
    return NAMES.all_ours(arrays)


def config_to_hf(config: ModelConfig) -> dict[str, Any]:
    """Llama's words for the configuration, the rotary base in both places."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "attention_bias": config.attn_bias,
        "attention_dropout": config.dropout,
        "head_dim": config.d_head,
        "hidden_act": "silu",
        "hidden_size": config.d_model,
        "intermediate_size": config.d_ff,
        "max_position_embeddings": config.context_length,
        "mlp_bias": config.ffn_bias,
        "num_attention_heads": config.n_heads,
        "num_hidden_layers": config.n_layers,
        "num_key_value_heads": config.n_kv_heads,
        "rms_norm_eps": config.norm_eps,
        "rope_parameters": {"rope_type": "default", "rope_theta": config.rope_base},
        "rope_theta": config.rope_base,
        "tie_word_embeddings": config.tied_head,
        "vocab_size": config.vocab_size,
    }


def config_from_hf(table: fields.Table) -> ModelConfig:
    """The configuration in our words."""
    fields.check_heads(table, "hidden_size", "num_attention_heads")
    n_heads = fields.whole(table, "num_attention_heads")
    fields.check_head(table, fields.whole(table, "hidden_size") // n_heads)
    if table.get("hidden_act", "silu") != "silu":
        fields.refuse("hidden_act", table["hidden_act"], "a Llama is known here with silu only")
    return ModelConfig(
        vocab_size=fields.whole(table, "vocab_size"),
        context_length=fields.whole(table, "max_position_embeddings", 2048),
        d_model=fields.whole(table, "hidden_size"),
        n_layers=fields.whole(table, "num_hidden_layers"),
        n_heads=n_heads,
        n_kv_heads=fields.whole(table, "num_key_value_heads", n_heads),
        d_ff=fields.whole(table, "intermediate_size"),
        norm="rmsnorm",
        norm_eps=fields.number(table, "rms_norm_eps", 1e-6),
        activation="swiglu",
        attn_bias=fields.flag(table, "attention_bias", False),
        ffn_bias=fields.flag(table, "mlp_bias", False),
        tied_head=fields.flag(table, "tie_word_embeddings", False),
        rope_base=fields.rope(table, "rope_theta").base,
    )
