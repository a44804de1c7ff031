"""Closer looks at a trace: our own source, RoPE's turns, the next token, gradients."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from textual.content import Content

from mlx_gpt.run import Record
from mlx_gpt.terminal import visible
from tui.columns import fitted
from tui.i18n import t
from tui.inspect import bar_of, figure, signs
from tui.listing import Listing

NAME_WIDTH = 10
WEIGHT_WIDTH = 18
HEAD_WIDTH = 12  # of a position and an angle
PIECE_WIDTHS = (4, 7)  # of a token's name beside figures: at least, at most
GUESSES = 12


def source_text(listing: Listing | None, width: int, height: int) -> Content:
    """A function of ours, the lines that make the row marked and in sight."""
    if listing is None:
        return Content(t("source.none"))
    apart = listing.numbers[-1] - listing.numbers[0]
    at = listing.numbers[0] - listing.first + (apart // 2 if apart < height else 0)
    start = min(max(at - height // 2, 0), max(len(listing.lines) - height, 0))
    lines = []
    for number, line in enumerate(listing.lines[start : start + height], listing.first + start):
        here = number in listing.numbers
        text = fitted(f"{'▶' if here else ' '}{number:>4} {visible(line)}", width).rstrip()
        lines.append(Content.styled(text, "bold $accent" if here else ""))
    return Content("\n").join(lines)


class Turn(NamedTuple):
    """What RoPE turns: pair j of the dimensions, of so many that turn, with its base."""

    pair: int
    d_rope: int
    base: float

    @property
    def speed(self) -> float:
        """Radians per position."""
        return self.base ** (-2 * self.pair / self.d_rope)


def rope_text(
    before: np.ndarray, after: np.ndarray, turn: Turn, tokens: Sequence[str], width: int
) -> Content:
    """A pair of dimensions (T, 2) of one head before and after its turn, position by position."""
    least, most = PIECE_WIDTHS
    texts = turned_texts(before, after, 2)
    room = width - HEAD_WIDTH - max(map(len, texts))
    if room < least:
        texts = turned_texts(before, after, 1)
        room = width - HEAD_WIDTH - max(map(len, texts))
    lines = [
        Content(t("rope.what", pair=turn.pair, other=turn.pair + turn.d_rope // 2)),
        Content.styled(t("rope.speed", speed=f"{turn.speed:.4g}"), "$text-muted"),
        Content(""),
    ]
    for position, token in enumerate(tokens):
        angle = np.degrees(position * turn.speed) % 360
        name = fitted(signs(token), min(max(room, least), most))
        head = f"{position:>3} {name} {angle:5.1f}° "
        lines.append(Content.assemble((head, "$text-muted"), texts[position]))
    return Content("\n").join(lines)


def turned_texts(before: np.ndarray, after: np.ndarray, digits: int) -> list[str]:
    """Each pair of numbers before and after its turn, with so many digits."""
    pairs = ([f"({x:+.{digits}f} {y:+.{digits}f})" for x, y in each] for each in (before, after))
    return [f"{old} → {new}" for old, new in zip(*pairs, strict=True)]


def shares_of(logits: np.ndarray) -> np.ndarray:
    """Probabilities from logits; those of a model that has broken down are NaN."""
    with np.errstate(all="ignore"):
        exponents = np.exp(logits - logits.max())
        return exponents / exponents.sum()


def next_text(
    now: np.ndarray, sound: np.ndarray | None, piece: Callable[[int], str], width: int
) -> Content:
    """The likeliest next tokens from their logits; beside them those of the model as it is."""
    p = shares_of(now)
    before = None if sound is None else shares_of(sound)
    best = np.nan_to_num(p) if before is None else np.maximum(np.nan_to_num(p), before)
    room = (width - NAME_WIDTH - 10) // (1 if before is None else 2) - (0 if before is None else 5)
    lines = [Content(t("next.what" if before is None else "next.changed")), Content("")]
    for token in np.argsort(-best, kind="stable")[:GUESSES].tolist():
        parts = [Content(f"{fitted(signs(piece(token)), NAME_WIDTH)} ")]
        if before is not None:
            parts.append(share_bar(float(before[token]), room, "$text-muted"))
        parts.append(share_bar(float(p[token]), room, "$accent"))
        lines.append(Content("").join(parts))
    return Content("\n").join(lines)


def share_bar(share: float, width: int, style: str) -> Content:
    """A probability and its bar, in a fixed number of columns."""
    bar = "" if np.isnan(share) else bar_of(share, max(width, 2))
    return Content.assemble(f"{share:6.1%} ", (f"{bar:<{max(width, 2)}} ", style))


def gradient_text(record: Record, here: str, width: int) -> Content:
    """The gradient of the loss by the weights: its length part by part, and within one part."""
    groups = grouped(record["gradients"])
    longest = max((norm for norm, _ in groups.values()), default=0.0) or 1.0
    room = max(width - NAME_WIDTH - 12, 4)
    lines = [Content(t("gradients.what", loss=figure(record["loss"]))), Content("")]
    for name, (norm, parts) in groups.items():
        bar = (bar_of(norm / longest, room), "$accent")
        lines.append(Content.assemble(f"{fitted(name, NAME_WIDTH)} {figure(norm):>9} ", bar))
        if name == here:
            lines += [inner_line(each, width) for each in parts]
    return Content("\n").join([*lines, Content.styled(t("gradients.note"), "$text-muted")])


def inner_line(part: Mapping[str, Any], width: int) -> Content:
    """A weight: the length of its gradient, and as a share of its own length."""
    name = ".".join(part["name"].split(".")[-2:])  # the layer and what it is: enough in a block
    share = figure(part["norm"] / part["weight"]) if part["norm"] and part["weight"] else "–"
    figures = f" {figure(part['norm']):>9}  {share:<9}"
    words = f"  {fitted(name, min(WEIGHT_WIDTH, max(width - 2 - len(figures), 4)))}{figures}"
    return Content.styled(words, "$text-muted")


def grouped(parts: Sequence[Record]) -> dict[str, tuple[float, list[Record]]]:
    """Weights by the part of the model they are in: a block, or one that is no block's."""
    groups: dict[str, list[Record]] = {}
    for part in parts:
        words = part["name"].split(".")
        name = t("part.block", layer=words[1]) if words[0] == "blocks" else words[0]
        groups.setdefault(name, []).append(part)
    return {
        name: (float(np.sqrt(sum((each["norm"] or 0.0) ** 2 for each in found))), found)
        for name, found in groups.items()
    }
