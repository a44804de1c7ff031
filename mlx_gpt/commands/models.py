"""Finding and loading a model by name: a run, one of its checkpoints, or an untrained preset."""

import argparse
import contextlib
from pathlib import Path
from typing import NamedTuple

from mlx_gpt import checkpoint
from mlx_gpt.config import (
    SMALL_MODEL,
    Config,
    ModelConfig,
    broken_settings,
    load,
    load_preset,
    nearest,
    preset_folder,
    preset_names,
)
from mlx_gpt.errors import UserError
from mlx_gpt.interop.folder import build_gpt, is_model_folder, tokenizer_in
from mlx_gpt.interop.gguf import open_model
from mlx_gpt.language import say
from mlx_gpt.model import GPT, load_arrays
from mlx_gpt.run import Run, is_run, list_runs, saved_steps, updated
from mlx_gpt.tokenizer import ByteTokenizer, Tokenizer


class Model(NamedTuple):
    """A model ready to use: where it is from, and what its user should be told."""

    gpt: GPT
    tokenizer: Tokenizer
    config: Config
    source: str
    notes: tuple[str, ...] = ()
    run: Run | None = None
    step: int | None = None  # of a trained model


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments by which a command is told its model."""
    parser.add_argument(
        "model",
        nargs="?",
        metavar=say("MODEL", "MODELO"),
        help=say(
            "a run or imported model (name or folder), a checkpoint folder, a .gguf file or a "
            "preset; nothing: the newest run, or the small model that comes along",
            "una ejecución o un modelo importado (nombre o carpeta), una carpeta de checkpoint, un "
            "archivo .gguf o un preajuste; nada: la ejecución más reciente, o el modelo pequeño "
            "que viene incluido",
        ),
    )
    parser.add_argument(
        "--checkpoint",
        metavar="best|latest|STEP",
        help=say("which checkpoint of the run (best)", "qué checkpoint de la ejecución (best)"),
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs"),
        metavar="DIR",
        help=say("where the runs are (runs)", "dónde están las ejecuciones (runs)"),
    )


def find_model(name: str | None, *, root: Path = Path("runs"), which: str | None = None) -> Model:
    """The model of that name; a run hides a preset of the same name, being its trained form."""
    if name is None:
        newest = newest_run(root)
        return from_run(newest, which) if newest else small_model(which)
    path = Path(name)
    if (path / checkpoint.STATE).is_file():
        if which:
            raise UserError(f"{name} is a checkpoint itself: leave out --checkpoint {which}")
        return from_checkpoint(run_of(path), path)
    for folder in (root / name, path):
        if name and is_run(folder):
            return from_run(Run(folder), which)
        if name and (is_model_folder(folder) or is_gguf(folder)):
            return from_source(folder, which)
    if name == SMALL_MODEL:
        return from_source(preset_folder() / SMALL_MODEL, which)
    if name in preset_names():
        if which:
            raise UserError(f"the preset {name} is not trained: leave out --checkpoint {which}")
        return untrained(name)
    models = sorted({run.name for run in list_runs(root)} | set(model_names(root)))
    raise UserError(
        f"no model {name}{nearest(name, [*models, *preset_names()])} "
        f"(models in {root}: {', '.join(models) or 'none'}; "
        f"presets: {', '.join(preset_names())}; the model that comes along: {SMALL_MODEL})"
    )


def model_names(root: Path) -> list[str]:
    """The folders in root that hold a model, be it of a run or from elsewhere."""
    names: list[str] = []
    for path in root.iterdir() if root.is_dir() else ():
        with contextlib.suppress(PermissionError):  # one may not look into every folder
            names += [path.name] if is_model_folder(path) else []
    return sorted(names)


def is_gguf(path: Path) -> bool:
    """Whether a path is a model in one file."""
    return path.suffix.lower() == ".gguf" and path.is_file()


def newest_run(root: Path) -> Run | None:
    """The run that wrote last, of those that have something to load."""
    runs = [run for run in list_runs(root) if saved_steps(run)]
    return max(runs, key=updated, default=None)


def small_model(which: str | None) -> Model:
    """The model that comes with the project, for whoever has named none and has no run."""
    note = say(
        "This is the small model that comes along; train your own: mlx-gpt train",
        "Este es el modelo pequeño incluido; entrena el tuyo: mlx-gpt train",
    )
    small = from_source(preset_folder() / SMALL_MODEL, which)
    return small._replace(notes=(note, *small.notes))


def run_of(path: Path) -> Run:
    """The run that a checkpoint folder lies in."""
    run = Run(path.resolve().parent.parent)
    if not run.config_toml.is_file():
        raise UserError(
            f"{path} lies in no run: its config.toml and tokenizer are looked for in {run.path}"
        )
    return run


def from_run(run: Run, which: str | None) -> Model:
    """The named checkpoint of a run; without a name the best, or the newest if none is.

    Where the checkpoints were deleted, the best model still lies in the folder itself.
    """
    if not which and not checkpoint.any_saved(run) and is_model_folder(run.path):
        return from_source(run.path, None)
    return from_checkpoint(run, checkpoint.named(run, which or "best"))


def from_checkpoint(run: Run, path: Path) -> Model:
    """A trained model with the tokenizer it was trained with."""
    config = load(run.config_toml)
    bytewise = config.data.tokenizer == "bytes"
    tokenizer = ByteTokenizer() if bytewise else tokenizer_in(run.path)
    saved = checkpoint.load(path, with_optimizer=False)
    if saved.state.get("tokenizer") != tokenizer.fingerprint:
        raise UserError(
            f"the tokenizer in {run.path} is not the one that {path.name} was trained with "
            "(their hashes differ); put the old tokenizer.model back, or train again"
        )
    if tokenizer.vocab_size > config.model.vocab_size:
        raise UserError(
            f"the tokenizer in {run.path} has {tokenizer.vocab_size} pieces, but "
            f"model.vocab_size = {config.model.vocab_size}; train again with this tokenizer"
        )
    gpt = GPT(config.model)
    load_arrays(gpt, saved.model)
    step = say(f"step {saved.step}", f"paso {saved.step}")
    notes = broken_notes(config.model)
    return Model(gpt, tokenizer, config, f"{run.name}, {step}", notes, run, saved.step)


def from_source(path: Path, which: str | None) -> Model:
    """A model from a folder without checkpoints, or from a GGUF file."""
    if which:
        raise UserError(f"{path} has no checkpoints: leave out --checkpoint {which}")
    stored, tokenizer = open_model(path)
    config = Config(model=stored.config, sample=stored.sample)
    name = path.absolute().name
    step = "" if stored.step is None else say(f", step {stored.step}", f", paso {stored.step}")
    notes = broken_notes(config.model)
    return Model(build_gpt(stored), tokenizer, config, f"{name}{step}", notes)


def broken_notes(config: ModelConfig) -> tuple[str, ...]:
    """The mark of a model that was broken to see what happens."""
    breaks = ", ".join(broken_settings(config))
    mark = say("BROKEN ON PURPOSE: ", "ROTO A PROPÓSITO: ")
    return (f"{mark}{breaks}",) if breaks else ()


def untrained(name: str) -> Model:
    """A preset with fresh weights, which reads and writes single bytes."""
    config, tokenizer = load_preset(name), ByteTokenizer()
    if config.model.vocab_size < tokenizer.vocab_size:
        raise UserError(
            f"the preset {name} is not trained, and its model.vocab_size = "
            f"{config.model.vocab_size} is too small for the {tokenizer.vocab_size} tokens of "
            f"text as bytes; train it first: mlx-gpt train {name}"
        )
    note = say(
        f"The preset {name} is not trained: its weights are random. Train it: mlx-gpt train {name}",
        f"El preajuste {name} no está entrenado: sus pesos son aleatorios. "
        f"Entrénalo: mlx-gpt train {name}",
    )
    source = say(f"preset {name}, untrained", f"preajuste {name}, sin entrenar")
    return Model(GPT(config.model, config.train.seed), tokenizer, config, source, (note,))
