"""Traces as strict JSON, `mlx-gpt/trace@1`, and back; large values lie in an .npz beside it."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mlx_gpt.errors import UserError
from mlx_gpt.measures import Stats
from mlx_gpt.traces import Check, Guess, Input, Lens, Made, Proof, Row, Trace

SCHEMA = "mlx-gpt/trace@1"
INLINE = 4096  # most numbers of one value that stand in the JSON itself
SIZES = ("mean", "std", "min", "max", "norm")  # the statistics that are no counts

Store = dict[str, np.ndarray]


def rounded(x: float | None) -> float | None:
    """Six significant digits; what strict JSON cannot hold becomes null."""
    return None if x is None or not math.isfinite(x) else float(f"{x:.6g}")


def unbounded(x: float | None) -> float:
    """A figure as it was: null stands for one without bounds."""
    return math.inf if x is None else x


def listed(array: np.ndarray) -> Any:
    """An array as nested lists; a number that JSON does not have as its name, as in "-inf"."""
    if array.ndim:
        return [listed(part) for part in array]
    if array.dtype.kind in "iub":
        return int(array)
    return float(f"{array:.6g}") if np.isfinite(array) else str(float(array))


def held(name: str, array: np.ndarray | None, store: Store | None) -> Any:
    """A value for the JSON: itself, or its name in the store, or null where there is no store."""
    if array is None:
        return None
    if array.size <= INLINE:
        return listed(array)
    if store is None:
        return None
    store[name] = array
    return name


def unheld(value: Any, dtype: str, store: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """The value that `held` put away; null if it lies in a store that is not there."""
    if isinstance(value, str):
        return store.get(value)
    if value is None:
        return None
    return np.array(value, np.float32 if "float" in dtype else dtype)


def stats_json(stats: Stats | None) -> dict[str, Any] | None:
    """Statistics for the JSON."""
    if stats is None:
        return None
    sizes = {name: rounded(getattr(stats, name)) for name in SIZES}
    return {**vars(stats), **sizes, "histogram": list(stats.histogram)}


def proof_json(proof: Proof | None) -> dict[str, Any] | None:
    """A replay for the JSON."""
    return proof and {"rel": rounded(proof.rel), "tol": proof.tol, "ok": proof.ok}


def row_json(row: Row, store: Store | None) -> dict[str, Any]:
    """A row for the JSON."""
    return {
        **vars(row),
        "shape": list(row.shape),
        "inputs": list(row.inputs),
        "params": list(row.params),
        "stats": stats_json(row.stats),
        "replay": proof_json(row.replay),
        "grad": stats_json(row.grad),
        "value": held(row.name, row.value, store),
        "grad_value": held(f"{row.name} gradient", row.grad_value, store),
    }


def lens_json(lens: Lens) -> dict[str, Any]:
    """The guesses at one row for the JSON."""
    top = [{"id": guess.id, "p": rounded(guess.p)} for guess in lens.top]
    return {"row": lens.row, "norm": rounded(lens.norm), "top": top}


def nested(lists: Sequence[Sequence[Any]] | None) -> list[list[Any]] | None:
    """Tuples of tuples as JSON has them."""
    return None if lists is None else [list(part) for part in lists]


def to_json(trace: Trace, store: Store | None = None) -> dict[str, Any]:
    """The trace as strict JSON; values too large to stand there go into the store, if any."""
    given = trace.input
    lists = {name: nested(getattr(given, name)) for name in ("ids", "tokens", "targets")}
    return {
        "schema": SCHEMA,
        "made": dict(vars(trace.made)),
        "config": dict(trace.config),
        "checkpoint": dict(trace.checkpoint) if trace.checkpoint else None,
        "input": {**lists, "start": given.start},
        "dims": dict(trace.dims),
        "rows": [row_json(row, store) for row in trace.rows],
        "checks": [
            {**vars(check), "max_abs": rounded(check.max_abs), "ok": check.ok}
            for check in trace.checks
        ],
        "lens": [lens_json(lens) for lens in trace.lens],
        "loss": rounded(trace.loss),
    }


def dumps(trace: Trace, store: Store | None = None) -> str:
    """The trace as one JSON document, its keys sorted."""
    record = to_json(trace, store)
    return json.dumps(record, ensure_ascii=False, allow_nan=False, sort_keys=True)


def save(trace: Trace, path: Path) -> None:
    """Write a trace; values too large for the JSON go into an .npz of the same name."""
    store: Store = {}
    path.write_text(dumps(trace, store) + "\n", encoding="utf-8")
    if store:
        arrays: dict[str, Any] = dict(store)
        np.savez_compressed(path.with_suffix(".npz"), **arrays)


def load(path: Path) -> Trace:
    """Read a trace; a file that holds something else is refused."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read the trace {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UserError(f"{path} is no JSON; name a trace saved with --json") from None
    values = path.with_suffix(".npz")
    store: Mapping[str, np.ndarray] = {}
    if values.is_file():
        with np.load(values) as arrays:
            store = dict(arrays)
    try:
        return from_json(record, store)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def from_json(record: Any, store: Mapping[str, np.ndarray] | None = None) -> Trace:
    """A trace from its JSON; another schema, or a record with parts missing, is refused."""
    schema = record.get("schema") if isinstance(record, dict) else None
    if schema != SCHEMA:
        raise UserError(f"the schema is {schema}, not {SCHEMA}; trace again with this version")
    try:
        return read_trace(record, store or {})
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UserError(f"the trace is damaged ({error!r}); trace again") from None


def read_trace(record: Mapping[str, Any], store: Mapping[str, np.ndarray]) -> Trace:
    """A trace from JSON of the right schema."""
    given = record["input"]
    tokens, targets = given["tokens"], given["targets"]
    return Trace(
        made=Made(**record["made"]),
        config=record["config"],
        checkpoint=record["checkpoint"],
        input=Input(
            tuple(map(tuple, given["ids"])),
            None if tokens is None else tuple(map(tuple, tokens)),
            None if targets is None else tuple(map(tuple, targets)),
            given["start"],
        ),
        dims=record["dims"],
        rows=tuple(read_row(row, store) for row in record["rows"]),
        checks=tuple(
            Check(check["name"], check["layer"], unbounded(check["max_abs"]), check["tol"])
            for check in record["checks"]
        ),
        lens=tuple(
            Lens(item["row"], item["norm"], tuple(Guess(**guess) for guess in item["top"]))
            for item in record["lens"]
        ),
        loss=record["loss"],
    )


def read_stats(record: Mapping[str, Any] | None) -> Stats | None:
    """Statistics from JSON."""
    if record is None:
        return None
    return Stats(**{**record, "histogram": tuple(record["histogram"])})


def read_row(record: Mapping[str, Any], store: Mapping[str, np.ndarray]) -> Row:
    """A row from JSON."""
    dtype, proof = record["dtype"], record["replay"]
    return Row(
        **{
            **record,
            "shape": tuple(record["shape"]),
            "inputs": tuple(record["inputs"]),
            "params": tuple(record["params"]),
            "stats": read_stats(record["stats"]),
            "grad": read_stats(record["grad"]),
            "replay": proof and Proof(unbounded(proof["rel"]), proof["tol"]),
            "value": unheld(record["value"], dtype, store),
            "grad_value": unheld(record["grad_value"], dtype, store),
        }
    )
