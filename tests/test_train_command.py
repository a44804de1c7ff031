"""`mlx-gpt train`, as it is called: in this process where that will do, else in its own."""

import argparse
import contextlib
import gzip
import json
import math
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from mlx_gpt import checkpoint
from mlx_gpt.cli import main
from mlx_gpt.commands.train import make_folder, resumable
from mlx_gpt.commands.watch import Watcher
from mlx_gpt.config import load
from mlx_gpt.power import Battery
from mlx_gpt.run import Run, Tail, acknowledged, hold_lock, is_alive, read, saved_steps, send, state
from mlx_gpt.session import Eco

TEXT = "".join(f"{n} por {n % 7} son {n * (n % 7)}.\n" for n in range(150))
SMALL = [
    "data.tokenizer=bytes",
    "model.context_length=8",
    "model.d_model=8",
    "model.n_layers=1",
    "model.n_heads=2",
    "train.batch_size=2",
    "train.warmup=2",
    "train.eval_windows=4",
    'train.probe_prompts=["1"]',
    "train.probe_tokens=4",
]
ENDLESS = "train.steps=100000"
QUIET: dict[str, Any] = {"capture_output": True, "text": True, "check": False}
ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder of its own, with a text in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLX_GPT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "book.txt").write_text(TEXT, encoding="utf-8")
    return tmp_path


def train(*words: str) -> int:
    """Train mini, made smaller still, for five steps unless told otherwise."""
    return main(["train", "mini", "book.txt", "train.steps=5", *SMALL, *words])


def resume(*words: str) -> int:
    return main(["train", "--resume", *words])


def refused(capsys: pytest.CaptureFixture[str], status: int) -> str:
    """The sentence of a refusal."""
    assert status == 2
    return capsys.readouterr().err.strip().splitlines()[-1].removeprefix("mlx-gpt: ")


def a_run(name: str = "mini") -> Run:
    return Run(Path("runs") / name)


def saved(run: Run) -> checkpoint.Checkpoint:
    return checkpoint.load(checkpoint.newest(run)[0])


def content(run: Run) -> dict[str, Any]:
    """Everything in the newest checkpoint, the arrays as bytes."""
    whole = saved(run)
    arrays = whole.model | whole.optimizer
    return {name: np.array(array).tobytes() for name, array in arrays.items()} | whole.state


def strict(line: str) -> dict[str, Any]:
    def refuse(word: str) -> None:
        raise ValueError(f"{word} in {line}")

    return json.loads(line, parse_constant=refuse)


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "mlx_gpt", "train", *words]


@contextlib.contextmanager
def trainer(*words: str) -> Iterator[tuple[subprocess.Popen[str], Run]]:
    """A living training of the small model, already taking steps."""
    run = a_run("live")
    process = subprocess.Popen(
        command("mini", "book.txt", *SMALL, ENDLESS, "--name", run.name, *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for(run, "step", process)
        yield process, run
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def wait_for(run: Run, kind: str, process: subprocess.Popen[str]) -> dict[str, Any]:
    """The first record of that kind, as soon as it is written."""
    tails = [Tail(run.metrics), Tail(run.events)]
    while True:
        ended = process.poll() is not None
        for record in (record for tail in tails for record in tail.read()):
            if record["kind"] == kind:
                return record
        assert not ended, process.communicate()
        time.sleep(0.01)


def wait_for_end(run: Run) -> None:
    while is_alive(run):
        time.sleep(0.01)


# What is trained on what


def test_preset_files_and_settings_come_in_any_order(here: Path) -> None:
    words = [*SMALL, "book.txt", "train.lr=0.5", "mini", "--steps", "1"]
    assert main(["train", *words]) == 0
    config = load(a_run().config_toml)
    assert config.data.files == (str(here / "book.txt"),)
    assert (config.train.lr, config.train.steps, config.model.d_model) == (0.5, 1, 8)
    assert config.model.activation == "gelu"  # as the preset has it
    assert config.model.vocab_size == 257  # as the tokenizer has it


def test_the_run_can_be_made_again_from_its_configuration(here: Path) -> None:
    assert train("model.dropout=0.2") == 0
    shutil.copy(a_run().config_toml, here / "again.toml")
    assert main(["train", "again.toml"]) == 0
    assert a_run("again").config_toml.read_text() == a_run().config_toml.read_text()
    assert content(a_run("again")) == content(a_run())


def test_a_trained_tokenizer_lies_in_the_run_and_serves_the_resumed_run(here: Path) -> None:
    words = ["data.tokenizer=sentencepiece", "data.vocab_size=300"]
    assert train(*words) == 0
    assert (here / "runs/mini/tokenizer.model").is_file()
    assert load(a_run().config_toml).model.vocab_size == 300
    shutil.copy(here / "runs/mini/tokenizer.model", here / "own.model")
    assert train("data.tokenizer=own.model") == 0
    (here / "own.model").unlink()
    assert resume("mini-2", "--steps", "6", "--curve", "keep") == 0
    assert saved(a_run("mini-2")).step == 6


def test_an_override_may_be_longer_than_a_file_name(here: Path) -> None:
    prompts = json.dumps(["x" * 300])
    assert train(f"train.probe_prompts={prompts}", "train.steps=1") == 0
    assert load(a_run().config_toml).train.probe_prompts == ("x" * 300,)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["storys"], "no preset and no file storys; did you mean stories?"),
        (["mini", "model.n_layer=3"], "did you mean model.n_layers?"),
        (["mini", "bok.txt"], "no preset and no file bok.txt"),
        (["mini", "toy"], "mini and toy are presets"),
        (["none.toml"], "no file none.toml"),
        (["mini", "train.lr=fast"], "train.lr"),
        (["mini", "--steps", "0"], "train.steps = 0"),
        (["mini", "--name", "a/b"], "run name"),
        (["mini", "--name", ""], "run name"),
        (["mini", "--curve", "keep"], "--curve keep goes with --resume"),
        (["--resume", "x", "--name", "y"], "--name y is for a new run"),
        (["--resume"], "holds no run"),
        (["--resume", "nothing"], "no run nothing"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(
    words: list[str], sentence: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sentence in refused(capsys, main(["train", *words]))
    assert not (here / "runs").exists()


@pytest.mark.parametrize("text", [b"", b"short", b"caf\xe9 " * 50, b"\0\1\2" * 400])
def test_a_bad_text_makes_no_run(
    text: bytes, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "bad.txt").write_bytes(text)
    status = main(["train", "mini", "bad.txt", *SMALL])
    assert refused(capsys, status)
    assert not (here / "runs").exists()


def test_a_name_is_used_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert train("--name", "mine") == 0
    sentence = refused(capsys, train("--name", "mine"))
    assert "choose another --name" in sentence
    assert train() == train() == 0
    assert sorted(path.name for path in Path("runs").iterdir()) == ["mine", "mini", "mini-2"]


def test_runs_that_begin_together_have_folders_of_their_own() -> None:
    words = command("mini", "book.txt", *SMALL, "--steps", "2", "--json")
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda _: subprocess.run(words, **QUIET), range(3)))
    assert [process.returncode for process in done] == [0, 0, 0], [each.stderr for each in done]
    ends = [strict(process.stdout.splitlines()[-1]) for process in done]
    assert {end["run"] for end in ends} == {"mini", "mini-2", "mini-3"}
    assert all(saved(a_run(end["run"])).step == 2 for end in ends)


def test_one_name_is_never_given_to_two_runs() -> None:
    args = argparse.Namespace(out="runs", name=None)
    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda _: make_folder(args, "mini"), range(64)))
    assert len({run.name for run in runs}) == 64


def test_a_place_that_cannot_hold_runs_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "file").touch()
    assert "cannot make a run folder in file" in refused(capsys, train("--out", "file"))
    assert "cannot make" in refused(capsys, train("--out", "file/runs", "--name", "x"))


def test_settings_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert train("--settings") == 0
    listed = capsys.readouterr().out
    assert "train.steps=5 " in listed
    assert "model.d_model=8 " in listed
    assert main(["train", "mini", "--settings", "--json", "--seed", "7"]) == 0
    assert strict(capsys.readouterr().out)["train.seed"] == 7
    assert not Path("runs").exists()
    assert train() == 0
    capsys.readouterr()
    assert resume("--settings", "--json") == 0
    assert strict(capsys.readouterr().out)["model.d_model"] == 8


# What is told


def test_json_lines_are_strict_and_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert train("--json", "train.eval_every=2") == 0
    lines = [strict(line) for line in capsys.readouterr().out.splitlines()]
    kinds = [line["kind"] for line in lines]
    assert set(kinds) == {"plan", "step", "eval", "sample", "checkpoint", "finished"}
    assert (kinds[0], kinds[-1]) == ("plan", "finished")
    end = {key: value for key, value in lines[-1].items() if key != "time"}
    assert end.keys() >= {"run", "step", "train_loss", "val_loss", "best_val_loss"}
    assert (end["run"], end["step"], end["reason"]) == ("mini", 5, "done")
    assert end["tokens_per_second"] > 0
    assert {"parameters", "tokens_per_step", "epochs", "memory_bytes"} <= lines[0].keys()
    step = next(line for line in lines if line["kind"] == "step")
    assert {"step", "loss", "lr", "grad_norm", "tokens_per_second"} <= step.keys()


def test_json_without_validation_has_null_for_what_is_not_there(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "book.txt").write_text("Un texto muy corto.\n")
    assert train("--json") == 0
    out, err = capsys.readouterr()
    assert strict(out.splitlines()[-1])["val_loss"] is None
    assert "no validation" in err
    assert main(["sample", "mini", "--max-tokens", "3", "--json"]) == 0


def test_a_refusal_in_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "mini", "none.txt", "--json"]) == 2
    out, err = capsys.readouterr()
    assert strict(out)["error"].startswith("no preset and no file none.txt")
    assert "none.txt" in err


def test_a_person_reads_plan_losses_samples_and_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert train("--steps", "20", "model.causal=false") == 0
    out, err = capsys.readouterr()
    assert out == ""
    for words in ("parameters", "epochs", "memory about", "step 20", "best so far", "about 0 s"):
        assert words in err
    assert "BROKEN ON PURPOSE: model.causal=false" in err
    assert [line for line in err.splitlines() if line.startswith("✗ ") and "│" in line]
    assert main(["sample", "mini", "--max-tokens", "1"]) == 0
    assert "BROKEN ON PURPOSE: model.causal=false" in capsys.readouterr().err
    assert err.splitlines()[-1] == "next: mlx-gpt sample mini"


def test_a_run_elsewhere_is_named_by_its_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert train("--out", "elsewhere") == 0
    assert capsys.readouterr().err.splitlines()[-1] == "next: mlx-gpt sample elsewhere/mini"


def test_it_speaks_spanish(capsys: pytest.CaptureFixture[str]) -> None:
    assert train("--steps", "12", "--lang", "es") == 0
    err = capsys.readouterr().err
    for words in ("parámetros", "pérdida", "validación", "terminado en el paso 12", "ahora: "):
        assert words in err


def test_a_cpu_trains_in_float32_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert train("train.precision=bfloat16", "--device", "cpu", "--steps", "1") == 0
    assert "on this CPU the run computes in float32" in capsys.readouterr().err
    assert load(Path("runs/mini/config.toml")).train.precision == "float32"
    assert train("--device", "cpu", "--steps", "1", "--name", "two") == 0
    assert "precision" not in capsys.readouterr().err


# Going on


def test_twenty_steps_are_seven_and_a_resume_in_another_process() -> None:
    words = [
        "model.dropout=0.3",
        "train.grad_accumulation=3",
        "train.save_every=7",
        "train.keep_last=9",
        "train.eval_every=6",
        "train.steps=20",
        "train.grad_clip=0.1",
    ]
    done = subprocess.run(command("mini", "book.txt", *SMALL, *words), **QUIET)
    assert done.returncode == 0, done.stderr
    shutil.copytree("runs/mini", "runs/cut")
    cut = a_run("cut")
    for step in saved_steps(cut):
        if step > 7:
            shutil.rmtree(cut.checkpoints / f"step_{step:06d}")
    cut.metrics.unlink()
    assert resume("cut") == 0
    assert content(cut) == content(a_run())
    evals = [
        [(line["step"], line["train_loss"], line["val_loss"]) for line in read(run.metrics, "eval")]
        for run in (a_run(), cut)
    ]
    assert evals[0][-3:] == evals[1]
    assert [step for step, *_ in evals[1]] == [12, 18, 20]


def test_a_killed_training_goes_on_where_it_was_saved() -> None:
    with trainer("train.save_every=3", "train.eval_every=100000") as (process, run):
        wait_for(run, "checkpoint", process)
        process.kill()
        process.wait()
    assert state(run) == "interrupted"
    step = saved(run).step
    assert step % 3 == 0
    assert resume("live", "--steps", str(step + 4), "--curve", "keep") == 0
    assert saved(run).step == step + 4
    config = load(run.config_toml)
    assert (config.train.steps, config.train.decay_steps) == (step + 4, 100000)


def test_a_finished_run_goes_on_only_with_a_word_on_its_curve(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert train() == 0
    before = a_run().config_toml.read_text()
    assert "has come to step 5, and train.steps = 5" in refused(capsys, resume("mini"))
    sentence = refused(capsys, resume("mini", "--steps", "8"))
    assert "--curve keep" in sentence
    assert "--curve stretch" in sentence
    assert "goes with another number of steps" in refused(capsys, resume("--curve", "keep"))
    assert a_run().config_toml.read_text() == before
    assert saved(a_run()).step == 5


@pytest.mark.parametrize(("curve", "lowest"), [("keep", True), ("stretch", False)])
def test_the_curve_is_kept_or_stretched(curve: str, lowest: bool) -> None:
    assert train("train.lr=0.01", "train.min_lr=0.001") == 0
    assert resume("--steps", "9", "--curve", curve) == 0
    rates = {line["step"]: line["lr"] for line in read(a_run().metrics, "step")}
    assert max(rates) == 9
    assert rates[9] == pytest.approx(0.001)
    assert load(a_run().config_toml).train.decay_steps == (5 if lowest else 9)
    assert saved(a_run()).step == 9
    if lowest:
        assert all(rate == pytest.approx(0.001) for step, rate in rates.items() if step > 5)
    elif 6 in rates:
        assert rates[6] > 0.002


def test_a_refused_resume_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert train() == 0
    before = a_run().config_toml.read_text()
    assert "come to step 5, and train.steps = 3" in refused(
        capsys, resume("--steps", "3", "--curve", "keep")
    )
    with hold_lock(a_run()):
        words = ["--steps", "9", "--curve", "keep", "train.lr=0.5"]
        assert "in use" in refused(capsys, resume(*words))
    assert a_run().config_toml.read_text() == before


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("model.n_layers=2", "model.n_layers = 2: a resumed run keeps its 1"),
        ("data.val_fraction=0.2", "data.val_fraction = 0.2"),
        ("train.seed=5", "train.seed = 5"),
        ("train.step=9", "did you mean train.steps?"),
    ],
)
def test_a_resumed_run_keeps_model_data_and_seed(
    change: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train() == 0
    assert sentence in refused(capsys, resume("mini", change))
    assert sentence in refused(capsys, resume(change))


def test_a_resumed_run_may_learn_differently() -> None:
    assert train("train.save_every=2", "train.keep_last=9") == 0
    shutil.rmtree(a_run().checkpoints / "step_000005")
    assert resume("train.lr=0.5", "train.min_lr=0.5") == 0
    assert load(a_run().config_toml).train.lr == 0.5
    assert read(a_run().metrics, "step")[-1]["lr"] == 0.5


def test_a_changed_text_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train() == 0
    (here / "book.txt").write_text(TEXT.replace("7", "8"), encoding="utf-8")
    words = ["--steps", "9", "--curve", "keep"]
    assert "has changed since it began" in refused(capsys, resume(*words))
    (here / "book.txt").unlink()
    assert "book.txt" in refused(capsys, resume(*words))


@pytest.mark.parametrize("damage", ["", "{", "[]", None])
def test_a_run_that_does_not_know_its_text_is_refused(
    damage: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train() == 0
    if damage is None:
        a_run().data_json.unlink()
    else:
        a_run().data_json.write_text(damage)
    words = ["--steps", "9", "--curve", "keep"]
    assert "data.json is missing or damaged" in refused(capsys, resume(*words))


def test_another_tokenizer_in_the_run_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for size in ("300", "310"):
        assert train("data.tokenizer=sentencepiece", f"data.vocab_size={size}") == 0
    shutil.copy("runs/mini-2/tokenizer.model", "runs/mini/tokenizer.model")
    words = ["mini", "--steps", "9", "--curve", "keep"]
    assert "is not the one that the run began with" in refused(capsys, resume(*words))


def test_a_run_killed_before_its_first_save_starts_anew() -> None:
    assert train() == 0
    expected = content(a_run())
    shutil.rmtree(a_run().checkpoints)
    assert resume() == 0
    assert content(a_run()) == expected
    shutil.rmtree(a_run().checkpoints)
    (a_run().checkpoints / ".step_000002.tmp").mkdir(parents=True)
    assert resume() == 0
    assert content(a_run()) == expected


def test_a_broken_checkpoint_is_passed_over_aloud(capsys: pytest.CaptureFixture[str]) -> None:
    assert train("train.save_every=2", "train.keep_last=9") == 0
    expected = content(a_run())
    newest = a_run().checkpoints / "step_000005"
    with (newest / "model.safetensors").open("r+b") as file:
        file.truncate(4)
    assert resume() == 0
    err = capsys.readouterr().err
    assert "skipped step_000005: model.safetensors has 4 bytes" in err
    assert "going on from step_000004" in err
    assert content(a_run()) == expected
    for path in a_run().checkpoints.glob("step_*/optimizer.safetensors"):
        path.unlink()
    assert "has no whole checkpoint" in refused(capsys, resume())


def test_the_newest_run_is_the_one_that_wrote_last() -> None:
    words = ["train.save_every=2", "train.keep_last=9"]
    assert train(*words) == train(*words) == 0
    shutil.rmtree(a_run().checkpoints / "step_000005")
    past = time.time() - 100
    for path in a_run("mini-2").path.glob("*.*"):
        os.utime(path, (past, past))
    os.utime(a_run().config_toml, (past - 100, past - 100))
    assert resume() == 0
    assert saved(a_run()).step == 5


def test_an_early_end_is_not_taken_back_in_silence(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train.lr=0", "train.min_lr=0", "train.eval_every=1", "train.patience=2"]
    assert train(*words) == 0
    assert saved(a_run()).step == 2
    assert "train.patience=0" in refused(capsys, resume())
    assert resume("train.patience=0") == 0
    assert saved(a_run()).step == 5


def test_a_diverged_run_ends_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train.lr=1e3", "train.min_lr=1e3", "train.warmup=0", "--json"]
    assert train(*words) == 1
    lines = [strict(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[-1]["reason"] == "diverged"
    assert "warning" in {line["kind"] for line in lines}
    assert saved_steps(a_run()) == []
    assert resume("train.lr=1e-3", "train.min_lr=1e-3") == 0
    assert saved(a_run()).step == 5


# Signals and commands, to a training in a process of its own


@pytest.mark.parametrize(
    ("number", "times", "code"), [(signal.SIGINT, 2, 130), (signal.SIGTERM, 1, 143)]
)
def test_a_signal_ends_the_process_after_one_save(
    number: signal.Signals, times: int, code: int
) -> None:
    with trainer("train.eval_every=100000") as (process, run):
        process.send_signal(signal.SIGHUP)
        for _ in range(times):
            process.send_signal(number)
        _, err = process.communicate()
    assert process.returncode == code
    assert "Traceback" not in err
    [step] = [event["step"] for event in read(run.events, "checkpoint")]
    assert saved(run).step == step > 0
    assert read(run.metrics, "step")[-1]["step"] == step


@contextlib.contextmanager
def long_text(path: Path) -> Iterator[Path]:
    """A text of 10 GB, zipped, which takes long to read."""
    member = gzip.compress(b"the boat and the sea\n" * 50_000)
    path.write_bytes(member * 10_000)
    yield path
    path.unlink()


def has_open(process: psutil.Process, path: Path) -> bool:
    """Whether a process has a file open; not while it begins or ends."""
    try:
        return str(path) in {each.path for each in process.open_files()}
    except psutil.Error:
        return False


def interrupted_while_reading(path: Path, *words: str) -> tuple[int, str]:
    """The exit code and the words of a command that gets Ctrl-C while it reads a text."""
    with subprocess.Popen(command(*words), stderr=subprocess.PIPE, text=True) as process:
        seen = psutil.Process(process.pid)
        try:
            while process.poll() is None and not has_open(seen, path):
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
        return process.returncode, err


def test_ctrl_c_while_the_text_is_read_leaves_nothing(here: Path) -> None:
    with long_text(here / "slow.txt.gz") as path:
        code, err = interrupted_while_reading(path, "mini", path.name, *SMALL)
    assert code == 130
    assert "Traceback" not in err
    assert not (here / "runs").exists()


@pytest.mark.parametrize(("language", "word"), [("en", "next"), ("es", "ahora")])
def test_ctrl_c_while_a_run_is_taken_up_says_how_to_go_on(
    here: Path, language: str, word: str
) -> None:
    book = here / "book.txt.gz"
    book.write_bytes(gzip.compress(TEXT.encode()))
    assert main(["train", "mini", book.name, "train.steps=5", *SMALL]) == 0
    with long_text(book) as path:
        code, err = interrupted_while_reading(path, "--resume", "mini", "--lang", language)
    assert code == 130
    assert err.splitlines()[-1] == f"{word}: mlx-gpt train --resume mini"


def test_ctrl_c_before_the_first_step_says_how_to_go_on(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(KeyboardInterrupt), resumable(Run(here / "elsewhere" / "mini")):
        raise KeyboardInterrupt
    assert f"next: mlx-gpt train --resume {here}/elsewhere/mini" in capsys.readouterr().err


def test_a_living_training_obeys(here: Path) -> None:
    with trainer("train.eval_every=100000") as (process, run):

        def tell(name: str, **arguments: Any) -> dict[str, Any]:
            answer = acknowledged(run, send(run, name, **arguments), timeout=30)
            assert answer is not None, name
            return answer

        with run.control.open("ab") as file:
            file.write(b'{"id": 3, \xff\n[]\n')
        assert tell("pause")["ok"]
        assert state(run) == "paused"
        step = read(run.metrics, "step")[-1]["step"]
        assert tell("save")["message"] == f"saved step {step}"
        assert saved(run).step == step
        assert tell("eval")["message"].startswith("validation loss")
        assert tell("sample", prompt="1", max_tokens=3)["ok"]
        assert not tell("dance")["ok"]
        assert resume("live") == 2  # someone trains it
        assert main(["runs", "list"]) == 0
        assert tell("resume")["ok"]
        assert state(run) == "running"
        assert tell("stop")["ok"]
        assert process.wait() == 0
    assert state(run) == "stopped"
    assert saved(run).step >= step


def test_a_training_whose_reader_goes_saves_and_ends() -> None:
    words = command("mini", "book.txt", *SMALL, ENDLESS, "--json", "train.eval_every=100000")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        for line in process.stdout:
            if strict(line.decode())["kind"] == "step":
                break
        process.stdout.close()
        err = process.stderr.read()
    assert process.returncode == 141
    assert b"Traceback" not in err
    assert saved(a_run()).step > 0


def test_a_training_whose_terminal_goes_trains_on() -> None:
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        command("mini", "book.txt", *SMALL, ENDLESS, "train.eval_every=5"),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        text=True,
        start_new_session=True,
    )
    os.close(terminal)
    shown = b""
    try:
        while b"lr " not in shown:
            shown += os.read(controller, 10_000)
        os.close(controller)
        run = a_run()
        before = read(run.metrics, "step")[-1]["step"]
        metrics = Tail(run.metrics, from_end=True)
        while not any(line["step"] > before + 20 for line in metrics.read()):
            assert process.poll() is None
            time.sleep(0.01)
        send(run, "stop")
        assert process.wait() == 0
    finally:
        process.kill()
        process.wait()
    assert re.search(
        rb"\d+/100000  loss \d\.\d{3}  val \d\.\d{3}  lr \d\.\de-\d  [\d ]+ tok/s", shown
    )


# In the background


def test_a_detached_training_outlives_its_parent(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["mini", "book.txt", *SMALL, ENDLESS, "train.eval_every=100000", "--detach", "--json"]
    parent = subprocess.run(command(*words), **QUIET)
    assert parent.returncode == 0, parent.stderr
    told = strict(parent.stdout)
    run = Run(Path(told["path"]))
    try:
        assert (told["run"], is_alive(run)) == ("mini", True)
        assert main(["runs", "list", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)[0]["state"] == "running"
        assert "in use" in refused(capsys, resume("mini"))
        again = subprocess.run(command("--resume", "mini", "--detach"), **QUIET)
        assert again.returncode == 2
        assert "in use" in again.stderr
        assert main(["ctl", "mini", "stop"]) == 0  # at once: no command is lost
        wait_for_end(run)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(told["pid"], signal.SIGKILL)
    assert saved(run).step > 0
    assert "stopped at step" in run.log.read_text()


def test_a_detached_resume_takes_its_settings_along(capsys: pytest.CaptureFixture[str]) -> None:
    assert train() == 0
    words = ["--resume", "mini", "--steps", "7", "--curve", "keep", "train.lr=0.5", "--detach"]
    begun = subprocess.run(command(*words), **QUIET)
    assert begun.returncode == 0, begun.stderr
    wait_for_end(a_run())
    assert saved(a_run()).step == 7
    config = load(a_run().config_toml).train
    assert (config.lr, config.steps, config.decay_steps) == (0.5, 7, 5)
    late = subprocess.run(command("--resume", "mini", "--detach"), **QUIET)
    assert late.returncode == 2
    assert "has come to step 7, and train.steps = 7" in late.stderr


def test_a_folder_that_mlx_could_not_write_into_is_refused_before_the_training(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "not valid Unicode" in refused(capsys, train("--out", "a\udcff"))
    assert not list(here.glob("a*"))


def test_the_command_to_go_on_with_is_one_that_a_shell_takes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert train("--name", "two words") == 0
    assert "next: mlx-gpt sample 'two words'" in capsys.readouterr().err


def test_the_time_to_go_is_told_by_the_steps_after_the_first() -> None:
    watcher = Watcher(as_json=False)
    assert math.isnan(watcher.seconds_left(1, 101))
    watcher.first = 1, time.monotonic() - 10
    assert watcher.seconds_left(11, 101) == pytest.approx(90, rel=0.01)


def test_the_time_to_go_is_told_anew_when_eco_is_switched() -> None:
    watcher = Watcher(as_json=False)
    watcher.first = 1, time.monotonic() - 10
    watcher.show(Eco(11, True))
    assert math.isnan(watcher.seconds_left(12, 101))
    assert watcher.first is not None
    assert watcher.first[0] == 12


# Eco and battery


def test_eco_is_a_flag_of_the_command_and_changes_no_weight(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert train("--eco", "--name", "calm") == 0
    assert "eco on from step 0: rests as long as it works" in capsys.readouterr().err
    assert train("--name", "plain") == 0
    assert content(a_run("calm")) == content(a_run("plain"))
    assert a_run("calm").config_toml.read_text() == a_run("plain").config_toml.read_text()
    assert resume("calm", "--eco", "--steps", "7", "--curve", "keep") == 0
    assert resume("plain", "--steps", "7", "--curve", "keep") == 0
    assert content(a_run("calm")) == content(a_run("plain"))
    switched = [(event["step"], event["on"]) for event in read(a_run("calm").events, "eco")]
    assert switched == [(0, True), (5, True)]
    assert read(a_run("plain").events, "eco") == []


def test_a_detached_training_rests_too(capsys: pytest.CaptureFixture[str]) -> None:
    begun = subprocess.run(
        command("mini", "book.txt", *SMALL, ENDLESS, "--eco", "--detach"), **QUIET
    )
    assert begun.returncode == 0, begun.stderr
    try:
        assert main(["ctl", "mini", "eco", "off"]) == 0
        assert "mini rests no longer: eco off at step" in capsys.readouterr().err
        assert main(["ctl", "mini", "snapshot"]) == 0
        assert "mini has set its weights apart: weights of step" in capsys.readouterr().err
    finally:
        assert main(["ctl", "mini", "stop"]) == 0
        wait_for_end(a_run())
    assert [event["on"] for event in read(a_run().events, "eco")] == [True, False]


@pytest.mark.parametrize(
    ("percent", "discharging", "words", "said"),
    [
        (63, True, (), "! on battery (63 %): plug the machine in, or train with --eco\n"),
        (63, True, ("--eco",), "! on battery (63 %): plug the machine in\n"),
        (63, False, (), ""),
        (None, False, (), ""),
    ],
)
def test_a_training_on_battery_says_so_once(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    percent: int | None,
    discharging: bool,
    words: tuple[str, ...],
    said: str,
) -> None:
    battery = None if percent is None else Battery(percent, discharging)
    monkeypatch.setattr("mlx_gpt.commands.train.read_battery", lambda: battery)
    assert train(*words) == 0
    err = capsys.readouterr().err
    assert "".join(line for line in err.splitlines(True) if "battery" in line) == said


COMPILING = "compiling the training step for this CPU, once"


def test_whether_a_run_is_compiled_is_decided_once_and_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, here: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(here / "kernels"))
    assert train("--device", "cpu") == 0
    assert load(a_run().config_toml).train.compile == "off"
    assert COMPILING not in capsys.readouterr().err
    assert train("--name", "on", "--device", "cpu", "train.compile=on") == 0
    assert load(a_run("on").config_toml).train.compile == "on"
    assert COMPILING in capsys.readouterr().err
    losses = [
        [record["val_loss"] for record in read(a_run(name).metrics, "eval")]
        for name in ("mini", "on")
    ]
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)


@pytest.mark.slow
def test_on_a_cpu_the_compiling_is_announced_once_and_a_resumed_run_is_the_same(
    here: Path,
) -> None:
    (here / "kernels").mkdir()
    environment = {**os.environ, "TMPDIR": str(here / "kernels")}
    environment.pop("MLX_DISABLE_COMPILE", None)
    words = ["mini", "book.txt", *SMALL, "train.schedule=constant", "train.compile=on"]
    words += ["train.eval_every=2"]

    def run(*words: str) -> str:
        done = subprocess.run(command("--device", "cpu", *words), env=environment, **QUIET)
        assert done.returncode == 0, done.stderr
        return done.stderr

    said = [run(*words, "--name", name, "--steps", "4") for name in ("whole", "again")]
    said += [run(*words, "--name", "part", "--steps", "2")]
    said += [run("--resume", "part", "--steps", "4")]
    assert [COMPILING in each for each in said] == [True, False, False, False]
    assert content(a_run("whole")) == content(a_run("again"))
    assert content(a_run("part")) == content(a_run("whole"))
