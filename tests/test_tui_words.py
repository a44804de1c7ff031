"""The app says the same in both languages, and every word it needs is there."""

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlx_gpt.config import all_keys
from mlx_gpt.language import Language, say
from tui.app import all_bindings
from tui.i18n import CATALOGUES, t
from tui.i18n.settings import SETTINGS

EN, ES = CATALOGUES["en"], CATALOGUES["es"]
TUI = Path(__file__).parent.parent / "tui"
# Keys that are put together while the app runs.
FAMILIES = (
    r"(key|keyboard|tip|help|page|state|column|metric|curve|event|advice|new|reference"
    r"|finish|view|part|topic|word|gloss|tour|group|axis|stage|memory)\."
)

# Signs in a text that are no key: a quantity, a figure, an arrow between two values.
SIGNS = {
    "tour.2": "V",
    "help.train": "V",
    "help.rivals": "pT",
    "help.dials": "Tkpn",
    "help.answer": "T1",
    "advice.first_loss": "V",
    "advice.odd_first_loss": "V",
    "advice.too_fast": "→",
    "attention.note": "1",
    "group.attention": "qkv",
    "lens.what": "x",
    "quiz.line": "T",
    "replay.speed": "x",
    "resume.number": "0",
    "sample.surprise": "p",
    "trace.parts": "→",
    "word.guessing": "V",
}
FORMULAS = r"(gloss\.(?!state)|keyboard\.)"
SHORT_WORDS = {"en": "a", "es": "aeoyu"}
SIGN = r"(?<![\w=<>≥/·’'-])\w(?![\w/’'-])|[←→↑↓⏎]"
VERBS = (
    r"ask|branch|break|cancel|check|choose|clear|close|compare|copy|delete|edit|evaluate|explain|"
    r"filter|into|leave|mark|move|open|out|pause|quit|reload|rename|reset|restore|resume|reverse|"
    r"save|scroll|smooth|sort|start|stop|take|trace|turn|undo|zero"
)
NAMED_KEY = r"\b(?:Esc|Enter|Intro|Space|Espacio|Tab|Backspace|Retroceso)\b"


def strings() -> Iterator[str]:
    """Every string in the code of the app."""
    for path in TUI.rglob("*.py"):
        if path.parent.name != "i18n":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def asked_for() -> Iterator[str]:
    """The first argument of every call of `t`, where it is a plain string."""
    for path in TUI.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "t":
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    yield str(first.value)


def places(text: str) -> set[str]:
    """The names in braces."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_both_catalogues_have_the_same_keys():
    assert list(EN) == list(ES)


def test_both_languages_have_the_same_places_for_values():
    assert {key for key in EN if places(EN[key]) != places(ES[key])} == set()


def test_no_word_is_empty_where_the_other_language_has_one():
    assert [key for key in EN if bool(EN[key]) != bool(ES[key])] == []


def test_every_word_that_is_asked_for_is_there():
    assert set(asked_for()) - set(EN) == set()


def test_every_word_is_asked_for():
    used = set(strings())
    spare = [key for key in EN if key not in used and not re.match(FAMILIES, key)]
    assert spare == []


def test_every_key_that_a_text_names_is_bound():
    ids = {f"press[{binding.id}]" for found in all_bindings().values() for binding in found}
    named = {name for text in EN.values() for name in places(text) if name.startswith("press")}
    assert "press[train.resume]" in named
    assert named - ids == set()


@pytest.mark.parametrize("language", ["en", "es"])
def test_no_text_tells_a_key_that_may_be_another_one_now(language: Language):
    bound = [each.key.split(",") for found in all_bindings().values() for each in found]
    single = {key for keys in bound for key in keys if len(key) == 1} | set("←→↑↓⏎")
    told = {}
    for name, text in CATALOGUES[language].items():
        if re.match(FORMULAS, name):
            continue
        words = re.sub(r"\{[^}]*\}", "…", text)
        signs = set(re.findall(SIGN, words)) & single
        found = signs - set(SIGNS.get(name, "")) - set(SHORT_WORDS[language])
        told[name] = sorted(found) + re.findall(NAMED_KEY, words)
    assert {name: found for name, found in told.items() if found} == {}


def test_every_part_of_a_page_has_a_name_and_an_explanation():
    pages = {f"help.{name}" for name in ("runs", "train", "sample", "trace", "new", "side")}
    headings = {"help.keys", "help.parts", "help.words"}
    found = {text for text in strings() if re.fullmatch(r"help\.[a-z]+", text)}
    parts = found - pages - headings
    assert {"help.answer", "help.rivals", "help.log"} <= parts
    for key in parts:
        assert key in EN
        assert f"topic.{key.partition('.')[2]}" in EN


def test_every_setting_has_its_meaning_in_spanish():
    assert list(SETTINGS) == all_keys()


def test_every_binding_has_a_name_and_an_explanation():
    ids = {binding.id for bindings in all_bindings().values() for binding in bindings}
    named = {key.removeprefix("key.") for key in EN if key.startswith("key.")}
    explained = {key.removeprefix("tip.") for key in EN if key.startswith("tip.")}
    assert named == explained
    assert ids - named == set()


@pytest.mark.parametrize("catalogue", [EN, ES], ids=["en", "es"])
def test_names_of_keys_fit_their_place(catalogue: dict[str, str]):
    long = [text for key, text in catalogue.items() if key.startswith("key.") and len(text) > 12]
    assert long == []


def test_names_of_keys_in_spanish_are_nouns_or_infinitives():
    """What English says with a verb, Spanish does; no name tells what the key does to whom."""
    pages = ("key.app.trace",)
    keys = [key for key in EN if key.startswith("key.") and key not in pages]
    names = {key: ES[key] for key in keys if re.fullmatch(VERBS, EN[key])}
    assert {key: name for key, name in names.items() if not re.search(r"[aeií]r$", name)} == {}


@pytest.mark.parametrize("catalogue", [EN, ES], ids=["en", "es"])
def test_lines_of_the_log_are_of_one_style(catalogue: dict[str, str]):
    lines = {key: text for key, text in catalogue.items() if key.startswith("event.")}
    assert {key: text for key, text in lines.items() if text != text[0].lower() + text[1:]} == {}
    assert {key: text for key, text in lines.items() if text.endswith(".")} == {}


@pytest.mark.parametrize("catalogue", [EN, ES], ids=["en", "es"])
def test_heads_of_columns_fit_their_columns(catalogue: dict[str, str]):
    from tui.screens.runs import COLUMNS

    assert [key for key, width in COLUMNS if len(catalogue[f"column.{key}"]) >= width] == []


def test_words_follow_the_language(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(say, "language", "es")
    assert t("page.runs") == "Ejecuciones"
    assert t("status.left", time="8 s") == "quedan 8 s"
    monkeypatch.setattr(say, "language", "en")
    assert t("page.runs") == "Runs"
