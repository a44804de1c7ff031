"""How fast this device is at the model's own work, and how much of that speed the model gets.

The roofline is measured, not read from a data sheet: the rate of matrix products at the shapes
of the model, for training, and the bandwidth of copying as many bytes as the model has, for
sampling, where every token needs all weights once.
"""

import dataclasses
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from mlx_gpt.device import blas_threads, can_compile, compiles_step, fast_precision, memory, mx

import numpy as np

from mlx_gpt import kernels
from mlx_gpt.config import ModelConfig, SampleConfig, TrainConfig
from mlx_gpt.data import Batch
from mlx_gpt.inventory import decoding_bytes, inventory, training_flops
from mlx_gpt.model import GPT
from mlx_gpt.sampling import generate
from mlx_gpt.tokenizer import Report, silent
from mlx_gpt.tracing import off
from mlx_gpt.training import Learner, mean_loss, train_steps

STEP_SECONDS = 2.0  # a measured step is made smaller until it takes about this long at most
PROMPT = 8
LEAST = 3  # times that anything is measured, unless one takes too long

Work = Callable[[], object]  # something to time; what it returns is computed


class Shape(NamedTuple):
    """A measured training step: sequences and their length."""

    batch_size: int
    length: int


class Part(NamedTuple):
    """A part of the training step and its seconds."""

    name: str
    seconds: float


class Training(NamedTuple):
    """How fast a model trains; parts are of one step, and the inner ones of its forward pass."""

    shape: Shape
    tokens_per_second: float
    share_of_roofline: float
    matmul_flops: float
    flops_per_step: int
    step_seconds: float
    first_step_seconds: float
    peak_memory: int
    parts: tuple[Part, ...]
    forward_parts: tuple[Part, ...]


class Sampling(NamedTuple):
    """How fast a model samples; the prompt is apart."""

    tokens_per_second: float
    share_of_roofline: float
    copy_bytes_per_second: float
    bytes_per_token: int
    prefill_seconds: float
    first_token_seconds: float
    peak_memory: int


def medians(works: Mapping[str, Work], budget: float) -> dict[str, float]:
    """The median seconds of each work; they take turns, so that a busy moment hits all alike."""
    for work in works.values():
        mx.eval(work())
    times: dict[str, list[float]] = {name: [] for name in works}
    start, rounds = time.perf_counter(), 0
    while not spent(rounds, time.perf_counter() - start, budget):
        for name, work in works.items():
            began = time.perf_counter()
            mx.eval(work())
            times[name].append(time.perf_counter() - began)
        rounds += 1
    return {name: statistics.median(values) for name, values in times.items()}


def spent(rounds: int, seconds: float, budget: float) -> bool:
    """Whether a measurement ends: with the budget, but three rounds may take twice as long."""
    return rounds > 0 and seconds >= budget * (1 if rounds >= LEAST else 2)


def products(config: ModelConfig, rows: int) -> dict[tuple[int, int, int], int]:
    """The matrix products of a forward pass: (rows, in, out) and how often each comes."""
    c = config
    kv = c.n_kv_heads * c.d_head
    ups = 2 if c.activation == "swiglu" else 1
    counts: dict[tuple[int, int, int], int] = {}
    for into, out, times in (
        (c.d_model, c.d_model, 2 * c.n_layers),
        (c.d_model, kv, 2 * c.n_layers),
        (c.d_model, c.d_ff, ups * c.n_layers),
        (c.d_ff, c.d_model, c.n_layers),
        (c.d_model, c.vocab_size, 1),
    ):
        counts[rows, into, out] = counts.get((rows, into, out), 0) + times
    return counts


def matmul_flops(config: ModelConfig, rows: int, budget: float) -> float:
    """FLOP/s of the model's own matrix products, each weighted by how often it comes."""
    works: dict[str, Work] = {}
    counts = products(config, rows)
    for n, into, out in counts:
        x, weight = mx.random.normal((n, into)), mx.random.normal((out, into))
        mx.eval(x, weight)
        works[f"{n} {into} {out}"] = lambda x=x, weight=weight: x @ weight.T
    times = medians(works, budget).values()
    seconds = sum(n * each for n, each in zip(counts.values(), times, strict=True))
    return sum(n * 2.0 * math.prod(shape) for shape, n in counts.items()) / seconds


def copy_bytes(count: int, budget: float) -> float:
    """Bytes per second of copying so many bytes: each is read once and written once."""
    x = mx.random.normal((max(count // 4, 1),))
    mx.eval(x)
    return 2 * x.nbytes / medians({"copy": lambda: mx.abs(x)}, budget)["copy"]


def measured_shape(config: ModelConfig, batch_size: int, flops: float) -> Shape:
    """The batch of the preset, or less of it where a step would take too long to measure."""
    shape = Shape(batch_size, config.context_length)
    while training_flops(config, *shape) > STEP_SECONDS * flops and shape != (1, 1):
        halved = max(shape.batch_size // 2, 1), shape.length
        shape = Shape(*(halved if shape.batch_size > 1 else (1, max(shape.length // 2, 1))))
    return shape


def measure_training(
    config: ModelConfig,
    train: TrainConfig,
    budget: float,
    *,
    seed: int = 0,
    report: Report = silent,
) -> Training:
    """Time training steps on random tokens, then what a step consists of."""
    flops = matmul_flops(config, min(train.batch_size * config.context_length, 4096), budget / 8)
    report("bench: train", 1, 8)
    shape = measured_shape(config, train.batch_size, flops)
    learner, tokens = learner_for(config, train, shape, seed)
    model = learner.model
    mx.reset_peak_memory()
    first, median = timed_steps(learner, tokens, budget * 3 / 8)
    peak = memory().peak
    report("bench: train", 4, 8)
    work = training_flops(model.config, *shape)
    parts, inner = step_parts(learner, tokens, shape, budget * 4 / 8)
    report("bench: train", 8, 8)
    return Training(
        shape=shape,
        tokens_per_second=shape.batch_size * shape.length / median,
        share_of_roofline=work / median / flops,
        matmul_flops=flops,
        flops_per_step=work,
        step_seconds=median,
        first_step_seconds=first,
        peak_memory=peak,
        parts=parts,
        forward_parts=inner,
    )


def learner_for(
    config: ModelConfig, train: TrainConfig, shape: Shape, seed: int
) -> tuple[Learner, np.ndarray]:
    """A fresh model that trains at that shape, and random tokens for it to learn."""
    model = GPT(dataclasses.replace(config, context_length=shape.length), seed)
    settings = dataclasses.replace(
        train,
        batch_size=shape.batch_size,
        grad_accumulation=1,
        steps=10**6,
        warmup=0,
        precision=fast_precision(train.precision),
    )
    random = np.random.default_rng(seed)
    tokens = random.integers(config.vocab_size, size=64 * shape.length + 1).astype(np.int32)
    mx.eval(model.parameters())
    return Learner(model, settings, compiled=compiles_step(train.compile, math.inf)), tokens


def timed_steps(learner: Learner, tokens: np.ndarray, budget: float) -> tuple[float, float]:
    """Seconds of the first step, and the median of those after it."""
    steps = train_steps(learner, tokens, rests=lambda step: step == 1)
    times: list[float] = []
    while not spent(len(times) - 1, sum(times[1:]), budget):
        began = time.perf_counter()
        next(steps)
        times.append(time.perf_counter() - began)
    return times[0], statistics.median(times[1:])


def step_parts(
    learner: Learner, tokens: np.ndarray, shape: Shape, budget: float
) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """What a step and its forward pass consist of, every part timed alone, on all its streams."""
    layers, steps = learner.model.config.n_layers, train_steps(learner, tokens)
    random = np.random.default_rng(0)
    whole = random.integers(learner.model.config.vocab_size, size=shape).astype(np.int32)
    inputs = mx.array(whole[: max(shape.batch_size // len(learner.streams), 1)])

    def step() -> object:
        next(steps)
        return learner.params

    def both_ways() -> object:
        outputs = learner.accumulate(1, [Batch(whole, whole)], 1)
        learner.put(learner.params)  # tracing leaves its own arrays in the model
        return outputs

    def one_way() -> mx.array:
        losses = learner.losses(learner.params, inputs, inputs)
        learner.put(learner.params)
        return losses

    outer: dict[str, Work] = {
        "forward": on_all(learner.streams, one_way),
        "gradient": both_ways,
        "step": step,
    }
    with blas_threads(len(learner.streams)):
        times = medians(outer | forward_works(learner, inputs), budget)
    forward, both = times["forward"], times["gradient"]
    counts = {"attention": layers, "feed-forward": layers, "norms": 2 * layers}
    inner = [
        Part(name, each * counts.get(name, 1)) for name, each in times.items() if name not in outer
    ]
    rest = max(forward - sum(part.seconds for part in inner), 0.0)
    update = max(times["step"] - both, 0.0)
    parts = Part("forward", forward), Part("backward", both - forward), Part("update", update)
    return parts, (*inner, Part("rest", rest))


def on_all(streams: Sequence[mx.Stream], work: Callable[[], mx.array]) -> Work:
    """The work done on each of the streams at the same time, as the rows of a batch are."""

    def works() -> mx.array:
        ends = []
        for stream in streams:
            with mx.stream(stream):
                ends.append(work().flatten()[:1])
        return mx.concatenate(ends)  # only what ends in one array is computed side by side

    return works


def forward_works(learner: Learner, tokens: mx.array) -> dict[str, Work]:
    """The parts of a forward pass, each of one layer, compiled where the step is."""
    model, block = learner.model, learner.model.blocks[0]
    x = model.embedding(tokens)
    mx.eval(x)

    def part(function: Callable[[mx.array], mx.array], like: mx.array) -> Work:
        def fused(array: mx.array) -> mx.array:
            with kernels.fusing(learner.compiled):
                return function(array)

        compiled = mx.compile(fused) if learner.compiled else fused
        return on_all(learner.streams, lambda: compiled(like))

    return {
        "embedding": part(model.embedding, tokens),
        "attention": part(lambda x: block.attention(x, None, None, off), x),
        "feed-forward": part(lambda x: block.feed_forward(x, off), x),
        "norms": part(block.norm1, x),
        "head and loss": part(lambda x: mean_loss(model.read_out(x), tokens), x),
    }


def measure_sampling(
    config: ModelConfig, budget: float, *, seed: int = 0, report: Report = silent
) -> Sampling:
    """Time the sampling of text within the context, one token after the other."""
    weights = 4 * inventory(config).total
    rate = copy_bytes(weights, budget / 8)
    report("bench: sample", 1, 8)
    model = GPT(config, seed)
    mx.eval(model.parameters())
    mx.reset_peak_memory()
    first = timed_text(model, seed, budget)
    report("bench: sample", 3, 8)
    texts = [timed_text(model, seed, budget / 8) for _ in range(5)]
    report("bench: sample", 8, 8)
    speed = statistics.median(text.tokens / text.seconds for text in texts)
    per_token = decoding_bytes(config, PROMPT + texts[0].tokens // 2)
    return Sampling(
        tokens_per_second=speed,
        share_of_roofline=speed * per_token / rate,
        copy_bytes_per_second=rate,
        bytes_per_token=per_token,
        prefill_seconds=statistics.median(text.prefill for text in texts),
        first_token_seconds=first.prefill,
        peak_memory=memory().peak,
    )


class Text(NamedTuple):
    """A timed generation: seconds until its first token, and the tokens and seconds after it."""

    prefill: float
    tokens: int
    seconds: float


def timed_text(model: GPT, seed: int, budget: float) -> Text:
    """Sample until the context is full or the budget spent."""
    limit = model.config.context_length
    prompt = [token % model.config.vocab_size for token in range(min(PROMPT, limit))]
    config = SampleConfig(temperature=0.8, max_tokens=max(limit - len(prompt), 2))
    began = time.perf_counter()
    rows = generate(model, prompt, config, seed=seed, end_id=None, compiled=can_compile())
    next(rows)
    first, now, count = time.perf_counter(), 0.0, 0
    for _ in rows:
        count, now = count + 1, time.perf_counter()
        if now - first > budget and count >= LEAST:
            break
    return Text(first - began, count, now - first)
