"""The page of a run in training, by every key it has."""

import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from made_runs import (
    BEGAN,
    check_golden,
    config,
    eval_record,
    evaluate,
    made_run,
    step_record,
    text_of,
)
from textual.pilot import Pilot
from textual.widgets import Input, Static

from mlx_gpt.inventory import inventory, training_bytes
from mlx_gpt.language import Language, say
from mlx_gpt.run import Run, append, hold_lock, read
from mlx_gpt.terminal import duration, size, spaced
from tui.app import MlxGptApp
from tui.diagnosis import Advice
from tui.draft import cost_of
from tui.i18n import CATALOGUES, KEYS, t
from tui.pace import pace_of
from tui.plot import short
from tui.screens.dialogs import Ask
from tui.screens.train import Train, advice_text
from tui.widgets.chart import Chart
from tui.widgets.pane import Pane
from tui.widgets.status import Status


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(say, "language", "en")


def app_for(run: Run) -> MlxGptApp:
    return MlxGptApp(run.path.parent, run=run, clock=lambda: BEGAN)


def page_of(pilot: Pilot[None]) -> Train:
    page = pilot.app.screen
    assert isinstance(page, Train)
    return page


def main_chart(page: Train) -> Chart:
    return page.query_one("#main", Chart)


def pane(page: Train, name: str) -> str:
    return page.query_one(f"#{name}", Pane).shown.plain


def advice(page: Train) -> str:
    return str(page.query_one("#advice", Static).content)


def commands(run: Run) -> list[str]:
    return [str(record["cmd"]) for record in read(run.control)]


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_page_looks_as_it_was_looked_at(
    tmp_path: Path, size: tuple[int, int], language: Language
):
    say.language = language
    run = made_run(tmp_path, steps=150, end=None)
    with hold_lock(run):
        app = app_for(run)
        async with app.run_test(size=size) as pilot:
            await pilot.press("left")
            app.tick()
            await pilot.pause()
            check_golden(f"train_{size[0]}x{size[1]}_{language}", text_of(app.screen))


async def test_without_a_run_it_says_where_to_find_one(tmp_path: Path):
    app = MlxGptApp(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("2")
        shown = text_of(page_of(pilot))
        assert "  1  " in shown
        for key in ("p", "s", "X", "R", "a", "e", "left", "z", "g", "v", "l", "comma", "0"):
            await pilot.press(key)
        page = page_of(pilot)
        offered = {each.binding.id for each in page.active_bindings.values() if each.enabled}
        assert {each for each in offered if str(each).startswith("train.")} == set()
        app.attach(made_run(tmp_path))
        app.tick()
        await pilot.pause()
        assert all(words in text_of(page) for words in ("scrub", "g chart", "outliers"))


async def test_the_chart_shows_band_mean_validation_and_what_guessing_costs(tmp_path: Path):
    run = made_run(tmp_path)
    async with app_for(run).run_test() as pilot:
        figure = main_chart(page_of(pilot)).figure
        band, mean, val = figure.series
        assert (band.low is not None, val.points) == (True, True)
        assert len(mean.x) == 200
        assert {line.name: round(line.y, 2) for line in figure.references} == {
            "ln V": 5.55,
            "unigram": 3.1,
            "bigram": 2.4,
        }


async def test_g_goes_through_all_metrics(tmp_path: Path):
    run = made_run(tmp_path)
    async with app_for(run).run_test() as pilot:
        page, titles = page_of(pilot), []
        for _ in range(5):
            titles.append(main_chart(page).figure.title)
            await pilot.press("g")
        assert titles == ["loss", "learning rate", "gradient norm", "tokens/s", "memory"]
        assert main_chart(page).figure.title == "loss"


async def test_memory_has_its_limit(tmp_path: Path):
    run = made_run(tmp_path)
    async with app_for(run).run_test() as pilot:
        await pilot.press(*"gggg")
        figure = main_chart(page_of(pilot)).figure
        assert [(line.name, line.y) for line in figure.references] == [("limit", 1e9)]
        assert {series.y[0] for series in figure.series} == {1e7, 2e7}


async def test_scrubbing_moves_curves_and_samples_together(tmp_path: Path):
    run = made_run(tmp_path)
    async with app_for(run).run_test(size=(160, 48)) as pilot:
        page = page_of(pilot)
        assert "the fox at 200" in pane(page, "probes")
        await pilot.press("left")
        assert page.look.cursor == 150
        assert main_chart(page).look.cursor == 150
        assert "Once│ the fox at 150 ran home" in pane(page, "probes")
        assert "step 150" in str(page.query_one("#surprise").border_title)
        await pilot.press("left", "left", "left", "left", "left")
        assert page.look.cursor == 0
        await pilot.press("right")
        assert page.look.cursor == 50
        await pilot.press("full_stop", "full_stop", "comma")
        assert page.look.cursor == 51
        await pilot.press("escape")
        assert page.look.cursor is None
        assert "the fox at 200" in pane(page, "probes")


async def test_going_back_stops_at_all_that_is_on_record_newest_first(tmp_path: Path):
    run = made_run(tmp_path, steps=190, end=None)
    append(run.metrics, eval_record(170, 2.0) | {"best": False})
    answer = {"kind": "sample_end", "id": "other", "prompt": "By hand", "text": " said"}
    append(run.events, answer | {"step": 160})
    with hold_lock(run):
        async with app_for(run).run_test(size=(160, 48)) as pilot:
            page = page_of(pilot)
            await pilot.press("right")
            assert page.look.cursor is None
            seen = []
            for _ in range(4):
                await pilot.press("left")
                seen.append((page.look.cursor, "asked at 160 By hand│" in pane(page, "probes")))
            assert seen == [(170, True), (160, True), (150, False), (100, False)]
            await pilot.press("right", "right")
            assert page.look.cursor == 160
            await pilot.press("a", "O", "enter")
            await pilot.pause()
            assert page.look.cursor is None
            assert "O│▌" in pane(page, "probes")


async def test_what_an_evaluation_on_demand_does_not_give_is_told(tmp_path: Path):
    run = made_run(tmp_path, steps=0, end=None)
    run.samples.unlink()
    losses = {"kind": "surprise", "step": 0, "pieces": ["a"], "losses": [5.5]}
    append(run.samples, losses)
    with hold_lock(run):
        async with app_for(run).run_test(size=(160, 48)) as pilot:
            page = page_of(pilot)
            assert "evaluation of its own, every 50 steps" in pane(page, "probes")
            assert pane(page, "probes").endswith("a: ask now.")
            append(run.metrics, step_record(18))
            append(run.metrics, eval_record(18, 2.0) | {"best": False})
            ack = {"kind": "ack", "id": "x", "cmd": "eval", "ok": True, "step": 18}
            append(run.events, ack)
            page.tick()
            told = "asked for at step 18 gave the loss alone"
            assert told in pane(page, "probes")
            assert told in pane(page, "surprise")
            await pilot.press("left", "left")
            assert page.look.cursor == 0
            assert told not in pane(page, "probes") + pane(page, "surprise")
            await pilot.press("escape")
            evaluate(run, 50)
            page.tick()
            assert told not in pane(page, "probes") + pane(page, "surprise")


@pytest.mark.parametrize("end", ["stopped", "done", "diverged", None])
async def test_without_samples_only_what_acts_is_offered(tmp_path: Path, end: str | None):
    run = made_run(tmp_path, steps=20, end=end)
    run.samples.unlink()
    async with app_for(run).run_test() as pilot:
        page = page_of(pilot)
        assert pane(page, "probes") == "No samples were taken."
        (run.checkpoints / "step_000020").mkdir(parents=True)
        page.draw_anew()
        said = "No samples were taken. 3: let what was saved write."
        assert pane(page, "probes") == said


async def test_a_run_without_probe_prompts_says_so(tmp_path: Path):
    run = made_run(tmp_path, steps=20, end=None, settings=config(probe_prompts=()))
    run.samples.unlink()
    with hold_lock(run):
        async with app_for(run).run_test() as pilot:
            said = "Its settings name no prompts to continue (train.probe_prompts). a: ask now."
            assert pane(page_of(pilot), "probes") == said


async def test_zoom_keeps_the_cursor_in_sight(tmp_path: Path):
    run = made_run(tmp_path)
    async with app_for(run).run_test() as pilot:
        page = page_of(pilot)
        await pilot.press("left", "left", "z", "z")
        look = page.look
        assert look.x0 is not None
        assert look.x1 is not None
        assert look.x0 < 100 < look.x1
        assert look.x1 - look.x0 == pytest.approx(200 * 0.36, rel=0.05)
        await pilot.press("Z", "Z", "Z", "Z")
        assert (page.look.x0, page.look.x1) == (None, None)
        await pilot.press("z", "0")
        assert page.look.cursor is page.look.x0 is page.look.x1 is None


async def test_the_look_of_the_chart(tmp_path: Path):
    run = made_run(tmp_path)
    async with app_for(run).run_test() as pilot:
        page = page_of(pilot)
        await pilot.press("l", "o", "m", "m")
        look = main_chart(page).look
        assert (look.log, look.robust, look.marks) == (True, True, "ascii")
        rough = np.nanstd(np.diff(main_chart(page).figure.series[1].y[100:]))
        await pilot.press("plus", "equals_sign")
        assert np.nanstd(np.diff(main_chart(page).figure.series[1].y[100:])) < rough
        await pilot.press("minus", "minus", "minus")
        assert np.nanstd(np.diff(main_chart(page).figure.series[1].y[100:])) > rough


async def test_v_goes_through_the_panes(tmp_path: Path):
    run = made_run(tmp_path)
    async with app_for(run).run_test(size=(80, 24)) as pilot:
        page, seen = page_of(pilot), []
        for _ in range(3):
            names = ("probes", "surprise", "log")
            seen += [name for name in names if page.query_one(f"#{name}").display]
            await pilot.press("v")
        assert seen == ["probes", "surprise", "log"]


async def test_a_click_points_and_the_wheel_zooms(tmp_path: Path):
    run = made_run(tmp_path)
    app = app_for(run)
    async with app.run_test(size=(100, 30)) as pilot:
        page = page_of(pilot)
        await pilot.click("#main", offset=(54, 4))
        assert page.look.cursor == 100  # the point that is drawn there, not the step of the column
        await pilot.click("#main", offset=(60, 4))
        assert page.look.cursor == round(200 * (60 - 8) / 91)
        await pilot.click("#main", offset=(76, 4))
        assert page.look.cursor == 150
        assert "step 150" in text_of(page)
        await pilot.click("#main", offset=(54, 4))
        await pilot._post_mouse_events([mouse_scroll()], widget=main_chart(page), offset=(54, 4))
        await pilot.pause()
        assert page.look.x0 is not None


def mouse_scroll() -> type:
    from textual.events import MouseScrollUp

    return MouseScrollUp


@pytest.mark.parametrize(
    ("key", "cmd"), [("p", "pause"), ("s", "save"), ("X", "stop"), ("e", "eval")]
)
async def test_a_key_sends_its_command(tmp_path: Path, key: str, cmd: str):
    run = made_run(tmp_path, steps=150, end=None)
    with hold_lock(run):
        async with app_for(run).run_test() as pilot:
            await pilot.press(key)
            assert commands(run) == [cmd]


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_eco_is_switched_by_its_key_and_stands_in_the_status(
    tmp_path: Path, size: tuple[int, int]
):
    run = made_run(tmp_path, steps=150, end=None)
    with hold_lock(run):
        async with app_for(run).run_test(size=size) as pilot:
            page = page_of(pilot)
            status = page.query_one(Status)
            assert "eco" not in str(status.render())
            await pilot.press("E")
            append(run.events, {"kind": "eco", "step": 150, "on": True})
            page.tick()
            assert "75%  eco  5.15k tok/s" in str(status.render()).splitlines()[0]
            await pilot.press("E")
            assert [record["on"] for record in read(run.control)] == [True, False]
            append(run.events, {"kind": "finished", "step": 150, "reason": "stopped"})
    async with app_for(run).run_test(size=size) as pilot:
        page = page_of(pilot)
        assert "eco" not in str(page.query_one(Status).render())
        await pilot.press("E")
        assert len(read(run.control)) == 2


async def test_a_command_shows_at_once_and_until_it_is_answered(tmp_path: Path):
    run = made_run(tmp_path, steps=150, end=None)
    with hold_lock(run):
        async with app_for(run).run_test() as pilot:
            page = page_of(pilot)
            await pilot.press("X")
            assert "Asked to stop; waiting for the step to end" in advice(page)
            [command] = read(run.control)
            append(run.events, {"kind": "ack", "id": command["id"], "cmd": "stop", "ok": True})
            page.tick()
            assert "Asked" not in advice(page)


async def test_a_run_that_was_stopped_says_so(tmp_path: Path):
    run = made_run(tmp_path, steps=150, end="stopped")
    async with app_for(run).run_test() as pilot:
        page = page_of(pilot)
        assert "Stopped and saved at step 150 of 200" in advice(page)
        assert "■ stopped" in page.query_one(Status).render().plain


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
async def test_the_status_is_two_lines_at_any_width(tmp_path: Path, width: int, language: Language):
    say.language = language
    run = made_run(tmp_path, steps=0, end=None)
    memory = {"active_memory": 123_400_000_000, "peak_memory": 127_400_000_000}
    for step in (123_456, 123_460):
        slow = {"time": BEGAN + step, "tokens_per_second": 41_500.0, "grad_norm": 1.234e-5}
        append(run.metrics, step_record(step, lr=1.234e-5, **slow, **memory))
    append(run.events, {"kind": "started", "steps": 200_000, "memory_limit": 192_000_000_000})
    with hold_lock(run):
        async with app_for(run).run_test(size=(max(width, 80), 24)) as pilot:
            status = page_of(pilot).query_one(Status)
            status.styles.width = width
            await pilot.pause()
            lines = status.render().plain.split("\n")
            assert len(lines) == 2
            assert max(map(len, lines)) <= width - 2
            assert "123460/200000" in lines[0]
            assert t("chart.train") in lines[1]
            if width >= 80:
                assert all(word in lines[0] for word in ("62%", "21 h", "41.5k tok/s"))
                assert all(
                    word in lines[1] for word in (f" {t('chart.val')} ", "lr ", "127GB/192GB")
                )


async def test_the_measured_memory_stands_beside_the_estimate(tmp_path: Path):
    run = made_run(tmp_path)
    expected = training_bytes(config().model, config().train)
    async with app_for(run).run_test(size=(160, 48)) as pilot:
        shown = page_of(pilot).query_one(Status).render().plain
        assert f"mem 20MB/1GB  estimated {short(expected, as_bytes=True)}" in shown


def plan_line(page: Train, name: str) -> list[str]:
    """The figures of a line of the plan."""
    (line,) = [each for each in pane(page, "plan").split("\n") if each.strip().startswith(name)]
    return re.split(r"\s{2,}", line.strip())[1:]


async def test_the_plan_stands_beside_what_was_measured(tmp_path: Path):
    run = made_run(tmp_path, steps=150, end="stopped")
    cost = cost_of(config(), None)
    async with app_for(run).run_test(size=(80, 24)) as pilot:
        await pilot.press("v", "v", "v")
        page = page_of(pilot)
        assert page.pane == "plan"
        title = str(page.query_one("#plan", Pane).border_title)
        assert spaced(inventory(config().model).total) in title
        peak, rest = cost.memory, cost.parts.weights + cost.parts.moments
        assert plan_line(page, "peak memory") == [size(peak), "20.0 MB", f"×{2e7 / peak:.2f}"]
        assert plan_line(page, "between") == [size(rest), "10.0 MB", f"×{1e7 / rest:.2f}"]
        assert plan_line(page, "AdamW moments") == [size(cost.parts.moments), "–"]
        assert plan_line(page, "tokens/s")[1] == "5.08k"  # the median
        seconds = cost.seconds * 150 / 200
        figures = [duration(seconds), "15 s", f"×{14.9 / seconds:.2f}"]
        assert plan_line(page, "time, 150 steps") == figures
        assert "two CPU cores" in pane(page, "plan")
        assert "≈" not in pane(page, "plan")


def warned(page: Train) -> str:
    """The lines of the plan that stand out."""
    shown = page.query_one("#plan", Pane).shown
    return "".join(
        shown.plain[each.start : each.end] for each in shown.spans if "warning" in str(each.style)
    )


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
@pytest.mark.parametrize("eco", [False, True])
async def test_the_time_of_a_living_run_is_no_measured_one(
    tmp_path: Path, size: tuple[int, int], eco: bool
):
    run = made_run(tmp_path, steps=150, end=None)
    append(run.events, {"kind": "eco", "step": 0, "on": eco})
    append(run.events, {"kind": "eco", "step": 140, "on": False})
    cost = cost_of(config(), None)
    with hold_lock(run):
        async with app_for(run).run_test(size=size) as pilot:
            await pilot.press(*"vvv" if size[0] == 80 else "v")
            page = page_of(pilot)
            ratio = f"×{19.9 / cost.seconds:.2f}"  # 15 seconds so far, 5 to go
            assert plan_line(page, "time") == [duration(cost.seconds), "≈20 s", ratio]
            assert "≈: the time so far and what is left" in pane(page, "plan")
            assert ("counts the rests" in pane(page, "plan")) == eco
            assert ("time" in warned(page)) != eco
            assert "between steps" in warned(page)


async def test_long_times_stand_apart_in_the_plan(tmp_path: Path):
    run = made_run(tmp_path, steps=0, end=None, settings=config(steps=20_000_000))
    for step in range(1, 9):
        append(run.metrics, step_record(step, time=BEGAN + step * 900_000))
    async with app_for(run).run_test(size=(80, 24)) as pilot:
        await pilot.press("v", "v", "v")
        assert plan_line(page_of(pilot), "time")[1] == "72 d 22 h"
        lines = pane(page_of(pilot), "plan").split("\n")
        assert len({line.rindex("–") for line in lines if line.endswith("–")}) == 1


async def test_the_plan_takes_the_pace_of_other_runs_only(tmp_path: Path):
    run = made_run(tmp_path)
    pace = pace_of(made_run(tmp_path, "other").path, 0)
    assert pace is not None
    async with app_for(run).run_test(size=(160, 48)) as pilot:
        await pilot.press("v")
        page = page_of(pilot)
        seconds = cost_of(config(), pace.speed).seconds
        assert plan_line(page, "time")[0] == duration(seconds)
        assert plan_line(page, "tokens/s")[0] == plan_line(page, "tokens/s")[1]
        assert "other runs of this size" in pane(page, "plan")


async def test_before_the_first_step_only_the_plan_is_told(tmp_path: Path):
    run = made_run(tmp_path, steps=0, end=None)
    async with app_for(run).run_test(size=(160, 48)) as pilot:
        await pilot.press("v")
        for name in ("time", "tokens/s", "peak memory", "between steps"):
            assert plan_line(page_of(pilot), name)[1:] == ["–"]
        run.config_toml.write_text("[model]\nn_heads = 5\n")
    async with app_for(run).run_test(size=(160, 48)) as pilot:
        await pilot.press("v")
        assert "cannot be read" in pane(page_of(pilot), "plan")


async def test_a_training_on_its_way_tells_how_far_it_is(tmp_path: Path):
    app = app_for(made_run(tmp_path))
    async with app.run_test() as pilot:
        page = page_of(pilot)
        launch = app.launch(["mlx-gpt", "--version"])
        launch.notes.write_text("reading 40%\n", encoding="utf-8")
        page.tick()
        assert "being prepared: reading 40%" in advice(page)
        assert app.about() == "reading 40%"
        assert app.launch(["mlx-gpt", "--version"]) is launch
        assert app.launches == [launch]
        launch.process.wait(60)
        app.launches.remove(launch)
        launch.close()
        page.tick()
        assert "Finished" in advice(page)


async def test_outliers_are_left_out_of_every_chart_but_those_that_are_set(tmp_path: Path):
    run = made_run(tmp_path)
    async with app_for(run).run_test(size=(160, 48)) as pilot:
        page = page_of(pilot)
        charts = [page.query_one(f"#side{number}", Chart) for number in range(4)]
        assert {chart.look.robust for chart in charts} == {False}
        await pilot.press("o")
        robust = {chart.figure.title: chart.look.robust for chart in charts}
        assert robust == {
            "learning rate": False,
            "gradient norm": True,
            "tokens/s": True,
            "memory": False,
        }
        await pilot.press("g")
        assert main_chart(page).look.robust is False


async def test_beside_the_status_no_older_learning_rate_is_told(tmp_path: Path):
    run = made_run(tmp_path)
    async with app_for(run).run_test(size=(160, 48)) as pilot:
        page = page_of(pilot)
        assert "learning rate" in text_of(page)
        assert "set to" not in text_of(page)
        await pilot.press("left")
        assert "learning rate  set to " in text_of(page)


async def test_the_title_tells_step_smoothing_and_units(tmp_path: Path):
    run = made_run(tmp_path)
    facts = {"train_tokens": 100_000, "val_tokens": 500, "val_characters": 1000}
    run.data_json.write_text(json.dumps(facts), encoding="utf-8")
    async with app_for(run).run_test(size=(160, 48)) as pilot:
        page = page_of(pilot)
        await pilot.press("left")
        head = text_of(page).split("\n")[3]
        val = eval_record(150)["val_loss"]
        assert "step 150  train (ema 0.9)" in head
        assert (
            f"val {val:.4g}  {val / math.log(2) / 2:.4g} bits/char  {math.exp(val):.4g} ppl" in head
        )
        await pilot.press("plus")
        assert "(ema 0.95)" in text_of(page)
        await pilot.press(*["minus"] * 5)
        assert "ema" not in text_of(page)


async def test_the_log_follows_its_end_unless_one_reads_above(tmp_path: Path):
    run = made_run(tmp_path, steps=150, end=None)
    long = "a warning so long that it takes several lines of the pane " * 5
    for number in range(12):
        append(run.events, {"kind": "warning", "message": f"{number} {long}"})
    with hold_lock(run):
        app = app_for(run)
        async with app.run_test() as pilot:
            page = page_of(pilot)
            await pilot.press("v", "v")
            await pilot.pause()
            log = page.query_one("#log", Pane)
            assert log.max_scroll_y > 20
            assert log.scroll_y == log.max_scroll_y
            log.focus()
            await pilot.press("home")
            await pilot.pause(0.5)
            append(run.events, {"kind": "warning", "message": "news"})
            page.tick()
            await pilot.pause()
            assert log.scroll_y == 0
            await pilot.press("end")
            await pilot.pause(0.5)
            append(run.events, {"kind": "warning", "message": f"news {long}"})
            page.tick()
            await pilot.pause()
            assert log.scroll_y == log.max_scroll_y


async def test_p_goes_on_with_a_paused_run(tmp_path: Path):
    run = made_run(tmp_path, steps=150, end=None)
    append(run.events, {"kind": "paused"})
    with hold_lock(run):
        async with app_for(run).run_test() as pilot:
            await pilot.press("p")
            assert commands(run) == ["resume"]


@pytest.mark.parametrize("language", ["en", "es"])
async def test_a_paused_run_says_so_and_which_key_goes_on(tmp_path: Path, language: Language):
    say.language = language
    go_on, pause = (f" p {t(f'key.train.{name}')} " for name in ("go_on", "pause"))
    run = made_run(tmp_path, steps=150, end=None)
    with hold_lock(run):
        async with app_for(run).run_test(size=(80, 24)) as pilot:
            page = page_of(pilot)
            assert pause in text_of(page)
            append(run.events, {"kind": "paused", "step": 150})
            page.tick()
            await pilot.pause()
            assert t("advice.paused", step=150, total=200) in advice(page)
            assert advice(page).endswith(f"→ p {t('key.train.go_on')}")
            assert go_on in text_of(page)
            assert pause not in text_of(page)
            append(run.events, {"kind": "resumed", "step": 150})
            page.tick()
            await pilot.pause()
            assert pause in text_of(page)
            await pilot.press("p")
            await pilot.pause()
            assert go_on in text_of(page)  # that is what the key would do now


async def test_what_is_called_best_is_what_was_saved(tmp_path: Path):
    run = made_run(tmp_path, steps=20, end=None, vals=[6.953])
    append(run.metrics, eval_record(18, 2.935) | {"best": False})
    with hold_lock(run):
        async with app_for(run).run_test(size=(80, 24)) as pilot:
            page = page_of(pilot)
            assert "best" not in text_of(page)  # the weights of step 0 are not saved
            append(run.metrics, step_record(50))
            append(run.metrics, eval_record(50, 3.5))
            append(run.metrics, eval_record(55, 3.1) | {"best": False})
            page.tick()
            assert "val 3.1  best saved 3.5@50" in page.query_one(Status).render().plain


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("width", [*range(50, 130, 3), 78])
def test_no_advice_parts_the_key_from_its_name(width: int, language: Language):
    say.language = language
    values = dict.fromkeys(("step", "total", "steps", "tokens"), 12345)
    values |= dict.fromkeys(("best", "loss", "now", "lowest", "usual"), "3.512")
    values |= {"lr": "0.00033", "fall": "32%"}
    values |= {"epochs": 120, "expected": "10.82", "got": "10.31", "stage": t("stage.reading")}
    named = [key.removeprefix("advice.") for key in CATALOGUES["en"] if key.startswith("advice.")]
    for name in named:
        for action in ("train.resume", "app.sample", "train.slower"):
            key = action.replace("slower", "resume")
            text = advice_text(Advice(name, values, key, grave=True), action, width)
            *_, last = lines = text.plain.split("\n")
            shown = f"→ {KEYS[key]} {t(f'key.{action}')}"
            assert last.endswith(shown), name
            assert " ".join(text.plain.split()).count(shown) == 1, name
            assert max(map(len, lines)) <= width
            assert len(lines) <= 2 or width < 78, text.plain


@pytest.mark.parametrize(("saved", "name"), [(True, "lower rate"), (False, "begin again")])
async def test_what_a_diverged_run_is_offered_is_what_the_key_does(
    tmp_path: Path, saved: bool, name: str, monkeypatch: pytest.MonkeyPatch
):
    begun: list[list[str]] = []
    monkeypatch.setattr(MlxGptApp, "launch", lambda self, words: begun.append(words))
    run = made_run(tmp_path, steps=60, end="diverged", settings=config(lr=1e3))
    if saved:
        (run.checkpoints / "step_000050").mkdir(parents=True)
    async with app_for(run).run_test(size=(80, 24)) as pilot:
        page = page_of(pilot)
        assert advice(page).endswith(f"→ R {name}")
        assert ("last good checkpoint" in " ".join(advice(page).split())) == saved
        assert f" R {name} " in text_of(page)
        assert "resume" not in text_of(page)
        await pilot.press("R")
        assert begun[0][-1] == "train.lr=0.001"


async def test_a_switch_pressed_again_before_the_answer_is_switched_back(tmp_path: Path):
    run = made_run(tmp_path, steps=150, end=None)
    with hold_lock(run):
        async with app_for(run).run_test() as pilot:
            await pilot.press("p", "p", "E", "E")
            assert commands(run) == ["pause", "resume", "eco", "eco"]
            assert [each["on"] for each in read(run.control) if "on" in each] == [True, False]


async def test_the_answer_of_the_trainer_is_told(tmp_path: Path):
    run = made_run(tmp_path, steps=150, end=None)
    with hold_lock(run):
        app = app_for(run)
        async with app.run_test() as pilot:
            await pilot.press("s")
            [command] = read(run.control)
            for known in (command["id"], "of someone else"):
                values = {"id": known, "ok": True, "message": f"for {known}"}
                append(run.events, {"kind": "ack", **values})
            page_of(pilot).tick()
            await pilot.pause()
            assert [note.message for note in app._notifications] == [f"for {command['id']}"]


async def test_asking_streams_the_answer(tmp_path: Path):
    run = made_run(tmp_path, steps=150, end=None)
    with hold_lock(run):
        app = app_for(run)
        async with app.run_test() as pilot:
            await pilot.press("a")
            assert isinstance(app.screen, Ask)
            app.screen.query_one(Input).value = "Once [b]"
            await pilot.press("enter")
            await pilot.pause()
            [command] = read(run.control)
            assert (command["cmd"], command["prompt"]) == ("sample", "Once [b]")
            append(run.events, {"kind": "token", "id": command["id"], "text": " upon\x1b a"})
            page = page_of(pilot)
            page.tick()
            assert "Once [b]│ upon␛ a▌" in pane(page, "probes")
            append(run.events, {"kind": "sample_end", "id": command["id"], "text": " upon a time"})
            page.tick()
            assert pane(page, "probes").endswith("Once [b]│ upon a time")


async def test_a_run_without_a_trainer_takes_no_commands(tmp_path: Path):
    run = made_run(tmp_path)
    app = app_for(run)
    async with app.run_test() as pilot:
        await pilot.press("p", "s", "X", "e", "a")
        assert isinstance(app.screen, Train)
        assert not run.control.exists()
        shown = text_of(app.screen)
        assert "p pause" not in shown
        assert "R resume" in shown


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (None, ["--resume", "PATH"]),
        ("diverged", ["--resume", "PATH", "train.lr=0.00033"]),
        ("stopped", ["--resume", "PATH"]),
    ],
)
async def test_r_goes_on(
    tmp_path: Path, end: str | None, words: list[str], monkeypatch: pytest.MonkeyPatch
):
    begun: list[list[str]] = []
    monkeypatch.setattr(MlxGptApp, "launch", lambda self, words: begun.append(words))
    run = made_run(tmp_path, steps=150, end=end)
    async with app_for(run).run_test() as pilot:
        await pilot.press("R")
        expected = [str(run.path) if word == "PATH" else word for word in words]
        assert begun == [["mlx-gpt", "train", *expected]]


@pytest.mark.parametrize("end", ["stopped", "diverged", "done", None])
async def test_a_run_that_rested_goes_on_resting(
    tmp_path: Path, end: str | None, monkeypatch: pytest.MonkeyPatch
):
    begun: list[list[str]] = []
    monkeypatch.setattr(MlxGptApp, "launch", lambda self, words: begun.append(words))
    run = made_run(tmp_path, steps=150, end=end)
    append(run.events, {"kind": "eco", "step": 150, "on": True})
    async with app_for(run).run_test() as pilot:
        await pilot.press("R", *["enter"] * (end == "done"))
        await pilot.pause()
        append(run.events, {"kind": "eco", "step": 150, "on": False})
        page_of(pilot).tick()
        await pilot.press("R", *["enter"] * (end == "done"))
        await pilot.pause()
        assert [words[-1] == "--eco" for words in begun] == [True, False]


async def test_r_asks_how_far_a_finished_run_shall_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    begun: list[list[str]] = []
    monkeypatch.setattr(MlxGptApp, "launch", lambda self, words: begun.append(words))
    run = made_run(tmp_path)
    app = app_for(run)
    async with app.run_test() as pilot:
        await pilot.press("R")
        line = app.screen.query_one(Input)
        assert line.value == "400"
        line.value = "many"
        await pilot.press("enter")
        assert begun == []
        line.value = "300"
        await pilot.press("enter")
        await pilot.pause()
        assert begun[0][-4:] == ["--steps", "300", "--curve", "stretch"]


async def test_new_steps_are_drawn_when_they_come(tmp_path: Path):
    run = made_run(tmp_path, steps=50, end=None)
    with hold_lock(run):
        async with app_for(run).run_test() as pilot:
            page = page_of(pilot)
            for step in range(51, 101):
                append(run.metrics, step_record(step))
            evaluate(run, 100)
            page.tick()
            assert main_chart(page).figure.series[0].x[-1] == 100
            assert "the fox at 100" in pane(page, "probes")
            assert "100/200" in page.query_one(Status).render().plain


async def test_a_loss_that_is_no_number_is_marked_and_explained(tmp_path: Path):
    run = made_run(tmp_path, steps=100, end=None)
    append(run.metrics, step_record(101, loss=float("nan"), loss_min=None, loss_max=None))
    with hold_lock(run):
        async with app_for(run).run_test() as pilot:
            page = page_of(pilot)
            assert "✗" in text_of(page)
            assert "101" in advice(page)
            assert "X stop" in advice(page)


async def test_a_vanished_folder_is_said(tmp_path: Path):
    run = made_run(tmp_path)
    async with app_for(run).run_test() as pilot:
        page = page_of(pilot)
        shutil.rmtree(run.path)
        assert "R resume" in text_of(page)
        page.ours.tick()
        await pilot.pause()
        assert "gone" in advice(page)
        shown = text_of(page)
        assert "∅ folder gone" in shown
        assert "finished" not in shown.split("\n")[1]
        assert shown.split("\n")[0].endswith(f"{run.name} ∅")
        assert "R resume" not in shown
        await pilot.press("p", "left", "L", "R", "escape")
        await pilot.pause()
        assert "∅ sin carpeta" in text_of(page)


async def test_the_language_changes_while_it_runs(tmp_path: Path):
    run = made_run(tmp_path)
    app = app_for(run)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("L")
        await pilot.pause()
        shown = text_of(app.screen)
        for word in ("pérdida", "terminada", "muestras", "suavizar", "ayuda", "Entrenar"):
            assert word in shown
        await pilot.press("1")
        await pilot.pause()
        assert "nombre" in text_of(app.screen)
        await pilot.press("f2", "2")
        await pilot.pause()
        shown = text_of(app.screen)
        assert "samples" in shown
        assert "terminada" not in shown


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("done", "mlx-gpt train {0}/config.toml --name stories-2 --out {1}"),
        ("diverged", "mlx-gpt train --resume {0} train.lr=0.00033"),
        (None, "mlx-gpt train --resume {0}"),
    ],
)
async def test_the_command_line_of_the_page(
    tmp_path: Path, end: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.platform", "linux")
    run = made_run(tmp_path, end=end)
    app = app_for(run)
    async with app.run_test() as pilot:
        await pilot.press("y")
        assert app.clipboard == expected.format(run.path, tmp_path)
        with hold_lock(run):
            page_of(pilot).tick()
            await pilot.press("y")
            assert app.clipboard == f"mlx-gpt tui {run.path}"
