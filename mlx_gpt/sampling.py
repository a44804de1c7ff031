"""Choosing the next token, again and again: ids in, ids out; and a small layer that makes text.

Axes: n samples side by side, T tokens, V vocabulary. What is drawn depends on the seed, the
number of the sample and the position alone, so a sample is the same with and without the
cache, alone and among others, and the global random state of MLX stays as it is.

Past the context there is one rule: the last context_length tokens are encoded afresh for
every new token, so that text with the cache equals text without it.
"""

import dataclasses
import functools
import hashlib
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeVar, cast

from mlx_gpt.device import compiles_decoding, mx, remember_kernels

import mlx.nn as nn

from mlx_gpt import decoding, kernels
from mlx_gpt.config import SampleConfig
from mlx_gpt.decoding import Folded, can_fold, fold
from mlx_gpt.errors import UserError
from mlx_gpt.interop.weights import group_size_of
from mlx_gpt.model import GPT, CacheState, KVCache, check_ids
from mlx_gpt.tokenizer import Decoder, Tokenizer
from mlx_gpt.tracing import Tap, off

GREEDY_BELOW = 1e-6  # float32 logits are no finer than this, and division by less overflows
ROUNDING = 1e-6  # what a float32 sum of probabilities may be off by
PREFILL = 512  # tokens of the prompt that are read at once
MOST = 2**31 - 1  # more tokens than any vocabulary has

F = TypeVar("F", bound=Callable)
Finish = Literal["length", "stop", "end"]


class Candidate(NamedTuple):
    """A token that could come next, and the probability the model gives it."""

    id: int
    p: float


class Token(NamedTuple):
    """A chosen token, the model's own probability for it (nothing filtered), and its rivals'."""

    id: int
    p: float
    top: tuple[Candidate, ...]
    logit: float = math.nan  # told where rivals are: with it any p becomes a logit


Row = tuple[Token | None, ...]


class Choice(NamedTuple):
    """One position of n samples, perhaps not computed yet: ids (n,), rivals (n, top).

    The logits of the ids are (n, 1), or (n, 0) where no rivals are asked for.
    """

    ids: mx.array
    p: mx.array
    rival_ids: mx.array
    rival_p: mx.array
    logits: mx.array
    finite: mx.array


class Numbers(NamedTuple):
    """The numbers of a SampleConfig as arrays: given to a compiled step, its kernels serve all."""

    temperature: mx.array
    top_k: mx.array
    top_p: mx.array
    min_p: mx.array
    penalty: mx.array


def numbers_of(config: SampleConfig) -> Numbers:
    """The numbers of these settings."""
    c = config
    real = [mx.array(value) for value in (c.temperature, c.top_p, c.min_p, c.repetition_penalty)]
    return Numbers(real[0], mx.array(min(c.top_k, MOST)), *real[1:])


def is_greedy(config: SampleConfig) -> bool:
    """Whether the temperature leaves nothing to chance."""
    return config.temperature < GREEDY_BELOW


def descending(logits: mx.array, count: int) -> mx.array:
    """The `count` largest of each row, best first; sorting them alone is 10 times faster."""
    best = mx.topk(logits, count, axis=-1) if count < logits.shape[-1] else logits
    return -mx.sort(-best, axis=-1)


def likeliest(logits: mx.array, best: mx.array, count: mx.array) -> mx.array:
    """Mark exactly `count` tokens per row, the likeliest; of equals, those of lower id.

    `best` holds the largest logits of each row, best first, at least `count` of them.
    """
    at = mx.broadcast_to(count - 1, (*logits.shape[:-1], 1))
    last = mx.take_along_axis(best, at, axis=-1)
    above, equal = logits > last, logits == last
    room = count - above.sum(axis=-1, keepdims=True)
    return above | (equal & (mx.cumsum(equal, axis=-1) <= room))


def reaching(best: mx.array, p: mx.array) -> mx.array:
    """How many of the likeliest tokens it takes for their probabilities to sum to p: (…, 1)."""
    below = mx.cumsum(mx.softmax(best, axis=-1, precise=True), axis=-1) < p - ROUNDING
    return mx.minimum(below.sum(axis=-1, keepdims=True) + 1, best.shape[-1])


def penalised(logits: mx.array, penalty: mx.array, used: mx.array) -> mx.array:
    """Make used tokens less likely: positive logits divided, negative multiplied (CTRL, 2019)."""
    return mx.where(used, mx.where(logits > 0, logits / penalty, logits * penalty), logits)


def keep(logits: mx.array, kept: mx.array) -> mx.array:
    """Forbid every token that is not marked."""
    return mx.where(kept, logits, -mx.inf)


def filtered(
    logits: mx.array,
    config: SampleConfig,
    used: mx.array | None = None,
    tap: Tap = off,
    numbers: Numbers | None = None,
) -> mx.array:
    """Logits (…, V) to draw from, -inf where a token may not come; `used` marks those seen.

    In this order, each on what the one before left: repetition penalty, temperature, top-k,
    top-p, min-p. At least one token is always left.
    """
    vocab_size, numbers = logits.shape[-1], numbers or numbers_of(config)
    if used is not None:
        logits = tap("penalised", penalised(logits, numbers.penalty, used))
    if is_greedy(config):
        best = mx.argmax(logits, axis=-1, keepdims=True)
        return tap("filtered", keep(logits, mx.arange(vocab_size) == best))
    shifted = logits - logits.max(axis=-1, keepdims=True)
    logits = tap("temperature", shifted / numbers.temperature)
    left = min(config.top_k or vocab_size, vocab_size)
    if left < vocab_size or config.top_p < 1:
        best = descending(logits, left)
        if left < vocab_size:
            logits = keep(logits, likeliest(logits, best, numbers.top_k))
        if config.top_p < 1:
            logits = keep(logits, likeliest(logits, best, reaching(best, numbers.top_p)))
    if config.min_p > 0:
        logits = keep(logits, logits >= mx.log(numbers.min_p) - ROUNDING)  # the likeliest is at 0
    return tap("filtered", logits)


def key(seed: int, sample: int, position: int) -> mx.array:
    """The key of one draw; hashing keeps neighbouring seeds, samples and positions apart."""
    digest = hashlib.blake2b(f"{seed} {sample} {position}".encode(), digest_size=8).digest()
    return mx.random.key(int.from_bytes(digest))


def draw(logits: mx.array, keys: Sequence[mx.array]) -> mx.array:
    """One id per row of logits (n, V), each row with a key of its own."""
    one = mx.vmap(lambda row, key: mx.random.categorical(row, key=key))
    return one(logits, mx.stack(list(keys)))


def mark(ids: mx.array, vocab_size: int) -> mx.array:
    """Ids (n, T) as marks (n, V)."""
    marks = mx.zeros((ids.shape[0], vocab_size), mx.bool_)
    return mx.put_along_axis(marks, ids, mx.array(True), axis=-1)


class Context:
    """The tokens of n samples, and what the model remembers of them while they fit.

    The prompt is read once for all samples. After it a step takes one token of each; compiled,
    it has fixed shapes, and the cache doubles when it is full.
    """

    def __init__(
        self,
        model: GPT,
        prompt: Sequence[int],
        n: int,
        *,
        use_cache: bool,
        used: bool,
        compiled: bool | None,
    ):
        self.model, self.limit = model, model.config.context_length
        self.passes = passes_of(ById(model), compiled)
        self.step = self.passes.begin()
        ids = mx.broadcast_to(mx.array(list(prompt), mx.int32), (n, len(prompt)))
        self.recent = [ids[:, -self.limit :]]
        self.used = mark(ids, model.config.vocab_size) if used else None
        # Without the causal mask old tokens change with each new one: nothing can be kept.
        self.keeps = use_cache and model.config.causal
        self.cache: KVCache | None = None
        self.length = 0  # tokens in the cache

    def append(self, ids: mx.array) -> None:
        """One more token for each sample."""
        column = ids[:, None].astype(mx.int32)
        self.recent.append(column)
        if self.used is not None:
            self.used = mx.put_along_axis(self.used, column, mx.array(True), axis=-1)

    def logits(self) -> mx.array:
        """Logits (n, V) of the next token, in float32."""
        if self.keeps and not self.length:
            return self.prefill()
        if self.length == self.limit:
            self.keeps, self.cache = False, None
        if not self.cache:
            self.recent = [mx.concatenate(self.recent, axis=1)[:, -self.limit :]]
            return self.passes.window(self.recent[0])
        if self.length == self.cache.capacity:
            self.cache.state = roomier(self.cache.state, room_for(self.length, self.limit))
        self.length += 1
        logits, state = self.step(self.recent[-1], self.cache.state)
        self.cache.state = state
        return logits

    def prefill(self) -> mx.array:
        """Read the prompt, which all samples share, in pieces; the logits (n, V) after it."""
        n, self.length = self.recent[0].shape
        room = room_for(self.length, self.limit)
        self.cache = KVCache(self.model.config, 1, number_type(self.model), room)
        logits = mx.array(0.0)
        for start in range(0, self.length, PREFILL):
            piece = self.recent[0][:1, start : start + PREFILL]
            logits = last_logits(self.model, piece, self.cache)
            mx.eval(logits, [(keys, values) for keys, values, _ in self.cache.state])
        length = mx.array(self.length) if self.passes.compiled else self.length
        self.cache.state = spread(self.cache.state, n, length)
        return mx.broadcast_to(logits, (n, logits.shape[-1]))


def room_for(length: int, limit: int) -> int:
    """Places for more tokens than so many, in powers of two, so that a step has few shapes."""
    return min(limit, max(64, 1 << length.bit_length()))


def roomier(state: CacheState, room: int) -> CacheState:
    """The cache with more places."""

    def pad(x: mx.array) -> mx.array:
        return mx.pad(x, [(0, 0), (0, 0), (0, room - x.shape[2]), (0, 0)])

    return [(pad(keys), pad(values), length) for keys, values, length in state]


def spread(state: CacheState, n: int, length: int | mx.array) -> CacheState:
    """The cache of one sample as that of n."""
    return [(mx.repeat(k, n, axis=0), mx.repeat(v, n, axis=0), length) for k, v, _ in state]


def last_logits(model: GPT, tokens: mx.array, cache: KVCache | None = None) -> mx.array:
    """The logits (n, V) after some tokens, in float32."""
    return model(tokens, cache, last=True)[:, -1].astype(mx.float32)


TokenStep = Callable[[mx.array, CacheState], tuple[mx.array, CacheState]]


class Passes(NamedTuple):
    """Two passes through a model: one token with a cache, and a whole context without."""

    begin: Callable[[], TokenStep]  # the first, with the weights as they are now
    window: Callable[[mx.array], mx.array]
    compiled: bool  # whether the step is


class ById:
    """A model as the key of a cache: two are the same only if they are one object."""

    def __init__(self, model: GPT):
        self.model = model

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ById) and self.model is other.model

    def __hash__(self) -> int:
        return id(self.model)


@functools.lru_cache(maxsize=1)
def passes_of(key: ById, wanted: bool | None) -> Passes:
    """The passes of a model, compiled where that pays or is wanted; traced once for many texts."""
    model = key.model

    def step(
        folded: Folded | None, tokens: mx.array, state: CacheState
    ) -> tuple[mx.array, CacheState]:
        if folded:
            return decoding.step(model, folded, tokens, state)
        cache = KVCache(model.config, 1, room=1)
        cache.state = state
        return last_logits(model, tokens, cache), cache.state

    def begin() -> TokenStep:
        return functools.partial(step, fold(model) if compiled and can_fold(model) else None)

    def window(tokens: mx.array) -> mx.array:
        with kernels.fusing(rereads):
            return last_logits(model, tokens)

    compiled, rereads = (
        compiles_decoding(name(model), wanted) for name in (step_kernels, window_kernels)
    )
    if compiled:
        step = known_by(step_kernels(model), step, model)
    if rereads:
        window = known_by(window_kernels(model), window, model)
    return Passes(begin, window, compiled)


def known_by(name: str, function: F, model: GPT | None = None) -> F:
    """The function compiled; when it has run, its kernels are known to be on this machine."""
    compiled, calls = mx.compile(function, inputs=model and model.state), itertools.count()

    def call(*arguments: object) -> object:
        if next(calls) == 2:  # by now the first has been computed
            remember_kernels(name)
        return compiled(*arguments)

    return cast(F, call)


def digest(*facts: object) -> str:
    """A name for what decides the kernels of a compiled function."""
    return hashlib.blake2b(repr(facts).encode(), digest_size=8).hexdigest()


def step_kernels(model: GPT) -> str:
    """Names the kernels of a step of one token; they do not know the sizes left out."""
    free = {"vocab_size": 1, "context_length": 1, "n_layers": 1, "dropout": 0.0}
    config = dataclasses.replace(model.config, **free)
    return digest("step", config, number_type(model), can_fold(model))


def window_kernels(model: GPT) -> str:
    """Names the kernels of a pass over a whole context."""
    free = {"vocab_size": 1, "n_layers": 1, "dropout": 0.0}
    return digest("window", dataclasses.replace(model.config, **free), number_type(model))


def choice_kernels(config: SampleConfig, *options: bool) -> str:
    """Names the kernels of the choice among logits; its numbers are inputs."""
    c = config
    filters = c.top_k > 0, c.top_p < 1, c.min_p > 0, c.repetition_penalty != 1
    return digest("choice", is_greedy(c), *filters, *options)


def quantise(model: GPT, bits: int) -> None:
    """Replace the matrices by ones of 4 or 8 bits, in groups with a scale and an offset each."""
    nn.quantize(model, group_size=group_size_of(model.config), bits=bits)


def number_type(model: GPT) -> mx.Dtype:
    """What the model computes in; the norms have it even when the weights are quantised."""
    return model.blocks[0].norm1.weight.dtype


def choose(
    logits: mx.array,
    config: SampleConfig,
    keys: Sequence[mx.array],
    *,
    used: mx.array | None = None,
    top: int = 0,
    known: int | None = None,
    tap: Tap = off,
    numbers: Numbers | None = None,
) -> Choice:
    """Pick one token per row of logits (n, V); ids from `known` on are never picked."""
    probabilities = mx.softmax(logits, axis=-1, precise=True)
    allowed = logits
    if known is not None:
        allowed = tap("known", keep(logits, mx.arange(logits.shape[-1]) < known))
    allowed = filtered(allowed, config, used, tap, numbers)
    if tap.live:
        tap("probs", mx.softmax(allowed, axis=-1, precise=True))
    ids = tap("token", mx.argmax(allowed, axis=-1) if is_greedy(config) else draw(allowed, keys))
    rivals = best_ids(logits, top)
    return Choice(
        ids,
        mx.take_along_axis(probabilities, ids[:, None], axis=-1)[:, 0],
        rivals,
        mx.take_along_axis(probabilities, rivals, axis=-1),
        mx.take_along_axis(logits, ids[:, None] if top else rivals, axis=-1),
        mx.isfinite(logits).all(),
    )


def best_ids(logits: mx.array, count: int) -> mx.array:
    """The ids of the `count` largest of each row, best first."""
    if not count:
        return mx.zeros((*logits.shape[:-1], 0), mx.uint32)
    if count < logits.shape[-1]:
        some = mx.argpartition(-logits, count - 1, axis=-1)[..., :count]
    else:
        some = mx.broadcast_to(mx.arange(count, dtype=mx.uint32), (*logits.shape[:-1], count))
    order = mx.argsort(-mx.take_along_axis(logits, some, axis=-1), axis=-1)
    return mx.take_along_axis(some, order, axis=-1)


def read(choice: Choice) -> tuple[Token, ...]:
    """The tokens of one position as plain numbers; a model that has diverged is refused."""
    if not bool(choice.finite):
        raise UserError(
            "the model has diverged: its logits are NaN or infinite; "
            "take an earlier checkpoint, or train again with a lower train.lr"
        )
    ids, p, rival_ids, rival_p, logits = (cast(list, array.tolist()) for array in choice[:5])
    rivals = [tuple(map(Candidate, *pair)) for pair in zip(rival_ids, rival_p, strict=True)]
    told = zip(ids, p, rivals, logits, strict=True)
    return tuple(Token(token, share, top, *logit) for token, share, top, logit in told)


def generate(
    model: GPT,
    prompt: Sequence[int],
    config: SampleConfig,
    *,
    seed: int,
    end_id: int | None,
    n: int = 1,
    first: int = 0,
    top: int = 0,
    use_cache: bool = True,
    known: int | None = None,
    compiled: bool | None = None,
) -> Iterator[Row]:
    """Rows of n tokens, one per position, until all have ended or max_tokens is reached.

    A sample ends with its end_id; from then on its place in the row is None. An empty prompt
    starts from end_id, which separates documents. `first` numbers the first sample, `top` is
    how many rivals to report, and ids from `known` on (a padded vocabulary) are never picked.
    The step is compiled where that pays, unless told.
    """
    prompt = list(prompt) or ([] if end_id is None else [end_id])
    vocab_size = model.config.vocab_size
    check_request(prompt, vocab_size, seed=seed, end_id=end_id, n=n, first=first, top=top)
    if known is not None and not 0 < known <= vocab_size:
        raise UserError(f"{known} known ids, but the model has {vocab_size}")
    known = None if known == vocab_size else known
    context = Context(
        model,
        prompt,
        n,
        use_cache=use_cache,
        used=config.repetition_penalty != 1,
        compiled=compiled,
    )
    numbers = numbers_of(config)
    plain, fast = picks_of(config, min(top, vocab_size), known, n > 1, compiled)

    def choose_at(step: int) -> Choice:
        keys = [key(seed, first + j, len(prompt) + step) for j in range(n)]
        pick = fast if step else plain
        return Choice(*pick(context.logits(), keys, context.used, numbers))

    return rows(context, choose_at, config.max_tokens, end_id)


Pick = Callable[[mx.array, Sequence[mx.array], mx.array | None, Numbers], Choice]


@functools.lru_cache(maxsize=8)
def picks_of(
    config: SampleConfig, top: int, known: int | None, several: bool, wanted: bool | None
) -> tuple[Pick, Pick]:
    """The choice with these settings, plain and compiled where that pays or is wanted."""

    def pick(
        logits: mx.array, keys: Sequence[mx.array], used: mx.array | None, numbers: Numbers
    ) -> Choice:
        numbers = Numbers(*numbers)  # mx.compile makes a plain tuple of it
        return choose(logits, config, keys, used=used, top=top, known=known, numbers=numbers)

    name = choice_kernels(config, top > 0, known is not None, several)
    return pick, known_by(name, pick) if compiles_decoding(name, wanted) else pick


def check_request(
    prompt: Sequence[int],
    vocab_size: int,
    *,
    seed: int,
    end_id: int | None,
    n: int,
    first: int,
    top: int,
) -> None:
    """Refuse what MLX would not notice, or would answer with garbage."""
    if not prompt:
        raise UserError("the prompt is empty and there is no token to start from; give a prompt")
    check_ids(prompt if end_id is None else [*prompt, end_id], vocab_size)
    numbers = {"seed": (seed, 0), "n": (n, 1), "first": (first, 0), "top": (top, 0)}
    for name, (value, least) in numbers.items():
        if value < least:
            raise UserError(f"{name} = {value}: must be at least {least}")


def rows(
    context: Context, choose_at: Callable[[int], Choice], steps: int, end_id: int | None
) -> Iterator[Row]:
    """Row after row; the device is already at the next while one is read."""
    ahead: Choice | None = None
    ended: set[int] = set()
    for step in range(steps):
        choice, ahead = ahead or choose_at(step), None
        context.append(choice.ids)
        if 0 < step < steps - 1:  # the first row is shown before more work begins
            ahead = choose_at(step + 1)
            mx.async_eval(*ahead)
        tokens = read(choice)
        yield tuple(None if j in ended else token for j, token in enumerate(tokens))
        ended |= {j for j, token in enumerate(tokens) if token.id == end_id}
        if len(ended) == len(tokens):
            return


class TextStream:
    """Text from ids as they come, up to the first stop text; the stop itself never shows.

    What could still grow into a stop is held back. Of several stops the one that begins
    first in the text wins, however the tokens cut it.
    """

    def __init__(self, tokenizer: Tokenizer, stops: Sequence[str] = ()):
        if "" in stops:
            raise UserError("a stop text is empty, which would stop before the first token")
        self.decoder = Decoder(tokenizer)
        self.stops = tuple(stops)
        self.held = ""
        self.stopped = False

    def feed(self, token_id: int) -> str:
        """Take one more id; the text that has become certain."""
        return self.release(self.decoder.feed(token_id), last=False)

    def flush(self) -> str:
        """The text still held back, when no more ids come."""
        return self.release(self.decoder.flush(), last=True)

    def release(self, text: str, *, last: bool) -> str:
        """Add text; let go of what no stop can claim."""
        if self.stopped:
            return ""
        self.held += text
        found = min((at for stop in self.stops if (at := self.held.find(stop)) >= 0), default=None)
        growing = len(self.held) if last else self.begun()
        self.stopped = found is not None and found <= growing
        cut = found if self.stopped else growing
        certain, self.held = self.held[:cut], self.held[cut:]
        return certain

    def begun(self) -> int:
        """Where the earliest unfinished stop may begin; the end of the text when none does."""
        for start in range(len(self.held)):
            tail = self.held[start:]
            if any(len(tail) < len(stop) and stop.startswith(tail) for stop in self.stops):
                return start
        return len(self.held)


class Sample:
    """One sample as it grows: its tokens, its text so far, and why it ended."""

    def __init__(self, tokenizer: Tokenizer, stops: Sequence[str] = ()):
        self.tokens: list[Token] = []
        self.text = ""
        self.finish: Finish | None = None
        self.end_id = tokenizer.end_id
        self.stream = TextStream(tokenizer, stops)

    def add(self, token: Token) -> None:
        """Take one more token."""
        self.tokens.append(token)
        if token.id == self.end_id:
            return self.close("end")
        self.text += self.stream.feed(token.id)
        if self.stream.stopped:
            self.finish = "stop"

    def close(self, finish: Finish) -> None:
        """No more tokens come."""
        self.text += self.stream.flush()
        self.finish = "stop" if self.stream.stopped else finish


def write(
    model: GPT,
    tokenizer: Tokenizer,
    prompt: Sequence[int],
    config: SampleConfig,
    *,
    seed: int,
    n: int = 1,
    first: int = 0,
    stops: Sequence[str] = (),
    top: int = 0,
    use_cache: bool = True,
    compiled: bool | None = None,
) -> Iterator[list[Sample]]:
    """The same n samples again and again as they grow, the last time with all of them closed.

    `first` numbers the first of them, as in `generate`.
    """
    samples = [Sample(tokenizer, stops) for _ in range(n)]
    generated = generate(
        model,
        prompt,
        config,
        seed=seed,
        end_id=tokenizer.end_id,
        n=n,
        first=first,
        top=top,
        use_cache=use_cache,
        known=min(tokenizer.vocab_size, model.config.vocab_size),
        compiled=compiled,
    )
    return grow(samples, generated)


def grow(samples: list[Sample], generated: Iterator[Row]) -> Iterator[list[Sample]]:
    """Hand each token to its sample until every sample has its reason to end."""
    for row in generated:
        for sample, token in zip(samples, row, strict=True):
            if token and not sample.finish:
                sample.add(token)
        if all(sample.finish for sample in samples):
            break
        yield samples
    for sample in samples:
        if not sample.finish:
            sample.close("length")
    yield samples


class Clock:
    """Times a generation: the first row, for which the prompt is read, apart from the others."""

    def __init__(self) -> None:
        self.started = self.first = self.last = time.perf_counter()
        self.tokens = self.first_tokens = 0

    def tick(self, tokens: int) -> None:
        """So many tokens are there by now, in all samples together."""
        if tokens == self.tokens:
            return
        self.last = time.perf_counter()
        if not self.tokens:
            self.first, self.first_tokens = self.last, tokens
        self.tokens = tokens

    @property
    def prefill_seconds(self) -> float:
        """From the start to the first row of tokens."""
        return self.first - self.started

    @property
    def tokens_per_second(self) -> float:
        """Speed after the first row; of the first row where there is no other."""
        if self.tokens > self.first_tokens:
            return (self.tokens - self.first_tokens) / (self.last - self.first)
        return self.tokens / self.prefill_seconds if self.tokens else 0.0
