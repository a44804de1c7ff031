"""The counts against the courses' figures and against real arrays."""

import random

import oracle
import pytest
from mlx.utils import tree_flatten

from mlx_gpt.config import ModelConfig, TrainConfig, load_preset
from mlx_gpt.inventory import (
    forward_flops,
    inventory,
    parameter_count,
    training_bytes,
    training_flops,
    training_memory,
)
from mlx_gpt.model import GPT

MINI, TOY, GPT2 = (load_preset(name).model for name in ("mini", "toy", "gpt2"))


def random_config(seed: int) -> ModelConfig:
    """Any mixture of the settings that change what a model consists of."""
    draw = random.Random(seed)
    n_kv_heads = draw.choice([1, 2, 3])
    n_heads = n_kv_heads * draw.choice([1, 2, 5])
    return ModelConfig(
        vocab_size=draw.randint(1, 99),
        context_length=draw.randint(1, 50),
        d_model=n_heads * draw.choice([2, 4, 6]),
        n_layers=draw.randint(1, 4),
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_ff=draw.choice([0, 7, 31]),
        position=draw.choice(["rope", "learned", "none"]),
        norm=draw.choice(["layernorm", "rmsnorm"]),
        norm_order=draw.choice(["pre", "post"]),
        activation=draw.choice(["gelu", "gelu_tanh", "relu", "swiglu"]),
        attn_bias=draw.random() < 0.5,
        ffn_bias=draw.random() < 0.5,
        tied_head=draw.random() < 0.5,
        final_norm=draw.random() < 0.5,
    )


RANDOM = [random_config(seed) for seed in range(20)]


def test_mini_is_the_model_of_the_first_course() -> None:
    mini = inventory(MINI)
    assert mini.total == 103_680 == 4_096 + 2 * 49_728 + 128
    assert mini.group("embedding.") == 4_096
    assert [mini.group(f"blocks.{layer}.") for layer in range(3)] == [49_728, 49_728, 0]
    assert mini.group("final_norm.") == 128
    assert mini.norms == 640 == 2 * 2 * 2 * 64 + 2 * 64


def test_toy_is_the_model_of_the_second_course() -> None:
    assert inventory(TOY).total == 867_072
    assert inventory(TOY).formula == 860_160


def test_gpt2_is_gpt2_small() -> None:
    gpt2 = inventory(GPT2)
    assert gpt2.total == 124_439_808
    assert gpt2.formula == 12 * 12 * 768**2 + 50_257 * 768 + 1_024 * 768 == 124_318_464


def test_two_thirds_of_a_block_are_feed_forward() -> None:
    d_model, first = GPT2.d_model, "blocks.0."
    matrices = {
        part.name.removeprefix(first): part.count
        for part in inventory(GPT2).components
        if part.name.startswith(first) and len(part.shape) == 2
    }
    attention = sum(count for name, count in matrices.items() if name.startswith("attention."))
    assert attention == 4 * d_model**2
    assert sum(matrices.values()) - attention == 8 * d_model**2


@pytest.mark.parametrize("config", RANDOM)
def test_the_components_are_the_arrays_of_the_model(config: ModelConfig) -> None:
    counted = inventory(config)
    listed = {part.name: part.shape for part in counted.components}
    arrays = dict(tree_flatten(GPT(config).parameters()))
    assert listed == {name: array.shape for name, array in arrays.items()}
    assert listed == oracle.shapes(config)
    assert len(counted.components) == len(listed)
    assert counted.total == sum(array.size for array in arrays.values())
    norms = [array.size for name, array in arrays.items() if "norm" in name]
    assert counted.norms == sum(norms)


@pytest.mark.parametrize("config", [MINI, TOY, GPT2, *RANDOM])
def test_each_formula_gives_its_count(config: ModelConfig) -> None:
    values = {
        "d": config.d_model,
        "V": config.vocab_size,
        "T_max": config.context_length,
        "d_ff": config.d_ff,
        "n_kv_heads": config.n_kv_heads,
        "d_head": config.d_head,
    }
    for part in inventory(config).components:
        product = 1
        for factor in part.formula.split("·"):
            product *= values[factor]
        assert product == part.count, part.name


@pytest.mark.parametrize("config", [MINI, TOY, GPT2, *RANDOM])
def test_the_parameters_are_counted_without_a_list(config: ModelConfig) -> None:
    assert parameter_count(config) == inventory(config).total


def test_the_memory_of_a_step_is_the_sum_of_its_parts() -> None:
    toy = load_preset("toy")
    parts = training_memory(toy.model, toy.train)
    count = inventory(TOY).total
    assert parts[:3] == (4 * count, 4 * count, 8 * count)
    assert parts.resting == 12 * count
    assert training_bytes(toy.model, toy.train) == sum(parts) == 68_923_392
    gpt2 = load_preset("gpt2")
    assert training_bytes(gpt2.model, gpt2.train) == 11_331_538_944


def test_where_activations_are_few_the_copies_of_the_update_count() -> None:
    config = ModelConfig(vocab_size=50_000, context_length=1, d_model=64, n_layers=1)
    parts = training_memory(config, TrainConfig(batch_size=1))
    assert parts.activations == 4 * (inventory(config).total + 3 * 50_000 * 64)


def test_the_flops_of_gpt2_and_toy_are_those_of_the_tracer() -> None:
    assert forward_flops(GPT2, 1, 64) / 1e9 == pytest.approx(16.00, abs=0.005)
    assert forward_flops(TOY, 1, 64) / 1e9 == pytest.approx(0.1195, abs=0.00005)


def test_the_flops_of_toy_are_the_sum_of_its_steps() -> None:
    B, T, d, H, f, V, L = 2, 64, 128, 4, 512, 512, 4
    attention = 6 * B * T * d * d + 2 * B * T * T * d + 5 * B * H * T * T + 2 * B * T * T * d
    attention += 2 * B * T * d * d
    feed_forward = 2 * B * T * d * f + 8 * B * T * f + 2 * B * T * d * f
    norms, residuals = 2 * 8 * B * T * d, 2 * B * T * d
    block = attention + feed_forward + norms + residuals
    total = B * T * d + L * block + 8 * B * T * d + 2 * B * T * d * V
    assert forward_flops(TOY, B, T) == total
    assert training_flops(TOY, B, T) == 3 * total


@pytest.mark.parametrize("config", [MINI, *RANDOM])
def test_flops_grow_with_the_batch_and_fill_the_square_of_the_length(config: ModelConfig) -> None:
    assert forward_flops(config, 6, 10) == 6 * forward_flops(config, 1, 10)
    lengths = [forward_flops(config, 1, length) for length in (10, 20, 30)]
    second_difference = lengths[0] - 2 * lengths[1] + lengths[2]
    square = config.n_layers * (4 * config.d_model + 5 * config.n_heads)
    assert second_difference == square * 2 * 10**2


def test_rope_costs_six_flops_an_element_of_q_and_k() -> None:
    without = ModelConfig(**{**vars(MINI), "position": "none"})
    difference = forward_flops(MINI, 1, 32) - forward_flops(without, 1, 32)
    assert difference == MINI.n_layers * 6 * 32 * MINI.d_model
