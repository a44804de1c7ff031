"""The table of runs, by every key it has."""

import json
from pathlib import Path

import pytest
from made_runs import BEGAN, check_golden, config, eval_record, made_run, text_of
from textual.pilot import Pilot
from textual.widgets import Input

from mlx_gpt.language import Language, say
from mlx_gpt.run import Run, append, hold_lock
from tui.app import MlxGptApp
from tui.screens.dialogs import Ask, Confirm
from tui.screens.runs import Runs, age
from tui.widgets.chart import Chart
from tui.widgets.pane import Pane


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(say, "language", "en")


def app_over(root: Path) -> MlxGptApp:
    return MlxGptApp(root, clock=lambda: BEGAN + 100)


def two_runs(root: Path) -> None:
    made_run(root, "a-wide", settings=config(lr=1e-2))
    made_run(root, "b-slow", steps=150, end=None)


def page_of(pilot: Pilot[None]) -> Runs:
    page = pilot.app.screen
    assert isinstance(page, Runs)
    return page


def rows(page: Runs) -> list[list[str]]:
    return [list(map(str, page.table.get_row_at(at))) for at in range(page.table.row_count)]


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_page_looks_as_it_was_looked_at(
    tmp_path: Path, size: tuple[int, int], language: Language
):
    say.language = language
    two_runs(tmp_path)
    app = app_over(tmp_path)
    async with app.run_test(size=size) as pilot:
        await pilot.press("space", "down")
        app.tick()
        await pilot.pause()
        check_golden(f"runs_{size[0]}x{size[1]}_{language}", text_of(app.screen))


@pytest.mark.parametrize("language", ["en", "es"])
async def test_without_runs_it_says_what_to_press(tmp_path: Path, language: Language):
    say.language = language
    app = app_over(Path("runs"))
    app.root = tmp_path / "runs"
    async with app.run_test(size=(80, 24)):
        shown = text_of(app.screen).replace(str(tmp_path), "")
        assert all(f"  {key}  " in shown for key in ("b", "n", "D", "?"))


async def test_the_table_says_how_each_run_is_doing(tmp_path: Path):
    two_runs(tmp_path)
    async with app_over(tmp_path).run_test() as pilot:
        shown = {row[1]: row for row in rows(page_of(pilot))}
        assert shown["a-wide"][2:4] == ["✓ finished", "200/200"]
        assert shown["b-slow"][2:4] == ["○ interrupted", "150/200"]
        assert shown["a-wide"][5] == f"{eval_record(200)['val_loss']:.3f}"
        assert shown["a-wide"][6:] == ["5.2k", "1 min"]


async def test_a_run_that_begins_and_grows_appears(tmp_path: Path):
    made_run(tmp_path, "old")
    async with app_over(tmp_path).run_test() as pilot:
        page = page_of(pilot)
        run = made_run(tmp_path, "young", steps=10, end=None)
        with hold_lock(run):
            page.look_again()
            assert rows(page)[0][1:4] == ["young", "● running", "10/200"]
            append(run.metrics, {"kind": "step", "step": 11, "loss": 1.5})
            page.tick()
            assert rows(page)[0][3:5] == ["11/200", "1.500"]


async def test_enter_opens_a_run(tmp_path: Path):
    two_runs(tmp_path)
    app = app_over(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("down")
        name = page_of(pilot).chosen_name()
        await pilot.press("enter")
        assert app.current_mode == "train"
        assert app.run_in_hand is not None
        assert app.run_in_hand.name == name


async def test_space_marks_and_the_settings_that_differ_are_shown(tmp_path: Path):
    two_runs(tmp_path)
    async with app_over(tmp_path).run_test(size=(120, 40)) as pilot:
        await pilot.press("space", "down", "v")
        page = page_of(pilot)
        assert {run.name for run in page.compared()} == {"a-wide", "b-slow"}
        assert len(page.query_one("#curves", Chart).figure.series) == 2
        settings = page.query_one("#settings", Pane).shown.plain
        assert "train.lr" in settings
        assert "train.steps" not in settings
        await pilot.press("up", "space")
        assert page.marked == []
        assert "train.steps = 200" in page.query_one("#settings", Pane).shown.plain


async def test_v_changes_between_curves_and_settings(tmp_path: Path):
    two_runs(tmp_path)
    async with app_over(tmp_path).run_test(size=(80, 24)) as pilot:
        page = page_of(pilot)
        chart, settings = page.query_one("#curves"), page.query_one("#settings")
        assert (chart.display, settings.display) == (True, False)
        await pilot.press("v")
        assert (chart.display, settings.display) == (False, True)
        await pilot.press("v")
        assert chart.display


async def test_the_chart_keys(tmp_path: Path):
    two_runs(tmp_path)
    async with app_over(tmp_path).run_test() as pilot:
        page = page_of(pilot)
        chart = page.query_one("#curves", Chart)
        await pilot.press("k")
        assert chart.figure.series[0].points
        await pilot.press("k", "l", "o", "m")
        assert not chart.figure.series[0].points
        assert (chart.look.log, chart.look.robust, chart.look.marks) == (True, True, "blocks")
        before = page.weight
        await pilot.press("plus", "plus", "minus")
        assert page.weight == before + 1
        await pilot.press(*["minus"] * 20)
        assert page.weight == 0


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("wide", ["a-wide"]),
        ("interrupted", ["b-slow"]),
        ("lr>=5e-3", ["a-wide"]),
        ("train.lr<5e-3", ["b-slow"]),
        ("step=150", ["b-slow"]),
        ("tokenizer=bytes wide", ["a-wide"]),
        ("val<0", []),
        ("nosuch>1", []),
        ("state!=finished", ["b-slow"]),
    ],
)
async def test_the_filter(tmp_path: Path, words: str, left: list[str]):
    two_runs(tmp_path)
    async with app_over(tmp_path).run_test() as pilot:
        await pilot.press("slash")
        page = page_of(pilot)
        page.query_one("#filter", Input).value = words
        await pilot.press("enter")
        assert [row[1] for row in rows(page)] == left
        await pilot.press("escape")
        assert page.table.row_count == 2


async def test_a_run_is_renamed(tmp_path: Path):
    made_run(tmp_path, "old")
    app = app_over(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("r")
        dialog = app.screen
        assert isinstance(dialog, Ask)
        dialog.query_one(Input).value = "a/b"
        await pilot.press("enter")
        assert app.screen is dialog
        dialog.query_one(Input).value = "new"
        await pilot.press("enter")
        await pilot.pause()
        assert rows(page_of(pilot))[0][1] == "new"
        assert app.run_in_hand is not None
        assert app.run_in_hand.name == "new"
    assert not (tmp_path / "old").exists()


async def test_a_taken_name_is_refused(tmp_path: Path):
    two_runs(tmp_path)
    app = app_over(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("r")
        app.screen.query_one(Input).value = "a-wide"
        await pilot.press("enter")
        await pilot.press("down", "r")
        app.screen.query_one(Input).value = "b-slow"
        await pilot.press("enter")
    assert {path.name for path in tmp_path.iterdir()} == {"a-wide", "b-slow"}


async def test_a_run_is_deleted_only_after_a_yes(tmp_path: Path):
    made_run(tmp_path, "old")
    app = app_over(tmp_path)
    async with app.run_test() as pilot:
        for keys in (("x", "n"), ("delete", "escape")):
            await pilot.press(*keys)
            assert (tmp_path / "old").is_dir()
        await pilot.press("x")
        assert isinstance(app.screen, Confirm)
        await pilot.press("y")
        await pilot.pause()
        assert page_of(pilot).has_class("-empty")
        assert app.run_in_hand is None
    assert not (tmp_path / "old").exists()


@pytest.mark.parametrize("key", ["x", "r"])
async def test_a_living_run_keeps_its_name_and_its_life(tmp_path: Path, key: str):
    run = made_run(tmp_path, "old", end=None)
    app = app_over(tmp_path)
    with hold_lock(run):
        async with app.run_test() as pilot:
            await pilot.press("1", key, "y")
            await pilot.pause()
            assert isinstance(app.screen, Runs)
    assert run.path.is_dir()


async def test_the_path_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.platform", "linux")
    run = made_run(tmp_path, "old")
    app = app_over(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("f")
        assert app.clipboard == str(run.path)


async def test_the_command_line_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.chdir(tmp_path)
    two_runs(tmp_path / "runs")
    app = app_over(Path("runs"))
    async with app.run_test() as pilot:
        await pilot.press("y")
        assert app.clipboard == "mlx-gpt runs"
        await pilot.press("space", "down", "f4")
        assert app.clipboard == "mlx-gpt runs compare a-wide b-slow"
        await pilot.press("Y")
    assert (tmp_path / "mlx-gpt-commands.sh").read_text() == f"{app.clipboard}\n"


async def test_the_keys_of_the_first_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    begun: list[list[str]] = []
    monkeypatch.setattr(MlxGptApp, "launch", lambda self, words: begun.append(words))
    app = app_over(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("b")
        assert begun == [["mlx-gpt", "train", "stories", "--out", str(tmp_path)]]
        await pilot.press("n")
        assert app.current_mode == "new"


async def test_names_and_settings_from_outside_are_shown_as_they_are(tmp_path: Path):
    name = "[red]x[b] [@click=app.quit]"
    run = made_run(tmp_path, name)
    run.data_json.write_text(json.dumps({}), encoding="utf-8")
    app = app_over(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        assert name[:19] in text_of(app.screen)
        await pilot.press("R")
        await pilot.pause()
        assert name in text_of(app.screen)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-50, "0 s"), (59, "59 s"), (61, "1 min"), (7200, "2 h"), (3 * 86400, "3 d")],
)
def test_ages(seconds: float, words: str):
    assert age(seconds) == words


async def test_a_folder_that_is_no_run_is_not_listed(tmp_path: Path):
    made_run(tmp_path, "real")
    (tmp_path / "notes").mkdir()
    Run(tmp_path / "half").path.mkdir()
    async with app_over(tmp_path).run_test() as pilot:
        assert [row[1] for row in rows(page_of(pilot))] == ["real"]
