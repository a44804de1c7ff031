"""What the tracer costs: nothing to speak of while it is off, little while it is on.

    python benchmarks/trace_idle.py

The model to compare with is our own with every tap taken out of its source.
"""

import ast
import gc
import inspect
import resource
import statistics
import subprocess
import sys
import time
import timeit
from collections.abc import Callable
from types import ModuleType

from mlx_gpt.device import choose, mx

import numpy as np

from mlx_gpt import model
from mlx_gpt.config import ModelConfig, load_preset
from mlx_gpt.steps import layout
from mlx_gpt.tracer import trace
from mlx_gpt.tracing import off


def is_tap(node: ast.AST) -> bool:
    """Whether this is `tap(name, x)`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "tap"


def bare(node: ast.AST) -> ast.AST:
    """The same program with x in the place of tap(name, x)."""
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            setattr(node, name, [bare(x) if isinstance(x, ast.AST) else x for x in value])
        elif isinstance(value, ast.AST):
            setattr(node, name, bare(value))
    return node.args[1] if isinstance(node, ast.Call) and is_tap(node) else node


def model_without_taps() -> ModuleType:
    """The module of the model, as it would be if nobody looked inside."""
    tree = ast.fix_missing_locations(bare(ast.parse(inspect.getsource(model))))
    assert not any(is_tap(node) for node in ast.walk(tree))
    module = ModuleType("model_without_taps")
    exec(compile(ast.unparse(tree), "model_without_taps", "exec"), module.__dict__)
    return module


def milliseconds(function: Callable[[], object]) -> float:
    """The time of one call."""
    began = time.perf_counter()
    function()
    return 1e3 * (time.perf_counter() - began)


def idle(n_layers: int, length: int, *, rounds: int = 150, calls: int = 5) -> None:
    """Building the graph of a forward pass with taps and without, in turns, and each tap alone.

    The share is the median over rounds of the ratio within one, since the machine's speed drifts.
    """
    config = ModelConfig(vocab_size=64, d_model=64, n_layers=n_layers, context_length=64)
    plain = model_without_taps().GPT(config)
    models = {"plain": plain, "tapped": model.GPT(config), "plain again": plain}
    tokens = mx.zeros((1, length), mx.int32)
    times: dict[str, list[float]] = {name: [] for name in models}
    gc.disable()
    for turn in range(rounds):
        names = list(models)[turn % 3 :] + list(models)[: turn % 3]
        for name in names:
            began = time.process_time()
            for _ in range(calls):
                models[name](tokens)  # built, not computed
            times[name].append(1e3 * (time.process_time() - began) / calls)
    gc.enable()
    shares = {
        name: statistics.median(a / b - 1 for a, b in zip(times[name], times["plain"], strict=True))
        for name in ("tapped", "plain again")
    }
    taps = len(layout(config))
    alone = min(timeit.repeat(lambda: off("tok", tokens), number=10_000)) / 10_000 * taps * 1e3
    least = min(times["plain"])
    print(
        f"{n_layers:2} layers, T={length:2}: {least:.3f} ms without taps, "
        f"{shares['tapped']:+.1%} with (noise {shares['plain again']:+.1%}); "
        f"{taps} taps alone {alone:.3f} ms, {alone / least:.1%}"
    )


def speed() -> None:
    """A traced pass of `toy` at 64 tokens."""
    gpt = model.GPT(load_preset("toy").model)
    ids = np.arange(64) % 512
    tokens = mx.array(ids)[None]
    runs = {
        "untraced": lambda: mx.eval(gpt(tokens)),
        "with statistics": lambda: trace(gpt, ids, replay=False),
        "with statistics and replay": lambda: trace(gpt, ids),
        "with gradients too": lambda: trace(gpt, ids, targets=ids, grad=True),
    }
    for name, run in runs.items():
        first = milliseconds(run)
        rest = statistics.median(milliseconds(run) for _ in range(10))
        print(f"toy, 64 tokens, {name}: {rest:.1f} ms (first call {first:.1f})")


def resident() -> int:
    """Most bytes this process has held so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def memory() -> None:
    """GPT-2 small at 512 tokens: memory above that of the weights."""
    gpt = model.GPT(load_preset("gpt2").model)
    mx.eval(gpt.parameters())
    trace(gpt, np.arange(8), replay=True)
    mx.clear_cache()
    mx.reset_peak_memory()
    before, active = resident(), mx.get_active_memory()
    seconds = milliseconds(lambda: trace(gpt, np.arange(512), replay="replay" in sys.argv)) / 1e3
    print(
        f"gpt2, 512 tokens: MLX {(mx.get_peak_memory() - active) / 1e6:.0f} MB above the weights, "
        f"the process {(resident() - before) / 1e6:.0f} MB; {seconds:.1f} s"
    )


def main() -> None:
    """All three."""
    choose("auto")
    if "memory" in sys.argv:
        return memory()
    for n_layers, length in ((4, 64), (12, 64), (12, 1)):
        idle(n_layers, length)
    speed()
    for words in (["memory"], ["memory", "replay"]):
        print(*words, flush=True)
        subprocess.run([sys.executable, __file__, *words], check=True)


if __name__ == "__main__":
    main()
