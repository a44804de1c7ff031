"""The two lines that say how a run is doing."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from textual.content import Content
from textual.widget import Widget

from mlx_gpt.terminal import duration
from tui.feed import Feed, whole
from tui.i18n import t
from tui.plot import number, short

MARKS: dict[str, str] = {  # by `Feed.condition`
    "running": "●",
    "paused": "‖",
    "finished": "✓",
    "stopped": "■",
    "interrupted": "○",
    "diverged": "✗",
    "gone": "∅",
}
STATE_STYLES: dict[str, str] = {
    "running": "$text-success",
    "paused": "$text-warning",
    "finished": "$text-primary",
    "stopped": "$text-primary",
    "interrupted": "$text-warning",
    "diverged": "$text-error",
    "gone": "$text-error",
}

GAP = "  "
SHORTEST_BAR, LONGEST_BAR = 4, 24


def bar(share: float, width: int) -> str:
    """A bar of eighths of a character."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    full, rest = divmod(eighths, 8)
    text = "█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")
    return text.ljust(width, "░")


class Part(NamedTuple):
    """A piece of a line, and how late it goes where there is no room: the highest rank first."""

    text: str
    rank: int = 0
    style: str = ""


def fitting(parts: Sequence[Part], width: int) -> list[Part]:
    """The parts that a line of that width has room for."""
    kept = list(parts)
    while len(GAP.join(part.text for part in kept)) > width and any(part.rank for part in kept):
        kept.remove(max(kept, key=lambda part: part.rank))
    return kept


class Status(Widget):
    """State, progress and time left; losses, rate, gradient, memory."""

    topic = "help.status"

    def __init__(self) -> None:
        super().__init__(id="status")
        self.lines: tuple[list[Part], list[Part]] = ([], [])
        self.share = 0.0  # of the steps

    def show(self, feed: Feed, left: float | None, *, by_step: bool = False) -> None:
        """Say how the run is doing and how many seconds are left, if anything has changed."""
        lines = (progress(feed, left, by_step=by_step), figures(feed))
        if lines != self.lines:
            self.lines = lines
            self.share = feed.step / feed.total if feed.total else 0.0
            self.refresh()

    def render(self) -> Content:
        """The two lines, neither longer than there is room."""
        first, second = (fitting(parts, self.size.width) for parts in self.lines)
        room = self.size.width - len(GAP.join(part.text for part in first)) - len(GAP)
        if room >= SHORTEST_BAR:
            first.insert(2, Part(bar(self.share, min(room, LONGEST_BAR))))
        lines = [
            Content(GAP).join(Content.styled(part.text, part.style) for part in parts)
            for parts in (first, second)
        ]
        return Content("\n").join(lines)


def progress(feed: Feed, left: float | None, *, by_step: bool) -> list[Part]:
    """State, step, share, time left and speed; a replay that waits for a key is as if paused."""
    state = "paused" if by_step else feed.condition
    words = t("status.by_step") if by_step else t(f"state.{state}")
    parts = [Part(f"{MARKS[state]} {words}", style=f"bold {STATE_STYLES[state]}")]
    parts.append(Part(f"{feed.step}/{feed.total or '?'}"))
    if feed.total:
        parts.append(Part(f"{feed.step / feed.total:.0%}", 2))
    if left is not None and state == "running":
        parts.append(Part(t("status.left", time=duration(left)), 1))
    if feed.eco and feed.alive:
        parts.append(Part(t("status.eco"), 1, "$text-success"))
    speed = feed.last("tokens_per_second")
    if math.isfinite(speed):
        parts.append(Part(f"{short(speed)} tok/s", 3))
    return parts


def figures(feed: Feed) -> list[Part]:
    """The newest numbers; a learner needs the losses most, then rate and memory."""
    val = feed.evals["val_loss"]
    parts = [Part(f"{t('chart.train')} {number_or_dash(feed.last('loss'))}")]
    if len(val):
        parts.append(Part(f"{t('chart.val')} {number_or_dash(float(val[-1]))}", 1))
    if feed.best and feed.best.step:  # the weights of step 0 are not kept
        parts.append(Part(f"{t('status.best')} {number(feed.best.loss)}@{feed.best.step}", 4))
    parts.append(Part(f"lr {short(feed.last('lr'))}", 2))
    parts.append(Part(f"|g| {short(feed.last('grad_norm'))}", 5))
    peak = feed.last("peak_memory")
    if math.isfinite(peak):
        limit = whole(feed.started.get("memory_limit"))
        of = f"/{short(limit, as_bytes=True)}" if limit else ""
        parts.append(Part(f"{t('status.memory')} {short(peak, as_bytes=True)}{of}", 3))
        if math.isfinite(feed.planned_memory):
            planned = short(feed.planned_memory, as_bytes=True)
            parts.append(Part(t("status.planned", size=planned), 6))
    return parts


def number_or_dash(value: float) -> str:
    """A number, or a dash where there is none."""
    return number(value) if math.isfinite(value) else "–"
