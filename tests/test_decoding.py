"""The step with weights laid out anew against the oracle, and which models it stands for."""

from mlx_gpt.device import LINUX, mx

import mlx.nn as nn
import numpy as np
import oracle
from test_model import B, T, V, assert_close, every_causal_variant, in_numpy, loud, variant

from mlx_gpt import decoding
from mlx_gpt.decoding import can_fold, fold, laid_out
from mlx_gpt.model import GPT, CacheState, KVCache
from mlx_gpt.sampling import quantise


def one_by_one(model: GPT, tokens: np.ndarray) -> np.ndarray:
    """Logits (n, T, V) from a step a token, the cache empty at first."""
    folded, found = fold(model), []
    empty = KVCache(model.config, len(tokens)).state
    state: CacheState = [(keys, values, mx.array(0)) for keys, values, _ in empty]
    for column in tokens.T:
        logits, state = decoding.step(model, folded, mx.array(column[:, None]), state)
        found.append(np.array(logits))
    assert [int(length) for _, _, length in state] == [tokens.shape[1]] * model.config.n_layers
    return np.stack(found, axis=1)


@every_causal_variant
def test_logits_equal_the_oracle(changes: dict) -> None:
    config = variant(changes)
    model, tokens = loud(config), np.random.default_rng(1).integers(V, size=(B, T))
    assert_close(one_by_one(model, tokens), oracle.forward(in_numpy(model), config, tokens), 1e-5)


def test_a_matrix_lies_with_its_longer_side_in_rows() -> None:
    for shape, rows in (((7, 3), (28, 4)), ((3, 7), (4, 28))):
        matrix = mx.random.normal(shape)
        lying = np.array(laid_out(matrix), copy=False)
        assert np.array_equal(lying, np.array(matrix).T)
        assert lying.strides == rows


class Nothing(nn.RMSNorm):
    """A part that no longer does what its name says."""

    def __call__(self, x: mx.array) -> mx.array:
        return mx.zeros_like(x)


def test_only_models_of_plain_float32_parts_are_folded() -> None:
    config = variant({"d_model": 64, "n_heads": 2, "d_ff": 128})
    assert can_fold(GPT(config)) == (LINUX and mx.default_device() == mx.Device(mx.cpu))
    small, quantised, broken = GPT(config), GPT(config), GPT(config)
    small.set_dtype(mx.bfloat16)
    quantise(quantised, 8)
    broken.blocks[0].norm1 = Nothing(64)
    assert not any(map(can_fold, (small, quantised, broken)))
