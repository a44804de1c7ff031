"""Tables of numbers as heatmaps: numbers on colour while they fit, then blocks, half blocks, signs.

Axes: R C are rows and columns of the table.
"""

from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from rich.cells import cell_len, set_cell_size
from textual.color import Color
from textual.content import Content
from textual.style import Style

from tui.plot import percentiles

Mode = Literal["auto", "numbers", "tight", "blocks", "broad", "half", "signs"]
MODES: tuple[Mode, ...] = ("auto", "numbers", "blocks", "half", "signs")
LEVELS = 16
HALVES = ("broad", "half")  # two rows in a line
SIGNS = "·░▒▓█"
SHADES = " ░▒▓█"  # of shares, for · is none at all
UNKNOWN, NOTHING = -1, -2  # in place of a level: no number; no share, as where a weight is masked
Cell = tuple[int, int]  # row and column of a table
# Viridis (Smith & van der Walt 2015): its lightness grows evenly, so that grey tells the same.
VIRIDIS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
COLD_TO_WARM = ((69, 117, 219), (34, 60, 110), (40, 40, 40), (120, 52, 30), (232, 113, 60))


class Table(NamedTuple):
    """What is drawn: numbers (R, C), labels of rows and columns, and what kind of numbers."""

    values: np.ndarray
    rows: Sequence[str]
    columns: Sequence[str]
    shares: bool = False  # from 0 to 1, as weights and probabilities are


class Window(NamedTuple):
    """The part of a table that is seen."""

    first_row: int
    first_column: int
    rows: int
    columns: int


@cache
def ramp_colour(shares: bool, level: int) -> Color:
    """The colour of a level from 0 to LEVELS."""
    anchors = VIRIDIS if shares else COLD_TO_WARM
    place = level / LEVELS * (len(anchors) - 1)
    at = min(int(place), len(anchors) - 2)
    low, high = np.array(anchors[at]), np.array(anchors[at + 1])
    red, green, blue = (low + (high - low) * (place - at)).astype(int).tolist()
    return Color(red, green, blue)


@cache
def cell_style(shares: bool, level: int) -> Style:
    """A number on its colour, in ink that can be read there."""
    ground = ramp_colour(shares, level)
    ink = Color(0, 0, 0) if ground.brightness > 0.5 else Color(255, 255, 255)
    return Style(background=ground, foreground=ink)


@cache
def half_style(shares: bool, upper: int, lower: int) -> Style:
    """Two cells in one character."""
    return Style(foreground=ramp_colour(shares, upper), background=ramp_colour(shares, lower))


def levels_of(table: Table) -> np.ndarray:
    """The level of each cell; UNKNOWN where there is no number, NOTHING where there is no share.

    Shares go by their root, so that small ones are seen; others by the largest there is.
    """
    values = np.asarray(table.values, np.float64)
    known = np.isfinite(values)
    safe = np.where(known, values, 0.0)
    if table.shares:
        scaled = np.sqrt(np.clip(safe, 0, 1)) * LEVELS
    else:
        largest = float(percentiles(np.abs(safe[known]), [99])[0]) if known.any() else 0.0
        scaled = (np.clip(safe / (largest or 1.0), -1, 1) + 1) / 2 * LEVELS
    levels = np.where(known, np.rint(scaled).astype(int), UNKNOWN)
    return np.where(table.shares & (values == 0), NOTHING, levels)


def number_text(value: float, shares: bool) -> str:
    """A number in three or five characters."""
    if np.isnan(value):
        return "nan" if shares else "  nan"
    if np.isinf(value):
        return (" ∞" if value > 0 else "-∞").rjust(3 if shares else 5)
    if shares:
        text = f"{value:.2f}"
        return " · " if value == 0 else "1.0" if value >= 0.995 else text[1:]
    texts = (f"{value:.2f}", f"{value:.1f}", f"{value:.0f}", f"{value:.0e}")
    return next((text for text in texts if len(text) <= 5), texts[-1]).rjust(5)


def cell_width(mode: Mode, shares: bool) -> int:
    """Columns of the terminal that a cell takes."""
    number = 3 if shares else 5
    return {"numbers": number + 1, "tight": number, "half": 1}.get(mode, 2)


def rows_per_line(mode: Mode) -> int:
    """Rows of the table in a line of the terminal."""
    return 2 if mode in HALVES else 1


def fitting(table: Table, width: int, height: int, *, colour: bool) -> Mode:
    """The mode that shows all of a table, as readable as there is room for."""
    R, C = table.values.shape
    modes: tuple[Mode, ...] = ("numbers", "tight", "blocks", "broad", "half")
    if not colour:
        modes = ("numbers", "tight", "signs") if keep_apart(table) else ("numbers", "signs")
    for mode in modes:
        high = -(-R // rows_per_line(mode))
        if C * cell_width(mode, table.shares) <= width and high <= height:
            return mode
    return modes[-1]


def keep_apart(table: Table) -> bool:
    """Whether numbers can be told apart without a gap: each begins with a point, blank or minus."""
    return table.shares or not (np.isfinite(table.values) & (table.values >= 9.995)).any()


def window_of(table: Table, mode: Mode, width: int, height: int, corner: tuple[int, int]) -> Window:
    """The part that fits, from a corner on or as near to it as the table goes."""
    R, C = table.values.shape
    rows = min(R, max(height, 1) * rows_per_line(mode))
    columns = min(C, max(width // cell_width(mode, table.shares), 1))
    first_row = min(max(corner[0], 0), R - rows)
    first_column = min(max(corner[1], 0), C - columns)
    return Window(first_row, first_column, rows, columns)


def label_width(table: Table, width: int) -> int:
    """The columns that the labels of rows take: a quarter at most."""
    return min(max([cell_len(name) for name in table.rows] or [0]), max(width // 4, 4))


def best_mode(table: Table, width: int, height: int, *, colour: bool) -> Mode:
    """The mode of a heatmap within so many columns and lines, labels counted."""
    room = max(width - label_width(table, width) - 1, 2)
    return fitting(table, room, height - 1, colour=colour)


def heatmap(
    table: Table,
    width: int,
    height: int,
    *,
    mode: Mode = "auto",
    corner: tuple[int, int] = (0, 0),
    colour: bool = True,
    cell: Cell | None = None,
) -> tuple[Content, Window, Mode]:
    """The table within so many columns and lines; what of it is seen, and how.

    The labels of the row and column of `cell` stand out.
    """
    label = label_width(table, width)
    room = max(width - label - 1, 2)
    if mode == "auto":
        mode = best_mode(table, width, height, colour=colour)
    spare = room - table.values.shape[1] * cell_width(mode, table.shares)
    if mode in HALVES and spare > 0:
        more = min(spare, label + 1)
        label, room = label + more, room - more
    window = window_of(table, mode, room, height - 1, corner)
    lines = [head(table, window, mode, label, cell)]
    levels, step = levels_of(table), rows_per_line(mode)
    last = window.first_row + window.rows
    for row in range(window.first_row, last, step):
        held = range(row, min(row + step, last))
        here = cell is not None and cell[0] in held
        name = row_name([table.rows[each] for each in held], label)
        cells = row_cells(table, levels, row, window, mode)
        style = "bold reverse" if here else "$text-muted"
        lines.append(Content.assemble((name, style), " ", cells))
    return Content("\n").join(lines), window, mode


def row_name(names: Sequence[str], label: int) -> str:
    """The label of a line: of two rows in one line, both as far as there is room."""
    upper, *others = names
    room = label - 1
    if others and room > 1:
        short = min(cell_len(others[0]), max(room // 2, room - cell_len(upper)))
        upper = f"{clipped(upper, room - short)}/{clipped(others[0], short)}"
    text = clipped(upper, label)
    return " " * (label - cell_len(text)) + text


def clipped(text: str, width: int) -> str:
    """As much of a text as so many columns hold."""
    return text if cell_len(text) <= width else set_cell_size(text, width)


def head(table: Table, window: Window, mode: Mode, label: int, cell: Cell | None) -> Content:
    """The labels of the columns, as many as have room."""
    first, each = window.first_column, cell_width(mode, table.shares)
    width, end = window.columns * each, 0
    chosen = None if cell is None else (cell[1] - first) * each
    line = [Content(" " * (label + 1))]
    for place in range(0, width, each):
        here = place == chosen
        room = each if here else max(each, 4) - 1
        name = clipped(table.columns[first + place // each], min(room, width - place)) or " "
        after = place + cell_len(name)
        covers = chosen is not None and place < chosen <= after
        if here or (not covers and (place > end or not end)):
            style = "bold reverse" if here else "$text-muted"
            line += [Content(" " * (place - end)), Content.styled(name, style)]
            end = after
    return Content("").join([*line, Content(" " * (width - end))])


def row_cells(table: Table, levels: np.ndarray, row: int, window: Window, mode: Mode) -> Content:
    """The cells of one line."""
    columns = range(window.first_column, window.first_column + window.columns)
    if mode in HALVES:
        below, wide = row + 1 < window.first_row + window.rows, cell_width(mode, table.shares)
        pairs = [(levels[row, c], levels[row + 1, c] if below else NOTHING) for c in columns]
        return Content("").join([half(table.shares, int(a), int(b), wide) for a, b in pairs])
    if mode in ("numbers", "tight"):
        gap = " " if mode == "numbers" else ""
        numbers = [float(table.values[row, c]) for c in columns]
        texts = [number_text(number, table.shares) + gap for number in numbers]
        pairs = zip(texts, levels[row, columns], strict=True)
        return Content("").join([coloured(text, table.shares, int(at)) for text, at in pairs])
    if mode == "signs":
        return Content("".join(sign(table, int(levels[row, c])) for c in columns))
    return Content("").join([coloured("  ", table.shares, int(levels[row, c])) for c in columns])


def coloured(text: str, shares: bool, level: int) -> Content:
    """A cell on its colour; one without a number stays plain."""
    if level < 0:
        return Content(text if text.strip() else mark_of(level) * len(text))
    return Content.styled(text, cell_style(shares, level))


def half(shares: bool, upper: int, lower: int, wide: int) -> Content:
    """Two cells, one over the other."""
    if upper < 0 and lower < 0:
        return Content(mark_of(max(upper, lower)) * wide)
    if lower < 0:
        return Content.styled("▀" * wide, Style(foreground=ramp_colour(shares, upper)))
    if upper < 0:
        return Content.styled("▄" * wide, Style(foreground=ramp_colour(shares, lower)))
    return Content.styled("▀" * wide, half_style(shares, upper, lower))


def sign(table: Table, level: int) -> str:
    """A cell as two characters: a minus where it has one, and the darker, the further from zero."""
    if level < 0:
        return mark_of(level) * 2
    if table.shares:
        return SHADES[round(level / LEVELS * (len(SHADES) - 1))] * 2
    middle = LEVELS // 2
    shade = SIGNS[round(abs(level - middle) / middle * (len(SIGNS) - 1))]
    return f"-{shade}" if level < middle and shade != SIGNS[0] else shade * 2


def mark_of(level: int) -> str:
    """What stands in place of a level: a cross where there is no number, a dot for no share."""
    return "×" if level == UNKNOWN else "·"


def bars(counts: Sequence[int]) -> str:
    """A histogram in one line."""
    most = max([1, *counts])
    return "".join("▁▂▃▄▅▆▇█"[round(count / most * 7)] if count else " " for count in counts)


def slice_of(array: np.ndarray, axes: tuple[int, int], index: Sequence[int]) -> np.ndarray:
    """Two axes of an array as a table, the others at their index."""
    picked = array[tuple(slice(None) if i in axes else at for i, at in enumerate(index))]
    return picked.T if axes[0] > axes[1] else picked
