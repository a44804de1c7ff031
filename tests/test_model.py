"""The model against the oracle, and the promises a GPT makes."""

import dataclasses
import math

from mlx_gpt.device import mx

import mlx.nn as nn
import mlx.optimizers as optim
import numpy as np
import oracle
import pytest
from mlx.utils import tree_flatten

from mlx_gpt.config import ModelConfig
from mlx_gpt.errors import UserError
from mlx_gpt.model import GPT, Attention, KVCache, check_ids, dropout, load_arrays

# Every size differs from every other, so that no swapped axis passes.
B, T, V = 2, 7, 29
SMALL = ModelConfig(
    vocab_size=V, context_length=13, d_model=30, n_heads=3, n_layers=2, d_ff=77, activation="gelu"
)
GROUPED = {"d_model": 36, "n_heads": 6, "n_kv_heads": 2}

ORDERS = {
    f"{position}-{norm_order}-{norm}": {
        "position": position,
        "norm_order": norm_order,
        "norm": norm,
    }
    for position in ("rope", "learned", "none")
    for norm_order in ("pre", "post")
    for norm in ("layernorm", "rmsnorm")
}
VARIANTS = ORDERS | {
    "gelu_tanh": {"activation": "gelu_tanh"},
    "relu": {"activation": "relu"},
    "swiglu": {"activation": "swiglu"},
    "swiglu without biases": {"activation": "swiglu", "ffn_bias": False},
    "no attention biases": {"attn_bias": False},
    "no feed-forward biases": {"ffn_bias": False},
    "untied": {"tied_head": False},
    "grouped keys": GROUPED,
    "grouped keys, learned": GROUPED | {"position": "learned"},
    "one key head": {"n_kv_heads": 1},
    "another base": {"rope_base": 100.0},
    "another epsilon": {"norm_eps": 1e-2},
    "not causal": {"causal": False},
    "parallel residual": {"parallel_residual": True},
    "partly turned": {"rope_fraction": 0.4},
    "pythia": {"parallel_residual": True, "rope_fraction": 0.4, "tied_head": False},
    "no final norm": {"final_norm": False},
    "llama": GROUPED
    | {"norm": "rmsnorm", "activation": "swiglu", "attn_bias": False, "ffn_bias": False}
    | {"tied_head": False},
}
CAUSAL = {name: changes for name, changes in VARIANTS.items() if name != "not causal"}
every_variant = pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())
every_causal_variant = pytest.mark.parametrize("changes", CAUSAL.values(), ids=CAUSAL.keys())


def variant(changes: dict) -> ModelConfig:
    """The small model with other settings."""
    return ModelConfig(**{**dataclasses.asdict(SMALL), "n_kv_heads": 0, **changes})


def arrays_of(model: GPT) -> dict[str, mx.array]:
    """The parameters by name."""
    return dict(tree_flatten(model.parameters()))


def in_numpy(model: GPT) -> dict[str, np.ndarray]:
    """The parameters as the oracle takes them."""
    return {name: np.array(array, np.float64) for name, array in arrays_of(model).items()}


def loud(config: ModelConfig) -> GPT:
    """A model with every parameter moved: gains of 1 and biases of 0 would hide errors."""
    model, random = GPT(config), np.random.default_rng(5)
    moved = {
        name: array + (0.2 if array.ndim == 1 else 0.3) * random.normal(size=array.shape)
        for name, array in in_numpy(model).items()
    }
    load_arrays(model, {name: mx.array(array, mx.float32) for name, array in moved.items()})
    return model


def random_tokens(*shape: int, vocab_size: int = V, seed: int = 1) -> np.ndarray:
    """Ids drawn evenly from the vocabulary."""
    return np.random.default_rng(seed).integers(vocab_size, size=shape)


def logits(model: GPT, tokens: np.ndarray, cache: KVCache | None = None) -> np.ndarray:
    """The model's logits in NumPy."""
    return np.array(model(mx.array(tokens), cache))


def mean_loss(
    model: GPT, tokens: mx.array, targets: mx.array, key: mx.array | None = None
) -> mx.array:
    """Mean cross-entropy in nats."""
    logits = model(tokens, dropout_key=key)
    return nn.losses.cross_entropy(logits, targets, reduction="mean")


def assert_close(found: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Equal within a share of the largest expected value."""
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()


@every_variant
def test_logits_equal_the_oracle(changes: dict) -> None:
    config = variant(changes)
    model, tokens = loud(config), random_tokens(B, T)
    assert_close(logits(model, tokens), oracle.forward(in_numpy(model), config, tokens), 1e-5)


@every_variant
def test_the_parameters_have_the_names_and_shapes_of_the_settings(changes: dict) -> None:
    config = variant(changes)
    found = {name: array.shape for name, array in arrays_of(GPT(config)).items()}
    assert found == oracle.shapes(config)


GRADIENTS = {
    "mini": {},
    "gpt2": {"position": "learned", "activation": "gelu_tanh"},
    "post": {"norm_order": "post", "norm": "rmsnorm", "activation": "swiglu", "tied_head": False},
    "grouped": GROUPED | {"position": "none", "activation": "relu"},
}


@pytest.mark.parametrize("recompute", [False, True], ids=["kept", "recomputed"])
@pytest.mark.parametrize("changes", GRADIENTS.values(), ids=GRADIENTS.keys())
def test_gradients_equal_central_differences_of_the_oracle(changes: dict, recompute: bool) -> None:
    config, h = variant(changes), 1e-5
    model, tokens, targets = loud(config), random_tokens(B, T), random_tokens(B, T, seed=2)
    model.recompute = recompute
    value, gradients = nn.value_and_grad(model, mean_loss)(
        model, mx.array(tokens), mx.array(targets)
    )
    parameters, random = in_numpy(model), np.random.default_rng(3)
    assert float(value) == pytest.approx(oracle.loss(parameters, config, tokens, targets), 1e-5)
    for name, gradient in dict(tree_flatten(gradients)).items():
        found, flat = np.array(gradient).ravel(), parameters[name].reshape(-1)
        for index in random.choice(flat.size, size=4, replace=False):
            middle, sides = flat[index], []
            for flat[index] in (middle + h, middle - h):
                sides.append(oracle.loss(parameters, config, tokens, targets))
            flat[index] = middle
            slope = (sides[0] - sides[1]) / (2 * h)
            assert found[index] == pytest.approx(slope, rel=1e-3, abs=2e-6), f"{name}[{index}]"


@pytest.mark.parametrize("sizes", [(1,) * 12, (3,) * 4, (5, 5, 2), (1, 3, 5, 3), (8, 1, 1, 2)])
@pytest.mark.parametrize("changes", [{}, {"position": "learned"}, {"position": "none"}, GROUPED])
def test_chunks_through_the_cache_equal_the_whole(changes: dict, sizes: tuple[int, ...]) -> None:
    config = variant(changes)
    model, tokens = loud(config), random_tokens(3, 12)
    cache = KVCache(config, batch_size=3)
    ends = np.cumsum(sizes)
    parts = [
        logits(model, tokens[:, end - size : end], cache)
        for size, end in zip(sizes, ends, strict=True)
    ]
    assert cache.length == 12
    assert_close(np.concatenate(parts, axis=1), logits(model, tokens), 1e-5)


@every_causal_variant
def test_a_changed_token_leaves_the_past_untouched_and_moves_the_rest(changes: dict) -> None:
    model, tokens = loud(variant(changes)), random_tokens(B, T)
    before = logits(model, tokens)
    for j in range(T):
        changed = tokens.copy()
        changed[:, j] = (changed[:, j] + 1) % V
        after = logits(model, changed)
        assert np.array_equal(after[:, :j], before[:, :j])
        assert (np.abs(after - before)[:, j:].max(axis=-1) > 1e-6).all()


def test_without_the_mask_the_future_is_seen() -> None:
    model, tokens = loud(variant({"causal": False})), random_tokens(B, T)
    changed = tokens.copy()
    changed[:, -1] = (changed[:, -1] + 1) % V
    assert (np.abs(logits(model, changed) - logits(model, tokens)).max(axis=-1) > 1e-6).all()


def test_rope_knows_distances_only() -> None:
    attention = Attention(SMALL)
    random = np.random.default_rng(0)
    q, k = random.normal(size=(2, B, SMALL.n_heads, T, SMALL.d_head))

    def turned(x: np.ndarray, offset: int) -> np.ndarray:
        return np.array(attention.rotate(mx.array(x, mx.float32), offset))

    scores = [turned(q, offset) @ turned(k, offset).swapaxes(-1, -2) for offset in (0, 9)]
    assert_close(scores[1], scores[0], 1e-5)
    assert_close(turned(q, 9), oracle.rope(q, SMALL.rope_base, 9), 1e-5)
    assert_close(np.linalg.norm(turned(q, 9), axis=-1), np.linalg.norm(q, axis=-1), 1e-5)
    assert np.abs(turned(q, 9) - turned(q, 0)).max() > 0.1
    assert np.abs(scores[0] - q @ k.swapaxes(-1, -2)).max() > 0.1


@pytest.mark.parametrize("position", ["rope", "learned", "none"])
def test_only_positions_tell_the_order_of_earlier_tokens(position: str) -> None:
    # One layer: with two, the mask alone already betrays the order.
    model = loud(variant({"position": position, "n_layers": 1}))
    tokens = np.array([[3, 1, 4, 1, 5, 9, 2]])
    swapped = tokens[:, [0, 2, 1, 3, 4, 5, 6]]
    moved = np.abs(logits(model, tokens) - logits(model, swapped))[:, -1].max()
    assert moved < 1e-4 if position == "none" else moved > 1e-2


def test_rows_of_a_batch_do_not_mix() -> None:
    model, tokens = loud(SMALL), random_tokens(3, T)
    alone = np.concatenate([logits(model, row[None]) for row in tokens])
    assert_close(logits(model, tokens), alone, 1e-5)


def test_a_tied_head_is_one_array_and_stays_one_after_a_step() -> None:
    model, tokens, targets = loud(SMALL), random_tokens(B, T), random_tokens(B, T, seed=2)
    before = in_numpy(model)["embedding.weight"]
    _, gradients = nn.value_and_grad(model, mean_loss)(model, mx.array(tokens), mx.array(targets))
    optim.AdamW(0.01).update(model, gradients)
    after = in_numpy(model)
    assert not any("head" in name for name in after)
    assert np.abs(after["embedding.weight"] - before).min() > 1e-4
    assert_close(logits(model, tokens), oracle.forward(after, SMALL, tokens), 1e-5)


def test_an_own_head_leaves_the_embedding_alone() -> None:
    model, tokens = loud(variant({"tied_head": False})), random_tokens(B, T)
    before = logits(model, tokens)
    model.head.weight = model.head.weight * 2
    assert_close(logits(model, tokens), 2 * before, 1e-6)


def test_dropout_follows_its_key_and_rests_without_one() -> None:
    model, tokens = loud(variant({"dropout": 0.5})), mx.array(random_tokens(B, T))
    keys = [mx.random.key(seed) for seed in (1, 2, 1)]
    first, second, again = (np.array(model(tokens, dropout_key=key)) for key in keys)
    assert not np.array_equal(first, second)
    assert np.array_equal(first, again)
    plain = loud(SMALL)
    assert np.array_equal(np.array(model(tokens)), np.array(plain(tokens)))
    assert np.array_equal(np.array(plain(tokens, dropout_key=keys[0])), np.array(plain(tokens)))


def test_dropout_zeroes_its_share_and_keeps_the_mean() -> None:
    found = np.array(dropout(mx.ones((100, 100)), 0.25, mx.random.key(0)))
    assert set(np.unique(found)) == {0, np.float32(1 / 0.75)}
    assert (found == 0).mean() == pytest.approx(0.25, abs=0.02)
    assert found.mean() == pytest.approx(1, abs=0.03)


def test_dropout_acts_in_each_of_its_places_on_its_own() -> None:
    # A model whose logits are a sum of masks with entries 0 and 2: one on the embedding, and in
    # each block one on the FFN and two on attention, whose weights are those of a single token.
    config = variant({"dropout": 0.5, "vocab_size": 30, "tied_head": False, "final_norm": False})
    ones = ("embedding.weight", "v_proj.bias", "down_proj.bias")
    eyes = ("out_proj.weight", "head.weight")
    arrays = {
        name: mx.ones(shape) if name.endswith(ones) else mx.zeros(shape)
        for name, shape in oracle.shapes(config).items()
    }
    model = GPT(config)
    load_arrays(model, {k: mx.eye(30) if k.endswith(eyes) else a for k, a in arrays.items()})
    total = np.array(model(mx.zeros((4000, 1), mx.int32), dropout_key=mx.random.key(0)))
    assert total.mean() == pytest.approx(1 + 2 * config.n_layers, rel=0.02)
    # A mask has variance 1, a product of two 3; any two that were the same would add to it.
    assert total.var() == pytest.approx(1 + config.n_layers * (3 + 1), rel=0.04)


def test_recomputed_activations_meet_the_same_dropout() -> None:
    model, found = loud(variant({"dropout": 0.5})), []
    tokens, targets = mx.array(random_tokens(B, T)), mx.array(random_tokens(B, T, seed=2))
    for model.recompute in (False, True):
        step = nn.value_and_grad(model, mean_loss)
        found.append(step(model, tokens, targets, mx.random.key(0)))
    (kept_loss, kept), (recomputed_loss, recomputed) = found
    assert float(kept_loss) == float(recomputed_loss)
    for (name, gradient), (_, again) in zip(
        tree_flatten(kept), tree_flatten(recomputed), strict=True
    ):
        assert np.allclose(np.array(gradient), np.array(again), rtol=1e-5, atol=1e-7), name


def test_a_cache_without_a_mask_is_refused() -> None:
    config = variant({"causal": False})
    with pytest.raises(ValueError, match="causal mask"):
        GPT(config)(mx.array(random_tokens(B, T)), KVCache(config, B))


@every_variant
def test_attention_with_dropout_is_the_same_attention(changes: dict) -> None:
    # So small a rate drops nothing, yet takes the path that can.
    config = variant(changes | {"dropout": 1e-9})
    model, tokens = loud(config), random_tokens(B, T)
    found = np.array(model(mx.array(tokens), dropout_key=mx.random.key(0)))
    assert_close(found, logits(model, tokens), 1e-5)


@every_variant
def test_a_bfloat16_model_computes_in_bfloat16(changes: dict) -> None:
    model, tokens = loud(variant(changes)), random_tokens(B, T)
    expected = logits(model, tokens)
    model.set_dtype(mx.bfloat16)
    found = model(mx.array(tokens))
    assert found.dtype == mx.bfloat16
    assert_close(np.array(found.astype(mx.float32)), expected, 0.1)


@pytest.mark.parametrize("residual_init", [True, False])
def test_weights_start_as_gpt2_starts_them(residual_init: bool) -> None:
    config = ModelConfig(
        d_model=128,
        n_layers=3,
        position="learned",
        tied_head=False,
        activation="swiglu",
        residual_init=residual_init,
    )
    for name, array in in_numpy(GPT(config)).items():
        writes = name.endswith(("out_proj.weight", "down_proj.weight")) and residual_init
        if array.ndim == 1:
            assert (array == (1 if name.endswith("weight") else 0)).all(), name
        else:
            std = 0.02 / math.sqrt(2 * 3) if writes else 0.02
            assert array.std() == pytest.approx(std, rel=0.03), name
            assert abs(array.mean()) < 5 * std / math.sqrt(array.size), name
            assert (np.abs(array) > 2 * std).mean() == pytest.approx(0.0455, abs=0.01), name


def test_weights_follow_the_seed_and_no_two_are_alike() -> None:
    first, again, other = (arrays_of(GPT(SMALL, seed)) for seed in (1, 1, 2))
    q_proj, k_proj = (f"blocks.0.attention.{part}_proj.weight" for part in "qk")
    assert all(bool((first[name] == again[name]).all()) for name in first)
    assert not bool((first[q_proj] == other[q_proj]).any())
    assert not bool((first[q_proj] == first[k_proj]).any())


@pytest.mark.parametrize(("vocab_size", "d_model"), [(512, 128), (64, 64)])
@pytest.mark.parametrize("position", ["rope", "learned"])
def test_an_untrained_model_guesses_evenly(vocab_size: int, d_model: int, position: str) -> None:
    sizes = {"vocab_size": vocab_size, "d_model": d_model, "n_heads": 4, "context_length": 64}
    config = variant(sizes | {"position": position})
    text = random_tokens(16, 65, vocab_size=vocab_size)
    loss = mean_loss(GPT(config), mx.array(text[:, :-1]), mx.array(text[:, 1:]))
    assert float(loss) == pytest.approx(math.log(vocab_size), rel=0.03)


def test_weights_that_do_not_fit_are_refused_by_name() -> None:
    model, arrays = GPT(SMALL), arrays_of(loud(SMALL))
    name = "blocks.1.feed_forward.up_proj.weight"
    before = in_numpy(model)
    with pytest.raises(UserError, match=rf"{name}.*\(30, 77\).*\(77, 30\)"):
        load_arrays(model, arrays | {name: arrays[name].T})
    with pytest.raises(UserError, match=f"lack {name}"):
        load_arrays(model, {key: array for key, array in arrays.items() if key != name})
    with pytest.raises(UserError, match=r"head\.weight"):
        load_arrays(model, arrays | {"head.weight": arrays["embedding.weight"]})
    assert all(np.array_equal(array, before[key]) for key, array in in_numpy(model).items())


@pytest.mark.parametrize("position", ["rope", "learned", "none"])
def test_tokens_beyond_the_context_are_refused(position: str) -> None:
    config = variant({"position": position})
    model, tokens = GPT(config), mx.array(random_tokens(B, 14))
    with pytest.raises(UserError, match=r"14 .* 13"):
        model(tokens)
    cache = KVCache(config, B)
    model(tokens[:, :10], cache)
    with pytest.raises(UserError, match=r"14 .* 13"):
        model(tokens[:, 10:], cache)
    model(tokens[:, 10:13], cache)
    assert cache.length == cache.capacity == 13


@pytest.mark.parametrize("bad", [-1, V, 10**12])
def test_ids_outside_the_vocabulary_are_refused(bad: int) -> None:
    check_ids([0, V - 1], V)
    check_ids(random_tokens(T), V)
    with pytest.raises(UserError, match=rf"{bad} .* {V} "):
        check_ids([0, bad, 1], V)
    with pytest.raises(UserError, match=rf"{bad} .* {V} "):
        check_ids(np.array([0, bad, 1]), V)
