"""`mlx-gpt tokenizer`: train a tokenizer on text, look into it, and see what it does to a text."""

import argparse
import contextlib
import sys
from collections.abc import Callable
from pathlib import Path

from mlx_gpt.config import DataConfig
from mlx_gpt.data import prepare_tokenizer
from mlx_gpt.errors import UserError
from mlx_gpt.interop.folder import tokenizer_named
from mlx_gpt.language import say
from mlx_gpt.terminal import emit, given_text, note, progress, table, visible
from mlx_gpt.tokenizer import SentencePieceTokenizer, Tokenizer

EXAMPLE = "mlx-gpt tokenizer train book.txt --vocab-size 2000 && mlx-gpt tokenizer show ."
SHOWN = 40  # pieces
SIGNS = str.maketrans({" ": "␣", "\n": "␊", "\t": "␉"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The four verbs and what each takes."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="train|show|encode|decode")
    model = say(
        "bytes, a tokenizer.model, or the folder of a model",
        "bytes, un tokenizer.model o la carpeta de un modelo",
    )

    def verb(name: str, en: str, es: str, example: str) -> argparse.ArgumentParser:
        return verbs.add_parser(
            name,
            help=say(en, es),
            description=say(en, es).capitalize() + ".",
            epilog=f"{say('example', 'ejemplo')}: mlx-gpt tokenizer {name} {example}",
        )

    train = verb(
        "train", "learn pieces from text", "aprende de un texto", "book.txt --vocab-size 2000"
    )
    train.add_argument("files", nargs="+", metavar="FILE")
    train.add_argument("--vocab-size", type=int, default=DataConfig.vocab_size, metavar="N")
    train.add_argument("--encoding", default=DataConfig.encoding)
    train.add_argument("--out", type=Path, default=Path("tokenizer.model"), metavar="FILE.model")

    show = verb("show", "what it knows", "qué sabe", "tokenizer.model")
    show.add_argument("model", metavar="MODEL", help=model)

    encode = verb("encode", "text to ids", "de texto a números", "bytes 'Hello ñ'")
    encode.add_argument("model", metavar="MODEL", help=model)
    encode.add_argument("text", metavar="TEXT", help=say("- reads stdin", "- lee de stdin"))

    decode = verb("decode", "ids to text", "de números a texto", "bytes 72 105")
    decode.add_argument("model", metavar="MODEL", help=model)
    decode.add_argument("ids", nargs="*", type=int, metavar="ID")

    for parser in (train, show, encode, decode):
        repeat_common(parser)


def repeat_common(parser: argparse.ArgumentParser) -> None:
    """Let the options of every command follow the verb, too, without undoing those before it."""
    parser.add_argument(
        "--json",
        action="store_true",
        default=argparse.SUPPRESS,
        help=say("JSON on stdout", "JSON en stdout"),
    )
    for option in ("--seed", "--device", "--lang"):
        parser.add_argument(option, default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Do what the verb says."""
    verbs: dict[str, Callable[[argparse.Namespace], None]] = {
        "train": train,
        "show": show,
        "encode": encode,
        "decode": decode,
    }
    verbs[args.verb](args)
    return 0


def train(args: argparse.Namespace) -> None:
    """Learn a tokenizer from files and write it."""
    config = DataConfig(
        files=tuple(args.files),
        vocab_size=args.vocab_size,
        encoding=args.encoding,
        tokenizer="sentencepiece",
    )
    tokenizer, notes = prepare_tokenizer(config, progress.bar)
    out = write(tokenizer, args.out)
    for text in notes:
        note(text)
    if args.json:
        emit({"model": str(out), "vocab_size": tokenizer.vocab_size, "notes": notes})
    else:
        print(
            visible(
                say(
                    f"{tokenizer.vocab_size} pieces in {out}",
                    f"{tokenizer.vocab_size} piezas en {out}",
                )
            )
        )


def write(tokenizer: Tokenizer, out: Path) -> Path:
    """Save under the name asked for; a folder gets a tokenizer.model."""
    if not isinstance(tokenizer, SentencePieceTokenizer):
        raise TypeError(f"{tokenizer.name} has no file")
    path = out / "tokenizer.model" if out.is_dir() else out
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.write_bytes(tokenizer.model)
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise UserError(f"cannot write --out {path}: {error.strerror}") from None
    return path


def show(args: argparse.Namespace) -> None:
    """The size of a tokenizer, its special tokens and some of its pieces."""
    tokenizer = tokenizer_named(args.model)
    pieces = [tokenizer.piece(i) for i in range(tokenizer.vocab_size)]
    specials = [i for i, piece in enumerate(pieces) if not piece]
    learned = [i for i, piece in enumerate(pieces) if len(piece) > 1]
    if args.json:
        emit(
            {
                "name": tokenizer.name,
                "vocab_size": tokenizer.vocab_size,
                "end_id": tokenizer.end_id,
                "specials": specials,
                "sha256": tokenizer.fingerprint,
                "pieces": [piece_text(piece) for piece in pieces],
            }
        )
        return
    facts = [
        (say("tokenizer", "tokenizador"), tokenizer.name),
        (say("vocabulary", "vocabulario"), str(tokenizer.vocab_size)),
        (say("end of document", "fin de documento"), str(tokenizer.end_id)),
        (say("special tokens", "tokens especiales"), " ".join(map(str, specials))),
        ("sha256", tokenizer.fingerprint[:16]),
    ]
    print(table(facts))
    if learned:
        print(say("\nlonger pieces, most frequent first:", "\npiezas largas, por frecuencia:"))
        print(" ".join(signs(pieces[i]) for i in learned[:SHOWN]))


def encode(args: argparse.Namespace) -> None:
    """A text as ids, each with the piece that it stands for."""
    tokenizer = tokenizer_named(args.model)
    ids = tokenizer.encode(given_text(args.text))
    pieces = [tokenizer.piece(i) for i in ids]
    if args.json:
        emit({"ids": ids, "pieces": [piece_text(piece) for piece in pieces]})
        return
    rows = [(str(i), signs(piece)) for i, piece in zip(ids, pieces, strict=True)]
    print(table(rows, right=[0]))


def decode(args: argparse.Namespace) -> None:
    """Ids as text; exact where it is piped, harmless where it is looked at."""
    tokenizer = tokenizer_named(args.model)
    text = tokenizer.decode(args.ids)
    if args.json:
        emit({"ids": args.ids, "text": text})
    else:
        print(visible(text) if sys.stdout.isatty() else text)


def piece_text(piece: bytes) -> str:
    r"""A piece as text; bytes that are only part of a character as \xNN."""
    return piece.decode("utf-8", "backslashreplace")


def signs(piece: bytes) -> str:
    """A piece with its blanks to be seen, and nothing in it that acts on the terminal."""
    return visible(piece_text(piece).translate(SIGNS))
