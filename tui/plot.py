"""Curves as text: arrays in, characters and the names of their styles out.

Axes: H W are rows and columns of characters; a character holds several dots.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from rich.cells import cell_len

from tui.columns import shortened

Marks = Literal["braille", "blocks", "ascii"]
MARKS: tuple[Marks, ...] = ("braille", "blocks", "ascii")
DOTS_OF: dict[Marks, tuple[int, int]] = {"braille": (2, 4), "blocks": (1, 2), "ascii": (1, 1)}
BRAILLE = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
BLOCKS = np.array([" ", "▀", "▄", "█"])
LABEL_WIDTH = 7
ROBUST = (1.0, 97.0)  # percentiles that an outlier-safe range spans
FEW = 30  # values of a curve that are too few to call any of them an outlier
OUTLYING = 2.5  # times the lowest of the curves' upper ends: a curve so high does not set the range
SIGN_COLUMNS = 24  # between two signs of a curve
DIGITS = 3  # of a number in few characters


class Unit(NamedTuple):
    """Another unit in which the values of a curve can be told."""

    name: str
    of: Callable[[float], float]


class Series(NamedTuple):
    """A curve: x ascending, y, and for a band its lower and upper edge."""

    name: str
    style: str
    x: np.ndarray
    y: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    points: bool = False
    sign: str = ""  # a letter that tells it from others without colour
    units: tuple[Unit, ...] = ()


class Reference(NamedTuple):
    """A horizontal line that the curves are compared with."""

    name: str
    y: float


class Figure(NamedTuple):
    """What a chart shows."""

    title: str
    series: tuple[Series, ...] = ()
    references: tuple[Reference, ...] = ()
    bytes: bool = False
    step: str = ""  # what the steps are called
    more: str = "+{count}"  # what is said of curves whose names have no room
    aside: str = ""  # what the title adds where every curve with a sign can be told beside it


class Look(NamedTuple):
    """How a chart shows it."""

    log: bool = False
    robust: bool = False
    x0: float | None = None
    x1: float | None = None
    cursor: float | None = None
    marks: Marks = "braille"


class View(NamedTuple):
    """The rectangle of the data that is seen."""

    x0: float
    x1: float
    y0: float
    y1: float
    log: bool
    hidden: int


class Piece(NamedTuple):
    """A run of characters in one style."""

    text: str
    style: str


Line = list[Piece]


def ema(values: np.ndarray, weight: float) -> np.ndarray:
    """Debiased exponential mean; what is not finite counts as missing."""
    known = np.isfinite(values)
    if weight <= 0 or not len(values):
        return np.where(known, values, np.nan)
    sums = decayed_sum(np.where(known, values, 0.0), weight)
    counts = decayed_sum(known.astype(float), weight)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(counts > 0, sums / counts, np.nan)


def decayed_sum(values: np.ndarray, weight: float) -> np.ndarray:
    """s[i] = weight * s[i-1] + values[i], in blocks short enough for weight**-i to stay exact."""
    block = max(1, int(16 / -math.log(weight)))
    rows = -(-len(values) // block)
    powers = weight ** np.arange(block)
    padded = np.zeros(rows * block)
    padded[: len(values)] = values
    sums = np.cumsum(padded.reshape(rows, block) / powers, axis=1) * powers
    carries = np.zeros(rows)
    for row in range(1, rows):
        carries[row] = sums[row - 1, -1] + powers[-1] * weight * carries[row - 1]
    sums += carries[:, None] * (powers * weight)
    return sums.reshape(-1)[: len(values)]


def view_of(figure: Figure, look: Look) -> View:
    """The rectangle that holds what is looked at."""
    ends = [float(x) for series in figure.series if len(series.x) for x in series.x[[0, -1]]]
    x0 = min(ends, default=0.0) if look.x0 is None else look.x0
    x1 = max(ends, default=1.0) if look.x1 is None else look.x1
    curves = visible_values(figure, x0, x1, look.log)
    y0, y1, hidden = y_range(curves, look.robust)
    near = [line.y for line in figure.references if line.y > 0]
    if near and not curves:
        y0, y1 = min(near), max(near)
    return View(
        x0, max(x1, x0 + 1e-9 * max(abs(x0), 1)), *padded(y0, y1, look.log), look.log, hidden
    )


def visible_values(figure: Figure, x0: float, x1: float, log: bool) -> list[np.ndarray]:
    """The finite values of each curve between two steps, where it has any."""
    curves = []
    for series in figure.series:
        start, end = np.searchsorted(series.x, [x0, x1 + 1e-9])
        edges = [edge for edge in (series.y, series.low, series.high) if edge is not None]
        parts = [edge[start:end] for edge in edges]
        cuts = [x for x in (x0, x1) if len(series.x) and series.x[0] < x < series.x[-1]]
        if cuts:  # the line enters or leaves the view there
            parts += [between(cuts, series.x, edge, log) for edge in edges]
        values = np.concatenate(parts)
        values = values[np.isfinite(values) & ((values > 0) | (not log))]
        curves += [values] if len(values) else []
    return curves


def between(at: Sequence[float], x: np.ndarray, y: np.ndarray, log: bool) -> np.ndarray:
    """The values of a line at some steps, straight on the axis on which it is drawn."""
    if not log:
        return np.interp(at, x, y)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.exp(np.interp(at, x, np.log(y)))


def y_range(curves: Sequence[np.ndarray], robust: bool) -> tuple[float, float, int]:
    """The lowest and highest value to show, and how many lie outside."""
    if not curves:
        return 1.0, 10.0, 0
    if not robust:
        return min(float(c.min()) for c in curves), max(float(c.max()) for c in curves), 0
    ends = [percentiles(c, ROBUST if len(c) >= FEW else (0, 100)) for c in curves]
    lowest = min(float(high) for _, high in ends)
    usual = [(low, high) for low, high in ends if not high > OUTLYING * lowest > 0]
    low, high = min(float(low) for low, _ in usual), max(float(high) for _, high in usual)
    return low, high, sum(int(((c < low) | (c > high)).sum()) for c in curves)


def percentiles(values: np.ndarray, wanted: Sequence[float]) -> np.ndarray:
    """Percentiles of values; NumPy's own function first imports 30 ms of masked arrays."""
    ranks = np.array(wanted) / 100 * (len(values) - 1)
    near = np.concatenate([np.floor(ranks), np.ceil(ranks)]).astype(int)
    return np.interp(ranks, np.arange(len(values)), np.partition(values, near))


def padded(y0: float, y1: float, log: bool) -> tuple[float, float]:
    """The range, opened where it has no height."""
    if y1 - y0 > 1e-12 * max(abs(y0), abs(y1)):
        return y0, y1
    if log:
        return y0 / 1.1, y1 * 1.1
    margin = abs(y0) * 0.05 or 0.5
    return y0 - margin, y1 + margin


def rows_of(y: np.ndarray, view: View, rows: int) -> np.ndarray:
    """The dot row of each value, 0 on top; NaN where there is none."""
    y0, y1 = view.y0, view.y1
    if view.log:
        with np.errstate(invalid="ignore", divide="ignore"):
            y = np.where(y > 0, np.log(y), np.nan)
        y0, y1 = math.log(y0), math.log(y1)
    return (y1 - y) * ((rows - 1) / (y1 - y0))


class Spans(NamedTuple):
    """The dots of a curve: for each column the first and the last row."""

    columns: np.ndarray
    top: np.ndarray
    bottom: np.ndarray


def spans(
    x: np.ndarray, low: np.ndarray, high: np.ndarray, view: View, columns: int, rows: int
) -> Spans:
    """The extent of the data in each column of dots that has any: no spike is lost.

    A line that enters or leaves the view begins or ends at its edge.
    """
    start, end = seen(x, view)
    near = slice(max(start - 1, 0), end + 1)
    x, low, high = x[near], low[near], high[near]
    top, bottom = rows_of(high, view, rows), rows_of(low, view, rows)
    known = np.isfinite(top) & np.isfinite(bottom)
    x, top, bottom = x[known], top[known], bottom[known]
    inside = np.clip(x, view.x0, view.x1)
    if not (inside == x).any() and len(x) < 2:
        return Spans(np.empty(0, int), top[:0], bottom[:0])
    top, bottom = np.interp(inside, x, top), np.interp(inside, x, bottom)
    column = ((inside - view.x0) * ((columns - 1) / (view.x1 - view.x0))).astype(int)
    first = np.flatnonzero(np.r_[True, column[1:] != column[:-1]])
    return Spans(
        column[first],
        np.rint(np.minimum.reduceat(top, first)),
        np.rint(np.maximum.reduceat(bottom, first)),
    )


def seen(x: np.ndarray, view: View) -> tuple[int, int]:
    """The first index within the view, and the first one beyond it."""
    start, end = np.searchsorted(x, [view.x0, view.x1 + 1e-9])
    return int(start), int(end)


def joined(dots: Spans) -> Spans:
    """The same dots with the gaps between them drawn: a line without holes."""
    if len(dots.columns) < 2:
        return dots
    columns = np.arange(dots.columns[0], dots.columns[-1] + 1)
    top = np.rint(np.interp(columns, dots.columns, dots.top))
    bottom = np.rint(np.interp(columns, dots.columns, dots.bottom))
    reach_up = np.where(bottom[:-1] < top[1:] - 1, bottom[:-1] + 1, top[1:])
    reach_down = np.where(top[:-1] > bottom[1:] + 1, top[:-1] - 1, bottom[1:])
    return Spans(columns, np.r_[top[0], reach_up], np.r_[bottom[0], reach_down])


def mask(dots: Spans, columns: int, rows: int) -> np.ndarray:
    """The dots as a picture (rows, columns)."""
    picture = np.zeros((rows, columns), bool)
    row = np.arange(rows)[:, None]
    inside = (dots.columns >= 0) & (dots.columns < columns)
    drawn = (row >= dots.top[inside]) & (row <= dots.bottom[inside])
    picture[:, dots.columns[inside]] = drawn
    return picture


def characters(picture: np.ndarray, marks: Marks) -> np.ndarray:
    """A picture of dots as characters (H, W); a space where there is none."""
    wide, high = DOTS_OF[marks]
    H, W = picture.shape[0] // high, picture.shape[1] // wide
    cells = picture.reshape(H, high, W, wide)
    if marks == "ascii":
        return np.where(cells.any((1, 3)), "*", " ")
    if marks == "blocks":
        return BLOCKS[cells[:, 0, :, 0] + 2 * cells[:, 1, :, 0]]
    codes = (cells * BRAILLE[None, :, None, :]).sum((1, 3))
    drawn = (codes + 0x2800).astype(np.uint32).reshape(-1).view("<U1").reshape(H, W)
    return np.where(codes > 0, drawn, " ")


class Canvas:
    """A plot being drawn: a character and the name of its style in every cell."""

    def __init__(self, width: int, height: int, view: View, marks: Marks) -> None:
        self.width, self.height, self.view = width, height, view
        self.marks: Marks = marks
        self.text = np.full((height, width), " ")
        self.styles = ["plot"]
        self.owner = np.zeros((height, width), int)

    def style(self, name: str) -> int:
        """The number of a style."""
        if name not in self.styles:
            self.styles.append(name)
        return self.styles.index(name)

    def put(self, text: np.ndarray, style: str) -> None:
        """Lay drawn characters over what is there."""
        drawn = text != " "
        self.text[drawn] = text[drawn]
        self.owner[drawn] = self.style(style)

    def curve(self, series: Series) -> None:
        """Draw a band under its line, or the line alone."""
        wide, high = DOTS_OF[self.marks]
        columns, rows = self.width * wide, self.height * high
        if series.low is not None and series.high is not None:
            dots = spans(series.x, series.low, series.high, self.view, columns, rows)
        else:
            dots = spans(series.x, series.y, series.y, self.view, columns, rows)
        if len(dots.columns):
            self.put(characters(mask(joined(dots), columns, rows), self.marks), series.style)
        if series.points:
            self.points(series)
        if series.sign:
            self.signs(series)

    def points(self, series: Series) -> None:
        """Mark every measured point of a curve that has few."""
        start, end = seen(series.x, self.view)
        x, y = series.x[start:end], series.y[start:end]
        dots = spans(x, y, y, self.view, self.width, self.height)
        picture = np.full((self.height, self.width), " ")
        inside = (dots.top >= 0) & (dots.top < self.height)
        picture[dots.top[inside].astype(int), dots.columns[inside]] = (
            "o" if self.marks == "ascii" else "●"
        )
        self.put(picture, series.style)

    def signs(self, series: Series) -> None:
        """The sign of a curve on it now and then, where other curves have none."""
        dots = joined(spans(series.x, series.y, series.y, self.view, self.width, self.height))
        first = 4 * (self.style(series.style) % 6)
        for column, row in zip(dots.columns.tolist(), dots.top.tolist(), strict=True):
            last = column == dots.columns[-1]
            if (column % SIGN_COLUMNS == first or last) and 0 <= row < self.height:
                self.text[int(row), column] = series.sign
                self.owner[int(row), column] = self.style(series.style)

    def row(self, y: float) -> int | None:
        """The row of a value, if it is seen."""
        row = float(rows_of(np.array([y]), self.view, self.height)[0])
        return round(row) if math.isfinite(row) and -0.5 <= row < self.height - 0.5 else None

    def reference(self, line: Reference) -> None:
        """A dashed line behind the curves, with its name at the right."""
        row = self.row(line.y)
        if row is None:
            return
        free = self.text[row] == " "
        self.text[row, free] = "-" if self.marks == "ascii" else "╌"
        self.owner[row, free] = self.style("reference")
        name = f" {line.name} "
        start = self.width - len(name)
        if start > 0:
            self.text[row, start:] = list(name)
            self.owner[row, start:] = self.style("reference")

    def column(self, x: float) -> int | None:
        """The column of a step, if it is seen."""
        view = self.view
        if not view.x0 <= x <= view.x1:
            return None
        return int((x - view.x0) * ((self.width - 1) / (view.x1 - view.x0)))

    def cursor(self, x: float) -> None:
        """A vertical line through the plot where it is free."""
        column = self.column(x)
        if column is not None:
            free = (self.text[:, column] == " ") | (self.text[:, column] == "╌")
            self.text[free, column] = "|" if self.marks == "ascii" else "│"
            self.owner[free, column] = self.style("cursor")

    def line(self, row: int) -> Line:
        """A row as pieces of one style each."""
        owner = self.owner[row]
        cuts = [0, *(np.flatnonzero(owner[1:] != owner[:-1]) + 1).tolist(), self.width]
        return [
            Piece("".join(self.text[row, a:b]), self.styles[owner[a]])
            for a, b in itertools.pairwise(cuts)
            if b > a
        ]


def ticks(low: float, high: float, most: int, *, log: bool = False) -> list[float]:
    """Round numbers between two values, at most so many."""
    if most < 1 or not high > low:
        return []
    if log and low > 0 and high / low > 20:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        marks = [digit * 10.0**power for power in decades for digit in (1, 2, 5)]
        inside = [mark for mark in marks if low <= mark <= high]
        return inside[:: math.ceil(len(inside) / most)] if inside else []
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * digit for digit in (1, 2, 5, 10) if power * digit >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def short(number: float, *, as_bytes: bool = False, digits: int = DIGITS) -> str:
    """A number in at most seven characters, unless more digits are wanted."""
    if not math.isfinite(number):
        return "–"
    if as_bytes:
        return scaled(number, ("B", "KB", "MB", "GB", "TB"), 1000, digits)
    size = abs(number)
    if size >= 1000:
        return scaled(number, ("", "k", "M", "G", "T"), 1000, digits)
    if number == int(number):
        return f"{number:.0f}"
    if size >= 100:
        return f"{number:.{digits - DIGITS}f}"
    if size >= 1e-3:
        return f"{number:.{digits}g}"
    mantissa, _, exponent = f"{number:.{digits - 2}e}".partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}"


def scaled(number: float, units: Sequence[str], base: int, digits: int) -> str:
    """A number in the unit that leaves at most three digits before the point."""
    for unit in units[:-1]:
        if abs(number) < base:
            near = abs(number) >= base - 0.5  # rounded it would be said with an exponent
            return f"{number:.0f}{unit}" if near else f"{number:.{digits}g}{unit}"
        number /= base
    return f"{number:.{digits}g}{units[-1]}"


def apart(numbers: Sequence[float], *, as_bytes: bool = False) -> list[str]:
    """Numbers with as many digits as tell them apart, as far as a label has room for them."""
    texts: list[str] = []
    for digits in range(DIGITS, LABEL_WIDTH):
        finer = [short(each, as_bytes=as_bytes, digits=digits) for each in numbers]
        if texts and max(map(len, finer)) > LABEL_WIDTH:
            break
        texts = finer
        if len(set(texts)) == len(texts):
            break
    return texts


def draw(figure: Figure, look: Look, width: int, height: int) -> list[Line]:
    """The whole chart: title with values, plot with y labels, x axis."""
    view = view_of(figure, look)
    axis = height >= 5
    inner, rows = max(width - LABEL_WIDTH - 1, 1), max(height - 1 - axis, 1)
    canvas = Canvas(inner, rows, view, look.marks)
    for series in figure.series:
        canvas.curve(series)
    for line in figure.references:
        canvas.reference(line)
    if look.cursor is not None:
        canvas.cursor(look.cursor)
    labels = y_labels(canvas, figure.bytes)
    lines = [title(figure, look, view, width)]
    for row in range(rows):
        edge = "┤" if labels[row] else "│"
        lines.append([Piece(f"{labels[row]:>{LABEL_WIDTH}}{edge}", "axis"), *canvas.line(row)])
    if axis:
        lines.append(x_axis(figure, canvas))
    return lines[:height]


def y_labels(canvas: Canvas, as_bytes: bool) -> list[str]:
    """The numbers beside the rows: the ends, and round ones between them."""
    view, height = canvas.view, canvas.height
    values: dict[int, float] = {}  # by row
    ends = [view.y1, view.y0][:height]
    between = ticks(view.y0, view.y1, max(3, height // 3), log=view.log)
    for value in (*ends, *between):
        row = canvas.row(value)
        if row is not None and values.keys().isdisjoint((row - 1, row, row + 1)):
            values[row] = value
    labels = [""] * height
    for row, text in zip(values, apart(list(values.values()), as_bytes=as_bytes), strict=True):
        if text not in labels:
            labels[row] = text[:LABEL_WIDTH]
    return labels


def x_axis(figure: Figure, canvas: Canvas) -> Line:
    """The steps under the plot; a red cross where a value was not a number."""
    text, style = [" "] * canvas.width, ["axis"] * canvas.width
    marks = whole_ticks(figure, canvas)
    for tick, label in zip(marks, apart(marks), strict=True):
        column = canvas.column(tick)
        if column is None:
            continue
        start = min(max(column - len(label) // 2, 0), canvas.width - len(label))
        around = text[max(start - 1, 0) : start + len(label) + 1]
        if start >= 0 and all(cell == " " for cell in around):
            text[start : start + len(label)] = label
    for step in bad_steps(figure):
        column = canvas.column(step)
        if column is not None:
            text[column], style[column] = "✗", "bad"
    line = [Piece(" " * LABEL_WIDTH + "└", "axis")]
    for character, name in zip(text, style, strict=True):
        if line[-1].style == name:
            line[-1] = Piece(line[-1].text + character, name)
        else:
            line.append(Piece(character, name))
    return line


def whole_ticks(figure: Figure, canvas: Canvas) -> list[float]:
    """Round steps in view; none where there is no curve, for steps are counted."""
    if not any(len(series.x) for series in figure.series):
        return []
    marks = ticks(canvas.view.x0, canvas.view.x1, max(2, canvas.width // 12))
    return list(dict.fromkeys(float(round(mark)) for mark in marks if abs(mark % 1) < 1e-6))


def bad_steps(figure: Figure) -> list[float]:
    """The steps at which the first curve has no finite value."""
    if not figure.series:
        return []
    first = figure.series[0]
    return first.x[~np.isfinite(first.y)].tolist()[:1000]


def title(figure: Figure, look: Look, view: View, width: int) -> Line:
    """The name of the chart, the value of each curve at the cursor or its end, what is hidden."""
    figure = trimmed(figure, look, view, width)
    named = told_curves(figure, look)
    head = Piece(f"{figure.title} {figure.aside}".rstrip(), "title")
    line = fitting(head, notes_of(figure, look, view), width)
    lost = sum(notes[0] not in line for notes in named)
    if not lost:
        return line
    more = f"  {figure.more.format(count=lost + 1)}"
    line = fitting(line[0], line[1:], width - cell_len(more))
    lost = sum(notes[0] not in line for notes in named)
    return [*line, Piece(f"  {figure.more.format(count=lost)}", "axis")]


def told_curves(figure: Figure, look: Look) -> list[list[Piece]]:
    """What is told of each curve that has a name or a sign."""
    return [told(each, look, figure) for each in figure.series if each.name or each.sign]


def notes_of(figure: Figure, look: Look, view: View) -> list[Piece]:
    """What stands after the name of the chart."""
    notes = [note for notes in told_curves(figure, look) for note in notes]
    if look.cursor is not None and figure.step:
        notes.insert(0, Piece(f"  {figure.step} {look.cursor:.0f}", "cursor"))
    if look.log:
        notes.append(Piece("  log", "axis"))
    if view.hidden:
        notes.append(Piece(f"  ⋯{view.hidden}", "axis"))
    return notes


def trimmed(figure: Figure, look: Look, view: View, width: int) -> Figure:
    """The figure with its names cut, so that there is room for every curve that has a sign."""
    names = [cell_len(each.name) for each in figure.series if each.sign]
    if not names:
        return figure
    notes = length(notes_of(named_within(figure, 0), look, view))
    if cell_len(f"{figure.title} {figure.aside}") + notes > width:
        figure = figure._replace(aside="")
    head = cell_len(f"{figure.title} {figure.aside}".rstrip())
    spare = width - head - notes
    rooms = range(max(names), 1, -1)
    most = next((m for m in rooms if sum(min(each, m) + 1 for each in names) <= spare), 0)
    title = shortened(figure.title, head + spare) if spare < 0 else figure.title
    return named_within(figure, most)._replace(title=title)


def named_within(figure: Figure, most: int) -> Figure:
    """The figure with the names of curves that have a sign cut to a width; 0 leaves the sign."""
    cut = [
        each._replace(name=shortened(each.name, most) if most else "") if each.sign else each
        for each in figure.series
    ]
    return figure._replace(series=tuple(cut))


def length(pieces: Sequence[Piece]) -> int:
    """The columns that pieces take."""
    return sum(cell_len(piece.text) for piece in pieces)


def fitting(head: Piece, notes: Sequence[Piece], width: int) -> Line:
    """A line of a head and as many of the notes as it has room for."""
    line = [head]
    for note in notes:
        if length([*line, note]) <= width:
            line.append(note)
    return line


def told(series: Series, look: Look, figure: Figure) -> list[Piece]:
    """A curve's value at the cursor or its end, and in its other units.

    A curve among others whose value is of another step tells which.
    """
    value = value_at(series, look.cursor)
    name = f"{series.sign} {series.name}".strip()
    notes = [f"  {name} {value_text(value, figure.bytes)}{own_step(series, look, figure)}"]
    if value is not None and math.isfinite(value):
        notes += [f"  {number(unit.of(value))} {unit.name}" for unit in series.units]
    return [Piece(note, series.style) for note in notes]


def own_step(series: Series, look: Look, figure: Figure) -> str:
    """The step of a curve's value, where it has a sign and that step is not the one looked at."""
    if not series.sign or not len(series.x):
        return ""
    ends = [float(each.x[-1]) for each in figure.series if len(each.x)]
    wanted = max(ends) if look.cursor is None else look.cursor
    at = place_at(series, look.cursor)
    return "" if at < 0 or series.x[at] == wanted else f" ({series.x[at]:.0f})"


def value_text(value: float | None, as_bytes: bool) -> str:
    """A value, or a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    return short(value, as_bytes=True) if as_bytes else number(value)


def number(value: float) -> str:
    """A value for reading: four digits where that makes sense."""
    return f"{value:.4g}" if 1e-3 <= abs(value) < 1e4 else short(value)


def value_at(series: Series, cursor: float | None) -> float | None:
    """The value at the cursor, or the last one."""
    at = place_at(series, cursor)
    return float(series.y[at]) if at >= 0 else None


def place_at(series: Series, cursor: float | None) -> int:
    """The index of what was known at the cursor, or of the last step; -1 where there is none."""
    return len(series.x) - 1 if cursor is None else known_at(series.x, cursor)


def known_at(steps: np.ndarray, step: float) -> int:
    """The index of the last of ascending steps up to this one; -1 where there is none."""
    return int(np.searchsorted(steps, step, side="right")) - 1
