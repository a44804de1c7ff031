"""Curves become text that keeps every spike and hides nothing in silence."""

import math
import re

import numpy as np
import pytest
from made_runs import check_golden, text_of
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.geometry import Region

from tui.plot import (
    MARKS,
    Figure,
    Look,
    Marks,
    Reference,
    Series,
    Unit,
    draw,
    ema,
    known_at,
    percentiles,
    short,
    ticks,
    view_of,
)
from tui.widgets.chart import Chart

STEPS = np.arange(1, 401.0)


def falling() -> Figure:
    loss = 2 + 3.5 * np.exp(-STEPS / 80) + 0.05 * np.sin(STEPS)
    loss[120] = np.nan
    val_steps = STEPS[::80]
    return Figure(
        "loss",
        (
            Series("", "band", STEPS, loss, loss - 0.2, loss + 0.2),
            Series("train", "train", STEPS, ema(loss, 0.9)),
            Series("val", "val", val_steps, 2.1 + 3.4 * np.exp(-val_steps / 80), points=True),
        ),
        (Reference("ln V", 5.3), Reference("bigram", 2.4)),
    )


def text(figure: Figure, look: Look, width: int = 80, height: int = 12) -> str:
    lines = ["".join(piece.text for piece in line) for line in draw(figure, look, width, height)]
    assert {len(line) for line in lines[1:]} == {width}
    return "\n".join(line.rstrip() for line in lines)


@pytest.mark.parametrize("marks", MARKS)
def test_the_chart_looks_as_it_was_looked_at(marks: Marks):
    look = Look(marks=marks, cursor=200.0, log=marks == "blocks")
    check_golden(f"chart_{marks}", text(falling(), look))


def test_a_small_chart_still_has_its_curve():
    shown = text(falling(), Look(), width=30, height=4)
    assert len(shown.split("\n")) == 4
    assert "●" in shown


@pytest.mark.parametrize("weight", [0.5, 0.9, 0.995])
def test_the_mean_is_the_debiased_recursion(weight: float):
    values = np.random.default_rng(1).normal(size=3000)
    values[[0, 7, 2000]] = np.nan
    total, count, expected = 0.0, 0.0, []
    for value in values:
        known = math.isfinite(value)
        total = weight * total + (value if known else 0)
        count = weight * count + known
        expected.append(total / count if count else math.nan)
    np.testing.assert_allclose(ema(values, weight), expected, rtol=1e-9)


def test_no_smoothing_is_the_curve_itself():
    values = np.array([1.0, np.inf, 3.0])
    np.testing.assert_array_equal(ema(values, 0), [1, np.nan, 3])
    assert len(ema(np.empty(0), 0.9)) == 0


def test_a_single_spike_among_many_steps_is_seen():
    steps = np.arange(100_000.0)
    loss = np.full(100_000, 2.0)
    loss[54_321] = 9.0
    shown = text(Figure("", (Series("", "band", steps, loss),)), Look())
    top = shown.split("\n")[1]
    assert len(top) - 1 == pytest.approx(8 + 71 * 0.54321, abs=1)
    assert top[8:].strip() != ""


def test_steps_that_are_no_number_are_marked_on_the_axis():
    axis = text(falling(), Look()).split("\n")[-1]
    assert axis.count("✗") == 1
    assert abs(axis.index("✗") - (8 + 71 * 120 / 399)) <= 1


@pytest.mark.parametrize("step", [0, 20_000_000, 10**15])
def test_a_single_value_is_drawn_at_whatever_step(step: int):
    figure = Figure("", (Series("", "band", np.array([float(step)]), np.array([2.5])),))
    view = view_of(figure, Look())
    assert view.x1 > view.x0 == step
    assert "⠁" <= max(text(figure, Look())) <= "⣿"


@pytest.mark.parametrize("count", [1, 2, 3, 100, 1001])
def test_percentiles_are_those_of_numpy(count: int):
    values = np.random.default_rng(count).normal(size=count)
    wanted = [0, 1, 33.3, 50, 97, 99, 100]
    assert percentiles(values, wanted) == pytest.approx(np.percentile(values, wanted), rel=1e-12)


def test_an_outlier_safe_range_says_how_many_it_hides():
    loss = np.full(1000, 2.0) + np.linspace(0, 0.1, 1000)
    loss[5] = 1000.0
    figure = Figure("", (Series("", "band", np.arange(1000.0), loss),))
    assert view_of(figure, Look()).y1 == 1000
    view = view_of(figure, Look(robust=True))
    assert view.y1 < 2.2
    assert view.hidden == np.sum((loss < view.y0) | (loss > view.y1)) > 0
    assert f"⋯{view.hidden}" in text(figure, Look(robust=True))


@pytest.mark.parametrize(
    "values",
    [[], [math.nan], [3.0], [0.0, 0.0], [-1.0, -1.0], [1e-300, 1e300], [math.inf, 1.0, -math.inf]],
)
@pytest.mark.parametrize("log", [False, True])
def test_odd_values_are_drawn_without_complaint(values: list[float], log: bool):
    y = np.array(values)
    figure = Figure("odd", (Series("it", "train", np.arange(len(y), dtype=float), y),))
    for height in (2, 5, 12):
        text(figure, Look(log=log, cursor=0.0), height=height)


def test_a_logarithmic_axis_leaves_out_what_has_no_logarithm():
    y = np.array([0.0, 1.0, 10.0, 100.0])
    figure = Figure("", (Series("", "train", np.arange(4.0), y),))
    view = view_of(figure, Look(log=True))
    assert (view.y0, view.y1) == (1, 100)


def test_the_title_gives_the_values_at_the_cursor():
    figure = Figure("t", (Series("a", "train", np.array([1.0, 2.0]), np.array([5.0, 7.0])),))
    assert "a 7" in text(figure, Look())
    assert "a 5" in text(figure, Look(cursor=1.2))


@pytest.mark.parametrize(
    ("low", "high", "most", "expected"),
    [(0, 10, 5, [0, 2, 4, 6, 8, 10]), (2.1, 5.6, 4, [3, 4, 5]), (1, 1, 4, []), (0, 1, 0, [])],
)
def test_ticks_are_round(low: float, high: float, most: int, expected: list[float]):
    assert ticks(low, high, most) == pytest.approx(expected)


def test_ticks_of_a_wide_logarithmic_axis_are_decades():
    assert ticks(1e-4, 1, 5, log=True) == pytest.approx([1e-4, 1e-3, 1e-2, 1e-1, 1], rel=2)
    assert len(ticks(1e-9, 1e9, 4, log=True)) <= 4


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (1.2345, "1.23"),
        (123.4, "123"),
        (1000, "1k"),
        (12_345, "12.3k"),
        (0.0005, "5e-4"),
        (0.00025, "2.5e-4"),
        (math.nan, "–"),
        (-2.5, "-2.5"),
        (3e12, "3T"),
    ],
)
def test_short_numbers(value: float, shown: str):
    assert short(value) == shown
    assert len(short(value)) <= 7


def test_bytes_have_units():
    assert short(12_600_000, as_bytes=True) == "12.6MB"


def test_at_a_step_the_last_one_until_then_is_known():
    x = np.array([0.0, 10.0, 20.0])
    assert [known_at(x, v) for v in (-5, 0, 6, 10, 19, 99)] == [-1, 0, 0, 1, 1, 2]
    assert known_at(x[:0], 5) == -1


def test_at_the_cursor_a_value_that_came_later_is_not_told():
    curve = Series("val", "val", np.array([10.0, 200.0]), np.array([5.0, 2.0]), points=True)
    heads = {
        cursor: text(Figure("loss", (curve,)), Look(cursor=cursor)).split("\n")[0]
        for cursor in (5.0, 10.0, 199.0, 200.0)
    }
    assert heads == {
        5.0: "loss  val –",
        10.0: "loss  val 5",
        199.0: "loss  val 5",
        200.0: "loss  val 2",
    }


@pytest.mark.parametrize("count", [1, 2, 4, 29])
def test_a_curve_of_few_values_has_no_outliers(count: int):
    x = np.arange(float(count))
    curves = [Series("", f"run{at}", x, 5.5 - x / 10 - at / 100) for at in range(2)]
    view = view_of(Figure("", tuple(curves)), Look(robust=True))
    assert view.hidden == 0
    assert view[2:4] == view_of(Figure("", tuple(curves)), Look())[2:4]


def two_points() -> Figure:
    y = np.array([1.0, 5.0])
    return Figure("", (Series("a", "train", np.array([0.0, 100.0]), y, points=True),))


@pytest.mark.parametrize("log", [False, True])
def test_a_line_that_only_crosses_the_view_is_drawn(log: bool):
    rows = text(two_points(), Look(log=log, x0=40.0, x1=60.0), width=48).split("\n")[1:-1]
    drawn = "".join(row[8:].strip() for row in rows)
    assert len(drawn) >= 40
    assert "●" not in drawn


@pytest.mark.parametrize(("x0", "x1"), [(-50.0, -10.0), (110.0, 150.0)])
def test_beyond_its_ends_a_curve_is_not_drawn(x0: float, x1: float):
    rows = text(two_points(), Look(x0=x0, x1=x1)).split("\n")[1:-1]
    assert {row[8:].strip() for row in rows} == {""}


def test_a_line_that_enters_the_view_begins_at_its_edge():
    rows = text(two_points(), Look(x0=50.0, x1=120.0), width=78).split("\n")[1:-1]
    columns = {at for row in rows for at, mark in enumerate(row[8:]) if mark != " "}
    assert (min(columns), max(columns)) == (0, 49)


@pytest.mark.parametrize(("height", "least"), [(6, 2), (9, 3), (12, 3), (24, 5)])
def test_the_ends_of_the_axis_have_numbers_and_some_rows_between(height: int, least: int):
    y = np.array([2.137, 5.582])
    figure = Figure("", (Series("", "train", np.array([0.0, 9.0]), y),))
    labels = [line[:7].strip() for line in text(figure, Look(), height=height).split("\n")[1:-1]]
    assert (labels[0], labels[-1]) == ("5.58", "2.14")
    assert sum(map(bool, labels)) >= least


@pytest.mark.parametrize(("steps", "shown"), [([], ""), ([0.0], "0"), ([0.0, 2.0], "0 1 2")])
def test_steps_are_whole(steps: list[float], shown: str):
    x = np.array(steps)
    axis = text(Figure("", (Series("", "train", x, x + 1),)), Look()).split("\n")[-1]
    assert " ".join(axis.replace("└", " ").split()) == shown


def test_the_title_gives_the_step_of_the_cursor_and_other_units():
    units = (Unit("bits", lambda loss: loss / math.log(2)),)
    series = Series("val", "val", np.array([0.0, 990.0]), np.array([5.0, 2.0]), units=units)
    figure = Figure("loss", (series,), step="step")
    assert text(figure, Look(cursor=992.0)).startswith("loss  step 992  val 2  2.885 bits\n")
    assert text(figure, Look()).startswith("loss  val 2  2.885 bits\n")


def test_a_curve_far_above_the_others_does_not_set_an_outlier_safe_range():
    x = np.arange(100.0)
    calm = Series("calm", "run0", x, 2 + 3 * np.exp(-x / 20), sign="A")
    wild = Series("wild", "run1", x, np.where(x < 50, calm.y, 400.0), sign="B")
    figure = Figure("", (calm, wild))
    assert view_of(figure, Look()).y1 == 400
    view = view_of(figure, Look(robust=True))
    assert 4.5 < view.y1 < 5
    assert view.hidden >= 50
    rivals = Figure("", (calm, calm._replace(y=2 * calm.y)))
    assert view_of(rivals, Look(robust=True)).y1 > 8


def test_curves_are_told_apart_without_colour():
    flat = Series("one", "run0", STEPS, STEPS * 0 + 1, sign="A")
    figure = Figure("", (flat, flat._replace(name="two", style="run1", y=flat.y * 2, sign="B")))
    head, *rows = text(figure, Look()).split("\n")
    assert "A one 1  B two 2" in head
    assert (rows[0].count("B") > 1, rows[-2].count("A") > 1) == (True, True)
    assert "A" not in rows[0]


def test_names_without_room_are_counted():
    curves = [Series(f"run-{number}", f"run{number}", STEPS, STEPS) for number in range(5)]
    figure = Figure("loss", tuple(curves), more="+{count} more")
    head = text(figure, Look(), width=42).split("\n")[0]
    assert head == "loss  run-0 400  run-1 400  +3 more"


def four_runs(end: float = 400.0) -> Figure:
    """Four curves with a long name each, the last of which ends at another step."""
    steps = [STEPS, STEPS, STEPS, STEPS[end >= STEPS]]
    curves = [
        Series(f"模型 of a long name {sign}", f"run{at}", x, x * 0 + at, sign=sign)
        for at, (sign, x) in enumerate(zip("ABCD", steps, strict=True))
    ]
    return Figure("training loss (ema 0.9)", tuple(curves), step="step", more="+{count} more")


@pytest.mark.parametrize("width", [48, 60, 80, 120, 200])
@pytest.mark.parametrize("cursor", [None, 100.0])
def test_every_run_is_told_by_its_letter_and_value_and_as_much_name_as_fits(
    width: int, cursor: float | None
):
    look = Look(cursor=cursor)
    head = "".join(piece.text for piece in draw(four_runs(), look, width, 9)[0])
    assert cell_len(head) <= width
    told = re.findall(r"  ([A-D])(?: (模.*?))? (\d)(?=  |$)", head)
    assert [(sign, value) for sign, _, value in told] == list(zip("ABCD", "0123", strict=True))
    assert "more" not in head
    assert (told[0][1] == "模型 of a long name A") == (width == 200)


def test_where_there_is_little_room_the_title_keeps_its_name_and_lets_the_rest_go():
    figure = four_runs(end=60)._replace(title="training loss", aside="(ema 0.9)")
    heads = {width: text(figure, Look(), width=width).split("\n")[0] for width in (44, 80, 200)}
    assert heads[200].startswith("training loss (ema 0.9)  A 模型 of")
    for width in (44, 80):
        assert heads[width].startswith("training loss ")
        assert "…" not in heads[width].split("  ")[0]
        assert all(f"  {sign} " in heads[width] for sign in "ABCD")
    assert heads[44].startswith("training loss  A")


def test_a_value_of_another_step_says_which():
    def head(cursor: float | None) -> str:
        return text(four_runs(end=60), Look(cursor=cursor), width=200).split("\n")[0]

    assert head(None).endswith("D 3 (60)")
    assert head(200.0).endswith("D 3 (60)")
    assert head(60.0).endswith("D 3")
    assert head(200.0).count("(") == 2


@pytest.mark.parametrize(
    ("low", "high", "least"),
    [(5.536, 5.544, 5), (5.5361, 5.5362, 5), (12345.0, 12349.0, 5), (-0.3001, -0.3, 2)],
)
def test_the_labels_of_an_axis_are_told_apart(low: float, high: float, least: int):
    figure = Figure("", (Series("", "train", np.array([low, high]), np.array([low, high])),))
    *rows, axis = text(figure, Look(), height=24).split("\n")[1:]
    labels = [float(row[:7].replace("k", "e3")) for row in rows if row[:7].strip()]
    assert len(labels) >= least
    assert labels == sorted(set(labels), reverse=True)
    steps = axis[8:].split()
    assert len(steps) == len(set(steps))


def test_values_too_close_for_labels_have_one():
    y = np.array([5.54, 5.54 + 1e-9])
    figure = Figure("", (Series("", "train", np.array([0.0, 9.0]), y),))
    labels = [row[:7].strip() for row in text(figure, Look()).split("\n")[1:-1]]
    assert [label for label in labels if label] == ["5.54"]


class ChartApp(App[None]):
    """A chart alone."""

    def compose(self) -> ComposeResult:
        """The chart."""
        yield Chart("alone")


async def test_a_chart_repaints_the_lines_that_change_and_no_others():
    figure = falling()
    moved = figure._replace(series=tuple(s._replace(y=s.y * 0.9) for s in figure.series))
    app = ChartApp()
    async with app.run_test(size=(80, 24)) as pilot:
        chart = app.query_one(Chart)
        for shown in (figure, moved, figure._replace(title="another title"), figure):
            chart.show(shown, Look())
            await pilot.pause()
            drawn = draw(shown, Look(), 80, 24)
            lines = ["".join(piece.text for piece in line).rstrip() for line in drawn]
            assert text_of(app.screen).split("\n") == lines
        chart.show(figure._replace(title="another title"), Look())
        assert chart._repaint_regions == {Region(0, 0, 80, 1)}
        chart.show(figure._replace(title="another title"), Look())
        assert chart._repaint_regions == {Region(0, 0, 80, 1)}
