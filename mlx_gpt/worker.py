"""One process that holds a model and answers questions about it: JSON lines on stdin and stdout.

A request is one line, {"id": 7, "do": "sample", …}; every line of its answer carries its id, and
the last one is {"id": 7, "done": true}. What cannot be answered gets {"error": "in words"} first.

| do | takes | answers |
|---|---|---|
| load | model, root, checkpoint (best, latest, a step) | source, step, config, pieces, notes … |
| encode | prompt | ids, texts |
| sample | prompt or ids, settings, seed, n, first, top | seed; a row a token; finish, speed |
| trace | pass, settings, seed, lens | trace (mlx-gpt/trace@1), texts, note |
| value | pass, row, axes, index, at | value: the row, or a slice of it; shape, axes, cropped |
| attention | pass, layer, head | value: weights (n_heads, T, S), or (T, S) of one head |
| lens | pass, position, top | lens: what the head would say after each block, and norms |
| account | pass, position, token | entries that sum to a logit, total, logit, off |
| cone | pass, position, token | rows: how much each position changes |
| gradients | pass | loss, gradients: of every weight the name, weight, norm |
| compare | a, b: two passes | gaps: a row's name, rel, ok, first position; first: the row |
| breaks | | breaks: name, what it is, whether it fits the model; labs: their ids |
| check | break, labs | a lab a line: ok, figure, bounds, expected |
| cancel | of | ends that request between two tokens or labs |

A pass is prompt or ids, perhaps with a break ("mask_none") and edits: a list of {"row", "how"
("zero", "scale", "shift"), "by", "axis", "at"}, where axis and at choose a part of the row, such
as one head. Arrays are {"shape", "dtype", "data"}: base64 of the little-endian numbers.
A request may name its "language" ("en", "es"), in which notes, sources and what is refused to a
reader are worded; labs and breaks come in both, and faults of the protocol are English.

One thread, the main one, uses MLX; another reads stdin, and ends the process when that closes.
"""

import base64
import contextlib
import dataclasses
import json
import math
import os
import queue
import secrets
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from mlx_gpt.device import choose, kind, mx

import numpy as np

from mlx_gpt.commands.models import Model, find_model
from mlx_gpt.config import SampleConfig, field_names, shown
from mlx_gpt.errors import UserError
from mlx_gpt.insights import account, light_cone, slopes
from mlx_gpt.inventory import inventory
from mlx_gpt.labs.breaks import BREAKS, find_break
from mlx_gpt.labs.subject import Subject, arrays
from mlx_gpt.labs.table import LABS, Outcome, default_subjects, examine, noticed_by
from mlx_gpt.language import say
from mlx_gpt.model import GPT
from mlx_gpt.run import Record
from mlx_gpt.sampling import Clock, Token, generate
from mlx_gpt.sampling import Row as Tokens
from mlx_gpt.tokenizer import Decoder, name_of
from mlx_gpt.tracefile import lens_json, to_json
from mlx_gpt.tracer import trace
from mlx_gpt.traces import Gap, Row, Trace, diff, gaps_along
from mlx_gpt.tracing import Edit, Rows

TOP = 2048  # rivals of a token: all of them, unless the vocabulary is larger
ROWS_MOST, COLUMNS_MOST = 512, 4096  # of a slice
WHOLE_MOST = 2**20  # numbers of a row that comes whole
COMPARED_MOST = 2**27  # numbers in all rows of a trace that are compared one by one
KEPT = 8  # rows whose numbers are kept for the next slice
END = object()


class Request:
    """A request from the other side, whose fields are checked as they are read."""

    def __init__(self, record: Mapping[str, Any]):
        self.record = record
        self.id = record.get("id")

    def __getitem__(self, name: str) -> Any:
        return self.record.get(name)

    def text(self, name: str, default: str | None = None) -> str | None:
        """A text."""
        value = self[name]
        if value is None:
            return default
        if not isinstance(value, str):
            raise UserError(f"{name} = {shown(value)}: give a text")
        return value

    def number(self, name: str, default: int, *, least: int | None = 0) -> int:
        """A whole number."""
        value = default if self[name] is None else self[name]
        if type(value) is not int or (least is not None and value < least):
            bound = "" if least is None else f" from {least}"
            raise UserError(f"{name} = {shown(value)}: give a whole number{bound}")
        return value

    def numbers(self, name: str) -> list[int] | None:
        """A list of whole numbers, or None where there is none."""
        value = self[name]
        if value is None:
            return None
        if not isinstance(value, list) or any(type(each) is not int for each in value):
            raise UserError(f"{name} = {shown(value)}: give a list of whole numbers")
        return value

    def part(self, name: str) -> "Request":
        """A request within this one."""
        value = self[name]
        if value is not None and not isinstance(value, dict):
            raise UserError(f"{name} = {shown(value)}: give an object")
        return Request(value or {})


class Pass(NamedTuple):
    """A forward pass that is asked about: its tokens, and how the model is changed for it."""

    ids: tuple[int, ...]
    cut: int  # tokens that were left out, because the context is too short
    broken: str
    edits: tuple[tuple[Any, ...], ...]


def array_json(array: np.ndarray) -> Record:
    """An array as JSON: its numbers as base64."""
    plain = np.ascontiguousarray(array, np.int32 if array.dtype.kind in "iub" else np.float32)
    little = plain.astype(plain.dtype.newbyteorder("<"), copy=False)
    data = base64.b64encode(little.tobytes()).decode("ascii")
    return {"shape": list(array.shape), "dtype": str(plain.dtype), "data": data}


def settings_of(request: Request, base: SampleConfig) -> SampleConfig:
    """How tokens are chosen: as the request says, else as the model was configured."""
    given = request.part("settings").record
    if unknown := set(given) - set(field_names(SampleConfig)):
        names = ", ".join(field_names(SampleConfig))
        raise UserError(f"no setting sample.{min(unknown)}; there are {names}")
    return dataclasses.replace(base, **given)


def edit_of(how: str, by: float, axis: int | None, at: int | None) -> Edit:
    """A change of a row, or of a part of it: everything at one place of one axis."""

    def change(x: mx.array, _: Rows) -> mx.array:
        new = {"zero": mx.zeros_like(x), "scale": x * by, "shift": x + by}[how]
        if axis is None or at is None:
            return new.astype(x.dtype)
        if not -x.ndim <= axis < x.ndim or not 0 <= at < x.shape[axis]:
            raise UserError(f"axis {axis} at {at} is outside a row of shape {x.shape}")
        places = mx.arange(x.shape[axis]).reshape(
            [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)]
        )
        return mx.where(places == at, new, x).astype(x.dtype)

    return change


def read_edits(request: Request) -> tuple[tuple[Any, ...], ...]:
    """The edits of a pass, checked."""
    edits = []
    for record in request["edits"] or []:
        edit = Request(record if isinstance(record, dict) else {})
        how, by = edit.text("how", "zero"), edit["by"]
        if how not in ("zero", "scale", "shift"):
            raise UserError(f"how = {shown(how)}: choose zero, scale or shift")
        if by is not None and (isinstance(by, bool) or not isinstance(by, int | float)):
            raise UserError(f"by = {shown(by)}: give a number")
        axis = None if edit["axis"] is None else edit.number("axis", 0, least=None)
        at = None if edit["at"] is None else edit.number("at", 0)
        edits.append((edit.text("row", ""), how, float(by or 0.0), axis, at))
    return tuple(edits)


class Worker:
    """A model and what is asked of it; every answer is a generator of records."""

    def __init__(self, stopped: Callable[[Any], bool] = lambda _: False):
        self.stopped = stopped  # whether a request has been cancelled
        self.model: Model | None = None
        self.broken: dict[str, GPT] = {}
        self.kept: dict[tuple[Pass, str], np.ndarray] = {}

    @property
    def loaded(self) -> Model:
        """The model in hand."""
        if self.model is None:
            raise UserError("no model is loaded; send load first")
        return self.model

    def answer(self, request: Request) -> Iterator[Record]:
        """The lines that answer a request."""
        ways: dict[str, Callable[[Request], Iterator[Record]]] = {
            "load": self.load,
            "encode": self.encode,
            "sample": self.sample,
            "trace": self.trace,
            "value": self.value,
            "attention": self.attention,
            "lens": self.lens,
            "account": self.account,
            "cone": self.cone,
            "gradients": self.gradients,
            "compare": self.compare,
            "breaks": self.breaks,
            "check": self.check,
        }
        say.language = "es" if request["language"] == "es" else "en"
        do = request.text("do", "") or ""
        if do not in ways:
            raise UserError(f"do = {shown(do)}: there are {', '.join(ways)} and cancel")
        return ways[do](request)

    # Models and tokens

    def load(self, request: Request) -> Iterator[Record]:
        """Take a model in hand."""
        which = None if request["checkpoint"] is None else str(request["checkpoint"])
        root = Path(request.text("root", "runs") or "runs")
        self.model = model = find_model(request.text("model"), root=root, which=which)
        self.broken, self.kept = {}, {}
        vocab_size = model.config.model.vocab_size
        yield {
            "source": model.source,
            "run": model.run.name if model.run else None,
            "step": model.step,
            "notes": list(model.notes),
            "config": dataclasses.asdict(model.config.model),
            "sample": dataclasses.asdict(model.config.sample),
            "pieces": [name_of(model.tokenizer, token) for token in range(vocab_size)],
            "end_id": model.tokenizer.end_id,
            "parameters": inventory(model.config.model).total,
            "device": kind(),
        }

    def encode(self, request: Request) -> Iterator[Record]:
        """The tokens of a prompt."""
        ids = self.tokens(request)
        yield {"ids": ids, "texts": self.texts(ids)}

    def tokens(self, request: Request) -> list[int]:
        """The ids of a request; where it has none, the token that begins a document."""
        ids = request.numbers("ids")
        if ids is None:
            ids = self.loaded.tokenizer.encode(request.text("prompt", "") or "")
        return ids or [self.loaded.tokenizer.end_id]

    def texts(self, ids: Iterable[int]) -> list[str]:
        """Each token's part of the text; one that ends no character has none of its own."""
        tokenizer = self.loaded.tokenizer
        decoder = Decoder(tokenizer)
        known = tokenizer.vocab_size
        return [decoder.feed(token) if token < known else "" for token in ids]

    # Sampling

    def sample(self, request: Request) -> Iterator[Record]:
        """Text as it comes: a line for each position, with the rivals of every token."""
        model, ids = self.loaded, self.tokens(request)
        config = settings_of(request, model.config.sample)
        seed = secrets.randbelow(2**32) if request["seed"] is None else request.number("seed", 0)
        n, vocab_size = request.number("n", 1, least=1), model.config.model.vocab_size
        rows = generate(
            model.gpt,
            ids,
            config,
            seed=seed,
            end_id=model.tokenizer.end_id,
            n=n,
            first=request.number("first", 0),
            top=min(request.number("top", TOP), vocab_size),
            known=min(model.tokenizer.vocab_size, vocab_size),
        )
        yield {"prompt": ids, "texts": self.texts(ids), "seed": seed}
        yield from self.stream(request, rows, n)

    def stream(self, request: Request, rows: Iterator[Tokens], n: int) -> Iterator[Record]:
        """The rows as they come, then why they end and how fast they were."""
        tokenizer, clock, count = self.loaded.tokenizer, Clock(), 0
        decoders = [Decoder(tokenizer) for _ in range(n)]
        finish = ["length"] * n
        for row in rows:
            for number, token in enumerate(row):
                count += token is not None
                if token and token.id == tokenizer.end_id:
                    finish[number] = "end"
            clock.tick(count)
            yield {"tokens": [told(*pair) for pair in zip(row, decoders, strict=True)]}
            if self.stopped(request.id):
                finish = ["stopped" if reason == "length" else reason for reason in finish]
                break
        yield {
            "finish": finish,
            "tokens_per_second": clock.tokens_per_second,
            "prefill_seconds": clock.prefill_seconds,
        }

    # Looking inside

    def given(self, request: Request) -> Pass:
        """The pass that a request is about: no longer than the context."""
        ids = self.tokens(request)
        room = self.loaded.config.model.context_length
        broken = request.text("break", "") or ""
        return Pass(tuple(ids[-room:]), max(len(ids) - room, 0), broken, read_edits(request))

    def gpt(self, given: Pass) -> GPT:
        """The model of a pass: as it is, or with the break it is to have."""
        model = self.loaded
        if not given.broken:
            return model.gpt
        mistake = find_break(given.broken)
        if not mistake.fits(model.config.model):
            needs = " and ".join(
                f"model.{key}={shown(each)}" for key, each in mistake.needs.items()
            )
            raise UserError(
                say(
                    f"this model cannot have the break {given.broken}: it needs {needs}",
                    f"este modelo no puede tener el error {given.broken}: necesita {needs}",
                )
            )
        if given.broken not in self.broken:
            subject = Subject(model.config.model, mistake.parts, weights=arrays(model.gpt))
            self.broken[given.broken] = subject.model
        return self.broken[given.broken]

    def traced(self, given: Pass, **wanted: Any) -> Trace:
        """The trace of a pass; with more than one token, its loss on itself."""
        ids, tokenizer = list(given.ids), self.loaded.tokenizer
        return trace(
            self.gpt(given),
            ids,
            targets=ids[1:] or None,
            edits={name: edit_of(*rest) for name, *rest in given.edits},
            known=min(tokenizer.vocab_size, self.loaded.config.model.vocab_size),
            texts=[self.texts(ids)],
            checkpoint={"source": self.loaded.source, "step": self.loaded.step},
            **wanted,
        )

    def trace(self, request: Request) -> Iterator[Record]:
        """Every row of a pass with its statistics, its proof, and the choice of a token."""
        given = self.given(request)
        found = self.traced(
            given,
            sample=settings_of(request, self.loaded.config.sample),
            seed=request.number("seed", 0),
            lens=request.number("lens", 5),
        )
        yield {"trace": to_json(found), "ids": list(given.ids), "cut": given.cut}

    def row(self, given: Pass, request: Request, name: str) -> np.ndarray:
        """All numbers of a row."""
        key = given, name
        if key not in self.kept:
            sample = settings_of(request, self.loaded.config.sample)
            seed = request.number("seed", 0)
            value = self.traced(given, keep=name, replay=False, sample=sample, seed=seed)[
                name
            ].value
            assert value is not None
            self.kept = {**dict(list(self.kept.items())[1 - KEPT :]), key: value}
        return self.kept[key]

    def value(self, request: Request) -> Iterator[Record]:
        """A row; where axes are named or it is large, two of them, the others at an index."""
        given, name = self.given(request), request.text("row", "") or ""
        array = self.row(given, request, name)
        if request["axes"] is None and array.size <= WHOLE_MOST:
            shape = list(array.shape)
            yield {
                "row": name,
                "value": array_json(array),
                "shape": shape,
                "axes": None,
                "cropped": False,
            }
            return
        axes = chosen_axes(request, array.ndim)
        index = request.numbers("index") or [0] * array.ndim
        corner = [*(request.numbers("at") or []), 0, 0][:2]
        whole = slice_of(array, axes, index)
        part = whole[corner[0] :][:ROWS_MOST, corner[1] :][:, :COLUMNS_MOST]
        yield {
            "row": name,
            "value": array_json(part),
            "shape": list(array.shape),
            "axes": list(axes),
            "cropped": part.shape != whole.shape,
        }

    def attention(self, request: Request) -> Iterator[Record]:
        """The attention weights of a layer, of all heads or one."""
        given, layer = self.given(request), request.number("layer", 0)
        n_layers = self.loaded.config.model.n_layers
        if layer >= n_layers:
            raise UserError(f"layer = {layer}: the model has layers 0 to {n_layers - 1}")
        weights = self.row(given, request, f"blocks.{layer}.weights")[0]
        head = None if request["head"] is None else request.number("head", 0)
        if head is not None and head >= len(weights):
            raise UserError(f"head = {head}: the model has heads 0 to {len(weights) - 1}")
        yield {"value": array_json(weights if head is None else weights[head]), "layer": layer}

    def lens(self, request: Request) -> Iterator[Record]:
        """What the head would say after each block, at one position."""
        given = self.given(request)
        position = place(request, len(given.ids))
        short = given._replace(ids=given.ids[: position + 1])
        found = self.traced(short, replay=False, lens=request.number("top", 5, least=1))
        yield {"lens": [lens_json(lens) for lens in found.lens], "position": position}

    def account(self, request: Request) -> Iterator[Record]:
        """A logit as a sum of what every part of the model adds to it."""
        given = self.given(request)
        token = None if request["token"] is None else request.number("token", 0)
        position = place(request, len(given.ids))
        found = account(self.gpt(given), given.ids, token=token, position=position)
        entries = [{"name": entry.name, "amount": entry.amount} for entry in found.entries]
        sums = {"logit": found.logit, "total": found.total, "off": found.error}
        yield {"token": found.token, "position": found.position, "entries": entries, **sums}

    def cone(self, request: Request) -> Iterator[Record]:
        """How far the change of one token reaches."""
        given = self.given(request)
        token = None if request["token"] is None else request.number("token", 0)
        position = place(request, len(given.ids))
        reached = light_cone(self.gpt(given), given.ids, position, token)
        rows = [{"name": each.name, "changes": list(each.changes)} for each in reached]
        yield {"position": position, "rows": rows}

    def gradients(self, request: Request) -> Iterator[Record]:
        """The gradient of the pass's own loss by every weight: how long it is."""
        given = self.given(request)
        if len(given.ids) < 2:
            raise UserError(
                say(
                    "a gradient needs a prompt of two tokens or more: the loss is of these",
                    "un gradiente pide un texto de dos tokens o más: la pérdida es de ellos",
                )
            )
        edits = {name: edit_of(*rest) for name, *rest in given.edits}
        loss, found = slopes(self.gpt(given), given.ids, given.ids[1:], edits=edits)
        parts = [
            {"name": each.name, "weight": bounded(each.weight), "norm": bounded(each.norm)}
            for each in found
        ]
        yield {"loss": bounded(loss), "gradients": parts}

    def compare(self, request: Request) -> Iterator[Record]:
        """Row by row, how far one pass is from another, and the first row that differs."""
        a, b = (self.given(request.part(name)) for name in "ab")
        count = sum(math.prod(row.shape) for row in self.traced(a, replay=False).rows)
        keep = "*" if count <= COMPARED_MOST else ()
        wanted = {"keep": keep, "replay": False, "sample": self.loaded.config.sample}
        one, other = (self.traced(each, **wanted) for each in (a, b))
        rows = [compared(gap, one[gap.name], other[gap.name]) for gap in diff(one, other)]
        first = next((row["name"] for row in rows if not row["ok"]), None)
        yield {"gaps": rows, "first": first}

    # Breaking it

    def breaks(self, request: Request) -> Iterator[Record]:
        """Every mistake that can be made on purpose."""
        config = self.loaded.config.model
        yield {
            "breaks": [
                {"name": name, "en": each.en, "es": each.es, "fits": each.fits(config)}
                for name, each in BREAKS.items()
            ],
            "labs": list(LABS),
        }

    def check(self, request: Request) -> Iterator[Record]:
        """The labs' verdicts on their own small models, sound or with a break."""
        name = request.text("break", "") or ""
        subjects = default_subjects(find_break(name) if name else None)
        expected = noticed_by(name) if name else []
        wanted = request["labs"] or list(LABS)
        for key in LABS:
            if self.stopped(request.id):
                return
            if key in wanted:
                yield {"lab": outcome_json(examine(key, subjects), key in expected)}


def told(token: Token | None, decoder: Decoder) -> Record | None:
    """A token for the other side: its text, its probability, and its rivals."""
    if token is None:
        return None
    rivals = np.array([(rival.id, rival.p) for rival in token.top]).reshape(-1, 2)
    return {
        "id": token.id,
        "p": token.p,
        "logit": bounded(token.logit),
        "text": decoder.feed(token.id) if token.id < decoder.tokenizer.vocab_size else "",
        "ids": array_json(rivals[:, 0].astype(np.int32)),
        "ps": array_json(rivals[:, 1]),
    }


def compared(gap: Gap, a: Row, b: Row) -> Record:
    """How far a row is from that of another pass, and the first position at which it is.

    Passes of other lengths are compared at the positions that both have.
    """
    reach = gaps_along(a, b)
    apart = [] if reach is None else np.flatnonzero(reach > gap.tol).tolist()
    rel = gap.rel if reach is None or gap.by != "shape" else float(reach.max(initial=0.0))
    at = apart[0] if apart else None
    return {"name": gap.name, "rel": bounded(rel), "ok": rel <= gap.tol, "at": at}


def place(request: Request, length: int) -> int:
    """The position that a request is about; without one the last."""
    position = request.number("position", -1, least=None)
    if not -length <= position < length:
        raise UserError(f"position = {position}: the prompt has {length} tokens")
    return position % length


def chosen_axes(request: Request, ndim: int) -> tuple[int, ...]:
    """The axes of a slice: those asked for, else the last two."""
    axes = request.numbers("axes")
    if axes is None:
        return tuple(range(ndim))[-2:]
    if len(set(axes)) != len(axes) or len(axes) > 2 or any(not 0 <= axis < ndim for axis in axes):
        raise UserError(f"axes = {axes}: give at most two different ones of {ndim}, from 0")
    return tuple(axes)


def slice_of(array: np.ndarray, axes: Sequence[int], index: Sequence[int]) -> np.ndarray:
    """The array as a table: rows and columns are the axes, all else stands at its index."""
    if len(index) != array.ndim:
        raise UserError(f"index = {list(index)}: the row has {array.ndim} axes; give one for each")
    for axis, at in enumerate(index):
        if axis not in axes and not 0 <= at < array.shape[axis]:
            raise UserError(f"index {at} of axis {axis}: there are {array.shape[axis]}, from 0")
    picked = array[tuple(slice(None) if i in axes else at for i, at in enumerate(index))]
    if len(axes) == 2 and axes[0] > axes[1]:
        picked = picked.T
    return np.atleast_2d(picked)


def bounded(x: float) -> float | None:
    """A number for strict JSON; null stands for one without bounds."""
    return x if math.isfinite(x) else None


def outcome_json(outcome: Outcome, expected: bool) -> Record:
    """What a lab found, in both languages."""
    head, lab = outcome.headline, outcome.lab
    record: Record = {
        "id": outcome.key,
        "ok": outcome.ok,
        "expected": expected,
        "name": {"en": lab.name, "es": lab.nombre},
        "skipped": outcome.skipped and {"en": outcome.skipped.en, "es": outcome.skipped.es},
        "crash": outcome.crash,
        "statement": None,
    }
    if head is not None:
        bounds = {"figure": bounded(head.figure), "low": bounded(head.low)}
        words = {"en": head.en, "es": head.es}
        record["statement"] = {**words, **bounds, "high": bounded(head.high)}
    return record


# The two threads


class Inbox:
    """The requests as they come in, read by a thread of its own that knows nothing of MLX."""

    def __init__(self, source: BinaryIO, on_end: Callable[[], object]):
        self.source, self.on_end = source, on_end
        self.waiting: queue.Queue[Any] = queue.Queue()
        self.cancelled: set[Any] = set()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        """Take lines in until there are no more."""
        for line in self.source:
            record = parse(line)
            if isinstance(record, dict) and record.get("do") == "cancel":
                self.cancelled.add(record.get("of"))
            elif line.strip():
                self.waiting.put(record)
        self.waiting.put(END)
        self.on_end()

    def stopped(self, request_id: Any) -> bool:
        """Whether a request has been cancelled."""
        return request_id in self.cancelled


def parse(line: bytes) -> Any:
    """What a line holds; None for one that is no JSON."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def serve(source: BinaryIO, sink: BinaryIO, on_end: Callable[[], object]) -> None:
    """Answer requests one after the other until there are no more."""
    inbox = Inbox(source, on_end)
    worker = Worker(inbox.stopped)

    def send(request_id: Any, record: Record) -> None:
        line = json.dumps({"id": request_id, **record}, ensure_ascii=False, allow_nan=False)
        sink.write(line.encode() + b"\n")
        sink.flush()

    while (record := inbox.waiting.get()) is not END:
        if not isinstance(record, dict):
            send(None, {"error": "a request is one JSON object on a line", "done": True})
            continue
        request = Request(record)
        for answer in answers(worker, request, cancelled=inbox.stopped(request.id)):
            send(request.id, answer)


def answers(worker: Worker, request: Request, *, cancelled: bool) -> Iterator[Record]:
    """The lines of an answer, the last of which says that it is; a fault in words."""
    if cancelled:
        yield {"done": True, "cancelled": True}
        return
    try:
        yield from worker.answer(request)
    except UserError as error:
        yield {"error": str(error)}
    except Exception as error:  # the app goes on; the fault is shown there and told here
        traceback.print_exc()
        failed = say("the worker failed", "el proceso del modelo falló")
        yield {"error": f"{failed}: {type(error).__name__}: {error}"}
    yield {"done": True}


def main() -> None:
    """Serve stdin and stdout; whatever else is printed goes to stderr."""
    choose(sys.argv[1] if len(sys.argv) > 1 else "auto")
    sink = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    with contextlib.redirect_stdout(sys.stderr):
        serve(sys.stdin.buffer, sink, on_end=lambda: os._exit(0))


if __name__ == "__main__":
    main()
