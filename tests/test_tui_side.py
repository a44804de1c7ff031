"""Runs side by side, by every key of the page; and the parts it is made of."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from made_runs import BEGAN, check_golden, config, eval_record, made_run, step_record, text_of
from rich.cells import cell_len
from small_model import CONFIG, small_run
from textual.pilot import Pilot
from textual.widgets import Static

from mlx_gpt.language import Language, say
from mlx_gpt.run import append
from tui.app import MlxGptApp, all_bindings
from tui.attention import Maps, Question, Survey
from tui.feed import Feed
from tui.heat import MODES
from tui.i18n import t
from tui.inside import DEMO, Inside, array, place_of
from tui.lineup import losses_text, sample_text, steps_of
from tui.plot import view_of
from tui.screens.help import WORDS, key_rows, part_rows, word_rows
from tui.screens.runs import Runs
from tui.screens.side import Side
from tui.widgets.chart import Chart
from tui.widgets.pane import Pane
from tui.worker import Worker, ask

FLAT = dataclasses.replace(CONFIG, n_layers=1, n_heads=2, n_kv_heads=2)


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(say, "language", "en")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("MLX_GPT_PROMPTS", str(tmp_path / "prompts.jsonl"))
    monkeypatch.setenv("MLX_GPT_KEYMAP", str(tmp_path / "keymap.toml"))


def app_over(root: Path, *, demo: bool = False) -> MlxGptApp:
    return MlxGptApp(root, clock=lambda: BEGAN + 100, demo=demo)


def two_runs(root: Path) -> None:
    """Two runs without a model, of which one ended before the other."""
    made_run(root, "a-wide", settings=config(lr=1e-2))
    made_run(root, "b-slow", steps=150, end=None)


def two_models(root: Path) -> None:
    """Two runs without a sample; the second model has fewer blocks and heads."""
    small_run(root, "deep", steps=(10,))
    small_run(root, "flat", steps=(20,), model=FLAT)


async def opened(pilot: Pilot[None], *keys: str) -> Side:
    """The page over all runs of the folder, after some more keys."""
    await pilot.press("1")
    page = pilot.app.screen
    assert isinstance(page, Runs)
    page.look_again()
    await pilot.press("home", *["space", "down"] * len(page.glances), "c", *keys)
    return await settle(pilot)


async def settle(pilot: Pilot[None]) -> Side:
    """Until nothing more is being asked."""
    for _ in range(3):
        await pilot.pause()
        await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    page = pilot.app.screen
    assert isinstance(page, Side)
    return page


def names(page: Side) -> list[str]:
    return [feed.run.name for feed in page.feeds]


def facts(page: Side) -> str:
    return str(page.query_one("#facts", Static).content)


def pane(page: Side, name: str) -> str:
    return page.query_one(f"#{name}", Pane).shown.plain


def samples(page: Side) -> dict[str, str]:
    return {name: pane(page, f"sample{number}") for number, name in enumerate(names(page))}


def maps(page: Side) -> dict[str, str]:
    return {name: pane(page, f"map{number}") for number, name in enumerate(names(page))}


def told(app: MlxGptApp) -> str:
    return [note.message for note in app._notifications][-1]


# The way there and back


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_page_looks_as_it_was_looked_at(
    tmp_path: Path, size: tuple[int, int], language: Language
):
    say.language = language
    two_runs(tmp_path)
    app = app_over(tmp_path)
    async with app.run_test(size=size) as pilot:
        page = await opened(pilot, "s")
        check_golden(f"side_{size[0]}x{size[1]}_{language}", text_of(page))


async def test_c_needs_two_runs_and_takes_four(tmp_path: Path):
    for number in range(5):
        made_run(tmp_path, f"run-{number}", steps=50)
    app = app_over(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("c")
        assert isinstance(app.screen, Runs)
        assert told(app) == "Mark another run with space: two to four can stand side by side."
        page = await opened(pilot)
        assert len(page.feeds) == 4
        assert "the first of the 5" in told(app)
        heads = [str(page.query_one(f"#sample{number}", Pane).border_title) for number in range(4)]
        assert heads == [f"{sign} {name}" for sign, name in zip("ABCD", names(page), strict=True)]


@pytest.mark.parametrize("key", ["escape", "1"])
async def test_the_table_comes_back_as_it_was(tmp_path: Path, key: str):
    two_runs(tmp_path)
    app = app_over(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        page = await opened(pilot)
        assert text_of(page).split("\n")[0].startswith(" mlx-gpt  1 Runs ")
        await pilot.press(key)
        assert isinstance(app.screen, Runs)
        assert sorted(app.screen.marked) == ["a-wide", "b-slow"]


async def test_other_runs_begin_anew(tmp_path: Path):
    two_runs(tmp_path)
    made_run(tmp_path, "c-new", steps=50)
    app = app_over(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        page = await opened(pilot, "left", "left")
        assert page.step == 100
        await pilot.press("escape", "space", "c")
        await settle(pilot)
        assert len(page.feeds) == 3
        await pilot.press("escape", "up", "space", "c")
        await settle(pilot)
        assert (len(page.feeds), page.step) == (2, None)


# Samples


async def test_the_arrows_go_through_the_steps_at_which_any_was_asked(tmp_path: Path):
    two_runs(tmp_path)
    async with app_over(tmp_path).run_test(size=(80, 24)) as pilot:
        page = await opened(pilot)
        assert "step 200 (5 of 5)" in facts(page)
        assert samples(page)["a-wide"].startswith("step 200\n")
        assert samples(page)["b-slow"].startswith("step 150, its last until then\n")
        await pilot.press("left", "left")
        assert "step 100 (3 of 5)" in facts(page)
        for text in samples(page).values():
            assert text.startswith("step 100\n")
            assert text.endswith("│ the fox at 100 ran home")
        await pilot.press("right", "left", "left", "left", "left")
        assert "step 0 (1 of 5)" in facts(page)
        await pilot.press("0")
        assert "step 200 (5 of 5)" in facts(page)


async def test_s_goes_through_the_probe_prompts(tmp_path: Path):
    two_runs(tmp_path)
    run = made_run(tmp_path, "other")
    append(run.samples, {"kind": "sample", "step": 200, "prompt": "Solo", "text": " yo"})
    async with app_over(tmp_path).run_test(size=(80, 24)) as pilot:
        page = await opened(pilot)
        seen = []
        for _ in range(4):
            seen.append(page.probe_prompt())
            await pilot.press("s")
        assert seen == ["", "Once", "Un día", "Solo"]
        await pilot.press("S")
        assert "‘Solo’ (4/4)" in facts(page)
        assert samples(page)["other"].endswith("Solo│ yo")
        assert "not asked this prompt" in samples(page)["a-wide"]


def test_what_one_does_not_say_is_underlined(tmp_path: Path):
    feeds = []
    for name, word in (("one", "fox"), ("two", "hen"), ("three", "fox")):
        run = made_run(tmp_path, name, steps=0)
        text = f" the {word} ran"
        append(run.samples, {"kind": "sample", "step": 50, "prompt": "Once", "text": text})
        feeds.append(Feed(run))
        feeds[-1].poll()

    def underlined(number: int) -> list[str]:
        content = sample_text(feeds, number, "Once", 50)
        return [content.plain[s.start : s.end] for s in content.spans if s.style == "underline"]

    assert [underlined(number) for number in range(3)] == [["fox"], ["hen"], []]
    assert "Not asked yet" in sample_text(feeds, 0, "Once", -1).plain
    assert steps_of(feeds, "Once").tolist() == [0, 50]


def test_a_run_without_a_sample_yet_is_told_from_one_that_is_not_asked(tmp_path: Path):
    made_run(tmp_path, "asked", settings=config(probe_prompts=("Once",)))
    young = made_run(tmp_path, "young", settings=config(probe_prompts=("Once",)))
    other = made_run(tmp_path, "other", settings=config(probe_prompts=("Twice",)))
    for run in (young, other):
        run.samples.unlink()
    feeds = [Feed(run) for run in MlxGptApp(tmp_path).runs()]
    for feed in feeds:
        feed.poll(1)
    said = {
        feed.run.name: sample_text(feeds, at, "Once", 50).plain.split("\n")[-1]
        for at, feed in enumerate(feeds)
    }
    assert said["young"] == t("side.silent")
    assert said["other"] == t("side.unasked")
    assert "fox" in said["asked"]


def test_losses_are_those_of_the_step_or_told_with_their_own(tmp_path: Path):
    feed = Feed(made_run(tmp_path, steps=120))
    feed.poll(1)
    train, val = feed.steps["loss"], feed.evals["val_loss"]
    assert losses_text(feed, 100) == f"train {train[99]:.3f}  val {val[2]:.3f}"
    assert losses_text(feed, 110) == f"train {train[109]:.3f}  val {val[2]:.3f} (100)"
    assert losses_text(feed, 500) == f"train {train[-1]:.3f} (120)  val {val[2]:.3f} (100)"
    assert losses_text(feed, 0) == f"train –  val {val[0]:.3f}"


async def test_a_run_that_is_asked_once_more_is_followed(tmp_path: Path):
    two_runs(tmp_path)
    run = made_run(tmp_path, "young", steps=0)
    async with app_over(tmp_path).run_test(size=(80, 24)) as pilot:
        page = await opened(pilot, "S")
        append(run.samples, {"kind": "sample", "step": 250, "prompt": "Un día", "text": " gris"})
        page.tick()
        assert "step 250 (6 of 6)" in facts(page)
        assert samples(page)["young"].endswith("│ gris")


async def test_a_long_sample_can_be_scrolled(tmp_path: Path):
    two_runs(tmp_path)
    run = made_run(tmp_path, "long", steps=0)
    record = {"kind": "sample", "step": 250, "prompt": "", "text": "word " * 300 + "end"}
    append(run.samples, record)
    async with app_over(tmp_path).run_test(size=(80, 24)) as pilot:
        page = await opened(pilot)
        await pilot.press(*["tab"] * names(page).index("long"), "end")
        await pilot.wait_for_scheduled_animations()
        assert "end" in text_of(page)


async def test_text_from_outside_is_shown_as_it_is(tmp_path: Path):
    two_runs(tmp_path)
    run = made_run(tmp_path, "[red]x", steps=0)
    record = {"kind": "sample", "step": 250, "prompt": "[b]\x1b", "text": "[@click=app.quit]y"}
    append(run.samples, record)
    async with app_over(tmp_path).run_test(size=(120, 30)) as pilot:
        page = await opened(pilot, "S")
        shown = text_of(page)
        assert "[red]x" in shown
        assert "[@click=app.quit]y" in shown
        assert "‘[b]␛’" in facts(page)


# Views


@pytest.mark.parametrize(
    ("size", "views"),
    [
        ((80, 24), ["samples", "attention", "curves", "settings"]),
        ((80, 40), ["samples attention", "curves settings"]),
    ],
)
async def test_v_goes_through_the_parts_two_where_it_is_tall(
    tmp_path: Path, size: tuple[int, int], views: list[str]
):
    two_runs(tmp_path)
    async with app_over(tmp_path).run_test(size=size) as pilot:
        page = await opened(pilot)
        for view in [*views, views[0]]:
            parts = ("samples", "attention", "curves", "settings")
            shown = [part for part in parts if page.query_one(f"#{part}").display]
            assert " ".join(shown) == view
            acts = [page.check_action(action, ()) for action in ("probe", "head", "curve", "now")]
            curves = "curves" in view or None
            known = ["samples" in view or None, "attention" in view or None, curves]
            assert acts == [*known, known[0] or curves]
            await pilot.press("v")
            await settle(pilot)


async def test_curves_and_settings(tmp_path: Path):
    two_runs(tmp_path)
    async with app_over(tmp_path).run_test(size=(120, 40)) as pilot:
        page = await opened(pilot, "v", "left")
        chart = page.query_one("#curves", Chart)
        assert [curve.sign for curve in chart.figure.series] == ["A", "B"]
        assert chart.look.cursor == 150
        assert "train.lr" in pane(page, "settings")
        assert "train.steps" not in pane(page, "settings")
        assert not chart.figure.series[0].points
        await pilot.press("k")
        assert chart.figure.series[0].points
        assert "validation loss · step 150" in facts(page)


async def test_samples_and_curves_tell_the_same_values_of_a_step(tmp_path: Path):
    two_runs(tmp_path)
    run = made_run(tmp_path, "z-rare", steps=0, end=None, vals=[5.537])
    append(run.metrics, step_record(200))
    append(run.metrics, eval_record(200, 2.267))
    async with app_over(tmp_path).run_test(size=(200, 24)) as pilot:
        page = await opened(pilot, "left", "left")
        assert page.step == 100
        assert "val 5.537 (0)" in samples(page)["z-rare"]
        await pilot.press("v", "v", "k")
        await settle(pilot)
        head = text_of(page).split("\n")[2]
        assert " z-rare 5.537 (0)" in head
        assert "2.267" not in head


async def test_going_back_begins_with_the_newest_that_is_not_seen(tmp_path: Path):
    two_runs(tmp_path)
    run = made_run(tmp_path, "young", steps=0, end=None)
    append(run.metrics, step_record(230))
    async with app_over(tmp_path).run_test(size=(80, 24)) as pilot:
        page = await opened(pilot)
        assert "step 200 (5 of 5)" in facts(page)
        await pilot.press("left")
        assert page.step == 150
        await pilot.press("0", "v", "v")
        await settle(pilot)
        assert facts(page).endswith("step 230")
        await pilot.press("left")
        assert page.step == 200


async def test_o_takes_in_the_losses_of_a_run_that_diverged(tmp_path: Path):
    two_runs(tmp_path)
    wild = made_run(tmp_path, "wild", steps=0)
    for step in range(1, 60):
        append(wild.metrics, step_record(step, loss=float(step**4)))
    async with app_over(tmp_path).run_test(size=(80, 24)) as pilot:
        page = await opened(pilot)
        assert page.check_action("outliers", ()) is None
        await pilot.press("v", "v")
        await settle(pilot)
        chart = page.query_one("#curves", Chart)
        assert view_of(chart.figure, chart.look).y1 < 10
        head = text_of(page).split("\n")[2]
        assert all(f"  {letter} " in head for letter in "ABC")
        assert "(59)" in head
        await pilot.press("o")
        assert view_of(chart.figure, chart.look).y1 > 1e6


async def test_the_language_is_switched(tmp_path: Path):
    two_runs(tmp_path)
    async with app_over(tmp_path).run_test(size=(80, 24)) as pilot:
        page = await opened(pilot)
        await pilot.press("L")
        assert facts(page).startswith("muestras · paso 200")
        assert "paso 150, el último hasta ahí" in samples(page)["b-slow"]


@pytest.mark.parametrize("language", ["en", "es"])
async def test_the_help_names_every_key_and_part(tmp_path: Path, language: Language):
    say.language = language
    two_runs(tmp_path)
    app = app_over(tmp_path)
    async with app.run_test(size=(80, 40)) as pilot:
        page = await opened(pilot)
        explained = [tip for _, _, tip in key_rows(page)]
        ours = {binding.id for binding in all_bindings()["side"]}
        assert [name for name in ours if t(f"tip.{name}") not in explained] == []
        assert [name for name, _ in part_rows(page, [])] == [t("topic.beside"), t("topic.maps")]
        assert len(word_rows(page)) == len(WORDS["side"])
        await pilot.press("f1")
        assert t("page.side") in text_of(app.screen)


async def test_the_command_compares_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    two_runs(tmp_path / "runs")
    app = app_over(Path("runs"))
    async with app.run_test(size=(80, 24)) as pilot:
        page = await opened(pilot)
        await pilot.press("y")
        assert app.clipboard == f"mlx-gpt runs compare {' '.join(names(page))}"
        assert "two of these" not in told(app)
        made_run(tmp_path / "runs", "third", steps=50)
        await pilot.press("escape", "escape")
        page = await opened(pilot)
        await pilot.press("y")
        assert "the first two of these" in told(app)


# Attention


async def test_each_model_is_asked_for_its_own_weights(tmp_path: Path):
    two_models(tmp_path)
    survey, prompt = Survey(str(tmp_path)), "ab ab"
    places = [place_of(None, feed.run) for feed in map(Feed, MlxGptApp(tmp_path).runs())]
    questions = [Question(place, prompt, 0) for place in places if place is not None]
    for question in [*questions, questions[0]._replace(layer=1)]:
        await survey.ask(question)
    await survey.close()
    alone = Inside(Worker(), str(tmp_path))
    for question, found in survey.known.items():
        assert isinstance(found, Maps)
        await alone.load(question.place)
        answer = await ask(alone.client, "attention", prompt=prompt, layer=question.layer)
        assert np.array_equal(found.weights, array(answer["value"]))
        assert found.tokens == ("a", "b", "·", "a", "b")
    await alone.close()
    assert [found.step for found in survey.known.values() if isinstance(found, Maps)] == [
        question.place.step for question in survey.known
    ]


async def test_the_same_head_of_each_run(tmp_path: Path):
    two_models(tmp_path)
    app = app_over(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        page = await opened(pilot, "v")
        assert facts(page) == "attention · block 0, head 0 · ‘Once upon a time’"
        assert maps(page)["deep"].startswith("step 10 · loss ")
        assert maps(page)["flat"].startswith("step 20 · loss ")
        assert all("‘e’ → " in text for text in maps(page).values())
        first, asked = maps(page), page.survey.known
        await pilot.press("full_stop")
        assert "block 0, head 1" in facts(page)
        assert all(maps(page)[name] != first[name] for name in first)
        await pilot.press("full_stop")
        clamped = "It has 1 × 2 heads: this is block 0, head 1."
        assert maps(page)["flat"].replace("\n", " ").startswith(clamped)
        assert maps(page)["deep"].startswith("step 10")
        await pilot.press("full_stop")
        assert maps(page) == first
        await pilot.press("comma")
        assert "head 2" in facts(page)
        assert page.survey.known is asked
        await pilot.press("full_stop", "space")
        await settle(pilot)
        assert "block 1, head 0" in facts(page)
        clamped = "It has 1 × 2 heads: this is block 0, head 0."
        assert maps(page)["flat"].replace("\n", " ").startswith(clamped)
        assert maps(page)["deep"] != first["deep"]
        await pilot.press("p")
        assert maps(page) == first
        assert app.insides == {}


async def test_e_writes_another_prompt_and_escape_leaves_it(tmp_path: Path):
    two_models(tmp_path)
    async with app_over(tmp_path).run_test(size=(80, 24)) as pilot:
        page = await opened(pilot, "v", "e")
        await pilot.press("escape", "e", *["backspace"] * 16, "x", "y", "enter")
        await settle(pilot)
        assert facts(page).endswith("‘xy’")
        assert all("‘y’ → " in text for text in maps(page).values())
        assert not page.query_one("#edit").display
        await pilot.press("e", "up")
        assert page.query_one("#edit").has_focus
        assert (tmp_path / "prompts.jsonl").read_text() == '"xy"\n'


@pytest.mark.parametrize("size", [(80, 24), (80, 40), (120, 40)])
async def test_the_line_of_the_prompt_takes_a_row_and_no_column(
    tmp_path: Path, size: tuple[int, int]
):
    two_models(tmp_path)
    async with app_over(tmp_path).run_test(size=size) as pilot:
        page = await opened(pilot, *["v"] * (size[1] == 24), "m")
        before = text_of(page)
        await pilot.press("e")
        await pilot.pause()
        assert page.query_one("#edit").region == (0, 2 + (size[1] > 24), size[0], 1)
        for number in range(2):
            shown = page.query_one(f"#map{number}", Pane)
            assert shown.shown.plain.count("\n") < shown.size.height
            assert not shown.show_vertical_scrollbar
            assert shown.region.width == size[0] // 2
        await pilot.press("escape")
        await pilot.pause()
        assert text_of(page) == before


async def test_four_maps_with_notes_stay_within_their_panes(tmp_path: Path):
    two_models(tmp_path)
    for name in ("third", "last"):
        small_run(tmp_path, name, steps=(20,), model=FLAT)
    async with app_over(tmp_path).run_test(size=(80, 24)) as pilot:
        page = await opened(pilot, "v", "comma")
        assert "It has" in maps(page)["last"]
        for _ in MODES:
            for number, told in enumerate(maps(page).values()):
                shown = page.query_one(f"#map{number}", Pane)
                assert not shown.show_vertical_scrollbar
                assert max(map(cell_len, told.split("\n"))) <= shown.size.width
                assert told.count("\n") < shown.size.height
                rows = [line for line in told.split("\n") if line.startswith(("O", "c", "t"))]
                assert rows
            await pilot.press("m")
            await pilot.pause()


async def test_tables_are_marked_and_scrolled(tmp_path: Path):
    two_models(tmp_path)
    async with app_over(tmp_path).run_test(size=(80, 24)) as pilot:
        page = await opened(pilot, "v", "m")
        assert [grid.mode for grid in page.grids] == [MODES[1]] * 4
        before = maps(page)
        await pilot.press("right_square_bracket", "right_curly_bracket")
        assert all(grid.corner > (0, 0) for grid in page.grids[:2])
        assert all(maps(page)[name] != before[name] for name in before)
        await pilot.press("left_square_bracket", "left_curly_bracket")
        assert maps(page) == before


async def test_a_run_without_a_model_says_why_and_r_asks_again(tmp_path: Path):
    made_run(tmp_path, "bare", steps=50)
    run = small_run(tmp_path, "deep")
    state = next(run.checkpoints.glob("step*")) / "model.safetensors"
    kept = state.read_bytes()
    state.write_bytes(b"broken")
    async with app_over(tmp_path).run_test(size=(80, 24)) as pilot:
        page = await opened(pilot, "v")
        assert "no model to look into" in " ".join(maps(page)["bare"].split())
        assert "model.safetensors" in maps(page)["deep"]
        state.write_bytes(kept)
        await pilot.press("R")
        await settle(pilot)
        assert maps(page)["deep"].startswith("step 10")


async def test_the_worker_goes_when_the_page_is_left_and_comes_again(tmp_path: Path):
    two_models(tmp_path)
    app = app_over(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        page = await opened(pilot, "v")
        worker = page.survey.worker.client
        assert isinstance(worker, Worker)
        first = worker.process
        assert first is not None
        await pilot.press("f1", "escape")
        assert first.poll() is None
        await pilot.press("escape")
        for _ in range(50):
            await pilot.pause(0.02)
        assert first.poll() is not None
        await pilot.press("c", "space")
        page = await settle(pilot)
        assert "block 1" in facts(page)
        assert maps(page)["deep"].startswith("step 10")
        second = worker.process
        assert second is not None
    assert second.poll() is not None


async def test_the_recorded_run_answers_from_its_recording(tmp_path: Path):
    small_run(tmp_path, "deep")
    app = app_over(tmp_path, demo=True)
    async with app.run_test(size=(80, 24)) as pilot:
        page = await opened(pilot, "v")
        assert sorted(names(page)) == ["deep", "demo"]
        place = page.place(page.feeds[names(page).index("demo")])
        assert place == DEMO
        assert all("loss" in text and "→" in text for text in maps(page).values())
        await pilot.press("e", "x", "enter")
        await settle(pilot)
        assert "This is a recording. It answers to:" in maps(page)["demo"]
        assert "→" in maps(page)["deep"]
        await pilot.press("e", "up")
        assert page.query_one("#edit").has_focus
        await pilot.press("enter")
        await settle(pilot)
        assert "→" in maps(page)["demo"]
