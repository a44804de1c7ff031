"""What a run was estimated to cost, and beside it what it was measured to cost."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from textual.content import Content

from mlx_gpt.config import build
from mlx_gpt.errors import UserError
from mlx_gpt.terminal import duration, size, spaced, table
from tui.draft import Estimate, cost_of
from tui.feed import Feed
from tui.i18n import t
from tui.pace import Pace, speed_for
from tui.plot import short

FAR = 1.3  # times more or less than estimated: beyond what the estimate of memory promises


class Line(NamedTuple):
    """A figure, estimated and measured; NaN where it cannot be measured by itself."""

    name: str
    estimated: float
    measured: float = math.nan
    shown: Callable[[float], str] = size
    sign: str = ""  # before what is measured
    comparable: bool = True  # whether what is measured should be as estimated

    @property
    def ratio(self) -> float:
        """How many times the estimate was needed."""
        return self.measured / self.estimated if self.estimated else math.nan

    @property
    def is_far(self) -> bool:
        """Whether much more or less was needed than was estimated."""
        return self.comparable and (self.ratio < 1 / FAR or self.ratio > FAR)


def planned(feed: Feed, paces: list[Pace]) -> Estimate | None:
    """What a run was to cost, by its settings and the paces of others; None for broken settings."""
    try:
        config = build(feed.config)
    except UserError:
        return None
    return cost_of(config, speed_for(config, paces))


def plan_text(feed: Feed, cost: Estimate | None) -> tuple[str, Content]:
    """The figures as a table, those first that a training is watched for."""
    if cost is None:
        return t("pane.plan"), Content(t("plan.none"))
    title = f"{t('pane.plan')} · {spaced(cost.parameters)} {t('new.parameters')}"
    found = list(lines(feed, cost))
    heads = ("", t("plan.estimated"), t("plan.measured"), "")
    rows = table([heads, *map(cells, found)], right=(1, 2, 3)).split("\n")
    styles = ["$text-muted", *("$text-warning" if line.is_far else "" for line in found)]
    parts = [Content.styled(row, style) for row, style in zip(rows, styles, strict=True)]
    parts.append(Content.styled(" ".join(notes(feed, cost)), "$text-muted"))
    return title, Content("\n").join(parts)


def lines(feed: Feed, cost: Estimate) -> Iterator[Line]:
    """Time and pace, the sums of memory that can be measured, and the parts of these."""
    speeds = feed.steps["tokens_per_second"]
    pace = float(np.median(speeds)) if len(speeds) else math.nan
    yield time_line(feed, cost)
    yield Line(t("metric.tokens_per_second"), cost.tokens_per_second, pace, short)
    yield Line(t("plan.peak"), cost.memory, feed.last("peak_memory"))
    yield Line(t("plan.resting"), cost.parts.resting, feed.last("active_memory"))
    for name, count in cost.parts._asdict().items():
        yield Line(f" {t(f'memory.{name}')}", count)


def time_line(feed: Feed, cost: Estimate) -> Line:
    """Of a living run the time to its end; of any other what its steps took."""
    line = Line(t("new.time"), cost.seconds, shown=duration, comparable=not feed.rested)
    if feed.alive:
        return line._replace(measured=feed.seconds_in_all(), sign="≈")
    line = line._replace(measured=feed.seconds_worked())
    if not 0 < feed.step < feed.total:
        return line
    share = feed.step / feed.total
    return line._replace(name=t("plan.time_of", steps=feed.step), estimated=share * cost.seconds)


def notes(feed: Feed, cost: Estimate) -> Iterator[str]:
    """What is to be known of the figures."""
    if feed.alive:
        yield t("plan.projected")
    if feed.rested:
        yield t("plan.eco")
    yield t("plan.own_speed" if cost.measured else "plan.typical_speed")
    yield t("plan.dash")


def cells(line: Line) -> tuple[str, str, str, str]:
    """A line in columns."""
    known = math.isfinite(line.measured)
    measured = f"{line.sign}{line.shown(line.measured)}" if known else "–"
    ratio = f"×{line.ratio:.2f}" if math.isfinite(line.ratio) else ""
    return line.name, line.shown(line.estimated), measured, ratio
