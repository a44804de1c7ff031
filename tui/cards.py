"""Cards: what a word means, in a formula and a few lines."""

from collections.abc import Sequence
from typing import NamedTuple

from textual.content import Content

from mlx_gpt.terminal import visible
from tui.i18n import t


class Card(NamedTuple):
    """A name, a formula, what it means, and what is so here."""

    name: str
    formula: str
    meaning: str
    here: Sequence[str] = ()


def card_text(card: Card) -> Content:
    """What stands on a card below its name."""
    parts = [Content.styled(visible(card.formula), "bold $accent")] if card.formula else []
    parts.append(Content(visible(card.meaning)))
    parts += [Content.styled(visible(line), "$text-muted") for line in card.here if line]
    return Content("\n").join(parts)


def word_card(word: str) -> Card:
    """A word of the field."""
    formula, _, meant = t(f"gloss.{word}").partition("\n")
    return Card(t(f"word.{word}"), formula, meant)


def formula_of(word: str) -> str:
    """The formula of a word; nothing for none."""
    return word_card(word).formula if word else ""
