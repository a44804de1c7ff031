"""What may stand where on the command line, read from the parsers of the commands."""

import argparse
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, get_args, get_origin, get_type_hints

from mlx_gpt.config import SECTIONS, preset_names

# The words that may stand at a place; one of these stands for what only the shell can list.
Expected = tuple[str, ...]
RUNS, FILES, SETTINGS, ANYTHING = "@runs", "@files", "@settings", "@anything"

PLACEHOLDERS = {
    "RUN": (RUNS,),
    "EJECUCIÓN": (RUNS,),
    "MODEL": (RUNS, FILES),
    "MODELO": (RUNS, FILES),
    "FILE": (FILES,),
    "DIR": (FILES,),
    "OUT": (FILES,),
    "PATH": (FILES,),
    "SRC": (FILES,),
    "key=value": (SETTINGS,),
}
WITH_PRESETS = {"PRESET", "MODEL", "MODELO"}


class Option(NamedTuple):
    """An option of a command."""

    flags: tuple[str, ...]
    help: str
    value: Expected = ()  # nothing: it takes no value
    optional: bool = False  # whether the value may be left out
    repeats: bool = False


class Syntax(NamedTuple):
    """A command: its options, its words by place, and what may follow those."""

    name: str
    help: str
    options: tuple[Option, ...]
    places: tuple[Expected, ...]
    rest: Expected = ()


def syntax(name: str, purpose: str, parser: argparse.ArgumentParser) -> Syntax:
    """What a command takes; the words of its sub-commands stand together."""
    parsers = [parser, *sub_parsers(parser)]
    options = {option.flags: option for each in parsers for option in options_of(each)}
    positional = [action for action in parser._actions if not action.option_strings]
    deeper = [
        action for each in parsers[1:] for action in each._actions if not action.option_strings
    ]
    repeated = [action for action in positional if action.nargs in ("*", "+")] + deeper
    places = tuple(expected(action) for action in positional if action not in repeated)
    rest = merged(map(expected, repeated))
    return Syntax(name, purpose, tuple(options.values()), places, rest)


def sub_parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parsers of the sub-commands, if there are any."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.values()


def options_of(parser: argparse.ArgumentParser) -> Iterator[Option]:
    """The options that are not hidden."""
    for action in parser._actions:
        if action.option_strings and action.help != argparse.SUPPRESS:
            text = (action.help or "") % (vars(action) | {"prog": parser.prog})
            yield Option(
                flags=tuple(action.option_strings),
                help=" ".join(text.split()),
                value=() if action.nargs == 0 else expected(action),
                optional=action.nargs == "?",
                repeats=isinstance(action, argparse._AppendAction),
            )


def expected(action: argparse.Action) -> Expected:
    """What may be given to an argument: its choices, or what its placeholder says."""
    if action.choices is not None:
        return tuple(map(str, action.choices))
    placeholder = str(action.metavar or action.dest.upper())
    words = re.findall(r"[\w=]+", placeholder)
    found = [PLACEHOLDERS.get(word, ()) for word in words]
    if WITH_PRESETS.intersection(words):
        found.append(tuple(preset_names()))
    if "|" in placeholder:  # best|latest|STEP
        found.append(tuple(word for word in words if word.islower() and word not in PLACEHOLDERS))
    return merged(found) or (ANYTHING,)


def merged(parts: Iterable[Expected]) -> Expected:
    """All of them, each word once, words before what the shell lists."""
    words = dict.fromkeys(word for part in parts for word in part)
    return tuple(sorted(words, key=lambda word: word.startswith("@")))


def setting_values() -> dict[str, Sequence[str]]:
    """Every setting, with the values it may have where they can be counted."""
    return {
        f"{section}.{name}": values_of(kind)
        for section, fields in SECTIONS.items()
        for name, kind in get_type_hints(fields).items()
    }


def values_of(kind: object) -> Sequence[str]:
    """The values of a type that has few."""
    if kind is bool:
        return ("true", "false")
    return get_args(kind) if get_origin(kind) is Literal else ()
