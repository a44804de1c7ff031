"""The answers of the demo: what a worker once said of the recorded run's model.

`benchmarks/record_demo.py` makes the file. A request that was not recorded is refused in words.
"""

import asyncio
import gzip
import json
from collections.abc import AsyncGenerator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mlx_gpt.errors import UserError
from mlx_gpt.run import Record
from tui.i18n import t

ANSWERS = Path(__file__).parent / "demo" / "answers.json.gz"
VOLATILE = ("seed", "settings", "top", "n", "first", "root", "checkpoint", "model", "lens")
PASS = ("prompt", "break", "edits")  # what tells one forward pass from another
TOKEN_SECONDS = 0.02


class Recording(NamedTuple):
    """Requests with their answers, and the prompts that were recorded."""

    answers: dict[str, list[Record]]
    prompts: tuple[str, ...]


def key_of(do: str, fields: Mapping[str, Any]) -> str:
    """What tells one recorded request from another: not the seed, nor how tokens are chosen."""
    kept = {name: value for name, value in fields.items() if name not in VOLATILE and value}
    return json.dumps([do, kept], sort_keys=True)


def read_recording(path: Path) -> Recording:
    """The recording in a file; UserError where there is none."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            table = json.load(file)
        return Recording(table["answers"], tuple(table["prompts"]))
    except (OSError, ValueError, KeyError) as error:
        raise UserError(t("recorded.missing", path=path)) from error


def write_recording(path: Path, recording: Recording) -> None:
    """Write a recording; the same answers give the same bytes."""
    text = json.dumps(recording._asdict(), ensure_ascii=False, sort_keys=True)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


@cache
def recorded_prompts() -> tuple[str, ...]:
    """The prompts that the recording answers."""
    return read_recording(ANSWERS).prompts


def pass_of(fields: Mapping[str, Any]) -> str:
    """What tells the pass that a request is about from another."""
    return key_of("pass", {name: fields.get(name) for name in PASS})


@cache
def recorded_kinds() -> Mapping[str, frozenset[str]]:
    """The kinds of requests that the recording answers about each pass."""
    kinds: dict[str, set[str]] = {}
    for do, fields in map(json.loads, read_recording(ANSWERS).answers):
        kinds.setdefault(pass_of(fields), set()).add(do)
    return {given: frozenset(found) for given, found in kinds.items()}


def is_answered(do: str, fields: Mapping[str, Any]) -> bool:
    """Whether the recording answers any request of a kind about a pass."""
    return do in recorded_kinds().get(pass_of(fields), ())


def miss(recording: Recording, fields: Mapping[str, Any]) -> UserError:
    """The refusal of what was not recorded: a prompt, or something else about a known one."""
    if not fields.get("ids") and fields.get("prompt") in (None, *recording.prompts):
        return UserError(t("recorded.absent"))
    prompts = " · ".join(f"“{prompt}”" for prompt in recording.prompts)
    return UserError(t("recorded.unknown", prompts=prompts))


def cut(answer: list[Record], n: int, most: int) -> list[Record]:
    """The first of the recorded samples, no longer than was asked for, and why each ended."""
    tokens = [{"tokens": record["tokens"][:n]} for record in answer if "tokens" in record]
    first, *_, last = answer
    finish = [str(reason) for reason in last["finish"][:n]]
    if most < len(tokens):
        ended = [row is None for row in tokens[most]["tokens"]]
        finish = [why if over else "length" for why, over in zip(finish, ended, strict=True)]
    elif most > len(tokens):
        finish = ["recorded" if why == "length" else why for why in finish]
    return [first, *tokens[:most], {**last, "finish": finish}]


class Recorded:
    """A client that answers from the recording."""

    def __init__(self, path: Path = ANSWERS, pace: float = TOKEN_SECONDS) -> None:
        self.path, self.pace = path, pace
        self.recording: Recording | None = None

    async def stream(self, do: str, **fields: Any) -> AsyncGenerator[Record, None]:
        """The recorded answer, tokens at the pace of reading."""
        self.recording = self.recording or read_recording(self.path)
        found = self.recording.answers.get(key_of(do, fields))
        if found is None:
            raise miss(self.recording, fields)
        ways = {key.get("break") for do, key in map(json.loads, self.recording.answers)}
        if do == "sample":
            found = cut(found, int(fields.get("n") or 1), fields["settings"]["max_tokens"])
        for record in found:
            if "breaks" in record:
                known = [each for each in record["breaks"] if each["name"] in ways]
                record = {**record, "breaks": known}
            if "tokens" in record:
                await asyncio.sleep(self.pace)
            yield record

    async def close(self) -> None:
        """Nothing: a recording needs no end."""
