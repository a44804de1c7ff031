"""GPT-2's byte-level byte-pair encoding (Radford 2019), as its files describe it.

Text is cut into words by a fixed expression, a word into its UTF-8 bytes, and the pair of
neighbours that was learned first is joined until none is left.
"""

import hashlib
import heapq
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mlx_gpt.config import shown
from mlx_gpt.errors import UserError
from mlx_gpt.interop.fields import read_json
from mlx_gpt.tokenizer import decode, piece, utf8

CACHED_WORDS = 1 << 16
CACHED_LENGTH = 64  # characters; longer words rarely come twice
NO_SYMBOL = -1
DEFAULT_END = "<|endoftext|>"

# Unicode's "other" and "letter" numbers (x², ½, Ⅳ), which \d leaves out and \w counts in.
OTHER_NUMBERS = (
    "\u00b2\u00b3\u00b9\u00bc-\u00be\u09f4-\u09f9\u0b72-\u0b77\u0bf0-\u0bf2\u0c78-\u0c7e"
    "\u0d58-\u0d5e\u0d70-\u0d78\u0f2a-\u0f33\u1369-\u137c\u16ee-\u16f0\u17f0-\u17f9\u19da"
    "\u2070\u2074-\u2079\u2080-\u2089\u2150-\u2182\u2185-\u2189\u2460-\u249b\u24ea-\u24ff"
    "\u2776-\u2793\u2cfd\u3007\u3021-\u3029\u3038-\u303a\u3192-\u3195\u3220-\u3229"
    "\u3248-\u324f\u3251-\u325f\u3280-\u3289\u32b1-\u32bf\ua6e6-\ua6ef\ua830-\ua835"
    "\U00010107-\U00010133\U00010140-\U00010178\U0001018a\U0001018b\U000102e1-\U000102fb"
    "\U00010320-\U00010323\U00010341\U0001034a\U000103d1-\U000103d5\U00010858-\U0001085f"
    "\U00010879-\U0001087f\U000108a7-\U000108af\U000108fb-\U000108ff\U00010916-\U0001091b"
    "\U000109bc\U000109bd\U000109c0-\U000109cf\U000109d2-\U000109ff\U00010a40-\U00010a48"
    "\U00010a7d\U00010a7e\U00010a9d-\U00010a9f\U00010aeb-\U00010aef\U00010b58-\U00010b5f"
    "\U00010b78-\U00010b7f\U00010ba9-\U00010baf\U00010cfa-\U00010cff\U00010e60-\U00010e7e"
    "\U00010f1d-\U00010f26\U00010f51-\U00010f54\U00010fc5-\U00010fcb\U00011052-\U00011065"
    "\U000111e1-\U000111f4\U0001173a\U0001173b\U000118ea-\U000118f2\U00011c5a-\U00011c6c"
    "\U00011fc0-\U00011fd4\U00012400-\U0001246e\U00016b5b-\U00016b61\U00016e80-\U00016e96"
    "\U0001d2e0-\U0001d2f3\U0001d360-\U0001d378\U0001e8c7-\U0001e8cf\U0001ec71-\U0001ecab"
    "\U0001ecad-\U0001ecaf\U0001ecb1-\U0001ecb4\U0001ed01-\U0001ed2d\U0001ed2f-\U0001ed3d"
    "\U0001f100-\U0001f10c"
)
SPACE = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
LETTER = rf"[^\W\d_{OTHER_NUMBERS}]"
NUMBER = rf"[\d{OTHER_NUMBERS}]"
SIGN = rf"(?:[^\w{SPACE}]|_)"
WORD = re.compile(
    rf"'s|'t|'re|'ve|'m|'ll|'d| ?{LETTER}+| ?{NUMBER}+| ?{SIGN}+"
    rf"|[{SPACE}]+(?![^{SPACE}])|[{SPACE}]+"
)
DIGIT = re.compile(f"({NUMBER})")


class Rules(NamedTuple):
    """What defines a byte-level BPE tokenizer."""

    vocab: Mapping[str, int]  # without `added` and `special`
    merges: tuple[tuple[str, str], ...]  # in the order in which they were learned
    added: Mapping[str, int]  # whole tokens that text may spell out
    special: Mapping[str, int]  # tokens that no text ever becomes
    digits: bool  # whether every digit is a word of its own
    end: str  # the token between documents


def alphabet() -> list[str]:
    """GPT-2's printable character for each byte."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in visible]
    characters = {byte: chr(byte) for byte in visible}
    characters |= {byte: chr(256 + n) for n, byte in enumerate(hidden)}
    return [characters[byte] for byte in range(256)]


ALPHABET = alphabet()
BYTES = {character: byte for byte, character in enumerate(ALPHABET)}


class BPETokenizer:
    """Byte-level BPE with somebody else's vocabulary; every text comes back exactly."""

    name = "bpe"

    def __init__(self, rules: Rules):
        self.rules = rules
        self.symbols = byte_symbols(rules.vocab)
        self.ranks = ranks(rules)
        self.table = table(rules)
        self.vocab_size = len(self.table)
        self.end_id = end_id(rules)
        self.fingerprint = fingerprint(rules)
        self.literal = literals(rules.added)
        self.words: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """The ids of a text; never a special one, whatever the text says."""
        utf8(text)
        ids: list[int] = []
        for part in self.literal.split(text) if self.literal else [text]:
            added = self.rules.added.get(part)
            ids += self.encode_part(part) if added is None else [added]
        return ids

    def encode_part(self, text: str) -> list[int]:
        """The ids of text without added tokens."""
        ids: list[int] = []
        for part in DIGIT.split(text) if self.rules.digits else [text]:
            for word in WORD.findall(part):
                ids += self.words.get(word) or self.encode_word(word)
        return ids

    def encode_word(self, word: str) -> list[int]:
        """The ids of one word, remembered: most words of a text are not new."""
        symbols = [self.symbols[byte] for byte in word.encode("utf-8")]
        if NO_SYMBOL in symbols:
            byte = word.encode("utf-8")[symbols.index(NO_SYMBOL)]
            raise UserError(
                f"this tokenizer has no token for the byte 0x{byte:02X} in {word!r}; "
                "take such characters out of the text"
            )
        ids = joined(symbols, self.ranks)
        if len(word) <= CACHED_LENGTH:
            if len(self.words) >= CACHED_WORDS:
                self.words.clear()
            self.words[word] = ids
        return ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text."""
        return [self.encode(text) for text in texts]

    def piece(self, token_id: int) -> bytes:
        """The bytes of one token, none for a special one."""
        return piece(self.table, token_id)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; bytes that are not UTF-8 become U+FFFD."""
        return decode(self.table, ids)

    def save(self, folder: Path) -> None:
        """Write `tokenizer.json`, and `tokenizer_config.json` with the end token."""
        text = json.dumps(to_json(self.rules), ensure_ascii=False, indent=1)
        (folder / "tokenizer.json").write_text(text + "\n", encoding="utf-8")
        config = json.dumps({"eos_token": self.rules.end}, ensure_ascii=False, indent=1)
        (folder / "tokenizer_config.json").write_text(config + "\n", encoding="utf-8")


class Pair(NamedTuple):
    """What joining two neighbours gives, and how early it was learned."""

    rank: int
    joined: int


def joined(symbols: list[int], ranks: Mapping[tuple[int, int], Pair]) -> list[int]:
    """Join neighbours, the earliest learned pair first, of equal ones the leftmost."""
    after = list(range(1, len(symbols) + 1))
    before = list(range(-1, len(symbols) - 1))
    queue: list[tuple[int, int, int, int]] = []

    def consider(left: int, right: int) -> None:
        if left >= 0 and right < len(symbols):
            pair = ranks.get((symbols[left], symbols[right]))
            if pair:
                heapq.heappush(queue, (pair.rank, left, right, pair.joined))

    for i in range(len(symbols) - 1):
        consider(i, i + 1)
    alive = [True] * len(symbols)
    while queue:
        rank, left, right, together = heapq.heappop(queue)
        stale = not alive[left] or after[left] != right
        if stale or ranks.get((symbols[left], symbols[right])) != (rank, together):
            continue
        symbols[left], alive[right] = together, False
        after[left] = after[right]
        if after[left] < len(symbols):
            before[after[left]] = left
        consider(before[left], left)
        consider(left, after[left])
    return [symbol for symbol, kept in zip(symbols, alive, strict=True) if kept]


def byte_symbols(vocab: Mapping[str, int]) -> list[int]:
    """The id of each byte; some vocabularies leave out rare ones, but none the ASCII letters."""
    symbols = [vocab.get(character, NO_SYMBOL) for character in ALPHABET]
    if NO_SYMBOL in symbols[ord(" ") : ord("~") + 1]:
        missing = symbols.index(NO_SYMBOL, ord(" "))
        raise UserError(
            f"the tokenizer's vocabulary lacks the byte 0x{missing:02X}; "
            "only byte-level BPE is known here"
        )
    return symbols


def ranks(rules: Rules) -> dict[tuple[int, int], Pair]:
    """The learned pairs by the ids of their parts."""
    found: dict[tuple[int, int], Pair] = {}
    vocab = {**rules.added, **rules.vocab}
    for rank, (left, right) in enumerate(rules.merges):
        try:
            pair = vocab[left], vocab[right]
            found.setdefault(pair, Pair(rank, vocab[left + right]))
        except KeyError as error:
            raise UserError(
                f"merge {rank} of the tokenizer ({left} {right}) needs {error}, which is not in "
                "its vocabulary; get the tokenizer's files again"
            ) from None
    return found


def table(rules: Rules) -> list[bytes]:
    """The bytes of every id: none for special ones and for gaps."""
    ids = [*rules.vocab.values(), *rules.added.values(), *rules.special.values()]
    if min(ids) < 0 or max(ids) > 2 * len(ids) + 1_000_000:
        raise UserError(f"the tokenizer has the id {max(ids)} for {len(ids)} tokens")
    pieces = [b""] * (max(ids) + 1)
    for token, token_id in rules.vocab.items():
        pieces[token_id] = token_bytes(token)
    for token, token_id in rules.added.items():
        pieces[token_id] = utf8(token)
    return pieces


def token_bytes(token: str) -> bytes:
    """The bytes that a token of the vocabulary stands for."""
    try:
        return bytes([BYTES[character] for character in token])
    except KeyError:
        return utf8(token)


def end_id(rules: Rules) -> int:
    """The id of the token between documents."""
    for tokens in (rules.special, rules.added, rules.vocab):
        if rules.end in tokens:
            return tokens[rules.end]
    raise UserError(f"the tokenizer's end token {rules.end} is not in its vocabulary")


def fingerprint(rules: Rules) -> str:
    """A hash of everything that decides what a text becomes."""
    return hashlib.sha256(json.dumps(rules, ensure_ascii=True).encode()).hexdigest()


def literals(added: Mapping[str, int]) -> re.Pattern[str] | None:
    """An expression that finds added tokens, the longest first."""
    if not added:
        return None
    tokens = sorted(added, key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, tokens))})")


# Files


def to_json(rules: Rules) -> dict[str, Any]:
    """The rules in the form that `tokenizers` reads."""
    split = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    split["use_regex"] = True
    digits = {"type": "Digits", "individual_digits": True}
    sequence = {"type": "Sequence", "pretokenizers": [digits, split]}
    ids = {**rules.special, **rules.added}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            added_token(token_id, token, special=token in rules.special)
            for token, token_id in sorted(ids.items(), key=lambda item: item[1])
        ],
        "normalizer": None,
        "pre_tokenizer": sequence if rules.digits else split,
        "post_processor": None,
        "decoder": {**split, "add_prefix_space": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {**rules.vocab, **ids},
            "merges": [list(pair) for pair in rules.merges],
        },
    }


def added_token(token_id: int, content: str, *, special: bool) -> dict[str, Any]:
    """An entry of `added_tokens`."""
    return {
        "id": token_id,
        "content": content,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": special,
    }


def from_folder(folder: Path) -> BPETokenizer:
    """The tokenizer in `tokenizer.json`, or in `vocab.json` and `merges.txt`."""
    end = end_token(folder)
    try:
        if (folder / "tokenizer.json").is_file():
            rules = from_json(read_json(folder / "tokenizer.json"), end)
        else:
            rules = from_two_files(folder / "vocab.json", folder / "merges.txt", end)
        return BPETokenizer(rules)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"the tokenizer in {folder} is damaged ({type(error).__name__}: {error}); "
            "get its files again"
        ) from None


def end_token(folder: Path) -> str | None:
    """The token that tokenizer_config.json calls the end of a sequence."""
    path = folder / "tokenizer_config.json"
    entry = read_json(path).get("eos_token") if path.is_file() else None
    token = entry.get("content") if isinstance(entry, dict) else entry
    return token if isinstance(token, str) else None


def from_two_files(vocab_json: Path, merges_txt: Path, end: str | None) -> Rules:
    """GPT-2's own two files."""
    vocab = checked_vocab(read_json(vocab_json))
    try:
        lines = merges_txt.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise UserError(f"cannot read {merges_txt}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{merges_txt} is not UTF-8; get the file again") from None
    merges = pairs([line for line in lines if line and not line.startswith("#version")])
    return sorted_out(vocab, merges, {}, {}, digits=False, end=end)


def from_json(content: Mapping[str, Any], end: str | None) -> Rules:
    """The rules in a `tokenizer.json`; what is not byte-level BPE is refused by name."""
    model = content["model"]
    check_model(model)
    check_normalizer(content.get("normalizer"))
    entries = content.get("added_tokens") or []
    special = {entry["content"]: entry["id"] for entry in entries if entry.get("special")}
    added = {entry["content"]: entry["id"] for entry in entries if not entry.get("special")}
    return sorted_out(
        checked_vocab(model["vocab"]),
        pairs(model["merges"]),
        added,
        special,
        digits=splits_digits(content.get("pre_tokenizer")),
        end=end,
    )


def sorted_out(
    vocab: Mapping[str, int],
    merges: tuple[tuple[str, str], ...],
    added: Mapping[str, int],
    special: Mapping[str, int],
    *,
    digits: bool,
    end: str | None,
) -> Rules:
    """Rules whose vocabulary holds no special token; without a name the end is GPT-2's."""
    end = DEFAULT_END if end is None else end
    if end in vocab and end not in special:
        special = {**special, end: vocab[end]}
    added = {token: token_id for token, token_id in added.items() if token not in special}
    needed = {*ALPHABET, *(part for left, right in merges for part in (left, right, left + right))}
    extra = special.keys() | (added.keys() - needed)
    plain = {token: token_id for token, token_id in vocab.items() if token not in extra}
    return Rules(by_id(plain), merges, by_id(added), by_id(special), digits, end)


def by_id(tokens: Mapping[str, int]) -> dict[str, int]:
    """The same tokens in the order of their ids, however a file lists them."""
    return dict(sorted(tokens.items(), key=lambda item: item[1]))


def checked_vocab(vocab: Mapping[str, Any]) -> dict[str, int]:
    """Tokens and ids, refused where they are not that."""
    if not vocab or any(type(token_id) is not int for token_id in vocab.values()):
        raise ValueError("the vocabulary does not map tokens to whole numbers")
    return dict(vocab)


def pairs(merges: Iterable[str | Sequence[str]]) -> tuple[tuple[str, str], ...]:
    """Merges as pairs, whether a file has them as "a b" or as ["a", "b"]."""
    return tuple(pair(merge) for merge in merges)


def pair(merge: str | Sequence[str]) -> tuple[str, str]:
    """One merge."""
    left, right = merge.split(" ") if isinstance(merge, str) else merge
    return left, right


def check_model(model: Mapping[str, Any]) -> None:
    """Refuse what is not plain BPE."""
    wanted = {
        "type": ("BPE",),
        "byte_fallback": (None, False),
        "continuing_subword_prefix": (None, ""),
        "end_of_word_suffix": (None, ""),
        "dropout": (None, 0.0),
        "ignore_merges": (None, False),
    }
    for key, allowed in wanted.items():
        if model.get(key) not in allowed:
            refuse(f"model.{key}", model.get(key))


def check_normalizer(normalizer: Mapping[str, Any] | None) -> None:
    """Refuse a tokenizer that changes the text; only NFC is left out, to keep text exact."""
    if normalizer is not None and normalizer.get("type") != "NFC":
        refuse("normalizer", normalizer.get("type"))


def splits_digits(splitter: Mapping[str, Any] | None) -> bool:
    """Whether digits stand alone; a pre-tokenizer that is not GPT-2's is refused."""
    steps = list(steps_of(splitter))
    *first, last = steps or [{}]
    if last.get("type") != "ByteLevel" or last.get("use_regex") is False:
        refuse("pre_tokenizer", last.get("type"))
    if last.get("add_prefix_space"):
        refuse("pre_tokenizer.add_prefix_space", True)
    for step in first:
        if step.get("type") != "Digits" or not step.get("individual_digits"):
            refuse("pre_tokenizer", step.get("type"))
    return bool(first)


def steps_of(splitter: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    """The steps of a pre-tokenizer."""
    if splitter is not None and splitter.get("type") == "Sequence":
        yield from splitter["pretokenizers"]
    elif splitter is not None:
        yield splitter


def refuse(key: str, value: object) -> None:
    """Say which part of a tokenizer.json cannot be followed."""
    raise UserError(
        f"tokenizer.json: {key} = {shown(value)} is not known here; "
        "GPT-2's byte-level BPE is, and SentencePiece models in tokenizer.model"
    )
