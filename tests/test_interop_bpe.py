"""GPT-2's byte-level BPE, against ids that `tokenizers` gave once and against plain definitions."""

import itertools
import json
import random
import re
import time
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from foreign import GOLDEN
from snippets import snippets

from mlx_gpt.errors import UserError
from mlx_gpt.interop import bpe
from mlx_gpt.interop.bpe import DIGIT, OTHER_NUMBERS, WORD, BPETokenizer, Pair, joined
from mlx_gpt.tokenizer import Decoder


@pytest.fixture(params=["bpe", "bpe_digits"])
def folder(request: pytest.FixtureRequest) -> Path:
    """A tokenizer made by the library; the second takes every digit for itself."""
    return GOLDEN / request.param


def test_the_ids_are_those_of_the_library(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text())
    assert bpe.from_folder(folder).encode_batch(snippets(300, seed=2)) == expected


def test_every_text_comes_back_whole_and_in_pieces(folder: Path) -> None:
    tokenizer = bpe.from_folder(folder)
    for text in snippets(300, seed=4):
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
        decoder = Decoder(tokenizer)
        assert "".join(map(decoder.feed, ids)) + decoder.flush() == text


def test_special_tokens_never_come_from_text(folder: Path) -> None:
    tokenizer = bpe.from_folder(folder)
    assert tokenizer.end_id == 0
    ids = tokenizer.encode("a<|endoftext|>b")
    assert tokenizer.end_id not in ids
    assert tokenizer.decode([*ids, tokenizer.end_id]) == "a<|endoftext|>b"


def test_of_added_tokens_the_longest_is_taken() -> None:
    """GPT-NeoX has one for every run of spaces."""
    rules = bpe.from_folder(GOLDEN / "bpe").rules
    runs = {" " * n: 500 + n for n in range(2, 5)}
    tokenizer = BPETokenizer(rules._replace(added=runs))
    assert tokenizer.encode(" " * 4) == [504]
    assert tokenizer.encode("a" + " " * 7 + "b")[1:3] == [504, 503]


def test_saved_and_read_again_it_is_the_same(folder: Path, tmp_path: Path) -> None:
    tokenizer = bpe.from_folder(folder)
    tokenizer.save(tmp_path)
    again = bpe.from_folder(tmp_path)
    assert again.fingerprint == tokenizer.fingerprint
    assert again.rules == tokenizer.rules
    assert (
        bpe.from_folder(GOLDEN / "bpe").fingerprint
        != bpe.from_folder(GOLDEN / "bpe_digits").fingerprint
    )


def test_the_two_old_files_say_the_same(tmp_path: Path) -> None:
    content = json.loads((GOLDEN / "bpe" / "tokenizer.json").read_text())
    merges = [
        pair if isinstance(pair, str) else " ".join(pair) for pair in content["model"]["merges"]
    ]
    (tmp_path / "vocab.json").write_text(json.dumps(content["model"]["vocab"]))
    text = "\n".join(["#version: 0.2", *merges, ""])
    (tmp_path / "merges.txt").write_text(text, encoding="utf-8")
    old, new = bpe.from_folder(tmp_path), bpe.from_folder(GOLDEN / "bpe")
    assert old.end_id == new.end_id
    texts = [text for text in snippets(300, seed=6) if "    " not in text]  # an added token
    assert old.encode_batch(texts) == new.encode_batch(texts)


def plainly(symbols: list[int], ranks: dict[tuple[int, int], Pair]) -> list[int]:
    """The definition: join every occurrence of the best pair, from the left; again until none."""
    while True:
        pairs = [pair for pair in itertools.pairwise(symbols) if pair in ranks]
        if not pairs:
            return symbols
        best = min(pairs, key=lambda pair: ranks[pair].rank)
        result: list[int] = []
        at = 0
        while at < len(symbols):
            here = tuple(symbols[at : at + 2]) == best
            result.append(ranks[best].joined if here else symbols[at])
            at += 2 if here else 1
        symbols = result


def test_joining_by_queue_equals_joining_by_definition() -> None:
    chance = random.Random(0)
    for _ in range(300):
        ranks: dict[tuple[int, int], Pair] = {}
        for rank in range(12):
            known = 3 + rank
            ranks.setdefault((chance.randrange(known), chance.randrange(known)), Pair(rank, known))
        symbols = chance.choices(range(3), k=chance.randint(1, 40))
        assert joined(list(symbols), ranks) == plainly(list(symbols), ranks)


def test_a_long_word_takes_no_square_of_its_length() -> None:
    tokenizer = bpe.from_folder(GOLDEN / "bpe")
    start = time.process_time()
    tokenizer.encode("=" * 100_000 + "漢" * 20_000)
    assert time.process_time() - start < 5


def test_words_are_cut_as_gpt2_cuts_them() -> None:
    assert WORD.findall("I'll  pay x²=½, it's _a_\n\n  ok 42") == [
        *("I", "'ll", " ", " pay", " x", "²", "=", "½", ",", " it", "'s", " _", "a", "_"),
        *("\n\n ", " ok", " 42"),
    ]
    assert WORD.findall("a\x1cb\u2028") == ["a", "\x1c", "b", "\u2028"]
    assert DIGIT.split("a12") == ["a", "1", "", "2", ""]


def test_letters_numbers_and_spaces_are_those_of_unicode() -> None:
    """The classes are written out, so they are compared with the table of characters itself."""
    letter, number, space = (
        re.compile(pattern) for pattern in (bpe.LETTER, bpe.NUMBER, f"[{bpe.SPACE}]")
    )
    spaces = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
    spaces += "".join(map(chr, range(0x2000, 0x200B)))
    others = re.compile(f"[{OTHER_NUMBERS}]")
    for code in range(0x20000):
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Cn":
            continue
        assert bool(space.match(character)) == (character in spaces), hex(code)
        if others.match(character):
            assert category in ("No", "Nl")
        if unicodedata.unidata_version == "14.0.0":
            assert bool(letter.match(character)) == category.startswith("L"), hex(code)
            assert bool(number.match(character)) == category.startswith("N"), hex(code)


def altered(tmp_path: Path, change: dict[str, Any], model: dict[str, Any]) -> Path:
    content = json.loads((GOLDEN / "bpe" / "tokenizer.json").read_text())
    content |= change
    content["model"] |= model
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    return tmp_path


PREFIX = {"type": "ByteLevel", "add_prefix_space": True}
REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"type": "Unigram"}, r'model.type = "Unigram"'),
    ({}, {"byte_fallback": True}, r"model.byte_fallback = true"),
    ({}, {"ignore_merges": True}, r"model.ignore_merges = true"),
    ({"normalizer": {"type": "Lowercase"}}, {}, 'normalizer = "Lowercase"'),
    ({"pre_tokenizer": PREFIX}, {}, "add_prefix_space"),
    ({"pre_tokenizer": {"type": "Metaspace"}}, {}, 'pre_tokenizer = "Metaspace"'),
    ({"pre_tokenizer": None}, {}, "pre_tokenizer = null"),
    ({}, {"merges": ["a b c"]}, "is damaged"),
    ({}, {"merges": [["a", "zz"]]}, r"merge 0 of the tokenizer \(a zz\)"),
    ({}, {"vocab": {}}, "is damaged"),
    ({}, {"vocab": {"a": 0}, "merges": []}, "lacks the byte 0x20"),
    ({}, {"vocab": {"a": "0"}}, "is damaged"),
    ({"added_tokens": [{"content": "x", "id": 10**12}]}, {}, "has the id 1000000000000"),
    ({"model": 3}, {}, "is damaged"),
]


@pytest.mark.parametrize(("change", "model", "sentence"), REFUSED)
def test_another_kind_of_tokenizer_is_refused_by_name(
    change: dict[str, Any], model: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    if change.get("model") == 3:
        (tmp_path / "tokenizer.json").write_text('{"model": 3}')
    else:
        altered(tmp_path, change, model)
    with pytest.raises(UserError, match=sentence):
        bpe.from_folder(tmp_path)


def test_nfc_is_left_out_so_that_text_stays_exact(tmp_path: Path) -> None:
    """Pythia asks for it; the ids of text that is NFC already are the same."""
    tokenizer = bpe.from_folder(altered(tmp_path, {"normalizer": {"type": "NFC"}}, {}))
    assert tokenizer.decode(tokenizer.encode("e\u0301")) == "e\u0301"


def test_a_byte_that_a_vocabulary_leaves_out_is_named() -> None:
    rules = bpe.from_folder(GOLDEN / "bpe").rules
    vocab = {token: i for token, i in rules.vocab.items() if token != bpe.ALPHABET[4]}
    tokenizer = BPETokenizer(rules._replace(vocab=vocab))
    assert tokenizer.encode("plain") == bpe.from_folder(GOLDEN / "bpe").encode("plain")
    with pytest.raises(UserError, match="no token for the byte 0x04"):
        tokenizer.encode("a\x04")


def test_ids_and_texts_outside_are_refused() -> None:
    tokenizer = bpe.from_folder(GOLDEN / "bpe")
    with pytest.raises(UserError, match="outside the vocabulary"):
        tokenizer.piece(tokenizer.vocab_size)
    with pytest.raises(UserError, match="lone surrogate"):
        tokenizer.encode("\ud800")
    with pytest.raises(UserError, match="end token <x> is not in its vocabulary"):
        BPETokenizer(tokenizer.rules._replace(end="<x>"))


def test_remembered_words_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bpe, "CACHED_WORDS", 10)
    tokenizer = bpe.from_folder(GOLDEN / "bpe")
    text = " ".join(f"word{i}" for i in range(100))
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert len(tokenizer.words) <= 10
