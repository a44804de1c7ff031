"""Whether the machine runs on its battery, which a training empties fast."""

from typing import NamedTuple


class Battery(NamedTuple):
    """How full it is, and whether the machine draws on it."""

    percent: int
    discharging: bool


def read_battery() -> Battery | None:
    """The battery at this moment; None where there is none, or where nobody can tell."""
    import psutil  # 20 ms, which only a training is worth

    sense = getattr(psutil, "sensors_battery", None)
    try:
        sensed = sense() if sense else None
    except OSError:
        return None
    return None if sensed is None else battery_of(sensed.percent, sensed.power_plugged)


def battery_of(percent: float, plugged: bool | None) -> Battery:
    """What psutil tells of a battery; where it does not know of a plug, nothing is drawn."""
    return Battery(round(percent), discharging=plugged is False)
