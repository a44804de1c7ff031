"""The built-in corpus: endless small stories in English and Spanish, from a seed.

The words and plots are in story_words.py; here is the little machine that tells them. It casts a
hero, a friend, a thing and a place, then takes the plot's steps in order and, at each, one of the
wordings, so that what is named at the beginning is what the end is about.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple, TypeVar

from mlx_gpt.story_words import (
    ENGLISH,
    SPANISH,
    EnglishCharacter,
    Plot,
    SpanishCharacter,
    Tongue,
)

T = TypeVar("T")

CHOICE = re.compile(r"\[([^\[\]]*)\]")
SENTENCE_START = re.compile(r"(?:^|\.[\"»]? )[\"«¿¡]*[a-záéíóúñ]")
CHILD_SHARE = 0.55


class Step(NamedTuple):
    """One turn of a plot: the wordings to choose from; a story has at most one optional step."""

    wordings: tuple[str, ...]
    optional: bool


class Dice:
    """Chance that is the same on every platform: only `Random.random` is promised to be."""

    def __init__(self, seed: int) -> None:
        self.roll = random.Random(seed).random

    def one(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[int(self.roll() * len(options))]

    def expand(self, text: str) -> str:
        """The text with every [this|that] decided, inner ones first."""
        while "[" in text:
            text = CHOICE.sub(lambda choice: self.one(choice[1].split("|")), text)
        return text


def stories(seed: int, language: Literal["both", "en", "es"] = "both") -> Iterator[str]:
    """Endless stories, each one paragraph; the same seed tells the same ones for ever."""
    dice = Dice(seed)
    tongues = {"both": (ENGLISH, SPANISH), "en": (ENGLISH,), "es": (SPANISH,)}[language]
    while True:
        yield tell(dice, dice.one(tongues))


def tell(dice: Dice, tongue: Tongue) -> str:
    """One story in one language."""
    plot = dice.one(tongue.plots)
    words = cast(dice, tongue, plot)
    event, *steps = parse(plot.story)
    opening = dice.one(parse(tongue.openings)[0].wordings)
    told = [opening.replace("{event}", dice.one(event.wordings))]
    aside = dice.one([step for step in (None, *steps) if step is None or step.optional])
    told += [dice.one(step.wordings) for step in steps if not step.optional or step is aside]
    return " ".join(polish(dice.expand(text).format_map(words), tongue) for text in told)


def cast(dice: Dice, tongue: Tongue, plot: Plot) -> Mapping[str, object]:
    """Who and what the story is about; a plot's own words come before the common ones."""
    hero = character(dice, tongue, child=plot.child or dice.roll() < CHILD_SHARE)
    friend = hero
    while friend.name == hero.name:
        friend = character(dice, tongue, child=dice.roll() < CHILD_SHARE)
    place, at, spots = dice.one(rows(tongue.places))
    common = {
        "h": hero,
        "f": friend,
        "thing": tongue.noun(dice.one(tongue.things), dice.one(tongue.adjectives)),
        "place": tongue.noun(place, ""),
        "at": at,
        "spot": dice.one(spots.split(", ")),
        "home": dice.expand(" ".join(tongue.home.split())),
        "day": dice.one(tongue.days),
        "elder": dice.one(tongue.elders),
        "os": "as" if hero.female and friend.female else "os",
    }
    row = dice.one(rows(plot.rows)) if plot.rows else ()
    adjective = dice.one(tongue.adjectives)
    own = {name: tongue.noun(word, adjective) for name, word in zip(plot.fields, row, strict=True)}
    return common | own


def character(dice: Dice, tongue: Tongue, *, child: bool) -> EnglishCharacter | SpanishCharacter:
    """Somebody with a name, of a kind and with a trait that agree with it."""
    female = dice.roll() < 0.5
    names, kinds = tongue.female if female else tongue.male
    kind = kinds[0] if child else dice.one(kinds[1:])
    return tongue.character(dice.one(names), kind, dice.one(tongue.traits), female, child)


def polish(text: str, tongue: Tongue) -> str:
    """Contractions and articles that depend on the next word, and capitals."""
    for pattern, correction in tongue.corrections:
        text = pattern.sub(correction, text)
    return SENTENCE_START.sub(lambda start: start[0].upper(), text)


@cache
def rows(table: str) -> tuple[tuple[str, ...], ...]:
    """The lines of a table, cut at its slashes; a line that begins with one goes on."""
    lines = re.sub(r"\n */ ", " / ", table.strip()).splitlines()
    return tuple(tuple(line.strip().split(" / ")) for line in lines)


@cache
def parse(story: str) -> tuple[Step, ...]:
    """The steps of a plot: "-" begins one, "?" begins an aside, "|" rewords it."""
    lines = re.split(r"\n *(?=[-?|] )", "\n" + story.strip())[1:]
    steps: list[Step] = []
    for mark, text in ((line[0], " ".join(line[2:].split())) for line in lines):
        if mark == "|":
            steps[-1] = Step((*steps[-1].wordings, text), steps[-1].optional)
        else:
            steps.append(Step((text,), mark == "?"))
    return tuple(steps)
