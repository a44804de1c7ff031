"""A whole run in this process: what it records, obeys, saves, and how it ends."""

import dataclasses
import hashlib
import json
import math
import os
import signal
import time
from pathlib import Path
from typing import Any

from mlx_gpt.device import mx

import numpy as np
import pytest
from mlx.utils import tree_flatten

from mlx_gpt import checkpoint
from mlx_gpt.commands.models import find_model
from mlx_gpt.config import Config, DataConfig, ModelConfig, TrainConfig, load
from mlx_gpt.data import prepare
from mlx_gpt.errors import UserError
from mlx_gpt.model import GPT
from mlx_gpt.run import Run, append, read, read_metrics, saved_steps, send, state
from mlx_gpt.sampling import write
from mlx_gpt.session import (
    Eco,
    Evaluation,
    Event,
    Finished,
    Probe,
    Progress,
    Saved,
    Session,
    Warned,
    lay_out,
    pieces_of,
    record,
)
from mlx_gpt.tokenizer import ByteTokenizer, name_of
from mlx_gpt.training import Learner, train_steps

TEXT = "".join(f"{n} por {n % 7} son {n * (n % 7)}.\n" for n in range(150))
MODEL = ModelConfig(vocab_size=257, context_length=8, d_model=8, n_layers=1, n_heads=2)
TRAIN = TrainConfig(
    steps=10,
    batch_size=2,
    warmup=2,
    lr=1e-2,
    min_lr=1e-3,
    eval_every=4,
    eval_windows=4,
    save_every=250,
    probe_prompts=("1",),
    probe_tokens=4,
)


def open_session(folder: Path, *, model: ModelConfig = MODEL, text: str = TEXT, **train: Any):
    """A session on a short text, with the settings of TRAIN, some of them changed."""
    source = folder.parent / "text.txt"
    source.write_text(text, encoding="utf-8")
    config = Config(
        model=model,
        data=DataConfig(files=(str(source),), tokenizer="bytes"),
        train=dataclasses.replace(TRAIN, **train),
    )
    tokenizer = ByteTokenizer()
    tokens = prepare(config.data, tokenizer, model.context_length, folder.parent / "cache")
    run = Run(folder)
    lay_out(run, config, tokens.facts, tokenizer)
    return Session(run, config, tokens, tokenizer)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "one"


def finished(events: list[Event]) -> Finished:
    assert isinstance(events[-1], Finished)
    assert sum(isinstance(event, Finished) for event in events) == 1
    return events[-1]


def strict(path: Path) -> list[dict[str, Any]]:
    """The records of a file, refused when a line is not strict JSON."""

    def refuse(word: str) -> None:
        raise ValueError(f"{word} in {path.name}")

    return [json.loads(line, parse_constant=refuse) for line in path.read_text().splitlines()]


def acks(run: Run) -> dict[str, dict[str, Any]]:
    return {event["id"]: event for event in read(run.events, "ack")}


def weights(session: Session) -> dict[str, bytes]:
    arrays = session.learner.params | session.learner.optimizer_arrays()
    return {name: np.array(array).tobytes() for name, array in arrays.items()}


def tree_hash(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        digest.update(path.read_bytes() if path.is_file() else path.name.encode())
    return digest.hexdigest()


# What a run is made of


def test_the_folder_says_what_the_run_is(folder: Path) -> None:
    session = open_session(folder)
    assert load(session.run.config_toml) == session.config
    facts = json.loads(session.run.data_json.read_text())
    assert facts["sha256"] == hashlib.sha256(TEXT.encode()).hexdigest()
    assert facts["bytes"] == len(TEXT.encode())
    assert facts["train_tokens"] + facts["val_tokens"] == facts["tokens"]
    assert facts["tokenizer"] == "bytes"
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_the_plan_tells_the_figures(folder: Path) -> None:
    plan = open_session(folder, grad_accumulation=3).plan()
    assert plan.tokens_per_step == 2 * 3 * 8
    assert plan.epochs == pytest.approx(10 * 48 / plan.train_tokens)
    assert (plan.steps, plan.done, plan.breaks, plan.compiled) == (10, 0, (), False)
    assert plan.parameters == 257 * 8 + (4 * 72 + 8 * 32 * 2 + 40 + 32) + 16
    assert 0 < plan.memory_bytes < plan.memory_limit


def test_settings_that_break_the_model_are_named(folder: Path) -> None:
    model = dataclasses.replace(MODEL, causal=False, final_norm=False, position="none")
    assert set(open_session(folder, model=model).plan().breaks) == {
        "model.causal=false",
        "model.final_norm=false",
        "model.position=none",
    }


def test_a_run_evaluates_samples_and_saves_when_due(folder: Path) -> None:
    events = list(open_session(folder, save_every=5).train())
    steps = {
        kind: [event.step for event in events if isinstance(event, kind)]
        for kind in (Evaluation, Probe, Saved)
    }
    assert steps[Evaluation] == [0, 4, 8, 10]
    assert steps[Probe] == [4, 8, 10]
    assert {5, 10} <= set(steps[Saved])
    assert len(steps[Saved]) == len(set(steps[Saved]))
    end = finished(events)
    assert (end.step, end.reason, end.early) == (10, "done", False)
    assert end.tokens_per_second > 0
    assert end.best_val_loss < 5.2 < math.log(257)


def test_what_is_told_is_what_is_recorded(folder: Path) -> None:
    session = open_session(folder)
    told = [{**record(event), "time": 0} for event in session.train()]
    files = (session.run.metrics, session.run.samples, session.run.events)
    kept = [{**line, "time": 0} for path in files for line in strict(path)]
    for line in told:
        assert json.loads(json.dumps(line)) in kept
    kinds = {line["kind"] for line in kept}
    assert kinds >= {"started", "step", "eval", "sample", "checkpoint", "finished"}


def test_every_step_counts_in_the_logged_mean(folder: Path) -> None:
    session = open_session(folder, steps=30, eval_every=100)
    progress = [event for event in session.train() if isinstance(event, Progress)]
    assert sum(event.averaged for event in progress) == 30
    assert progress[-1].step == 30
    mean = sum(event.loss * event.averaged for event in progress) / 30
    assert session.train_loss == pytest.approx(mean)
    assert all(event.loss_min <= event.loss <= event.loss_max for event in progress)


def test_an_evaluation_tells_the_mean_loss_since_the_one_before(folder: Path) -> None:
    session = open_session(folder)
    learner = Learner(GPT(session.config.model, 1337), session.config.train)
    losses = [step.loss for step in train_steps(learner, session.tokens.train)]
    told = [event.train_loss for event in session.train() if isinstance(event, Evaluation)]
    means = [sum(part) / len(part) for part in (losses[:4], losses[4:8], losses[8:])]
    assert told[1:] == pytest.approx(means)
    assert math.isnan(told[0])


def test_a_checkpoint_is_saved_at_the_end_however_rarely_it_is_due(folder: Path) -> None:
    session = open_session(folder, steps=5, save_every=250, eval_every=250)
    list(session.train())
    path, notes = checkpoint.newest(session.run)
    assert (path.name, notes) == ("step_000005", ())
    assert checkpoint.load(path).step == 5


def test_the_best_checkpoint_is_that_of_the_lowest_validation_loss(folder: Path) -> None:
    session = open_session(folder, steps=12, eval_every=2, lr=0.3, min_lr=0.3, keep_last=1)
    evals = [event for event in session.train() if isinstance(event, Evaluation)]
    lowest = min(evals[1:], key=lambda event: event.val_loss)
    assert checkpoint.best(session.run).name == f"step_{lowest.step:06d}"
    assert [event.best for event in evals] == [
        event.val_loss < min((e.val_loss for e in evals[:i]), default=math.inf)
        for i, event in enumerate(evals)
    ]


def test_patience_ends_a_run_that_no_longer_improves(folder: Path) -> None:
    session = open_session(folder, lr=0.0, min_lr=0.0, eval_every=2, patience=2)
    end = finished(list(session.train()))
    assert (end.step, end.reason, end.early) == (4, "done", True)
    assert saved_steps(session.run) == [4]
    assert state(session.run) == "finished"


def test_without_patience_it_goes_on(folder: Path) -> None:
    session = open_session(folder, lr=0.0, min_lr=0.0, eval_every=2)
    assert finished(list(session.train())).step == 10


def test_a_text_too_short_for_validation_trains_without(folder: Path) -> None:
    session = open_session(folder, text="Un texto muy corto.\n", patience=1)
    assert len(session.tokens.val) == 0
    assert "no validation" in session.tokens.facts.notes[0]
    events = list(session.train())
    end = finished(events)
    assert (end.step, end.reason) == (10, "done")
    assert math.isnan(end.val_loss)
    assert record(end)["val_loss"] is record(end)["best_val_loss"] is None
    assert [event.text for event in events if isinstance(event, Probe)]
    assert checkpoint.best(session.run).name == "step_000010"


def test_probes_are_the_same_with_recomputation(folder: Path, tmp_path: Path) -> None:
    plain = list(open_session(folder).train())
    again = list(open_session(tmp_path / "two", grad_checkpoint=True).train())
    texts = [[e.ids for e in events if isinstance(e, Probe)] for events in (plain, again)]
    assert texts[0] == texts[1]


def test_probes_have_a_probability_for_each_id(folder: Path) -> None:
    probes = [e for e in open_session(folder).train() if isinstance(e, Probe)]
    assert all(len(probe.ids) == len(probe.p) == 4 for probe in probes)
    assert all(0 <= p <= 1 for probe in probes for p in probe.p)
    assert {(probe.prompt, probe.seed) for probe in probes} == {("1", 1337)}


# Going on


def test_a_restored_session_goes_on_bit_for_bit(folder: Path, tmp_path: Path) -> None:
    model = dataclasses.replace(MODEL, dropout=0.3)
    settings: dict[str, Any] = {"model": model, "steps": 12, "grad_accumulation": 2}
    whole = open_session(folder, **settings)
    list(whole.train())
    first = open_session(tmp_path / "two", **settings)
    for event in first.train():
        if isinstance(event, Evaluation) and event.step == 4:
            send(first.run, "stop")  # is read after the step
    assert first.step == read(first.run.metrics, "step")[-1]["step"] == 4
    second = open_session(tmp_path / "two", **settings)
    second.restore(checkpoint.load(checkpoint.newest(second.run)[0]))
    list(second.train())
    assert weights(second) == weights(whole)
    for name in ("val_loss", "best_val_loss", "train_loss", "evals_without_best"):
        assert getattr(second, name) == getattr(whole, name), name
    for kind in ("eval", "sample"):
        lines = [
            [
                {**line, "time": 0}
                for path in (s.run.metrics, s.run.samples)
                for line in strict(path)
                if line["kind"] == kind
            ]
            for s in (whole, second)
        ]
        assert lines[0] == lines[1]


def test_the_losses_since_the_last_evaluation_survive(folder: Path) -> None:
    first = open_session(folder, steps=7, eval_every=100)
    for event in first.train():
        if isinstance(event, Progress) and event.step < 3:
            send(first.run, "stop")
    stopped = first.step
    assert 0 < stopped < 7
    losses = list(first.losses)
    assert len(losses) == stopped
    second = open_session(folder, steps=7, eval_every=100)
    second.restore(checkpoint.load(checkpoint.newest(second.run)[0]))
    assert second.losses == losses


def test_the_wrong_tokenizer_is_refused(folder: Path) -> None:
    session = open_session(folder, steps=1)
    list(session.train())
    saved = checkpoint.load(checkpoint.newest(session.run)[0])
    with pytest.raises(UserError, match="tokenizer"):
        session.restore(saved._replace(state=saved.state | {"tokenizer": "another"}))


# Signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("times", [1, 2])
def test_a_signal_finishes_the_step_and_saves_once(
    folder: Path, number: signal.Signals, times: int
) -> None:
    session = open_session(folder, steps=1000, eval_every=1000)
    events = []
    for event in session.train():
        events.append(event)
        if isinstance(event, Progress) and event.step == 1:
            for _ in range(times):
                os.kill(os.getpid(), number)
        if isinstance(event, Saved) and times == 2:
            os.kill(os.getpid(), number)
    end = finished(events)
    assert (end.step, end.reason) == (1, "stopped")
    assert session.signals.received == number
    assert [event.step for event in events if isinstance(event, Saved)] == [1]
    assert checkpoint.load(checkpoint.newest(session.run)[0]).step == 1


def test_a_lost_terminal_is_no_reason_to_stop(folder: Path) -> None:
    session = open_session(folder)
    for event in session.train():
        if isinstance(event, Progress):
            os.kill(os.getpid(), signal.SIGHUP)
    assert session.step == 10


def test_signals_act_as_before_once_the_training_is_over(folder: Path) -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    session = open_session(folder)
    events = session.train()
    next(events)
    assert [signal.getsignal(number) for number in numbers] != before
    events.close()
    assert [signal.getsignal(number) for number in numbers] == before


# Divergence


def spoil(session: Session) -> None:
    array = session.learner.params["final_norm.weight"]
    session.learner.params["final_norm.weight"] = mx.full(array.shape, math.nan)


def test_a_spoilt_weight_ends_the_run_within_a_step(folder: Path) -> None:
    session = open_session(folder, steps=20)
    events, before = [], ""
    for event in session.train():
        events.append(event)
        if isinstance(event, Probe) and event.step == 4:
            before = tree_hash(session.run.checkpoints)
            spoil(session)
    end = finished(events)
    assert (end.step, end.reason) == (5, "diverged")
    assert tree_hash(session.run.checkpoints) == before != ""
    [warning] = [event for event in events if isinstance(event, Warned)]
    assert "diverged at step 5: loss nan" in warning.message
    assert "the last checkpoint is step 4" in warning.message
    assert state(session.run) == "diverged"
    assert record(end)["train_loss"] is None
    assert [line["loss"] for line in strict(session.run.metrics) if line["kind"] == "step"][-1] is (
        None
    )
    strict(session.run.events)


def test_a_rate_far_too_high_ends_the_run_and_saves_nothing_spoilt(folder: Path) -> None:
    session = open_session(folder, lr=1e3, min_lr=1e3, warmup=0, eval_every=100)
    end = finished(list(session.train()))
    assert (end.step <= 2, end.reason) == (True, "diverged")
    assert saved_steps(session.run) == []


def test_what_the_last_step_spoils_is_not_saved_either(folder: Path) -> None:
    session = open_session(folder, steps=1, lr=1e3, min_lr=1e3, warmup=0)
    events = list(session.train())
    assert finished(events).reason == "diverged"
    assert saved_steps(session.run) == []
    assert [event for event in events if isinstance(event, Probe)] == []


def test_a_probe_that_cannot_be_drawn_is_a_warning(folder: Path) -> None:
    session = open_session(folder, text="Un texto muy corto.\n")
    spoil(session)
    session.learner.put(session.learner.params)
    [warning] = session.probe()
    assert isinstance(warning, Warned)
    assert "no sample at step 0" in warning.message


# Commands


def obeying(session: Session, *commands: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The acknowledgements of commands sent after the first step, in order."""
    ids = []
    for event in session.train():
        if isinstance(event, Progress) and not ids:
            ids = [send(session.run, name, **arguments) for name, arguments in commands]
    answers = acks(session.run)
    return [answers[command_id] for command_id in ids]


def test_steps_that_overlap_are_saved_and_stopped_as_they_are(folder: Path, tmp_path: Path) -> None:
    session = open_session(folder, steps=1000, eval_every=7)
    plain = open_session(tmp_path / "two", steps=1000, eval_every=7)
    session.overlaps, asked_at = True, 0
    for event in session.train():
        if isinstance(event, Progress) and not session.resting and not asked_at:
            asked_at = event.step  # the next one has begun
            send(session.run, "stop")
    assert 0 < asked_at < session.step <= asked_at + 2
    assert checkpoint.load(checkpoint.newest(session.run)[0]).step == session.step
    for step in train_steps(plain.learner, plain.tokens.train):
        if step.step == session.step:
            break
    assert weights(session) == weights(plain)


def test_stop_saves_and_ends(folder: Path) -> None:
    session = open_session(folder, steps=1000)
    [ack] = obeying(session, ("stop", {}))
    assert (ack["ok"], ack["message"]) == (True, "stopping at step 1")
    assert saved_steps(session.run) == [1]
    assert state(session.run) == "stopped"
    assert read(session.run.events, "finished")[-1]["reason"] == "stopped"


def test_pause_and_resume_are_recorded_once_each(folder: Path) -> None:
    session = open_session(folder)
    commands = ["resume", "pause", "pause", "resume"]
    answers = obeying(session, *((name, {}) for name in commands))
    assert all(ack["ok"] for ack in answers)
    kinds = [event["kind"] for event in read(session.run.events, "paused", "resumed")]
    assert kinds == ["paused", "resumed"]
    assert session.step == 10


def test_a_paused_run_can_be_stopped_and_has_logged_every_step(folder: Path) -> None:
    session = open_session(folder, steps=1000)
    obeying(session, ("pause", {}), ("stop", {}))
    assert session.step == 1
    assert read_metrics(session.run)[-1]["step"] == 1


def test_eco_is_recorded_whenever_it_changes(folder: Path) -> None:
    session = open_session(folder)
    answers = obeying(session, *[("eco", {"on": on}) for on in (False, True, True, False, 1)])
    assert [ack["ok"] for ack in answers] == [True, True, True, True, False]
    assert [ack["message"] for ack in answers[:2]] == ["eco off at step 1", "eco on at step 1"]
    events = read(session.run.events, "eco")
    assert [(event["step"], event["on"]) for event in events] == [(1, True), (1, False)]


def test_eco_changes_no_weight_and_rests_after_every_step(folder: Path, tmp_path: Path) -> None:
    session, plain = open_session(folder), open_session(tmp_path / "two")
    session.eco = session.overlaps = True
    events = list(session.train())
    rested = [session.resting for event in events if isinstance(event, Progress)]
    assert isinstance(events[0], Eco)
    assert all(rested)
    list(plain.train())
    assert weights(session) == weights(plain)
    assert read(plain.run.events, "eco") == []


def test_with_eco_on_every_step_ends_before_the_next(folder: Path) -> None:
    session = open_session(folder, eval_every=100)
    session.overlaps = session.eco = True
    session.step_seconds = 0.01
    assert session.rests(3)
    session.eco = False
    assert not session.rests(3)


def test_eco_rests_as_long_as_a_step_took(folder: Path) -> None:
    session, began = open_session(folder), time.monotonic()
    assert list(session.cool_down(60)) == []
    session.eco = True
    assert list(session.cool_down(0.2)) == []
    assert 0.2 <= time.monotonic() - began < 10


@pytest.mark.parametrize("eco", [True, False])
def test_eco_takes_half_of_the_time(folder: Path, eco: bool) -> None:
    session = open_session(folder, steps=60, eval_every=100)
    session.eco = eco
    list(session.train())
    first, *lines = [line for line in strict(session.run.metrics) if line["kind"] == "step"]
    worked = sum(16 * line["averaged"] / line["tokens_per_second"] for line in lines)
    assert (lines[-1]["time"] - first["time"] > 1.6 * worked) == eco


@pytest.mark.parametrize("cmd", ["stop", "pause"])
def test_a_command_is_obeyed_while_it_rests(folder: Path, cmd: str) -> None:
    session = open_session(folder)
    session.eco = True
    send(session.run, cmd)
    if cmd == "pause":
        send(session.run, "stop")
    began = time.monotonic()
    list(session.cool_down(60))
    assert time.monotonic() - began < 10
    assert session.stop_asked
    assert len(read(session.run.events, "paused")) == (cmd == "pause")


def test_a_signal_ends_a_rest(folder: Path) -> None:
    session, began = open_session(folder), time.monotonic()
    session.eco = True
    session.signals.received = signal.SIGTERM
    list(session.cool_down(60))
    assert time.monotonic() - began < 10


def test_eco_switched_off_ends_a_rest(folder: Path) -> None:
    session, began = open_session(folder), time.monotonic()
    session.eco = True
    send(session.run, "eco", on=False)
    assert list(session.cool_down(60)) == [Eco(0, False)]
    assert time.monotonic() - began < 10


def test_the_best_evaluation_stays_the_best_when_it_is_asked_for_again(folder: Path) -> None:
    session, asked = open_session(folder, steps=5), False
    for event in session.train():
        if isinstance(event, Probe) and event.step == 4:
            asked = bool(send(session.run, "eval"))
    assert asked
    evaluations = [line for line in read(session.run.metrics, "eval") if line["step"] == 4]
    assert [line["best"] for line in evaluations] == [True, True]


def test_saving_the_best_step_again_leaves_it_the_best(folder: Path) -> None:
    session, command_id = open_session(folder, steps=5), ""
    for event in session.train():
        if isinstance(event, Probe) and event.step == 4:
            command_id = send(session.run, "save")
        if isinstance(event, Evaluation) and event.step == 5:
            assert checkpoint.read_manifest(session.run.checkpoints / "step_000004").best
    assert acks(session.run)[command_id]["message"] == "saved step 4"
    saved = [line["step"] for line in strict(session.run.events) if line["kind"] == "checkpoint"]
    assert saved == [4, 5]


def test_save_makes_a_checkpoint_now(folder: Path) -> None:
    session = open_session(folder, eval_every=100, steps=10)
    obeying(session, ("save", {}))
    saved = [line["step"] for line in strict(session.run.events) if line["kind"] == "checkpoint"]
    assert saved == [1, 10]


def test_a_snapshot_has_the_weights_of_its_step_and_changes_nothing(
    folder: Path, tmp_path: Path
) -> None:
    session, found = open_session(folder), []
    for event in session.train():
        if isinstance(event, Progress) and not found:
            send(session.run, "snapshot")
        if isinstance(event, Evaluation) and event.step:
            (path,) = session.run.snapshot.iterdir()
            found.append(find_model(str(path)))
            send(session.run, "snapshot")
    assert [model.step for model in found] == [1, 4, 8]
    assert not session.run.snapshot.exists()
    undisturbed = open_session(tmp_path / "two")
    for step in train_steps(undisturbed.learner, undisturbed.tokens.train):
        if step.step == found[1].step:
            then = {name: np.array(array) for name, array in undisturbed.learner.params.items()}
            arrays: dict[str, mx.array] = dict(
                tree_flatten(found[1].gpt.parameters(), destination={})
            )
            assert all(np.array_equal(then[name], array) for name, array in arrays.items())
    assert weights(session) == weights(undisturbed)


def test_eval_tells_the_loss_and_changes_nothing(folder: Path, tmp_path: Path) -> None:
    session = open_session(folder)
    [ack] = obeying(session, ("eval", {}))
    assert ack["message"].startswith("validation loss 5.")
    undisturbed = open_session(tmp_path / "two")
    list(undisturbed.train())
    assert weights(session) == weights(undisturbed)


def test_an_asked_evaluation_is_on_record_and_decides_nothing(folder: Path) -> None:
    session = open_session(folder, patience=2, eval_every=5)
    first, *_ = obeying(session, *[("eval", {})] * 3)
    asked = [line for line in read(session.run.metrics, "eval") if line["step"] == 1]
    assert first["step"] == 1
    assert [line["best"] for line in asked] == [False] * 3
    assert first["message"] == f"validation loss {asked[0]['val_loss']:.4f} at step 1"
    steps = [line["step"] for line in strict(session.run.metrics) if line["kind"] == "step"]
    assert steps[0] == 1
    undisturbed = open_session(folder.parent / "two", patience=2, eval_every=5)
    list(undisturbed.train())
    assert session.state() == undisturbed.state()


def test_eval_without_validation_is_refused(folder: Path) -> None:
    [ack] = obeying(open_session(folder, text="Un texto muy corto.\n"), ("eval", {}))
    assert (ack["ok"], ack["message"]) == (False, "this run has no validation text")


def samples(run: Run) -> list[dict[str, Any]]:
    return read(run.events, "sample_end")


def test_sample_streams_with_the_settings_that_came_along(folder: Path) -> None:
    session = open_session(folder)
    given = {"prompt": "12", "max_tokens": 6, "temperature": 0, "seed": 5}
    other = given | {"seed": 6}
    [ack, _] = obeying(session, ("sample", given), ("sample", other))
    one, two = samples(session.run)
    assert one["text"] == two["text"]  # greedy: the seed does not matter
    assert (one["seed"], two["seed"], one["id"]) == (5, 6, ack["id"])
    pieces = [e["text"] for e in read(session.run.events, "token") if e["id"] == ack["id"]]
    assert "".join(pieces) == one["text"] != ""
    assert len(one["text"].encode(errors="replace")) <= 6 * 3


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"prompt": "\ud800"}, "surrogate"),
        ({"temperature": -1}, "sample.temperature"),
        ({"max_tokens": "many"}, "sample.max_tokens"),
        ({"top_p": [1]}, "sample.top_p"),
    ],
)
def test_a_sample_that_cannot_be_is_refused(
    folder: Path, arguments: dict[str, Any], reason: str
) -> None:
    session = open_session(folder)
    [ack] = obeying(session, ("sample", arguments))
    assert ack["ok"] is False
    assert reason in ack["message"]
    assert session.step == 10


@pytest.mark.parametrize("arguments", [{"seed": -1}, {"seed": "x"}, {"seed": 2**70}, {"prompt": 7}])
def test_odd_arguments_of_a_sample_do_no_harm(folder: Path, arguments: dict[str, Any]) -> None:
    session = open_session(folder)
    obeying(session, ("sample", {"max_tokens": 2, **arguments}))
    assert session.step == 10
    assert len(samples(session.run)) == 1


def test_a_signal_ends_a_long_sample(folder: Path) -> None:
    session = open_session(folder, steps=1000)
    session.signals.received = signal.SIGINT
    obeying(session, ("sample", {"max_tokens": 50, "prompt": "1"}))
    assert len(samples(session.run)) == 1
    assert len(read(session.run.events, "token")) <= 1


GARBAGE = [b"{", b"[1]", b"null", b"\xff\xfe", b'{"id": 1}', b'{"cmd": "stop"}', b"[" * 5000]


def test_garbage_in_the_control_file_does_no_harm(folder: Path) -> None:
    session = open_session(folder)
    unknown = ""
    for event in session.train():
        if isinstance(event, Progress) and not unknown:
            with session.run.control.open("ab") as file:
                file.writelines(line + b"\n" for line in GARBAGE)
            append(session.run.control, {"id": {"a": 1}, "cmd": ["stop"], "prompt": {}})
            unknown = send(session.run, "dance")
    assert finished_step(session) == 10
    assert acks(session.run)[unknown]["message"].startswith("no command dance; there are pause")


def finished_step(session: Session) -> int:
    return read(session.run.events, "finished")[-1]["step"]


def test_old_commands_are_not_replayed(folder: Path) -> None:
    append(Run(folder.parent).control, {})  # the folder exists before the run does
    folder.mkdir()
    send(Run(folder), "stop")
    session = open_session(folder)
    list(session.train())
    assert session.step == 10


def test_a_command_sent_before_the_first_step_is_obeyed(folder: Path) -> None:
    session = open_session(folder)
    send(session.run, "stop")
    list(session.train())
    assert session.step == 1


# Records


def test_records_are_strict_json() -> None:
    events: list[Event] = [
        Evaluation(3, math.nan, math.inf, False),
        Finished("one", 3, math.nan, math.nan, -math.inf, 1.0, "diverged", False),
        Warned(1, "é"),
        Saved(1, "path", True),
        Probe(1, "p", "t", (1, 2), (0.5, 0.1), 7),
    ]
    for event in events:
        line = record(event)
        assert line["kind"] == event.kind
        json.dumps(line, allow_nan=False)
    assert record(events[0])["val_loss"] is None


def test_the_keys_of_the_last_record_are_those_that_others_rely_on() -> None:
    end = Finished("one", 3, 1.0, 2.0, 2.0, 9.0, "done", False)
    assert record(end).keys() >= {
        "kind", "run", "step", "train_loss", "val_loss", "best_val_loss", "tokens_per_second",
        "reason",
    }  # fmt: skip


def test_a_sample_tells_the_rivals_of_each_token_where_they_are_asked_for(folder: Path):
    session = open_session(folder, steps=3)
    ids = []
    for event in session.train():
        if isinstance(event, Progress) and not ids:
            ids.append(send(session.run, "sample", ids=[49, 32], top=4, seed=2, max_tokens=3))
    told = [event for event in read(session.run.events, "token") if event["id"] == ids[0]]
    assert told[0]["prompt"] == [49, 32]
    tokens = [token for event in told for token in event["tokens"]]
    assert len(tokens) == 3
    for token in tokens:
        token_id, text, p = token["token"]
        assert text == name_of(session.tokenizer, token_id)
        shares = [rival[2] for rival in token["rivals"]]
        assert len(shares) == 4
        assert shares == sorted(shares, reverse=True)
        assert p <= shares[0]
        assert math.isfinite(token["logit"])


def test_samples_of_one_seed_are_those_of_the_command_line(folder: Path):
    session = open_session(folder, steps=3)
    given = {"prompt": "1", "max_tokens": 5, "seed": 7, "top": 1}
    obeying(session, *(("sample", {**given, "first": number}) for number in range(3)))
    later = open_session(folder.parent / "later", steps=3)
    written: list[str] = []
    for event in later.train():
        if isinstance(event, Progress) and not written:
            settings = later.sample_config({"max_tokens": 5})
            *_, drawn = write(later.learner.model, later.tokenizer, [49], settings, seed=7, n=3)
            written = [sample.text for sample in drawn]
    assert [end["text"] for end in samples(session.run)] == written
    assert len(set(written)) == 3


def test_tokens_in_place_of_a_prompt_are_checked_like_any(folder: Path):
    session = open_session(folder, steps=3)
    sent = []
    for event in session.train():
        if isinstance(event, Progress) and not sent:
            sent.append(send(session.run, "sample", ids=[999], top=1))
    (fault,) = [event for event in read(session.run.events, "error") if event["id"] == sent[0]]
    assert "outside the vocabulary" in fault["message"]


def test_the_end_of_a_text_is_seen_among_its_pieces():
    tokenizer = ByteTokenizer()
    ids = [*tokenizer.encode("aé"), tokenizer.end_id, *tokenizer.encode("É")]
    assert pieces_of(tokenizer, ids) == ["a", "", "é", "∎", "", "É"]
