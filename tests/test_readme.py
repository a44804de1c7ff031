"""Every `sh` and `python` block of README.md runs.

The quick tests run the blocks that only look at things, the slow ones those that install or train.
"""

import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
SHORT = "--steps 20"  # README offers it for "any training", and the tests take the offer


def blocks(language: str, *words: str) -> list[str]:
    return [
        text for name, text in BLOCKS if name == language and all(word in text for word in words)
    ]


INSTALLS = blocks("sh", "venv")
UV = blocks("sh", "uv run")
TRAININGS = [text for text in blocks("sh", "mlx-gpt train") if text not in INSTALLS + UV]
LOOKS = [text for text in blocks("sh") if text not in INSTALLS + UV + TRAININGS]


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A working folder with the texts that README names, and `mlx-gpt` as this checkout has it."""
    command = tmp_path / "bin" / "mlx-gpt"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tui.cli "$@"\n')
    command.chmod(0o755)
    lines = [f"Line {i}: the {word} sleeps.\n" for i in range(200) for word in ("cat", "dog")]
    for name in ("book.txt", "tinyshakespeare.txt"):
        (tmp_path / name).write_text("".join(lines))
    return tmp_path


def shell(script: str, folder: Path) -> str:
    """What bash prints for the script; any failing line fails the test."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=os.environ
        | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def shortened(script: str) -> str:
    """The script with the offered option on each training; one that goes on gets as many more."""
    steps = itertools.count(20, 20)
    return re.sub(
        r"^mlx-gpt train .*$", lambda line: f"{line[0]} --steps {next(steps)}", script, flags=re.M
    )


def copy_of_project(folder: Path) -> Path:
    """A checkout without its environment, its runs and its caches."""
    unwanted = shutil.ignore_patterns(".git", ".venv", "runs", "*cache*", "*.egg-info")
    return Path(shutil.copytree(ROOT, folder / "checkout", ignore=unwanted))


def test_the_readme_fits_on_two_screens():
    assert README.count("\n") <= 150


def test_the_two_commands_are_there_and_ci_finds_the_tests():
    install = "python3 -m venv .venv && .venv/bin/pip install -e '.[{}]' && .venv/bin/{}\n"
    assert [install.format("cpu", "mlx-gpt train"), install.format("dev", "pytest")] == INSTALLS
    assert README.count("'.[dev]'") == 1
    assert len(UV) == 1


def test_every_training_may_be_short_as_the_readme_says():
    assert f"`{SHORT}` to any training" in " ".join(README.split())
    assert TRAININGS


def test_every_file_that_the_readme_maps_exists():
    table = README[README.index("## Read") :]
    for cell in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE):
        folder = Path()
        for name in re.findall(r"`(.*?)`", cell):
            folder = Path(name).parent if "/" in name.rstrip("/") else folder
            found = list(ROOT.glob(name.rstrip("/"))) + list((ROOT / folder).glob(name.rstrip("/")))
            assert found, name


@pytest.mark.parametrize("script", blocks("python"))
def test_a_python_block_runs(script: str, desk: Path):
    assert shell(f'"{sys.executable}" - <<"END"\n{script}\nEND', desk)


def test_the_blocks_that_look_run_on_a_trained_model(desk: Path):
    # In the place of the long training at the top of README.
    shell(f"mlx-gpt train {SHORT} data.stories=100 data.tokenizer=bytes model.n_layers=1", desk)
    for script in LOOKS:
        assert shell(script, desk)


@pytest.mark.slow
@pytest.mark.parametrize("script", TRAININGS)
def test_a_block_that_trains_runs(script: str, desk: Path):
    shell(shortened(script), desk)
    assert list((desk / "runs").glob("*/checkpoints/*/model.safetensors"))


@pytest.mark.slow
def test_the_first_command_trains_on_a_fresh_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("MLX_DISABLE_COMPILE")  # a machine without tests compiles its long runs
    checkout = copy_of_project(tmp_path)
    shell(INSTALLS[0], checkout)
    assert list((checkout / "runs" / "stories" / "checkpoints").glob("*/model.safetensors"))


@pytest.mark.slow
def test_the_uv_command_runs(tmp_path: Path):
    checkout = copy_of_project(tmp_path)
    if not shutil.which("uv"):
        shell(f'"{sys.executable}" -m venv uv && uv/bin/pip install -q uv', tmp_path)
        (tmp_path / "checkout" / "bin").symlink_to(tmp_path / "uv" / "bin")
    assert "GFLOP/s" in shell(UV[0], checkout)
