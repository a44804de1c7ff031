"""A run folder with a small model in it, made in a moment: loud weights, single bytes as tokens."""

from pathlib import Path

from mlx_gpt.device import mx

import numpy as np
from mlx.utils import tree_flatten

from mlx_gpt import checkpoint
from mlx_gpt.config import Config, DataConfig, ModelConfig, TrainConfig, dump
from mlx_gpt.model import GPT, load_arrays
from mlx_gpt.run import Run, append
from mlx_gpt.tokenizer import ByteTokenizer

CONFIG = ModelConfig(vocab_size=257, context_length=16, d_model=12, n_layers=2, n_heads=3, d_ff=20)


def weights(config: ModelConfig = CONFIG, seed: int = 0) -> dict[str, mx.array]:
    """Every parameter moved, so that none hides a mistake."""
    chance = np.random.default_rng(seed)
    arrays: dict[str, mx.array] = dict(tree_flatten(GPT(config).parameters(), destination={}))
    return {
        name: array + mx.array(chance.normal(scale=0.3, size=array.shape).astype(np.float32))
        for name, array in arrays.items()
    }


def small_gpt(config: ModelConfig = CONFIG, seed: int = 0) -> GPT:
    """The model itself."""
    model = GPT(config)
    load_arrays(model, weights(config, seed))
    return model


def small_run(
    root: Path,
    name: str = "small",
    *,
    steps: tuple[int, ...] = (10,),
    model: ModelConfig = CONFIG,
) -> Run:
    """A run whose checkpoints hold that model, each with weights of its own."""
    run = Run(root / name)
    run.path.mkdir(parents=True)
    tokenizer = ByteTokenizer()
    config = Config(model=model, data=DataConfig(tokenizer="bytes"), train=TrainConfig(steps=20))
    run.config_toml.write_text(dump(config), encoding="utf-8")
    run.data_json.write_text("{}", encoding="utf-8")
    append(run.events, {"kind": "started", "time": 1.0, "step": 0, "steps": 20})
    state = {"tokenizer": tokenizer.fingerprint}
    for step in steps:
        optimizer = {"step": mx.array(step)}
        arrays = weights(model, seed=step)
        checkpoint.save(run, step, arrays, optimizer, state, best=step == steps[0], keep_last=9)
    return run
