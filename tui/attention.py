"""Where the same head of several runs looks: one worker is asked about one run after the other."""

from typing import NamedTuple

import numpy as np
from rich.cells import cell_len
from textual.content import Content

from mlx_gpt.errors import UserError
from tui.grid import Grid
from tui.heat import Table
from tui.i18n import t
from tui.inside import DEMO, Inside, Place, array
from tui.inspect import signs
from tui.recorded import Recorded
from tui.views import Room, strongest
from tui.worker import Worker, ask

KEPT = 64  # answers that need not be asked for again


class Question(NamedTuple):
    """A block of a model, over a prompt."""

    place: Place
    prompt: str
    layer: int


class Maps(NamedTuple):
    """The weights of every head of a block (n_heads, T, S), over the tokens of a prompt."""

    step: int | None
    loss: float | None  # of the prompt
    tokens: tuple[str, ...]
    weights: np.ndarray


class Survey:
    """Asks about one model after the other; what was answered once is not asked again."""

    def __init__(self, root: str = "runs") -> None:
        self.worker, self.recording = Inside(Worker(), root), Inside(Recorded(), root)
        self.known: dict[Question, Maps | UserError] = {}

    async def ask(self, question: Question) -> None:
        """Ask a question; afterwards its answer is known, or why there is none."""
        try:
            answer: Maps | UserError = await self.maps(question)
        except UserError as error:
            answer = error
        self.known = {**dict(list(self.known.items())[1 - KEPT :]), question: answer}

    async def maps(self, question: Question) -> Maps:
        """The weights of every head, each asked for by itself: so a recording knows them too."""
        inside = self.recording if question.place == DEMO else self.worker
        client, prompt, layer = inside.client, question.prompt, question.layer
        loaded = await inside.load(question.place)
        facts = await ask(client, "trace", prompt=prompt)
        weights = [
            array((await ask(client, "attention", prompt=prompt, layer=layer, head=head))["value"])
            for head in range(loaded.config["n_heads"])
        ]
        tokens = tuple(signs(loaded.piece(token)) for token in facts["ids"])
        return Maps(loaded.step, facts["trace"]["loss"], tokens, np.stack(weights))

    async def close(self) -> None:
        """Let the worker go; another question starts it again."""
        await self.worker.close()


def maps_text(found: Maps, head: int, grid: Grid, room: Room) -> Content:
    """One head as a heatmap; above it step and loss, below it what the last token looks at."""
    weights = found.weights[min(head, len(found.weights) - 1)]
    table = Table(weights, found.tokens, found.tokens, shares=True)
    facts = [t("side.step", step="–" if found.step is None else found.step)]
    if found.loss is not None:
        facts.append(f"{t('metric.loss')} {found.loss:.3f}")
    if cell_len(line := " · ".join(facts)) <= room.width:
        facts = [line]
    height = room.height - len(facts) - 1
    drawn = grid.draw(table, room.width, height, colour=room.colour)
    most = strongest(weights, found.tokens, len(found.tokens) - 1, room.line)
    return Content("\n").join([Content.styled("\n".join(facts), "$text-muted"), drawn, most])
