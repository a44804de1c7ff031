"""What `mlx-gpt trace` follows: a model, the tokens of a prompt, and the trace of the two."""

import argparse
from collections.abc import Sequence
from typing import NamedTuple

from mlx_gpt.device import mx

from mlx_gpt.commands.models import Model, find_model
from mlx_gpt.commands.trace_views import word
from mlx_gpt.errors import UserError
from mlx_gpt.language import say
from mlx_gpt.terminal import given_text, note
from mlx_gpt.tracer import trace
from mlx_gpt.traces import Trace

GUESSES = 5


class Subject(NamedTuple):
    """What is traced: a model and the tokens of a prompt."""

    model: Model
    ids: list[int]
    tokens: list[str]

    def words(self, token_id: int) -> str:
        """A token of the vocabulary as one visible word."""
        return piece(self.model, token_id)


def understand(
    name: str | None, prompt: str, checkpoint: str | None, args: argparse.Namespace
) -> Subject:
    """The model by name, and the prompt as its tokens: the last ones, if there are too many."""
    model = find_model(name, root=args.out, which=checkpoint)
    text = given_text(prompt)
    ids = model.tokenizer.encode(text) or [model.tokenizer.end_id]
    limit = model.config.model.context_length
    if len(ids) > limit:
        note(
            say(
                f"The prompt has {len(ids)} tokens; the last {limit} are traced (context_length).",
                f"El texto tiene {len(ids)} tokens; se siguen los {limit} últimos (su contexto).",
            )
        )
    ids = ids[-limit:]
    return Subject(model, ids, [piece(model, token) for token in ids])


def piece(model: Model, token: int) -> str:
    """A token as one visible word; the end of a text has none of its own."""
    tokenizer = model.tokenizer
    known = token < tokenizer.vocab_size
    return word(tokenizer.piece(token).decode("utf-8", "replace") if known else "") or f"<{token}>"


def record(subject: Subject, args: argparse.Namespace, keep: Sequence[str] = ()) -> Trace:
    """Trace the subject as the arguments ask."""
    model, only = subject.model, args.only or ["*"]
    if args.dtype:
        model.gpt.set_dtype(getattr(mx, args.dtype))
    globs = [*keep, *(only if args.values is not None else ())]
    if args.attention or args.html:
        globs.append("*.weights")
    targets = subject.ids[1:] or None
    if args.grad and not targets:
        raise UserError(
            "--grad needs a prompt of two tokens or more: the loss is over those that follow"
        )
    found = trace(
        model.gpt,
        subject.ids,
        targets=targets,
        keep=globs,
        grad=args.grad,
        replay=not args.no_replay,
        lens=GUESSES if args.lens or args.html or args.json else 0,
        sample=model.config.sample,
        seed=args.seed or 0,
        known=model.tokenizer.vocab_size,
        texts=[subject.tokens],
        checkpoint={"source": model.source},
    )
    return found.only(*only) if args.only else found
