"""Sampling against transformers and mlx_lm: the same weights, prompt and settings, taking turns.

    MLX_GPT_COMMAND=sample python benchmarks/sampling.py --python OTHER/bin/python S M GPT-2

OTHER is a virtual environment with torch, transformers and mlx-lm. mlx_lm runs twice: with the
BLAS that `sample` takes here, and as pip installs it. Two rounds of warm-up do not count.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from mlx_gpt.device import blas, choose, describe, mx

from contest import Contestant, alternate, lines, serve

from mlx_gpt.config import ModelConfig, SampleConfig

ROOT = Path(__file__).parent.parent
PROMPT = [1, 2, 3, 4, 5, 6, 7, 8]
SETTINGS = SampleConfig(temperature=0.8, top_k=50)


class Size(NamedTuple):
    """A model to sample from, and how many tokens."""

    config: ModelConfig
    tokens: int


SIZES = {
    "S": Size(
        ModelConfig(vocab_size=512, context_length=64, d_model=128, n_layers=4, position="learned"),
        56,
    ),
    "M": Size(
        ModelConfig(
            vocab_size=65,
            context_length=256,
            d_model=384,
            n_layers=6,
            n_heads=6,
            position="learned",
        ),
        160,
    ),
    "GPT-2": Size(
        ModelConfig(
            vocab_size=50257,
            context_length=1024,
            d_model=768,
            n_layers=12,
            n_heads=12,
            position="learned",
        ),
        64,
    ),
}


def ours(folder: Path, tokens: int) -> None:
    """Our own sampler, its step compiled."""
    from mlx_gpt.interop.folder import build_gpt, read_folder
    from mlx_gpt.sampling import generate

    gpt = build_gpt(read_folder(folder))
    config = SampleConfig(**{**vars(SETTINGS), "max_tokens": tokens})

    def work() -> None:
        rows = list(generate(gpt, PROMPT, config, seed=0, end_id=None, compiled=True))
        assert len(rows) == tokens

    serve(work)


def transformers(folder: Path, tokens: int) -> None:
    """`generate` of transformers, with its cache."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    model.generation_config.eos_token_id = None
    inputs = torch.tensor([PROMPT])

    def work() -> None:
        with torch.inference_mode():
            out = model.generate(
                inputs,
                attention_mask=torch.ones_like(inputs),
                max_new_tokens=tokens,
                do_sample=True,
                temperature=SETTINGS.temperature,
                top_k=SETTINGS.top_k,
                use_cache=True,
                pad_token_id=0,
            )
        assert out.shape[1] == len(PROMPT) + tokens

    serve(work)


def mlx_lm(folder: Path, tokens: int) -> None:
    """`generate_step` of mlx_lm."""
    from mlx_lm.generate import generate_step
    from mlx_lm.sample_utils import make_sampler
    from mlx_lm.utils import load_model

    model, _ = load_model(folder)
    sampler = make_sampler(temp=SETTINGS.temperature, top_k=SETTINGS.top_k)

    def work() -> None:
        steps = generate_step(mx.array(PROMPT), model, max_tokens=tokens, sampler=sampler)
        assert len([int(token) for token, _ in steps]) == tokens

    serve(work)


CONTESTANTS = {
    "ours": ours,
    "transformers": transformers,
    "mlx_lm": mlx_lm,
    "mlx_lm-as-is": mlx_lm,  # with the BLAS that pip installs, not the one we found for it
}


def write(folder: Path, config: ModelConfig) -> None:
    """Random weights as a folder that all of them load."""
    from mlx.utils import tree_flatten

    from mlx_gpt.interop.families import require_family
    from mlx_gpt.interop.folder import Stored, write_model
    from mlx_gpt.model import GPT
    from mlx_gpt.tokenizer import ByteTokenizer

    arrays = dict(tree_flatten(GPT(config).parameters(), destination={}))
    write_model(folder, Stored(config, arrays, SETTINGS), ByteTokenizer(), require_family(config))


def contest(name: str, other: Path, rounds: int, against: list[str]) -> None:
    """One size: all contestants in turns."""
    size = SIZES[name]
    shared = os.environ | {"MLX_GPT_BLAS": blas.path or "none", "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), size.config)
        contestants = {
            side: Contestant(
                [
                    *(sys.executable if side == "ours" else other, Path(__file__)),
                    *("--serve", side, "--folder", folder, name),
                ],
                shared | ({"MLX_GPT_BLAS": "none"} if side == "mlx_lm-as-is" else {}),
            )
            for side in ("ours", *against)
        }
        alternate(contestants, 2)
        turns = alternate(contestants, rounds)
        for contestant in contestants.values():
            contestant.end()
    print(f"{name}: {size.tokens} tokens after {len(PROMPT)}, {rounds} rounds")
    print("\n".join(lines(turns, size.tokens, "tokens/s")), flush=True)


def main() -> None:
    """Serve as one contestant, or let all of them take turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", nargs="*", help="S M GPT-2")
    parser.add_argument("--python", type=Path, help="of the environment with the others")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--serve", choices=list(CONTESTANTS))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--against", nargs="*", default=list(CONTESTANTS)[1:])
    args = parser.parse_args()
    choose("auto")
    if args.serve:
        CONTESTANTS[args.serve](args.folder, SIZES[args.sizes[0]].tokens)
        return
    if not args.python:
        parser.error("--python: which environment has torch, transformers and mlx-lm?")
    device = describe()
    print(f"{device.kind}: {device.name}, {device.cores} cores; {blas.name} here")
    for name in args.sizes or SIZES:
        contest(name, args.python, args.rounds, args.against)


if __name__ == "__main__":
    main()
