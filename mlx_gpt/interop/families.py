"""The families of models that others know, and which of them a configuration belongs to."""

from collections.abc import Callable
from typing import Any, NamedTuple

from mlx_gpt.config import ModelConfig
from mlx_gpt.errors import UserError
from mlx_gpt.interop import fields, gpt2, gpt_neox, llama, starcoder2
from mlx_gpt.interop.layout import Arrays, Given, Names


class Family(NamedTuple):
    """How to write a model as others know it, and how to read theirs."""

    name: str
    names: Names
    to_hf: Callable[[ModelConfig, Given], Arrays]
    from_hf: Callable[[ModelConfig, Given], Arrays]
    config_to_hf: Callable[[ModelConfig], dict[str, Any]]
    config_from_hf: Callable[[fields.Table], ModelConfig]


FAMILIES: dict[str, Family] = {
    name: Family(
        name,
        module.NAMES,
        module.to_hf,
        module.from_hf,
        module.config_to_hf,
        module.config_from_hf,
    )
    for name, module in (
        ("gpt2", gpt2),
        ("gpt_neox", gpt_neox),
        ("llama", llama),
        ("starcoder2", starcoder2),
    )
}


class Setting(NamedTuple):
    """A setting and the value that others need, as in norm_order = pre."""

    key: str
    value: object


def needed_of(config: ModelConfig) -> tuple[str, list[Setting]]:
    """The family nearest to a configuration, and what a member of it must have."""
    always = [Setting("norm_order", "pre"), Setting("causal", True), Setting("final_norm", True)]
    if config.norm == "rmsnorm":
        llama_like = [Setting("activation", "swiglu"), Setting("rope_fraction", 1.0)]
        llama_like.append(Setting("parallel_residual", False))
        return "llama", [*always, Setting("position", "rope"), *llama_like]
    if config.position == "learned":
        settings = [Setting("tied_head", True), Setting("n_kv_heads", config.n_heads)]
        return "gpt2", [*always, *settings, Setting("parallel_residual", False)]
    if config.n_kv_heads == config.n_heads:
        return "gpt_neox", [*always, Setting("position", "rope")]
    settings = [Setting("rope_fraction", 1.0), Setting("parallel_residual", False)]
    return "starcoder2", [*always, Setting("position", "rope"), *settings]


def blocking(config: ModelConfig) -> str:
    """The setting that no family has, with the reason; nothing when there is a family."""
    name, settings = needed_of(config)
    for key, value in settings:
        if getattr(config, key) != value:
            return (
                f"model.{key} = {fields.shown(getattr(config, key))} (a {name} model has {value})"
            )
    if config.norm == "layernorm" and config.activation == "swiglu":
        return f'model.activation = "swiglu" with model.norm = "layernorm" (a {name} has no gate)'
    return ""


def family_of(config: ModelConfig) -> Family | None:
    """The family that a configuration belongs to, if any."""
    return None if blocking(config) else FAMILIES[needed_of(config)[0]]


def require_family(config: ModelConfig) -> Family:
    """The family of a configuration; refused by the setting that blocks it."""
    if blocker := blocking(config):
        raise UserError(
            f"no family of models that others read has {blocker}; "
            "--to safetensors keeps such a model under our own names"
        )
    return FAMILIES[needed_of(config)[0]]


def family_named(model_type: object) -> Family:
    """The family that a foreign config.json names."""
    if model_type not in FAMILIES:
        fields.unknown("model_type", model_type, FAMILIES)
    return FAMILIES[str(model_type)]
