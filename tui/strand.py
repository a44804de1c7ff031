"""Samples as the app keeps them: tokens with their rivals, and how the dials re-shape the odds."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mlx_gpt.run import Record
from tui.feed import number
from tui.inside import array

END = "‹end›"  # the name of the token that ends a text
NAMED = 60  # rivals of a token that can be looked at, at least
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
    logit: float = math.nan  # its own; NaN where it was not told

    @property
    def scale(self) -> float:
        """What the logarithm of a probability lacks to be a logit; NaN where that is not known."""
        return self.logit - math.log(self.p) if self.p > 0 else math.nan


@dataclass
class Strand:
    """One sample: what it continues, its tokens so far, and why it ended."""

    prompt: tuple[int, ...]
    text: str
    number: int = 0  # among the samples with its seed
    seed: int = 0
    pieces: list[Piece] = field(default_factory=list)
    finish: str = ""

    def prefix(self, at: int) -> list[int]:
        """The ids before a token."""
        return [*self.prompt, *(piece.id for piece in self.pieces[:at])]

    def text_at(self, at: int) -> str:
        """The text before a token."""
        return self.text + "".join(piece.text for piece in self.pieces[:at])

    @property
    def is_whole(self) -> bool:
        """Whether the model itself ended the text."""
        return bool(self.pieces) and self.pieces[-1].name == END

    @property
    def chosen_up_to(self) -> int:
        """How many tokens stand up to the last one that was chosen; from there on chance goes."""
        chosen = [at for at, piece in enumerate(self.pieces, 1) if piece.chosen]
        return chosen[-1] if chosen else 0

    def branch(self, at: int, rival: int) -> "Strand":
        """The same sample up to a token, in whose place a rival stands."""
        old = self.pieces[at]
        name = old.names[rival]
        new = dataclasses.replace(
            old,
            id=int(old.ids[rival]),
            text=text_of(name),
            name=name,
            p=float(old.ps[rival]),
            chosen=True,
            logit=logit_of(old, rival),
        )
        kept = [*self.pieces[:at], new]
        return Strand(self.prompt, self.text, self.number, self.seed, kept)


def piece_of(record: Record, name_of: Callable[[int], str]) -> Piece:
    """A token as the worker or the trainer tells it."""
    if "rivals" in record:
        told_ids, texts, told_ps = record["rivals"]
        ids, ps = np.array(told_ids, int), np.array(told_ps)
        names = tuple(texts[: named(ids, record)])
        name = str(record.get("name", record["text"]))
    else:
        ids, ps = array(record["ids"]), array(record["ps"]).astype(np.float64)
        names = tuple(name_of(int(token)) for token in ids[: named(ids, record)])
        name = name_of(int(record["id"]))
    return Piece(
        int(record["id"]),
        str(record["text"]),
        name,
        float(record["p"]),
        ids,
        ps,
        names,
        logit=number(record.get("logit")),
    )


def named(ids: np.ndarray, record: Record) -> int:
    """How many of the rivals can be looked at: down to the token that came, if it is one."""
    places = np.flatnonzero(ids == record["id"])
    return max(NAMED, int(places[0]) + 1) if len(places) else NAMED


def text_of(name: str) -> str:
    """What a token adds to the text; one that is named by its bytes or number adds nothing."""
    return "" if name.startswith("‹") and name.endswith("›") else name


def logit_of(piece: Piece, rival: int) -> float:
    """The logit of a rival; NaN where it is not known."""
    p = float(piece.ps[rival])
    return math.log(p) + piece.scale if p > 0 else math.nan


class Odds(NamedTuple):
    """The odds after filtering: of each rival, and whether they are exact."""

    ps: np.ndarray
    kept: np.ndarray
    exact: bool


class Beyond(NamedTuple):
    """The tokens that are not stored, taken as equally likely: how many, and the logit of one."""

    tokens: int
    logit: float


def reshaped(
    piece: Piece, vocab_size: int, settings: Mapping[str, Any], before: Sequence[int] = ()
) -> Odds:
    """What the dials make of the stored odds, where these tokens stand before.

    Rivals beyond those stored are taken as equally likely among themselves, and as new.
    """
    penalty = settings["repetition_penalty"]
    if not len(piece.ps) or not piece.ps[0] > 0:
        return Odds(piece.ps, np.zeros(len(piece.ps), bool), False)
    known = math.isfinite(piece.scale)
    with np.errstate(divide="ignore"):
        plain = np.log(piece.ps) + (piece.scale if known else 0.0)
    beyond = beyond_of(piece, vocab_size, plain)
    logits = plain
    if known and penalty != 1:
        logits = penalised(plain, penalty, np.isin(piece.ids, before))
    order = np.lexsort((piece.ids, -logits))
    odds = filtered(logits[order], beyond, settings)
    safe = beyond.tokens == 0 or logits[order][odds.kept].min(initial=math.inf) >= plain[-1]
    back = np.argsort(order)
    exact = odds.exact and bool(safe) and (known or penalty == 1)
    return Odds(odds.ps[back], odds.kept[back], exact)


def beyond_of(piece: Piece, vocab_size: int, logits: np.ndarray) -> Beyond:
    """What the tokens share that are not stored; none where they have nothing to share."""
    count, mass = vocab_size - len(piece.ps), 1 - float(piece.ps.sum())
    if count <= 0 or mass <= 0:
        return Beyond(0, -math.inf)
    return Beyond(count, float(logits[0]) + math.log(mass / count / float(piece.ps[0])))


def penalised(logits: np.ndarray, penalty: float, used: np.ndarray) -> np.ndarray:
    """Used tokens made less likely, as `mlx_gpt.sampling.penalised` does."""
    return np.where(used, np.where(logits > 0, logits / penalty, logits * penalty), logits)


def filtered(logits: np.ndarray, beyond: Beyond, settings: Mapping[str, Any]) -> Odds:
    """The odds that temperature, top-k, top-p and min-p leave; logits with the best first."""
    kept = np.ones(len(logits), bool)
    if settings["temperature"] < GREEDY_BELOW:
        kept[1:] = False
        return Odds(kept.astype(float), kept, True)
    best = max(float(logits[0]), beyond.logit)
    q = np.exp((logits - best) / settings["temperature"])
    one = math.exp((beyond.logit - best) / settings["temperature"])
    better = logits >= beyond.logit  # than one that is not stored
    left = float(beyond.tokens)
    if settings["top_k"] > 0:
        kept = np.arange(len(q)) + np.where(better, 0, left) < settings["top_k"]
        left = min(left, max(settings["top_k"] - int(better.sum()), 0))
    if settings["top_p"] < 1:
        share, rest = shares(np.where(kept, q, 0.0), left * one)
        above = np.cumsum(share) - share + np.where(better, 0.0, rest)
        kept &= above < settings["top_p"] - ROUNDING
        room = settings["top_p"] - ROUNDING - float(share[better].sum())
        left = min(left, math.ceil(room * left / rest)) if room > 0 and rest > 0 else 0.0
    if settings["min_p"] > 0:
        kept &= q >= settings["min_p"] * (1 - ROUNDING)
        left *= one >= settings["min_p"]
    ps, rest = shares(np.where(kept, q, 0.0), left * one)
    return Odds(ps, kept, not left * one > ROUNDING)


def shares(weights: np.ndarray, rest: float) -> tuple[np.ndarray, float]:
    """Weights, and that of the rest, as parts of their sum."""
    total = weights.sum() + rest
    return weights / total, rest / total
