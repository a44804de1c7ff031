"""A run that is being planned: a preset, what differs from it, and what that would cost."""

import copy
import dataclasses
import functools
import os
import re
import statistics
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from mlx_gpt.config import (
    SECTIONS,
    Config,
    all_keys,
    build,
    load_preset,
    merge,
    parse_override,
    preset_folder,
    read_toml,
    setting_docs,
    settings_of,
    shown,
)
from mlx_gpt.errors import UserError
from mlx_gpt.inventory import Memory, parameter_count, training_flops, training_memory
from mlx_gpt.language import say
from mlx_gpt.run import Run, parsed
from tui.feed import SLICE_BYTES, Reader, last_written
from tui.i18n.settings import SETTINGS

Kind = Literal["choice", "text", "files"]
BYTE_VOCABULARY = 257
MEMORY_SHARE = 0.8  # of the machine's memory that a run may take without a warning
SPEED_RUNS = 5  # looked at to learn how fast this machine is
TYPICAL_SPEED = 6.5e10  # FLOPs a second of two CPU cores: the built-in stories in four minutes
SIMILAR = 4.0  # the ratio of sizes up to which the speed of one run tells that of another


class Field(NamedTuple):
    """A setting as a form shows it."""

    key: str
    kind: Kind
    choices: tuple[str, ...] = ()


def fields() -> list[Field]:
    """Every setting, with the way in which it is chosen."""
    return [field_of(key) for key in all_keys()]


def field_of(key: str) -> Field:
    """How one setting is chosen."""
    section, _, name = key.partition(".")
    expected = typing.get_type_hints(SECTIONS[section])[name]
    if key == "data.files":
        return Field(key, "files")
    if expected is bool:
        return Field(key, "choice", ("true", "false"))
    if typing.get_origin(expected) is Literal:
        return Field(key, "choice", tuple(map(str, typing.get_args(expected))))
    return Field(key, "text")


def meaning(key: str) -> str:
    """What a setting means, in the language of the moment."""
    return SETTINGS[key] if say.language == "es" else setting_docs()[key]


SIGNS = {"at least": "≥", "above": ">", "at most": "≤", "below": "<"}


def limits(key: str) -> tuple[str, ...]:
    """The range that a number may have, as in ≥ 0 and < 1."""
    section, _, name = key.partition(".")
    found = {
        field.name: field.metadata["limits"] for field in dataclasses.fields(SECTIONS[section])
    }
    return tuple(f"{SIGNS[words]} {limit:.12g}" for words, limit in found[name].items())


def plain(value: Any) -> str:
    """A value as one types it: text without quotes."""
    return value if isinstance(value, str) else shown(value)


@functools.cache
def preset_texts(preset: str) -> Mapping[str, str]:
    """The settings of a preset as one types them."""
    return {key: plain(value) for key, value in settings_of(load_preset(preset))}


class Draft:
    """The preset, the settings typed over it, and the name."""

    def __init__(self, preset: str) -> None:
        self.preset = preset
        self.name = ""
        self.files: tuple[str, ...] = ()
        self.typed: dict[str, str] = {}

    def choose_preset(self, preset: str) -> None:
        """Begin from another preset; what was typed stays."""
        self.preset = preset

    def type(self, key: str, text: str) -> None:
        """Set a setting; what the preset says anyway is not kept."""
        if text == preset_texts(self.preset)[key]:
            self.typed.pop(key, None)
        else:
            self.typed[key] = text

    def changed(self, key: str, text: str) -> "Draft":
        """The same draft with one more setting typed."""
        other = copy.copy(self)
        other.typed = dict(self.typed)
        other.type(key, text)
        return other

    def text(self, key: str) -> str:
        """A setting as it stands."""
        if key in self.typed:
            return self.typed[key]
        if key == "data.files":
            return ", ".join(self.files)
        return preset_texts(self.preset)[key]

    def overrides(self, keys: Iterable[str]) -> list[str]:
        """The typed settings as the command line takes them."""
        return [f"{key}={self.typed[key]}" for key in keys]

    def built(self, keys: Iterable[str]) -> Config:
        """The configuration with only these of the typed settings."""
        table = read_toml(preset_folder() / f"{self.preset}.toml")
        for line in self.overrides(keys):
            table = merge(table, parse_override(line))
        return build(table)

    def check(self) -> tuple[Config, dict[str, str]]:
        """The configuration without what is wrong, and what is wrong by setting."""
        keys, faults = list(self.typed), {}
        while True:
            try:
                return self.built(keys), faults
            except UserError as error:
                key = blamed(str(error), keys)
                faults[key] = str(error)
                keys.remove(key)

    def words(self) -> list[str]:
        """The command that starts the run, as a person would type it."""
        name = ["--name", self.name] if self.name else []
        return ["mlx-gpt", "train", self.preset, *self.files, *self.overrides(self.typed), *name]


def blamed(message: str, keys: list[str]) -> str:
    """The typed setting that a refusal is about: the first it names, else the last one typed."""
    named = re.findall(r"\b(?:model|data|train|sample)\.\w+", message)
    return next((key for key in named if key in keys), keys[-1])


class Estimate(NamedTuple):
    """What a run would cost; without a measured speed its time is that of two CPU cores."""

    parameters: int
    parts: Memory
    machine: int
    tokens: int
    seconds: float
    measured: bool

    @property
    def memory(self) -> int:
        """The most bytes that a step takes."""
        return sum(self.parts)

    @property
    def tokens_per_second(self) -> float:
        """The pace at which the run would train."""
        return self.tokens / self.seconds

    @property
    def too_large(self) -> bool:
        """Whether the run would not fit beside what else the machine does."""
        return self.machine > 0 and self.memory > MEMORY_SHARE * self.machine


def estimate(config: Config, speed: float | None) -> Estimate:
    """The cost of a run that is being planned: its tokenizer tells the vocabulary."""
    return cost_of(with_vocabulary(config), speed)


def cost_of(config: Config, speed: float | None) -> Estimate:
    """The cost of a run on a machine that does so many FLOPs a second, if that is known."""
    model, train = config.model, config.train
    windows = train.batch_size * train.grad_accumulation
    flops = training_flops(model, windows, model.context_length)
    return Estimate(
        parameters=parameter_count(model),
        parts=training_memory(model, train),
        machine=machine_memory(),
        tokens=train.steps * windows * model.context_length,
        seconds=train.steps * flops / (speed or TYPICAL_SPEED),
        measured=speed is not None,
    )


def with_vocabulary(config: Config) -> Config:
    """The configuration with the vocabulary that its tokenizer will have."""
    sizes = {"bytes": BYTE_VOCABULARY, "sentencepiece": config.data.vocab_size}
    size = sizes.get(config.data.tokenizer, config.model.vocab_size)
    model = dataclasses.replace(config.model, vocab_size=size)
    return dataclasses.replace(config, model=model)


def machine_memory() -> int:
    """The memory of this machine, in bytes; 0 where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return 0


class Pace(NamedTuple):
    """How fast a run was here: FLOPs of a token, and FLOPs a second."""

    token: float
    speed: float


def token_flops(config: Config) -> float:
    """FLOPs of training on one token."""
    model = with_vocabulary(config).model
    return training_flops(model, 1, model.context_length) / model.context_length


def pace_of(run: Run) -> Pace | None:
    """The usual pace of a run; None where it tells none."""
    lines, _ = Reader(run.metrics).lines(SLICE_BYTES)
    told = [record.get("tokens_per_second") for record in parsed(lines)]
    rates = [rate for rate in told if isinstance(rate, int | float) and rate > 0]
    try:
        token = token_flops(build(read_toml(run.config_toml)))
    except (OSError, UserError):
        return None
    return Pace(token, token * statistics.median(rates)) if rates else None


def paces_of(runs: Iterable[Run]) -> list[Pace]:
    """The paces of the newest of some runs, as far as they tell any."""
    newest = sorted(runs, key=last_written, reverse=True)[:SPEED_RUNS]
    return [pace for run in newest if (pace := pace_of(run)) is not None]


def speed_for(config: Config, paces: Iterable[Pace]) -> float | None:
    """FLOPs a second as runs of a similar size reached them here; None where there were none."""
    token = token_flops(config)
    similar = [each.speed for each in paces if 1 / SIMILAR <= each.token / token <= SIMILAR]
    return statistics.median(similar) if similar else None
