"""What the tests of other people's formats share: models of every family."""

from dataclasses import replace
from pathlib import Path

from mlx_gpt.device import mx

from mlx_gpt.config import ModelConfig
from mlx_gpt.interop.folder import Stored
from mlx_gpt.inventory import inventory

GOLDEN = Path(__file__).parent / "golden" / "interop"
BASE = ModelConfig(vocab_size=257, context_length=48, d_model=32, n_layers=2, n_heads=4)
LLAMA = replace(BASE, norm="rmsnorm", activation="swiglu", d_ff=96)

# Every family with every setting that it can express.
CONFIGS: dict[str, ModelConfig] = {
    "gpt2": replace(BASE, position="learned"),
    "gpt2-erf-nobias": replace(
        BASE, position="learned", activation="gelu", attn_bias=False, ffn_bias=False
    ),
    "gpt_neox": BASE,
    "gpt_neox-erf": replace(BASE, activation="gelu", rope_base=50000.0),
    "gpt_neox-nobias-untied": replace(BASE, attn_bias=False, tied_head=False),
    "gpt_neox-pythia": replace(BASE, tied_head=False, rope_fraction=0.25, parallel_residual=True),
    "starcoder2": replace(BASE, n_kv_heads=2, d_ff=96),
    "starcoder2-erf-nobias": replace(
        BASE, n_kv_heads=1, activation="gelu", attn_bias=False, ffn_bias=False
    ),
    "llama": replace(LLAMA, attn_bias=False, ffn_bias=False),
    "llama-bias-gqa-untied": replace(LLAMA, n_kv_heads=2, tied_head=False, rope_base=50000.0),
}


def filled(config: ModelConfig, seed: int = 0) -> Stored:
    """Random values everywhere, biases and norms too, so that a swapped one shows."""
    parts = inventory(config).components
    arrays: dict[str, mx.array] = {}
    for part, key in zip(parts, mx.random.split(mx.random.key(seed), len(parts)), strict=True):
        norm = "norm" in part.name and part.name.endswith("weight")
        scale = 0.15 if part.name.startswith(("embedding", "head")) else 0.25
        values = mx.random.normal(part.shape, key=key) * scale
        arrays[part.name] = values + 1 if norm else values
    return Stored(config, arrays)
