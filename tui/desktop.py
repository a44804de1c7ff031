"""What the desktop does for the app: show a folder, and stay awake."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path


def opener() -> str:
    """The program that shows a folder, whether or not it is there."""
    return "open" if sys.platform == "darwin" else "xdg-open"


def show_folder(path: Path) -> bool:
    """Ask the desktop to show a folder; whether there was anything to ask."""
    program = shutil.which(opener())
    return program is not None and begin([program, str(path)])


def waker(pid: int) -> list[str] | None:
    """The command that keeps this machine awake until a process ends; None where none is known."""
    if caffeinate := shutil.which("caffeinate"):
        return [caffeinate, "-i", "-w", str(pid)]
    inhibit, tail = shutil.which("systemd-inhibit"), shutil.which("tail")
    if inhibit is None or tail is None:
        return None
    why = ["--what=idle:sleep", "--who=mlx-gpt", "--why=a training runs"]
    return [inhibit, *why, tail, f"--pid={pid}", "-f", os.devnull]


def keep_awake(pid: int) -> bool:
    """Keep the machine awake while a process lives, whatever becomes of the app."""
    command = waker(pid)
    return command is not None and begin(command)


def begin(command: list[str]) -> bool:
    """Start a program on its own; whether it could be."""
    try:
        process = subprocess.Popen(
            command,
            start_new_session=True,  # xdg-open may try browsers that draw on the terminal
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return False
    threading.Thread(target=process.wait, daemon=True).start()
    return True
