"""Asking a living trainer: commands through control.jsonl, answers from events.jsonl."""

import asyncio
import math
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from mlx_gpt.errors import UserError
from mlx_gpt.run import Record, Run, Tail, is_alive, send
from tui.i18n import t

POLL_SECONDS = 0.05
TOP = 40  # rivals of a token: what lies in events.jsonl stays there


class Trainer:
    """A client that samples from the model as it is at the step being trained."""

    def __init__(self, run: Run) -> None:
        self.run = run

    async def stream(self, do: str, **fields: Any) -> AsyncGenerator[Record, None]:
        """The tokens of one sample after another, in the words of `mlx_gpt.worker`."""
        if do != "sample":
            raise UserError(f"a trainer samples; it cannot {do}")
        settings = dict(fields.get("settings") or {})
        n, seed = int(fields.get("n", 1)), int(fields.get("seed") or 0)
        for number in range(n):
            tail = Tail(self.run.events, from_end=True)
            given = {key: fields[key] for key in ("prompt", "ids") if fields.get(key) is not None}
            sent = send(self.run, "sample", **given, **settings, seed=seed + number, top=TOP)
            async with aclosing(self.answers(tail, sent)) as answers:
                async for record in answers:
                    yield spread(record, number, n)

    async def close(self) -> None:
        """Nothing: the trainer goes on."""

    async def answers(self, tail: Tail, command_id: str) -> AsyncGenerator[Record, None]:
        """What the trainer says to a command, until it has said all."""
        while True:
            alive = is_alive(self.run)  # before reading: the last answer precedes the end
            for record in tail.read():
                if record.get("id") != command_id:
                    continue
                if record.get("kind") == "error" or record.get("ok") is False:
                    raise UserError(str(record.get("message")))
                yield record
                if record.get("kind") == "sample_end":
                    return
            if not alive:
                raise UserError(t("trainer.gone", name=self.run.name))
            await asyncio.sleep(POLL_SECONDS)


def spread(record: Record, number: int, n: int) -> Record:
    """An event in the words of the worker: tokens stand in the place of their sample."""
    if record.get("kind") == "sample_end":
        return {"seed": record.get("seed"), "step": record.get("step")}
    if record.get("kind") != "token":
        return {}
    rows = [token_of(told) for told in record.get("tokens") or []]
    if len(rows) == 1:  # what it adds to the text, which half a character does not
        rows[0]["text"] = str(record.get("text") or "")
    return {"rows": [[row if i == number else None for i in range(n)] for row in rows]}


def token_of(told: Record) -> Record:
    """A token as the trainer tells it, as the worker would."""
    token_id, text, p = told["token"]
    ids, texts, ps = zip(*told["rivals"], strict=True)
    known = [float(share) if math.isfinite(share) else 0.0 for share in ps]
    return {"id": token_id, "text": text, "name": text, "p": p, "rivals": (ids, texts, known)}
