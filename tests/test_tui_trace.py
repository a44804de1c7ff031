"""The page that steps through a model, by every key it has; and the parts it is made of."""

import asyncio
import base64
import re
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_runs import check_golden, recorded_app, text_of
from rich.cells import cell_len
from small_model import small_run, weights
from textual.pilot import Pilot
from textual.widgets import Static

from mlx_gpt.checkpoint import save_snapshot
from mlx_gpt.errors import UserError
from mlx_gpt.labs.table import LABS
from mlx_gpt.language import Language, say
from mlx_gpt.run import Inbox, Run, append, hold_lock
from mlx_gpt.steps import TABLE
from mlx_gpt.tokenizer import ByteTokenizer
from mlx_gpt.tracefile import from_json
from mlx_gpt.traces import Row, Trace
from tui.app import MlxGptApp
from tui.grid import Grid, place_text
from tui.heat import (
    LEVELS,
    Mode,
    Table,
    Window,
    bars,
    heatmap,
    levels_of,
    number_text,
    row_name,
)
from tui.i18n import t
from tui.inquiry import Edit, Given, Inquiry, row_request
from tui.inside import DEMO, Inside, array
from tui.inspect import signs, verdict_line
from tui.lenses import source_text
from tui.listing import listing_of
from tui.quiz import judge
from tui.recorded import Recorded, Recording, key_of, write_recording
from tui.screens import trace as page_module
from tui.screens.pick import Menu, Pick
from tui.views import VIEWS, Room, Views
from tui.walk import Walk
from tui.widgets.keybar import KeyBar
from tui.widgets.pane import Pane
from tui.widgets.prompt import Answer, Prompt
from tui.widgets.row_tree import RowTree
from tui.widgets.view_pane import ViewPane
from tui.worker import ask

PROMPT = "Once upon a time"
Page = page_module.Trace


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(say, "language", "en")
    monkeypatch.setenv("MLX_GPT_PROMPTS", str(tmp_path / "prompts.jsonl"))
    monkeypatch.setenv("MLX_GPT_KEYMAP", str(tmp_path / "keymap.toml"))


async def settle(pilot: Pilot[None]) -> Page:
    """Until nothing more is being asked."""
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    page = pilot.app.screen
    assert isinstance(page, Page)
    return page


async def opened(pilot: Pilot[None]) -> Page:
    """The page with the recorded trace on it."""
    await pilot.press("4")
    return await settle(pilot)


async def test_another_language_takes_no_trace_away(tmp_path: Path):
    app = MlxGptApp(tmp_path, demo=True)
    async with app.run_test(size=(120, 40)) as pilot:
        page = await opened(pilot)
        trace = page.inquiry.trace
        assert trace is not None
        page.fault = "a later question was refused"
        await pilot.press("L")
        await pilot.pause(0.3)
        assert page.inquiry.trace is trace


def walk_of(page: Page) -> Walk:
    assert page.walk is not None
    return page.walk


def facts(page: Page) -> str:
    return str(page.query_one("#facts", Static).content)


def pane(page: Page, name: str = "view") -> str:
    return page.query_one(f"#{name}", Pane).shown.plain


def title(page: Page, name: str = "view") -> str:
    return str(page.query_one(f"#{name}", Pane).border_title)


@pytest.fixture(scope="module")
def trace() -> Trace:
    """The recorded trace."""
    answer = asyncio.run(ask(Recorded(), "trace", prompt=PROMPT))
    return from_json(answer["trace"])


# The walk


def test_the_tree_holds_every_row_once_in_the_order_of_execution(trace: Trace):
    walk = Walk(trace.rows)
    assert [node.row for node in walk.nodes if node.row is not None] == list(range(len(trace.rows)))
    tops = [node for node in walk.nodes if node.parent is None]
    assert [node.first for node in tops[1:]] == [node.end for node in tops[:-1]]
    labels = [node.label for node in tops]
    assert labels == ["embedding", "block", "block", "block", "head", "loss", "sampling"]


def test_stepping_passes_closed_groups_in_one_step_and_walks_through_open_ones(trace: Trace):
    walk = Walk(trace.rows)
    seen = [walk.node.label]
    while walk.cursor != walk.visible()[-1]:
        walk.step(1)
        seen.append(walk.node.label)
    assert seen == ["embedding", "block", "block", "block", "head", "loss", "sampling"]
    walk.block(-1)
    walk.block(-1)
    assert walk.into()
    assert walk.row.kind == "final_norm"
    assert not walk.into()
    walk.step(1)
    assert walk.row.kind == "logits"
    walk.out()
    assert (walk.node.label, walk.cursor in walk.open) == ("head", False)
    walk.step(-1)
    assert walk.node.layer == 2


def test_going_to_a_row_opens_what_is_around_it(trace: Trace):
    walk = Walk(trace.rows)
    walk.go("blocks.1.weights")
    assert walk.row.name == "blocks.1.weights"
    assert walk.cursor in walk.visible()
    other = Walk(trace.rows)
    other.follow(walk)
    assert other.row.name == "blocks.1.weights"
    before = other.cursor
    other.go("no such row")
    assert other.cursor == before


# Tables


def table_of(values: Any, *, shares: bool = False) -> Table:
    array = np.array(values, float)
    names = [str(i) for i in range(max(array.shape))]
    return Table(array, names[: array.shape[0]], names[: array.shape[1]], shares)


def test_levels_of_shares_go_by_their_root_and_others_by_the_largest():
    assert levels_of(table_of([[1e-9, 0.25, 1]], shares=True)).tolist() == [[0, 8, 16]]
    assert levels_of(table_of([[-2, 0, 1, 2, np.nan]])).tolist() == [[0, 8, 12, 16, -1]]
    assert levels_of(table_of([[0.0, 0.0]])).tolist() == [[LEVELS // 2] * 2]


@pytest.mark.parametrize(
    ("value", "shares", "text"),
    [
        (0.734, True, ".73"),
        (0.0, True, " · "),
        (1.0, True, "1.0"),
        (-1.234, False, "-1.23"),
        (12345.6, False, "12346"),
        (-123456.0, False, "-1e+05"),
        (-np.inf, False, "   -∞"),
        (np.nan, False, "  nan"),
    ],
)
def test_a_number_has_its_columns(value: float, shares: bool, text: str):
    assert number_text(value, shares) == text


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (10, 10), (12, 96), (200, 7), (64, 64)])
@pytest.mark.parametrize("room", [(20, 6), (44, 14), (100, 30)])
@pytest.mark.parametrize("colour", [True, False])
def test_a_heatmap_stays_within_its_room(
    shape: tuple[int, int], room: tuple[int, int], colour: bool
):
    values = np.random.default_rng(0).normal(size=shape)
    table = Table(values, ["row"] * shape[0], ["col"] * shape[1])
    content, window, mode = heatmap(table, *room, colour=colour)
    lines = content.plain.split("\n")
    assert len(lines) <= room[1]
    assert max(len(line) for line in lines) <= room[0]
    assert window.rows <= shape[0]
    assert window.columns <= shape[1]
    assert colour or mode in ("numbers", "tight", "signs")


def test_numbers_are_shown_while_they_fit_then_blocks_then_half_blocks():
    def mode(columns: int, rows: int = 4) -> str:
        return heatmap(table_of(np.zeros((rows, columns)), shares=True), 44, 14)[2]

    modes = [mode(columns) for columns in (10, 13, 18, 40)]
    assert modes == ["numbers", "tight", "blocks", "half"]
    assert mode(10, rows=20) == "broad"


def test_without_colour_numbers_come_before_signs_while_they_can_be_told_apart():
    def mode(value: float, *, shares: bool) -> str:
        table = table_of(np.full((4, 8), value), shares=shares)
        return heatmap(table, 44 if not shares else 28, 14, colour=False)[2]

    assert mode(0.25, shares=True) == "tight"
    assert mode(-12.5, shares=False) == "tight"
    assert mode(12.5, shares=False) == "signs"


@pytest.mark.parametrize("mode", ["blocks", "half", "signs"])
def test_a_masked_cell_is_not_a_weight_near_zero(mode: Mode):
    rows = [[0.0, 1e-6, np.nan]] * 2
    content = heatmap(table_of(rows, shares=True), 44, 14, mode=mode)[0]
    shown = content.plain.splitlines()[1].split(" ", 1)[1]
    wide = len(shown) // 3
    masked, small, unknown = (shown[at * wide : (at + 1) * wide] for at in range(3))
    assert (masked, unknown) == ("·" * wide, "×" * wide)
    assert set(small) == {"▀" if mode == "half" else " "}


@pytest.mark.parametrize(
    ("label", "name"), [(1, "O"), (2, "On"), (3, "O/c"), (4, "On/c"), (5, "On/ce"), (7, "  On/ce")]
)
def test_a_line_of_two_rows_names_both_where_it_can(label: int, name: str):
    assert row_name(["On", "ce"], label) == name


def test_labels_count_columns_not_characters():
    names = ["日本", "模", "a"]
    table = Table(np.zeros((3, 3)), names, names, shares=True)
    for cell in (None, (0, 0), (2, 2)):
        lines = heatmap(table, 20, 9, mode="blocks", cell=cell)[0].plain.split("\n")
        assert {cell_len(line) for line in lines} == {4 + 1 + 6}
    assert [line[:3] for line in lines[2:]] == ["  模", "   "]


@pytest.mark.parametrize("width", [10, 12, 16, 20, 40])
def test_the_place_of_a_window_stays_on_its_line(width: int):
    told = place_text(Window(0, 0, 16, 14), (16, 16), width)
    assert len(told) <= width
    assert ("0–13" in told) == (width > 10)
    assert (told == "0–15 / 16 × 0–13 / 16   { } [ ]") == (width == 40)


def test_a_histogram_is_a_line_of_bars():
    assert bars([0, 1, 7]) == " ▂█"
    assert bars([]) == ""


def row_of(axes: str, shape: tuple[int, ...]) -> Row:
    stats: Any = None
    return Row(0, "r", "q", 0, "attention", axes, shape, "float32", 0, 0, "", (), (), False, stats)


def test_the_grid_shows_every_pair_of_axes_and_moves_along_the_others():
    grid, row = Grid(), row_of("B n_heads T d_head", (2, 3, 4, 5))
    numbers = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)
    answer = {"value": packed(numbers), "axes": None}
    assert np.array_equal(grid.table(row, answer)[0], numbers[0, 0])
    grid.move(row, 1)
    assert np.array_equal(grid.table(row, answer)[0], numbers[0, 1])
    assert grid.describe(row) == "B=0/2 ›n_heads=1/3 T:4 d_head:5"
    grid.held += 1
    grid.move(row, -1)
    assert np.array_equal(grid.table(row, answer)[0], numbers[1, 1])
    seen = set()
    for _ in range(12):
        table, names = grid.table(row, answer)
        seen.add((tuple(names), table.shape))
        grid.turn()
    assert len(seen) == 12
    assert (("d_head", "B"), (5, 2)) in seen


def packed(numbers: np.ndarray) -> dict[str, Any]:
    data = base64.b64encode(numbers.tobytes()).decode()
    return {"shape": list(numbers.shape), "dtype": "float32", "data": data}


def test_of_a_large_row_only_the_slice_is_asked_for():
    assert "axes" not in row_request("q", (1, 4, 16, 8), (2, 3), [0, 1, 0, 0])
    large = row_request("q", (1, 64, 1024, 64), (2, 3), [0, 5, 0, 0])
    assert (large["axes"], large["index"]) == ([2, 3], [0, 5, 0, 0])


# The quiz


DIMS = {"B": 1, "T": 7, "S": 7, "d_model": 12, "n_heads": 3, "d_head": 4, "d_ff": 20, "V": 29}


@pytest.mark.parametrize(
    ("guess", "right"),
    [
        ("B n_heads T d_head", True),
        ("b, H, t, hd", True),
        ("1 3 7 4", True),
        ("(1×3×T×4)", True),
        ("B T n_heads d_head", False),
        ("B T d_model", False),
        ("1 3 7 5", False),
        ("B n_heads T cats", False),
    ],
)
def test_a_shape_may_be_guessed_in_names_or_numbers(guess: str, right: bool):
    verdict = judge(guess, row_of("B n_heads T d_head", (1, 3, 7, 4)), DIMS)
    assert verdict.right == right


def test_a_wrong_axis_is_explained():
    row = row_of("B n_heads T d_head", (1, 3, 7, 4))
    words = judge("B T n_heads d_head", row, DIMS).words
    assert "Axis 2 is n_heads = 3, heads, not T = 7" in words
    assert "It has 4 axes, not 3" in judge("B T d_model", row, DIMS).words


# The page


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_page_looks_as_it_was_looked_at(
    tmp_path: Path, size: tuple[int, int], language: Language
):
    say.language = language
    app = recorded_app(tmp_path)
    async with app.run_test(size=size) as pilot:
        page = await opened(pilot)
        walk_of(page).go("blocks.0.weights")
        await pilot.press("a")
        await settle(pilot)
        check_golden(f"trace_{size[0]}x{size[1]}_{language}", text_of(page))


@pytest.mark.parametrize("view", [view for view in VIEWS if view != "source"])
async def test_every_view_of_the_recording_looks_as_it_was_looked_at(tmp_path: Path, view: str):
    app = recorded_app(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        page = await opened(pilot)
        walk_of(page).go("blocks.0.weights")
        page.action_look(view)
        await settle(pilot)
        await settle(pilot)
        check_golden(f"view_{view}", text_of(page))


async def test_without_a_model_it_says_where_to_find_one(tmp_path: Path):
    app = MlxGptApp(tmp_path / "runs")
    async with app.run_test() as pilot:
        await pilot.press("4")
        assert "  1   the runs" in text_of(app.screen)
        for key in ("down", "right", "space", "v", "comma", "b", "o", "0", "z", "R", "w"):
            await pilot.press(key)
        await app.workers.wait_for_complete()
        assert isinstance(app.screen, Page)


async def test_the_first_trace_comes_by_itself_and_proves_every_row(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await opened(pilot)
        assert "demo, step 1800 · loss 0.316 · 10 tokens" in facts(page)
        tree = page.query_one(RowTree).render().plain.splitlines()
        assert all(line.startswith("✓") for line in tree if line.strip())
        assert "Ids become vectors" in pane(page, "row")


async def test_the_keys_of_a_debugger_walk_through_the_model(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await opened(pilot)
        walk = walk_of(page)
        await pilot.press("down", "j")
        assert walk.node.label == "attention"
        await pilot.press("right")
        assert walk.row.name == "blocks.0.norm1"
        await pilot.press("down", "down", "k", "up")
        assert walk.row.name == "blocks.0.norm1"
        assert title(page, "row") == "norm1"
        await pilot.press("left")
        assert (walk.node.label, walk.cursor in walk.open) == ("attention", False)
        await pilot.press("space")
        assert (walk.node.label, walk.node.layer) == ("block", 1)
        await pilot.press("p", "p")
        assert walk.node.label == "embedding"
        await pilot.press("enter")
        assert walk.row.name == "tok"


async def test_clicking_goes_to_a_line_and_opens_a_group(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await opened(pilot)
        walk = walk_of(page)
        await pilot.click(RowTree, offset=(8, 2))
        assert walk.node.label == "attention"
        assert walk.cursor not in walk.open
        await pilot.click(RowTree, offset=(8, 2))
        assert walk.cursor in walk.open


async def test_right_on_a_row_shows_its_numbers_slice_by_slice(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        page = await opened(pilot)
        walk_of(page).go("blocks.0.weights")
        await pilot.press("right")
        await settle(pilot)
        assert "B=0/1 ›n_heads=0/3 T:10 S:10" in title(page)
        first = pane(page)
        assert "1.0" in first.splitlines()[1]
        await pilot.press("full_stop")
        await settle(pilot)
        assert "›n_heads=1/3" in title(page)
        assert pane(page) != first
        await pilot.press("comma", "h")
        await settle(pilot)
        assert "›B=0/1" in title(page)
        await pilot.press("w")
        await settle(pilot)
        assert "n_heads:3" in title(page)


@pytest.mark.parametrize(("rows", "columns"), [(2, 3), (4, 40), (30, 8), (60, 96)])
@pytest.mark.parametrize("colour", [True, False])
def test_every_press_of_marks_changes_what_is_seen(rows: int, columns: int, colour: bool):
    grid, table = Grid(), table_of(np.random.default_rng(0).normal(size=(rows, columns)))
    pictures = []
    for _ in range(6):
        pictures.append(grid.draw(table, 42, 14, colour=colour))
        grid.next_mode()
    same = [one.is_same(other) for one, other in pairwise(pictures)]
    assert same == [False] * 5


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("kind", ["q", "v_shared", "attn_out"])
def test_the_title_of_values_tells_every_axis_and_where_it_stands(language: Language, kind: str):
    say.language = language
    views, room = Views(Inquiry(), lambda _do, _fields: None), Room(42, 16, True)
    for axes, shape in (
        ("B n_kv_heads T d_head", (1, 12, 1024, 64)),
        ("B n_heads T S", (1, 2, 6, 6)),
        ("B T d_model", (1, 1024, 768)),
    ):
        row = replace(row_of(axes, shape), kind=kind)
        views.grid.place(row)[:] = [size - 1 for size in shape]
        for _ in views.grid.pairs(row):
            title = views.values_title(row, room)
            assert len(title) <= room.width
            for axis, (name, size) in enumerate(zip(axes.split(), shape, strict=True)):
                held = axis not in views.grid.axes(row)
                assert re.search(rf"{name}={size - 1}\b" if held else rf"{name}\b", title)
            assert title.count("›") == 1
            views.grid.turn()


async def test_axes_are_only_chosen_where_there_is_a_choice(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await opened(pilot)
        await pilot.press("x")
        for row, choices in (("blocks.0.weights", "wh"), ("blocks.0.up", "w"), ("loss", "")):
            walk_of(page).go(row)
            page.stepped()
            await settle(pilot)
            assert [key for key in "wh" if key in page.active_bindings] == list(choices)


async def test_marks_and_width_and_scrolling_change_a_large_table(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await opened(pilot)
        walk_of(page).go("blocks.0.up")
        await pilot.press("x")
        await settle(pilot)
        assert "▀" in pane(page)
        await pilot.press("m")
        await settle(pilot)
        assert "▀" not in pane(page)
        at = page.views.grid.window
        await pilot.press("right_square_bracket", "right_curly_bracket")
        moved = page.views.grid.window
        assert at is not None
        assert moved is not None
        assert moved.first_column > at.first_column
        await pilot.press("left_square_bracket", "left_curly_bracket")
        assert page.views.grid.window == at
        await pilot.press("f")
        await settle(pilot)
        assert not page.query_one(RowTree).display
        wide = page.views.grid.window
        assert wide is not None
        assert wide.columns > at.columns


async def test_the_views_come_one_after_the_other_and_by_letter(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await opened(pilot)
        seen = []
        for _ in VIEWS:
            seen.append(page.views.name)
            await pilot.press("v")
            await settle(pilot)
        assert seen == list(VIEWS)
        await pilot.press("V")
        assert page.views.name == "labs"
        for key, name in zip("xalCusdgcr", (*VIEWS[1:10], "row"), strict=True):
            await pilot.press(key)
            await settle(pilot)
            assert page.views.name == name
        await pilot.press("a", "escape")
        assert page.views.name == "row"


async def test_comma_and_stop_move_head_position_and_changed_token(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await opened(pilot)
        await pilot.press("a", "full_stop")
        await settle(pilot)
        assert "head 1 of 3" in title(page)
        await pilot.press("l", "comma")
        await settle(pilot)
        assert page.views.position == 8
        assert "position 8" in pane(page)
        await pilot.press("u")
        await settle(pilot)
        assert "position 8" in pane(page)
        assert "difference" in pane(page)
        await pilot.press("C", "full_stop")
        await settle(pilot)
        assert page.views.changed == 6
        logits = next(line for line in pane(page).splitlines() if line.startswith("logits"))
        assert logits.split()[1].startswith("······")


async def test_another_prompt_shows_the_first_row_that_differs(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await opened(pilot)
        await pilot.press("e")
        line = page.query_one("#edit", Prompt)
        assert line.value == PROMPT
        line.value = "Un día"
        await pilot.press("enter")
        await settle(pilot)
        assert "from token 0 on: ‘On’ → ‘Un’" in facts(page)
        assert "Δ" in page.query_one(RowTree).render().plain
        await pilot.press("e", "escape")
        assert not line.display


async def test_a_break_is_chosen_shown_in_the_rows_and_judged_by_the_labs(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        page = await opened(pilot)
        await pilot.press("b")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert isinstance(app.screen, Pick)
        menu = app.screen.query_one(Menu)
        await pilot.press("down", "j", "up", "k", "pagedown", "pageup", "end", "home")
        assert menu.highlighted == 0
        await pilot.press("enter")
        await settle(pilot)
        assert "✂ mask_none" in facts(page)
        assert walk_of(page).row.name == "blocks.0.masked"
        assert "✗ L03 causality" in pane(page)
        assert "✓ L08 tied head" in pane(page)
        assert "Noticed by: L00, L03" in pane(page)
        await pilot.press("0")
        await settle(pilot)
        assert "✂" not in facts(page)
        assert "b chooses a mistake" in pane(page)
        await pilot.press("b")
        await app.workers.wait_for_complete()
        await pilot.pause()
        await pilot.press("escape")
        assert app.screen is page


async def test_a_head_and_a_part_are_knocked_out(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await opened(pilot)
        loss = page.inquiry.trace.loss if page.inquiry.trace else None
        await pilot.press("a", "o")
        await settle(pilot)
        assert page.inquiry.given.edits == (Edit("blocks.0.context", 1, 0),)
        assert "✂ 0.context[0] = 0" in facts(page)
        assert page.inquiry.first == "blocks.0.context"
        assert page.inquiry.trace is not None
        assert page.inquiry.trace.loss != loss
        await pilot.press("0")
        await settle(pilot)
        assert page.inquiry.trace.loss == loss
        await pilot.press("r", "left", "o")
        await settle(pilot)
        assert page.inquiry.given.edits == (Edit("blocks.0.attn_out"),)


async def test_the_quiz_hides_shapes_counts_and_explains(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        page = await opened(pilot)
        await pilot.press("z")
        tree = page.query_one(RowTree)
        assert "1×10×96" not in tree.render().plain
        assert walk_of(page).row.name == "tok"
        assert "shape     to be guessed" in pane(page, "row")
        await pilot.press(*["B", "space", "T", "space"], "V", "enter")
        assert "0 of 1 right" in facts(page)
        assert "Axis 3 is d_model = 96, width of the stream" in pane(page, "row")
        assert "1×10×96" in tree.render().plain
        await pilot.press("enter", "down", "right", "down", "up")
        walk_of(page).go("blocks.0.norm1")
        line = page.query_one(Answer)
        line.value = "B T d_model"
        await pilot.press("enter")
        assert "1 of 2 right" in facts(page)
        await pilot.press("escape")
        assert "right" not in facts(page)
        assert not line.display
        await pilot.press("z", "escape")
        assert isinstance(page.focused, RowTree)


def named(page: Page, keys: str) -> str:
    """What the footer says that keys do."""
    return {entry.keys: entry.words for entry in page.query_one(KeyBar).entries}.get(keys, "")


async def test_the_footer_of_the_quiz_says_what_enter_does_now(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await opened(pilot)
        await pilot.press("z")
        assert named(page, "⏎") == "check"
        await pilot.press("B", "enter")
        assert named(page, "⏎/↓") == "next row"
        await pilot.press("enter", "down")
        assert named(page, "⏎") == "check"


async def test_the_footer_names_cells_only_where_there_are_some(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await opened(pilot)
        await pilot.press("a", "tab")
        await settle(pilot)
        assert named(page, "←/→/↑/↓") == "cell"
        cursor = walk_of(page).cursor
        for view in ("gradients", "labs", "lens"):
            page.action_look(view)
            await settle(pilot)
            assert named(page, "↑/↓") == "scroll"
            await pilot.press("left", "right", "enter")
            assert walk_of(page).cursor == cursor
            assert isinstance(page.focused, ViewPane)


def test_the_names_of_labs_are_told_in_full():
    names: dict[Language, str] = {"en": LABS["L15"].name, "es": LABS["L15"].nombre}
    verdict = {"id": "L15", "ok": True, "skipped": None, "name": names}
    for language, name in names.items():
        say.language = language
        for state in ({}, {"skipped": names}, {"ok": False, "statement": None, "crash": "why"}):
            assert name in verdict_line(verdict | state).plain


async def test_what_a_recording_cannot_answer_is_said_and_the_page_goes_on(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await opened(pilot)
        before = page.inquiry.trace
        await pilot.press("space", "space", "o")
        await settle(pilot)
        assert page.inquiry.trace is before
        assert any("This is a recording" in note.message for note in app._notifications)


async def test_the_command_line_traces_the_same(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await opened(pilot)
        assert page.command_line() == "mlx-gpt trace demo 'Once upon a time'"
        walk_of(page).go("blocks.0.weights")
        await pilot.press("x")
        line = "mlx-gpt trace demo 'Once upon a time' --only blocks.0.weights --values"
        assert page.command_line() == line


async def test_the_language_changes_under_a_trace(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await opened(pilot)
        await pilot.press("L")
        await pilot.pause()
        assert "bloque 0" in page.query_one(RowTree).render().plain
        assert "Los ids se vuelven vectores" in pane(page, "row")


async def test_without_colours_a_heatmap_is_numbers_or_signs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("NO_COLOR", "1")
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await opened(pilot)
        walk_of(page).go("blocks.0.up")
        await pilot.press("x")
        await settle(pilot)
        assert app.no_color
        assert "▀" not in pane(page)
        assert any(sign in pane(page) for sign in "░▒▓█")


# A real model


async def test_a_real_model_is_traced_and_taken_apart(tmp_path: Path):
    run = small_run(tmp_path / "runs", steps=(10,))
    app = MlxGptApp(tmp_path / "runs", run=run)
    async with app.run_test(size=(120, 40)) as pilot:
        page = await opened(pilot)
        assert "small, step 10" in facts(page)
        assert page.inquiry.trace is not None
        assert page.inquiry.trace.ok
        walk_of(page).go("blocks.1.up")
        await pilot.press("x")
        await settle(pilot)
        assert "d_ff:20" in title(page)
        await pilot.press("o")
        await settle(pilot)
        assert page.inquiry.first == "blocks.1.up"
        for view in ("attention", "lens", "cone", "account", "next", "gradients"):
            page.action_look(view)
            await settle(pilot)
            assert page.inquiry.faults == {}
            assert pane(page)


def handing_over(app: MlxGptApp, run: Run, *steps: int) -> asyncio.Task[None]:
    """A trainer that hands over its weights, once for each of these steps."""

    async def play() -> None:
        inbox = Inbox(run)
        for step in steps:
            while not inbox.waiting():
                await asyncio.sleep(0.02)
            (command,) = inbox.poll()
            assert command["cmd"] == "snapshot"
            save_snapshot(run, step, weights(seed=step), {"tokenizer": ByteTokenizer().fingerprint})
            append(run.events, {"kind": "ack", "id": command["id"], "ok": True})

    return asyncio.create_task(play())


async def test_a_run_in_training_hands_over_its_weights_of_now(tmp_path: Path):
    run = small_run(tmp_path / "runs", steps=())
    app = MlxGptApp(tmp_path / "runs", run=run)
    with hold_lock(run):
        async with app.run_test(size=(120, 40)) as pilot:
            trainer = handing_over(app, run, 7, 30)
            page = await opened(pilot)
            assert "small, step 7" in facts(page)
            assert "R takes the weights of now" in facts(page)
            loss = page.inquiry.trace.loss if page.inquiry.trace else None
            await pilot.press("a", "o")
            await settle(pilot)
            assert "✂ 0.context[0] = 0" in facts(page)
            assert "small, step 7" in facts(page)
            await pilot.press("0", "R")
            await settle(pilot)
            await trainer
            assert "small, step 30" in facts(page)
            assert page.inquiry.trace is not None
            assert page.inquiry.trace.loss not in (None, loss)


@pytest.mark.parametrize("language", ["en", "es"])
async def test_all_facts_are_read_in_80_columns(tmp_path: Path, language: Language):
    say.language = language
    run = small_run(tmp_path / "runs", "a-name-of-some-length", steps=())
    app = MlxGptApp(tmp_path / "runs", run=run)
    app.prompt = "much longer than the context"
    with hold_lock(run):
        async with app.run_test() as pilot:
            trainer = handing_over(app, run, 7)
            page = await opened(pilot)
            await trainer
            walk_of(page).go("blocks.1.up")
            await pilot.press("o")
            await settle(pilot)
            words = " ".join(text_of(page).split())
            for key in ("trace.living", "trace.cut", "trace.first", "sample.count"):
                assert t(key, count={"trace.cut": 12}.get(key, 16), name="blocks.1.up") in words
            assert named(page, "R") == t("key.trace.reload")


async def test_the_footer_shows_how_to_load_only_where_something_is_newer(tmp_path: Path):
    run = small_run(tmp_path / "runs")
    app = MlxGptApp(tmp_path / "runs", run=run)
    async with app.run_test() as pilot:
        page = await opened(pilot)
        assert named(page, "R") == ""
        longer = small_run(tmp_path / "other", steps=(20,))
        shutil.copytree(longer.checkpoints, run.checkpoints, dirs_exist_ok=True)
        await pilot.press("down")
        assert "R loads a newer checkpoint" in facts(page)
        assert named(page, "R") == "reload"
        await pilot.press("R")
        await settle(pilot)
        assert "small, step 20" in facts(page)
        assert named(page, "R") == ""


async def test_a_note_on_a_model_is_told_once_in_the_language_of_the_moment(tmp_path: Path):
    app = MlxGptApp(tmp_path / "runs", model="toy")
    async with app.run_test() as pilot:
        page = await opened(pilot)
        assert "is not trained" in " ".join(note.message for note in app._notifications)
        app.clear_notifications()
        await pilot.press("L", "o")
        await settle(pilot)
        await pilot.press("0")
        await settle(pilot)
        assert not app._notifications
        await pilot.press("R")
        await settle(pilot)
        assert "no está entrenado" in " ".join(note.message for note in app._notifications)
        assert "sin entrenar" in facts(page)


async def test_the_small_model_is_not_explained_to_who_asked_for_it(tmp_path: Path):
    app = MlxGptApp(tmp_path / "runs", model="small")
    async with app.run_test() as pilot:
        await opened(pilot)
        assert not app._notifications


async def test_a_run_without_a_model_clears_the_page_and_says_why_once(tmp_path: Path):
    first = small_run(tmp_path / "runs", "first")
    empty = small_run(tmp_path / "runs", "empty", steps=())
    app = MlxGptApp(tmp_path / "runs", run=first)
    async with app.run_test(size=(120, 40)) as pilot:
        page = await opened(pilot)
        walk_of(page).go("blocks.1.up")
        assert "first, step 10" in facts(page)
        app.attach(empty)
        await opened(pilot)
        words = " ".join(text_of(page).split())
        assert "first" not in facts(page)
        assert "embedding" not in words
        assert words.count("no model of it") == 1
        assert not app._notifications
        for key in ("down", "right", "space", "v", "comma", "b", "o", "0", "z", "w", "e", "escape"):
            await pilot.press(key)
        await settle(pilot)
        await pilot.press("r")
        app.attach(first)
        await opened(pilot)
        assert "first, step 10" in facts(page)
        assert walk_of(page).row.name == "blocks.1.up"


@pytest.mark.parametrize("kind", TABLE)
def test_every_kind_of_row_has_its_place_in_our_source(kind: str):
    listing = listing_of(kind)
    assert listing is not None
    shown = source_text(listing, 200, 6).plain.splitlines()
    assert len(shown) <= 6
    assert any(line.startswith("▶") and f'"{kind}"' in line for line in shown)
    assert listing.lines[0].startswith("def ")
    lines = Path(listing.file).read_text(encoding="utf-8").splitlines()
    assert all(f'"{kind}"' in lines[number - 1] for number in listing.numbers)


async def test_rope_is_seen_to_turn_a_pair_of_dimensions(tmp_path: Path):
    run = small_run(tmp_path / "runs", steps=(10,))
    app = MlxGptApp(tmp_path / "runs", run=run)
    async with app.run_test(size=(160, 48)) as pilot:
        page = await opened(pilot)
        walk_of(page).go("blocks.0.k_rot")
        await pilot.press("d")
        await settle(pilot)
        await pilot.press("full_stop")
        await settle(pilot)
        lines = [line for line in pane(page).splitlines() if "→ (" in line]
        assert "k_rot" in title(page)
    assert len(lines) == len(page.inquiry.ids)
    for position, line in enumerate(lines):
        numbers = [float(number) for number in re.findall(r"[-+]\d+\.\d\d", line)]
        angle = position * 10000 ** (-2 / 4)  # pair 1 of d_rope = 4
        turned = complex(*numbers[:2]) * complex(np.cos(angle), np.sin(angle))
        assert abs(turned - complex(*numbers[2:])) < 0.02
        assert f"{np.degrees(angle) % 360:5.1f}°" in line


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_no_row_of_a_view_is_wider_than_its_pane(tmp_path: Path, size: tuple[int, int]):
    run = small_run(tmp_path / "runs", steps=(10,))
    app = MlxGptApp(tmp_path / "runs", run=run)
    async with app.run_test(size=size) as pilot:
        page = await opened(pilot)
        walk_of(page).go("blocks.0.k_rot")
        for view in ("rope", "gradients", "cone"):
            page.action_look(view)
            await settle(pilot)
            room = page.query_one("#view", Pane).scrollable_content_region.width
            rows = pane(page).splitlines()[3:-1]  # without what is said in sentences
            assert max(len(row.rstrip()) for row in rows) <= room


async def test_what_comes_next_stands_beside_what_came_without_the_change(tmp_path: Path):
    run = small_run(tmp_path / "runs", steps=(10,))
    app = MlxGptApp(tmp_path / "runs", run=run)
    async with app.run_test(size=(120, 40)) as pilot:
        page = await opened(pilot)
        await pilot.press("s")
        await settle(pilot)
        alone = dict(re.findall(r"^(\S+) +(\d+\.\d)%", pane(page), re.MULTILINE))
        walk_of(page).go("blocks.0.attn_out")
        await pilot.press("o")
        await settle(pilot)
        await settle(pilot)
        pairs = re.findall(r"^(\S+) +(\d+\.\d)%.*?(\d+\.\d)%", pane(page), re.MULTILINE)
        shown = {token: before for token, before, _ in pairs}
        assert len(pairs) == 12
        assert any(before != after for _, before, after in pairs)
        assert all(alone[token] == shown[token] for token in alone.keys() & shown.keys())


async def test_a_cell_of_a_table_can_be_read(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await opened(pilot)
        walk_of(page).go("blocks.0.weights")
        await pilot.press("a")
        await settle(pilot)
        assert "tab, then arrows" in pane(page)
        await pilot.press("right")
        assert "looks at ‘On’ (0): " in " ".join(pane(page).split())
        await pilot.press("up", "right", "right")
        words = " ".join(pane(page).split())
        answer = page.inquiry.known("attention", {"layer": 0, "head": 0})
        assert answer is not None
        assert f"(8) looks at ‘{signs(page.inquiry.label(2))}’ (2): " in words
        weights = array(answer["value"])
        assert f"{weights[8, 2]:.4f}" in words
        best = int(weights[8].argmax())
        assert f"→ ‘{signs(page.inquiry.label(best))}’ {weights[8, best]:.0%}" in words
        await pilot.press("escape")
        assert isinstance(page.focused, RowTree)
        assert "looks at ‘" not in pane(page)
        walk_of(page).go("blocks.0.up")
        await pilot.press("x", "tab", *["down"] * 3, *["right"] * 60)
        await settle(pilot)
        window = page.views.grid.window
        assert page.views.grid.cell == (9, 60)
        assert window is not None
        assert window.first_column + window.columns == 61


def test_signs_tell_plus_from_minus_and_no_number_from_zero():
    shown = heatmap(table_of([[-1, 0, 1, np.nan]]), 44, 14, mode="signs")[0].plain
    assert shown.splitlines()[1].split(" ", 1)[1] == "-█··██××"


# The recording


async def test_the_recording_tells_requests_apart_by_what_is_asked(tmp_path: Path):
    assert key_of("sample", {"prompt": "a", "seed": 1}) == key_of("sample", {"prompt": "a"})
    assert key_of("lens", {"prompt": "a", "position": 1}) != key_of("lens", {"prompt": "a"})
    path = tmp_path / "answers.json.gz"
    write_recording(path, Recording({key_of("encode", {"prompt": "a"}): [{"ids": [1]}]}, ("a",)))
    assert await ask(Recorded(path), "encode", prompt="a") == {"ids": [1]}
    with pytest.raises(UserError, match="“a”"):
        await ask(Recorded(path), "encode", prompt="b")
    with pytest.raises(UserError, match="missing or damaged"):
        await ask(Recorded(tmp_path / "none"), "encode", prompt="b")


async def test_an_answer_is_asked_for_once():
    inquiry = Inquiry()
    await inquiry.look(Inside(Recorded(pace=0)), DEMO, Given(PROMPT), None)
    fields = {"position": 3}
    assert inquiry.known("lens", fields) is None
    await inquiry.fetch("lens", fields)
    assert inquiry.known("lens", fields) is not None
    await inquiry.fetch("lens", {"position": 99})
    assert "This is a recording" in inquiry.fault("lens", {"position": 99})


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
async def test_no_storm_of_keys_brings_the_pages_down(tmp_path: Path, seed: int):
    storm = np.random.default_rng(seed)
    keys = [*"34 3434 aclurxvVjkbzeoiwhmfpgrduRD0+-,.[]{}L", "left", "right", "up", "down"]
    keys += ["enter", "escape", "space", "tab", "home", "end", "pageup", "pagedown"]
    names = {" ": "space", "+": "plus", "-": "minus", ",": "comma", ".": "full_stop"}
    names |= {"[": "left_square_bracket", "]": "right_square_bracket"}
    names |= {"{": "left_curly_bracket", "}": "right_curly_bracket"}
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("3")
        for key in storm.choice(keys, 300):
            await pilot.press(names.get(str(key), str(key)))
        assert app.is_running
