"""The table of runs, by every key it has."""

import json
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from made_runs import BEGAN, check_golden, config, eval_record, made_run, step_record, text_of
from rich.cells import cell_len
from textual.pilot import Pilot
from textual.widgets import Input

from mlx_gpt.language import Language, say
from mlx_gpt.run import Run, append, hold_lock
from tui.app import MlxGptApp
from tui.feed import Glance
from tui.order import SORTABLE, Sort, arranged
from tui.screens.dialogs import Ask, Confirm
from tui.screens.runs import COLUMNS, Runs, age
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


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (160, 48)])
async def test_long_values_that_differ_are_told_apart_line_by_line(
    tmp_path: Path, size: tuple[int, int], count: int
):
    for number in range(count):
        prompts = (f"{number} times upon a time", "the same long prompt for all of them")
        settings = config(lr=1e-3 * (number + 1), probe_prompts=prompts)
        made_run(tmp_path, f"日本語模型の名前-{number}", steps=20, settings=settings)
    async with app_over(tmp_path).run_test(size=size) as pilot:
        await pilot.press(*["space", "down"] * count, "v")
        page = page_of(pilot)
        page.tick()
        await pilot.pause()
        pane = page.query_one("#settings", Pane)
        lines = pane.shown.plain.split("\n")
        assert max(map(cell_len, lines)) <= pane.size.width
        assert pane.text.size.height <= max(len(lines), pane.size.height)
        for letter, run in zip("ABCD", page.compared(), strict=False):
            told = [line for line in lines if f"{letter} " in line]
            assert f"{letter} {run.name[:3]}" in told[0]
            feed = page.ours.feed(run)
            assert str(feed.setting("train.lr")) in pane.shown.plain
            assert f"{feed.setting('train.probe_prompts')[0][:3]}" in pane.shown.plain


async def test_a_name_of_wide_letters_keeps_its_column(tmp_path: Path):
    made_run(tmp_path, "日本語[red]模型の名前", steps=20)
    async with app_over(tmp_path).run_test(size=(80, 24)) as pilot:
        _, head, row, *_ = text_of(page_of(pilot)).split("\n")
        assert "日本語[red]模型の名… ✓" in row
        assert cell_len(row[: row.index("✓")]) == head.index("state")


async def test_the_rows_of_compared_runs_have_the_letters_of_their_curves(tmp_path: Path):
    two_runs(tmp_path)
    async with app_over(tmp_path).run_test(size=(120, 40)) as pilot:
        page = page_of(pilot)
        assert [row[0].strip() for row in rows(page)] == ["", ""]
        await pilot.press("space", "down")
        page.tick()
        assert [row[0] for row in rows(page)] == ["▸A", " B"]
        curves = page.query_one("#curves", Chart).figure.series
        assert [(curve.sign, curve.name) for curve in curves] == [
            (row[0][1], row[1]) for row in rows(page)
        ]
        assert page.look.robust


@pytest.mark.parametrize(("width", "whole"), [(80, False), (160, True)])
async def test_names_have_the_room_there_is(tmp_path: Path, width: int, whole: bool):
    name = "a-name-of-thirty-one-characters"
    made_run(tmp_path, name)
    async with app_over(tmp_path).run_test(size=(width, 40)) as pilot:
        await pilot.pause()
        assert (name in [row[1] for row in rows(page_of(pilot))]) == whole
        assert "1 min" in text_of(pilot.app.screen)


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
        assert (chart.look.log, chart.look.robust, chart.look.marks) == (True, False, "blocks")
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


async def test_the_key_follows_a_run_that_ends_under_the_cursor(tmp_path: Path):
    run = made_run(tmp_path, "seen", steps=60, end=None)
    app = MlxGptApp(tmp_path, run=made_run(tmp_path, "in-hand"))
    async with app.run_test(size=(120, 40)) as pilot:
        with hold_lock(run):
            await pilot.press("1")
            page = page_of(pilot)
            page.table.move_cursor(row=page.order.index("seen"))
            await pilot.pause()
            assert " R begin again " not in text_of(page)
            append(
                run.events, {"kind": "finished", "reason": "diverged", "time": BEGAN, "step": 60}
            )
        app.tick()
        await pilot.pause()
        assert " R begin again " in text_of(page)


async def test_the_key_says_how_it_goes_on_with_a_run_that_diverged(tmp_path: Path):
    run = made_run(tmp_path, steps=60, end="diverged")
    async with app_over(tmp_path).run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        page = page_of(pilot)
        assert " R begin again " in text_of(page)
        (run.checkpoints / "step_000050").mkdir(parents=True)
        page.refresh_bindings()
        await pilot.pause()
        assert " R lower rate " in text_of(page)


async def test_escape_takes_the_filter_away_and_then_the_marks(tmp_path: Path):
    two_runs(tmp_path)
    async with app_over(tmp_path).run_test(size=(80, 24)) as pilot:
        page = page_of(pilot)
        await pilot.pause()
        assert "esc" not in text_of(page)
        await pilot.press("space")
        await pilot.pause()
        assert "esc no marks" in text_of(page)
        await pilot.press("slash")
        await pilot.pause()
        assert "esc no filter" in text_of(page)
        await pilot.press(*"slow", "enter")
        assert page.table.row_count == 1
        assert "esc no filter" in text_of(page)
        marked = list(page.marked)
        await pilot.press("escape")
        await pilot.pause()
        assert (page.table.row_count, page.marked) == (2, marked)
        assert "esc no marks" in text_of(page)
        await pilot.press("escape")
        await pilot.pause()
        assert page.marked == []
        assert "esc" not in text_of(page)


# The order


def unlike_runs(root: Path) -> None:
    """Runs that differ in every column; two of them know no loss, one diverged."""
    made_run(root, "run-10", steps=150, vals=[9, 9, 9, 1.0])
    made_run(root, "run-2", steps=100, end="diverged", vals=[9, 9, 3.0])
    made_run(root, "Run-3", steps=50, end=None, vals=[9, 2.0])
    made_run(root, "blank", steps=0, end=None, vals=[math.nan])
    made_run(root, "blown", steps=0, end=None, vals=[math.inf])
    append(Run(root / "run-2").metrics, step_record(101, loss=1.0, tokens_per_second=9e9))
    for at, name in enumerate(("run-2", "run-10", "blown", "Run-3", "blank")):
        for path in (root / name).iterdir():
            os.utime(path, (BEGAN + at, BEGAN + at))


ORDERS = [
    (Sort("name"), ["blank", "blown", "run-2", "Run-3", "run-10"]),
    (Sort("name", True), ["run-10", "Run-3", "run-2", "blown", "blank"]),
    (Sort("state"), ["run-10", "blank", "Run-3", "blown", "run-2"]),
    (Sort("state", True), ["run-2", "blank", "Run-3", "blown", "run-10"]),
    (Sort("step"), ["run-10", "run-2", "Run-3", "blank", "blown"]),
    (Sort("step", True), ["blank", "blown", "Run-3", "run-2", "run-10"]),
    (Sort("loss"), ["run-2", "run-10", "Run-3", "blank", "blown"]),
    (Sort("loss", True), ["Run-3", "run-10", "run-2", "blank", "blown"]),
    (Sort("val"), ["run-10", "Run-3", "run-2", "blank", "blown"]),
    (Sort("val", True), ["run-2", "Run-3", "run-10", "blank", "blown"]),
    (Sort("speed"), ["run-2", "run-10", "Run-3", "blank", "blown"]),
    (Sort("speed", True), ["Run-3", "run-10", "run-2", "blank", "blown"]),
    (Sort("age"), ["blank", "Run-3", "blown", "run-10", "run-2"]),
    (Sort("age", True), ["run-2", "run-10", "blown", "Run-3", "blank"]),
]


def names_of(page: Runs) -> Sequence[str | None]:
    return [key.value for key in page.table.rows]


@pytest.mark.parametrize(("sort", "names"), ORDERS, ids=str)
async def test_the_table_is_sorted_by_each_column_and_what_is_unknown_comes_last(
    tmp_path: Path, sort: Sort, names: list[str]
):
    unlike_runs(tmp_path)
    async with app_over(tmp_path).run_test() as pilot:
        page = page_of(pilot)
        await pilot.press(*["s"] * (SORTABLE.index(sort.column) + 1), *["S"] * sort.turned)
        assert page.sort == sort
        assert names_of(page) == names


def test_a_living_run_is_the_youngest_and_an_age_that_is_unknown_is_last(tmp_path: Path):
    made_run(tmp_path, "old")
    glances = {name: Glance(made_run(tmp_path, name)) for name in ("alive", "young")}
    glances["old"], glances["gone"] = Glance(Run(tmp_path / "old")), Glance(Run(tmp_path / "gone"))
    os.utime(tmp_path / "young" / "metrics.jsonl", (time.time(), time.time()))
    with hold_lock(Run(tmp_path / "alive")):
        for glance in glances.values():
            glance.poll()
    names = ["gone", "old", "young", "alive"]
    assert arranged(names, glances, Sort("age")) == ["alive", "young", "old", "gone"]
    assert arranged(names, glances, Sort("age", True)) == ["old", "young", "alive", "gone"]


async def test_the_head_that_is_sorted_by_has_an_arrow_in_both_languages(tmp_path: Path):
    unlike_runs(tmp_path)
    async with app_over(tmp_path).run_test(size=(80, 24)) as pilot:
        page = page_of(pilot)
        assert not any(sign in text_of(page).split("\n")[1] for sign in "▲▼")
        await pilot.press("s", "s", "s")
        assert " step▼ " in text_of(page)
        await pilot.press("S")
        assert " step▲ " in text_of(page)
        await pilot.press("L")
        assert " paso▲ " in text_of(page)
        await pilot.press("s")
        assert " pérd.▲ " in text_of(page)
        await pilot.press(*["s"] * 4)
        assert page.sort == Sort()
        assert not any(sign in text_of(page).split("\n")[1] for sign in "▲▼")


async def test_turned_round_without_a_column_the_oldest_run_comes_first(tmp_path: Path):
    unlike_runs(tmp_path)
    async with app_over(tmp_path).run_test() as pilot:
        page = page_of(pilot)
        newest_first = list(names_of(page))
        await pilot.press("S")
        assert list(names_of(page)) == newest_first[::-1]
        assert " age▼" in text_of(page)


async def test_a_click_on_a_head_sorts_and_another_turns_round(tmp_path: Path):
    unlike_runs(tmp_path)
    async with app_over(tmp_path).run_test(size=(80, 24)) as pilot:
        page = page_of(pilot)
        head = text_of(page).split("\n")[1]
        for turned in (False, True, False):
            await pilot.click("#table", offset=(head.index("val") + 1, 0))
            await pilot.pause()
            assert page.sort == Sort("val", turned)
        await pilot.click("#table", offset=(0, 0))
        assert page.sort == Sort("val")


async def test_the_cursor_stays_on_its_run_and_the_filter_goes_on(tmp_path: Path):
    unlike_runs(tmp_path)
    async with app_over(tmp_path).run_test() as pilot:
        page = page_of(pilot)
        await pilot.press("down", "down")
        name = page.chosen_name()
        for key in ("s", "S", "s", "s", "S", "s"):
            await pilot.press(key)
            assert page.chosen_name() == name
        await pilot.press("slash")
        page.query_one("#filter", Input).value = "run- val<9"
        await pilot.press("enter", "S")
        assert page.sort == Sort("loss", True)
        assert names_of(page) == ["Run-3", "run-10", "run-2"]
        await pilot.press("S")
        assert names_of(page) == ["run-2", "run-10", "Run-3"]


async def test_a_run_that_improves_moves_up_and_takes_the_cursor_along(tmp_path: Path):
    unlike_runs(tmp_path)
    async with app_over(tmp_path).run_test() as pilot:
        page = page_of(pilot)
        await pilot.press(*["s"] * 5, "home", "down", "down")
        assert page.chosen_name() == "run-2"
        append(Run(tmp_path / "run-2").metrics, eval_record(150, 0.5))
        page.look_again()
        assert names_of(page)[0] == page.chosen_name() == "run-2"


async def test_the_keys_that_sort_can_be_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MLX_GPT_KEYMAP", str(tmp_path / "keymap.toml"))
    (tmp_path / "keymap.toml").write_text('"runs.sort" = "w"\n"runs.reverse" = "W"')
    unlike_runs(tmp_path)
    async with app_over(tmp_path).run_test() as pilot:
        await pilot.press("s", "w", "W")
        assert page_of(pilot).sort == Sort("name", True)
        assert " w sort" in text_of(page_of(pilot))
        commands = [command.title for command in pilot.app.get_system_commands(pilot.app.screen)]
        assert {"sort (w)", "reverse (W)"} <= set(commands)


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


def programs(folder: Path, *names: str) -> Path:
    """Stand-ins for the programs of a desktop: each writes what it is given."""
    folder.mkdir()
    for name in names:
        program = folder / name
        program.write_text(f'#!/bin/sh\necho loud; printf %s "$1" > "{folder}/{name}.told"\n')
        program.chmod(0o755)
    return folder


@pytest.mark.parametrize(("system", "program"), [("linux", "xdg-open"), ("darwin", "open")])
@pytest.mark.parametrize("there", [True, False])
async def test_the_path_is_copied_and_the_folder_shown_where_something_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, program: str, there: bool
):
    monkeypatch.setattr("sys.platform", system)
    folder = programs(tmp_path / "bin", "pbcopy", *[program] * there)
    monkeypatch.setenv("PATH", str(folder))
    run = made_run(tmp_path / "runs", "old run")
    app = app_over(tmp_path / "runs")
    async with app.run_test() as pilot:
        await pilot.press("f")
        await pilot.pause()
        assert app.clipboard == str(run.path)
        said = [note.message for note in app._notifications][-1]
        assert str(run.path) in said
        assert "The path is copied" in said
        assert (f"{program} is asked" in said, f"no {program}" in said) == (there, not there)
        told = folder / f"{program}.told"
        until = time.monotonic() + 20
        while there and not (told.exists() and told.read_text()) and time.monotonic() < until:
            await pilot.pause(0.02)
    assert (told.read_text() if told.exists() else None) == (str(run.path) if there else None)


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
    [(-50, "0 s"), (59, "50 s"), (61, "1 min"), (7200, "2 h"), (3 * 86400, "3 d")],
)
def test_ages(seconds: float, words: str):
    assert age(seconds) == words


async def test_a_folder_that_is_no_run_is_not_listed(tmp_path: Path):
    made_run(tmp_path, "real")
    (tmp_path / "notes").mkdir()
    Run(tmp_path / "half").path.mkdir()
    async with app_over(tmp_path).run_test() as pilot:
        assert [row[1] for row in rows(page_of(pilot))] == ["real"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("nosuch", "No run matches “nosuch”"),
        ("val<0", "No run matches “val<0”"),
        ("lr>>x", "“lr>>x” compares nothing"),
        ("nosuch=3", "“nosuch=3” compares nothing"),
    ],
)
async def test_a_filter_that_keeps_nothing_says_why(tmp_path: Path, typed: str, said: str):
    two_runs(tmp_path)
    async with app_over(tmp_path).run_test(size=(80, 24)) as pilot:
        await pilot.press("slash")
        page = page_of(pilot)
        page.query_one("#filter", Input).value = typed
        await pilot.pause()
        assert said in text_of(page)
        await pilot.press("escape")
        await pilot.pause()
        assert said not in text_of(page)
        assert len(rows(page)) == 2


@pytest.mark.parametrize(
    ("loss", "shown"),
    [
        (0.537, "0.537"),
        (99.994, "99.994"),
        (99.9996, "100"),
        (999.9999, "1000"),
        (1754.7551, "1755"),
        (-2e5, "-200k"),
        (3.2e9, "3.2G"),
        (1e30, "1e+18T"),
    ],
)
async def test_a_large_figure_stays_in_its_column(tmp_path: Path, loss: float, shown: str):
    made_run(tmp_path, steps=149, vals=[loss] * 3)
    run = Run(tmp_path / "stories")
    append(run.metrics, step_record(150, loss=loss))
    append(run.events, {"kind": "started", "step": 0, "steps": 1_200_000})
    append(run.metrics, step_record(1_199_900, loss=loss))
    async with app_over(tmp_path).run_test(size=(80, 24)) as pilot:
        page = page_of(pilot)
        for (name, width), cell in zip(COLUMNS, rows(page)[0], strict=True):
            assert len(cell) < width, (name, cell)
        assert rows(page)[0][3:5] == ["1.2M/1.2M", shown]


async def test_without_a_run_no_key_that_needs_one_is_shown(tmp_path: Path):
    async with app_over(tmp_path).run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        page = page_of(pilot)
        shown = "".join(text_of(page).split("\n")[-2:])
        assert "b built-in run  n new run  D demo" in shown
        needing = ("⏎ open", "mark", "rename", "delete", "resume")
        assert [words for words in needing if words in shown] == []
        made_run(tmp_path)
        page.look_again()
        await pilot.pause()
        assert "space mark" in text_of(page)
