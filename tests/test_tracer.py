"""`trace`: the record of a forward pass, its gradients, its checks, and its file."""

import dataclasses
import json
import math
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

from mlx_gpt.device import mx

import mlx.nn as nn
import numpy as np
import pytest
from jsonschema import Draft202012Validator
from mlx.utils import tree_flatten, tree_unflatten
from test_model import (
    SMALL,
    every_causal_variant,
    every_variant,
    loud,
    random_tokens,
    variant,
)

import mlx_gpt
from mlx_gpt.config import SampleConfig
from mlx_gpt.errors import UserError
from mlx_gpt.measures import measure
from mlx_gpt.model import GPT, KVCache
from mlx_gpt.sampling import generate
from mlx_gpt.steps import layout, shape
from mlx_gpt.tracefile import dumps, from_json, load, save, to_json
from mlx_gpt.tracer import gradients, trace
from mlx_gpt.traces import diff, gap
from mlx_gpt.tracing import EXPLICIT, Tape
from mlx_gpt.training import mean_loss

B, T = 2, 7
TOKENS = random_tokens(B, T)
GOLDEN = Path(__file__).parent / "golden" / "trace.json"
VALIDATOR = Draft202012Validator(json.loads((files("mlx_gpt") / "trace.schema.json").read_text()))
LOOKS = {"targets": TOKENS[:, 1:], "sample": SampleConfig(), "lens": 3, "grad": True}


def golden_model() -> GPT:
    """Two layers whose weights are written by a formula, so that no generator can change them."""
    model = GPT(dataclasses.replace(SMALL, n_heads=6, n_kv_heads=2, d_model=36))
    arrays = {}
    for name, array in dict(tree_flatten(model.parameters(), destination={})).items():
        count = np.arange(array.size).reshape(array.shape)
        arrays[name] = mx.array(np.sin(1 + count * 0.7 + len(name)) * 0.4, mx.float32)
    model.update(tree_unflatten(list(arrays.items())))
    return model


def golden_trace() -> mlx_gpt.Trace:
    """The trace that lies in tests/golden; python tests/test_tracer.py writes it anew."""
    ids = [3, 1, 4, 1, 5, 9, 2]
    return trace(golden_model(), ids, targets=ids[1:], keep="*.weights", lens=2, grad=True)


@every_variant
def test_the_rows_are_the_table_for_every_setting(changes: dict) -> None:
    config = variant(changes)
    found = mlx_gpt.trace(loud(config), TOKENS, **LOOKS, replay=False)
    sampling = ("last", "temperature", "filtered", "probs", "token")
    steps = layout(config, loss=True, sampling=sampling)
    assert [row.name for row in found.rows] == [step.name for step in steps]
    for row, step in zip(found.rows, steps, strict=True):
        assert row.shape == shape(step.entry.axes, found.dims)
        assert row.bytes == 4 * math.prod(row.shape)
        assert (row.inputs, row.params) == (step.inputs, step.params)
    VALIDATOR.validate(to_json(found))


@every_variant
def test_statistics_are_those_of_the_rows(changes: dict) -> None:
    model, tape = loud(variant(changes)), Tape("*")
    model(mx.array(TOKENS), tap=tape)
    found = trace(model, TOKENS, replay=False)
    for row in found.rows:
        assert row.stats == measure(np.array(tape.rows[row.name]))
        assert row.value is None


@every_causal_variant
def test_a_trace_through_the_cache_proves_itself_and_goes_on_where_it_was(changes: dict) -> None:
    config = variant(changes)
    model, cache = loud(config), KVCache(config, B)
    model(mx.array(TOKENS[:, :4]), cache)
    found = trace(model, TOKENS[:, 4:], cache=cache, keep="logits")
    assert found.ok
    assert (cache.length, found.input.start, found.dims["S"]) == (T, 4, T)
    assert found["blocks.1.keys"].shape[2] == T
    value = found["logits"].value
    assert value is not None
    whole = np.array(model(mx.array(TOKENS)))[:, 4:]
    assert np.abs(value - whole).max() < 1e-4 * np.abs(whole).max()


def test_one_sequence_is_a_batch_of_one() -> None:
    model = loud(SMALL)
    one, batch = trace(model, TOKENS[0].tolist()), trace(model, TOKENS[:1])
    assert one["logits"].stats == batch["logits"].stats
    assert one.input.ids == (tuple(TOKENS[0]),)
    assert one.loss is None


def test_the_loss_is_that_of_training() -> None:
    model = loud(SMALL)
    found = trace(model, TOKENS, targets=TOKENS[:, 1:])
    logits = model(mx.array(TOKENS))[:, :-1]
    assert found.loss == float(mean_loss(logits, mx.array(TOKENS[:, 1:])))
    assert found["nll"].shape == (B, T - 1)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("penalty", [1.0, 1.5])
def test_the_token_is_the_one_that_sampling_chooses(temperature: float, penalty: float) -> None:
    model = loud(SMALL)
    sample = SampleConfig(
        temperature=temperature, top_k=8, repetition_penalty=penalty, max_tokens=1
    )
    for seed in range(5):
        found = trace(model, TOKENS[0], sample=sample, seed=seed, keep="token")
        [(token,)] = generate(model, TOKENS[0].tolist(), sample, seed=seed, end_id=None)
        assert token
        assert found["token"].value == [token.id]


@every_variant
def test_gradients_of_rows_rebuild_those_of_the_weights(changes: dict) -> None:
    config = variant(changes)
    model, tokens = loud(config), mx.array(TOKENS)
    tape = Tape("*")
    model(tokens, tap=tape)
    slopes = gradients(model, TOKENS, TOKENS).rows
    assert [*slopes] == [step.name for step in layout(config, loss=True)]
    by_weight = nn.value_and_grad(model, lambda: mean_loss(model(tokens), tokens))()[1]
    expected = dict(tree_flatten(by_weight, destination={}))
    for step in layout(config):
        if step.kind in ("q_proj", "up", "down", "attn_out"):
            x = np.array(tape.rows[step.inputs[0]]).reshape(B * T, -1)
            slope = np.array(slopes[step.name]).reshape(B * T, -1)
            found, right = slope.T @ x, np.array(expected[step.params[0]])
            assert np.abs(found - right).max() < 1e-4 * np.abs(right).max() + 1e-7


def test_the_gradient_by_the_logits_is_probability_minus_truth() -> None:
    model = loud(SMALL)
    slopes = gradients(model, TOKENS, TOKENS).rows
    p = np.array(mx.softmax(model(mx.array(TOKENS)), axis=-1))
    truth = np.eye(SMALL.vocab_size)[TOKENS]
    assert np.abs(np.array(slopes["logits"]) - (p - truth) / TOKENS.size).max() < 1e-7
    assert float(slopes["loss"]) == 1.0
    masked = np.array(slopes["blocks.0.masked"])
    assert np.abs(masked.sum(-1)).max() < 1e-6
    assert np.abs(masked).max() > 1e-5
    assert masked[..., np.triu_indices(T, 1)[0], np.triu_indices(T, 1)[1]].any() == 0


def test_gradients_are_the_same_where_training_recomputes_activations() -> None:
    model = loud(SMALL)
    plain = gradients(model, TOKENS, TOKENS).rows
    model.recompute = True
    again = gradients(model, TOKENS, TOKENS).rows
    assert all(bool(mx.array_equal(plain[name], again[name])) for name in plain)
    assert float(mx.abs(again["blocks.0.up"]).max()) > 0


def test_the_side_branch_is_what_the_logits_do_not_depend_on() -> None:
    model = loud(SMALL)
    beside = [row.name for row in trace(model, TOKENS).rows if row.side_branch]
    assert beside == [f"blocks.{i}.{kind}" for i in (0, 1) for kind in EXPLICIT[:3]]
    edited = trace(model, TOKENS, edits={"blocks.0.scores": lambda x, rows: x})
    assert {row.layer for row in edited.rows if row.side_branch} == {1}


def test_a_gradient_stands_beside_its_row() -> None:
    found = trace(loud(SMALL), TOKENS, targets=TOKENS, grad=True, keep="final_norm")
    slopes = gradients(loud(SMALL), TOKENS, TOKENS).rows
    for row in found.rows:
        assert row.grad == measure(np.array(slopes[row.name]))
    value = found["final_norm"].grad_value
    assert value is not None
    assert np.array_equal(value, np.array(slopes["final_norm"]))
    assert found["logits"].grad_value is None


def test_the_checks_hold_and_fail_with_the_model() -> None:
    model = loud(SMALL)
    found = trace(model, TOKENS)
    names = [(check.name, check.layer) for check in found.checks]
    assert names == [("fused = explicit", 0), ("fused = explicit", 1), ("x_L = x_0 + Σ", None)]
    assert found.ok
    broken = trace(model, TOKENS, edits={"blocks.0.resid_ffn": lambda x, rows: x * 1.01})
    assert [check.ok for check in broken.checks] == [True, True, False]
    assert not broken.ok


def test_the_lens_ends_in_the_logits_of_the_model() -> None:
    model = loud(SMALL)
    found = trace(model, TOKENS, lens=4)
    assert [lens.row for lens in found.lens] == ["tok", "blocks.0.resid_ffn", "blocks.1.resid_ffn"]
    p = np.array(mx.softmax(model(mx.array(TOKENS))[0, -1]))
    last = found.lens[-1]
    assert [guess.id for guess in last.top] == np.argsort(-p)[:4].tolist()
    assert [guess.p for guess in last.top] == pytest.approx(np.sort(p)[:-5:-1], rel=1e-5)


def test_a_quantised_model_is_replayed_with_the_weights_it_computes_with() -> None:
    config = variant({"d_model": 64, "n_heads": 2, "d_ff": 128})
    model = loud(config)
    nn.quantize(model, group_size=32, bits=8)
    assert trace(model, TOKENS).ok


def test_it_validates_reads_back_and_writes_the_same(tmp_path: Path) -> None:
    found = trace(loud(SMALL), TOKENS, **LOOKS, keep=("*.masked", "logits", "token"))
    path = tmp_path / "a.json"
    save(found, path)
    VALIDATOR.validate(json.loads(path.read_text(encoding="utf-8")))
    back = load(path)
    assert dumps(back) == dumps(found)
    masked = back["blocks.0.masked"].value
    assert masked is not None
    assert np.isneginf(masked).sum() == found["blocks.0.masked"].stats.neg_inf
    assert [each for each in diff(found, back) if not each.ok] == []


def test_large_values_lie_beside_the_json(tmp_path: Path) -> None:
    found = trace(loud(variant({"context_length": 300})), random_tokens(1, 200), keep="logits")
    save(found, tmp_path / "a.json")
    record = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert record["rows"][-1]["value"] == "logits"
    value, expected = load(tmp_path / "a.json")["logits"].value, found["logits"].value
    assert value is not None
    assert expected is not None
    assert np.array_equal(value, expected)
    assert to_json(found)["rows"][-1]["value"] is None


def test_a_diverged_model_is_traced_in_strict_json() -> None:
    model = loud(SMALL)
    model.final_norm.weight = model.final_norm.weight * mx.array(np.nan)
    found = trace(model, TOKENS, targets=TOKENS)
    record = json.loads(dumps(found))
    VALIDATOR.validate(record)
    assert record["loss"] is None
    assert found["logits"].stats.nan == found["logits"].bytes // 4
    assert from_json(record)["logits"].stats == found["logits"].stats


def test_numbers_have_six_digits_and_keys_are_sorted() -> None:
    text = dumps(golden_trace())
    record = json.loads(text)
    assert [*record] == sorted(record)
    assert all(len(f"{row['stats']['std']:g}") < 13 for row in record["rows"])
    assert len(text) < 80_000


def test_the_golden_trace_of_two_layers_has_not_changed() -> None:
    found, golden = golden_trace(), load(GOLDEN)
    assert [each for each in diff(golden, found) if not each.ok] == []
    assert found.loss == pytest.approx(golden.loss, rel=1e-5)
    for new, old in zip(found.rows, golden.rows, strict=True):
        for field in dataclasses.fields(new):
            if field.name not in ("stats", "replay", "grad", "value", "grad_value"):
                assert getattr(new, field.name) == getattr(old, field.name)
        assert new.grad
        assert old.grad
        assert new.grad.norm == pytest.approx(old.grad.norm, rel=1e-4)


def test_two_traces_part_where_they_first_differ() -> None:
    model = loud(SMALL)
    plain = trace(model, TOKENS, keep="*")
    model.blocks[1].feed_forward.up_proj.weight[3, 4] += 0.5
    changed = trace(model, TOKENS, keep="*")
    first = next(each for each in diff(plain, changed) if not each.ok)
    assert (first.name, first.by) == ("blocks.1.up", "values")
    without = trace(model, TOKENS)
    first = next(each for each in diff(plain, without) if not each.ok)
    assert first.by == "statistics"
    assert first.name in ("blocks.1.up", "blocks.1.act", "blocks.1.down")
    assert diff(plain, trace(model, TOKENS[:, :5]))[0].by == "shape"
    assert all(each.ok for each in diff(plain, changed, tol=10.0))


def test_of_whole_numbers_none_may_differ() -> None:
    token = trace(loud(SMALL), TOKENS, sample=SampleConfig(), keep="token")["token"]
    a, b = (dataclasses.replace(token, value=np.array([n])) for n in (50_000, 50_001))
    assert gap(a, a, 1e-4).ok
    assert not gap(a, b, 1e-4).ok


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"schema": "mlx-gpt/trace@2"}, "trace@2, not mlx-gpt/trace@1"),
        ([], "None, not mlx-gpt/trace@1"),
        ({"schema": "mlx-gpt/trace@1"}, "damaged"),
        ({"schema": "mlx-gpt/trace@1", "made": 3, "input": {}}, "damaged"),
    ],
)
def test_what_is_no_trace_is_refused(record: object, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(UserError, match=message):
        load(path)


def test_a_file_that_is_missing_or_no_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read"):
        load(tmp_path / "none.json")
    (tmp_path / "a.json").write_text("hello", encoding="utf-8")
    with pytest.raises(UserError, match="no JSON"):
        load(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("ids", "looks", "message"),
    [
        ([], {}, "no token to trace"),
        ([[1, 2], [3]], {}, "differ in length"),
        ([1, 29], {}, "token id 29"),
        ([-1], {}, "token id -1"),
        ([0.5], {}, "whole numbers"),
        ([1] * 14, {}, "do not fit the context"),
        ([1, 2], {"targets": [1, 2, 3]}, "do not fit ids"),
        ([1, 2], {"targets": [1, 99]}, "token id 99"),
        ([1, 2], {"grad": True}, "give targets"),
        ([1], {"edits": {"final_nrom": lambda x, rows: x}}, "did you mean final_norm"),
    ],
)
def test_what_cannot_be_traced_is_refused(ids: list, looks: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        trace(GPT(SMALL), ids, **looks)


def test_a_gradient_through_a_cache_is_refused() -> None:
    with pytest.raises(UserError, match="leave out the cache"):
        trace(GPT(SMALL), [1, 2], targets=[2], grad=True, cache=KVCache(SMALL, 1))


def test_a_row_is_found_by_name_and_rows_by_pattern() -> None:
    found = trace(GPT(SMALL), [1, 2])
    assert [row.name for row in found.only("blocks.0.*_rot", "tok").rows] == [
        "tok",
        "blocks.0.q_rot",
        "blocks.0.k_rot",
    ]
    with pytest.raises(UserError, match="did you mean final_norm"):
        found["final_nrom"]
    with pytest.raises(UserError, match=r"no row fits blocks\.7"):
        found.only("blocks.7.*")


def test_a_trace_is_read_without_mlx() -> None:
    code = (
        "import sys; sys.modules['mlx'] = None; from pathlib import Path; "
        f"from mlx_gpt.tracefile import load; print(load(Path({str(GOLDEN)!r})).ok)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr


@pytest.mark.slow
def test_gpt2_small_at_512_tokens_needs_less_than_300_mb_above_its_weights() -> None:
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "benchmarks/trace_idle.py", "memory", "replay"],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    process = int(done.stdout.partition("the process ")[2].partition(" MB")[0])
    assert 50 < process < 300, done.stdout


if __name__ == "__main__":
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(dumps(golden_trace()) + "\n", encoding="utf-8")
