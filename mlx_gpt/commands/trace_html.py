"""A trace as one page of HTML that needs nothing else: no script, no font, no server."""

import base64
import struct
import zlib
from collections.abc import Callable, Sequence
from html import escape
from itertools import groupby

import numpy as np

from mlx_gpt.commands.trace_table import mark, number, place, short, span, spread, summary
from mlx_gpt.language import say
from mlx_gpt.measures import Stats
from mlx_gpt.steps import TABLE
from mlx_gpt.terminal import size
from mlx_gpt.traces import Row, Trace

Words = Callable[[int], str]

STYLE = """
:root { color-scheme: light dark; --line: #8884; --bar: #3b82f6; --soft: #8888; --bad: #dc2626 }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin: 2rem 0 .4rem }
code, td, .tokens { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 12.5px }
table { border-collapse: collapse; width: 100% }
th { text-align: left; font-weight: 600; font-size: 12px; color: GrayText }
th, td { padding: .25rem .6rem .25rem 0; border-top: 1px solid var(--line); vertical-align: top }
.rows { table-layout: fixed } .rows th:nth-child(2), .rows th:nth-child(5) { width: 10.5rem }
.rows details p { width: 34rem }
td.n { white-space: nowrap } summary { cursor: pointer; white-space: nowrap }
details p { font: 13px/1.4 system-ui, sans-serif; margin: .3rem 0 }
.tokens span { border: 1px solid var(--line); border-radius: 4px; padding: 0 .3rem;
  margin-right: 2px; display: inline-block }
.bad { color: var(--bad); font-weight: 700 } .soft { color: GrayText }
svg rect { fill: var(--bar) } .heads { display: flex; flex-wrap: wrap; gap: .8rem }
figure { margin: 0 } figcaption { font-size: 12px; color: GrayText }
img { width: 150px; height: 150px; image-rendering: pixelated; border: 1px solid var(--line) }
""".strip()


def page(trace: Trace, tokens: Sequence[str], words: Words) -> str:
    """The whole page."""
    title = say("A forward pass, row by row", "Una pasada, fila por fila")
    given = "".join(f"<span>{escape(token)}</span>" for token in tokens)
    facts = "".join(f"<li>{escape(line)}</li>" for line in summary(trace))
    source = escape(str((trace.checkpoint or {}).get("source", "")))
    tables = "".join(
        section(heading, list(rows)) for heading, rows in groupby(trace.rows, key=place)
    )
    return (
        f'<!doctype html><html lang="{say("en", "es")}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{STYLE}</style></head><body>"
        f'<h1>{title}</h1><p class="soft">{source}</p><p class="tokens">{given}</p>'
        f"<ul>{facts}</ul>{lens(trace, words)}{attention(trace)}{tables}</body></html>\n"
    )


def section(heading: str, rows: Sequence[Row]) -> str:
    """One part of the model as a table."""
    names = [
        say("row", "fila"),
        say("axes", "ejes"),
        say("shape", "forma"),
        say("mean ± std", "media ± desv."),
        "min … max",
        say("histogram", "histograma"),
        say("replay", "réplica"),
        *(["‖∂L‖"] if any(row.grad for row in rows) else []),
        "FLOP",
        "bytes",
    ]
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join(map(line, rows))
    return f'<h2>{escape(heading)}</h2><table class="rows"><tr>{head}</tr>{body}</table>'


def line(row: Row) -> str:
    """One row; its equation and explanation open with a click."""
    made_of = ", ".join((*row.inputs, *row.params))
    about = (
        f"<details><summary>{row.kind}</summary><p><code>{escape(row.formula)}</code></p>"
        f"<p>{escape(TABLE[row.kind].explanation)}</p>"
        f'<p class="soft">{say("from", "de")} {escape(made_of) or "–"}</p></details>'
    )
    proof = escape(mark(row.replay))
    wrong = bool(row.replay and not row.replay.ok)
    cells = [
        escape(row.axes) or say("one number", "un número"),
        "×".join(map(str, row.shape)),
        escape(spread(row.stats)),
        escape(span(row.stats)),
        histogram(row.stats),
        f'<span class="bad">{proof}</span>' if wrong else proof,
        *([short(row.grad.norm)] if row.grad else []),
        number(row.flops),
        size(row.bytes),
    ]
    return f"<tr><td>{about}</td>{''.join(f'<td class=n>{cell}</td>' for cell in cells)}</tr>"


def histogram(stats: Stats) -> str:
    """The histogram as a small drawing."""
    most = max(stats.histogram) or 1
    bars = "".join(
        f'<rect x="{8 * i}" y="{20 - height:.1f}" width="7" height="{height:.1f}"/>'
        for i, count in enumerate(stats.histogram)
        if (height := max(20 * count / most, 1 if count else 0))
    )
    return f'<svg width="96" height="20" role="img">{bars}</svg>'


def lens(trace: Trace, words: Words) -> str:
    """What the model would say after each block."""
    if not trace.lens:
        return ""
    rows = "".join(
        f"<tr><td>{item.row}</td><td>{short(item.norm)}</td><td>"
        + " ".join(f"{escape(words(guess.id))} {guess.p:.1%}" for guess in item.top)
        + "</td></tr>"
        for item in trace.lens
    )
    title = say("What each layer would say (logit lens)", "Qué diría cada capa (logit lens)")
    head = f"<th>{say('after', 'tras')}</th><th>‖x‖</th><th>{say('next', 'siguiente')}</th>"
    return f"<h2>{title}</h2><table><tr>{head}</tr>{rows}</table>"


def attention(trace: Trace) -> str:
    """The map of every head whose weights are kept: who (down) looks at whom (across)."""
    figures = [
        f'<figure><img alt="" src="{picture(weights)}"><figcaption>'
        f"{row.name.removesuffix('.weights')} · head {head}</figcaption></figure>"
        for row in trace.rows
        if row.kind == "weights" and row.value is not None
        for head, weights in enumerate(row.value[0])
    ]
    if not figures:
        return ""
    title = say(
        "Attention: each token (a line) and those it looks at (columns); dark is 1",
        "Atención: cada token (una línea) y a quién mira (columnas); oscuro es 1",
    )
    return f'<h2>{title}</h2><div class="heads">{"".join(figures)}</div>'


def picture(weights: np.ndarray) -> str:
    """Numbers from 0 (white) to 1 (black) as the address of a PNG image."""
    grey = (255 * (1 - np.clip(np.nan_to_num(weights), 0, 1))).round().astype(np.uint8)
    height, width = grey.shape
    lines = b"".join(b"\0" + line.tobytes() for line in grey)  # 0: the line is stored as it is
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)  # 8 bits of grey
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b"")]
    png = b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*each) for each in chunks)
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def chunk(kind: bytes, content: bytes) -> bytes:
    """One part of a PNG file."""
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
