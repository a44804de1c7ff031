"""Models that come and go on the command line, and run folders that others can load."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlx_gpt.device import mx

import pytest
from foreign import BASE, CONFIGS, GOLDEN, filled
from mlx.utils import tree_flatten

from mlx_gpt import checkpoint
from mlx_gpt.cli import main
from mlx_gpt.commands.models import find_model
from mlx_gpt.commands.train import sort_words
from mlx_gpt.config import ModelConfig, load
from mlx_gpt.errors import UserError
from mlx_gpt.interop import bpe
from mlx_gpt.interop.families import family_of
from mlx_gpt.interop.folder import (
    build_gpt,
    export_run,
    exported_step,
    new_folder,
    open_folder,
    read_folder,
    write_model,
)
from mlx_gpt.interop.weights import read_safetensors
from mlx_gpt.model import GPT
from mlx_gpt.run import Run, saved_steps, step_name
from mlx_gpt.tokenizer import ByteTokenizer, Tokenizer

TEXT = "Había una vez un gato. It slept all day.\n" * 30
TRAIN = ["train", "mini", "text.txt", "--name", "made", "train.batch_size=2", "train.lr=1e-3"]
TRAIN += ["train.probe_tokens=0", "train.warmup=0", "model.context_length=16"]
IDS = mx.array([[72, 97, 98, 195, 173, 97, 32, 117]])


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a text."""
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(TEXT, encoding="utf-8")
    return tmp_path


def did(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    """The last JSON document that a command prints."""
    assert main([*argv, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out.strip().splitlines()[-1])


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """The sentence with which a command refuses."""
    assert main(list(argv)) == 2
    return capsys.readouterr().err


def train(*more: str) -> Run:
    """A short training on bytes."""
    assert main([*TRAIN, *more]) == 0
    return Run(Path("runs/made"))


def weights(model: GPT) -> dict[str, mx.array]:
    return dict(tree_flatten(model.parameters(), destination={}))


def same(first: GPT, second: GPT) -> bool:
    one, two = weights(first), weights(second)
    return one.keys() == two.keys() and all(mx.array_equal(one[name], two[name]) for name in one)


def foreign(name: str = "theirs", config: ModelConfig | None = None) -> Path:
    """A model folder from elsewhere, with a byte-level BPE of its own."""
    tokenizer = bpe.from_folder(GOLDEN / "bpe")
    config = config or replace(CONFIGS["llama-bias-gqa-untied"], vocab_size=410)
    folder = Path(name)
    folder.mkdir()
    write_model(folder, filled(config), tokenizer, family_of(config))
    table = json.loads((folder / "config.json").read_text())
    del table["mlx_gpt"]
    (folder / "config.json").write_text(json.dumps(table))
    return folder


# A run folder is a model folder


def test_a_run_folder_holds_the_best_model_in_the_layout_of_its_family() -> None:
    run = train("--steps", "12", "train.eval_every=4")
    best = checkpoint.load(checkpoint.best(run), with_optimizer=False)
    stored, tokenizer = open_folder(run.path)
    assert stored.step == best.step == exported_step(run.path)
    assert stored.config == load(run.config_toml).model
    assert all(mx.array_equal(stored.arrays[name], best.model[name]) for name in best.model)
    assert tokenizer.name == "bytes"
    table = json.loads((run.path / "config.json").read_text())
    assert (table["model_type"], table["eos_token_id"]) == ("gpt_neox", 256)
    assert json.loads((run.path / "generation_config.json").read_text())["eos_token_id"] == 256
    assert [path.name for path in run.path.glob("*.tmp*")] == []


def test_the_folder_alone_is_the_same_model_as_the_run() -> None:
    run = train("--steps", "4", "train.eval_every=4")
    trained = find_model("made")
    names = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
    Path("copy").mkdir()
    for name in names:
        shutil.copy(run.path / name, "copy")
    copied = find_model("copy")
    assert same(copied.gpt, trained.gpt)
    assert copied.tokenizer.fingerprint == trained.tokenizer.fingerprint
    assert (copied.config.sample, copied.source) == (trained.config.sample, "copy, step 4")
    shutil.rmtree(run.checkpoints)
    assert same(find_model("made").gpt, trained.gpt)
    with pytest.raises(UserError, match="copy has no checkpoints: leave out --checkpoint best"):
        find_model("copy", which="best")


def test_without_validation_the_folder_holds_the_newest() -> None:
    run = train("--steps", "6", "train.save_every=2", "data.val_fraction=0")
    assert exported_step(run.path) == 6


def test_a_worse_end_does_not_replace_the_best() -> None:
    run = train("--steps", "4", "train.eval_every=2")
    best = exported_step(run.path)
    worse = ["train.lr=0.3", "train.grad_clip=0", "train.schedule=constant", "train.eval_every=2"]
    assert main(["train", "--resume", "made", "--steps", "8", *worse]) == 0
    assert saved_steps(run)[-1] == 8
    assert exported_step(run.path) == best == checkpoint.load(checkpoint.best(run)).step


def test_what_a_kill_left_undone_is_done_at_the_next_save() -> None:
    run = train("--steps", "4", "train.eval_every=2")
    (run.path / "config.json").write_text("{")
    (run.path / "model.safetensors").write_bytes(b"half")
    worse = ["train.lr=0.3", "train.grad_clip=0", "train.schedule=constant"]
    assert main(["train", "--resume", "made", "--steps", "5", *worse]) == 0
    best = checkpoint.load(checkpoint.best(run), with_optimizer=False)
    assert exported_step(run.path) == best.step == 4
    arrays = read_folder(run.path).arrays
    assert all(mx.array_equal(arrays[name], best.model[name]) for name in best.model)


def test_a_model_without_a_family_is_kept_under_our_names() -> None:
    run = train("--steps", "2", "model.norm_order=post", "train.eval_every=2")
    assert json.loads((run.path / "config.json").read_text())["model_type"] == "mlx_gpt"
    Path("alone").mkdir()
    for path in run.path.glob("*.*"):
        if path.suffix in (".json", ".safetensors"):
            shutil.copy(path, "alone")
    assert same(find_model("alone").gpt, find_model("made").gpt)


def test_the_sentencepiece_model_comes_along() -> None:
    run = train("--steps", "2", "data.tokenizer=sentencepiece", "data.vocab_size=300")
    original = Run(run.path)
    _, tokenizer = open_folder(original.path)
    assert tokenizer.name == "sentencepiece"
    table = json.loads((run.path / "tokenizer.json").read_text())
    assert len(table["model"]["vocab"]) == tokenizer.vocab_size


def test_a_file_is_replaced_whole_or_not_at_all(place: Path) -> None:
    config = load(train("--steps", "2", "train.eval_every=2").config_toml)
    run = Path("runs/made")
    before = (run / "model.safetensors").read_bytes()
    (run / "tokenizer_config.json").unlink()
    (run / "tokenizer_config.json").mkdir()
    arrays = weights(GPT(config.model, seed=5))
    with pytest.raises(UserError, match="cannot write a model into"):
        export_run(run, config, arrays, ByteTokenizer(), 9)
    assert (run / "model.safetensors").read_bytes() == before
    assert exported_step(run) == 2
    assert list(run.glob(".*")) == []


# Import


def test_an_imported_folder_samples_and_evaluates(capsys: pytest.CaptureFixture[str]) -> None:
    source = foreign()
    report = did(capsys, "import", "theirs", "--as", "new")
    assert report["path"] == "runs/new"
    assert (report["family"], report["tokenizer"], report["vocab_size"]) == ("llama", "bpe", 410)
    original, tokenizer = open_folder(source)
    assert same(find_model("new").gpt, build_gpt(original))
    for name in ("new", "runs/new", "theirs"):
        sample = did(capsys, "sample", name, "Hola", "--temperature", "0", "--max-tokens", "5")
        assert sample["text"] == tokenizer.decode(sample["ids"])
        assert did(capsys, "eval", name, "text.txt")["bytes"] == len(TEXT.encode())
    assert did(capsys, "params", "new")["total"] == report["parameters"]
    assert "theirs has no text of its own" in refused(capsys, "eval", "theirs")


def test_a_name_that_is_taken_or_a_presets_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    foreign()
    did(capsys, "import", "theirs")
    assert "runs/theirs exists" in refused(capsys, "import", "theirs")
    assert "name of a preset" in refused(capsys, "import", "theirs", "--as", "gpt2")
    assert "has a slash" in refused(capsys, "import", "theirs", "--as", "up/../../x")
    assert "no model thers; did you mean theirs?" in refused(capsys, "sample", "thers")
    Path("theirs").rename("gpt2")
    assert did(capsys, "import", "./gpt2")["name"] == "gpt2-imported"


def test_an_id_comes_from_the_cache(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", "hub")
    repository = Path("hub/models--someone--tiny")
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("abc123")
    (repository / "snapshots").mkdir()
    foreign().rename(repository / "snapshots" / "abc123")
    assert did(capsys, "import", "someone/tiny")["name"] == "tiny"
    assert find_model("tiny").tokenizer.name == "bpe"


def test_a_refused_import_leaves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    source = foreign()
    path = source / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-5])
    assert "cut short" in refused(capsys, "import", "theirs")
    assert not Path("runs").exists() or list(Path("runs").iterdir()) == []


def test_a_folder_appears_when_it_is_complete() -> None:
    with new_folder(Path("runs/x")) as folder:
        (folder / "whole").write_text("x")
        assert not Path("runs/x").exists()
    assert [path.name for path in Path("runs").rglob("*")] == ["x", "whole"]
    with pytest.raises(UserError, match="cannot make runs/y"), new_folder(Path("runs/y")) as folder:
        folder.write_text("no file")
    assert [path.name for path in Path("runs").iterdir()] == ["x"]


def test_a_shorter_context_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    config = replace(CONFIGS["gpt2"], vocab_size=410)
    foreign(config=config)
    assert did(capsys, "import", "theirs", "--as", "s", "--context", "9")["context_length"] == 9
    assert find_model("s").gpt.positions.weight.shape == (9, 32)
    assert "only 48 positions" in refused(capsys, "import", "theirs", "--context", "99")
    for none in ("-1", "0"):
        assert f"--context {none}" in refused(capsys, "import", "theirs", "--context", none)


# Training on


def first_loss(run: Run) -> float:
    records = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    return next(record["val_loss"] for record in records if record["kind"] == "eval")


def test_an_imported_model_is_trained_further_from_its_own_weights(
    capsys: pytest.CaptureFixture[str],
) -> None:
    foreign()
    did(capsys, "import", "theirs", "--as", "new")
    settings = ["train.batch_size=2", "train.probe_tokens=0", "model.context_length=16"]
    settings += ["train.eval_windows=0", "train.eval_every=5", "train.lr=3e-3"]
    done = did(capsys, "train", "new", "text.txt", "--steps", "10", "--name", "tuned", *settings)
    run = Run(Path("runs/tuned"))
    config = load(run.config_toml)
    assert config.model == replace(find_model("new").config.model, context_length=16)
    assert done["val_loss"] < first_loss(run) - 0.05
    tuned = find_model("tuned")
    assert tuned.tokenizer.fingerprint == find_model("new").tokenizer.fingerprint
    assert not same(tuned.gpt, find_model("new").gpt)
    shutil.rmtree(Path("runs/new"))
    shutil.rmtree(Path("theirs"))
    assert main(["train", "--resume", "tuned", "--steps", "11", "--curve", "keep"]) == 0
    assert find_model("tuned", which="latest").source == "tuned, step 11"
    assert read_folder(run.path).config == config.model
    assert did(capsys, "eval", "tuned")["tokens"] > 0


def test_the_start_is_the_first_checkpoint(capsys: pytest.CaptureFixture[str]) -> None:
    """So a kill before the first save, or a training in the background, begins from it too."""
    stored = open_folder(foreign())[0]
    command = ["train", "theirs", "text.txt", "--steps", "1", "train.eval_every=100", "--name", "t"]
    did(capsys, *command, "train.save_every=100", "train.lr=0", "train.min_lr=0")
    run = Run(Path("runs/t"))
    assert saved_steps(run) == [0, 1]
    saved = checkpoint.load(run.checkpoints / step_name(0), with_optimizer=False)
    assert all(mx.array_equal(saved.model[name], stored.arrays[name]) for name in stored.arrays)


def test_a_run_can_be_trained_further_on_another_text(capsys: pytest.CaptureFixture[str]) -> None:
    train("--steps", "4", "train.eval_every=2")
    Path("other.txt").write_text("El perro ladra. " * 80, encoding="utf-8")
    did(capsys, "train", "made", "other.txt", "--steps", "2", "train.probe_tokens=0")
    run = Run(Path("runs/made-2"))
    config = load(run.config_toml)
    assert (config.data.tokenizer, config.model) == ("bytes", find_model("made").config.model)
    start = checkpoint.load(run.checkpoints / step_name(0), with_optimizer=False).model
    assert all(
        mx.array_equal(start[name], a) for name, a in weights(find_model("made").gpt).items()
    )


def test_the_shape_of_a_start_is_not_to_be_changed(capsys: pytest.CaptureFixture[str]) -> None:
    foreign()
    sentence = refused(capsys, "train", "theirs", "text.txt", "model.n_layers=3")
    assert "model.n_layers = 3: a model that is trained further keeps its 2" in sentence
    assert "keeps its" in refused(capsys, "train", "theirs", "text.txt", "data.tokenizer=bytes")
    longer = refused(capsys, "train", "theirs", "text.txt", "model.context_length=64")
    assert "only 48 positions" in longer
    assert not Path("runs").exists()


def test_a_fresh_model_can_be_trained_with_somebody_elses_tokenizer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    theirs = foreign()
    train("--steps", "2", "data.tokenizer=theirs")
    shown = did(capsys, "tokenizer", "encode", "theirs", "Había")["ids"]
    shutil.rmtree(theirs)
    assert find_model("made").tokenizer.encode("Había") == shown
    assert open_folder(Path("runs/made"))[1].name == "bpe"
    assert did(capsys, "tokenizer", "show", "runs/made")["name"] == "bpe"


def test_words_are_sorted_into_presets_models_and_texts() -> None:
    Path("runs").mkdir()
    foreign("runs/theirs")
    request = sort_words(["theirs", "text.txt", "train.lr=1"], Path("runs"))
    assert request.start == Path("runs/theirs")
    assert request.files == ("text.txt",)
    with pytest.raises(UserError, match="mini and theirs are presets or models"):
        sort_words(["mini", "theirs"], Path("runs"))
    with pytest.raises(UserError, match=r"no preset and no file thers; did you mean theirs\?"):
        sort_words(["thers"], Path("runs"))
    Path("theirs").mkdir()
    assert sort_words(["./theirs"], Path("runs")).files == ("./theirs",)


# Export


def made(tokenizer: Tokenizer | None = None, config: ModelConfig = BASE) -> Path:
    """A model folder in runs."""
    folder = Path("runs/m")
    folder.mkdir(parents=True)
    write_model(folder, filled(config), tokenizer or ByteTokenizer(), family_of(config))
    return folder


def test_export_and_back_is_the_same_model(capsys: pytest.CaptureFixture[str]) -> None:
    made()
    original = find_model("m")
    for to in ("hf", "safetensors", "gguf"):
        report = did(capsys, "export", "m", "--to", to)
        back = find_model(report["path"])
        assert mx.array_equal(back.gpt(IDS), original.gpt(IDS))
        assert back.tokenizer.name == "bytes"
        assert report["bytes"] > 100_000
        assert f"{report['path']} exists" in refused(capsys, "export", "m", "--to", to)
    table = json.loads(Path("m-safetensors/config.json").read_text())
    assert table["model_type"] == "mlx_gpt"
    assert "blocks.0.norm1.weight" in read_safetensors(Path("m-safetensors/model.safetensors"))


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "starcoder2", "llama-bias-gqa-untied"])
@pytest.mark.parametrize("to", ["hf", "safetensors"])
def test_quantised_copies_sample_and_stay_close(
    name: str, to: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made(config=CONFIGS[name])
    logits = find_model("m").gpt(IDS)
    gaps = []
    for bits in ("8", "4"):
        path = did(capsys, "export", "m", "--to", to, "--quantize", bits)["path"]
        back = find_model(path)
        gaps.append(float(mx.abs(back.gpt(IDS) - logits).max()))
        words = ("sample", path, "Ha", "--max-tokens", "3", "--seed", "1")
        assert did(capsys, *words)["finish"] == "length"
        assert "is a quantised copy" in refused(capsys, "train", path, "text.txt")
        assert "quantised copy already" in refused(capsys, "export", path, "--to", "hf")
    assert 0 < gaps[0] < 0.1 < gaps[1] < 3


def test_a_quantised_copy_can_be_imported(capsys: pytest.CaptureFixture[str]) -> None:
    made()
    did(capsys, "export", "m", "--to", "hf", "--quantize", "8", "--out", "q")
    did(capsys, "import", "q")
    assert same(find_model("q").gpt, find_model("runs/q").gpt)


def test_what_cannot_be_exported_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    made(config=replace(BASE, norm_order="post"))
    for to in ("hf", "gguf"):
        assert 'model.norm_order = "post"' in refused(capsys, "export", "m", "--to", to)
    assert did(capsys, "export", "m", "--to", "safetensors")["path"] == "m-safetensors"
    assert "goes with --to hf" in refused(capsys, "export", "m", "--to", "gguf", "--quantize", "4")
    shutil.rmtree("runs/m")
    made(config=ModelConfig(vocab_size=257, d_model=24, n_heads=2, n_layers=1))
    sentence = refused(
        capsys, "export", "m", "--to", "safetensors", "--quantize", "4", "--out", "z"
    )
    assert "model.d_model = 24" in sentence
    assert not Path("z").exists()


def test_a_gguf_file_is_a_model_too(capsys: pytest.CaptureFixture[str]) -> None:
    made(bpe.from_folder(GOLDEN / "bpe"), replace(CONFIGS["llama"], vocab_size=401))
    did(capsys, "export", "m", "--to", "gguf", "--out", "x.gguf")
    assert find_model("x.gguf").tokenizer.encode("Había") == find_model("m").tokenizer.encode(
        "Había"
    )
    assert did(capsys, "import", "x.gguf")["name"] == "x"
    assert same(find_model("x").gpt, find_model("m").gpt)
    Path("y.gguf").write_text("GGUF but no more")
    assert "cannot load" in refused(capsys, "sample", "y.gguf")


def test_the_commands_speak_both_languages(capsys: pytest.CaptureFixture[str]) -> None:
    foreign()
    assert main(["import", "theirs", "--lang", "es"]) == 0
    spoken = capsys.readouterr()
    assert "parámetros" in spoken.out
    assert "sigue entrenándolo" in spoken.err
    assert main(["export", "theirs", "--to", "gguf", "--lang", "en"]) == 0
    assert "theirs.gguf: " in capsys.readouterr().out


def test_a_path_with_controls_does_nothing_to_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    foreign()
    assert main(["import", "theirs", "--as", "own", "--out", "a\x1b[31mb"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("a␛[31mb/own: ")
    assert "mlx-gpt train 'a␛[31mb/own' FILE" in told.err
    folder = "a\x1b[31mb/own"
    assert main(["export", folder, "--to", "safetensors", "--out", "\x1b[0m"]) == 0
    assert capsys.readouterr().out.startswith("␛[0m: ")
