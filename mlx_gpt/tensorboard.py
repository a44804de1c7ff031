"""Event files that TensorBoard reads, written with the standard library alone.

A file is a row of TFRecords, each an `Event` message of `tensorflow/core/util/event.proto`.
"""

import os
import platform
import struct
import time
from collections.abc import Iterator
from pathlib import Path

from mlx_gpt.errors import UserError
from mlx_gpt.run import Record, Run, read_metrics

FOLDER = "tensorboard"
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
SESSION_START = b"\x08\x01"


class EventFile:
    """One event file in a folder; each process that trains writes its own, and they add up."""

    def __init__(self, folder: Path, step: int) -> None:
        name = f"events.out.tfevents.{time.time_ns() // 1000}.{platform.node()}.{os.getpid()}"
        self.path = folder / name
        now = time.time()
        self.write(double(1, now) + message(3, b"brain.Event:2"))
        # What an interrupted process wrote beyond the step from which this one goes on is void.
        self.write(double(1, now) + number(2, step + 1) + message(7, SESSION_START))

    def add(self, record: Record) -> None:
        """Write the figures of a record of metrics.jsonl; other records are passed over."""
        tags = TAGS.get(record["kind"], {})
        values = [
            message(1, message(1, tag.encode()) + single(2, record[key]))
            for key, tag in tags.items()
            if isinstance(record.get(key), int | float)
        ]
        if values:
            at = double(1, record["time"]) + number(2, record["step"])
            self.write(at + message(5, b"".join(values)))

    def write(self, event: bytes) -> None:
        """Write one event as a TFRecord: its length and itself, each with its checksum."""
        length = struct.pack("<Q", len(event))
        try:
            self.path.parent.mkdir(exist_ok=True)
            with self.path.open("ab") as file:
                file.write(length + checksum(length) + event + checksum(event))
        except OSError as error:
            raise UserError(
                f"cannot write {self.path}: {error.strerror}; make room or allow it"
            ) from error


def open_event_file(run: Run, step: int, *, asked: bool) -> EventFile | None:
    """The event file of a training that goes on from a step, if one was ever asked for.

    What the run recorded before anyone asked is written first.
    """
    folder = run.path / FOLDER
    began = folder.is_dir()
    if not asked and not began:
        return None
    file = EventFile(folder, step)
    for record in () if began else read_metrics(run):
        if record["step"] <= step:
            file.add(record)
    return file


# Protocol buffers


def varint(value: int) -> bytes:
    """A whole number from 0, seven bits a byte, the lowest first."""
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])


def number(field: int, value: int) -> bytes:
    """A field with a whole number."""
    return varint(field << 3) + varint(value)


def double(field: int, value: float) -> bytes:
    """A field with a number of eight bytes."""
    return varint(field << 3 | 1) + struct.pack("<d", value)


def single(field: int, value: float) -> bytes:
    """A field with a number of four bytes."""
    return varint(field << 3 | 5) + struct.pack("<f", value)


def message(field: int, content: bytes) -> bytes:
    """A field with text or with another message."""
    return varint(field << 3 | 2) + varint(len(content)) + content


# TFRecord


def crc_table() -> Iterator[int]:
    """The remainders of all bytes modulo the Castagnoli polynomial."""
    for remainder in range(256):
        for _ in range(8):
            remainder = remainder >> 1 ^ (0x82F63B78 if remainder & 1 else 0)
        yield remainder


TABLE = tuple(crc_table())


def crc32c(data: bytes) -> int:
    """The Castagnoli checksum."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def checksum(data: bytes) -> bytes:
    """The checksum as a TFRecord has it: rotated, and moved by a constant."""
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
