"""The prompts of the past, kept in a file beside the keymap."""

import json
import os
from pathlib import Path

from tui.choices import keep
from tui.keymap import keymap_path

KEPT = 100


def history_path() -> Path:
    """Where prompts are kept: MLX_GPT_PROMPTS, or the folder of the keymap."""
    chosen = os.environ.get("MLX_GPT_PROMPTS")
    return Path(chosen) if chosen else keymap_path().with_name("prompts.jsonl")


def read_prompts(path: Path) -> list[str]:
    """The prompts, oldest first; what is no prompt is passed over."""
    try:
        if not path.is_file():
            return []
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    prompts: list[str] = []
    for line in lines[-4 * KEPT :]:
        try:
            prompt = json.loads(line)
        except ValueError:
            continue
        if isinstance(prompt, str):
            prompts = remembered(prompts, prompt)
    return prompts


def remembered(prompts: list[str], prompt: str) -> list[str]:
    """The prompts with one more, which stands there once."""
    if not prompt:
        return prompts
    return [*(old for old in prompts if old != prompt), prompt][-KEPT:]


def write_prompts(path: Path, prompts: list[str]) -> None:
    """Keep the prompts; UserError where they cannot be kept."""
    keep(path, "".join(f"{json.dumps(prompt)}\n" for prompt in prompts), "prompts")
