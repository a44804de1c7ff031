"""What the panes of the trace say: each function makes the text of one from what was answered."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.cells import cell_len
from textual.content import Content

from mlx_gpt.language import say
from mlx_gpt.measures import Stats, measure
from mlx_gpt.run import Record
from mlx_gpt.steps import TABLE
from mlx_gpt.terminal import size, spaced, visible
from mlx_gpt.traces import Row, Trace
from tui.cards import Card, formula_of
from tui.columns import fitted
from tui.heat import bars
from tui.i18n import known, t
from tui.inquiry import Gap
from tui.listing import listing_of
from tui.walk import Node

Piece = Callable[[int], str]  # a token in readable form

LEVEL_SIGNS = "▁▂▃▄▅▆▇█"
NAME_WIDTH = 22
GROUP_WORDS = {"block": "stream", "attention": "attention", "head": "logits", "loss": "loss"}


class Seen(NamedTuple):
    """What is known of the row under the cursor beside the trace itself."""

    hidden: bool  # the shape is still to be guessed
    gap: Gap | None  # how far the row is from that of the pass it is compared with


def signs(text: str) -> str:
    """A token in readable form, its spaces visible."""
    return visible(text.replace("\n", "⏎").replace("\t", "⇥").replace(" ", "·"))


def figure(value: float | None) -> str:
    """A number in few characters, or a dash."""
    return "–" if value is None else f"{value:.4g}"


def labelled(key: str, value: str) -> Content:
    """A line: what it is, and its value."""
    return Content.assemble((f"{t(key):<9} ", "$text-muted"), value)


def shape_text(row: Row) -> str:
    """A shape in numbers."""
    return " × ".join(map(str, row.shape)) or "1"


# A row, a group


def row_text(row: Row, seen: Seen) -> Content:
    """Everything about one row."""
    kind = TABLE[row.kind]
    inputs = [name.removeprefix(f"blocks.{row.layer}.") for name in row.inputs]
    lines = [
        Content.styled(row.name, "bold"),
        Content.styled(row.formula, "$accent"),
        Content(say(kind.en, kind.es)),
        Content(""),
        *shape_lines(row, seen),
        labelled("trace.from", ", ".join(inputs) or "–"),
    ]
    if row.params:
        lines.append(labelled("trace.params", ", ".join(short_name(name) for name in row.params)))
    lines.append(labelled("trace.cost", f"{spaced(row.flops)} FLOP"))
    lines += [*stat_lines(row.stats), *proof_lines(row, seen)]
    return Content("\n").join(lines)


def short_name(name: str) -> str:
    """A parameter without the number of its block."""
    parts = name.split(".")
    return ".".join(parts[2:]) if parts[0] == "blocks" else name


def shape_lines(row: Row, seen: Seen) -> list[Content]:
    """Axes and sizes, or a question mark where they are to be guessed."""
    if seen.hidden:
        return [labelled("trace.axes", "?"), labelled("trace.shape", t("quiz.ask"))]
    count = math.prod(row.shape)
    numbers = t("trace.numbers", count=spaced(count), size=size(row.bytes), dtype=row.dtype)
    return [
        labelled("trace.axes", row.axes or "–"),
        labelled("trace.shape", f"{shape_text(row)}  ({numbers})"),
    ]


def stat_lines(stats: Stats) -> list[Content]:
    """Statistics over the finite numbers, what is not finite, and a histogram."""
    odd = {"NaN": stats.nan, "+∞": stats.pos_inf, "−∞": stats.neg_inf}
    odd = {t("trace.zeros"): stats.zeros, **odd}
    lines = [
        labelled("trace.mean", f"{figure(stats.mean)} ± {figure(stats.std)}"),
        labelled("trace.norm", figure(stats.norm)),
    ]
    counted = "  ".join(f"{name} {spaced(count)}" for name, count in odd.items() if count)
    if counted:
        lines.append(labelled("trace.odd", counted))
    histogram = f"{figure(stats.min)} {bars(stats.histogram)} {figure(stats.max)}"
    return [*lines, labelled("trace.spread", histogram)]


def slice_line(values: np.ndarray) -> Content:
    """The statistics of a slice in a line."""
    stats = measure(values)
    spread = f"{figure(stats.min)} {bars(stats.histogram)} {figure(stats.max)}"
    return Content.styled(f"{figure(stats.mean)} ± {figure(stats.std)}   {spread}", "$text-muted")


def proof_lines(row: Row, seen: Seen) -> list[Content]:
    """Whether the row is what its equation says, and whether it differs from another pass."""
    lines = []
    if row.replay is not None:
        mark, style = ("✓", "$success") if row.replay.ok else ("✗", "bold $error")
        words = t("trace.proof", rel=f"{row.replay.rel:.1e}", tol=f"{row.replay.tol:.0e}")
        head = f"{t('trace.float64'):<9} "
        lines.append(Content.assemble((head, "$text-muted"), (f"{mark} {words}", style)))
    if seen.gap is not None:
        lines.append(Content.styled(t("trace.gap", gap=seen.gap.text), "bold $warning"))
    return lines


def group_text(node: Node, rows: Sequence[Row], label: str) -> Content:
    """What a group of rows does as a whole."""
    inside, end = rows[node.first : node.end], rows[node.end - 1]
    whole = sum(row.flops for row in rows) or 1
    flops = sum(row.flops for row in inside)
    params = list(dict.fromkeys(short_name(name) for row in inside for name in row.params))
    key = f"group.{node.label}"
    lines = [
        Content.styled(label, "bold"),
        Content(t(key) if known(key) else ""),
        Content(""),
        labelled("trace.rows", str(len(inside))),
        labelled("trace.ends", f"{end.kind}  {shape_text(end)}"),
        labelled("trace.cost", f"{spaced(flops)} FLOP ({flops / whole:.1%})"),
        labelled("trace.memory", size(sum(row.bytes for row in inside))),
    ]
    if params:
        lines.append(labelled("trace.params", ", ".join(params)))
    bad = [row.name for row in inside if row.replay is not None and not row.replay.ok]
    if bad:
        lines.append(Content.styled(t("trace.bad", name=bad[0]), "bold $error"))
    return Content("\n").join(lines)


# Cards


def row_card(row: Row, *, hidden: bool) -> Card:
    """A row of a trace; its axes stay hidden while they are to be guessed."""
    axes = t("quiz.ask") if hidden else f"{row.axes} = {shape_text(row)}"
    here = (f"{t('trace.axes')}: {axes}", place_of(row.kind))
    return Card(row.name, row.formula, TABLE[row.kind].explanation, here)


def place_of(kind: str) -> str:
    """The line of our source that makes rows of a kind; nothing where none is known."""
    listing = listing_of(kind)
    if listing is None:
        return ""
    number = listing.numbers[0]
    return f"{listing.file}:{number}: {listing.lines[number - listing.first].strip()}"


def group_card(node: Node, name: str) -> Card:
    """A group of rows."""
    words = f"group.{node.label}"
    formula = formula_of(GROUP_WORDS.get(node.label, ""))
    return Card(name, formula, t(words) if known(words) else "")


# Lens, cone, account, labs


def lens_text(record: Record, piece: Piece, token: str, width: int) -> Content:
    """After each block: how long the stream's vector is, and what the head would say."""
    entries = record["lens"]
    longest = max((entry["norm"] or 0.0) for entry in entries) or 1.0
    lines = [Content(t("lens.what", position=record["position"], token=token)), Content("")]
    for entry in entries:
        length = bar_of((entry["norm"] or 0.0) / longest, 8)
        head = f"{fitted(place_name(entry['row']), 9)} "
        norm = f"{figure(entry['norm']):>6} {length:<8} "
        room = width - len(head) - len(norm)
        guesses = [f"{signs(piece(each['id']))} {each['p'] or 0.0:.0%}" for each in entry["top"]]
        lines.append(Content.assemble(head, (norm, "$text-muted"), as_many(guesses, room)))
    return Content("\n").join(lines)


def as_many(words: Sequence[str], width: int) -> str:
    """The first of some words, as many as fit."""
    text = ""
    for word in words:
        longer = f"{text}  {word}" if text else word
        if cell_len(longer) > width:
            break
        text = longer
    return text


def place_name(row: str) -> str:
    """A row of the stream in words."""
    parts = row.split(".")
    return t("lens.after", layer=parts[1]) if parts[0] == "blocks" else t("part.embedding")


def bar_of(share: float, width: int) -> str:
    """A bar of full and half characters."""
    halves = round(min(max(share, 0.0), 1.0) * width * 2)
    return "█" * (halves // 2) + "▌" * (halves % 2)


def cone_text(record: Record, texts: list[str], width: int) -> Content:
    """A line for each row, a cell for each position: where a changed token is felt."""
    position, rows = record["position"], record["rows"]
    room = max(width - NAME_WIDTH - 1, 4)
    first = min(max(position - room // 2, 0), max(len(texts) - room, 0))
    marker = " " * (position - first) + "↓"
    lines = [
        Content(t("cone.what", position=position, token=signs(texts[position]))),
        Content.styled(f"{'':<{NAME_WIDTH}} {marker}", "$accent"),
    ]
    for row in rows:
        cells = "".join(cone_sign(change) for change in row["changes"][first : first + room])
        name = fitted(row["name"].removeprefix("blocks."), NAME_WIDTH)
        lines.append(Content.assemble((f"{name} ", "$text-muted"), (cells, "$success")))
    return Content("\n").join(lines)


def cone_sign(change: float | None) -> str:
    """How much a position changes; a dot for not at all."""
    if not change:
        return "·"
    return LEVEL_SIGNS[min(int(math.sqrt(min(change, 1.0)) * len(LEVEL_SIGNS)), 7)]


def account_text(record: Record, piece: Piece, width: int) -> Content:
    """A logit as the sum of what each part pays in."""
    entries = record["entries"]
    largest = max((abs(entry["amount"]) for entry in entries), default=0.0) or 1.0
    room = max(width - NAME_WIDTH - 12, 4)
    token = signs(piece(record["token"]))
    lines = [Content(t("account.what", token=token, position=record["position"])), Content("")]
    for entry in entries:
        amount = entry["amount"]
        name = fitted(entry["name"].removeprefix("blocks."), NAME_WIDTH)
        style = "$success" if amount >= 0 else "$error"
        lines.append(
            Content.assemble(
                f"{name} {amount:+9.4f} ", (bar_of(abs(amount) / largest, room), style)
            )
        )
    lines += [
        Content("─" * (NAME_WIDTH + 10)),
        Content(f"{fitted(t('account.total'), NAME_WIDTH)} {record['total']:+9.4f}"),
        Content(f"{fitted(t('account.logit'), NAME_WIDTH)} {record['logit']:+9.4f}"),
        Content.styled(t("account.error", error=f"{record['off']:.1e}"), "$text-muted"),
    ]
    return Content("\n").join(lines)


def labs_text(
    broken: Mapping[str, Any] | None, verdicts: Sequence[Record], *, running: bool
) -> Content:
    """What the labs say of a break, one line each."""
    if broken is None:
        return Content(t("labs.none"))
    lines = [
        Content.styled(broken["name"], "bold"),
        Content(say(str(broken["en"]), str(broken["es"]))),
        Content(""),
    ]
    lines += [verdict_line(verdict) for verdict in verdicts]
    caught = [verdict["id"] for verdict in verdicts if not verdict["ok"]]
    told = t("labs.caught", labs=", ".join(caught) or "–")
    summary = t("labs.running", done=len(verdicts)) if running else told
    return Content("\n").join([*lines, Content.styled(summary, "bold")])


def verdict_line(verdict: Record) -> Content:
    """A lab, whether it noticed, and by which figure."""
    name = say(verdict["name"]["en"], verdict["name"]["es"])
    head = f"{verdict['id']} {name}{' ' * (18 - cell_len(name))} "
    if verdict["skipped"]:
        return Content.styled(f"– {head}", "$text-muted")
    if verdict["ok"]:
        return Content.assemble(("✓ ", "$success"), head)
    return Content.assemble(("✗ ", "bold $error"), head, (visible(reason(verdict)), "$error"))


def reason(verdict: Record) -> str:
    """The statement that fails, with its figure and bounds."""
    statement = verdict["statement"]
    if statement is None:
        return str(verdict["crash"])
    low, high = statement["low"], statement["high"]
    key = "labs.at_most" if low is None else "labs.at_least" if high is None else "labs.between"
    found = "NaN" if statement["figure"] is None else figure(statement["figure"])
    bounds = {"low": figure(low), "high": figure(high)}
    return t(key, what=say(statement["en"], statement["es"]), found=found, **bounds)


def prompt_text(trace: Trace, position: int, piece: Piece) -> Content:
    """The tokens of the pass, the chosen one marked."""
    parts = []
    for place, token in enumerate(trace.input.ids[0]):
        style = "reverse" if place == position else "underline" if place % 2 else ""
        parts.append(Content.styled(signs(piece(token)), style))
    return Content("").join(parts)
