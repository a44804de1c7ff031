"""What is read from files, and what is refused in words."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlx_gpt.config import DataConfig
from mlx_gpt.corpus import BLOCK, Corpus
from mlx_gpt.errors import UserError

SPANISH = "El niño preguntó: «¿Dónde está?»\n"


def corpus_of(*paths: Path, encoding: str = "utf-8") -> Corpus:
    return Corpus(DataConfig(files=tuple(map(str, paths)), encoding=encoding))


def documents(corpus: Corpus) -> list[str]:
    texts, whole = [""], []
    for part in corpus.parts():
        texts.append(part.text)
        if part.last:
            whole.append("".join(texts))
            texts = []
    return whole


def write(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
    return path


def refusal(*paths: Path, encoding: str = "utf-8") -> str:
    with pytest.raises(UserError) as caught:
        documents(corpus_of(*paths, encoding=encoding))
    return str(caught.value)


def test_folders_are_read_in_order_and_hidden_files_are_not(tmp_path: Path):
    write(tmp_path / "b.md", "second")
    write(tmp_path / "a" / "deep.txt", "first")
    write(tmp_path / "c.txt.gz", gzip.compress(b"third"))
    write(tmp_path / ".hidden.txt", "no")
    write(tmp_path / ".git" / "x.txt", "no")
    write(tmp_path / "picture.png", "no")
    assert documents(corpus_of(tmp_path)) == ["first", "second", "third"]


def test_a_file_named_is_read_whatever_its_suffix_and_only_once(tmp_path: Path):
    path = write(tmp_path / "poem", "roses")
    assert documents(corpus_of(path, path)) == ["roses"]


def test_every_row_of_json_lines_is_a_document(tmp_path: Path):
    rows = [{"text": "one\r\ntwo", "id": 7}, {"text": ""}, {"text": "¿tres?"}]
    text = "\n\n".join(map(json.dumps, rows))
    plain = write(tmp_path / "a.jsonl", text)
    zipped = write(tmp_path / "b.jsonl.gz", gzip.compress(text.encode()))
    assert documents(corpus_of(plain)) == ["one\ntwo", "¿tres?"]
    assert documents(corpus_of(zipped)) == ["one\ntwo", "¿tres?"]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("{", "line 2 is not JSON"),
        ("[" * 99_999, "line 2 is not JSON"),
        ('{"body": "x"}', "line 2 has no text"),
        ('["x"]', "line 2 has no text"),
        ('{"text": 5}', "line 2 has no text"),
        (r'{"text": "\ud83d"}', "line 2: .*lone surrogate"),
    ],
)
def test_a_bad_row_is_named_by_its_line(tmp_path: Path, row: str, words: str):
    path = write(tmp_path / "a.jsonl", f'{{"text": "fine"}}\n{row}\n')
    with pytest.raises(UserError, match=words):
        documents(corpus_of(path))


def test_bom_and_crlf_go_and_are_told(tmp_path: Path):
    path = write(tmp_path / "dos.txt", b"\xef\xbb\xbfa\n\n\tb  c \r\nlone\rx\r\n")
    corpus = corpus_of(path)
    assert documents(corpus) == ["a\n\n\tb  c \nlone\rx\n"]
    assert len(corpus.notes) == 2
    assert "byte order mark" in corpus.notes[0]
    assert "CRLF" in corpus.notes[1]
    assert documents(corpus) == ["a\n\n\tb  c \nlone\rx\n"], "a second pass reads the same"
    assert len(corpus.notes) == 2


def test_a_clean_file_needs_no_note(tmp_path: Path):
    corpus = corpus_of(write(tmp_path / "a.txt", SPANISH))
    assert documents(corpus) == [SPANISH]
    assert corpus.notes == ()


def test_what_falls_on_the_edge_of_a_block_stays_whole(tmp_path: Path):
    for before in range(BLOCK - 4, BLOCK + 1):
        path = write(tmp_path / "a.txt", b"x" * before + "\r\n🙂\r\r\n".encode() + b"\r")
        assert documents(corpus_of(path)) == ["x" * before + "\n🙂\r\n\r"]


def test_parts_tell_how_far_they_are(tmp_path: Path):
    first = write(tmp_path / "a.txt", "line\n" * 600_000)
    corpus = corpus_of(first, write(tmp_path / "b.txt", "end"))
    done = [part.done for part in corpus.parts()]
    assert done == sorted(done)
    assert len(set(done)) > 3
    assert done[-1] == corpus.total == 3_000_003


def test_latin_1_is_refused_with_its_offset_and_read_when_said(tmp_path: Path):
    path = write(tmp_path / "viejo.txt", b"x" * BLOCK + "año".encode("latin-1"))
    words = refusal(path)
    assert f"offset {BLOCK + 1}" in words
    assert "data.encoding=latin-1" in words
    assert "--encoding latin-1" in words
    assert documents(corpus_of(path, encoding="latin-1")) == ["x" * BLOCK + "año"]


def test_a_file_that_ends_inside_a_character_is_refused_with_its_offset(tmp_path: Path):
    assert "offset 3 " in refusal(write(tmp_path / "cut.txt", "añ".encode() + b"\xc3"))
    assert "offset 1 " in refusal(write(tmp_path / "cut.txt", "a🙂".encode()[:3]))


def test_the_locale_does_not_matter(tmp_path: Path):
    path = write(tmp_path / "es.txt", SPANISH)
    code = (
        "import sys\n"
        "from mlx_gpt.config import DataConfig\n"
        "from mlx_gpt.corpus import Corpus\n"
        "text = ''.join(p.text for p in Corpus(DataConfig(files=(sys.argv[1],))).parts())\n"
        "sys.stdout.buffer.write(text.encode('utf-8'))"
    )
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], env=environment, capture_output=True, check=True
    )
    assert done.stdout.decode("utf-8") == SPANISH


def test_utf_16_is_read_when_said(tmp_path: Path):
    path = write(tmp_path / "wide.txt", SPANISH.encode("utf-16"))
    assert documents(corpus_of(path, encoding="utf-16")) == [SPANISH]


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 20,
        SPANISH.encode("utf-16-le"),
        bytes(1000),
        gzip.compress(b"a zipped text " * 50),
    ],
    ids=["png", "utf-16", "zeros", "gzip"],
)
def test_a_binary_file_is_refused_in_words(tmp_path: Path, data: bytes):
    assert "looks like a binary file" in refusal(write(tmp_path / "a.txt", data))


def test_a_nul_and_other_controls_inside_text_survive(tmp_path: Path):
    text = "a\0b\n" + "".join(map(chr, range(1, 13))) + "\x7f\n"
    assert documents(corpus_of(write(tmp_path / "a.txt", text))) == [text]


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf"])
def test_an_empty_file_is_named(tmp_path: Path, data: bytes):
    assert refusal(write(tmp_path / "void.txt", data)).startswith(f"{tmp_path}/void.txt is empty")


def test_what_is_not_there_or_cannot_be_read_is_named(tmp_path: Path):
    assert "no file or folder" in refusal(tmp_path / "missing.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    assert "is a pipe or a device" in refusal(tmp_path / "pipe.txt")
    (tmp_path / "pipe.txt").unlink()
    assert "holds no text file" in refusal(tmp_path)
    cut = write(tmp_path / "cut.txt.gz", gzip.compress(b"abc" * 10_000)[:50])
    assert f"cannot read {cut}" in refusal(cut)
    fake = write(tmp_path / "fake.txt.gz", b"no gzip")
    assert f"cannot read {fake}" in refusal(fake)


@pytest.mark.parametrize("encoding", ["latin-one", "hex", "rot13", "idna", "undefined"])
def test_an_encoding_that_is_none_is_refused(tmp_path: Path, encoding: str):
    path = write(tmp_path / "a.txt", "a")
    assert f"data.encoding = {encoding}" in refusal(path, encoding=encoding)


def test_the_built_in_stories_are_documents_and_the_same_each_time():
    corpus = Corpus(DataConfig(stories=20, language="es"))
    texts = documents(corpus)
    assert len(texts) == 20
    assert all(texts)
    assert documents(Corpus(DataConfig(stories=20, language="es"))) == texts
    assert documents(Corpus(DataConfig(stories=20, language="en"))) != texts
    assert [part.done for part in corpus.parts()][-1] == corpus.total == 20


def test_identity_changes_with_the_text_and_with_what_is_made_of_it(tmp_path: Path):
    path = write(tmp_path / "a.txt", "one")
    before = corpus_of(path).identity
    assert corpus_of(path).identity == before
    assert corpus_of(path, encoding="latin-1").identity != before
    write(path, "two")
    assert corpus_of(path).identity != before
    assert Corpus(DataConfig(stories=5)).identity != Corpus(DataConfig(stories=6)).identity
