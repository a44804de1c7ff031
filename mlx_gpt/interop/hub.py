"""Where a model lies that is named by a path or by its id on the Hugging Face hub."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from mlx_gpt.errors import UserError

ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
REVISION = re.compile(r"[\w-]+")


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The cache that `hf download` fills."""
    if chosen := environment.get("HF_HUB_CACHE"):
        return Path(chosen).expanduser()
    home = environment.get("HF_HOME") or "~/.cache/huggingface"
    return Path(home).expanduser() / "hub"


def locate(source: str) -> Path:
    """The file or folder that a source names."""
    try:
        path = Path(source).expanduser()
    except RuntimeError:  # ~somebody, who has no home here
        path = Path(source)
    if source and path.exists():
        return path
    if not ID.fullmatch(source) or ".." in source:
        raise UserError(f"there is no {source!r}; give a model's folder, a .gguf file or an id")
    return snapshot(source)


def snapshot(model_id: str) -> Path:
    """The newest revision of a model in the cache."""
    folder = cache_folder() / f"models--{model_id.replace('/', '--')}"
    absent = UserError(
        f"there is no folder {model_id}, and no such model in {cache_folder()}; "
        f"get it with: hf download {model_id}"
    )
    try:
        revision = (folder / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise absent from None
    if not REVISION.fullmatch(revision):
        raise UserError(f"{folder / 'refs' / 'main'} names no revision; get the model again")
    if not (folder / "snapshots" / revision).is_dir():
        raise absent
    return folder / "snapshots" / revision
