"""`mlx-gpt trace diff A B`: two checkpoints, precisions, devices, prompts or saved traces."""

import argparse
from pathlib import Path

from mlx_gpt.device import choose

from mlx_gpt.commands import trace_views
from mlx_gpt.commands.trace_subject import record, understand
from mlx_gpt.errors import UserError
from mlx_gpt.language import say
from mlx_gpt.terminal import emit
from mlx_gpt.tracefile import load, rounded
from mlx_gpt.traces import Trace, diff


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is different about B in `trace diff A B`."""
    group = parser.add_argument_group("trace diff A B")
    same = say("for B, if not as for A", "para B, si no es como en A")
    group.add_argument("--checkpoint-b", metavar="best|latest|STEP", help=same)
    group.add_argument("--dtype-b", choices=("float32", "float16", "bfloat16"), help=same)
    group.add_argument("--device-b", choices=("auto", "gpu", "cpu"), help=same)
    group.add_argument("--prompt-b", metavar=say("PROMPT", "TEXTO"), help=same)
    group.add_argument(
        "--tolerance",
        type=float,
        metavar="X",
        help=say("of the largest number of a row", "del mayor número de una fila"),
    )


def check_unused(args: argparse.Namespace) -> None:
    """Refuse options about B where there is none."""
    for option in ("checkpoint_b", "dtype_b", "device_b", "prompt_b", "tolerance"):
        if getattr(args, option) is not None:
            raise UserError(f"--{option.replace('_', '-')} goes with trace diff A B")


def compare(args: argparse.Namespace) -> int:
    """`trace diff A B [PROMPT]`: the rows of two traces, and the first past tolerance."""
    if not args.rest or len(args.rest) > 2:
        raise UserError('trace diff compares two: mlx-gpt trace diff A B "prompt"')
    if args.tolerance is not None and not args.tolerance >= 0:
        raise UserError(f"--tolerance {args.tolerance}: must be at least 0")
    prompt = args.rest[1] if len(args.rest) == 2 else ""
    a = side(args.prompt, prompt, args)
    b = side(args.rest[0], args.prompt_b if args.prompt_b is not None else prompt, second(args))
    found = diff(a, b, args.tolerance)
    if not found:
        raise UserError("the two traces have no row in common; compare models of one kind")
    first = next((gap for gap in found if not gap.ok), None)
    if args.json:
        rows = [{**vars(gap), "rel": rounded(gap.rel), "ok": gap.ok} for gap in found]
        emit({"ok": first is None, "first": first and first.name, "rows": rows})
    else:
        print(trace_views.gaps(found))
    return 0 if first is None else 1


def second(args: argparse.Namespace) -> argparse.Namespace:
    """The arguments as they are for B."""
    changed = {
        name: getattr(args, f"{name}_b") or getattr(args, name)
        for name in ("checkpoint", "dtype", "device")
    }
    return argparse.Namespace(**{**vars(args), **changed})


def side(name: str, prompt: str, args: argparse.Namespace) -> Trace:
    """A saved trace, or a trace of a model with all its values."""
    if name.endswith(".json"):
        return load(Path(name))
    choose(args.device)
    return record(understand(name, prompt, args.checkpoint, args), args, keep=["*"])
