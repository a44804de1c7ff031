"""Cards: what is in hand on every page, in a formula and a few lines of either language."""

from pathlib import Path

import pytest
from made_runs import made_run, recorded_app, text_of
from textual.pilot import Pilot
from textual.widgets import Static

from mlx_gpt.config import all_keys
from mlx_gpt.language import Language, say
from tui.app import MlxGptApp
from tui.cards import card_text
from tui.dials import DIALS
from tui.draft import Draft, limits
from tui.i18n import t
from tui.inside import Inside
from tui.page import Page
from tui.recorded import Recorded
from tui.screens.card import Cards
from tui.screens.dialogs import Reading
from tui.screens.help import WORDS
from tui.screens.new_run import NewRun
from tui.screens.sample import Sample
from tui.screens.trace import Trace
from tui.setting import SETTING_WORDS, setting_card
from tui.widgets.prompt import Prompt

MOST_LINES = 7  # of which one is the formula


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(say, "language", "en")
    monkeypatch.setenv("MLX_GPT_PROMPTS", str(tmp_path / "prompts.jsonl"))
    monkeypatch.setenv("MLX_GPT_KEYMAP", str(tmp_path / "keymap.toml"))


async def card_of(pilot: Pilot[None], *keys: str) -> tuple[str, list[str]]:
    """The name and the lines of the card that `i` shows after some keys."""
    await pilot.press(*keys)
    await pilot.app.workers.wait_for_complete()
    await pilot.press("i")
    await pilot.pause()
    screen = pilot.app.screen
    assert isinstance(screen, Cards)
    shown = str(screen.query_one("#card", Static).content).split("\n")
    name = str(screen.query_one(".dialog").border_title)
    await pilot.press("i")
    assert not isinstance(pilot.app.screen, Cards)
    return name, shown


def page_of(pilot: Pilot[None]) -> Page:
    page = pilot.app.screen
    assert isinstance(page, Page)
    return page


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("number", "12345")
async def test_every_card_of_a_page_has_a_formula_and_is_short(
    tmp_path: Path, number: str, language: Language
):
    say.language = language
    app = MlxGptApp(tmp_path, run=made_run(tmp_path), model="demo")
    app.insides[False] = Inside(Recorded(pace=0))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(number)
        await app.workers.wait_for_complete()
        await pilot.press("i")
        screen = app.screen
        assert isinstance(screen, Cards)
        await pilot.pause()
        width = screen.query_one("#card").size.width
        seen = []
        for word in screen.words:
            card = screen.page.card(word)
            seen.append(card.name)
            assert card.meaning
            assert card.formula or word not in WORDS[screen.page.NAME]
            assert 0 < len(card_text(card).wrap(width)) <= MOST_LINES, word
        assert set(WORDS[screen.page.NAME]) <= set(screen.words)
        assert len(set(seen)) == len(seen)


@pytest.mark.parametrize(
    ("key", "english", "spanish"),
    [
        ("i", "mean of −ln p(token that", "media de −ln p(token que"),
        ("f1", "The run in hand.", "La ejecución elegida."),
    ],
)
async def test_what_explains_a_page_changes_its_language_with_it(
    tmp_path: Path, key: str, english: str, spanish: str
):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(key)
        await pilot.pause()
        over = app.screen
        assert english in text_of(over)
        await pilot.press("L")
        await pilot.pause()
        assert app.screen is over
        assert spanish in text_of(over)
        assert "cerrar" in text_of(over)
        await pilot.press("escape")
        await pilot.pause()
        assert "ayuda" in text_of(page_of(pilot))


async def test_on_the_train_page_it_is_the_metric_of_the_large_chart(tmp_path: Path):
    async with MlxGptApp(tmp_path, run=made_run(tmp_path)).run_test() as pilot:
        names = [(await card_of(pilot, *keys))[0] for keys in ((), *[("g",)] * 4)]
        assert names == ["loss", "learning rate", "gradient norm", "tokens/s", "memory"]
        _, lines = await card_of(pilot, "g")
        assert lines[0] == "mean of −ln p(token that came)"


async def test_on_the_runs_page_it_is_the_column_sorted_by(tmp_path: Path):
    made_run(tmp_path)
    async with MlxGptApp(tmp_path).run_test() as pilot:
        await pilot.press("1")
        names = [(await card_of(pilot, *keys))[0] for keys in ((), *[("s",)] * 7)]
        assert names == [
            "loss",
            "loss",
            "state",
            "step",
            "loss",
            "validation loss",
            "tokens/s",
            "loss",
        ]


async def test_on_the_sample_page_it_is_what_was_acted_on_last(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        assert (await card_of(pilot, "3"))[0] == "temperature"
        page = page_of(pilot)
        assert isinstance(page, Sample)
        await pilot.press("e")
        page.query_one("#prompt", Prompt).value = "Once upon a time"
        await pilot.press("enter")
        await app.workers.wait_for_complete()
        assert (await card_of(pilot, "left"))[0] == "nats"
        assert (await card_of(pilot, "down"))[0] == "rivals"
        names = [(await card_of(pilot, "d"))[0] for _ in DIALS]
        assert names == [t(f"word.{dial.name}") for dial in (*DIALS[1:], DIALS[0])]
        assert (await card_of(pilot, "left", "plus"))[0] == "temperature"


async def test_on_the_trace_page_it_is_the_row_or_the_view(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("4")
        await app.workers.wait_for_complete()
        page = page_of(pilot)
        assert isinstance(page, Trace)
        assert page.walk is not None
        page.walk.go("blocks.0.weights")
        name, lines = await card_of(pilot)
        assert name == "blocks.0.weights"
        assert lines[0] == page.walk.row.formula
        assert lines[2].startswith("axes: B n_heads T S = 1 × 3 × ")
        assert lines[3].startswith("mlx_gpt/model.py:")
        assert '"weights"' in lines[3]
        name, lines = await card_of(pilot, "left")
        assert (name, lines[0]) == ("attention", t("gloss.attention").split("\n")[0])
        for key, word in (("l", "lens"), ("C", "cone"), ("u", "account"), ("s", "logits")):
            assert (await card_of(pilot, key))[0] == t(f"word.{word}")
        page.walk.go("blocks.0.weights")
        await pilot.press("z", "escape", "z")
        page.query_one("#tree").focus()
        assert (await card_of(pilot))[1][2] == "axes: to be guessed"


async def test_on_the_form_it_is_the_setting_and_what_it_changes(tmp_path: Path):
    async with MlxGptApp(tmp_path).run_test() as pilot:
        await pilot.press("5")
        page = page_of(pilot)
        assert isinstance(page, NewRun)
        name, lines = await card_of(pilot)
        assert (name, lines[0]) == ("preset", "what to begin from; ←/→ choose")
        assert lines[1].startswith("allowed: gpt2 · mini · ")
        name, lines = await card_of(pilot, *["down"] * 5)
        assert name == "model.n_layers"
        assert lines[:3] == ["number of blocks", "allowed: ≥ 1 · ≤ 10000", "the preset has 4"]
        assert lines[3].startswith("with 8: parameters ×1.86 · memory ×1.")


def test_a_setting_tells_what_another_value_would_cost():
    draft = Draft("stories")
    draft.type("train.steps", "1000")
    assert setting_card(draft, "train.steps").here[1:] == (
        "the preset has 1200",
        "with 2000: time ×2",
    )
    assert setting_card(draft, "train.seed").here[-1] == ""
    assert setting_card(draft, "model.n_heads").here[-1].startswith("with 4: memory ×")
    draft.type("model.d_model", "6")  # twice the heads would turn no pairs
    assert setting_card(draft, "model.n_heads").here[-1] == ""
    assert draft.text("train.steps") == "1000"
    assert limits("train.beta1") == ("≥ 0", "< 1")
    assert setting_card(draft, "model.position").here[0] == "allowed: rope · learned · none"


def test_the_formulas_of_settings_are_those_of_words():
    assert set(SETTING_WORDS) <= set(all_keys())
    assert set(SETTING_WORDS.values()) <= {word for words in WORDS.values() for word in words}


async def test_the_arrows_go_through_the_words_and_back(tmp_path: Path):
    async with MlxGptApp(tmp_path, run=made_run(tmp_path)).run_test() as pilot:
        await pilot.press("i", "right", "j")
        screen = pilot.app.screen
        assert isinstance(screen, Cards)
        assert screen.words[screen.at] == "nats"
        await pilot.press("left", "k", "left")
        assert screen.at == len(screen.words) - 1
        for key in ("escape", "enter", "q"):
            await pilot.press(key)
            assert isinstance(pilot.app.screen, Page)
            await pilot.press("i")


async def test_a_question_mark_opens_the_help_in_place_of_the_card(tmp_path: Path):
    async with MlxGptApp(tmp_path, run=made_run(tmp_path)).run_test() as pilot:
        page = pilot.app.screen
        await pilot.press("i", "question_mark")
        assert isinstance(pilot.app.screen, Reading)
        assert "Train" in text_of(pilot.app.screen)
        await pilot.press("escape")
        assert pilot.app.screen is page


async def test_a_line_takes_an_i_as_text(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("3", "e", "i")
        assert page_of(pilot).query_one("#prompt", Prompt).value == "i"
