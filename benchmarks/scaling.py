"""Does a training step cost what it must: linear in batch and in layers, memory flat with steps?

    python benchmarks/scaling.py

Three batch sizes and three depths take turns. A step is linear if a straight line through the
medians explains them; the largest distance from that line is printed as a share of the step.
At the end, what train.grad_checkpoint saves of the memory, and costs in time.
"""

import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from mlx_gpt.device import choose, compiles_step, describe, memory, mx

import numpy as np

from mlx_gpt.config import ModelConfig, TrainConfig
from mlx_gpt.model import GPT
from mlx_gpt.training import Learner, train_steps

ROUNDS = 9
STEPS = 600
BASE = ModelConfig(vocab_size=512, context_length=64, d_model=128, n_layers=4)


def stepper(
    n_layers: int, batch_size: int, *, grad_checkpoint: bool = False
) -> Callable[[], object]:
    """A function that takes one training step of that size on random tokens."""
    model = GPT(ModelConfig(**{**vars(BASE), "n_layers": n_layers}))
    config = TrainConfig(batch_size=batch_size, steps=10**6, grad_checkpoint=grad_checkpoint)
    tokens = np.random.default_rng(0).integers(BASE.vocab_size, size=100_000).astype(np.int32)
    steps = train_steps(Learner(model, config, compiled=compiles_step("auto", math.inf)), tokens)
    return lambda: next(steps)


def medians(works: dict[int, Callable[[], object]]) -> dict[int, float]:
    """Median seconds of each, taking turns."""
    times: dict[int, list[float]] = {size: [] for size in works}
    for _ in range(ROUNDS + 2):
        for size, work in works.items():
            began = time.perf_counter()
            work()
            times[size].append(time.perf_counter() - began)
    return {size: statistics.median(each[2:]) for size, each in times.items()}


def show(title: str, found: dict[int, float]) -> None:
    """The medians, the line through them, and how far they are from it."""
    sizes, seconds = np.array(list(found)), np.array(list(found.values()))
    slope, start = np.polyfit(sizes, seconds, 1)
    off = np.abs(start + slope * sizes - seconds) / seconds
    measured = "  ".join(f"{size}: {each * 1e3:.1f} ms" for size, each in found.items())
    line = f"{start * 1e3:.1f} + {slope * 1e3:.2f} n ms"
    print(f"{title:<8} {measured}  = {line}, within {off.max():.0%}", flush=True)


def growth() -> tuple[int, int]:
    """Bytes in use after some steps, and after many more."""
    step, held = stepper(2, 4), []
    for number in range(STEPS):
        step()
        if number in (20, STEPS - 1):
            mx.synchronize()
            held.append(memory().active)
    return held[0], held[1]


def peak(step: Callable[[], object]) -> int:
    """The most bytes that a step needs beyond what it finds."""
    step()
    mx.clear_cache()
    mx.reset_peak_memory()
    before = memory().active
    step()
    return memory().peak - before


def recomputing() -> None:
    """Activations kept or computed again: a process each, for MLX orders their graphs apart."""
    shown = []
    for word in ("kept", "again"):
        done = subprocess.run(
            [sys.executable, __file__, word], stdout=subprocess.PIPE, text=True, check=True
        )
        shown.append(f"activations {word}: {done.stdout.strip()}")
    print(f"12 layers, batch 32: {', '.join(shown)}")


def measured(word: str) -> str:
    """Memory and time of a step with the activations kept, or computed again."""
    step = stepper(12, 32, grad_checkpoint=word == "again")
    size, seconds = peak(step), medians({0: step})[0]
    return f"{size / 1e6:.0f} MB and {seconds * 1e3:.0f} ms a step"


def main() -> None:
    """Measure batch, layers and memory."""
    choose("auto")
    if len(sys.argv) > 1:
        print(measured(sys.argv[1]))
        return
    device = describe()
    print(f"{device.kind}: {device.name}, {device.cores} cores; {ROUNDS} rounds")
    show("batch", medians({size: stepper(BASE.n_layers, size) for size in (8, 16, 32)}))
    show("layers", medians({size: stepper(size, 12) for size in (2, 4, 8)}))
    before, after = growth()
    print(f"memory   {before / 1e6:.2f} MB after 20 steps, {after / 1e6:.2f} MB after {STEPS}")
    recomputing()


if __name__ == "__main__":
    main()
