"""The guided tour of the demo: where it stops, and the keys that its texts name."""

from typing import NamedTuple

from tui.i18n import t
from tui.page import Page


class Station(NamedTuple):
    """A stop of the tour: its page, and the bindings of the keys in its text, `tour.1` and on."""

    page: str
    keys: tuple[str, ...] = ()


STATIONS = (
    Station("train"),
    Station("train", ("train.back",)),
    Station("train"),
    Station("train", ("train.pane",)),
    Station("runs", ("runs.mark", "runs.built_in")),
    Station("sample", ("sample.generate",)),
    Station("sample", ("sample.back", "sample.unlikelier", "sample.branch")),
    Station("sample", ("sample.dial", "sample.more")),
    Station("trace", ("trace.step", "trace.attention", "trace.lens")),
    Station("trace", ("trace.break", "trace.restore")),
    Station("new", ("new.start",)),
)


def station_text(page: Page, number: int) -> str:
    """What a station tells, with the keys as they are now."""
    station = STATIONS[number]
    keys = {name.partition(".")[2]: page.key_of(name) for name in ("app.tour", *station.keys)}
    return f"{number}/{len(STATIONS) - 1}  {t(f'tour.{number}', **keys)}"
