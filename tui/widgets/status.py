"""The two lines that say how a run is doing."""

import math

from textual.content import Content
from textual.widget import Widget

from mlx_gpt.run import State
from mlx_gpt.terminal import duration
from tui.feed import Feed
from tui.i18n import t
from tui.plot import number, short

MARKS: dict[State, str] = {
    "running": "●",
    "paused": "‖",
    "finished": "✓",
    "interrupted": "○",
    "diverged": "✗",
}
STATE_STYLES: dict[State, str] = {
    "running": "$text-success",
    "paused": "$text-warning",
    "finished": "$text-primary",
    "interrupted": "$text-warning",
    "diverged": "$text-error",
}


def bar(done: int, total: int, width: int) -> str:
    """A bar of eighths of a character."""
    share = min(max(done / total, 0.0), 1.0) if total else 0.0
    eighths = round(share * width * 8)
    full, rest = divmod(eighths, 8)
    text = "█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")
    return text.ljust(width, "░")


class Status(Widget):
    """State, progress and time left; losses, rate, gradient, memory."""

    topic = "help.status"

    def __init__(self) -> None:
        super().__init__(id="status")
        self.lines = (Content(""), Content(""))

    def show(self, feed: Feed) -> None:
        """Say how the run is doing, if anything has changed."""
        lines = (self.progress(feed), Content(self.figures(feed)))
        if [line.plain for line in lines] != [line.plain for line in self.lines]:
            self.lines = lines
            self.refresh()

    def render(self) -> Content:
        """The two lines."""
        return Content("\n").join(self.lines)

    def progress(self, feed: Feed) -> Content:
        """State, bar and time left."""
        state = feed.state
        share = f"{feed.step / feed.total:4.0%}" if feed.total else ""
        left = feed.seconds_left() if state == "running" else None
        words = [f"{feed.step}/{feed.total or '?'}", bar(feed.step, feed.total, 24), share]
        if left is not None:
            words.append(t("status.left", time=duration(left)))
        speed = feed.last("tokens_per_second")
        if math.isfinite(speed):
            words.append(f"{short(speed)} tok/s")
        mark = (f"{MARKS[state]} {t(f'state.{state}')}", f"bold {STATE_STYLES[state]}")
        return Content.assemble(mark, "  ", "  ".join(words))

    def figures(self, feed: Feed) -> str:
        """The newest numbers."""
        val = feed.evals["val_loss"]
        parts = [f"{t('chart.train')} {number_or_dash(feed.last('loss'))}"]
        if len(val):
            parts.append(f"{t('chart.val')} {number_or_dash(float(val[-1]))}")
        known = val[val == val]
        if len(known):
            at = int(feed.evals["step"][val == known.min()][0])
            parts.append(f"{t('status.best')} {number(float(known.min()))}@{at}")
        parts.append(f"lr {short(feed.last('lr'))}")
        parts.append(f"|g| {short(feed.last('grad_norm'))}")
        peak = feed.last("peak_memory")
        if math.isfinite(peak):
            limit = feed.started.get("memory_limit")
            whole = f"/{short(limit, as_bytes=True)}" if isinstance(limit, int) else ""
            parts.append(f"{t('status.memory')} {short(peak, as_bytes=True)}{whole}")
        return "  ".join(parts)


def number_or_dash(value: float) -> str:
    """A number, or a dash where there is none."""
    return number(value) if math.isfinite(value) else "–"
