"""What is said of a run is what its curves show."""

import math
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from made_runs import config, eval_record, made_run, step_record

from mlx_gpt.run import Run, append, hold_lock
from tui.app import all_bindings
from tui.diagnosis import Advice, diagnose
from tui.feed import Feed


def advice(run: Run) -> Advice:
    feed = Feed(run)
    while feed.poll() or feed.behind:
        pass
    return diagnose(feed)


def living(run: Run) -> Advice:
    with hold_lock(run):
        return advice(run)


def curve(root: Path, loss: Callable[[int], float | None], steps: int = 200) -> Run:
    """A run of no steps whose training loss is then a function of the step."""
    run = made_run(root, steps=0, end=None)
    for step in range(1, steps + 1):
        append(run.metrics, step_record(step, loss=loss(step)))
    return run


def test_a_healthy_run_learns(tmp_path: Path):
    said = living(made_run(tmp_path, steps=100, end=None))
    assert (said.key, said.grave) == ("learning", False)
    assert said.values["steps"] == 25
    assert float(str(said.values["fall"])) > 0


def test_a_finished_run_points_at_sampling(tmp_path: Path):
    said = advice(made_run(tmp_path))
    assert (said.key, said.action) == ("finished", "app.sample")
    assert said.values["best"] == f"{eval_record(200)['val_loss']:.3f}"


def test_a_run_without_its_trainer_can_be_resumed(tmp_path: Path):
    said = advice(made_run(tmp_path, steps=120, end=None))
    assert (said.key, said.action, said.values["step"]) == ("interrupted", "train.resume", 120)


def test_a_run_that_was_stopped_met_no_accident(tmp_path: Path):
    said = advice(made_run(tmp_path, steps=120, end="stopped"))
    assert (said.key, said.action, said.grave) == ("stopped", "train.resume", False)
    assert said.values == {"step": 120, "total": 200}


@pytest.mark.parametrize(
    ("rate", "schedule", "third"),
    [
        (1e-3, "cosine", "0.00033"),
        (1e3, "cosine", "0.001"),
        (3.0, "cosine", "0.001"),
        (2e-4, "cosine", "0.0001"),  # the rate at its end
        (2e-4, "constant", "6.7e-05"),
    ],
)
def test_a_lower_rate_is_a_sane_one_as_one_types_it(
    tmp_path: Path, rate: float, schedule: str, third: str
):
    settings = config(lr=rate, schedule=schedule)
    run = made_run(tmp_path, steps=20, end="diverged", settings=settings)
    assert advice(run).values["lr"] == third


@pytest.mark.parametrize(("share", "key"), [(0.69, "slowed"), (0.71, "learning")])
def test_a_run_much_slower_than_usual_is_named(tmp_path: Path, share: float, key: str):
    run = made_run(tmp_path, steps=0, end=None)
    for step in range(1, 151):
        speed = 5000.0 if step <= 140 else 5000.0 * share
        append(run.metrics, step_record(step, tokens_per_second=speed))
    said = living(run)
    assert said.key == key
    append(run.events, {"kind": "paused", "step": 150})
    assert living(run).key == "paused"


def test_a_paused_run_does_not_learn(tmp_path: Path):
    run = made_run(tmp_path, steps=100, end=None)
    append(run.events, {"kind": "paused", "step": 100})
    said = living(run)
    assert (said.key, said.action, said.values) == (
        "paused",
        "train.pause",
        {"step": 100, "total": 200},
    )
    append(run.events, {"kind": "resumed", "step": 100})
    assert living(run).key == "learning"
    assert advice(run).key == "interrupted"


def test_eco_is_no_reason_to_speak_of_heat(tmp_path: Path):
    run = made_run(tmp_path, steps=0, end=None)
    for step in range(1, 151):
        speed = 5000.0 if step <= 140 else 2500.0
        append(run.metrics, step_record(step, tokens_per_second=speed))
    append(run.events, {"kind": "eco", "step": 140, "on": True})
    assert living(run).key == "learning"
    append(run.events, {"kind": "eco", "step": 150, "on": False})
    assert living(run).key == "slowed"


def test_a_diverged_run_goes_on_more_slowly(tmp_path: Path):
    run = made_run(tmp_path, end="diverged", settings=config(lr=3e-3))
    said = advice(run)
    assert (said.key, said.action) == ("diverged_early", "train.resume")
    (run.checkpoints / "step_000050").mkdir(parents=True)
    said = advice(run)
    assert (said.key, said.action) == ("diverged", "train.resume")
    assert said.values["lr"] == "0.001"


def test_a_loss_that_is_no_number_is_named_with_its_step(tmp_path: Path):
    run = curve(tmp_path, lambda step: None if step == 80 else 3.0)
    said = living(run)
    assert (said.key, said.values["step"], said.grave) == ("not_finite", 80, True)


def test_a_climbing_loss_means_too_high_a_rate(tmp_path: Path):
    said = living(curve(tmp_path, lambda step: 2 + abs(step - 100) / 50))
    assert (said.key, said.action) == ("too_fast", "train.stop")


def test_a_rising_validation_loss_is_overfitting(tmp_path: Path):
    said = living(made_run(tmp_path, end=None, vals=[5, 2.5, 2.0, 2.1, 2.2]))
    assert (said.key, said.values["step"], said.values["best"]) == ("overfitting", 100, "2.000")


def test_an_evaluation_asked_for_by_hand_is_not_the_best(tmp_path: Path):
    run = made_run(tmp_path, end=None, vals=[5, 2.5, 2.0, 2.1, 2.2])
    append(run.metrics, eval_record(210, 1.9) | {"best": False})
    append(run.metrics, eval_record(220, 2.3) | {"best": False})
    said = living(run)
    assert (said.key, said.values["step"], said.values["best"]) == ("overfitting", 100, "2.000")
    append(run.events, {"kind": "finished", "reason": "done"})
    append(run.metrics, eval_record(230, 1.0) | {"best": True})
    assert advice(run).values["best"] == "1.000"


@pytest.mark.parametrize(
    "vals", [[5, 2.5, 2.0, 1.9, 1.91], [5, 2.5, 2.0, 1.9, 1.8], [5, 3, 2, math.nan, 1.9]]
)
def test_a_wavering_validation_loss_is_not(tmp_path: Path, vals: list[float]):
    assert living(made_run(tmp_path, end=None, vals=vals)).key == "learning"


def test_a_loss_that_stands_still_is_a_plateau(tmp_path: Path):
    rng = np.random.default_rng(3)
    noise = rng.normal(0, 0.005, 201)
    said = living(curve(tmp_path, lambda step: float(2 + 2 * math.exp(-step / 8) + noise[step])))
    assert said.key == "plateau"


def test_a_text_seen_too_often_is_named(tmp_path: Path):
    run = made_run(tmp_path, steps=60, end=None, settings=config(batch_size=512))
    said = living(run)
    assert (said.key, said.values["epochs"]) == ("starved", "33")


def test_the_first_loss_is_compared_with_ln_v(tmp_path: Path):
    expected = math.log(257)
    run = made_run(tmp_path / "good", steps=0, end=None, vals=[expected * 1.01])
    assert living(run).key == "first_loss"
    run = made_run(tmp_path / "odd", steps=0, end=None, vals=[expected * 1.5])
    assert living(run).key == "odd_first_loss"


def test_a_vanished_folder_comes_before_all_else(tmp_path: Path):
    run = made_run(tmp_path)
    feed = Feed(run)
    feed.poll()
    shutil.rmtree(run.path)
    assert diagnose(feed).key == "gone"


def test_every_action_that_is_advised_has_a_key():
    ids = {binding.id for bindings in all_bindings().values() for binding in bindings}
    assert {"train.resume", "train.stop", "app.sample", "app.runs"} <= ids
