"""The views of a trace: which one is chosen, where it looks, and its text.

What a view needs and does not have is asked for through `wanted`; the page draws again when the
answer has come.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from textual.content import Content

from mlx_gpt.run import Record
from mlx_gpt.terminal import visible
from mlx_gpt.traces import Row
from tui.grid import Grid
from tui.heat import Table
from tui.i18n import t
from tui.inquiry import Inquiry, row_request
from tui.inside import array
from tui.inspect import account_text, cone_text, labs_text, lens_text, signs, slice_line
from tui.walk import Walk

VIEWS = ("row", "values", "attention", "lens", "cone", "account", "labs")
TABLES = ("values", "attention")
SHARES = ("weights", "probs")


class Room(NamedTuple):
    """The pane: its columns and lines, and whether colours can be told apart there."""

    width: int
    height: int
    colour: bool


class Views:
    """The chosen view and where it looks: a position, a head, a slice."""

    def __init__(self, inquiry: Inquiry, wanted: Callable[[str, Record], None]) -> None:
        self.inquiry, self.wanted = inquiry, wanted
        self.name = "row"
        self.position = self.changed = 0  # the token that is looked at; the one the cone changes
        self.head = 0
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
        return int(self.inquiry.trace.dims["n_heads"]) if self.inquiry.trace else 1

    def settle(self) -> None:
        """Look at the end of a new trace, within what it has."""
        count = len(self.inquiry.ids)
        self.position, self.changed = count - 1, count // 2
        self.head = min(self.head, self.heads - 1)
        self.grid.corner = (0, 0)

    def look(self, name: str) -> None:
        """Choose a view."""
        self.name, self.inquiry.faults = name, {}
        self.grid.corner = (0, 0)

    def move(self, row: Row, step: int) -> None:
        """To another head, index or position, whichever the view has."""
        count = len(self.inquiry.ids)
        if self.name == "attention":
            self.head = (self.head + step) % self.heads
        elif self.name == "values":
            self.grid.move(row, step)
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
        answer = self.answer(self.name, {"position": self.place})
        return name, self.waiting() if answer is None else self.told(answer, room.width)

    def told(self, answer: Record, width: int) -> Content:
        """The text of a view of one position."""
        piece = self.inquiry.piece
        if self.name == "lens":
            return lens_text(answer, piece, signs(self.inquiry.label(self.position)), width)
        if self.name == "account":
            return account_text(answer, piece, width)
        return cone_text(answer, [piece(token) for token in self.inquiry.ids], width)

    def values(self, row: Row, room: Room, hidden: frozenset[str]) -> tuple[str, Content]:
        """The numbers of a row, two axes at a time."""
        if row.name in hidden:
            return t("view.values"), Content(t("quiz.ask"))
        grid = self.grid
        fields = row_request(row.name, row.shape, grid.axes(row), grid.place(row))
        answer = self.answer("value", fields)
        title = f"{t('view.values')} · {row.kind}  {grid.describe(row)}"
        if answer is None:
            return title, self.waiting()
        values, names = grid.table(row, answer)
        table = Table(values, *self.labels(values, names), row.kind in SHARES)
        drawn = grid.draw(table, room.width, room.height - 1, colour=room.colour)
        return title, Content("\n").join([drawn, slice_line(values)])

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
        note = Content.styled(t("attention.note"), "$text-muted")
        return title, Content("\n").join([drawn, note])

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
