"""When the app says that a training runs on battery."""

from collections.abc import Callable
from pathlib import Path

import pytest
from made_runs import BEGAN, made_run

from mlx_gpt.language import say
from mlx_gpt.power import Battery
from mlx_gpt.run import append, hold_lock
from tui.app import MlxGptApp
from tui.drain import LOOK_SECONDS, Drain, warning_text


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(say, "language", "en")


def plugged(percent: int) -> Battery:
    return Battery(percent, discharging=False)


def drawn(percent: int) -> Battery:
    return Battery(percent, discharging=True)


async def told(*batteries: Battery | None) -> list[int | None]:
    """The percentages that are told of, one look after another."""
    waiting = list(batteries)
    drain = Drain(lambda: waiting.pop(0))
    looks = [await drain.look() for _ in batteries]
    return [battery.percent if battery else None for battery in looks]


async def test_a_discharge_is_told_once_and_once_more_when_little_is_left():
    steps = (None, drawn(50), drawn(49), drawn(19), drawn(18))
    assert await told(*steps) == [None, 50, None, 19, None]
    assert await told(plugged(50), drawn(50), plugged(51), drawn(50)) == [None, 50, None, 50]
    assert await told(drawn(19), drawn(20), drawn(19)) == [19, None, None]
    assert await told(plugged(10), None) == [None, None]


async def test_the_battery_is_looked_at_now_and_then():
    now = [100.0]
    drain = Drain(lambda: None, clock=lambda: now[0])
    assert drain.is_due()
    await drain.look()
    now[0] += LOOK_SECONDS - 1
    assert not drain.is_due()
    now[0] += 1
    assert drain.is_due()


def test_the_warning_says_what_to_do():
    assert "(63 %)" in warning_text(drawn(63), eco=False)
    assert "2, then E" in warning_text(drawn(63), eco=False)
    assert "then E" not in warning_text(drawn(63), eco=True)
    assert warning_text(drawn(19), eco=True).startswith("Only 19 % of the battery")


async def notes(run_folder: Path, read: Callable[[], Battery | None], *, ticks: int = 3):
    """What the app says in passing while it watches the newest run."""
    app = MlxGptApp(run_folder, clock=lambda: BEGAN, battery=read)
    async with app.run_test() as pilot:
        for _ in range(ticks):
            app.tick()
            await app.workers.wait_for_complete()
            await pilot.pause()
        return [(note.severity, note.message) for note in app._notifications]


async def test_the_app_warns_once_of_a_training_on_battery(tmp_path: Path):
    with hold_lock(made_run(tmp_path, steps=150, end=None)):
        [(severity, text)] = await notes(tmp_path, lambda: drawn(63))
        assert (severity, text) == ("warning", warning_text(drawn(63), eco=False))
        [(severity, text)] = await notes(tmp_path, lambda: drawn(7))
        assert (severity, text) == ("error", warning_text(drawn(7), eco=False))
        assert await notes(tmp_path, lambda: plugged(7)) == []
        assert await notes(tmp_path, lambda: None) == []


async def test_the_key_that_spares_the_battery_is_not_told_where_it_was_pressed(tmp_path: Path):
    run = made_run(tmp_path, steps=150, end=None)
    append(run.events, {"kind": "eco", "step": 150, "on": True})
    with hold_lock(run):
        [(_, text)] = await notes(tmp_path, lambda: drawn(63))
        assert text == warning_text(drawn(63), eco=True)


async def test_a_battery_is_not_looked_at_where_nothing_trains(tmp_path: Path):
    looks: list[float] = []

    def look() -> None:
        looks.append(BEGAN)

    run = made_run(tmp_path, steps=150, end=None)
    await notes(tmp_path, look)
    assert looks == []
    with hold_lock(run):
        append(run.events, {"kind": "paused", "step": 150})
        await notes(tmp_path, look)
        assert looks == []
        append(run.events, {"kind": "resumed", "step": 150})
        await notes(tmp_path, look)
        assert looks == [BEGAN]
