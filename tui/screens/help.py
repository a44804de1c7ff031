"""The help: what the focused part is, and every key that acts on this page."""

from textual.content import Content
from textual.dom import DOMNode

from tui.i18n import known, t
from tui.page import Page
from tui.screens.dialogs import Reading


def help_for(page: Page) -> Reading:
    """The help of a page, beginning with what has the focus."""
    parts = []
    for key in help_keys(page):
        parts += [Content(t(key)), Content("")]
    parts += [Content.styled(t("help.keys"), "bold"), *key_lines(page)]
    return Reading(t(f"page.{page.NAME}"), Content("\n").join(parts))


def help_keys(page: Page) -> list[str]:
    """The catalogue keys of the focused widget's help and of the page's."""
    nodes: list[DOMNode] = list(page.focused.ancestors_with_self) if page.focused else [page]
    named = [getattr(node, "topic", "") for node in nodes]
    return list(dict.fromkeys(key for key in [*named, page.topic] if key and known(key)))


def key_lines(page: Page) -> list[Content]:
    """One line for each binding: its keys, its name, and what it does."""
    keys: dict[str, list[str]] = {}
    words: dict[str, tuple[str, str]] = {}
    for active in page.active_bindings.values():
        binding = active.binding
        if not binding.id or not known(f"tip.{binding.id}"):
            continue
        keys.setdefault(binding.id, []).append(page.app.get_key_display(binding))
        words[binding.id] = binding.description, binding.tooltip
    return [
        Content.assemble(
            (f"{' '.join(keys[name]):>12}  ", "bold"), f"{words[name][0]:<16}  {words[name][1]}"
        )
        for name in keys
    ]
