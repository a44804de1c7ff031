"""What a run was estimated to cost, and beside it what it was measured to cost."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from textual.content import Content

from mlx_gpt.config import build
from mlx_gpt.errors import UserError
from mlx_gpt.terminal import duration, size, spaced
from tui.draft import Estimate, Pace, cost_of, speed_for
from tui.feed import Feed
from tui.i18n import t
from tui.plot import short

NAME_WIDTH, FIGURE_WIDTH, RATIO_WIDTH = 18, 12, 6
FAR = 1.3  # times more or less than estimated: beyond what the estimate of memory promises


class Line(NamedTuple):
    """A figure, estimated and measured; NaN where it cannot be measured by itself."""

    name: str
    estimated: float
    measured: float = math.nan
    shown: Callable[[float], str] = size

    @property
    def ratio(self) -> float:
        """How many times the estimate was needed."""
        return self.measured / self.estimated if self.estimated else math.nan


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
    heads = Content.styled(cells("", t("plan.estimated"), t("plan.measured"), ""), "$text-muted")
    speed = t("plan.own_speed" if cost.measured else "plan.typical_speed")
    notes = Content.styled(f"{speed} {t('plan.dash')}", "$text-muted")
    return title, Content("\n").join([heads, *map(line_text, lines(feed, cost)), notes])


def lines(feed: Feed, cost: Estimate) -> Iterator[Line]:
    """Time and pace, the sums of memory that can be measured, and the parts of these."""
    speeds = feed.steps["tokens_per_second"]
    pace = float(np.median(speeds)) if len(speeds) else math.nan
    yield Line(t("new.time"), cost.seconds, feed.seconds_in_all(), duration)
    yield Line(t("metric.tokens_per_second"), cost.tokens_per_second, pace, short)
    yield Line(t("plan.peak"), cost.memory, feed.last("peak_memory"))
    yield Line(t("plan.resting"), cost.parts.resting, feed.last("active_memory"))
    for name, count in cost.parts._asdict().items():
        yield Line(f" {t(f'memory.{name}')}", count)


def line_text(line: Line) -> Content:
    """A line of the table; a figure far from its estimate stands out."""
    known = math.isfinite(line.measured)
    measured = line.shown(line.measured) if known else "–"
    ratio = f"×{line.ratio:.2f}" if math.isfinite(line.ratio) else ""
    far = bool(ratio) and not 1 / FAR <= line.ratio <= FAR
    words = cells(line.name, line.shown(line.estimated), measured, ratio)
    return Content.styled(words, "$text-warning" if far else "")


def cells(name: str, estimated: str, measured: str, ratio: str) -> str:
    """A line in columns."""
    figures = f"{estimated:>{FIGURE_WIDTH}}{measured:>{FIGURE_WIDTH}}"
    return f"{name:<{NAME_WIDTH}}{figures} {ratio:>{RATIO_WIDTH}}".rstrip()
