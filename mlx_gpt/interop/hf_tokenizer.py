"""Our tokenizers in the files that others read: tokenizer.json and tokenizer_config.json."""

import json
from collections.abc import Sequence
from typing import Any

from mlx_gpt.errors import UserError
from mlx_gpt.interop.bpe import ALPHABET, DEFAULT_END, BPETokenizer, Rules, added_token, to_json
from mlx_gpt.interop.pieces import (
    CONTROL,
    NORMAL,
    UNKNOWN,
    USER_DEFINED,
    Piece,
    read_pieces,
)
from mlx_gpt.tokenizer import ByteTokenizer, SentencePieceTokenizer, Tokenizer

BYTE_RULES = Rules(
    vocab={character: byte for byte, character in enumerate(ALPHABET)},
    merges=(),
    added={},
    special={DEFAULT_END: 256},
    digits=False,
    end=DEFAULT_END,
)


def tokenizer_json(tokenizer: Tokenizer) -> dict[str, Any]:
    """What `tokenizers` needs to encode as ours does."""
    if isinstance(tokenizer, SentencePieceTokenizer):
        return from_pieces(read_pieces(tokenizer.model))
    if isinstance(tokenizer, BPETokenizer):
        return to_json(tokenizer.rules)
    return to_json(BYTE_RULES)


def end_text(tokenizer: Tokenizer) -> str:
    """How the token between documents is written."""
    if isinstance(tokenizer, SentencePieceTokenizer):
        return read_pieces(tokenizer.model)[tokenizer.end_id].text
    return tokenizer.rules.end if isinstance(tokenizer, BPETokenizer) else DEFAULT_END


def tokenizer_config(tokenizer: Tokenizer, context_length: int) -> dict[str, Any]:
    """How `transformers` shall use tokenizer.json; our end token also begins a text."""
    end = end_text(tokenizer)
    table: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": end,
        "eos_token": end,
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
        "model_max_length": context_length,
    }
    if isinstance(tokenizer, SentencePieceTokenizer):
        pieces = read_pieces(tokenizer.model)
        table["unk_token"] = next(piece.text for piece in pieces if piece.kind == UNKNOWN)
    return table


def plain(tokenizer: BPETokenizer) -> BPETokenizer | ByteTokenizer:
    """The byte tokenizer where BPE joins nothing, else the same."""
    return ByteTokenizer() if tokenizer.rules == BYTE_RULES else tokenizer


def from_pieces(pieces: Sequence[Piece]) -> dict[str, Any]:
    """A SentencePiece BPE vocabulary as merges that lead to the same pieces."""
    special = (UNKNOWN, CONTROL)
    added = [
        added_token(i, piece.text, special=piece.kind in special)
        for i, piece in enumerate(pieces)
        if piece.kind in (*special, USER_DEFINED)
    ]
    decoders = [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    unknown = [piece.text for piece in pieces if piece.kind == UNKNOWN]
    if len(unknown) != 1:
        raise UserError(f"the SentencePiece model has {len(unknown)} unknown pieces instead of one")
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Metaspace",
            "replacement": "▁",
            "prepend_scheme": "never",
            "split": False,
        },
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": decoders},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": unknown[0],
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "ignore_merges": False,
            "vocab": {piece.text: i for i, piece in enumerate(pieces)},
            "merges": merges(pieces),
        },
    }


def merges(pieces: Sequence[Piece]) -> list[list[str]]:
    """Every way to put a piece together from two others, the best piece first."""
    ids = {piece.text: i for i, piece in enumerate(pieces) if piece.kind == NORMAL}
    found = []
    for text in ids:
        for cut in range(1, len(text)):
            left, right = text[:cut], text[cut:]
            if left in ids and right in ids:
                found.append((-pieces[ids[text]].score, ids[left], ids[right], left, right))
    return [[left, right] for *_, left, right in sorted(found)]


def dumped(table: dict[str, Any]) -> str:
    """A table as the text of a JSON file."""
    return json.dumps(table, ensure_ascii=False, indent=1) + "\n"
