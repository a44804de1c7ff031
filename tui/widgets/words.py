"""A text that costs nothing to say again."""

from textual.content import Content
from textual.visual import VisualType
from textual.widgets import Static


class Words(Static):
    """Words that are never parsed as markup; only others than before are drawn."""

    def __init__(self, name: str | None = None, text: str = "") -> None:
        super().__init__(text, id=name, markup=False)

    def update(self, content: VisualType = "", *, layout: bool = True) -> None:
        """Say this, unless it is what is said already."""
        if not is_same(content, self.content):
            super().update(content, layout=layout)


def is_same(one: VisualType, other: VisualType) -> bool:
    """Whether two texts look alike: equality of `Content` leaves styles out."""
    if isinstance(one, Content) and isinstance(other, Content):
        return one.is_same(other)
    return isinstance(one, str) and isinstance(other, str) and one == other
