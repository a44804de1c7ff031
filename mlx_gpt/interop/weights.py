"""Weights from somebody else's disk: checked before MLX sees them, complete or refused."""

import json
import math
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from mlx_gpt.device import mx

import mlx.nn as nn

from mlx_gpt.config import ModelConfig
from mlx_gpt.errors import UserError
from mlx_gpt.interop.families import Family
from mlx_gpt.interop.layout import Arrays, Given, Names, blank
from mlx_gpt.model import GPT

HEADER_LIMIT = 100_000_000  # bytes; safetensors itself allows no more
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".h5", ".msgpack")
SHARD = re.compile(r"model-(\d+)-of-(\d+)\.safetensors")
PREFIXES = ("transformer.", "gpt_neox.", "model.")
BUFFERS = (
    ".attn.bias",
    ".attn.masked_bias",
    ".attention.bias",
    ".attention.masked_bias",
    ".rotary_emb.inv_freq",
)


class Quantization(NamedTuple):
    """How numbers are packed: groups along a row share a scale and an offset."""

    bits: int
    group_size: int


# Reading files


def read_weights(folder: Path) -> Arrays:
    """The arrays of all safetensors files in the folder, in memory when this returns."""
    arrays: Arrays = {}
    for path in weight_files(folder):
        arrays |= read_safetensors(path)
    return arrays


def weight_files(folder: Path) -> list[Path]:
    """The files that hold a model's weights, all of them."""
    if (folder / "model.safetensors").is_file():
        return [folder / "model.safetensors"]
    shards = {name: match for name in names_in(folder) if (match := SHARD.fullmatch(name))}
    if not shards:
        raise UserError(without_weights(folder))
    total = max(int(match[2]) for match in shards.values())
    present = {int(match[1]) for match in shards.values()}
    if missing := sorted(set(range(1, min(total, 100_000) + 1)) - present):
        raise UserError(
            f"{folder} lacks part {missing[0]} of {total} of its weights "
            f"(model-{missing[0]:05d}-of-{total:05d}.safetensors); get it again"
        )
    return [folder / name for name in sorted(shards)]


def names_in(folder: Path) -> list[str]:
    """The names in a folder."""
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise UserError(f"cannot read the folder {folder}: {error.strerror}") from None


def without_weights(folder: Path) -> str:
    """Why a folder without safetensors is no model here."""
    pickles = [name for name in names_in(folder) if name.endswith(PICKLES)]
    if pickles:
        return (
            f"{folder} has its weights in {pickles[0]}, which is not read here, because loading "
            "such a file can run what it says; get or make model.safetensors"
        )
    return f"{folder} holds no model.safetensors; give the folder of a model"


def read_safetensors(path: Path) -> Arrays:
    """The arrays of one file; a damaged one is refused before MLX maps it."""
    check_safetensors(path)
    try:
        arrays = mx.load(str(path))
        mx.eval(arrays)
    except (RuntimeError, ValueError) as error:
        raise UserError(f"cannot load {path}: {error}; get the file again") from None
    if not isinstance(arrays, dict):
        raise UserError(f"{path} is no safetensors file; get the file again")
    return arrays


def check_safetensors(path: Path) -> None:
    """Refuse a file whose header is not one, or that is shorter than the header says."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or not 2 <= length <= min(HEADER_LIMIT, size - 8):
                raise UserError(f"{path} is damaged or no safetensors file; get it again")
            header = json.loads(file.read(length))
            data = size - 8 - length
            needed = max((end for _, end in spans(header)), default=0)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError(f"the header of {path} is damaged; get the file again") from None
    if needed > data:
        raise UserError(
            f"{path} is cut short: it holds {data} bytes of weights instead of {needed}; "
            "get the file again"
        )


def spans(header: dict[str, dict]) -> Iterator[tuple[int, int]]:
    """Where each array begins and ends."""
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        if not 0 <= int(begin) <= int(end) or any(int(n) < 0 for n in entry["shape"]):
            raise ValueError(name)
        yield begin, end


# Names and shapes


def canonical(family: Family, arrays: Given) -> Arrays:
    """The arrays under the family's full names, without the masks that old files carry."""
    found: Arrays = {}
    for name, array in arrays.items():
        bare = name
        for prefix in PREFIXES:
            bare = bare.removeprefix(prefix)
        if not f".{bare}".endswith(BUFFERS):
            found[full_name(family, bare)] = array
    return found


def full_name(family: Family, bare: str) -> str:
    """A name with the prefix that the family gives it."""
    prefix = family.names.layers.rpartition("{}")[0].rpartition(".")[0].rpartition(".")[0]
    head = family.names.outer["head"]
    outside = not prefix or bare.startswith(f"{head}.")
    return bare if outside else f"{prefix}.{bare}"


def from_family(family: Family, config: ModelConfig, arrays: Given) -> Arrays:
    """A family's arrays in our layout; missing, extra or misshapen ones are refused by name."""
    given = canonical(family, arrays)
    check_sizes(family.names, config, given)
    if config.tied_head:
        given = without_head(family.names, given)
    expected = family.to_hf(config, blank(config))
    check_shapes(expected, given, partial(optional, family.names, config))
    return family.from_hf(config, given)


def check_sizes(names: Names, config: ModelConfig, given: Given) -> None:
    """Refuse sizes that the file contradicts, before anything is made of such a size."""
    embedding = f"{names.outer['embedding']}.weight"
    if embedding not in given:
        raise UserError(f"the weights lack {embedding}; get the file again")
    layers = {name.split(".")[1] for name in map(names.ours, given) if name.startswith("blocks.")}
    if len(layers) != config.n_layers:
        raise UserError(
            f"the configuration says {config.n_layers} layers, but the weights have {len(layers)}"
        )
    rows, width = given[embedding].shape
    packed = f"{names.outer['embedding']}.scales" in given
    if rows != config.vocab_size or (not packed and width != config.d_model):
        raise UserError(
            f"{embedding} has shape {given[embedding].shape} in the file, but the configuration "
            f"says {(config.vocab_size, config.d_model)}"
        )


def without_head(names: Names, given: Given) -> Arrays:
    """The arrays without a head that is only the embedding again; another one is refused."""
    head, embedding = names.outer["head"], names.outer["embedding"]
    copies = {name: array for name, array in given.items() if name.startswith(f"{head}.")}
    for name, array in copies.items():
        original = given.get(f"{embedding}{name.removeprefix(head)}")
        if original is None or original.shape != array.shape or not mx.array_equal(original, array):
            raise UserError(
                f"tie_word_embeddings is true, but {name} differs from {embedding}.weight; "
                "set tie_word_embeddings to false in config.json"
            )
    return {name: array for name, array in given.items() if name not in copies}


def check_shapes(expected: Given, given: Given, may_lack: Callable[[str], bool]) -> None:
    """Compare names and shapes with those of a blank model written in the same layout."""
    packed = {name.rpartition(".")[0] for name in given if name.endswith(".scales")}
    for name, array in expected.items():
        if name not in given:
            if not may_lack(name):
                raise UserError(f"the weights lack {name}; get the file again")
        elif name.rpartition(".")[0] not in packed and given[name].shape != array.shape:
            raise UserError(
                f"{name} has shape {given[name].shape} in the file, but {array.shape} in the model"
            )
    for name in given:
        part, _, leaf = name.rpartition(".")
        if name not in expected and not (part in packed and leaf in ("scales", "biases")):
            raise UserError(f"the weights hold {name}, which this model has no place for")


def optional(names: Names, config: ModelConfig, name: str) -> bool:
    """Whether an array is only written for others: a tied head, or a bias that is zero."""
    ours = names.ours(name)
    if ours.startswith("head."):
        return config.tied_head
    without = [".attention."] * (not config.attn_bias) + [".feed_forward."] * (not config.ffn_bias)
    return ours.endswith(".bias") and any(part in ours for part in without)


# Quantised copies


def quantised(arrays: Given, packing: Quantization) -> Arrays:
    """Every matrix packed into few bits, as mlx's own nn.quantize does; norms and biases stay."""
    packed: Arrays = {}
    for name, array in arrays.items():
        if not is_matrix(name, array, packing.group_size):
            packed[name] = array
            continue
        part = name.removesuffix(".weight")
        weight, scales, *biases = mx.quantize(array, packing.group_size, packing.bits)
        packed |= {name: weight, f"{part}.scales": scales, f"{part}.biases": biases[0]}
    return packed


def is_matrix(name: str, array: mx.array, group_size: int) -> bool:
    """Whether an array is packed: a matrix whose rows consist of whole groups.

    Positions stay as they are: they are added, not multiplied with.
    """
    return array.ndim == 2 and array.shape[1] % group_size == 0 and "positions" not in name


def group_size_of(config: ModelConfig, wanted: int = 64) -> int:
    """The largest group that divides the rows of this model."""
    common = math.gcd(config.d_model, config.d_ff)
    size = next((size for size in (wanted, 32) if common % size == 0), 0)
    if not size:
        raise UserError(
            f"model.d_model = {config.d_model} and model.d_ff = {config.d_ff} are not both "
            "divisible by 32, so this model cannot be quantised"
        )
    return size


def make_room(gpt: GPT, arrays: Given, packing: Quantization) -> None:
    """Turn those layers of a model into quantised ones whose packed weights there are."""
    nn.quantize(
        gpt,
        packing.group_size,
        packing.bits,
        class_predicate=lambda path, _: f"{path}.scales" in arrays,
    )
