"""The last lines: the keys that act now and what they do."""

from collections.abc import Iterable
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from textual.binding import ActiveBinding, Binding
from textual.content import Content
from textual.geometry import Size
from textual.screen import Screen
from textual.style import Style
from textual.widget import Widget

PINNED = ("app.help", "app.language", "app.palette", "app.quit")


class Entry(NamedTuple):
    """A place in the bar: keys, what they do, and the action of a click."""

    keys: str
    words: str
    action: str

    @property
    def width(self) -> int:
        """The columns it takes."""
        return cell_len(self.keys) + cell_len(self.words) + 3


class KeyBar(Widget):
    """Every shown binding as `key words`; those with the same words share a place.

    The keys that lead everywhere stand at the right end, whatever else there is room for.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"keybar--key"}

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[Entry] = []
        self.pinned: list[Entry] = []  # at the right end

    def on_mount(self) -> None:
        """Follow the bindings as the focus moves."""
        self.screen.bindings_updated_signal.subscribe(self, self.changed)
        self.changed(self.screen)

    def changed(self, screen: Screen[object]) -> None:
        """Other keys act now, or the same ones still."""
        if screen is not self.screen:
            return
        shown = [
            active
            for active in screen.active_bindings.values()
            if active.binding.show and active.enabled
        ]
        before = self.entries, self.pinned
        pinned = [active for active in shown if active.binding.id in PINNED]
        self.pinned = self.entries_of(pinned)
        self.entries = self.entries_of([active for active in shown if active not in pinned])
        if (self.entries, self.pinned) != before:
            self.refresh(layout=True)

    def entries_of(self, bindings: list[ActiveBinding]) -> list[Entry]:
        """The places of these bindings in order."""
        keys: dict[str, list[str]] = {}
        actions: dict[str, str] = {}
        done: set[str] = set()
        for active in as_declared(bindings):
            binding = active.binding
            if binding.action not in done:
                done.add(binding.action)
                keys.setdefault(binding.description, []).append(self.app.get_key_display(binding))
                actions.setdefault(binding.description, action_of(active))
        return [Entry("/".join(keys[words]), words, actions[words]) for words in keys]

    def rows(self, width: int) -> list[list[Entry]]:
        """The places broken into lines; what does not fit is found under help."""
        most = 3 if self.app.size.height >= 34 else 2
        end = sum(entry.width for entry in self.pinned)
        lines: list[list[Entry]] = [[]]
        left = width
        for entry in self.entries:
            if len(lines) < most and lines[-1] and entry.width > left:
                lines.append([])
                left = width
            if entry.width <= left - end * (len(lines) == most):
                lines[-1].append(entry)
                left -= entry.width
        if end > left:
            lines.append([])
        return lines

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as are needed."""
        return len(self.rows(width))

    def render(self) -> Content:
        """The lines."""
        key_style = self.get_visual_style("keybar--key", partial=True)
        lines = [self.line(row, key_style) for row in self.rows(self.size.width)]
        end = self.line(self.pinned, key_style)
        gap = " " * max(self.size.width - lines[-1].cell_length - end.cell_length, 0)
        return Content("\n").join([*lines[:-1], Content.assemble(lines[-1], gap, end)])

    def line(self, entries: list[Entry], key_style: Style) -> Content:
        """Places side by side; a click acts like the key."""
        parts = []
        for entry in entries:
            click = Style.from_meta({"@click": entry.action})
            parts.append(Content.styled(f" {entry.keys}", key_style + click))
            parts.append(Content.styled(f" {entry.words} ", click))
        return Content("").join(parts)


def as_declared(bindings: Iterable[ActiveBinding]) -> list[ActiveBinding]:
    """The bindings in the order in which they were declared, whatever their keys are now."""
    known = list(bindings)
    nodes = list(dict.fromkeys(active.node for active in known))

    def place(active: ActiveBinding) -> tuple[int, int]:
        ids = [each.id for each in type(active.node).BINDINGS if isinstance(each, Binding)]
        named = active.binding.id in ids
        return nodes.index(active.node), ids.index(active.binding.id) if named else len(ids)

    return sorted(known, key=place)


def action_of(active: ActiveBinding) -> str:
    """The action of a binding as a click can call it."""
    action = active.binding.action
    if "." in action.partition("(")[0]:
        return action
    node = active.node
    return (
        f"{'app' if node is node.app else 'screen' if node is node.screen else 'focused'}.{action}"
    )
