"""The whole story in a real terminal: start a run, watch it, pause, leave, come back, stop."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from mlx_gpt.run import Run, is_alive, state

ROOT = Path(__file__).parent.parent
PATIENCE = 90  # seconds for anything to appear: other work may keep the cores busy

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is the terminal of this test"),
]


class Tmux:
    """A terminal of 80 columns and 24 rows with a server of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = str(folder / "tmux")
        environment = {"PYTHONPATH": str(ROOT), "MLX_GPT_CACHE": str(folder / "cache")}
        environment |= {"LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": str(folder / "config")}
        pairs = [word for name, value in environment.items() for word in ("-e", f"{name}={value}")]
        size = ["-x", "80", "-y", "24"]
        self.call("new-session", "-d", "-s", "it", *size, *pairs, "-c", str(folder), "sh")

    def call(self, *words: str) -> str:
        """One tmux command."""
        command = ["tmux", "-S", self.socket, "-f", os.devnull, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def press(self, *keys: str) -> None:
        """Keys by their names in tmux."""
        self.call("send-keys", "-t", "it", *keys)

    def shown(self) -> str:
        """What the terminal shows."""
        return self.call("capture-pane", "-p", "-t", "it")

    def wait(self, ready: Callable[[], bool], what: str) -> None:
        """Wait until something holds; what was shown is told where it never does."""
        until = time.monotonic() + PATIENCE
        while not ready():
            assert time.monotonic() < until, f"{what} never came:\n{self.shown()}"
            time.sleep(0.1)

    def wait_for(self, text: str) -> None:
        """Wait until the terminal shows a text."""
        self.wait(lambda: text in self.shown(), text)

    def open_app(self, options: str = "", name: str = "") -> None:
        """Start the app from the shell."""
        self.press(f"{sys.executable} -m tui.cli {options} tui {name}", "Enter")

    def leave_app(self, shown: str) -> None:
        """Back to an empty shell from an app that shows a text."""
        self.press("q")
        self.wait(lambda: shown not in self.shown(), "the end of the app")
        self.press("clear", "Enter")


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    terminal = Tmux(tmp_path)
    yield terminal
    run = Run(tmp_path / "runs" / "mini")
    if is_alive(run):
        subprocess.run(
            [sys.executable, "-m", "mlx_gpt", "ctl", str(run.path), "stop"], cwd=ROOT, check=False
        )
    terminal.call("kill-server")


def test_the_whole_story(tmux: Tmux):
    run = Run(tmux.folder / "runs" / "mini")
    tmux.open_app()
    tmux.wait_for("No runs in runs yet")

    tmux.press("5")
    tmux.wait_for("what to begin from")
    for _ in range(6):
        if "preset              mini" in tmux.shown():
            break
        tmux.press("Right")
        time.sleep(0.5)
    tmux.wait_for("preset              mini")
    tmux.press("s")
    tmux.wait_for("● running")

    tmux.wait_for("samples · step")
    tmux.press("p")
    tmux.wait_for("‖ paused")
    assert state(run) == "paused"
    tmux.press("p")
    tmux.wait_for("● running")

    tmux.press("a")
    tmux.wait_for("Prompt that the model continues")
    tmux.press("Once", "Enter")
    tmux.wait_for("asked Once│")

    tmux.press("q")
    tmux.wait_for("mini: the training goes on")
    assert is_alive(run)
    tmux.press("clear", "Enter")
    tmux.open_app()
    tmux.wait_for("● running")

    tmux.press("X")
    tmux.wait(lambda: not is_alive(run), "the end of the training")
    tmux.wait_for("■ stopped")
    assert "R resume" in tmux.shown()
    tmux.press("R")
    tmux.wait_for("● running")
    tmux.press("X")
    tmux.wait_for("■ stopped")
    tmux.press("q")
    tmux.wait(lambda: "1 Runs" not in tmux.shown(), "the end of the app")


def test_a_model_that_is_named_is_there_to_talk_to(tmux: Tmux):
    tmux.open_app(name="small")
    tmux.wait_for("a prompt; ⏎ samples")
    top = tmux.shown().split("\n")[0]
    assert top.startswith(" mlx-gpt  1 Runs")
    assert top.endswith(" small")
    tmux.press("q")
    tmux.wait(lambda: "1 Runs" not in tmux.shown(), "the end of the app")


@pytest.mark.parametrize("turn", range(10))
@pytest.mark.parametrize("leaving", [False, True])
def test_the_app_ends_with_its_terminal(tmp_path: Path, leaving: bool, turn: int):
    tmux = Tmux(tmp_path)
    tmux.open_app()
    tmux.wait_for("1 Runs")
    shell = psutil.Process(int(tmux.call("display-message", "-p", "-t", "it", "#{pane_pid}")))
    apps = shell.children(recursive=True)
    assert apps
    if leaving:
        tmux.press("q")
        time.sleep(turn / 20)
    tmux.call("kill-server")
    _, left = psutil.wait_procs(apps, timeout=10)
    for app in left:
        app.kill()
    assert left == []


def test_a_language_that_was_chosen_lasts_and_gives_way_to_the_command_line(tmux: Tmux):
    english, spanish = "1 Runs", "1 Ejecuciones"
    tmux.open_app()
    tmux.wait_for(english)
    tmux.press("L")
    tmux.wait_for(spanish)
    tmux.leave_app(spanish)
    tmux.open_app()
    tmux.wait_for(spanish)
    tmux.leave_app(spanish)
    tmux.open_app("--lang en")
    tmux.wait_for(english)
    tmux.leave_app(english)
    kept = tmux.folder / "config" / "mlx-gpt" / "app.toml"
    assert kept.read_text() == 'language = "es"\n'
