"""`mlx-gpt params`: every parameter, per component, formula beside count."""

import argparse
from pathlib import Path

from mlx_gpt import terminal
from mlx_gpt.config import Config, ModelConfig, changed, load, load_preset, preset_names
from mlx_gpt.errors import UserError
from mlx_gpt.interop.folder import is_model_folder
from mlx_gpt.interop.folder import read_config as read_folder_config
from mlx_gpt.inventory import Component, Inventory, inventory
from mlx_gpt.language import say
from mlx_gpt.run import find_run, is_run

EXAMPLE = "mlx-gpt params toy"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A model, and settings to try on it."""
    parser.add_argument(
        "model",
        nargs="?",
        default="stories",
        help=say("preset, run or .toml file", "preajuste, ejecución o archivo .toml"),
    )
    parser.add_argument(
        "settings",
        nargs="*",
        metavar="key=value",
        help=say("settings to try: model.n_layers=6", "ajustes a probar: model.n_layers=6"),
    )


def read_config(name: str, settings: list[str]) -> Config:
    """The configuration of a preset, a TOML file or a run."""
    if name in preset_names():
        return load_preset(name, settings)
    if name.endswith(".toml"):
        return load(Path(name), settings)
    for folder in (Path("runs") / name, Path(name)):
        if name and is_model_folder(folder) and not is_run(folder):
            return changed(read_folder_config(folder), settings)
    try:
        return load(find_run(name).config_toml, settings)
    except UserError as error:
        presets = ", ".join(preset_names())
        raise UserError(f"{error}; the presets are {presets}") from None


def row(part: Component, name: str, times: int = 1) -> list[str]:
    """A line of the table."""
    shape = " × ".join(map(str, part.shape))
    formula = part.formula if times == 1 else f"{times} · {part.formula}"
    return [name, shape, formula, terminal.spaced(part.count * times)]


def rows(counted: Inventory, config: ModelConfig) -> list[list[str]]:
    """The parts in order; the blocks, which are all alike, stand as one."""
    lines = []
    for part in counted.components:
        if not part.name.startswith("blocks."):
            lines.append(row(part, part.name))
        elif part.name.startswith("blocks.0."):
            name = part.name.replace("blocks.0.", "blocks.*.", 1)
            lines.append(row(part, name, config.n_layers))
    return lines


def notes(counted: Inventory, config: ModelConfig) -> list[str]:
    """What a learner should see in these figures."""
    block = counted.group("blocks.0.")
    ffn = counted.group("blocks.0.feed_forward.")
    norms_per_layer = counted.norms - counted.group("final_norm")
    lines = [
        say("total ", "total ") + terminal.spaced(counted.total),
        say("estimate 12·L·d² + V·d (+ T_max·d) ", "estimación 12·L·d² + V·d (+ T_max·d) ")
        + terminal.spaced(counted.formula),
        say("norms ", "normas ")
        + f"{counted.norms} = {norms_per_layer} + {counted.group('final_norm')}",
        say(
            f"feed-forward: {ffn / block:.1%} of a block",
            f"feed-forward: {ffn / block:.1%} de un bloque",
        ),
    ]
    if (config.norm, config.n_layers, config.d_model) == ("layernorm", 2, 64):
        lines.append(
            say(
                "The first course says 384 for the norms: gain and bias make it 2·2·2·64 + 2·64.",
                "El primer curso dice 384 para las normas: con ganancia y sesgo, 2·2·2·64 + 2·64.",
            )
        )
    if config.tied_head:
        lines.append(
            say(
                "The head is the embedding matrix, counted once.",
                "La cabeza es la matriz de embeddings, contada una vez.",
            )
        )
    return lines


def run(args: argparse.Namespace) -> int:
    """Print the inventory."""
    config = read_config(args.model, args.settings).model
    counted = inventory(config)
    if args.json:
        components = {part.name: part.count for part in counted.components}
        terminal.emit(
            {
                "total": counted.total,
                "formula": counted.formula,
                "components": components,
                "norms": counted.norms,
            }
        )
        return 0
    head = [say("parameter", "parámetro"), say("shape", "forma"), say("formula", "fórmula"), "n"]
    print(terminal.table([head, *rows(counted, config)], right=(3,)))
    print()
    print("\n".join(notes(counted, config)))
    return 0
