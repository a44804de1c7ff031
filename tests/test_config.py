"""Settings: what is accepted, what is refused and in which words, and that TOML loses nothing."""

import dataclasses
import math
import random
import tomllib
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from mlx_gpt.config import (
    SECTIONS,
    Config,
    DataConfig,
    ModelConfig,
    SampleConfig,
    TrainConfig,
    build,
    dump,
    load,
    load_preset,
    merge,
    one_of,
    parse_override,
    preset_folder,
    preset_names,
)
from mlx_gpt.errors import UserError

ODD_TEXTS = [
    "",
    " ",
    "quotes \" and ' and \"\"\" and '''",
    "back\\slash \\n \\u0041",
    "\n\r\n\t\b\f",
    "".join(map(chr, range(32))) + "\x7f",
    "\x80\x9f\xa0\u2028\u2029\ufeff\ufffd",
    "¿ñandú? 🙂 👩‍👩‍👧 é e\u0301",
    "\U0010ffff\ue000\ud7ff",
    "# no comment, [no] = 'table'",
    "{a=1}",
    "true",
    "1e5",
]


def overridden(*lines: str) -> Config:
    """The defaults under some overrides."""
    table: dict[str, Any] = {}
    for line in lines:
        table = merge(table, parse_override(line))
    return build(table)


def refusal(section: str, **values: object) -> str:
    """The words in which values are refused."""
    with pytest.raises(UserError) as caught:
        build({section: values})
    return str(caught.value)


def saved(config: Config, folder: Path) -> Path:
    """The file that holds a configuration."""
    path = folder / "config.toml"
    path.write_text(dump(config), encoding="utf-8")
    return path


def random_value(draw: random.Random, field: dataclasses.Field, kind: Any) -> Any:
    """Any value the field allows, by its type and its limits."""
    limits = field.metadata["limits"]
    if get_origin(kind) is Literal:
        return draw.choice(get_args(kind))
    if get_origin(kind) is tuple:
        return tuple(draw.choices(ODD_TEXTS, k=draw.randrange(5)))
    if kind is str:
        return draw.choice(ODD_TEXTS)
    if kind is bool:
        return draw.random() < 0.5
    low = limits.get("at least", limits.get("above", 0))
    high = limits.get("at most", limits.get("below", 10 ** draw.randrange(1, 18)))
    if kind is int:
        return draw.randint(int(low), int(high) - ("below" in limits))
    return min(draw.uniform(low, high) or high / 2, math.nextafter(high, low))


def random_section(draw: random.Random, kind: type) -> dict[str, Any]:
    """Every setting of a section drawn at random, fit to stand together."""
    types = get_type_hints(kind)
    drawn = {
        field.name: random_value(draw, field, types[field.name])
        for field in dataclasses.fields(kind)
    }
    if kind is ModelConfig:
        drawn["n_kv_heads"] = draw.choice([0, 1, 2, 3])
        drawn["n_heads"] = (drawn["n_kv_heads"] or 1) * draw.randint(1, 5)
        drawn["d_model"] = drawn["n_heads"] * 4 * draw.randint(1, 5)
        drawn["rope_fraction"] = draw.choice([0.5, 1.0])
        drawn["parallel_residual"] &= drawn["norm_order"] == "pre"
    if kind is TrainConfig:
        drawn["min_lr"] = drawn["lr"] * draw.random()
    return drawn


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_survives_being_saved(name: str, tmp_path: Path) -> None:
    config = load_preset(name)
    assert load(saved(config, tmp_path)) == config


@pytest.mark.parametrize("seed", range(50))
def test_any_configuration_survives_being_saved(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    config = build({name: random_section(draw, kind) for name, kind in SECTIONS.items()})
    again = load(saved(config, tmp_path))
    assert again == config
    assert dump(again) == dump(config)


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_any_text_survives_being_saved(text: str, tmp_path: Path) -> None:
    config = Config(
        data=DataConfig(tokenizer=text, files=(text, "plain", text)),
        train=TrainConfig(probe_prompts=(text,)),
    )
    assert load(saved(config, tmp_path)) == config


@pytest.mark.parametrize("number", [5e-324, 1e-300, 1e-7, 0.1 + 0.2, 1e16, 1e22, 1.7e308])
def test_any_number_survives_being_saved(number: float, tmp_path: Path) -> None:
    config = Config(model=ModelConfig(rope_base=number))
    assert load(saved(config, tmp_path)) == config


def test_a_saved_file_states_every_setting() -> None:
    tables = tomllib.loads(dump(Config()))
    assert {name: list(values) for name, values in tables.items()} == {
        name: [field.name for field in dataclasses.fields(kind)] for name, kind in SECTIONS.items()
    }


def test_every_setting_is_documented() -> None:
    for kind in SECTIONS.values():
        for field in dataclasses.fields(kind):
            assert field.metadata["doc"], field.name


def test_the_presets_are_the_promised_ones() -> None:
    assert {"mini", "toy", "gpt2", "stories", "shakespeare"} <= set(preset_names())
    for name in preset_names():
        assert (preset_folder() / f"{name}.toml").read_text(encoding="utf-8").startswith("# ")


def test_mini_is_as_the_first_course_has_it() -> None:
    assert load_preset("mini").model == ModelConfig(
        vocab_size=64,
        context_length=32,
        d_model=64,
        n_layers=2,
        n_heads=4,
        n_kv_heads=4,
        d_ff=256,
        position="rope",
        norm="layernorm",
        norm_order="pre",
        norm_eps=1e-5,
        activation="gelu",
        attn_bias=False,
        ffn_bias=True,
        tied_head=True,
        dropout=0.0,
        rope_base=10000.0,
        causal=True,
        final_norm=True,
        residual_init=True,
    )


def test_toy_is_as_the_second_course_has_it() -> None:
    toy = load_preset("toy").model
    assert (toy.vocab_size, toy.context_length, toy.d_model) == (512, 64, 128)
    assert (toy.n_layers, toy.n_heads, toy.d_ff) == (4, 4, 512)
    assert (toy.position, toy.norm, toy.norm_order) == ("learned", "layernorm", "pre")
    assert (toy.activation, toy.attn_bias, toy.ffn_bias, toy.tied_head) == (
        "gelu",
        True,
        True,
        True,
    )


def test_gpt2_is_as_radford_has_it() -> None:
    gpt2 = load_preset("gpt2").model
    assert (gpt2.vocab_size, gpt2.context_length, gpt2.d_model) == (50257, 1024, 768)
    assert (gpt2.n_layers, gpt2.n_heads, gpt2.n_kv_heads, gpt2.d_ff) == (12, 12, 12, 3072)
    assert (gpt2.position, gpt2.norm, gpt2.norm_order) == ("learned", "layernorm", "pre")
    assert (gpt2.activation, gpt2.attn_bias, gpt2.ffn_bias) == ("gelu_tanh", True, True)
    assert gpt2.tied_head


def test_shakespeare_has_heads_of_64_and_about_ten_million_parameters() -> None:
    model = load_preset("shakespeare").model
    assert model.d_head == 64
    assert 9e6 < 12 * model.n_layers * model.d_model**2 + model.vocab_size * model.d_model < 12e6


def test_zero_stands_for_the_usual_width() -> None:
    model = ModelConfig(d_model=48, n_heads=6)
    assert (model.n_kv_heads, model.d_ff, model.d_head) == (6, 192, 8)


def test_an_override_is_a_line_of_toml() -> None:
    config = overridden(
        "model.n_layers=6",
        "train.lr = 2e-3",
        "model.causal=false",
        'data.files=["a b.txt", "ñ.txt"]',
        "train.steps=1_000  # many",
        "train.probe_prompts=[]",
    )
    assert (config.model.n_layers, config.train.lr, config.model.causal) == (6, 2e-3, False)
    assert config.data.files == ("a b.txt", "ñ.txt")
    assert (config.train.steps, config.train.probe_prompts) == (1000, ())


@pytest.mark.parametrize(
    "text", ["bytes", "a path/with spaces.model", "C:\\new\\file", "🙂.model", "a=b", "it's", "a#b"]
)
def test_a_bare_word_is_a_text(text: str) -> None:
    assert overridden(f"data.tokenizer={text}").data.tokenizer == text


@pytest.mark.parametrize("line", ["model.n_layers", "", "=", "=6", " = 6", "a b=c", "model.=3"])
def test_what_is_no_override_is_refused_with_an_example(line: str) -> None:
    with pytest.raises(UserError, match=r"is not key=value, as in model\.n_layers=6"):
        parse_override(line)


def test_a_later_override_wins_over_an_earlier_and_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("[model]\nn_layers = 3\nn_heads = 2\n[train]\nsteps = 5\n", encoding="utf-8")
    config = load(path, ["model.n_layers=6", "model.n_layers=7", "sample.top_k=9"])
    assert (config.model.n_layers, config.model.n_heads) == (7, 2)
    assert (config.train.steps, config.sample.top_k) == (5, 9)
    assert config.data == DataConfig()


def test_overrides_apply_to_a_preset() -> None:
    config = load_preset("mini", ["model.n_layers=3"])
    assert config.model == dataclasses.replace(load_preset("mini").model, n_layers=3)


@pytest.mark.parametrize(
    ("line", "question"),
    [
        ("model.n_layer=6", "no setting model.n_layer; did you mean model.n_layers?"),
        ("model.layers=6", "no setting model.layers; did you mean model.n_layers?"),
        ("train.learning_rat=6", "no setting train.learning_rat"),
        ("model.lr=1", "no setting model.lr; did you mean train.lr?"),
        ("train.n_layer=1", "no setting train.n_layer; did you mean model.n_layers?"),
        ("train.vocab_size=1", "no setting train.vocab_size; did you mean model.vocab_size?"),
        ("train.top_k=1", "no setting train.top_k; did you mean sample.top_k?"),
        ("model.xyzzy=1", "no setting model.xyzzy"),
        ("modle.n_layers=6", "no section modle; did you mean model?"),
        ("n_layers=6", "no section n_layers; did you mean model.n_layers?"),
        ("n_layer=6", "no section n_layer; did you mean model.n_layers?"),
        ("temprature=1", "no section temprature; did you mean sample.temperature?"),
        ("xyzzy=1", "no section xyzzy; the sections are model, data, train or sample"),
        ("model=1", "model = 1: a section holds settings, as in model.x=1"),
    ],
)
def test_an_unknown_setting_is_answered_with_the_nearest(line: str, question: str) -> None:
    with pytest.raises(UserError) as caught:
        overridden(line)
    assert str(caught.value) == question


def test_an_unknown_preset_is_answered_with_the_nearest() -> None:
    with pytest.raises(UserError, match=r"no preset storys; did you mean stories\? .*gpt2, mini"):
        load_preset("storys")


@pytest.mark.parametrize(
    ("section", "key", "value", "message"),
    [
        ("model", "n_layers", "six", 'model.n_layers = "six": give a whole number'),
        ("model", "n_layers", True, "model.n_layers = true: give a whole number"),
        ("model", "n_layers", 6.0, "model.n_layers = 6.0: give a whole number"),
        ("model", "n_layers", {"x": 1}, 'model.n_layers = {"x": 1}: give a whole number'),
        ("train", "lr", "high", 'train.lr = "high": give a number'),
        ("train", "lr", True, "train.lr = true: give a number"),
        ("model", "causal", "False", 'model.causal = "False": give true or false'),
        ("model", "causal", 0, "model.causal = 0: give true or false"),
        ("data", "tokenizer", 5, "data.tokenizer = 5: give a text"),
        ("data", "files", "a", 'data.files = "a": give a list of texts, as in ["a", "b"]'),
        ("data", "files", [1], 'data.files = [1]: give a list of texts, as in ["a", "b"]'),
        ("model", "position", "rop", 'model.position = "rop": choose rope, learned or none'),
        ("model", "norm", ["layernorm"], "choose layernorm or rmsnorm"),
        ("train", "compile", True, "train.compile = true: choose auto, on or off"),
    ],
)
def test_a_wrong_type_is_refused_with_what_is_expected(
    section: str, key: str, value: object, message: str
) -> None:
    assert message in refusal(section, **{key: value})


@pytest.mark.parametrize(
    ("section", "key", "value", "message"),
    [
        ("model", "n_layers", 0, "model.n_layers = 0: must be at least 1"),
        ("model", "context_length", 0, "model.context_length = 0: must be at least 1"),
        ("model", "n_heads", 0, "model.n_heads = 0: must be at least 1"),
        ("model", "n_layers", 10_001, "must be at least 1 and at most 10000"),
        ("train", "batch_size", 2**63, "must be at most 9223372036854775807"),
        ("data", "stories", 10**23, "must be at most 9223372036854775807"),
        ("model", "n_kv_heads", -1, "model.n_kv_heads = -1: must be at least 0"),
        ("model", "norm_eps", 0, "model.norm_eps = 0.0: must be above 0"),
        ("model", "dropout", 1, "model.dropout = 1.0: must be at least 0 and below 1"),
        ("data", "val_fraction", 1.0, "must be at least 0 and below 1"),
        ("train", "lr", -1e-3, "train.lr = -0.001: must be at least 0"),
        ("train", "beta2", 1.0, "must be at least 0 and below 1"),
        ("train", "seed", 2**32, "must be at least 0 and below 4294967296"),
        ("sample", "top_p", 0.0, "must be above 0 and at most 1"),
        ("sample", "top_p", 1.1, "must be above 0 and at most 1"),
        ("sample", "temperature", -0.1, "sample.temperature = -0.1: must be at least 0"),
    ],
)
def test_a_value_outside_its_range_is_refused_with_the_range(
    section: str, key: str, value: object, message: str
) -> None:
    assert message in refusal(section, **{key: value})


@pytest.mark.parametrize("kind", SECTIONS.values(), ids=SECTIONS.keys())
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400])
def test_no_setting_takes_nan_or_infinity(kind: type, value: float) -> None:
    for name, hint in get_type_hints(kind).items():
        if hint is float:
            with pytest.raises(UserError, match=rf"{name} = -?(nan|inf): give a finite number"):
                kind(**{name: value})


def test_nan_is_refused_from_a_file_too(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("[train]\nlr = nan\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"train\.lr = nan: give a finite number"):
        load(path)


def test_a_whole_number_serves_as_a_number() -> None:
    dropout = overridden("model.dropout=0").model.dropout
    assert (type(dropout), dropout) == (float, 0.0)


def test_a_list_becomes_a_tuple() -> None:
    assert build({"data": {"files": ["a"]}}).data.files == ("a",)
    assert hash(build({"data": {"files": ["a"]}})) == hash(Config(data=DataConfig(files=("a",))))


@pytest.mark.parametrize("bad", ["\udc80", "half an emoji \ud83d"])
def test_text_that_utf8_cannot_write_is_refused(bad: str) -> None:
    assert "data.tokenizer" in refusal("data", tokenizer=bad)
    assert "train.probe_prompts" in refusal("train", probe_prompts=["fine", bad])
    with pytest.raises(UserError, match=r"data\.tokenizer = .*not valid Unicode"):
        overridden(f"data.tokenizer={bad}")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"d_model": 30, "n_heads": 4}, "model.d_model = 30 is not divisible by model.n_heads = 4"),
        ({"n_heads": 4, "n_kv_heads": 3}, "model.n_heads = 4 is not divisible by model.n_kv_heads"),
        ({"n_heads": 4, "n_kv_heads": 8}, "model.n_heads = 4 is not divisible by model.n_kv_heads"),
        ({"rope_fraction": 0.01}, "RoPE turns 0 of the d_head"),
        ({"parallel_residual": True, "norm_order": "post"}, "goes with model.norm_order = pre"),
        ({"d_model": 12, "n_heads": 4}, "RoPE turns 3 of the d_head = d_model / n_heads = 3"),
    ],
)
def test_sizes_that_do_not_fit_together_are_refused(values: dict, message: str) -> None:
    assert message in refusal("model", **values)


def test_an_odd_head_is_fine_without_rope() -> None:
    assert ModelConfig(d_model=12, n_heads=4, position="learned").d_head == 3


def test_a_floor_above_the_learning_rate_is_refused_where_it_would_count() -> None:
    message = refusal("train", lr=1e-4, min_lr=1e-3)
    assert message.startswith("train.min_lr = 0.001 is above train.lr = 0.0001")
    assert TrainConfig(lr=1e-4, min_lr=1e-3, schedule="constant").lr == 1e-4


def test_a_replaced_value_is_checked_as_well() -> None:
    with pytest.raises(UserError, match=r"model\.n_layers = 0"):
        dataclasses.replace(ModelConfig(), n_layers=0)


def test_nothing_can_be_changed_afterwards() -> None:
    for section in (ModelConfig(), SampleConfig()):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(section, dataclasses.fields(section)[0].name, 1)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no file .*missing\.toml"):
        load(tmp_path / "missing.toml")
    with pytest.raises(UserError, match="cannot read"):
        load(tmp_path)


@pytest.mark.parametrize(
    "content", [b"[model", b"n_layers = 06", b"a = '\xff'", b"a = 1\na = 2", b"a = " + b"[" * 9999]
)
def test_a_file_that_is_no_toml_is_named(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"broken\.toml is not valid TOML"):
        load(path)


@pytest.mark.parametrize("prefix", [b"", b"\xef\xbb\xbf"])
def test_a_file_from_windows_is_read(prefix: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(prefix + b"[model]\r\nn_layers = 3\r\n")
    assert load(path).model.n_layers == 3


def test_words_are_listed_as_one_says_them() -> None:
    assert [one_of(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        "a",
        "a or b",
        "a, b or c",
    ]
