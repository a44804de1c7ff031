"""`mlx-gpt runs`: list, show, compare, export and remove run folders."""

import argparse
import json
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mlx_gpt.commands.runs_export import export
from mlx_gpt.config import broken_settings, load, read_toml, shown
from mlx_gpt.errors import UserError
from mlx_gpt.language import say
from mlx_gpt.run import (
    Record,
    Run,
    Summary,
    find_run,
    is_alive,
    list_runs,
    pointed_step,
    read,
    read_metrics,
    remove,
    saved_steps,
    summary,
)
from mlx_gpt.terminal import duration, emit, note, one_line, table, visible

EXAMPLE = "mlx-gpt runs compare stories stories-2"
LAST_EVENTS = 8
COMPARED_STEPS = 16
RUNS_OF = {
    "list": (0, 0),
    "show": (1, 1),
    "compare": (2, 2),
    "export": (1, 1),
    "rm": (1, sys.maxsize),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to do, and with which runs."""
    parser.add_argument(
        "action",
        nargs="?",
        default="list",
        choices=tuple(RUNS_OF),
        help=say(
            "what to do (list); best is of the run's own evaluations, not of one asked for",
            "qué hacer (list); mejor es de las evaluaciones propias, no de una pedida",
        ),
    )
    parser.add_argument(
        "runs", nargs="*", metavar="RUN", help=say("name or folder", "nombre o carpeta")
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs"),
        metavar="DIR",
        help=say("where the runs lie", "dónde están las ejecuciones"),
    )
    parser.add_argument(
        "--csv",
        type=Path,
        metavar="FILE.csv",
        help=say("export: to this file, not to stdout", "export: a este archivo, no a stdout"),
    )
    parser.add_argument(
        "--yes", action="store_true", help=say("rm: do not ask", "rm: no preguntar")
    )


def run(args: argparse.Namespace) -> int:
    """Do one of the five."""
    least, most = RUNS_OF[args.action]
    if not least <= len(args.runs) <= most:
        words = {0: "no run", 1: "one run", 2: "two runs"}[least]
        raise UserError(
            f"runs {args.action} takes {words}, not {len(args.runs)}; see mlx-gpt runs --help"
        )
    if args.csv and args.action != "export":
        raise UserError(f"--csv goes with runs export; runs {args.action} has --json")
    if args.csv and args.json:
        raise UserError("--csv FILE and --json are two forms of the export; choose one")
    chosen = [find_run(name, args.out) for name in args.runs]
    match args.action:
        case "list":
            show_list(args.out, as_json=args.json)
        case "show":
            show_run(chosen[0], as_json=args.json)
        case "compare":
            compare(chosen[0], chosen[1], as_json=args.json)
        case "export":
            export(chosen[0], args.csv, as_json=args.json)
        case "rm":
            remove_all(chosen, ask=not args.yes, as_json=args.json)
    return 0


# list


def summaries_in(root: Path) -> Iterator[Summary]:
    """The runs in a folder at a glance; one that cannot be read does not hide the others."""
    for each in list_runs(root):
        try:
            yield summary(each)
        except UserError as error:
            note(say(f"! {each.name} is left out; {error}", f"! se omite {each.name}; {error}"))


def show_list(root: Path, *, as_json: bool) -> None:
    """Every run in a folder, the one that wrote last on top."""
    summaries = sorted(summaries_in(root), key=lambda item: -item.updated)
    if as_json:
        emit([item._asdict() | {"breaks": list(breaks_of(item))} for item in summaries])
    elif summaries:
        print(with_breaks(summaries))
    else:
        note(
            say(
                f"No runs in {root} yet; start one with mlx-gpt train.",
                f"Aún no hay ejecuciones en {root}; empieza una con mlx-gpt train.",
            )
        )


def with_breaks(summaries: Sequence[Summary]) -> str:
    """The table of runs; one more column where a run was broken on purpose."""
    rows = [tuple(heading()), *(tuple(row(item)) for item in summaries)]
    breaks = [", ".join(breaks_of(item)) for item in summaries]
    if any(breaks):
        marks = [say("broken on purpose", "roto a propósito"), *breaks]
        rows = [(*cells, mark) for cells, mark in zip(rows, marks, strict=True)]
    return table(rows, right=range(2, 7))


def breaks_of(item: Summary) -> tuple[str, ...]:
    """The settings of a run that are meant to show what breaks; none if they cannot be read."""
    try:
        return broken_settings(load(Run(Path(item.path)).config_toml).model)
    except UserError:
        return ()


def heading() -> Sequence[str]:
    """The names of the columns."""
    return (
        say("name", "nombre"),
        say("state", "estado"),
        say("step", "paso"),
        say("val loss", "pérdida val"),
        say("best", "mejor"),
        "tok/s",
        say("age", "edad"),
    )


def row(item: Summary) -> Sequence[str]:
    """One run as cells."""
    return (
        one_line(item.name),
        state_word(item.state),
        str(item.step) if item.steps is None else f"{item.step}/{item.steps}",
        number(item.val_loss),
        number(item.best_val_loss),
        number(item.tokens_per_second, ".0f"),
        duration(max(time.time() - item.updated, 0)),
    )


def state_word(state: str) -> str:
    """A state in the user's language."""
    spanish = {
        "running": "en marcha",
        "paused": "en pausa",
        "finished": "terminada",
        "stopped": "detenida",
        "interrupted": "interrumpida",
        "diverged": "divergió",
    }
    return say(state, spanish[state])


def number(value: object, form: str = ".4f") -> str:
    """A number as text, or a dash where there is none."""
    return format(value, form) if isinstance(value, int | float) else "–"


# show


def show_run(chosen: Run, *, as_json: bool) -> None:
    """One run: where it stands, what it is, what it was fed, what it saved, what happened."""
    item, settings, facts = summary(chosen), read_toml(chosen.config_toml), read_facts(chosen)
    events = [event for event in read(chosen.events) if event.get("kind") != "token"]
    events = events[-LAST_EVENTS:]
    if as_json:
        emit(
            item._asdict()
            | {
                "breaks": list(breaks_of(item)),
                "config": settings,
                "data": facts,
                "checkpoints": saved_steps(chosen),
                "latest": pointed_step(chosen, "latest"),
                "best": pointed_step(chosen, "best"),
                "events": events,
            }
        )
        return
    print(table([heading(), row(item)], right=range(2, 7)))
    paragraphs = [
        *(
            (name, settings_line(values))
            for name, values in settings.items()
            if isinstance(values, dict)
        ),
        (say("facts", "datos"), settings_line(facts)),
        (say("saved", "guardado"), checkpoints_line(chosen)),
    ]
    for title, text in paragraphs:
        print(f"\n{paragraph(title, text)}")
    print("\n" + "\n".join(map(event_line, events)))


def read_facts(chosen: Run) -> Record:
    """What the run knows about its text; empty when it has not come so far."""
    try:
        facts = json.loads(chosen.data_json.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def settings_line(values: Record) -> str:
    """Settings as the user would write them, in one line."""
    return "  ".join(f"{key}={shown(value)}" for key, value in values.items()) or "–"


def paragraph(title: str, text: str) -> str:
    """A title and wrapped text beside it."""
    indent = " " * 10
    wrapped = textwrap.fill(
        visible(text), 96, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
    return title.ljust(10) + wrapped[10:]


def checkpoints_line(chosen: Run) -> str:
    """The saved steps, with the best one marked."""
    best = pointed_step(chosen, "best")
    mark = say("best", "mejor")
    steps = (f"{step} ({mark})" if step == best else str(step) for step in saved_steps(chosen))
    return ", ".join(steps) or "–"


def event_line(event: Record) -> str:
    """One event: when, what, and its other fields."""
    when, kind = event.get("time"), event.get("kind")
    clock = (
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(when))
        if isinstance(when, int | float)
        else "–"
    )
    rest = {key: value for key, value in event.items() if key not in ("time", "kind")}
    text = visible(f"{clock}  {kind}  {settings_line(rest) if rest else ''}".rstrip())
    return textwrap.shorten(text, 120, placeholder=" …") if len(text) > 120 else text


# compare


def compare(first: Run, second: Run, *, as_json: bool) -> None:
    """The settings in which two runs differ, and their losses side by side."""
    differences = config_differences(first, second)
    losses = losses_side_by_side(first, second)
    if as_json:
        emit(
            {
                "runs": [first.name, second.name],
                "config": {key: list(pair) for key, pair in differences.items()},
                "losses": losses,
            }
        )
        return
    names = (one_line(first.name), one_line(second.name))
    settings = [
        (visible(key), *(visible(side(value)) for value in pair))
        for key, pair in differences.items()
    ]
    print(table([(say("setting", "ajuste"), *names), *settings]))
    if not settings:
        print(say("(no setting differs)", "(ningún ajuste difiere)"))
    train, val = say("train", "entren."), say("val", "val")
    columns = (say("step", "paso"), *(f"{name} {kind}" for kind in (train, val) for name in names))
    rows = [
        (str(row["step"]), *map(number, (*row["loss"], *row["val_loss"])))
        for row in thinned(losses, COMPARED_STEPS)
    ]
    print("\n" + table([columns, *rows], right=range(5)))


def side(value: object) -> str:
    """A setting of one run, or a dash where it has none."""
    return "–" if value is None else shown(value)


def config_differences(first: Run, second: Run) -> dict[str, tuple[Any, Any]]:
    """Each setting that is not the same in both."""
    left, right = flat_settings(first), flat_settings(second)
    return {
        key: (left.get(key), right.get(key))
        for key in {**left, **right}
        if left.get(key) != right.get(key)
    }


def flat_settings(chosen: Run) -> dict[str, Any]:
    """Every setting as section.name."""
    return {
        f"{section}.{key}": value
        for section, values in read_toml(chosen.config_toml).items()
        if isinstance(values, dict)
        for key, value in values.items()
    }


def losses_side_by_side(first: Run, second: Run) -> list[Record]:
    """For each step that either run evaluated (or logged, without evaluations): both losses."""
    tables = [
        (losses(chosen, "step", "loss"), losses(chosen, "eval", "val_loss"))
        for chosen in (first, second)
    ]
    steps = {step for _, evals in tables for step in evals}
    steps = steps or {step for train, _ in tables for step in train}
    return [
        {
            "step": step,
            "loss": [train.get(step) for train, _ in tables],
            "val_loss": [evals.get(step) for _, evals in tables],
        }
        for step in sorted(steps)
    ]


def losses(chosen: Run, kind: str, key: str) -> dict[int, float | None]:
    """One curve by step."""
    return {
        record["step"]: record.get(key) for record in read_metrics(chosen) if record["kind"] == kind
    }


def thinned(rows: Sequence[Record], most: int) -> list[Record]:
    """At most so many rows, evenly spaced, the last one among them."""
    if len(rows) <= most:
        return list(rows)
    return [rows[round(i * (len(rows) - 1) / (most - 1))] for i in range(most)]


# rm


def remove_all(chosen: Iterable[Run], *, ask: bool, as_json: bool) -> None:
    """Delete runs, none of them living, after a question."""
    chosen = list(chosen)
    for item in chosen:
        if is_alive(item):
            raise UserError(
                f"run {item.name} is running; stop it first with mlx-gpt ctl {item.name} stop"
            )
    if ask and not confirmed(chosen):
        note(say("Nothing removed.", "No se ha borrado nada."))
        return
    for item in chosen:
        remove(item)
        note(say(f"Removed {item.path}.", f"Borrado {item.path}."))
    if as_json:
        emit({"removed": [str(item.path) for item in chosen]})


def confirmed(chosen: Sequence[Run]) -> bool:
    """Whether the person at the terminal agrees; without one, only --yes does."""
    if not sys.stdin.isatty():
        raise UserError("rm asks before it deletes, and nobody is there to answer; add --yes")
    names = ", ".join(one_line(str(item.path)) for item in chosen)
    question = say(f"Remove {names} for good? [y/N] ", f"¿Borrar {names} para siempre? [s/N] ")
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes", "s", "si", "sí")
