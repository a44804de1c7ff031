"""`mlx-gpt trace`: every tensor on its way through the model, in order."""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

from mlx_gpt.device import choose

import numpy as np

from mlx_gpt.commands import trace_diff, trace_table, trace_views
from mlx_gpt.commands.models import Model, add_model_arguments
from mlx_gpt.commands.trace_html import page
from mlx_gpt.commands.trace_subject import Subject, record, understand
from mlx_gpt.errors import UserError
from mlx_gpt.insights import Account, Reach, account, light_cone
from mlx_gpt.language import say
from mlx_gpt.terminal import note
from mlx_gpt.tracefile import to_json
from mlx_gpt.traces import Trace

EXAMPLE = """mlx-gpt trace stories "Once upon a time" --only 'blocks.0.*' --explain
  mlx-gpt trace diff stories stories "Once" --dtype-b bfloat16"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The model, the prompt, what to look at and how to show it."""
    add_model_arguments(parser)
    parser.add_argument(
        "prompt",
        nargs="?",
        default="",
        metavar=say("PROMPT", "TEXTO"),
        help=say("the text to follow; - reads stdin", "el texto a seguir; - lee stdin"),
    )
    parser.add_argument(
        "rest",
        nargs="*",
        metavar="B [PROMPT]",
        help=say(
            "with `trace diff A B [PROMPT]`: A and B are models or saved traces (.json)",
            "con `trace diff A B [TEXTO]`: A y B son modelos o trazas guardadas (.json)",
        ),
    )
    add_looks(parser)
    add_views(parser)
    trace_diff.add_arguments(parser)


def add_looks(parser: argparse.ArgumentParser) -> None:
    """How the table is made."""
    group = parser.add_argument_group(say("the table", "la tabla"))
    group.add_argument(
        "--only",
        action="append",
        metavar="GLOB",
        help=say("rows that fit: 'blocks.0.*'; repeatable", "filas que encajan; repetible"),
    )
    group.add_argument(
        "--explain",
        action="store_true",
        help=say("equation and meaning of each row", "ecuación y sentido de cada fila"),
    )
    group.add_argument(
        "--fold",
        action="store_true",
        help=say("leave out rows whose shape does not change", "omite filas de igual forma"),
    )
    group.add_argument(
        "--values",
        nargs="?",
        const="",
        metavar="FILE.npz",
        help=say("the numbers too, or into a file", "también los números, o a un archivo"),
    )
    group.add_argument(
        "--grad",
        action="store_true",
        help=say(
            "the gradient of the loss by each row", "el gradiente de la pérdida por cada fila"
        ),
    )
    group.add_argument(
        "--no-replay",
        action="store_true",
        help=say("do not recompute the rows in float64", "no recalcula las filas en float64"),
    )
    group.add_argument(
        "--dtype",
        choices=("float32", "float16", "bfloat16"),
        help=say("compute in this precision", "calcula con esta precisión"),
    )


def add_views(parser: argparse.ArgumentParser) -> None:
    """What to show in the place of the table."""
    group = parser.add_argument_group(say("other views", "otras vistas"))
    group.add_argument(
        "--lens",
        action="store_true",
        help=say("what each layer would say (logit lens)", "qué diría cada capa (logit lens)"),
    )
    group.add_argument(
        "--attention",
        action="store_true",
        help=say("who looks at whom, per head", "quién mira a quién, por cabeza"),
    )
    group.add_argument(
        "--light-cone",
        type=int,
        metavar="I",
        help=say("what changes when token I changes", "qué cambia cuando cambia el token I"),
    )
    group.add_argument(
        "--account",
        nargs="?",
        const="",
        metavar="TOKEN",
        help=say(
            "the logit of a token (the likeliest) as a sum of parts",
            "el logit de un token (el más probable) como suma de partes",
        ),
    )
    group.add_argument(
        "--position",
        type=int,
        default=-1,
        metavar="I",
        help=say("of the logit for --account (-1: the last)", "del logit para --account (-1)"),
    )
    group.add_argument(
        "--html",
        type=Path,
        metavar="FILE",
        help=say("a page with all of it", "una página con todo"),
    )


def run(args: argparse.Namespace) -> int:
    """Trace, then show the table or the views that were asked for."""
    if args.model == "diff":
        return trace_diff.compare(args)
    if args.rest:
        raise UserError(f"{args.rest[0]} is a word too many; put the prompt in quotation marks")
    trace_diff.check_unused(args)
    choose(args.device)
    subject = understand(args.model, args.prompt, args.checkpoint, args)
    for text in subject.model.notes:
        note(text)
    found = record(subject, args)
    cone = None
    if args.light_cone is not None:
        cone = light_cone(subject.model.gpt, subject.ids, args.light_cone)
    sum_of = None
    if args.account is not None:
        token = token_id(args.account, subject.model)
        sum_of = account(subject.model.gpt, subject.ids, token=token, position=args.position)
    if args.values:
        store_values(found, Path(args.values))
    if args.html:
        store_page(page(found, subject.tokens, subject.words), args.html)
        note(say(f"written: {args.html}", f"escrito: {args.html}"))
    if args.json:
        emit_trace(found, cone, sum_of, args.values)
    elif not args.html:
        print(show(found, subject, cone, sum_of, args))
    return 0


def token_id(text: str, model: Model) -> int | None:
    """The token that a text is; none where nothing is named."""
    if not text:
        return None
    ids = model.tokenizer.encode(text)
    if len(ids) != 1:
        raise UserError(f"--account {text!r} is {len(ids)} tokens; name a text of one token")
    return ids[0]


def store_values(found: Trace, path: Path) -> None:
    """Write the kept values into one file, by row."""
    arrays: dict[str, Any] = {row.name: row.value for row in found.rows if row.value is not None}
    if path.suffix != ".npz":
        raise UserError(f"--values {path}: the file is an .npz; name it so")
    try:
        np.savez_compressed(path, **arrays)
    except OSError as error:
        raise UserError(f"cannot write --values {path}: {error.strerror}; name another") from None


def store_page(text: str, path: Path) -> None:
    """Write the page."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write --html {path}: {error.strerror}; name another") from None


def emit_trace(
    found: Trace, cone: list[Reach] | None, sum_of: Account | None, values: str | None
) -> None:
    """One JSON document: the trace, and what else was asked for."""
    store: dict[str, np.ndarray] | None = {} if values else None
    document = to_json(found, store)
    if cone is not None:
        document["light_cone"] = [
            {"row": reach.name, "changes": [float(f"{x:.6g}") for x in reach.changes]}
            for reach in cone
        ]
    if sum_of is not None:
        document["account"] = {
            "token": sum_of.token,
            "position": sum_of.position,
            "logit": sum_of.logit,
            "total": sum_of.total,
            "error": sum_of.error,
            "entries": [vars(entry) for entry in sum_of.entries],
        }
    print(json.dumps(document, ensure_ascii=False, allow_nan=False, sort_keys=True), flush=True)


def show(
    found: Trace,
    subject: Subject,
    cone: list[Reach] | None,
    sum_of: Account | None,
    args: argparse.Namespace,
) -> str:
    """The views that were asked for, else the table."""
    width = shutil.get_terminal_size((80, 24)).columns
    parts = []
    if args.lens:
        parts.append(trace_views.lens(found, subject.words, width))
    if args.attention:
        parts.append(trace_views.attention(found, subject.tokens, width))
    if cone is not None:
        parts.append(trace_views.cone(cone, subject.tokens, width))
    if sum_of is not None:
        parts.append(trace_views.statement(sum_of, subject.words(sum_of.token), width))
    if args.values == "":
        parts.append(trace_table.values(found, width))
    if not parts:
        parts = [trace_views.prompt(subject.tokens, subject.model.source, width)]
        parts.append(trace_table.table(found, width, fold=args.fold, explain=args.explain))
        parts.append("\n".join(trace_table.summary(found)))
    return "\n\n".join(parts)
