"""Text to a token file, and from there to the windows that training and evaluation see."""

import dataclasses
import functools
import hashlib
import itertools
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from mlx_gpt.config import DataConfig
from mlx_gpt.corpus import BLOCK, Corpus, Part
from mlx_gpt.errors import UserError
from mlx_gpt.tokenizer import (
    Report,
    Tokenizer,
    load_tokenizer,
    sample_lines,
    silent,
    train_sentencepiece,
)

FORMAT = 2  # of the token file; part of the cache's key
DAY = 86_400.0  # seconds
ENTROPY_TOKENS = 1 << 21  # of a corpus, to measure what a table of counts could predict


@dataclasses.dataclass(frozen=True, kw_only=True)
class Facts:
    """What became of a text: enough to tell two corpora apart, and what to say aloud."""

    sources: tuple[str, ...]
    sha256: str  # of the text as it was tokenised, in UTF-8
    documents: int
    bytes: int
    characters: int
    tokens: int
    train_tokens: int
    val_tokens: int
    val_bytes: int  # of the text in the validation tokens
    val_characters: int
    tokenizer: str
    tokenizer_sha256: str
    notes: tuple[str, ...]
    unigram_entropy: float = 0.0  # nats a token: the loss of knowing how often each token comes
    bigram_entropy: float = 0.0  # the same, of knowing what follows each token


class Tokens(NamedTuple):
    """The training and validation parts of a token file; `val` is empty where there is none."""

    train: np.ndarray
    val: np.ndarray
    facts: Facts


class Size(NamedTuple):
    """How long a text is."""

    bytes: int
    characters: int


class Batch(NamedTuple):
    """Windows of tokens (B, T), and the tokens that follow each of them."""

    inputs: np.ndarray
    targets: np.ndarray


def cache_folder() -> Path:
    """Where token files lie: MLX_GPT_CACHE, or the place this system has for such."""
    if chosen := os.environ.get("MLX_GPT_CACHE"):
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "mlx-gpt"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mlx-gpt"


def prepare_tokenizer(
    config: DataConfig, report: Report = silent
) -> tuple[Tokenizer, tuple[str, ...]]:
    """The tokenizer that the configuration asks for, trained if need be, and notes on it."""
    if config.tokenizer != "sentencepiece":
        return load_tokenizer(config.tokenizer), ()
    sample = sample_lines(reported_lines(Corpus(config), report))
    tokenizer = train_sentencepiece(sample.lines, config.vocab_size, report)
    notes = []
    if sample.every > 1:
        notes.append(
            f"the tokenizer was trained on {len(sample.lines)} of {sample.total} lines, "
            f"one in {sample.every}"
        )
    if tokenizer.vocab_size < config.vocab_size:
        notes.append(
            f"the vocabulary has {tokenizer.vocab_size} pieces, not data.vocab_size = "
            f"{config.vocab_size}: this text allows no more"
        )
    return tokenizer, tuple(notes)


def reported_lines(corpus: Corpus, report: Report) -> Iterator[str]:
    """The lines of a corpus, with word of how far it is read."""
    for part in corpus.parts():
        yield from part.text.split("\n")
        report("reading", part.done, corpus.total)


def prepare(
    config: DataConfig,
    tokenizer: Tokenizer,
    context_length: int,
    cache: Path,
    report: Report = silent,
) -> Tokens:
    """The text as tokens, with its tail set apart for validation."""
    tokens, facts = tokenise(config, tokenizer, cache, report)
    if len(tokens) <= context_length:
        raise UserError(
            f"the text has {len(tokens)} tokens, but model.context_length = {context_length} "
            f"needs at least {context_length + 1}; give more text, "
            f"or at most model.context_length={len(tokens) - 1}"
        )
    n_val = int(len(tokens) * config.val_fraction)
    if min(n_val, len(tokens) - n_val) <= context_length:
        return Tokens(tokens, tokens[:0], without_validation(facts, n_val, context_length))
    train, val = tokens[:-n_val], tokens[-n_val:]
    size = text_size(val, tokenizer)
    split = dataclasses.replace(
        facts,
        train_tokens=len(train),
        val_tokens=n_val,
        val_bytes=size.bytes,
        val_characters=size.characters,
    )
    return Tokens(train, val, split)


def without_validation(facts: Facts, n_val: int, context_length: int) -> Facts:
    """The facts with the reason why nothing is set apart, if that was not asked for."""
    if n_val == 0:
        return facts
    reason = (
        f"no validation: {n_val} of the {facts.tokens} tokens would be set apart, but both parts "
        f"need more than model.context_length = {context_length}; all are trained on"
    )
    return dataclasses.replace(facts, notes=(*facts.notes, reason))


def text_size(tokens: np.ndarray, tokenizer: Tokenizer) -> Size:
    """How much text the tokens stand for."""
    sizes = np.array([piece_size(tokenizer.piece(i)) for i in range(tokenizer.vocab_size)])
    blocks = (sizes[tokens[i : i + BLOCK]].sum(0) for i in range(0, len(tokens), BLOCK))
    return Size(*map(int, sum(blocks, np.zeros(2, np.int64))))


def piece_size(piece: bytes) -> Size:
    """The bytes of a token, and the characters that begin in them."""
    return Size(len(piece), sum(byte & 0xC0 != 0x80 for byte in piece))


def tokenise(
    config: DataConfig, tokenizer: Tokenizer, cache: Path, report: Report = silent
) -> tuple[np.ndarray, Facts]:
    """The whole text as a memory-mapped array of tokens, END doc END doc … END.

    It is made once for each text, tokenizer and choice of options.
    """
    corpus = Corpus(config)
    key = hashlib.sha256(
        json.dumps([FORMAT, corpus.identity, tokenizer.fingerprint]).encode()
    ).hexdigest()[:32]
    dtype = np.dtype(np.uint16 if tokenizer.vocab_size <= 1 << 16 else np.uint32)
    facts = read_facts(cache / f"{key}.json", cache / f"{key}.tokens", dtype)
    if facts is None:
        facts = write_cache(corpus, tokenizer, cache, key, dtype, report)
    return np.memmap(cache / f"{key}.tokens", dtype=dtype, mode="r"), facts


def read_facts(path: Path, tokens: Path, dtype: np.dtype) -> Facts | None:
    """The facts of a token file that is there and whole, else None."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        facts = Facts(
            **{**table, "sources": tuple(table["sources"]), "notes": tuple(table["notes"])}
        )
        return facts if tokens.stat().st_size == facts.tokens * dtype.itemsize else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write_cache(
    corpus: Corpus, tokenizer: Tokenizer, cache: Path, key: str, dtype: np.dtype, report: Report
) -> Facts:
    """Make a token file that is not there yet, or say why it cannot be."""
    partial = cache / f"{key}.{os.getpid()}.partial"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        sweep(cache)
        try:
            return write_whole(corpus, tokenizer, cache / key, partial, dtype, report)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot write tokens into {cache}: {error.strerror}; "
            "make room there, or name another folder in MLX_GPT_CACHE"
        ) from None


def write_whole(
    corpus: Corpus,
    tokenizer: Tokenizer,
    path: Path,
    partial: Path,
    dtype: np.dtype,
    report: Report,
) -> Facts:
    """Write under another name, and rename only what is whole: the facts last, as the seal."""
    before = corpus.state()
    with partial.open("wb") as file:
        facts = write_tokens(corpus, tokenizer, file, dtype, report)
        file.flush()
        os.fsync(file.fileno())
    if corpus.state() != before:
        raise UserError(f"{', '.join(corpus.sources)} changed while being read; start again")
    unigram, bigram = entropies(np.memmap(partial, dtype, mode="r")[:ENTROPY_TOKENS])
    facts = dataclasses.replace(facts, unigram_entropy=unigram, bigram_entropy=bigram)
    partial.replace(path.with_suffix(".tokens"))
    partial.write_text(json.dumps(dataclasses.asdict(facts)), encoding="utf-8")
    partial.replace(path.with_suffix(".json"))
    return facts


def entropies(tokens: np.ndarray) -> tuple[float, float]:
    """H(token) and H(token | the one before), in nats, counted over these tokens."""
    ids = tokens.astype(np.int64)
    pairs = ids[:-1] * (int(ids.max()) + 1) + ids[1:]
    before, both, each = (counted_entropy(counts) for counts in (ids[:-1], pairs, ids))
    return each, both - before


def counted_entropy(values: np.ndarray) -> float:
    """The entropy of how often each value comes, in nats."""
    counts = np.unique(values, return_counts=True)[1]
    shares = counts / max(len(values), 1)
    return float(-(shares * np.log(shares)).sum())


def sweep(cache: Path) -> None:
    """Remove what killed processes left half-written a day ago or earlier."""
    for path in cache.glob("*.partial"):
        if time.time() - path.stat().st_mtime > DAY:
            path.unlink(missing_ok=True)


def write_tokens(
    corpus: Corpus, tokenizer: Tokenizer, file: BinaryIO, dtype: np.dtype, report: Report
) -> Facts:
    """Tokenise the corpus into the file, a block of text at a time."""
    digest = hashlib.sha256()
    n_bytes, characters, documents, tokens = 0, 0, 0, 1
    file.write(np.array([tokenizer.end_id], dtype).tobytes())
    for block in blocks(corpus.parts()):
        text = "".join(part.text for part in block)
        encoded, ids = text.encode(), token_ids(block, tokenizer)
        digest.update(encoded)
        file.write(ids.astype(dtype).tobytes())
        n_bytes += len(encoded)
        characters += len(text)
        documents += sum(part.last for part in block)
        tokens += len(ids)
        report("tokenising", block[-1].done, corpus.total)
    return Facts(
        sources=corpus.sources,
        sha256=digest.hexdigest(),
        documents=documents,
        bytes=n_bytes,
        characters=characters,
        tokens=tokens,
        train_tokens=tokens,
        val_tokens=0,
        val_bytes=0,
        val_characters=0,
        tokenizer=tokenizer.name,
        tokenizer_sha256=tokenizer.fingerprint,
        notes=corpus.notes,
    )


def blocks(parts: Iterable[Part]) -> Iterator[list[Part]]:
    """Parts in lists of about a million characters, enough to keep every thread busy."""
    block: list[Part] = []
    size = 0
    for part in parts:
        block.append(part)
        size += len(part.text)
        if size >= BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


def token_ids(block: list[Part], tokenizer: Tokenizer) -> np.ndarray:
    """The ids of some parts, with END where a document ends."""
    encoded = tokenizer.encode_batch([part.text for part in block])
    ends = [[tokenizer.end_id] if part.last else [] for part in block]
    pairs = zip(encoded, ends, strict=True)
    ids = np.fromiter(itertools.chain.from_iterable(itertools.chain.from_iterable(pairs)), np.int64)
    if len(ids) and not 0 <= ids.min() <= ids.max() < tokenizer.vocab_size:
        raise UserError(
            f"the tokenizer gave the id {ids.max()}, but its vocab_size is {tokenizer.vocab_size}"
        )
    return ids


def batch(tokens: np.ndarray, context_length: int, batch_size: int, seed: int, index: int) -> Batch:
    """The index-th batch of training: a function of its arguments, so nothing need be saved.

    An epoch is a permutation of windows that touch but do not overlap; where the first one
    starts is drawn anew each epoch, so that windows do not repeat from epoch to epoch.
    """
    n_windows = max(1, (len(tokens) - context_length) // context_length)
    starts = np.empty(batch_size, np.int64)
    for j in range(batch_size):
        epoch, i = divmod(index * batch_size + j, n_windows)
        phase, order = epoch_order(len(tokens), context_length, n_windows, seed, epoch)
        starts[j] = phase + order[i] * context_length
    return windows_at(tokens, starts, context_length)


@functools.lru_cache(maxsize=4)
def epoch_order(
    n_tokens: int, context_length: int, n_windows: int, seed: int, epoch: int
) -> tuple[int, np.ndarray]:
    """Where the first window of an epoch starts, and the order of its windows."""
    chance = np.random.Generator(np.random.Philox([seed, epoch]))
    most = min(context_length - 1, n_tokens - 1 - n_windows * context_length)
    return int(chance.integers(0, most + 1)), chance.permutation(n_windows)


def windows_at(tokens: np.ndarray, starts: np.ndarray, context_length: int) -> Batch:
    """The windows that begin at the starts."""
    rows = tokens[starts[:, None] + np.arange(context_length + 1)].astype(np.int32)
    return Batch(rows[:, :-1], rows[:, 1:])


def eval_batches(
    tokens: np.ndarray, context_length: int, batch_size: int, windows: int
) -> Iterator[Batch]:
    """The same evenly spaced windows at every call; 0 windows means all.

    With all, every token but the first is predicted once, and the last window, a batch
    of its own, may be shorter.
    """
    n_windows, rest = divmod(max(len(tokens) - 1, 0), context_length)
    every = windows == 0 or windows > n_windows
    count = n_windows if every else windows
    chosen = np.linspace(0, n_windows - 1, count).round().astype(np.int64) * context_length
    for i in range(0, count, batch_size):
        yield windows_at(tokens, chosen[i : i + batch_size], context_length)
    if every and rest:
        yield windows_at(tokens, np.array([n_windows * context_length]), rest)
