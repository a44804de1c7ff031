"""GGUF: what llama.cpp runs, written, read back, and refused where it is damaged."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from mlx_gpt.device import mx

import pytest
from foreign import BASE, CONFIGS, GOLDEN, filled
from snippets import snippets

from mlx_gpt.errors import UserError
from mlx_gpt.interop import bpe
from mlx_gpt.interop.families import require_family
from mlx_gpt.interop.folder import build_gpt
from mlx_gpt.interop.gguf import (
    ARCHITECTURES,
    halves,
    load,
    model_metadata,
    neighbours,
    read_gguf,
    to_gguf,
    tokenizer_metadata,
    unpacked,
    write_gguf,
)
from mlx_gpt.tokenizer import ByteTokenizer, Tokenizer, train_sentencepiece

IDS = mx.array([[(7 * i * i + 3 * i) % 257 for i in range(48)]])


@pytest.mark.parametrize("name", [name for name in CONFIGS if "erf" not in name])
def test_what_is_written_computes_the_same_when_read(name: str, tmp_path: Path) -> None:
    stored = filled(CONFIGS[name])
    write_gguf(tmp_path / "m.gguf", stored, ByteTokenizer(), name)
    again, tokenizer = read_gguf(tmp_path / "m.gguf")
    assert tokenizer.name == "bytes"
    assert mx.array_equal(build_gpt(again)(IDS), build_gpt(stored)(IDS))
    said = {"attn_bias": stored.config.attn_bias, "ffn_bias": stored.config.ffn_bias}
    assert replace(again.config, **said) == stored.config


def test_rows_of_q_and_k_are_turned_into_neighbours() -> None:
    """llama.cpp's RoPE turns (0, 1), (2, 3) …; ours (0, 2), (1, 3) in a head of four."""
    rows = mx.arange(8).reshape(8, 1)
    assert neighbours(rows, 2).flatten().tolist() == [0, 2, 1, 3, 4, 6, 5, 7]
    assert mx.array_equal(halves(neighbours(rows, 2), 2), rows)
    config = CONFIGS["llama-bias-gqa-untied"]
    arrays = filled(config).arrays
    written = to_gguf(ARCHITECTURES["llama"], config, arrays)
    name = "blocks.0.attention.k_proj.bias"
    assert mx.array_equal(written["blk.0.attn_k.bias"], neighbours(arrays[name], 2))
    assert mx.array_equal(written["blk.0.attn_v.bias"], arrays[name.replace("k_proj", "v_proj")])


def test_llama_cpp_finds_what_it_looks_for() -> None:
    neox = to_gguf(ARCHITECTURES["gpt_neox"], BASE, filled(BASE).arrays)
    assert {"output.weight", "blk.1.attn_qkv.bias", "blk.0.ffn_norm.weight"} <= neox.keys()
    assert neox["blk.0.attn_qkv.weight"].shape == (96, 32)
    metadata = model_metadata(ARCHITECTURES["gpt_neox"], CONFIGS["gpt_neox-pythia"])
    assert bool(metadata["gptneox.use_parallel_residual"])
    assert int(metadata["gptneox.rope.dimension_count"]) == 2
    metadata = model_metadata(ARCHITECTURES["llama"], CONFIGS["llama-bias-gqa-untied"])
    assert int(metadata["llama.attention.head_count_kv"]) == 2
    assert float(metadata["llama.rope.freq_base"]) == 50000.0
    assert metadata["general.architecture"] == "llama"


def tokenizers() -> dict[str, Tokenizer]:
    lines = [part for text in snippets(300, seed=5) for part in text.split("\n")]
    return {
        "bytes": ByteTokenizer(),
        "sentencepiece": train_sentencepiece(lines, 700),
        "bpe": bpe.from_folder(GOLDEN / "bpe"),
        "bpe_digits": bpe.from_folder(GOLDEN / "bpe_digits"),
    }


@pytest.mark.parametrize("kind", ["bytes", "sentencepiece", "bpe", "bpe_digits"])
def test_every_tokenizer_comes_back_also_with_rows_to_spare(kind: str, tmp_path: Path) -> None:
    tokenizer = tokenizers()[kind]
    config = replace(CONFIGS["llama"], vocab_size=tokenizer.vocab_size + 5)
    write_gguf(tmp_path / "m.gguf", filled(config), tokenizer, "m")
    metadata = load(tmp_path / "m.gguf")[1]
    assert len(metadata["tokenizer.ggml.tokens"]) == config.vocab_size
    stored, again = read_gguf(tmp_path / "m.gguf")
    assert stored.config.vocab_size == config.vocab_size
    assert (again.name, again.end_id) == (tokenizer.name, tokenizer.end_id)
    assert again.vocab_size == tokenizer.vocab_size
    texts = snippets(300, seed=7)
    assert again.encode_batch(texts) == tokenizer.encode_batch(texts)


@pytest.mark.parametrize("bits", [4, 8])
def test_packed_weights_become_the_numbers_that_they_stand_for(bits: int) -> None:
    """As mx.load gives Q4_1 and Q8_0: groups of 32 with scales and offsets in float16."""
    array = mx.random.normal((6, 64), key=mx.random.key(0))
    weight, scales, *biases = mx.quantize(array, group_size=32, bits=bits)
    scales, offsets = scales.astype(mx.float16), biases[0].astype(mx.float16)
    packed = {"a.weight": weight, "a.scales": scales, "a.biases": offsets, "b.bias": mx.ones(3)}
    found = unpacked(packed)
    per_number = 32 // bits
    for row, column in ((0, 0), (3, 17), (5, 63)):
        word = int(weight[row, column // per_number])
        level = word >> bits * (column % per_number) & (1 << bits) - 1
        group = column // 32
        expected = level * float(scales[row, group]) + float(offsets[row, group])
        assert float(found["a.weight"][row, column]) == pytest.approx(expected, abs=1e-6)
    assert found["a.weight"].dtype == mx.float32
    assert found.keys() == {"a.weight", "b.bias"}


def rewritten(path: Path, drop: str = "", **metadata: Any) -> Path:
    """A small Llama with other metadata, or without an array."""
    config = CONFIGS["llama"]
    arrays = to_gguf(ARCHITECTURES["llama"], config, filled(config).arrays)
    values = model_metadata(ARCHITECTURES["llama"], config)
    values |= tokenizer_metadata(ByteTokenizer(), config.vocab_size)
    changed = {key.replace("__", "."): value for key, value in metadata.items()}
    values = {key: value for key, value in (values | changed).items() if value is not None}
    arrays = {name: mx.contiguous(array) for name, array in arrays.items() if name != drop}
    mx.save_gguf(str(path), arrays, values)
    return path


NUMBER = mx.array(3, mx.uint32)
METADATA: list[tuple[dict[str, Any], str]] = [
    ({"general__architecture": "lama"}, 'general.architecture = "lama": .*did you mean llama'),
    ({"llama__rope__scaling__type": "yarn"}, 'llama.rope.scaling.type = "yarn"'),
    ({"llama__expert_count": NUMBER}, "llama.expert_count = 3"),
    ({"llama__attention__sliding_window": NUMBER}, "llama.attention.sliding_window = 3"),
    ({"llama__attention__key_length": NUMBER}, "llama.attention.key_length = 3"),
    ({"llama__block_count": NUMBER}, "says 3 layers, but the weights have 2"),
    ({"llama__block_count": None}, "lacks llama.block_count"),
    ({"llama__feed_forward_length": NUMBER}, r"ffn_up.weight has shape \(96, 32\)"),
    ({"tokenizer__ggml__model": "bert"}, 'tokenizer.ggml.model = "bert"'),
    ({"tokenizer__ggml__pre": "qwen2"}, 'tokenizer.ggml.pre = "qwen2"'),
    ({"tokenizer__ggml__merges": None}, "tokenizer in this GGUF file is damaged"),
    ({"tokenizer__ggml__eos_token_id": mx.array(9999, mx.uint32)}, "is damaged"),
    ({"drop": "blk.1.attn_k.weight"}, "lack blk.1.attn_k.weight"),
    ({"drop": "token_embd.weight"}, "lack token_embd.weight"),
]


@pytest.mark.parametrize(("change", "sentence"), METADATA)
def test_what_cannot_be_represented_is_named(
    change: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=sentence):
        read_gguf(rewritten(tmp_path / "m.gguf", **change))


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    whole = rewritten(tmp_path / "m.gguf").read_bytes()
    for length in (0, 3, 20, 200, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut.gguf").write_bytes(whole[:length])
        with pytest.raises(UserError, match=r"cannot load .*cut.gguf"):
            read_gguf(tmp_path / "cut.gguf")


def test_only_what_llama_cpp_computes_is_written(tmp_path: Path) -> None:
    stored = filled(replace(BASE, activation="relu"))
    with pytest.raises(UserError, match=r'model.activation = "relu"'):
        write_gguf(tmp_path / "m.gguf", stored, ByteTokenizer(), "m")
    with pytest.raises(UserError, match="norm_order"):
        require_family(replace(BASE, norm_order="post"))
    assert list(tmp_path.iterdir()) == []
