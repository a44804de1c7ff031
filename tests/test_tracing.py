"""The tap: it sees every row, changes only what it is told to, and is nothing while it is off."""

import re
from collections import Counter
from pathlib import Path

from mlx_gpt.device import mx

import numpy as np
import pytest
from test_model import SMALL, every_causal_variant, every_variant, loud, random_tokens, variant

from benchmarks.trace_idle import model_without_taps
from mlx_gpt.model import GPT, KVCache
from mlx_gpt.steps import layout, shape, sizes
from mlx_gpt.tracing import Rows, Tape, off

B, T = 2, 7
TOKENS = mx.array(random_tokens(B, T))


def equal(a: mx.array, b: mx.array) -> bool:
    """Bit for bit."""
    return bool(mx.array_equal(a, b))


@every_variant
def test_the_names_are_those_of_the_table_and_the_shapes_are_its_axes(changes: dict) -> None:
    config = variant(changes)
    tape = Tape("*")
    logits = loud(config)(TOKENS, tap=tape)
    steps, dims = layout(config), sizes(config, B=B, T=T)
    assert tape.names == [step.name for step in steps]
    shapes = {step.name: shape(step.entry.axes, dims) for step in steps}
    assert {name: x.shape for name, x in tape.rows.items()} == shapes
    assert logits.shape == shapes["logits"]


@every_causal_variant
def test_with_a_cache_too(changes: dict) -> None:
    config = variant(changes)
    model, cache, tape = loud(config), KVCache(config, B), Tape("*")
    model(TOKENS[:, :4], cache)
    model(TOKENS[:, 4:], cache, tap=tape)
    steps, dims = layout(config, cached=True), sizes(config, B=B, T=3, start=4)
    assert tape.names == [step.name for step in steps]
    shapes = {step.name: shape(step.entry.axes, dims) for step in steps}
    assert {name: x.shape for name, x in tape.rows.items()} == shapes


@every_variant
def test_traced_logits_are_the_untraced_ones_bit_for_bit(changes: dict) -> None:
    model = loud(variant(changes))
    plain = model(TOKENS)
    assert equal(model(TOKENS, tap=Tape("*")), plain)
    assert equal(model(TOKENS, tap=Tape(watch=lambda name, x, rows: None)), plain)


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16])
def test_in_half_precision_too(dtype: mx.Dtype) -> None:
    model = loud(SMALL)
    model.set_dtype(dtype)
    assert equal(model(TOKENS, tap=Tape("*")), model(TOKENS))


def primitives(array: mx.array, path: Path) -> Counter[str]:
    """How many nodes of each kind the graph of an array has."""
    mx.export_to_dot(str(path), array)
    return Counter(re.findall(r'label ="(\w+)"', path.read_text(encoding="utf-8")))


@every_variant
def test_without_a_tape_the_graph_has_no_node_more_than_a_model_without_taps(
    changes: dict, tmp_path: Path
) -> None:
    config = variant(changes)
    tapped, plain = GPT(config), model_without_taps().GPT(config)
    mx.eval(tapped.parameters(), plain.parameters())
    found = primitives(tapped(TOKENS), tmp_path / "tapped.dot")
    assert found == primitives(plain(TOKENS), tmp_path / "plain.dot")
    assert found.total() > 20
    assert primitives(tapped(TOKENS, tap=Tape()), tmp_path / "tape.dot") == found


def test_the_idle_tap_is_the_identity_everywhere() -> None:
    x = mx.zeros(3)
    assert off("x", x) is x
    assert off.at("blocks.0") is off
    assert off.choose("context", mx.ones(3), x) is x
    assert not off.live


def test_a_trace_leaves_chance_and_the_model_alone() -> None:
    model = loud(variant({"dropout": 0.5}))
    model.train()
    mx.random.seed(7)
    before = mx.random.normal((2,))
    mx.random.seed(7)
    traced = model(TOKENS, tap=Tape("*"))
    mx.eval(traced)
    assert equal(mx.random.normal((2,)), before)
    assert model.training
    assert equal(traced, model(TOKENS))


def test_a_model_that_recomputes_activations_is_traced_once() -> None:
    model = loud(SMALL)
    plain = model(TOKENS)
    model.recompute = True
    tape = Tape("*")
    assert equal(model(TOKENS, tap=tape), plain)
    assert tape.names == [step.name for step in layout(SMALL)]
    assert model.recompute


def test_a_name_may_come_only_once() -> None:
    tape = Tape()
    tape.at("blocks.0")("up", TOKENS)
    with pytest.raises(ValueError, match=r"blocks\.0\.up came twice"):
        tape("blocks.0.up", TOKENS)


def test_only_rows_asked_for_are_kept() -> None:
    tape = Tape(["blocks.1.*proj", "logits"])
    loud(SMALL)(TOKENS, tap=tape)
    places = [f"blocks.1.{name}_proj" for name in "qkv"]
    assert list(tape.rows) == [*places, "logits"]


def test_an_edit_sees_the_value_and_the_earlier_rows_and_its_result_goes_on() -> None:
    model, seen = loud(SMALL), []

    def skip_the_norm(x: mx.array, rows: Rows) -> mx.array:
        seen.extend(rows)
        return rows["blocks.1.resid_ffn"]

    tape = Tape("logits", edits={"final_norm": skip_the_norm})
    logits = model(TOKENS, tap=tape)
    untouched = Tape("*")
    model(TOKENS, tap=untouched)
    expected = model.embedding.as_linear(untouched.rows["blocks.1.resid_ffn"])
    assert equal(logits, expected)
    assert seen == untouched.names[:-2]


@pytest.mark.parametrize("row", ["scores", "masked", "weights", "context"])
def test_an_edit_inside_attention_reaches_the_logits(row: str) -> None:
    model = loud(SMALL)
    plain = model(TOKENS)
    same = Tape(edits={f"blocks.1.{row}": lambda x, rows: x})
    assert np.allclose(np.array(model(TOKENS, tap=same)), np.array(plain), atol=1e-4)
    assert [*same.differences] == ["blocks.0.context"]
    moved = model(TOKENS, tap=Tape(edits={f"blocks.1.{row}": lambda x, rows: x * 0.5}))
    assert float(mx.abs(moved - plain).max()) > 1e-2


def test_without_the_mask_the_future_is_seen_as_in_a_model_without_one() -> None:
    model, open_model = loud(SMALL), loud(variant({"causal": False}))
    edits = {f"blocks.{i}.masked": lambda x, rows, i=i: rows[f"blocks.{i}.scores"] for i in (0, 1)}
    edited = model(TOKENS, tap=Tape(edits=edits))
    assert float(mx.abs(edited - open_model(TOKENS)).max()) < 1e-4


def test_the_fused_attention_is_compared_with_its_steps() -> None:
    model, tape = loud(SMALL), Tape()
    model(TOKENS, tap=tape)
    assert [*tape.differences] == ["blocks.0.context", "blocks.1.context"]
    for gap, scale in tape.differences.values():
        assert 0 <= float(gap) < 1e-5 * max(1.0, float(scale))
    wrong = Tape()
    x = wrong.choose("context", mx.array([1.0, 2.0]), mx.array([1.0, 2.5]))
    assert x.tolist() == [1.0, 2.5]
    assert [float(figure) for figure in wrong.differences["context"]] == [0.5, 2.0]


def test_a_probe_is_added_to_its_row() -> None:
    model, ones = loud(SMALL), mx.ones((B, T, SMALL.vocab_size))
    probed = model(TOKENS, tap=Tape(probes={"logits": ones}))
    assert equal(probed, model(TOKENS) + 1)


def test_a_watch_sees_every_row_in_order_and_only_one_part_at_a_time() -> None:
    seen, held = [], []

    def watch(name: str, x: mx.array, rows: Rows) -> None:
        seen.append(name)
        held.append(list(rows))
        assert rows[name] is x

    tape = Tape(watch=watch)
    loud(SMALL)(TOKENS, tap=tape)
    tape.flush()
    steps = layout(SMALL)
    assert seen == [step.name for step in steps]
    for step, names in zip(steps, held, strict=True):
        assert {*step.inputs} - {"ids"} <= {*names}
    of_a_block = sum(step.layer == 0 for step in steps)
    assert max(map(len, held)) == of_a_block + len(["the stream", "final_norm", "logits"])
    assert tape.rows == {}


def test_what_never_came_is_known() -> None:
    tape = Tape(edits={"final_nrom": lambda x, rows: x, "tok": lambda x, rows: x})
    loud(SMALL)(TOKENS, tap=tape)
    assert tape.unused() == {"final_nrom"}
