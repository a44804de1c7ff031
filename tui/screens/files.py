"""Choosing text files and folders from a tree."""

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import DirectoryTree

from mlx_gpt.terminal import size, visible
from tui.i18n import t
from tui.keymap import bind
from tui.screens.dialogs import Dialog
from tui.widgets.keybar import KeyBar
from tui.widgets.words import Words


class TextTree(DirectoryTree, inherit_bindings=False):
    """Folders and files, without the hidden ones."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bind("files.open", "enter,right", "toggle_node"),
        bind("files.up", "up", "cursor_up", show=False),
        bind("files.down", "down", "cursor_down", show=False),
    ]

    def filter_paths(self, paths: Iterable[Path]) -> Iterable[Path]:
        """Leave hidden entries out."""
        return [path for path in paths if not path.name.startswith(".")]


class Files(Dialog[tuple[str, ...] | None]):
    """Marks files and folders, and answers with all that are marked."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bind("files.mark", "space", "mark"),
        bind("files.parent", "u,left", "parent"),
        bind("files.done", "s", "done"),
        bind("files.none", "backspace", "none"),
        bind("files.cancel", "escape", "cancel"),
    ]

    def __init__(self, chosen: Iterable[str]) -> None:
        super().__init__()
        self.chosen = list(chosen)

    def compose(self) -> ComposeResult:
        """The tree and what is marked."""
        with Vertical(classes="reading"):
            yield Words("chosen")
            yield TextTree(Path.cwd())
        yield KeyBar()

    def on_mount(self) -> None:
        """Show what is marked already."""
        self.query_one(TextTree).guide_depth = 2
        self.say_chosen()

    def say_chosen(self) -> None:
        """The marked files with their sizes."""
        lines = [f"▸ {visible(name)}  {size_of(Path(name))}" for name in self.chosen]
        self.query_one("#chosen", Words).update(Content("\n".join(lines) or t("files.none")))

    def action_mark(self) -> None:
        """Mark what is under the cursor, or take its mark away."""
        node = self.query_one(TextTree).cursor_node
        if node is None or node.data is None:
            return
        name = str(node.data.path)
        if name in self.chosen:
            self.chosen.remove(name)
        else:
            self.chosen.append(name)
        self.say_chosen()

    def action_parent(self) -> None:
        """The folder above."""
        tree = self.query_one(TextTree)
        tree.path = Path(tree.path).absolute().parent

    def action_none(self) -> None:
        """No mark at all: the built-in stories."""
        self.chosen = []
        self.say_chosen()

    def action_done(self) -> None:
        """Answer."""
        self.dismiss(tuple(self.chosen))

    def action_cancel(self) -> None:
        """Leave things as they were."""
        self.dismiss(None)


def size_of(path: Path) -> str:
    """The size of a file, or that it is a folder."""
    try:
        return t("files.folder") if path.is_dir() else size(path.stat().st_size)
    except OSError:
        return "?"
