"""The process that answers about a model: what it says, and how it ends."""

import base64
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mlx_gpt.device import mx

import mlx.nn as nn
import numpy as np
import pytest
from mlx.utils import tree_flatten
from small_model import CONFIG, small_gpt, small_run

from mlx_gpt import worker as module
from mlx_gpt.config import SampleConfig
from mlx_gpt.errors import UserError
from mlx_gpt.run import Record
from mlx_gpt.sampling import generate
from mlx_gpt.tracefile import from_json
from mlx_gpt.tracing import Edit, Tape
from mlx_gpt.training import mean_loss
from mlx_gpt.worker import Request, Worker

PROMPT = "abcdef"
IDS = list(PROMPT.encode())


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    small_run(folder, steps=(10, 20))
    return folder


@pytest.fixture(scope="module")
def worker(root: Path) -> Worker:
    made = Worker()
    ask(made, "load", model="small", root=str(root))
    return made


def stream(worker: Worker, do: str, **fields: Any) -> list[Record]:
    return list(worker.answer(Request({"do": do, **fields})))


def ask(worker: Worker, do: str, **fields: Any) -> Record:
    (record,) = stream(worker, do, **fields)
    return record


def array(record: Record) -> np.ndarray:
    numbers = np.frombuffer(base64.b64decode(record["data"]), np.dtype(record["dtype"]))
    return numbers.reshape(record["shape"])


def rows(edits: Mapping[str, Edit] | None = None) -> dict[str, np.ndarray]:
    tape = Tape("*", edits=edits)
    small_gpt(seed=10)(mx.array([IDS]), tap=tape)
    return {name: np.array(x) for name, x in tape.rows.items()}


# What it says


def test_a_model_is_loaded_with_its_step_and_every_piece_in_readable_form(root: Path):
    facts = ask(Worker(), "load", model="small", root=str(root))
    assert facts["step"] == 10
    assert len(facts["pieces"]) == CONFIG.vocab_size
    assert [facts["pieces"][token] for token in (97, 0xC3, 256)] == ["a", "‹C3›", "‹end›"]


def test_the_newest_checkpoint_is_loaded_where_it_is_asked_for(root: Path):
    made = Worker()
    assert ask(made, "load", model="small", root=str(root), checkpoint="latest")["step"] == 20
    assert ask(made, "load", model="small", root=str(root), checkpoint=10)["step"] == 10


def test_a_sample_is_that_of_the_sampler_token_by_token(worker: Worker):
    settings = {"temperature": 0.7, "max_tokens": 5, "top_k": 9}
    first, *answers, end = stream(worker, "sample", prompt=PROMPT, seed=3, n=2, settings=settings)
    expected = generate(
        small_gpt(seed=10), IDS, SampleConfig(**settings), seed=3, end_id=256, n=2, top=257
    )
    assert first == {"prompt": IDS, "texts": list(PROMPT), "seed": 3}
    for answer, row in zip(answers, expected, strict=True):
        for told, token in zip(answer["tokens"], row, strict=True):
            if token is None:
                assert told is None
                continue
            assert (told["id"], told["p"], told["logit"]) == (token.id, token.p, token.logit)
            assert array(told["ids"]).tolist() == [rival.id for rival in token.top]
            assert array(told["ps"]) == pytest.approx([rival.p for rival in token.top])
    assert len(end["finish"]) == 2
    assert end["tokens_per_second"] > 0


def test_a_sample_goes_on_from_ids_as_it_would_have_by_itself(worker: Worker):
    settings = {"max_tokens": 6}
    whole = stream(worker, "sample", prompt=PROMPT, seed=5, settings=settings)[1:-1]
    ids = [answer["tokens"][0]["id"] for answer in whole]
    later = stream(worker, "sample", ids=[*IDS, *ids[:2]], seed=5, settings={"max_tokens": 4})
    assert [answer["tokens"][0]["id"] for answer in later[1:-1]] == ids[2:]


def test_without_a_seed_the_seed_that_was_taken_is_told(worker: Worker):
    first, *_ = stream(worker, "sample", prompt=PROMPT, settings={"max_tokens": 4})
    again, *_ = stream(worker, "sample", prompt=PROMPT, settings={"max_tokens": 4})
    assert first["seed"] != again["seed"]


def test_a_sample_that_is_cancelled_ends_after_the_token_it_is_at(root: Path):
    made = Worker(stopped=lambda request_id: request_id == 7)
    ask(made, "load", model="small", root=str(root))
    request = Request({"id": 7, "do": "sample", "prompt": PROMPT, "settings": {"max_tokens": 50}})
    *answers, end = made.answer(request)
    assert len(answers) == 2
    assert end["finish"] == ["stopped"]


def test_a_trace_is_whole_and_proves_itself(worker: Worker):
    answer = ask(worker, "trace", prompt=PROMPT)
    trace = from_json(answer["trace"])
    assert trace.ok
    assert trace.loss is not None
    assert {"tok", "blocks.1.weights", "logits", "nll", "token"} <= {row.name for row in trace.rows}
    assert trace.checkpoint == {"source": "small, step 10", "step": 10}
    assert answer["ids"] == IDS


def test_a_prompt_longer_than_the_context_keeps_its_end(worker: Worker):
    answer = ask(worker, "trace", prompt="x" + "0123456789abcdef")
    assert (len(answer["ids"]), answer["cut"]) == (16, 1)


def test_a_row_comes_whole_with_the_numbers_of_the_forward_pass(worker: Worker):
    expected = rows()
    for name in ("tok", "blocks.0.q_rot", "blocks.1.weights", "logits"):
        answer = ask(worker, "value", prompt=PROMPT, row=name)
        assert np.array_equal(array(answer["value"]), expected[name]), name


@pytest.mark.parametrize(
    ("axes", "index", "pick"),
    [
        ([2, 3], [0, 1, 0, 0], lambda x: x[0, 1]),
        ([3, 1], [0, 0, 4, 0], lambda x: x[0, :, 4, :].T),
        ([0, 2], [0, 2, 0, 3], lambda x: x[:, 2, :, 3]),
    ],
)
def test_a_slice_is_two_axes_with_the_others_at_their_index(
    worker: Worker, axes: list[int], index: list[int], pick: Any
):
    fields = {"prompt": PROMPT, "row": "blocks.0.q", "axes": axes, "index": index}
    found = array(ask(worker, "value", **fields)["value"])
    assert np.array_equal(found, pick(rows()["blocks.0.q"]))


def test_a_slice_can_begin_anywhere(worker: Worker):
    fields = {"prompt": PROMPT, "row": "blocks.0.q", "axes": [2, 3], "index": [0, 0, 0, 0]}
    found = ask(worker, "value", **fields, at=[2, 1])
    assert np.array_equal(array(found["value"]), rows()["blocks.0.q"][0, 0, 2:, 1:])
    assert found["cropped"]


def test_attention_is_that_of_the_forward_pass(worker: Worker):
    expected = rows()["blocks.1.weights"][0]
    everyone = ask(worker, "attention", prompt=PROMPT, layer=1)
    second = ask(worker, "attention", prompt=PROMPT, layer=1, head=2)
    assert np.array_equal(array(everyone["value"]), expected)
    assert np.array_equal(array(second["value"]), expected[2])


def test_the_lens_reads_the_stream_at_the_position_asked_for(worker: Worker):
    answer = ask(worker, "lens", prompt=PROMPT, position=3, top=1)
    logits = rows()["logits"][0, 3]
    last = answer["lens"][-1]
    assert last["top"][0]["id"] == int(logits.argmax())
    assert last["norm"] == pytest.approx(
        float(np.linalg.norm(rows()["blocks.1.resid_ffn"][0, 3])), rel=1e-5
    )


def test_the_account_adds_up_to_the_logit(worker: Worker):
    answer = ask(worker, "account", prompt=PROMPT, position=2)
    logits = rows()["logits"][0, 2]
    assert answer["logit"] == pytest.approx(float(logits.max()), rel=1e-6)
    total = sum(entry["amount"] for entry in answer["entries"])
    assert total == pytest.approx(answer["logit"], abs=1e-4)


def test_what_is_refused_to_a_reader_is_in_the_language_of_the_request(worker: Worker):
    with pytest.raises(UserError, match="un texto de dos tokens"):
        ask(worker, "gradients", prompt="a", language="es")
    with pytest.raises(UserError, match="a prompt of two tokens"):
        ask(worker, "gradients", prompt="a", language="en")


def test_gradients_are_those_of_the_loss_and_leave_the_model_as_it_was(worker: Worker):
    gpt = small_gpt(seed=10)
    tokens, targets = mx.array([IDS]), mx.array([IDS[1:]])
    loss, slopes = nn.value_and_grad(gpt, lambda: mean_loss(gpt(tokens)[:, :-1], targets))()
    flat: dict[str, mx.array] = dict(tree_flatten(slopes, destination={}))
    expected = {name: float(mx.linalg.norm(x.flatten())) for name, x in flat.items()}
    before = ask(worker, "trace", prompt=PROMPT)["trace"]["loss"]
    weight = worker.loaded.gpt.embedding.weight
    found = ask(worker, "gradients", prompt=PROMPT)
    assert worker.loaded.gpt.embedding.weight is weight
    assert found["loss"] == pytest.approx(float(loss), rel=1e-5)
    norms = {part["name"]: part["norm"] for part in found["gradients"]}
    assert norms == pytest.approx(expected, rel=1e-3)
    assert ask(worker, "trace", prompt=PROMPT)["trace"]["loss"] == before
    zeroed = ask(worker, "gradients", prompt=PROMPT, edits=[{"row": "blocks.0.attn_out"}])
    norms = {part["name"]: part["norm"] for part in zeroed["gradients"]}
    assert norms["blocks.0.attention.out_proj.weight"] == 0


def test_the_light_cone_begins_at_the_token_that_is_changed(worker: Worker):
    answer = ask(worker, "cone", prompt=PROMPT, position=2)
    changes = {row["name"]: row["changes"] for row in answer["rows"]}
    assert [change > 0 for change in changes["tok"]] == [i == 2 for i in range(6)]
    assert [change > 0 for change in changes["logits"]] == [i >= 2 for i in range(6)]


# Changing the model


def test_a_knocked_out_head_is_one_whose_context_is_zero(worker: Worker):
    edits = [{"row": "blocks.0.context", "how": "zero", "axis": 1, "at": 2}]
    found = ask(worker, "value", prompt=PROMPT, row="logits", edits=edits)["value"]

    def silence(x: mx.array, _: Any) -> mx.array:
        return mx.concatenate([x[:, :2], mx.zeros_like(x[:, 2:])], axis=1)

    expected = rows({"blocks.0.context": silence})["logits"]
    assert np.allclose(array(found), expected, atol=1e-5)
    assert not np.allclose(array(found), rows()["logits"], atol=1e-3)


@pytest.mark.parametrize(("how", "by"), [("scale", 2.0), ("shift", 0.5), ("zero", 0.0)])
def test_a_row_is_scaled_shifted_or_zeroed(worker: Worker, how: str, by: float):
    edits = [{"row": "blocks.0.down", "how": how, "by": by}]
    found = array(ask(worker, "value", prompt=PROMPT, row="blocks.0.down", edits=edits)["value"])
    before = rows()["blocks.0.down"]
    assert np.allclose(found, {"scale": before * by, "shift": before + by, "zero": 0}[how])


def test_the_first_row_that_differs_is_where_the_change_is_made(worker: Worker):
    sound, other = {"prompt": PROMPT}, {"prompt": "abcxef"}
    broken = {"prompt": PROMPT, "break": "mask_none"}
    edited = {"prompt": PROMPT, "edits": [{"row": "blocks.1.up"}]}
    assert ask(worker, "compare", a=sound, b=sound)["first"] is None
    assert ask(worker, "compare", a=sound, b=broken)["first"] == "blocks.0.masked"
    assert ask(worker, "compare", a=sound, b=edited)["first"] == "blocks.1.up"
    assert ask(worker, "compare", a=sound, b=other)["first"] == "tok"


@pytest.mark.parametrize("text", ["abcxef", "abcxefgh", "abcx"])
def test_the_causal_mask_shows_in_the_positions_that_differ(worker: Worker, text: str):
    sound = {"prompt": PROMPT}
    found = ask(worker, "compare", a=sound, b={"prompt": text})["gaps"]
    places = {gap["name"]: gap["at"] for gap in found if not gap["ok"]}
    assert {places[name] for name in ("tok", "blocks.0.k", "blocks.1.context", "logits")} == {3}
    assert places["nll"] == 2  # there the changed token was to be guessed
    early = {name for name, at in places.items() if at is not None and at < 2}
    assert early == {"blocks.0.scores", "blocks.1.scores"}  # there the mask comes after
    broken = ask(worker, "compare", a=sound, b={"prompt": PROMPT, "break": "mask_none"})["gaps"]
    assert {gap["name"]: gap["at"] for gap in broken}["blocks.0.masked"] == 0


def test_a_break_shows_in_the_rows_it_is_made_in(worker: Worker):
    trace = from_json(ask(worker, "trace", prompt=PROMPT, **{"break": "mask_none"})["trace"])
    wrong = [row.name for row in trace.rows if row.replay is not None and not row.replay.ok]
    assert wrong == ["blocks.0.masked", "blocks.1.masked"]


def test_the_labs_tell_which_of_them_notice_a_break(worker: Worker):
    labs = ["L03", "L08"]
    answers = stream(worker, "check", **{"break": "mask_none"}, labs=labs)
    verdicts = {answer["lab"]["id"]: answer["lab"] for answer in answers}
    assert [verdicts[lab]["ok"] for lab in labs] == [False, True]
    assert [verdicts[lab]["expected"] for lab in labs] == [True, False]
    assert verdicts["L03"]["name"] == {"en": "causality", "es": "causalidad"}
    assert all(answer["lab"]["ok"] for answer in stream(worker, "check", labs=labs))


def test_the_breaks_say_which_of_them_this_model_can_have(worker: Worker):
    offered = {each["name"]: each for each in ask(worker, "breaks")["breaks"]}
    assert offered["mask_none"]["fits"]
    assert offered["mask_none"]["es"] != offered["mask_none"]["en"]


# Faults in words


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"do": "dance"}, "there are load, encode, sample"),
        ({"do": 5}, "give a text"),
        ({"do": "trace", "prompt": 5}, "prompt = 5: give a text"),
        ({"do": "trace", "ids": "ab"}, "give a list of whole numbers"),
        ({"do": "trace", "ids": [1, 999]}, "outside the vocabulary"),
        ({"do": "trace", "prompt": "a", "break": "mask_nonne"}, "mask_none"),
        ({"do": "trace", "prompt": "a", "edits": [{"row": "tock"}]}, "did you mean tok"),
        ({"do": "trace", "prompt": "a", "edits": [{"row": "tok", "how": "sing"}]}, "choose zero"),
        ({"do": "value", "prompt": "a", "row": "blocks.9.q"}, "no row blocks.9.q"),
        ({"do": "value", "prompt": "a", "row": "tok", "axes": [0, 7]}, "give at most two"),
        ({"do": "value", "prompt": "a", "row": "tok", "axes": [0, 1], "index": [0, 0, 99]}, "99"),
        ({"do": "attention", "prompt": "a", "layer": 2}, "layers 0 to 1"),
        ({"do": "attention", "prompt": "a", "head": 3}, "heads 0 to 2"),
        ({"do": "lens", "prompt": "ab", "position": 2}, "the prompt has 2 tokens"),
        ({"do": "sample", "settings": {"heat": 1}}, "no setting sample.heat"),
        ({"do": "sample", "settings": {"temperature": -1}}, "must be at least 0"),
        ({"do": "sample", "settings": 5}, "give an object"),
        ({"do": "sample", "n": 0}, "whole number from 1"),
        ({"do": "load", "model": "no-such-model", "root": "/nowhere"}, "no model no-such-model"),
    ],
)
def test_a_wrong_request_is_refused_with_its_value_and_what_to_do(
    worker: Worker, fields: Record, words: str
):
    with pytest.raises(UserError, match=words):
        stream(worker, **fields)


def test_nothing_is_answered_before_a_model_is_loaded():
    with pytest.raises(UserError, match="send load first"):
        stream(Worker(), "trace", prompt="a")


def test_every_request_stands_in_the_table_of_the_protocol():
    with pytest.raises(UserError) as refused:
        stream(Worker(), "")
    known = str(refused.value).partition("there are ")[2].replace(" and ", ", ").split(", ")
    table = [
        line.split("|")[1].strip() for line in (module.__doc__ or "").splitlines() if "| " in line
    ]
    assert [name for name in table if name not in ("do",)] == known


# The process


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen(
        [sys.executable, "-m", "mlx_gpt.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with child:
        yield child
        child.kill()


def say(process: subprocess.Popen[bytes], *lines: str) -> None:
    assert process.stdin is not None
    process.stdin.write("".join(f"{line}\n" for line in lines).encode())
    process.stdin.flush()


def hear(process: subprocess.Popen[bytes]) -> list[Record]:
    """The lines up to the end of an answer."""
    assert process.stdout is not None
    heard: list[Record] = []
    while not heard or not heard[-1].get("done"):
        heard.append(json.loads(process.stdout.readline()))
    return heard


def test_the_process_answers_lines_with_lines_and_survives_garbage(
    process: subprocess.Popen[bytes], root: Path
):
    load = {"id": 1, "do": "load", "model": "small", "root": str(root)}
    say(process, "no json", json.dumps(load), '{"id": "b", "do": "encode", "prompt": "añ"}')
    assert "one JSON object" in hear(process)[0]["error"]
    assert hear(process)[0]["step"] == 10
    answer, end = hear(process)
    assert (answer["id"], answer["texts"]) == ("b", ["a", "", "ñ"])
    assert end == {"id": "b", "done": True}


def test_a_cancelled_sample_stops_and_the_next_request_is_answered(
    process: subprocess.Popen[bytes], root: Path
):
    say(process, json.dumps({"id": 1, "do": "load", "model": "small", "root": str(root)}))
    hear(process)
    endless = {"id": 2, "do": "sample", "ids": [1], "seed": 0, "settings": {"max_tokens": 10**6}}
    say(process, json.dumps(endless))
    assert process.stdout is not None
    process.stdout.readline()
    say(process, '{"do": "cancel", "of": 2}', '{"id": 3, "do": "encode", "prompt": "a"}')
    *_, last, _ = hear(process)
    assert last["finish"][0] in ("stopped", "end")
    assert hear(process)[0]["ids"] == [97]


def test_the_process_ends_when_its_stdin_closes_even_in_the_middle_of_a_sample(
    process: subprocess.Popen[bytes], root: Path
):
    say(process, json.dumps({"id": 1, "do": "load", "model": "small", "root": str(root)}))
    hear(process)
    endless = {"id": 2, "do": "sample", "ids": [1], "seed": 0, "settings": {"max_tokens": 10**6}}
    say(process, json.dumps(endless))
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=10) == 0
