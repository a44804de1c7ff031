"""Who writes samples: each text stays with the model that wrote it, whatever is in hand later."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mlx_gpt.run import Run
from tui.i18n import t
from tui.inside import Loaded, Place
from tui.strand import Strand


class Hand(NamedTuple):
    """What is in hand: a model by its name, or the folder of a run."""

    model: str | None
    folder: Path | None

    @classmethod
    def of(cls, model: str | None, run: Run | None) -> "Hand":
        """A model goes before a run."""
        return cls(model, run.path if run and model is None else None)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to talk to."""
        return self == (None, None)


@dataclass(eq=False)
class Author:
    """A model that was loaded, or a run that answers while it trains."""

    hand: Hand  # what was in hand when it was asked
    place: Place
    vocab_size: int
    base: Mapping[str, Any]  # how it samples unless it is told
    loaded: Loaded | None = None
    step: int | None = None  # at which a run in training answered
    recorded: bool = False

    @property
    def name(self) -> str:
        """The run or model by name."""
        return self.place.run.name if self.place.run else self.place.name

    @property
    def title(self) -> str:
        """The author as a page names it, in the language of the moment."""
        if self.loaded is not None:
            return self.loaded.title
        if self.step is None:
            return t("sample.living", name=self.name)
        return t("sample.at_step", name=self.name, step=self.step)


@dataclass(eq=False)
class Round:
    """The samples that were asked for together, by whom they are, and how fast they came."""

    strands: list[Strand]
    author: Author
    speed: float = 0.0  # tokens a second; 0 where it is not known yet
