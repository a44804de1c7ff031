"""TensorBoard's event files, read back by a reader of the tests' own."""

import shutil
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mlx_gpt.cli import main
from mlx_gpt.errors import UserError
from mlx_gpt.run import Record, Run, Tail, append, read
from mlx_gpt.tensorboard import EventFile, crc32c, open_event_file, varint

SMALL = [
    "data.tokenizer=bytes",
    "model.context_length=8",
    "model.d_model=8",
    "model.n_layers=1",
    "model.n_heads=2",
    "train.batch_size=2",
    "train.warmup=2",
    "train.eval_windows=4",
    "train.eval_every=3",
    "train.save_every=2",
    "train.probe_tokens=0",
]
TAGS = {
    "step": {
        "loss": "loss/train",
        "lr": "lr",
        "grad_norm": "grad_norm",
        "tokens_per_second": "tokens_per_second",
        "active_memory": "memory/active",
        "peak_memory": "memory/peak",
    },
    "eval": {"val_loss": "loss/validation"},
}
Fields = list[tuple[int, Any]]


def remainder(data: bytes) -> int:
    """CRC-32C by long division of the bits, which are fed the lowest first."""
    bits = [byte >> i & 1 for byte in data for i in range(8)] + [0] * 32
    bits[:32] = [bit ^ 1 for bit in bits[:32]]
    crc = 0
    for bit in bits:
        crc = crc << 1 | bit
        if crc >> 32:
            crc ^= 0x11EDC6F41
    return int(f"{crc:032b}"[::-1], 2) ^ 0xFFFFFFFF


def unmasked(data: bytes) -> int:
    """The checksum that a TFRecord holds."""
    turned = (struct.unpack("<I", data)[0] - 0xA282EAD8) % 2**32
    return (turned >> 17 | turned << 15) % 2**32


def records(path: Path) -> Iterator[bytes]:
    """The contents of a file of TFRecords, each checked."""
    data = path.read_bytes()
    while data:
        head, length = data[:8], struct.unpack("<Q", data[:8])[0]
        content = data[12 : 12 + length]
        assert unmasked(data[8:12]) == remainder(head)
        assert unmasked(data[12 + length : 16 + length]) == remainder(content)
        yield content
        data = data[16 + length :]


def fields(data: bytes) -> Fields:
    """The fields of a protocol buffer: number and value, messages as bytes."""
    found: Fields = []
    while data:
        key, data = whole(data)
        if key & 7 == 0:
            value, data = whole(data)
        elif key & 7 == 2:
            length, data = whole(data)
            value, data = data[:length], data[length:]
        else:
            form = {1: "<d", 5: "<f"}[key & 7]
            value = struct.unpack_from(form, data)[0]
            data = data[struct.calcsize(form) :]
        found.append((key >> 3, value))
    return found


def whole(data: bytes) -> tuple[int, bytes]:
    value = shift = 0
    for i, byte in enumerate(data):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, data[i + 1 :]
    raise ValueError("a number that does not end")


def scalars(folder: Path) -> dict[str, dict[int, float]]:
    """What TensorBoard would draw: by tag and step, void steps dropped where a session starts."""
    curves: dict[str, dict[int, float]] = {}
    for path in sorted(folder.iterdir()):
        assert "tfevents" in path.name
        first, start, *events = (dict(fields(content)) for content in records(path))
        assert first[3] == b"brain.Event:2"
        assert fields(start[7]) == [(1, 1)]
        for curve in curves.values():
            for step in [step for step in curve if step >= start[2]]:
                del curve[step]
        for event in events:
            assert event[1] > 1.5e9
            for _, value in fields(event[5]):
                tag = dict(fields(value))
                curves.setdefault(tag[1].decode(), {})[event[2]] = tag[2]
    return curves


def drawn(lines: Iterable[Record]) -> dict[str, dict[int, float]]:
    """The same from the lines of metrics.jsonl, as precise as an event file."""
    curves: dict[str, dict[int, float]] = {}
    for line in lines:
        for key, tag in TAGS[line["kind"]].items():
            value = struct.unpack("<f", struct.pack("<f", line[key]))[0]
            curves.setdefault(tag, {})[line["step"]] = value
    return curves


def test_the_checksum_is_castagnolis() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    for data in (b"mlx-gpt", bytes(range(256))):
        assert crc32c(data) == remainder(data)


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**32, 2**63 - 1])
def test_whole_numbers_come_back(value: int) -> None:
    assert whole(varint(value) + b"rest") == (value, b"rest")


def test_only_finite_figures_are_written(tmp_path: Path) -> None:
    file = EventFile(tmp_path, 0)
    file.add({"kind": "step", "time": 1.7e9, "step": 300, "loss": 2.5, "lr": None})
    file.add({"kind": "eval", "time": 1.7e9, "step": 300, "val_loss": None})
    file.add({"kind": "checkpoint", "time": 1.7e9, "step": 300})
    assert scalars(tmp_path) == {"loss/train": {300: 2.5}}


def test_nobody_asked_nothing_written(tmp_path: Path) -> None:
    assert open_event_file(Run(tmp_path), 0, asked=False) is None
    assert list(tmp_path.iterdir()) == []


def test_what_was_recorded_before_is_written_first(tmp_path: Path) -> None:
    run = Run(tmp_path)
    for step in range(1, 6):
        append(run.metrics, {"kind": "step", "time": 1.7e9, "step": step, "loss": float(step)})
    assert open_event_file(run, 3, asked=True)
    assert scalars(tmp_path / "tensorboard") == {"loss/train": {1: 1.0, 2: 2.0, 3: 3.0}}
    assert open_event_file(run, 3, asked=False)
    assert len(list((tmp_path / "tensorboard").iterdir())) == 2


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tensorboard").write_text("in the way")
    with pytest.raises(UserError, match=r"cannot write .*tensorboard"):
        open_event_file(Run(tmp_path), 0, asked=True)


def test_a_training_and_its_resumption_draw_one_curve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLX_GPT_CACHE", str(tmp_path / "cache"))
    Path("book.txt").write_text("".join(f"{n} por {n % 7}.\n" for n in range(150)))
    run = Run(Path("runs/mini"))
    words = ["train", "mini", "book.txt", "--steps", "5", "--tensorboard", *SMALL]
    assert main(words) == 0
    before = read(run.metrics)
    assert scalars(run.path / "tensorboard") == drawn(before)
    for name in ("step_000005", "latest"):  # as if it had been killed at step 5
        path = run.checkpoints / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    tail = Tail(run.metrics, from_end=True)
    assert main(["train", "--resume", "--steps", "9", "--curve", "keep"]) == 0
    kept = [line for line in before if line["step"] <= 4]
    assert scalars(run.path / "tensorboard") == drawn([*kept, *tail.read()])
