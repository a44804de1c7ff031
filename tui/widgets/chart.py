"""A chart: curves of one figure in braille, drawn only when they or the size change."""

import math
from itertools import zip_longest

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from tui.messages import Pointed, Zoomed
from tui.plot import LABEL_WIDTH, Figure, Line, Look, draw, view_of

# Component classes would be a node of the style sheet each, in every chart of a page.
STYLES = {
    "plot": "",
    "axis": "$foreground 70%",
    "title": "bold",
    "band": "$primary-lighten-1",
    "train": "bold $text-success",
    "val": "$text-warning",
    "extra": "$secondary",
    "reference": "$foreground 70%",
    "cursor": "bold $text-accent",
    "bad": "bold $text-error",
    "run0": "$text-success",
    "run1": "$text-warning",
    "run2": "$primary",
    "run3": "$text-error",
    "run4": "$secondary",
    "run5": "",
}


class Chart(Widget):
    """Draws a figure; a click points at a step, the wheel zooms."""

    topic = "help.chart"

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self.figure = Figure("")
        self.look = Look()
        self.strips: list[Strip] = []
        self.drawn_size = (0, 0)

    def show(self, figure: Figure, look: Look) -> None:
        """Draw another figure, or the same in another way: only the lines that it changes."""
        self.figure, self.look = figure, look
        before, self.strips = self.strips, []
        if not before or not self.size:
            self.refresh()
            return
        now = self.drawing()
        changed = [y for y, strips in enumerate(zip_longest(before, now)) if strips[0] != strips[1]]
        if changed:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in changed))

    def notify_style_update(self) -> None:
        """Other colours: draw anew."""
        super().notify_style_update()
        self.strips = []

    def drawing(self) -> list[Strip]:
        """The lines of the chart at its present size."""
        width, height = self.size
        if not self.strips or (width, height) != self.drawn_size:
            self.drawn_size = (width, height)
            lines = draw(self.figure, self.look, max(width, LABEL_WIDTH + 2), max(height, 2))
            self.strips = [self.strip(line) for line in lines]
        return self.strips

    def strip(self, line: Line) -> Strip:
        """A line in colours."""
        segments = [Segment(piece.text, self.style_named(piece.style)) for piece in line]
        return Strip(segments).adjust_cell_length(self.size.width, self.style_named("plot"))

    def style_named(self, name: str) -> RichStyle:
        """How a part of the drawing looks in the theme of the moment."""
        return (self.visual_style + Style.parse(STYLES[name])).rich_style

    def render_line(self, y: int) -> Strip:
        """One line of the chart."""
        strips = self.drawing()
        if y < len(strips):
            return strips[y]
        return Strip.blank(self.size.width, self.style_named("plot"))

    def step_at(self, x: int) -> float | None:
        """The step under a column of the widget."""
        view = view_of(self.figure, self.look)
        inner = self.size.width - LABEL_WIDTH - 1
        column = x - LABEL_WIDTH - 1
        if not 0 <= column < inner or inner < 2:
            return None
        return view.x0 + column * (view.x1 - view.x0) / (inner - 1)

    def on_click(self, event: events.Click) -> None:
        """Point at a step."""
        step = self.step_at(event.x)
        if step is not None:
            self.post_message(Pointed(self.snapped(step)))

    def snapped(self, step: float) -> float:
        """The nearest point of a curve within a column, else a whole step."""
        view = view_of(self.figure, self.look)
        column = (view.x1 - view.x0) / (self.size.width - LABEL_WIDTH - 2)
        points = [x for each in self.figure.series if each.points for x in each.x.tolist()]
        nearest = min(points, key=lambda x: abs(x - step), default=math.inf)
        return nearest if abs(nearest - step) <= column else float(round(step))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Look closer."""
        self.zoom(event, 0.8)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Look from further away."""
        self.zoom(event, 1.25)

    def zoom(self, event: events.MouseEvent, factor: float) -> None:
        """Zoom around the step under the pointer."""
        step = self.step_at(event.x)
        if step is not None:
            event.stop()
            self.post_message(Zoomed(step, factor))
