"""The commands that load a model: sample and eval."""

import io
import json
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from mlx_gpt.device import mx

import numpy as np
import pytest
from mlx.utils import tree_flatten

from mlx_gpt import checkpoint
from mlx_gpt.cli import main
from mlx_gpt.commands.eval import total_nats, windows
from mlx_gpt.commands.models import find_model
from mlx_gpt.commands.sample import Request, show
from mlx_gpt.config import Config, DataConfig, ModelConfig, SampleConfig, dump
from mlx_gpt.data import eval_batches
from mlx_gpt.errors import UserError
from mlx_gpt.kernels import cross_entropy
from mlx_gpt.model import GPT
from mlx_gpt.run import Run
from mlx_gpt.sampling import Clock, Sample, Token
from mlx_gpt.tokenizer import ByteTokenizer, train_sentencepiece

TEXT = "Había una vez un gato. It slept all day.\n" * 30
MODEL = ModelConfig(vocab_size=257, context_length=16, d_model=16, n_layers=1, n_heads=2)


def save(run: Run, model: GPT, step: int, fingerprint: str, *, best: bool = False) -> None:
    """A checkpoint without an optimizer's arrays."""
    arrays = dict(tree_flatten(model.parameters(), destination={}))
    nothing = {"first": mx.zeros(1)}
    checkpoint.save(run, step, arrays, nothing, {"tokenizer": fingerprint}, best, keep_last=9)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run on bytes with two checkpoints, 10 the best and 20 the latest, in ./runs."""
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(TEXT, encoding="utf-8")
    made = Run(Path("runs/made"))
    made.path.mkdir(parents=True)
    data = DataConfig(files=("text.txt",), tokenizer="bytes")
    config = Config(model=MODEL, data=data, sample=SampleConfig(max_tokens=12, temperature=0.5))
    made.config_toml.write_text(dump(config), encoding="utf-8")
    save(made, GPT(MODEL, seed=1), 10, ByteTokenizer.fingerprint, best=True)
    save(made, GPT(MODEL, seed=2), 20, ByteTokenizer.fingerprint)
    return made


def weights(model: GPT) -> np.ndarray:
    """Enough to tell two models apart."""
    return np.array(model.embedding.weight)


def said(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> tuple[str, str]:
    """What a command prints on stdout and stderr."""
    assert main(argv) == code
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_the_best_checkpoint_is_taken_unless_another_is_named(run: Run) -> None:
    first, second = weights(GPT(MODEL, seed=1)), weights(GPT(MODEL, seed=2))
    for name in ("made", "runs/made", None, "runs/made/checkpoints/step_000010"):
        assert np.array_equal(weights(find_model(name).gpt), first)
    assert find_model("made").source == "made, step 10"
    assert np.array_equal(weights(find_model("made", which="latest").gpt), second)
    assert np.array_equal(weights(find_model("made", which="20").gpt), second)
    with pytest.raises(UserError, match="no checkpoint 15"):
        find_model("made", which="15")


def test_nothing_named_is_the_newest_run_with_a_checkpoint(run: Run) -> None:
    for name, time in (("older", 1000), ("empty", 4e9)):
        other = Run(Path("runs") / name)
        other.checkpoints.mkdir(parents=True)
        other.config_toml.write_text(run.config_toml.read_text())
        os.utime(other.config_toml, (time, time))
    save(Run(Path("runs/older")), GPT(MODEL, seed=3), 5, ByteTokenizer.fingerprint)
    assert find_model(None).source == "made, step 10"


def test_without_a_run_the_small_model_is_used_and_the_way_to_a_run_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = find_model(None)
    assert model.source.startswith("small")
    assert "train your own: mlx-gpt train" in model.notes[0]
    assert model.gpt.config == find_model("small").gpt.config


def test_an_unknown_model_is_refused_with_the_nearest_name(run: Run) -> None:
    with pytest.raises(UserError, match=r"no model mde; did you mean made\?"):
        find_model("mde")


def test_a_preset_has_fresh_weights_and_says_so(run: Run) -> None:
    model = find_model("toy")
    assert (model.run, model.tokenizer.name) == (None, "bytes")
    assert "not trained" in model.notes[0]
    with pytest.raises(UserError, match=r"vocab_size = 64 is too small for the 257"):
        find_model("mini")
    with pytest.raises(UserError, match="leave out --checkpoint best"):
        find_model("toy", which="best")


def test_a_run_hides_the_preset_of_its_name(run: Run) -> None:
    run.path.rename("runs/toy")
    assert find_model("toy").source == "toy, step 10"


def test_a_tokenizer_retrained_after_the_model_is_an_error(run: Run) -> None:
    old = train_sentencepiece(TEXT.splitlines(), 290)
    new = train_sentencepiece([TEXT, "xyz"], 295)
    config = Config(model=ModelConfig(vocab_size=400, context_length=16, d_model=16, n_heads=2))
    run.config_toml.write_text(dump(config), encoding="utf-8")
    save(run, GPT(config.model), 30, old.fingerprint, best=True)
    old.save(run.path)
    assert find_model("made").tokenizer.fingerprint == old.fingerprint
    new.save(run.path)
    with pytest.raises(UserError, match="not the one that step_000030 was trained with"):
        find_model("made")


def test_weights_of_another_shape_are_refused_with_both(run: Run) -> None:
    text = run.config_toml.read_text().replace("d_model = 16", "d_model = 32")
    run.config_toml.write_text(text.replace("d_ff = 64", "d_ff = 128"))
    with pytest.raises(UserError, match=r"\(257, 16\).*\(257, 32\)"):
        find_model("made")


def test_text_is_the_prompt_and_what_follows(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(capsys, "sample", "made", "Había", "--seed", "7")
    record = json.loads(said(capsys, "sample", "made", "Había", "--seed", "7", "--json")[0])
    assert out == f"Había{record['text']}\n"
    assert err.startswith("seed 7 · 12 tokens at ")
    assert "ended at max_tokens" in err


def test_json_has_every_token_with_its_rivals(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capsys, "sample", "made", "ñ", "--seed", "7", "--json", "--top", "3")
    record = json.loads(out)
    assert record["prompt"] == "ñ"
    assert (record["seed"], record["finish"], len(record["ids"])) == (7, "length", 12)
    assert record["text"] == ByteTokenizer().decode(record["ids"])
    assert [token["id"] for token in record["tokens"]] == record["ids"]
    for token in record["tokens"]:
        assert token["text"] == bytes([token["id"]]).decode("utf-8", "replace")
        assert 0 < token["p"] <= token["top"][0]["p"] < 1
        assert len(token["top"]) == 3
    assert record["prefill_seconds"] > 0
    assert record["tokens_per_second"] > 0


def test_several_samples_are_a_json_line_each_or_text_under_headings(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("sample", "made", "A", "-n", "3", "--seed", "7")
    records = [json.loads(line) for line in said(capsys, *options, "--json")[0].splitlines()]
    texts = [record["text"] for record in records]
    assert len(set(texts)) == 3
    parts = [f"--- {i}/3 ---\nA{text}\n" for i, text in enumerate(texts, 1)]
    assert said(capsys, *options)[0] == "".join(parts)
    alone = json.loads(said(capsys, *options[:3], "--seed", "7", "--json")[0])
    assert alone["text"] == texts[0]


def test_without_a_seed_two_texts_differ_and_each_seed_gives_its_text_again(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (json.loads(said(capsys, "sample", "made", "--json")[0]) for _ in range(2))
    assert first["seed"] != second["seed"]
    assert first["ids"] != second["ids"]
    again = said(capsys, "sample", "made", "--json", "--seed", str(first["seed"]))[0]
    assert json.loads(again)["ids"] == first["ids"]


@pytest.mark.parametrize("prompt", ["", " ", "\n", "¿ñ🙂"])
def test_any_prompt_can_begin(run: Run, prompt: str, capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads(said(capsys, "sample", "made", prompt, "--json")[0])
    assert record["prompt"] == prompt
    assert record["ids"]


def test_no_tokens_are_an_empty_result(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads(said(capsys, "sample", "made", "A", "--json", "--max-tokens", "0")[0])
    assert (record["text"], record["ids"], record["finish"]) == ("", [], "length")
    assert said(capsys, "sample", "made", "A", "--max-tokens", "0")[0] == "A\n"


def test_options_override_the_settings_of_the_run_and_are_checked(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("sample", "made", "A", "--json", "--temperature", "0", "--max-tokens", "20")
    cached, uncached = (
        json.loads(said(capsys, *options, *more)[0])["ids"] for more in ((), ("--no-cache",))
    )
    assert cached == uncached
    assert len(cached) == 20
    out, err = said(capsys, "sample", "made", "--json", "--top-p", "0", code=2)
    assert json.loads(out)["error"].startswith("sample.top_p = 0.0: must be above 0")
    assert "sample.top_p" in err
    assert "n = 0" in said(capsys, "sample", "made", "-n", "0", code=2)[1]


def test_the_stop_text_ends_a_sample(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("sample", "made", "A", "--seed", "3", "--json")
    whole = json.loads(said(capsys, *options)[0])["text"]
    stop = whole[4:6]
    record = json.loads(said(capsys, *options, "--stop", "never", "--stop", stop)[0])
    assert record["finish"] == "stop"
    assert record["text"] == whole.partition(stop)[0]


def test_a_prompt_longer_than_the_context_is_announced(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    _, err = said(capsys, "sample", "made", "x" * 40)
    assert "The prompt has 40 tokens; the model sees the last 16" in err
    assert "The prompt has" not in said(capsys, "sample", "made", "x" * 16)[1]


def test_a_dash_reads_the_prompt_from_stdin(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("año\n".encode())))
    assert json.loads(said(capsys, "sample", "made", "-", "--json")[0])["prompt"] == "año\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\xff")))
    assert "not UTF-8 (byte 1)" in said(capsys, "sample", "made", "-", code=2)[1]


def test_a_lone_surrogate_is_refused(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    # What the shell hands over as \udc80 is a byte that is not UTF-8.
    assert "not UTF-8 (byte 1)" in said(capsys, "sample", "made", "a\udc80", code=2)[1]
    assert "surrogate" in said(capsys, "sample", "made", "a\ud800", code=2)[1]


def test_a_diverged_model_is_refused(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    broken = GPT(MODEL)
    broken.embedding.weight = broken.embedding.weight * math.nan
    save(run, broken, 30, ByteTokenizer.fingerprint, best=True)
    assert "diverged" in said(capsys, "sample", "made", code=2)[1]
    assert "diverged" in said(capsys, "eval", "made", "text.txt", code=2)[1]


def growing_until_interrupted(text: bytes) -> Iterator[list[Sample]]:
    """A sample that someone stops with Ctrl-C."""
    sample = Sample(ByteTokenizer())
    for byte in text:
        sample.add(Token(byte, 1.0, ()))
        yield [sample]
    raise KeyboardInterrupt


def test_ctrl_c_keeps_the_text_and_gives_130(capsys: pytest.CaptureFixture[str]) -> None:
    request = Request("On", [79, 110], SampleConfig(), 5)
    assert show(growing_until_interrupted(b"ce up"), request, Clock()) == 130
    captured = capsys.readouterr()
    assert captured.out == "Once up\n"
    assert "interrupted" in captured.err


def test_control_characters_are_harmless_on_a_terminal_and_exact_in_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    request = Request("\x1b[31m", [], SampleConfig(), 5)
    show(growing_until_interrupted(b"\x1b[2Jx"), request, Clock())
    assert capsys.readouterr().out == "\x1b[31m\x1b[2Jx\n"
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    show(growing_until_interrupted(b"\x1b[2Jx[/]"), request, Clock())
    assert capsys.readouterr().out == "␛[31m␛[2Jx[/]\n"


@pytest.mark.parametrize("stride", [1, 3, 7, 8])
@pytest.mark.parametrize("n_tokens", [2, 8, 9, 10, 24, 25, 50])
def test_windows_score_each_token_once_with_the_context_promised(
    n_tokens: int, stride: int
) -> None:
    scored: list[int] = []
    for start, length, count in windows(n_tokens, 8, stride):
        assert length <= 8
        targets = range(start + length - count + 1, start + length + 1)
        scored += targets
        for target in targets:
            assert target - start >= min(target, 8 - stride + 1)
    assert scored == list(range(1, n_tokens))


@pytest.mark.parametrize("stride", [1, 5, 16])
@pytest.mark.parametrize("length", [2, 16, 17, 18, 100])
def test_the_loss_is_that_of_each_token_after_its_context(stride: int, length: int) -> None:
    model = GPT(MODEL, seed=4)
    model.embedding.weight = model.embedding.weight * 30
    tokens = np.random.default_rng(0).integers(0, 257, length)
    by_hand = 0.0
    for start, n_read, count in windows(length, 16, stride):
        logits = np.array(model(mx.array(tokens[None, start : start + n_read]))[0], np.float64)
        for i in range(n_read - count, n_read):
            by_hand += np.log(np.exp(logits[i]).sum()) - logits[i, tokens[start + i + 1]]
    assert total_nats(model, tokens, stride) == pytest.approx(by_hand, rel=1e-6)


def test_without_a_stride_the_loss_is_that_of_training() -> None:
    model = GPT(MODEL, seed=4)
    tokens = np.random.default_rng(0).integers(0, 257, 100)
    losses = [
        np.array(cross_entropy(model(mx.array(inputs)), mx.array(targets))).ravel()
        for inputs, targets in eval_batches(tokens, 16, 4, 0)
    ]
    total = np.concatenate(losses).sum()
    assert total_nats(model, tokens, 16) == pytest.approx(total, rel=1e-6)


def test_eval_tells_loss_perplexity_and_bits(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capsys, "eval", "made", "text.txt", "--json")[0])
    n_bytes = len(TEXT.encode())
    assert found["tokens"] == n_bytes + 1
    assert found["bytes"] == n_bytes
    assert found["loss"] == pytest.approx(math.log(257), rel=0.03)
    assert found["perplexity"] == pytest.approx(math.exp(found["loss"]))
    nats = found["loss"] * found["tokens"]
    assert found["bits_per_byte"] == pytest.approx(nats / math.log(2) / n_bytes)
    assert found["characters"] == len(TEXT) < n_bytes
    assert found["bits_per_character"] == pytest.approx(nats / math.log(2) / len(TEXT))
    assert f"{found['loss']:.4f}" in said(capsys, "eval", "made", "text.txt")[0]


def test_eval_without_a_file_takes_the_validation_part_of_the_run(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    run.data_json.write_text('{"sha256": "of another text"}')
    out, err = said(capsys, "eval", "made", "--json")
    assert "validation part of run made" in err
    assert "has changed since the training" in err
    n_val = int((len(TEXT.encode()) + 2) * 0.1)
    assert json.loads(out)["tokens"] == n_val - 1
    assert json.loads(out)["bytes"] == n_val - 2
    assert "no text of its own" in said(capsys, "eval", "toy", code=2)[1]


@pytest.mark.parametrize("stride", ["0", "17", "-1"])
def test_a_stride_that_would_leave_tokens_out_is_refused(
    run: Run, capsys: pytest.CaptureFixture[str], stride: str
) -> None:
    assert (
        "outside 1 to 16" in said(capsys, "eval", "made", "text.txt", "--stride", stride, code=2)[1]
    )


def test_more_samples_than_fit_into_memory_are_refused(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    err = said(capsys, "sample", "made", "a", "-n", str(10**20), code=2)[1]
    assert f"-n {10**20} needs about " in err
    assert "ask for fewer at a time" in err


@pytest.mark.parametrize("facts", ["[1]", '"text"', "{}", "3"])
def test_eval_does_without_the_facts_of_the_text_where_they_are_damaged(
    facts: str, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    run.data_json.write_text(facts, encoding="utf-8")
    assert "perplexity" in said(capsys, "eval", "made")[0]
