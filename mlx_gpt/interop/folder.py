"""Model folders: config.json, model.safetensors and a tokenizer, ours or somebody else's.

A folder of ours is one that transformers and mlx_lm load as it is. What only we need to know
stands under one key, `mlx_gpt`, of its config.json.
"""

import dataclasses
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mlx_gpt.device import mx

from mlx_gpt.config import Config, ModelConfig, SampleConfig, build
from mlx_gpt.errors import UserError
from mlx_gpt.interop import bpe, fields, gpt2
from mlx_gpt.interop.families import Family, family_named, family_of
from mlx_gpt.interop.hf_tokenizer import dumped, plain, tokenizer_config, tokenizer_json
from mlx_gpt.interop.layout import Arrays, Given
from mlx_gpt.interop.pieces import is_bpe, without_dummy_prefix
from mlx_gpt.interop.weights import (
    Quantization,
    from_family,
    group_size_of,
    make_room,
    quantised,
    read_weights,
)
from mlx_gpt.inventory import inventory
from mlx_gpt.model import GPT, load_arrays
from mlx_gpt.tokenizer import (
    ByteTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
    load_tokenizer,
    reads_bytes,
)

OWN = "mlx_gpt"  # the key of our settings, and the model_type of what has no family
UNSAID = ("attn_bias", "ffn_bias", "dropout", "residual_init")  # by some families
CONFIG, WEIGHTS = "config.json", "model.safetensors"


class Stored(NamedTuple):
    """A model as a folder holds it, its arrays under our names."""

    config: ModelConfig
    arrays: Given
    sample: SampleConfig = SampleConfig()
    packing: Quantization | None = None
    step: int | None = None


# Reading


def is_model_folder(path: Path) -> bool:
    """Whether a folder says that it holds a model."""
    return (path / CONFIG).is_file()


def open_folder(folder: Path, context_length: int = 0) -> tuple[Stored, Tokenizer]:
    """The model in a folder with its tokenizer."""
    stored, tokenizer = read_folder(folder, context_length), tokenizer_in(folder)
    check_tokenizer(stored, tokenizer, folder)
    return stored, tokenizer


def read_folder(folder: Path, context_length: int = 0) -> Stored:
    """The model in a folder; with a context_length only that many positions of it."""
    table = fields.read_json(folder / CONFIG)
    own = own_settings(table)
    packing = packing_of(table)
    arrays = read_weights(folder)
    if table.get("model_type") == OWN:
        config = own_model(table, own)
    else:
        family = family_named(table.get("model_type"))
        config = family.config_from_hf(table)
        fields.check_neutral(table, context_length or config.context_length)
        arrays = from_family(family, config, arrays)
        config, arrays = as_we_had_it(config, own, arrays)
    stored = Stored(config, arrays, own.sample, packing, step_of(table))
    return cropped(stored, context_length) if context_length else stored


def own_settings(table: fields.Table) -> Config:
    """The settings that we left in a config.json; the defaults in one that is not ours."""
    own = fields.table_of(table, OWN)
    return build({name: own[name] for name in ("model", "sample") if name in own})


def own_model(table: fields.Table, own: Config) -> ModelConfig:
    """The configuration of a model without a family."""
    if "model" not in fields.table_of(table, OWN):
        raise UserError(f"config.json has model_type {OWN}, but no settings under {OWN}.model")
    return own.model


def step_of(table: fields.Table) -> int | None:
    """The training step that the weights are of, where it is known."""
    step = fields.table_of(table, OWN).get("step")
    return step if isinstance(step, int) else None


def packing_of(table: fields.Table) -> Quantization | None:
    """How a quantised copy is packed; only mlx's plain way is known."""
    entry = fields.table_of(table, "quantization")
    if not entry:
        return None
    if entry.get("mode", "affine") != "affine" or any(isinstance(v, dict) for v in entry.values()):
        fields.refuse("quantization", entry, "only one affine packing of all layers is known here")
    packing = Quantization(fields.whole(entry, "bits"), fields.whole(entry, "group_size"))
    if packing.bits not in (2, 3, 4, 5, 6, 8) or packing.group_size not in (32, 64, 128):
        fields.refuse("quantization", entry, "these bits or groups are not known here")
    return packing


def as_we_had_it(config: ModelConfig, own: Config, arrays: Arrays) -> tuple[ModelConfig, Arrays]:
    """The settings that a family cannot express, where the folder is ours and unchanged.

    Families that insist on biases hold zeros for those that our model does not have.
    """
    said = {name: getattr(config, name) for name in UNSAID}
    if dataclasses.replace(own.model, **said) != config:
        return config, arrays
    names = {part.name for part in inventory(own.model).components}
    surplus = {n: a for n, a in arrays.items() if n.endswith(".bias") and n not in names}
    if names - arrays.keys() or any(bool(mx.any(array != 0)) for array in surplus.values()):
        return config, arrays
    return own.model, {name: array for name, array in arrays.items() if name not in surplus}


def cropped(stored: Stored, context_length: int) -> Stored:
    """The model with fewer positions, which computes the same within them."""
    config = stored.config
    if context_length > config.context_length:
        raise UserError(
            f"a context of {context_length} is asked for, but the model has only "
            f"{config.context_length} positions; give fewer"
        )
    arrays = dict(stored.arrays)
    if "positions.weight" in arrays:
        arrays["positions.weight"] = mx.contiguous(arrays["positions.weight"][:context_length])
    config = dataclasses.replace(config, context_length=context_length)
    return stored._replace(config=config, arrays=arrays)


def check_tokenizer(stored: Stored, tokenizer: Tokenizer, source: Path) -> None:
    """Refuse a tokenizer that knows tokens which the model does not."""
    known, rows = tokenizer.vocab_size, stored.config.vocab_size
    if known > rows:
        raise UserError(
            f"the tokenizer in {source} has {known} tokens, but the model's vocab_size is {rows}; "
            "put the tokenizer of this model there"
        )


def tokenizer_in(folder: Path) -> Tokenizer:
    """The tokenizer that a folder keeps: of a run, of ours, or of somebody else's model."""
    if (folder / "tokenizer.model").is_file():
        return sentencepiece_in(folder / "tokenizer.model")
    if keeps_bpe(folder):
        return plain(bpe.from_folder(folder))
    if reads_bytes(folder):
        return ByteTokenizer()
    raise UserError(
        f"{folder} holds no tokenizer: there is no tokenizer.model, no tokenizer.json, and no "
        "vocab.json with merges.txt"
    )


def keeps_bpe(folder: Path) -> bool:
    """Whether a folder has the files of a BPE tokenizer, and none of SentencePiece."""
    two_files = (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file()
    either = two_files or (folder / "tokenizer.json").is_file()
    return either and not (folder / "tokenizer.model").is_file()


def tokenizer_named(name_or_path: str) -> Tokenizer:
    """`bytes`, a .model file, or the tokenizer in a folder of any kind."""
    folder = Path(name_or_path).expanduser()
    return tokenizer_in(folder) if keeps_bpe(folder) else load_tokenizer(name_or_path)


def sentencepiece_in(path: Path) -> SentencePieceTokenizer:
    """A SentencePiece model, made to leave out the space that many put before every text."""
    try:
        return SentencePieceTokenizer(without_dummy_prefix(path.read_bytes()))
    except OSError as error:
        raise UserError(f"cannot read the tokenizer {path}: {error.strerror}") from None
    except RuntimeError:
        raise UserError(f"{path} is not a SentencePiece model; get the file again") from None


def build_gpt(stored: Stored) -> GPT:
    """The model itself, computing in float32; packed weights stay packed."""
    gpt = GPT(stored.config)
    if stored.packing:
        make_room(gpt, stored.arrays, stored.packing)
    load_arrays(gpt, {name: as_float32(array) for name, array in stored.arrays.items()})
    return gpt


def as_float32(array: mx.array) -> mx.array:
    """Numbers in float32; packed ones are no numbers yet."""
    return array if array.dtype == mx.uint32 else array.astype(mx.float32)


# Writing


def write_model(folder: Path, stored: Stored, tokenizer: Tokenizer, family: Family | None) -> None:
    """Put a model into an existing folder, file by file at once; config.json comes last."""
    table, end = config_table(stored, family), tokenizer.end_id
    table |= {"bos_token_id": end, "eos_token_id": end}
    try:
        for name, content in tokenizer_files(tokenizer, stored.config.context_length).items():
            put(folder / name, content)
        put_arrays(folder / WEIGHTS, laid_out(stored, family))
        put(folder / "generation_config.json", text({"bos_token_id": end, "eos_token_id": end}))
        put(folder / CONFIG, text(table))
    except OSError as error:
        raise UserError(
            f"cannot write a model into {folder}: {error.strerror or error}; "
            "make room or allow writing there"
        ) from error


def laid_out(stored: Stored, family: Family | None) -> Arrays:
    """The arrays under the names and in the layout of the family, packed if that is asked."""
    arrays = family.to_hf(stored.config, stored.arrays) if family else dict(stored.arrays)
    if stored.packing and family and family.name == "gpt2":
        # mlx_lm takes weights to be (out, in) where names begin with "model."
        arrays = {f"model.{name}": array for name, array in gpt2.transposed(arrays).items()}
    packed = "embedding.scales" in stored.arrays
    return quantised(arrays, stored.packing) if stored.packing and not packed else arrays


def config_table(stored: Stored, family: Family | None) -> dict[str, Any]:
    """The content of config.json."""
    config = stored.config
    table: dict[str, Any] = family.config_to_hf(config) if family else {"model_type": OWN}
    numbers = stored.arrays.get("embedding.scales", stored.arrays["embedding.weight"])
    number = str(numbers.dtype).rpartition(".")[2]
    table |= {"dtype": number, "torch_dtype": number}
    if stored.packing:
        table["quantization"] = {**stored.packing._asdict(), "mode": "affine"}
    own = {"model": dataclasses.asdict(config), "sample": dataclasses.asdict(stored.sample)}
    step = {} if stored.step is None else {"step": stored.step}
    return {**table, OWN: {**own, **step}}


def tokenizer_files(tokenizer: Tokenizer, context_length: int) -> dict[str, bytes]:
    """The files of a tokenizer; what is not BPE has no tokenizer.json."""
    files: dict[str, bytes] = {}
    if isinstance(tokenizer, SentencePieceTokenizer):
        files["tokenizer.model"] = tokenizer.model
    if not isinstance(tokenizer, SentencePieceTokenizer) or is_bpe(tokenizer.model):
        files["tokenizer.json"] = text(tokenizer_json(tokenizer))
    return {**files, "tokenizer_config.json": text(tokenizer_config(tokenizer, context_length))}


def text(table: dict[str, Any]) -> bytes:
    """A table as the bytes of a JSON file."""
    return dumped(table).encode("utf-8")


def put(path: Path, content: bytes) -> None:
    """Replace a file at once, and only when it is on the disk."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        unfinished.write_bytes(content)
        replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def put_arrays(path: Path, arrays: Given) -> None:
    """Replace a file of weights at once, as transformers likes it best."""
    unfinished = path.with_name(f".{path.stem}.{os.getpid()}.tmp.safetensors")
    try:
        mx.save_safetensors(str(unfinished), dict(arrays), metadata={"format": "pt"})
        replace(unfinished, path)
    except RuntimeError as error:  # MLX has no other for a full disk
        raise OSError(f"MLX cannot write {path.name}: {error}") from error
    finally:
        unfinished.unlink(missing_ok=True)


def replace(unfinished: Path, path: Path) -> None:
    """Give a synced file its name."""
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    unfinished.replace(path)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder that appears under its name when it is complete, or not at all."""
    if os.path.lexists(path):
        raise UserError(f"{path} exists; choose another name, or remove it")
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        unfinished.mkdir(parents=True)
        yield unfinished
        unfinished.rename(path)
    except OSError as error:
        raise UserError(f"cannot make {path}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def export_run(
    run: Path, config: Config, params: Given, tokenizer: Tokenizer, step: int | None = None
) -> None:
    """Let a run folder be a model folder that holds these weights."""
    stored = Stored(config.model, params, config.sample, step=step)
    write_model(run, stored, tokenizer, family_of(config.model))


def exported_step(run: Path) -> int | None:
    """The step whose weights a run folder holds beside its checkpoints, if any."""
    if not (run / WEIGHTS).is_file():
        return None
    try:
        return step_of(fields.read_json(run / CONFIG))
    except UserError:  # missing or damaged: it is written anew
        return None


def quantise(stored: Stored, bits: int) -> Stored:
    """A copy to be written in few bits."""
    if stored.packing:
        raise UserError("this model is a quantised copy already; quantise the original")
    return stored._replace(packing=Quantization(bits, group_size_of(stored.config)))


def read_config(folder: Path) -> Config:
    """The settings of the model in a folder, without a look at its weights."""
    table = fields.read_json(folder / CONFIG)
    own = own_settings(table)
    if table.get("model_type") == OWN:
        return dataclasses.replace(own, model=own_model(table, own))
    config = family_named(table.get("model_type")).config_from_hf(table)
    said = {name: getattr(config, name) for name in UNSAID}
    ours = dataclasses.replace(own.model, **said) == config
    return own if ours else dataclasses.replace(own, model=config)
