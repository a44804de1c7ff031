import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlx_gpt import __version__
from mlx_gpt.cli import COMMANDS, Parser, as_refusal, main, parse

ROOT = Path(__file__).parent.parent


def mlx_gpt(
    *arguments: str, stdout: int = subprocess.PIPE, module: str = "mlx_gpt", **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | variables,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_version_is_one_line(capsys: pytest.CaptureFixture[str]):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"mlx-gpt {__version__}\n"


def test_nothing_asked_is_help_that_lists_every_command(capsys: pytest.CaptureFixture[str]):
    assert main([]) == 0
    out = capsys.readouterr().out
    assert all(f"\n  {name} " in out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_in_both_languages(
    name: str, capsys: pytest.CaptureFixture[str]
):
    for language, word in (("en", "example:"), ("es", "ejemplo:")):
        with pytest.raises(SystemExit) as ended:
            main([name, "--help", "--lang", language])
        out = capsys.readouterr().out
        assert ended.value.code == 0
        assert f"{word}\n  mlx-gpt {name}" in out
        assert COMMANDS[name][1 if language == "en" else 2][1:] in " ".join(out.split())
        assert all(option in out for option in ("--json", "--seed", "--device", "--lang"))


@pytest.mark.parametrize("argv", [["--lang", "es"], ["--lang=es"], ["--lang=es", "--help"]])
def test_help_speaks_spanish(argv: list[str]):
    out = mlx_gpt(*argv).stdout
    assert out.startswith("uso: mlx-gpt")
    assert "entrena un GPT" in out
    assert "show this help" not in out


def test_the_locale_chooses_the_language_and_lang_overrules_it():
    assert mlx_gpt(LC_ALL="es_ES.UTF-8").stdout.startswith("uso:")
    assert mlx_gpt("--lang", "en", LC_ALL="es_ES.UTF-8").stdout.startswith("usage:")


def test_the_language_may_stand_before_the_command():
    assert mlx_gpt("--lang", "es", "info", "--help").stdout.startswith("uso: mlx-gpt info")


def test_spanish_is_utf8_under_a_locale_that_is_not():
    out = mlx_gpt("--lang", "es", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0").stdout
    assert "órdenes" in out


def test_a_misspelt_command_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]):
    assert main(["trian"]) == 2
    assert capsys.readouterr().err == (
        "mlx-gpt: no command trian; did you mean train?; see mlx-gpt --help\n"
    )


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["--nonsense"], "unrecognized arguments: --nonsense; see mlx-gpt --help"),
        (["--lang"], "argument --lang: expected one argument"),
        (["info", "--lang", "fr"], "argument --lang: invalid choice: 'fr'"),
        (["info", "--dev", "cpu"], "see mlx-gpt info --help"),
        (["info", "--device", "tpu"], "argument --device: invalid choice: 'tpu'"),
    ],
)
def test_a_wrong_command_line_is_refused_in_one_sentence(
    argv: list[str], reason: str, capsys: pytest.CaptureFixture[str]
):
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("mlx-gpt: ")
    assert reason in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("argv", [["trian", "--json"], ["info", "--json", "--device", "tpu"]])
def test_a_refusal_is_json_on_stdout_for_a_script(
    argv: list[str], capsys: pytest.CaptureFixture[str]
):
    assert main(argv) == 2
    captured = capsys.readouterr()
    refusal = json.loads(captured.out)
    assert list(refusal) == ["error"]
    assert captured.err == f"mlx-gpt: {refusal['error']}\n"


def test_a_refusal_stays_english():
    assert "no command xyzzy" in mlx_gpt("--lang", "es", "xyzzy").stderr


def test_a_lone_surrogate_in_an_argument_does_no_harm():
    done = subprocess.run(
        [sys.executable, "-m", "mlx_gpt", b"\xff\xfe", "--json"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"].startswith("no command ")


def test_a_reader_that_goes_away_is_no_error():
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = mlx_gpt("--version", stdout=write_end)
    os.close(write_end)
    assert done.stderr == ""
    assert done.returncode == 141


def test_streams_that_are_closed_take_no_files_number():
    for closed in ((0,), (1,), (2,), (0, 1, 2)):
        shut = "; ".join(f"os.close({number})" for number in closed)
        name = "open(os.devnull).fileno()"
        script = (
            f"import os, sys; {shut}; os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
        )
        inner = (
            "import os, sys; from mlx_gpt.cli import main; code = main(['--version']); "
            f"sys.exit(code or {name} < 3 or not os.get_inheritable({closed[0]}))"
        )
        command = [sys.executable, "-c", script, "-c", inner]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        assert subprocess.run(command, env=environment, check=False).returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_told_in_one_sentence():
    with Path("/dev/full").open("w") as full:
        done = mlx_gpt("--version", stdout=full.fileno())
    assert done.stderr == "mlx-gpt: cannot write the output: No space left on device\n"
    assert done.returncode == 2


@pytest.mark.parametrize("words", [["runs", "show"], ["params"], ["train", "--settings"], ["ctl"]])
def test_a_name_too_long_for_a_file_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
):
    command = [*words, "a" * 5000, *(["save"] if words == ["ctl"] else [])]
    assert main(command) == 2
    assert "File name too long; check its name" in capsys.readouterr().err


def test_a_fault_of_the_program_keeps_its_traceback():
    with pytest.raises(OSError, match="no file, no device"):
        as_refusal(OSError("no file, no device"))


def test_a_refusal_is_one_line_that_does_nothing_to_the_terminal(
    capsys: pytest.CaptureFixture[str],
):
    assert main(["\x1b[31mx\ny"]) == 2
    captured = capsys.readouterr()
    assert captured.err == "mlx-gpt: no command ␛[31mx⏎y; see mlx-gpt --help\n"


def test_too_little_memory_is_a_refusal(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    text = tmp_path / "t.txt"
    text.write_text("one two three four five six seven\n" * 100, encoding="utf-8")
    words = ["mini", str(text), f"train.grad_accumulation={sys.maxsize}", "train.probe_tokens=0"]
    assert main(["train", *words, "--out", str(tmp_path)]) == 2
    assert "not enough memory; take a smaller model" in capsys.readouterr().err


def test_output_that_is_no_terminal_carries_no_escape_sequences():
    for no_color in ("", "1"):
        done = mlx_gpt("info", "--device", "cpu", NO_COLOR=no_color)
        assert "\x1b" not in done.stdout + done.stderr


def test_words_and_options_may_stand_in_any_order():
    parser = Parser()
    parser.add_argument("words", nargs="*")
    parser.add_argument("--steps", type=int)
    args = parse(parser, ["mini", "--steps", "5", "train.lr=1e-3"])
    assert args.words == ["mini", "train.lr=1e-3"]
    assert args.steps == 5


def test_a_command_with_sub_commands_parses_too():
    parser = Parser()
    parser.add_subparsers(dest="action").add_parser("train").add_argument("file")
    assert parse(parser, ["train", "a.txt"]).file == "a.txt"


def test_info_is_one_json_document():
    done = mlx_gpt("info", "--json", "--device", "cpu", "--lang", "es")
    facts = json.loads(done.stdout)
    assert facts["version"] == __version__
    assert facts["device"] == "cpu"
    assert facts["memory"]["limit"] > 0
    assert facts["blas"]["gflops"] > 0
    assert isinstance(facts["advice"], list)
    assert done.stderr == ""


def test_info_for_people_is_a_table_in_their_language():
    out = mlx_gpt("info", "--device", "cpu", "--lang", "es").stdout
    assert "dispositivo  cpu: " in out
    assert "GFLOP/s" in out


def test_the_app_is_a_command_of_mlx_gpt_and_not_of_the_headless_twin():
    assert "  tui  " in mlx_gpt(module="tui.cli").stdout
    assert "  tui  " not in mlx_gpt().stdout
