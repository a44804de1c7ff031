"""Copying text out of the terminal."""

import subprocess
import sys
from pathlib import Path

from textual.app import App

from mlx_gpt.errors import UserError

COMMAND_FILE = Path("mlx-gpt-commands.sh")


def copy(app: App[None], text: str) -> None:
    """Put text on the clipboard: pbcopy on a Mac, elsewhere the terminal's own way (OSC 52)."""
    if sys.platform == "darwin":
        subprocess.run(["pbcopy"], input=text.encode(), check=False)
    app.copy_to_clipboard(text)


def save(text: str, path: Path = COMMAND_FILE) -> Path:
    """Add text as a line to a file, for terminals that copy nothing."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    return path.absolute()
