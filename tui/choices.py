"""What the user has chosen in the app, kept for the next time in a TOML file beside the keymap.

A choice that was never made does not stand there: the system decides then.
"""

import contextlib
import os
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from mlx_gpt.config import nearest, shown
from mlx_gpt.errors import UserError
from mlx_gpt.language import Language
from tui.keymap import keymap_path, lies_at, read_table
from tui.plot import MARKS, Marks


class Choices(NamedTuple):
    """The language, the theme, and the characters that charts are drawn with."""

    language: Language | None = None
    theme: str | None = None
    marks: Marks | None = None


def choices_path() -> Path:
    """Where they are kept: in the folder of the keymap."""
    return keymap_path().with_name("app.toml")


def read_choices(path: Path, themes: Collection[str]) -> tuple[Choices, list[str]]:
    """The choices in a file that can be read, and a sentence about each that cannot."""
    if not lies_at(path):
        return Choices(), []
    try:
        table = read_table(path)
    except UserError as error:
        return Choices(), [f"{error}; the next choice keeps a copy of it, {copy_of(path).name}"]
    possible = {"language": ("en", "es"), "theme": themes, "marks": MARKS}
    faults = {name: fault(name, value, possible) for name, value in table.items()}
    sound = {name: value for name, value in table.items() if not faults[name]}
    return Choices(**sound), [f"{path}: {words}" for words in faults.values() if words]


def fault(name: str, value: object, possible: Mapping[str, Collection[str]]) -> str:
    """What is wrong with a setting; nothing where it is sound."""
    if name not in possible:
        return f"no setting {name}{nearest(name, possible)}"
    if not isinstance(value, str) or value not in possible[name]:
        return f"{name} = {shown(value)} is unknown{nearest(str(value), possible[name])}"
    return ""


def copy_of(path: Path) -> Path:
    """Where a file that cannot be read is kept."""
    return path.with_name(f"{path.name}.bak")


def keep_copy(path: Path) -> None:
    """Copy a file that is no TOML before it is written anew."""
    if not lies_at(path):
        return
    try:
        read_table(path)
    except UserError:
        try:
            shutil.copyfile(path, copy_of(path))
        except OSError as error:
            raise UserError(f"cannot keep a copy of {path}: {error.strerror or error}") from error


def write_choices(path: Path, choices: Choices) -> None:
    """Keep the choices that were made."""
    keep_copy(path)
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
