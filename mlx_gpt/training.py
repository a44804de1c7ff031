"""How the model learns: learning rate, loss, gradient, AdamW, and a generator of steps.

A step is a function of the weights, the moments, the seed and its own number. Nothing random
has a state, so a run that stops and goes on is the run that never stopped.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from mlx_gpt.device import blas_threads, mx, streams

import numpy as np
from mlx.utils import tree_flatten, tree_unflatten

from mlx_gpt import kernels
from mlx_gpt.config import TrainConfig
from mlx_gpt.data import Batch, batch
from mlx_gpt.model import GPT
from mlx_gpt.tracing import Tap, off

Arrays = dict[str, mx.array]
ADAM_EPS = 1e-8


def learning_rate(step: int, config: TrainConfig) -> float:
    """The rate of a step (the first is 1): linear warm-up, then a cosine down to min_lr.

    The curve ends at decay_steps, or at steps if that is 0, and stays at min_lr beyond.
    """
    if step < config.warmup:
        return config.lr * step / config.warmup
    if config.schedule == "constant":
        return config.lr
    end = config.decay_steps or config.steps
    done = min((step - config.warmup) / max(end - config.warmup, 1), 1.0)
    return config.min_lr + (config.lr - config.min_lr) * (1 + math.cos(math.pi * done)) / 2


def mean_loss(logits: mx.array, targets: mx.array, tap: Tap = off) -> mx.array:
    """The mean surprise at the targets, the number that training makes smaller."""
    return tap("loss", tap("nll", kernels.cross_entropy(logits, targets)).mean())


def sum_of_squares(arrays: Arrays) -> mx.array:
    """Of all numbers in all arrays."""
    sums = [mx.square(array.flatten()).sum(keepdims=True) for array in arrays.values()]
    return mx.concatenate(sums).sum()


def global_norm(arrays: Arrays) -> mx.array:
    """The length of all arrays taken as one vector."""
    return mx.sqrt(sum_of_squares(arrays))


def scaled_sum(parts: Sequence[Arrays], factor: mx.array) -> Arrays:
    """Factor times the sum of all parts, row by row: autograd makes some that are transposes."""
    first, *others = parts
    sums = {name: sum((each[name] for each in others), first[name]) for name in first}
    scaled = {name: factor * array for name, array in sums.items()}
    return {name: mx.contiguous(a) if a.ndim > 1 else a for name, a in scaled.items()}


def pick(arrays: Arrays, names: Iterable[str]) -> Arrays:
    """Those of the names, in their order."""
    return {name: arrays[name] for name in names}


def shared_out(arrays: Arrays, count: int) -> list[list[str]]:
    """The names of all arrays, in their order, in so many lists of about as many numbers."""
    numbers, owner = [0] * count, {}
    for name in sorted(arrays, key=lambda name: -arrays[name].size):
        owner[name] = numbers.index(min(numbers))
        numbers[owner[name]] += arrays[name].size
    return [[name for name in arrays if owner[name] == i] for i in range(count)]


def clip(grads: Arrays, norm: mx.array, limit: float) -> Arrays:
    """Scale the gradient down to the limit; 0 means no limit."""
    if limit == 0:
        return grads
    scale = mx.minimum(limit / mx.maximum(norm, 1e-12), 1.0)
    return {name: grad * scale for name, grad in grads.items()}


class Moments(NamedTuple):
    """AdamW's running means of the gradient and of its square."""

    first: Arrays
    second: Arrays


class Rates(NamedTuple):
    """What changes in AdamW with the step; arrays, so that a compiled step sees the change."""

    lr: mx.array
    first_scale: mx.array
    second_scale: mx.array


def rates(step: int, config: TrainConfig) -> Rates:
    """Learning rate and bias corrections 1 / (1 - βᵗ) of a step."""
    corrections = (1 / (1 - beta**step) for beta in (config.beta1, config.beta2))
    values = learning_rate(step, config), *corrections
    return Rates(*(mx.array(value, mx.float32) for value in values))


def adamw(
    params: Arrays, grads: Arrays, moments: Moments, rates: Rates, config: TrainConfig
) -> tuple[Arrays, Moments]:
    """One AdamW update (Loshchilov & Hutter 2019); only matrices decay, not norms and biases."""
    lr, first_scale, second_scale = rates
    new, first, second = {}, {}, {}
    for name, param in params.items():
        grad = grads[name]
        first[name] = config.beta1 * moments.first[name] + (1 - config.beta1) * grad
        second[name] = config.beta2 * moments.second[name] + (1 - config.beta2) * grad * grad
        size = mx.sqrt(second_scale * second[name]) + ADAM_EPS
        decay = config.weight_decay if param.ndim >= 2 else 0.0
        new[name] = param * (1 - lr * decay) - lr * first_scale * first[name] / size
    return new, Moments(first, second)


def spoilt(loss: float, vocab_size: int) -> bool:
    """Whether a loss is not finite, or ten times worse than knowing nothing, which costs ln V."""
    return not loss <= 10 * max(math.log(vocab_size), 1.0)


class Step(NamedTuple):
    """One finished optimizer step; seconds are those of its computation."""

    step: int
    loss: float
    lr: float
    grad_norm: float
    tokens: int
    seconds: float

    def diverged(self, vocab_size: int) -> bool:
        """Whether the loss is spoilt, or the gradient is."""
        return spoilt(self.loss, vocab_size) or not math.isfinite(self.grad_norm)


class Running(NamedTuple):
    """A step that the device may still be at."""

    step: int
    loss: mx.array
    grad_norm: mx.array


class Learner:
    """A model and its optimizer: everything that changes from step to step."""

    def __init__(self, model: GPT, config: TrainConfig, *, compiled: bool = False):
        self.model, self.config = model, config
        model.recompute = config.grad_checkpoint
        self.params: Arrays = dict(tree_flatten(model.parameters(), destination={}))
        zeros = {name: mx.zeros(array.shape) for name, array in self.params.items()}
        self.moments = Moments(zeros, dict(zeros))
        self.compiled = compiled
        self.streams = streams(self.most_streams() if compiled else 1)
        self.names = shared_out(self.params, len(self.streams))
        wrap: Callable = mx.compile if compiled else lambda function: function
        self.gradients = wrap(mx.value_and_grad(self.loss))
        self.scaled_sum = wrap(scaled_sum)
        self.squares = wrap(sum_of_squares)
        self.update = wrap(self.clipped_update)
        self.losses = wrap(self.token_losses)

    def most_streams(self) -> int:
        """How many may share a batch.

        One with dropout, whose mask is drawn for all rows; and one where memory is to be saved.
        """
        alone = self.model.config.dropout > 0 or self.config.grad_checkpoint
        return 1 if alone else self.config.batch_size

    def put(self, params: Arrays) -> None:
        """Let the model compute with these weights, in the precision of the computation."""
        if self.config.precision == "bfloat16":
            params = {name: array.astype(mx.bfloat16) for name, array in params.items()}
        self.model.update(tree_unflatten(list(params.items())))

    def loss(
        self, params: Arrays, inputs: mx.array, targets: mx.array, key: mx.array | None
    ) -> mx.array:
        """Mean cross-entropy of a batch, with dropout if there is a key."""
        self.put(params)
        with kernels.fusing(self.compiled):
            return mean_loss(self.model(inputs, dropout_key=key), targets)

    def token_losses(self, params: Arrays, inputs: mx.array, targets: mx.array) -> mx.array:
        """Cross-entropy of every position, without dropout."""
        self.put(params)
        with kernels.fusing(self.compiled):
            return kernels.cross_entropy(self.model(inputs), targets)

    def clipped_update(
        self, params: Arrays, grads: Arrays, moments: Moments, rates: Rates, norm: mx.array
    ) -> tuple[Arrays, Moments]:
        """New weights and moments."""
        grads = clip(grads, norm, self.config.grad_clip)
        return adamw(params, grads, Moments(*moments), Rates(*rates), self.config)

    def dropout_keys(self, step: int, count: int) -> list[mx.array | None]:
        """A key for each micro-batch of a step, from seed and step alone."""
        if self.model.config.dropout == 0:
            return [None] * count
        return list(mx.random.split(mx.random.key((self.config.seed << 32) | step), count))

    def parts(self, micro: Batch, key: mx.array | None) -> Iterator[tuple[mx.array, Arrays]]:
        """Loss and gradient of the rows that each stream takes; the batch has their mean."""
        count = len(self.streams)
        cuts = (np.array_split(array, count) for array in micro)
        for inputs, targets, stream in zip(*cuts, self.streams, strict=True):
            with mx.stream(stream):
                arrays = as_arrays(Batch(inputs, targets))
                loss, grads = self.gradients(self.params, *arrays, key)
                weight = count * len(inputs) / len(micro.inputs)
                if weight != 1:
                    loss, grads = weight * loss, scaled_sum([grads], mx.array(weight))
            yield loss, grads

    def accumulate(
        self, step: int, batches: Iterable[Batch], count: int
    ) -> tuple[mx.array, Arrays]:
        """Mean loss and mean gradient of the micro-batches, one in memory at a time."""
        total, parts = mx.array(0.0), []
        for micro, key in zip(batches, self.dropout_keys(step, count), strict=True):
            losses, grads = zip(*self.parts(micro, key), strict=True)
            total, parts = sum(losses, total), [*parts, *grads]
            if count > 1:
                parts = [self.gathered(parts, mx.array(1.0))]
                mx.eval(total, parts)
        if not parts:
            raise ValueError("a step needs at least one batch")
        share = mx.array(1 / (count * len(self.streams)))
        return share * total, self.gathered(parts, share)

    def launch(self, number: int, batches: Iterable[Batch]) -> Running:
        """Start one optimizer step (the first is 1), without waiting for its end."""
        loss, grads = self.accumulate(number, batches, self.config.grad_accumulation)
        norm = self.advance(grads, rates(number, self.config))
        mx.async_eval(self.params, self.moments, loss, norm)
        return Running(number, loss, norm)

    def step(self, number: int, batches: Iterable[Batch]) -> tuple[float, float]:
        """Take one optimizer step (the first is 1); its loss and gradient norm."""
        with blas_threads(len(self.streams)):
            running = self.launch(number, batches)
            mx.eval(self.params, self.moments)
        return float(running.loss), float(running.grad_norm)

    def owners(self) -> Iterator[list[str]]:
        """The names of the parameters that each stream updates, while it is the one in use."""
        for names, stream in zip(self.names, self.streams, strict=True):
            with mx.stream(stream):
                yield names

    def gathered(self, parts: Sequence[Arrays], factor: mx.array) -> Arrays:
        """Factor times the sum of gradients, name by name."""
        sums: Arrays = {}
        for names in self.owners():
            sums |= self.scaled_sum([pick(each, names) for each in parts], factor)
        return sums

    def advance(self, grads: Arrays, now: Rates) -> mx.array:
        """Move the weights by a gradient; its norm before clipping."""
        squares = [self.squares(pick(grads, names)) for names in self.owners()]
        norm = mx.sqrt(mx.stack(squares).sum())
        params, first, second = {}, {}, {}
        for names in self.owners():
            moments = Moments(*(pick(each, names) for each in self.moments))
            arrays = pick(self.params, names), pick(grads, names), moments
            new, moved = self.update(*arrays, now, norm)
            params |= new
            first |= moved[0]
            second |= moved[1]
        self.params = pick(params, self.params)
        self.moments = Moments(pick(first, self.params), pick(second, self.params))
        self.put(self.params)
        return norm

    def evaluate(self, batches: Iterable[Batch]) -> float:
        """Mean loss per token; NaN when there are no batches."""
        total, count = 0.0, 0
        for each in batches:
            losses = self.losses(self.params, *as_arrays(each))
            total += float(losses.sum())
            count += losses.size
        self.put(self.params)
        return total / count if count else math.nan

    def surprises(self, window: Batch) -> list[float]:
        """The loss of every token of one window, in nats."""
        losses = self.losses(self.params, *as_arrays(window))
        self.put(self.params)
        return [float(loss) for loss in np.array(losses[0].astype(mx.float32))]

    def optimizer_arrays(self) -> Arrays:
        """The moments as one flat dictionary, to be saved."""
        first = {f"first.{name}": array for name, array in self.moments.first.items()}
        return first | {f"second.{name}": array for name, array in self.moments.second.items()}

    def load(self, params: Arrays, optimizer: Arrays) -> None:
        """Go on from saved weights and moments.

        A file has its own order, and the gradient's norm is a sum whose last bits depend on it.
        """
        self.params = {name: params[name] for name in self.params}
        self.moments = Moments(
            {name: optimizer[f"first.{name}"] for name in self.params},
            {name: optimizer[f"second.{name}"] for name in self.params},
        )
        mx.eval(self.params, self.moments)
        self.put(self.params)


def as_arrays(each: Batch) -> tuple[mx.array, mx.array]:
    """A batch on the device."""
    return mx.array(each.inputs), mx.array(each.targets)


def micro_batches(
    tokens: np.ndarray, config: TrainConfig, context_length: int, step: int
) -> Iterator[Batch]:
    """The batches of a step (the first is 1), all distinct."""
    first = (step - 1) * config.grad_accumulation
    for index in range(first, first + config.grad_accumulation):
        yield batch(tokens, context_length, config.batch_size, config.seed, index)


def tokens_per_step(config: TrainConfig, context_length: int) -> int:
    """Tokens predicted in one optimizer step."""
    return config.batch_size * config.grad_accumulation * context_length


def always(_: int) -> bool:
    """Whatever the step."""
    return True


def train_steps(
    learner: Learner,
    tokens: np.ndarray,
    *,
    done: int = 0,
    rests: Callable[[int], bool] = always,
) -> Iterator[Step]:
    """Train from after step `done` to the end of the configuration, a step at a time.

    Where `rests(step)` is false, nobody looks at the weights after that step: when it is
    yielded, the device is at the next one already.
    """
    while done < learner.config.steps:
        for step in stretch(learner, tokens, done + 1, rests):
            yield step
            done = step.step


def stretch(
    learner: Learner, tokens: np.ndarray, first: int, rests: Callable[[int], bool]
) -> Iterator[Step]:
    """The steps from the first on, up to one after which the device rests."""
    config, context_length = learner.config, learner.model.config.context_length

    def launch(step: int) -> Running:
        return learner.launch(step, micro_batches(tokens, config, context_length, step))

    with blas_threads(len(learner.streams)):
        began, running = time.perf_counter(), launch(first)
        while not rests(running.step) and running.step < config.steps:
            following = launch(running.step + 1)
            step = finished(running, learner, began)
            yield step
            running, began = following, began + step.seconds
        mx.eval(learner.params, learner.moments)
        step = finished(running, learner, began)
    yield step


def finished(running: Running, learner: Learner, began: float) -> Step:
    """Wait for the numbers of a step whose computation began at that time."""
    loss, norm, config = float(running.loss), float(running.grad_norm), learner.config
    seconds = time.perf_counter() - began
    count = tokens_per_step(config, learner.model.config.context_length)
    rate = learning_rate(running.step, config)
    return Step(running.step, loss, rate, norm, count, seconds)
