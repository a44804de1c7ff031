"""Where a family keeps each part of a model, and the ways in which layouts differ."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from mlx_gpt.device import mx

from mlx_gpt.config import ModelConfig
from mlx_gpt.inventory import inventory

Arrays = dict[str, mx.array]
Given = Mapping[str, mx.array]

BLOCK = re.compile(r"blocks\.(\d+)\.(.+)\.(weight|bias|scales|biases)")
LEAF = re.compile(r"(.+)\.(weight|bias|scales|biases)")


class Names(NamedTuple):
    """A family's names: `layers` with {} for the number, our part -> theirs."""

    layers: str
    outer: Mapping[str, str]
    inner: Mapping[str, str]

    def theirs(self, name: str) -> str:
        """Our name of an array as theirs."""
        if found := BLOCK.fullmatch(name):
            layer, part, leaf = found.groups()
            return f"{self.layers.format(layer)}.{self.inner[part]}.{leaf}"
        part, _, leaf = name.rpartition(".")
        return f"{self.outer[part]}.{leaf}"

    def ours(self, name: str) -> str:
        """Their name of an array as ours; a name that is not theirs stays as it is."""
        found = LEAF.fullmatch(name)
        if not found:
            return name
        part, leaf = found.groups()
        for our, their in self.outer.items():
            if part == their:
                return f"{our}.{leaf}"
        before, after = self.layers.split("{}")
        inside = re.fullmatch(rf"{re.escape(before)}(\d+){re.escape(after)}\.(.+)", part)
        if inside:
            for our, their in self.inner.items():
                if inside[2] == their:
                    return f"blocks.{inside[1]}.{our}.{leaf}"
        return name

    def all_theirs(self, arrays: Given) -> Arrays:
        """Arrays under their names."""
        return {self.theirs(name): array for name, array in arrays.items()}

    def all_ours(self, arrays: Given) -> Arrays:
        """Arrays under our names."""
        return {self.ours(name): array for name, array in arrays.items()}


def fuse(arrays: Given, join: Callable[[Sequence[mx.array]], mx.array]) -> Arrays:
    """Each block's q, k and v as one `attention.qkv`."""
    fused: Arrays = {}
    for name, array in arrays.items():
        if ".q_proj." in name:
            parts = [arrays[name.replace(".q_proj.", f".{part}_proj.")] for part in "qkv"]
            fused[name.replace(".q_proj.", ".qkv.")] = join(parts)
        elif ".k_proj." not in name and ".v_proj." not in name:
            fused[name] = array
    return fused


def unfuse(arrays: Given, split: Callable[[mx.array], Sequence[mx.array]]) -> Arrays:
    """Each block's `attention.qkv` as q, k and v."""
    loose: Arrays = {}
    for name, array in arrays.items():
        if ".qkv." in name:
            for part, piece in zip("qkv", split(array), strict=True):
                loose[name.replace(".qkv.", f".{part}_proj.")] = piece
        else:
            loose[name] = array
    return loose


def stack_rows(parts: Sequence[mx.array]) -> mx.array:
    """q, then k, then v."""
    return mx.concatenate(list(parts), axis=0)


def cut_rows(array: mx.array) -> list[mx.array]:
    """The other way round."""
    return list(mx.split(array, 3, axis=0))


def blank(config: ModelConfig) -> Arrays:
    """Zeros in the shape of every array; nothing is computed until they are looked at."""
    return {part.name: mx.zeros(part.shape) for part in inventory(config).components}


def with_biases(config: ModelConfig, arrays: Given) -> Arrays:
    """The arrays with zeros for the biases that a family insists on and this model lacks."""
    return blank(replace(config, attn_bias=True, ffn_bias=True)) | dict(arrays)
