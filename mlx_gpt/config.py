"""Every setting, its default and its limits; TOML in, TOML out, overrides in between."""

import dataclasses
import difflib
import json
import math
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from mlx_gpt.errors import UserError

MOST_LAYERS = 10_000  # a hundred times what any model has
MOST = sys.maxsize  # of anything else that is counted


def setting(
    default: Any,
    doc: str,
    *,
    at_least: float = -math.inf,
    above: float = -math.inf,
    at_most: float = math.inf,
    below: float = math.inf,
) -> Any:
    """A dataclass field that carries its documentation and the range it allows."""
    limits = {"at least": at_least, "above": above, "at most": at_most, "below": below}
    finite = {words: limit for words, limit in limits.items() if math.isfinite(limit)}
    return dataclasses.field(default=default, metadata={"doc": doc, "limits": finite})


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The shape of a GPT."""

    vocab_size: int = setting(512, "how many tokens the model knows", at_least=1)
    context_length: int = setting(128, "most tokens the model sees at once", at_least=1)
    d_model: int = setting(128, "width of the residual stream", at_least=1)
    n_layers: int = setting(4, "number of blocks", at_least=1, at_most=MOST_LAYERS)
    n_heads: int = setting(4, "attention heads per block", at_least=1)
    n_kv_heads: int = setting(0, "key/value heads; 0 means n_heads", at_least=0)
    d_ff: int = setting(0, "width of the feed-forward layer; 0 means 4 * d_model", at_least=0)
    position: Literal["rope", "learned", "none"] = setting("rope", "how order enters the model")
    norm: Literal["layernorm", "rmsnorm"] = setting("layernorm", "kind of normalisation")
    norm_order: Literal["pre", "post"] = setting("pre", "norm before or after each sublayer")
    norm_eps: float = setting(1e-5, "added to the variance before the root", above=0)
    activation: Literal["gelu", "gelu_tanh", "relu", "swiglu"] = setting(
        "gelu_tanh", "non-linearity of the feed-forward layer"
    )
    attn_bias: bool = setting(True, "biases in the attention projections")
    ffn_bias: bool = setting(True, "biases in the feed-forward projections")
    tied_head: bool = setting(True, "output head shares the embedding matrix")
    dropout: float = setting(0.0, "share of activations dropped in training", at_least=0, below=1)
    rope_base: float = setting(10000.0, "base of the rotary frequencies", above=0)
    rope_fraction: float = setting(
        1.0, "share of each head that RoPE turns (Pythia: 0.25)", above=0, at_most=1
    )
    parallel_residual: bool = setting(
        False, "feed-forward reads the block's input, beside attention (Pythia)"
    )
    causal: bool = setting(True, "mask the future (off: a break to look at)")
    final_norm: bool = setting(True, "norm before the head (off: a break to look at)")
    residual_init: bool = setting(
        True, "scale the residual writers by 1/sqrt(2 n_layers) (off: a break to look at)"
    )

    def __post_init__(self) -> None:
        check_fields(self, "model")
        object.__setattr__(self, "n_kv_heads", self.n_kv_heads or self.n_heads)
        object.__setattr__(self, "d_ff", self.d_ff or 4 * self.d_model)
        check_divides("model.d_model", self.d_model, "model.n_heads", self.n_heads)
        check_divides("model.n_heads", self.n_heads, "model.n_kv_heads", self.n_kv_heads)
        if self.position == "rope" and (self.d_rope % 2 or self.d_rope == 0):
            raise UserError(
                f"RoPE turns {self.d_rope} of the d_head = d_model / n_heads = {self.d_head} "
                "numbers of a head, but it turns pairs; choose d_model, n_heads and "
                "rope_fraction so that they are even, or model.position=learned"
            )
        if self.parallel_residual and self.norm_order == "post":
            raise UserError(
                "model.parallel_residual = true goes with model.norm_order = pre only; change one"
            )

    @property
    def d_head(self) -> int:
        """Width of one attention head."""
        return self.d_model // self.n_heads

    @property
    def d_rope(self) -> int:
        """How many numbers of a head RoPE turns."""
        return int(self.d_head * self.rope_fraction)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataConfig:
    """The text and how it becomes tokens."""

    files: tuple[str, ...] = setting((), "text files or folders; none: the built-in stories")
    encoding: str = setting("utf-8", "encoding of the text files")
    stories: int = setting(24000, "how many stories the built-in corpus has", at_least=1)
    language: Literal["both", "en", "es"] = setting("both", "language of the built-in stories")
    tokenizer: str = setting("sentencepiece", "bytes, sentencepiece, or the path of a tokenizer")
    vocab_size: int = setting(1024, "pieces of a tokenizer trained on the text", at_least=1)
    val_fraction: float = setting(
        0.1, "share of the text, at its end, kept for validation", at_least=0, below=1
    )

    def __post_init__(self) -> None:
        check_fields(self, "data")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How the model learns."""

    steps: int = setting(1000, "optimizer steps of the whole run", at_least=1)
    batch_size: int = setting(16, "windows per forward pass", at_least=1)
    grad_accumulation: int = setting(1, "forward passes per optimizer step", at_least=1)
    lr: float = setting(1e-3, "highest learning rate", at_least=0)
    min_lr: float = setting(1e-4, "learning rate at the end of the cosine", at_least=0)
    schedule: Literal["cosine", "constant"] = setting("cosine", "after the warm-up")
    decay_steps: int = setting(0, "length of the cosine; 0 means steps", at_least=0)
    warmup: int = setting(100, "steps of linear warm-up", at_least=0)
    weight_decay: float = setting(0.1, "AdamW decay, on matrices only", at_least=0)
    beta1: float = setting(0.9, "AdamW first moment", at_least=0, below=1)
    beta2: float = setting(0.99, "AdamW second moment", at_least=0, below=1)
    grad_clip: float = setting(1.0, "largest gradient norm; 0 means no clipping", at_least=0)
    eval_every: int = setting(100, "steps between evaluations", at_least=1)
    eval_windows: int = setting(64, "validation windows per evaluation; 0 means all", at_least=0)
    save_every: int = setting(200, "steps between checkpoints", at_least=1)
    keep_last: int = setting(2, "checkpoints kept beside the best", at_least=1)
    patience: int = setting(
        0, "stop after so many evaluations without a new best; 0 means never", at_least=0
    )
    precision: Literal["float32", "bfloat16"] = setting(
        "float32", "of the computation; weights stay float32"
    )
    grad_checkpoint: bool = setting(False, "recompute activations to save memory")
    compile: Literal["auto", "on", "off"] = setting("auto", "mx.compile of the whole step")
    seed: int = setting(1337, "everything random follows from it", at_least=0, below=2**32)
    probe_prompts: tuple[str, ...] = setting(("", "Once", "Un día"), "sampled at each evaluation")
    probe_tokens: int = setting(48, "length of the probe samples", at_least=0)

    def __post_init__(self) -> None:
        check_fields(self, "train")
        if self.schedule == "cosine" and self.min_lr > self.lr:
            raise UserError(
                f"train.min_lr = {self.min_lr} is above train.lr = {self.lr}; "
                "set train.min_lr to at most train.lr"
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SampleConfig:
    """How tokens are chosen."""

    temperature: float = setting(0.8, "0 always takes the likeliest token", at_least=0)
    top_k: int = setting(0, "keep the k likeliest tokens; 0 means all", at_least=0)
    top_p: float = setting(1.0, "keep the likeliest tokens that sum to p", above=0, at_most=1)
    min_p: float = setting(
        0.0, "drop tokens less likely than min_p times the likeliest", at_least=0, at_most=1
    )
    repetition_penalty: float = setting(1.0, "above 1: used tokens become less likely", above=0)
    max_tokens: int = setting(256, "most tokens to generate", at_least=0)

    def __post_init__(self) -> None:
        check_fields(self, "sample")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """Everything that says what a run is."""

    model: ModelConfig = dataclasses.field(default_factory=ModelConfig)
    data: DataConfig = dataclasses.field(default_factory=DataConfig)
    train: TrainConfig = dataclasses.field(default_factory=TrainConfig)
    sample: SampleConfig = dataclasses.field(default_factory=SampleConfig)


Section = ModelConfig | DataConfig | TrainConfig | SampleConfig
SECTIONS: dict[str, type[Section]] = {
    "model": ModelConfig,
    "data": DataConfig,
    "train": TrainConfig,
    "sample": SampleConfig,
}


def check_fields(section: Section, name: str) -> None:
    """Refuse a value of the wrong type or outside its limits."""
    types = get_type_hints(type(section))
    for field in dataclasses.fields(section):
        key = f"{name}.{field.name}"
        value = coerce(key, getattr(section, field.name), types[field.name])
        object.__setattr__(section, field.name, value)
        check_limits(key, value, field.metadata["limits"])


def coerce(key: str, value: Any, expected: Any) -> Any:
    """The value in its declared type: an int serves as float, a list as tuple."""
    if get_origin(expected) is Literal:
        if value in get_args(expected):
            return value
        raise UserError(f"{key} = {shown(value)}: choose {one_of(get_args(expected))}")
    if get_origin(expected) is tuple:
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return tuple(encodable(key, item) for item in value)
        raise UserError(f'{key} = {shown(value)}: give a list of texts, as in ["a", "b"]')
    if expected is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value) if abs(value) <= sys.float_info.max else math.inf
    if expected is str and isinstance(value, str):
        return encodable(key, value)
    if type(value) is expected:
        return value
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
    raise UserError(f"{key} = {shown(value)}: give {words[expected]}")


def encodable(key: str, text: str) -> str:
    """The text, unless UTF-8 cannot write it (a file name that is not UTF-8, half an emoji)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UserError(f"{key} = {text!a}: not valid Unicode; give a text in UTF-8") from None
    return text


def check_limits(key: str, value: Any, limits: Mapping[str, float]) -> None:
    """Refuse a number outside its limits, NaN and infinity included."""
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{key} = {value}: give a finite number")
    within = {
        "at least": lambda limit: value >= limit,
        "above": lambda limit: value > limit,
        "at most": lambda limit: value <= limit,
        "below": lambda limit: value < limit,
    }
    if not all(within[words](limit) for words, limit in limits.items()):
        allowed = " and ".join(f"{words} {limit:.12g}" for words, limit in limits.items())
        raise UserError(f"{key} = {shown(value)}: must be {allowed}")
    if isinstance(value, int) and value > MOST:
        raise UserError(f"{key} = {value}: must be at most {MOST}")


def check_divides(whole_name: str, whole: int, part_name: str, part: int) -> None:
    """Refuse sizes that do not divide evenly."""
    if whole % part:
        raise UserError(
            f"{whole_name} = {whole} is not divisible by {part_name} = {part}; change either"
        )


def shown(value: Any) -> str:
    """A value as the user would write it in TOML, which allows no bare DEL."""
    plain = list(value) if isinstance(value, tuple) else value
    return json.dumps(plain, ensure_ascii=False, default=str).replace("\x7f", "\\u007f")


def one_of(options: Iterable[str]) -> str:
    """Words as a list for a message: a, b or c."""
    *rest, last = options
    return f"{', '.join(rest)} or {last}" if rest else last


def parse_override(line: str) -> dict[str, Any]:
    """An override is one line of the TOML file; a bare word is a string."""
    key, equals, value = line.partition("=")
    if not equals or not key.strip():
        raise UserError(f"{line!r} is not key=value, as in model.n_layers=6")
    try:
        return tomllib.loads(line)
    except (ValueError, RecursionError):
        pass
    try:
        return tomllib.loads(f"{key} = {shown(value.strip())}")
    except (ValueError, RecursionError):
        raise UserError(f"{line!r} is not key=value, as in model.n_layers=6") from None


def nearest(word: str, known: Iterable[str]) -> str:
    """The question "did you mean x?" when a known word is close, else nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


def field_names(section: type[Section]) -> list[str]:
    """The settings of one section, in order."""
    return [field.name for field in dataclasses.fields(section)]


def all_keys() -> list[str]:
    """Every setting as section.name."""
    return [f"{name}.{key}" for name, kind in SECTIONS.items() for key in field_names(kind)]


def settings_of(config: Config) -> list[tuple[str, Any]]:
    """Every setting as section.name, with its value."""
    return [
        (f"{name}.{key}", getattr(getattr(config, name), key))
        for name, kind in SECTIONS.items()
        for key in field_names(kind)
    ]


def broken_settings(model: ModelConfig) -> tuple[str, ...]:
    """The settings of this model that are meant to show what breaks."""
    off = [name for name in ("causal", "final_norm", "residual_init") if not getattr(model, name)]
    breaks = [f"model.{name}=false" for name in off]
    breaks += ["model.position=none"] if model.position == "none" else []
    return (*breaks, *(["model.norm_order=post"] if model.norm_order == "post" else []))


def setting_docs() -> dict[str, str]:
    """What each setting means."""
    return {
        f"{name}.{field.name}": field.metadata["doc"]
        for name, kind in SECTIONS.items()
        for field in dataclasses.fields(kind)
    }


def build(table: Mapping[str, Any]) -> Config:
    """A checked Config from the tables of a TOML file; what is silent takes its default."""
    sections: dict[str, Section] = {}
    for name, values in table.items():
        if name not in SECTIONS:
            raise UserError(f"no section {name}{meant_section(name)}")
        if not isinstance(values, dict):
            raise UserError(f"{name} = {shown(values)}: a section holds settings, as in {name}.x=1")
        unknown = [key for key in values if key not in field_names(SECTIONS[name])]
        if unknown:
            raise UserError(f"no setting {name}.{unknown[0]}{meant_setting(name, unknown[0])}")
        sections[name] = SECTIONS[name](**values)
    return Config(**cast(dict[str, Any], sections))


def meant_setting(section: str, word: str) -> str:
    """The question "did you mean x?" for the setting whose name, in any section, is nearest."""
    settings = {key.partition(".")[2]: key for key in reversed(all_keys())}
    settings |= {name: f"{section}.{name}" for name in field_names(SECTIONS[section])}
    close = difflib.get_close_matches(word, settings, n=1)
    return f"; did you mean {settings[close[0]]}?" if close else ""


def meant_section(word: str) -> str:
    """For a bare word: the nearest section, else the setting of that name or nearest to it."""
    settings = {key.partition(".")[2]: key for key in reversed(all_keys())}
    close = difflib.get_close_matches(word, [*SECTIONS, *settings], n=1, cutoff=0.7)
    if close:
        return f"; did you mean {settings.get(close[0], close[0])}?"
    return f"; the sections are {one_of(SECTIONS)}"


def merge(table: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    """Two levels of tables, the second over the first."""
    merged = {
        name: dict(values) if isinstance(values, dict) else values for name, values in table.items()
    }
    for name, values in override.items():
        if isinstance(values, dict) and isinstance(merged.get(name), dict):
            merged[name] |= values
        else:
            merged[name] = values
    return merged


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise UserError(f"no file {path}") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not valid TOML: {error}") from None


def load(path: Path, overrides: Iterable[str] = ()) -> Config:
    """The configuration in a TOML file, with overrides applied."""
    table = read_toml(path)
    for line in overrides:
        table = merge(table, parse_override(line))
    return build(table)


def changed(config: Config, overrides: Iterable[str]) -> Config:
    """The same configuration with overrides applied."""
    table: dict[str, Any] = {
        name: {key: getattr(getattr(config, name), key) for key in field_names(kind)}
        for name, kind in SECTIONS.items()
    }
    for line in overrides:
        table = merge(table, parse_override(line))
    return build(table)


def dump(config: Config) -> str:
    """The configuration as TOML that states every setting."""
    blocks = []
    for name in SECTIONS:
        section = getattr(config, name)
        lines = [f"{key} = {shown(getattr(section, key))}" for key in field_names(type(section))]
        blocks.append("\n".join([f"[{name}]", *lines]))
    return "\n\n".join(blocks) + "\n"


SMALL_MODEL = "small"  # the folder, beside the presets, of the model that comes along


def preset_folder() -> Path:
    """Where the presets lie: inside the installed package, or in the checkout."""
    package = Path(__file__).parent
    inside = package / "models"
    return inside if inside.is_dir() else package.parent / "models"


def preset_names() -> list[str]:
    """The presets that ship with the project."""
    return sorted(path.stem for path in preset_folder().glob("*.toml"))


def load_preset(name: str, overrides: Iterable[str] = ()) -> Config:
    """A preset by name."""
    if name not in preset_names():
        raise UserError(
            f"no preset {name}{nearest(name, preset_names())} "
            f"(there are {', '.join(preset_names())})"
        )
    return load(preset_folder() / f"{name}.toml", overrides)
