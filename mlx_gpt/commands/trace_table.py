"""A trace as a table for a terminal: a line per row, explained, folded, summed up."""

import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import numpy as np

from mlx_gpt.language import say
from mlx_gpt.measures import Stats
from mlx_gpt.steps import TABLE
from mlx_gpt.terminal import size
from mlx_gpt.traces import Proof, Row, Trace

BLOCKS = " ▁▂▃▄▅▆▇█"
DISPENSABLE = ("bytes", "flops", "span", "shape")  # columns that a narrow terminal goes without
Column = tuple[str, Callable[[Row], str]]


def part_name(part: str) -> str:
    """A part of the model in the language of the reader."""
    spanish = {"attention": "atención", "head": "cabeza", "loss": "pérdida", "sampling": "muestreo"}
    return say(part, spanish.get(part, part))


def short(x: float | None) -> str:
    """A number in two or three digits."""
    if x is None:
        return "–"
    return f"{x:.3g}" if 1e-3 <= abs(x) < 1e4 or x == 0 else f"{x:.1e}".replace("e-0", "e-")


def spread(stats: Stats) -> str:
    """Mean ± standard deviation, the mean to the digits that the deviation leaves it."""
    if stats.mean is None or stats.std is None:
        return "–"
    if not 1e-3 <= stats.std < 1e4:
        return f"{short(stats.mean)}±{short(stats.std)}" if stats.std else short(stats.mean)
    digits = max(1 - math.floor(math.log10(stats.std)), 0)
    mean = round(stats.mean, digits) + 0.0  # the sum makes 0 of -0
    return f"{mean:.{digits}f}±{stats.std:.{digits}f}"


def span(stats: Stats) -> str:
    """From the least to the largest, and how many are not finite."""
    text = f"{short(stats.min)} … {short(stats.max)}"
    odd = {"−∞": stats.neg_inf, "∞": stats.pos_inf, "NaN": stats.nan}
    return " ".join([text, *(f"{count}×{name}" for name, count in odd.items() if count)])


def bars(counts: Sequence[float]) -> str:
    """A character per number, as high as its share of the largest; what is there shows."""
    most = max(counts, default=0) or 1
    return "".join(BLOCKS[max(round(8 * count / most), bool(count))] for count in counts)


def mark(proof: Proof | None) -> str:
    """Whether the replay agrees, and how far it is from the row."""
    return "" if proof is None else f"{tick(proof.ok)} {proof.rel:.0e}".replace("e+00", "")


def tick(ok: bool) -> str:
    """Right or wrong."""
    return "✓" if ok else "✗"


def number(count: float) -> str:
    """A large count in short: 1.2M."""
    for unit in ("", "k", "M", "G"):
        if count < 1000:
            return f"{count:.3g}{unit}"
        count /= 1000
    return f"{count:.3g}T"


def columns(trace: Trace) -> dict[str, Column]:
    """Everything a line of the table can hold, by name."""
    deepest = max(row.name.count(".") for row in trace.rows)
    found: dict[str, Column] = {
        "name": (say("row", "fila"), lambda row: "  " * (deepest > 0) + row.kind),
        "axes": (say("axes", "ejes"), lambda row: row.axes or say("one number", "un número")),
        "shape": (say("shape", "forma"), lambda row: "×".join(map(str, row.shape))),
        "spread": (say("mean±std", "media±desv"), lambda row: spread(row.stats)),
        "span": ("min … max", lambda row: span(row.stats)),
        "bars": (
            say("histogram", "histograma"),
            lambda row: bars(row.stats.histogram) if row.shape else "",
        ),
        "proof": (say("replay", "réplica"), lambda row: mark(row.replay)),
        "flops": ("FLOP", lambda row: number(row.flops)),
        "bytes": ("bytes", lambda row: size(row.bytes)),
    }
    if any(row.grad for row in trace.rows):
        found["grad"] = ("‖∂L‖", lambda row: short(row.grad.norm) if row.grad else "")
    return found


def lines_of(rows: Sequence[Row], chosen: Sequence[Column], gap: int) -> list[str]:
    """The header and a line per row, in columns that line up."""
    cells = [[head for head, _ in chosen], *([cell(row) for _, cell in chosen] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        (" " * gap)
        .join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        .rstrip()
        for line in cells
    ]


def fitted(trace: Trace, width: int) -> list[str]:
    """The fullest table that fits the width; what is least missed goes first."""
    found = columns(trace)
    lines: list[str] = []
    for count in range(len(DISPENSABLE) + 1):
        chosen = [column for name, column in found.items() if name not in DISPENSABLE[:count]]
        for gap in (2, 1):
            lines = lines_of(trace.rows, chosen, gap)
            if max(map(len, lines)) <= width:
                return lines
    return lines


def place(row: Row) -> str:
    """The heading under which a row stands."""
    name = part_name(row.part)
    return name if row.layer is None else f"blocks.{row.layer} · {name}"


def table(trace: Trace, width: int, *, fold: bool = False, explain: bool = False) -> str:
    """One line per row, under the part of the model to which it belongs."""
    head, *lines = fitted(trace, width)
    text = [head]
    pairs = list(zip(trace.rows, lines, strict=True))
    for heading, group in groupby(pairs, key=lambda pair: place(pair[0])):
        members = list(group)
        if fold and is_repeat(members[0][0]):
            continue
        text.append(heading)
        runs = folded(members) if fold else ([pair] for pair in members)
        for (row, line), *rest in runs:
            text.append(line)
            if explain:
                text += explanation(row, width)
            if rest:
                names = " ".join(row.kind for row, _ in rest)
                same = say(f"same shape: {names}", f"misma forma: {names}")
                text += textwrap.wrap(
                    same, width, initial_indent="    ⋯ ", subsequent_indent="      "
                )
    if fold and trace.dims["n_layers"] > 1 and any(row.layer for row in trace.rows):
        last = trace.dims["n_layers"] - 1
        names = "blocks.1" if last == 1 else f"blocks.1 … {last}"
        text.append(say(f"⋯ {names}: as blocks.0", f"⋯ {names}: como blocks.0"))
    return "\n".join(text)


def is_repeat(row: Row) -> bool:
    """Whether the row stands in a block after the first, whose shapes are those of the first."""
    return bool(row.layer)


def folded(members: Sequence[tuple[Row, str]]) -> Iterator[list[tuple[Row, str]]]:
    """Neighbouring rows of one shape together."""
    for _, run in groupby(members, key=lambda pair: pair[0].shape):
        yield list(run)


def explanation(row: Row, width: int) -> list[str]:
    """The equation and the plain words for a row."""
    indent = "      "
    words = textwrap.wrap(TABLE[row.kind].explanation, width - len(indent))
    return [indent + line for line in (row.formula, *words)]


def summary(trace: Trace) -> list[str]:
    """Sizes, cost and whether everything holds, in a few lines."""
    names = ("B", "T", "d_model", "n_heads", "d_head", "d_ff", "n_layers", "V")
    lines = [" · ".join(f"{name} {trace.dims[name]}" for name in names)]
    flops = sum(row.flops for row in trace.rows)
    note = say(
        "FLOP (a multiply-add is 2, the whole square of attention)",
        "FLOP (multiplicar y sumar son 2, el cuadrado entero de la atención)",
    )
    lines.append(f"{number(flops)} {note}")
    for name, group in groupby(trace.checks, key=lambda check: check.name):
        worst = max(group, key=lambda check: check.max_abs / check.tol)
        lines.append(f"{'✓' if worst.ok else '✗'} {name}: {worst.max_abs:.1e} (≤ {worst.tol:.0e})")
    if proofs := [row for row in trace.rows if row.replay]:
        lines.append(replayed(proofs))
    if trace.loss is not None:
        lines.append(say(f"loss {trace.loss:.4f} nats", f"pérdida {trace.loss:.4f} nats"))
    return lines


def replayed(rows: Sequence[Row]) -> str:
    """How the replay went, in one line."""
    red = [row.name for row in rows if row.replay and not row.replay.ok]
    if red:
        return say(
            f"✗ {len(red)} of {len(rows)} rows disagree with float64, the first is {red[0]}",
            f"✗ {len(red)} de {len(rows)} filas no coinciden con float64, la primera es {red[0]}",
        )
    return say(
        f"✓ all {len(rows)} rows agree with NumPy in float64",
        f"✓ las {len(rows)} filas coinciden con NumPy en float64",
    )


def values(trace: Trace, width: int) -> str:
    """The numbers of every kept row, a few from each end where there are many."""
    text = []
    for row in trace.rows:
        for title, value in ((row.name, row.value), (f"∂L/∂{row.name}", row.grad_value)):
            if value is not None:
                text.append(f"{title}  {'×'.join(map(str, row.shape))}")
                text.append(
                    np.array2string(
                        value, precision=4, threshold=256, edgeitems=3, max_line_width=width
                    )
                )
    return "\n".join(text)
