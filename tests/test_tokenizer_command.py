"""`mlx-gpt tokenizer` as a person and a script use it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlx_gpt.cli import main
from mlx_gpt.tokenizer import load_tokenizer

TEXT = "the boat and the sea and the old boat\n" * 50


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    out = str(tmp_path / "own.model")
    words = ["train", str(tmp_path / "a.txt"), "--vocab-size", "300", "--out", out]
    assert main(["tokenizer", *words, "--lang", "en"]) == 0
    return out


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    capsys.readouterr()
    main(["tokenizer", *words])
    return json.loads(capsys.readouterr().out)


def test_train_says_what_it_made_and_what_the_text_did_not_allow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    text, out = tmp_path / "a.txt", tmp_path / "new.model"
    text.write_text(TEXT, encoding="utf-8")
    main(["tokenizer", "train", str(text), "--vocab-size", "8000", "--out", str(out)])
    heard = capsys.readouterr()
    size = load_tokenizer(str(out)).vocab_size
    assert heard.out == f"{size} pieces in {out}\n"
    assert f"{size} pieces, not data.vocab_size = 8000" in heard.err


def test_train_answers_a_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "viejo.txt").write_bytes("el año nuevo ".encode("latin-1") * 9)
    words = ["train", str(tmp_path / "viejo.txt"), "--encoding", "latin-1", "--json"]
    made = answer(capsys, *words, "--out", str(tmp_path))
    assert made["model"] == str(tmp_path / "tokenizer.model")
    assert made["vocab_size"] == load_tokenizer(made["model"]).vocab_size
    assert [path.name for path in tmp_path.glob("*.partial")] == []


def test_show_tells_size_specials_and_pieces(model: str, capsys: pytest.CaptureFixture[str]):
    main(["tokenizer", "show", model])
    shown = capsys.readouterr().out
    assert "sentencepiece" in shown
    assert "␣the" in shown
    facts = answer(capsys, "show", model, "--json")
    assert facts["specials"] == [0, 1, 2]
    assert facts["end_id"] == 2
    assert facts["vocab_size"] == len(facts["pieces"])


def test_show_knows_bytes(capsys: pytest.CaptureFixture[str]):
    facts = answer(capsys, "--json", "show", "bytes")
    assert (facts["vocab_size"], facts["specials"], facts["end_id"]) == (257, [256], 256)


def test_encode_and_decode_are_inverse(model: str, capsys: pytest.CaptureFixture[str]):
    text = " the  boat\t¿ñ🙂? ▁\n"
    for name in (model, "bytes"):
        encoded = answer(capsys, "encode", name, text, "--json")
        assert len(encoded["ids"]) == len(encoded["pieces"])
        decoded = answer(capsys, "decode", name, *map(str, encoded["ids"]), "--json")
        assert decoded["text"] == text


def test_encode_shows_pieces_that_can_be_seen(capsys: pytest.CaptureFixture[str]):
    main(["tokenizer", "encode", "bytes", "a \n\t\x1bñ"])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[:5] == [["97", "a"], ["32", "␣"], ["10", "␊"], ["9", "␉"], ["27", "␛"]]
    assert rows[5:] == [["195", r"\xc3"], ["177", r"\xb1"]]


def test_text_is_utf_8_whatever_the_locale_says():
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for words, stdin in [("ñ", b""), ("-", "ñ".encode())]:
        done = subprocess.run(
            [sys.executable, "-m", "mlx_gpt", "tokenizer", "encode", "bytes", words, "--json"],
            env=environment,
            input=stdin,
            capture_output=True,
            check=True,
        )
        assert json.loads(done.stdout)["ids"] == [0xC3, 0xB1]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["encode", "bytes", "a\ud83d"], "lone surrogate"),
        (["decode", "bytes", "300"], "token id 300 is outside the vocabulary"),
        (["decode", "bytes", "-1"], "token id -1 is outside the vocabulary"),
        (["decode", "bytes", "x"], "invalid int value"),
        (["show", "missing.model"], "no tokenizer at missing.model"),
        (["train", "missing.txt"], "no file or folder missing.txt"),
        (["shown"], "invalid choice"),
        ([], "required"),
    ],
)
def test_faults_are_one_sentence_and_exit_code_2(
    words: list[str], fault: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["tokenizer", *words, "--json"]) == 2
    heard = capsys.readouterr()
    assert fault in json.loads(heard.out)["error"]
    assert fault in heard.err


def test_a_vocabulary_too_small_names_the_least(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "a.txt").write_text("hello", encoding="utf-8")
    words = ["train", str(tmp_path / "a.txt"), "--vocab-size", "100", "--json"]
    assert "at least 265" in answer(capsys, *words)["error"]


def test_a_model_of_no_bytes_is_no_model(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    (tmp_path / "empty.model").touch()
    assert main(["tokenizer", "show", str(tmp_path / "empty.model")]) == 2
    assert capfd.readouterr().err.count("\n") == 1  # nothing of SentencePiece's own


@pytest.mark.parametrize("asked", [2**31 + 1, 2**62])
def test_a_vocabulary_beyond_all_counting_is_the_largest_that_the_text_allows(
    asked: int, model: str, tmp_path: Path
):
    out = tmp_path / "large.model"
    words = [str(tmp_path / "a.txt"), "--vocab-size", str(asked), "--out", str(out)]
    assert main(["tokenizer", "train", *words]) == 0
    main(["tokenizer", "train", words[0], "--vocab-size", "9000", "--out", f"{out}2"])
    assert load_tokenizer(str(out)).vocab_size == load_tokenizer(f"{out}2").vocab_size


def test_a_tokenizer_that_cannot_be_written_leaves_no_half_file(model: str, tmp_path: Path):
    (tmp_path / "taken.model" / "tokenizer.model").mkdir(parents=True)
    words = [str(tmp_path / "a.txt"), "--out", str(tmp_path / "taken.model")]
    assert main(["tokenizer", "train", *words]) == 2
    assert not list(tmp_path.rglob("*.partial"))
