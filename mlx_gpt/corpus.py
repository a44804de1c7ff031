"""Files, folders or the built-in stories as a stream of text, document by document."""

import codecs
import functools
import gzip
import hashlib
import itertools
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mlx_gpt.config import DataConfig
from mlx_gpt.errors import UserError
from mlx_gpt.stories import stories
from mlx_gpt.tokenizer import CHUNK, utf8

BLOCK = 1 << 20  # bytes read at once
STORIES_SEED = 0  # not the training seed: runs with different seeds share text, tokens, validation
SUFFIXES = (".txt", ".md", ".jsonl", ".txt.gz", ".md.gz", ".jsonl.gz")
# Control bytes that text files do not hold: all but \a \b \t \n \v \f \r and escape.
CONTROLS = bytes(set(range(32)) - set(range(7, 14)) - {27})


class Part(NamedTuple):
    """A piece of a document: whole lines, or a slice of an endless one."""

    text: str
    last: bool  # the document ends here
    done: int  # how far into the corpus, of `Corpus.total`


class Corpus:
    """The text that a configuration names, read anew at every pass."""

    def __init__(self, config: DataConfig) -> None:
        check_encoding(config.encoding)
        self.config = config
        self.files = find_files(config.files)
        self.with_bom: list[Path] = []
        self.with_crlf: list[Path] = []

    @property
    def sources(self) -> tuple[str, ...]:
        """Where the text comes from."""
        config = self.config
        built_in = f"{config.stories} built-in stories ({config.language})"
        return tuple(map(str, self.files)) or (built_in,)

    @property
    def total(self) -> int:
        """The `done` of the last part: bytes of files, or stories."""
        sizes = [path.stat().st_size for path in self.files]
        return sum(sizes) if sizes else self.config.stories

    def state(self) -> list[tuple[int, int]]:
        """Size and time of each file, which differ once somebody writes to it."""
        return [(path.stat().st_size, path.stat().st_mtime_ns) for path in self.files]

    @functools.cached_property
    def identity(self) -> str:
        """A hash of all that decides the text."""
        digest = hashlib.sha256(json.dumps([self.config.encoding, *self.sources]).encode())
        # The program that tells the stories decides them, and is read faster than it tells.
        for path in self.files or sorted(Path(__file__).parent.glob("stor*.py")):
            for block, _ in read_blocks(path):
                digest.update(block)
            digest.update(b"\0end of file\0")
        return digest.hexdigest()

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader changed in the files; complete after a pass over the parts."""
        changes = {
            "removed the byte order mark at the start of": self.with_bom,
            "turned CRLF line ends into LF in": self.with_crlf,
        }
        return tuple(f"{what} {listed(paths)}" for what, paths in changes.items() if paths)

    def stories(self) -> Iterator[str]:
        """The built-in stories that the configuration asks for."""
        return itertools.islice(stories(STORIES_SEED, self.config.language), self.config.stories)

    def parts(self) -> Iterator[Part]:
        """The whole text, piece by piece."""
        if not self.files:
            for i, story in enumerate(self.stories()):
                yield Part(story, True, i + 1)
        self.with_bom, self.with_crlf = [], []
        before = 0
        for path in self.files:
            for part in self.file_parts(path):
                yield part._replace(done=before + part.done)
            before += path.stat().st_size

    def file_parts(self, path: Path) -> Iterator[Part]:
        """One file: a document, or a document in each row of JSON lines."""
        text = self.normalised(path)
        has_rows = path.name.lower().endswith((".jsonl", ".jsonl.gz"))
        parts = row_parts(path, text) if has_rows else document_parts(text)
        found = False
        for part in parts:
            found = found or bool(part.text)
            yield part
        if not found:
            raise UserError(f"{path} is empty; remove it from data.files or give it some text")

    def normalised(self, path: Path) -> Iterator[tuple[str, int]]:
        """The text of a file without byte order mark and with LF line ends."""
        held, done = "", 0
        for i, (text, done) in enumerate(decoded(path, self.config.encoding)):
            if i == 0 and text.startswith("\ufeff"):
                self.with_bom.append(path)
                text = text[1:]
            text = held + text
            held = "\r" if text.endswith("\r") else ""
            text = text.removesuffix("\r")
            if "\r\n" in text and path not in self.with_crlf[-1:]:
                self.with_crlf.append(path)
            yield text.replace("\r\n", "\n"), done
        yield held, done


def listed(paths: Sequence[Path]) -> str:
    """A few names, and how many more."""
    names = ", ".join(str(path) for path in paths[:3])
    return f"{names} and {len(paths) - 3} more" if len(paths) > 3 else names


def check_encoding(encoding: str) -> None:
    """Refuse an encoding that Python does not know, or that is not one of text."""
    try:
        b"a".decode(encoding, "replace")
        codecs.getincrementaldecoder(encoding)
    except (LookupError, UnicodeError):
        raise UserError(
            f"data.encoding = {encoding}: no such text encoding; utf-8, latin-1 or cp1252?"
        ) from None


def find_files(names: Iterable[str]) -> tuple[Path, ...]:
    """Each file named, and the text files in each folder named, hidden ones left out."""
    found: dict[Path, None] = {}
    for name in names:
        path = Path(name).expanduser()
        if path.is_dir():
            found |= dict.fromkeys(text_files(path))
        elif path.is_file():
            found[path] = None
        elif path.exists():
            raise UserError(f"{name} is a pipe or a device, and text is read twice; save it first")
        else:
            raise UserError(f"no file or folder {name}")
    return tuple(found)


def text_files(folder: Path) -> list[Path]:
    """The text files in a folder and below, in order of their names."""
    inside = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    visible = [path for path in inside if not any(part.startswith(".") for part in path.parts)]
    chosen = sorted(folder / path for path in visible if path.name.lower().endswith(SUFFIXES))
    if not chosen:
        raise UserError(f"the folder {folder} holds no text file ({', '.join(SUFFIXES[:3])}, .gz)")
    return chosen


def read_blocks(path: Path) -> Iterator[tuple[bytes, int]]:
    """The bytes of a file, unzipped if need be, and how far into the file they end."""
    try:
        with path.open("rb") as raw:
            stream = gzip.GzipFile(fileobj=raw) if path.suffix.lower() == ".gz" else raw
            while block := stream.read(BLOCK):
                yield block, raw.tell()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"cannot read {path}: {reason}") from None


def decoded(path: Path, encoding: str) -> Iterator[tuple[str, int]]:
    """The text of a file, strictly decoded."""
    decoder = codecs.getincrementaldecoder(encoding)()
    offset = done = 0
    for block, done in read_blocks(path):
        if not offset and is_binary(block, encoding):
            raise UserError(f"{path} looks like a binary file, not text; remove it from data.files")
        start = offset - len(decoder.getstate()[0])
        try:
            text = decoder.decode(block)
        except UnicodeDecodeError as error:
            raise undecodable(path, encoding, block, start + error.start) from None
        yield text, done
        offset += len(block)
    start = offset - len(decoder.getstate()[0])
    try:
        yield decoder.decode(b"", final=True), done
    except UnicodeDecodeError as error:
        raise undecodable(path, encoding, b"", start + error.start) from None


def is_binary(block: bytes, encoding: str) -> bool:
    """Whether the start of a file has more NULs than text could."""
    wide = codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))
    return not wide and block.count(0) > 0.3 * len(block)


def undecodable(path: Path, encoding: str, block: bytes, offset: int) -> UserError:
    """What to say of bytes that are no text in this encoding."""
    if len(block) - len(block.translate(None, CONTROLS)) > 0.02 * len(block):
        return UserError(f"{path} looks like a binary file, not text; remove it from data.files")
    other = "cp1252" if encoding.lower() in ("latin-1", "iso-8859-1") else "latin-1"
    return UserError(
        f"{path} is not {encoding}: the byte at offset {offset} does not fit; convert the file, "
        f"or say what it is, as in data.encoding={other} (--encoding {other})"
    )


def document_parts(blocks: Iterable[tuple[str, int]]) -> Iterator[Part]:
    """One document, cut where the tokenizer would cut it, so that no cut changes its tokens."""
    rest, done = "", 0
    for text, done in blocks:
        rest += text
        end = rest.rfind("\n") + 1 or len(rest) // CHUNK * CHUNK
        yield Part(rest[:end], False, done)
        rest = rest[end:]
    yield Part(rest, True, done)


def row_parts(path: Path, blocks: Iterable[tuple[str, int]]) -> Iterator[Part]:
    """A document for each row of JSON lines that has text."""
    for number, (row, done) in enumerate(whole_lines(blocks), 1):
        document = row_text(path, number, row) if row.strip() else ""
        if document:
            yield Part(document, True, done)


def whole_lines(blocks: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """The lines of a text that comes in blocks."""
    rest, done = "", 0
    for text, done in blocks:
        *lines, rest = (rest + text).split("\n")
        for line in lines:
            yield line, done
    yield rest, done


def row_text(path: Path, number: int, row: str) -> str:
    """The text field of one row of JSON lines."""
    try:
        record = json.loads(row)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}, line {number} is not JSON: {error}") from None
    text = record.get("text") if isinstance(record, dict) else None
    if not isinstance(text, str):
        raise UserError(f'{path}, line {number} has no text; each row is like {{"text": "…"}}')
    try:
        utf8(text)
    except UserError as error:
        raise UserError(f"{path}, line {number}: {error}") from None
    return text.replace("\r\n", "\n")
