"""Runs beside each other: what each made of the same prompt at the same step, and its losses."""

from collections.abc import Iterator, Sequence

import numpy as np
from rich.cells import cell_len
from textual.content import Content

from mlx_gpt.run import Record
from mlx_gpt.terminal import one_line, table, visible
from tui.columns import GAP, shortened
from tui.compare import differences
from tui.curves import sign_of
from tui.feed import Columns, Feed, Probe
from tui.i18n import t
from tui.plot import known_at
from tui.story import at_step, changes, spoken

MOST = 4  # runs beside each other
NARROWEST = 10  # a column of settings


def title(feeds: Sequence[Feed], number: int, width: int) -> str:
    """What stands above a run's column: its letter and its name."""
    return f"{sign_of(number)} {shortened(visible(feeds[number].run.name), max(width - 2, 1))}"


def prompts_of(feeds: Sequence[Feed]) -> list[str]:
    """The probe prompts of any of the runs."""
    return list(dict.fromkeys(prompt for feed in feeds for prompt in feed.probes))


def steps_of(feeds: Sequence[Feed], prompt: str | None) -> np.ndarray:
    """The steps at which any of the runs was asked a prompt; without one there are none."""
    asked = {each.step for feed in feeds for each in feed.probes.get(prompt or "", [])}
    return np.array(sorted(asked), int)


def sample_of(feed: Feed, prompt: str, step: float) -> Probe | None:
    """What a run made of a prompt at a step, or when it was asked last before."""
    through_time = feed.probes.get(prompt, [])
    at = at_step(through_time, step)
    return through_time[at] if at >= 0 else None


def sample_text(feeds: Sequence[Feed], number: int, prompt: str, step: int) -> Content:
    """A run's losses and sample at a step; underlined is what the first run did not say.

    Of the first run it is what the second did not say.
    """
    feed, other = feeds[number], feeds[1 if number == 0 else 0]
    losses = Content.styled(losses_text(feed, step), "$text-muted")
    said = sample_of(feed, prompt, step)
    if said is None:
        why = "side.silent" if prompt in (*feed.probes, *feed.probe_prompts) else "side.unasked"
        return Content("\n").join([losses, Content(t(why))])
    beside = sample_of(other, prompt, step)
    text = changes(visible(beside.text) if beside else "", visible(said.text))
    key = "side.step" if said.step == step else "side.older"
    place = Content.styled(t(key, step=said.step), "$text-muted")
    return Content("\n").join([place, losses, spoken(prompt, text)])


def losses_text(feed: Feed, step: int) -> str:
    """The losses of training and validation at a step, or last before it."""
    train = loss_text(t("chart.train"), feed.steps, "loss", step)
    return f"{train}  {loss_text(t('chart.val'), feed.evals, 'val_loss', step)}"


def loss_text(name: str, columns: Columns, field: str, step: int) -> str:
    """A loss at a step; where it is older, with the step it is of."""
    at = known_at(columns["step"], step)
    if at < 0 or not np.isfinite(columns[field][at]):
        return f"{name} –"
    own = int(columns["step"][at])
    return f"{name} {columns[field][at]:.3f}" + (f" ({own})" if own != step else "")


def settings_text(names: Sequence[str], configs: Sequence[Record], width: int) -> Content:
    """The settings that are not the same in all runs: a column for each run, else a line."""
    found = [(one_line(key), list(map(one_line, values))) for key, values in differences(configs)]
    if not found:
        return Content(t("runs.same"))
    letters = [sign_of(number) for number in range(len(names))]
    heads = [f"{letter} {one_line(name)}" for letter, name in zip(letters, names, strict=True)]
    longest = max(cell_len(t("runs.setting")), *(cell_len(key) for key, _ in found))
    room = (width - longest) // len(names) - GAP
    if room < NARROWEST:
        return Content("\n".join(lines_of(heads, letters, found, width)))
    rows = [(t("runs.setting"), heads), *found]
    cut = [(key, *(shortened(value, room) for value in values)) for key, values in rows]
    return Content(table(cut))


def lines_of(
    heads: Sequence[str],
    letters: Sequence[str],
    found: Sequence[tuple[str, Sequence[str]]],
    width: int,
) -> Iterator[str]:
    """The runs, then each setting, below it a line for the value of each run."""
    yield from (shortened(head, width) for head in heads)
    for key, values in found:
        yield key
        for letter, value in zip(letters, values, strict=True):
            yield shortened(f"  {letter} {value}", width)
