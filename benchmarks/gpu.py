"""Everything worth knowing about a GPU, in a few minutes: is it right, how fast is it?

    python benchmarks/gpu.py [--python OTHER/bin/python] > table.txt

Forward pass and gradient on GPU and CPU agree; `mlx-gpt bench` for the GPT-2 shape in float32
and bfloat16; and beside it, if OTHER has torch, the same architecture in PyTorch.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from mlx_gpt.device import choose, describe, has_gpu, mx

import mlx.nn as nn
from mlx.utils import tree_flatten

from mlx_gpt.bench import measure_sampling, measure_training
from mlx_gpt.config import ModelConfig, load_preset
from mlx_gpt.model import GPT
from mlx_gpt.training import mean_loss

ROOT = Path(__file__).parent.parent
SECONDS = 30.0
SMALL = ModelConfig(vocab_size=300, context_length=64, d_model=128, n_layers=2, n_heads=2)


def gradients(kind: str) -> dict[str, mx.array]:
    """Loss and gradient of a small model on that device, as float32."""
    choose(kind)
    model, tokens = GPT(SMALL, seed=1), mx.random.randint(0, 300, (4, 65), key=mx.random.key(2))

    def loss(model: GPT) -> mx.array:
        return mean_loss(model(tokens[:, :-1]), tokens[:, 1:])

    value, grads = nn.value_and_grad(model, loss)(model)
    found = dict(tree_flatten(grads, destination={})) | {"loss": value}
    mx.eval(found)
    return found


def parity() -> None:
    """The largest difference between the devices, relative to the largest value."""
    on_gpu, on_cpu = gradients("gpu"), gradients("cpu")
    worst = 0.0
    for name, expected in on_cpu.items():
        gap = mx.abs(on_gpu[name] - expected).max() / mx.abs(expected).max()
        worst = max(worst, float(gap))
    verdict = "agree" if worst < 1e-4 else "DIFFER"
    print(f"GPU and CPU {verdict}: worst relative difference {worst:.1e}", flush=True)


def bench() -> None:
    """Training and sampling at GPT-2's shape, in both precisions."""
    choose("gpu")
    config = load_preset("gpt2")
    for precision in ("float32", "bfloat16"):
        train = load_preset("gpt2", [f"train.precision={precision}"]).train
        done = measure_training(config.model, train, SECONDS)
        print(
            f"training {precision:<9} {done.tokens_per_second:9.0f} tokens/s, "
            f"{done.share_of_roofline:.0%} of {done.matmul_flops / 1e12:.1f} TFLOP/s (float32), "
            f"batch {done.shape.batch_size} x {done.shape.length}, "
            f"first step {done.first_step_seconds:.1f} s, peak {done.peak_memory / 1e9:.1f} GB",
            flush=True,
        )
    text = measure_sampling(config.model, SECONDS)
    print(
        f"sampling {'float32':<9} {text.tokens_per_second:9.0f} tokens/s, "
        f"{text.share_of_roofline:.0%} of {text.copy_bytes_per_second / 1e9:.0f} GB/s",
        flush=True,
    )


def torch_step() -> None:
    """A training step of transformers' GPT-2 in PyTorch; prints its tokens per second."""
    import statistics
    import time

    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    kind = "cuda" if torch.cuda.is_available() else "mps"
    model = GPT2LMHeadModel(GPT2Config(resid_pdrop=0.1, embd_pdrop=0.1, attn_pdrop=0.1)).to(kind)
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, weight_decay=0.1)
    tokens = torch.randint(50257, (4, 1024), device=kind)
    for precision in (torch.float32, torch.bfloat16):
        times = []
        for _ in range(12):
            began = time.perf_counter()
            with torch.autocast(kind, precision, enabled=precision != torch.float32):
                loss = model(tokens, labels=tokens).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            loss.item()
            times.append(time.perf_counter() - began)
        speed = tokens.numel() / statistics.median(times[3:])
        name = str(precision).removeprefix("torch.")
        print(f"training {name:<9} {speed:9.0f} tokens/s in PyTorch ({kind})", flush=True)


def main() -> None:
    """Run all of it, or say that there is no GPU."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", type=Path, help="of an environment with torch, transformers")
    parser.add_argument("--torch", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.torch:
        torch_step()
        return
    if not has_gpu():
        print("MLX finds no GPU on this machine: nothing to measure.")
        return
    choose("gpu")
    print(f"{describe().name}, MLX {vars(mx)['__version__']}")
    parity()
    bench()
    if args.python:
        command = [args.python, Path(__file__), "--torch"]
        env = os.environ | {"PYTHONPATH": str(ROOT)}
        sys.exit(subprocess.run(command, env=env, check=False).returncode)


if __name__ == "__main__":
    main()
