"""Checkpoints: whole or not there, at any moment."""

import json
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from mlx_gpt.device import mx

import pytest

from mlx_gpt.checkpoint import Checkpoint, any_saved, best, load, named, newest, save
from mlx_gpt.errors import UserError
from mlx_gpt.run import Run, pointed_step, saved_steps

COUNT = 200_000  # numbers in the model of the killed trainer: a save takes milliseconds


def fresh_run(path: Path) -> Run:
    return Run(path / "run")


def save_step(
    run: Run, step: int, *, is_best: bool = False, keep_last: int = 9, value: float | None = None
) -> Path:
    """A checkpoint whose every number is its step (or the value given)."""
    number = float(step if value is None else value)
    arrays = {"a.weight": mx.full((3, 4), number), "b.bias": mx.full((5,), number)}
    moments = {"step": mx.array(step, dtype=mx.uint64), "m": mx.full((3, 4), number)}
    state = {"step": step, "val_loss": number / 3, "prompt": "ñ"}
    return save(run, step, arrays, moments, state, is_best, keep_last)


def assert_whole(found: Checkpoint, value: float) -> None:
    arrays = {**found.model, **found.optimizer}
    wrong = [name for name in arrays if name != "step" and not mx.all(arrays[name] == value)]
    assert wrong == []


def damage(path: Path, how: str) -> None:
    """One of the ways in which a checkpoint is found broken."""
    model, optimizer, state = (
        path / name for name in ("model.safetensors", "optimizer.safetensors", "state.json")
    )
    match how:
        case "no optimizer":
            optimizer.unlink()
        case "no model":
            model.unlink()
        case "no state":
            state.unlink()
        case "weights cut to 4 bytes":
            model.write_bytes(model.read_bytes()[:4])
        case "one bit of the weights turned":
            content = bytearray(model.read_bytes())
            content[-3] ^= 1
            model.write_bytes(content)
        case "state cut":
            state.write_text(state.read_text(encoding="utf-8")[:40], encoding="utf-8")
        case "state of another kind":
            state.write_text('["files"]', encoding="utf-8")
        case "state of another step":
            state.write_text(state.read_text(encoding="utf-8").replace("20", "21"))
        case "empty folder":
            for file in (model, optimizer, state):
                file.unlink()


def test_what_is_loaded_is_what_was_saved(tmp_path: Path) -> None:
    run = fresh_run(tmp_path)
    model = {
        "half": mx.random.normal((7, 3)).astype(mx.bfloat16),
        "turned": mx.arange(12).reshape(3, 4).T,
        "number": mx.array(2.5),
    }
    state = {"seed": 7, "loss": 0.1 + 0.2, "none": None, "list": [1, [2]]}
    path = save(run, 5, model, {"v": mx.array([1, 2], dtype=mx.uint32)}, state, False, 2)
    assert path == run.checkpoints / "step_000005"
    found = load(path)
    assert (found.step, found.path, found.state) == (5, path, state)
    assert {name: array.dtype for name, array in found.model.items()} == {
        name: array.dtype for name, array in model.items()
    }
    assert all(mx.array_equal(found.model[name], model[name]) for name in model)
    assert found.optimizer["v"].tolist() == [1, 2]
    assert load(path, with_optimizer=False).optimizer == {}


def test_an_optimizer_without_state_is_saved_too(tmp_path: Path) -> None:
    path = save(fresh_run(tmp_path), 1, {"a": mx.zeros(2)}, {}, {}, False, 1)
    assert load(path).optimizer == {}


def test_the_newest_and_the_best_are_kept_and_named(tmp_path: Path) -> None:
    run = fresh_run(tmp_path)
    for step in range(10, 70, 10):
        save_step(run, step, is_best=step in (10, 20), keep_last=2)
    assert saved_steps(run) == [20, 50, 60]
    assert (pointed_step(run, "latest"), pointed_step(run, "best")) == (60, 20)
    assert (best(run).name, newest(run)) == ("step_000020", (run.checkpoints / "step_000060", ()))
    names = sorted(path.name for path in run.checkpoints.iterdir())
    assert names == ["best", "latest", "step_000020", "step_000050", "step_000060"]


def test_without_a_best_the_newest_stands_in(tmp_path: Path) -> None:
    run = fresh_run(tmp_path)
    save_step(run, 1)
    save_step(run, 2)
    assert best(run).name == "step_000002"


def test_a_lost_best_pointer_is_read_from_the_checkpoints(tmp_path: Path) -> None:
    run = fresh_run(tmp_path)
    for step in (1, 2, 3):
        save_step(run, step, is_best=step == 2)
    (run.checkpoints / "best").unlink()
    assert best(run).name == "step_000002"
    save_step(run, 4, keep_last=1)
    assert (saved_steps(run), pointed_step(run, "best")) == ([2, 4], 2)


def test_the_same_step_can_be_saved_again(tmp_path: Path) -> None:
    run = fresh_run(tmp_path)
    save_step(run, 1, value=1)
    save_step(run, 1, value=2, is_best=True)
    assert_whole(load(best(run)), 2)
    assert saved_steps(run) == [1]
    assert not list(run.checkpoints.glob(".*"))


def test_a_best_step_that_is_saved_again_stays_the_best(tmp_path: Path) -> None:
    run = fresh_run(tmp_path)
    save_step(run, 1, is_best=True)
    save_step(run, 2, is_best=True)
    save_step(run, 2)
    save_step(run, 3, keep_last=1)
    assert (saved_steps(run), pointed_step(run, "best")) == ([2, 3], 2)


def test_what_was_loaded_survives_the_replacement_of_its_files(tmp_path: Path) -> None:
    run = fresh_run(tmp_path)
    found = load(save_step(run, 1, value=1))
    for file in found.path.iterdir():
        file.write_bytes(bytes(file.stat().st_size))
    save(run, 1, found.model, found.optimizer, found.state, False, 1)
    assert_whole(load(found.path), 1)


def test_lazy_arrays_are_read_before_their_files_are_replaced(tmp_path: Path) -> None:
    run = fresh_run(tmp_path)
    path = save_step(run, 1, value=1)
    lazy = mx.load(str(path / "model.safetensors"))
    assert isinstance(lazy, dict)
    save(run, 1, {name: array + 1 for name, array in lazy.items()}, {}, {}, False, 1)
    assert_whole(load(path), 2)


@pytest.mark.parametrize(
    ("how", "note"),
    [
        ("no optimizer", "optimizer.safetensors is missing"),
        ("no model", "model.safetensors is missing"),
        ("no state", "state.json is missing"),
        ("weights cut to 4 bytes", "model.safetensors has 4 bytes instead of"),
        ("one bit of the weights turned", "model.safetensors was changed"),
        ("state cut", "state.json is damaged"),
        ("state of another kind", "state.json is damaged"),
        ("state of another step", "state.json is of step 21"),
        ("empty folder", "state.json is missing"),
    ],
)
def test_a_damaged_checkpoint_is_passed_over_and_named(tmp_path: Path, how: str, note: str) -> None:
    run = fresh_run(tmp_path)
    save_step(run, 10)
    damaged = save_step(run, 20)
    damage(damaged, how)
    path, notes = newest(run)
    assert path.name == "step_000010"
    assert len(notes) == 1
    assert f"step_000020: {note}" in notes[0]
    assert_whole(load(path), 10)
    with pytest.raises(UserError, match="step_000020"):
        load(damaged)


def test_a_broken_latest_is_not_fatal(tmp_path: Path) -> None:
    run = fresh_run(tmp_path)
    save_step(run, 10)
    for content, note in [
        (b"step_000099\n", "step_000099"),
        (b"\xff", "no step"),
        (b"", "no step"),
    ]:
        (run.checkpoints / "latest").write_bytes(content)
        path, notes = newest(run)
        assert path.name == "step_000010"
        assert note in notes[0]


def test_an_unfinished_save_is_passed_over_and_cleared_by_the_next(tmp_path: Path) -> None:
    run = fresh_run(tmp_path)
    save_step(run, 10)
    shutil.copytree(run.checkpoints / "step_000010", run.checkpoints / ".step_000020.tmp")
    path, notes = newest(run)
    assert path.name == "step_000010"
    assert notes == ("skipped .step_000020.tmp: it was not finished",)
    save_step(run, 20)
    assert newest(run) == (run.checkpoints / "step_000020", ())


def test_no_whole_checkpoint_is_an_error_with_the_reasons(tmp_path: Path) -> None:
    run = fresh_run(tmp_path)
    (run.checkpoints / ".step_000010.tmp").mkdir(parents=True)
    assert not any_saved(run)
    with pytest.raises(UserError, match="run run has no whole checkpoint"):
        newest(run)
    damage(save_step(run, 10), "no model")
    assert any_saved(run)
    with pytest.raises(UserError, match=r"step_000010: model\.safetensors is missing"):
        newest(run)


def test_an_abandoned_future_is_deleted_so_that_no_resume_jumps_into_it(tmp_path: Path) -> None:
    run = fresh_run(tmp_path)
    for step in (10, 20, 30):
        save_step(run, step, is_best=step in (10, 30))
    damage(run.checkpoints / "step_000030", "no model")
    assert newest(run)[0].name == "step_000020"
    save_step(run, 25, keep_last=1)
    assert (saved_steps(run), pointed_step(run, "best")) == ([10, 25], 10)


def test_checkpoints_are_chosen_by_word_step_or_name(tmp_path: Path) -> None:
    run = fresh_run(tmp_path)
    for step in (10, 20):
        save_step(run, step, is_best=step == 10)
    chosen = [named(run, which).name for which in ("best", "latest", 10, "20", "step_000020")]
    assert chosen == [f"step_0000{step}" for step in (10, 20, 10, 20, 20)]
    for which in (15, "worst", "-1"):
        with pytest.raises(UserError, match=r"choose best, latest or a step \(10, 20\)"):
            named(run, which)


def test_a_state_that_json_would_lose_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    run = fresh_run(tmp_path)
    with pytest.raises(ValueError, match="JSON"):
        save(run, 1, {"a": mx.zeros(1)}, {}, {"best": float("inf")}, False, 1)
    assert not run.checkpoints.exists()


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    run = fresh_run(tmp_path)
    run.path.mkdir()
    run.checkpoints.write_text("a file in the way")
    with pytest.raises(UserError, match=r"cannot save .*step_000001"):
        save_step(run, 1)


FULL_DISK = """
import resource, sys
from pathlib import Path
from mlx_gpt.device import mx
from mlx_gpt.checkpoint import save
from mlx_gpt.errors import UserError
from mlx_gpt.run import Run
run = Run(Path(sys.argv[1]))
save(run, 10, {"a": mx.full((100,), 10.0)}, {}, {}, True, 1)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
for model, optimizer in [(9_000, 1), (1, 9_000)]:
    try:
        save(run, 20, {"a": mx.zeros(model)}, {"m": mx.zeros(optimizer)}, {}, True, 1)
    except UserError as error:
        print(error)
"""


def test_a_full_disk_leaves_the_checkpoints_as_they_were(tmp_path: Path) -> None:
    run = fresh_run(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, run.path], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("step_000020: MLX cannot write") == 2
    assert sorted(path.name for path in run.checkpoints.iterdir()) == [
        "best",
        "latest",
        "step_000010",
    ]
    assert_whole(load(newest(run)[0]), 10)


EVERY_MOMENT = """
import shutil, sys
from pathlib import Path
from mlx_gpt.device import mx
from mlx_gpt.checkpoint import save
from mlx_gpt.run import Run

run, copies = Run(Path(sys.argv[1])), Path(sys.argv[2])
CHANGES = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"}
watching = False

def copy_before_each_change(event, arguments):
    global watching
    if watching and event in CHANGES:
        watching = False
        shutil.copytree(run.path, copies / f"{len(list(copies.iterdir())):04d}")
        watching = True

sys.addaudithook(copy_before_each_change)
save(run, 10, {"a": mx.full((9,), 10.0)}, {"m": mx.full((9,), 10.0)}, {}, True, 1)
watching = True
save(run, 10, {"a": mx.full((9,), 10.0)}, {"m": mx.full((9,), 10.0)}, {}, True, 1)
save(run, 20, {"a": mx.full((9,), 20.0)}, {"m": mx.full((9,), 20.0)}, {}, False, 1)
save(run, 30, {"a": mx.full((9,), 30.0)}, {"m": mx.full((9,), 30.0)}, {}, True, 1)
watching = False
"""


def test_the_disk_holds_a_whole_run_before_every_change_that_a_save_makes(tmp_path: Path) -> None:
    run, copies = fresh_run(tmp_path), tmp_path / "copies"
    copies.mkdir()
    subprocess.run([sys.executable, "-c", EVERY_MOMENT, run.path, copies], check=True)
    moments = sorted(copies.iterdir())
    assert len(moments) > 60
    seen = 0
    for moment in moments:
        killed = Run(moment)
        found = load(newest(killed)[0])
        assert_whole(found, found.step)
        assert found.step >= seen
        seen = found.step
        assert all(load(named(killed, step)).step == step for step in saved_steps(killed))
        assert load(best(killed)).step in (10, 30)
        save_step(killed, found.step + 1, keep_last=1)
        assert newest(killed) == (named(killed, found.step + 1), ())
        assert not list(killed.checkpoints.glob(".*"))
    assert seen == 30


KILLED_TRAINER = """
import signal, sys
from pathlib import Path
from mlx_gpt.device import mx
from mlx_gpt.checkpoint import load, newest, save
from mlx_gpt.run import Run, saved_steps

run, count, seconds = Run(Path(sys.argv[1])), int(sys.argv[2]), float(sys.argv[3])
step = load(newest(run)[0]).step if saved_steps(run) else 0
signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the kernel ends the process, as by kill -9
signal.setitimer(signal.ITIMER_REAL, seconds)
while True:
    step += 1
    arrays = {name: mx.full((count,), float(step)) for name in "ab"}
    for again in (False, True):
        save(run, step, arrays, arrays, {"step": step}, again, 2)
    print(step, flush=True)
"""


def test_a_kill_at_any_moment_of_a_save_leaves_a_whole_checkpoint(tmp_path: Path) -> None:
    run = fresh_run(tmp_path)
    save(run, 0, {"a": mx.zeros(COUNT)}, {}, {}, False, 2)
    moments = random.Random(0)
    for _ in range(8):
        seconds = moments.uniform(0.02, 0.25)
        killed = subprocess.run(
            [sys.executable, "-c", KILLED_TRAINER, run.path, str(COUNT), str(seconds)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert killed.returncode == -signal.SIGALRM, killed.stderr
        found = load(newest(run)[0])
        assert_whole(found, found.step)
        assert found.step >= max(map(int, killed.stdout.split()), default=0)
    assert load(newest(run)[0]).step > 8


def test_the_state_file_says_what_was_saved(tmp_path: Path) -> None:
    path = save_step(fresh_run(tmp_path), 10, is_best=True)
    content = json.loads((path / "state.json").read_text(encoding="utf-8"))
    assert (content["step"], content["best"], content["state"]["prompt"]) == (10, True, "ñ")
    assert set(content["files"]) == {"model.safetensors", "optimizer.safetensors"}
    assert len(content["files"]["model.safetensors"]["sha256"]) == 64
