"""The run folder: records, the lock, states, names and control."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from mlx_gpt.errors import UserError
from mlx_gpt.run import (
    Inbox,
    Run,
    Tail,
    acknowledged,
    append,
    find_run,
    hold_lock,
    holder,
    is_alive,
    last,
    list_runs,
    new_run_name,
    pointed_step,
    read,
    read_metrics,
    remove,
    replies,
    saved_steps,
    send,
    state,
    summary,
)

TRAINER = """
import sys
from pathlib import Path
from mlx_gpt.run import Inbox, Run, append, hold_lock
run = Run(Path(sys.argv[1]))
lock, inbox = hold_lock(run), Inbox(run)
append(run.events, {"kind": "started", "steps": 9})
print("held", flush=True)
answered = False
while not answered:
    for command in inbox.poll():
        append(run.events, {"kind": "ack", "id": command["id"], "cmd": command["cmd"], "ok": True})
        append(run.events, {"kind": "sample_end", "id": command["id"], "text": "tail"})
        answered = True
"""


@contextlib.contextmanager
def living_trainer(run: Run) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the run, answers one command and ends."""
    trainer = subprocess.Popen(
        [sys.executable, "-c", TRAINER, str(run.path)], stdout=subprocess.PIPE, text=True
    )
    with trainer:
        assert trainer.stdout
        assert trainer.stdout.readline() == "held\n"
        try:
            yield trainer
        finally:
            trainer.kill()


def made_run(path: Path, *events: Mapping[str, object]) -> Run:
    """A run folder with a configuration and these events."""
    run = Run(path)
    path.mkdir(parents=True)
    run.config_toml.write_text("[train]\nsteps = 100\n")
    run.events.touch()
    for event in events:
        append(run.events, event)
    return run


def test_a_record_is_one_line_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    records = [{"kind": "a", "text": "ñ\n\u2028🙂\x00"}, {"kind": "b", "n": [1, 2.5, None]}]
    for record in records:
        append(path, record)
    assert path.read_bytes().count(b"\n") == 2
    assert read(path) == records


def test_records_are_strict_json_whatever_they_hold(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    append(path, {"loss": float("nan"), "deep": [{"x": float("inf")}], "text": "\ud800"})

    def refuse(word: str) -> None:
        raise AssertionError(word)

    record = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    assert record == {"loss": None, "deep": [{"x": None}], "text": "\ud800"}


def test_writers_in_two_processes_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    code = (
        "import sys; from pathlib import Path; from mlx_gpt.run import append\n"
        "for i in range(300): append(Path(sys.argv[1]), {'who': sys.argv[2], 'x': 'y' * 5000})"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, path, who]) for who in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert len(read(path)) == 600


def test_a_record_after_a_half_line_of_a_dead_writer_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"kind": "a"}\n{"kind": "b", "te')
    append(path, {"kind": "c"})
    assert [record["kind"] for record in read(path)] == ["a", "c"]


def test_a_record_that_cannot_be_written_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"gone/events\.jsonl"):
        append(tmp_path / "gone" / "events.jsonl", {"kind": "a"})


def test_a_tail_keeps_an_unfinished_line_until_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    tail = Tail(path)
    assert tail.read() == []
    whole = '{"step": 1}\n{"step": 2, "text": "ñ"}\n'.encode()
    seen = []
    for i in range(len(whole)):
        with path.open("ab") as file:
            file.write(whole[i : i + 1])
        seen += tail.read()
    assert seen == [{"step": 1}, {"step": 2, "text": "ñ"}]
    assert tail.read() == []


def test_a_tail_skips_broken_lines(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'\n{"a": 1}\n{"a": 2\n[3]\n\xff\xfe\n"x"\n{"a": NaN}\n{"a": 4}\n')
    assert Tail(path).read() == [{"a": 1}, {"a": None}, {"a": 4}]


def test_a_tail_starts_again_when_the_file_shrank_or_was_replaced(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"a": 1}\n{"a": 2}\n{"a"')
    tail = Tail(path)
    assert len(tail.read()) == 2
    path.write_text('{"a": 3}\n')
    assert tail.read() == [{"a": 3}]
    other = tmp_path / "other"
    other.write_text('{"a": 4}\n{"a": 5}\n')
    other.replace(path)
    assert tail.read() == [{"a": 4}, {"a": 5}]


def test_a_tail_from_the_end_sees_the_line_that_is_being_written(tmp_path: Path) -> None:
    path = tmp_path / "control.jsonl"
    path.write_text('{"a": 1}\n{"a": ')
    tail = Tail(path, from_end=True)
    with path.open("a") as file:
        file.write("2}\n")
    assert tail.read() == [{"a": 2}]


def test_the_last_record_of_a_step_wins_in_step_order(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    for step, loss in [(1, 3.0), (2, 2.0), (3, 1.0), (2, 2.5)]:
        append(run.metrics, {"kind": "step", "step": step, "loss": loss})
    append(run.metrics, {"kind": "eval", "step": 2, "val_loss": 9.0})
    found = [(record["kind"], record["step"], record.get("loss")) for record in read_metrics(run)]
    assert found == [("step", 1, 3.0), ("step", 2, 2.5), ("eval", 2, None), ("step", 3, 1.0)]


def test_a_hundred_thousand_steps_are_read_in_less_than_a_second(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    line = (
        '{"kind": "step", "step": %d, "loss": 2.3456789, "lr": 0.001, "grad_norm": 0.51234, '
        '"tokens_per_second": 12345.6, "time": 1700000000.123, "active_memory": 123456789, '
        '"peak_memory": 234567890}'
    )
    run.metrics.write_text("\n".join(line % step for step in range(100_000)) + "\n")
    start = time.process_time()
    assert len(read_metrics(run)) == 100_000
    assert time.process_time() - start < 1
    start = time.process_time()
    assert summary(run).step == 99_999
    assert time.process_time() - start < 0.2


def test_a_lock_is_held_by_a_living_process_and_free_after_its_death(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    assert not is_alive(run)
    with living_trainer(run) as trainer:
        assert is_alive(run)
        owner = holder(run)
        assert owner
        assert owner.pid == trainer.pid
        with pytest.raises(UserError, match=f"process {trainer.pid} .* ctl run stop"):
            hold_lock(run)
        assert state(run) == "running"
    assert not is_alive(run)
    assert state(run) == "interrupted"
    with hold_lock(run):
        assert is_alive(run)
    assert not is_alive(run)


def test_looking_whether_a_run_lives_does_not_keep_a_trainer_out(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    run.lock.touch()
    code = (
        "import sys; from pathlib import Path; from mlx_gpt.run import Run, is_alive\n"
        "run = Run(Path(sys.argv[1])); print('on', flush=True)\nwhile True: is_alive(run)"
    )
    watcher = subprocess.Popen([sys.executable, "-c", code, run.path], stdout=subprocess.PIPE)
    with watcher:
        assert watcher.stdout
        assert watcher.stdout.readline() == b"on\n"
        try:
            for _ in range(50):
                hold_lock(run).release()
        finally:
            watcher.kill()


@pytest.mark.parametrize(
    ("events", "dead", "alive"),
    [
        ([], "interrupted", "running"),
        (["started"], "interrupted", "running"),
        (["started", "paused"], "interrupted", "paused"),
        (["started", "paused", "resumed"], "interrupted", "running"),
        (["started", "paused", "started", "warning"], "interrupted", "running"),
        (["started", "done"], "finished", "running"),
        (["started", "stopped"], "stopped", "running"),
        (["started", "diverged"], "diverged", "running"),
        (["started", "done", "started"], "interrupted", "running"),
    ],
)
def test_the_state_follows_from_lock_and_events(
    tmp_path: Path, events: list[str], dead: str, alive: str
) -> None:
    reasons = ("done", "stopped", "diverged")
    run = made_run(
        tmp_path / "run",
        *({"kind": "finished", "reason": e} if e in reasons else {"kind": e} for e in events),
    )
    assert state(run) == dead
    with hold_lock(run):
        assert state(run) == alive


def test_a_run_is_found_by_name_and_by_path(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    made_run(root / "stories")
    made_run(root / "tales")
    (root / "no_run").mkdir()
    assert [run.name for run in list_runs(root)] == ["stories", "tales"]
    assert find_run("stories", root).path == root / "stories"
    assert find_run(str(root / "tales")).name == "tales"
    assert list_runs(tmp_path / "nowhere") == []


def test_a_run_that_is_not_there_brings_the_nearest_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="no run x: runs holds no runs; start one with"):
        find_run("x")
    made_run(tmp_path / "runs" / "stories")
    with pytest.raises(UserError, match=r"did you mean stories\? \(there are stories\)"):
        find_run("storis")
    with pytest.raises(UserError, match="no run"):
        find_run("")
    with pytest.raises(UserError, match="is a folder but no run"):
        find_run(str(tmp_path))


def test_new_names_count_up_and_odd_names_are_refused(tmp_path: Path) -> None:
    assert new_run_name(tmp_path, "stories") == "stories"
    (tmp_path / "stories").mkdir()
    assert new_run_name(tmp_path, "stories") == "stories-2"
    (tmp_path / "stories-2").touch()
    assert new_run_name(tmp_path, "stories") == "stories-3"
    assert new_run_name(tmp_path, "corazón 1") == "corazón 1"
    for name in ("", "  ", "a/b", "..", ".hidden", "-x", "a\n", " a", "a\\b", "a\x00b", "a" * 201):
        with pytest.raises(UserError, match="run name"):
            new_run_name(tmp_path, name)


def test_a_run_is_removed_unless_it_lives(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    with hold_lock(run), pytest.raises(UserError, match="in use"):
        remove(run)
    assert run.config_toml.exists()
    remove(run)
    assert not run.path.exists()


def test_old_commands_are_not_replayed(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    send(run, "stop")
    with run.control.open("ab") as file:
        file.write(b'{"id": "half", "cmd": "st')
    inbox = Inbox(run)
    assert inbox.poll() == []
    first, second = send(run, "pause"), send(run, "sample", prompt="¿ñ?", max_tokens=3)
    commands = inbox.poll()
    assert [(command["id"], command["cmd"]) for command in commands] == [
        (first, "pause"),
        (second, "sample"),
    ]
    assert (commands[1]["prompt"], commands[1]["max_tokens"]) == ("¿ñ?", 3)
    assert inbox.poll() == []


def test_an_inbox_opened_before_the_first_command_sees_it(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    inbox = Inbox(run)
    send(run, "save")
    assert [command["cmd"] for command in inbox.poll()] == ["save"]


def test_a_command_is_acknowledged_under_its_id(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", {"kind": "ack", "id": "another", "ok": True})
    with living_trainer(run):
        command_id = send(run, "save")
        ack = acknowledged(run, command_id, timeout=10)
        assert ack
        assert (ack["cmd"], ack["ok"]) == ("save", True)
        kinds = [answer["kind"] for answer in replies(run, command_id, timeout=10)]
        assert kinds == ["ack", "sample_end"]


def test_nobody_answers_for_a_dead_run(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    start = time.monotonic()
    assert acknowledged(run, send(run, "save"), timeout=60) is None
    assert time.monotonic() - start < 5
    with hold_lock(run):
        assert acknowledged(run, send(run, "save"), timeout=0.05) is None


def test_checkpoints_are_listed_by_name_alone(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    assert (saved_steps(run), pointed_step(run, "latest")) == ([], None)
    for name in ("step_000500", "step_1000000", ".step_000600.tmp", "step_7", "other"):
        (run.checkpoints / name).mkdir(parents=True)
    (run.checkpoints / "best").write_text("step_000500\n")
    (run.checkpoints / "latest").write_bytes(b"\xff")
    assert saved_steps(run) == [500, 1_000_000]
    assert (pointed_step(run, "best"), pointed_step(run, "latest")) == (500, None)


def test_a_summary_says_where_a_run_stands(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", {"kind": "started"})
    fresh = summary(run)
    assert (fresh.step, fresh.steps, fresh.val_loss, fresh.state) == (0, 100, None, "interrupted")
    append(run.events, {"kind": "started", "steps": 200})
    for step, val_loss in [(1, 2.0), (2, 1.0), (3, 1.5)]:
        append(run.metrics, {"kind": "step", "step": step, "loss": 3.0, "tokens_per_second": 9.0})
        append(run.metrics, {"kind": "eval", "step": step, "val_loss": val_loss})
    found = summary(run)
    assert (found.name, found.step, found.steps) == ("run", 3, 200)
    assert (found.loss, found.val_loss, found.best_val_loss) == (3.0, 1.5, 1.0)
    assert found.tokens_per_second == 9.0
    assert found.updated > 1e9


def test_the_newest_event_of_a_kind_is_found_from_the_end(tmp_path: Path) -> None:
    run = made_run(
        tmp_path / "run",
        {"kind": "paused", "n": 1},
        {"kind": "paused", "n": 2},
        {"kind": "warning", "text": "paused"},
    )
    assert last(run.events, "paused", "resumed") == {"kind": "paused", "n": 2}
    assert last(run.events, "finished") is None


def test_reading_runs_needs_no_mlx() -> None:
    code = "import sys, mlx_gpt.run; assert not {'mlx', 'numpy'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
