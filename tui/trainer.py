"""Asking a living trainer: commands through control.jsonl, answers from events.jsonl."""

import asyncio
import math
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from mlx_gpt.errors import UserError
from mlx_gpt.run import Record, Run, Tail, is_alive, send, step_name, steps_in
from tui.i18n import t
from tui.inside import Place
from tui.strand import text_of

POLL_SECONDS = 0.05
TOP = 40  # rivals of a token: what lies in events.jsonl stays there


class Trainer:
    """A client that samples from the model as it is at the step being trained, and asks for it."""

    def __init__(self, run: Run) -> None:
        self.run = run

    async def stream(self, do: str, **fields: Any) -> AsyncGenerator[Record, None]:
        """The tokens of one sample after another, in the words of `mlx_gpt.worker`."""
        if do != "sample":
            raise UserError(f"a trainer samples; it cannot {do}")
        n, first = int(fields.get("n", 1)), int(fields.get("first") or 0)
        given = {key: fields.get(key) for key in ("prompt", "ids", "seed")}
        given |= fields.get("settings") or {}
        for number in range(n):
            tail = Tail(self.run.events, from_end=True)
            sent = send(self.run, "sample", **given, first=first + number, top=TOP)
            async with aclosing(self.answers(tail, sent)) as answers:
                async for record in answers:
                    yield spread(record, number, n)

    async def snapshot(self) -> Place:
        """The weights of the moment, which the trainer writes between two steps."""
        tail = Tail(self.run.events, from_end=True)
        async with aclosing(self.answers(tail, send(self.run, "snapshot"))) as answers:
            await anext(answers)
        steps = steps_in(self.run.snapshot)
        if not steps:
            raise UserError(t("trainer.gone", name=self.run.name))
        return Place(str(self.run.snapshot / step_name(steps[-1])), None, steps[-1], self.run)

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
    if isinstance(record.get("prompt"), list):
        return {"prompt": record["prompt"]}
    rows = [token_of(told) for told in record.get("tokens") or []]
    if len(rows) == 1:  # what it adds to the text, which half a character does not
        rows[0]["text"] = str(record.get("text") or "")
    return {"rows": [[row if i == number else None for i in range(n)] for row in rows]}


def token_of(told: Record) -> Record:
    """A token as the trainer tells it, as the worker would."""
    token_id, name, p = told["token"]
    ids, texts, ps = zip(*told["rivals"], strict=True)
    known = [float(share) if math.isfinite(share) else 0.0 for share in ps]
    rivals, logit = (ids, texts, known), told.get("logit")
    text = text_of(name)
    return {"id": token_id, "text": text, "name": name, "p": p, "rivals": rivals, "logit": logit}
