"""`mlx-gpt runs export`: the metrics of a run as a table for other programs."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from mlx_gpt.errors import UserError
from mlx_gpt.language import say
from mlx_gpt.run import Record, Run, read_metrics
from mlx_gpt.terminal import emit, note


def export(chosen: Run, path: Path | None, *, as_json: bool) -> None:
    """Every metric of a run as CSV, or as JSON with the same rows."""
    rows = metrics_by_step(read_metrics(chosen))
    if as_json:
        emit(rows)
    elif path is None:
        print(as_csv(rows), end="")
    else:
        try:
            path.write_text(as_csv(rows), encoding="utf-8", newline="")
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}; name another file") from error
        note(say(f"{len(rows)} steps in {path}.", f"{len(rows)} pasos en {path}."))


def metrics_by_step(records: Sequence[Record]) -> list[Record]:
    """A row for each step, with what was measured in training and in evaluation."""
    training, evaluations = (
        {record["step"]: record for record in records if record["kind"] == kind}
        for kind in ("step", "eval")
    )
    columns = dict.fromkeys(
        key for table in (training, evaluations) for record in table.values() for key in record
    )
    columns = dict.fromkeys(key for key in ("step", *columns) if key != "kind")
    rows = []
    for step in sorted({*training, *evaluations}):
        values = evaluations.get(step, {}) | training.get(step, {})
        rows.append({key: values.get(key) for key in columns})
    return rows


def as_csv(rows: Sequence[Record]) -> str:
    """Rows under the names of their columns; numbers in full, what is missing empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0] if rows else ["step"])
    for row in rows:
        writer.writerow(
            str(value).lower() if isinstance(value, bool) else value for value in row.values()
        )
    return text.getvalue()
