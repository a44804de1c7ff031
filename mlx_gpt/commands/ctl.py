"""`mlx-gpt ctl`: speak to a living training and hear what it answers."""

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path

from mlx_gpt.errors import UserError
from mlx_gpt.language import say
from mlx_gpt.run import Record, Run, find_run, is_alive, replies, send, state
from mlx_gpt.terminal import emit, note, visible

EXAMPLE = 'mlx-gpt ctl stories sample "Once upon a time"'
COMMANDS = ("pause", "resume", "stop", "save", "sample", "eval", "snapshot", "eco")
SWITCH = {"on": True, "off": False}
SAMPLE_SETTINGS = ("max_tokens", "seed")
SAMPLE_SECONDS = 60  # of silence, once the training has said that it samples


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The run, the command and what goes with it: a prompt for sample, on or off for eco."""
    parser.add_argument("name", metavar="RUN", help=say("name or folder", "nombre o carpeta"))
    parser.add_argument(
        "command",
        choices=COMMANDS,
        help=say(
            "what to do between two steps; snapshot: write the weights of this moment into "
            "RUN/snapshot; eco: rest after each step for as long as it took",
            "qué hacer entre dos pasos; snapshot: escribir los pesos de este momento en "
            "RUN/snapshot; eco: descansar tras cada paso lo que este duró",
        ),
    )
    parser.add_argument(
        "word",
        nargs="?",
        metavar="PROMPT|on|off",
        help=say(
            "what sample continues; for eco: on or off", "lo que continúa sample; eco: on u off"
        ),
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs"),
        metavar="DIR",
        help=say("where the runs lie", "dónde están las ejecuciones"),
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help=say("how long to wait for the answer", "cuánto esperar la respuesta"),
    )
    parser.add_argument(
        "--max-tokens",
        type=int,
        metavar="N",
        help=say("sample: length of the text", "sample: longitud del texto"),
    )


def run(args: argparse.Namespace) -> int:
    """Send the command, wait for its acknowledgement and say what happened."""
    check_word(args)
    if not args.timeout > 0:
        raise UserError(f"--timeout {args.timeout:g}: must be above 0 seconds")
    chosen = find_run(args.name, args.out)
    if not is_alive(chosen):
        raise UserError(
            f"run {chosen.name} is not being trained (it is {state(chosen)}), so nobody answers "
            f"{args.command}; go on with mlx-gpt train --resume {shlex.quote(str(chosen.path))}"
        )
    command_id = send(chosen, args.command, **arguments(args))
    answers = replies(chosen, command_id, timeout=args.timeout)
    ack = acknowledgement(chosen, answers, args)
    if args.command == "sample":
        show_sample(chosen, command_id, ack, args)
    elif args.json:
        emit(ack)
    else:
        note(outcome(chosen, args, str(ack.get("message") or "")))
    return 0


def check_word(args: argparse.Namespace) -> None:
    """Refuse a word that the command does not take, and eco without one that it does."""
    if args.command == "eco" and args.word not in SWITCH:
        given = "nothing" if args.word is None else repr(args.word)
        raise UserError(f"eco takes on or off, but {given} was given; write eco on")
    if args.word is not None and args.command not in ("sample", "eco"):
        raise UserError(f"{args.command} takes no prompt, but {args.word!r} was given; drop it")


def arguments(args: argparse.Namespace) -> Record:
    """What goes along: for eco which way, for sample the prompt and the settings given."""
    if args.command == "eco":
        return {"on": SWITCH[args.word]}
    if args.command != "sample":
        return {}
    given = {key: getattr(args, key) for key in SAMPLE_SETTINGS}
    return {"prompt": args.word or ""} | {
        key: value for key, value in given.items() if value is not None
    }


def acknowledgement(chosen: Run, answers: Iterator[Record], args: argparse.Namespace) -> Record:
    """The trainer's word that it was done; its refusal, or its silence, is an error."""
    ack = next((answer for answer in answers if answer.get("kind") == "ack"), None)
    if ack is None:
        reason = (
            f"did not answer {args.command} within {args.timeout:g} s; it answers between steps, "
            "so give it longer with --timeout"
            if is_alive(chosen)
            else f"ended before it answered {args.command}; see mlx-gpt runs show {chosen.name}"
        )
        raise UserError(f"run {chosen.name} {reason}")
    if ack.get("ok") is False:
        raise UserError(f"run {chosen.name} refused {args.command}: {ack.get('message')}")
    return ack


def outcome(chosen: Run, args: argparse.Namespace, message: str) -> str:
    """What the command did, in the user's language, with the trainer's own words."""
    words = {
        "pause": say("is paused", "está en pausa"),
        "resume": say("goes on", "continúa"),
        "stop": say("stops and saves", "se detiene y guarda"),
        "save": say("has saved", "ha guardado"),
        "eval": say("evaluates", "evalúa"),
        "snapshot": say("has set its weights apart", "ha apartado sus pesos"),
        "eco on": say("rests as long as it works", "descansa tanto como trabaja"),
        "eco off": say("rests no longer", "ya no descansa"),
    }
    done = words[f"eco {args.word}" if args.command == "eco" else args.command]
    return visible(f"{chosen.name} {done}" + (f": {message}" if message else "."))


def show_sample(chosen: Run, command_id: str, ack: Record, args: argparse.Namespace) -> None:
    """Wait for the text and print it behind its prompt."""
    answers = replies(chosen, command_id, timeout=max(args.timeout, SAMPLE_SECONDS))
    end = next((answer for answer in answers if answer.get("kind") == "sample_end"), None)
    if end is None:
        raise UserError(f"run {chosen.name} began a sample but did not finish it; try again")
    if args.json:
        emit(ack | end)
    else:
        print(visible(f"{args.word or ''}{end.get('text', '')}"))
