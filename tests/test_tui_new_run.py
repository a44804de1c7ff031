"""A run is planned in a form: what is typed is checked, costed, and becomes a command."""

import math
import tracemalloc
from pathlib import Path

import pytest
from made_runs import check_golden, config, made_run, step_record, text_of
from textual.pilot import Pilot
from textual.widgets import DirectoryTree, Input, Static

from mlx_gpt import config as config_module
from mlx_gpt.commands.train import choose_config, sort_words
from mlx_gpt.config import all_keys, load_preset, preset_names, settings_of
from mlx_gpt.inventory import inventory, training_bytes
from mlx_gpt.language import Language, say
from mlx_gpt.run import append
from mlx_gpt.terminal import size
from tui import draft as draft_module
from tui.app import MlxGptApp
from tui.draft import (
    Draft,
    blamed,
    estimate,
    field_of,
    fields,
    meaning,
    plain,
)
from tui.pace import PLAIN, Pace, pace_of, speed_for, step_seconds, token_flops, tokens_per_step
from tui.screens.dialogs import Confirm
from tui.screens.files import Files
from tui.screens.new_run import NewRun, cost_text, time_text
from tui.widgets.form import Form


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(say, "language", "en")
    monkeypatch.setattr(draft_module, "machine_memory", lambda: 16 * 10**9)


def page_of(pilot: Pilot[None]) -> NewRun:
    page = pilot.app.screen
    assert isinstance(page, NewRun)
    return page


async def choose(pilot: Pilot[None], key: str) -> None:
    """Put the cursor on a row."""
    form = page_of(pilot).query_one(Form)
    form.at = [row.key for row in form.rows].index(key)
    await pilot.pause()


def shown(pilot: Pilot[None], key: str) -> tuple[str, bool, bool]:
    """Value, whether it is changed, whether it is wrong."""
    [row] = [row for row in page_of(pilot).query_one(Form).rows if row.key == key]
    return row.value, row.changed, row.fault


# The draft


def test_every_setting_is_a_field():
    assert [field.key for field in fields()] == all_keys()
    assert field_of("model.norm").choices == ("layernorm", "rmsnorm")
    assert field_of("model.causal").choices == ("true", "false")
    assert field_of("data.files").kind == "files"


@pytest.mark.parametrize("preset", preset_names())
def test_an_untouched_draft_is_the_preset(preset: str):
    config, faults = Draft(preset).check()
    assert (config, faults) == (load_preset(preset), {})
    assert Draft(preset).words() == ["mlx-gpt", "train", preset]


def test_only_what_differs_becomes_part_of_the_command():
    draft = Draft("mini")
    draft.type("train.lr", "0.01")
    draft.type("model.n_layers", "2")
    draft.type("train.steps", "50")
    draft.type("train.steps", draft.text("train.steps"))
    assert draft.words() == ["mlx-gpt", "train", "mini", "train.lr=0.01", "train.steps=50"]
    draft.type("train.lr", "0.002")
    assert draft.words()[3:] == ["train.steps=50"]


def test_the_command_line_understands_what_the_draft_says(tmp_path: Path):
    import argparse

    book = tmp_path / "a book.txt"
    book.write_text("x")
    draft = Draft("mini")
    draft.files, draft.name = (str(book),), "mine"
    draft.type("train.probe_prompts", '["", "Él dijo"]')
    draft.type("data.encoding", "latin-1")
    draft.type("model.causal", "false")
    words = draft.words()[2:]
    assert words[-2:] == ["--name", "mine"]
    args = argparse.Namespace(steps=None, seed=None, encoding=None)
    config = choose_config(sort_words(words[:-2]), args)
    assert config.train.probe_prompts == ("", "Él dijo")
    assert (config.data.encoding, config.model.causal) == ("latin-1", False)
    assert config.data.files == (str(book),)


def test_each_fault_is_found_and_the_rest_still_counts():
    draft = Draft("mini")
    for key, text in {
        "model.n_heads": "5",
        "train.steps": "many",
        "train.lr": "-1",
        "model.n_layers": "3",
    }.items():
        draft.type(key, text)
    config, faults = draft.check()
    assert set(faults) == {"model.n_heads", "train.steps", "train.lr"}
    assert "not divisible" in faults["model.n_heads"]
    assert config.model.n_layers == 3


def test_two_settings_that_fit_only_together_are_no_fault():
    draft = Draft("mini")
    draft.type("model.d_model", "60")
    draft.type("model.n_heads", "6")
    config, faults = draft.check()
    assert faults == {}
    assert (config.model.d_model, config.model.n_heads) == (60, 6)


def test_a_message_without_a_typed_setting_blames_the_last_one():
    assert blamed("model.x and train.y disagree", ["data.z", "train.y"]) == "train.y"
    assert blamed("nothing named", ["data.z", "train.y"]) == "train.y"


def test_values_are_shown_as_one_types_them():
    values = dict(settings_of(load_preset("stories")))
    assert plain(values["train.probe_prompts"]) == '["", "Once", "Un día"]'
    assert [plain(values[key]) for key in ("model.causal", "data.tokenizer")] == [
        "true",
        "sentencepiece",
    ]


def test_the_estimate_is_that_of_the_inventory():
    config = load_preset("stories")
    cost = estimate(config, speed=2.0)
    assert cost.parameters == inventory(config.model).total
    assert cost.memory == training_bytes(config.model, config.train)
    assert cost.measured
    unmeasured = estimate(config, None)
    assert not unmeasured.measured
    assert cost.seconds == unmeasured.seconds / 2


# Tokens a second on two cores: the first two are told in docs/speed.md.
@pytest.mark.parametrize(
    ("preset", "settings", "measured"),
    [
        ("toy", ["train.batch_size=12"], 14_610),
        ("shakespeare", ["model.vocab_size=65", "train.batch_size=16"], 2_220),
        ("stories", [], 13_118),
        ("stories", ["model.n_layers=2"], 24_145),
        ("stories", ["model.d_model=256", "model.n_heads=4"], 5_453),
        ("mini", ["train.compile=on"], 38_382),
    ],
)
def test_the_pace_by_formula_is_near_that_of_two_cores(
    preset: str, settings: list[str], measured: float
):
    config = load_preset(preset, settings)
    told = tokens_per_step(config) / step_seconds(config)
    assert 1 / 1.35 < told / measured < 1.35


def test_what_is_not_compiled_takes_longer():
    on, off, short, long = (
        step_seconds(load_preset("mini", [f"train.compile={how}", f"train.steps={steps}"]))
        for how, steps in (("on", 10), ("off", 10), ("auto", 10), ("auto", 100_000))
    )
    assert off == pytest.approx(PLAIN * on)
    assert (short, long) == (off, on)  # auto compiles what would take more than a minute


def test_the_cost_of_a_huge_model_is_told_at_once():
    config = load_preset("stories", ["model.n_layers=9999"])
    whole = inventory(config.model).total
    tracemalloc.start()
    cost = estimate(config, None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert cost.parameters == whole
    assert peak < 100_000  # a list of the weights takes megabytes


def test_the_parts_of_the_memory_stand_where_there_is_room():
    cost = estimate(load_preset("stories"), None)
    narrow, wide = (cost_text(cost, wide=wide).plain for wide in (False, True))
    assert len(narrow.split("\n")) == 2
    lines = [line.split("  ") for line in wide.split("\n")[2:6]]
    assert [size(count) for count in cost.parts] == [line[-1].strip() for line in lines]


def test_the_vocabulary_counted_is_the_tokenizers():
    config = load_preset("mini")
    expected = inventory(config.model).total + (257 - 64) * 64
    assert estimate(config, None).parameters == expected


def test_the_pace_of_a_run_is_its_usual_one(tmp_path: Path):
    run = made_run(tmp_path, "a")
    append(run.metrics, step_record(201, tokens_per_second=3.0))
    pace = pace_of(run.path, 1)
    assert pace is not None
    per_second = tokens_per_step(config()) / step_seconds(config())
    assert pace.speed * per_second == pytest.approx(5100.5, abs=1)
    for impossible in (1e308, 1e-320, 10**400, math.inf):
        append(run.metrics, step_record(202, tokens_per_second=impossible))
    assert pace_of(run.path, 2) == pace
    assert pace_of(tmp_path / "none", 0) is None
    assert pace_of(made_run(tmp_path, "young", steps=0).path, 0) is None


def test_only_runs_of_a_similar_size_tell_the_speed():
    config = load_preset("stories")
    token = token_flops(config)
    paces = [Pace(token * share, speed) for share, speed in ((1, 10), (3, 20), (9, 90), (0.2, 1))]
    assert speed_for(config, paces) == 15
    assert speed_for(config, paces[2:]) is None
    assert speed_for(config, []) is None


def test_every_meaning_is_in_the_language_of_the_moment():
    assert meaning("model.d_model") == "width of the residual stream"
    say.language = "es"
    assert meaning("model.d_model").startswith("ancho")


# The page


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_page_looks_as_it_was_looked_at(
    tmp_path: Path, size: tuple[int, int], language: Language, monkeypatch: pytest.MonkeyPatch
):
    say.language = language
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stories.toml").write_text("[data]\nvocab_size = 1024\n[train]\nsteps = 700\n")
    for module in (config_module, draft_module):
        monkeypatch.setattr(module, "preset_folder", lambda: tmp_path)
    monkeypatch.setattr(draft_module, "preset_texts", draft_module.preset_texts.__wrapped__)
    app = MlxGptApp(Path("runs"))
    async with app.run_test(size=size) as pilot:
        await pilot.press("5")
        await choose(pilot, "model.n_heads")
        await pilot.press("enter", "backspace", "5", "enter")
        await pilot.pause()
        check_golden(f"new_{size[0]}x{size[1]}_{language}", text_of(app.screen))


async def test_a_value_is_typed_and_checked(tmp_path: Path):
    async with MlxGptApp(tmp_path).run_test() as pilot:
        await pilot.press("5")
        await choose(pilot, "model.n_layers")
        await pilot.press("enter", "backspace", "x")
        assert shown(pilot, "model.n_layers") == ("x", True, True)
        await pilot.press("backspace", "7", "enter")
        assert shown(pilot, "model.n_layers") == ("7", True, False)
        await pilot.press("enter", "9", "escape")
        assert shown(pilot, "model.n_layers") == ("7", True, False)
        await pilot.press("backspace")
        assert shown(pilot, "model.n_layers") == ("4", False, False)


async def test_a_choice_is_turned(tmp_path: Path):
    async with MlxGptApp(tmp_path).run_test() as pilot:
        await pilot.press("5")
        await choose(pilot, "model.position")
        seen = []
        for key in ("right", "space", "enter", "left"):
            await pilot.press(key)
            seen.append(shown(pilot, "model.position")[0])
        assert seen == ["learned", "none", "rope", "none"]
        await choose(pilot, "preset")
        before = shown(pilot, "preset")[0]
        await pilot.press("right")
        assert shown(pilot, "preset")[0] != before
        assert shown(pilot, "model.position")[0] == "none"


async def test_the_cursor_moves_over_headings(tmp_path: Path):
    async with MlxGptApp(tmp_path).run_test() as pilot:
        await pilot.press("5")
        form = page_of(pilot).query_one(Form)
        assert form.chosen.key == "preset"
        await pilot.press("down", "down")
        assert form.chosen.key == "model.vocab_size"
        await pilot.press("up", "up", "up", "up")
        assert form.chosen.key == "preset"
        await pilot.press("end")
        assert form.chosen.key == all_keys()[-1]
        await pilot.press("pageup", "pagedown", "home")
        assert form.chosen.key == "preset"


async def test_c_shows_only_what_differs(tmp_path: Path):
    async with MlxGptApp(tmp_path).run_test() as pilot:
        await pilot.press("5")
        await choose(pilot, "model.causal")
        await pilot.press("space", "c")
        keys = [row.key for row in page_of(pilot).query_one(Form).rows if row.key]
        assert keys == ["preset", "name", "model.causal"]
        await pilot.press("backspace")
        assert "is as in the preset, and hidden; c shows it" in text_of(pilot.app.screen)
        await choose(pilot, "preset")
        await pilot.press("c")
        assert len(page_of(pilot).query_one(Form).rows) > 50
        await pilot.press("x")
        assert shown(pilot, "model.causal") == ("true", False, False)


async def test_the_estimate_follows(tmp_path: Path):
    async with MlxGptApp(tmp_path).run_test() as pilot:
        await pilot.press("5")
        page = page_of(pilot)
        before = str(page.query_one("#cost", Static).content)
        await choose(pilot, "model.n_layers")
        await pilot.press("enter", "9", "9", "9", "enter")
        after = str(page.query_one("#cost", Static).content)
        assert "✓" in before
        assert "✗" in after


async def test_there_is_no_estimate_of_what_cannot_start(tmp_path: Path):
    async with MlxGptApp(tmp_path).run_test() as pilot:
        await pilot.press("5")
        cost = page_of(pilot).query_one("#cost", Static)
        before = str(cost.content)
        await choose(pilot, "model.n_heads")
        await pilot.press("enter", "backspace", "5", "enter")
        assert str(cost.content) == "Parameters, memory and time are given once no setting is ✗."
        await pilot.press("backspace")
        await choose(pilot, "name")
        await pilot.press("enter", "slash", "enter")
        assert page_of(pilot).faults.keys() == {"name"}
        assert str(cost.content) == before


async def test_a_row_is_named_below_as_it_is_in_the_form(tmp_path: Path):
    say.language = "es"
    async with MlxGptApp(tmp_path).run_test() as pilot:
        await pilot.press("5")
        page = page_of(pilot)
        for key, name in (("preset", "preajuste"), ("name", "nombre"), ("train.lr", "train.lr")):
            await choose(pilot, key)
            page.ticked()
            assert str(page.query_one("#about", Static).content).startswith(f"{name}: ")
        await choose(pilot, "name")
        await pilot.press("enter")
        assert str(page.query_one("#setting", Static).content) == "nombre"


async def test_files_are_chosen_from_a_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("x" * 2000)
    (tmp_path / "b.txt").write_text("x")
    app = MlxGptApp(Path("runs"))
    async with app.run_test(size=(160, 40)) as pilot:
        await pilot.press("5", "f")
        dialog = app.screen
        assert isinstance(dialog, Files)
        tree = dialog.query_one(DirectoryTree)
        tree.focus()
        while not tree.root.children:
            await pilot.pause(0.02)
        await pilot.press("down", "space", "down", "space", "space")
        await pilot.pause()
        assert "a.txt  2.0 KB" in text_of(dialog)
        await pilot.press("s")
        await pilot.pause()
        assert shown(pilot, "data.files") == ("a.txt", True, False)
        assert page_of(pilot).command_line().endswith("/a.txt")
        await pilot.press("f", "backspace", "escape")
        await pilot.pause()
        assert shown(pilot, "data.files")[0] == "a.txt"
        await pilot.press("f", "backspace", "s")
        await pilot.pause()
        assert shown(pilot, "data.files") == ("built-in stories", False, False)


async def test_a_taken_name_is_a_fault_and_nothing_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    begun: list[list[str]] = []
    monkeypatch.setattr(MlxGptApp, "launch", lambda self, words: begun.append(words))
    made_run(tmp_path, "old")
    async with MlxGptApp(tmp_path).run_test() as pilot:
        await pilot.press("5")
        await choose(pilot, "name")
        await pilot.press("enter", *"old", "enter", "s")
        assert shown(pilot, "name") == ("old", True, True)
        assert begun == []
        await pilot.press("enter", *"old2", "enter", "s")
        expected = ["mlx-gpt", "train", "stories", "--name", "old2", "--out", str(tmp_path)]
        assert begun == [expected]


async def test_a_long_or_large_run_is_asked_about_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    begun: list[list[str]] = []
    monkeypatch.setattr(MlxGptApp, "launch", lambda self, words: begun.append(words))
    app = MlxGptApp(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("5")
        for key, text in (("train.steps", "900000"), ("train.batch_size", "99999")):
            page_of(pilot).put(key, text)
            await pilot.press("s")
            assert isinstance(app.screen, Confirm)
            assert told_time(app) in app.screen.question
            await pilot.press("n")
            assert begun == []
            await pilot.press("s", "y")
            assert len(begun) == 1
            begun.clear()
            await pilot.press("x")
        await pilot.press("s")
        assert len(begun) == 1


def told_time(app: MlxGptApp) -> str:
    """The time that the page estimates, in words."""
    page = app.screen_stack[0]
    assert isinstance(page, NewRun)
    config, _ = page.draft.check()
    return time_text(estimate(config, None))


async def test_a_fault_is_read_in_full_and_choices_are_listed(tmp_path: Path):
    app = MlxGptApp(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("5")
        await choose(pilot, "model.context_length")
        await pilot.press("enter", "a")
        shown = text_of(app.screen)
        assert "give a whole number" in shown.split("context_length")[1].splitlines()[0]
        assert 'model.context_length = "a": give a whole number' in shown
        assert "⏎ take  esc cancel" in shown
        assert " s start" not in shown
        await pilot.press("escape")
        await choose(pilot, "model.position")
        page_of(pilot).tick()
        await pilot.pause()
        assert "rope · learned · none" in text_of(app.screen)


async def test_a_click_chooses_and_then_edits(tmp_path: Path):
    async with MlxGptApp(tmp_path).run_test() as pilot:
        await pilot.press("5")
        form = page_of(pilot).query_one(Form)
        await pilot.click(Form, offset=(5, 6))
        assert form.chosen.key == "model.d_model"
        await pilot.click(Form, offset=(5, 6))
        assert page_of(pilot).query_one("#edit", Input).has_focus
