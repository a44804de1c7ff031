"""Every text comes back exactly, from both tokenizers, all at once and streamed."""

import hashlib
import io
import random
import subprocess
import sys
from pathlib import Path

import pytest
import sentencepiece

from mlx_gpt.config import Config, DataConfig, dump
from mlx_gpt.errors import UserError
from mlx_gpt.tokenizer import (
    CHUNK,
    SAMPLE_LINES,
    ByteTokenizer,
    Decoder,
    SentencePieceTokenizer,
    Tokenizer,
    load_tokenizer,
    sample_lines,
    train_sentencepiece,
)

TEXT = """The old man said: "I have no boat, and the sea is wide."
El niño preguntó: «¿Dónde está el barco? ¡Yo también quiero ir!»
    for i in range(10):  print(i)
the boat and the man and the sea, the sea and the old boat
"""
HARD = [
    "",
    " ",
    "\n",
    "a\n\n\tb  c \r\n",
    "   leading and trailing   ",
    "e\u0301 n\u0303 NFD, é ñ NFC",
    "\u00a0non\u00a0breaking\u202fspaces\u3000wide",
    "👩\u200d👩\u200d👧\u200d👦 🏳️\u200d🌈 👍🏽",
    "".join(map(chr, range(32))),
    "a\0b\0\0",
    "<s> </s> <unk> <0x0A> <pad>",
    "▁a▁▁ b ▁",
    "▅ U+2585",
    "\ufeffBOM \ufffd \u2047",
    "¿ñ🙂 你好 שלום עולם",
    "x" * (3 * CHUNK + 7),
    "a▁" * CHUNK,
]


@pytest.fixture(scope="module")
def pieces() -> SentencePieceTokenizer:
    return train_sentencepiece(TEXT.split("\n") * 5, 400)


@pytest.fixture(params=["bytes", "sentencepiece"])
def tokenizer(request: pytest.FixtureRequest, pieces: SentencePieceTokenizer) -> Tokenizer:
    return ByteTokenizer() if request.param == "bytes" else pieces


def streamed(tokenizer: Tokenizer, ids: list[int]) -> str:
    decoder = Decoder(tokenizer)
    return "".join(map(decoder.feed, ids)) + decoder.flush()


def any_text(chance: random.Random) -> str:
    """Up to 40 characters, many of them trouble, none a surrogate."""
    ranges = [(0, 0x80), (0xA0, 0x250), (0x300, 0x370), (0x2580, 0x2590), (0x1F300, 0x1FAFF)]
    ranges += [(0x4E00, 0x9FFF), (0xE000, 0x110000)]
    chosen = [chance.choice([*ranges, None]) for _ in range(chance.randrange(40))]
    trouble = [*" \n\t▁▅\r\0", "<s>", "<0x0A>", "\u200d", "\ufeff", "the "]
    return "".join(chr(chance.randrange(*r)) if r else chance.choice(trouble) for r in chosen)


@pytest.mark.parametrize("text", HARD, ids=range(len(HARD)))
def test_hard_texts_come_back_exactly(tokenizer: Tokenizer, text: str):
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert streamed(tokenizer, ids) == text


def test_five_thousand_random_texts_come_back_exactly(tokenizer: Tokenizer):
    chance = random.Random(5)
    texts = [any_text(chance) for _ in range(5000)]
    for text, ids in zip(texts, tokenizer.encode_batch(texts), strict=True):
        assert tokenizer.decode(ids) == text == streamed(tokenizer, ids)
        assert all(tokenizer.piece(i) for i in ids), "a special token in ordinary text"


def test_streaming_random_ids_equals_decoding_them_at_once(tokenizer: Tokenizer):
    chance = random.Random(7)
    for _ in range(1000):
        ids = [chance.randrange(tokenizer.vocab_size) for _ in range(chance.randrange(20))]
        assert streamed(tokenizer, ids) == tokenizer.decode(ids)


def test_decoding_is_concatenation(tokenizer: Tokenizer):
    assert tokenizer.decode(tokenizer.encode(" a") + tokenizer.encode("b")) == " ab"


def test_a_batch_is_each_text_alone(tokenizer: Tokenizer):
    texts = [*HARD, *TEXT.splitlines(keepends=True)]
    assert tokenizer.encode_batch(texts) == [tokenizer.encode(text) for text in texts]
    assert tokenizer.encode_batch([]) == []


def test_lines_encode_as_the_whole_does(pieces: SentencePieceTokenizer):
    text = TEXT * 200
    by_line = pieces.encode_batch(text.splitlines(keepends=True))
    assert [i for ids in by_line for i in ids] == pieces.encode(text)


def test_learned_pieces_are_used(pieces: SentencePieceTokenizer):
    assert len(pieces.encode(TEXT)) < 0.7 * len(TEXT.encode())


def test_the_end_is_a_token_without_text(tokenizer: Tokenizer):
    assert 0 <= tokenizer.end_id < tokenizer.vocab_size
    assert tokenizer.piece(tokenizer.end_id) == b""
    assert tokenizer.decode([tokenizer.end_id, *tokenizer.encode("a"), tokenizer.end_id]) == "a"


def test_bytes_are_their_own_ids():
    tokenizer = ByteTokenizer()
    assert tokenizer.encode("ñ\n") == [0xC3, 0xB1, 10]
    assert (tokenizer.vocab_size, tokenizer.end_id) == (257, 256)


def test_half_a_character_is_shown_as_a_replacement(tokenizer: Tokenizer):
    half = next(i for i in range(tokenizer.vocab_size) if tokenizer.piece(i) == b"\xc3")
    assert tokenizer.decode([half]) == "\ufffd" == streamed(tokenizer, [half])


def test_a_lone_surrogate_is_refused_in_words(tokenizer: Tokenizer):
    with pytest.raises(UserError, match=r"lone surrogate, U\+D83D, at character 2"):
        tokenizer.encode("ab\ud83d")


@pytest.mark.parametrize("id_", [-1, 10**6])
def test_an_id_outside_the_vocabulary_is_refused(tokenizer: Tokenizer, id_: int):
    for refused in (lambda: tokenizer.piece(id_), lambda: tokenizer.decode([1, id_])):
        with pytest.raises(UserError, match=f"{id_} .*vocab_size = {tokenizer.vocab_size}"):
            refused()


def test_the_same_text_gives_the_same_model(pieces: SentencePieceTokenizer):
    again = train_sentencepiece(TEXT.split("\n") * 5, 400)
    assert again.model == pieces.model
    assert again.fingerprint == hashlib.sha256(pieces.model).hexdigest()
    assert train_sentencepiece(TEXT.split("\n") * 5, 399).fingerprint != pieces.fingerprint


def test_a_small_text_gives_the_largest_vocabulary_it_allows():
    tokenizer = train_sentencepiece(["hello"], 8000)
    assert 264 < tokenizer.vocab_size < 300
    assert tokenizer.decode(tokenizer.encode(" hello,  ¿ñ?\n")) == " hello,  ¿ñ?\n"


@pytest.mark.parametrize("lines", [[], [""], ["\n"], ["\0", "▁", "\n\n"]])
def test_a_text_without_characters_is_a_clear_error(lines: list[str]):
    with pytest.raises(UserError, match="the text is empty"):
        train_sentencepiece(lines, 400)


@pytest.mark.parametrize("text", ["hello", "a b\tc\n", "¿ñ▁▅\0x", " \n\n", "a\x01\x02\x7f\u200d"])
def test_the_least_vocabulary_named_is_the_real_one(text: str):
    with pytest.raises(UserError, match=r"data.vocab_size = 1 .*data.tokenizer=bytes") as caught:
        train_sentencepiece([text], 1)
    least = int(str(caught.value).partition("give at least ")[2].split()[0])
    assert train_sentencepiece([text], least).vocab_size == least


def test_five_thousand_distinct_characters_need_a_larger_vocabulary():
    lines = ["".join(map(chr, range(0x4E00 + i, 0x4E00 + i + 50))) for i in range(0, 5000, 50)]
    with pytest.raises(UserError, match="at least 5261"):
        train_sentencepiece(lines, 1000)


def test_long_lines_are_learned_from():
    tokenizer = train_sentencepiece(["longword " * 5000, "ñandú" * 3000], 300)
    assert len(tokenizer.encode("longword longword")) < 6


def test_the_sample_is_even_and_bounded():
    lines = [str(i) for i in range(5 * SAMPLE_LINES)]
    sample = sample_lines(lines)
    assert sample.total == len(lines)
    assert sample.lines == lines[:: sample.every]
    assert SAMPLE_LINES / 2 <= len(sample.lines) <= SAMPLE_LINES
    assert sample_lines(sample.lines).lines == sample.lines


def test_the_sample_of_one_endless_line_is_bounded():
    sample = sample_lines(["x" * 50_000_000])
    assert sum(map(len, sample.lines)) <= 20_000_000
    assert sample.total == 50_000


def test_training_says_nothing_on_stderr():
    code = (
        "from mlx_gpt.tokenizer import train_sentencepiece\n"
        "train_sentencepiece(['hello hello', 'x' * 9000], 270)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_training_reports_its_beginning_and_its_end():
    heard: list[tuple[int, int]] = []
    train_sentencepiece(["hello"], 270, lambda stage, done, total: heard.append((done, total)))
    assert heard == [(0, 1), (1, 1)]


def test_a_saved_tokenizer_is_found_by_folder_and_by_path(
    pieces: SentencePieceTokenizer, tmp_path: Path
):
    pieces.save(tmp_path)
    model = tmp_path / "tokenizer.model"
    found = [
        load_tokenizer("sentencepiece", tmp_path),
        load_tokenizer(str(tmp_path)),
        load_tokenizer(str(model)),
        load_tokenizer("/where/it/was/before.model", tmp_path),
    ]
    assert {tokenizer.fingerprint for tokenizer in found} == {pieces.fingerprint}


def test_the_folder_of_a_run_on_bytes_gives_bytes(tmp_path: Path):
    config = Config(data=DataConfig(tokenizer="bytes"))
    (tmp_path / "config.toml").write_text(dump(config), encoding="utf-8")
    assert load_tokenizer(str(tmp_path)).name == "bytes"
    assert load_tokenizer("bytes", tmp_path).name == "bytes"


def test_what_is_no_tokenizer_is_refused_in_words(tmp_path: Path):
    broken = tmp_path / "broken.model"
    broken.write_bytes(b"not a model")
    with pytest.raises(UserError, match="not a SentencePiece model"):
        load_tokenizer(str(broken))
    with pytest.raises(UserError, match="no tokenizer at byte; did you mean bytes"):
        load_tokenizer("byte")
    with pytest.raises(UserError, match="not trained yet"):
        load_tokenizer("sentencepiece")


def test_a_model_that_changes_text_is_refused(tmp_path: Path):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["hello there"] * 3),
        model_writer=model,
        model_type="bpe",
        vocab_size=300,
        hard_vocab_limit=False,
        byte_fallback=True,
        minloglevel=2,
    )
    (tmp_path / "tokenizer.model").write_bytes(model.getvalue())
    with pytest.raises(UserError, match="changes the text it encodes"):
        load_tokenizer(str(tmp_path))
