"""What holds on every page: keys, help, palette, sizes, themes, leaving."""

import asyncio
import json
import os
import random
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from made_runs import eval_record, made_run, step_record, text_of
from textual.command import CommandPalette
from textual.containers import VerticalScroll
from textual.events import Key
from textual.widget import Widget
from textual.widgets import Input

from mlx_gpt.errors import UserError
from mlx_gpt.language import Language, say
from mlx_gpt.run import Run, append, hold_lock, is_alive
from mlx_gpt.terminal import STAGES
from tui.app import PAGES_LATER, MlxGptApp, all_bindings, goes_on
from tui.command import chosen
from tui.feed import SLICE_BYTES
from tui.i18n import t
from tui.launch import Launch, Stage
from tui.page import Page
from tui.screens.dialogs import Reading
from tui.screens.help import WORDS, key_rows, part_rows, topics, word_rows
from tui.screens.runs import Runs
from tui.screens.trace import Trace
from tui.widgets.topbar import TopBar

ROOT = Path(__file__).parent.parent
PAGES = ("runs", "train", "sample", "trace", "new")


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(say, "language", "en")
    monkeypatch.setattr("sys.platform", "linux")


async def test_digits_go_to_the_pages(tmp_path: Path):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test() as pilot:
        for number, name in enumerate(PAGES, 1):
            await pilot.press(str(number))
            assert app.current_mode == name
            assert isinstance(app.screen, Page)
            assert name == app.screen.NAME
        for number, name in enumerate(PAGES, 5):
            await pilot.press(f"f{number}")
            assert app.current_mode == name


async def test_pages_built_ahead_rest_until_their_keys_are_pressed(tmp_path: Path):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path), ahead=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("1", "2")
        built = {}
        for mode in PAGES_LATER:
            app._init_mode(mode)
            built[mode] = app._screen_stacks[mode][-1]
        await pilot.pause(0.1)
        assert app.current_mode == "train"
        assert isinstance(built["trace"], Trace)
        assert built["trace"].is_mounted
        assert built["trace"].tried is None
        assert not app.insides
        await pilot.press("T", "L")
        for number, name in enumerate(PAGES, 1):
            await pilot.press(str(number))
            await pilot.pause()
            assert app.screen is built[name]
            assert t(f"page.{name}") in text_of(app.screen)
            assert app.screen.styles.background == app.screen_stack[0].styles.background
            assert not app.screen.styles.background.is_transparent
            assert app.screen.styles.background.brightness > 0.5
        say.language = "en"


@pytest.mark.parametrize("mode", [*PAGES_LATER, "side"])
@pytest.mark.parametrize("turns", range(4))
async def test_the_app_ends_while_a_page_is_built(tmp_path: Path, mode: str, turns: int):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test() as pilot:
        await pilot.pause()
        app._init_mode(mode)
        for _ in range(turns):
            await asyncio.sleep(0)
        app.exit()
    assert app.return_code == 0


async def test_a_signal_ends_the_app_in_order(tmp_path: Path):
    app = MlxGptApp(tmp_path, demo=True)
    async with app.run_test() as pilot:
        assert app.replay is not None
        folder = app.replay.run.path
        os.kill(os.getpid(), signal.SIGTERM)
        await pilot.pause(0.1)
    assert app.return_code == 128 + signal.SIGTERM
    assert not folder.exists()


@pytest.mark.parametrize("number", "12345")
async def test_the_focus_comes_back_after_a_size_that_is_too_small(tmp_path: Path, number: str):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press(number)
        await pilot.pause()
        before = app.focused
        assert before is not None
        await pilot.resize_terminal(40, 10)
        await pilot.pause(0.1)
        await pilot.resize_terminal(41, 10)
        await pilot.pause(0.1)
        await pilot.resize_terminal(100, 30)
        await pilot.pause(0.1)
        assert app.focused is before


@pytest.mark.parametrize("name", ["-rf", "a\tb", "漢" * 80])
async def test_a_folder_whose_name_no_run_could_have_is_trained_again_under_another(
    tmp_path: Path, name: str
):
    run = made_run(tmp_path, name)
    app = MlxGptApp(tmp_path, run=run)
    async with app.run_test() as pilot:
        await pilot.press("y")
        words = shlex.split(app.clipboard)
    assert words == ["mlx-gpt", "train", str(run.config_toml), "--out", str(tmp_path)]


@pytest.mark.parametrize("key", "34")
async def test_events_that_cannot_be_read_are_said(tmp_path: Path, key: str):
    run = made_run(tmp_path)
    run.events.unlink()
    run.events.mkdir()
    app = MlxGptApp(tmp_path, run=run)
    async with app.run_test(size=(200, 40)) as pilot:
        await pilot.press(key, *"g" * (key == "3"))
        await pilot.pause(0.3)
        said = [text_of(app.screen), *(note.message for note in app._notifications)]
        assert any("events.jsonl: Is a directory" in each for each in said)


async def test_why_there_is_no_trace_is_said_in_the_language_of_the_moment(tmp_path: Path):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test(size=(200, 40)) as pilot:
        await pilot.press("4")
        await pilot.pause(0.1)
        assert "stories ended before its first checkpoint" in text_of(app.screen)
        await pilot.press("L")
        await pilot.pause(0.5)
        assert "stories terminó antes de su primer checkpoint" in text_of(app.screen)


async def test_probe_prompts_that_are_none_are_passed_over(tmp_path: Path):
    run = made_run(tmp_path)
    run.config_toml.write_text("[train]\nprobe_prompts = 3\n")
    app = MlxGptApp(tmp_path, run=run)
    async with app.run_test() as pilot:
        await pilot.press("4")
        await pilot.pause()
        assert app.current_mode == "trace"


async def test_a_page_seen_again_needs_no_style_sheet_parsed(tmp_path: Path):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("1", "5", "2")
        parsed = app.stylesheet.rules
        await pilot.press("1", "5", "2")
        assert app.stylesheet.rules is parsed
        await pilot.press("T")
        assert app.stylesheet.rules is not parsed


@pytest.mark.parametrize("empty", [True, False])
async def test_a_page_at_rest_draws_nothing(tmp_path: Path, empty: bool):
    app = MlxGptApp(tmp_path, run=None if empty else made_run(tmp_path))
    async with app.run_test(size=(120, 40)) as pilot:
        if not empty:
            made_run(tmp_path, "other")
            app.compare(app.runs())
        for number in ("", *"12345"):
            await pilot.press(*number)
            await pilot.pause()
            page = app.screen
            assert isinstance(page, Page)
            page.tick()
            await pilot.pause()
            page.tick()
            parts = [page, *page.walk_children(Widget)]
            assert [part for part in parts if part._repaint_required] == []
            assert [part for part in parts if part._layout_required] == []


async def test_a_click_on_a_name_goes_to_its_page(tmp_path: Path):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test() as pilot:
        await pilot.click("TopBar", offset=(12, 0))
        await pilot.pause()
        assert app.current_mode == "runs"


async def test_a_click_on_a_key_does_what_it_says(tmp_path: Path):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        bar = text_of(app.screen).split("\n")[-2:]
        row = next(at for at, line in enumerate(bar) if " g chart" in line)
        await pilot.click("KeyBar", offset=(bar[row].index(" g chart") + 3, row))
        await pilot.pause()
        assert "learning rate" in text_of(app.screen)


@pytest.mark.parametrize("number", "125")
async def test_help_names_every_key_of_the_page(tmp_path: Path, number: str):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test(size=(120, 60)) as pilot:
        await pilot.press(number)
        page = app.screen
        assert isinstance(page, Page)
        names = {active.binding.description for active in page.active_bindings.values()}
        await pilot.press("f1")
        assert isinstance(app.screen, Reading)
        explained = [tip for _, _, tip in key_rows(page)]
        ours = {b.id for b in all_bindings()[page.NAME]} - {"train.speed", "train.replay_step"}
        assert [name for name in ours if t(f"tip.{name}") not in explained] == []
        assert names
        await pilot.press("escape")
        assert app.screen is page


async def test_help_begins_with_what_has_the_focus(tmp_path: Path):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test(size=(120, 40)) as pilot:
        app.screen.query_one("#surprise").focus()
        await pilot.press("question_mark")
        assert isinstance(app.screen, Reading)
        lines = text_of(app.screen).split("\n")
        assert any("│ A fixed text from the validation part" in line for line in lines[:8])


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("number", "12345")
async def test_help_explains_every_part_and_word_of_the_page(
    tmp_path: Path, number: str, language: Language
):
    say.language = language
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(number)
        page = app.screen
        assert isinstance(page, Page)
        seen = topics([widget for widget in page.walk_children(Widget) if widget.display])
        told = [words for _, words in part_rows(page, [])]
        assert told == [f"{t(key)}\n" for key in seen]
        assert len(word_rows(page)) >= 5
        await pilot.press("f1")
        await pilot.pause()
        app.screen.query_one(VerticalScroll).scroll_end(animate=False)
        await pilot.pause()
        shown = text_of(app.screen)
        assert t(f"word.{WORDS[page.NAME][-1]}")[:8] in shown


async def test_the_palette_finds_commands_and_runs(tmp_path: Path):
    made_run(tmp_path, "other")
    app = MlxGptApp(tmp_path, run=made_run(tmp_path, "[b]mine"))
    async with app.run_test(size=(100, 40)) as pilot:
        await pilot.press("ctrl+p")
        assert isinstance(app.screen, CommandPalette)
        app.screen.query_one(Input).value = "open other"
        await pilot.pause(0.5)
        await pilot.press("enter")
        await pilot.pause(0.2)
        assert app.run_in_hand is not None
        assert app.run_in_hand.name == "other"
        await pilot.press("colon")
        app.screen.query_one(Input).value = "chart (g)"
        await pilot.pause(0.5)
        await pilot.press("enter")
        await pilot.pause(0.2)
        assert "learning rate" in text_of(app.screen)


async def test_the_palette_offers_a_command_once(tmp_path: Path):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test(size=(100, 40)):
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert sum("help" in title for title in titles) == 1
        tips = [command.help for command in app.get_system_commands(app.screen)]
        assert [tip for tip in tips if tips.count(tip) > 1] == []


async def test_the_top_bar_names_the_model_that_is_talked_to(tmp_path: Path):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path), model="models/[b]mine")
    async with app.run_test(size=(100, 40)) as pilot:
        for key, said in (
            ("2", "stories ✓"),
            ("3", "[b]mine"),
            ("4", "[b]mine"),
            ("1", "stories ✓"),
        ):
            await pilot.press(key)
            await pilot.pause()
            assert text_of(app.screen).split("\n")[0].endswith(f" {said}")


@pytest.mark.parametrize("size", [(79, 24), (80, 23), (20, 5), (1, 1)])
async def test_a_terminal_too_small_gets_one_sentence(tmp_path: Path, size: tuple[int, int]):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        shown = text_of(app.screen)
        assert "loss" not in shown
        if size[0] >= 79:
            assert f"{size[0]} columns and {size[1]} rows" in shown
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert "loss" in text_of(app.screen)


@pytest.mark.parametrize("number", "1235")
async def test_nothing_is_cut_off_at_eighty_columns(tmp_path: Path, number: str):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(number)
        await pilot.pause()
        for widget in app.screen.query("*"):
            if widget.display and widget.region.area and not widget.ancestors_with_self[1].is_modal:
                assert app.screen.region.contains_region(widget.region) or widget.is_scrollable


async def test_light_and_dark(tmp_path: Path):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test() as pilot:
        await pilot.press("T")
        assert not app.current_theme.dark
        await pilot.press("f3")
        assert app.current_theme.dark


@pytest.mark.parametrize("variable", ["NO_COLOR", "TEXTUAL_COLOR_SYSTEM"])
async def test_without_colour_everything_is_still_said(
    tmp_path: Path, variable: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(variable, "standard")
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        shown = text_of(app.screen)
        assert "✓ finished" in shown
        assert "●" in shown


async def test_q_leaves_and_a_training_goes_on(tmp_path: Path):
    run = made_run(tmp_path, end=None)
    app = MlxGptApp(tmp_path, run=run)
    with hold_lock(run):
        async with app.run_test() as pilot:
            await pilot.press("q")
        assert is_alive(run)
        again = f"mlx-gpt tui --out {tmp_path}"
        assert goes_on(app) == f"stories: the training goes on; {again} shows it again"
    assert goes_on(app) is None


async def test_a_living_run_is_found_again(tmp_path: Path):
    made_run(tmp_path, "newer")
    run = made_run(tmp_path, "alive", end=None)
    os.utime(run.metrics, (0, 0))
    with hold_lock(run):
        app = MlxGptApp(tmp_path)
        async with app.run_test() as pilot:
            await pilot.pause()
            assert app.current_mode == "train"
            assert app.run_in_hand is not None
            assert app.run_in_hand.name == "alive"


async def test_a_refused_training_is_said_in_words(tmp_path: Path):
    app = MlxGptApp(tmp_path / "runs")
    async with app.run_test() as pilot:
        launch = app.launch(["mlx-gpt", "train", "nosuch", "--out", str(tmp_path / "runs")])
        launch.process.wait(60)
        app.tick()
        await pilot.pause()
        messages = [note.message for note in app._notifications]
        assert "no preset and no file nosuch" in messages[-1]
        assert app.launches == []


async def test_a_training_that_has_begun_is_taken_in_hand(tmp_path: Path):
    run = made_run(tmp_path, "begun", end=None)
    app = MlxGptApp(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("1")
        launch = app.launch(["mlx-gpt", "--version"])
        launch.process.wait(60)
        launch.output.write_text(f'{{"run": "begun", "path": "{run.path}", "pid": 1}}\n')
        app.tick()
        await pilot.pause()
        assert app.current_mode == "train"
        assert app.run_in_hand is not None
        assert app.run_in_hand.name == "begun"


async def begin_training(app: MlxGptApp, run: Run) -> None:
    """A training that was on its way begins now."""
    launch = app.launch(["mlx-gpt", "--version"])
    launch.process.wait(60)
    launch.output.write_text(f'{{"run": "{run.name}", "path": "{run.path}", "pid": 1}}\n')
    app.tick()


@pytest.mark.parametrize(
    ("page", "keys"),
    [
        ("runs", ["1", "slash"]),
        ("sample", ["3", "e"]),
        ("trace", ["4", "e"]),
        ("trace", ["4", "z"]),
        ("new", ["5", "down", "enter"]),
        ("runs", ["1", "r"]),
        ("runs", ["1", "question_mark"]),
    ],
)
async def test_a_training_that_begins_takes_no_page_from_who_types_or_answers(
    tmp_path: Path, page: str, keys: list[str]
):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path, "old"), demo=page in ("sample", "trace"))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause(0.5)
        await pilot.press(*keys)
        await pilot.pause(0.5)
        in_hand, screen, line = app.run_in_hand, app.screen, app.focused
        assert isinstance(line, Input) or len(app.screen_stack) == 2
        await begin_training(app, made_run(tmp_path, "begun", end=None))
        await pilot.pause()
        assert (app.current_mode, app.screen, app.focused) == (page, screen, line)
        assert app.run_in_hand == in_hand
        told = "begun has begun; when you are done here, 2 shows it."
        assert [note.message for note in app._notifications] == [told]
        await pilot.press("escape", "escape", "f6")
        assert app.current_mode == "train"
        assert app.run_in_hand is not None
        assert app.run_in_hand.name == "begun"


async def test_a_run_that_began_unseen_is_followed_to_its_new_name(tmp_path: Path):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path, "old"))
    async with app.run_test() as pilot:
        await pilot.press("1", "slash")
        await begin_training(app, made_run(tmp_path, "begun"))
        await pilot.press("b", "e", "g", "enter")
        assert isinstance(app.screen, Runs)
        app.screen.look_again()
        assert app.screen.chosen_name() == "begun"
        await pilot.press("r", *"begun2", "enter")
        await pilot.pause()
        assert (tmp_path / "begun2").is_dir()
        await pilot.press("2")
        assert app.run_in_hand is not None
        assert app.run_in_hand.path == tmp_path / "begun2"


async def test_who_takes_another_run_in_hand_keeps_it(tmp_path: Path):
    old = made_run(tmp_path, "old")
    app = MlxGptApp(tmp_path, run=old)
    async with app.run_test() as pilot:
        await pilot.press("1", "slash")
        await begin_training(app, made_run(tmp_path, "begun", end=None))
        app.attach(old)
        await pilot.press("1", "2")
        assert app.run_in_hand == old


@pytest.mark.parametrize("language", ["en", "es"])
async def test_a_preparation_is_told_whole_in_the_language_of_the_moment(
    tmp_path: Path, language: Language
):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        launch = app.launch(["mlx-gpt", "--version"])
        launch.process.wait(60)
        app.clear_notifications()
        bar = app.screen.query_one(TopBar)
        for stage in STAGES:
            launch.notes.write_text(f"{stage} 99%\n! a note\n{stage} 100%\n! una nota\n", "utf-8")
            for spoken in ("en", "es", language):
                say.language = spoken
                bar.about = app.about()
                assert bar.about == f"{t(f'stage.{stage}')} 100%"
                assert bar.render().plain.endswith(f" {bar.about}")
        launch.notes.write_text("! a note\n", "utf-8")
        assert app.about() == t("launch.first")
        app.launches.clear()
        launch.close()
        await pilot.pause()


def test_a_launch_tells_what_is_being_prepared(tmp_path: Path):
    text = tmp_path / "text.txt"
    text.write_text("uno dos tres cuatro\n" * 200, encoding="utf-8")
    settings = ["train.steps=1", "data.tokenizer=bytes", "model.context_length=16"]
    where = ["--out", str(tmp_path / "runs")]
    say.language = "es"
    launch = Launch(["mlx-gpt", "train", "mini", str(text), *settings, *where])
    launch.process.wait(120)
    assert launch.stage() == Stage("tokenising", 100)
    assert launch.begun().run.path.parent == tmp_path / "runs"
    launch.close()


def test_a_launch_that_says_nothing_has_its_last_words():
    launch = Launch(["mlx-gpt", "train", "--nosuch"])
    launch.process.wait(60)
    assert launch.finished()
    with pytest.raises(UserError, match="nosuch"):
        launch.begun()
    launch.close()


def test_the_app_imports_neither_mlx_nor_what_needs_it():
    code = (
        "import sys\nfrom tui.app import all_bindings\nall_bindings()\n"
        "print(sorted({'mlx', 'sentencepiece', 'mlx_gpt.model'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout == "[]\n", done.stderr


def test_the_command_refuses_where_there_is_no_terminal():
    done = subprocess.run(
        [sys.executable, "-m", "tui.cli", "tui"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 2
    assert "tui needs a terminal" in done.stderr


def test_the_command_refuses_where_what_it_draws_goes_to_a_file(tmp_path: Path):
    terminal, inside = os.openpty()
    with (tmp_path / "notes").open("wb") as notes:
        process = subprocess.Popen(
            [sys.executable, "-m", "tui.cli", "tui"],
            cwd=ROOT,
            stdin=inside,
            stdout=inside,
            stderr=notes,
        )
        try:
            assert process.wait(20) == 2
        finally:
            process.kill()
            os.close(terminal)
            os.close(inside)
    assert "tui needs a terminal" in (tmp_path / "notes").read_text()


STORMS = int(os.environ.get("MLX_GPT_STORMS", "3"))  # a storm takes half a minute
STORM = [*"pseXgvlo+-zZ0,.mkrRxfbD12345?nychT/ iEatuwSNL[]{}", "left", "right", "up", "down"]
STORM += ["enter", "escape", "tab", "shift+tab", "space", "backspace", "home", "end", "pageup"]
STORM += ["f1", "f2", "f3"]


async def storm(root: Path, seed: int, keys: int) -> None:
    """Random keys over a living and a finished run; whatever happens, the app answers."""
    chance = random.Random(seed)
    run = made_run(root, "alive", steps=150, end=None)
    made_run(root, "done")
    app = MlxGptApp(root, run=run, ahead=seed % 4 < 2)
    with hold_lock(run):
        async with app.run_test(size=(100, 30)) as pilot:
            if seed % 2:
                app.compare(app.runs())
            for number in range(keys):
                await pilot.press(chance.choice(STORM))
                if number % 25 == 0:
                    append(run.metrics, step_record(151 + number))
                    app.tick()
            await pilot.pause()
            assert app.return_code is None


@pytest.fixture
def no_launches(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(MlxGptApp, "launch", lambda self, words: None)


@pytest.mark.slow
async def test_a_short_storm_of_keys(tmp_path: Path, no_launches: None):
    await storm(tmp_path, 1, 120)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 2 + STORMS))
async def test_storms_of_keys(tmp_path: Path, seed: int, no_launches: None):
    await storm(tmp_path, seed, 500)


async def test_a_long_run_is_opened_slice_by_slice(tmp_path: Path):
    run = made_run(tmp_path, steps=0, end=None)
    lines = [json.dumps(step_record(step)).encode() for step in range(1, 30_001)]
    run.metrics.write_bytes(run.metrics.read_bytes() + b"\n".join(lines) + b"\n")
    most = SLICE_BYTES // min(map(len, lines)) + 1
    app = MlxGptApp(tmp_path, run=Run(run.path))
    async with app.run_test() as pilot:
        feed = app.current
        assert feed is not None
        while feed.behind or not len(feed.steps):
            before = len(feed.steps)
            feed.poll(seconds=0)
            assert len(feed.steps) - before <= most
            await pilot.pause(0)
        assert len(feed.steps) == 30_000


def test_without_a_run_the_small_model_is_in_hand(tmp_path: Path):
    assert chosen(None, tmp_path) == (None, "small")
    assert chosen("small", tmp_path) == (None, "small")
    made_run(tmp_path, steps=3)
    assert chosen(None, tmp_path) == (None, None)


async def test_the_top_bar_is_true_on_every_page(tmp_path: Path):
    made_run(tmp_path, "other")
    run = made_run(tmp_path, "alive", end=None)
    app = MlxGptApp(tmp_path, run=Run(tmp_path / "other"))
    async with app.run_test() as pilot:
        for number in "12345":
            await pilot.press(number)
            assert app.screen.query_one(TopBar).about == "other ✓"
        with hold_lock(run):
            app.attach(run)
            await pilot.pause()
            for number in "12345":
                await pilot.press(number)
                assert "alive ●" in text_of(app.screen).split("\n")[0]


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("number", "12345")
async def test_the_keys_that_lead_everywhere_are_always_in_sight(
    tmp_path: Path, number: str, language: Language
):
    say.language = language
    run = made_run(tmp_path, end=None)
    with hold_lock(run):
        app = MlxGptApp(tmp_path, run=run)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press(number)
            last = text_of(app.screen).split("\n")[-1]
            pinned = {"?": "help", "L": "language", "^p": "palette", "q": "quit"}
            assert [
                key for key in pinned if f"{key} {t(f'key.app.{pinned[key]}')}" not in last
            ] == []
            assert len(last) <= 80


async def test_keys_that_a_line_takes_as_text_are_not_shown(tmp_path: Path):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("1", "slash")
        last = "\n".join(text_of(app.screen).split("\n")[-2:])
        assert "⏎ take" in last
        assert "f10 quit" in last
        assert [each for each in ("? help", "/ filter", "s sort") if each in last] == []


async def test_one_note_at_a_time_over_the_help_too(tmp_path: Path):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        for number in range(5):
            app.notify(f"note {number}")
        await pilot.pause()
        assert [note.message for note in app._notifications] == ["note 4"]
        assert "note 4" in text_of(app.screen).split("\n")[-3]
        await pilot.press("f1")
        await pilot.pause()
        assert "note 4" in text_of(app.screen)
        app.notify("a note that comes meanwhile")
        await pilot.pause()
        assert "comes meanwhile" in text_of(app.screen).split("\n")[-3]
        assert "note 4" not in text_of(app.screen)


async def test_control_c_says_what_leaves(tmp_path: Path):
    say.language = "es"
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert "Pulsa q para salir" in text_of(app.screen)
        await pilot.press("ctrl+p")
        await pilot.pause(0.2)
        assert "Busca entre las órdenes" in text_of(app.screen)


async def test_keys_have_their_names_in_the_language(tmp_path: Path):
    made_run(tmp_path)
    say.language = "es"
    app = MlxGptApp(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("1")
        assert "espacio marcar" in text_of(app.screen)
        await pilot.press("L")
        await pilot.pause()
        assert "space mark" in text_of(app.screen)


async def test_home_and_end_scroll_a_pane(tmp_path: Path):
    run = made_run(tmp_path)
    for number in range(50):
        append(run.events, {"kind": "warning", "time": 0, "message": f"no {number}"})
    app = MlxGptApp(tmp_path, run=run)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("v", "v")
        pane = app.screen.query_one("#log")
        pane.focus()
        for key, place in (("home", 0), ("end", pane.max_scroll_y)):
            await pilot.press(key)
            await pilot.wait_for_scheduled_animations()
            assert pane.scroll_y == place
        assert pane.max_scroll_y > 0


@pytest.mark.parametrize(("first", "second", "mode"), [("3", "1", "runs"), ("4", "2", "train")])
async def test_a_key_pressed_while_a_page_comes_up_is_no_text(
    tmp_path: Path, first: str, second: str, mode: str
):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test() as pilot:
        for key in (first, second):
            app.post_message(Key(key, key))
        await pilot.pause(0.5)
        assert app.current_mode == mode
        assert not any(line.value for line in app.screen.query(Input))


async def test_figures_beyond_all_measure_harm_no_page(tmp_path: Path):
    size = 10**400
    run = made_run(tmp_path, steps=20)
    made_run(tmp_path, "other", steps=20)
    names = ("loss", "loss_min", "loss_max", "time", "lr", "grad_norm", "tokens_per_second")
    names += ("active_memory", "peak_memory")
    append(run.metrics, step_record(21, **dict.fromkeys(names, size)))
    append(run.metrics, {**step_record(22), "step": size})
    append(run.metrics, {**eval_record(22), "val_loss": size})
    append(run.samples, {"kind": "sample", "step": size, "prompt": "", "text": "a"})
    append(run.samples, {"kind": "surprise", "step": 22, "pieces": ["a"], "losses": [size]})
    append(run.events, {"kind": "started", "steps": size, "memory_limit": size, "step": size})
    append(run.events, {"kind": "finished", "reason": [size], "step": size})
    facts = ("val_tokens", "val_characters", "train_tokens", "unigram_entropy")
    run.data_json.write_text(json.dumps(dict.fromkeys(facts, size)), encoding="utf-8")
    keys = ["g"] * 5 + ["v"] * 4 + ["left", "z", "1", "space", "down", "c", "v", "v", "v", "5"]
    async with MlxGptApp(tmp_path, run=run).run_test(size=(160, 48)) as pilot:
        for key in keys:
            await pilot.press(key)
        await pilot.pause()
        assert pilot.app.current_mode == "new"
