"""What a run says in words: probe samples through time, surprise, the log."""

import difflib
import math
import time
from collections.abc import Sequence
from typing import TypeVar

from textual.content import Content

from mlx_gpt.config import shown
from mlx_gpt.run import Record
from mlx_gpt.terminal import one_line, visible
from tui.feed import Answer, Feed, Probe, Surprise, whole
from tui.i18n import known, t

Entry = TypeVar("Entry", Probe, Surprise)
SURPRISE_LEVELS = (0.5, 1.5, 3.0, 4.5)  # nats: the upper ends of all levels but the last
SURPRISE_STYLES = (
    "$text-success",
    "$text",
    "$text-warning",
    "bold $text-error",
    "bold reverse $error",
)
LOG_LINES = 200
PLACES = ("step", "steps", "prompt", "text", "message")  # values that the words of events name
TURNS = ("best", "early", "on", "replayed")  # what makes an event one with words of its own
DULL = ("kind", "time", "id", "pid", "path", "run", "memory_limit")


def at_step(entries: Sequence[Entry], cursor: float | None) -> int:
    """The index of the last entry up to the cursor; -1 where there is none."""
    if cursor is None:
        return len(entries) - 1
    return sum(entry.step <= cursor for entry in entries) - 1


def probe_text(feed: Feed, cursor: float | None, way: str = "") -> tuple[str, Content]:
    """What the model made of each probe prompt at that step, and of what was asked by hand.

    `way` says how there can be a sample of now.
    """
    parts: list[Content] = []
    place, newest = "", -1
    for prompt, entries in feed.probes.items():
        at = at_step(entries, cursor)
        if at < 0:
            continue
        place = f" · {t('probe.place', step=entries[at].step, at=at + 1, count=len(entries))}"
        newest = max(newest, entries[at].step)
        before = entries[at - 1].text if at > 0 else ""
        parts.append(spoken(prompt, changes(visible(before), visible(entries[at].text))))
    answer = answer_at(feed, cursor)
    if answer is not None:
        parts.append(asked(answer))
        newest = max(newest, answer.step or 0)
    notes = [*([] if parts else [no_samples(feed)]), *measured_only(feed, cursor, newest)]
    if notes:
        parts.append(Content.styled(" ".join([*notes, way]).rstrip(), "$text-muted"))
    return f"{t('pane.probes')}{place}", Content("\n").join(parts)


def answer_at(feed: Feed, cursor: float | None) -> Answer | None:
    """The last sample that was asked for by hand up to that step."""
    answers = [
        each
        for each in feed.answers.values()
        if cursor is None or (each.step is not None and each.step <= cursor)
    ]
    return answers[-1] if answers else None


def no_samples(feed: Feed) -> str:
    """Why there are no samples, or when there will be some."""
    if not feed.alive:
        return t("probe.over")
    if not feed.setting("train.probe_prompts"):
        return t("probe.no_prompts")
    return t("probe.none", every=feed.setting("train.eval_every"))


def measured_only(feed: Feed, cursor: float | None, since: int) -> list[str]:
    """That an evaluation asked for by hand, newer than what is shown, gave its loss alone."""
    acks = [ack for ack in feed.acks if ack.get("cmd") == "eval" and ack.get("ok") is True]
    steps = [step for ack in acks if (step := whole(ack.get("step"))) is not None]
    known = [step for step in steps if step > since and (cursor is None or step <= cursor)]
    return [t("probe.measured", step=step) for step in known[-1:]]


def asked(answer: Answer) -> Content:
    """A sample asked for by hand: at which step, the prompt where it is known, the text so far."""
    mark = t("probe.asked") if answer.step is None else t("probe.asked_at", step=answer.step)
    text = Content(visible(answer.text) + ("" if answer.finished else "▌"))
    return spoken("…" if answer.prompt is None else answer.prompt, text, mark)


def spoken(prompt: str, text: Content, mark: str = "") -> Content:
    """A prompt and its continuation."""
    head = f"{mark} " if mark else ""
    return Content.assemble((head, "$text-accent"), (f"{visible(prompt)}│", "bold"), text)


def changes(before: str, after: str) -> Content:
    """The text, with what was not there at the evaluation before underlined."""
    if not before:
        return Content(after)
    old, new = before.split(" "), after.split(" ")
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    parts = []
    for kind, _, _, start, end in matcher.get_opcodes():
        words = " ".join(new[start:end])
        if start < end:
            parts.append(Content.styled(words, "" if kind == "equal" else "underline"))
    return Content(" ").join(parts)


def surprise_text(feed: Feed, cursor: float | None) -> tuple[str, Content]:
    """The fixed validation text, each token coloured by its loss at that step."""
    at = at_step(feed.surprises, cursor)
    if at < 0:
        return t("pane.surprise"), Content(t("surprise.none"))
    now = feed.surprises[at]
    finite = [loss for loss in now.losses if math.isfinite(loss)]
    mean = sum(finite) / len(finite) if finite else math.nan
    title = f"{t('pane.surprise')} · {t('surprise.place', step=now.step, mean=f'{mean:.2f}')}"
    tokens = [
        Content.styled(visible(piece), SURPRISE_STYLES[level(loss)])
        for piece, loss in zip(now.pieces, now.losses, strict=True)
        if piece
    ]
    notes = [
        Content.styled(f"\n{each}", "$text-muted") for each in measured_only(feed, cursor, now.step)
    ]
    return title, Content.assemble(*tokens, "\n", legend(), *notes)


def level(loss: float) -> int:
    """How surprising a loss is, from 0; what is no number surprises most."""
    if not math.isfinite(loss):
        return len(SURPRISE_LEVELS)
    return sum(loss >= limit for limit in SURPRISE_LEVELS)


def legend() -> Content:
    """What the colours mean, as the probability of the token that came."""
    ends = [f">{math.exp(-limit):.0%}" for limit in SURPRISE_LEVELS]
    last = f"<{math.exp(-SURPRISE_LEVELS[-1]):.0%}"
    words = zip([*ends, last], SURPRISE_STYLES, strict=True)
    return Content(" ").join(
        [Content("p"), *(Content.styled(f" {word} ", style) for word, style in words)]
    )


def log_text(feed: Feed) -> Content:
    """The events in order, and what the training printed if it came to grief."""
    events = [event for event in feed.events if not repeated(event)]
    lines = [event_line(event) for event in events[-LOG_LINES:]]
    if feed.state in ("interrupted", "diverged"):
        lines += printed(feed)
    return Content("\n").join(lines) if lines else Content(t("log.none"))


def repeated(event: Record) -> bool:
    """Whether an event only says that what the next or the last one tells has been asked for."""
    asked_for = event.get("cmd") in ("pause", "resume", "save", "sample", "eco")
    return event.get("kind") == "ack" and event.get("ok") is True and asked_for


def event_line(event: Record) -> Content:
    """An event as a line: time, and what happened."""
    moment = event.get("time")
    plain = isinstance(moment, int | float) and 0 <= moment < 1e11
    clock = time.strftime("%H:%M:%S", time.localtime(moment)) if plain else "--:--:--"
    bad = event.get("kind") in ("error", "warning") or event.get("ok") is False
    style = "$text-error" if bad else ""
    return Content.styled(one_line(f"{clock} {sentence(event)}").rstrip(), style)


def sentence(event: Record) -> str:
    """An event in words; one of an unknown kind by its values."""
    kind = str(event.get("kind"))
    if kind == "ack":
        return answer_sentence(event)
    turns = [f".{turn}" for turn in TURNS if event.get(turn) is True]
    turns += [f".{event.get('reason')}", ""]
    words = next((key for turn in turns if known(key := f"event.{kind}{turn}")), None)
    if words is None:
        return f"{kind} {event_values(event)}"
    return t(words, **{place: event.get(place, "…") for place in PLACES})


def answer_sentence(ack: Record) -> str:
    """What a trainer answers to a command; why it refuses is told in its own words."""
    words = f"event.ack.{ack.get('cmd')}{'.on' if ack.get('on') is True else ''}"
    if ack.get("ok") is False:
        return t("event.ack.refused", message=ack.get("message"))
    if "step" not in ack or not known(words):
        return str(ack.get("message") or ack.get("cmd"))
    return t(words, step=ack["step"])


def event_values(event: Record) -> str:
    """The values of an event that a reader wants."""
    if isinstance(event.get("message"), str):
        return str(event["message"])
    pairs = [(key, value) for key, value in event.items() if key not in DULL]
    return "  ".join(f"{key}={value_text(value)}" for key, value in pairs)


def value_text(value: object) -> str:
    """A value in few characters."""
    if isinstance(value, float):
        return f"{value:.4g}"
    text = shown(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def printed(feed: Feed) -> list[Content]:
    """The end of what the training process printed."""
    try:
        with feed.run.log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(file.tell() - 8000, 0))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    lines = text.replace("\r", "\n").rstrip().split("\n")[-30:]
    return [Content.styled(visible(line), "$text-muted") for line in lines]
