"""The replay: right where the model is right, and red in exactly the row that is wrong."""

import dataclasses
import math

from mlx_gpt.device import mx

import numpy as np
import oracle
import pytest
from test_model import (
    SMALL,
    every_variant,
    in_numpy,
    loud,
    random_tokens,
    variant,
)

from mlx_gpt.config import SampleConfig
from mlx_gpt.replay import erf, forward
from mlx_gpt.steps import layout, shape, sizes
from mlx_gpt.tracer import trace
from mlx_gpt.traces import Trace
from mlx_gpt.tracing import Edit

TOKENS = random_tokens(2, 7)


def red(found: Trace) -> list[str]:
    """The rows whose replay disagrees."""
    return [row.name for row in found.rows if row.replay and not row.replay.ok]


def test_erf_is_that_of_the_standard_library_to_twelve_digits() -> None:
    x = np.concatenate([np.linspace(-7, 7, 20011), np.geomspace(1e-300, 1, 500), [0.0, 1e9]])
    exact = np.array([math.erf(value) for value in x])
    assert np.abs(erf(x) - exact).max() < 1e-14
    assert np.abs(erf(x[20011:-2]) / exact[20011:-2] - 1).max() < 1e-12
    assert erf(np.array([-0.3, 0.3])).sum() == 0


@every_variant
def test_the_replays_composed_are_the_oracle(changes: dict) -> None:
    config = variant(changes)
    params = in_numpy(loud(config))
    rows = forward(config, params, TOKENS, TOKENS)
    expected = oracle.forward(params, config, TOKENS)
    assert np.abs(rows["logits"] - expected).max() < 1e-11 * np.abs(expected).max()
    assert rows["loss"] == pytest.approx(oracle.loss(params, config, TOKENS, TOKENS), rel=1e-12)
    dims = sizes(config, B=2, T=7, P=7)
    steps = layout(config, loss=True)
    assert [*rows] == [step.name for step in steps]
    assert all(rows[step.name].shape == shape(step.entry.axes, dims) for step in steps)


@every_variant
def test_every_row_of_a_loud_model_proves_itself(changes: dict) -> None:
    found = trace(loud(variant(changes)), TOKENS, targets=TOKENS[:, 1:])
    assert found.ok
    assert all(row.replay for row in found.rows)
    assert red(found) == []


@pytest.mark.parametrize(("dtype", "tolerance"), [(mx.float16, 4e-3), (mx.bfloat16, 3e-2)])
@pytest.mark.parametrize(
    "changes", [{}, {"position": "learned"}, {"norm": "rmsnorm", "activation": "swiglu"}]
)
def test_half_precision_has_a_tolerance_of_its_own(
    changes: dict, dtype: mx.Dtype, tolerance: float
) -> None:
    model = loud(variant(changes))
    model.set_dtype(dtype)
    found = trace(model, TOKENS)
    assert found.ok
    assert found["logits"].dtype == str(dtype).rpartition(".")[2]
    proof = found["blocks.1.up"].replay
    assert proof
    assert proof.tol == tolerance
    assert proof.rel > 2e-5


def nudge(x: mx.array) -> mx.array:
    """One number moved by a thousandth of the largest."""
    flat = x.flatten()
    largest = mx.abs(mx.where(mx.isfinite(flat), flat, 0)).max()
    return mx.concatenate([flat[:1] + 1e-3 * largest, flat[1:]]).reshape(x.shape)


@pytest.mark.parametrize(
    "changes", [{}, {"position": "learned", "activation": "swiglu"}, {"norm_order": "post"}]
)
def test_a_row_that_is_off_by_a_thousandth_is_the_only_red_one(changes: dict) -> None:
    config = variant(changes)
    model = loud(config)
    for step in layout(config, loss=True):
        edits: dict[str, Edit] = {step.name: lambda x, rows: nudge(x)}
        assert red(trace(model, TOKENS, targets=TOKENS, edits=edits)) == [step.name]


WRONG: dict[str, Edit] = {
    "blocks.0.merged": lambda x, rows: rows["blocks.0.context"].reshape(x.shape),
    "blocks.0.scores": lambda x, rows: x * 10**0.5,
    "blocks.0.masked": lambda x, rows: rows["blocks.0.scores"],
    "blocks.1.norm1": lambda x, rows: x * (1 + 1e-3),
    "blocks.1.q_rot": lambda x, rows: rows["blocks.1.q"],
    "blocks.1.norm2": lambda x, rows: rows["blocks.1.norm1"],
    "blocks.1.act": lambda x, rows: (
        0.5
        * rows["blocks.1.up"]
        * (1 + mx.tanh(0.7978845608 * (rows["blocks.1.up"] + 0.044715 * rows["blocks.1.up"] ** 3)))
    ),
    "final_norm": lambda x, rows: rows["blocks.1.resid_ffn"],
}


@pytest.mark.parametrize("name", WRONG)
def test_a_classic_mistake_is_red_in_its_row(name: str) -> None:
    assert red(trace(loud(SMALL), TOKENS, edits={name: WRONG[name]})) == [name]


SAMPLES = {
    "plain": {},
    "greedy": {"temperature": 0.0},
    "cold": {"temperature": 0.3},
    "top-k": {"top_k": 5},
    "top-p": {"top_p": 0.7},
    "min-p": {"min_p": 0.1},
    "all": {"top_k": 9, "top_p": 0.9, "min_p": 0.02, "repetition_penalty": 1.3},
    "greedy with a penalty": {"temperature": 0.0, "repetition_penalty": 2.0},
}


@pytest.mark.parametrize("changes", SAMPLES.values(), ids=SAMPLES.keys())
@pytest.mark.parametrize("known", [None, 23])
def test_the_rows_of_sampling_prove_themselves(changes: dict, known: int | None) -> None:
    sample = dataclasses.replace(SampleConfig(), **changes)
    found = trace(loud(SMALL), TOKENS, sample=sample, known=known, keep=("filtered", "probs"))
    assert red(found) == []
    assert found["token"].replay
    assert ("known" in [row.name for row in found.rows]) == (known is not None)
    p = found["probs"].value
    assert p is not None
    assert np.allclose(p.sum(-1), 1)
