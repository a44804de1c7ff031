"""`mlx-gpt bench`: the speed of this device, and the share of it that training and sampling reach.

Each of the two is measured in a process of its own, with what `train` and `sample` really use:
the BLAS that serves them best, and memory that nothing else has touched.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlx_gpt.device import choose, describe

from mlx_gpt import __version__
from mlx_gpt.bench import Part, Sampling, Training, measure_sampling, measure_training
from mlx_gpt.commands.params import read_config
from mlx_gpt.errors import UserError
from mlx_gpt.language import say
from mlx_gpt.terminal import emit, note, progress, size, spaced, table

EXAMPLE = "mlx-gpt bench stories --compare before.json"
COMPARED = {
    "matmul": ("roofline", "matmul_flops"),
    "copy": ("roofline", "copy_bytes_per_second"),
    "train": ("train", "tokens_per_second"),
    "sample": ("sample", "tokens_per_second"),
}
PARTS = {
    "forward": "hacia delante",
    "backward": "hacia atrás",
    "update": "actualización",
    "embedding": "embedding",
    "attention": "atención",
    "feed-forward": "feed-forward",
    "norms": "normalización",
    "head and loss": "cabeza y pérdida",
    "rest": "resto",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A model, how long to measure, and what to compare with."""
    parser.add_argument(
        "model",
        nargs="?",
        default="stories",
        metavar=say("MODEL", "MODELO"),
        help=say("preset, run or .toml file", "preajuste, ejecución o archivo .toml"),
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=15.0,
        metavar="S",
        help=say("how long to measure each of the two (15)", "cuánto medir cada uno (15)"),
    )
    parser.add_argument(
        "--only",
        choices=("train", "sample"),
        help=say("measure one of the two", "mide solo uno de los dos"),
    )
    parser.add_argument(
        "--compare",
        type=Path,
        metavar=say("FILE", "ARCHIVO"),
        help=say("an earlier result of --json", "un resultado anterior de --json"),
    )


def run(args: argparse.Namespace) -> int:
    """Measure, print, compare."""
    if not 0 < args.seconds <= 3600:
        raise UserError(f"--seconds {args.seconds}: must be above 0 and at most 3600")
    earlier = read_result(args.compare) if args.compare else None
    if earlier and earlier["model"] != args.model:
        raise UserError(
            f"{args.compare} is of the model {earlier['model']}, not of {args.model}; "
            f"run: mlx-gpt bench {earlier['model']} --compare {args.compare}"
        )
    read_config(args.model, [])  # refuses before anything is measured
    result = measure(args) if args.only else both(args)
    if args.json:
        emit(result)
    else:
        print(as_text(result))
        if earlier:
            print(f"\n{comparison(earlier, result)}")
    return 0


def both(args: argparse.Namespace) -> dict[str, Any]:
    """The results of two processes as one."""
    train, sample = (measured_apart(args, part) for part in ("train", "sample"))
    roofline = train.pop("roofline") | sample.pop("roofline")
    return sample | train | {"roofline": roofline}


def measured_apart(args: argparse.Namespace, part: str) -> dict[str, Any]:
    """One of the two, measured by a process that uses what the command of that name uses."""
    options = ["--only", part, "--seconds", str(args.seconds), "--device", args.device, "--json"]
    seed = [] if args.seed is None else ["--seed", str(args.seed)]
    done = subprocess.run(
        [sys.executable, "-m", "mlx_gpt", "bench", args.model, *options, *seed],
        env=os.environ | {"MLX_GPT_COMMAND": part},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    try:
        result = json.loads(done.stdout)
    except ValueError:
        raise UserError(
            f"measuring {part} ended with code {done.returncode} and no result; "
            f"see: mlx-gpt bench {args.model} --only {part}"
        ) from None
    if "error" in result:
        raise UserError(result["error"])
    return result


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """One of the two, measured here."""
    config, seed = read_config(args.model, []), args.seed or 0
    head = {
        "version": __version__,
        "model": args.model,
        "device": choose(args.device),
        "device_name": describe().name,
    }
    if args.only == "train":
        done = measure_training(
            config.model, config.train, args.seconds, seed=seed, report=progress.bar
        )
        return head | training_record(done)
    return head | sampling_record(
        measure_sampling(config.model, args.seconds, seed=seed, report=progress.bar)
    )


def training_record(done: Training) -> dict[str, Any]:
    """A measured training for scripts."""
    return {
        "roofline": {"matmul_flops": done.matmul_flops},
        "train": {
            "tokens_per_second": done.tokens_per_second,
            "share_of_roofline": done.share_of_roofline,
            "batch_size": done.shape.batch_size,
            "length": done.shape.length,
            "flops_per_step": done.flops_per_step,
            "step_seconds": done.step_seconds,
            "peak_memory": done.peak_memory,
            "parts": seconds_by_name(done.parts),
            "forward_parts": seconds_by_name(done.forward_parts),
        },
        "first_step_seconds": done.first_step_seconds,
    }


def seconds_by_name(parts: tuple[Part, ...]) -> dict[str, float]:
    """Parts as an object of JSON."""
    return {part.name: part.seconds for part in parts}


def sampling_record(done: Sampling) -> dict[str, Any]:
    """A measured sampling for scripts."""
    return {
        "roofline": {"copy_bytes_per_second": done.copy_bytes_per_second},
        "sample": {
            "tokens_per_second": done.tokens_per_second,
            "share_of_roofline": done.share_of_roofline,
            "bytes_per_token": done.bytes_per_token,
            "prefill_seconds": done.prefill_seconds,
            "first_token_seconds": done.first_token_seconds,
            "peak_memory": done.peak_memory,
        },
    }


def as_text(result: Mapping[str, Any]) -> str:
    """The result for people."""
    roofline = result["roofline"]
    lines = [f"{result['model']} · {result['device']}: {result['device_name']}"]
    if "train" in result:
        lines += ["", *training_lines(result, roofline["matmul_flops"])]
    if "sample" in result:
        lines += ["", *sampling_lines(result["sample"], roofline["copy_bytes_per_second"])]
    return "\n".join(lines)


def training_lines(result: Mapping[str, Any], flops: float) -> list[str]:
    """Speed of training, its share of the roofline, and where the step goes."""
    train = result["train"]
    shape = f"{train['batch_size']} × {train['length']}"
    rows = [
        (say("training", "entrenamiento"), f"{spaced(round(train['tokens_per_second']))} tokens/s"),
        (say("  batch", "  lote"), say(f"{shape} tokens", f"{shape} tokens")),
        (say("  matrix products", "  productos de matrices"), f"{flops / 1e9:.0f} GFLOP/s"),
        (say("  share reached", "  parte alcanzada"), f"{train['share_of_roofline']:.0%}"),
        (say("  first step", "  primer paso"), f"{result['first_step_seconds']:.2f} s"),
        (say("  peak memory", "  memoria máxima"), size(train["peak_memory"])),
    ]
    step = sum(train["parts"].values())
    parts = [part_row(name, value, step) for name, value in train["parts"].items()]
    inner = [part_row(name, value, step, "  ") for name, value in train["forward_parts"].items()]
    whole = (say("step", "paso"), f"{step * 1e3:.1f} ms", "100%")
    return [table(rows), "", table([whole, parts[0], *inner, *parts[1:]], right=(1, 2))]


def part_row(name: str, seconds: float, step: float, indent: str = "") -> tuple[str, str, str]:
    """A part of the step: milliseconds and share."""
    title = f"  {indent}{say(name, PARTS[name])}"
    return title, f"{seconds * 1e3:.1f} ms", f"{seconds / step:.0%}"


def sampling_lines(sample: Mapping[str, Any], rate: float) -> list[str]:
    """Speed of sampling and its share of the bandwidth."""
    rows = [
        (say("sampling", "muestreo"), f"{spaced(round(sample['tokens_per_second']))} tokens/s"),
        (say("  bytes per token", "  bytes por token"), size(sample["bytes_per_token"])),
        (say("  copying", "  copia"), f"{size(rate)}/s"),
        (say("  share reached", "  parte alcanzada"), f"{sample['share_of_roofline']:.0%}"),
        (say("  first token", "  primer token"), f"{sample['first_token_seconds']:.3f} s"),
        (say("  peak memory", "  memoria máxima"), size(sample["peak_memory"])),
    ]
    return [table(rows)]


def read_result(path: Path) -> dict[str, Any]:
    """An earlier result of `bench --json`."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        result = None
    if result is None or not is_result(result):
        raise UserError(f"{path} is no result of mlx-gpt bench --json; make one: bench --json > F")
    return result


def is_result(result: Any) -> bool:
    """Whether all that is compared is there, in its form."""
    if not isinstance(result, dict) or "roofline" not in result:
        return False
    if not all(isinstance(result.get(name), str) for name in ("model", "device_name")):
        return False
    groups = [(result.get(group, {}), key) for group, key in COMPARED.values()]
    return all(
        isinstance(group, dict) and isinstance(group.get(key, 0), int | float)
        for group, key in groups
    )


def comparison(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Earlier and present figures, and how many times faster the present is."""
    if earlier["device_name"] != now["device_name"]:
        note(say("The earlier result is of another device.", "El anterior es de otro dispositivo."))
    rows = [("", say("before", "antes"), say("now", "ahora"), say("ratio", "razón"))]
    for name, (group, key) in COMPARED.items():
        before, after = (result.get(group, {}).get(key) for result in (earlier, now))
        if before and after:
            rows.append((name, f"{before:.4g}", f"{after:.4g}", f"{after / before:.2f}"))
    return table(rows, right=(1, 2, 3))
