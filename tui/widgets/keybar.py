"""The last lines: the keys that act now and what they do."""

from typing import ClassVar

from textual.binding import ActiveBinding
from textual.content import Content
from textual.geometry import Size
from textual.screen import Screen
from textual.style import Style
from textual.widget import Widget


class KeyBar(Widget):
    """Every shown binding as `key words`; those with the same words share a place."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"keybar--key"}

    def on_mount(self) -> None:
        """Follow the bindings as the focus moves."""
        self.screen.bindings_updated_signal.subscribe(self, self.changed)

    def changed(self, screen: Screen[object]) -> None:
        """Other keys act now."""
        if screen is self.screen:
            self.refresh(layout=True)

    def entries(self) -> list[tuple[str, str, str]]:
        """Keys, words and action of each place, in order."""
        keys: dict[str, list[str]] = {}
        actions: dict[str, str] = {}
        done: set[str] = set()
        for active in self.screen.active_bindings.values():
            binding = active.binding
            if not binding.show or binding.action in done or not active.enabled:
                continue
            done.add(binding.action)
            keys.setdefault(binding.description, []).append(self.app.get_key_display(binding))
            actions.setdefault(binding.description, action_of(active))
        return [("/".join(keys[words]), words, actions[words]) for words in keys]

    def rows(self, width: int) -> list[list[tuple[str, str, str]]]:
        """The places broken into lines; what does not fit is found under help."""
        most = 3 if self.app.size.height >= 34 else 2
        lines: list[list[tuple[str, str, str]]] = [[]]
        used = 1
        for entry in self.entries():
            need = len(entry[0]) + len(entry[1]) + 3
            if used + need > width and lines[-1]:
                if len(lines) == most:
                    break
                lines.append([])
                used = 1
            lines[-1].append(entry)
            used += need
        return lines

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as are needed."""
        return len(self.rows(width))

    def render(self) -> Content:
        """The lines."""
        key_style = self.get_visual_style("keybar--key", partial=True)
        lines = []
        for row in self.rows(self.size.width):
            parts = []
            for keys, words, action in row:
                click = Style.from_meta({"@click": action})
                parts.append(Content.styled(f" {keys}", key_style + click))
                parts.append(Content.styled(f" {words} ", click))
            lines.append(Content("").join(parts))
        return Content("\n").join(lines)


def action_of(active: ActiveBinding) -> str:
    """The action of a binding as a click can call it."""
    action = active.binding.action
    if "." in action.partition("(")[0]:
        return action
    node = active.node
    return (
        f"{'app' if node is node.app else 'screen' if node is node.screen else 'focused'}.{action}"
    )
