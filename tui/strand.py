"""Samples as the app keeps them: tokens with their rivals, and how a filter re-shapes the odds."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mlx_gpt.run import Record
from tui.inside import array

NAMED = 60  # rivals of a token that can be looked at
ROUNDING = 1e-6  # as in mlx_gpt.sampling: what a sum of probabilities may be off by
GREEDY_BELOW = 1e-6  # likewise


@dataclass(frozen=True, eq=False)
class Piece:
    """A token of a sample: its text, its probability, and its rivals, the likeliest first."""

    id: int
    text: str
    name: str  # readable where the text is not, as in ‹C3›
    p: float
    ids: np.ndarray
    ps: np.ndarray
    names: tuple[str, ...]
    chosen: bool = False  # by the user, not by chance


@dataclass
class Strand:
    """One sample: what it continues, its tokens so far, and why it ended."""

    prompt: tuple[int, ...]
    text: str
    number: int = 0
    seed: int = 0
    pieces: list[Piece] = field(default_factory=list)
    finish: str = ""

    def prefix(self, at: int) -> list[int]:
        """The ids before a token."""
        return [*self.prompt, *(piece.id for piece in self.pieces[:at])]

    def branch(self, at: int, rival: int) -> "Strand":
        """The same sample up to a token, in whose place a rival stands."""
        old = self.pieces[at]
        name = old.names[rival]
        text = "" if name.startswith("‹") and name.endswith("›") else name
        new = dataclasses.replace(
            old,
            id=int(old.ids[rival]),
            text=text,
            name=name,
            p=float(old.ps[rival]),
            chosen=True,
        )
        kept = [*self.pieces[:at], new]
        return Strand(self.prompt, self.text, self.number, self.seed, kept)


def piece_of(record: Record, name_of: Callable[[int], str]) -> Piece:
    """A token as the worker or the trainer tells it."""
    if "rivals" in record:
        told_ids, texts, told_ps = record["rivals"]
        ids, ps, names = np.array(told_ids, int), np.array(told_ps), tuple(texts[:NAMED])
        name = str(record.get("name", record["text"]))
    else:
        ids, ps = array(record["ids"]), array(record["ps"]).astype(np.float64)
        names = tuple(name_of(int(token)) for token in ids[:NAMED])
        name = name_of(int(record["id"]))
    text = str(record["text"])
    return Piece(int(record["id"]), text, name, float(record["p"]), ids, ps, names)


class Odds(NamedTuple):
    """The odds after filtering: of each rival, and whether they are exact."""

    ps: np.ndarray
    kept: np.ndarray
    exact: bool


def reshaped(piece: Piece, vocab_size: int, settings: Mapping[str, Any]) -> Odds:
    """What temperature, top-k, top-p and min-p make of the stored odds.

    Rivals beyond those stored are taken as equally likely among themselves.
    """
    ps = piece.ps
    if not len(ps) or not ps[0] > 0:
        return Odds(ps, np.zeros(len(ps), bool), False)
    kept = np.ones(len(ps), bool)
    if settings["temperature"] < GREEDY_BELOW:
        kept[1:] = False
        return Odds(kept.astype(float), kept, True)
    with np.errstate(divide="ignore"):
        q = np.exp(np.log(ps / ps[0]) / settings["temperature"])
    rest, unlikely = rest_of(ps, vocab_size, settings["temperature"])
    if 0 < settings["top_k"] < vocab_size:
        kept[settings["top_k"] :] = False
        rest *= settings["top_k"] > len(ps)
    total = q[kept].sum() + rest
    if settings["top_p"] < 1:
        share = np.where(kept, q, 0.0) / total
        before = np.cumsum(share) - share
        kept[1:] &= before[1:] < settings["top_p"] - ROUNDING
        rest *= share.sum() < settings["top_p"] - ROUNDING
    if settings["min_p"] > 0:
        kept &= q >= settings["min_p"] * (1 - ROUNDING)
        rest *= unlikely >= settings["min_p"]
    q = np.where(kept, q, 0.0)
    return Odds(q / (q.sum() + rest), kept, not rest > ROUNDING)


def rest_of(ps: np.ndarray, vocab_size: int, temperature: float) -> tuple[float, float]:
    """The tokens that are not stored: their weight beside the likeliest's 1, and that of one."""
    count, mass = vocab_size - len(ps), 1 - float(ps.sum())
    if count <= 0 or mass <= 0:
        return 0.0, 0.0
    one = math.exp(math.log(mass / count / float(ps[0])) / temperature)
    return count * one, one
