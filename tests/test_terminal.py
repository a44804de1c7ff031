"""Text on a terminal: nothing in it acts, and all that is in it can be seen."""

import sys
import unicodedata

import pytest

from mlx_gpt.language import Language, say
from mlx_gpt.terminal import Progress, cropped, duration, table, visible

ACTING = {"Cc", "Cf", "Zl", "Zp"}


def test_no_character_acts_on_the_terminal_or_hides():
    every = [chr(code) for code in range(sys.maxunicode + 1)]
    acting = [each for each in every if unicodedata.category(each) in ACTING]
    shown = {each: visible(each) for each in acting if each not in "\n\t"}
    assert len(shown) > 200
    still = [
        each for each, text in shown.items() if {unicodedata.category(c) for c in text} & ACTING
    ]
    assert still == []
    assert [each for each in every if each not in shown and visible(each) != each] == []


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\u202eb", "a‹202E›b"),
        ("\u2066x\u2069", "‹2066›x‹2069›"),
        ("zero\u200bwidth\ufeff", "zero‹200B›width‹FEFF›"),
        ("\x1b[31m\x7f\x9b", "␛[31m␡\ufffd"),
        ("ñ á 日本 👍🏽\n\t", "ñ á 日本 👍🏽\n\t"),
    ],
)
def test_what_is_seen_of_a_text(text: str, seen: str):
    assert visible(text) == seen


@pytest.mark.parametrize("language", ["en", "es"])
def test_a_program_reads_the_same_stages_in_every_language(
    language: Language, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(say, "language", language)
    progress = Progress()
    progress.in_lines = True
    progress.bar("tokenising", 3, 4)
    assert capsys.readouterr().err == "tokenising 75%\n"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (8.4, "8 s"),
        (59.6, "1 min 0 s"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
        (86399, "23 h 59 min"),
        (86400, "1 d 0 h"),
        (43_256_400, "500 d 15 h"),
    ],
)
def test_a_duration_is_said_in_its_two_largest_units(seconds: float, said: str):
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [
        ("plain", 5, "plain"),
        ("plain", 4, "pla…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("e\u0301a", 2, "e\u0301a"),
        ("e\u0301aa", 2, "e\u0301…"),
        ("a", 0, "…"),
        ("", 0, ""),
    ],
)
def test_a_text_is_cut_by_columns(text: str, width: int, cut: str):
    assert cropped(text, width) == cut


def test_columns_line_up_whatever_the_width_of_their_letters():
    rows = [("日本語", "1"), ("e\u0301a", "22"), ("plain", "3")]
    assert table(rows, right=[1]).split("\n") == ["日本語   1", "e\u0301a      22", "plain    3"]
