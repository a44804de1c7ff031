"""`mlx-gpt completion`, asked by the shells themselves."""

import json
import os
import pty
import re
import select
import shutil
import subprocess
from pathlib import Path

import pytest

from mlx_gpt.cli import COMMANDS, main
from mlx_gpt.config import all_keys, preset_names
from tui.cli import COMMANDS as APP

# Runs in bash: one answer a line for every line of words, the last of which is at the cursor.
ASK_BASH = """
source "$1"
shift
for line; do
  IFS=$'\\t' read -ra COMP_WORDS <<< "$line."
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
  COMP_WORDS[COMP_CWORD]=${COMP_WORDS[COMP_CWORD]%.}
  _mlx_gpt
  IFS=$'\\t' eval 'echo "${COMPREPLY[*]}"'
done
"""
ASK_FISH = """
source $argv[1]
for line in $argv[2..-1]
    echo (complete -C $line | string replace -r '\\t.*' '' | string join \\t)
end
"""
BEGIN = {
    "bash": 'PS1=; source {script}; bind -x \'"\\C-t": printf "<%s>" "$READLINE_LINE"\'; ',
    "zsh": "PS1=; autoload -U compinit; compinit -u -D; source {script}; "
    'show() {{ print -rn -- "<$BUFFER>" }}; zle -N show; bindkey "^T" show; ',
}
PLAIN = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The three scripts, as the installed command prints them, beside two runs and a text."""
    folder = tmp_path_factory.mktemp("shell")
    for name, file in (("alpha", "config.toml"), ("beta", "config.json"), ("be $(x)", "lock")):
        (folder / "runs" / name).mkdir(parents=True)
        (folder / "runs" / name / file).touch()
    (folder / "runs" / "be $(x)" / "config.toml").touch()
    (folder / "my book.txt").touch()
    paths = {}
    for shell in ("bash", "zsh", "fish"):
        paths[shell] = folder / f"script.{shell}"
        with pytest.MonkeyPatch.context() as patch, paths[shell].open("w") as file:
            patch.setattr("sys.stdout", file)
            assert main(["completion", shell], extra=APP) == 0
    return paths


def shell(name: str) -> str:
    """The shell on this machine; skips where there is none."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"no {name} on this machine")
    return path


def answers(name: str, script: Path, ask: str, lines: list[str]) -> list[list[str]]:
    """What a shell offers for each line."""
    options = [script] if name == "fish" else ["ask", script]
    done = subprocess.run(
        [shell(name), "-c", ask, *options, *lines],
        cwd=script.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return [line.split("\t") if line else [] for line in done.stdout.split("\n")[:-1]]


def offers(script: Path, line: str) -> list[str]:
    """What bash offers for a line, cut where readline cuts it."""
    words = line.replace("=", " = ").rstrip(" " if "=" in line else "").split(" ")
    return answers("bash", script, ASK_BASH, ["\t".join(words)])[0]


def typed(name: str, script: Path, lines: list[str]) -> list[str]:
    """What stands on the line of an interactive shell after Tab, for each line."""
    path = shell(name)
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [path, *PLAIN[name]],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=script.parent,
        env={"PATH": os.environ["PATH"], "TERM": "dumb", "LC_ALL": "C.UTF-8"},
        start_new_session=True,
    )
    os.close(terminal)
    try:
        begin = BEGIN[name].format(script=script.name) + "printf '<%s>' ready\n"
        os.write(controller, begin.encode())
        until(controller, "<(ready)>")
        return [typed_line(controller, line) for line in lines]
    finally:
        process.kill()
        process.wait()
        os.close(controller)


def typed_line(controller: int, line: str) -> str:
    """Wipe the line, type another and Tab, and ask for it."""
    os.write(controller, b"\x15" + f"mlx-gpt {line}\t\x14".encode())
    return until(controller, "<mlx-gpt ([^>]*)>")


def until(controller: int, pattern: str) -> str:
    """The part of what the terminal shows that a pattern asks for, as soon as it is there."""
    shown = ""
    while not (found := re.search(pattern, shown)):
        assert select.select([controller], [], [], 20)[0], shown
        shown += os.read(controller, 10_000).decode(errors="replace")
    return found[1]


def test_bash_offers_every_command_and_that_of_the_app(scripts: dict[str, Path]) -> None:
    assert offers(scripts["bash"], "mlx-gpt ") == [*COMMANDS, "tui"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tra", ["train", "trace"]),
        ("--lang ", ["en", "es"]),
        ("--lang es tu", ["tui"]),
        ("train --cur", ["--curve"]),
        ("train --curve ", ["keep", "stretch"]),
        ("train --curve keep --ste", ["--steps"]),
        ("train --steps ", []),
        ("train --device=g", ["gpu"]),
        ("train --resume b", ["be\\ \\$\\(x\\)", "beta"]),
        ("train my", ["my\\ book.txt"]),
        ("train st", ["stories"]),
        ("train model.posit", ["model.position="]),
        ("train model.position=", ["rope", "learned", "none"]),
        ("train model.causal=f", ["false"]),
        ("train model.position=rope train.sched", ["train.schedule="]),
        ("params stories data.lang", ["data.language="]),
        ("ctl ", ["alpha", "be\\ \\$\\(x\\)", "beta"]),
        ("ctl alpha s", ["stop", "save", "sample", "snapshot"]),
        ("ctl alpha ec", ["eco"]),
        ("ctl alpha eco o", ["on", "off"]),
        ("train --ec", ["--eco"]),
        ("ctl --timeout 3 alpha pa", ["pause"]),
        ("runs show al", ["alpha"]),
        ("tokenizer ", ["train", "show", "encode", "decode"]),
        ("tokenizer train --voc", ["--vocab-size"]),
        ("completion ", ["bash", "zsh", "fish"]),
        ("xyzzy ", []),
    ],
)
def test_bash_offers_what_fits_the_place(
    scripts: dict[str, Path], line: str, words: list[str]
) -> None:
    assert offers(scripts["bash"], f"mlx-gpt {line}") == words


def test_bash_knows_every_option_preset_and_setting(scripts: dict[str, Path]) -> None:
    script = scripts["bash"]
    for name in COMMANDS:
        assert {"--json", "--seed", "--device", "--lang"} <= set(
            offers(script, f"mlx-gpt {name} -")
        )
    offered = offers(script, "mlx-gpt train ")
    assert set(preset_names()) <= set(offered)
    assert {f"{key}=" for key in all_keys()} <= set(offered)


def test_the_names_of_runs_are_never_carried_out(scripts: dict[str, Path]) -> None:
    folder = scripts["bash"].parent
    (folder / "runs" / "$(touch spoilt)").mkdir(exist_ok=True)
    (folder / "runs" / "$(touch spoilt)" / "config.toml").touch()
    assert "\\$\\(touch\\ spoilt\\)" in offers(scripts["bash"], "mlx-gpt ctl ")
    assert not (folder / "spoilt").exists()
    shutil.rmtree(folder / "runs" / "$(touch spoilt)")


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_tab_completes_in_a_living_shell(scripts: dict[str, Path], name: str) -> None:
    wanted = {
        "trac": "trace ",
        "train --cur": "train --curve ",
        "train --curve k": "train --curve keep ",
        "train model.posi": "train model.position=",
        "train model.position=ro": "train model.position=rope ",
        "train my": "train my\\ book.txt ",
        "ctl al": "ctl alpha ",
        "train my\\ b": "train my\\ book.txt ",
        "ctl be\\ ": "ctl be\\ \\$\\(x\\) ",
        "ctl alpha pa": "ctl alpha pause ",
        "runs show al": "runs show alpha ",
        "tu": "tui ",
    }
    assert typed(name, scripts[name], list(wanted)) == list(wanted.values())


def test_fish_offers_what_fits_the_place(scripts: dict[str, Path]) -> None:
    wanted: dict[str, list[str]] = {
        "mlx-gpt tra": ["trace", "train"],
        "mlx-gpt train --cur": ["--curve"],
        "mlx-gpt train --curve ": ["keep", "stretch"],
        "mlx-gpt train --steps ": [],
        "mlx-gpt train model.posi": ["model.position="],
        "mlx-gpt train model.position=ro": ["model.position=rope"],
        "mlx-gpt ctl ": ["alpha", "be $(x)", "beta"],
        "mlx-gpt ctl --timeout 3 alpha s": ["sample", "save", "snapshot", "stop"],
        "mlx-gpt runs show al": ["alpha"],
        "mlx-gpt tokenizer tr": ["train"],
        "mlx-gpt --lang es tu": ["tui"],
    }
    assert answers("fish", scripts["fish"], ASK_FISH, list(wanted)) == list(wanted.values())


def test_the_script_as_json_and_an_unknown_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "fish", "--json", "--lang", "es"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["shell"] == "fish"
    assert "entrena un GPT con tu texto" in told["script"]
    assert main(["completion", "tcsh"]) == 2
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
