"""A setting of a run that is being planned, on a card: its range, and what another value costs."""

from collections.abc import Sequence

from mlx_gpt.config import Config
from tui.cards import Card, formula_of
from tui.draft import Draft, estimate, field_of, limits, meaning
from tui.i18n import t

SETTING_WORDS = {
    "model.d_model": "stream",
    "model.n_heads": "head",
    "model.n_kv_heads": "attention",
    "model.causal": "attention",
    "model.rope_base": "rope",
    "model.rope_fraction": "rope",
    "train.steps": "step",
    "train.batch_size": "step",
    "train.grad_accumulation": "step",
    "train.lr": "learning_rate",
    "train.min_lr": "learning_rate",
    "train.beta1": "moments",
    "train.beta2": "moments",
    "train.grad_clip": "grad_norm",
    "sample.temperature": "temperature",
    "sample.top_k": "top_k",
    "sample.top_p": "top_p",
    "sample.min_p": "min_p",
    "sample.repetition_penalty": "repetition_penalty",
    "sample.max_tokens": "max_tokens",
}  # whose formula a setting has


def setting_card(draft: Draft, key: str) -> Card:
    """A setting of a run that is being planned: what may be chosen, and what that changes."""
    formula = formula_of(SETTING_WORDS.get(key, ""))
    choices = " · ".join(field_of(key).choices or limits(key))
    allowed = t("card.allowed", choices=choices) if choices else ""
    preset = t("card.preset", value=Draft(draft.preset).text(key) or "–")
    return Card(key, formula, meaning(key), (allowed, preset, cost_line(draft, key)))


def cost_line(draft: Draft, key: str) -> str:
    """How the cost would change with another value; nothing where it would not."""
    value = another(draft.text(key), field_of(key).choices)
    if not value:
        return ""
    config, _ = draft.check()
    other, faults = draft.changed(key, value).check()
    if faults:
        return ""
    times = {name: f"×{ratio:.3g}" for name, ratio in ratios(config, other).items()}
    changes = " · ".join(f"{name} {ratio}" for name, ratio in times.items() if ratio != "×1")
    return t("card.other", value=value, changes=changes) if changes else ""


def another(value: str, choices: Sequence[str]) -> str:
    """The choice after a value, or twice a whole number; nothing where there is neither."""
    if choices:
        return choices[(choices.index(value) + 1) % len(choices)] if value in choices else ""
    return str(2 * int(value)) if value.isdecimal() and int(value) else ""


def ratios(config: Config, other: Config) -> dict[str, float]:
    """How many times as much the other run would cost."""
    now, then = estimate(config, None), estimate(other, None)
    return {
        t("new.parameters"): then.parameters / now.parameters,
        t("new.memory"): then.memory / now.memory,
        t("new.time"): then.seconds / now.seconds,
    }
