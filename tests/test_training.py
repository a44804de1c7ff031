"""The learner against NumPy, against itself, and against what its settings promise."""

import dataclasses
import gc
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mlx_gpt.device import mx

import numpy as np
import pytest
from mlx.utils import tree_flatten

from mlx_gpt.config import ModelConfig, TrainConfig, load_preset
from mlx_gpt.data import Batch
from mlx_gpt.inventory import inventory, training_bytes
from mlx_gpt.kernels import cross_entropy
from mlx_gpt.model import GPT
from mlx_gpt.training import (
    Arrays,
    Learner,
    Moments,
    Step,
    adamw,
    clip,
    global_norm,
    learning_rate,
    micro_batches,
    rates,
    shared_out,
    spoilt,
    train_steps,
)

MODEL = ModelConfig(vocab_size=13, context_length=8, d_model=16, n_layers=2, n_heads=2)
TRAIN = TrainConfig(steps=10, batch_size=4, warmup=0, lr=1e-2, min_lr=1e-3)
TOKENS = np.random.default_rng(0).integers(0, 13, 400).astype(np.uint16)


def learner(model: ModelConfig = MODEL, *, compiled: bool = False, **settings: Any) -> Learner:
    """A fresh model with the settings of TRAIN, some of them changed."""
    config = dataclasses.replace(TRAIN, **settings)
    return Learner(GPT(model, config.seed), config, compiled=compiled)


def trained(tokens: np.ndarray = TOKENS, **settings: Any) -> tuple[Learner, list[Step]]:
    subject = learner(**settings)
    return subject, list(train_steps(subject, tokens))


def gradients(subject: Learner, step: int = 1) -> tuple[float, Arrays]:
    """The mean loss and mean gradient of one step's micro-batches."""
    config = subject.config
    batches = micro_batches(TOKENS, config, MODEL.context_length, step)
    loss, grads = subject.accumulate(step, batches, config.grad_accumulation)
    mx.eval(loss, grads)
    return float(loss), grads


def largest_difference(left: Arrays, right: Arrays) -> float:
    assert left.keys() == right.keys()
    return max(float(mx.abs(left[name] - right[name]).max()) for name in left)


# The learning rate


def expected_rate(step: int, config: TrainConfig) -> float:
    """The documented curve, written with NumPy's interpolation instead of branches."""
    if step <= config.warmup:
        return float(np.interp(step, [0, config.warmup], [0, config.lr]))
    if config.schedule == "constant":
        return config.lr
    end = config.decay_steps or config.steps
    angle = np.interp(step, [config.warmup, max(end, config.warmup + 1)], [0, np.pi])
    return float(np.cos(angle / 2) ** 2 * (config.lr - config.min_lr) + config.min_lr)


@pytest.mark.parametrize(
    "settings",
    [
        {"warmup": 5},
        {"warmup": 0},
        {"warmup": 1},
        {"warmup": 29},
        {"warmup": 30},
        {"warmup": 50},
        {"warmup": 5, "schedule": "constant"},
        {"warmup": 0, "schedule": "constant"},
        {"warmup": 5, "decay_steps": 20},
        {"warmup": 5, "decay_steps": 60},
        {"warmup": 5, "decay_steps": 3},
        {"warmup": 5, "min_lr": 0.0},
    ],
)
def test_thirty_steps_have_the_documented_learning_rates(settings: dict[str, Any]) -> None:
    config = TrainConfig(**{"steps": 30, "lr": 3e-3, "min_lr": 3e-4, **settings})
    for step in range(1, 31):
        assert learning_rate(step, config) == pytest.approx(expected_rate(step, config), rel=1e-9)


def test_the_learning_rate_is_never_zero_and_ends_at_its_minimum() -> None:
    config = TrainConfig(steps=30, lr=3e-3, min_lr=3e-4, warmup=5)
    assert learning_rate(1, config) == pytest.approx(6e-4)
    assert learning_rate(5, config) == pytest.approx(3e-3)
    assert learning_rate(30, config) == pytest.approx(3e-4)
    assert learning_rate(31, config) == learning_rate(1000, config) == pytest.approx(3e-4)


def test_a_step_reports_the_rate_it_was_taken_with() -> None:
    _, steps = trained(warmup=4)
    config = dataclasses.replace(TRAIN, warmup=4)
    expected = [expected_rate(number, config) for number in range(1, 11)]
    assert [step.lr for step in steps] == pytest.approx(expected)
    assert [step.step for step in steps] == list(range(1, 11))


# The optimizer


def adamw_in_numpy(config: TrainConfig, grads: list[dict[str, np.ndarray]], start: Any) -> Any:
    """The same steps in float64, as the paper writes them."""
    weights = {name: array.copy() for name, array in start.items()}
    m = {name: np.zeros_like(array) for name, array in start.items()}
    v = {name: np.zeros_like(array) for name, array in start.items()}
    for t, grad in enumerate(grads, 1):
        length = math.sqrt(sum(float((g**2).sum()) for g in grad.values()))
        shrink = min(1.0, config.grad_clip / length) if config.grad_clip else 1.0
        for name, array in weights.items():
            g = grad[name] * shrink
            m[name] += (1 - config.beta1) * (g - m[name])
            v[name] += (1 - config.beta2) * (g**2 - v[name])
            m_hat = m[name] / (1 - config.beta1**t)
            v_hat = v[name] / (1 - config.beta2**t)
            decay = config.weight_decay * array if array.ndim > 1 else 0
            rate = expected_rate(t, config)
            weights[name] = array - rate * (m_hat / (np.sqrt(v_hat) + 1e-8) + decay)
    return weights


@pytest.mark.parametrize("grad_clip", [0.0, 1.0, 1e6])
def test_five_adamw_steps_are_those_of_numpy(grad_clip: float) -> None:
    config = TrainConfig(
        steps=9, warmup=2, lr=0.1, weight_decay=0.5, beta1=0.8, beta2=0.95, grad_clip=grad_clip
    )
    chance = np.random.default_rng(1)
    shapes = {"matrix": (3, 4), "vector": (5,), "cube": (2, 3, 2)}
    start = {name: chance.normal(size=shape) for name, shape in shapes.items()}
    grads = [{n: chance.normal(size=s) for n, s in shapes.items()} for _ in range(5)]
    params = {name: mx.array(array, mx.float32) for name, array in start.items()}
    zeros = {name: mx.zeros(array.shape) for name, array in params.items()}
    moments = Moments(zeros, dict(zeros))
    for t, grad in enumerate(grads, 1):
        arrays = {name: mx.array(array, mx.float32) for name, array in grad.items()}
        clipped = clip(arrays, global_norm(arrays), config.grad_clip)
        params, moments = adamw(params, clipped, moments, rates(t, config), config)
    expected = adamw_in_numpy(config, grads, start)
    for name, array in params.items():
        assert np.abs(np.array(array) - expected[name]).max() < 1e-5, name


def test_a_step_of_the_learner_is_its_gradient_through_adamw() -> None:
    subject = learner(grad_clip=0.05, weight_decay=0.3)
    start = {name: np.array(array, np.float64) for name, array in subject.params.items()}
    history = []
    for step in range(1, 6):
        _, grads = gradients(subject, step)
        history.append({name: np.array(array, np.float64) for name, array in grads.items()})
        subject.step(step, micro_batches(TOKENS, subject.config, MODEL.context_length, step))
    expected = adamw_in_numpy(subject.config, history, start)
    for name, array in subject.params.items():
        assert np.abs(np.array(array) - expected[name]).max() < 1e-5, name


def test_only_arrays_of_two_axes_decay() -> None:
    subject = learner()
    still = {name: mx.zeros(array.shape) for name, array in subject.params.items()}
    config = dataclasses.replace(subject.config, weight_decay=0.5, lr=0.1, schedule="constant")
    moments = Moments(still, dict(still))
    after, _ = adamw(subject.params, still, moments, rates(1, config), config)
    for name, before in subject.params.items():
        expected = before * 0.95 if name.endswith(("_proj.weight", "embedding.weight")) else before
        assert mx.allclose(after[name], expected, rtol=1e-6), name


def test_clipping_scales_all_arrays_by_their_common_norm() -> None:
    grads = {"a": mx.array([[3.0, 0.0]]), "b": mx.array([4.0])}
    norm = global_norm(grads)
    assert float(norm) == pytest.approx(5.0)
    clipped = clip(grads, norm, 1.0)
    assert mx.allclose(clipped["a"], mx.array([[0.6, 0.0]]))
    assert mx.allclose(clipped["b"], mx.array([0.8]))
    assert clip(grads, norm, 0.0) == grads
    assert mx.array_equal(clip(grads, norm, 5.1)["b"], grads["b"])


def test_the_reported_norm_is_that_before_clipping() -> None:
    subject = learner(grad_clip=1e-3)
    loss, grads = gradients(subject)
    batches = micro_batches(TOKENS, subject.config, MODEL.context_length, 1)
    assert subject.step(1, batches) == (
        pytest.approx(loss),
        pytest.approx(float(global_norm(grads)), rel=1e-5),
    )


def test_cross_entropy_is_that_of_numpy_and_stays_finite_for_large_logits() -> None:
    logits = np.random.default_rng(2).normal(size=(2, 3, 7)) * 50
    targets = np.array([[0, 6, 3], [2, 2, 5]])
    exact = (
        np.log(np.exp(logits).sum(-1)) - np.take_along_axis(logits, targets[..., None], -1)[..., 0]
    )
    ours = cross_entropy(mx.array(logits, mx.float32), mx.array(targets))
    assert np.abs(np.array(ours) - exact).max() < 1e-4
    assert mx.isfinite(cross_entropy(mx.array([[[1e4, 0.0]]]), mx.array([[1]]))).all()


# Accumulation


def as_one(batches: Iterable[Batch]) -> list[Batch]:
    """The micro-batches side by side."""
    inputs, targets = zip(*batches, strict=True)
    return [Batch(np.concatenate(inputs), np.concatenate(targets))]


def test_accumulated_loss_and_gradient_are_those_of_the_big_batch() -> None:
    small = learner(batch_size=2, grad_accumulation=4)
    loss, grads = gradients(small)
    big = learner(batch_size=8)
    batches = as_one(micro_batches(TOKENS, small.config, MODEL.context_length, 1))
    big_loss, big_grads = big.accumulate(1, batches, 1)
    assert loss == pytest.approx(float(big_loss), rel=1e-6)
    assert largest_difference(grads, big_grads) < 1e-6


def test_the_loss_of_a_step_is_the_mean_of_its_micro_batches() -> None:
    subject = learner(batch_size=2, grad_accumulation=4)
    batches = list(micro_batches(TOKENS, subject.config, MODEL.context_length, 3))
    each = [subject.evaluate([batch]) for batch in batches]
    assert max(each) - min(each) > 1e-3
    loss, _ = subject.step(3, batches)
    assert loss == pytest.approx(sum(each) / 4, rel=1e-6)


def test_no_window_comes_twice_in_an_epoch_of_micro_batches() -> None:
    config = dataclasses.replace(TRAIN, batch_size=2, grad_accumulation=4)
    tokens = np.arange(8 * 48 + 8, dtype=np.uint16)
    seen = [
        tuple(row)
        for step in range(1, 7)
        for each in micro_batches(tokens, config, 8, step)
        for row in each.inputs
    ]
    assert len(seen) == 48 == len(set(seen))


def test_a_step_needs_as_many_batches_as_it_accumulates() -> None:
    subject = learner(grad_accumulation=2)
    one = micro_batches(TOKENS, dataclasses.replace(TRAIN), MODEL.context_length, 1)
    with pytest.raises(ValueError, match="zip"):
        subject.step(1, one)


def peak_bytes(model: ModelConfig, train: TrainConfig) -> int:
    """The most memory that a step takes, once the first has been taken."""
    gc.collect()
    mx.clear_cache()
    tokens = np.random.default_rng(0).integers(0, model.vocab_size, 20_000).astype(np.uint16)
    steps = train_steps(Learner(GPT(model), train), tokens)
    next(steps)
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    next(steps)
    return mx.get_peak_memory() - before + 12 * inventory(model).total  # weights and moments


def test_accumulation_needs_one_more_copy_of_the_gradient_at_most() -> None:
    # Large enough that arrays of one number, and what the allocator rounds up, do not count.
    model = ModelConfig(vocab_size=64, context_length=32, d_model=256, n_layers=4, n_heads=2)
    train = TrainConfig(steps=2, batch_size=4)
    once = peak_bytes(model, train)
    often = peak_bytes(model, dataclasses.replace(train, grad_accumulation=32))
    assert often - once < 4 * inventory(model).total


@pytest.mark.parametrize(
    ("preset", "settings"),
    [
        ("mini", ["train.batch_size=64"]),
        ("toy", []),
        ("stories", ["train.batch_size=2", "train.grad_checkpoint=true"]),
        ("stories", ["train.batch_size=1", "model.activation=relu", "model.context_length=256"]),
    ],
)
def test_the_memory_estimate_comes_near_the_measured_peak(preset: str, settings: list[str]) -> None:
    config = load_preset(preset, settings)
    measured = peak_bytes(config.model, config.train)
    assert training_bytes(config.model, config.train) == pytest.approx(measured, rel=0.3)


# Dropout and recomputation

DROPPING = dataclasses.replace(MODEL, dropout=0.5)


def test_dropout_is_a_function_of_seed_and_step() -> None:
    first, _ = gradients(learner(DROPPING), 1)
    batches = list(micro_batches(TOKENS, TRAIN, MODEL.context_length, 1))
    again, _ = gradients(learner(DROPPING), 1)
    assert first == again
    other_step, _ = learner(DROPPING).accumulate(2, batches, 1)
    assert float(other_step) != first
    other_seed = Learner(GPT(DROPPING, TRAIN.seed), dataclasses.replace(TRAIN, seed=7))
    assert float(other_seed.accumulate(1, batches, 1)[0]) != first


def test_each_micro_batch_has_its_own_mask() -> None:
    subject = learner(DROPPING, grad_accumulation=2)
    batch = next(micro_batches(TOKENS, subject.config, MODEL.context_length, 1))
    keys = subject.dropout_keys(1, 2)
    inputs, targets = mx.array(batch.inputs), mx.array(batch.targets)
    losses = [float(subject.loss(subject.params, inputs, targets, key)) for key in keys]
    assert losses[0] != losses[1]


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32 - 1])
def test_every_seed_and_step_has_a_key_of_its_own(seed: int) -> None:
    config = dataclasses.replace(TRAIN, seed=seed)
    subject = Learner(GPT(DROPPING, seed), config)
    keys = [key for step in (1, 2, 10**6) for key in subject.dropout_keys(step, 2)]
    assert len({tuple(np.array(key)) for key in keys if key is not None}) == 6


def test_evaluation_drops_nothing_and_leaves_the_model_in_order() -> None:
    dropping, plain = learner(DROPPING), learner()
    batches = list(micro_batches(TOKENS, TRAIN, MODEL.context_length, 1))
    assert dropping.evaluate(batches) == plain.evaluate(batches)
    parameters = dict(tree_flatten(dropping.model.parameters()))
    assert all(mx.array_equal(parameters[name], dropping.params[name]) for name in parameters)


def test_evaluation_is_a_mean_over_tokens_not_over_batches() -> None:
    subject = learner()
    chance = np.random.default_rng(3)
    sizes = [(4, 8), (1, 3)]
    batches = [Batch(chance.integers(0, 13, s), chance.integers(0, 13, s)) for s in sizes]
    one, other = (subject.evaluate([batch]) for batch in batches)
    assert subject.evaluate(batches) == pytest.approx((32 * one + 3 * other) / 35)
    assert math.isnan(subject.evaluate([]))


@pytest.mark.parametrize("model", [MODEL, DROPPING])
def test_recomputed_activations_give_the_same_gradient(model: ModelConfig) -> None:
    loss, grads = gradients(learner(model, grad_accumulation=2))
    again, recomputed = gradients(learner(model, grad_accumulation=2, grad_checkpoint=True))
    assert again == pytest.approx(loss, rel=1e-6)
    assert largest_difference(grads, recomputed) < 1e-6
    assert all(float(mx.abs(grad).max()) > 0 for grad in recomputed.values())


def test_recomputation_saves_memory() -> None:
    model = ModelConfig(vocab_size=64, context_length=64, d_model=32, n_layers=6, n_heads=2)
    train = TrainConfig(steps=2, batch_size=4)
    kept = peak_bytes(model, train)
    recomputed = peak_bytes(model, dataclasses.replace(train, grad_checkpoint=True))
    assert recomputed < 0.6 * kept


# Precision


def test_bfloat16_computes_small_and_keeps_weights_and_moments_whole() -> None:
    subject, steps = trained(precision="bfloat16", steps=30)
    arrays = [*subject.params.values(), *subject.optimizer_arrays().values()]
    assert {array.dtype for array in arrays} == {mx.float32}
    used = dict(tree_flatten(subject.model.parameters())).values()
    assert {array.dtype for array in used} == {mx.bfloat16}
    assert steps[-1].loss < steps[0].loss - 0.05


def test_a_weight_moves_by_less_than_bfloat16_can_tell() -> None:
    subject, _ = trained(precision="bfloat16", steps=1, lr=1e-6, min_lr=1e-6)
    before = learner().params
    moved = {name: float(mx.abs(subject.params[name] - before[name]).max()) for name in before}
    assert moved["final_norm.weight"] == pytest.approx(1e-6, rel=0.1)


def test_both_precisions_begin_with_the_same_loss() -> None:
    whole, _ = gradients(learner())
    small, grads = gradients(learner(precision="bfloat16"))
    assert small == pytest.approx(whole, rel=0.01)
    assert {grad.dtype for grad in grads.values()} == {mx.float32}


# Learning


def test_an_untrained_model_knows_nothing() -> None:
    loss, _ = gradients(learner())
    assert loss == pytest.approx(math.log(13), rel=0.03)


def test_it_overfits_one_batch() -> None:
    subject = learner(steps=80, lr=2e-2, min_lr=1e-3, weight_decay=0.0)
    rows = np.random.default_rng(4).permuted(np.tile(np.arange(13), (4, 1)), axis=1)[:, :9]
    rows[:, 0] = range(4)  # nothing could tell apart two windows that begin alike
    loss = math.inf
    for step in range(1, 81):
        loss, _ = subject.step(step, [Batch(rows[:, :-1], rows[:, 1:])])
    assert loss < 0.05


def test_the_tied_head_is_one_array_after_a_step_and_an_own_head_is_another() -> None:
    tied, _ = trained(steps=1)
    assert "head.weight" not in tied.params
    own = learner(dataclasses.replace(MODEL, tied_head=False), steps=1)
    list(train_steps(own, TOKENS))
    assert not mx.array_equal(own.params["head.weight"], own.params["embedding.weight"])


def test_steps_go_on_where_they_stopped_bit_for_bit() -> None:
    settings: dict[str, Any] = {
        "grad_accumulation": 2,
        "batch_size": 3,
        "warmup": 3,
        "grad_clip": 0.1,
    }
    whole = learner(DROPPING, **settings)
    losses = [step.loss for step in train_steps(whole, TOKENS)]
    first = learner(DROPPING, **settings)
    begun = []
    for step in train_steps(first, TOKENS):
        begun.append(step.loss)
        if step.step == 4:
            break
    second = learner(DROPPING, **settings)
    in_another_order = dict(sorted(first.params.items(), key=lambda item: item[0][::-1]))
    second.load(in_another_order, first.optimizer_arrays())
    assert begun + [step.loss for step in train_steps(second, TOKENS, done=4)] == losses
    assert largest_difference(second.params, whole.params) == 0
    assert largest_difference(second.optimizer_arrays(), whole.optimizer_arrays()) == 0


@pytest.mark.parametrize("resting", [set(), {2, 5}, {1, 2, 3, 4, 5, 6}])
def test_steps_that_overlap_are_the_same_steps(resting: set[int]) -> None:
    alone, taken = learner(steps=6), []
    for number in range(1, 7):
        batches = micro_batches(TOKENS, alone.config, MODEL.context_length, number)
        taken.append(alone.step(number, batches))
    subject, seen = learner(steps=6), {}
    for step in train_steps(subject, TOKENS, rests=resting.__contains__):
        assert (step.loss, step.grad_norm) == taken[step.step - 1]
        seen[step.step] = subject.params
    assert list(seen) == [1, 2, 3, 4, 5, 6]
    assert largest_difference(seen[6], alone.params) == 0
    for step in (1, 3, 5):
        until = learner(steps=6)
        for number in range(1, step + 1):
            until.step(number, micro_batches(TOKENS, until.config, MODEL.context_length, number))
        at_rest = largest_difference(seen[step], until.params) == 0
        assert at_rest == (step in resting)  # else the device has gone on to the next


def test_the_speed_counts_every_token_of_a_step() -> None:
    _, steps = trained(batch_size=3, grad_accumulation=2, steps=2)
    assert [step.tokens for step in steps] == [3 * 2 * 8] * 2
    assert all(step.seconds > 0 for step in steps)


# Divergence


@pytest.mark.parametrize("name", ["embedding.weight", "blocks.1.norm1.bias"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_one_bad_weight_is_noticed_in_the_next_step(name: str, value: float) -> None:
    subject = learner()
    flat = mx.array(subject.params[name]).flatten()
    flat[0] = value
    subject.params[name] = flat.reshape(subject.params[name].shape)
    tokens = np.zeros(400, np.uint16)
    assert next(train_steps(subject, tokens)).diverged(13)


def test_a_rate_far_too_high_is_noticed_at_once() -> None:
    subject, steps = learner(lr=1e3), []
    for step in train_steps(subject, TOKENS):
        steps.append(step)
        if step.diverged(13):
            break
    assert len(steps) <= 2


def test_what_counts_as_spoilt() -> None:
    step = Step(1, 2.0, 0.1, 1.0, 8, 1.0)
    assert not step.diverged(13)
    assert step._replace(loss=math.nan).diverged(13)
    assert step._replace(grad_norm=math.inf).diverged(13)
    assert step._replace(grad_norm=math.nan).diverged(13)
    assert spoilt(10 * math.log(512) + 0.1, 512)
    assert not spoilt(10 * math.log(512) - 0.1, 512)
    assert not spoilt(9.9, 1)


# Compilation

COMPILED = """
import json, sys
from mlx_gpt.device import choose, mx
choose("cpu")
import numpy as np
from mlx_gpt.config import ModelConfig, TrainConfig
from mlx_gpt.model import GPT
from mlx_gpt.training import Learner, train_steps
model = ModelConfig(
    vocab_size=13, context_length=8, d_model=16, n_layers=1, n_heads=2, dropout=0.5
)
train = TrainConfig(steps=4, batch_size=4, warmup=2, grad_accumulation=2)
tokens = np.random.default_rng(0).integers(0, 13, 400).astype(np.uint16)
runs = []
for compiled in (False, True):
    learner = Learner(GPT(model, 1), train, compiled=compiled)
    learner.evaluate([])
    runs.append([[step.loss, step.grad_norm] for step in train_steps(learner, tokens)])
print(json.dumps(runs))
"""


@pytest.mark.slow
def test_a_compiled_step_is_the_same_step() -> None:
    environment = {**os.environ}
    environment.pop("MLX_DISABLE_COMPILE", None)
    done = subprocess.run(
        [sys.executable, "-c", COMPILED], env=environment, capture_output=True, check=True
    )
    plain, compiled = json.loads(done.stdout)
    assert np.allclose(plain, compiled, rtol=1e-4)
    assert len({loss for loss, _ in compiled}) == 4


# Shared out over streams. Under MLX_DISABLE_COMPILE nothing is compiled, but the fused forms and
# the streams are those of a compiled step.

WIDE = ModelConfig(
    vocab_size=61, context_length=70, d_model=32, n_layers=2, n_heads=4, n_kv_heads=2
)
SHARED = {
    "the default": {},
    "exact gelu, learned positions": {"activation": "gelu", "position": "learned"},
    "llama": {"norm": "rmsnorm", "activation": "swiglu", "tied_head": False, "ffn_bias": False},
    "post norm": {"norm_order": "post", "attn_bias": False},
    "with dropout": {"dropout": 0.3},
}


def both(
    changes: dict[str, Any], **settings: Any
) -> tuple[tuple[Learner, float, Arrays], tuple[Learner, float, Arrays]]:
    """A learner as it is and one as it is compiled, with loss and gradient of a step."""
    config = dataclasses.replace(WIDE, **changes)
    tokens = np.random.default_rng(1).integers(0, 61, 2000).astype(np.uint16)
    found = []
    for compiled in (False, True):
        subject = learner(config, compiled=compiled, **settings)
        batches = micro_batches(tokens, subject.config, config.context_length, 1)
        loss, grads = subject.accumulate(1, batches, subject.config.grad_accumulation)
        mx.eval(loss, grads)
        found.append((subject, float(loss), grads))
    return found[0], found[1]


@pytest.mark.parametrize("changes", SHARED.values(), ids=SHARED.keys())
@pytest.mark.parametrize("settings", [{}, {"batch_size": 5}, {"grad_accumulation": 3}])
def test_shared_out_a_step_has_the_same_loss_and_gradient(
    changes: dict[str, Any], settings: dict[str, Any]
) -> None:
    (_, loss, grads), (_, shared_loss, shared) = both(changes, **settings)
    assert shared_loss == pytest.approx(loss, rel=1e-6)
    for name, grad in grads.items():
        distance = float(mx.linalg.norm(grad - shared[name]))
        # The keys' bias moves all scores of a query alike: its gradient is 0 but for rounding.
        size = float(mx.linalg.norm(grads[name.replace("k_proj.bias", "q_proj.bias")]))
        assert distance < 2e-6 * size, name


def test_recomputed_and_shared_out_it_is_the_same_too() -> None:
    (_, loss, grads), (_, shared_loss, shared) = both({}, grad_checkpoint=True)
    assert shared_loss == pytest.approx(loss, rel=1e-6)
    assert largest_difference(grads, shared) < 1e-6


def test_shared_out_an_evaluation_is_the_same_also_of_a_short_window() -> None:
    (plain, *_), (shared, *_) = both({})
    chance = np.random.default_rng(3)
    batches = [Batch(*chance.integers(0, 61, (2, *size))) for size in ((4, 70), (4, 70), (1, 9))]
    assert shared.evaluate(batches) == pytest.approx(plain.evaluate(batches), rel=1e-6)


def test_every_parameter_has_one_owner_and_they_have_about_as_much_to_do() -> None:
    arrays = {str(size): mx.zeros(size) for size in (7, 1, 9, 3, 5, 6, 4)}
    shares = shared_out(arrays, 2)
    assert sorted([*shares[0], *shares[1]]) == sorted(arrays)
    assert abs(sum(map(int, shares[0])) - sum(map(int, shares[1]))) <= 1
    assert all(share == [name for name in arrays if name in share] for share in shares)


RESUMED = """
import json, sys
import dataclasses
from test_training import TOKENS, WIDE, TRAIN, Learner, GPT, train_steps, mx, np
from mlx_gpt.device import choose
choose("cpu")
tokens = (TOKENS % 13).repeat(3)
steps, path = json.loads(sys.argv[1]), sys.argv[2]
config = dataclasses.replace(TRAIN, steps=steps[1], schedule="constant")
subject = Learner(GPT(WIDE), config, compiled=True)
if steps[0]:
    saved = mx.load(path)
    part = lambda prefix: {k[len(prefix):]: v for k, v in saved.items() if k.startswith(prefix)}
    subject.load(part("model."), part("optimizer."))
running = train_steps(subject, tokens, done=steps[0], rests=lambda step: step == 5)
losses = [(step.loss, step.grad_norm) for step in running]
arrays = {f"model.{k}": v for k, v in subject.params.items()}
arrays |= {f"optimizer.{k}": v for k, v in subject.optimizer_arrays().items()}
mx.save_safetensors(path, arrays)
print(json.dumps([losses, {k: np.array(v).tobytes().hex() for k, v in arrays.items()}]))
"""


@pytest.mark.slow
def test_a_compiled_run_goes_on_in_another_process_bit_for_bit(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "MLX_DISABLE_COMPILE"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)

    def run(first: int, last: int, name: str) -> Any:
        path = str(tmp_path / f"{name}.safetensors")
        done = subprocess.run(
            [sys.executable, "-c", RESUMED, json.dumps([first, last]), path],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)

    whole, again = run(0, 8, "whole"), run(0, 8, "again")
    assert whole == again
    before, after = run(0, 3, "parts"), run(3, 8, "parts")
    assert before[0] + after[0] == whole[0]
    assert after[1] == whole[1]
