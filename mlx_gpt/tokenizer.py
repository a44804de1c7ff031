"""Text to token ids and back, losslessly: single bytes, or SentencePiece trained on your text."""

import codecs
import hashlib
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import sentencepiece

from mlx_gpt.config import load, nearest
from mlx_gpt.errors import UserError

Report = Callable[[str, int, int], None]

CHUNK = 8192  # characters; SentencePiece's time grows faster than the text it is given at once
SENTENCE_BYTES = 4000  # SentencePiece silently skips training lines over 4192 bytes
SAMPLE_LINES = 200_000
SAMPLE_CHARACTERS = 20_000_000
SPACE_SYMBOL = "\u2581"  # SentencePiece writes a space as this, so a literal one goes around it
# "\0" is dropped and a line with U+2585 is skipped whole when SentencePiece trains.
NOT_LEARNED = re.compile("[\n\0\u2581\u2585]+")
PROBE = "  a\n\n\tb \r\n\u00a0ñe\u0301🙂 <s> "


def silent(stage: str, done: int, total: int) -> None:
    """A Report for when nobody watches."""


class Tokenizer(Protocol):
    """What every tokenizer can do; decoding is concatenation of the bytes of each token."""

    name: str
    vocab_size: int
    end_id: int
    fingerprint: str

    def encode(self, text: str) -> list[int]:
        """The ids of a text; never `end_id`."""
        ...

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, faster than one by one."""
        ...

    def piece(self, token_id: int) -> bytes:
        """The bytes of one token, none for a special one."""
        ...

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; bytes that are not UTF-8 become U+FFFD."""
        ...

    def save(self, folder: Path) -> None:
        """Write what `load_tokenizer` needs to find it there again."""
        ...


class ByteTokenizer:
    """Each UTF-8 byte is a token; 256 marks the end of a document."""

    name = "bytes"
    vocab_size = 257
    end_id = 256
    fingerprint = hashlib.sha256(b"mlx-gpt bytes, end = 256").hexdigest()

    def __init__(self) -> None:
        self.table = [bytes([byte]) for byte in range(256)] + [b""]

    def encode(self, text: str) -> list[int]:
        """The UTF-8 bytes of a text."""
        return list(utf8(text))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The UTF-8 bytes of each text."""
        return [self.encode(text) for text in texts]

    def piece(self, token_id: int) -> bytes:
        """The byte of one token, none for the end."""
        return piece(self.table, token_id)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; bytes that are not UTF-8 become U+FFFD."""
        return decode(self.table, ids)

    def save(self, folder: Path) -> None:
        """Nothing: bytes need no file."""


class SentencePieceTokenizer:
    """A SentencePiece model that gives every text back exactly."""

    name = "sentencepiece"

    def __init__(self, model: bytes) -> None:
        if not model:  # which SentencePiece accepts, and complains about at every use
            raise RuntimeError("a SentencePiece model of no bytes")
        self.model = model
        self.processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.vocab_size = self.processor.get_piece_size()
        self.end_id = self.processor.eos_id()
        self.fingerprint = hashlib.sha256(model).hexdigest()
        self.table = [piece_bytes(self.processor, i) for i in range(self.vocab_size)]
        byte_pieces = [f"<0x{byte:02X}>" for byte in SPACE_SYMBOL.encode("utf-8")]
        self.space_symbol_ids = [self.processor.piece_to_id(piece) for piece in byte_pieces]
        check_lossless(self)

    def encode(self, text: str) -> list[int]:
        """The ids of a text; never a special one, whatever the text says."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, encoded together by several threads."""
        for text in texts:
            utf8(text)
        cut = [[chunk.split(SPACE_SYMBOL) for chunk in chunks(text)] for text in texts]
        flat = [part for text in cut for chunk in text for part in chunk]
        threads = min(len(flat), os.cpu_count() or 1)
        encoded = iter(self.processor.encode(flat, num_threads=threads) if flat else [])
        return [self.joined(text, encoded) for text in cut]

    def joined(self, text: Sequence[Sequence[str]], encoded: Iterator[list[int]]) -> list[int]:
        """The ids of a cut text, with each literal U+2581 as three bytes."""
        ids: list[int] = []
        for chunk in text:
            ids += next(encoded)
            for _ in chunk[1:]:
                ids += self.space_symbol_ids
                ids += next(encoded)
        return ids

    def piece(self, token_id: int) -> bytes:
        """The bytes of one token, none for a special one."""
        return piece(self.table, token_id)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; bytes that are not UTF-8 become U+FFFD."""
        return decode(self.table, ids)

    def save(self, folder: Path) -> None:
        """Write `tokenizer.model` into the folder."""
        (folder / "tokenizer.model").write_bytes(self.model)


class Decoder:
    """Ids one at a time to text as soon as its characters are whole."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.utf8 = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, token_id: int) -> str:
        """The text that this id completes, perhaps none yet."""
        return self.utf8.decode(self.tokenizer.piece(token_id))

    def flush(self) -> str:
        """What an unfinished character leaves at the end: U+FFFD or nothing."""
        return self.utf8.decode(b"", final=True)


def name_of(tokenizer: Tokenizer, token_id: int) -> str:
    """A token for readers: its text, or ‹C3› for bytes that are no text alone."""
    if token_id == tokenizer.end_id:
        return "‹end›"
    piece = tokenizer.piece(token_id) if token_id < tokenizer.vocab_size else b""
    if not piece:
        return f"‹{token_id}›"
    try:
        return piece.decode("utf-8")
    except UnicodeDecodeError:
        return f"‹{piece.hex(' ').upper()}›"


def utf8(text: str) -> bytes:
    """The UTF-8 of a text; a lone surrogate has none."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UserError(
            f"the text holds a lone surrogate, U+{ord(text[error.start]):04X}, at character "
            f"{error.start}: no Unicode text has one; remove it"
        ) from None


def piece(table: Sequence[bytes], token_id: int) -> bytes:
    """An entry of the table of pieces."""
    if not 0 <= token_id < len(table):
        raise UserError(
            f"token id {token_id} is outside the vocabulary: give ids from 0 to {len(table) - 1} "
            f"(vocab_size = {len(table)})"
        )
    return table[token_id]


def decode(table: Sequence[bytes], ids: Iterable[int]) -> str:
    """The bytes of all ids joined and read as UTF-8."""
    return b"".join([piece(table, token_id) for token_id in ids]).decode("utf-8", "replace")


def piece_bytes(processor: sentencepiece.SentencePieceProcessor, token_id: int) -> bytes:
    """The bytes that a SentencePiece id stands for."""
    text = processor.id_to_piece(token_id)
    if (
        processor.is_control(token_id)
        or processor.is_unknown(token_id)
        or processor.is_unused(token_id)
    ):
        return b""
    if processor.is_byte(token_id):
        return bytes([int(text[3:5], 16)])
    return text.replace(SPACE_SYMBOL, " ").encode("utf-8")


def check_lossless(tokenizer: SentencePieceTokenizer) -> None:
    """Refuse a model that changes text or cannot say where a document ends."""
    exact = tokenizer.decode(tokenizer.encode(PROBE + SPACE_SYMBOL)) == PROBE + SPACE_SYMBOL
    if tokenizer.end_id < 0 or not exact:
        fault = "changes the text it encodes" if not exact else "has no end symbol (eos)"
        raise UserError(
            f"this SentencePiece model {fault}; train a lossless one with "
            "`mlx-gpt tokenizer train FILE`, or use data.tokenizer=bytes"
        )


def chunks(text: str) -> Iterator[str]:
    """The text cut after newlines; a line longer than CHUNK every CHUNK characters."""
    start = 0
    while start < len(text):
        end = start + CHUNK
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end
        yield text[start:end]
        start = end


class Sample(NamedTuple):
    """Lines to train a tokenizer on: every `every`-th of `total`."""

    lines: list[str]
    every: int
    total: int


def sample_lines(lines: Iterable[str]) -> Sample:
    """Evenly spaced lines, so many that a tokenizer trains on them in seconds."""
    kept: list[str] = []
    characters, every, total = 0, 1, 0
    for line in sentences(lines):
        if total % every == 0:
            kept.append(line)
            characters += len(line)
            if len(kept) > SAMPLE_LINES or characters > SAMPLE_CHARACTERS:
                kept, every = kept[::2], every * 2
                characters = sum(map(len, kept))
        total += 1
    return Sample(kept, every, total)


def sentences(lines: Iterable[str]) -> Iterator[str]:
    """Lines as SentencePiece can learn from them: none too long, no reserved characters."""
    for line in lines:
        for part in NOT_LEARNED.split(line):
            if len(part) * 4 <= SENTENCE_BYTES or len(utf8(part)) <= SENTENCE_BYTES:
                yield from [part] if part else []
            else:
                step = SENTENCE_BYTES // 4
                yield from (part[i : i + step] for i in range(0, len(part), step))


def train_sentencepiece(
    lines: Iterable[str], vocab_size: int, report: Report = silent
) -> SentencePieceTokenizer:
    """Learn pieces from an even sample of the lines; a small text gives fewer than asked."""
    sample = sample_lines(lines)
    check_vocab_size(sample.lines, vocab_size)
    report("learning", 0, 1)
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        # Without a piece for it, a space would be encoded as the bytes of its symbol.
        sentence_iterator=iter([*sample.lines, " "]),
        model_writer=model,
        model_type="bpe",
        vocab_size=min(vocab_size, most_pieces(sample.lines)),
        hard_vocab_limit=False,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        add_dummy_prefix=False,
        allow_whitespace_only_pieces=True,
        byte_fallback=True,
        character_coverage=1.0,
        user_defined_symbols=["\n"],
        unk_id=0,
        bos_id=1,
        eos_id=2,
        pad_id=-1,
        num_threads=1,  # is written into the model, whose bytes must not depend on the machine
        minloglevel=2,
    )
    report("learning", 1, 1)
    return SentencePieceTokenizer(model.getvalue())


def most_pieces(lines: Sequence[str]) -> int:
    """More than any text allows: each merge takes a place where two pieces meet in it."""
    return 259 + len(set().union(*lines) | {"\n", " "}) + sum(map(len, lines))


def check_vocab_size(lines: Sequence[str], vocab_size: int) -> None:
    """Refuse what SentencePiece cannot do, with the number that it could."""
    characters = set().union(*lines)
    if not characters:
        raise UserError(
            "the text is empty, so there is no vocabulary to learn: "
            "give a text with more than line breaks, or use data.tokenizer=bytes"
        )
    # 256 bytes, <unk>, <s>, </s>; newline and space have a piece even where the text has none.
    least = len(characters | {"\n", " "}) + 259
    if vocab_size < least:
        raise UserError(
            f"data.vocab_size = {vocab_size} is too small for the {least - 259} distinct "
            f"characters of this text, space and line break among them: "
            f"give at least {least} (distinct characters + 259), "
            "or use data.tokenizer=bytes"
        )


def load_tokenizer(name_or_path: str, folder: Path | None = None) -> Tokenizer:
    """The tokenizer called `bytes`, the one a run keeps in `folder`, or the one at a path."""
    if name_or_path == "bytes":
        return ByteTokenizer()
    if folder is not None and (name_or_path == "sentencepiece" or reads_pieces(folder)):
        return read_model(folder / "tokenizer.model")
    if name_or_path == "sentencepiece":
        raise UserError("data.tokenizer = sentencepiece is not trained yet; give a path")
    path = Path(name_or_path).expanduser()
    if not path.is_dir():
        return read_model(path)
    return ByteTokenizer() if reads_bytes(path) else read_model(path / "tokenizer.model")


def reads_pieces(run: Path) -> bool:
    """Whether the folder keeps a tokenizer of its own."""
    return (run / "tokenizer.model").exists()


def reads_bytes(run: Path) -> bool:
    """Whether this is the folder of a run on bytes, which need no file."""
    settings = run / "config.toml"
    if reads_pieces(run) or not settings.exists():
        return False
    return load(settings).data.tokenizer == "bytes"


def read_model(path: Path) -> SentencePieceTokenizer:
    """The SentencePiece model in a file."""
    try:
        model = path.read_bytes()
    except FileNotFoundError:
        hint = nearest(str(path), ["bytes", "sentencepiece"]) or "; give bytes or a .model file"
        raise UserError(f"no tokenizer at {path}{hint}") from None
    except OSError as error:
        raise UserError(f"cannot read the tokenizer {path}: {error.strerror}") from None
    try:
        return SentencePieceTokenizer(model)
    except RuntimeError:
        raise UserError(f"{path} is not a SentencePiece model; give a .model file") from None
