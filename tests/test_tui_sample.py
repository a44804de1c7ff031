"""The page that talks to a model, by every key it has; and the odds that its dials re-shape."""

import asyncio
import dataclasses
import itertools
import json
import math
import re
import shlex
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

from mlx_gpt.device import mx

import numpy as np
import pytest
from made_runs import check_golden, made_run, recorded_app, text_of
from rich.cells import cell_len
from small_model import small_gpt, small_run
from textual.pilot import Pilot
from textual.widgets import Static

from mlx_gpt.config import SampleConfig
from mlx_gpt.errors import UserError
from mlx_gpt.language import Language, say
from mlx_gpt.run import Record, Run, append, hold_lock, read
from mlx_gpt.sampling import filtered, mark
from tui.app import MlxGptApp
from tui.dials import DIALS, Dial, dial_text, turned
from tui.history import history_path, read_prompts, remembered, write_prompts
from tui.i18n import t
from tui.inside import Inside, Loaded, Place
from tui.page import SMALLEST
from tui.recorded import ANSWERS, Recorded, read_recording, recorded_prompts, write_recording
from tui.screens.sample import DEFAULTS, Sample
from tui.screens.trace import Trace
from tui.strand import Piece, Strand, piece_of, reshaped
from tui.trainer import Trainer
from tui.widgets.dial_row import DialRow
from tui.widgets.prompt import Prompt
from tui.widgets.rivals import Rivals, ranks
from tui.widgets.token_text import TokenText, bits_of, wrapped

PROMPT = "Once upon a time"


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(say, "language", "en")
    monkeypatch.setenv("MLX_GPT_PROMPTS", str(tmp_path / "prompts.jsonl"))
    monkeypatch.setenv("MLX_GPT_KEYMAP", str(tmp_path / "keymap.toml"))


def page_of(pilot: Pilot[None]) -> Sample:
    page = pilot.app.screen
    assert isinstance(page, Sample)
    return page


async def settle(pilot: Pilot[None]) -> Sample:
    """Until nothing more is being asked."""
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    return page_of(pilot)


async def sampled(pilot: Pilot[None]) -> Sample:
    """The page with a recorded sample on it."""
    await pilot.press("3", "e")
    page_of(pilot).query_one("#prompt", Prompt).value = PROMPT
    await pilot.press("enter")
    return await settle(pilot)


def facts(page: Sample) -> str:
    return str(page.query_one("#facts", Static).content)


def offered(page: Sample) -> set[str]:
    """The keys of the page that act now, by the last part of their names."""
    bindings = [active.binding for active in page.active_bindings.values() if active.enabled]
    names = [binding.id for binding in bindings if binding.id]
    return {name.partition(".")[2] for name in names if name.startswith("sample.")}


# The odds


def piece_with(logits: np.ndarray, stored: int | None = None) -> Piece:
    """A token whose rivals have these logits, perhaps not all of them stored."""
    p = np.exp(logits - logits.max())
    p = p / p.sum()
    order = np.argsort(-p, kind="stable")[:stored]
    own, names = int(order[0]), ("x",) * len(order)
    return Piece(own, "x", "x", float(p[own]), order, p[order], names, logit=float(logits[own]))


def odds_of_mlx(
    logits: np.ndarray, settings: dict[str, Any], before: Sequence[int] = ()
) -> np.ndarray:
    """The same by the sampler itself."""
    known = {name: value for name, value in settings.items() if name != "samples"}
    used = mark(mx.array([list(before)], mx.int32), len(logits)) if before else None
    kept = filtered(mx.array(logits.astype(np.float32))[None], SampleConfig(**known), used)
    return np.array(mx.softmax(kept, axis=-1))[0]


SHAPES = [
    {},
    {"temperature": 0.3},
    {"temperature": 2.0},
    {"temperature": 0.0},
    {"top_k": 1},
    {"top_k": 7},
    {"top_k": 500},
    {"top_p": 0.5},
    {"top_p": 0.05},
    {"min_p": 0.1},
    {"temperature": 0.6, "top_k": 20, "top_p": 0.9, "min_p": 0.02},
]
PENALTIES = [
    *({"repetition_penalty": 1.6, **shape} for shape in SHAPES),
    {"repetition_penalty": 1.05},
    {"repetition_penalty": 2.0, "top_k": 3},
    {"repetition_penalty": 2.0, "top_p": 0.5},
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_the_dials_shape_the_odds_as_the_sampler_does(shape: dict[str, Any], seed: int):
    settings = DEFAULTS | {"temperature": 1.0} | shape
    logits = np.random.default_rng(seed).normal(scale=3, size=50)
    piece = piece_with(logits)
    odds = reshaped(piece, 50, settings)
    expected = odds_of_mlx(logits, settings)[piece.ids]
    assert odds.exact
    assert odds.ps == pytest.approx(expected, abs=2e-6)
    assert odds.kept.tolist() == (expected > 0).tolist()


@pytest.mark.parametrize("shape", PENALTIES, ids=str)
@pytest.mark.parametrize(("seed", "shift"), [(0, -4.0), (1, 0.0), (2, 4.0)])
def test_the_repetition_penalty_shapes_the_odds_as_the_sampler_does(
    shape: dict[str, Any], seed: int, shift: float
):
    settings = DEFAULTS | {"temperature": 1.0} | shape
    chance = np.random.default_rng(seed)
    logits = chance.normal(scale=3, size=50) + shift
    likeliest = np.argsort(-logits)[:4].tolist()  # used, so that the order changes
    before = [*likeliest, *chance.integers(0, 50, 30).tolist()]
    piece = piece_with(logits)
    odds = reshaped(piece, 50, settings, before)
    expected = odds_of_mlx(logits, settings, before)[piece.ids]
    assert odds.exact
    assert odds.ps == pytest.approx(expected, abs=2e-6)
    assert odds.kept.tolist() == (expected > 0).tolist()


def test_penalised_tokens_that_fall_among_those_not_stored_make_the_odds_uncertain():
    logits = np.linspace(6, 1, 100)
    settings = DEFAULTS | {"repetition_penalty": 2.0, "top_k": 5}
    piece = piece_with(logits, stored=30)
    for count, exact in ((1, True), (25, True), (26, False), (30, False)):
        before = piece.ids[:count].tolist()
        odds = reshaped(piece, 100, settings, before)
        assert odds.exact == exact
        if exact:
            expected = odds_of_mlx(logits, settings, before)[piece.ids]
            assert odds.ps == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("shape", [*SHAPES, *PENALTIES], ids=str)
def test_odds_are_shares_whatever_is_stored_and_used(shape: dict[str, Any]):
    settings = DEFAULTS | shape
    logits = np.random.default_rng(1).normal(scale=2, size=60)
    for stored in (1, 2, 10, 59):
        piece = piece_with(logits, stored)
        for before in ([], piece.ids.tolist(), list(range(60))):
            odds = reshaped(piece, 60, settings, before)
            assert np.isfinite(odds.ps).all()
            assert -1e-9 <= odds.ps.sum() <= 1 + 1e-9
            assert (odds.ps[~odds.kept] == 0).all()


def test_without_logits_the_penalty_waits_and_the_odds_are_uncertain():
    piece = piece_with(np.random.default_rng(0).normal(scale=3, size=50))
    blind = dataclasses.replace(piece, logit=math.nan)
    settings = DEFAULTS | {"repetition_penalty": 1.5}
    odds = reshaped(blind, 50, settings, piece.ids[:5].tolist())
    assert not odds.exact
    assert odds.ps == pytest.approx(reshaped(piece, 50, DEFAULTS).ps)


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_rivals_that_are_not_stored_count_as_equally_likely(temperature: float):
    logits = np.r_[np.linspace(4, 2, 10), np.full(90, -1.0)]
    settings = DEFAULTS | {"temperature": temperature}
    odds = reshaped(piece_with(logits, stored=10), 100, settings)
    expected = odds_of_mlx(logits, settings)[:10]
    assert not odds.exact
    assert odds.ps == pytest.approx(expected, rel=1e-4)


def test_a_filter_that_leaves_only_stored_rivals_is_exact_again():
    logits = np.random.default_rng(0).normal(scale=3, size=100)
    for shape in ({"top_k": 5}, {"top_p": 0.3}, {"min_p": 0.5}):
        settings = DEFAULTS | {"temperature": 1.0} | shape
        piece = piece_with(logits, stored=30)
        odds = reshaped(piece, 100, settings)
        assert odds.exact
        assert odds.ps == pytest.approx(odds_of_mlx(logits, settings)[piece.ids], abs=1e-6)


def test_a_branch_keeps_what_stood_before_and_puts_the_rival_there():
    pieces = [
        Piece(token, name, name, 0.5, np.array([token, 9]), np.array([0.5, 0.2]), (name, "é"))
        for token, name in ((1, "a"), (2, "b"), (3, "c"))
    ]
    strand = Strand((7, 8), "xy", seed=4, pieces=pieces, finish="length")
    branch = strand.branch(1, 1)
    assert branch.prefix(2) == [7, 8, 1, 9]
    assert [(piece.text, piece.chosen) for piece in branch.pieces] == [("a", False), ("é", True)]
    assert (branch.pieces[1].p, branch.finish, strand.prefix(3)) == (0.2, "", [7, 8, 1, 2, 3])


@pytest.mark.parametrize("dial", DIALS, ids=lambda dial: dial.name)
def test_every_value_of_a_dial_is_one_that_the_sampler_takes(dial: Any):
    value = float(dial.rungs[0])
    for _ in dial.rungs:
        if dial.name != "samples":
            kind = type(getattr(SampleConfig(), dial.name))
            SampleConfig(**{dial.name: kind(value)})
        value = turned(dial, value, 1)
    assert value == dial.rungs[-1] == turned(dial, value, 1)
    for _ in dial.rungs:
        value = turned(dial, value, -1)
    assert value == dial.rungs[0]


@pytest.mark.parametrize("dial", DIALS, ids=lambda dial: dial.name)
def test_every_rung_of_a_dial_is_shown_as_it_is(dial: Dial):
    shown = {
        rung: dial_text(dial, rung, "off").removeprefix(f"{dial.label} ") for rung in dial.rungs
    }
    assert len(set(shown.values())) == len(dial.rungs)
    for rung, text in shown.items():
        assert text == "off" if rung == dial.off else float(text) == rung


@pytest.mark.parametrize("language", ["en", "es"])
def test_the_dials_have_room_in_the_smallest_terminal_wherever_they_stand(language: Language):
    say.language = language
    off = t("sample.off")
    widest = [max(cell_len(dial_text(dial, rung, off)) for rung in dial.rungs) for dial in DIALS]
    assert sum(widest) + 3 * len(DIALS) - 1 <= SMALLEST[0] - 2


# The text on its lines


def strand_of(*texts: str) -> Strand:
    pieces = [
        Piece(i, text, text or "‹C3›", 0.5, np.array([i]), np.array([0.5]), (text,))
        for i, text in enumerate(texts)
    ]
    return Strand((), "", pieces=pieces)


@pytest.mark.parametrize("width", [5, 8, 13, 40])
def test_no_line_is_wider_than_its_column_and_nothing_is_lost(width: int):
    texts = (
        "One",
        "two",
        " three",
        "four\n",
        "\n",
        " five",
        " 日本語日本語",
        "x" * 30,
        "\t",
        "end",
    )
    lines = wrapped(bits_of(strand_of(*texts), None), width)
    assert all(sum(cell_len(bit.text) for bit in line) <= width for line in lines)
    shown = "".join(bit.text for line in lines for bit in line)
    whole = "".join(texts).replace("\n", "⏎").replace("\t", "⇥")
    assert shown.replace(" ", "") == whole.replace(" ", "")


def test_words_stay_whole_where_they_fit_and_no_line_begins_with_a_space_between_them():
    lines = wrapped(bits_of(strand_of("ab", "cd", " ef", "gh", " ij"), None), 6)
    assert ["".join(bit.text for bit in line) for line in lines] == ["abcd", "efgh", "ij"]


def test_control_characters_and_markup_of_a_model_are_shown_not_obeyed():
    strand = strand_of("\x1b[31m", "[red]x[/red]", "\x07")
    shown = "".join(bit.text for bit in bits_of(strand, None))
    assert shown == "␛[31m[red]x[/red]␇"


def test_a_token_that_is_half_a_character_shows_under_the_cursor_only():
    strand = strand_of("a", "", "ñ")
    assert "".join(bit.text for bit in bits_of(strand, None)) == "añ"
    assert "".join(bit.text for bit in bits_of(strand, 1)) == "a‹C3›ñ"


# The page


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_page_looks_as_it_was_looked_at(
    tmp_path: Path, size: tuple[int, int], language: Language
):
    say.language = language
    app = recorded_app(tmp_path)
    async with app.run_test(size=size) as pilot:
        page = await sampled(pilot)
        await pilot.press("left", "left", "left", "down")
        await pilot.pause()
        check_golden(f"sample_{size[0]}x{size[1]}_{language}", text_of(page))


async def test_without_a_model_it_says_where_to_find_one(tmp_path: Path):
    app = MlxGptApp(tmp_path / "runs")
    async with app.run_test() as pilot:
        await pilot.press("3")
        page = page_of(pilot)
        assert "  1   the runs" in text_of(page)
        assert offered(page) == set()
        for key in ("g", "r", "enter", "u", "left", "up", "plus", "v", "x"):
            await pilot.press(key)
        await pilot.app.workers.wait_for_complete()
        assert page.round is None


async def test_only_keys_that_act_are_offered(tmp_path: Path):
    app = recorded_app(tmp_path)
    of_texts = {"again", "back", "forward", "likelier", "unlikelier", "branch", "first", "last"}
    async with app.run_test() as pilot:
        await pilot.press("3")
        page = page_of(pilot)
        assert {"prompt", "generate", "dial", "more", "trace"} <= offered(page)
        assert not offered(page) & {*of_texts, "undo", "other", "stop"}
        await pilot.press("r")
        assert page.turn == 0
        await pilot.press("g")
        await settle(pilot)
        assert of_texts <= offered(page)
        assert not offered(page) & {"undo", "other", "stop"}
        await pilot.press("g")
        await settle(pilot)
        assert "undo" in offered(page)
        assert " u undo " in text_of(page)


async def test_a_prompt_is_continued_and_each_token_keeps_its_rivals(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await sampled(pilot)
        assert page.strand.text == PROMPT
        assert len(page.strand.pieces) > 20
        assert page.cursor == len(page.strand.pieces) - 1
        assert "seed 7" in facts(page)
        assert "tok/s" in facts(page)
        rivals = page.query_one(Rivals).render().plain
        assert "▶" in rivals
        assert f"p {page.strand.pieces[-1].p:.4f}" in rivals


async def test_left_right_home_and_end_move_over_the_tokens(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await sampled(pilot)
        last = page.cursor
        await pilot.press("left", "left", "right")
        assert page.cursor == last - 1
        await pilot.press("home")
        assert page.cursor == 0
        await pilot.press("left")
        assert page.cursor == 0
        await pilot.press("end", "right")
        assert page.cursor == last


async def test_up_and_down_choose_a_rival_and_a_click_a_token(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await sampled(pilot)
        await pilot.press("home")
        own = page.rival
        await pilot.press("down", "down", "up")
        assert page.rival == own + 1
        await pilot.click(TokenText, offset=(len(PROMPT) + 2, 1))
        assert page.cursor < 3
        await pilot.click(Rivals, offset=(4, 4))
        assert page.rival == 1


async def test_turning_a_dial_reshapes_the_bars_without_asking_anyone(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await sampled(pilot)
        await pilot.press("home")
        before = page.choice()
        app.insides.clear()  # whoever asks now would start a process
        await pilot.press("d", "plus", "plus")
        after = page.choice()
        assert before is not None
        assert after is not None
        assert DIALS[page.dial].name == "top_k"
        assert (before.odds.kept.sum(), after.odds.kept.sum()) == (len(before.piece.ps), 2)
        assert "top-k 2" in page.query_one(DialRow).render().plain
        await pilot.press("minus", "D", "minus")
        assert page.settings["top_k"] == 1
        assert page.settings["temperature"] == 0.75
        await pilot.press("0")
        assert page.settings == DEFAULTS
        await pilot.click(DialRow, offset=(30, 0))
        assert page.dial > 0


def test_the_likeliest_rivals_the_token_that_came_and_the_cursor_are_always_seen():
    assert ranks(40, 7, own=2, rival=2) == [0, 1, 2, 3, 4, 5, 6]
    assert ranks(3, 7, own=2, rival=0) == [0, 1, 2]
    assert ranks(40, 7, own=20, rival=0) == [0, 1, 2, 3, 4, 5, 20]
    assert ranks(40, 7, own=20, rival=20) == [0, 1, 2, 3, 18, 19, 20]
    assert ranks(40, 7, own=30, rival=20) == [0, 1, 2, 3, 18, 20, 30]
    for lines in (3, 8):
        for own in range(12):
            for rival in range(12):
                shown = ranks(12, lines, own, rival)
                assert shown == sorted(set(shown))
                assert rival in shown
                assert own in shown
                assert 0 in shown
                assert len(shown) <= lines


async def test_several_samples_stand_side_by_side_and_v_goes_to_the_next(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("3", "D", "plus", "plus")
        page = await sampled(pilot)
        assert page.settings["samples"] == 3
        assert len(page.strands) == 3
        assert all(strand.pieces for strand in page.strands)
        assert "1/3" in text_of(page)
        await pilot.press("v", "v")
        assert page.active == 2
        await pilot.press("v")
        assert page.active == 0


async def test_samples_beyond_the_edge_are_told_and_v_brings_them(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("3", "D", "plus", "plus", "plus")
        page = await sampled(pilot)
        assert "1/4 (v: next)" in facts(page)
        assert "3/4 ›" in text_of(page)
        assert "4/4" not in text_of(page)
        await pilot.press("v", "v", "v")
        assert "‹2/4" in text_of(page)
        assert "4/4" in text_of(page)


LONGEST = {"samples": 3, "max_tokens": 1024}
SIZES = [(80, 24), (120, 40), (160, 48)]


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("finish", ["length", "recorded", "end", "failed", "stopped"])
async def test_the_facts_are_shown_whole(
    tmp_path: Path, size: tuple[int, int], language: Language, finish: str
):
    say.language = language
    app = recorded_app(tmp_path)
    async with app.run_test(size=size) as pilot:
        await pilot.press("3")
        page_of(pilot).settings |= LONGEST
        page = await sampled(pilot)
        for strand in page.strands:
            strand.finish, strand.seed = finish, 2**32 - 1
        page.draw()
        await pilot.pause()
        shown = " ".join(line.strip() for line in text_of(page).split("\n"))
        assert page.facts() in shown
        assert t(f"finish.{finish}") in text_of(page).split("\n")[1]


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("size", SIZES)
async def test_the_heading_of_the_rivals_is_shown_whole(
    tmp_path: Path, size: tuple[int, int], language: Language
):
    say.language = language
    app = recorded_app(tmp_path)
    async with app.run_test(size=size) as pilot:
        page = await sampled(pilot)
        await pilot.press("home")
        piece = page.strand.pieces[0]
        page.strand.pieces[0] = dataclasses.replace(piece, name="a long name", p=1e-9)
        assert page.round is not None
        page.round.author.vocab_size = 10**5
        page.draw()
        await pilot.pause()
        token, heads, first = (
            [line.rpartition("│")[2] for line in text_of(page).split("\n") if "│" in line][:3]
            if size[0] > 80
            else text_of(page).split("\n")[-10:][:3]
        )
        assert token.strip().endswith(" nats")
        assert heads.split()[-2:] == ["p", t("sample.now")]
        assert [match.end() for match in re.finditer(r"\S+", heads)][-2:] == [
            match.end() for match in re.finditer(r"%", first)
        ]


async def test_prompts_of_the_past_come_back_even_another_day(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await sampled(pilot)
        await pilot.press("e", "up")
        assert page.query_one("#prompt", Prompt).value == PROMPT
        await pilot.press("down", "escape")
        assert isinstance(page.focused, TokenText)
    other = recorded_app(tmp_path)
    async with other.run_test() as pilot:
        await pilot.press("3", "slash", "up")
        assert page_of(pilot).query_one("#prompt", Prompt).value == PROMPT


@pytest.mark.parametrize("demo_first", [False, True])
async def test_the_prompts_follow_the_run_in_hand(tmp_path: Path, *, demo_first: bool):
    run = made_run(tmp_path / "runs")
    write_prompts(history_path(), ["of my own"])
    app = MlxGptApp(tmp_path / "runs", run=run, demo=demo_first)
    async with app.run_test() as pilot:
        for demo in (demo_first, not demo_first):
            app.action_demo() if demo else app.attach(run)
            await pilot.press("3")
            page = page_of(pilot)
            assert all((prompt in text_of(page)) == demo for prompt in recorded_prompts())
            await pilot.press("e", "up")
            expected = recorded_prompts()[-1] if demo else "of my own"
            assert page.query_one("#prompt", Prompt).value == expected
            await pilot.press("down", "escape")


async def test_the_empty_page_becomes_that_of_the_demo(tmp_path: Path):
    app = MlxGptApp(tmp_path / "runs")
    async with app.run_test() as pilot:
        await pilot.press("3", "1", "D", "3")
        page = page_of(pilot)
        assert recorded_prompts()[0] in text_of(page)
        assert "generate" in offered(page)


async def test_prompts_kept_by_another_page_are_among_those_of_the_past(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("3")
        write_prompts(history_path(), ["of another page"])
        await pilot.press("e", "up")
        assert page_of(pilot).query_one("#prompt", Prompt).value == "of another page"
        await pilot.press("down")
        await sampled(pilot)
    assert read_prompts(history_path()) == ["of another page", PROMPT]


async def test_a_text_stays_with_the_model_that_wrote_it(tmp_path: Path):
    run = made_run(tmp_path / "runs")
    app = MlxGptApp(tmp_path / "runs", run=run, demo=True)
    async with app.run_test() as pilot:
        page = await sampled(pilot)
        bars = page.query_one(Rivals).render().plain
        app.attach(run)
        await pilot.press("3")
        assert "demo, step 1800" in facts(page)
        assert page.query_one(Rivals).render().plain == bars
        assert page.shows_recorded()
        assert "branch" not in offered(page)  # its tokens mean nothing to the other model
        await pilot.press("enter")
        assert page.turn == 1


async def test_a_run_taken_in_hand_while_a_model_loads_is_not_the_author(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run = made_run(tmp_path / "runs")
    app = MlxGptApp(tmp_path / "runs", run=run, demo=True)
    load = Inside.load

    async def overtaken(self: Inside, place: Place) -> Loaded:
        app.attach(run)
        return await load(self, place)

    monkeypatch.setattr(Inside, "load", overtaken)
    async with app.run_test() as pilot:
        await pilot.press("3", "g")
        await app.workers.wait_for_complete()
        await pilot.press("3")
        page = await settle(pilot)
        assert "demo, step 1800" in facts(page)
        assert page.round is not None
        assert page.round.author.hand.folder != run.path


async def test_what_the_tour_says_of_a_text_works_on_every_prompt_of_the_demo(tmp_path: Path):
    app = MlxGptApp(tmp_path / "runs", demo=True)
    async with app.run_test(notifications=True) as pilot:
        app.go_to_station(6)
        for prompt in ("", *recorded_prompts()):
            await pilot.press("e")
            page_of(pilot).query_one("#prompt", Prompt).value = prompt
            await pilot.press("enter")
            page = await settle(pilot)
            count = len(page.strand.pieces)
            await pilot.press("g")
            await settle(pilot)
            await pilot.press("left", "down")
            assert "▶" in page.query_one(Rivals).render().plain
            assert "branch" not in offered(page)
            await pilot.press("enter")
            await settle(pilot)
            assert len(page.strand.pieces) == count
        assert not list(app._notifications)


async def test_what_a_recording_cannot_answer_is_said_and_the_page_goes_on(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test(notifications=True) as pilot:
        page = await sampled(pilot)
        await pilot.press("home", "right", "down")
        before, rival = text_of(page), page.rival
        await pilot.press("enter")
        await settle(pilot)
        assert any("Un día" in note.message for note in app._notifications)
        app.clear_notifications()
        await pilot.pause()
        assert text_of(page) == before
        assert (page.cursor, page.rival, page.past) == (1, rival, [])


async def test_a_refused_branch_leaves_the_text_that_was_in_hand(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("3", "D", "plus", "plus")
        page = await sampled(pilot)
        await pilot.press("v", "v", "home", "down", "enter")
        await settle(pilot)
        assert (page.active, page.cursor, len(page.strands)) == (2, 0, 3)
        assert all(len(strand.pieces) > 20 for strand in page.strands)


async def test_the_command_line_gives_the_same_sample(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await sampled(pilot)
        await pilot.press("d", "plus")
        line = page.command_line()
        assert line.startswith("mlx-gpt sample demo 'Once upon a time' ")
        assert "--top-k 1" in line
        assert "--seed 7" in line
        assert page.command_note() == ""


async def test_the_language_changes_under_a_sample(tmp_path: Path):
    app = recorded_app(tmp_path)
    async with app.run_test() as pilot:
        page = await sampled(pilot)
        await pilot.press("L")
        await pilot.pause()
        assert "semilla 7" in facts(page)
        assert "demo, paso 1800" in facts(page)
        assert "posibles" in page.query_one(Rivals).render().plain
        assert "ahora" in page.query_one(Rivals).render().plain
        await pilot.press("L")
        assert "demo, step 1800" in facts(page)


# A real model


async def test_a_real_model_is_sampled_branched_and_undone(tmp_path: Path):
    run = small_run(tmp_path / "runs")
    app = MlxGptApp(tmp_path / "runs", run=run)
    async with app.run_test() as pilot:
        await pilot.press("3", "e", "a", "b", "enter")
        page = await settle(pilot)
        assert page.strand.prompt == (97, 98)
        assert "small, step 10" in facts(page)
        first = [piece.id for piece in page.strand.pieces]
        await pilot.press("home", "right", "down", "down")
        rival = page.strand.pieces[1].ids[page.rival]
        await pilot.press("b")
        await settle(pilot)
        assert [piece.id for piece in page.strand.pieces[:2]] == [first[0], rival]
        assert page.strand.pieces[1].chosen
        text = page.strand.text_at(2)
        exact = list(text.encode()) == page.strand.prefix(2)
        assert exact != ("may go another way" in page.command_note())
        assert f" {shlex.quote(text)} " in page.command_line()
        await pilot.press("u")
        assert [piece.id for piece in page.strand.pieces] == first
        await pilot.press("r")
        await settle(pilot)
        assert [piece.id for piece in page.strand.pieces] == first
        await pilot.press("e")
        page.query_one("#prompt", Prompt).value = "other"
        await pilot.press("enter")
        await settle(pilot)
        assert page.strand.text == "other"
        await pilot.press("u", "r")
        await settle(pilot)
        assert page.strand.text == "ab"
        assert [piece.id for piece in page.strand.pieces] == first
        await pilot.press("g")
        await settle(pilot)
        assert page.strand.text == "ab"
        assert [piece.id for piece in page.strand.pieces] != first
        await pilot.press("home", "x")
        await app.workers.wait_for_complete()
        assert isinstance(app.screen, Trace)
        assert app.screen.inquiry.given.prompt == "ab" + page.strand.pieces[0].text


def same_text(line: str, strand: Strand) -> bool:
    """Whether a command line prints the text of a sample."""
    done = subprocess.run(
        [sys.executable, "-m", "mlx_gpt", *shlex.split(line)[1:], "--json"],
        capture_output=True,
        check=True,
    )
    answer = json.loads(done.stdout.splitlines()[strand.number])
    return answer["prompt"] + answer["text"] == strand.text_at(len(strand.pieces))


async def test_a_branch_of_a_later_sample_keeps_its_chance_and_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("secrets.randbelow", lambda _: 2)
    run = small_run(tmp_path / "runs")
    app = MlxGptApp(tmp_path / "runs", run=run)
    async with app.run_test() as pilot:
        await pilot.press("3")
        page = page_of(pilot)
        page.settings |= {"samples": 3, "max_tokens": 8}
        await pilot.press("e", "a", "b", "enter")
        await settle(pilot)
        before = page.strands[2].prefix(8)
        assert page.strands[2].pieces[0].id in page.strands[2].pieces[0].ids
        rivals = list(page.strands[2].pieces[0].ids)
        await pilot.press("v", "v", "home", "b")
        await settle(pilot)
        assert page.strand.prefix(8) == before  # its own token was chosen
        page.action_undo()
        page.active, page.cursor, page.rival = 2, 0, rivals.index(ord("o"))
        await pilot.press("b")
        await settle(pilot)
        assert page.command_note() == "Of the samples that the command gives, the last is this one."
        assert same_text(page.command_line(), page.strand)


async def test_the_bars_of_a_real_model_follow_the_penalty_without_asking_it(tmp_path: Path):
    run = small_run(tmp_path / "runs")
    app = MlxGptApp(tmp_path / "runs", run=run)
    async with app.run_test() as pilot:
        await pilot.press("3")
        page_of(pilot).settings["max_tokens"] = 8
        await pilot.press("e", "a", "b", "enter")
        page = await settle(pilot)
        await app.insides.pop(False).close()  # whoever asks now would start a process
        await pilot.press("left", *["d"] * 4, *["plus"] * 8)
        settings = page.settings
        assert settings["repetition_penalty"] == 1.4
        before = page.strand.prefix(page.cursor)
        logits = np.array(small_gpt(seed=10)(mx.array([before]))[0, -1])
        choice = page.choice()
    assert choice is not None
    assert choice.odds.exact
    assert "rep acts" not in page.facts()
    expected = odds_of_mlx(logits, settings, before)[choice.piece.ids]
    assert choice.odds.ps == pytest.approx(expected, abs=2e-6)
    plain = odds_of_mlx(logits, settings | {"repetition_penalty": 1.0})[choice.piece.ids]
    assert abs(choice.odds.ps - plain).max() > 1e-3


def without_logits(folder: Path) -> Path:
    """The recording as one would have made it of a trainer that tells no logits."""
    recording = read_recording(ANSWERS)
    for record in itertools.chain(*recording.answers.values()):
        for token in filter(None, record.get("tokens", [])):
            token["logit"] = None
    write_recording(folder / "answers.json.gz", recording)
    return folder / "answers.json.gz"


async def test_odds_that_came_without_logits_say_so_where_the_penalty_is_in_hand(tmp_path: Path):
    app = recorded_app(tmp_path)
    app.insides[False] = Inside(Recorded(without_logits(tmp_path), pace=0))
    async with app.run_test(size=(120, 40)) as pilot:
        page = await sampled(pilot)
        assert "rep acts" not in facts(page)
        await pilot.press(*["d"] * 4)
        assert "rep acts on the next text" in facts(page)


async def test_space_stops_a_long_sample(tmp_path: Path):
    run = small_run(tmp_path / "runs")
    app = MlxGptApp(tmp_path / "runs", run=run)
    async with app.run_test() as pilot:
        await pilot.press("3")
        page = page_of(pilot)
        page.settings["max_tokens"] = 10**6
        page.settings["top_k"] = 1
        await pilot.press("e", "a", "enter")
        while not page.strands or not page.strand.pieces:
            await pilot.pause(0.02)
        await pilot.press("space")
        await settle(pilot)
        assert page.strand.finish in ("stopped", "end")
        assert not page.running


# A living trainer


class Answering:
    """A trainer's part in a conversation, played by the test."""

    def __init__(self, run: Any) -> None:
        self.run = run

    def tell(self, kind: str, command_id: str, **values: Any) -> None:
        append(self.run.events, {"kind": kind, "id": command_id, **values})


async def collect(stream: AsyncGenerator[Record, None]) -> list[Record]:
    return [record async for record in stream]


async def test_a_living_run_answers_itself_at_the_step_it_is_at(tmp_path: Path):
    run = made_run(tmp_path / "runs", end=None)
    app = MlxGptApp(tmp_path / "runs", run=run)
    with hold_lock(run):
        async with app.run_test() as pilot:
            await pilot.press("3", "e", "H", "i", "enter")
            while not run.control.exists():
                await pilot.pause(0.02)
            (command,) = read(run.control)
            rivals = [[104, "h", 0.6], [105, "i", 0.3], [106, "j", 0.1]]
            told = {"token": [104, "h", 0.6], "rivals": rivals, "logit": 2.5}
            trainer = Answering(run)
            trainer.tell("ack", command["id"], ok=True)
            trainer.tell("token", command["id"], text="", prompt=[72, 105], tokens=[])
            trainer.tell("token", command["id"], text="h", tokens=[told])
            trainer.tell("sample_end", command["id"], step=123, text="h", seed=command["seed"])
            page = await settle(pilot)
            line, note = page.command_line(), page.command_note()
    assert (command["cmd"], command["prompt"]) == ("sample", "Hi")
    assert command["top"] > 0
    assert [piece.text for piece in page.strand.pieces] == ["h"]
    assert "step 123" in page.facts()
    say.language = "es"
    assert "paso 123" in page.facts()
    say.language = "en"
    choice = page.choice()
    assert choice is not None
    assert choice.piece.names == ("h", "i", "j")
    assert choice.piece.logit == 2.5
    assert page.strand.prompt == (72, 105)
    assert page.strand.branch(0, 1).prefix(1) == [72, 105, 105]
    assert "--checkpoint latest" in line
    assert "is in training" in note


async def test_samples_of_a_living_run_have_one_seed_and_are_numbered(tmp_path: Path):
    run = made_run(tmp_path / "runs", end=None)
    with hold_lock(run):
        asking = asyncio.create_task(
            collect(Trainer(run).stream("sample", prompt="a", n=3, seed=9))
        )
        for number in range(3):
            while len(read(run.control)) <= number:
                await asyncio.sleep(0.01)
            command = read(run.control)[number]
            append(run.events, {"kind": "sample_end", "id": command["id"], "seed": 9})
        await asking
    told = [(command["seed"], command["first"]) for command in read(run.control)]
    assert told == [(9, 0), (9, 1), (9, 2)]


async def test_a_trainer_that_refuses_or_dies_is_quoted(tmp_path: Path):
    run = made_run(tmp_path / "runs", end=None)
    with pytest.raises(UserError, match="has ended"):
        await collect(Trainer(run).stream("sample", prompt="a"))


# What is kept


def test_prompts_are_kept_once_each_and_the_newest_last(tmp_path: Path):
    path = tmp_path / "deep" / "prompts.jsonl"
    write_prompts(path, remembered(["a", "b\nc"], "a"))
    assert read_prompts(path) == ["b\nc", "a"]
    with path.open("a") as file:
        file.write("half a li")
    assert read_prompts(path) == ["b\nc", "a"]


def test_prompts_that_cannot_be_kept_are_a_refusal_in_words(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot keep prompts"):
        write_prompts(tmp_path / "file" / "prompts.jsonl", ["a"])


def test_the_record_of_a_token_becomes_a_piece_with_readable_rivals():
    rivals = ((65, 10), ("A", "\n"), (0.75, 0.25))
    piece = piece_of({"id": 65, "text": "A", "p": 0.75, "rivals": rivals}, str)
    assert (piece.names, piece.ps.tolist()) == (("A", "\n"), [0.75, 0.25])
    assert json.dumps(piece.ids.tolist()) == "[65, 10]"


def test_a_checkpoint_of_a_run_is_named_in_the_language(tmp_path: Path):
    place = Place("a", "best", 300, Run(tmp_path / "a"))
    loaded = Loaded(place, "a, step 300", 300, {}, {}, (), 0)
    assert loaded.title == "a, step 300"
    say.language = "es"
    assert loaded.title == "a, paso 300"
    assert loaded._replace(place=Place("small")).title == "a, step 300"
