"""A trace as a tree that is walked like a program in a debugger: step, back, into, out."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mlx_gpt.traces import Row


class Node(NamedTuple):
    """A row, or a group of rows: rows from `first` to before `end`."""

    label: str  # a row's kind, or the name of a group as in part.attention
    depth: int
    first: int
    end: int
    parent: int | None
    row: int | None
    layer: int | None


def nodes_of(rows: Sequence[Row]) -> list[Node]:
    """The tree, in the order of execution: blocks, their two parts, rows."""
    nodes: list[Node] = []
    at = 0
    while at < len(rows):
        end = end_of(rows, at, lambda row: (row.layer, row.part if row.layer is None else ""))
        top = len(nodes)
        layer = rows[at].layer
        label = rows[at].part if layer is None else "block"
        nodes.append(Node(label, 0, at, end, None, None, layer))
        if layer is None:
            nodes += leaves(rows, at, end, 1, top)
        else:
            nodes += parts(rows, at, end, top, len(nodes))
        at = end
    return nodes


def end_of(rows: Sequence[Row], start: int, key: Callable[[Row], object]) -> int:
    """Where the rows end that belong together with the one at the start."""
    end = start
    while end < len(rows) and key(rows[end]) == key(rows[start]):
        end += 1
    return end


def parts(rows: Sequence[Row], start: int, end: int, parent: int, count: int) -> list[Node]:
    """The parts of a block and their rows; a part's node will be at `count` plus its place."""
    found: list[Node] = []
    while start < end:
        stop = min(end_of(rows, start, lambda row: row.part), end)
        place = count + len(found)
        found.append(Node(rows[start].part, 1, start, stop, parent, None, rows[start].layer))
        found += leaves(rows, start, stop, 2, place)
        start = stop
    return found


def leaves(rows: Sequence[Row], start: int, end: int, depth: int, parent: int) -> list[Node]:
    """The rows of a group."""
    return [
        Node(rows[i].kind, depth, i, i + 1, parent, i, rows[i].layer) for i in range(start, end)
    ]


class Walk:
    """A place in the tree, and which groups are open."""

    def __init__(self, rows: Sequence[Row]):
        self.rows = rows
        self.nodes = nodes_of(rows)
        self.cursor = 0
        self.open: set[int] = set()

    @property
    def node(self) -> Node:
        """The node under the cursor."""
        return self.nodes[self.cursor]

    @property
    def row(self) -> Row:
        """The row under the cursor; of a group the last, which is what it hands on."""
        return self.rows[self.node.end - 1]

    def visible(self) -> list[int]:
        """The nodes that are seen: all whose groups are open."""
        seen: list[int] = []
        shown = set()
        for i, node in enumerate(self.nodes):
            if node.parent is None or (node.parent in shown and node.parent in self.open):
                shown.add(i)
                seen.append(i)
        return seen

    def step(self, move: int) -> None:
        """The next line, or the one before: a closed group is passed in one step."""
        seen = self.visible()
        at = min(max(seen.index(self.cursor) + move, 0), len(seen) - 1)
        self.cursor = seen[at]

    def into(self) -> bool:
        """Open the group and go to its first line; False on a row."""
        if self.node.row is not None:
            return False
        self.open.add(self.cursor)
        self.cursor += 1
        return True

    def out(self) -> None:
        """Close the group around the cursor and stand on it."""
        if self.node.parent is not None:
            self.cursor = self.node.parent
        self.open.discard(self.cursor)

    def block(self, move: int) -> None:
        """The next part of the model, or the one before."""
        tops = [i for i, node in enumerate(self.nodes) if node.parent is None]
        now = max(place for place, i in enumerate(tops) if i <= self.cursor)
        self.cursor = tops[min(max(now + move, 0), len(tops) - 1)]

    def go(self, name: str) -> None:
        """Stand on a row, with the groups around it open; one that is not there moves nothing."""
        for i, node in enumerate(self.nodes):
            if node.row is not None and self.rows[node.row].name == name:
                self.reveal(i)

    def reveal(self, place: int) -> None:
        """Stand on a node, with the groups around it open."""
        self.cursor = place
        parent = self.nodes[place].parent
        while parent is not None:
            self.open.add(parent)
            parent = self.nodes[parent].parent

    def follow(self, other: "Walk") -> None:
        """Stand where another walk stands, as far as this tree has that place."""
        named = {(node.label, node.layer, node.depth): i for i, node in enumerate(self.nodes)}
        for i in other.open:
            node = other.nodes[i]
            if (place := named.get((node.label, node.layer, node.depth))) is not None:
                self.open.add(place)
        node = other.node
        if (place := named.get((node.label, node.layer, node.depth))) is not None:
            self.reveal(place)
