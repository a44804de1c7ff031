"""How long a training step takes here, in plain MLX, in mlx-lm's trainer and in PyTorch.

    python benchmarks/train_step.py [S M] [--rounds 7] [--python OTHER/bin/python]

Every side trains the same architecture on the same batch in a process of its own. The sides take
turns (A B C D, A B C D, …), so that whatever else the machine does meets all of them, and what
counts is the ratio within a round. OTHER is a virtual environment with torch and mlx-lm; the
sides whose package it lacks are left out.
"""

import argparse
import importlib
import json
import math
import os
import queue
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
Step = Callable[[], float]
REST = 0.5  # seconds before a turn: threads of OpenMP go on spinning for 0.2 s after theirs
LR, BETAS, DECAY, CLIP = 1e-3, (0.9, 0.99), 0.1, 1.0


class Sizes(NamedTuple):
    """A model and its batch: learned positions, LayerNorm, exact GELU, all biases, tied head."""

    V: int
    n_layers: int
    n_heads: int
    d_model: int
    B: int
    T: int

    @property
    def flops(self) -> float:
        """FLOPs of a step: 6 N tokens, and attention."""
        parameters = 12 * self.n_layers * self.d_model**2 + self.V * self.d_model
        return self.B * self.T * (6 * parameters + 12 * self.n_layers * self.T * self.d_model)


CONFIGS = {"S": Sizes(512, 4, 4, 128, 12, 64), "M": Sizes(65, 6, 6, 384, 16, 256)}


def batch(sizes: Sizes) -> list[list[int]]:
    """Token ids, the same for every side, each row one longer than the context."""
    return [[(31 * i + j * j) % sizes.V for j in range(sizes.T + 1)] for i in range(sizes.B)]


def ours(sizes: Sizes) -> tuple[Step, int]:
    """mlx-gpt's own step, compiled, as `mlx-gpt train` takes it."""
    sys.path.insert(0, str(ROOT))
    from mlx_gpt.device import choose

    choose("auto")
    import numpy as np

    from mlx_gpt.config import ModelConfig, TrainConfig
    from mlx_gpt.data import Batch
    from mlx_gpt.inventory import inventory
    from mlx_gpt.model import GPT
    from mlx_gpt.training import Learner

    model = ModelConfig(
        vocab_size=sizes.V,
        context_length=sizes.T,
        d_model=sizes.d_model,
        n_layers=sizes.n_layers,
        n_heads=sizes.n_heads,
        position="learned",
        activation="gelu",
    )
    train = TrainConfig(batch_size=sizes.B, lr=LR, min_lr=LR, warmup=0, beta2=BETAS[1])
    learner = Learner(GPT(model), train, compiled=True)
    rows = np.array(batch(sizes), np.int32)
    numbers = iter(range(1, 10**9))

    def step() -> float:
        return learner.step(next(numbers), [Batch(rows[:, :-1], rows[:, 1:])])[0]

    return step, inventory(model).total


def plain(sizes: Sizes) -> tuple[Step, int]:
    """The step as MLX's own modules and optimizer give it; with the same fast BLAS."""
    sys.path.insert(0, str(ROOT))
    from mlx_gpt.device import choose, mx

    choose("auto")
    import mlx.nn as nn
    import mlx.optimizers as optim
    from mlx.utils import tree_flatten

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(sizes.V, sizes.d_model)
            self.positions = nn.Embedding(sizes.T, sizes.d_model)
            shape = sizes.n_layers, sizes.d_model, sizes.n_heads, 4 * sizes.d_model
            self.encoder = nn.TransformerEncoder(*shape, activation=nn.gelu)

        def __call__(self, x: mx.array) -> mx.array:
            mask = nn.MultiHeadAttention.create_additive_causal_mask(x.shape[1])
            x = self.tokens(x) + self.positions(mx.arange(x.shape[1]))
            return self.tokens.as_linear(self.encoder(x, mask))

    model = Model()
    optimizer = optim.AdamW(LR, list(BETAS), weight_decay=DECAY, bias_correction=True)
    rows = mx.array(batch(sizes))

    def loss(x: mx.array, y: mx.array) -> mx.array:
        return nn.losses.cross_entropy(model(x), y, reduction="mean")

    gradient = nn.value_and_grad(model, loss)

    def step() -> float:
        found, grads = gradient(rows[:, :-1], rows[:, 1:])
        grads, _ = optim.clip_grad_norm(grads, CLIP)
        optimizer.update(model, grads)
        mx.eval(model.parameters(), optimizer.state, found)
        return float(found)

    arrays: dict[str, mx.array] = dict(tree_flatten(model.parameters(), destination={}))
    return step, sum(array.size for array in arrays.values())


def mlx_lm_step(sizes: Sizes) -> tuple[Step, int]:
    """The loop of mlx_lm's trainer with its GPT-2, compiled by it; it does not clip."""
    sys.path.insert(0, str(ROOT))
    from mlx_gpt.device import choose, mx

    choose("auto")
    import mlx.optimizers as optim
    from mlx.utils import tree_flatten

    trainer: Any = importlib.import_module("mlx_lm.tuner.trainer")
    gpt2: Any = importlib.import_module("mlx_lm.models.gpt2")
    args = gpt2.ModelArgs(
        model_type="gpt2",
        n_ctx=sizes.T,
        n_positions=sizes.T,
        n_embd=sizes.d_model,
        n_head=sizes.n_heads,
        n_layer=sizes.n_layers,
        layer_norm_epsilon=1e-5,
        vocab_size=sizes.V,
    )
    model = gpt2.Model(args)
    optimizer = optim.AdamW(LR, list(BETAS), weight_decay=DECAY, bias_correction=True)
    rows = mx.array(batch(sizes))
    lengths = mx.array([[0, sizes.T]] * sizes.B)
    loss = float(trainer.default_loss(model, rows, lengths)[0])
    turns: queue.Queue[None] = queue.Queue()
    taken: queue.Queue[None] = queue.Queue()

    def batches(**_: object) -> Iterator[tuple[mx.array, mx.array]]:
        while True:
            turns.get()
            yield rows, lengths
            taken.put(None)  # the loop wants the next one: the step is done

    def loop() -> None:
        never = 10**9
        endless = trainer.TrainingArgs(
            batch_size=sizes.B, iters=never, steps_per_report=never, steps_per_save=never
        )
        trainer.train(model, optimizer, [], args=endless, iterate_batches=batches)

    def step() -> float:
        turns.put(None)
        taken.get()
        return loss

    threading.Thread(target=loop, daemon=True).start()
    arrays: dict[str, mx.array] = dict(tree_flatten(model.parameters(), destination={}))
    return step, sum(array.size for array in arrays.values())


def torch_step(sizes: Sizes, *, compiled: bool) -> tuple[Step, int]:
    """GPT-2's block as one writes it with torch.nn, and torch's own AdamW."""
    torch: Any = importlib.import_module("torch")
    nn, functional = torch.nn, torch.nn.functional
    D = sizes.d_model

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D)
            self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)
            self.up, self.down = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)

        def forward(self, x: Any) -> Any:
            shape = (*x.shape[:2], sizes.n_heads, D // sizes.n_heads)
            q, k, v = (
                part.view(shape).transpose(1, 2) for part in self.qkv(self.norm1(x)).split(D, -1)
            )
            context = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(context.transpose(1, 2).reshape(x.shape))
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.positions = nn.Embedding(sizes.V, D), nn.Embedding(sizes.T, D)
            self.blocks = nn.ModuleList(Block() for _ in range(sizes.n_layers))
            self.norm = nn.LayerNorm(D)

        def forward(self, x: Any, y: Any) -> Any:
            h = self.tokens(x) + self.positions.weight
            for block in self.blocks:
                h = block(h)
            logits = functional.linear(self.norm(h), self.tokens.weight)
            return functional.cross_entropy(logits.flatten(0, 1), y.flatten())

    model = Model()
    for parameter in model.parameters():
        if parameter.ndim > 1:
            nn.init.normal_(parameter, std=0.02)
    optimizer = torch.optim.AdamW(model.parameters(), LR, betas=BETAS, weight_decay=DECAY)
    rows = torch.tensor(batch(sizes))
    forward = torch.compile(model) if compiled else model

    def step() -> float:
        loss = forward(rows[:, :-1], rows[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    return step, sum(parameter.numel() for parameter in model.parameters())


SIDES: dict[str, Callable[[Sizes], tuple[Step, int]]] = {
    "mlx-gpt": ours,
    "plain MLX": plain,
    "mlx_lm": mlx_lm_step,
    "torch eager": lambda sizes: torch_step(sizes, compiled=False),
    "torch compiled": lambda sizes: torch_step(sizes, compiled=True),
}


def serve(side: str, sizes: Sizes) -> None:
    """The process of one side: takes as many steps as each line asks for, and says how long."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever else a library prints
    began = time.perf_counter()
    step, parameters = SIDES[side](sizes)
    first = step()
    seconds = time.perf_counter() - began
    for _ in range(3):
        step()
    print(
        json.dumps({"loss": first, "first": seconds, "parameters": parameters}),
        file=answers,
        flush=True,
    )
    for line in sys.stdin:
        step()  # the other sides have had the caches meanwhile
        count, wall, cpu = int(line), time.perf_counter(), time.process_time()
        for _ in range(count):
            step()
        used = time.perf_counter() - wall, time.process_time() - cpu
        print(json.dumps([each / count for each in used]), file=answers, flush=True)


class Side(NamedTuple):
    """A process that waits for its turn, and what it said of itself."""

    name: str
    process: subprocess.Popen[str]
    facts: dict[str, float]

    def turn(self, steps: int) -> tuple[float, float]:
        """Seconds and CPU seconds a step."""
        assert self.process.stdin
        assert self.process.stdout
        time.sleep(REST)
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        wall, cpu = json.loads(self.process.stdout.readline())
        return wall, cpu


def pythons(other: str) -> dict[str, str]:
    """The Python of each side that can take part; this one, or another that has its package."""
    packages = {"mlx_lm": "mlx_lm", "torch eager": "torch", "torch compiled": "torch"}
    found = {}
    for name in SIDES:
        python = other if name in packages and other else sys.executable
        wanted = packages.get(name, "mlx")
        look = f"from importlib.util import find_spec; raise SystemExit(not find_spec('{wanted}'))"
        if subprocess.run([python, "-c", look], check=False).returncode == 0:
            found[name] = python
    return found


def start(name: str, config: str, python: str) -> Side:
    """The process of a side, warmed up."""
    process = subprocess.Popen(
        [python, str(Path(__file__)), config, "--side", name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    return Side(name, process, json.loads(process.stdout.readline()))


def compare(config: str, rounds: int, other: str) -> Iterator[str]:
    """The lines of the table of one configuration."""
    sizes = CONFIGS[config]
    sides = [start(name, config, python) for name, python in pythons(other).items()]
    for side in sides:
        assert math.isclose(side.facts["loss"], math.log(sizes.V), rel_tol=0.25), side
    steps = max(1, round(1e11 / sizes.flops))
    turns = [[side.turn(steps) for side in sides] for _ in range(rounds)]
    for side in sides:
        side.process.communicate()
    tokens = sizes.B * sizes.T
    yield f"{config}: V, L, H, d, B, T = {tuple(sizes)}; {rounds} rounds of {steps} steps"
    yield f"{'':15}{'ms':>8}{'CPU ms':>8}{'tokens/s':>10}{'time over ours: min median max':>34}" + (
        f"{'CPU over ours':>15}{'first':>8}{'parameters':>12}"
    )
    for i, side in enumerate(sides):
        wall = statistics.median(turn[i][0] for turn in turns)
        cpu = statistics.median(turn[i][1] for turn in turns)
        ratios = sorted(turn[i][0] / turn[0][0] for turn in turns)
        low, middle, high = ratios[0], statistics.median(ratios), ratios[-1]
        by_cpu = statistics.median(turn[i][1] / turn[0][1] for turn in turns)
        yield (
            f"{side.name:15}{1e3 * wall:8.1f}{1e3 * cpu:8.1f}{tokens / wall:10.0f}"
            f"{low:20.2f}{middle:7.2f}{high:7.2f}{by_cpu:15.2f}"
            f"{side.facts['first']:7.1f}s{side.facts['parameters']:12}"
        )


def main() -> None:
    """Compare, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("configs", nargs="*", default=list(CONFIGS), metavar="S|M")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--python", default="", help="of an environment with torch and mlx-lm")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.side:
        serve(args.side, CONFIGS[args.configs[0]])
        return
    for config in args.configs:
        for line in compare(config, args.rounds, args.python):
            print(line, flush=True)


if __name__ == "__main__":
    main()
