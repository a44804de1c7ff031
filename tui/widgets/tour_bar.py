"""The lines of the guided tour, above the keys."""

from textual.reactive import reactive
from textual.widget import Widget


class TourBar(Widget):
    """What a station tells; not there while nobody is on tour."""

    text = reactive("", layout=True)

    def watch_text(self, text: str) -> None:
        """Come and go with the tour."""
        self.display = bool(text)

    def render(self) -> str:
        """The text."""
        return self.text
