"""What a learner should be told about a run: one sentence, and the key that acts on it."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from mlx_gpt.run import saved_steps
from tui.feed import Feed
from tui.plot import ema, short

SMOOTH = 0.95
OVERFIT_SHARE = 0.02  # of the best validation loss
PLATEAU_SHARE = 0.004  # of the loss, over a quarter of the run
STARVED_EPOCHS = 20
SANE_RATE = 1e-3  # of learning: what is no more than this rarely diverges
SLOW_SHARE = 0.7  # of the median speed of the run
SLOW_LINES = 10  # that must be slow: a single one may be a moment's work of something else


class Advice(NamedTuple):
    """A sentence by its key in the catalogue (`advice.KEY`), its values, the key to press."""

    key: str
    values: Mapping[str, object]
    action: str | None = None  # id of a binding
    grave: bool = False


def diagnose(feed: Feed) -> Advice:
    """The gravest thing that can be said of the run as it is."""
    if feed.gone:
        return Advice("gone", {}, "app.runs", grave=True)
    checks = (asked, ended, paused, not_finite, too_fast, overfitting)
    checks += (slowed, starved, plateau, first_loss)
    for check in checks:
        advice = check(feed)
        if advice is not None:
            return advice
    return learning(feed)


def asked(feed: Feed) -> Advice | None:
    """A command that the trainer has not answered: it does so between two steps."""
    if not feed.alive or not feed.unanswered:
        return None
    return Advice(f"asked.{list(feed.unanswered.values())[-1]}", {})


def ended(feed: Feed) -> Advice | None:
    """The run is not being trained, and not because it was done."""
    if feed.state == "stopped":
        values = {"step": feed.step, "total": feed.total}
        return Advice("stopped", values, "train.resume")
    if feed.state == "diverged":
        key = "diverged" if saved_steps(feed.run) else "diverged_early"
        return Advice(key, {"step": feed.step, "lr": lower_rate(feed)}, "train.resume", True)
    if feed.state == "interrupted" and feed.total > feed.step:
        values = {"step": feed.step, "total": feed.total}
        return Advice("interrupted", values, "train.resume", grave=True)
    return None


def paused(feed: Feed) -> Advice | None:
    """The trainer waits until someone lets it go on."""
    if feed.state != "paused":
        return None
    return Advice("paused", {"step": feed.step, "total": feed.total}, "train.pause")


def lower_rate(feed: Feed) -> str:
    """A third of the learning rate, or what is sane where even that is absurd, as one types it.

    A cosine takes none below the rate at its end.
    """
    rate, end = feed.setting("train.lr"), feed.setting("train.min_lr")
    if not isinstance(rate, int | float):
        return "lr/3"
    bound = feed.setting("train.schedule") == "cosine" and isinstance(end, int | float)
    lower = max(float(f"{min(rate / 3, SANE_RATE):.2g}"), end if bound else 0.0)
    return f"{lower:.12g}"


def not_finite(feed: Feed) -> Advice | None:
    """A loss that is no number, and nobody has stopped yet."""
    bad = ~np.isfinite(feed.steps["loss"])
    if not bad.any():
        return None
    step = int(feed.steps["step"][int(np.argmax(bad))])
    return Advice("not_finite", {"step": step, "lr": lower_rate(feed)}, "train.stop", grave=True)


def means(feed: Feed) -> np.ndarray:
    """The smoothed training loss after the warm-up."""
    warmup = feed.setting("train.warmup")
    start = np.searchsorted(feed.steps["step"], warmup if isinstance(warmup, int) else 0)
    return ema(feed.steps["loss"], SMOOTH)[int(start) :]


def too_fast(feed: Feed) -> Advice | None:
    """The loss climbs well above where it has been."""
    smooth = means(feed)
    if len(smooth) < 20:
        return None
    lowest, now = float(np.nanmin(smooth)), float(smooth[-1])
    if now > 1.25 * lowest + 0.1:
        values = {"now": f"{now:.2f}", "lowest": f"{lowest:.2f}", "lr": lower_rate(feed)}
        return Advice("too_fast", values, "train.stop", grave=True)
    return None


def overfitting(feed: Feed) -> Advice | None:
    """The validation loss has been rising while the training loss falls."""
    known = np.isfinite(feed.evals["val_loss"])
    val, steps = feed.evals["val_loss"][known], feed.evals["step"][known]
    best = feed.best
    if len(val) < 4 or best is None:
        return None
    since = np.count_nonzero(steps > best.step)
    if since < 2 or val[-1] <= best.loss * (1 + OVERFIT_SHARE):
        return None
    values = {"best": f"{best.loss:.3f}", "step": best.step, "now": f"{val[-1]:.3f}"}
    return Advice("overfitting", values, "train.stop" if feed.alive else None)


def slowed(feed: Feed) -> Advice | None:
    """The last lines are much slower than the run usually is; eco is what one does about it."""
    speeds = feed.steps["tokens_per_second"]
    speeds = speeds[np.isfinite(speeds)]
    if feed.state != "running" or feed.eco or len(speeds) < 10 * SLOW_LINES:
        return None
    usual, now = float(np.median(speeds)), float(np.median(speeds[-SLOW_LINES:]))
    if now > SLOW_SHARE * usual:
        return None
    values = {"now": short(now), "usual": short(usual), "fall": f"{1 - now / usual:.0%}"}
    return Advice("slowed", values, "train.pause")


def starved(feed: Feed) -> Advice | None:
    """The text is seen so often that more text would help more than more steps."""
    tokens = feed.facts.get("train_tokens")
    sizes = [feed.setting(f"train.{name}") for name in ("batch_size", "grad_accumulation")]
    sizes.append(feed.setting("model.context_length"))
    if not isinstance(tokens, int) or not tokens or not all(isinstance(s, int) for s in sizes):
        return None
    epochs = feed.total * math.prod(sizes) / tokens
    if epochs < STARVED_EPOCHS:
        return None
    return Advice("starved", {"epochs": f"{epochs:.0f}", "tokens": tokens})


def plateau(feed: Feed) -> Advice | None:
    """The loss has not moved over the last quarter of the steps so far."""
    smooth = means(feed)
    if len(smooth) < 80 or not feed.alive:
        return None
    before, now = float(smooth[-len(smooth) // 4]), float(smooth[-1])
    if not before - now < PLATEAU_SHARE * before:
        return None
    return Advice("plateau", {"loss": f"{now:.3f}", "steps": quarter(feed)}, "train.stop")


def quarter(feed: Feed) -> int:
    """A quarter of the steps so far."""
    return max(feed.step // 4, 1)


def first_loss(feed: Feed) -> Advice | None:
    """Before there is a curve: whether the untrained loss is what it should be."""
    vocab_size = feed.setting("model.vocab_size")
    val = feed.evals["val_loss"]
    if len(feed.steps) >= 20 or not len(val) or not isinstance(vocab_size, int):
        return None
    expected, got = math.log(vocab_size), float(val[0])
    values = {"expected": f"{expected:.2f}", "got": f"{got:.2f}"}
    near = abs(got - expected) < 0.05 * expected
    return Advice("first_loss" if near else "odd_first_loss", values)


def learning(feed: Feed) -> Advice:
    """Nothing is wrong."""
    if feed.state == "finished":
        return Advice("finished", {"step": feed.step, "best": best_text(feed)}, "app.sample")
    if len(feed.steps) < 2:
        return Advice("waiting", {})
    smooth = ema(feed.steps["loss"], SMOOTH)
    fall = float(smooth[-1 - min(len(smooth) - 1, max(len(smooth) // 4, 1))] - smooth[-1])
    return Advice("learning", {"fall": f"{fall:.3f}", "steps": quarter(feed)})


def best_text(feed: Feed) -> str:
    """The validation loss of the best that is saved; the weights of step 0 are not."""
    return f"{feed.best.loss:.3f}" if feed.best and feed.best.step else "–"
