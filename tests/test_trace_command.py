"""`mlx-gpt trace` as its user meets it: tables, pictures, JSON, pages, comparisons."""

import base64
import dataclasses
import json
import re
import struct
import zlib
from html.parser import HTMLParser
from pathlib import Path

from mlx_gpt.device import mx

import numpy as np
import pytest
from test_sample_command import run as run  # the fixture: a run with two checkpoints
from test_sample_command import said
from test_tracer import VALIDATOR, golden_trace

from mlx_gpt.commands import trace_table, trace_views
from mlx_gpt.commands.models import find_model
from mlx_gpt.commands.trace_html import page, picture
from mlx_gpt.insights import Reach, account, light_cone
from mlx_gpt.language import say
from mlx_gpt.run import Run
from mlx_gpt.tracefile import from_json, load
from mlx_gpt.traces import Proof

PROMPT = "Un gato"


@pytest.fixture(autouse=True)
def columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns that speaks English."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(say, "language", "en")


def rows_of(text: str) -> list[str]:
    """The names in the first column of the table, of lines that are rows."""
    return [line.split()[0] for line in text.splitlines() if "✓" in line and line[:2] == "  "]


def test_the_table_has_a_line_per_row_and_fits_the_terminal(run: Run, capsys) -> None:
    out, _ = said(capsys, "trace", "made", PROMPT)
    traced = json.loads(said(capsys, "trace", "made", PROMPT, "--json")[0])
    assert rows_of(out) == [row["kind"] for row in traced["rows"]]
    assert max(map(len, out.splitlines())) <= 80
    assert "U n ␣ g a t o" in out
    assert "all 31 rows agree with NumPy in float64" in out
    assert "✗" not in out


@pytest.mark.parametrize("width", [80, 120])
def test_more_columns_show_more(width: int) -> None:
    found = golden_trace()
    lines = trace_table.table(found, width).splitlines()
    assert max(map(len, lines)) <= width
    assert ("min … max" in lines[0]) == (width > 80)
    assert ("FLOP" in lines[0]) == (width > 80)
    assert "‖∂L‖" in lines[0]
    bars = [line for line in lines if re.search("[▁▂▃▄▅▆▇█]", line)]
    assert len(bars) == len([row for row in found.rows if row.shape])


def test_rows_are_chosen_explained_and_folded(run: Run, capsys) -> None:
    only = ["--only", "blocks.0.w*", "--only", "tok"]
    out, _ = said(capsys, "trace", "made", PROMPT, *only, "--explain")
    assert rows_of(out) == ["tok", "weights"]
    assert "eˢ / Σ_keys eˢ" in out
    assert "shares that sum to 1" in " ".join(out.split())
    spanish, _ = said(capsys, "trace", "made", PROMPT, *only, "--explain", "--lang", "es")
    assert "partes que suman 1" in " ".join(spanish.split())
    folded, _ = said(capsys, "trace", "made", PROMPT, "--fold")
    assert "same shape: masked weights" in folded
    assert "masked" not in rows_of(folded)
    _, err = said(capsys, "trace", "made", PROMPT, "--only", "blocks.9.*", code=2)
    assert "no row fits blocks.9.*" in err


def test_a_folded_table_shows_one_block_for_all() -> None:
    text = trace_table.table(golden_trace(), 80, fold=True)
    assert "⋯ blocks.1: as blocks.0" in text
    assert "blocks.1 ·" not in text


def test_a_row_that_disagrees_is_marked() -> None:
    found = golden_trace()
    wrong = dataclasses.replace(found.rows[5], replay=Proof(3e-3, 2e-5))
    rows = (*found.rows[:5], wrong, *found.rows[6:])
    broken = dataclasses.replace(found, rows=rows)
    assert "✗ 3e-03" in trace_table.table(broken, 80)
    assert "the first is blocks.0.k" in "\n".join(trace_table.summary(broken))
    assert '<span class="bad">✗ 3e-03</span>' in page(broken, ["a"], str)


@pytest.mark.parametrize(
    ("mean", "std", "text"),
    [
        (0.123456, 0.0201, "0.123±0.020"),
        (-1e-9, 1.0, "0.0±1.0"),
        (123.456, 12.0, "123±12"),
        (1e-5, 3.4e-5, "1.0e-5±3.4e-5"),
        (2.5, 0.0, "2.5"),
    ],
)
def test_a_mean_has_the_digits_that_its_deviation_leaves_it(mean, std, text) -> None:
    stats = type(golden_trace().rows[0].stats)(mean, std, 0, 1, 1, 0, 0, 0, 0, (1,) * 12)
    assert trace_table.spread(stats) == text


def test_the_lens_shows_a_line_per_layer(run: Run, capsys) -> None:
    out, _ = said(capsys, "trace", "made", PROMPT, "--lens")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["tok", "blocks.0"]
    assert lines[1].count("%") == 5


def test_attention_is_drawn_head_by_head(run: Run, capsys) -> None:
    out, _ = said(capsys, "trace", "made", PROMPT, "--attention")
    maps = [line.split() for line in out.splitlines()[2:9]]
    assert [cells[0] for cells in maps] == list("Un␣gato")
    for i, (_, *heads) in enumerate(maps):
        assert len(heads) == 2
        for cells in heads:
            assert cells.endswith("·" * (6 - i))
            assert "·" not in cells[: i + 1]


def test_long_texts_show_the_end_of_a_map() -> None:
    heads = np.tril(np.ones((3, 50, 50)))
    lines = trace_views.maps(heads, [str(i) for i in range(50)], 40)
    assert max(map(len, lines)) <= 40
    assert lines[-1].split()[0] == "49"
    assert lines.index("    head 2") > 36 * 2


def test_wide_letters_take_two_columns_beside_a_map() -> None:
    names = ["日本語", "a", "日本日本日本日"]
    lines = trace_views.maps(np.tril(np.ones((1, 3, 3))), names, 60)[1:]
    assert lines == ["      日本語  █··", "           a  ██·", " 日本日本日…  ███"]
    cone = trace_views.cone([Reach("tok", (0.0, 1.0, 1.0))], names, 60).split("\n")
    assert cone[:2] == ["row  ▯a▯", "tok  ·██"]


def test_the_light_cone_and_the_account_are_those_of_the_library(run: Run, capsys) -> None:
    model = find_model("made")
    ids = model.tokenizer.encode(PROMPT)
    out, _ = said(capsys, "trace", "made", PROMPT, "--light-cone", "2", "--account", "g")
    reaches, found = light_cone(model.gpt, ids, 2), account(model.gpt, ids, token=ord("g"))
    cone = dict(line.split() for line in out.split("\n\n")[0].splitlines()[1:-1])
    assert [*cone] == [reach.name for reach in reaches]
    assert cone["tok"][:2] == "··"
    assert cone["logits"][:2] == "··"
    assert "·" not in cone["logits"][2:]
    assert "logit of g (position 6)" in out
    assert f"{found.total:+10.4f}" in out
    first = max(found.entries, key=lambda entry: abs(entry.amount))
    assert out.split("\n\n")[1].splitlines()[1].startswith(first.name)
    record = json.loads(
        said(capsys, "trace", "made", PROMPT, "--json", "--light-cone", "2", "--account")[0]
    )
    VALIDATOR.validate(record)
    assert [reach["row"] for reach in record["light_cone"]] == [reach.name for reach in reaches]
    assert record["account"]["error"] < 1e-5
    assert from_json(record).ok


def test_values_are_printed_or_stored(run: Run, capsys) -> None:
    out, _ = said(capsys, "trace", "made", PROMPT, "--values", "--only", "blocks.0.weights")
    assert out.startswith("blocks.0.weights  1×2×7×7\n[[[[1.")
    said(capsys, "trace", "made", PROMPT, "--values", "all.npz")
    with np.load("all.npz") as arrays:
        logits = np.array(find_model("made").gpt(mx.array([list(PROMPT.encode())])))
        assert np.array_equal(arrays["logits"], logits)
        assert len(arrays.files) == 31
    _, err = said(capsys, "trace", "made", PROMPT, "--values", "all.txt", code=2)
    assert "all.txt" in err


def test_gradients_need_two_tokens(run: Run, capsys) -> None:
    out, _ = said(capsys, "trace", "made", PROMPT, "--grad", "--json")
    assert all(row["grad"] for row in json.loads(out)["rows"] if row["part"] != "sampling")
    out, err = said(capsys, "trace", "made", "U", "--grad", "--json", code=2)
    assert json.loads(out)["error"] in err
    assert "two tokens" in err


def test_the_json_is_valid_and_says_where_it_is_from(run: Run, capsys) -> None:
    out, _ = said(capsys, "trace", "made", PROMPT, "--json", "--dtype", "bfloat16")
    record = json.loads(out)
    VALIDATOR.validate(record)
    assert record["made"]["dtype"] == "bfloat16"
    assert record["checkpoint"] == {"source": "made, step 10"}
    assert record["input"]["tokens"] == [list("Un␣gato")]
    assert len(record["lens"]) == 2
    assert from_json(record).ok


class Page(HTMLParser):
    """Collects the tags of a page and complains where they do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        if tag not in ("meta", "img", "rect"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag != "rect":
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_stands_alone_and_escapes_what_it_shows(run: Run, capsys) -> None:
    said(capsys, "trace", "made", "<b>&", "--html", "page.html")
    html = Path("page.html").read_text(encoding="utf-8")
    parsed = Page()
    parsed.feed(html)
    assert parsed.open == []
    assert parsed.found.count("details") == 31
    assert parsed.found.count("img") == 2
    assert "b" not in parsed.found
    assert "script" not in parsed.found
    assert "http" not in html
    assert "Softmax turns the scores" in parsed.text


def test_a_picture_is_a_png_of_the_weights() -> None:
    png = base64.b64decode(picture(np.array([[1.0, 0.0], [0.5, np.nan]])).partition(",")[2])
    assert struct.unpack(">II", png[16:24]) == (2, 2)
    start = png.index(b"IDAT")
    length = struct.unpack(">I", png[start - 4 : start])[0]
    assert list(zlib.decompress(png[start + 4 : start + 4 + length])) == [0, 0, 255, 0, 128, 255]


def test_two_checkpoints_part_at_the_first_row(run: Run, capsys) -> None:
    out, _ = said(capsys, "trace", "diff", "made", "made", PROMPT)
    assert "no row past tolerance (31)" in out
    out, _ = said(
        capsys, "trace", "diff", "made", "made", PROMPT, "--checkpoint-b", "latest", code=1
    )
    assert out.splitlines()[-1] == "first past tolerance: tok"


def test_precisions_prompts_and_saved_traces_are_compared(run: Run, capsys) -> None:
    bf16 = ["trace", "diff", "made", "made", PROMPT, "--dtype-b", "bfloat16"]
    assert "✗" not in said(capsys, *bf16)[0]
    tight = json.loads(said(capsys, *bf16, "--tolerance", "1e-7", "--json", code=1)[0])
    assert tight["first"] == "tok"
    assert tight["rows"][0]["by"] == "values"
    out, _ = said(capsys, "trace", "diff", "made", "made", "Un", "--prompt-b", "Uno", code=1)
    assert "first past tolerance: tok" in out
    assert "shape" in out
    Path("a.json").write_text(said(capsys, "trace", "made", PROMPT, "--json")[0], encoding="utf-8")
    assert load(Path("a.json")).ok
    out, _ = said(capsys, "trace", "diff", "a.json", "made", PROMPT)
    assert "statistics" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trace", "made", "Un", "gato"], "gato is a word too many"),
        (["trace", "diff", "made"], "compares two"),
        (["trace", "diff", "made", "made", "a", "b"], "compares two"),
        (["trace", "made", "ab", "--light-cone", "2"], "position 2 is outside the 2 tokens"),
        (["trace", "made", "ab", "--account", "xy"], "is 2 tokens"),
        (["trace", "diff", "none.json", "made"], "cannot read"),
    ],
)
def test_what_makes_no_sense_is_refused(run: Run, capsys, words: list[str], message: str) -> None:
    assert message in said(capsys, *words, code=2)[1]


def test_a_long_prompt_is_cropped_aloud_and_an_empty_one_starts_a_text(run: Run, capsys) -> None:
    out, err = said(capsys, "trace", "made", "a" * 20, "--json")
    assert "the last 16 are traced" in err
    assert json.loads(out)["dims"]["T"] == 16
    assert json.loads(said(capsys, "trace", "made", "--json")[0])["input"]["ids"] == [[256]]


def test_a_file_that_cannot_be_written_is_refused(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    for option, name in (("--html", "taken"), ("--values", "taken.npz")):
        Path(name).mkdir()
        err = said(capsys, "trace", "made", "a", option, name, code=2)[1]
        assert err == f"mlx-gpt: cannot write {option} {name}: Is a directory; name another\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["made", "a", "--tolerance", "1"], "--tolerance goes with trace diff A B"),
        (["made", "a", "--prompt-b", ""], "--prompt-b goes with trace diff A B"),
        (["diff", "made", "made", "a", "--tolerance", "nan"], "--tolerance nan: must be at least"),
        (["diff", "made", "made", "a", "--tolerance", "-1"], "--tolerance -1.0: must be at least"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    words: list[str], message: str, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in said(capsys, "trace", *words, code=2)[1]
