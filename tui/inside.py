"""The model in hand: which one it is, loaded by a worker, and the tokens that it knows."""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mlx_gpt.errors import UserError
from mlx_gpt.run import Record, Run, is_alive, pointed_step, saved_steps, state
from tui.i18n import t
from tui.launch import at_root, shell
from tui.worker import Client, ask


class Place(NamedTuple):
    """Where a model is loaded from: a name or folder, and which of its checkpoints."""

    name: str
    checkpoint: str | None = None
    step: int | None = None  # that of the checkpoint, as the folder says
    run: Run | None = None

    def fields(self, root: str) -> Record:
        """The place as a request says it."""
        return {"model": self.name, "checkpoint": self.checkpoint, "root": root}


class Loaded(NamedTuple):
    """What the worker said of the model that it has loaded."""

    place: Place
    source: str
    step: int | None
    config: Mapping[str, Any]
    sample: Mapping[str, Any]
    pieces: Sequence[str]
    end_id: int

    @property
    def vocab_size(self) -> int:
        """How many tokens there are."""
        return len(self.pieces)

    @property
    def title(self) -> str:
        """The model as a page names it."""
        if self.step is None or (self.place.run is None and self.place != DEMO):
            return self.source
        name = self.place.run.name if self.place.run else self.place.name
        return t("sample.at_step", name=name, step=self.step)

    def piece(self, token_id: int) -> str:
        """A token in readable form."""
        return self.pieces[token_id] if 0 <= token_id < len(self.pieces) else f"‹{token_id}›"


DEMO = Place("demo")


def place_of(model: str | None, run: Run | None) -> Place | None:
    """The place of the model in hand: a model by name, or a checkpoint of the run.

    Of a run in training the newest is taken, of any other the best.
    """
    if model is not None:
        return Place(model)
    if run is None:
        return None
    steps = saved_steps(run)
    if not steps and (run.path / "config.json").is_file():
        return Place(str(run.path), None, None, run)  # the best model lies in the folder itself
    if not steps:
        raise UserError(t(why_empty(run), name=run.name))
    if is_alive(run):
        return Place(str(run.path), "latest", steps[-1], run)
    return Place(str(run.path), "best", pointed_step(run, "best") or steps[-1], run)


def why_empty(run: Run) -> str:
    """Why a run has no checkpoint, as a key of the catalogues."""
    if not run.path.is_dir():
        return "inside.gone"
    if is_alive(run):
        return "inside.waiting"
    return "inside.diverged" if state(run) == "diverged" else "inside.ended"


class Inside:
    """A client, and the model that it holds."""

    def __init__(self, client: Client, root: str = "runs") -> None:
        self.client, self.root = client, root
        self.loaded: Loaded | None = None
        self.untold: tuple[str, ...] = ()  # what the user should hear of it, and has not yet

    async def close(self) -> None:
        """Let the client go."""
        await self.client.close()

    async def load(self, place: Place) -> Loaded:
        """The model of a place; loaded only if it is another than the one in hand."""
        if self.loaded is not None and self.loaded.place == place:
            return self.loaded
        self.loaded = None  # whoever lets go of this question leaves it open what is loaded
        facts = await ask(self.client, "load", **place.fields(self.root))
        self.loaded = Loaded(
            place,
            str(facts["source"]),
            facts["step"],
            facts["config"],
            facts["sample"],
            facts["pieces"],
            facts["end_id"],
        )
        self.untold = tuple(facts["notes"])
        return self.loaded

    def news(self) -> str:
        """What is to be told of the model in hand; each load is told of once."""
        notes, self.untold = self.untold, ()
        return "\n".join(notes)


def array(record: Mapping[str, Any]) -> np.ndarray:
    """An array from its JSON."""
    numbers = np.frombuffer(base64.b64decode(record["data"]), np.dtype(record["dtype"]))
    return numbers.reshape(record["shape"])


def command_for(verb: str, place: Place, root: Path, prompt: str, *settings: str) -> str:
    """The command line that does with a model what a page shows."""
    which = ["--checkpoint", place.checkpoint] if place.checkpoint == "latest" else []
    words = ["mlx-gpt", verb, place.name, *([prompt] if prompt else []), *which, *settings]
    return shell(at_root(root, words) if (root / place.name).exists() and not place.run else words)
