"""`mlx-gpt export`: a model of ours in the files that others read."""

import argparse
from pathlib import Path

from mlx_gpt.device import choose

from mlx.utils import tree_flatten

from mlx_gpt import terminal
from mlx_gpt.commands.models import Model, find_model
from mlx_gpt.errors import UserError
from mlx_gpt.interop.families import require_family
from mlx_gpt.interop.folder import Stored, new_folder, quantise, write_model
from mlx_gpt.interop.gguf import write_gguf
from mlx_gpt.language import say

EXAMPLE = "mlx-gpt export stories --to gguf"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which model, in what form, and where to."""
    parser.add_argument(
        "model",
        nargs="?",
        metavar=say("MODEL", "MODELO"),
        help=say(
            "a run or imported model (name or folder); nothing: the newest run",
            "una ejecución o un modelo importado (nombre o carpeta); nada: la más reciente",
        ),
    )
    parser.add_argument(
        "--to",
        required=True,
        choices=("hf", "gguf", "safetensors"),
        help=say(
            "hf: a folder that transformers and mlx_lm load; gguf: a file that llama.cpp runs; "
            "safetensors: a folder under our own names, for every configuration",
            "hf: una carpeta que cargan transformers y mlx_lm; gguf: un archivo para llama.cpp; "
            "safetensors: una carpeta con nuestros nombres, para toda configuración",
        ),
    )
    parser.add_argument(
        "--quantize",
        type=int,
        choices=(4, 8),
        help=say("pack the weights into so many bits", "empaqueta los pesos en tantos bits"),
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar=say("PATH", "RUTA"),
        help=say("folder or file to write", "carpeta o archivo que se escribe"),
    )
    parser.add_argument(
        "--checkpoint",
        metavar="best|latest|STEP",
        help=say("which checkpoint of the run (best)", "qué checkpoint de la ejecución (best)"),
    )
    parser.add_argument(
        "--runs",
        type=Path,
        default=Path("runs"),
        metavar="DIR",
        help=say("where the runs are (runs)", "dónde están las ejecuciones (runs)"),
    )


def run(args: argparse.Namespace) -> int:
    """Write the model; it appears under its name when it is complete."""
    choose(args.device)
    if args.quantize and args.to == "gguf":
        raise UserError(
            f"--quantize {args.quantize} goes with --to hf or safetensors; "
            "llama.cpp's own llama-quantize packs a GGUF file"
        )
    model = find_model(args.model, root=args.runs, which=args.checkpoint)
    for line in model.notes:
        terminal.note(line)
    path = args.out or default_path(args, model)
    if args.to == "gguf" and model.config.model.activation == "gelu":
        terminal.note(
            say(
                "llama.cpp computes GELU by its tanh form: logits differ by about 0.001.",
                "llama.cpp calcula GELU con su forma tanh: los logits difieren en torno a 0,001.",
            )
        )
    write(model, path, to=args.to, bits=args.quantize)
    size = path.stat().st_size if path.is_file() else sum(f.stat().st_size for f in path.iterdir())
    if args.json:
        terminal.emit({"path": str(path), "to": args.to, "bytes": size, "bits": args.quantize})
    else:
        print(terminal.visible(f"{path}: {terminal.size(size)}"))
    return 0


def default_path(args: argparse.Namespace, model: Model) -> Path:
    """A name in the working folder that says what it holds."""
    source = Path(args.model or (model.run.name if model.run else "model"))
    name = source.absolute().name.removesuffix(".gguf")
    bits = f"-{args.quantize}bit" if args.quantize else ""
    return Path(f"{name}.gguf" if args.to == "gguf" else f"{name}-{args.to}{bits}")


def write(model: Model, path: Path, *, to: str, bits: int | None) -> None:
    """One form of the model at a path that is not there yet."""
    arrays = dict(tree_flatten(model.gpt.parameters(), destination={}))
    stored = Stored(model.config.model, arrays, model.config.sample)
    if "embedding.scales" in arrays:
        raise UserError("this model is a quantised copy already; export the original")
    stored = quantise(stored, bits) if bits else stored
    if to == "gguf":
        if path.exists():
            raise UserError(f"{path} exists; choose another --out, or remove it")
        write_gguf(path, stored, model.tokenizer, path.stem)
        return
    family = require_family(stored.config) if to == "hf" else None
    with new_folder(path) as unfinished:
        write_model(unfinished, stored, model.tokenizer, family)
