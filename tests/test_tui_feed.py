"""A run is followed truly, whatever its writer does to its files."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from made_runs import BEGAN, eval_record, made_run, step_record

from mlx_gpt.run import Run, append, hold_lock, summary
from tui import feed as feed_module
from tui.curves import loss_units
from tui.feed import Columns, Feed, Glance, Reader, ascending, records, seconds_per_step


def read_all(feed: Feed) -> Feed:
    while feed.poll() or feed.behind:
        pass
    return feed


def test_a_feed_holds_every_step_and_evaluation(tmp_path: Path):
    feed = read_all(Feed(made_run(tmp_path)))
    assert feed.steps["step"].tolist() == list(range(1, 201))
    assert feed.steps["loss"][-1] == pytest.approx(step_record(200)["loss"])
    assert feed.evals["step"].tolist() == [0, 50, 100, 150, 200]
    assert [probe.step for probe in feed.probes["Once"]] == [0, 50, 100, 150, 200]
    assert [surprise.step for surprise in feed.surprises] == [0, 50, 100, 150, 200]
    assert (feed.state, feed.step, feed.total) == ("finished", 200, 200)
    assert feed.setting("model.d_model") == 64


def test_nothing_new_changes_nothing(tmp_path: Path):
    feed = read_all(Feed(made_run(tmp_path)))
    before = feed.revision, feed.curve_revision
    assert not feed.poll()
    assert (feed.revision, feed.curve_revision) == before


def test_a_half_written_line_waits_for_its_end(tmp_path: Path):
    run = made_run(tmp_path, steps=3)
    feed = read_all(Feed(run))
    line = json.dumps(step_record(4)) + "\n"
    with run.metrics.open("a") as file:
        file.write(line[:20])
        file.flush()
        feed.poll()
        assert len(feed.steps) == 3
        file.write(line[20:])
    feed.poll()
    assert feed.steps["step"].tolist() == [1, 2, 3, 4]


def test_broken_lines_are_passed_over(tmp_path: Path):
    run = made_run(tmp_path, steps=2)
    with run.metrics.open("ab") as file:
        file.write(b'{"kind":"step","st\n\xff\xfe\n[1]\n"x"\n{"kind":"step","step":"x"}\n')
    append(run.metrics, step_record(3))
    assert read_all(Feed(run)).steps["step"].tolist() == [1, 2, 3]


def test_two_torn_lines_do_not_make_a_whole_one():
    torn = [b'{"kind": "step"', b'"step": 5}']
    assert records([*torn, b'{"a": 1}']) == [{"a": 1}]


@pytest.mark.parametrize("slice_bytes", [7, 100, 1 << 18])
def test_slices_do_not_change_what_is_read(
    tmp_path: Path, slice_bytes: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(feed_module, "SLICE_BYTES", slice_bytes)
    feed = read_all(Feed(made_run(tmp_path, steps=30)))
    assert feed.steps["step"].tolist() == list(range(1, 31))


def test_reading_stops_when_its_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(feed_module, "SLICE_BYTES", 1000)
    feed = Feed(made_run(tmp_path))
    feed.poll(seconds=0)
    assert 0 < len(feed.steps) < 20
    assert feed.behind


def test_a_resumed_run_has_one_curve(tmp_path: Path):
    run = made_run(tmp_path, steps=100)
    feed = read_all(Feed(run))
    for step in (51, 52):
        append(run.metrics, step_record(step, loss=9.0))
    append(run.metrics, eval_record(52, 8.0))
    feed.poll()
    assert feed.steps["step"].tolist() == list(range(1, 53))
    assert feed.steps["loss"][-2:].tolist() == [9, 9]
    assert feed.evals["step"].tolist() == [0, 50, 52]
    fresh = read_all(Feed(run))
    np.testing.assert_array_equal(fresh.steps.table[:, :52], feed.steps.table[:, :52])


def test_what_survives_is_what_no_later_step_goes_back_over():
    rng = np.random.default_rng(2)
    for _ in range(50):
        steps = rng.integers(0, 10, size=12).astype(float)
        kept: list[int] = []
        for i, step in enumerate(steps):
            while kept and steps[kept[-1]] >= step:
                kept.pop()
            kept.append(i)
        assert ascending(steps).tolist() == kept


def test_values_that_are_no_number_are_holes(tmp_path: Path):
    columns = Columns(("step", "loss"))
    rows = [{"step": 1, "loss": None}, {"step": 2, "loss": "x"}, {"step": 3, "loss": True}]
    columns.add([*rows, {"step": None, "loss": 1.0}, {"step": 4, "loss": 2}])
    assert columns["step"].tolist() == [1, 2, 3, 4]
    assert np.isnan(columns["loss"][:3]).all()


def test_a_file_that_begins_anew_is_read_anew(tmp_path: Path):
    run = made_run(tmp_path, steps=100)
    feed = read_all(Feed(run))
    run.metrics.write_text(json.dumps(step_record(1)) + "\n")
    feed.poll()
    assert feed.steps["step"].tolist() == [1]


def test_a_vanished_folder_is_said_and_harms_nothing(tmp_path: Path):
    run = made_run(tmp_path)
    feed, glance = read_all(Feed(run)), Glance(run)
    shutil.rmtree(run.path)
    feed.poll()
    glance.poll()
    assert feed.gone
    assert len(feed.steps) == 200
    assert glance.updated == 0


def test_a_missing_folder_is_an_empty_feed(tmp_path: Path):
    feed = Feed(Run(tmp_path / "nothing"))
    feed.poll()
    assert (len(feed.steps), feed.state, feed.total) == (0, "interrupted", 0)
    assert feed.seconds_left() is None


@pytest.mark.parametrize(
    ("end", "state"), [("done", "finished"), ("diverged", "diverged"), (None, "interrupted")]
)
def test_the_state_of_a_run_without_a_trainer(tmp_path: Path, end: str | None, state: str):
    run = made_run(tmp_path, end=end)
    glance = Glance(run)
    glance.poll()
    assert read_all(Feed(run)).state == glance.state == summary(run).state == state


def test_the_state_of_a_living_run(tmp_path: Path):
    run = made_run(tmp_path, end=None)
    feed = Feed(run)
    with hold_lock(run):
        feed.poll()
        assert feed.state == "running"
        append(run.events, {"kind": "paused"})
        feed.poll()
        assert feed.state == summary(run).state == "paused"
    feed.poll()
    assert feed.state == "interrupted"


def test_the_pace_leaves_out_pauses_and_a_clock_set_back():
    steps = np.arange(1.0, 21)
    times = np.cumsum(np.full(20, 2.0))
    assert seconds_per_step(steps, times) == pytest.approx(2)
    times[10:] += 3600
    pace = seconds_per_step(steps, times)
    assert pace is not None
    assert pace < 5
    times[10:] -= 7200
    assert seconds_per_step(steps, times) == pytest.approx(2)
    assert seconds_per_step(steps[:1], times[:1]) is None
    assert seconds_per_step(np.array([1.0, 2]), np.array([5.0, np.nan])) is None


def test_the_time_left_follows_the_pace(tmp_path: Path):
    feed = read_all(Feed(made_run(tmp_path, steps=150, end=None)))
    assert feed.seconds_left() == pytest.approx(5, rel=0.01)


def test_the_time_left_is_told_by_the_pace_since_eco_was_switched(tmp_path: Path):
    run = made_run(tmp_path, steps=100, end=None)
    feed = read_all(Feed(run))
    assert not feed.eco
    append(run.events, {"kind": "eco", "step": 100, "on": True})
    feed.poll()
    assert feed.eco
    assert feed.seconds_left() is None
    for step in range(101, 106):
        append(run.metrics, step_record(step, time=BEGAN + 10 + (step - 100) / 5))
    feed.poll()
    assert feed.seconds_left() == pytest.approx(19, rel=0.01)
    append(run.events, {"kind": "eco", "step": 105, "on": False})
    feed.poll()
    assert not feed.eco
    append(run.events, {"kind": "eco", "step": 105, "on": True})
    append(run.events, {"kind": "started", "step": 105, "steps": 200})
    feed.poll()
    assert not feed.eco


def test_the_best_evaluation_is_one_that_the_run_made_itself(tmp_path: Path):
    run = made_run(tmp_path, steps=100, vals=[5, 3, 3.5])
    append(run.metrics, eval_record(110, 2.0) | {"best": False})
    append(run.metrics, eval_record(120, 2.5) | {"best": True})
    append(run.metrics, eval_record(130, 2.4) | {"best": False})
    feed, glance = read_all(Feed(run)), Glance(run)
    glance.poll()
    assert feed.best == (120, 2.5)
    assert glance.best == summary(run).best_val_loss == 2.5
    assert glance.val_loss == summary(run).val_loss == 2.4
    assert Feed(Run(tmp_path / "nothing")).best is None


def test_a_streamed_answer_grows_and_ends(tmp_path: Path):
    run = made_run(tmp_path)
    feed = read_all(Feed(run))
    feed.expect("c1", "Once")
    for text in (" upon", " a"):
        append(run.events, {"kind": "token", "id": "c1", "text": text})
    feed.poll()
    assert feed.answers["c1"] == ("Once", " upon a", False, None)
    append(run.events, {"kind": "sample_end", "id": "c1", "text": " upon a time"})
    feed.poll()
    assert feed.answers["c1"] == ("Once", " upon a time", True, None)


def test_a_glance_says_what_the_summary_says(tmp_path: Path):
    run = made_run(tmp_path, vals=[5.0, 3.0, 2.0, 2.5, 2.25])
    glance = Glance(run)
    glance.poll()
    expected = summary(run)
    assert (glance.step, glance.steps) == (expected.step, expected.steps)
    assert (glance.loss, glance.val_loss) == (expected.loss, expected.val_loss)
    assert (glance.best, glance.speed) == (expected.best_val_loss, expected.tokens_per_second)
    append(run.metrics, step_record(201))
    append(run.metrics, eval_record(201, 1.5))
    glance.poll()
    assert (glance.step, glance.val_loss, glance.best) == (201, 1.5, 1.5)


def test_a_glance_at_a_run_without_numbers(tmp_path: Path):
    glance = Glance(made_run(tmp_path, steps=0, vals=[math.nan]))
    glance.poll()
    assert glance.step == 0
    assert math.isnan(glance.loss)
    assert math.isnan(glance.best)


def test_times_are_those_of_the_files(tmp_path: Path):
    glance = Glance(made_run(tmp_path))
    glance.poll()
    assert glance.updated == BEGAN + 20


def test_a_reader_of_nothing(tmp_path: Path):
    reader = Reader(tmp_path / "none")
    assert reader.lines(100) == ([], False)
    assert not reader.behind


def test_what_cannot_be_read_is_not_waited_for(tmp_path: Path):
    run = made_run(tmp_path, steps=10)
    feed = Feed(run)
    feed.poll()
    run.metrics.unlink()
    run.metrics.mkdir()
    assert not feed.poll() or not feed.poll()
    assert not feed.behind
    run.metrics.rmdir()
    append(run.metrics, step_record(11))
    feed.poll()
    assert feed.step == 11


@pytest.mark.parametrize(
    "size", [10**400, 1e308, -1e308, 10**30], ids=["digits", "large", "low", "whole"]
)
def test_a_figure_too_large_to_be_one_is_a_hole(tmp_path: Path, size: float):
    run = made_run(tmp_path, steps=10)
    append(run.metrics, {**step_record(11), "step": size})
    append(run.metrics, step_record(12, loss=size, time=size))
    append(run.metrics, {**eval_record(12), "step": size})
    append(run.samples, {"kind": "sample", "step": size, "prompt": "", "text": "a"})
    append(run.events, {"kind": "started", "steps": size})
    append(run.events, {"kind": "finished", "reason": [size]})
    feed, glance = Feed(run), Glance(run)
    feed.poll()
    glance.poll()
    assert feed.step == glance.step == 12
    assert not abs(feed.last("loss")) > 1e100
    assert {probe.step for asked in feed.probes.values() for probe in asked} == {0}
    assert feed.total == glance.steps == 200
    assert feed.state == glance.state == "interrupted"


@pytest.mark.parametrize("text", ["null", "[1, 2]", '"x"', "[" * 100_000])
def test_facts_that_are_no_table_are_none(tmp_path: Path, text: str):
    run = made_run(tmp_path, steps=10)
    run.data_json.write_text(text, encoding="utf-8")
    feed = Feed(run)
    feed.poll()
    assert feed.facts == {}
    assert loss_units(feed)[0].name == "ppl"


def test_what_was_asked_last_will_be(tmp_path: Path):
    feed = Feed(made_run(tmp_path))
    assert feed.will_be("pause", "resume", now=True)
    feed.await_answer("a", "pause")
    feed.await_answer("b", "save")
    assert feed.will_be("pause", "resume", now=False)
    feed.await_answer("c", "resume")
    assert not feed.will_be("pause", "resume", now=True)
