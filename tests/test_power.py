"""What is known of the battery."""

import psutil
import pytest

from mlx_gpt.power import Battery, battery_of, read_battery


@pytest.mark.parametrize(
    ("percent", "plugged", "battery"),
    [
        (63, False, Battery(63, discharging=True)),
        (62.6, True, Battery(63, discharging=False)),
        (100.0, None, Battery(100, discharging=False)),
    ],
)
def test_a_battery_is_drawn_on_where_nothing_is_plugged_in(
    percent: float, plugged: bool | None, battery: Battery
):
    assert battery_of(percent, plugged) == battery


def test_this_machine_has_the_battery_that_psutil_finds():
    sense = getattr(psutil, "sensors_battery", lambda: None)
    assert (read_battery() is None) == (sense() is None)


def test_a_system_whose_batteries_nobody_can_read_has_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(psutil, "sensors_battery", raising=False)
    assert read_battery() is None
