"""`mlx-gpt info`: this machine, what computes, what is slow and how to make it fast."""

import argparse
import platform
import time
from importlib.metadata import version

from mlx_gpt.device import advice, blas, choose, describe, limits, memory, mx

from mlx_gpt import __version__
from mlx_gpt.language import say
from mlx_gpt.terminal import emit, size, table

EXAMPLE = "mlx-gpt info --json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`info` has no arguments of its own."""


def matmul_gflops(side: int = 512, seconds: float = 0.1) -> float:
    """GFLOP/s of the CPU's matrix product: the best of what fits into the given time."""
    a = mx.ones((side, side))
    mx.eval(a)
    best = 0.0
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        mx.eval(mx.matmul(a, a, stream=mx.cpu))
        best = max(best, 2 * side**3 / (time.perf_counter() - start) / 1e9)
    return best


def report() -> str:
    """The facts as a table for people."""
    device, rate = describe(), matmul_gflops()
    rows = [
        ("mlx-gpt", __version__),
        ("MLX", version("mlx")),
        ("Python", platform.python_version()),
        (
            say("device", "dispositivo"),
            f"{device.kind}: {device.name}, {device.cores} {say('cores', 'núcleos')}",
        ),
        (say("memory", "memoria"), size(device.memory_bytes)),
        (say("limits", "límites"), limits_line()),
        ("BLAS", " ".join(filter(None, (f"{blas.name}, {rate:.0f} GFLOP/s", blas.path)))),
    ]
    slow = advice() or [say("Nothing is slow here.", "Nada es lento aquí.")]
    return "\n".join([table(rows), "", *slow])


def limits_line() -> str:
    """What MLX may take of the memory."""
    allowed = limits()
    parts = [
        f"{size(allowed.memory)} {say('allocated', 'reservados')}",
        f"{size(allowed.cache)} {say('kept when freed', 'guardados al liberarse')}",
    ]
    if allowed.wired:
        parts.append(f"{size(allowed.wired)} {say('wired while training', 'fijos al entrenar')}")
    return ", ".join(parts)


def facts() -> dict[str, object]:
    """The facts for scripts."""
    device = describe()
    say.language = "en"  # JSON stays English
    return {
        "version": __version__,
        "mlx": version("mlx"),
        "python": platform.python_version(),
        "device": device.kind,
        "device_name": device.name,
        "cores": device.cores,
        "memory": memory()._asdict(),
        "limits": limits()._asdict(),
        "blas": blas._asdict() | {"gflops": round(matmul_gflops(), 1)},
        "advice": advice(),
    }


def run(args: argparse.Namespace) -> int:
    """Print what there is to know about this machine."""
    choose(args.device)
    if args.json:
        emit(facts())
    else:
        print(report())
    return 0
