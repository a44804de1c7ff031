"""When to say that a training runs on battery: once, and once more when little is left."""

import asyncio
import time
from collections.abc import Callable

from mlx_gpt.power import Battery, read_battery
from tui.i18n import t

LOOK_SECONDS = 30.0
LOW_PERCENT = 20


class Drain:
    """The battery, looked at now and then while a training runs."""

    def __init__(
        self,
        read: Callable[[], Battery | None] = read_battery,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.read, self.clock = read, clock
        self.looked_at = float("-inf")
        self.told = 0  # the worst level since the machine was last plugged in

    def is_due(self) -> bool:
        """Whether the last look was long ago."""
        return self.clock() - self.looked_at >= LOOK_SECONDS

    async def look(self) -> Battery | None:
        """The battery, where it has come to a level that has not been told."""
        self.looked_at = self.clock()
        battery = await asyncio.to_thread(self.read)
        if battery is None or not battery.discharging:
            self.told = 0
            return None
        level = 2 if is_low(battery) else 1
        worse, self.told = level > self.told, max(level, self.told)
        return battery if worse else None


def is_low(battery: Battery) -> bool:
    """Whether little is left."""
    return battery.percent < LOW_PERCENT


def warning_text(battery: Battery, *, eco: bool) -> str:
    """What is to be done; eco is no news where it is on."""
    if is_low(battery):
        return t("battery.low", percent=battery.percent)
    return t("battery.eco" if eco else "battery.draining", percent=battery.percent)
