"""Which curves of a run a chart shows."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tui.feed import Feed
from tui.i18n import t
from tui.plot import Figure, Look, Reference, Series, ema, view_of

METRICS = ("loss", "lr", "grad_norm", "tokens_per_second", "memory")
WEIGHTS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995)


def figure(feed: Feed, metric: str, weight: float) -> Figure:
    """A chart of one metric."""
    if metric == "loss":
        return loss_figure(feed, weight)
    if metric == "memory":
        return memory_figure(feed)
    steps, values = feed.steps["step"], feed.steps[metric]
    if metric == "lr":
        return Figure(t("metric.lr"), (Series(t("chart.now"), "train", steps, values),))
    smooth = ema(values, weight)
    raw = Series("", "band", steps, values)
    return Figure(t(f"metric.{metric}"), (raw, Series(t("chart.mean"), "train", steps, smooth)))


def loss_figure(feed: Feed, weight: float) -> Figure:
    """The training loss with its band and mean, the validation loss, and what to compare with."""
    steps, loss = feed.steps["step"], feed.steps["loss"]
    band = Series("", "band", steps, loss, feed.steps["loss_min"], feed.steps["loss_max"])
    mean = Series(t("chart.train"), "train", steps, ema(loss, weight))
    val = Series(t("chart.val"), "val", feed.evals["step"], feed.evals["val_loss"], points=True)
    return Figure(t("metric.loss"), (band, mean, val), references(feed))


def references(feed: Feed) -> tuple[Reference, ...]:
    """What guessing costs: blindly, by how often tokens come, by what follows what."""
    lines = []
    vocab_size = feed.setting("model.vocab_size")
    if isinstance(vocab_size, int) and vocab_size > 1:
        lines.append(Reference("ln V", math.log(vocab_size)))
    for name in ("unigram", "bigram"):
        entropy = feed.facts.get(f"{name}_entropy")
        if isinstance(entropy, float) and entropy > 0:
            lines.append(Reference(t(f"reference.{name}"), entropy))
    return tuple(lines)


def memory_figure(feed: Feed) -> Figure:
    """Memory in use, its peak, and the limit."""
    steps = feed.steps["step"]
    curves = (
        Series(t("chart.peak"), "val", steps, feed.steps["peak_memory"]),
        Series(t("chart.active"), "train", steps, feed.steps["active_memory"]),
    )
    limit = feed.started.get("memory_limit")
    lines = (Reference(t("chart.limit"), float(limit)),) if isinstance(limit, int) else ()
    return Figure(t("metric.memory"), curves, lines, bytes=True)


class Overlay(NamedTuple):
    """A run among others in one chart."""

    name: str
    feed: Feed


def overlay_figure(runs: Sequence[Overlay], curve: str, weight: float) -> Figure:
    """The same curve of several runs."""
    series = []
    for number, run in enumerate(runs):
        style = f"run{number % 6}"
        if curve == "val_loss":
            steps, values = run.feed.evals["step"], run.feed.evals["val_loss"]
            series.append(Series(run.name, style, steps, values, points=True))
        else:
            values = ema(run.feed.steps["loss"], weight)
            series.append(Series(run.name, style, run.feed.steps["step"], values))
    return Figure(t(f"curve.{curve}"), tuple(series))


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


def neighbour(steps: np.ndarray, cursor: float | None, move: int) -> float | None:
    """The step before or after the cursor; without one, the last step."""
    if not len(steps):
        return None
    if cursor is None:
        return float(steps[max(len(steps) - 2, 0)] if move < 0 else steps[-1])
    if move < 0:
        at = int(np.searchsorted(steps, cursor)) - 1
    else:
        at = int(np.searchsorted(steps, cursor, side="right"))
    return float(steps[min(max(at, 0), len(steps) - 1)])
