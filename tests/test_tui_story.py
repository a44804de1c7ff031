"""What a run says in words, and the surprise map from the trainer to the screen."""

import math
from pathlib import Path

import pytest
from made_runs import made_run

from mlx_gpt.config import Config, DataConfig, ModelConfig, TrainConfig
from mlx_gpt.data import eval_batches, prepare
from mlx_gpt.language import say
from mlx_gpt.run import Run, append, read
from mlx_gpt.session import Session, lay_out
from mlx_gpt.tokenizer import ByteTokenizer
from tui.feed import Feed
from tui.story import (
    SURPRISE_LEVELS,
    at_step,
    changes,
    event_line,
    level,
    log_text,
    probe_text,
    surprise_text,
)


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(say, "language", "en")


def read_all(run: Run) -> Feed:
    feed = Feed(run)
    while feed.poll() or feed.behind:
        pass
    return feed


def test_the_trainer_maps_the_surprise_of_the_same_text_at_each_evaluation(tmp_path: Path):
    text = "año nuevo, vida nueva. " * 60
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    config = Config(
        model=ModelConfig(vocab_size=257, context_length=16, d_model=8, n_layers=1, n_heads=2),
        data=DataConfig(files=(str(tmp_path / "text.txt"),), tokenizer="bytes"),
        train=TrainConfig(steps=4, batch_size=2, eval_every=2, probe_prompts=()),
    )
    tokenizer = ByteTokenizer()
    tokens = prepare(config.data, tokenizer, 16, tmp_path / "cache")
    run = Run(tmp_path / "run")
    lay_out(run, config, tokens.facts, tokenizer)
    session = Session(run, config, tokens, tokenizer)
    list(session.train())
    maps = [record for record in read(run.samples) if record["kind"] == "surprise"]
    assert [record["step"] for record in maps] == [0, 2, 4]
    expected = tokenizer.decode(tokens.val[1:17].tolist())
    assert {"".join(record["pieces"]) for record in maps} == {expected}
    first = eval_batches(tokens.val, 16, 1, 1)
    mean = sum(maps[-1]["losses"]) / 16
    assert mean == pytest.approx(session.learner.evaluate(first), abs=1e-3)


def test_a_text_too_short_to_validate_has_no_surprise(tmp_path: Path):
    run = made_run(tmp_path, steps=0)
    run.samples.unlink()
    title, content = surprise_text(read_all(run), None)
    assert title == "surprise"
    assert "At each evaluation" in content.plain


def test_surprise_is_told_for_the_step_of_the_cursor(tmp_path: Path):
    feed = read_all(made_run(tmp_path))
    title, content = surprise_text(feed, 120.0)
    assert "step 100" in title
    assert content.plain.startswith("El zorro [b]corre\n")
    assert f"mean {5 * math.exp(-1) + 0.25:.2f}" in title


def test_levels_of_surprise_rise_with_the_loss():
    edges = [0.0, *SURPRISE_LEVELS]
    assert [level(edge) for edge in edges] == list(range(len(edges)))
    assert level(math.nan) == len(SURPRISE_LEVELS)


def test_what_changed_since_the_last_sample_is_underlined():
    content = changes("a fox ran home", "a bear ran home fast")
    assert content.plain == "a bear ran home fast"
    marked = [content.plain[span.start : span.end] for span in content.spans if span.style]
    assert [text for text in marked if text.strip()] == ["bear", "fast"]


def test_the_sample_shown_is_the_last_one_up_to_the_cursor(tmp_path: Path):
    feed = read_all(made_run(tmp_path))
    entries = feed.probes["Once"]
    assert [at_step(entries, cursor) for cursor in (None, 0.0, 49.0, 50.0, 1e9, -1.0)] == [
        4,
        0,
        0,
        1,
        4,
        -1,
    ]
    title, content = probe_text(feed, 60.0)
    assert title == "samples · step 50 (2 of 5)"
    assert "Un día│ the fox at 50 ran home" in content.plain


def test_text_from_a_model_is_not_markup_and_moves_nothing(tmp_path: Path):
    run = made_run(tmp_path)
    text = "[red]x[/red] \x1b[2J\x07 [@click=app.quit]"
    append(run.samples, {"kind": "sample", "step": 201, "prompt": "[b", "text": text})
    _, content = probe_text(read_all(run), None)
    assert "[b│[red]x[/red] ␛[2J␇ [@click=app.quit]" in content.plain


@pytest.mark.parametrize(
    ("event", "line"),
    [
        ({"kind": "warning", "time": None, "message": "hot"}, "warning: hot"),
        ({"kind": "odd", "x": 1.23456789}, "odd x=1.235"),
        ({"kind": "checkpoint", "step": 5, "path": "p"}, "saved step 5"),
        ({"kind": "checkpoint", "step": 5, "best": True}, "saved step 5, the best so far"),
        ({"kind": "ack", "ok": False, "message": "\x1bno"}, "refused: ␛no"),
        ({"kind": "ack", "ok": True, "cmd": "eval", "step": 3}, "evaluated at step 3"),
        ({"kind": "ack", "ok": True, "cmd": "eval", "message": "old"}, "old"),
        ({"kind": "ack", "ok": True, "cmd": "eco", "step": 3, "on": False}, "eco off from step 3"),
        (
            {"kind": "ack", "ok": True, "cmd": "eco", "step": 3, "on": True},
            "eco on from step 3: it rests as long as it works",
        ),
        ({"kind": "eco", "step": 3, "on": False}, "eco off from step 3"),
        (
            {"kind": "eco", "step": 3, "on": True},
            "eco on from step 3: rests as long as it works",
        ),
        ({"kind": "finished", "step": 9, "reason": "stopped"}, "stopped and saved at step 9"),
        ({"kind": "finished", "step": 9, "reason": "done"}, "all 9 steps are done"),
        (
            {"kind": "finished", "step": 9, "reason": "done", "early": True},
            "ended at step 9: validation no longer improved",
        ),
        ({"kind": "finished", "step": 9, "reason": "?"}, 'finished step=9  reason="?"'),
        (
            {"kind": "sample_end", "step": 9, "prompt": "Once", "text": " a\nb", "key": 1},
            "asked at step 9: Once│ a⏎b",
        ),
        ({"time": 1e300}, "None"),
    ],
)
def test_events_become_lines(event: dict[str, object], line: str):
    assert event_line(event).plain == f"--:--:-- {line}"


def test_the_log_does_not_say_twice_what_was_asked_and_done(tmp_path: Path):
    run = made_run(tmp_path)
    append(run.events, {"kind": "ack", "cmd": "pause", "ok": True, "step": 7})
    append(run.events, {"kind": "paused", "step": 7})
    append(run.events, {"kind": "ack", "cmd": "save", "ok": False, "message": "disk full"})
    lines = log_text(read_all(run)).plain.split("\n")
    assert [line.partition(" ")[2] for line in lines[-2:]] == [
        "paused at step 7",
        "refused: disk full",
    ]
    assert sum("7" in line.partition(" ")[2] for line in lines) == 1


def test_only_the_last_sample_that_was_asked_for_is_shown_below_the_probes(tmp_path: Path):
    run = made_run(tmp_path)
    append(run.events, {"kind": "sample_end", "id": "a", "text": " old", "step": 4})
    append(run.events, {"kind": "token", "id": "b", "text": " new"})
    _, content = probe_text(read_all(run), None)
    assert content.plain.endswith("ran home\nasked …│ new▌")
    end = {"kind": "sample_end", "id": "b", "text": " new", "step": 9, "prompt": "Why"}
    append(run.events, end)
    _, content = probe_text(read_all(run), None)
    assert content.plain.endswith("ran home\nasked at 9 Why│ new")
    assert "old" not in content.plain


def test_the_log_of_a_run_that_came_to_grief_ends_with_what_was_printed(tmp_path: Path):
    run = made_run(tmp_path, end=None)
    run.log.write_text("Traceback\n  [boom]\rlast words\n", encoding="utf-8")
    assert log_text(read_all(run)).plain.endswith("Traceback\n  [boom]\nlast words")
