"""Samples side by side, every token coloured by its probability."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from mlx_gpt.terminal import visible
from tui.messages import chosen, clickable
from tui.story import SURPRISE_STYLES, level
from tui.strand import END, Piece, Strand

NARROWEST = 22  # columns of a sample that stands beside others
PROMPT = -1
UNDER_CURSOR = "bold underline $error"  # of a token that is reversed already


class Bit(NamedTuple):
    """A part of a token on one line: its place in the sample, and its text."""

    at: int
    text: str


Line = list[Bit]


def shown_text(piece: Piece, *, under_cursor: bool) -> str:
    """What stands for a token: its text, or its name where it would be invisible."""
    if not piece.text:
        return piece.name if under_cursor or piece.name == END else ""
    return readable(piece.text)


def readable(text: str) -> str:
    """Text with line ends and tabs as signs; the line still ends after the sign."""
    return visible(text.replace("\t", "⇥").replace("\n", "⏎\n"))


def words(bits: Sequence[Bit]) -> Iterator[Line]:
    """Tokens that belong together: a new word begins with a space."""
    word: Line = []
    for bit in bits:
        if word and bit.text[:1].isspace():
            yield word
            word = []
        word.append(bit)
    if word:
        yield word


def wrapped(bits: Sequence[Bit], width: int) -> list[Line]:
    """Tokens on lines of that width; words stay whole where they fit."""
    lines: list[Line] = [[]]
    used = 0
    for word in words(bits):
        size = sum(cell_len(bit.text.rstrip("\n")) for bit in word)
        if used and used + size > width:
            lines.append([])
            used = 0
            word = [unindented(word[0]), *word[1:]]
        for bit in word:
            for part in bit.text.splitlines(keepends=True) or [""]:
                for character in cut(part.rstrip("\n"), width, used):
                    if character.startswith("\n"):
                        lines.append([])
                        used = 0
                    lines[-1].append(Bit(bit.at, character.lstrip("\n")))
                    used += cell_len(character.lstrip("\n"))
                if part.endswith("\n"):
                    lines.append([])
                    used = 0
    return lines


def unindented(bit: Bit) -> Bit:
    """The first token of a line without the space that parted it from the word before."""
    return bit._replace(text=bit.text.removeprefix(" ") or bit.text)


def cut(text: str, width: int, used: int) -> list[str]:
    """A text in parts that fit; one that begins a new line begins with a line end."""
    parts, now = [], ""
    for character in text:
        if used + cell_len(now + character) > width and (now or used):
            parts.append(now)
            now, used = "\n", 0
        now += character
    return [*parts, now]


def bits_of(strand: Strand, cursor: int | None) -> list[Bit]:
    """The prompt and the tokens of a sample."""
    tokens = [
        Bit(i, shown_text(piece, under_cursor=i == cursor)) for i, piece in enumerate(strand.pieces)
    ]
    return [Bit(PROMPT, readable(strand.text)), *tokens]


class TokenText(Widget, can_focus=True):
    """The samples; the cursor stands on a token of one of them."""

    topic = "help.tokens"

    def __init__(self) -> None:
        super().__init__(id="tokens")
        self.strands: list[Strand] = []
        self.active = self.cursor = 0
        self.at_end = True

    def show(self, strands: Sequence[Strand], active: int, cursor: int) -> None:
        """Other samples, or the cursor elsewhere."""
        self.strands, self.active, self.cursor = list(strands), active, cursor
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Point at a token."""
        if message := chosen(event):
            self.post_message(message)

    def columns(self) -> list[int]:
        """The numbers of the samples that there is room for, the active one among them."""
        room = max(self.size.width // NARROWEST, 1)
        first = min(max(self.active - room + 1, 0), max(len(self.strands) - room, 0))
        return list(range(len(self.strands)))[first : first + room]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """All the height there is."""
        return container.height

    def render(self) -> Content:
        """The columns, scrolled so that the cursor is seen."""
        shown = self.columns()
        if not shown:
            return Content("")
        width = (self.size.width - len(shown) + 1) // len(shown)
        heads = len(self.strands) > 1
        height = max(self.size.height - heads, 1)
        blocks = [self.column(number, width, height) for number in shown]
        if heads:
            blocks = [
                [self.head(number, width, shown), *block]
                for number, block in zip(shown, blocks, strict=True)
            ]
        rows = zip(*blocks, strict=True)
        return Content("\n").join([Content("│").join(row) for row in rows])

    def head(self, number: int, width: int, shown: Sequence[int]) -> Content:
        """What stands above a sample: its number, and whether there are others beyond the edge."""
        before = "‹" if number == shown[0] > 0 else " "
        after = " ›" if number == shown[-1] < len(self.strands) - 1 else ""
        title = f"{before}{number + 1}/{len(self.strands)}{after}"
        style = "reverse" if number == self.active else "$text-muted"
        return Content.styled(title[:width].ljust(width), style)

    def column(self, number: int, width: int, height: int) -> list[Content]:
        """The lines of a sample that are seen."""
        strand = self.strands[number]
        cursor = self.cursor if number == self.active else None
        lines = wrapped(bits_of(strand, cursor), width)
        first = self.first_line(lines, cursor, height)
        seen = lines[first : first + height]
        drawn = [self.line(strand, number, line, cursor, width) for line in seen]
        return drawn + [Content(" " * width)] * (height - len(drawn))

    def first_line(self, lines: Sequence[Line], cursor: int | None, height: int) -> int:
        """The line to begin with: the cursor's in sight, or the end."""
        at = len(lines) - 1
        if cursor is not None:
            at = next(
                (i for i, line in enumerate(lines) if any(bit.at == cursor for bit in line)), at
            )
        return max(at - height + 1, 0)

    def line(
        self, strand: Strand, number: int, line: Line, cursor: int | None, width: int
    ) -> Content:
        """One line of a sample, as wide as its column."""
        parts = [self.bit(strand, number, bit, cursor) for bit in line if bit.text]
        used = sum(cell_len(bit.text) for bit in line)
        return Content("").join([*parts, Content(" " * max(width - used, 0))])

    def bit(self, strand: Strand, number: int, bit: Bit, cursor: int | None) -> Content:
        """A token in its colour; a click puts the cursor on it."""
        if bit.at == PROMPT:
            return Content.styled(bit.text, "bold")
        piece = strand.pieces[bit.at]
        style = SURPRISE_STYLES[level(-math.log(piece.p) if piece.p > 0 else math.inf)]
        if bit.at == cursor:
            style = UNDER_CURSOR if "reverse" in style else f"{style} reverse"
        if piece.chosen:
            style += " underline"
        return Content.styled(bit.text, style).stylize(clickable("token", number, bit.at))
