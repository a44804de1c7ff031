"""The recorded run plays like a living one, and needs no MLX."""

import subprocess
import sys
from pathlib import Path

import pytest
from made_runs import made_run, text_of

from mlx_gpt.errors import UserError
from mlx_gpt.language import Language, say
from mlx_gpt.run import is_alive, read, read_metrics, send, state
from tui.app import MlxGptApp
from tui.recorded import Recorded, recorded_prompts
from tui.replay import RECORDING, SPEEDS, Replay, moments
from tui.screens.runs import Runs
from tui.screens.trace import Trace
from tui.screens.train import Train
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
        assert "running" in shown
        assert "Once upon a time│" in shown
        await pilot.press("y")
        assert app.clipboard == "mlx-gpt tui --demo"
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


async def test_the_keys_of_a_replay_act_only_in_one(tmp_path: Path):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path))
    async with app.run_test() as pilot:
        await pilot.press("S", "N")
        ids = {active.binding.id for active in app.screen.active_bindings.values()}
        assert "train.speed" not in ids


@pytest.mark.parametrize("language", ["en", "es"])
async def test_the_tour_goes_through_all_its_stations(
    tmp_path: Path, language: Language, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(say, "language", language)
    app = MlxGptApp(tmp_path, demo=True)
    async with app.run_test(size=(80, 24)) as pilot:
        for number, station in enumerate(STATIONS):
            await pilot.pause()
            assert app.current_mode == station.page
            page = app.page_on_top()
            assert page is not None
            text = station_text(page, number)
            assert page.query_one(TourBar).text == text
            assert page.query_one(TourBar).size.height <= 2
            shown = " ".join(line.strip() for line in text_of(page).split("\n"))
            assert text in shown
            await pilot.press("t")
        await pilot.pause()
        assert app.station is None
        assert not app.screen.query_one(TourBar).display


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
        assert "zero it" not in text_of(page)
        page.walk.go("blocks.0.attn_out")
        page.stepped()
        await pilot.pause()
        assert "zero it" in text_of(page)
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
