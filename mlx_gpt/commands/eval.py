"""`mlx-gpt eval`: loss, perplexity, bits per byte and per character over a whole text."""

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mlx_gpt.device import choose, mx

import numpy as np

from mlx_gpt.commands.models import Model, add_model_arguments, find_model
from mlx_gpt.config import DataConfig
from mlx_gpt.data import Size, cache_folder, prepare, text_size, tokenise
from mlx_gpt.errors import UserError
from mlx_gpt.kernels import cross_entropy
from mlx_gpt.language import say
from mlx_gpt.model import GPT
from mlx_gpt.run import Run, finite
from mlx_gpt.terminal import emit, note, progress, table
from mlx_gpt.tokenizer import Report, silent

EXAMPLE = "mlx-gpt eval stories my-text.txt --stride 64"
LOGITS_AT_ONCE = 2**24  # 64 MB of float32
OVERFLOW = 709  # exp of more is no float


class Text(NamedTuple):
    """The tokens to predict, how much text they stand for, and what to say about them."""

    tokens: np.ndarray
    size: Size
    notes: tuple[str, ...]


class Window(NamedTuple):
    """Tokens that the model reads at once; only its last `scored` predictions count."""

    start: int
    length: int
    scored: int


class Measures(NamedTuple):
    """Mean loss in nats, perplexity, the bits that a piece of text costs, and how much it was."""

    loss: float
    perplexity: float
    bits_per_byte: float
    bits_per_character: float
    tokens: int
    bytes: int
    characters: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The model, the text, and how much context each token gets."""
    add_model_arguments(parser)
    parser.add_argument(
        "files",
        nargs="*",
        metavar=say("FILE", "ARCHIVO"),
        help=say(
            "text files or folders; nothing: the validation part of the run's own text",
            "archivos o carpetas de texto; nada: la parte de validación del texto de la ejecución",
        ),
    )
    parser.add_argument("--encoding", default="utf-8", help=say("of the files", "de los archivos"))
    parser.add_argument(
        "--stride",
        type=int,
        metavar="N",
        help=say(
            "tokens between windows. Each token is predicted once and, past the first window, "
            "from at least context_length - N tokens. Without it windows do not overlap "
            "(N = context_length), as in the evaluations of a training",
            "tokens entre ventanas. Cada token se predice una vez y, tras la primera ventana, "
            "con al menos context_length - N tokens. Sin él las ventanas no se solapan "
            "(N = context_length), como en las evaluaciones de un entrenamiento",
        ),
    )


def run(args: argparse.Namespace) -> int:
    """Measure, and print a table or one JSON document."""
    choose(args.device)
    model = find_model(args.model, root=args.out, which=args.checkpoint)
    context_length = model.config.model.context_length
    stride = context_length if args.stride is None else args.stride
    if not 1 <= stride <= context_length:
        raise UserError(
            f"--stride {stride} is outside 1 to {context_length} (context_length): "
            "beyond it tokens would be left out"
        )
    text = read(model, args.files, args.encoding)
    for line in (*model.notes, *text.notes):
        note(line)
    found = measures(total_nats(model.gpt, text.tokens, stride, progress.bar), text)
    if args.json:
        emit(finite(found._asdict()))
    else:
        print(report_of(found, model))
    return 0


def read(model: Model, files: Sequence[str], encoding: str) -> Text:
    """The given text, or else the validation part of the run's own."""
    if not files:
        return own_validation(model)
    config = DataConfig(files=tuple(files), encoding=encoding)
    tokens, facts = tokenise(config, model.tokenizer, cache_folder(), progress.bar)
    return Text(tokens, Size(facts.bytes, facts.characters), facts.notes)


def own_validation(model: Model) -> Text:
    """The validation part of the text that the run was trained on."""
    if model.run is None:
        raise UserError(f"{model.source} has no text of its own here; name a text file")
    context_length = model.config.model.context_length
    data = model.config.data
    tokens = prepare(data, model.tokenizer, context_length, cache_folder(), progress.bar)
    if len(tokens.val) < 2:
        raise UserError(f"run {model.run.name} has no validation text; name a text file")
    notes = [
        say(
            f"No file named: this is the validation part of run {model.run.name}.",
            f"Ningún archivo: esta es la parte de validación de {model.run.name}.",
        )
    ]
    if trained_on(model.run) not in (None, tokens.facts.sha256):
        notes.append(
            say(
                "The text has changed since the training: parts of this may have been trained on.",
                "El texto cambió desde el entrenamiento: quizá el modelo ya vio partes de esto.",
            )
        )
    size = text_size(tokens.val[1:], model.tokenizer)  # the first is read but not predicted
    return Text(tokens.val, size, (*tokens.facts.notes, *notes))


def trained_on(run: Run) -> str | None:
    """The hash of the text that a run was trained on, where it is known."""
    try:
        return json.loads(run.data_json.read_text(encoding="utf-8"))["sha256"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def windows(n_tokens: int, context_length: int, stride: int) -> Iterator[Window]:
    """Windows that score every token but the first exactly once."""
    end = 0
    for start in range(0, n_tokens - 1, stride):
        scored_before, end = end, min(start + context_length, n_tokens - 1)
        yield Window(start, end - start, end - scored_before)
        if end == n_tokens - 1:
            return


def batches(found: Sequence[Window], size: int) -> Iterator[Sequence[Window]]:
    """Windows of one length together; only the last window may be shorter."""
    full = len(found) - (found[-1].length < found[0].length)
    for i in range(0, full, size):
        yield found[i : min(i + size, full)]
    if full < len(found):
        yield found[full:]


def total_nats(gpt: GPT, tokens: np.ndarray, stride: int, report: Report = silent) -> float:
    """-log p in nats, summed over every token but the first."""
    config = gpt.config
    found = list(windows(len(tokens), config.context_length, stride))
    size = max(1, min(64, LOGITS_AT_ONCE // (config.context_length * config.vocab_size)))
    total, done = 0.0, 0
    for batch in batches(found, size):
        rows = np.stack([tokens[w.start : w.start + w.length + 1] for w in batch]).astype(np.int32)
        losses = np.array(cross_entropy(gpt(mx.array(rows[:, :-1])), mx.array(rows[:, 1:])))
        for row, window in zip(losses, batch, strict=True):
            total += float(row[-window.scored :].sum(dtype=np.float64))
        done += len(batch)
        report(say("evaluating", "evaluando"), done, len(found))
    return total


def measures(nats: float, text: Text) -> Measures:
    """The figures, per token, per byte and per character."""
    loss = nats / (len(text.tokens) - 1)
    if not math.isfinite(loss):
        raise UserError(
            "the model has diverged: its loss is not finite; take an earlier checkpoint"
        )
    bits = nats / math.log(2)
    return Measures(
        loss=loss,
        perplexity=math.exp(loss) if loss < OVERFLOW else math.inf,
        bits_per_byte=bits / max(text.size.bytes, 1),
        bits_per_character=bits / max(text.size.characters, 1),
        tokens=len(text.tokens) - 1,
        bytes=text.size.bytes,
        characters=text.size.characters,
    )


def report_of(found: Measures, model: Model) -> str:
    """The figures as a table for people."""
    rows = [
        (say("model", "modelo"), model.source),
        (say("loss", "pérdida"), f"{found.loss:.4f} {say('nats per token', 'nats por token')}"),
        (say("perplexity", "perplejidad"), f"{found.perplexity:.2f}"),
        (say("bits per byte", "bits por byte"), f"{found.bits_per_byte:.4f}"),
        (say("bits per character", "bits por carácter"), f"{found.bits_per_character:.4f}"),
        (say("tokens", "tokens"), str(found.tokens)),
        (say("bytes", "bytes"), str(found.bytes)),
        (say("characters", "caracteres"), str(found.characters)),
    ]
    return table(rows)
