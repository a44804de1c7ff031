"""Every key can be changed, and a mistake in the file is named."""

import os
import re
from pathlib import Path

import pytest
from made_runs import made_run, text_of

from mlx_gpt.errors import UserError
from mlx_gpt.language import say
from mlx_gpt.run import read
from tui.app import MlxGptApp, all_bindings
from tui.choices import Choices, read_choices, write_choices
from tui.feed import Reader
from tui.history import read_prompts
from tui.i18n import t
from tui.keymap import is_key, keymap_path, keymap_text, read_keymap, write_keymap
from tui.screens.train import Train


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(say, "language", "en")
    monkeypatch.setenv("MLX_GPT_KEYMAP", str(tmp_path / "keys" / "keymap.toml"))
    (tmp_path / "keys").mkdir()
    return tmp_path / "keys" / "keymap.toml"


def test_every_id_belongs_to_one_action():
    actions: dict[str, set[str]] = {}
    for bindings in all_bindings().values():
        for binding in bindings:
            assert binding.id
            actions.setdefault(binding.id, set()).add(binding.action)
    assert {name for name, found in actions.items() if len(found) > 1} == set()


def test_every_key_of_the_app_can_be_changed():
    sources = [path.read_text() for path in (Path(__file__).parent.parent / "tui").rglob("*.py")]
    declared = {name for text in sources for name in re.findall(r'[^`]bind\("([a-z_.]+)"', text)}
    known = {binding.id for bindings in all_bindings().values() for binding in bindings}
    assert declared == known


@pytest.mark.parametrize("page", ["runs", "train", "sample", "trace", "new", "side"])
def test_no_key_means_two_things_on_one_page(page: str):
    owner: dict[str, str] = {}
    everywhere = [binding for binding in all_bindings()["app"] if not binding.priority]
    for binding in [*all_bindings()[page], *everywhere]:
        for key in binding.key.split(","):
            known = owner.setdefault(key, str(binding.id))
            assert known == binding.id or (page, key) == ("runs", "n"), (key, known, binding.id)


def test_keys_are_letters_function_keys_and_what_every_terminal_sends():
    plain = {"enter", "escape", "space", "left", "right", "up", "down", "backspace", "delete"}
    plain |= {"pageup", "pagedown", "home", "end", "question_mark", "slash", "plus", "minus"}
    plain |= {"comma", "full_stop", "equals_sign", "colon", "ctrl+p", "tab", "shift+tab"}
    keys = {
        key
        for bindings in all_bindings().values()
        for binding in bindings
        for key in binding.key.split(",")
    }
    odd = {key for key in keys - plain if len(key) > 1 and not key[1:].isdecimal()}
    assert {key for key in odd if not key.endswith(("bracket", "_than", "_sign"))} == set()


def test_without_a_file_nothing_changes(path: Path):
    assert read_keymap(path, all_bindings()) == {}


def test_a_written_file_changes_nothing_until_it_is_edited(path: Path):
    write_keymap(path, keymap_text(all_bindings()))
    assert read_keymap(path, all_bindings()) == {}
    text = path.read_text().replace('# "train.pause" = "p"', '"train.pause" = "f12"')
    path.write_text(text)
    assert read_keymap(path, all_bindings()) == {"train.pause": "f12"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('"train.paus" = "f12"', "no key binding train.paus; did you mean train.pause"),
        ('"train.pause" = 3', "give a key"),
        ('"train.pause" = ""', "give a key"),
        ('"train.pause" = "s"', "the key s is both"),
        ('"train.pause" = "q"', "the key q is both"),
        ('"train.pause" = "hyper+🙂"', r"train\.pause = 'hyper\+🙂': no key hyper\+🙂"),
        ('"train.pause" = "ctrl+ñ+"', r"no key ctrl\+ñ\+"),
        ('"train.pause" = "shift+ctrl+left"', "no key shift"),
        ('"train.pause" = "escap"', "no key escap; did you mean escape"),
        ('"train.pause" = "f12,,f11,"', "train.pause = 'f12,,f11,'; give a key"),
        ("x = ", "not valid TOML"),
    ],
)
def test_a_mistake_in_the_file_is_named(path: Path, line: str, words: str):
    path.write_text(line)
    with pytest.raises(UserError, match=words):
        read_keymap(path, all_bindings())


@pytest.mark.parametrize(
    "keys", ["ñ", "+", "🙂", "f24", "ctrl+f7", "ctrl+shift+left", "alt+enter", "plus, minus"]
)
def test_a_key_that_there_is_may_be_chosen(path: Path, keys: str):
    path.write_text(f'"trace.into" = "{keys}"')
    assert read_keymap(path, {"trace": all_bindings()["trace"]}) == {"trace.into": keys}


@pytest.mark.parametrize("text", ['[app]\nquit = "x"', 'app.quit = "x"'])
def test_a_name_without_quotes_is_told_of(path: Path, text: str):
    path.write_text(text)
    with pytest.raises(UserError, match="app is a table; quote the names"):
        read_keymap(path, all_bindings())


def test_a_pipe_is_not_waited_for(path: Path):
    os.mkfifo(path)
    with pytest.raises(UserError, match=r"cannot read .*keymap.toml: it is a pipe"):
        read_keymap(path, all_bindings())
    assert read_choices(path, ["textual-dark"])[1][0].startswith(
        f"cannot read {path}: it is a pipe"
    )
    with pytest.raises(UserError, match="cannot keep a copy"):
        write_choices(path, Choices(language="es"))
    assert read_prompts(path) == []
    assert Reader(path).lines(100) == ([], False)
    with pytest.raises(UserError, match="it is a pipe"):
        read(path)


def test_every_key_of_the_app_is_one():
    bindings = [binding for found in all_bindings().values() for binding in found]
    assert [each.key for each in bindings if not all(map(is_key, each.key.split(",")))] == []


def test_a_file_is_not_overwritten(path: Path):
    path.write_text("")
    with pytest.raises(UserError, match="there already"):
        write_keymap(path, "x")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        write_keymap(tmp_path / "file" / "keymap.toml", "x")


def test_the_file_lies_with_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("MLX_GPT_KEYMAP", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert keymap_path() == tmp_path / "mlx-gpt" / "keymap.toml"


async def test_a_changed_key_acts_and_is_shown(tmp_path: Path, path: Path):
    path.write_text('"train.chart" = "w"')
    app = MlxGptApp(tmp_path / "runs", run=made_run(tmp_path / "runs"))
    async with app.run_test() as pilot:
        await pilot.press("g")
        page = app.screen
        assert isinstance(page, Train)
        assert page.metric == "loss"
        await pilot.press("w")
        assert page.metric == "lr"
        assert " w chart" in text_of(page)


async def test_changed_keys_are_told_in_the_texts_of_every_page(tmp_path: Path, path: Path):
    path.write_text('"runs.built_in" = "B"\n"app.runs" = "f11"\n"train.stop" = "K"')
    app = MlxGptApp(tmp_path / "runs")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "  B   train the built-in stories" in text_of(app.screen)
        for number in "234":
            await pilot.press(number)
            await pilot.pause()
            shown = text_of(app.screen)
            assert "  f11 the runs: press B there" in shown, number
    assert t("battery.low", percent=5).endswith("training (2, then K).")


async def test_a_faulty_file_is_said_and_the_keys_stay(tmp_path: Path, path: Path):
    path.write_text('"nothing" = "w"')
    app = MlxGptApp(tmp_path / "runs", run=made_run(tmp_path / "runs"))
    async with app.run_test() as pilot:
        await pilot.pause()
        assert "no key binding nothing" in next(iter(app._notifications)).message
        await pilot.press("g")
        assert isinstance(app.screen, Train)
        assert app.screen.metric == "lr"


async def test_the_palette_writes_the_file_once(tmp_path: Path, path: Path):
    app = MlxGptApp(tmp_path / "runs")
    async with app.run_test() as pilot:
        for words in ("Written", "there already"):
            app.action_write_keymap()
            await pilot.pause()
            assert [words in note.message for note in app._notifications] == [True]
    assert '# "train.pause" = "p"' in path.read_text()
