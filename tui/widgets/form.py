"""A form as lines: a setting a line, its value, and what it means or what is wrong with it."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from mlx_gpt.terminal import one_line
from tui.columns import fitted, shortened
from tui.keymap import bind

KEY_WIDTH = 19
VALUE_WIDTH, WIDE_VALUE = 17, 24
WIDE = 100


class Row(NamedTuple):
    """A line of the form; a heading has no key."""

    key: str
    label: str
    value: str = ""
    note: str = ""
    fault: bool = False
    changed: bool = False


class Form(ScrollView, inherit_bindings=False):
    """Rows with a cursor; what a key does to a row is the page's business."""

    topic = "help.form"
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "form--heading",
        "form--cursor",
        "form--value",
        "form--changed",
        "form--note",
        "form--fault",
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("form.edit", "enter", "edit"),
        bind("form.last_choice", "left", "turn(-1)"),
        bind("form.next_choice", "right,space", "turn(1)"),
        bind("form.reset", "backspace", "reset"),
        bind("form.up", "up", "move(-1)", show=False),
        bind("form.down", "down", "move(1)", show=False),
        bind("form.page_up", "pageup", "move(-10)", show=False),
        bind("form.page_down", "pagedown", "move(10)", show=False),
        bind("form.top", "home", "move(-1000)", show=False),
        bind("form.bottom", "end", "move(1000)", show=False),
    ]
    can_focus = True
    at = reactive(0)

    @dataclass
    class Edited(Message):
        """A row shall be edited."""

        key: str

    @dataclass
    class Turned(Message):
        """The next or the last choice of a row is wanted."""

        key: str
        move: int

    @dataclass
    class Restored(Message):
        """A row shall be again what the preset says."""

        key: str

    def __init__(self) -> None:
        super().__init__(id="form")
        self.rows: list[Row] = []

    def show(self, rows: list[Row]) -> None:
        """Other rows, or the same with other values."""
        self.rows = rows
        if not self.chosen.key:
            self.action_move(1)
        self.virtual_size = Size(self.size.width, len(rows))
        self.refresh()

    @property
    def chosen(self) -> Row:
        """The row under the cursor."""
        return self.rows[self.at] if self.at < len(self.rows) else Row("", "")

    def watch_at(self) -> None:
        """Keep the cursor in sight."""
        self.scroll_to_region(Region(0, max(self.at - 1, 0), 1, 3), animate=False, force=True)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line of the form."""
        at = y + int(self.scroll_offset.y)
        width = self.scrollable_content_region.width
        if at >= len(self.rows):
            return Strip.blank(width, self.rich_style)
        row = self.rows[at]
        if not row.key:
            style = self.get_component_rich_style("form--heading")
            return Strip([Segment(f" {row.label}", style)]).adjust_cell_length(width, style)
        cursor = at == self.at
        base = self.get_component_rich_style("form--cursor") if cursor else self.rich_style
        value = self.get_component_rich_style("form--changed" if row.changed else "form--value")
        note = self.get_component_rich_style("form--fault" if row.fault else "form--note")
        mark = "✗" if row.fault else "*" if row.changed else " "
        room = WIDE_VALUE if width >= WIDE else VALUE_WIDTH
        label = f"{'▸' if cursor else ' '}{mark}{row.label:<{KEY_WIDTH}} "
        words = f"{fitted(on_a_line(row.value), room)} "
        left = width - cell_len(label) - cell_len(words)
        aside = shortened(on_a_line(row.note), left)
        pieces = [
            Segment(label, base),
            Segment(words, base if cursor else value),
            Segment(aside, base if cursor and not row.fault else note),
        ]
        return Strip(pieces).adjust_cell_length(width, base)

    def action_move(self, lines: int) -> None:
        """Move the cursor, over headings."""
        rows = [number for number, row in enumerate(self.rows) if row.key]
        if not rows:
            return
        if abs(lines) == 1:
            beyond = [n for n in rows if (n > self.at if lines > 0 else n < self.at)]
            self.at = (min(beyond) if lines > 0 else max(beyond)) if beyond else self.at
        else:
            wanted = self.at + lines
            self.at = min(rows, key=lambda number: abs(number - wanted))

    def action_edit(self) -> None:
        """Edit the row."""
        self.post_message(self.Edited(self.chosen.key))

    def action_turn(self, move: int) -> None:
        """Another choice."""
        self.post_message(self.Turned(self.chosen.key, move))

    def action_reset(self) -> None:
        """What the preset says."""
        self.post_message(self.Restored(self.chosen.key))

    def on_click(self, event: events.Click) -> None:
        """A click chooses a row; one on the chosen row edits it."""
        at = event.y + int(self.scroll_offset.y)
        if at < len(self.rows) and self.rows[at].key:
            if at == self.at:
                self.action_edit()
            self.at = at


def on_a_line(text: str) -> str:
    """Visible text without line ends and tabs."""
    return one_line(text).replace("\t", "⇥")
