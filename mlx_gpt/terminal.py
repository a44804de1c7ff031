"""What the command line writes: notes and progress on stderr, results on stdout."""

import itertools
import json
import os
import sys
import time
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from mlx_gpt.errors import UserError
from mlx_gpt.language import say

LINE_SECONDS = 0.2  # between two lines of a stage
STAGES = {  # of a preparation, in English and Spanish; any other stage is its own words
    "reading": ("reading the text", "leyendo el texto"),
    "learning": ("training the tokenizer", "entrenando el tokenizador"),
    "tokenising": ("tokenising", "tokenizando"),
}
FELT = ("Cf", "Zl", "Zp")  # format characters and separators of lines: they act, and are not seen


def note(text: str) -> None:
    """One line for the person watching; never part of a result."""
    progress.clear()
    print(visible(text), file=sys.stderr, flush=True)


def emit(record: Any) -> None:
    """One JSON document on a line of stdout; strict JSON, so no NaN."""
    print(json.dumps(record, ensure_ascii=False, allow_nan=False), flush=True)


def given_text(argument: str) -> str:
    """The text of an argument, or of stdin for "-": UTF-8 whatever the locale says."""
    try:
        data = sys.stdin.buffer.read() if argument == "-" else os.fsencode(argument)
    except UnicodeEncodeError:
        return argument
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        place = "on stdin" if argument == "-" else "in the argument"
        raise UserError(
            f"the text {place} is not UTF-8 (byte {error.start}); convert it first, "
            "as in iconv -f latin1 -t utf-8"
        ) from None


def has_color(stream: TextIO) -> bool:
    """Whether escape sequences for colour are welcome there."""
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def visible(text: str) -> str:
    """Text with its control characters shown as symbols, so that none acts on the terminal.

    Newline and tab stay. C0 controls and DEL become pictures, C1 a replacement. What is only felt
    in the letters beside it (bidirectional and zero-width marks, joiners, soft hyphens, line
    separators) becomes its number: ‹202E›.
    """
    return "".join(map(visible_character, text))


def one_line(text: str) -> str:
    """Visible text on one line."""
    return visible(text).replace("\n", "⏎")


def visible_character(character: str) -> str:
    """One character, harmless."""
    code = ord(character)
    if character in "\n\t" or 32 <= code < 127:
        return character
    if code < 160:
        return chr(0x2400 + code) if code < 32 else "\u2421" if code == 127 else "\ufffd"
    return f"‹{code:04X}›" if unicodedata.category(character) in FELT else character


def table(rows: Sequence[Sequence[str]], *, right: Iterable[int] = ()) -> str:
    """Rows in columns that line up; the columns named in `right` are right-aligned."""
    if not rows:
        return ""
    widths = [max(width_of(row[i]) for row in rows) for i in range(len(rows[0]))]
    aligned = set(right)
    lines = []
    for row in rows:
        pads = [" " * (width - width_of(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [
            pad + cell if i in aligned else cell + pad
            for i, (cell, pad) in enumerate(zip(row, pads, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def width_of(text: str) -> int:
    """The columns that a text takes: letters of East Asia take two, combining marks none."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.category(each) in ("Mn", "Me") for each in text)


def cropped(text: str, width: int) -> str:
    """A text of at most so many columns; one that is cut ends in an ellipsis."""
    if width_of(text) <= width:
        return text
    kept = sum(end < width for end in itertools.accumulate(map(width_of, text)))
    return text[:kept] + "…"


def duration(seconds: float) -> str:
    """Seconds as people say them: 8 s, 3 min 20 s, 2 h 5 min, 500 d 15 h."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def spaced(number: int) -> str:
    """A number with its thousands apart: 867 072."""
    return f"{number:,}".replace(",", " ")


def size(count: float) -> str:
    """Bytes in the unit that leaves at most four digits."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


class Progress:
    """One line on stderr that is rewritten in place; silent when nobody watches.

    With `in_lines` another program reads stderr: each stage is told in lines of its own,
    by its name, which no language changes.
    """

    def __init__(self) -> None:
        self.in_lines = False
        self.drawn_at = 0.0
        self.width = 0

    def show(self, line: str, *, last: bool = False) -> None:
        """Draw the line, at most ten times a second unless it is the last."""
        now = time.monotonic()
        if not sys.stderr.isatty() or (now - self.drawn_at < 0.1 and not last):
            return
        columns = os.get_terminal_size(sys.stderr.fileno()).columns or 80  # 0 means unknown
        line = line[: max(columns - 1, 1)]
        print(f"\r{line.ljust(self.width)}", end="\n" if last else "", file=sys.stderr, flush=True)
        self.drawn_at, self.width = now, 0 if last else len(line)

    def bar(self, stage: str, done: int, total: int) -> None:
        """A stage of known length: its name, a bar and the share done."""
        share = min(done / total, 1.0) if total else 1.0
        if self.in_lines and time.monotonic() - self.drawn_at > LINE_SECONDS:
            self.drawn_at = time.monotonic()
            print(f"{stage} {share:.0%}", file=sys.stderr, flush=True)
        filled = round(share * 30)
        words = say(*STAGES.get(stage, (stage, stage)))
        self.show(f"{words} {'█' * filled}{'░' * (30 - filled)} {share:4.0%}", last=done >= total)

    def clear(self) -> None:
        """Wipe the line, so that a note can stand in its place."""
        if self.width:
            print(f"\r{' ' * self.width}\r", end="", file=sys.stderr, flush=True)
            self.width = 0


progress = Progress()
