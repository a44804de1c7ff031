"""A pane whose text depends on its size."""

from textual.message import Message

from tui.widgets.pane import Pane


class ViewPane(Pane):
    """Tells its page when it has another size."""

    class Sized(Message):
        """The pane has another size."""

    def on_resize(self) -> None:
        """Another size: what is shown may have to be drawn again."""
        self.post_message(self.Sized())
