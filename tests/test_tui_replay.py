"""The recorded run plays like a living one, and needs no MLX."""

import subprocess
import sys
from pathlib import Path

import pytest
from made_runs import made_run, text_of

from mlx_gpt.errors import UserError
from mlx_gpt.language import Language, say
from mlx_gpt.run import is_alive, read, read_metrics, send, state
from mlx_gpt.terminal import duration
from tui.app import MlxGptApp
from tui.i18n import t
from tui.recorded import Recorded, recorded_prompts
from tui.replay import RECORDING, SPEEDS, Replay, moments
from tui.screens.runs import Runs
from tui.screens.trace import Trace
from tui.screens.train import Train
from tui.story import log_text
from tui.tour import STATIONS, station_text
from tui.views import VIEWS
from tui.widgets.prompt import Prompt
from tui.widgets.tour_bar import TourBar
from tui.worker import ask

ROOT = Path(__file__).parent.parent


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def replay(clock: Clock, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(say, "language", "en")
    played = Replay(clock=clock)
    yield played
    played.close()


def test_the_recording_is_a_finished_run_that_learned():
    found = read_metrics(Replay.recorded())
    evals = [record["val_loss"] for record in found if record["kind"] == "eval"]
    assert evals[-1] < 0.4 * evals[0]
    assert state(Replay.recorded()) == "finished"
    assert {"sample", "surprise"} <= {
        record["kind"] for record in read(RECORDING / "samples.jsonl")
    }


def test_it_plays_in_the_time_of_the_recording(replay: Replay, clock: Clock):
    replay.change_speed()
    assert replay.speed == 1
    begin = replay.moments[0].time
    for second in (1, 5, 6):
        clock.now = 100.0 + second
        replay.advance()
        due = [moment for moment in replay.moments if moment.time <= begin + second]
        assert replay.at == len(due)
    assert state(replay.run) == "running"


def test_it_plays_ten_times_as_fast_at_first(replay: Replay, clock: Clock):
    assert SPEEDS[0] == replay.speed == 10
    clock.now += 2
    replay.advance()
    assert replay.seconds == 20


def test_at_its_end_it_is_the_recorded_run(replay: Replay, clock: Clock):
    clock.now += 10_000
    replay.advance()
    assert replay.finished
    assert not is_alive(replay.run)
    assert state(replay.run) == "finished"
    for name in ("metrics.jsonl", "samples.jsonl", "events.jsonl"):
        assert read(replay.run.path / name) == read(RECORDING / name)


def test_a_clock_set_back_plays_nothing_twice(replay: Replay, clock: Clock):
    clock.now += 1
    replay.advance()
    at, clock.now = replay.at, 0.0
    replay.advance()
    assert replay.at == at


def test_step_by_step_each_step_is_one_evaluation(replay: Replay, clock: Clock):
    replay.change_speed()
    replay.change_speed()
    assert replay.speed == 0
    clock.now += 100
    replay.advance()
    seen = []
    while not replay.finished:
        replay.step_on()
        seen.append(sum(r["kind"] == "eval" for r in read_metrics(replay.run)))
    assert seen == list(range(1, len(seen) + 1))
    assert len(seen) == sum(r["kind"] == "eval" for r in read_metrics(Replay.recorded()))
    replay.step_on()


def test_it_obeys_like_a_trainer(replay: Replay, clock: Clock):
    def told(cmd: str) -> bool:
        command = send(replay.run, cmd)
        replay.advance()
        [ack] = [r for r in read(replay.run.events, "ack") if r["id"] == command]
        return ack["ok"]

    assert told("pause")
    assert state(replay.run) == "paused"
    clock.now += 5
    replay.advance()
    assert replay.seconds == 0
    assert told("resume")
    assert not told("sample")
    assert {r["step"] for r in read(replay.run.events) if r["kind"] in ("paused", "resumed")} == {0}
    assert told("stop")
    assert state(replay.run) == "stopped"


def test_the_records_come_in_the_order_of_time(tmp_path: Path):
    run = made_run(tmp_path, steps=60)
    times = [moment.time for moment in moments(run)]
    assert times == sorted(times)


async def test_the_demo_is_watched_and_stepped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(say, "language", "en")
    monkeypatch.setattr("sys.platform", "linux")
    app = MlxGptApp(tmp_path, demo=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert isinstance(app.screen, Train)
        await pilot.press("S", "S", "N", "N", "N")
        await pilot.pause()
        shown = text_of(app.screen)
        assert "‖ step by step" in shown
        assert "running" not in shown
        assert "Once upon a time│" in shown
        replay = app.replay
        assert replay is not None
        folder = replay.run.path
        await pilot.press("R")
        await pilot.pause()
        assert app.replay is not replay
        assert not folder.exists()
        last = app.replay
    assert last is not None
    assert not last.run.path.exists()


def test_the_time_left_is_that_of_the_replay(replay: Replay, clock: Clock):
    whole = replay.moments[-1].time - replay.moments[0].time
    clock.now += 2
    replay.advance()
    assert replay.seconds_left() == pytest.approx((whole - 20) / 10)
    replay.change_speed()
    assert replay.seconds_left() == pytest.approx(whole - 20)
    replay.change_speed()
    assert (replay.seconds_left(), replay.by_step) == (None, True)
    assert state(replay.run) == "paused"
    replay.step_on()
    assert state(replay.run) == "paused"
    replay.change_speed()
    assert state(replay.run) == "running"
    replay.change_speed()
    replay.change_speed()
    while not replay.finished:
        replay.step_on()
    assert not replay.by_step


@pytest.mark.parametrize("language", ["en", "es"])
async def test_the_demo_tells_its_own_time_and_keys_and_waits_visibly(
    tmp_path: Path, language: Language, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(say, "language", language)
    app = MlxGptApp(tmp_path, demo=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        page, replay = app.screen, app.replay
        assert isinstance(page, Train)
        assert replay is not None
        await pilot.press("N", "N", "N", "N")
        await pilot.pause()
        left = replay.seconds_left()
        assert left is not None
        told = {t("status.left", time=duration(left + late)) for late in (-1, 0, 1)}
        assert any(words in text_of(page) for words in told)
        keys = [
            f" {key} {t(f'key.train.{name}')} "
            for key, name in (("S", "speed"), ("N", "replay_step"))
        ]
        assert all(each in text_of(page) for each in keys)
        await pilot.press("S", "S")
        app.tick()
        await pilot.pause()
        assert f"‖ {t('status.by_step')}" in text_of(page)
        assert f"→ N {t('key.train.replay_step')}" in text_of(page)
        assert f" p {t('key.train.pause')} " not in text_of(page)
        while not replay.finished:
            replay.step_on()
        for _ in range(3):
            app.tick()
            await pilot.pause()
        assert t("status.by_step") not in text_of(page)
        assert not any(each in text_of(page) for each in keys)


async def test_the_keys_of_a_replay_act_only_in_one(tmp_path: Path):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test() as pilot:
        await pilot.press("S", "N")
        ids = {active.binding.id for active in app.screen.active_bindings.values()}
        assert "train.speed" not in ids


async def test_a_command_of_the_demo_opens_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(say, "language", "en")
    monkeypatch.setattr("sys.platform", "linux")
    made_run(tmp_path)
    app = MlxGptApp(tmp_path, demo=True)
    demo = f"mlx-gpt tui --demo --out {tmp_path}"
    async with app.run_test(size=(120, 40)) as pilot:

        async def copied(*keys: str) -> str:
            await pilot.press(*keys)
            await app.workers.wait_for_complete()
            await pilot.press("y")
            return app.clipboard

        assert await copied("2") == demo
        assert await copied("3", "g") == demo
        assert await copied("4") == demo
        assert "mlx-gpt train stories" in await copied("5")
        assert await copied("1") == f"mlx-gpt runs --out {tmp_path}"
        assert await copied("home", "space", "down") == demo
        assert await copied("c") == demo


async def test_a_stopped_replay_says_that_it_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(say, "language", "en")
    app = MlxGptApp(tmp_path, demo=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("S", "S", "N", "N")
        assert "X end replay" in text_of(app.screen)
        replay = app.replay
        assert replay is not None
        played = replay.step
        assert played > 0
        await pilot.press("X")
        page = app.screen
        for _ in range(3):
            app.tick()
            await pilot.pause()
        shown = text_of(page)
        assert "The replay is stopped at step" in shown
        assert "R plays it again from the start." in shown
        assert "→ R play again" in shown
        assert "Stopped and saved" not in shown
        assert [note.message for note in app._notifications] == [
            f"The replay is stopped at step {played}."
        ]
        assert log_text(app.feed(replay.run)).plain.endswith(
            f"the replay is stopped at step {played}"
        )
        assert " R play again " in shown
        assert "resume" not in shown
        await pilot.press("1")
        await pilot.pause()
        assert " R play again " in text_of(app.screen)


async def test_the_demo_is_named_in_the_language_of_the_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(say, "language", "es")
    app = MlxGptApp(tmp_path, demo=True)
    async with app.run_test(size=(120, 40)) as pilot:
        for keys in ("3g", "4"):
            await pilot.press(*keys)
            await app.workers.wait_for_complete()
            await pilot.pause()
            assert "demo, paso 1800" in text_of(app.screen)


@pytest.mark.parametrize(
    ("turns", "count", "end"),
    [
        ((), 48, "end of recording"),
        (("minus",), 32, "limit reached"),
        (("minus", "minus", "minus"), 8, "limit reached"),
    ],
)
async def test_a_recorded_text_says_why_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, turns: tuple[str, ...], count: int, end: str
):
    monkeypatch.setattr(say, "language", "en")
    monkeypatch.setattr("tui.recorded.TOKEN_SECONDS", 0)
    app = MlxGptApp(tmp_path, demo=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("3", *"ddddd", *turns, "g")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert f"{count} tokens" in text_of(app.screen)
        assert text_of(app.screen).count(end) == 1


async def test_a_recorded_text_that_ended_by_itself_says_so():
    client = Recorded(pace=0)
    for most, reasons in ((64, ["recorded"] * 3 + ["end"]), (46, ["length"] * 3 + ["end"])):
        settings = {"max_tokens": most}
        prompt = recorded_prompts()[0]
        stream = client.stream("sample", prompt=prompt, n=4, settings=settings)
        *_, last = [record async for record in stream]
        assert last["finish"] == reasons


@pytest.mark.parametrize("language", ["en", "es"])
async def test_the_tour_goes_through_all_its_stations(
    tmp_path: Path, language: Language, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(say, "language", language)
    app = MlxGptApp(tmp_path, demo=True)
    async with app.run_test(size=(80, 24)) as pilot:
        for number, station in enumerate(STATIONS):
            await pilot.pause()
            assert app.current_mode == station
            page = app.page_on_top()
            assert page is not None
            text = station_text(number)
            assert page.query_one(TourBar).text == text
            assert page.query_one(TourBar).size.height <= 2
            shown = " ".join(line.strip() for line in text_of(page).split("\n"))
            assert text in shown
            await pilot.press("t")
        await pilot.pause()
        assert app.station is None
        assert not app.screen.query_one(TourBar).display


async def test_the_tour_tells_the_keys_of_a_station_on_any_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(say, "language", "en")
    app = MlxGptApp(tmp_path, demo=True)
    async with app.run_test(size=(80, 24)) as pilot:
        for number, station in enumerate(STATIONS[:-1]):
            for page in "12345":
                await pilot.press(page)
                await pilot.pause()
                line = app.screen.query_one(TourBar).text
                assert line == station_text(number)
                assert ("g lets the model write" in line) == (number == 5), (station, page)
            await pilot.press("t")


async def test_escape_ends_the_tour_and_then_is_the_pages_own_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(say, "language", "en")
    app = MlxGptApp(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("t", "t")
        assert app.station == 1
        assert app.replaying
        page = app.screen
        assert isinstance(page, Train)
        await pilot.press("S", "S", "N", "N", "left", "f1", "escape")
        assert app.station == 1
        cursor = page.look.cursor
        assert cursor is not None
        await pilot.press("escape")
        assert app.station is None
        assert page.look.cursor == cursor
        await pilot.press("escape")
        assert page.look.cursor is None


async def test_a_station_is_covered_by_no_note_and_its_end_shows_the_keys_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(say, "language", "en")
    app = MlxGptApp(tmp_path, demo=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("t", "4", "z")
        await pilot.pause()
        app.notify("a note")
        await pilot.press("escape")
        await pilot.pause()
        assert app.station is None
        assert list(app._notifications) == []
        assert "esc end quiz" in text_of(app.screen)


async def test_the_demo_is_among_the_runs_and_cannot_be_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(say, "language", "en")
    made_run(tmp_path)
    app = MlxGptApp(tmp_path, demo=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("1")
        page = app.screen
        assert isinstance(page, Runs)
        page.look_again()
        await pilot.press("home")
        assert page.chosen_name() == "demo"
        assert "delete" not in text_of(page)
        await pilot.press("x", "r")
        assert app.screen is page
        await pilot.press("down")
        assert page.chosen_name() == "stories"
        await pilot.press("r")
        assert app.screen is not page


async def test_the_demo_offers_what_it_can_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(say, "language", "en")
    app = MlxGptApp(tmp_path, demo=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("3")
        assert all(prompt in text_of(app.screen) for prompt in recorded_prompts())
        await pilot.press("e", "up")
        assert app.screen.query_one("#prompt", Prompt).value == recorded_prompts()[-1]
    client = Recorded(pace=0)
    offered = (await ask(client, "breaks"))["breaks"]
    assert 0 < len(offered) < 10
    for each in offered:
        await ask(client, "trace", prompt=recorded_prompts()[0], **{"break": each["name"]})


async def test_the_demo_offers_no_key_of_the_trace_that_was_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(say, "language", "en")
    app = MlxGptApp(tmp_path, demo=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("4")
        await app.workers.wait_for_complete()
        page = app.screen
        assert isinstance(page, Trace)
        assert page.walk is not None
        assert "o zero" not in text_of(page)
        page.walk.go("blocks.0.attn_out")
        page.stepped()
        await pilot.pause()
        assert "o zero" in text_of(page)
        seen = []
        for _ in VIEWS:
            await pilot.press("v")
            await app.workers.wait_for_complete()
            seen.append(page.views.name)
        assert set(seen) == set(VIEWS)
        assert not page.inquiry.faults
        await pilot.press("r", "o")
        await app.workers.wait_for_complete()
        assert page.inquiry.first == "blocks.0.attn_out"
        await pilot.press("x", "l", "g")
        assert page.views.name == "row"


async def test_the_recording_says_what_was_not_recorded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(say, "language", "en")
    client = Recorded(pace=0)
    with pytest.raises(UserError, match="this was not recorded"):
        await ask(client, "gradients", prompt=recorded_prompts()[0], **{"break": "rope_missing"})
    with pytest.raises(UserError, match="It answers to: “Once"):
        await ask(client, "trace", prompt="another")


def test_the_demo_needs_no_mlx():
    code = (
        "import asyncio, sys\n"
        "sys.modules['mlx'] = None\n"
        "from tui.app import MlxGptApp\n"
        "async def main():\n"
        "    app = MlxGptApp(demo=True)\n"
        "    async with app.run_test() as pilot:\n"
        "        await pilot.pause()\n"
        "        print(app.current_mode, app.run_in_hand.name)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout == "train demo\n", done.stderr
