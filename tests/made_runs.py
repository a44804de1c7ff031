"""Run folders made by formula, the same every time, and the app over them."""

import dataclasses
import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from textual.screen import Screen

from mlx_gpt.config import Config, DataConfig, ModelConfig, TrainConfig, dump
from mlx_gpt.run import Record, Run, append
from tui.app import MlxGptApp
from tui.inside import Inside
from tui.recorded import Recorded

GOLDEN = Path(__file__).parent / "golden"
BEGAN = 1_700_000_000.0
PROMPTS = ("", "Once", "Un día")


def config(**train: Any) -> Config:
    """A small configuration."""
    return Config(
        model=ModelConfig(vocab_size=257, context_length=32, d_model=64, n_layers=2),
        data=DataConfig(tokenizer="bytes"),
        train=dataclasses.replace(TrainConfig(steps=200, warmup=10, eval_every=50), **train),
    )


def step_record(step: int, **values: Any) -> Record:
    """A logged step on a smooth curve with a little waviness."""
    loss = 2 + 3.5 * math.exp(-step / 60) + 0.05 * math.sin(step)
    return {
        "kind": "step",
        "time": BEGAN + step / 10,
        "step": step,
        "loss": loss,
        "loss_min": loss - 0.1,
        "loss_max": loss + 0.1,
        "lr": 1e-3 * min(step / 10, 1),
        "grad_norm": 1 + math.cos(step) / 4,
        "tokens_per_second": 5000.0 + step,
        "active_memory": 10_000_000,
        "peak_memory": 20_000_000,
        **values,
    }


def eval_record(step: int, loss: float | None = None) -> Record:
    """An evaluation a little above the training loss."""
    val_loss = 2.1 + 3.4 * math.exp(-step / 60) if loss is None else loss
    return {"kind": "eval", "time": BEGAN + step / 10, "step": step, "val_loss": val_loss}


def made_run(
    root: Path,
    name: str = "stories",
    *,
    steps: int = 200,
    end: str | None = "done",
    vals: Sequence[float] = (),
    settings: Config | None = None,
) -> Run:
    """A whole run folder; `vals` replaces the validation losses, `end` the reason it finished."""
    run = Run(root / name)
    run.path.mkdir(parents=True)
    facts = {"train_tokens": 100_000, "unigram_entropy": 3.1, "bigram_entropy": 2.4}
    run.data_json.write_text(json.dumps(facts), encoding="utf-8")
    started = {"kind": "started", "time": BEGAN, "step": 0, "steps": 200, "memory_limit": 10**9}
    append(run.events, started)
    for step in range(steps + 1):
        if step:
            append(run.metrics, step_record(step))
        if step % 50 == 0:
            evaluate(run, step, vals[step // 50] if vals else None)
    if end:
        append(run.events, {"kind": "finished", "time": BEGAN + 20, "step": steps, "reason": end})
    run.lock.touch()
    run.config_toml.write_text(dump(settings or config()), encoding="utf-8")
    for path in run.path.iterdir():
        os.utime(path, (BEGAN + 20, BEGAN + 20))
    return run


def evaluate(run: Run, step: int, loss: float | None = None) -> None:
    """An evaluation with all that is written at one."""
    append(run.metrics, eval_record(step, loss))
    for prompt in PROMPTS:
        text = f" the fox at {step} ran home"
        append(run.samples, {"kind": "sample", "step": step, "prompt": prompt, "text": text})
    losses = [5 * math.exp(-step / 100) + 0.1 * i for i in range(6)]
    pieces = ["El", " z", "orro", " [b]", "co", "rre"]
    values = {"step": step, "pieces": pieces, "losses": losses}
    append(run.samples, {"kind": "surprise", **values})


def recorded_app(folder: Path) -> MlxGptApp:
    """The app over the recorded answers, without waiting between tokens."""
    app = MlxGptApp(folder / "runs", model="demo")
    app.insides[False] = Inside(Recorded(pace=0))
    return app


def text_of(screen: Screen[Any]) -> str:
    """What a screen shows, as text."""
    strips = screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


def check_golden(name: str, text: str) -> None:
    """Compare with the text kept under that name; MLX_GPT_GOLDEN=write keeps this one."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("MLX_GPT_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == path.read_text(encoding="utf-8")
