"""The observer of a trace: it looks at every row while it passes, and holds none of them back."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from mlx_gpt.device import kind, mx

import mlx.nn as nn
import numpy as np
from mlx.utils import tree_flatten

from mlx_gpt.config import ModelConfig, SampleConfig
from mlx_gpt.measures import Stats, distance, measure
from mlx_gpt.model import GPT
from mlx_gpt.replay import Given, prove, tolerance
from mlx_gpt.steps import Step, sizes
from mlx_gpt.traces import Guess, Lens, Proof
from mlx_gpt.tracing import Rows, matches


class Pass(NamedTuple):
    """What goes through the model: tokens (B, T), those that follow, and how to choose the next."""

    tokens: np.ndarray
    targets: np.ndarray | None
    start: int
    sample: SampleConfig | None
    known: int | None

    @property
    def given(self) -> dict[str, np.ndarray]:
        """The inputs that are no rows."""
        return {"ids": self.tokens} | ({} if self.targets is None else {"targets": self.targets})

    def sizes(self, config: ModelConfig) -> dict[str, int]:
        """The size of every axis."""
        B, T = self.tokens.shape
        P = 0 if self.targets is None else self.targets.shape[1]
        return sizes(config, B=B, T=T, start=self.start, P=P)


class Facts(NamedTuple):
    """What is known of a row once it has been seen."""

    shape: tuple[int, ...]
    dtype: str
    bytes: int
    stats: Stats
    replay: Proof | None
    value: np.ndarray | None


def dtype_name(x: mx.array) -> str:
    """float32, as NumPy calls it."""
    return str(x.dtype).rpartition(".")[2]


def as_numpy(x: mx.array) -> np.ndarray:
    """A view of the array; NumPy has no bfloat16, so that one is widened."""
    return np.asarray(x.astype(mx.float32) if x.dtype == mx.bfloat16 else x)


class Weights:
    """A model's parameters for NumPy, by name; quantised ones as the numbers they stand for."""

    def __init__(self, model: GPT):
        self.arrays: dict[str, mx.array] = dict(tree_flatten(model.parameters(), destination={}))
        self.modules = dict(model.named_modules())

    def __getitem__(self, name: str) -> np.ndarray:
        place = name.rpartition(".")[0]
        module = self.modules[place]
        if name.endswith(".weight") and isinstance(
            module, nn.QuantizedLinear | nn.QuantizedEmbedding
        ):
            return as_numpy(dequantised(module))
        return as_numpy(self.arrays[name])


def dequantised(module: nn.QuantizedLinear | nn.QuantizedEmbedding) -> mx.array:
    """The matrix that a quantised module multiplies by."""
    scales, biases = module["scales"], module.get("biases")
    return mx.dequantize(
        module["weight"], scales, biases, module.group_size, module.bits, mode=module.mode
    )


class Observer:
    """Looks at every row as it passes: statistics, replay, value, lens and ledger."""

    def __init__(
        self, model: GPT, plan: Sequence[Step], given: Pass, *, keep: Sequence[str], lens: int
    ):
        self.model, self.given, self.keep, self.top = model, given, keep, lens
        self.plan = {step.name: step for step in plan}
        self.weights: Weights | None = None  # where rows are to be replayed
        self.tf32 = uses_tf32()
        self.stream = set(stream_rows(model.config))
        self.facts: dict[str, Facts] = {}
        self.lens: list[Lens] = []
        self.ledger = Ledger(model.config)

    def __call__(self, name: str, x: mx.array, rows: Rows) -> None:
        array, step, dtype = as_numpy(x), self.plan[name], dtype_name(x)
        stats = measure(array)
        proof = None
        if self.weights:
            scale = max(abs(stats.min or 0.0), abs(stats.max or 0.0))
            tol = tolerance(step, dtype, tf32=self.tf32)
            proof = prove(self.sources(step, array, rows, self.weights), scale, tol)
        value = array.copy() if matches(name, self.keep) else None
        self.facts[name] = Facts(x.shape, dtype, x.nbytes, stats, proof, value)
        self.ledger.add(step.kind, array)
        if self.top and name in self.stream:
            self.lens.append(look(self.model, name, x, self.top))

    def sources(self, step: Step, array: np.ndarray, rows: Rows, weights: Weights) -> Given:
        """What a row was made from, and the row itself."""
        given = self.given.given
        inputs = [given[name] if name in given else as_numpy(rows[name]) for name in step.inputs]
        params = [weights[name] for name in step.params]
        sample, T = self.given.sample or SampleConfig(), self.given.tokens.shape[1]
        return Given(step, inputs, params, self.model.config, sample, self.given.start, T, array)


class Ledger:
    """Adds up what is written to the residual stream, to check that nothing else changes it."""

    def __init__(self, config: ModelConfig):
        self.begins = "embed" if config.position == "learned" else "tok"
        self.total: np.ndarray | None = None
        self.last: np.ndarray | None = None

    def add(self, kind: str, array: np.ndarray) -> None:
        """Take note of a row."""
        if kind == self.begins:
            self.total = self.last = array.astype(np.float64)
        elif kind in ("attn_out", "down"):
            self.total = self.total + array
        elif kind == "resid_ffn":
            self.last = array

    def error(self) -> float:
        """How far the stream is from its beginning plus all writes, as a share of its largest."""
        assert self.total is not None
        assert self.last is not None
        return distance(self.total, self.last) / max(float(np.abs(self.total).max()), 1e-30)


def uses_tf32() -> bool:
    """Whether products in float32 may be rounded to TF32 on this device."""
    return kind() == "gpu" and os.environ.get("MLX_ENABLE_TF32", "1") != "0"


def stream_rows(config: ModelConfig) -> list[str]:
    """The rows at which the residual stream enters a block or leaves the last."""
    end = "resid_ffn" if config.norm_order == "pre" else "norm2"
    begin = "embed" if config.position == "learned" else "tok"
    return [begin, *(f"blocks.{layer}.{end}" for layer in range(config.n_layers))]


def look(model: GPT, name: str, x: mx.array, top: int) -> Lens:
    """What the head would make of the stream here (logit lens, nostalgebraist 2020)."""
    here = x[:1, -1:]
    p = mx.softmax(model.read_out(here)[0, 0].astype(mx.float32), precise=True)
    best = mx.argsort(-p)[:top]
    ids, shares = as_numpy(best).tolist(), as_numpy(p[best]).tolist()
    norm = float(mx.linalg.norm(here.astype(mx.float32)))
    return Lens(name, norm, tuple(map(Guess, ids, shares)))
