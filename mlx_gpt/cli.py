"""The command line: `python -m mlx_gpt`, and `mlx-gpt` once `tui` adds its command."""

import argparse
import errno
import importlib
import io
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import NamedTuple, NoReturn

from mlx_gpt import __version__
from mlx_gpt.errors import UserError
from mlx_gpt.language import from_environment, say
from mlx_gpt.terminal import one_line


class Command(NamedTuple):
    """A sub-command: the module that does it, and its line in the help."""

    module: str
    en: str
    es: str


COMMANDS: dict[str, Command] = {
    "train": Command(
        "mlx_gpt.commands.train", "train a GPT on your text", "entrena un GPT con tu texto"
    ),
    "sample": Command(
        "mlx_gpt.commands.sample", "generate text with a model", "genera texto con un modelo"
    ),
    "trace": Command(
        "mlx_gpt.commands.trace", "follow every tensor of a pass", "sigue cada tensor de una pasada"
    ),
    "eval": Command(
        "mlx_gpt.commands.eval", "measure the loss on a text", "mide la pérdida sobre un texto"
    ),
    "check": Command(
        "mlx_gpt.commands.check",
        "prove that the model is right",
        "prueba que el modelo es correcto",
    ),
    "params": Command("mlx_gpt.commands.params", "count every parameter", "cuenta cada parámetro"),
    "runs": Command(
        "mlx_gpt.commands.runs", "list, show, compare, remove runs", "lista y compara ejecuciones"
    ),
    "ctl": Command(
        "mlx_gpt.commands.ctl", "speak to a running training", "habla con un entrenamiento"
    ),
    "import": Command(
        "mlx_gpt.commands.import_model",
        "bring in a model from elsewhere",
        "trae un modelo de otra parte",
    ),
    "export": Command(
        "mlx_gpt.commands.export",
        "write a model for other programs",
        "escribe un modelo para otros programas",
    ),
    "tokenizer": Command(
        "mlx_gpt.commands.tokenizer", "train and try a tokenizer", "entrena y prueba un tokenizador"
    ),
    "bench": Command(
        "mlx_gpt.commands.bench",
        "how fast this machine is, and the model on it",
        "qué rápida es esta máquina, y el modelo en ella",
    ),
    "info": Command(
        "mlx_gpt.commands.info", "this machine and what is slow", "esta máquina y qué es lento"
    ),
    "completion": Command(
        "mlx_gpt.commands.completion",
        "let Tab complete in your shell",
        "que Tab complete en tu shell",
    ),
}


SPANISH = {
    "usage:": "uso:",
    "positional arguments:": "argumentos:",
    "options:": "opciones:",
    "show this help message and exit": "muestra esta ayuda y termina",
}


class Parser(argparse.ArgumentParser):
    """An argparse parser that refuses with a UserError and explains itself in both languages."""

    def error(self, message: str) -> NoReturn:
        """Refuse a command line in one sentence."""
        raise UserError(f"{message}; see {self.prog} --help")

    def format_help(self) -> str:
        """The help, with argparse's own words in the chosen language."""
        text = super().format_help()
        for english, spanish in SPANISH.items():
            text = text.replace(english, say(english, spanish))
        return text


def add_common(parser: argparse.ArgumentParser) -> None:
    """The options that every command takes."""
    group = parser.add_argument_group(say("common options", "opciones comunes"))
    group.add_argument("--json", action="store_true", help=say("JSON on stdout", "JSON en stdout"))
    group.add_argument("--seed", type=int, help=say("seed of all chance", "semilla del azar"))
    group.add_argument(
        "--device",
        choices=("auto", "gpu", "cpu"),
        default="auto",
        help=say("where to compute", "dónde calcular"),
    )
    group.add_argument("--lang", choices=("en", "es"), help="English / español")


def overview(commands: Mapping[str, Command]) -> str:
    """The commands, a line each."""
    return "\n".join(f"  {name:<10} {say(entry.en, entry.es)}" for name, entry in commands.items())


def root_parser(commands: Mapping[str, Command]) -> Parser:
    """The parser of `mlx-gpt` alone, which knows its commands only by name."""
    parser = Parser(
        prog="mlx-gpt",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        description=say(
            "Train, sample and look inside a GPT on your own laptop.",
            "Entrena, muestrea y mira por dentro un GPT en tu portátil.",
        ),
        epilog=f"{say('commands', 'órdenes')}:\n{overview(commands)}\n\n"
        + say(
            "Start with: mlx-gpt train      Each command explains itself: mlx-gpt train --help",
            "Empieza con: mlx-gpt train     Cada orden se explica: mlx-gpt train --help",
        ),
    )
    parser.add_argument(
        "--version", action="store_true", help=say("print the version", "muestra la versión")
    )
    parser.add_argument("--lang", choices=("en", "es"), help="English / español")
    parser.add_argument(
        "command",
        nargs="?",
        metavar=say("COMMAND", "ORDEN"),
        help=say("one of the commands below", "una de las órdenes de abajo"),
    )
    return parser


def choose_language(argv: Sequence[str]) -> None:
    """Set the language before any parser is built, since help is text too."""
    say.language = from_environment()
    for i, word in enumerate(argv):
        value = word.partition("=")[2] if word.startswith("--lang=") else ""
        if word == "--lang" and i + 1 < len(argv):
            value = argv[i + 1]
        if value in ("en", "es"):
            say.language = "es" if value == "es" else "en"


def split_command(argv: Sequence[str]) -> int:
    """The position of the command's name: the first word that is no option, or -1."""
    skip = False
    for i, word in enumerate(argv):
        if skip or word.startswith("-"):
            skip = word == "--lang" and not skip
            continue
        return i
    return -1


def command_parser(name: str, command: Command, module: ModuleType) -> Parser:
    """The parser of one command, which its module fills."""
    purpose = say(command.en, command.es)
    parser = Parser(
        prog=f"mlx-gpt {name}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        description=f"{purpose[0].upper()}{purpose[1:]}.",
        epilog=f"{say('example', 'ejemplo')}:\n  {module.EXAMPLE}",
    )
    module.add_arguments(parser)
    add_common(parser)
    return parser


def parse(parser: Parser, words: Sequence[str]) -> argparse.Namespace:
    """Parse words and options in any order, as in `train mini --steps 5 train.lr=1e-3`."""
    try:
        return parser.parse_intermixed_args(words)
    except TypeError:  # argparse cannot mix them in a command that has sub-commands
        return parser.parse_args(words)


def dispatch(argv: Sequence[str], commands: Mapping[str, Command]) -> int:
    """Find the command and run it; only its own module is imported."""
    choose_language(argv)
    at = split_command(argv)
    root = root_parser(commands)
    options = root.parse_args(argv[:at] if at >= 0 else argv)
    if options.version:
        print(f"mlx-gpt {__version__}")
        return 0
    if at < 0:
        root.print_help()
        return 0
    name = argv[at]
    if name not in commands:
        from mlx_gpt.config import nearest

        raise UserError(f"no command {name}{nearest(name, commands)}; see mlx-gpt --help")
    os.environ.setdefault("MLX_GPT_COMMAND", name)  # device.py picks the BLAS that serves it best
    module = importlib.import_module(commands[name].module)
    parser = command_parser(name, commands[name], module)
    parser.set_defaults(commands=commands)  # `completion` speaks of them all
    return module.run(parse(parser, argv[at + 1 :]))


def hold_streams() -> None:
    """Give a closed stdin, stdout or stderr to the null device, lest a file take its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is the closed one
            os.set_inheritable(null, True)
            setattr(sys, name, os.fdopen(null, mode, encoding="utf-8"))


def write_utf8() -> None:
    """Text is UTF-8 whatever the locale says; what UTF-8 cannot hold becomes "?"."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


def refuse(error: UserError, *, as_json: bool) -> int:
    """Say what is wrong and what to do: a sentence on stderr, for scripts JSON on stdout too."""
    if as_json:
        print(json.dumps({"error": str(error)}, ensure_ascii=False))
    print(f"mlx-gpt: {one_line(str(error))}", file=sys.stderr)
    return 2


def drop_output() -> None:
    """Send what stdout still holds nowhere, lest the interpreter complain again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def as_refusal(error: OSError) -> UserError:
    """A file or a device that fails is the user's to put right; any other OSError is a bug."""
    if error.filename is not None:
        return UserError(
            f"cannot use {error.filename}: {error.strerror}; check its name, place and permissions"
        )
    if error.errno in (errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT):
        return UserError(f"cannot write the output: {error.strerror}")
    raise error


def main(argv: Sequence[str] | None = None, extra: Mapping[str, Command] | None = None) -> int:
    """Run a command; a UserError becomes one sentence and exit code 2."""
    argv = sys.argv[1:] if argv is None else argv
    hold_streams()
    write_utf8()
    try:
        try:
            return dispatch(argv, {**COMMANDS, **(extra or {})})
        except UserError as error:
            return refuse(error, as_json="--json" in argv)
        except MemoryError as error:
            why = f"not enough memory{f': {error}' if error.args else ''}"
            refusal = UserError(f"{why}; take a smaller model, batch or context")
            return refuse(refusal, as_json="--json" in argv)
        except KeyboardInterrupt:
            return 128 + signal.SIGINT
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
        return 128 + signal.SIGPIPE
    except OSError as error:
        refusal = as_refusal(error)
        if error.filename is None:
            drop_output()
        return refuse(refusal, as_json="--json" in argv)
