import dataclasses
import math
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from mlx_gpt.device import describe, mx

import numpy as np
import pytest
from mlx.utils import tree_flatten, tree_map

from mlx_gpt.config import ModelConfig, SampleConfig
from mlx_gpt.errors import UserError
from mlx_gpt.model import GPT, KVCache
from mlx_gpt.sampling import (
    PREFILL,
    Clock,
    Context,
    Row,
    Sample,
    TextStream,
    Token,
    best_ids,
    choice_kernels,
    draw,
    filtered,
    generate,
    key,
    mark,
    quantise,
    room_for,
    step_kernels,
    window_kernels,
    write,
)
from mlx_gpt.tokenizer import ByteTokenizer
from mlx_gpt.tracing import Tap, off

ROOT = Path(__file__).parent.parent
V, T = 65, 8
END = 64
BYTES = ByteTokenizer()
SMALL = ModelConfig(
    vocab_size=V, context_length=T, d_model=16, n_layers=2, n_heads=2, tied_head=False
)
LEARNED = dataclasses.replace(SMALL, position="learned")
PLAIN = SampleConfig(temperature=1.0)
GREEDY = SampleConfig(temperature=0.0)
SHORT = SampleConfig(temperature=0.0, max_tokens=40)


def opinionated(config: ModelConfig) -> GPT:
    """A model whose weights are large enough for texts that do not repeat one token."""
    model = GPT(config, seed=3)
    model.update(tree_map(lambda weight: weight * 6, model.parameters()))
    return model


def constant(logits: Sequence[float]) -> GPT:
    """A model that gives the same logits after every text."""
    config = dataclasses.replace(SMALL, vocab_size=len(logits), position="none", final_norm=False)
    model = GPT(config)
    model.update(tree_map(lambda weight: weight * 0, model.parameters()))
    model.embedding.weight = mx.broadcast_to(mx.eye(16)[0], (len(logits), 16))
    head = np.zeros((len(logits), 16), np.float32)
    head[:, 0] = logits
    model.head.weight = mx.array(head)
    return model


def ids(rows: Sequence[Row], sample: int = 0) -> list[int]:
    """The ids of one sample."""
    return [token.id for row in rows if (token := row[sample])]


def run(model: GPT, prompt: Sequence[int], config: SampleConfig, **options: int) -> list[Row]:
    """All rows of a generation that nothing but its length ends."""
    return list(generate(model, prompt, config, **{"seed": 0, "end_id": None, **options}))


def noise(size: int = V, seed: int = 0) -> np.ndarray:
    """Logits without ties."""
    return np.random.default_rng(seed).normal(0, 2, size)


def softmax(logits: np.ndarray) -> np.ndarray:
    """In float64."""
    exp = np.exp(logits - logits.max())
    return exp / exp.sum()


def expected(logits: np.ndarray, config: SampleConfig, used: Sequence[int] = ()) -> np.ndarray:
    """The distribution that the settings stand for, written without haste in float64."""
    logits = logits.astype(np.float64).copy()
    for i in set(used):
        penalty = config.repetition_penalty
        logits[i] = logits[i] / penalty if logits[i] > 0 else logits[i] * penalty
    logits /= config.temperature
    order = np.argsort(-logits, kind="stable")
    if config.top_k:
        logits[order[config.top_k :]] = -np.inf
    sums, left = 0.0, softmax(logits)
    for i in order:
        if sums >= config.top_p:
            logits[i] = -np.inf
        sums += left[i]
    p = softmax(logits)
    p[p < config.min_p * p.max()] = 0
    return p / p.sum()


def distribution(logits: np.ndarray, config: SampleConfig, used: Sequence[int] = ()) -> np.ndarray:
    """The distribution that is drawn from."""
    marks = mark(mx.array([list(used)], mx.int32), len(logits)) if used else None
    allowed = filtered(mx.array(logits[None], mx.float32), config, marks)
    return np.array(mx.softmax(allowed, axis=-1))[0]


def drawn(logits: np.ndarray, config: SampleConfig, count: int) -> np.ndarray:
    """How often each id comes in so many draws."""
    allowed = filtered(mx.array(logits[None], mx.float32), config)
    keys = [key(7, 0, position) for position in range(count)]
    found = draw(mx.broadcast_to(allowed, (count, len(logits))), keys)
    return np.bincount(np.array(found), minlength=len(logits))


FILTERS = {
    "nothing": {},
    "hot": {"temperature": 1.7},
    "cold": {"temperature": 0.3},
    "top-k": {"top_k": 7},
    "top-k 1": {"top_k": 1},
    "top-k V": {"top_k": V},
    "top-p": {"top_p": 0.7},
    "a small top-p": {"top_p": 0.01},
    "min-p": {"min_p": 0.1},
    "min-p 1": {"min_p": 1.0},
    "repetition": {"repetition_penalty": 1.8},
    "all": {
        "temperature": 1.3, "top_k": 30, "top_p": 0.9, "min_p": 0.05, "repetition_penalty": 1.4
    },
}  # fmt: skip


@pytest.mark.parametrize("settings", FILTERS.values(), ids=FILTERS.keys())
def test_the_distribution_is_the_one_the_settings_stand_for(settings: dict[str, float]) -> None:
    config = dataclasses.replace(PLAIN, **settings)
    for seed in range(5):
        logits = noise(seed=seed)
        used = [3, 3, 17, int(logits.argmax()), int(logits.argmin())]
        got = distribution(logits, config, used)
        assert np.allclose(got, expected(logits, config, used), atol=2e-6)


def test_draws_follow_the_distribution_and_never_meet_a_masked_id() -> None:
    config = SampleConfig(temperature=1.2, top_k=12, top_p=0.95)
    logits, count = noise(), 10_000
    p, seen = expected(logits, config), drawn(logits, config, count)
    assert seen[p == 0].sum() == 0
    chi_square = ((seen - count * p)[p > 0] ** 2 / (count * p[p > 0])).sum()
    freedom = (p > 0).sum() - 1
    assert chi_square < freedom + 4 * math.sqrt(2 * freedom)


@pytest.mark.parametrize("temperature", [0.0, 1e-300, 1e-8, 1e-5])
def test_a_tiny_temperature_takes_the_likeliest(temperature: float) -> None:
    logits, config = noise() * 1e4, SampleConfig(temperature=temperature)
    assert distribution(logits, config)[logits.argmax()] == 1
    assert drawn(logits, config, 50)[logits.argmax()] == 50


def test_greedy_takes_the_lowest_id_of_equals() -> None:
    assert distribution(np.array([0.0, 2, 2, 1]), GREEDY).tolist() == [0, 1, 0, 0]


def test_a_huge_temperature_is_uniform() -> None:
    assert np.allclose(distribution(noise(), SampleConfig(temperature=1e30)), 1 / V)


@pytest.mark.parametrize("top_k", [65, 66, 200, 10**12])
def test_a_top_k_of_the_vocabulary_or_more_changes_nothing(top_k: int) -> None:
    logits = noise()
    assert np.allclose(distribution(logits, dataclasses.replace(PLAIN, top_k=top_k)),
                       softmax(logits), atol=1e-6)  # fmt: skip


def test_ties_at_the_kth_logit_leave_exactly_k_candidates_of_lowest_id() -> None:
    logits = np.array([1.0, 3, 2, 2, 2, 2, 0, 3])
    kept = distribution(logits, dataclasses.replace(PLAIN, top_k=4)) > 0
    assert kept.nonzero()[0].tolist() == [1, 2, 3, 7]
    equal = distribution(np.zeros(V), dataclasses.replace(PLAIN, top_k=5)) > 0
    assert equal.nonzero()[0].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("top_p", "count"), [(0.1, 1), (0.5, 1), (0.51, 2), (0.75, 2), (0.8, 3)])
def test_top_p_keeps_the_smallest_set_that_reaches_p(top_p: float, count: int) -> None:
    logits = np.log([0.125, 0.5, 0.125, 0.25])
    assert (distribution(logits, dataclasses.replace(PLAIN, top_p=top_p)) > 0).sum() == count


def test_top_k_1_with_top_p_leaves_one_token() -> None:
    assert distribution(noise(), SampleConfig(top_k=1, top_p=0.1)).max() == 1
    assert distribution(np.zeros(V), SampleConfig(top_p=1e-9, min_p=1.0)).max() == 1


def test_the_penalty_falls_on_prompt_and_generated_ids() -> None:
    model = constant([5.0, 4.9, 4.8, -1.0])
    config = SampleConfig(temperature=0, repetition_penalty=2.0, max_tokens=3)
    assert ids(run(model, [3, 0], config)) == [1, 2, 0]


@pytest.mark.parametrize("config", [SMALL, LEARNED], ids=["rope", "learned"])
@pytest.mark.parametrize("length", [1, 3, T - 1, T, T + 1, 3 * T])
def test_cached_text_is_uncached_text_at_every_length(config: ModelConfig, length: int) -> None:
    model = opinionated(config)
    prompt = [(5 * i + 2) % V for i in range(length)]
    greedy = dataclasses.replace(GREEDY, max_tokens=3 * T)
    cached, uncached = (run(model, prompt, greedy, use_cache=cache) for cache in (True, False))
    assert ids(cached) == ids(uncached)
    assert len(set(ids(cached))) > 2
    chosen = [row[0].p for row in cached if row[0]], [row[0].p for row in uncached if row[0]]
    assert np.allclose(*chosen, rtol=1e-3)


@pytest.mark.parametrize("config", [SMALL, LEARNED], ids=["rope", "learned"])
def test_past_the_context_the_last_tokens_are_encoded_afresh(config: ModelConfig) -> None:
    model, text = opinionated(config), [1, 2, 3]
    for token in ids(run(model, text, dataclasses.replace(GREEDY, max_tokens=2 * T))):
        logits = model(mx.array([text[-T:]]))[0, -1]
        assert token == int(mx.argmax(logits))
        text.append(token)


STEPS = {
    "rope": {},
    "learned": {"position": "learned"},
    "no positions": {"position": "none"},
    "grouped": {"n_kv_heads": 1},
    "parallel": {"parallel_residual": True},
}


@pytest.mark.parametrize("changes", STEPS.values(), ids=STEPS.keys())
@pytest.mark.parametrize("n", [1, 3])
def test_a_step_of_fixed_shapes_gives_the_same_text(changes: dict, n: int) -> None:
    # Under MLX_DISABLE_COMPILE the step is not compiled, but has the shapes of one that is.
    model = opinionated(dataclasses.replace(SMALL, context_length=600, **changes))
    config = dataclasses.replace(PLAIN, max_tokens=15, top_k=20)
    prompt = [i * i % V for i in range(250)]  # at 256 places the cache doubles
    fixed, free = (run(model, prompt, config, n=n, compiled=on) for on in (True, False))
    assert len(fixed) == 15
    for j in range(n):
        assert ids(fixed, j) == ids(free, j)
    p = [[row[0].p for row in rows if row[0]] for rows in (fixed, free)]
    assert np.allclose(*p, rtol=1e-3)


def test_a_step_of_fixed_shapes_hands_over_to_the_window() -> None:
    model, config = opinionated(SMALL), dataclasses.replace(PLAIN, max_tokens=3 * T)
    assert ids(run(model, [1], config, compiled=True)) == ids(run(model, [1], config))


class Watched(GPT):
    """A GPT that notes what it is given to read."""

    def __init__(self, config: ModelConfig, seed: int):
        super().__init__(config, seed)
        self.seen: list[tuple[int, ...]] = []

    def __call__(
        self,
        tokens: mx.array,
        cache: KVCache | None = None,
        dropout_key: mx.array | None = None,
        tap: Tap = off,
        *,
        last: bool = False,
    ) -> mx.array:
        self.seen.append(tokens.shape)
        return super().__call__(tokens, cache, dropout_key, tap, last=last)


def test_a_long_prompt_is_read_in_pieces_and_once_for_all_samples() -> None:
    model = Watched(dataclasses.replace(SMALL, context_length=3 * PREFILL, vocab_size=11), seed=3)
    prompt = [i * i % 11 for i in range(2 * PREFILL + 7)]
    context = Context(model, prompt, 3, use_cache=True, used=False, compiled=False)
    logits = context.logits()
    assert model.seen == [(1, PREFILL), (1, PREFILL), (1, 7)]
    assert logits.shape == (3, 11)
    whole = np.array(model(mx.array([prompt]))[0, -1])
    assert np.allclose(np.array(logits), whole, atol=1e-4)
    context.append(mx.array([4, 5, 6]))
    after = np.array([model(mx.array([[*prompt, token]]))[0, -1] for token in (4, 5, 6)])
    assert np.allclose(np.array(context.logits()), after, atol=1e-4)


@pytest.mark.parametrize(
    ("length", "limit", "room"),
    [(0, 8, 8), (1, 1024, 64), (63, 1024, 64), (64, 1024, 128), (600, 1000, 1000)],
)
def test_room_grows_by_doubling_up_to_the_context(length: int, limit: int, room: int) -> None:
    assert room_for(length, limit) == room


def test_only_the_last_logits_are_computed() -> None:
    model, tokens = opinionated(SMALL), mx.array([[1, 5, 3]])
    last = model(tokens, last=True)
    assert last.shape == (1, 1, V)
    assert np.allclose(np.array(last), np.array(model(tokens))[:, -1:], atol=1e-5)


def test_a_row_is_handed_out_before_more_than_its_own_work_is_asked_for() -> None:
    model = Watched(SMALL, seed=3)
    rows = generate(model, [1], dataclasses.replace(PLAIN, max_tokens=5), seed=0, end_id=None)
    next(rows)
    assert len(model.seen) == 1  # the first as soon as it can be had
    next(rows)
    assert len(model.seen) == 3  # the others while the device is at the one after
    assert len(list(rows)) == 3
    assert len(model.seen) == 5


@pytest.mark.parametrize("n", [1, 4])
def test_memory_stays_flat_however_long_the_text(n: int) -> None:
    model = opinionated(SMALL)
    rows = generate(
        model, [1], dataclasses.replace(PLAIN, max_tokens=400), seed=0, end_id=None, n=n
    )
    held = []
    for number, _ in enumerate(rows):
        if number in (100, 250, 398):
            held.append(mx.get_active_memory())
    assert max(held) - held[0] < 10_000


def test_the_names_of_kernels_know_what_kernels_know() -> None:
    model, other = GPT(SMALL), GPT(dataclasses.replace(SMALL, n_layers=1, vocab_size=7))
    longer, learned = GPT(dataclasses.replace(SMALL, context_length=99)), GPT(LEARNED)
    assert step_kernels(model) == step_kernels(other) == step_kernels(longer)
    assert window_kernels(model) == window_kernels(other)
    names = {step_kernels(model), step_kernels(learned), *map(window_kernels, (model, longer))}
    assert len(names) == 4
    assert choice_kernels(PLAIN) == choice_kernels(dataclasses.replace(PLAIN, temperature=0.3))
    others = {"temperature": 0}, {"top_k": 3}, {"top_p": 0.5}, {"min_p": 0.1}
    names = {choice_kernels(dataclasses.replace(PLAIN, **other)) for other in others}
    assert len(names | {choice_kernels(PLAIN), choice_kernels(PLAIN, True)}) == 6


@pytest.mark.parametrize("count", [0, 1, 3, V])
def test_the_best_ids_come_best_first(count: int) -> None:
    logits = np.stack([noise(seed=1), noise(seed=2)])
    found = np.array(best_ids(mx.array(logits, mx.float32), count))
    assert found.tolist() == np.argsort(-logits, axis=-1)[:, :count].tolist()


def size_of(model: GPT) -> int:
    """Bytes of all parameters."""
    arrays = dict(tree_flatten(model.parameters(), destination={}))
    return sum(array.nbytes for array in arrays.values())


WIDE = dataclasses.replace(SMALL, d_model=64, d_ff=96, context_length=24)


@pytest.mark.parametrize(("bits", "tolerance"), [(8, 0.01), (4, 0.15)])
@pytest.mark.parametrize("tied", [True, False])
def test_a_quantised_model_says_nearly_the_same(bits: int, tolerance: float, tied: bool) -> None:
    config = dataclasses.replace(WIDE, tied_head=tied)
    model, tokens = GPT(config, seed=3), mx.array([[3, 1, 4, 1, 5]])
    whole = np.array(model(tokens))
    before = size_of(model)
    quantise(model, bits)
    assert size_of(model) < before / 2
    error = np.array(model(tokens)) - whole
    assert 0 < np.linalg.norm(error) < tolerance * np.linalg.norm(whole)
    texts = [ids(run(model, [1], SHORT, use_cache=cache)) for cache in (True, False)]
    assert texts[0] == texts[1]


def test_a_model_that_cannot_be_cut_into_groups_is_refused() -> None:
    with pytest.raises(UserError, match=r"d_model = 16 and .*d_ff = 64 .* cannot be quantised"):
        quantise(GPT(SMALL), 4)


def test_a_bfloat16_model_samples_the_same_with_and_without_the_cache() -> None:
    model = GPT(WIDE, seed=3)
    model.set_dtype(mx.bfloat16)
    texts = [ids(run(model, [1], SHORT, use_cache=cache)) for cache in (True, False)]
    assert texts[0] == texts[1]


COMPILED = """
from mlx_gpt.device import choose, compiles_decoding, mx
choose("auto")
from mlx_gpt.config import ModelConfig, SampleConfig
from mlx_gpt.model import GPT
from mlx_gpt.sampling import choice_kernels, generate, step_kernels, window_kernels
model = GPT(ModelConfig(vocab_size=40, d_model=32, context_length=24))
config = SampleConfig(max_tokens=40, top_k=9)
def text(compiled):
    rows = generate(model, [1], config, seed=5, end_id=None, compiled=compiled)
    return [row[0].id for row in rows]
kernels = step_kernels(model), window_kernels(model), choice_kernels(config, False, False, False)
before = [compiles_decoding(name) for name in kernels]
texts = text(False), text(True)
assert texts[0] == texts[1]
print(before, [compiles_decoding(name) for name in kernels])
"""


@pytest.mark.slow
def test_a_compiled_step_gives_the_same_text_and_is_known_from_then_on(tmp_path: Path) -> None:
    variables = os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    del variables["MLX_DISABLE_COMPILE"]
    done = subprocess.run(
        [sys.executable, "-c", COMPILED],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    on_gpu = [describe().kind == "gpu"] * 3
    assert done.stdout.strip() == f"{on_gpu} [True, True, True]", done.stderr


def test_without_a_causal_mask_sampling_works_and_does_without_the_cache() -> None:
    model = opinionated(dataclasses.replace(SMALL, causal=False))
    greedy = dataclasses.replace(GREEDY, max_tokens=5)
    assert ids(run(model, [1], greedy)) == ids(run(model, [1], greedy, use_cache=False))


def test_a_sample_is_the_same_alone_and_among_others() -> None:
    model, config = opinionated(SMALL), dataclasses.replace(PLAIN, max_tokens=2 * T)
    together = run(model, [1, 2], config, n=4)
    alone = [ids(run(model, [1, 2], config, first=j)) for j in range(4)]
    assert [ids(together, j) for j in range(4)] == alone
    assert len(set(map(tuple, alone))) == 4


def test_sampled_text_is_the_same_without_the_cache() -> None:
    model, config = opinionated(SMALL), dataclasses.replace(PLAIN, max_tokens=2 * T)
    assert ids(run(model, [1], config)) == ids(run(model, [1], config, use_cache=False))


def test_a_seed_fixes_the_text_and_another_changes_it() -> None:
    model, config = opinionated(SMALL), dataclasses.replace(PLAIN, max_tokens=12)
    texts = [ids(run(model, [1], config, seed=seed)) for seed in (5, 5, 6, 2**63)]
    assert texts[0] == texts[1]
    assert len(set(map(tuple, texts))) == 3


def test_a_text_continues_from_its_own_middle_as_it_went_on() -> None:
    model, config = opinionated(SMALL), dataclasses.replace(PLAIN, max_tokens=6)
    whole = ids(run(model, [1], config))
    assert ids(run(model, [1, *whole[:3]], config))[:3] == whole[3:]


def test_the_global_random_state_is_left_alone() -> None:
    model = opinionated(SMALL)
    mx.random.seed(11)
    expected_draw = float(mx.random.uniform())
    mx.random.seed(11)
    run(model, [1], dataclasses.replace(PLAIN, max_tokens=5), n=2)
    assert float(mx.random.uniform()) == expected_draw


def test_probabilities_are_the_models_own_and_rivals_come_best_first() -> None:
    logits = noise(9)
    model, p = constant(logits.tolist()), softmax(logits)
    config = SampleConfig(temperature=0.3, top_k=2, max_tokens=4)
    for (token,) in run(model, [0], config, top=3):
        assert token
        assert token.p == pytest.approx(p[token.id], rel=1e-5)
        assert [rival.id for rival in token.top] == np.argsort(-p)[:3].tolist()
        assert [rival.p for rival in token.top] == pytest.approx(sorted(p)[:-4:-1], rel=1e-5)
    for (token,) in run(model, [0], config, top=100):
        assert token
        assert len(token.top) == len(logits)


def test_a_sample_ends_with_its_end_token_and_the_others_go_on() -> None:
    model = opinionated(SMALL)
    config = dataclasses.replace(PLAIN, max_tokens=40)
    free = run(model, [1], config, n=2)
    first, second = ids(free, 0), ids(free, 1)
    end = next(token for token in first if token not in second)
    rows = run(model, [1], config, n=2, end_id=end)
    assert ids(rows, 0) == first[: first.index(end) + 1]
    assert ids(rows, 1) == second
    alone = run(model, [1], config, end_id=end)
    assert len(alone) == first.index(end) + 1


def test_no_tokens_asked_for_are_no_rows() -> None:
    assert run(opinionated(SMALL), [1], dataclasses.replace(GREEDY, max_tokens=0)) == []


def test_an_empty_prompt_starts_from_the_end_token() -> None:
    model, greedy = opinionated(SMALL), dataclasses.replace(GREEDY, max_tokens=3)
    assert run(model, [], greedy, end_id=END) == run(model, [END], greedy, end_id=END)
    with pytest.raises(UserError, match="no token to start from"):
        run(model, [], greedy)


@pytest.mark.parametrize(
    ("prompt", "options", "message"),
    [
        ([V], {}, "65 is outside the vocabulary of 65"),
        ([-1], {}, "-1 is outside"),
        ([1], {"end_id": V}, "65 is outside"),
        ([1], {"n": 0}, "n = 0: must be at least 1"),
        ([1], {"seed": -1}, "seed = -1"),
        ([1], {"top": -1}, "top = -1"),
        ([1], {"first": -1}, "first = -1"),
        ([1], {"known": 0}, "0 known ids"),
        ([1], {"known": V + 1}, "66 known ids"),
    ],
)
def test_requests_are_refused_before_the_first_row(
    prompt: list[int], options: dict[str, int], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        generate(opinionated(SMALL), prompt, PLAIN, **{"seed": 0, "end_id": None, **options})


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_model_that_has_diverged_is_refused(broken: float, temperature: float) -> None:
    model = constant([0.0, broken, 1.0])
    with pytest.raises(UserError, match="diverged"):
        run(model, [0], SampleConfig(temperature=temperature, max_tokens=2))


def test_ids_unknown_to_the_tokenizer_are_never_picked() -> None:
    model = constant([0.0] * 10 + [9.0] * 20)
    config = SampleConfig(temperature=1.0, max_tokens=300)
    assert max(ids(run(model, [0], config, known=10))) == 9


def streamed(text: str, stops: Sequence[str]) -> str:
    """What a stream lets through, and with what it holds back at the end."""
    stream = TextStream(BYTES, stops)
    return "".join(map(stream.feed, BYTES.encode(text))) + stream.flush()


@pytest.mark.parametrize(
    ("text", "stops", "shown"),
    [
        ("aab", ["ab"], "a"),
        ("one\n\ntwo", ["\n\n"], "one"),
        ("one\ntwo\n", ["\n\n"], "one\ntwo\n"),
        ("abababc", ["ababc"], "ab"),
        ("xabcd", ["bc", "abcd"], "x"),
        ("xabce", ["bc", "abcd"], "xa"),
        ("xabc", ["bc", "abcd"], "xa"),
        ("stop", ["stop"], ""),
        ("¿qué?🙂 fin", ["🙂"], "¿qué?"),
        ("un niño", [], "un niño"),
    ],
)
def test_the_stop_is_removed_exactly(text: str, stops: list[str], shown: str) -> None:
    assert streamed(text, stops) == shown


def test_a_stream_is_the_full_text_up_to_the_stop_that_begins_first() -> None:
    chance = random.Random(1)
    for _ in range(2000):
        text = "".join(chance.choices("abñ\n", k=chance.randrange(12)))
        stops = ["".join(chance.choices("abñ\n", k=chance.randint(1, 4))) for _ in range(2)]
        cut = min((text.find(stop) for stop in stops if stop in text), default=len(text))
        assert streamed(text, stops) == text[:cut], (text, stops)


def test_nothing_that_may_be_a_stop_is_shown_early_and_nothing_else_is_held() -> None:
    stream = TextStream(BYTES, ["ab\n"])
    assert [stream.feed(byte) for byte in b"xabab\ny"] == ["x", "", "", "ab", "", "", ""]
    assert stream.stopped


def test_bytes_that_are_no_text_stream_as_they_decode() -> None:
    chance = random.Random(2)
    for _ in range(200):
        tokens = [chance.choice([0xC3, 0xB1, 0xF0, 0x9F, 0x99, 0x82, 0x41, 256]) for _ in range(9)]
        stream = TextStream(BYTES)
        assert "".join(map(stream.feed, tokens)) + stream.flush() == BYTES.decode(tokens)


def test_an_empty_stop_is_refused() -> None:
    with pytest.raises(UserError, match="empty"):
        TextStream(BYTES, ["x", ""])


def grown(text: bytes, stops: Sequence[str] = (), end: bool = False) -> Sample:
    """A sample that was given these bytes."""
    sample = Sample(BYTES, stops)
    for token_id in [*text, *([BYTES.end_id] if end else [])]:
        if not sample.finish:
            sample.add(Token(token_id, 1.0, ()))
    if not sample.finish:
        sample.close("length")
    return sample


def test_a_sample_knows_why_it_ended() -> None:
    ends = [grown(b"abc"), grown(b"abc", ["b"]), grown(b"abc", end=True), grown(b"ab", ["ba"])]
    assert [(sample.text, sample.finish) for sample in ends] == [
        ("abc", "length"), ("a", "stop"), ("abc", "end"), ("ab", "length")
    ]  # fmt: skip


def test_what_was_held_back_is_shown_at_the_end() -> None:
    assert grown(b"ab", ["abc"]).text == "ab"
    assert grown(b"a\xc3").text == "a\ufffd"
    assert grown(b"xbc", ["bc", "bcd"]).finish == "stop"
    assert grown(b"abc", ["bc", "abcd"]).finish == "stop"


def test_writing_stops_each_sample_on_its_own() -> None:
    model = opinionated(dataclasses.replace(SMALL, vocab_size=300))
    config = SampleConfig(temperature=1.0, max_tokens=60)
    free = list(write(model, BYTES, [65], config, seed=0, n=3))[-1]
    assert all(token.id < BYTES.vocab_size for sample in free for token in sample.tokens)
    stop = free[0].text[10]
    stopped = list(write(model, BYTES, [65], config, seed=0, n=3, stops=[stop]))[-1]
    for sample, whole in zip(stopped, free, strict=True):
        assert sample.text == whole.text.partition(stop)[0]
        assert sample.finish == ("stop" if stop in whole.text else whole.finish)


def test_writing_nothing_gives_empty_samples() -> None:
    model = opinionated(dataclasses.replace(SMALL, vocab_size=257))
    *_, samples = write(model, BYTES, [], SampleConfig(max_tokens=0), seed=0)
    (sample,) = samples
    assert (sample.text, sample.tokens, sample.finish) == ("", [], "length")


def test_a_clock_times_the_first_row_apart() -> None:
    clock = Clock()
    assert (clock.prefill_seconds, clock.tokens_per_second) == (0, 0)
    clock.tick(2)
    assert clock.tokens_per_second == pytest.approx(2 / clock.prefill_seconds)
    clock.tick(4)
    clock.tick(6)
    clock.tick(6)
    assert clock.tokens_per_second == pytest.approx(4 / (clock.last - clock.first))
    assert clock.prefill_seconds == clock.first - clock.started
