"""The rows of a trace as a tree."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from mlx_gpt.traces import Row
from tui.i18n import t
from tui.inquiry import Gap
from tui.messages import chosen, clickable
from tui.walk import Node, Walk


class Marks(NamedTuple):
    """What stands beside the rows: which differ from another pass, and which are to be guessed."""

    gaps: Mapping[str, Gap]
    hidden: frozenset[str]


def node_name(node: Node) -> str:
    """A node in words."""
    if node.row is not None:
        return node.label
    return t("part.block", layer=node.layer) if node.label == "block" else t(f"part.{node.label}")


class RowTree(Widget, can_focus=True):
    """Groups and rows; the cursor is where the debugger stands."""

    topic = "help.tree"

    def __init__(self) -> None:
        super().__init__(id="tree")
        self.walk: Walk | None = None
        self.marks = Marks({}, frozenset())

    def show(self, walk: Walk | None, marks: Marks) -> None:
        """Another trace, the cursor elsewhere, or other marks."""
        self.walk, self.marks = walk, marks
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """All the height there is."""
        return container.height

    def on_click(self, event: events.Click) -> None:
        """Go to a line."""
        if message := chosen(event):
            self.post_message(message)

    def render(self) -> Content:
        """The lines around the cursor."""
        if self.walk is None:
            return Content("")
        seen = self.walk.visible()
        height = max(self.size.height, 1)
        at = seen.index(self.walk.cursor)
        first = min(max(at - height // 2, 0), max(len(seen) - height, 0))
        return Content("\n").join([self.line(self.walk, i) for i in seen[first : first + height]])

    def line(self, walk: Walk, place: int) -> Content:
        """A node: its mark, its name, its shape."""
        node = walk.nodes[place]
        rows = walk.rows[node.first : node.end]
        mark, style = self.mark(rows)
        arrow = " " if node.row is not None else "▾" if place in walk.open else "▸"
        left = f"{'  ' * node.depth}{arrow} {node_name(node)}"
        right = self.beside(rows[-1])
        room = self.size.width - 2
        space = max(room - cell_len(left) - cell_len(right), 1)
        text = f"{left}{' ' * space}{right}"
        if cell_len(text) > room:
            text = set_cell_size(text, room)
        here = "reverse" if place == walk.cursor else "bold" if node.row is None else ""
        words = Content.styled(text, here).stylize(clickable("node", place))
        return Content.assemble((f"{mark} ", style), words)

    def mark(self, rows: Sequence[Row]) -> tuple[str, str]:
        """✗ for a row that is not what its equation says, Δ for one that differs, ✓ for proved."""
        if any(row.replay is not None and not row.replay.ok for row in rows):
            return "✗", "bold $error"
        if any(row.name in self.marks.gaps for row in rows):
            return "Δ", "bold $warning"
        return ("✓", "$success") if all(row.replay is not None for row in rows) else (" ", "")

    def beside(self, row: Row) -> str:
        """What is to be guessed; how far a row is from another pass; else its sizes."""
        if row.name in self.marks.hidden:
            return "?"
        if row.name in self.marks.gaps:
            return self.marks.gaps[row.name].text
        return "×".join(map(str, row.shape)) or "1"
