"""The app's end of the pipe to the process that holds a model."""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from small_model import small_run, weights

from mlx_gpt.config import load
from mlx_gpt.errors import UserError
from mlx_gpt.interop.folder import export_run
from mlx_gpt.language import say
from mlx_gpt.run import append, hold_lock
from mlx_gpt.tokenizer import ByteTokenizer
from tui.inside import Inside, place_of
from tui.worker import Worker, ask


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(say, "language", "en")


async def test_a_worker_that_is_killed_is_told_and_starts_again(tmp_path: Path):
    run = small_run(tmp_path / "runs")
    worker = Worker()
    inside = Inside(worker, str(tmp_path / "runs"))
    place = place_of(None, run)
    assert place is not None
    await inside.load(place)
    assert worker.process is not None
    endless = worker.stream("sample", ids=[1], settings={"max_tokens": 10**6, "top_k": 1})
    await anext(endless)
    os.kill(worker.process.pid, signal.SIGKILL)
    with pytest.raises(UserError, match="SIGKILL"):
        async for _ in endless:
            pass
    answer = await ask(worker, "trace", prompt="ab")
    assert answer["ids"] == [97, 98]
    process = worker.process
    await worker.close()
    assert process is not None
    assert process.poll() is not None


async def test_the_last_words_of_a_worker_are_shown():
    code = "import sys; sys.stdin.readline(); sys.exit('out of memory')"
    worker = Worker([sys.executable, "-c", code])
    with pytest.raises(UserError, match=r"code 1.*out of memory"):
        await ask(worker, "load")
    await worker.close()


async def test_a_worker_takes_the_blas_that_sampling_prefers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MLX_GPT_COMMAND", "tui")
    code = "import json, os, sys; sys.stdin.readline(); name = os.environ['MLX_GPT_COMMAND']"
    code += "; print(json.dumps({'id': 1, 'name': name})); print('{\"id\": 1, \"done\": true}')"
    worker = Worker([sys.executable, "-c", code])
    assert await ask(worker, "load") == {"name": "sample"}
    await worker.close()
    assert os.environ["MLX_GPT_COMMAND"] == "tui"


async def test_a_worker_that_says_no_json_is_not_listened_to():
    code = "import sys; print('hello'); print('[1]'); print('{\"id\": 1, \"x\": 2}');"
    code += 'print(\'{"id": 1, "done": true}\', flush=True); sys.stdin.read()'
    worker = Worker([sys.executable, "-c", code])
    assert await ask(worker, "load") == {"x": 2}
    await worker.close()


async def test_the_model_is_loaded_once_and_again_when_there_is_a_newer_checkpoint(tmp_path: Path):
    run = small_run(tmp_path, steps=(10, 20))
    inside = Inside(Worker(), str(tmp_path))
    best = place_of(None, run)
    with hold_lock(run):
        newest = place_of(None, run)
    assert best is not None
    assert newest is not None
    assert (best.step, newest.step) == (10, 20)
    loaded = await inside.load(best)
    assert await inside.load(best) is loaded
    assert (loaded.step, (await inside.load(newest)).step) == (10, 20)
    await inside.close()


def test_a_run_without_a_checkpoint_is_refused_by_what_became_of_it(tmp_path: Path):
    run = small_run(tmp_path, steps=())
    with hold_lock(run), pytest.raises(UserError, match="press 2, then s"):
        place_of(None, run)
    with pytest.raises(UserError, match=r"ended before its first checkpoint.*2, then R"):
        place_of(None, run)
    append(run.events, {"kind": "finished", "step": 3, "reason": "diverged"})
    with pytest.raises(UserError, match=r"diverged before its first checkpoint.*lower"):
        place_of(None, run)
    shutil.rmtree(run.path)
    with pytest.raises(UserError, match="The folder of small is gone"):
        place_of(None, run)


async def test_a_run_whose_checkpoints_were_deleted_gives_the_model_in_its_folder(tmp_path: Path):
    run = small_run(tmp_path, steps=(10,))
    export_run(run.path, load(run.config_toml), weights(seed=10), ByteTokenizer(), 10)
    shutil.rmtree(run.checkpoints)
    place = place_of(None, run)
    assert place is not None
    inside = Inside(Worker(), str(tmp_path))
    assert "step 10" in (await inside.load(place)).source
    await inside.close()
