"""How runs differ: their settings side by side, and which of them a filter keeps."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlx_gpt.config import shown
from mlx_gpt.run import Record
from tui.feed import Glance

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}
CONDITION = re.compile(r"([\w.]+)(>=|<=|!=|>|<|=)(.+)")


def flat(config: Record) -> dict[str, Any]:
    """Every setting as section.name."""
    return {
        f"{section}.{key}": value
        for section, values in config.items()
        if isinstance(values, dict)
        for key, value in values.items()
    }


def differences(configs: Sequence[Record]) -> list[tuple[str, tuple[str, ...]]]:
    """The settings that are not the same in all, with their values."""
    tables = [flat(config) for config in configs]
    keys = list(dict.fromkeys(key for table in tables for key in table))
    rows = [(key, tuple(text(table, key) for table in tables)) for key in keys]
    return [(key, values) for key, values in rows if len(set(values)) > 1]


def text(table: Mapping[str, Any], key: str) -> str:
    """A setting as the user would write it, or a dash."""
    return shown(table[key]) if key in table else "–"


def keeps(glance: Glance, words: str) -> bool:
    """Whether a run passes a filter: each word is part of its name or state, or a condition.

    A condition compares a setting or a figure: `lr>=1e-3`, `model.n_layers=4`, `val<2`.
    """
    return all(passes(glance, word) for word in words.lower().split())


def passes(glance: Glance, word: str) -> bool:
    """Whether a run passes one word of a filter."""
    condition = CONDITION.fullmatch(word)
    if condition is None:
        return word in glance.run.name.lower() or word in glance.state
    key, comparison, wanted = condition.groups()
    value = value_of(glance, key)
    try:
        return value is not None and COMPARISONS[comparison](float(value), float(wanted))
    except (TypeError, ValueError):
        return COMPARISONS[comparison](str(value).lower(), wanted)


def misfit(glances: Sequence[Glance], words: str) -> str:
    """The first word of a filter that can keep no run whatever it has done; empty if none is."""
    for word in words.lower().split():
        condition = CONDITION.fullmatch(word)
        if condition is not None:
            key, comparison, wanted = condition.groups()
            unknown = all(value_of(glance, key) is None for glance in glances)
            if unknown or (comparison not in ("=", "!=") and not is_number(wanted)):
                return word
    return ""


def is_number(text: str) -> bool:
    """Whether a text can be compared with figures."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def value_of(glance: Glance, key: str) -> Any:
    """A figure of the run, or the setting whose name ends so."""
    figures = {
        "step": glance.step,
        "loss": glance.loss,
        "val": glance.val_loss,
        "best": glance.best,
        "state": glance.state,
    }
    if key in figures:
        return figures[key]
    settings = flat(glance.config)
    return next((v for k, v in settings.items() if k == key or k.endswith(f".{key}")), None)
