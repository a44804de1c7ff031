"""The dials of sampling in a row."""

from textual import events
from textual.content import Content
from textual.widget import Widget

from tui.dials import DIALS, Settings, dial_text
from tui.i18n import t
from tui.messages import chosen, clickable


class DialRow(Widget):
    """Every setting with its value; the one in hand is marked."""

    topic = "help.dials"

    def __init__(self) -> None:
        super().__init__(id="dials")
        self.settings: Settings = {}
        self.chosen = 0

    def show(self, settings: Settings, chosen: int) -> None:
        """Other values, or another dial in hand."""
        self.settings, self.chosen = dict(settings), chosen
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Take a dial in hand."""
        if message := chosen(event):
            self.post_message(message)

    def render(self) -> Content:
        """The dials; a click takes one in hand."""
        if not self.settings:
            return Content("")
        parts = []
        for number, dial in enumerate(DIALS):
            text = dial_text(dial, self.settings[dial.name], t("sample.off"))
            mark = f"[{text}]" if number == self.chosen else f" {text} "
            style = "bold $accent" if number == self.chosen else ""
            parts.append(Content.styled(mark, style).stylize(clickable("dial", number)))
        return Content(" ").join(parts)
