"""Train every break that is a setting, and print the table of docs/breaks.md.

    python benchmarks/breaks.py --steps 300 --out runs/breaks

A run that is there already is not made again, so that an interrupted series can go on.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from mlx_gpt.labs.breaks import SETTINGS
from mlx_gpt.run import Run, is_run, read, read_metrics

SOUND = "model.causal=true"  # the default: nothing is broken
PROMPTS = ("Once", "Un día")


def train(setting: str, steps: int, out: Path) -> Run:
    """One run of the stories preset with one setting changed."""
    run = Run(out / setting.removeprefix("model.").replace("=", "-"))
    if is_run(run.path) and losses(run, steps):
        return run
    words = ["train", "stories", "--name", run.name, "--out", str(out), "--steps", str(steps)]
    command = [sys.executable, "-m", "mlx_gpt", *words, setting]
    subprocess.run(command, check=True)
    return run


def losses(run: Run, step: int) -> str:
    """Training and validation loss at a step; nothing if it was not evaluated."""
    for record in read_metrics(run):
        if record["kind"] == "eval" and record["step"] == step:
            return f"{record['train_loss']:.3f} | {record['val_loss']:.3f}"
    return ""


def sample(run: Run, prompt: str) -> str:
    """The last sample of a prompt, on one line."""
    texts = [
        record["text"]
        for record in read(run.samples)
        if record["kind"] == "sample" and record["prompt"] == prompt
    ]
    return f"{prompt}{texts[-1]}".replace("\n", "⏎").replace("|", "¦")


def main() -> None:
    """Train what is missing, then print the table and the samples."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path("runs/breaks"))
    options = parser.parse_args()
    settings = [SOUND, *SETTINGS]
    runs = {setting: train(setting, options.steps, options.out) for setting in settings}
    names = {setting: "nothing broken" if setting == SOUND else f"`{setting}`" for setting in runs}
    print("| | training loss | validation loss |\n|---|---|---|")
    for setting, run in runs.items():
        print(f"| {names[setting]} | {losses(run, options.steps)} |")
    for setting, run in runs.items():
        print(f"\n{names[setting]}\n")
        print("\n".join(f"> {sample(run, prompt)}" for prompt in PROMPTS))


if __name__ == "__main__":
    main()
