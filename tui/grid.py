"""A row as a table: which two axes are shown, where the others stand, and how it is drawn."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from textual.content import Content

from mlx_gpt.traces import Row
from tui.heat import MODES, Cell, Mode, Table, Window, best_mode, heatmap, slice_of
from tui.inside import array


class Grid:
    """How the numbers of rows are looked at; each kind of row keeps its place."""

    def __init__(self) -> None:
        self.pair = self.held = 0
        self.index: dict[str, list[int]] = {}
        self.mode: Mode = "auto"
        self.fits: Mode = "auto"  # what automatic comes to, in the table that was drawn last
        self.corner = (0, 0)
        self.window: Window | None = None
        self.shape = (0, 0)  # of the table that was drawn last
        self.cell: Cell | None = None  # whose number is read

    def pairs(self, row: Row) -> list[tuple[int, int]]:
        """The pairs of axes that can be a table: the last two first, then turned."""
        n = len(row.shape)
        found = [(i, j) for i in range(n) for j in range(i + 1, n)][::-1]
        return found + [(j, i) for i, j in found]

    def axes(self, row: Row) -> tuple[int, int]:
        """The axes of the table; a row of fewer than two axes is one line."""
        pairs = self.pairs(row)
        return pairs[self.pair % len(pairs)] if pairs else (0, 0)

    def place(self, row: Row) -> list[int]:
        """Where the axes stand that are not shown."""
        index = self.index.setdefault(row.kind, [0] * len(row.shape))
        for axis, size in enumerate(row.shape):
            index[axis] = min(index[axis], size - 1)
        return index

    def held_axis(self, row: Row) -> int | None:
        """The axis that is moved along: one of those that are not shown, at first the last."""
        others = [axis for axis in range(len(row.shape)) if axis not in self.axes(row)]
        return others[(self.held - 1) % len(others)] if others else None

    def move(self, row: Row, step: int) -> None:
        """Along the axis that is held."""
        axis = self.held_axis(row)
        if axis is not None:
            index = self.place(row)
            index[axis] = (index[axis] + step) % row.shape[axis]

    def turn(self) -> None:
        """Another pair of axes."""
        self.pair += 1
        self.leave()

    def next_mode(self) -> None:
        """Numbers, blocks, half blocks, signs, or whichever fits; that one comes only once."""
        at = MODES.index(self.mode)
        ways = (*MODES[at + 1 :], *MODES[: at + 1])
        self.mode = next(mode for mode in ways if mode != self.fits)

    def scroll(self, rows: int, columns: int) -> None:
        """Half a window further."""
        if self.window is not None:
            down = rows * max(self.window.rows // 2, 1)
            right = columns * max(self.window.columns // 2, 1)
            top, left = self.window.first_row, self.window.first_column
            self.corner = (max(top + down, 0), max(left + right, 0))

    def point(self, rows: int, columns: int) -> None:
        """Read another cell; the first one is at the end of what is seen."""
        window = self.window
        if window is None:
            return
        at = self.cell or (window.first_row + window.rows - 1, window.first_column)
        move = (rows, columns) if self.cell else (0, 0)
        row, column = (
            min(max(place + step, 0), size - 1)
            for place, step, size in zip(at, move, self.shape, strict=True)
        )
        self.cell = row, column
        self.corner = (
            min(max(window.first_row, row - window.rows + 1), row),
            min(max(window.first_column, column - window.columns + 1), column),
        )

    def leave(self) -> None:
        """Another table: from its start, no cell of it is read."""
        self.corner, self.cell = (0, 0), None

    def describe(self, row: Row, *, sizes: bool = True) -> str:
        """The axes: those of the table with their size, the others with their index."""
        words, shown, index = [], self.axes(row), self.place(row)
        held = self.held_axis(row)
        for axis, (name, size) in enumerate(zip(row.axes.split(), row.shape, strict=True)):
            place = f":{size}" if axis in shown else f"={index[axis]}/{size}"
            mark = "›" if axis == held else ""
            words.append(f"{mark}{name}{place if sizes else place.partition('/')[0]}")
        return " ".join(words)

    def table(self, row: Row, answer: Mapping[str, Any]) -> tuple[np.ndarray, list[str]]:
        """The numbers of the table, and the names of its two axes."""
        numbers, names = array(answer["value"]), row.axes.split()
        if len(row.shape) < 2:
            return np.atleast_2d(numbers), ["", *(names or [""])]
        axes = self.axes(row)
        whole = answer["axes"] is None
        cut = slice_of(numbers, axes, self.place(row)) if whole else numbers
        return cut, [names[axis] for axis in axes]

    def draw(self, table: Table, width: int, height: int, *, colour: bool) -> Content:
        """The table within so many columns and lines; below it, which part of it is seen."""
        R, C = self.shape = table.values.shape
        if self.cell is not None:
            self.cell = min(self.cell[0], R - 1), min(self.cell[1], C - 1)
        self.fits = best_mode(table, width, height - 1, colour=colour)
        content, window, _ = heatmap(
            table,
            width,
            height - 1,
            mode=self.mode,
            corner=self.corner,
            colour=colour,
            cell=self.cell,
        )
        self.window = window
        if (window.rows, window.columns) == table.values.shape:
            return content
        note = Content.styled(place_text(window, table.values.shape, width), "$text-muted")
        return Content("\n").join([content, note])


def place_text(window: Window, shape: Sequence[int], width: int) -> str:
    """Which rows and columns are seen of how many, and the keys: as much as a line has room for."""
    rows = span(window.first_row, window.rows)
    columns = span(window.first_column, window.columns)
    ways = (
        f"{rows} / {shape[0]} × {columns} / {shape[1]}   {{ }} [ ]",
        f"{rows}/{shape[0]} × {columns}/{shape[1]} {{}}[]",
        f"{rows} × {columns} {{}}[]",
        f"{rows} × {columns}",
    )
    return next((way for way in ways if len(way) <= width), "{ } [ ]")


def span(first: int, count: int) -> str:
    """A part of an axis."""
    return f"{first}–{first + count - 1}"
