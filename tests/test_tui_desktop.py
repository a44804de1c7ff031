"""What the desktop is asked for, with programs of our own in the place of its."""

import time
from pathlib import Path

import pytest

from tui.desktop import keep_awake, waker


def put_program(folder: Path, name: str) -> None:
    """A program of that name which writes down how it was called."""
    path = folder / name
    path.write_text(f'#!/bin/sh\necho "$0 $@" > {folder}/called\n')
    path.chmod(0o755)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the path."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("programs", "called"),
    [
        (("caffeinate", "systemd-inhibit", "tail"), "{0}/caffeinate -i -w 42"),
        (
            ("systemd-inhibit", "tail"),
            "{0}/systemd-inhibit --what=idle:sleep --who=mlx-gpt --why=a training runs "
            "{0}/tail --pid=42 -f /dev/null",
        ),
    ],
)
def test_the_machine_is_kept_awake_by_what_there_is(
    folder: Path, programs: tuple[str, ...], called: str
):
    for name in programs:
        put_program(folder, name)
    assert keep_awake(42)
    until = time.monotonic() + 10
    while not (folder / "called").exists() or not (folder / "called").read_text():
        assert time.monotonic() < until
        time.sleep(0.01)
    assert (folder / "called").read_text().strip() == called.format(folder)


def test_without_a_program_the_machine_may_sleep(folder: Path):
    put_program(folder, "systemd-inhibit")
    assert waker(42) is None
    assert not keep_awake(42)
