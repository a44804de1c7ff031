"""`mlx-gpt import`: somebody else's model as one of ours."""

import argparse
import shlex
from pathlib import Path

from mlx_gpt.device import choose

from mlx_gpt import terminal
from mlx_gpt.config import preset_names
from mlx_gpt.errors import UserError
from mlx_gpt.interop.families import family_of
from mlx_gpt.interop.folder import Stored, new_folder, write_model
from mlx_gpt.interop.gguf import open_model
from mlx_gpt.interop.hub import locate
from mlx_gpt.inventory import inventory
from mlx_gpt.language import say
from mlx_gpt.run import check_name
from mlx_gpt.tokenizer import Tokenizer

EXAMPLE = "mlx-gpt import openai-community/gpt2 && mlx-gpt sample gpt2-imported 'Once'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where the model is, and what it shall be called."""
    parser.add_argument(
        "source",
        metavar="SRC",
        help=say(
            "a model's folder, a .gguf file, or an id in the Hugging Face cache",
            "la carpeta de un modelo, un archivo .gguf o un id en la caché de Hugging Face",
        ),
    )
    parser.add_argument(
        "--as",
        dest="name",
        metavar=say("NAME", "NOMBRE"),
        help=say("its name here", "su nombre aquí"),
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs"),
        metavar="DIR",
        help=say("where the runs are (runs)", "dónde están las ejecuciones (runs)"),
    )
    parser.add_argument(
        "--context",
        type=int,
        metavar="N",
        help=say(
            "keep only the first N positions: less memory, same model within them",
            "guarda solo las primeras N posiciones: menos memoria, mismo modelo en ellas",
        ),
    )


def run(args: argparse.Namespace) -> int:
    """Read the whole model, then write it as a model folder of ours."""
    choose(args.device)
    if args.context is not None and args.context < 1:
        raise UserError(f"--context {args.context}: give a number of positions above 0")
    source = locate(args.source)
    name = chosen_name(args.source, source, args.name)
    stored, tokenizer = open_model(source, args.context or 0)
    folder = args.out / name
    with new_folder(folder) as unfinished:
        write_model(unfinished, stored, tokenizer, family_of(stored.config))
    report(folder, stored, tokenizer, as_json=args.json)
    return 0


def chosen_name(asked: str, source: Path, name: str | None) -> str:
    """The name of the model here; a preset's name stays the preset's."""
    if name in preset_names():
        raise UserError(f"--as {name} is the name of a preset; choose another")
    if name is not None:
        return check_name(name)
    in_cache = source.parent.name == "snapshots"  # where a folder is named by its revision
    last = asked.rpartition("/")[2] if in_cache else source.resolve().name
    last = check_name(last.removesuffix(".gguf"))
    return f"{last}-imported" if last in preset_names() else last


def report(folder: Path, stored: Stored, tokenizer: Tokenizer, *, as_json: bool) -> None:
    """What came in."""
    config, total = stored.config, inventory(stored.config).total
    family = family_of(config)
    if as_json:
        terminal.emit(
            {
                "name": folder.name,
                "path": str(folder),
                "family": family.name if family else None,
                "parameters": total,
                "context_length": config.context_length,
                "tokenizer": tokenizer.name,
                "vocab_size": config.vocab_size,
            }
        )
        return
    kind = f"{family.name}, " if family else ""
    place = terminal.visible(str(folder))
    name = shlex.quote(folder.name if folder.parent == Path("runs") else str(folder))
    print(
        say(
            f"{place}: {kind}{terminal.spaced(total)} parameters, context "
            f"{config.context_length}, {config.vocab_size} tokens ({tokenizer.name})",
            f"{place}: {kind}{terminal.spaced(total)} parámetros, contexto "
            f"{config.context_length}, {config.vocab_size} tokens ({tokenizer.name})",
        )
    )
    terminal.note(
        say(
            f"try it: mlx-gpt sample {name} 'Once upon a time'; "
            f"train it further: mlx-gpt train {name} FILE",
            f"pruébalo: mlx-gpt sample {name} 'Había una vez'; "
            f"sigue entrenándolo: mlx-gpt train {name} ARCHIVO",
        )
    )
