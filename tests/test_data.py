"""Token files are never stale or half, and every window is seen as promised."""

import dataclasses
import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from mlx_gpt.config import DataConfig
from mlx_gpt.data import (
    Facts,
    batch,
    cache_folder,
    eval_batches,
    prepare,
    prepare_tokenizer,
    text_size,
    tokenise,
)
from mlx_gpt.errors import UserError
from mlx_gpt.tokenizer import ByteTokenizer, train_sentencepiece

BYTES = ByteTokenizer()
END = BYTES.end_id


def config_of(path: Path, **settings: float | str) -> DataConfig:
    plain = DataConfig(files=(str(path),), tokenizer="bytes", val_fraction=0.1)
    return dataclasses.replace(plain, **settings)


def numbers(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.uint16)


def test_documents_stand_between_ends(tmp_path: Path):
    for name, text in [("a.txt", "ab"), ("b.txt", "c\n")]:
        (tmp_path / name).write_text(text, encoding="utf-8")
    tokens, facts = tokenise(config_of(tmp_path), BYTES, tmp_path / "cache")
    assert tokens.tolist() == [END, 97, 98, END, 99, 10, END]
    assert (facts.documents, facts.bytes, facts.tokens) == (2, 4, 7)
    assert facts.sha256 == hashlib.sha256(b"abc\n").hexdigest()
    assert facts.sources == (str(tmp_path / "a.txt"), str(tmp_path / "b.txt"))


def test_the_token_file_is_mapped_and_as_narrow_as_the_vocabulary_allows(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("hello " * 100, encoding="utf-8")
    narrow, _ = tokenise(config_of(path), BYTES, tmp_path)
    assert isinstance(narrow, np.memmap)
    assert narrow.dtype == np.uint16
    wide = ByteTokenizer()
    wide.vocab_size = 70_000
    wide.fingerprint = "wide"
    assert tokenise(config_of(path), wide, tmp_path)[0].dtype == np.uint32


def test_an_id_outside_the_vocabulary_is_not_written(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("az", encoding="utf-8")
    narrow = ByteTokenizer()
    narrow.vocab_size = 100
    with pytest.raises(UserError, match="gave the id 256, but its vocab_size is 100"):
        tokenise(config_of(path), narrow, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_the_tokens_of_a_large_file_are_those_of_its_text(tmp_path: Path):
    text = "The boat — ¡el barco! — and the ▁sea▁\n" * 1000 + "the barco! " * 200_000 + "\n\nend"
    path = tmp_path / "a.txt"
    path.write_text(text, encoding="utf-8")
    tokenizer = train_sentencepiece(text[:10_000].split("\n"), 320)
    tokens, facts = tokenise(config_of(path), tokenizer, tmp_path)
    assert tokens.tolist() == [tokenizer.end_id, *tokenizer.encode(text), tokenizer.end_id]
    assert tokenizer.decode(tokens.tolist()) == text
    assert (facts.bytes, facts.characters) == (len(text.encode()), len(text))
    assert text_size(tokens, tokenizer) == (facts.bytes, facts.characters)


def test_the_same_text_is_tokenised_once_and_a_changed_one_anew(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("first", encoding="utf-8")
    cache = tmp_path / "cache"
    heard: list[str] = []
    tokenise(config_of(path), BYTES, cache, lambda stage, done, total: heard.append(stage))
    tokens, _ = tokenise(config_of(path), BYTES, cache, lambda stage, d, t: heard.append(stage))
    assert heard == ["tokenising"]
    path.write_text("other", encoding="utf-8")
    changed, _ = tokenise(config_of(path), BYTES, cache)
    assert BYTES.decode(tokens.tolist()) == "first"
    assert BYTES.decode(changed.tolist()) == "other"
    pieces = train_sentencepiece(["other"], 300)
    assert pieces.decode(tokenise(config_of(path), pieces, cache)[0].tolist()) == "other"


def test_facts_from_the_cache_are_those_of_the_first_time(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\r\ntwo")
    first, second = (tokenise(config_of(path), BYTES, tmp_path)[1] for _ in range(2))
    assert first == second
    assert isinstance(second, Facts)
    assert "CRLF" in second.notes[0]
    assert json.loads(json.dumps(dataclasses.asdict(second)))["documents"] == 1


def test_an_interrupted_write_leaves_nothing_behind(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("line\n" * 500_000, encoding="utf-8")

    def interrupt(stage: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tokenise(config_of(path), BYTES, tmp_path / "cache", interrupt)
    assert list((tmp_path / "cache").iterdir()) == []
    assert len(tokenise(config_of(path), BYTES, tmp_path / "cache")[0]) == 2_500_002


def test_what_a_killed_writer_leaves_is_not_taken_for_whole(tmp_path: Path):
    path, cache = tmp_path / "a.txt", tmp_path / "cache"
    path.write_text("line\n" * 1000, encoding="utf-8")
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from mlx_gpt.config import DataConfig\n"
        "from mlx_gpt.data import tokenise\n"
        "from mlx_gpt.tokenizer import ByteTokenizer\n"
        "die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "tokenise(DataConfig(files=(sys.argv[1],)), ByteTokenizer(), Path(sys.argv[2]), die)"
    )
    subprocess.run([sys.executable, "-c", code, str(path), str(cache)], check=False)
    (left,) = cache.iterdir()
    assert left.suffix == ".partial"
    assert len(tokenise(config_of(path), BYTES, cache)[0]) == 5002
    os.utime(left, (0, 0))
    path.write_text("new", encoding="utf-8")
    tokenise(config_of(path), BYTES, cache)
    assert not left.exists(), "an old half file is swept away"


@pytest.mark.parametrize("suffix", [".tokens", ".json"])
def test_a_damaged_cache_is_made_again(tmp_path: Path, suffix: str):
    path, cache = tmp_path / "a.txt", tmp_path / "cache"
    path.write_text("text", encoding="utf-8")
    tokenise(config_of(path), BYTES, cache)
    (damaged,) = cache.glob(f"*{suffix}")
    damaged.write_bytes(damaged.read_bytes()[:-2])
    assert tokenise(config_of(path), BYTES, cache)[0].tolist() == [END, *b"text", END]


def test_a_text_that_changes_while_it_is_read_is_refused(tmp_path: Path):
    path, cache = tmp_path / "a.txt", tmp_path / "cache"
    path.write_text("first", encoding="utf-8")

    def change(stage: str, done: int, total: int) -> None:
        path.write_text("longer than first", encoding="utf-8")

    with pytest.raises(UserError, match="changed while being read"):
        tokenise(config_of(path), BYTES, cache, change)
    assert list(cache.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("text", encoding="utf-8")
    with pytest.raises(UserError, match=r"cannot write tokens into .*MLX_GPT_CACHE"):
        tokenise(config_of(path), BYTES, path / "cache")


def test_the_cache_lies_where_the_system_has_such(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("MLX_GPT_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("MLX_GPT_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    place = "Library/Caches" if sys.platform == "darwin" else ".cache"
    assert cache_folder() == tmp_path / place / "mlx-gpt"


def test_the_entropies_are_those_of_a_table_of_counts(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("abababab" * 20 + "acac" * 20, encoding="utf-8")
    tokens, facts = tokenise(config_of(path), BYTES, tmp_path)
    follows: dict[int, Counter[int]] = {}
    for before, after in zip(tokens[:-1].tolist(), tokens[1:].tolist(), strict=True):
        follows.setdefault(before, Counter())[after] += 1
    pairs = [
        (count, count / sum(row.values())) for row in follows.values() for count in row.values()
    ]
    bigram = -sum(count * np.log(p) for count, p in pairs) / (len(tokens) - 1)
    counts = np.array(list(Counter(tokens.tolist()).values())) / len(tokens)
    assert facts.unigram_entropy == pytest.approx(-(counts * np.log(counts)).sum())
    assert facts.bigram_entropy == pytest.approx(bigram)
    assert 0 < facts.bigram_entropy < facts.unigram_entropy


def test_validation_is_the_tail(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("ñ" * 499, encoding="utf-8")
    tokens = prepare(config_of(path), BYTES, 64, tmp_path)
    assert (len(tokens.train), len(tokens.val)) == (900, 100)
    assert [*tokens.train, *tokens.val] == [END, *("ñ" * 499).encode(), END]
    facts = tokens.facts
    assert (facts.train_tokens, facts.val_tokens, facts.val_bytes) == (900, 100, 99)
    assert facts.val_characters == 49  # the first byte is the end of one
    assert facts.notes == ()


def test_too_short_for_validation_trains_on_all_and_says_why(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("a" * 698, encoding="utf-8")
    tokens = prepare(config_of(path), BYTES, 70, tmp_path)
    assert (len(tokens.train), len(tokens.val)) == (700, 0)
    assert "no validation: 70 of the 700 tokens" in tokens.facts.notes[0]
    assert "context_length = 70" in tokens.facts.notes[0]
    assert len(prepare(config_of(path), BYTES, 69, tmp_path).val) == 70


def test_no_validation_asked_for_needs_no_note(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("a" * 98, encoding="utf-8")
    tokens = prepare(config_of(path, val_fraction=0.0), BYTES, 8, tmp_path)
    assert (len(tokens.train), len(tokens.val), tokens.facts.notes) == (100, 0, ())


def test_a_tail_that_leaves_nothing_to_train_on_is_not_set_apart(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("a" * 68, encoding="utf-8")
    tokens = prepare(config_of(path, val_fraction=0.6), BYTES, 32, tmp_path)
    assert (len(tokens.train), len(tokens.val)) == (70, 0)


def test_a_text_shorter_than_the_context_is_refused_with_both_numbers(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("a" * 38, encoding="utf-8")
    for context, least in [(64, 65), (40, 41)]:
        words = rf"40 tokens.* = {context} needs at least {least}.*length=39"
        with pytest.raises(UserError, match=words):
            prepare(config_of(path), BYTES, context, tmp_path)
    assert len(prepare(config_of(path), BYTES, 39, tmp_path).train) == 40


def test_the_tokenizer_asked_for_is_trained_or_loaded(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("hello hello\n" * 50, encoding="utf-8")
    trained, notes = prepare_tokenizer(config_of(path, tokenizer="sentencepiece", vocab_size=8000))
    assert trained.vocab_size < 300
    assert f"{trained.vocab_size} pieces, not data.vocab_size = 8000" in notes[0]
    trained.save(tmp_path)
    loaded, notes = prepare_tokenizer(config_of(path, tokenizer=str(tmp_path)))
    assert (loaded.fingerprint, notes) == (trained.fingerprint, ())
    assert prepare_tokenizer(config_of(path))[0].name == "bytes"


def test_a_tokenizer_of_a_long_text_says_its_sample(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("short line\n" * 250_000, encoding="utf-8")
    _, notes = prepare_tokenizer(config_of(path, tokenizer="sentencepiece", vocab_size=280))
    assert notes[0] == ("the tokenizer was trained on 125000 of 250000 lines, one in 2")


def test_the_built_in_stories_become_tokens(tmp_path: Path):
    config = DataConfig(stories=30, tokenizer="bytes")
    tokens = prepare(config, BYTES, 16, tmp_path)
    assert tokens.facts.documents == 30
    assert "30 built-in stories (both)" in tokens.facts.sources[0]
    assert np.count_nonzero(tokens.train == END) + np.count_nonzero(tokens.val == END) == 31


@pytest.mark.parametrize(("n", "T"), [(9, 8), (64, 8), (100, 7), (257, 16), (33, 1)])
def test_every_window_is_seen_once_in_an_epoch(n: int, T: int):
    n_windows = max(1, (n - T) // T)
    for epoch in range(3):
        seen = [batch(numbers(n), T, 1, 3, epoch * n_windows + i) for i in range(n_windows)]
        firsts = sorted(int(one.inputs[0, 0]) for one in seen)
        assert np.diff(firsts).tolist() == [T] * (n_windows - 1)
        assert 0 <= firsts[0] < T
        assert firsts[-1] + T < n
        predicted = Counter(np.concatenate([one.targets[0] for one in seen]).tolist())
        assert set(predicted.values()) == {1}


def test_targets_follow_their_inputs():
    one = batch(numbers(1000), 16, 4, 0, 5)
    assert one.inputs.dtype == one.targets.dtype == np.int32
    assert one.inputs.shape == one.targets.shape == (4, 16)
    assert (one.targets == one.inputs + 1).all()


def test_the_order_is_a_function_of_seed_and_epoch():
    def firsts(seed: int, epoch: int) -> list[int]:
        return batch(numbers(1000), 10, 99, seed, epoch).inputs[:, 0].tolist()

    assert firsts(1, 0) == firsts(1, 0)
    assert len({tuple(firsts(*chance)) for chance in [(1, 0), (2, 0), (1, 1), (0, 1)]}) == 4


def test_a_batch_does_not_depend_on_the_ones_before():
    alone = batch(numbers(500), 8, 3, 9, 123)
    for index in range(123):
        batch(numbers(500), 8, 3, 9, index)
    assert (batch(numbers(500), 8, 3, 9, 123).inputs == alone.inputs).all()


def test_the_size_of_the_batch_does_not_change_the_order():
    one_by_one = [batch(numbers(300), 8, 1, 4, i).inputs[0, 0] for i in range(60)]
    by_six = [first for i in range(10) for first in batch(numbers(300), 8, 6, 4, i).inputs[:, 0]]
    assert one_by_one == by_six


def test_the_start_of_the_windows_moves_between_epochs():
    starts = {int(batch(numbers(104), 8, 12, 0, e).inputs.min()) for e in range(40)}
    assert starts == set(range(8))


@pytest.mark.parametrize(
    ("n", "T", "B"), [(100, 7, 4), (64, 8, 3), (65, 8, 3), (9, 8, 2), (5, 8, 2)]
)
def test_evaluation_of_all_predicts_every_token_once(n: int, T: int, B: int):
    batches = list(eval_batches(numbers(n), T, B, 0))
    assert np.concatenate([b.targets.ravel() for b in batches]).tolist() == list(range(1, n))
    assert all((b.targets == b.inputs + 1).all() for b in batches)
    assert all(b.inputs.shape[0] <= B and b.inputs.shape[1] <= T for b in batches)


def test_evaluation_takes_the_same_evenly_spaced_windows():
    def firsts() -> list[int]:
        batches = list(eval_batches(numbers(1008), 10, 4, 5))
        assert [one.inputs.shape for one in batches] == [(4, 10), (1, 10)]
        return [first for one in batches for first in one.inputs[:, 0].tolist()]

    assert firsts() == firsts()
    assert firsts()[0] == 0
    assert firsts()[-1] == 990
    assert set(np.diff(firsts())) <= {240, 250}
    assert len(list(eval_batches(numbers(1001), 10, 4, 10**6))) == 25


def test_evaluation_of_nothing_is_nothing():
    assert list(eval_batches(numbers(0), 8, 4, 0)) == []
    assert list(eval_batches(numbers(1), 8, 4, 3)) == []


@pytest.mark.slow
def test_three_hundred_megabytes_fit_in_six_hundred(tmp_path: Path):
    path = tmp_path / "large.txt"
    with path.open("w", encoding="utf-8") as file:
        for i in range(300):
            lines = (
                f"{i * j % 9973} the boat and the sea, ¿dónde está {j}?\n" for j in range(23_000)
            )
            file.write("".join(lines))
    assert path.stat().st_size > 290_000_000
    code = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from mlx_gpt.config import DataConfig\n"
        "from mlx_gpt.data import batch, prepare, prepare_tokenizer\n"
        "config = DataConfig(files=(sys.argv[1],))\n"
        "tokenizer, notes = prepare_tokenizer(config)\n"
        "tokens = prepare(config, tokenizer, 256, Path(sys.argv[2]))\n"
        "batch(tokens.train, 256, 16, 0, 0)\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(peak // (1 << 20 if sys.platform == 'darwin' else 1 << 10))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), str(tmp_path)], capture_output=True, check=True
    )
    assert int(done.stdout) < 600
