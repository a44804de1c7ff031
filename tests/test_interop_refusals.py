"""Damaged, partial, pickled and hostile models: one sentence each, and nothing of them is run."""

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mlx_gpt.device import mx

import pytest
from foreign import CONFIGS, GOLDEN, filled

from mlx_gpt.errors import UserError
from mlx_gpt.interop.families import family_of
from mlx_gpt.interop.folder import open_folder, quantise, read_folder, write_model
from mlx_gpt.interop.gguf import open_model
from mlx_gpt.interop.hub import cache_folder, locate
from mlx_gpt.interop.weights import read_safetensors
from mlx_gpt.tokenizer import ByteTokenizer


def changed(tmp_path: Path, name: str, **fields: Any) -> Path:
    """A golden model with another configuration."""
    folder = shutil.copytree(GOLDEN / name, tmp_path / name)
    table = json.loads((folder / "config.json").read_text()) | fields
    (folder / "config.json").write_text(json.dumps(table))
    return folder


LINEAR = {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e5}
FIELDS: list[tuple[str, dict[str, Any], str]] = [
    ("llama", {"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, "rope_scaling = .*scaled"),
    ("llama", {"rope_scaling": {"type": "linear", "factor": 2.0}}, "rope_scaling = .*scaled"),
    ("llama", {"rope_parameters": LINEAR}, "rope_parameters = .*scaled"),
    ("llama", {"rope_parameters": {"full_attention": {}}}, "rope_parameters = .*by layer"),
    ("llama", {"rope_theta": 500.0}, "rope_theta = 500.0: rope_parameters.rope_theta"),
    ("llama", {"partial_rotary_factor": 0.5}, "partial_rotary_factor = 0.5"),
    ("starcoder2", {"sliding_window": 16}, "sliding_window = 16: .*--context 16"),
    ("llama", {"use_qk_norm": True}, "use_qk_norm = true"),
    ("llama", {"hidden_act": "gelu"}, 'hidden_act = "gelu"'),
    ("gpt2", {"activation_function": "quick_gelu"}, 'activation_function = "quick_gelu"'),
    ("gpt_neox", {"hidden_act": "swish"}, 'hidden_act = "swish": .*known are gelu'),
    ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx = true"),
    ("gpt2", {"scale_attn_weights": False}, "scale_attn_weights = false"),
    ("llama", {"model_type": "lama"}, 'model_type = "lama": .*did you mean llama'),
    ("llama", {"model_type": "qwen3"}, 'model_type = "qwen3"'),
    ("llama", {"head_dim": 16}, "head_dim = 16: must be .* = 8"),
    ("llama", {"num_attention_heads": 5}, "num_attention_heads = 5: does not divide"),
    ("llama", {"num_key_value_heads": 3}, "n_kv_heads = 3"),
    ("llama", {"hidden_size": None}, "lacks hidden_size"),
    ("llama", {"hidden_size": -32}, "hidden_size = -32"),
    ("llama", {"vocab_size": "64"}, 'vocab_size = "64"'),
    ("llama", {"num_hidden_layers": 9999}, "9999 layers, but the weights have 2"),
    ("llama", {"vocab_size": 2**30}, r"shape \(64, 32\) in the file, but .*1073741824"),
    ("llama", {"intermediate_size": 64}, r"up_proj.weight has shape \(96, 32\) .*\(64, 32\)"),
    ("llama", {"rms_norm_eps": 0}, "rms_norm_eps = 0"),
    ("llama", {"attention_bias": True}, "lack model.layers.0.self_attn.q_proj.bias"),
    ("gpt_neox", {"attention_bias": "yes"}, 'attention_bias = "yes"'),
    ("llama", {"tie_word_embeddings": False}, "lack lm_head.weight"),
    ("pythia", {"tie_word_embeddings": True}, "embed_out.weight differs"),
    ("llama", {"num_local_experts": 8}, "num_local_experts = 8"),
    ("llama", {"quantization_config": {"bits": 4}}, "quantization_config = "),
    ("llama", {"quantization": {"bits": 4, "group_size": 7}}, "quantization = .*not known"),
    ("llama", {"quantization": {"bits": 4, "group_size": 32, "mode": "mxfp4"}}, "only one affine"),
    ("llama", {"model_type": "mlx_gpt"}, "no settings under mlx_gpt.model"),
    ("llama", {"mlx_gpt": {"model": {"n_layer": 2}}}, "no setting model.n_layer; did you mean"),
    ("llama", {"mlx_gpt": 3}, "mlx_gpt = 3: must be a table"),
]


@pytest.mark.parametrize(("name", "fields", "sentence"), FIELDS)
def test_a_field_that_cannot_be_represented_is_named(
    name: str, fields: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=sentence):
        read_folder(changed(tmp_path, name, **fields))


def test_a_sliding_window_that_hides_nothing_is_no_hindrance(tmp_path: Path) -> None:
    folder = changed(tmp_path, "starcoder2", sliding_window=16)
    assert read_folder(folder, 16).config.context_length == 16


def rewritten(folder: Path, change: Callable[[dict[str, mx.array]], object]) -> None:
    path = folder / "model.safetensors"
    arrays = read_safetensors(path)
    change(arrays)
    mx.save_safetensors(str(path), arrays)


def test_missing_extra_and_misshapen_arrays_are_named(tmp_path: Path) -> None:
    folder = changed(tmp_path, "llama")
    rewritten(folder, lambda arrays: arrays.update({"model.layers.0.self_attn.q_norm": mx.ones(8)}))
    with pytest.raises(UserError, match=r"hold model.layers.0.self_attn.q_norm, which"):
        read_folder(folder)
    rewritten(folder, lambda arrays: arrays.pop("model.layers.0.self_attn.q_norm"))
    read_folder(folder)
    rewritten(folder, lambda arrays: arrays.update({"model.norm.weight": mx.ones(31)}))
    with pytest.raises(UserError, match=r"model.norm.weight has shape \(31,\)"):
        read_folder(folder)
    rewritten(folder, lambda arrays: arrays.pop("model.norm.weight"))
    with pytest.raises(UserError, match=r"lack model.norm.weight"):
        read_folder(folder)
    rewritten(folder, lambda arrays: arrays.pop("model.embed_tokens.weight"))
    with pytest.raises(UserError, match=r"lack model.embed_tokens.weight"):
        read_folder(folder)


class Bomb:
    """What runs when it is unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return exec, ("raise SystemExit('the pickle was loaded')",)


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    folder = changed(tmp_path, "llama")
    (folder / "model.safetensors").unlink()
    (folder / "expected.safetensors").unlink()
    with pytest.raises(UserError, match=r"holds no model.safetensors"):
        read_folder(folder)
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(UserError, match=r"pytorch_model.bin, which is not read here"):
        read_folder(folder)
    with pytest.raises(UserError, match=r"pytorch_model.bin is a pickle"):
        open_model(folder / "pytorch_model.bin")


def test_every_way_to_cut_a_safetensors_file_is_noticed(tmp_path: Path) -> None:
    whole = (GOLDEN / "llama" / "model.safetensors").read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    path = tmp_path / "model.safetensors"
    for length in (0, 4, 8, 100, header - 1, header, len(whole) - 4, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(UserError, match=r"damaged|cut short"):
            read_safetensors(path)
    path.write_bytes(whole)
    assert read_safetensors(path)


@pytest.mark.parametrize(
    "header",
    [
        b"{",
        b"[]",
        b"[" * 100_000,
        b'{"w": 3}',
        b'{"w": {"dtype": "F32", "shape": [1], "data_offsets": [-4, 0]}}',
        b'{"w": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}',
        b'{"w": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}',
        b'{"w": {"dtype": "F32", "shape": [1], "data_offsets": [0]}}',
        b'{"w": {"dtype": "F32", "shape": [1000], "data_offsets": [0, 4]}}',
        b'{"w": {"dtype": "Q7", "shape": [1], "data_offsets": [0, 4]}}',
        b'{"w": {"dtype": "F32", "shape": [99999999999], "data_offsets": [0, 4]}}',
        b"\xff\xfe{}",
    ],
)
def test_a_hostile_header_is_refused(header: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    with pytest.raises(UserError, match=r"get (the file|it) again"):
        read_safetensors(path)


def test_weights_in_parts_must_all_be_there(tmp_path: Path) -> None:
    folder = changed(tmp_path, "llama")
    arrays = read_safetensors(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(arrays)
    for part, chosen in enumerate((names[:5], names[5:9], names[9:]), 1):
        path = folder / f"model-{part:05d}-of-00003.safetensors"
        mx.save_safetensors(str(path), {name: arrays[name] for name in chosen})
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"x": "../../etc"}}')
    assert read_folder(folder).config.n_layers == 2
    (folder / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(UserError, match="lacks part 2 of 3"):
        read_folder(folder)


@pytest.mark.parametrize("text", ["", "{", "[1]", "[" * 100_000, "\ud800"])
def test_a_broken_configuration_is_refused(text: str, tmp_path: Path) -> None:
    folder = changed(tmp_path, "llama")
    (folder / "config.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(UserError, match=r"config.json (is not valid JSON|holds no JSON object)"):
        read_folder(folder)


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no tokenizer"):
        open_folder(changed(tmp_path, "llama"))


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(tmp_path: Path) -> None:
    folder = changed(tmp_path, "llama")
    shutil.copy(GOLDEN / "bpe" / "tokenizer.json", folder)
    with pytest.raises(UserError, match=r"has \d+ tokens, but the model's vocab_size is 64"):
        open_folder(folder)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(UserError, match=r"notes.txt is no model"):
        open_model(tmp_path / "notes.txt")
    with pytest.raises(UserError, match=r"there is no .*config.json"):
        open_model(tmp_path)


def test_a_quantised_copy_is_not_quantised_again(tmp_path: Path) -> None:
    stored = quantise(filled(CONFIGS["llama"]), 8)
    write_model(tmp_path, stored, ByteTokenizer(), family_of(stored.config))
    with pytest.raises(UserError, match="is a quantised copy already"):
        quantise(read_folder(tmp_path), 4)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Hugging Face cache with one model."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    folder = tmp_path / "models--someone--tiny"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("abc123\n")
    (folder / "snapshots" / "abc123").mkdir(parents=True)
    return folder


def test_an_id_is_found_in_the_cache(hub: Path) -> None:
    assert locate("someone/tiny") == hub / "snapshots" / "abc123"
    assert locate(str(hub)) == hub


@pytest.mark.parametrize(
    "source",
    [
        "someone/tin",
        "",
        "/no/where",
        "../../no/such",
        "a/../b",
        "a/b/c",
        "a b",
        "someone/..",
        "~x",
    ],
)
def test_what_is_not_there_is_told(source: str, hub: Path) -> None:
    with pytest.raises(UserError, match=r"there is no"):
        locate(source)


@pytest.mark.parametrize("revision", ["../../..", "a/b", "", "..", "\x00"])
def test_a_cache_that_points_elsewhere_is_refused(revision: str, hub: Path) -> None:
    (hub / "refs" / "main").write_text(revision)
    with pytest.raises(UserError, match="names no revision"):
        locate("someone/tiny")


def test_a_missing_model_comes_with_the_way_to_get_it(hub: Path) -> None:
    with pytest.raises(UserError, match="get it with: hf download openai-community/gpt2"):
        locate("openai-community/gpt2")
    shutil.rmtree(hub / "snapshots")
    with pytest.raises(UserError, match="get it with: hf download someone/tiny"):
        locate("someone/tiny")


def test_the_cache_lies_where_hugging_face_puts_it() -> None:
    assert cache_folder({"HF_HUB_CACHE": "/x"}) == Path("/x")
    assert cache_folder({"HF_HOME": "/y"}) == Path("/y/hub")
    assert cache_folder({}) == Path.home() / ".cache/huggingface/hub"
