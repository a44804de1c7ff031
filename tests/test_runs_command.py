"""`mlx-gpt runs` and `mlx-gpt ctl`, as they are called."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlx_gpt.cli import main
from mlx_gpt.run import Run, append, hold_lock, read

TRAINER = """
import sys, time
from pathlib import Path
from mlx_gpt.run import Inbox, Run, append, hold_lock
run = Run(Path(sys.argv[1]))
lock, inbox = hold_lock(run), Inbox(run)
print("held", flush=True)
while True:
    for command in inbox.poll():
        name, ok = command["cmd"], command["cmd"] != "eval"
        message = f"at step 7{command.get('on', '')}" if ok else "no validation text"
        if name == "stop":
            sys.exit()
        ack = {"kind": "ack", "id": command["id"], "cmd": name, "ok": ok, "message": message}
        append(run.events, ack)
        if name == "sample":
            text = " upon\\x1b[31m a time"
            append(run.events, {"kind": "sample_end", "id": command["id"], "text": text})
    time.sleep(0.005)
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with two runs: one finished, one interrupted."""
    monkeypatch.chdir(tmp_path)
    for number, (name, lr) in enumerate([("stories", 0.001), ("stories-2", 0.002)]):
        run = Run(tmp_path / "runs" / name)
        run.path.mkdir(parents=True)
        run.config_toml.write_text(f"[model]\nn_layers = 2\n\n[train]\nlr = {lr}\nsteps = 40\n")
        run.data_json.write_text('{"documents": 12, "notes": ["CRLF became LF"]}')
        append(run.events, {"kind": "started", "time": 1.7e9})
        for step in range(1, 41):
            append(run.metrics, {"kind": "step", "step": step, "loss": 4.0 + number})
            if step % 2 == 0:
                val_loss = 3.0 - step / 100 + number
                append(run.metrics, {"kind": "eval", "step": step, "val_loss": val_loss})
        (run.checkpoints / "step_000040").mkdir(parents=True)
        (run.checkpoints / "best").write_text("step_000040\n")
        os.utime(run.metrics, (2e9 + number, 2e9 + number))
    append(Run(tmp_path / "runs" / "stories").events, {"kind": "finished", "reason": "done"})
    return tmp_path / "runs"


@contextlib.contextmanager
def living_trainer(path: Path) -> Iterator[None]:
    """Another process that holds the run and answers every command but stop."""
    trainer = subprocess.Popen([sys.executable, "-c", TRAINER, path], stdout=subprocess.PIPE)
    with trainer:
        try:
            assert trainer.stdout
            assert trainer.stdout.readline() == b"held\n"
            yield
        finally:
            trainer.kill()


@pytest.fixture
def living(root: Path) -> Iterator[Path]:
    with living_trainer(root / "stories-2"):
        yield root / "stories-2"


Captured = pytest.CaptureFixture[str]


@pytest.mark.usefixtures("root")
def test_the_list_shows_every_run_the_latest_on_top(capsys: Captured) -> None:
    assert main(["runs"]) == 0
    heading, first, second = capsys.readouterr().out.splitlines()
    assert heading.split()[:3] == ["name", "state", "step"]
    assert first.split()[:5] == ["stories-2", "interrupted", "40/40", "3.6000", "3.6000"]
    assert second.split()[:5] == ["stories", "finished", "40/40", "2.6000", "2.6000"]
    assert main(["runs", "--lang", "es"]) == 0
    assert "terminada" in capsys.readouterr().out


@pytest.mark.usefixtures("root")
def test_the_list_as_json_has_the_promised_keys(capsys: Captured) -> None:
    assert main(["runs", "list", "--json"]) == 0
    runs = json.loads(capsys.readouterr().out)
    promised = {"name", "path", "state", "step", "val_loss"}
    assert promised <= set(runs[0])
    assert [item["state"] for item in runs] == ["interrupted", "finished"]


def test_an_empty_folder_says_how_to_begin(tmp_path: Path, capsys: Captured) -> None:
    assert main(["runs", "--out", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert main(["runs", "--out", str(tmp_path)]) == 0
    assert "mlx-gpt train" in capsys.readouterr().err


@pytest.mark.usefixtures("root")
def test_show_tells_all_about_a_run(capsys: Captured) -> None:
    assert main(["runs", "show", "stories"]) == 0
    shown = capsys.readouterr().out
    for words in ("n_layers=2", "lr=0.001", "documents=12", "40 (best)", 'reason="done"'):
        assert words in shown
    assert main(["runs", "show", "runs/stories", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["config"]["train"]["lr"] == 0.001
    assert (record["checkpoints"], record["best"], record["latest"]) == ([40], 40, None)
    assert [event["kind"] for event in record["events"]] == ["started", "finished"]


@pytest.mark.usefixtures("root")
def test_compare_shows_what_differs_and_both_losses(capsys: Captured) -> None:
    assert main(["runs", "compare", "stories", "stories-2"]) == 0
    settings, losses = capsys.readouterr().out.split("\n\n")
    assert [line.split() for line in settings.splitlines()[1:]] == [["train.lr", "0.001", "0.002"]]
    rows = [line.split() for line in losses.splitlines()[1:]]
    assert len(rows) == 16
    assert rows[-1] == ["40", "4.0000", "5.0000", "2.6000", "3.6000"]
    assert main(["runs", "compare", "stories", "stories-2", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["config"] == {"train.lr": [0.001, 0.002]}
    assert len(record["losses"]) == 20


@pytest.mark.usefixtures("root")
def test_show_as_json_tells_all_that_is_known(capsys: Captured) -> None:
    assert main(["runs", "show", "stories", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    glance = {"name", "path", "state", "step", "steps", "loss", "val_loss", "best_val_loss"}
    told = {"config", "data", "checkpoints", "latest", "best", "events", "breaks"}
    assert set(record) == glance | told | {"tokens_per_second", "updated"}
    assert (record["state"], record["step"], record["steps"]) == ("finished", 40, 40)
    assert record["data"] == {"documents": 12, "notes": ["CRLF became LF"]}


def test_export_joins_steps_and_evaluations(root: Path, capsys: Captured) -> None:
    run = Run(root / "stories")
    append(run.metrics, {"kind": "step", "step": 40, "loss": 1 / 3, "lr": None})
    append(run.metrics, {"kind": "eval", "step": 0, "val_loss": 5.5, "best": True})
    assert main(["runs", "export", "stories"]) == 0
    out = capsys.readouterr().out
    heading, first, *lines = out.splitlines()
    assert heading == "step,loss,lr,val_loss,best"
    assert first == "0,,,5.5,true"
    assert lines[:2] == ["1,4.0,,,", "2,4.0,,2.98,"]
    assert lines[-1] == f"40,{1 / 3!r},,2.6,"
    assert len(lines) == 40
    assert main(["runs", "export", "stories", "--csv", "loss.csv"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "41 steps in loss.csv.\n")
    assert Path("loss.csv").read_text() == out
    assert main(["runs", "export", "stories", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[2] == {"step": 2, "loss": 4.0, "lr": None, "val_loss": 2.98, "best": None}


def test_a_run_without_metrics_exports_a_heading(root: Path, capsys: Captured) -> None:
    (root / "stories" / "metrics.jsonl").unlink()
    assert main(["runs", "export", "stories"]) == 0
    assert capsys.readouterr().out == "step\n"


def test_rm_refuses_without_a_yes_and_while_the_run_lives(root: Path, capsys: Captured) -> None:
    with hold_lock(Run(root / "stories")):
        assert main(["runs", "rm", "stories-2", "stories", "--yes"]) == 2
        assert "stop it first" in capsys.readouterr().err
    assert main(["runs", "rm", "stories"]) == 2
    assert "--yes" in capsys.readouterr().err
    assert {path.name for path in root.iterdir()} == {"stories", "stories-2"}
    assert main(["runs", "rm", "stories", "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"removed": ["runs/stories"]}
    assert [path.name for path in root.iterdir()] == ["stories-2"]


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("runs show", "takes one run, not 0"),
        ("runs compare stories", "takes two runs, not 1"),
        ("runs list stories", "takes no run, not 1"),
        ("runs show storys", "did you mean stories?"),
        ("runs export", "takes one run, not 0"),
        ("runs export stories --csv a.csv", "choose one"),
        ("runs show stories --csv a.csv", "goes with runs export"),
        ("ctl stories pause", "not being trained (it is finished), so nobody answers pause; go on"),
        (
            "ctl stories eco on",
            "nobody answers eco; go on with mlx-gpt train --resume runs/stories",
        ),
        ("ctl stories-3 pause", "no run stories-3"),
        ("ctl stories dance", "invalid choice"),
        ("ctl stories pause Once", "takes no prompt"),
        ("ctl stories snapshot on", "snapshot takes no prompt, but 'on' was given"),
        ("ctl stories eco", "eco takes on or off, but nothing was given"),
        ("ctl stories eco maybe", "eco takes on or off, but 'maybe' was given"),
    ],
)
def test_a_wrong_line_is_refused_in_a_sentence(capsys: Captured, line: str, words: str) -> None:
    assert main([*line.split(), "--json"]) == 2
    captured = capsys.readouterr()
    assert words in json.loads(captured.out)["error"]
    assert words in captured.err


def test_ctl_says_what_happened(living: Path, capsys: Captured) -> None:
    assert main(["ctl", "stories-2", "pause"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "stories-2 is paused: at step 7\n")
    assert main(["ctl", str(living), "save", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cmd"] == "save"
    for words, said in (
        (["eco", "on"], "rests as long as it works: at step 7True"),
        (["eco", "off"], "rests no longer: at step 7False"),
        (["snapshot"], "has set its weights apart: at step 7"),
    ):
        assert main(["ctl", "stories-2", *words]) == 0
        assert capsys.readouterr().err == f"stories-2 {said}\n"
    assert main(["ctl", "stories-2", "eval"]) == 2
    assert "refused eval: no validation text" in capsys.readouterr().err


def test_ctl_sample_prints_the_text_with_its_controls_visible(
    living: Path, capsys: Captured
) -> None:
    line = ["ctl", "stories-2", "sample", "Once", "--max-tokens", "5", "--seed", "3"]
    assert main(line) == 0
    assert capsys.readouterr().out == "Once upon␛[31m a time\n"
    sent = read(Run(living).control)[-1]
    assert {key: sent[key] for key in ("cmd", "prompt", "max_tokens", "seed")} == {
        "cmd": "sample",
        "prompt": "Once",
        "max_tokens": 5,
        "seed": 3,
    }
    assert main([*line, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["text"], record["ok"]) == (" upon\x1b[31m a time", True)


@pytest.mark.usefixtures("living")
def test_ctl_notices_that_the_training_ended_before_it_answered(capsys: Captured) -> None:
    assert main(["ctl", "stories-2", "stop"]) == 2
    assert "ended before it answered stop" in capsys.readouterr().err


def test_ctl_does_not_wait_for_ever(root: Path, capsys: Captured) -> None:
    with hold_lock(Run(root / "stories")):
        assert main(["ctl", "stories", "save", "--timeout", "0.05"]) == 2
    assert "did not answer save within 0.05 s" in capsys.readouterr().err


def test_a_run_that_is_broken_on_purpose_is_marked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    for name, broken in (("sound", "true"), ("loose", "false")):
        folder = tmp_path / name
        (folder / "checkpoints").mkdir(parents=True)
        (folder / "config.toml").write_text(f"[model]\ncausal = {broken}\n", encoding="utf-8")
    assert main(["runs", "--out", str(tmp_path)]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "broken on purpose" in lines["name"]
    assert lines["loose"].endswith("model.causal=false")
    assert "causal" not in lines["sound"]
    assert main(["runs", "--out", str(tmp_path), "--json"]) == 0
    breaks = {item["name"]: item["breaks"] for item in json.loads(capsys.readouterr().out)}
    assert breaks == {"sound": [], "loose": ["model.causal=false"]}


def test_a_run_that_cannot_be_read_does_not_hide_the_others(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics = root / "stories" / "metrics.jsonl"
    metrics.unlink()
    metrics.mkdir()
    assert main(["runs"]) == 0
    told = capsys.readouterr()
    assert "stories-2  interrupted" in told.out
    assert (
        f"! stories is left out; cannot read {metrics.relative_to(root.parent)}: Is a directory"
        in told.err
    )


def test_a_name_with_a_line_break_stays_on_its_line(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "stories").rename(root / "two\nlines")
    assert main(["runs"]) == 0
    assert "\ntwo⏎lines  finished" in capsys.readouterr().out


def test_a_link_to_a_run_is_not_removed_with_what_it_leads_to(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "link").symlink_to("stories")
    assert main(["runs", "rm", "link", "--yes"]) == 2
    assert "link is a link to " in capsys.readouterr().err
    assert (root / "stories" / "metrics.jsonl").exists()


@pytest.mark.parametrize("seconds", ["0", "-1", "nan"])
def test_ctl_does_not_wait_for_no_time(
    seconds: str, living: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ctl", str(living), "save", "--timeout", seconds]) == 2
    assert f"--timeout {seconds}: must be above 0 seconds" in capsys.readouterr().err
