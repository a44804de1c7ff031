"""The first line: the screens, and the run in hand."""

from typing import TYPE_CHECKING, cast

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget

from mlx_gpt.terminal import visible
from tui.i18n import t

if TYPE_CHECKING:
    from tui.app import MlxGptApp

PAGES = ("runs", "train", "sample", "trace", "new")
HOMES = {"side": "runs"}  # the page from which one comes to another


class TopBar(Widget):
    """The names of the screens with their keys, and what run they are about."""

    about = reactive("")

    def render(self) -> Content:
        """Screens on the left, the run on the right."""
        app = cast("MlxGptApp", self.app)
        tabs = [Content.styled(" mlx-gpt ", "bold")]
        for number, name in enumerate(PAGES, 1):
            label = f" {number} {t(f'page.{name}')} "
            chosen = HOMES.get(app.current_mode, app.current_mode) == name
            style = Style.parse("reverse" if chosen else "") + Style.from_meta(
                {"@click": f"app.page('{name}')"}
            )
            tabs.append(Content.styled(label, style))
        left = Content("").join(tabs)
        room = self.size.width - left.cell_length - 1
        about = visible(self.about)
        while about and cell_len(about) > room:
            about = f"…{about[2:]}" if room > 1 else ""
        return Content.assemble(left, " " * max(room - cell_len(about), 0), about)
