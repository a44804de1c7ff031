"""What is chosen in the app lasts, gives way to the command line, and never stands in the way."""

import os
import sys
from pathlib import Path

import pytest
from made_runs import made_run, text_of

from mlx_gpt.language import Language, from_environment, say
from tui.app import MlxGptApp
from tui.choices import Choices, choices_path, read_choices, write_choices
from tui.command import gives_language
from tui.widgets.chart import Chart

THEMES = ("nord", "textual-light")


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(say, "language", "en")
    monkeypatch.setenv("MLX_GPT_KEYMAP", str(tmp_path / "keymap.toml"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "app.toml"


def messages(app: MlxGptApp) -> list[str]:
    return [note.message for note in app._notifications]


# The file


@pytest.mark.parametrize(
    "choices",
    [Choices(), Choices("es"), Choices(theme="nord"), Choices("en", "textual-light", "ascii")],
)
def test_what_is_written_is_what_is_read(path: Path, choices: Choices):
    write_choices(path, choices)
    assert read_choices(path, THEMES) == (choices, [])


def test_without_a_file_nothing_is_chosen(tmp_path: Path):
    (tmp_path / "file").touch()
    assert read_choices(tmp_path / "app.toml", THEMES) == (Choices(), [])
    assert read_choices(tmp_path / "file" / "app.toml", THEMES) == (Choices(), [])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('languag = "es"', "no setting languag; did you mean language?"),
        ('language = "fr"', 'language = "fr" is unknown'),
        ('theme = "nort"', "did you mean nord?"),
        ("theme = 3", "theme = 3 is unknown"),
        ("marks = []", "marks = [] is unknown"),
        ("theme = ", "not valid TOML"),
    ],
)
def test_a_mistake_in_the_file_is_named(path: Path, line: str, words: str):
    path.write_text(line)
    choices, faults = read_choices(path, THEMES)
    assert choices == Choices()
    assert [words in fault and str(path) in fault for fault in faults] == [True]


def test_one_mistake_costs_no_other_setting(path: Path):
    path.write_text('language = "fr"\nmarks = "ascii"\nspeed = 3\ntheme = "nord"\n')
    choices, faults = read_choices(path, THEMES)
    assert choices == Choices(theme="nord", marks="ascii")
    assert ["language" in faults[0], "speed" in faults[1]] == [True, True]


def test_the_file_lies_beside_the_keymap(tmp_path: Path):
    assert choices_path() == tmp_path / "app.toml"


# Which choice counts


@pytest.mark.parametrize("language", ["en", "es"])
async def test_the_file_goes_before_the_locale(
    tmp_path: Path, path: Path, language: Language, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LC_ALL", {"en": "es_ES.UTF-8", "es": "en_GB.UTF-8"}[language])
    say.language = from_environment()
    assert say.language != language
    write_choices(path, Choices(language))
    app = MlxGptApp(tmp_path, choices=path)
    async with app.run_test():
        assert {"en": "1 Runs", "es": "1 Ejecuciones"}[language] in text_of(app.screen)


async def test_the_command_line_goes_before_the_file(tmp_path: Path, path: Path):
    write_choices(path, Choices("es"))
    app = MlxGptApp(tmp_path, choices=path, language_is_given=True)
    async with app.run_test():
        assert "1 Runs" in text_of(app.screen)
    assert read_choices(path, THEMES) == (Choices("es"), [])


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("mlx-gpt tui", False),
        ("mlx-gpt tui stories --demo", False),
        ("mlx-gpt --lang en tui", True),
        ("mlx-gpt tui --lang en", True),
        ("mlx-gpt tui --lang=en", True),
    ],
)
def test_a_language_on_the_command_line_is_noticed(line: str, given: bool):
    assert gives_language(line.split()) == given


async def test_without_colour_the_file_brings_none(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("NO_COLOR", "1")
    for theme in ("nord", "textual-light", "ansi-dark"):
        write_choices(path, Choices(theme=theme))
        app = MlxGptApp(tmp_path, choices=path)
        async with app.run_test():
            strips = app.screen._compositor.render_strips()
            styles = [segment.style for strip in strips for segment in strip if segment.style]
            colours = {colour for style in styles for colour in (style.color, style.bgcolor)}
            tones = [set(c.triplet) for c in colours if c is not None and c.triplet is not None]
            assert tones
            assert all(len(tone) == 1 for tone in tones), "a colour that is no grey"
            assert len(set(map(frozenset, tones))) > 1, "text of the colour of its background"


# What lasts


async def test_a_language_lasts(tmp_path: Path, path: Path):
    app = MlxGptApp(tmp_path, choices=path)
    async with app.run_test() as pilot:
        await pilot.press("L")
    assert path.read_text() == 'language = "es"\n'
    say.language = "en"
    app = MlxGptApp(tmp_path, choices=path)
    async with app.run_test() as pilot:
        assert "1 Ejecuciones" in text_of(app.screen)
        await pilot.press("f2")
        assert "1 Runs" in text_of(app.screen)
    assert path.read_text() == 'language = "en"\n'


async def test_a_theme_lasts_whether_a_key_or_the_palette_took_it(tmp_path: Path, path: Path):
    app = MlxGptApp(tmp_path, choices=path)
    async with app.run_test() as pilot:
        await pilot.press("T")
    assert path.read_text() == 'theme = "textual-light"\n'
    app = MlxGptApp(tmp_path, choices=path)
    async with app.run_test():
        assert not app.current_theme.dark
        assert app.has_class("-light-mode")
        app.theme = "nord"
    assert read_choices(path, THEMES) == (Choices(theme="nord"), [])


async def test_the_marks_of_the_charts_last_and_hold_for_both_pages(tmp_path: Path, path: Path):
    app = MlxGptApp(tmp_path, run=made_run(tmp_path), choices=path)
    async with app.run_test() as pilot:
        await pilot.press("m", "1")
        assert app.screen.query_one("#curves", Chart).look.marks == "blocks"
        await pilot.press("m", "2")
        assert app.screen.query_one("#main", Chart).look.marks == "ascii"
    app = MlxGptApp(tmp_path, choices=path)
    async with app.run_test() as pilot:
        await pilot.press("1")
        assert app.screen.query_one("#curves", Chart).look.marks == "ascii"


async def test_what_nobody_chose_is_not_kept(tmp_path: Path, path: Path):
    say.language = "es"
    app = MlxGptApp(tmp_path, choices=path, language_is_given=True)
    async with app.run_test() as pilot:
        await pilot.press("1", "2", "3")
    assert not path.exists()


async def test_without_a_place_to_keep_them_choices_still_count(tmp_path: Path):
    app = MlxGptApp(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("L", "T")
        assert "1 Ejecuciones" in text_of(app.screen)
        assert not app.current_theme.dark
    assert list(tmp_path.iterdir()) == []


# What goes wrong


async def test_a_broken_file_is_one_sentence_and_the_next_choice_mends_it(
    tmp_path: Path, path: Path
):
    path.write_bytes(b'language = "es"\ntheme = \xff')
    app = MlxGptApp(tmp_path, choices=path)
    async with app.run_test() as pilot:
        await pilot.pause()
        assert "1 Runs" in text_of(app.screen)
        assert app.current_theme.dark
        assert [str(path) in message for message in messages(app)] == [True]
        await pilot.press("T")
    assert read_choices(path, THEMES) == (Choices(theme="textual-light"), [])
    assert (tmp_path / "app.toml.bak").read_bytes() == b'language = "es"\ntheme = \xff'


async def test_the_next_choice_keeps_what_could_be_read(tmp_path: Path, path: Path):
    path.write_text('language = "es"\ntheme = "norrd"\nmarks = "ascii"\n')
    app = MlxGptApp(tmp_path, choices=path)
    async with app.run_test() as pilot:
        await pilot.pause()
        assert [f"{path}: theme" in message for message in messages(app)] == [True]
        await pilot.press("T")
    made = Choices("es", "textual-light", "ascii")
    assert read_choices(path, THEMES) == (made, [])
    assert not (tmp_path / "app.toml.bak").exists()


async def test_a_file_of_which_no_copy_can_be_kept_stays(tmp_path: Path, path: Path):
    path.write_text("theme = ")
    (tmp_path / "app.toml.bak").mkdir()
    app = MlxGptApp(tmp_path, choices=path)
    async with app.run_test() as pilot:
        await pilot.press("T")
        await pilot.pause()
        assert [f"cannot keep a copy of {path}" in said for said in messages(app)] == [True]
    assert path.read_text() == "theme = "


def hinder(tmp_path: Path, how: str) -> Path:
    """A file that cannot be written."""
    folder = tmp_path / "kept"
    if how == "file in place of the folder":
        folder.touch()
    else:
        folder.mkdir()
    if how == "read-only folder":
        folder.chmod(0o500)
    if how == "full disk":
        (folder / f".app.toml.{os.getpid()}").symlink_to("/dev/full")
    return folder / "app.toml"


@pytest.mark.parametrize(
    "how",
    [
        "file in place of the folder",
        pytest.param(
            "read-only folder",
            marks=pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere"),
        ),
        pytest.param(
            "full disk",
            marks=pytest.mark.skipif(sys.platform == "darwin", reason="there is no /dev/full"),
        ),
    ],
)
async def test_where_nothing_can_be_kept_a_sentence_says_so_and_the_app_goes_on(
    tmp_path: Path, how: str
):
    path = hinder(tmp_path, how)
    app = MlxGptApp(tmp_path / "runs", choices=path)
    async with app.run_test() as pilot:
        await pilot.press("L")
        await pilot.pause()
        assert "1 Ejecuciones" in text_of(app.screen)
        assert [f"cannot keep choices in {path}" in said for said in messages(app)] == [True]
    assert not path.parent.is_dir() or list(path.parent.iterdir()) == []
