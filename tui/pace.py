"""How long a step takes: by formula on two CPU cores, and how many times as fast runs were here."""

import dataclasses
import statistics
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from mlx_gpt.config import Config, TrainConfig, build, read_toml
from mlx_gpt.errors import UserError
from mlx_gpt.inventory import training_flops, training_memory
from mlx_gpt.run import Run, parsed
from tui.feed import SLICE_BYTES, Reader, last_written, number

BYTE_VOCABULARY = 257
# Fitted to compiled steps of models of 0.1 to 11 million parameters on the cores of docs/speed.md.
FLOP_SECONDS = 5.25e-12
BYTE_SECONDS = 2.45e-10  # for each byte of activations
BLOCK_SECONDS = 6e-3
PLAIN = 2.5  # times as long without mx.compile
WORTH_COMPILING = 60.0  # seconds of training without it, as in mlx_gpt.device
SPEED_RUNS = 5  # looked at to learn how fast this machine is
SLOWEST, FASTEST = 1e-3, 1e12  # tokens a second that a machine may have reached
SIMILAR = 4.0  # the ratio of sizes up to which the speed of one run tells that of another


class Pace(NamedTuple):
    """How fast a run was here: FLOPs of a token, and how many times as fast as two CPU cores."""

    token: float
    speed: float


def with_vocabulary(config: Config) -> Config:
    """The configuration with the vocabulary that its tokenizer will have."""
    sizes = {"bytes": BYTE_VOCABULARY, "sentencepiece": config.data.vocab_size}
    size = sizes.get(config.data.tokenizer, config.model.vocab_size)
    model = dataclasses.replace(config.model, vocab_size=size)
    return dataclasses.replace(config, model=model)


def tokens_per_step(config: Config) -> int:
    """The tokens that a step learns from."""
    train = config.train
    return train.batch_size * train.grad_accumulation * config.model.context_length


def step_seconds(config: Config) -> float:
    """The time of a step on two CPU cores."""
    model, train = config.model, config.train
    seconds = train.grad_accumulation * (
        FLOP_SECONDS * training_flops(model, train.batch_size, model.context_length)
        + BYTE_SECONDS * training_memory(model, train).activations
        + BLOCK_SECONDS * model.n_layers
    )
    return seconds if is_compiled(train, PLAIN * seconds) else PLAIN * seconds


def is_compiled(train: TrainConfig, plain_seconds: float) -> bool:
    """Whether a step that would take so long without is compiled."""
    if train.compile == "auto":
        return train.steps * plain_seconds > WORTH_COMPILING
    return train.compile == "on"


@lru_cache(2 * SPEED_RUNS)
def pace_of(folder: Path, written: float) -> Pace | None:
    """The usual pace of a run that wrote last at this time; None where it tells none."""
    run = Run(folder)
    lines, _ = Reader(run.metrics).lines(SLICE_BYTES)
    told = [number(record.get("tokens_per_second")) for record in parsed(lines)]
    rates = [rate for rate in told if SLOWEST < rate < FASTEST]
    try:
        config = build(read_toml(run.config_toml))
    except (OSError, UserError):
        return None
    seconds = step_seconds(config) / tokens_per_step(config)
    return Pace(token_flops(config), statistics.median(rates) * seconds) if rates else None


def token_flops(config: Config) -> float:
    """FLOPs of training on one token."""
    length = config.model.context_length
    return training_flops(config.model, 1, length) / length


def paces_of(runs: Iterable[Run]) -> list[Pace]:
    """The paces of the newest of some runs, as far as they tell any."""
    newest = sorted(((last_written(run), run.path) for run in runs), reverse=True)[:SPEED_RUNS]
    paces = (pace_of(folder, written) for written, folder in newest)
    return [pace for pace in paces if pace is not None]


def speed_for(config: Config, paces: Iterable[Pace]) -> float | None:
    """How many times as fast as two CPU cores runs of a similar size were here; None without any.

    Sizes matter, for a GPU gains more from a large model than from a small one.
    """
    token = token_flops(config)
    similar = [each.speed for each in paces if 1 / SIMILAR <= each.token / token <= SIMILAR]
    return statistics.median(similar) if similar else None
