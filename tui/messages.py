"""What widgets tell their screens."""

from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.style import Style


@dataclass
class Pointed(Message):
    """A step was pointed at in a chart."""

    step: float


@dataclass
class Zoomed(Message):
    """The wheel was turned over a chart: a factor below 1 looks closer."""

    step: float
    factor: float


@dataclass
class Chosen(Message):
    """Something was clicked: what kind of thing, and which one."""

    what: str
    place: tuple[int, ...]


def chosen(event: events.Click) -> Chosen | None:
    """What lies under the pointer, where it was drawn with a place of its own."""
    meta = event.style.meta
    return Chosen(meta["what"], tuple(meta["place"])) if "place" in meta else None


def clickable(what: str, *place: int) -> Style:
    """A style that tells what is drawn with it."""
    return Style.from_meta({"what": what, "place": place})
