"""What the user has chosen in the app, kept for the next time in a TOML file beside the keymap.

A choice that was never made does not stand there: the system decides then.
"""

import contextlib
import os
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from mlx_gpt.config import nearest, read_toml, shown
from mlx_gpt.errors import UserError
from mlx_gpt.language import Language
from tui.keymap import keymap_path, lies_at
from tui.plot import MARKS, Marks


class Choices(NamedTuple):
    """The language, the theme, and the characters that charts are drawn with."""

    language: Language | None = None
    theme: str | None = None
    marks: Marks | None = None


def choices_path() -> Path:
    """Where they are kept: in the folder of the keymap."""
    return keymap_path().with_name("app.toml")


def read_choices(path: Path, themes: Collection[str]) -> Choices:
    """The choices in a file; none where there is no file, UserError where it is broken."""
    if not lies_at(path):
        return Choices()
    possible = {"language": ("en", "es"), "theme": themes, "marks": MARKS}
    table = read_toml(path)
    for name, value in table.items():
        if name not in possible:
            raise UserError(f"{path}: no setting {name}{nearest(name, possible)}")
        if not isinstance(value, str) or value not in possible[name]:
            raise UserError(
                f"{path}: {name} = {shown(value)} is unknown{nearest(str(value), possible[name])}"
            )
    return Choices(**table)


def write_choices(path: Path, choices: Choices) -> None:
    """Keep the choices that were made."""
    made = {name: value for name, value in choices._asdict().items() if value is not None}
    keep(path, "".join(f"{name} = {shown(value)}\n" for name, value in made.items()), "choices")


def keep(path: Path, text: str, what: str) -> None:
    """Write a file whole or not at all; UserError where that fails."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise UserError(f"cannot keep {what} in {path}: {error.strerror}") from error
