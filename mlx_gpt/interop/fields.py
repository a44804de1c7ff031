"""Reading somebody else's config.json: every value checked, every refusal by the field's name."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn

from mlx_gpt.config import nearest, one_of, shown
from mlx_gpt.errors import UserError

Table = Mapping[str, Any]
Activation = Literal["gelu", "gelu_tanh", "relu", "swiglu"]

OURS: dict[str, Activation] = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "relu": "relu",
}

# What changes the computation, and the values under which it does not.
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "add_cross_attention": (None, False),
    "alibi": (None, False),
    "attention_multiplier": (None,),
    "attn_logit_softcapping": (None,),
    "embedding_multiplier": (None, 1),
    "final_logit_softcapping": (None,),
    "logit_scale": (None, 1),
    "logits_scaling": (None, 1),
    "num_experts": (None, 0, 1),
    "num_local_experts": (None, 0, 1),
    "qk_layernorm": (None, False),
    "qk_norm": (None, False),
    "quantization_config": (None,),
    "residual_multiplier": (None, 1),
    "scale_attn_by_inverse_layer_idx": (None, False),
    "scale_attn_weights": (None, True),
    "use_qk_norm": (None, False),
}


class Rope(NamedTuple):
    """The rotary settings of a foreign model."""

    base: float
    fraction: float


def refuse(key: str, value: Any, why: str) -> NoReturn:
    """Say which field of a foreign file stands in the way."""
    raise UserError(f"{key} = {shown(value)}: {why}")


def read_json(path: Path) -> dict[str, Any]:
    """The table in a JSON file."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"there is no {path}; give the folder of a model") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UserError(f"{path} is not valid JSON; get the file again") from None
    if not isinstance(table, dict):
        raise UserError(f"{path} holds no JSON object; get the file again")
    return table


def whole(table: Table, key: str, default: int | None = None) -> int:
    """A whole number above zero; null stands for the default."""
    value = table.get(key)
    value = default if value is None else value
    if value is None:
        raise UserError(f"the model's configuration lacks {key}; get the file again")
    if type(value) is not int or not 0 < value < 1 << 31:
        refuse(key, value, "must be a whole number above 0")
    return value


def number(table: Table, key: str, default: float) -> float:
    """A number above zero; null stands for the default."""
    value = table.get(key)
    value = default if value is None else value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e18:
        refuse(key, value, "must be a number above 0")
    return float(value)


def flag(table: Table, key: str, default: bool) -> bool:
    """True or false; null stands for the default."""
    value = table.get(key)
    value = default if value is None else value
    if not isinstance(value, bool):
        refuse(key, value, "must be true or false")
    return value


def activation(table: Table, key: str, default: str) -> Activation:
    """Our name of an activation."""
    value = table.get(key, default)
    if value not in OURS:
        refuse(key, value, f"this activation is not known here; known are {one_of(OURS)}")
    return OURS[value]


def rope(table: Table, base_key: str, fraction_key: str = "", fraction: float = 1.0) -> Rope:
    """The rotary settings, from the old place, the new one (`rope_parameters`), or both."""
    scaling = table_of(table, "rope_scaling")
    parameters = table_of(table, "rope_parameters")
    for name, entry in (("rope_scaling", scaling), ("rope_parameters", parameters)):
        kind = entry.get("rope_type", entry.get("type", "default"))
        if kind != "default":
            refuse(name, entry, "scaled rotary positions cannot be represented")
        if any(isinstance(value, dict) for value in entry.values()):
            refuse(name, entry, "rotary positions that differ by layer cannot be represented")
    if "partial_rotary_factor" in table:  # transformers 4 writes it here
        parameters = {"partial_rotary_factor": table["partial_rotary_factor"], **parameters}
    base = agreed(table, base_key, parameters, "rope_theta", 10000.0)
    share = agreed(table, fraction_key, parameters, "partial_rotary_factor", fraction)
    if not fraction_key and share != 1:
        refuse("partial_rotary_factor", share, "partly rotary heads cannot be represented here")
    return Rope(base, share)


def table_of(table: Table, key: str) -> Table:
    """A table within the table; null stands for an empty one."""
    value = table.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        refuse(key, value, "must be a table")
    return value


def agreed(old: Table, old_key: str, new: Table, new_key: str, default: float) -> float:
    """A number that may stand in two places, which must not contradict each other."""
    first = number(old, old_key, default)
    second = number(new, new_key, first)
    if old.get(old_key) is not None and first != second:
        refuse(old_key, first, f"rope_parameters.{new_key} = {second} contradicts it")
    return second


def check_neutral(table: Table, context_length: int) -> None:
    """Refuse a setting that our model has no counterpart for."""
    for key, allowed in NEUTRAL.items():
        value = table.get(key)
        if not any(value is each or value == each for each in allowed):
            refuse(key, value, "this cannot be represented")
    window = table.get("sliding_window")
    used = table.get("use_sliding_window", True)
    if used and isinstance(window, int) and window < context_length:
        refuse(
            "sliding_window",
            window,
            "sliding windows cannot be represented; within the first window they make no "
            f"difference, so import it with --context {window}",
        )
    kinds = table.get("layer_types") or ()
    if any(kind == "chunked_attention" or "linear" in str(kind) for kind in kinds):
        refuse("layer_types", kinds, "only full attention can be represented")


def check_head(table: Table, d_head: int) -> None:
    """Refuse heads of another width than d_model / n_heads."""
    if whole(table, "head_dim", d_head) != d_head:
        refuse("head_dim", table["head_dim"], f"must be hidden_size / heads = {d_head}")


def check_heads(table: Table, width_key: str, heads_key: str) -> None:
    """Refuse a width that the heads do not divide, in the file's own words."""
    if whole(table, width_key) % whole(table, heads_key):
        refuse(heads_key, table[heads_key], f"does not divide {width_key} = {table[width_key]}")


def unknown(key: str, value: object, known: Iterable[str]) -> NoReturn:
    """Refuse a name that is none of those known."""
    names = list(known)
    hint = nearest(str(value), names)
    refuse(key, value, f"not known here{hint} (known are {one_of(names)})")
