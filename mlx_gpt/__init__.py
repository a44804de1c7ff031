"""One GPT in MLX: train it, sample it and look inside.

The public names are loaded when they are first used, so that importing the package is free.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlx_gpt.config import Config, ModelConfig, SampleConfig, TrainConfig, load_preset
    from mlx_gpt.errors import UserError
    from mlx_gpt.model import GPT, KVCache
    from mlx_gpt.run import Run
    from mlx_gpt.sampling import generate
    from mlx_gpt.tokenizer import (
        ByteTokenizer,
        Decoder,
        SentencePieceTokenizer,
        Tokenizer,
        load_tokenizer,
    )
    from mlx_gpt.tracer import trace
    from mlx_gpt.traces import Trace

__version__ = "0.1.0"
__all__ = [
    "GPT",
    "ByteTokenizer",
    "Config",
    "Decoder",
    "KVCache",
    "ModelConfig",
    "Run",
    "SampleConfig",
    "SentencePieceTokenizer",
    "Tokenizer",
    "Trace",
    "TrainConfig",
    "UserError",
    "generate",
    "load_preset",
    "load_tokenizer",
    "trace",
]

HOMES = {
    "config": ("Config", "ModelConfig", "SampleConfig", "TrainConfig", "load_preset"),
    "errors": ("UserError",),
    "model": ("GPT", "KVCache"),
    "run": ("Run",),
    "sampling": ("generate",),
    "tokenizer": (
        "ByteTokenizer",
        "Decoder",
        "SentencePieceTokenizer",
        "Tokenizer",
        "load_tokenizer",
    ),
    "tracer": ("trace",),
    "traces": ("Trace",),
}


def __getattr__(name: str) -> object:
    """Load a public name from the module where it lives."""
    for home, names in HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__} has no attribute {name}")
