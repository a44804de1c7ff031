"""GGUF, the one-file form that llama.cpp runs: written and read through MLX."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mlx_gpt.device import mx

from mlx_gpt.config import ModelConfig
from mlx_gpt.errors import UserError
from mlx_gpt.interop import bpe, fields
from mlx_gpt.interop.families import FAMILIES, Family, require_family
from mlx_gpt.interop.folder import Stored, check_tokenizer, cropped, open_folder, replace
from mlx_gpt.interop.hf_tokenizer import BYTE_RULES, plain
from mlx_gpt.interop.layout import (
    Arrays,
    Given,
    Names,
    blank,
    cut_rows,
    fuse,
    stack_rows,
    unfuse,
    with_biases,
)
from mlx_gpt.interop.pieces import (
    CONTROL,
    NORMAL,
    UNUSED,
    USER_DEFINED,
    Piece,
    is_bpe,
    read_pieces,
    write_model,
)
from mlx_gpt.interop.weights import PICKLES, check_shapes, check_sizes, optional, without_head
from mlx_gpt.tokenizer import SentencePieceTokenizer, Tokenizer

GROUP = 32  # numbers that share a scale in the packed formats that MLX reads
LOOSE_QKV = {f"attention.{part}_proj": f"attn_{part}" for part in "qkv"}
INNER = {
    "norm1": "attn_norm",
    "attention.out_proj": "attn_output",
    "norm2": "ffn_norm",
    "feed_forward.gate_proj": "ffn_gate",
    "feed_forward.up_proj": "ffn_up",
    "feed_forward.down_proj": "ffn_down",
}
OUTER = {
    "embedding": "token_embd",
    "positions": "position_embd",
    "final_norm": "output_norm",
    "head": "output",
}
LOOSE = Names("blk.{}", OUTER, {**INNER, **LOOSE_QKV})
FUSED = Names("blk.{}", OUTER, {**INNER, "attention.qkv": "attn_qkv"})


@dataclass(frozen=True)
class Architecture:
    """How llama.cpp calls a family, and what is special about its layout."""

    name: str
    fused: bool  # q, k and v in one matrix
    turned: bool  # RoPE pairs are neighbours
    filled: bool  # biases everywhere
    headed: bool  # the head is written even where it is tied


ARCHITECTURES = {
    "gpt2": Architecture("gpt2", fused=True, turned=False, filled=True, headed=False),
    "gpt_neox": Architecture("gptneox", fused=True, turned=False, filled=True, headed=True),
    "llama": Architecture("llama", fused=False, turned=True, filled=False, headed=False),
    "starcoder2": Architecture("starcoder2", fused=False, turned=False, filled=True, headed=False),
}
PACKED_LEAVES = ("scales", "biases")
# What changes the computation, and the values under which it does not.
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "attention.sliding_window": (0,),
    "attn_logit_softcapping": (),
    "expert_count": (0,),
    "final_logit_softcapping": (),
    "logit_scale": (1.0,),
    "rope.scaling.type": ("none",),
}
DIGITS = {"gpt-2": False, "smollm": True, "starcoder": True}  # pre-tokenizers by name


# Layout


def to_gguf(architecture: Architecture, config: ModelConfig, arrays: Given) -> Arrays:
    """Our arrays as llama.cpp wants them."""
    own = with_biases(config, arrays) if architecture.filled else dict(arrays)
    if architecture.headed and config.tied_head:
        own["head.weight"] = own["embedding.weight"]
    if architecture.turned:
        own = turned(config, own, neighbours)
    if architecture.fused:
        return FUSED.all_theirs(fuse(own, stack_rows))
    return LOOSE.all_theirs(own)


def from_gguf(architecture: Architecture, config: ModelConfig, arrays: Given) -> Arrays:
    """llama.cpp's arrays as ours."""
    if architecture.fused:
        return unfuse(FUSED.all_ours(arrays), cut_rows)
    own = LOOSE.all_ours(arrays)
    return turned(config, own, halves) if architecture.turned else own


def turned(
    config: ModelConfig, arrays: Given, order: Callable[[mx.array, int], mx.array]
) -> Arrays:
    """The arrays with the rows of q and k in another order within each head."""
    heads = {".q_proj.": config.n_heads, ".k_proj.": config.n_kv_heads}
    return {
        name: next((order(array, n) for part, n in heads.items() if part in name), array)
        for name, array in arrays.items()
    }


def neighbours(array: mx.array, n_heads: int) -> mx.array:
    """RoPE pairs (j, j + d_head/2) as neighbours (2j, 2j + 1)."""
    rows = array.reshape(n_heads, 2, -1, *array.shape[1:])
    return rows.swapaxes(1, 2).reshape(array.shape)


def halves(array: mx.array, n_heads: int) -> mx.array:
    """The other way round."""
    rows = array.reshape(n_heads, -1, 2, *array.shape[1:])
    return rows.swapaxes(1, 2).reshape(array.shape)


# Writing


def write_gguf(path: Path, stored: Stored, tokenizer: Tokenizer, name: str) -> None:
    """A model and its tokenizer in one file, in float32."""
    family = require_family(stored.config)
    if stored.config.activation == "relu":
        raise UserError(
            'model.activation = "relu": llama.cpp computes gelu in this family; export it --to hf'
        )
    if stored.packing:
        raise UserError("a quantised copy cannot be written as GGUF; export the original")
    architecture = ARCHITECTURES[family.name]
    arrays = to_gguf(architecture, stored.config, stored.arrays)
    arrays = {each: mx.contiguous(array.astype(mx.float32)) for each, array in arrays.items()}
    metadata = {
        "general.name": name,
        **model_metadata(architecture, stored.config),
        **tokenizer_metadata(tokenizer, stored.config.vocab_size),
    }
    unfinished = path.with_name(f".{path.stem}.tmp.gguf")
    try:
        mx.save_gguf(str(unfinished), arrays, metadata)
        replace(unfinished, path)
    except (OSError, RuntimeError) as error:
        raise UserError(f"cannot write {path}: {error}; make room or allow it") from error
    finally:
        unfinished.unlink(missing_ok=True)


def model_metadata(architecture: Architecture, config: ModelConfig) -> dict[str, Any]:
    """The configuration in llama.cpp's words."""
    norm = "layer_norm_epsilon" if config.norm == "layernorm" else "layer_norm_rms_epsilon"
    values: dict[str, Any] = {
        "context_length": whole(config.context_length),
        "embedding_length": whole(config.d_model),
        "block_count": whole(config.n_layers),
        "feed_forward_length": whole(config.d_ff),
        "attention.head_count": whole(config.n_heads),
        "attention.head_count_kv": whole(config.n_kv_heads),
        f"attention.{norm}": mx.array(config.norm_eps, mx.float32),
        "vocab_size": whole(config.vocab_size),
    }
    if config.position == "rope":
        values["rope.dimension_count"] = whole(config.d_rope)
        values["rope.freq_base"] = mx.array(config.rope_base, mx.float32)
    if architecture.name == "gptneox":
        values["use_parallel_residual"] = mx.array(config.parallel_residual, mx.bool_)
    general = {"general.architecture": architecture.name, "general.file_type": whole(0)}
    return general | {f"{architecture.name}.{key}": value for key, value in values.items()}


def whole(value: int) -> mx.array:
    """A number as GGUF stores sizes."""
    return mx.array(value, mx.uint32)


def tokenizer_metadata(tokenizer: Tokenizer, rows: int) -> dict[str, Any]:
    """The tokenizer in llama.cpp's words, with filler up to the model's vocabulary."""
    if isinstance(tokenizer, SentencePieceTokenizer):
        return sentencepiece_metadata(tokenizer, rows)
    rules = tokenizer.rules if isinstance(tokenizer, bpe.BPETokenizer) else BYTE_RULES
    kinds = dict.fromkeys(rules.vocab, NORMAL)
    kinds |= dict.fromkeys(rules.special, CONTROL)
    kinds |= dict.fromkeys(rules.added, USER_DEFINED)
    ids = {**rules.vocab, **rules.special, **rules.added}
    tokens, types = filler(rows), [UNUSED] * rows
    for token, token_id in ids.items():
        tokens[token_id], types[token_id] = token, kinds[token]
    # llama.cpp demands merges; this one never applies, since a word begins as single bytes.
    merges = [" ".join(pair) for pair in rules.merges] or [f"{rules.end} {rules.end}"]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm" if rules.digits else "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": mx.array(types, mx.int32),
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.bos_token_id": whole(tokenizer.end_id),
        "tokenizer.ggml.eos_token_id": whole(tokenizer.end_id),
        "tokenizer.ggml.add_bos_token": mx.array(False, mx.bool_),
    }


def sentencepiece_metadata(tokenizer: SentencePieceTokenizer, rows: int) -> dict[str, Any]:
    """A SentencePiece model in llama.cpp's words."""
    if not is_bpe(tokenizer.model):
        raise UserError("this SentencePiece model is not of the kind bpe, which GGUF cannot hold")
    pieces = read_pieces(tokenizer.model)
    pieces += [Piece(token, 0.0, UNUSED) for token in filler(rows)[len(pieces) :]]
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": [piece.text for piece in pieces],
        "tokenizer.ggml.scores": mx.array([piece.score for piece in pieces], mx.float32),
        "tokenizer.ggml.token_type": mx.array([piece.kind for piece in pieces], mx.int32),
        "tokenizer.ggml.bos_token_id": whole(tokenizer.end_id),
        "tokenizer.ggml.eos_token_id": whole(tokenizer.end_id),
        "tokenizer.ggml.unknown_token_id": whole(tokenizer.processor.unk_id()),
        "tokenizer.ggml.add_bos_token": mx.array(False, mx.bool_),
        "tokenizer.ggml.add_space_prefix": mx.array(False, mx.bool_),
    }


def filler(rows: int) -> list[str]:
    """Names for the rows of an embedding that no token has."""
    return [f"[PAD{row}]" for row in range(rows)]


# Reading


def read_gguf(path: Path, context_length: int = 0) -> tuple[Stored, Tokenizer]:
    """The model in a file with its tokenizer; packed weights become float32 numbers."""
    packed, metadata = load(path)
    arrays = unpacked(packed)
    family = family_in(metadata)
    architecture = ARCHITECTURES[family.name]
    config = read_config(family, metadata, arrays)
    names = FUSED if architecture.fused else LOOSE
    check_sizes(names, config, arrays)
    if config.tied_head:
        arrays = without_head(names, arrays)
    expected = to_gguf(architecture, config, blank(config))
    check_shapes(expected, arrays, partial(optional, names, config))
    stored = Stored(config, from_gguf(architecture, config, arrays))
    tokenizer = tokenizer_from(metadata)
    check_tokenizer(stored, tokenizer, path)
    return (cropped(stored, context_length) if context_length else stored), tokenizer


def load(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """The arrays of a file and its metadata as plain values."""
    try:
        arrays, metadata = mx.load(str(path), format="gguf", return_metadata=True)
        mx.eval(arrays)
    except (RuntimeError, ValueError) as error:
        raise UserError(f"cannot load {path}: {error}; get the file again") from None
    if not isinstance(arrays, dict) or not isinstance(metadata, dict):
        raise UserError(f"{path} is no GGUF file; give one, or a model's folder")
    return arrays, {
        key: value.tolist() if isinstance(value, mx.array) else value
        for key, value in metadata.items()
    }


def unpacked(arrays: Given) -> Arrays:
    """Packed weights as the float32 numbers that they stand for."""
    found: Arrays = {}
    for name, array in arrays.items():
        part, _, leaf = name.rpartition(".")
        if leaf in ("scales", "biases"):
            continue
        scales = arrays.get(f"{part}.scales") if leaf == "weight" else None
        if scales is None:
            found[name] = array.astype(mx.float32)
            continue
        bits = 32 * array.shape[-1] // (GROUP * scales.shape[-1])
        scales, biases = (arrays[f"{part}.{each}"].astype(mx.float32) for each in PACKED_LEAVES)
        found[name] = mx.dequantize(array, scales, biases, group_size=GROUP, bits=bits)
    return found


def family_in(metadata: Mapping[str, Any]) -> Family:
    """The family of a file."""
    names = {architecture.name: family for family, architecture in ARCHITECTURES.items()}
    name = metadata.get("general.architecture")
    if name not in names:
        fields.unknown("general.architecture", name, names)
    return FAMILIES[names[str(name)]]


def read_config(family: Family, metadata: Mapping[str, Any], arrays: Given) -> ModelConfig:
    """The configuration in our words; what it cannot say is refused by the name of its key."""
    name = ARCHITECTURES[family.name].name
    check_known(name, metadata)
    n_heads = fields.whole(metadata, f"{name}.attention.head_count")
    d_model = fields.whole(metadata, f"{name}.embedding_length")
    llama, d_head = family.name == "llama", max(d_model // n_heads, 1)
    norm = "layer_norm_rms_epsilon" if llama else "layer_norm_epsilon"
    for key in ("attention.key_length", "attention.value_length"):
        if fields.whole(metadata, f"{name}.{key}", d_head) != d_head:
            fields.refuse(f"{name}.{key}", metadata[f"{name}.{key}"], f"must be {d_head}")
    embedding = arrays.get("token_embd.weight", mx.zeros((1, 1)))
    rotated = fields.whole(metadata, f"{name}.rope.dimension_count", d_head)
    return ModelConfig(
        vocab_size=embedding.shape[0],
        context_length=fields.whole(metadata, f"{name}.context_length"),
        d_model=d_model,
        n_layers=fields.whole(metadata, f"{name}.block_count"),
        n_heads=n_heads,
        n_kv_heads=fields.whole(metadata, f"{name}.attention.head_count_kv", n_heads),
        d_ff=fields.whole(metadata, f"{name}.feed_forward_length"),
        position="learned" if family.name == "gpt2" else "rope",
        norm="rmsnorm" if llama else "layernorm",
        norm_eps=as_written(fields.number(metadata, f"{name}.attention.{norm}", 1e-5)),
        activation="swiglu" if llama else "gelu_tanh",
        attn_bias="blk.0.attn_output.bias" in arrays,
        ffn_bias="blk.0.ffn_up.bias" in arrays,
        tied_head=is_tied(arrays),
        rope_base=as_written(fields.number(metadata, f"{name}.rope.freq_base", 10000.0)),
        rope_fraction=1.0 if family.name == "gpt2" else rotated / d_head,
        parallel_residual=fields.flag(metadata, f"{name}.use_parallel_residual", False),
    )


def check_known(name: str, metadata: Mapping[str, Any]) -> None:
    """Refuse what changes the computation and has no counterpart here."""
    for key, allowed in NEUTRAL.items():
        if (value := metadata.get(f"{name}.{key}")) not in (None, *allowed):
            fields.refuse(f"{name}.{key}", value, "this cannot be represented")


def is_tied(arrays: Given) -> bool:
    """Whether the head is the embedding."""
    head, embedding = arrays.get("output.weight"), arrays.get("token_embd.weight")
    if head is None or embedding is None:
        return True
    return head.shape == embedding.shape and bool(mx.array_equal(head, embedding))


def as_written(value: float) -> float:
    """A float32 as the decimal number that was meant: 1e-05, not 9.999999747378752e-06."""
    return float(f"{value:.7g}")


def tokenizer_from(metadata: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer in the metadata of a file."""
    kind = metadata.get("tokenizer.ggml.model")
    readers = {"gpt2": bpe_from, "llama": sentencepiece_from}
    if kind not in readers:
        fields.unknown("tokenizer.ggml.model", kind, readers)
    try:
        return readers[str(kind)](metadata)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise UserError(
            f"the tokenizer in this GGUF file is damaged ({type(error).__name__}: {error}); "
            "get the file again"
        ) from None


def bpe_from(metadata: Mapping[str, Any]) -> Tokenizer:
    """Byte-level BPE."""
    splitter = metadata.get("tokenizer.ggml.pre", "gpt-2")
    if splitter not in DIGITS:
        fields.unknown("tokenizer.ggml.pre", splitter, DIGITS)
    tokens, kinds = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]

    def of_kind(kind: int) -> dict[str, int]:
        return {t: i for i, (t, k) in enumerate(zip(tokens, kinds, strict=True)) if k == kind}

    merges = bpe.pairs(metadata["tokenizer.ggml.merges"])
    end = tokens[metadata["tokenizer.ggml.eos_token_id"]]
    merges = () if merges == ((end, end),) else merges
    rules = bpe.sorted_out(
        of_kind(NORMAL),
        merges,
        of_kind(USER_DEFINED),
        of_kind(CONTROL),
        digits=DIGITS[splitter],
        end=end,
    )
    return plain(bpe.BPETokenizer(rules))


def sentencepiece_from(metadata: Mapping[str, Any]) -> Tokenizer:
    """A SentencePiece model, written anew from its pieces."""
    rows = zip(
        metadata["tokenizer.ggml.tokens"],
        metadata["tokenizer.ggml.scores"],
        metadata["tokenizer.ggml.token_type"],
        strict=True,
    )
    pieces = [Piece(*row) for row in rows]
    while pieces and pieces[-1].kind == UNUSED:
        pieces.pop()
    end = metadata["tokenizer.ggml.eos_token_id"]
    unknown = metadata.get("tokenizer.ggml.unknown_token_id", 0)
    controls = [i for i, piece in enumerate(pieces) if piece.kind == CONTROL and i != end]
    begin = controls[0] if controls else -1
    try:
        return SentencePieceTokenizer(write_model(pieces, unknown=unknown, begin=begin, end=end))
    except RuntimeError as error:
        raise ValueError(error) from None


def open_model(path: Path, context_length: int = 0) -> tuple[Stored, Tokenizer]:
    """The model in a folder or in a GGUF file, with its tokenizer."""
    if path.is_dir():
        return open_folder(path, context_length)
    if path.suffix.lower() == ".gguf":
        return read_gguf(path, context_length)
    if path.suffix.lower() in PICKLES:
        raise UserError(
            f"{path} is a pickle or something like it, and loading such a file can run what it "
            "says; give a folder with config.json and model.safetensors"
        )
    raise UserError(f"{path} is no model: give a folder with config.json, or a .gguf file")
