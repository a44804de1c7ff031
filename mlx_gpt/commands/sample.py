"""`mlx-gpt sample`: text from a model, as it comes."""

import argparse
import dataclasses
import secrets
import signal
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from mlx_gpt.device import choose, memory, mx

from mlx_gpt.commands.models import Model, add_model_arguments, find_model
from mlx_gpt.config import ModelConfig, SampleConfig
from mlx_gpt.errors import UserError
from mlx_gpt.language import say
from mlx_gpt.model import GPT
from mlx_gpt.sampling import Clock, Sample, quantise, write
from mlx_gpt.terminal import emit, given_text, has_color, note, size, visible
from mlx_gpt.tokenizer import Tokenizer

EXAMPLE = 'mlx-gpt sample stories "Once upon a time" -n 3 --temperature 0.7'
DIM, PLAIN = "\x1b[2m", "\x1b[0m"
SPANISH = {
    "temperature": "0 toma siempre el token más probable",
    "top_k": "deja los k tokens más probables; 0 los deja todos",
    "top_p": "deja los tokens más probables que suman p",
    "min_p": "quita los tokens menos probables que min_p veces el más probable",
    "repetition_penalty": "más de 1: los tokens usados se vuelven menos probables",
    "max_tokens": "máximo de tokens que se generan",
}


class Request(NamedTuple):
    """What is asked of the model."""

    prompt: str
    ids: list[int]
    config: SampleConfig
    seed: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The model, the prompt, how tokens are chosen and when to end."""
    add_model_arguments(parser)
    parser.add_argument(
        "prompt",
        nargs="?",
        default="",
        metavar=say("PROMPT", "TEXTO"),
        help=say("the text to continue; - reads stdin", "el texto a continuar; - lee stdin"),
    )
    parser.add_argument("-n", type=int, default=1, help=say("how many samples", "cuántas muestras"))
    for field in dataclasses.fields(SampleConfig):
        parser.add_argument(
            f"--{field.name.replace('_', '-')}",
            type=type(field.default),
            metavar="N",
            help=say(field.metadata["doc"], SPANISH[field.name]),
        )
    parser.add_argument(
        "--stop",
        action="append",
        default=[],
        metavar=say("TEXT", "TEXTO"),
        help=say("end before this text; repeat for more", "termina antes de este texto; repetible"),
    )
    parser.add_argument(
        "--no-cache",
        action="store_true",
        help=say(
            "encode all tokens for each new one: slower, same text",
            "codifica todos los tokens para cada uno nuevo: más lento, mismo texto",
        ),
    )
    parser.add_argument(
        "--compile",
        choices=("auto", "on", "off"),
        default="auto",
        help=say(
            "auto: on a GPU, and on a CPU once a run with `on` has paid some seconds for it",
            "auto: en una GPU, y en una CPU cuando una ejecución con `on` pagó unos segundos",
        ),
    )
    parser.add_argument(
        "--quantize",
        type=int,
        choices=(4, 8),
        metavar="4|8",
        help=say("bits per weight: less memory", "bits por peso: menos memoria"),
    )
    parser.add_argument(
        "--precision",
        choices=("float32", "bfloat16"),
        default="float32",
        help=say("of the computation", "del cálculo"),
    )
    parser.add_argument(
        "--top",
        type=int,
        default=5,
        metavar="K",
        help=say("rivals of each token in --json (5)", "rivales de cada token en --json (5)"),
    )


def run(args: argparse.Namespace) -> int:
    """Sample, showing the text while it grows or one JSON line per sample at the end."""
    device = choose(args.device)
    model = find_model(args.model, root=args.out, which=args.checkpoint)
    request = understand(args, model)
    check_room(args.n, model.config.model)
    shrink(model.gpt, args)
    for text in (*model.notes, *crop_notes(request, model), *slow_notes(args, device)):
        note(text)
    clock = Clock()
    growing = ticking(start(args, model, request), clock)
    if args.json:
        *_, samples = growing
        for number, sample in enumerate(samples):
            emit(record(number, sample, request, model.tokenizer, clock))
        return 0
    return show(growing, request, clock)


def understand(args: argparse.Namespace, model: Model) -> Request:
    """The request with what was left out filled in: the run's settings and a fresh seed."""
    names = [field.name for field in dataclasses.fields(SampleConfig)]
    given = {name: value for name in names if (value := getattr(args, name)) is not None}
    prompt = given_text(args.prompt)
    return Request(
        prompt,
        model.tokenizer.encode(prompt),
        dataclasses.replace(model.config.sample, **given),
        secrets.randbelow(2**32) if args.seed is None else args.seed,
    )


def check_room(n: int, config: ModelConfig) -> None:
    """Refuse more samples at once than memory holds the keys, values and logits of."""
    keys_and_values = 2 * config.n_layers * config.n_kv_heads * config.d_head
    needed = 4 * n * (keys_and_values * config.context_length + 2 * config.vocab_size)
    if needed > (limit := memory().limit):
        raise UserError(
            f"-n {n} needs about {size(needed)} of memory, and there are {size(limit)}; "
            "ask for fewer at a time"
        )


def crop_notes(request: Request, model: Model) -> Iterator[str]:
    """A prompt longer than the context is not seen whole."""
    length, limit = len(request.ids), model.config.model.context_length
    if length > limit:
        yield say(
            f"The prompt has {length} tokens; the model sees the last {limit} (context_length).",
            f"El texto tiene {length} tokens; el modelo ve los últimos {limit} (context_length).",
        )


def shrink(gpt: GPT, args: argparse.Namespace) -> None:
    """Give the weights the precision that was asked for."""
    if args.precision == "bfloat16":
        gpt.set_dtype(mx.bfloat16)
    if args.quantize:
        quantise(gpt, args.quantize)


def slow_notes(args: argparse.Namespace, device: str) -> Iterator[str]:
    """MLX has no fast kernels for small numbers on a CPU."""
    if device == "cpu" and (args.quantize or args.precision == "bfloat16"):
        yield say(
            "On a CPU such weights save memory, but MLX multiplies them more slowly.",
            "En una CPU tales pesos ahorran memoria, pero MLX los multiplica más despacio.",
        )


def start(args: argparse.Namespace, model: Model, request: Request) -> Iterator[list[Sample]]:
    """Begin to sample."""
    return write(
        model.gpt,
        model.tokenizer,
        request.ids,
        request.config,
        seed=request.seed,
        n=args.n,
        stops=args.stop,
        top=args.top if args.json else 0,
        use_cache=not args.no_cache,
        compiled={"auto": None, "on": True, "off": False}[args.compile],
    )


def ticking(growing: Iterator[list[Sample]], clock: Clock) -> Iterator[list[Sample]]:
    """The same samples, with the clock told of every new token."""
    for samples in growing:
        clock.tick(sum(len(sample.tokens) for sample in samples))
        yield samples


def show(growing: Iterator[list[Sample]], request: Request, clock: Clock) -> int:
    """Print the first sample while it grows, the others after it, then how it went."""
    samples: list[Sample] = []
    exit_code, told = 0, None
    try:
        for samples in growing:
            if told is None:
                put(head(1, len(samples), request.prompt))
                told = 0
            put(shown(samples[0].text[told:]))
            told = len(samples[0].text)
    except KeyboardInterrupt:
        exit_code = 128 + signal.SIGINT
    for number, sample in enumerate(samples[1:], 2):
        put(f"\n{head(number, len(samples), request.prompt)}{shown(sample.text)}")
    put("\n")
    note(summary(samples, request, clock))
    return exit_code


def head(number: int, n: int, prompt: str) -> str:
    """What stands before a sample: its number where there are several, and the prompt."""
    title = f"--- {number}/{n} ---\n" if n > 1 else ""
    dim = has_color(sys.stdout) and prompt
    return title + (f"{DIM}{shown(prompt)}{PLAIN}" if dim else shown(prompt))


def shown(text: str) -> str:
    """Text as it is, but on a terminal with its control characters made visible."""
    return visible(text) if sys.stdout.isatty() else text


def put(text: str) -> None:
    """Print at once."""
    print(text, end="", flush=True)


def summary(samples: list[Sample], request: Request, clock: Clock) -> str:
    """Seed, amount, speed and reason to end, in one line."""
    seed = say(f"seed {request.seed}", f"semilla {request.seed}")
    speed = say(
        f"{clock.tokens} tokens at {clock.tokens_per_second:.0f} tokens/s",
        f"{clock.tokens} tokens a {clock.tokens_per_second:.0f} tokens/s",
    )
    prefill = say(
        f"first after {clock.prefill_seconds:.3f} s",
        f"el primero tras {clock.prefill_seconds:.3f} s",
    )
    return " · ".join([seed, speed, prefill, ", ".join(ending(sample) for sample in samples)])


def ending(sample: Sample) -> str:
    """Why a sample ended, in words."""
    words = {
        "length": say("ended at max_tokens", "acabó en max_tokens"),
        "stop": say("ended before the stop text", "acabó ante el texto de parada"),
        "end": say("ended by itself", "acabó por sí solo"),
    }
    return words[sample.finish] if sample.finish else say("interrupted", "interrumpido")


def record(
    number: int, sample: Sample, request: Request, tokenizer: Tokenizer, clock: Clock
) -> dict[str, Any]:
    """One sample for scripts; the speed is that of all samples together."""

    def text(token_id: int) -> str:
        known = token_id < tokenizer.vocab_size
        return tokenizer.piece(token_id).decode("utf-8", "replace") if known else ""

    return {
        "sample": number,
        "prompt": request.prompt,
        "ids": [token.id for token in sample.tokens],
        "text": sample.text,
        "tokens": [
            {
                "id": token.id,
                "text": text(token.id),
                "p": token.p,
                "top": [
                    {"id": rival.id, "text": text(rival.id), "p": rival.p} for rival in token.top
                ],
            }
            for token in sample.tokens
        ],
        "seed": request.seed,
        "finish": sample.finish,
        "tokens_per_second": clock.tokens_per_second,
        "prefill_seconds": clock.prefill_seconds,
    }
