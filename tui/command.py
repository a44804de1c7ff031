"""`mlx-gpt tui`: the terminal app."""

import argparse
import gc
import sys
from collections.abc import Sequence
from pathlib import Path

from mlx_gpt.config import SMALL_MODEL, preset_names
from mlx_gpt.errors import UserError
from mlx_gpt.language import say
from mlx_gpt.run import Run, find_run, is_run, list_runs
from mlx_gpt.terminal import note, visible

EXAMPLE = "mlx-gpt tui stories"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to open."""
    parser.add_argument(
        "name",
        nargs="?",
        metavar=say("RUN|MODEL", "EJECUCIÓN|MODELO"),
        help=say(
            "a run to watch (name or folder), or a model to look into; nothing: the newest run, "
            "or the small model that comes along",
            "una ejecución (nombre o carpeta) o un modelo; nada: la ejecución más reciente, o el "
            "modelo pequeño que viene incluido",
        ),
    )
    parser.add_argument(
        "--demo",
        action="store_true",
        help=say("replay a recorded run, without MLX", "repite una ejecución grabada, sin MLX"),
    )
    parser.add_argument(
        "--sleep",
        action="store_true",
        help=say(
            "let the machine sleep while a training started here runs",
            "deja que la máquina se duerma mientras entrena lo que se empezó aquí",
        ),
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs"),
        metavar="DIR",
        help=say("where the runs are (runs)", "dónde están las ejecuciones (runs)"),
    )


def chosen(name: str | None, root: Path) -> tuple[Run | None, str | None]:
    """The run that is named, or else the model."""
    if name is None:
        return None, None if list_runs(root) else SMALL_MODEL
    if name == SMALL_MODEL and not is_run(root / name):
        return None, name
    if name in preset_names() and not is_run(root / name):
        return None, name
    holds_model = any((Path(name) / file).is_file() for file in ("state.json", "config.json"))
    if holds_model and not is_run(Path(name)):
        return None, name
    return find_run(name, root), None


def gives_language(words: Sequence[str]) -> bool:
    """Whether the language stands on the command line, before `tui` or after it."""
    return any(word.partition("=")[0] == "--lang" for word in words)


def run(args: argparse.Namespace) -> int:
    """Open the app; at its end, say which trainings go on."""
    if args.json:
        raise UserError("tui is for people and has no --json; scripts read mlx-gpt runs --json")
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise UserError("tui needs a terminal; without one use mlx-gpt runs and mlx-gpt train")
    gc.disable()  # what is imported stays for good: nothing to look for in it, now or later
    try:
        from tui.app import MlxGptApp, goes_on
        from tui.choices import choices_path
    except ModuleNotFoundError as error:
        raise UserError(
            f"tui needs {error.name}, which is not installed; pip install {error.name}"
        ) from error
    finally:
        gc.freeze()
        gc.enable()

    recorded = args.demo and args.name is None
    opened, model = (None, None) if recorded else chosen(args.name, args.out)
    app = MlxGptApp(
        args.out,
        run=opened,
        model=model,
        demo=args.demo,
        awake=not args.sleep,
        ahead=True,
        choices=choices_path(),
        language_is_given=args.lang is not None or gives_language(sys.argv),
    )
    if args.name and model:
        app.start_page = "sample"
    app.run()
    if sentence := goes_on(app):
        note(visible(sentence))
    return app.return_code or 0
