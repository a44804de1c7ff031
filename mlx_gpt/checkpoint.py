"""Checkpoints: a kill at any moment of a save leaves the run loadable, and reading verifies.

A checkpoint is written beside the others under a temporary name, synced and hashed, then
renamed; `latest` and `best` are one-line files that name one.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mlx_gpt.device import mx

from mlx_gpt.errors import UserError
from mlx_gpt.run import Pointer, Run, pointed_step, saved_steps, step_name, step_of

MODEL, OPTIMIZER, STATE = "model.safetensors", "optimizer.safetensors", "state.json"


class Checkpoint(NamedTuple):
    """Everything that a training needs to go on."""

    step: int
    model: dict[str, mx.array]
    optimizer: dict[str, mx.array]
    state: dict[str, Any]
    path: Path


class FileFacts(NamedTuple):
    """What a file was when it was written."""

    bytes: int
    sha256: str


class Manifest(NamedTuple):
    """The content of state.json."""

    step: int
    best: bool
    files: dict[str, FileFacts]
    state: dict[str, Any]


# Saving


def save(
    run: Run,
    step: int,
    model: Mapping[str, mx.array],
    optimizer: Mapping[str, mx.array],
    state: Mapping[str, Any],
    best: bool,
    keep_last: int,
) -> Path:
    """Save a step, name it `latest` (and `best`), then delete what need not be kept."""
    mx.eval(list(model.values()), list(optimizer.values()))  # they may be lazy reads of old files
    json.dumps(state, allow_nan=False)  # refuses, before the disk is touched, what would be lost
    final = run.checkpoints / step_name(step)
    temporary = temporary_of(final)
    try:
        run.checkpoints.mkdir(parents=True, exist_ok=True)
        clear_leftovers(run)
        best = best or is_flagged_best(final)  # the same step, saved again for another reason
        write(temporary, step, {MODEL: model, OPTIMIZER: optimizer}, state, best)
        put_in_place(temporary, final)
        best_step = step if best else flagged_best(run, up_to=step)
        point(run, "latest", step)
        if best_step is not None:
            point(run, "best", best_step)
        retain(run, step, best_step, keep_last)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise UserError(
            f"cannot save {final}: {error.strerror or error}; make room or allow writing there, "
            "the checkpoints before it are untouched"
        ) from error
    return final


def save_snapshot(
    run: Run, step: int, model: Mapping[str, mx.array], state: Mapping[str, Any]
) -> Path:
    """The weights of this moment beside the checkpoints, to be looked into; the one before goes.

    It is no checkpoint: no training goes on from it, and nothing points to it.
    """
    final = run.snapshot / step_name(step)
    temporary = temporary_of(final)
    try:
        run.snapshot.mkdir(exist_ok=True)
        shutil.rmtree(temporary, ignore_errors=True)
        write(temporary, step, {MODEL: model}, state, best=False)
        put_in_place(temporary, final)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise UserError(f"cannot write {final}: {error.strerror or error}; make room") from error
    for other in run.snapshot.iterdir():
        if other != final:
            shutil.rmtree(other, ignore_errors=True)
    return final


def write(
    folder: Path,
    step: int,
    arrays: Mapping[str, Mapping[str, mx.array]],
    state: Mapping[str, Any],
    best: bool,
) -> None:
    """A whole checkpoint in a new folder, its arrays by file, on the disk when this returns."""
    folder.mkdir()
    files = {name: write_arrays(folder / name, part) for name, part in arrays.items()}
    manifest = {
        "step": step,
        "best": best,
        "files": {name: facts._asdict() for name, facts in files.items()},
        "state": state,
    }
    (folder / STATE).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    sync(folder / STATE)
    sync(folder)


def write_arrays(path: Path, arrays: Mapping[str, mx.array]) -> FileFacts:
    """Named arrays in a safetensors file, synced and hashed."""
    try:
        mx.save_safetensors(str(path), dict(arrays), metadata={"format": "mlx"})
    except RuntimeError as error:  # MLX has no other for a full disk
        raise OSError(f"MLX cannot write {path.name}: {error}") from error
    sync(path)
    return facts_of(path)


def facts_of(path: Path) -> FileFacts:
    """Size and hash of a file as it lies on the disk."""
    with path.open("rb") as file:
        return FileFacts(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def sync(path: Path) -> None:
    """Wait until a file, or a folder's list of names, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def put_in_place(temporary: Path, final: Path) -> None:
    """Give the folder its name; one that had it steps aside until the new one stands."""
    if final.exists():
        final.rename(aside_of(final))
    temporary.rename(final)
    sync(final.parent)
    shutil.rmtree(aside_of(final), ignore_errors=True)


def temporary_of(folder: Path) -> Path:
    """The name of a checkpoint that is being written or deleted: never to be loaded."""
    return folder.with_name(f".{folder.name}.tmp")


def aside_of(folder: Path) -> Path:
    """The name of a whole checkpoint while another of the same step takes its place."""
    return folder.with_name(f".{folder.name}.old")


def clear_leftovers(run: Run) -> None:
    """Undo what a killed save left: put a displaced checkpoint back, delete the rest."""
    for aside in run.checkpoints.glob(".step_*.old"):
        final = aside.with_name(aside.name[1:].removesuffix(".old"))
        if final.exists():
            shutil.rmtree(aside)
        else:
            aside.rename(final)
    for temporary in run.checkpoints.glob(".step_*.tmp"):
        shutil.rmtree(temporary)


def point(run: Run, pointer: Pointer, step: int) -> None:
    """Let `latest` or `best` name a step, atomically."""
    path = run.checkpoints / pointer
    temporary = path.with_name(f".{pointer}.tmp")
    temporary.write_text(f"{step_name(step)}\n", encoding="utf-8")
    sync(temporary)
    temporary.replace(path)
    sync(run.checkpoints)


def flagged_best(run: Run, *, up_to: int) -> int | None:
    """The newest checkpoint that was the best when it was saved.

    Read from the checkpoints, because a kill can come between a save and its pointer.
    """
    for step in reversed(saved_steps(run)):
        if step <= up_to and is_flagged_best(run.checkpoints / step_name(step)):
            return step
    return None


def is_flagged_best(folder: Path) -> bool:
    """Whether a checkpoint is there and was the best when it was saved."""
    try:
        return read_manifest(folder).best
    except UserError:
        return False


def retain(run: Run, step: int, best_step: int | None, keep_last: int) -> None:
    """Delete all but the newest and the best.

    Steps after the one just saved belong to a future that was abandoned when a resume had to
    go back before it; left there, the next resume would jump into it.
    """
    past = [saved for saved in saved_steps(run) if saved <= step]
    kept = {*past[-max(keep_last, 1) :], best_step}
    for saved in saved_steps(run):
        if saved not in kept:
            delete(run.checkpoints / step_name(saved))


def delete(folder: Path) -> None:
    """Remove a checkpoint under a name that is never loaded, so that no half of it shows."""
    temporary = temporary_of(folder)
    folder.rename(temporary)
    shutil.rmtree(temporary)


# Loading


def read_manifest(folder: Path) -> Manifest:
    """What state.json says, refused when it is missing, damaged or of another step."""
    try:
        content = json.loads((folder / STATE).read_text(encoding="utf-8"))
        files = {name: FileFacts(**facts) for name, facts in content["files"].items()}
        manifest = Manifest(content["step"], content["best"], files, dict(content["state"]))
    except FileNotFoundError:
        raise UserError(f"{folder.name}: {STATE} is missing") from None
    except OSError as error:
        raise UserError(f"{folder.name}: {STATE} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError(f"{folder.name}: {STATE} is damaged") from None
    named_step = step_of(folder.name)
    if named_step not in (None, manifest.step):
        raise UserError(f"{folder.name}: {STATE} is of step {manifest.step}")
    return manifest


def verify(folder: Path, *names: str) -> Manifest:
    """The manifest, refused unless these files (or all) are as they were written."""
    manifest = read_manifest(folder)
    for name in names or (MODEL, OPTIMIZER):
        if fault := fault_of(folder / name, manifest.files.get(name)):
            raise UserError(f"{folder.name}: {name} {fault}")
    return manifest


def fault_of(path: Path, written: FileFacts | None) -> str:
    """What is wrong with a file, or nothing; the size is compared before the hash."""
    if written is None:
        return "is not listed in state.json"
    try:
        size = path.stat().st_size
        if size != written.bytes:
            return f"has {size} bytes instead of {written.bytes}"
        return "" if facts_of(path) == written else "was changed (its sha256 differs)"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def load(path: Path, *, with_optimizer: bool = True) -> Checkpoint:
    """A verified checkpoint, in memory when this returns; sampling needs no optimizer."""
    names = (MODEL, OPTIMIZER) if with_optimizer else (MODEL,)
    try:
        manifest = verify(path, *names)
    except UserError as error:
        raise UserError(
            f"cannot load {path.parent / str(error)}; choose another checkpoint"
        ) from error
    model, *rest = (read_arrays(path / name) for name in names)
    optimizer = rest[0] if rest else {}
    return Checkpoint(manifest.step, model, optimizer, manifest.state, path)


def read_arrays(path: Path) -> dict[str, mx.array]:
    """The arrays of a safetensors file, read now: MLX would read them when they are used."""
    try:
        arrays = mx.load(str(path))
        mx.eval(arrays)
    except RuntimeError as error:
        raise UserError(f"cannot load {path}: {error}; choose another checkpoint") from error
    if not isinstance(arrays, dict):
        raise UserError(f"cannot load {path}: it is no safetensors file")
    return arrays


# Choosing


def places(run: Run) -> Iterator[Path]:
    """The folders that may hold a checkpoint, newest first.

    A kill in `put_in_place` can leave the only whole copy of a step aside.
    """
    aside = [path.name[1:].removesuffix(".old") for path in run.checkpoints.glob(".step_*.old")]
    steps = {*saved_steps(run), *(step for name in aside if (step := step_of(name)) is not None)}
    for step in sorted(steps, reverse=True):
        final = run.checkpoints / step_name(step)
        yield from (path for path in (final, aside_of(final)) if path.is_dir())


def any_saved(run: Run) -> bool:
    """Whether a first save was ever finished; a kill before leaves a run that starts anew."""
    return any(places(run))


def newest(run: Run) -> tuple[Path, tuple[str, ...]]:
    """The newest whole checkpoint, and what was passed over and why."""
    notes = [*leftover_notes(run), *pointer_notes(run)]
    for folder in places(run):
        try:
            verify(folder)
        except UserError as error:
            notes.append(f"skipped {error}")
        else:
            return folder, tuple(notes)
    why = f" ({'; '.join(notes)})" if notes else ""
    raise UserError(f"run {run.name} has no whole checkpoint in {run.checkpoints}{why}")


def leftover_notes(run: Run) -> list[str]:
    """The saves that a kill interrupted."""
    names = sorted(path.name for path in run.checkpoints.glob(".step_*.tmp"))
    return [f"skipped {name}: it was not finished" for name in names]


def pointer_notes(run: Run) -> list[str]:
    """A `latest` that names nothing; harmless, because the folders themselves are looked at."""
    if not (run.checkpoints / "latest").exists():
        return []
    step = pointed_step(run, "latest")
    if step is None:
        return ["ignored `latest`: it names no step"]
    if place_of(run, step) is None:
        return [f"ignored `latest`: it names {step_name(step)}, which is missing"]
    return []


def place_of(run: Run, step: int) -> Path | None:
    """The folder of a step's checkpoint, where there is one."""
    final = run.checkpoints / step_name(step)
    return next((path for path in (final, aside_of(final)) if path.is_dir()), None)


def best(run: Run) -> Path:
    """The checkpoint with the lowest validation loss, or the newest where none was measured."""
    steps = saved_steps(run)
    for step in (pointed_step(run, "best"), flagged_best(run, up_to=max(steps, default=0))):
        folder = None if step is None else place_of(run, step)
        if folder is not None:
            return folder
    return newest(run)[0]


def named(run: Run, which: str | int) -> Path:
    """A checkpoint by `best`, `latest`, its step or its folder's name."""
    if which == "best":
        return best(run)
    if which == "latest":
        return newest(run)[0]
    text = str(which)
    step = int(text) if text.isdecimal() else step_of(text)
    folder = None if step is None else place_of(run, step)
    if folder is None:
        steps = ", ".join(map(str, saved_steps(run))) or "none"
        raise UserError(
            f"run {run.name} has no checkpoint {which}; choose best, latest or a step ({steps})"
        )
    return folder
