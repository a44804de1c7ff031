"""The help: the focused part and the page, every key, the other parts, and the words."""

from functools import partial

from textual.content import Content
from textual.dom import DOMNode
from textual.widget import Widget

from tui.columns import Columns
from tui.i18n import known, t
from tui.page import Page
from tui.screens.dialogs import Reading, Text

LOSSES = ("loss", "validation", "nats", "perplexity", "bits", "ema")
STEPS = ("step", "learning_rate", "grad_norm", "speed", "memory", "moments")
DIALS = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "max_tokens", "samples")
FORWARD = ("stream", "attention", "head", "rope", "logits", "lens", "cone", "account", "gradients")
WORDS = {
    "runs": (*LOSSES, "step", "speed", "state"),
    "train": (*LOSSES, "guessing", *STEPS),
    "sample": ("logits", "nats", "rivals", *DIALS),
    "trace": (*FORWARD, "loss", "nats"),
    "side": (*LOSSES, "step", "attention", "head"),
    "new": (*STEPS, *DIALS[:6], "attention", "head", "rope"),
}
KEY_WIDTH, NAME_WIDTH, PART_WIDTH = 10, 12, 20


def help_for(page: Page) -> Reading:
    """The help of a page, beginning with what has the focus."""
    return Reading(partial(help_text, page, first_topics(page)))


def help_text(page: Page, first: list[str]) -> Text:
    """These topics, every key, the other parts of the page, and its words."""
    parts: list[Content | Columns] = [Content(f"{t(key)}\n") for key in first]
    parts += [heading("help.keys"), Columns(key_rows(page), KEY_WIDTH, NAME_WIDTH)]
    if others := part_rows(page, first):
        parts += [heading("help.parts"), Columns(others, PART_WIDTH)]
    parts += [heading("help.words"), Columns(word_rows(page), PART_WIDTH)]
    return Text(t(f"page.{page.NAME}"), parts)


def heading(key: str) -> Content:
    """What stands above a section."""
    return Content.styled(f"\n{t(key)}", "bold $text-accent")


def topics(nodes: list[DOMNode]) -> list[str]:
    """The catalogue keys under which these nodes are explained."""
    named = [getattr(node, "topic", "") for node in nodes]
    return list(dict.fromkeys(key for key in named if key and known(key)))


def first_topics(page: Page) -> list[str]:
    """What has the focus, then the page."""
    return topics([*(page.focused.ancestors_with_self if page.focused else []), page])


def key_rows(page: Page) -> list[tuple[str, str, str]]:
    """The keys of each binding, its name, and what it does."""
    keys: dict[str, list[str]] = {}
    words: dict[str, tuple[str, str]] = {}
    for active in page.bindings_in_words().values():
        binding = active.binding
        if binding.id and known(f"tip.{binding.id}"):
            keys.setdefault(binding.id, []).append(page.app.get_key_display(binding))
            words[binding.id] = binding.description, binding.tooltip
    return [(" ".join(keys[name]), *words[name]) for name in keys]


def part_rows(page: Page, told: list[str]) -> list[tuple[str, str]]:
    """The other parts of the page that are seen: name and explanation."""
    seen = [widget for widget in page.walk_children(Widget) if widget.display]
    keys = [key for key in topics([*seen]) if key not in told]
    return [(t(f"topic.{key.partition('.')[2]}"), f"{t(key)}\n") for key in keys]


def word_rows(page: Page) -> list[tuple[str, str]]:
    """The words of the page: name, formula and meaning."""
    return [(t(f"word.{name}"), f"{t(f'gloss.{name}')}\n") for name in WORDS[page.NAME]]
