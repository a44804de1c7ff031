"""A pass that is being looked into: its trace, what it is compared with, and answers about it."""

import itertools
import json
import math
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, NamedTuple

from mlx_gpt.errors import UserError
from mlx_gpt.run import Record
from mlx_gpt.tracefile import from_json
from mlx_gpt.traces import Trace
from tui.inside import Inside, Loaded, Place
from tui.worker import ask

KEPT = 64  # answers that need not be asked for again
WHOLE_MOST = 2**20  # as in mlx_gpt.worker: numbers of a row that comes whole


class Edit(NamedTuple):
    """A part of the model that is knocked out: a row, or what stands at one place of an axis."""

    row: str
    axis: int | None = None
    at: int | None = None

    def json(self) -> Record:
        """The edit as a request says it."""
        part = {} if self.axis is None else {"axis": self.axis, "at": self.at}
        return {"row": self.row, "how": "zero", **part}

    @property
    def text(self) -> str:
        """The edit for readers."""
        part = "" if self.axis is None else f"[{self.at}]"
        return f"{self.row.removeprefix('blocks.')}{part} = 0"


class Given(NamedTuple):
    """What is passed through the model, and what is done to the model meanwhile."""

    prompt: str
    broken: str = ""
    edits: tuple[Edit, ...] = ()

    def fields(self) -> Record:
        """The pass as a request says it."""
        fields: Record = {"prompt": self.prompt}
        if self.broken:
            fields["break"] = self.broken
        if self.edits:
            fields["edits"] = [edit.json() for edit in self.edits]
        return fields

    @property
    def changes(self) -> str:
        """What is done to the model, for readers."""
        return ", ".join([*([self.broken] if self.broken else []), *(e.text for e in self.edits)])


class Gap(NamedTuple):
    """How far a row is from that of another pass, and from which position on, where it has any."""

    rel: float
    at: int | None

    @property
    def text(self) -> str:
        """The gap in few characters."""
        share = "∞" if math.isinf(self.rel) else f"{self.rel:.2g}"
        return share if self.at is None else f"{share} @{self.at}"


class Change(NamedTuple):
    """The first token that another pass does not have in its place; None where one text ends."""

    at: int
    old: int | None
    new: int | None


def change_of(old: Sequence[int], new: Sequence[int]) -> Change | None:
    """Where two texts part."""
    pairs = enumerate(itertools.zip_longest(old, new))
    return next((Change(at, *pair) for at, pair in pairs if pair[0] != pair[1]), None)


class Inquiry:
    """Asks a worker about one pass; what was answered once is not asked again."""

    def __init__(self) -> None:
        self.inside: Inside | None = None
        self.loaded: Loaded | None = None
        self.trace: Trace | None = None
        self.given = Given("")
        self.cut = 0
        self.gaps: dict[str, Gap] = {}
        self.change: Change | None = None
        self.first: str | None = None  # the first row that differs
        self.compared = False
        self.answers: dict[str, Record] = {}
        self.faults: dict[str, str] = {}  # questions that could not be answered, and why
        self.labs: tuple[str, ...] = ()

    async def look(self, inside: Inside, place: Place, given: Given, against: Given | None) -> None:
        """Trace a pass, and compare it with another one where there is one."""
        loaded = await inside.load(place)
        if loaded is not self.loaded:
            self.answers, against = {}, None
        facts = await ask(inside.client, "trace", **given.fields())
        gaps: Record = {}
        if against is not None and against != given:
            gaps = await ask(inside.client, "compare", a=against.fields(), b=given.fields())
        old = self.ids
        self.inside, self.loaded, self.given, self.faults = inside, loaded, given, {}
        self.trace, self.cut = from_json(facts["trace"]), int(facts["cut"])
        self.compared, self.first = bool(gaps), gaps.get("first")
        self.change = change_of(old, self.ids) if gaps else None
        self.gaps = {
            gap["name"]: Gap(math.inf if gap["rel"] is None else gap["rel"], gap.get("at"))
            for gap in gaps.get("gaps", [])
            if not gap["ok"]
        }

    def forget(self) -> None:
        """Nothing is looked into."""
        self.loaded = self.trace = self.first = self.change = None
        self.given, self.cut, self.compared = Given(self.given.prompt), 0, False
        self.gaps, self.answers, self.faults = {}, {}, {}

    def key(self, do: str, fields: Record) -> str:
        """What tells one question from another."""
        return json.dumps([do, fields, self.given.fields()], sort_keys=True)

    def known(self, do: str, fields: Record) -> Record | None:
        """The answer to a question about this pass, if it is here."""
        return self.answers.get(self.key(do, fields))

    def fault(self, do: str, fields: Record) -> str:
        """Why a question could not be answered; nothing where it could, or was not asked."""
        return self.faults.get(self.key(do, fields), "")

    async def fetch(self, do: str, fields: Record) -> None:
        """Ask a question about this pass; afterwards its answer is known, or its fault."""
        if self.inside is None:
            raise UserError("nothing has been traced yet")
        key, whole = self.key(do, fields), {**self.given.fields(), **fields}
        try:
            answer = await ask(self.inside.client, do, **whole)
        except UserError as error:
            self.faults[key] = str(error)
            return
        self.answers = {**dict(list(self.answers.items())[1 - KEPT :]), key: answer}

    async def breaks(self) -> list[Record]:
        """The mistakes that the model can be given."""
        if self.inside is None:
            raise UserError("nothing has been traced yet")
        found = await ask(self.inside.client, "breaks")
        self.labs = tuple(found["labs"])
        return [each for each in found["breaks"] if each["fits"]]

    async def check(self, broken: str) -> AsyncGenerator[Record, None]:
        """The verdicts of the labs, as they come; other questions may come between two labs."""
        if self.inside is None:
            raise UserError("nothing has been traced yet")
        for lab in self.labs:
            answer = await ask(self.inside.client, "check", **{"break": broken, "labs": [lab]})
            yield answer["lab"]

    @property
    def piece(self) -> Callable[[int], str]:
        """A token in readable form."""
        return self.loaded.piece if self.loaded else str

    @property
    def ids(self) -> tuple[int, ...]:
        """The tokens of the pass."""
        return self.trace.input.ids[0] if self.trace else ()

    @property
    def changed_tokens(self) -> tuple[str, str]:
        """The two tokens where the texts part, in readable form; ∎ for the end of a text."""
        pair = (self.change.old, self.change.new) if self.change else (None, None)
        old, new = ("∎" if token is None else self.piece(token) for token in pair)
        return old, new

    def label(self, position: int) -> str:
        """The token at a position."""
        return self.piece(self.ids[position])


def row_request(
    name: str, shape: tuple[int, ...], axes: tuple[int, ...], index: list[int]
) -> Record:
    """The question for the numbers of a row: all of them, or of a large one a slice."""
    fields: dict[str, Any] = {"row": name}
    if math.prod(shape) > WHOLE_MOST:
        fields |= {"axes": list(axes), "index": list(index)}
    return fields
