"""Pictures of a trace made of characters: lens, attention maps, light cone, account, comparison."""

from collections.abc import Callable, Sequence

import numpy as np

from mlx_gpt.commands.trace_table import BLOCKS, short, tick
from mlx_gpt.insights import Account, Reach
from mlx_gpt.language import say
from mlx_gpt.terminal import cropped, visible, width_of
from mlx_gpt.traces import Gap, Trace

SHADES = "·░▒▓█"
Words = Callable[[int], str]


def word(text: str) -> str:
    """A token as one visible word."""
    return visible(text).replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥")


def lens(trace: Trace, words: Words, width: int) -> str:
    """What the model would say after each block, and how long the stream has grown."""
    names = [item.row.removesuffix(".resid_ffn").removesuffix(".norm2") for item in trace.lens]
    pad = max(map(len, names))
    lines = [
        f"{say('after', 'tras').ljust(pad)}  {'‖x‖':>8}  {say('likeliest next', 'más probable')}"
    ]
    for name, item in zip(names, trace.lens, strict=True):
        guesses = "  ".join(f"{words(guess.id)} {guess.p:.1%}" for guess in item.top)
        lines.append(cropped(f"{name.ljust(pad)}  {short(item.norm):>8}  {guesses}", width))
    return "\n".join(lines)


def attention(trace: Trace, tokens: Sequence[str], width: int) -> str:
    """A map per head: a line per token that looks, a column per token that is looked at."""
    text = []
    for row in trace.rows:
        if row.kind == "weights" and row.value is not None:
            text.append(row.name.removesuffix(".weights"))
            text += maps(row.value[0], tokens, width)
    text.append(say(f"{SHADES}: weight from 0 to 1", f"{SHADES}: peso de 0 a 1"))
    return "\n".join(text)


def maps(heads: np.ndarray, tokens: Sequence[str], width: int) -> list[str]:
    """The maps of one block, as many beside each other as fit; of long texts the end is shown."""
    label = min(max(map(width_of, tokens)), 12)
    room = width - label - 2
    shown = heads[:, -room:, -room:]
    side = shown.shape[-1]
    rows = tokens[-shown.shape[1] :]
    each = max((room + 2) // (max(side, 7) + 2), 1)
    lines = []
    for first in range(0, len(shown), each):
        group = shown[first : first + each]
        titles = [f"head {first + i}".ljust(max(side, 7)) for i in range(len(group))]
        lines.append(f"{' ' * label}  {'  '.join(titles)}".rstrip())
        for i, name in enumerate(rows):
            cells = ["".join(map(shade, head[i])).ljust(max(side, 7)) for head in group]
            token = cropped(name, label)
            pad = " " * (label - width_of(token))
            lines.append(f"{pad}{token}  {'  '.join(cells)}".rstrip())
    return lines


def shade(weight: float) -> str:
    """A weight as one character; only a true zero is a dot."""
    return SHADES[0] if weight == 0 else SHADES[min(1 + int(weight * 4), 4)]


def cone(reaches: Sequence[Reach], tokens: Sequence[str], width: int) -> str:
    """A line per row, a cell per position: how much it moves when one token is another."""
    pad = max(len(reach.name) for reach in reaches)
    room = width - pad - 2
    first = max(len(tokens) - room, 0)
    head = "".join(token[0] if width_of(token[:1]) == 1 else "▯" for token in tokens[first:])
    lines = [f"{say('row', 'fila').ljust(pad)}  {head}"]
    for reach in reaches:
        cells = "".join(height(change) for change in reach.changes[first:])
        lines.append(f"{reach.name.ljust(pad)}  {cells}")
    lines.append(
        say("· no change, ▁ … █ up to the whole size", "· sin cambio, ▁ … █ hasta todo el tamaño")
    )
    return "\n".join(lines)


def height(change: float) -> str:
    """A change as one character; only none at all is a dot."""
    return "·" if change == 0 else BLOCKS[min(max(round(8 * change), 1), 8)]


def statement(account: Account, text: str, width: int) -> str:
    """The logit as a sum, the largest entries first, with a bar for each."""
    entries = sorted(account.entries, key=lambda entry: -abs(entry.amount))
    pad = max(len(entry.name) for entry in entries)
    largest = abs(entries[0].amount) or 1.0
    room = max(width - pad - 14, 4)
    title = say(f"logit of {text}", f"logit de {text}")
    at = say(f"position {account.position}", f"posición {account.position}")
    lines = [f"{title} ({at})"]
    for entry in entries:
        bar = "█" * round(room * abs(entry.amount) / largest)
        lines.append(f"{entry.name.ljust(pad)}  {entry.amount:+10.4f}  {bar}".rstrip())
    lines += [
        f"{'total'.ljust(pad)}  {account.total:+10.4f}",
        f"{'logit'.ljust(pad)}  {account.logit:+10.4f}  error {account.error:.1e}",
    ]
    return "\n".join(lines)


def gaps(found: Sequence[Gap]) -> str:
    """The comparison of two traces: a line per row, then the first past tolerance."""
    pad = max(len(gap.name) for gap in found)
    by = {
        "values": say("values", "valores"),
        "statistics": say("statistics", "estadísticas"),
        "shape": say("shape", "forma"),
    }
    lines = [
        f"{tick(gap.ok)} {gap.name.ljust(pad)}  {gap.rel:8.1e}  (≤ {gap.tol:.0e})  {by[gap.by]}"
        for gap in found
    ]
    first = next((gap for gap in found if not gap.ok), None)
    if first is None:
        last = say(
            f"no row past tolerance ({len(found)})",
            f"ninguna fila fuera de tolerancia ({len(found)})",
        )
    else:
        last = say(
            f"first past tolerance: {first.name}", f"primera fuera de tolerancia: {first.name}"
        )
    return "\n".join([*lines, last])


def prompt(tokens: Sequence[str], source: str, width: int) -> str:
    """The model and the tokens that go in."""
    line = f"{source}: {len(tokens)} tokens  {' '.join(tokens)}"
    return cropped(line, width)
