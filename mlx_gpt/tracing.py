"""Looking at a forward pass while it happens: the tap through which every tensor goes."""

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple, Protocol, cast

from mlx_gpt.device import mx

Rows = Mapping[str, mx.array]
Edit = Callable[[mx.array, Rows], mx.array]  # a row's value and the earlier rows -> a new value
Watch = Callable[[str, mx.array, Rows], None]  # called with a row and those it was made from

EXPLICIT = ("scores", "masked", "weights", "context")  # what the fused attention does not show


class Tap(Protocol):
    """Called with every tensor of a forward pass, by name; what it returns goes on."""

    live: bool

    def __call__(self, name: str, x: mx.array) -> mx.array:
        """See, keep or change a tensor."""
        ...

    def at(self, place: str) -> "Tap":
        """The tap for a part of the model, which puts the place before every name."""
        ...

    def choose(self, name: str, explicit: mx.array, fused: mx.array) -> mx.array:
        """Of two computations of one tensor, the one that goes on."""
        ...


def pass_on(name: str, x: mx.array) -> mx.array:
    """Nothing: the tap of the ordinary forward pass."""
    return x


# A function with attributes, because Python calls one three times faster than an object.
off = cast(Tap, pass_on)
pass_on.__dict__["live"] = False
pass_on.__dict__["at"] = lambda place: off
pass_on.__dict__["choose"] = lambda name, explicit, fused: fused


class Difference(NamedTuple):
    """How far the fused attention is from its explicit steps, and the largest value there."""

    max_abs: mx.array
    scale: mx.array


def matches(name: str, globs: Iterable[str]) -> bool:
    """Whether a row's name fits one of the patterns, as in blocks.0.*"""
    return any(fnmatchcase(name, glob) for glob in globs)


class Tape:
    """The live tap: it names every row, keeps those asked for, edits them and adds probes.

    A row that is edited or probed in attention's side branch makes that branch the main path.
    With a watch, rows are computed and shown to it part by part, and then let go, so that a
    trace needs the memory of one block. With edits all rows are kept: any may be asked for.
    """

    live = True

    def __init__(
        self,
        keep: str | Iterable[str] = (),
        *,
        edits: Mapping[str, Edit] | None = None,
        probes: Rows | None = None,
        watch: Watch | None = None,
    ):
        self.globs = (keep,) if isinstance(keep, str) else tuple(keep)
        self.edits, self.probes, self.watch = edits or {}, probes or {}, watch
        self.rows: dict[str, mx.array] = {}
        self.differences: dict[str, Difference] = {}
        self.names: list[str] = []
        self.seen: set[str] = set()
        self.part: dict[str, mx.array] = {}
        self.shown = 0  # how many rows of `part` the watch has seen

    def __call__(self, name: str, x: mx.array) -> mx.array:
        if name in self.seen:
            raise ValueError(f"the row {name} came twice")
        self.seen.add(name)
        self.names.append(name)
        if edit := self.edits.get(name):
            x = edit(x, self.rows)
        if (probe := self.probes.get(name)) is not None:
            x = x + probe
        if self.edits or matches(name, self.globs):
            self.rows[name] = x
        if self.watch:
            self.part[name] = x
        return x

    def at(self, place: str) -> Tap:
        """The tap of a part of the model; what came before it is shown and let go."""
        self.flush()
        return Place(self, f"{place}.")

    def choose(self, name: str, explicit: mx.array, fused: mx.array) -> mx.array:
        """The fused computation, unless a row that it does not show is edited or probed."""
        place = name.rpartition(".")[0]
        rows = {f"{place}.{row}" if place else row for row in EXPLICIT}
        if rows & (self.edits.keys() | self.probes.keys()):
            return self(name, explicit)
        gap = mx.abs(explicit - fused).max()
        self.differences[name] = Difference(gap, mx.abs(explicit).max())
        return self(name, fused)

    def flush(self) -> None:
        """Show the watch what has come since; keep the last row, which the next part reads."""
        if not self.watch or not self.part:
            return
        fresh = list(self.part)[self.shown :]
        mx.eval([self.part[name] for name in fresh], list(self.differences.values()))
        for name in fresh:
            self.watch(name, self.part[name], self.part)
        last = next(reversed(self.part))
        self.part, self.shown = {last: self.part[last]}, 1

    def unused(self) -> set[str]:
        """Names that were to be edited or probed, but never came."""
        return (self.edits.keys() | self.probes.keys()) - self.seen


class Place:
    """A tape seen from a part of the model."""

    live = True

    def __init__(self, tape: Tape, prefix: str):
        self.tape, self.prefix = tape, prefix

    def __call__(self, name: str, x: mx.array) -> mx.array:
        return self.tape(self.prefix + name, x)

    def at(self, place: str) -> Tap:
        """A part of this part."""
        return Place(self.tape, f"{self.prefix}{place}.")

    def choose(self, name: str, explicit: mx.array, fused: mx.array) -> mx.array:
        """The tape's choice."""
        return self.tape.choose(self.prefix + name, explicit, fused)
