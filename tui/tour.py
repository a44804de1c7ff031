"""The guided tour of the demo: where it stops."""

from tui.i18n import t

STATIONS = (  # the page of each
    "train",
    "train",
    "train",
    "train",
    "runs",
    "sample",
    "sample",
    "sample",
    "trace",
    "trace",
    "new",
)


def station_text(number: int) -> str:
    """What a station tells."""
    return f"{number}/{len(STATIONS) - 1}  {t(f'tour.{number}')}"
