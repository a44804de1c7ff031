"""Which curves of a run a chart shows."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from mlx_gpt.run import Record
from tui.feed import Feed, number, whole
from tui.i18n import t
from tui.plot import Figure, Look, Reference, Series, Unit, ema, view_of

METRICS = ("loss", "lr", "grad_norm", "tokens_per_second", "memory")
WEIGHTS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995)


def figure(feed: Feed, metric: str, weight: float) -> Figure:
    """A chart of one metric."""
    drawn = FIGURES.get(metric, mean_figure)(feed, metric, weight)
    return drawn._replace(title=t(f"metric.{metric}"), step=t("chart.step"))


def mean_figure(feed: Feed, metric: str, weight: float) -> Figure:
    """A metric as it was logged, and its mean."""
    steps, values = feed.steps["step"], feed.steps[metric]
    mean = Series(smoothed(t("chart.mean"), weight), "train", steps, ema(values, weight))
    return Figure("", (Series("", "band", steps, values), mean))


def rate_figure(feed: Feed, metric: str, _: float) -> Figure:
    """A metric that is set, not measured."""
    return Figure("", (Series(t("chart.set"), "train", feed.steps["step"], feed.steps[metric]),))


def untold(shown: Figure) -> Figure:
    """A figure whose title tells no values."""
    return shown._replace(series=tuple(each._replace(name="") for each in shown.series))


def loss_figure(feed: Feed, metric: str, weight: float) -> Figure:
    """The training loss with its band and mean, the validation loss, and what to compare with."""
    steps, loss = feed.steps["step"], feed.steps[metric]
    band = Series("", "band", steps, loss, feed.steps["loss_min"], feed.steps["loss_max"])
    mean = Series(smoothed(t("chart.train"), weight), "train", steps, ema(loss, weight))
    val = Series(t("chart.val"), "val", feed.evals["step"], feed.evals["val_loss"], points=True)
    if np.isfinite(val.y).any():
        val = val._replace(units=loss_units(feed))
    else:
        mean = mean._replace(units=loss_units(feed))
    return Figure("", (band, mean, val), references(feed))


def smoothed(name: str, weight: float) -> str:
    """The name of a mean, with how much it is smoothed."""
    return f"{name} {smoothing(weight)}".rstrip()


def smoothing(weight: float) -> str:
    """How much a curve is smoothed; nothing where it is not."""
    return f"(ema {weight:g})" if weight else ""


def loss_units(feed: Feed) -> tuple[Unit, ...]:
    """What else the nats of a token are: bits a character of text, and perplexity."""
    perplexity = Unit("ppl", lambda loss: math.exp(min(loss, 700)))
    characters = token_characters(feed.facts)
    if not characters:
        return (perplexity,)
    return (Unit(t("chart.bits"), lambda loss: loss / math.log(2) / characters), perplexity)


def token_characters(facts: Record) -> float:
    """How many characters of the validation text a token stands for; 0 where nobody has counted."""
    for part in ("val_", ""):
        tokens, characters = (whole(facts.get(part + name)) for name in ("tokens", "characters"))
        if tokens and characters and tokens > 0 < characters:
            return characters / tokens
    return 0.0


def references(feed: Feed) -> tuple[Reference, ...]:
    """What guessing costs: blindly, by how often tokens come, by what follows what."""
    lines = []
    vocab_size = feed.setting("model.vocab_size")
    if isinstance(vocab_size, int) and vocab_size > 1:
        lines.append(Reference("ln V", math.log(vocab_size)))
    for name in ("unigram", "bigram"):
        entropy = number(feed.facts.get(f"{name}_entropy"))
        if entropy > 0:
            lines.append(Reference(t(f"reference.{name}"), entropy))
    return tuple(lines)


def memory_figure(feed: Feed, *_: object) -> Figure:
    """Memory in use, its peak, and the limit."""
    steps = feed.steps["step"]
    curves = (
        Series(t("chart.peak"), "val", steps, feed.steps["peak_memory"]),
        Series(t("chart.active"), "train", steps, feed.steps["active_memory"]),
    )
    limit = whole(feed.started.get("memory_limit"))
    lines = (Reference(t("chart.limit"), float(limit)),) if limit else ()
    return Figure("", curves, lines, bytes=True)


FIGURES: dict[str, Callable[[Feed, str, float], Figure]] = {
    "loss": loss_figure,
    "lr": rate_figure,
    "memory": memory_figure,
}


SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Overlay(NamedTuple):
    """A run among others in one chart."""

    name: str
    feed: Feed


def sign_of(number: int) -> str:
    """The letter of a run among others, by its place."""
    return SIGNS[number % len(SIGNS)]


def style_of(number: int) -> str:
    """The style of a run among others, by its place."""
    return f"run{number % 6}"


def overlay_figure(runs: Sequence[Overlay], curve: str, weight: float) -> Figure:
    """The same curve of several runs."""
    series = []
    for place, (name, feed) in enumerate(runs):
        if curve == "val_loss":
            steps, values = feed.evals["step"], feed.evals["val_loss"]
        else:
            steps, values = feed.steps["step"], ema(feed.steps["loss"], weight)
        drawn = Series(name, style_of(place), steps, values, points=curve == "val_loss")
        series.append(drawn._replace(sign=sign_of(place)) if len(runs) > 1 else drawn)
    aside = smoothing(weight if curve == "loss" else 0.0)
    more = t("chart.more", count="{count}")
    title, step = t(f"curve.{curve}"), t("chart.step")
    return Figure(title, tuple(series), step=step, more=more, aside=aside)


def zoomed(shown: Figure, look: Look, step: float, factor: float) -> Look:
    """Looking closer (factor below 1) or from further away, with the step where it is."""
    whole, view = view_of(shown, look._replace(x0=None, x1=None)), view_of(shown, look)
    x0 = max(step - (step - view.x0) * factor, whole.x0)
    x1 = min(step + (view.x1 - step) * factor, whole.x1)
    if x1 - x0 < 2 or (x0, x1) == (view.x0, view.x1):
        return look if factor < 1 else look._replace(x0=None, x1=None)
    follows = x1 >= whole.x1 and look.x1 is None and factor > 1
    if x0 <= whole.x0 and x1 >= whole.x1:
        return look._replace(x0=None, x1=None)
    return look._replace(x0=x0, x1=None if follows else x1)


def neighbour(steps: np.ndarray, cursor: float | None, move: int, newest: float) -> float | None:
    """The step before or after the cursor; without one, the one before the newest that is seen."""
    if not len(steps) or (cursor is None and move > 0):
        return None
    cursor = newest if cursor is None else cursor
    if move < 0:
        at = int(np.searchsorted(steps, cursor)) - 1
    else:
        at = int(np.searchsorted(steps, cursor, side="right"))
    return float(steps[min(max(at, 0), len(steps) - 1)])
