"""The views of a trace: which one is chosen, where it looks, and its text.

What a view needs and does not have is asked for through `wanted`; the page draws again when the
answer has come.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from rich.cells import cell_len
from textual.content import Content

from mlx_gpt.run import Record
from mlx_gpt.terminal import visible
from mlx_gpt.traces import Row
from tui.grid import Grid
from tui.heat import Table
from tui.i18n import t
from tui.inquiry import Inquiry, row_request
from tui.inside import array
from tui.inspect import account_text, as_many, cone_text, labs_text, lens_text, signs, slice_line
from tui.lenses import Turn, gradient_text, next_text, rope_text, source_text
from tui.listing import listing_of
from tui.walk import Walk

VIEWS = (
    "row",
    "values",
    "attention",
    "lens",
    "cone",
    "account",
    "next",
    "rope",
    "gradients",
    "source",
    "labs",
)
ASKS = {
    "values": "value",
    "attention": "attention",
    "lens": "lens",
    "cone": "cone",
    "account": "account",
    "next": "value",
    "rope": "value",
    "gradients": "gradients",
}  # the views that ask, and what kind of question
TABLES = ("values", "attention")
BAR = 1
SHARES = ("weights", "probs")
ROTATED = ("q_rot", "k_rot")


class Room(NamedTuple):
    """The pane: its columns and lines, and whether colours can be told apart there."""

    width: int
    height: int
    colour: bool

    @property
    def line(self) -> int:
        """The columns of a line of text, beside the scrollbar that may come."""
        return self.width - BAR


class Views:
    """The chosen view and where it looks: a position, a head, a slice."""

    def __init__(self, inquiry: Inquiry, wanted: Callable[[str, Record], None]) -> None:
        self.inquiry, self.wanted = inquiry, wanted
        self.name = "row"
        self.position = self.changed = 0  # the token that is looked at; the one the cone changes
        self.head = self.pair = 0  # the head that is looked at; RoPE's pair of dimensions
        self.grid = Grid()
        self.fault = ""
        self.broken: Record | None = None
        self.verdicts: list[Record] = []
        self.examining = False

    @property
    def place(self) -> int:
        """The token that the view is about."""
        return self.changed if self.name == "cone" else self.position

    @property
    def heads(self) -> int:
        """How many heads a layer has."""
        return self.dim("n_heads")

    def dim(self, name: str) -> int:
        """A size of the model that is traced."""
        return int(self.inquiry.trace.dims[name]) if self.inquiry.trace else 1

    def settle(self) -> None:
        """Look at the end of a new trace, within what it has."""
        count = len(self.inquiry.ids)
        self.position, self.changed = count - 1, count // 2
        self.head = min(self.head, self.heads - 1)
        self.pair = min(self.pair, max(self.dim("d_rope") // 2 - 1, 0))
        self.grid.leave()

    def forget(self) -> None:
        """No mistake has been made on purpose."""
        self.broken, self.verdicts, self.examining = None, [], False

    def look(self, name: str) -> None:
        """Choose a view."""
        self.name, self.inquiry.faults = name, {}
        self.grid.leave()

    def move(self, row: Row, step: int) -> None:
        """To another head, index or position, whichever the view has."""
        count = len(self.inquiry.ids)
        if self.name == "attention":
            self.head = (self.head + step) % self.heads
        elif self.name == "values":
            self.grid.move(row, step)
        elif self.name == "rope":
            self.pair = (self.pair + step) % max(self.dim("d_rope") // 2, 1)
        elif self.name == "cone":
            self.changed = (self.changed + step) % count
        else:
            self.position = (self.position + step) % count

    def answer(self, do: str, fields: Record) -> Record | None:
        """An answer about the pass: at once if it is here, else it is asked for."""
        found = self.inquiry.known(do, fields)
        self.fault = self.inquiry.fault(do, fields)
        if found is None and not self.fault:
            self.wanted(do, fields)
        return found

    def answers(self, questions: Sequence[Record]) -> list[np.ndarray] | None:
        """The numbers of several rows, asked for one after the other; None until all are here."""
        found = []
        for fields in questions:
            answer = self.answer("value", fields)
            if answer is None:
                return None
            found.append(array(answer["value"]))
        return found

    def waiting(self) -> Content:
        """What stands in place of an answer: why there is none, or that it is on its way."""
        return Content(visible(self.fault or t("trace.busy")))

    def text(self, walk: Walk, room: Room, hidden: frozenset[str]) -> tuple[str, Content]:
        """The title and the text of the chosen view."""
        name = t(f"view.{self.name}")
        if self.name == "labs":
            return name, labs_text(self.broken, self.verdicts, running=self.examining)
        if self.name == "values":
            return self.values(walk.row, room, hidden)
        if self.name == "attention":
            return self.attention(walk.node.layer or 0, room)
        if self.name == "source":
            listing = listing_of(walk.row.kind)
            place = f"{listing.file}:{listing.numbers[0]}" if listing else name
            return f"{walk.row.kind} · {place}", source_text(listing, room.width, room.height)
        if self.name == "next":
            return name, self.next_tokens(room)
        if self.name == "rope":
            return self.rope(walk.row, room)
        if self.name == "gradients":
            answer = self.answer("gradients", {})
            here = t("part.block", layer=walk.node.layer) if walk.node.layer is not None else ""
            shown = self.waiting() if answer is None else gradient_text(answer, here, room.line)
            return name, shown
        answer = self.answer(self.name, {"position": self.place})
        return name, self.waiting() if answer is None else self.told(answer, room.line)

    def told(self, answer: Record, width: int) -> Content:
        """The text of a view of one position."""
        piece = self.inquiry.piece
        if self.name == "lens":
            return lens_text(answer, piece, signs(self.inquiry.label(self.position)), width)
        if self.name == "account":
            return account_text(answer, piece, width)
        return cone_text(answer, [piece(token) for token in self.inquiry.ids], width)

    def next_tokens(self, room: Room) -> Content:
        """What comes next; of a model that is changed, beside what came without the change."""
        questions: list[Record] = [{"row": "last"}]
        if self.inquiry.given.changes:
            questions.append({"row": "last", "break": "", "edits": []})
        answers = self.answers(questions)
        if answers is None:
            return self.waiting()
        now, *sound = (numbers[0] for numbers in answers)
        return next_text(now, sound[0] if sound else None, self.inquiry.piece, room.width)

    def rope(self, row: Row, room: Room) -> tuple[str, Content]:
        """What RoPE makes of a pair of dimensions of a query or key."""
        name = t("view.rope")
        if row.kind not in ROTATED:
            return name, Content(t("rope.none"))
        rows = (row.name.removesuffix("_rot"), row.name)
        answers = self.answers([{"row": each} for each in rows])
        if answers is None:
            return name, self.waiting()
        turn = Turn(self.pair, self.dim("d_rope"), self.base())
        head = self.head % row.shape[1]
        pair = [self.pair, self.pair + turn.d_rope // 2]
        before, after = (numbers[0, head][:, pair] for numbers in answers)
        tokens = [self.inquiry.label(place) for place in range(len(before))]
        place = t("attention.place", layer=row.layer, head=head, heads=row.shape[1])
        shown = rope_text(before, after, turn, tokens, room.line)
        return f"{name} · {row.kind} · {place}", shown

    def base(self) -> float:
        """The base of RoPE's frequencies."""
        trace = self.inquiry.trace
        return float(trace.config["rope_base"]) if trace else 1.0

    def values(self, row: Row, room: Room, hidden: frozenset[str]) -> tuple[str, Content]:
        """The numbers of a row, two axes at a time."""
        if row.name in hidden:
            return t("view.values"), Content(t("quiz.ask"))
        grid = self.grid
        fields = row_request(row.name, row.shape, grid.axes(row), grid.place(row))
        answer = self.answer("value", fields)
        title = self.values_title(row, room)
        if answer is None:
            return title, self.waiting()
        values, names = grid.table(row, answer)
        table = Table(values, *self.labels(values, names), row.kind in SHARES)
        drawn = grid.draw(table, room.width, room.height - 1, colour=room.colour)
        words = self.read_out(table)
        note = Content.styled(visible(words), "$text-muted") if words else slice_line(values)
        return title, Content("\n").join([drawn, note])

    def values_title(self, row: Row, room: Room) -> str:
        """The row and how its axes stand: as much else as there is room for."""
        axes, short = self.grid.describe(row), self.grid.describe(row, sizes=False)
        kind = f"{t('view.values')} · {row.kind}  "
        ways = (f"{kind}{axes}", f"{row.kind}  {axes}", f"{row.kind}  {short}", axes)
        return next((way for way in ways if len(way) <= room.width), short)

    def attention(self, layer: int, room: Room) -> tuple[str, Content]:
        """Who looks at whom: the weights of one head."""
        place = t("attention.place", layer=layer, head=self.head, heads=self.heads)
        title = f"{t('view.attention')} · {place}"
        answer = self.answer("attention", {"layer": layer, "head": self.head})
        if answer is None:
            return title, self.waiting()
        weights = array(answer["value"])
        table = Table(weights, *self.labels(weights, ["T", "S"]), shares=True)
        drawn = self.grid.draw(table, room.width, room.height - 2, colour=room.colour)
        note = Content.styled(visible(self.looks_at(weights) or t("attention.note")), "$text-muted")
        query = self.grid.cell[0] if self.grid.cell else len(weights) - 1
        most = strongest(weights, table.rows, query, room.width)
        return title, Content("\n").join([drawn, most, note])

    def looks_at(self, weights: np.ndarray) -> str:
        """The weight under the cursor in words; nothing where no cell is read."""
        if self.grid.cell is None:
            return ""
        query, key = self.grid.cell
        a, b = (signs(self.inquiry.label(place)) for place in (query, key))
        return t("attention.cell", a=a, at=query, b=b, of=key, weight=f"{weights[query, key]:.4f}")

    def read_out(self, table: Table) -> str:
        """The number under the cursor; nothing where no cell is read."""
        if self.grid.cell is None:
            return ""
        row, column = self.grid.cell
        place = f"{table.rows[row]} ({row}), {table.columns[column]} ({column})"
        return f"{place}: {float(table.values[row, column]):.6g}"

    def labels(self, values: np.ndarray, names: list[str]) -> tuple[list[str], list[str]]:
        """The labels of rows and columns: tokens where an axis is one of tokens, else numbers."""
        rows, columns = (
            self.axis_labels(size, name) for size, name in zip(values.shape, names, strict=True)
        )
        return rows, columns

    def axis_labels(self, size: int, name: str) -> list[str]:
        """The labels of one axis."""
        if name in ("T", "S", "P") and size <= len(self.inquiry.ids):
            return [signs(self.inquiry.label(place)) for place in range(size)]
        if name == "V":
            return [signs(self.inquiry.piece(token)) for token in range(size)]
        return [str(place) for place in range(size)]


def strongest(weights: np.ndarray, tokens: Sequence[str], query: int, width: int) -> Content:
    """What a token looks at most, by the weights (T, S) of a head."""
    keys = np.argsort(-weights[query], kind="stable")[: query + 1].tolist()
    names = [f"‘{tokens[key]}’ {weights[query, key]:.0%}" for key in keys]
    head = f"‘{tokens[query]}’ → "
    return Content(f"{head}{as_many(names, width - cell_len(head))}")
