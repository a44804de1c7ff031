"""`mlx-gpt check`: the labs on this device, on a model of yours, or on a broken one."""

import argparse
import math
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mlx_gpt.device import choose, describe

from mlx_gpt.commands.models import find_model
from mlx_gpt.config import SMALL_MODEL, load_preset, preset_names
from mlx_gpt.errors import UserError
from mlx_gpt.labs.breaks import BREAKS, SETTINGS, Break, find_break
from mlx_gpt.labs.claims import CLAIMS, Finding, measured
from mlx_gpt.labs.subject import Measure, Subject, subject_of
from mlx_gpt.labs.table import LABS, Outcome, check, default_subjects, noticed_by
from mlx_gpt.language import say
from mlx_gpt.model import GPT
from mlx_gpt.run import is_run
from mlx_gpt.terminal import duration, emit, note, progress, spaced, table

EXAMPLE = "mlx-gpt check --break mask_off1"


class Examined(NamedTuple):
    """What the labs are run on, and what it is called."""

    subjects: list[Subject]
    name: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to examine, what to break, and what to explain."""
    parser.add_argument(
        "model",
        nargs="?",
        metavar=say("MODEL", "MODELO"),
        help=say(
            "a run, a checkpoint folder or a preset; nothing: two small models of the labs, and "
            "the trained one that comes along",
            "una ejecución, una carpeta de checkpoint o un preajuste; nada: dos modelos pequeños "
            "de los labs, y el entrenado que viene incluido",
        ),
    )
    parser.add_argument(
        "--break",
        dest="broken",
        metavar="NAME",
        help=say(
            "put this mistake in, and see who notices", "mete este error, a ver quién lo nota"
        ),
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        choices=tuple(LABS),
        metavar="LAB",
        help=say("this lab alone; repeat for more", "solo este lab; repetible"),
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help=say("explain every lab and every break", "explica cada lab y cada error"),
    )
    parser.add_argument(
        "--claims",
        action="store_true",
        help=say(
            "what both courses claim, and what is measured here",
            "lo que afirman los dos cursos, y lo que se mide aquí",
        ),
    )
    parser.add_argument(
        "--checkpoint",
        metavar="best|latest|STEP",
        help=say("which checkpoint of the run (best)", "qué checkpoint de la ejecución (best)"),
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs"),
        metavar="DIR",
        help=say("where the runs are (runs)", "dónde están las ejecuciones (runs)"),
    )


def run(args: argparse.Namespace) -> int:
    """Explain, list the claims, or run the labs; 1 when something does not hold."""
    if args.list:
        explain(as_json=args.json)
        return 0
    # MLX reads it at the first product; with it a GPU would round float32 to 10 bits.
    os.environ.setdefault("MLX_ENABLE_TF32", "0")
    choose(args.device)
    return claims(as_json=args.json) if args.claims else labs(args)


# labs


def labs(args: argparse.Namespace) -> int:
    """Run every lab, and say what each measured."""
    broken = find_break(args.broken) if args.broken else None
    examined, began = examine(args, broken), time.monotonic()
    outcomes = []
    if not args.json:
        print("\n".join(heading(examined, args.broken, broken)))
    for outcome in check(examined.subjects, progress.bar, args.only):
        outcomes.append(outcome)
        if not args.json:
            progress.clear()
            print("\n".join(lines(outcome)), flush=True)
    ok = all(outcome.ok for outcome in outcomes)
    if args.json:
        emit(as_record(outcomes, examined, args.broken))
    else:
        print(f"\n{verdict(outcomes, args.broken)}  {duration(time.monotonic() - began)}")
    return 0 if ok else 1


def examine(args: argparse.Namespace, broken: Break | None) -> Examined:
    """The subjects of the labs."""
    seed = args.seed or 0
    if args.model is None and broken:
        name = say(
            "two small models, with RoPE and with learned positions",
            "dos modelos pequeños, con RoPE y con posiciones aprendidas",
        )
        return Examined(default_subjects(broken, seed), name)
    if args.model is None:
        name = say(
            "two fresh models, with RoPE and with learned positions, and the small trained one",
            "dos modelos nuevos, con RoPE y con posiciones aprendidas, y el pequeño entrenado",
        )
        trained = subject_of(find_model(SMALL_MODEL).gpt, None, seed)
        return Examined([*default_subjects(None, seed), trained], name)
    gpt, name = find(args)
    return Examined([subject_of(gpt, args.broken, seed)], name)


def find(args: argparse.Namespace) -> tuple[GPT, str]:
    """The model to examine; a preset needs no tokenizer here."""
    if args.model in preset_names() and not is_run(args.out / args.model):
        if args.checkpoint:
            raise UserError(
                f"the preset {args.model} is not trained: leave out --checkpoint {args.checkpoint}"
            )
        source = say(f"preset {args.model}, untrained", f"preajuste {args.model}, sin entrenar")
        return GPT(load_preset(args.model).model, args.seed or 0), source
    found = find_model(args.model, root=args.out, which=args.checkpoint)
    for text in found.notes:
        note(text)
    return found.gpt, found.source


def heading(examined: Examined, name: str | None, broken: Break | None) -> Iterator[str]:
    """What is examined, where, and what was broken in it."""
    device = describe()
    yield say(
        f"Labs on {device.kind} ({device.name}): {examined.name}",
        f"Labs en {device.kind} ({device.name}): {examined.name}",
    )
    if broken:
        yield say(f"Broken: {name}: {broken.en}", f"Roto: {name}: {broken.es}")
    yield ""


def lines(outcome: Outcome) -> Iterator[str]:
    """A lab on one line, and a line for every statement that does not hold."""
    head = f"{outcome.key} {outcome.lab.title:<24}"
    if outcome.crash:
        yield f"✗ {head} {say('cannot run', 'no puede ejecutarse')}: {outcome.crash}"
    elif outcome.skipped:
        yield f"– {head} {say('left out', 'omitido')}: {outcome.skipped.text}"
    else:
        first = outcome.headline
        assert first
        yield f"{'✓' if outcome.ok else '✗'} {head} {statement(first)}"
        for measure in outcome.measures:
            if not measure.ok and measure is not first:
                yield f"{' ' * 31}{statement(measure)}"


def statement(measure: Measure) -> str:
    """A figure, its bounds and what it is."""
    return f"{figure(measure.figure):>9} {bounds(measure):<14} {measure.text}"


def figure(number: float) -> str:
    """A number in three digits, whole ones in full."""
    whole = math.isfinite(number) and number == int(number) and abs(number) < 1e12
    return spaced(int(number)) if whole else f"{number:.3g}"


def bounds(measure: Measure) -> str:
    """Within what the figure must lie."""
    low, high = figure(measure.low), figure(measure.high)
    if measure.low == measure.high or (math.isinf(measure.low) and measure.high == 0):
        return f"= {high}"
    if math.isinf(measure.low):
        return f"≤ {high}"
    return f"≥ {low}" if math.isinf(measure.high) else f"{low} … {high}"


def verdict(outcomes: Sequence[Outcome], name: str | None) -> str:
    """How it went, in one sentence."""
    failed = [outcome.key for outcome in outcomes if not outcome.ok]
    held = [each.key for each in outcomes if each.ok and not each.skipped]
    left_out = len(outcomes) - len(failed) - len(held)
    if not name:
        wrong = ", ".join(failed) or say("none", "ninguno")
        return say(
            f"{len(held)} labs hold, {left_out} left out; failed: {wrong}.",
            f"{len(held)} labs se cumplen, {left_out} omitidos; fallan: {wrong}.",
        )
    expected = ", ".join(noticed_by(name))
    return say(
        f"Noticed by {', '.join(failed) or 'none'} (must be by {expected}); "
        f"nothing wrong for {', '.join(held) or 'none'}.",
        f"Lo notan {', '.join(failed) or 'ninguno'} (deben notarlo {expected}); "
        f"nada malo para {', '.join(held) or 'ninguno'}.",
    )


def as_record(
    outcomes: Sequence[Outcome], examined: Examined, broken: str | None
) -> dict[str, Any]:
    """The outcomes for scripts."""
    return {
        "ok": all(outcome.ok for outcome in outcomes),
        "device": describe().kind,
        "model": examined.name,
        "break": broken,
        "labs": [lab_record(outcome) for outcome in outcomes],
    }


def lab_record(outcome: Outcome) -> dict[str, Any]:
    """One lab for scripts."""
    first = outcome.headline
    return {
        "id": outcome.key,
        "name": outcome.lab.name,
        "ok": outcome.ok,
        "figure": first and strict(first.figure),
        "tolerance": first and strict(first.bound),
        "kills": list(outcome.lab.kills),
        "skipped": outcome.skipped.en if outcome.skipped else outcome.crash or None,
        "measures": measure_records(outcome.measures),
    }


def measure_records(measures: Iterable[Measure]) -> list[dict[str, Any]]:
    """Statements for scripts."""
    return [
        {
            "name": measure.en,
            "figure": strict(measure.figure),
            "low": strict(measure.low),
            "high": strict(measure.high),
            "ok": measure.ok,
        }
        for measure in measures
    ]


def strict(number: float) -> float | None:
    """A number as strict JSON has it."""
    return float(number) if math.isfinite(number) else None


# --list


def explain(*, as_json: bool) -> None:
    """Every lab and every break."""
    if as_json:
        emit({"labs": lab_texts(), "breaks": break_texts(), "settings": list(SETTINGS)})
        return
    print(say("Labs", "Labs"))
    for key, lab in LABS.items():
        print(f"\n{key} {lab.title}\n    {lab.explanation}")
        print(f"    {say('must notice', 'debe notar')}: {', '.join(lab.kills) or '–'}")
    print("\n" + say("Breaks, for --break", "Errores, para --break") + "\n")
    rows = [(name, " ".join(noticed_by(name)), each.explanation) for name, each in BREAKS.items()]
    print(table(rows))
    print("\n" + say("Breaks to train, as settings", "Errores para entrenar, como ajustes") + "\n")
    print(table([(setting, say(*texts)) for setting, texts in SETTINGS.items()]))


def lab_texts() -> list[dict[str, Any]]:
    """Every lab for scripts."""
    return [
        {"id": key, "name": lab.name, "explanation": lab.en, "kills": list(lab.kills)}
        for key, lab in LABS.items()
    ]


def break_texts() -> list[dict[str, Any]]:
    """Every break for scripts."""
    return [
        {"name": name, "explanation": each.en, "noticed_by": noticed_by(name)}
        for name, each in BREAKS.items()
    ]


# --claims


def claims(*, as_json: bool) -> int:
    """Every claim of the courses with what is measured."""
    findings = []
    for finding in measured(progress.bar):
        findings.append(finding)
        if not as_json:
            progress.clear()
            print("\n".join(claim_lines(finding)), flush=True)
    ok = all(finding.ok for finding in findings)
    if as_json:
        emit({"ok": ok, "device": describe().kind, "claims": [*map(claim_record, findings)]})
    else:
        wrong = sum(claim.verdict != "right" for claim in CLAIMS.values())
        print(
            "\n"
            + say(
                f"{len(CLAIMS)} claims, {wrong} of them not simply right.",
                f"{len(CLAIMS)} afirmaciones, {wrong} de ellas no del todo correctas.",
            )
        )
    return 0 if ok else 1


MARKS = {"right": "✓", "wrong": "✗", "misleading": "≈", "trap": "!", "not checkable": "?"}
SPANISH = {
    "right": "correcto",
    "wrong": "incorrecto",
    "misleading": "engañoso",
    "trap": "trampa",
    "not checkable": "no comprobable",
}


def claim_lines(finding: Finding) -> Iterator[str]:
    """A claim, what is to be said about it, and the figures."""
    claim = finding.claim
    word = say(claim.verdict, SPANISH[claim.verdict])
    yield f"{MARKS[claim.verdict]} {finding.key:<4}{claim.text}"
    if claim.note:
        yield f"      {word}: {claim.note}"
    for measure in finding.measures:
        doubt = "" if measure.ok else say("  NOT CONFIRMED", "  NO CONFIRMADO")
        yield f"      {figure(measure.figure):>12}  {measure.text}{doubt}"


def claim_record(finding: Finding) -> dict[str, Any]:
    """One claim for scripts."""
    return {
        "id": finding.key,
        "claim": finding.claim.en,
        "verdict": finding.claim.verdict,
        "note": finding.claim.note_en,
        "confirmed": finding.ok,
        "measures": measure_records(finding.measures),
    }
