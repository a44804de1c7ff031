"""Our tokenizers in other people's files, read back by a plain reader of tokenizer.json."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
from foreign import GOLDEN
from snippets import snippets

from mlx_gpt.errors import UserError
from mlx_gpt.interop import bpe
from mlx_gpt.interop.folder import tokenizer_files, tokenizer_in
from mlx_gpt.interop.hf_tokenizer import end_text, merges, tokenizer_config, tokenizer_json
from mlx_gpt.interop.pieces import (
    BYTE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    USER_DEFINED,
    Piece,
    is_bpe,
    read_pieces,
    without_dummy_prefix,
    write_model,
)
from mlx_gpt.tokenizer import ByteTokenizer, SentencePieceTokenizer, train_sentencepiece

LINES = [part for text in snippets(300, seed=5) for part in text.split("\n")]


@pytest.fixture(scope="module")
def learned() -> SentencePieceTokenizer:
    return train_sentencepiece(LINES, 700)


def read_with_rules(table: dict[str, Any], text: str) -> list[int]:
    """What the rules in a tokenizer.json make of a text, by definition and slowly."""
    model, added = (
        table["model"],
        {token["content"]: token["id"] for token in table["added_tokens"]},
    )
    cut = re.split(f"({'|'.join(map(re.escape, sorted(added, key=len, reverse=True)))})", text)
    ids: list[int] = []
    for part in cut:
        ids += [added[part]] if part in added else words(model, part.replace(" ", "▁"))
    return ids


def words(model: dict[str, Any], text: str) -> list[int]:
    """BPE with bytes for unknown characters."""
    vocab = model["vocab"]
    ranks = {tuple(pair): rank for rank, pair in enumerate(model["merges"])}
    symbols = [
        symbol
        for character in text
        for symbol in (
            [character]
            if character in vocab
            else [f"<0x{byte:02X}>" for byte in character.encode("utf-8")]
        )
    ]
    while True:
        pairs = [
            (ranks[pair], at)
            for at, pair in enumerate(itertools.pairwise(symbols))
            if pair in ranks
        ]
        if not pairs:
            return [vocab[symbol] for symbol in symbols]
        at = min(pairs)[1]
        symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]


def test_tokenizer_json_makes_the_same_ids_of_every_text(learned: SentencePieceTokenizer) -> None:
    table = tokenizer_json(learned)
    different = [s for s in snippets(400) if read_with_rules(table, s) != learned.encode(s)]
    assert different == []


def test_the_worst_merges_first_are_noticed(learned: SentencePieceTokenizer) -> None:
    table = tokenizer_json(learned)
    table["model"]["merges"].reverse()
    assert [s for s in snippets(50) if read_with_rules(table, s) != learned.encode(s)]


def test_pieces_are_those_that_sentencepiece_itself_reads(learned: SentencePieceTokenizer) -> None:
    pieces, processor = read_pieces(learned.model), learned.processor
    assert len(pieces) == learned.vocab_size
    for i, piece in enumerate(pieces):
        assert piece.text == processor.id_to_piece(i)
        assert piece.score == processor.get_score(i)
        assert (piece.kind == BYTE) == processor.is_byte(i)
        assert (piece.kind == CONTROL) == processor.is_control(i)
    assert [piece.kind for piece in pieces[:4]] == [UNKNOWN, CONTROL, CONTROL, USER_DEFINED]
    assert is_bpe(learned.model)


def test_a_model_written_from_its_pieces_encodes_alike(learned: SentencePieceTokenizer) -> None:
    again = SentencePieceTokenizer(
        write_model(read_pieces(learned.model), unknown=0, begin=1, end=2)
    )
    assert again.end_id == 2
    texts = snippets(400, seed=8)
    assert again.encode_batch(texts) == learned.encode_batch(texts)
    assert is_bpe(write_model([], unknown=0, begin=-1, end=2))


def test_merges_are_every_split_the_best_piece_first() -> None:
    pieces = [Piece("ab", -1, NORMAL), Piece("abc", 0, NORMAL), Piece("<s>", 0, CONTROL)]
    pieces += [Piece(letter, -9, NORMAL) for letter in "abc"] + [Piece("bc", -3, NORMAL)]
    assert merges(pieces) == [["ab", "c"], ["a", "bc"], ["a", "b"], ["b", "c"]]


@pytest.mark.parametrize("cut", [1, 7, 100, 5000])
def test_a_damaged_model_is_refused(
    cut: int, learned: SentencePieceTokenizer, tmp_path: Path
) -> None:
    damaged = learned.model[:cut]
    with pytest.raises(UserError, match=r"damaged"):
        read_pieces(damaged)
    (tmp_path / "tokenizer.model").write_bytes(damaged)
    with pytest.raises(UserError, match=r"SentencePiece model"):
        tokenizer_in(tmp_path)
    with pytest.raises(UserError, match=r"damaged"):
        read_pieces(b"\x0a\x04" + b"\x0b" * 4)


def with_dummy_prefix(model: bytes) -> bytes:
    """The model as Llama has it: a space before every text."""
    return model + b"\x1a\x02\x18\x01"


def test_the_space_before_every_text_is_taken_out(
    learned: SentencePieceTokenizer, tmp_path: Path
) -> None:
    """TinyLlama's tokenizer begins with one; a prompt that begins with a space gets its ids."""
    prefixed = with_dummy_prefix(learned.model)
    with pytest.raises(UserError, match="changes the text"):
        SentencePieceTokenizer(prefixed)
    (tmp_path / "tokenizer.model").write_bytes(prefixed)
    tokenizer = tokenizer_in(tmp_path)
    assert tokenizer.encode_batch(LINES) == learned.encode_batch(LINES)
    assert without_dummy_prefix(learned.model) == learned.model
    patched = without_dummy_prefix(prefixed)
    assert without_dummy_prefix(patched) == patched


@pytest.mark.parametrize("kind", ["bytes", "sentencepiece", "bpe"])
def test_a_folder_keeps_the_tokenizer_that_was_written(
    kind: str, learned: SentencePieceTokenizer, tmp_path: Path
) -> None:
    tokenizers = [ByteTokenizer(), learned, bpe.from_folder(GOLDEN / "bpe_digits")]
    tokenizer = next(each for each in tokenizers if each.name == kind)
    for name, content in tokenizer_files(tokenizer, 32).items():
        (tmp_path / name).write_bytes(content)
    again = tokenizer_in(tmp_path)
    assert (again.name, again.fingerprint) == (kind, tokenizer.fingerprint)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert config == tokenizer_config(tokenizer, 32)
    assert config["eos_token"] == config["bos_token"] == end_text(tokenizer)
    assert config["model_max_length"] == 32
    table = json.loads((tmp_path / "tokenizer.json").read_text())
    assert table["model"]["vocab"][config["eos_token"]] == tokenizer.end_id


def test_unigram_models_get_no_tokenizer_json(tmp_path: Path) -> None:
    """Others cannot repeat them exactly."""
    pieces = [Piece("<unk>", 0, UNKNOWN), Piece("<s>", 0, CONTROL), Piece("</s>", 0, CONTROL)]
    pieces += [Piece(f"<0x{byte:02X}>", 0, BYTE) for byte in range(256)]
    pieces += [Piece("▁", -1, NORMAL), Piece("a", -1, NORMAL)]
    model = write_model(pieces, unknown=0, begin=1, end=2) + b"\x12\x02\x18\x01"  # model_type = 1
    assert not is_bpe(model)
    files = tokenizer_files(SentencePieceTokenizer(model), 32)
    assert set(files) == {"tokenizer.model", "tokenizer_config.json"}
