"""The pieces of a SentencePiece model, read from its file and written into one.

The file is a protobuf message; what is needed of that format is a few lines.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mlx_gpt.errors import UserError

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
VARINT, FIXED64, MESSAGE, FIXED32 = 0, 1, 2, 5
# A second normalizer_spec is merged into the first: add_dummy_prefix = false.
NO_DUMMY_PREFIX = b"\x1a\x02\x18\x00"
BPE = 2  # of the model types


class Piece(NamedTuple):
    """One entry of the vocabulary: its text, how good it is, and of what kind."""

    text: str
    score: float
    kind: int


def read_pieces(model: bytes) -> list[Piece]:
    """The vocabulary of a model, by id."""
    try:
        return [read_piece(value) for number, value in message(model) if number == 1]
    except (IndexError, ValueError, struct.error):
        raise UserError("the SentencePiece model is damaged; get tokenizer.model again") from None


def read_piece(data: bytes | int) -> Piece:
    """One SentencePiece message."""
    values = dict(message(data)) if isinstance(data, bytes) else {}
    text, score, kind = values.get(1, b""), values.get(2, bytes(4)), values.get(3, NORMAL)
    if not isinstance(text, bytes) or not isinstance(score, bytes) or not isinstance(kind, int):
        raise ValueError("not a piece")
    return Piece(text.decode("utf-8"), struct.unpack("<f", score)[0], kind)


def message(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """The fields of a protobuf message: number and value."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == VARINT:
            value, at = varint(data, at)
            yield key >> 3, value
            continue
        if kind == MESSAGE:
            length, at = varint(data, at)
        elif kind in (FIXED32, FIXED64):
            length = 4 if kind == FIXED32 else 8
        else:
            raise ValueError(f"wire type {kind}")
        if at + length > len(data):
            raise ValueError("cut short")
        yield key >> 3, data[at : at + length]
        at += length


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A number in base 128, lowest digits first, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def write_model(pieces: Sequence[Piece], *, unknown: int, begin: int, end: int) -> bytes:
    """A lossless BPE model with these pieces, as its trainer would have written it."""
    body = b"".join(field(1, write_piece(piece)) for piece in pieces)
    trainer = number(3, BPE) + number(4, len(pieces)) + number(35, 1)  # byte fallback
    trainer += number(40, unknown) + number(41, begin) + number(42, end) + number(43, -1)
    normalizer = field(1, b"identity") + number(3, 0) + number(4, 0) + number(5, 1)
    return body + field(2, trainer) + field(3, normalizer)


def write_piece(piece: Piece) -> bytes:
    """One SentencePiece message."""
    score = encode(2 << 3 | FIXED32) + struct.pack("<f", piece.score)
    return field(1, piece.text.encode("utf-8")) + score + number(3, piece.kind)


def field(key: int, content: bytes) -> bytes:
    """A field that holds bytes."""
    return encode(key << 3 | MESSAGE) + encode(len(content)) + content


def number(key: int, value: int) -> bytes:
    """A field that holds a number; a negative one as its complement in 64 bits."""
    return encode(key << 3 | VARINT) + encode(value % (1 << 64))


def encode(value: int) -> bytes:
    """A number in base 128, lowest digits first."""
    digits = []
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])


def last_number(model: bytes, section: int, key: int, default: int) -> int:
    """A number in a section of the model; of several the last one holds."""
    value = default
    for number, content in message(model):
        if number == section and isinstance(content, bytes):
            found = dict(message(content)).get(key, value)
            value = found if isinstance(found, int) else value
    return value


def is_bpe(model: bytes) -> bool:
    """Whether the pieces are joined by byte-pair encoding, which others can repeat."""
    return last_number(model, 2, 3, 1) == BPE


def without_dummy_prefix(model: bytes) -> bytes:
    """The model without the space that it would put before every text."""
    try:
        prefixes = last_number(model, 3, 3, 1)
    except (IndexError, ValueError):
        return model  # SentencePiece will say that it is none
    return model + NO_DUMMY_PREFIX if prefixes else model
