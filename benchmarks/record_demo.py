"""Record the demo: a run, and what the worker says of its model.

    mlx-gpt train tui/demo/config.toml --name story
    python -m benchmarks.record_demo runs/story

Do it again whenever the records of a run or the protocol of the worker change.
"""

import base64
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mlx_gpt.device import choose

from mlx_gpt.run import Record
from mlx_gpt.worker import Request, Worker
from tui.inside import array
from tui.recorded import ANSWERS, Recording, key_of, write_recording
from tui.replay import GROWING, RECORDING, WHOLE

PROMPTS = ("Once upon a time", "Un día")
BREAKS = ("mask_none", "rope_missing", "no_ln_f", "scale_none")
SEED, SAMPLES, TOKENS, TOP = 7, 4, 48, 40


def questions(model: Record, prompt: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Everything the pages ask of one prompt."""
    config = model["config"]
    yield "trace", {"prompt": prompt}
    yield "gradients", {"prompt": prompt}
    for layer in range(config["n_layers"]):
        for head in range(config["n_heads"]):
            yield "attention", {"prompt": prompt, "layer": layer, "head": head}


def inside(prompt: str, names: list[str], count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The numbers of every row, and what is asked of every position."""
    for name in names:
        yield "value", {"prompt": prompt, "row": name}
    for position in range(count):
        for do in ("lens", "account", "cone"):
            yield do, {"prompt": prompt, "position": position}


def changed(model: Record, prompt: str) -> Iterator[dict[str, Any]]:
    """The pass through a model that is changed: by a break, or with a part knocked out."""
    for name in BREAKS:
        yield {"prompt": prompt, "break": name}
    for head in range(model["config"]["n_heads"]):
        edit = {"row": "blocks.0.context", "how": "zero", "axis": 1, "at": head}
        yield {"prompt": prompt, "edits": [edit]}
    for kind in ("attn_out", "down"):
        yield {"prompt": prompt, "edits": [{"row": f"blocks.0.{kind}", "how": "zero"}]}


def small(value: Any) -> Any:
    """The same answer with numbers of four digits, which is what the pages show."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict) and value.get("dtype") == "float32" and "data" in value:
        data = base64.b64encode(array(value).astype("<f2").tobytes()).decode("ascii")
        return {"shape": value["shape"], "dtype": "float16", "data": data}
    if isinstance(value, dict):
        return {key: small(each) for key, each in value.items()}
    return [small(each) for each in value] if isinstance(value, list) else value


class Recorder:
    """Asks a worker, and keeps what it says."""

    def __init__(self) -> None:
        self.worker = Worker()
        self.answers: dict[str, list[Record]] = {}

    def ask(self, do: str, fields: dict[str, Any], **unrecorded: Any) -> list[Record]:
        """Ask, and keep the answer under what was asked."""
        found = list(self.worker.answer(Request({"do": do, **fields, **unrecorded})))
        self.answers[key_of(do, fields)] = [small(record) for record in found]
        return found


def record(run: str) -> Recording:
    """Everything that the demo can be asked."""
    recorder = Recorder()
    (model,) = recorder.ask("load", {}, model=run)
    (offered,) = recorder.ask("breaks", {})
    settings = {"max_tokens": TOKENS}
    for prompt in ("", *PROMPTS):
        recorder.ask("sample", {"prompt": prompt}, seed=SEED, n=SAMPLES, top=TOP, settings=settings)
    for prompt in PROMPTS:
        for do, fields in questions(model, prompt):
            recorder.ask(do, fields)
        (found,) = recorder.ask("trace", {"prompt": prompt})
        names = [row["name"] for row in found["trace"]["rows"]]
        for do, fields in inside(prompt, names, len(found["ids"])):
            recorder.ask(do, fields)
        for given in changed(model, prompt):
            recorder.ask("trace", given)
            recorder.ask("compare", {"a": {"prompt": prompt}, "b": given})
            recorder.ask("attention", {**given, "layer": 0, "head": 0})
    one, other = ({"prompt": prompt} for prompt in PROMPTS)
    recorder.ask("compare", {"a": one, "b": other})
    recorder.ask("compare", {"a": other, "b": one})
    for name in BREAKS:
        for lab in offered["labs"]:
            recorder.ask("check", {"break": name, "labs": [lab]})
    return Recording(recorder.answers, PROMPTS)


if __name__ == "__main__":
    choose("cpu")
    run = Path(sys.argv[1])
    recording = record(str(run))
    for name in (*WHOLE, *GROWING):
        shutil.copy(run / name, RECORDING / name)
    write_recording(ANSWERS, recording)
    print(f"{ANSWERS}: {ANSWERS.stat().st_size} bytes", file=sys.stderr)
