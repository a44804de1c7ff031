"""The place in our own source where a row of a trace is made, read as text."""

import ast
import re
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

MODULES = ("model", "training", "sampling", "tracer")  # those that compute rows


class Listing(NamedTuple):
    """A function: where it stands, its lines, and the numbers of those that are meant."""

    file: str
    first: int
    lines: tuple[str, ...]
    numbers: tuple[int, ...]


@cache
def listing_of(kind: str) -> Listing | None:
    """The function that makes rows of a kind; None where the source does not name it."""
    call = re.compile(rf'\b(tap|tape|tap\.choose)\("{re.escape(kind)}"')
    for module in MODULES:
        spec = find_spec(f"mlx_gpt.{module}")
        if spec is None or spec.origin is None:
            continue
        text = Path(spec.origin).read_text(encoding="utf-8")
        numbers = [n for n, line in enumerate(text.splitlines(), 1) if call.search(line)]
        if numbers:
            return cut_out(f"mlx_gpt/{module}.py", text, numbers)
    return None


def cut_out(file: str, text: str, numbers: Sequence[int]) -> Listing:
    """The innermost function around the first of some lines, with those that it holds."""
    around = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.lineno <= numbers[0] <= (node.end_lineno or 0)
    ]
    inner = max(around, key=lambda node: node.lineno)
    lines = text.splitlines()[inner.lineno - 1 : inner.end_lineno]
    indent = len(lines[0]) - len(lines[0].lstrip())
    held = tuple(n for n in numbers if n <= (inner.end_lineno or 0))
    return Listing(file, inner.lineno, tuple(line[indent:] for line in lines), held)
