"""No lab finds fault with a sound model, and each notices the breaks that it claims."""

import dataclasses
import json
import math
import os
import subprocess
import sys
from pathlib import Path

from mlx_gpt.device import mx

import numpy as np
import pytest
from mlx.utils import tree_flatten

from mlx_gpt.cli import main
from mlx_gpt.config import ModelConfig
from mlx_gpt.errors import UserError
from mlx_gpt.labs import devices
from mlx_gpt.labs.breaks import BREAKS, SETTINGS, find_break
from mlx_gpt.labs.claims import CLAIMS
from mlx_gpt.labs.mutants import Editing, fill, param
from mlx_gpt.labs.subject import Measure, Skip, Subject, arrays, small, sound, subject_of
from mlx_gpt.labs.table import LABS, check, default_subjects, examine, noticed_by
from mlx_gpt.model import GPT
from mlx_gpt.tracing import Tape

POSITIONS = ("rope", "learned")
SLOW = {"L04", "L05", "L09", "L10", "L11"}  # labs that train, or that build deep models
SETTING = {
    "model.causal=false": {"causal": False},
    "model.final_norm=false": {"final_norm": False},
    "model.residual_init=false": {"residual_init": False},
    "model.norm_order=post": {"norm_order": "post"},
    "model.position=none": {"position": "none"},
    "model.tied_head=false": {"tied_head": False},
}


def broken(name: str, position: str, seed: int = 0) -> Subject | None:
    subject = dataclasses.replace(sound(position), seed=seed)
    if not BREAKS[name].fits(subject.config):
        return None
    return dataclasses.replace(subject, parts=BREAKS[name].parts)


def pairs() -> list[tuple[str, str]]:
    return [(key, name) for key, lab in LABS.items() for name in lab.kills]


def quickest(name: str) -> str:
    """The cheapest of the labs that must notice a break."""
    return min(noticed_by(name), key=lambda key: (key in SLOW, key))


@pytest.mark.parametrize("key", [key for key in LABS if key not in SLOW])
def test_a_sound_model_passes(key: str):
    outcome = examine(key, default_subjects())
    assert outcome.ok, outcome.measures


@pytest.mark.parametrize("name", [name for name in BREAKS if quickest(name) not in SLOW])
def test_every_break_is_noticed_by_a_quick_lab(name: str):
    for position in POSITIONS:
        if subject := broken(name, position):
            assert not examine(quickest(name), [subject]).ok


@pytest.mark.parametrize("name", ["init_unscaled", "targets_unshifted"])
def test_what_only_an_untrained_model_shows_is_noticed(name: str):
    subject = broken(name, "rope")
    assert subject
    assert not examine(quickest(name), [subject]).ok


def test_every_break_is_claimed_and_every_claim_is_a_break():
    claimed = {name for _, name in pairs()}
    assert claimed == set(BREAKS)
    assert [key for key, lab in LABS.items() if not lab.kills] == ["L16"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("position", POSITIONS)
def test_no_lab_fails_on_a_sound_model(position: str, seed: int):
    subject = dataclasses.replace(sound(position), seed=seed)
    assert [outcome.key for outcome in check([subject]) if not outcome.ok] == []


@pytest.mark.slow
@pytest.mark.parametrize(("key", "name"), pairs(), ids=lambda word: str(word))
def test_every_lab_notices_the_breaks_it_claims(key: str, name: str):
    for position in POSITIONS:
        subject = broken(name, position)
        if subject and not (key == "L06" and position != "rope"):
            assert not examine(key, [subject]).ok


def variants() -> list[ModelConfig]:
    """Sound models of many kinds: each setting, and pairs of those that meet in the code."""
    first = sound("rope").config
    kinds = [
        {"norm": "rmsnorm", "activation": "swiglu", "attn_bias": False, "ffn_bias": False},
        {"position": "learned", "activation": "gelu_tanh", "tied_head": False},
        {"activation": "relu", "n_kv_heads": 1},
        {"rope_fraction": 0.5, "parallel_residual": True},
        {"norm_order": "post"},
        {"norm_order": "post", "norm": "rmsnorm", "position": "learned"},
        {"dropout": 0.3, "norm_eps": 1e-6, "rope_base": 500.0},
    ]
    return [dataclasses.replace(first, **kind) for kind in kinds]


@pytest.mark.slow
@pytest.mark.parametrize("config", variants(), ids=range(7))
def test_a_sound_model_of_any_kind_passes(config: ModelConfig):
    own = arrays(Subject(config).loud(config))
    outcomes = list(check([Subject(config, weights=own)]))
    assert {each.key: each.measures for each in outcomes if not each.ok} == {}


def goes_unnoticed(name: str, subject: Subject) -> bool:
    """Whether labs that must notice a break ran on it, and none did."""
    ran = False
    for key in sorted(noticed_by(name), key=lambda key: (key in SLOW, key)):
        outcome = examine(key, [dataclasses.replace(subject, parts=BREAKS[name].parts)])
        if not outcome.ok:
            return False
        ran = ran or not outcome.skipped
    return ran


@pytest.mark.slow
@pytest.mark.parametrize("config", variants()[::2], ids=range(4))
def test_breaks_are_noticed_in_models_of_any_kind(config: ModelConfig):
    fitting = [name for name, each in BREAKS.items() if each.fits(config)]
    assert [name for name in fitting if goes_unnoticed(name, Subject(config))] == []


@pytest.mark.parametrize(
    ("setting", "key"),
    [
        ("model.causal=false", "L03"),
        ("model.final_norm=false", "L01"),
        ("model.position=none", "L12"),
        ("model.residual_init=false", "L10"),
    ],
)
def test_a_break_that_is_a_setting_is_noticed_too(setting: str, key: str):
    config = dataclasses.replace(sound("rope").config, **SETTING[setting])
    assert not examine(key, [Subject(config)]).ok


def test_the_settings_that_break_are_all_listed():
    assert SETTING.keys() == SETTINGS.keys()


def test_a_model_without_room_is_left_out_with_a_reason():
    config = dataclasses.replace(sound("rope").config, context_length=8)
    quick = [key for key in LABS if key not in SLOW]
    outcomes = {key: examine(key, [Subject(config)]) for key in quick}
    left_out = {key for key, outcome in outcomes.items() if outcome.skipped}
    assert {"L00", "L03", "L07", "L15"} <= left_out
    assert outcomes["L00"].skipped
    assert "the model has 8" in outcomes["L00"].skipped.text
    assert all(outcome.ok for outcome in outcomes.values())


def test_a_model_keeps_its_weights_when_it_is_examined():
    config = sound("learned").config
    model = GPT(config, 3)
    weights = arrays(model)
    subject = Subject(config, weights=weights)
    outcomes = [examine(key, [subject]) for key in ("L00", "L01", "L13")]
    assert all(outcome.ok for outcome in outcomes)
    own = arrays(subject.model)
    assert own.keys() == weights.keys()
    assert all(mx.array_equal(weights[name], array) for name, array in own.items())


def test_an_edit_by_the_tap_is_what_the_same_mistake_in_the_model_is():
    config = sound("rope").config
    tokens = mx.array([[1, 2, 3, 4, 5, 6, 7]])
    by_tap = BREAKS["no_ln_f"].parts.make(config, 0)
    by_model = GPT(dataclasses.replace(config, final_norm=False), 0)
    fill(by_model, lambda name, _: param(by_tap, name))
    assert mx.array_equal(by_tap(tokens), by_model(tokens))
    loose = BREAKS["mask_none"].parts.make(config, 0)
    unmasked = GPT(dataclasses.replace(config, causal=False), 0)
    assert float(mx.abs(loose(tokens) - unmasked(tokens)).max()) < 1e-6


def test_an_editing_tap_without_edits_changes_no_bit_and_hides_no_row():
    model, tokens = sound("rope").model, mx.array([[1, 2, 3, 4]])
    tape, plain = Tape("*"), Tape("*")
    edited = model(tokens, tap=Editing({}, tape))
    model(tokens, tap=plain)
    assert mx.array_equal(edited, model(tokens))
    assert tape.names == plain.names
    assert tape.differences.keys() == plain.differences.keys()


def test_a_shared_array_stays_shared_when_parameters_are_filled():
    model = BREAKS["untied"].parts.make(sound("rope").config, 0)
    fill(model, lambda _, array: array + 1)
    assert param(model, "head.weight") is param(model, "embedding.weight")


def test_devices_agree_with_themselves_and_a_different_model_is_named_by_row():
    cpu, text = mx.Device(mx.cpu), sound("rope").tokens(2, 8)
    sane, first = sound("rope"), sound("rope").model
    same = devices.compare_devices(lambda _: first, text, cpu, cpu)
    assert [measure.figure for measure in same] == [0, 0]
    models = iter([first, broken_model("rope_on_v", sane)])
    forward, backward = devices.compare_devices(lambda _: next(models), text, cpu, cpu)
    wide = devices.compare_wide_heads(sane, cpu, cpu)
    assert wide.ok
    assert "d_head 64" in wide.en
    assert "blocks.0.v:" in forward.en
    assert not forward.ok
    assert not backward.ok


def broken_model(name: str, subject: Subject) -> GPT:
    return subject_of(subject.model, name).model


def test_without_a_gpu_the_device_lab_says_so():
    outcome = examine("L16", default_subjects())
    if mx.is_available(mx.gpu):
        assert outcome.ok, outcome.measures
    else:
        assert isinstance(outcome.skipped, Skip)


@pytest.mark.parametrize("key", ["L00", "L01", "L03", "L06", "L07", "L13", "L14", "L15"])
def test_a_model_with_nan_in_it_holds_nothing(key: str):
    config = sound("rope").config
    weights = arrays(Subject(config).model)
    name = "blocks.1.attention.v_proj.bias"
    spoilt = weights | {name: mx.full(weights[name].shape, math.nan)}
    assert not examine(key, [Subject(config, weights=spoilt)]).ok


def test_bounds_hold_and_break_where_they_say():
    assert Measure("", "", 1, high=1).ok
    assert not Measure("", "", 1.01, high=1).ok
    assert not Measure("", "", math.nan, high=1).ok
    assert not Measure("", "", math.inf, low=0, high=1).ok
    assert Measure("", "", 2, 2, 2).ok
    assert Measure("", "", 0.5, high=1).strain == 0.5
    assert Measure("", "", 4, low=1).strain == 0.25
    assert Measure("", "", 1.3, 0.7, 1.3).strain == pytest.approx(1)


def test_small_models_have_different_sizes_on_every_axis():
    config = small(ModelConfig())
    axes = [2, 7, config.n_heads, config.d_head, config.d_model, config.d_ff, config.vocab_size]
    assert len(set(axes)) == len(axes)


def test_an_unknown_break_is_refused_with_the_nearest():
    with pytest.raises(UserError, match="did you mean mask_none"):
        find_break("mask_non")


def test_the_courses_are_complete():
    counts = {letter: sum(key[0] == letter for key in CLAIMS) for letter in "ABC"}
    assert counts == {"A": 15, "B": 13, "C": 9}


# The command


def output(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["check", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def only(*keys: str) -> list[str]:
    return [f"--only={key}" for key in keys]


def test_a_broken_model_is_shown_with_who_notices(capsys: pytest.CaptureFixture[str]):
    code, out, _ = output(
        capsys, "--break", "mask_off1", "--json", *only("L00", "L01", "L03", "L07")
    )
    record = json.loads(out)
    failed = [lab["id"] for lab in record["labs"] if not lab["ok"]]
    assert code == 1
    assert record["ok"] is False
    assert record["break"] == "mask_off1"
    assert failed == ["L00", "L03", "L07"]
    assert {"id", "name", "ok", "figure", "tolerance", "kills"} <= record["labs"][2].keys()
    assert record["labs"][2]["tolerance"] == 0
    assert record["labs"][2]["figure"] > 0.1


def test_a_preset_can_be_checked_before_it_is_trained(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    code, out, _ = output(
        capsys, "mini", "--out", str(tmp_path), "--lang", "es", *only("L02", "L06")
    )
    assert code == 0
    assert "preajuste mini, sin entrenar" in out
    assert "✓ L06 RoPE es relativo" in out
    assert "fallan: ninguno." in out
    assert "103 680 = 103 680" in out


def test_a_model_with_its_weights_can_be_broken(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    words = ("mini", "--out", str(tmp_path), "--break", "mask_none", *only("L01", "L03"))
    code, out, _ = output(capsys, *words)
    assert code == 1
    assert "✓ L01" in out
    assert "✗ L03" in out
    assert "Noticed by L03 (must be by L00, L03, L05, L07); nothing wrong for L01." in out


def test_a_break_that_does_not_fit_the_model_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    code, _, err = output(capsys, "toy", "--break", "rope_missing", "--out", str(tmp_path))
    assert code == 2
    assert "needs model.position = rope" in err


def test_the_list_explains_every_lab_and_break(capsys: pytest.CaptureFixture[str]):
    code, english, _ = output(capsys, "--list")
    assert code == 0
    _, spanish, _ = output(capsys, "--list", "--lang", "es")
    for text in (english, spanish):
        assert all(key in text for key in (*LABS, *BREAKS, *SETTINGS))
    assert BREAKS["mask_strict"].en in english
    assert BREAKS["mask_strict"].es in spanish
    _, out, _ = output(capsys, "--list", "--json")
    assert len(json.loads(out)["breaks"]) == len(BREAKS)


def test_every_claim_is_measured_and_confirmed(capsys: pytest.CaptureFixture[str]):
    code, out, _ = output(capsys, "--claims", "--json")
    claims = {claim["id"]: claim for claim in json.loads(out)["claims"]}
    assert code == 0
    assert [key for key, claim in claims.items() if not claim["confirmed"]] == []
    assert [key for key, claim in claims.items() if not claim["measures"]] == ["C9"]
    figures = {key: [each["figure"] for each in claim["measures"]] for key, claim in claims.items()}
    assert claims["A5"]["verdict"] == "wrong"
    assert figures["A5"] == [640]
    assert figures["B5"] == [124_318_464, 124_439_808]
    assert figures["B4"] == [pytest.approx(4.73e-4, rel=0.01)]
    assert figures["C3"] == [pytest.approx(5.27, abs=0.12)]
    assert figures["C4"] == [pytest.approx(0.976, abs=0.003)]


@pytest.mark.slow
def test_the_step_as_it_is_compiled_learns_a_batch_by_heart():
    code = (
        "from mlx_gpt.labs import learning; from mlx_gpt.labs.mutants import Parts;"
        "from mlx_gpt.labs.subject import sound; from mlx_gpt.training import Learner;"
        "import dataclasses; parts = Parts(learner=lambda m, c: Learner(m, c, compiled=True));"
        "answer = learning.overfit(dataclasses.replace(sound('rope'), parts=parts));"
        "assert all(m.ok for m in answer), answer"
    )
    environment = {k: v for k, v in os.environ.items() if k != "MLX_DISABLE_COMPILE"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_gradients_flow_through_an_edited_model_as_through_any():
    subject = sound("rope")
    model = broken_model("eps1e-3", subject)
    learner = subject.learner(model)
    tokens = subject.tokens(2, 8)
    inputs, targets = mx.array(tokens[:, :-1]), mx.array(tokens[:, 1:])
    _, grads = learner.gradients(learner.params, inputs, targets, None)
    names = [name for name, _ in tree_flatten(model.parameters(), destination=[])]
    assert set(names) == set(grads)
    assert all(float(mx.abs(grad).max()) > 0 for grad in grads.values())
    assert np.isfinite([float(grad.sum()) for grad in grads.values()]).all()


def test_an_untrained_preset_has_no_checkpoint_to_check(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["check", "mini", "--checkpoint", "9", "--out", str(tmp_path)]) == 2
    assert "leave out --checkpoint 9" in capsys.readouterr().err
