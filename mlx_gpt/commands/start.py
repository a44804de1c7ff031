"""Training on from a model: an imported one, or another run, on a text of your own."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from mlx_gpt.config import Config, ModelConfig, TrainConfig, changed, settings_of, shown
from mlx_gpt.data import Tokens
from mlx_gpt.errors import UserError
from mlx_gpt.interop.folder import (
    Stored,
    as_float32,
    cropped,
    is_model_folder,
    open_folder,
    read_config,
)
from mlx_gpt.model import load_arrays
from mlx_gpt.run import Run
from mlx_gpt.session import Session
from mlx_gpt.tokenizer import ByteTokenizer, Tokenizer

# Weights that are good already are changed slowly.
TRAIN = TrainConfig(steps=500, batch_size=8, lr=1e-4, min_lr=1e-5, warmup=20)
FREE = ("model.context_length", "model.dropout")


class Start(NamedTuple):
    """The model that a training begins with."""

    stored: Stored
    tokenizer: Tokenizer


def find_start(name: str, root: Path) -> Path | None:
    """The model folder at that path, or of that name in root; nothing for any other word."""
    folders = [Path(name)] if "/" in name else [Path(name), root / name]
    return next((folder for folder in folders if name and is_model_folder(folder)), None)


def start_config(folder: Path, overrides: Iterable[str]) -> Config:
    """The settings of a training that begins with the model in a folder."""
    before = dataclasses.replace(read_config(folder), train=TRAIN)
    data = dataclasses.replace(before.data, tokenizer=str(folder.absolute()))
    before = dataclasses.replace(before, data=data)
    after = changed(before, overrides)
    for (key, old), (_, new) in zip(settings_of(before), settings_of(after), strict=True):
        if old != new and (key.startswith("model.") or key == "data.tokenizer") and key not in FREE:
            raise UserError(
                f"{key} = {shown(new)}: a model that is trained further keeps its {shown(old)}; "
                f"only {' and '.join(FREE)} may change"
            )
    return after


def read_start(folder: Path, config: ModelConfig) -> Start:
    """The weights and the tokenizer, with as many positions as the configuration says."""
    stored, tokenizer = open_folder(folder)
    if stored.packing:
        raise UserError(f"{folder} is a quantised copy, which cannot be trained; take the original")
    return Start(cropped(stored, config.context_length), tokenizer)


def fitted(config: Config, start: Start) -> Config:
    """The configuration with what the weights decide, and with bytes named as a run names them."""
    dropout = config.model.dropout
    model = dataclasses.replace(start.stored.config, dropout=dropout)
    bytewise = isinstance(start.tokenizer, ByteTokenizer)
    tokenizer = "bytes" if bytewise else config.data.tokenizer
    data = dataclasses.replace(config.data, tokenizer=tokenizer)
    return dataclasses.replace(config, model=model, data=data)


def keep_start(run: Run, config: Config, tokens: Tokens, start: Start) -> None:
    """Save the weights as checkpoint 0, from which the run goes on, now or after a kill."""
    session = Session(run, config, tokens, start.tokenizer)
    arrays = {name: as_float32(array) for name, array in start.stored.arrays.items()}
    load_arrays(session.learner.model, arrays)
    session.learner.load(arrays, session.learner.optimizer_arrays())
    session.save()
