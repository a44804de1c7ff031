"""A run that is being planned: a preset, what differs from it, and what that would cost."""

import copy
import dataclasses
import functools
import os
import re
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
from mlx_gpt.inventory import Memory, parameter_count, training_memory
from mlx_gpt.language import say
from tui.i18n.settings import SETTINGS
from tui.pace import step_seconds, tokens_per_step, with_vocabulary

Kind = Literal["choice", "text", "files"]
MEMORY_SHARE = 0.8  # of the machine's memory that a run may take without a warning


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
    """The cost of a run on a machine so many times as fast as two CPU cores, if that is known."""
    model, train = config.model, config.train
    return Estimate(
        parameters=parameter_count(model),
        parts=training_memory(model, train),
        machine=machine_memory(),
        tokens=train.steps * tokens_per_step(config),
        seconds=train.steps * step_seconds(config) / (speed or 1.0),
        measured=speed is not None,
    )


def machine_memory() -> int:
    """The memory of this machine, in bytes; 0 where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return 0
