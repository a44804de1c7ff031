"""`bench`: what it counts is right, what it times adds up, and what it prints can be compared."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

from mlx_gpt.device import mx

import pytest
from mlx.utils import tree_flatten

from mlx_gpt.bench import (
    Shape,
    copy_bytes,
    matmul_flops,
    measure_sampling,
    measure_training,
    measured_shape,
    medians,
    products,
    spent,
)
from mlx_gpt.commands.bench import read_result
from mlx_gpt.config import ModelConfig, TrainConfig, load_preset
from mlx_gpt.errors import UserError
from mlx_gpt.inventory import decoding_bytes, training_flops
from mlx_gpt.model import GPT, KVCache

ROOT = Path(__file__).parent.parent
TINY = ModelConfig(vocab_size=40, context_length=16, d_model=32, n_layers=2, n_heads=4, d_ff=96)
SHAPES = {
    "tied": {},
    "untied": {"tied_head": False},
    "learned": {"position": "learned"},
    "grouped": {"n_kv_heads": 2},
    "swiglu": {"activation": "swiglu"},
}


def varied(changes: dict) -> ModelConfig:
    return ModelConfig(**{**dataclasses.asdict(TINY), "n_kv_heads": 0, **changes})


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mlx_gpt", "bench", *arguments],
        cwd=ROOT,
        env=os.environ | {"MLX_DISABLE_COMPILE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("changes", SHAPES.values(), ids=SHAPES.keys())
def test_a_token_reads_the_bytes_of_all_arrays_but_the_rows_not_looked_up(changes: dict) -> None:
    config = varied(changes)
    arrays = dict(tree_flatten(GPT(config).parameters(), destination={}))
    looked_up = {"positions.weight"} | (set() if config.tied_head else {"embedding.weight"})
    weights = sum(array.nbytes for name, array in arrays.items() if name not in looked_up)
    cache = KVCache(config, 1, room=5)
    held = sum(keys.nbytes + values.nbytes for keys, values, _ in cache.state)
    assert decoding_bytes(config, 5) == weights + held


@pytest.mark.parametrize("changes", SHAPES.values(), ids=SHAPES.keys())
def test_the_products_are_those_of_the_matrices_of_the_model(changes: dict) -> None:
    config = varied(changes)
    arrays = dict(tree_flatten(GPT(config).parameters(), destination={}))
    ends = ("_proj.weight", "head.weight", *(["embedding.weight"] if config.tied_head else []))
    matrices = [array.shape for name, array in arrays.items() if name.endswith(ends)]
    counted = products(config, rows=7)
    expanded = [(out, into) for (_, into, out), times in counted.items() for _ in range(times)]
    assert sorted(expanded) == sorted(matrices)
    assert {rows for rows, _, _ in counted} == {7}


def test_the_median_is_that_of_works_taking_turns() -> None:
    order: list[str] = []

    def work(name: str) -> object:
        order.append(name)
        return mx.array(1)

    times = medians({"a": lambda: work("a"), "b": lambda: work("b")}, budget=0.1)
    assert list(times) == ["a", "b"]
    assert min(times.values()) > 0
    assert order == ["a", "b"] * (len(order) // 2)
    assert len(order) >= 2 * 4  # the first round only warms up


@pytest.mark.parametrize(
    ("rounds", "seconds", "ends"),
    [(0, 99.0, False), (1, 1.5, False), (1, 2.0, True), (2, 0.5, False), (3, 1.0, True)],
)
def test_a_measurement_ends_with_its_budget(rounds: int, seconds: float, ends: bool) -> None:
    assert spent(rounds, seconds, budget=1.0) is ends


def test_more_work_takes_longer() -> None:
    small, large = mx.ones((64, 64)), mx.ones((1024, 1024))
    times = medians({"small": lambda: small @ small, "large": lambda: large @ large}, 0.1)
    assert times["large"] > 3 * times["small"]


def test_rates_are_those_of_a_computer() -> None:
    assert 1e8 < matmul_flops(TINY, 256, budget=0.1) < 1e15
    assert 1e8 < copy_bytes(10**6, budget=0.1) < 1e14


@pytest.mark.parametrize(
    ("flops", "shape"),
    [(1e15, Shape(8, 16)), (1.0, Shape(1, 1))],
)
def test_a_step_too_slow_to_measure_is_made_smaller(flops: float, shape: Shape) -> None:
    assert measured_shape(TINY, 8, flops) == shape


def test_the_batch_shrinks_before_the_length() -> None:
    enough = training_flops(TINY, 1, 16) / 2.0
    assert measured_shape(TINY, 8, enough) == Shape(1, 16)
    assert measured_shape(TINY, 8, enough * 0.99) == Shape(1, 8)


def test_training_is_measured_and_its_parts_add_up() -> None:
    done = measure_training(TINY, TrainConfig(batch_size=4, grad_accumulation=3), budget=0.8)
    assert done.shape == Shape(4, 16)
    assert done.flops_per_step == training_flops(TINY, 4, 16)
    assert done.tokens_per_second == pytest.approx(64 / done.step_seconds)
    share = done.flops_per_step / done.step_seconds / done.matmul_flops
    assert done.share_of_roofline == pytest.approx(share)
    assert done.peak_memory > 0
    assert done.first_step_seconds > 0
    assert [part.name for part in done.parts] == ["forward", "backward", "update"]
    inner, forward = done.forward_parts, done.parts[0].seconds
    assert {"embedding", "attention", "feed-forward", "norms", "head and loss", "rest"} == {
        part.name for part in inner
    }
    assert sum(part.seconds for part in inner) >= forward * (1 - 1e-6)


def test_sampling_is_measured_within_the_context() -> None:
    done = measure_sampling(TINY, budget=0.5)
    assert done.tokens_per_second > 1
    rate = done.tokens_per_second * done.bytes_per_token
    assert done.share_of_roofline == pytest.approx(rate / done.copy_bytes_per_second)
    assert decoding_bytes(TINY, 8) <= done.bytes_per_token <= decoding_bytes(TINY, 16)
    assert done.prefill_seconds > 0


def test_the_smallest_context_can_be_measured() -> None:
    assert measure_sampling(varied({"context_length": 1}), budget=0.05).tokens_per_second > 0


def test_the_command_measures_both_and_compares(tmp_path: Path) -> None:
    done = bench("mini", "--seconds", "0.3", "--json")
    result = json.loads(done.stdout)
    assert result["roofline"].keys() == {"matmul_flops", "copy_bytes_per_second"}
    assert {"tokens_per_second", "share_of_roofline"} <= result["train"].keys()
    assert {"tokens_per_second", "share_of_roofline"} <= result["sample"].keys()
    assert result["device"] in ("cpu", "gpu")
    assert result["first_step_seconds"] > 0
    earlier = tmp_path / "earlier.json"
    result["train"]["tokens_per_second"] = 1e-3
    earlier.write_text(json.dumps(result), encoding="utf-8")
    again = bench("mini", "--seconds", "0.3", "--only", "train", "--compare", str(earlier))
    assert again.returncode == 0
    (line,) = [line for line in again.stdout.splitlines() if line.startswith("train ")]
    assert float(line.split()[1]) == 1e-3
    assert float(line.split()[3]) > 1e3
    refused = bench("toy", "--compare", str(earlier))
    assert refused.returncode == 2
    assert "is of the model mini, not of toy" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "nothing"),
        (["mini", "--seconds", "0"], "--seconds 0.0: must be above 0"),
        (["mini", "--compare", "nowhere.json"], "cannot read nowhere.json"),
        (["mini", "--compare", "pyproject.toml"], "is no result of mlx-gpt bench --json"),
    ],
)
def test_what_cannot_be_measured_is_refused(arguments: list[str], message: str) -> None:
    done = bench(*arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_preset_with_dropout_is_measured_with_it() -> None:
    train = dataclasses.replace(load_preset("mini").train, batch_size=2)
    done = measure_training(varied({"dropout": 0.5}), train, budget=0.3)
    assert done.tokens_per_second > 1


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"model": "mini", "roofline": {}}',
        '{"model": "mini", "roofline": [1], "device_name": "cpu"}',
        '{"model": "mini", "roofline": {"copy_bytes_per_second": "x"}, "device_name": "cpu"}',
        '{"model": "mini", "roofline": {}, "device_name": "cpu", "sample": null}',
    ],
)
def test_a_damaged_earlier_result_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "earlier.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="is no result of mlx-gpt bench --json"):
        read_result(path)
