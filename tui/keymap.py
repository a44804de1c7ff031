"""The keys: how a binding is declared, and the file in which a user remaps them.

Every binding has an id, `screen.action`. Its words are in the catalogues: `key.ID` names it in
the footer, `tip.ID` explains it in the help. The file is TOML: `"train.pause" = "space"`.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from textual.binding import Binding
from textual.keys import REPLACED_KEYS, Keys, key_to_character

from mlx_gpt.config import nearest, read_toml
from mlx_gpt.errors import UserError

MODIFIERS = ("alt", "ctrl", "shift", "super")  # in the order of their names, as terminals are read
NAMES = {key.value.rpartition("+")[2] for key in Keys if not key.value.startswith("<")}


def bind(
    binding_id: str, keys: str, action: str, *, show: bool = True, priority: bool = False
) -> Binding:
    """A binding by its id; several keys are separated by commas."""
    return Binding(
        keys, action, description=binding_id, show=show, priority=priority, id=binding_id
    )


def keymap_path() -> Path:
    """Where the user's keymap lies: MLX_GPT_KEYMAP, or the folder for settings."""
    if chosen := os.environ.get("MLX_GPT_KEYMAP"):
        return Path(chosen)
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "mlx-gpt" / "keymap.toml"


def lies_at(path: Path) -> bool:
    """Whether there is a file that may be read; of a forbidden folder nothing is known."""
    try:
        return path.exists()
    except OSError:
        return False


def read_table(path: Path) -> dict[str, Any]:
    """The table in a settings file; UserError where there is none."""
    if path.is_fifo():
        raise UserError(f"cannot read {path}: it is a pipe")
    return read_toml(path)


def read_keymap(path: Path, screens: Mapping[str, Iterable[Binding]]) -> dict[str, str]:
    """The user's keys by binding id, checked; empty where there is no file."""
    if not lies_at(path):
        return {}
    table = read_table(path)
    known = {binding.id: binding.key for bindings in screens.values() for binding in bindings}
    for name, keys in table.items():
        if isinstance(keys, dict):
            raise UserError(f'{path}: {name} is a table; quote the names, as in "app.quit" = "x"')
        if name not in known:
            ids = [binding_id for binding_id in known if binding_id]
            raise UserError(f"{path}: no key binding {name}{nearest(name, ids)}")
        if not isinstance(keys, str) or not all(key.strip() for key in keys.split(",")):
            raise UserError(f'{path}: {name} = {keys!r}; give a key, as in "{name}" = "f7"')
        for key in map(str.strip, keys.split(",")):
            if not is_key(key):
                raise UserError(f"{path}: {name} = {keys!r}: no key {key}{nearest(key, NAMES)}")
    check_clashes(path, table, screens)
    return table


def is_key(name: str) -> bool:
    """Whether a key has that name: a printable character or a word, perhaps with modifiers."""
    if len(name) == 1:
        return name.isprintable()
    *modifiers, key = name.split("+")
    if modifiers != [each for each in MODIFIERS if each in modifiers]:
        return False
    if len(key) == 1:
        return key.isalnum()
    return key in NAMES or key in REPLACED_KEYS or key_to_character(key) is not None


def check_clashes(
    path: Path, table: Mapping[str, str], screens: Mapping[str, Iterable[Binding]]
) -> None:
    """Refuse a key that would mean two things on one screen.

    A priority binding of the app is meant to go before the page's own: it acts only at times.
    """
    everywhere = [each for each in screens.get("app", ()) if not each.priority]
    for bindings in screens.values():
        owner: dict[str, str] = {}
        for binding in [*bindings, *everywhere]:
            binding_id = binding.id or binding.action
            for key in table.get(binding_id, binding.key).split(","):
                other = owner.setdefault(key.strip(), binding_id)
                if other != binding_id and {other, binding_id} & set(table):
                    raise UserError(
                        f"{path}: the key {key} is both {other} and {binding_id}; change one"
                    )


def keymap_text(screens: Mapping[str, Iterable[Binding]]) -> str:
    """A keymap file that lists every binding, each a comment until the user changes it."""
    lines = ["# Keys of mlx-gpt tui. Take the # away from a line and change its key."]
    for name, bindings in screens.items():
        lines.append(f"\n# {name}")
        lines += [f'# "{binding.id}" = "{binding.key}"' for binding in bindings if binding.id]
    return "\n".join(lines) + "\n"


def write_keymap(path: Path, text: str) -> None:
    """Write the file where there is none yet."""
    if lies_at(path):
        raise UserError(f"{path} is there already; edit it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
