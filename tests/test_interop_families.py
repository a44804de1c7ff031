"""Names and layouts of other families, against logits that transformers computed once."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

from mlx_gpt.device import mx

import pytest
from foreign import BASE, CONFIGS, GOLDEN, filled

from mlx_gpt.errors import UserError
from mlx_gpt.interop.families import FAMILIES, blocking, family_of, require_family
from mlx_gpt.interop.folder import Stored, build_gpt, read_config, read_folder, write_model
from mlx_gpt.interop.gguf import neighbours
from mlx_gpt.interop.layout import stack_rows
from mlx_gpt.interop.weights import read_safetensors
from mlx_gpt.inventory import inventory
from mlx_gpt.tokenizer import ByteTokenizer

TOLERANCE = 2e-5
GOLDENS = ("gpt2", "gpt_neox", "pythia", "starcoder2", "llama")


def gap(stored: Stored, name: str) -> float:
    """How far our logits are from those of transformers."""
    expected = read_safetensors(GOLDEN / name / "expected.safetensors")
    return float(mx.abs(build_gpt(stored)(expected["ids"]) - expected["logits"]).max())


@pytest.mark.parametrize("name", GOLDENS)
def test_a_foreign_model_computes_here_what_it_does_there(name: str) -> None:
    assert gap(read_folder(GOLDEN / name), name) < TOLERANCE


@pytest.mark.parametrize("name", GOLDENS)
def test_written_again_it_is_the_same_file(name: str) -> None:
    """With the test above this proves that others compute what we do."""
    stored = read_folder(GOLDEN / name)
    family = require_family(stored.config)
    table = json.loads((GOLDEN / name / "config.json").read_text())
    assert family.name == table["model_type"]
    ours = family.to_hf(stored.config, stored.arrays)
    theirs = read_safetensors(GOLDEN / name / "model.safetensors")
    if name == "gpt2":  # without the prefix, for mlx_lm
        theirs = {key.removeprefix("transformer."): array for key, array in theirs.items()}
    if name == "gpt_neox":  # with a head, for mlx_lm and llama.cpp
        assert mx.array_equal(ours.pop("embed_out.weight"), ours["gpt_neox.embed_in.weight"])
    assert ours.keys() == theirs.keys()
    assert all(mx.array_equal(ours[key], theirs[key]) for key in theirs)
    written = family.config_to_hf(stored.config)
    free = {"architectures", "attn_pdrop", "embd_pdrop", "resid_pdrop", "n_inner", "tie_word"}
    same = [key for key in written.keys() & table.keys() if key not in free]
    assert {key: written[key] for key in same} == {key: table[key] for key in same}
    assert len(same) > 8


def test_traditional_rope_is_noticed() -> None:
    stored = read_folder(GOLDEN / "gpt_neox")
    turned = {
        name: neighbours(array, stored.config.n_heads)
        for name, array in stored.arrays.items()
        if ".q_proj." in name or ".k_proj." in name
    }
    assert gap(stored._replace(arrays={**stored.arrays, **turned}), "gpt_neox") > 0.1


def test_q_k_v_one_after_the_other_are_noticed() -> None:
    """GPT-NeoX wants them head by head."""
    stored = read_folder(GOLDEN / "gpt_neox")
    own = dict(stored.arrays)
    name = "blocks.0.attention.{}_proj.weight"
    rows = stack_rows([own[name.format(part)] for part in "qkv"])
    theirs = FAMILIES["gpt_neox"].to_hf(stored.config, own)
    theirs["gpt_neox.layers.0.attention.query_key_value.weight"] = rows
    wrong = FAMILIES["gpt_neox"].from_hf(stored.config, theirs)
    wrong.pop("head.weight")
    assert gap(stored._replace(arrays=wrong), "gpt_neox") > 0.1


@pytest.mark.parametrize("name", GOLDENS)
def test_another_epsilon_is_noticed(name: str) -> None:
    stored = read_folder(GOLDEN / name)
    config = replace(stored.config, norm_eps=1e-6)
    assert gap(stored._replace(config=config), name) > 10 * TOLERANCE


def test_an_activation_of_the_other_kind_is_noticed() -> None:
    stored = read_folder(GOLDEN / "gpt2")
    config = replace(stored.config, activation="gelu")
    assert gap(stored._replace(config=config), "gpt2") > 2 * TOLERANCE


NO_FAMILY = {
    "norm_order": replace(BASE, norm_order="post"),
    "causal": replace(BASE, causal=False),
    "final_norm": replace(BASE, final_norm=False),
    "position": replace(BASE, position="none"),
    "activation": replace(BASE, norm="rmsnorm"),
    'activation = "swiglu" with': replace(BASE, activation="swiglu"),
    "tied_head": replace(BASE, position="learned", tied_head=False),
    "n_kv_heads": replace(BASE, position="learned", n_kv_heads=2),
    "rope_fraction": replace(BASE, n_kv_heads=2, rope_fraction=0.5),
    "parallel_residual": replace(BASE, n_kv_heads=2, parallel_residual=True),
}


@pytest.mark.parametrize("setting", NO_FAMILY)
def test_what_no_family_has_is_named(setting: str) -> None:
    config = NO_FAMILY[setting]
    assert blocking(config).startswith(f"model.{setting}")
    assert family_of(config) is None
    with pytest.raises(UserError, match=rf"model\.{setting}.*--to safetensors"):
        require_family(config)


@pytest.mark.parametrize("name", [*CONFIGS, *NO_FAMILY])
def test_our_folder_gives_back_exactly_what_went_in(name: str, tmp_path: Path) -> None:
    config = replace({**CONFIGS, **NO_FAMILY}[name], dropout=0.25, residual_init=False)
    stored = filled(config)
    write_model(tmp_path, stored, ByteTokenizer(), family_of(config))
    again = read_folder(tmp_path)
    assert again.config == config == read_config(tmp_path).model
    assert again.arrays.keys() == stored.arrays.keys()
    assert all(mx.array_equal(again.arrays[key], stored.arrays[key]) for key in stored.arrays)


def test_biases_that_others_trained_are_kept_and_seen(tmp_path: Path) -> None:
    """A model without biases is written with zeros; once they are no zeros, it has biases."""
    config = CONFIGS["starcoder2-erf-nobias"]
    write_model(tmp_path, filled(config), ByteTokenizer(), family_of(config))
    weights = read_safetensors(tmp_path / "model.safetensors")
    name = "model.layers.1.self_attn.k_proj.bias"
    weights[name] = weights[name] + 1
    mx.save_safetensors(str(tmp_path / "model.safetensors"), weights)
    again = read_folder(tmp_path)
    assert again.config == replace(config, attn_bias=True, ffn_bias=True)
    assert mx.array_equal(again.arrays["blocks.1.attention.k_proj.bias"], weights[name])


def test_a_folder_that_another_program_changed_counts_as_it_is(tmp_path: Path) -> None:
    """Our own settings are believed only where they agree with the rest."""
    config = CONFIGS["llama"]
    write_model(tmp_path, filled(config), ByteTokenizer(), family_of(config))
    table = json.loads((tmp_path / "config.json").read_text())
    for place in (table, table["rope_parameters"]):
        place["rope_theta"] = 77.0
    (tmp_path / "config.json").write_text(json.dumps(table))
    assert read_folder(tmp_path).config == replace(config, rope_base=77.0)


def test_old_spellings_are_read_as_the_new_ones(tmp_path: Path) -> None:
    """transformers 4 wrote rotary_pct; its GPT-2 files hold masks and a second head."""
    folder = shutil.copytree(GOLDEN / "pythia", tmp_path / "pythia")
    table = json.loads((folder / "config.json").read_text())
    del table["rope_parameters"]
    table |= {"rotary_pct": 0.25, "rotary_emb_base": 10000, "rope_scaling": None}
    table |= {"partial_rotary_factor": 0.25}
    (folder / "config.json").write_text(json.dumps(table))
    assert gap(read_folder(folder), "pythia") < TOLERANCE

    folder = shutil.copytree(GOLDEN / "gpt2", tmp_path / "gpt2")
    weights = read_safetensors(folder / "model.safetensors")
    bare = {name.removeprefix("transformer."): array for name, array in weights.items()}
    bare["lm_head.weight"] = bare["wte.weight"]
    bare["h.0.attn.bias"] = mx.ones((1, 1, 48, 48))
    bare["h.1.attn.masked_bias"] = mx.array(-1e4)
    mx.save_safetensors(str(folder / "model.safetensors"), bare)
    assert gap(read_folder(folder), "gpt2") < TOLERANCE


def test_half_precision_is_kept_on_disk_and_computed_in_float32(tmp_path: Path) -> None:
    stored = filled(CONFIGS["llama"])
    half = {name: array.astype(mx.bfloat16) for name, array in stored.arrays.items()}
    write_model(tmp_path, stored._replace(arrays=half), ByteTokenizer(), FAMILIES["llama"])
    table = json.loads((tmp_path / "config.json").read_text())
    assert table["dtype"] == table["torch_dtype"] == "bfloat16"
    again = read_folder(tmp_path)
    assert again.arrays["embedding.weight"].dtype == mx.bfloat16
    assert build_gpt(again)(mx.array([[1, 2]])).dtype == mx.float32


def test_a_shorter_context_computes_the_same_within_it() -> None:
    expected = read_safetensors(GOLDEN / "gpt2" / "expected.safetensors")
    short = read_folder(GOLDEN / "gpt2", 10)
    assert short.arrays["positions.weight"].shape == (10, 32)
    logits = build_gpt(short)(expected["ids"][:, :10])
    assert float(mx.abs(logits - expected["logits"][:, :10]).max()) < TOLERANCE
    with pytest.raises(UserError, match="only 48 positions"):
        read_folder(GOLDEN / "gpt2", 49)


def test_every_array_has_a_name_in_its_family() -> None:
    for config in CONFIGS.values():
        family = require_family(config)
        names = [part.name for part in inventory(config).components if "_proj" not in part.name]
        assert [family.names.ours(family.names.theirs(name)) for name in names] == names
