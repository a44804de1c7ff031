"""Asking a model: the process that holds it, started when needed and again when it has crashed.

The protocol is that of `mlx_gpt.worker`. Whoever asks needs only `Client`: the process, a trainer
(tui/trainer.py) and the recorded answers of the demo (tui/recorded.py) all have it.
"""

import asyncio
import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import IO, Any, Protocol

from mlx_gpt.errors import UserError
from mlx_gpt.language import say
from mlx_gpt.run import Record
from tui.i18n import t

COMMAND = (sys.executable, "-m", "mlx_gpt.worker")
LINE_LIMIT = 2**28  # bytes of one answer
LEAVE_SECONDS = 0.2


class Client(Protocol):
    """Whoever answers requests."""

    def stream(self, do: str, **fields: Any) -> AsyncGenerator[Record, None]:
        """The records that answer a request, as they come; UserError for a fault."""
        ...

    async def close(self) -> None:
        """Let go of whatever answers."""
        ...


async def ask(client: Client, do: str, **fields: Any) -> Record:
    """The whole answer to a request, as one record."""
    answer: Record = {}
    async for record in client.stream(do, **fields):
        answer |= record
    return answer


class Worker:
    """The process: requests go in by id, answers come out to whoever waits for that id."""

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self.command = tuple(command)
        self.process: subprocess.Popen[bytes] | None = None
        self.ids = itertools.count(1)
        self.waiting: dict[int, asyncio.Queue[Record]] = {}
        self.model: Mapping[str, Any] | None = None  # what was loaded last, to load it again
        self.said: deque[str] = deque(maxlen=5)  # the last lines on stderr
        self.reading: asyncio.Task[None] | None = None
        self.starting = asyncio.Lock()

    async def stream(self, do: str, **fields: Any) -> AsyncGenerator[Record, None]:
        """The records that answer a request; one that is let go of is cancelled."""
        async with self.starting:
            await self.ready(do)
        async with aclosing(self.answers(do, fields)) as answers:
            async for record in answers:
                yield record
        if do == "load":
            self.model = fields

    async def answers(self, do: str, fields: Mapping[str, Any]) -> AsyncGenerator[Record, None]:
        """The records that the running process answers."""
        request_id = next(self.ids)
        queue = self.waiting[request_id] = asyncio.Queue()
        self.write({"id": request_id, "do": do, "language": say.language, **fields})
        done = False
        try:
            while not done:
                record = await queue.get()
                done = bool(record.get("done"))
                if "error" in record:
                    raise UserError(str(record["error"]))
                if not done:
                    yield {key: value for key, value in record.items() if key != "id"}
        finally:
            del self.waiting[request_id]
            if not done:
                self.write({"do": "cancel", "of": request_id})

    async def ready(self, do: str) -> None:
        """See that the process runs and holds the model that was loaded last."""
        if self.process is not None:
            return
        self.said.clear()
        self.process = subprocess.Popen(
            self.command,
            env=os.environ | {"MLX_GPT_COMMAND": "sample"},  # it takes the BLAS that serves it best
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.reading = asyncio.create_task(self.read(self.process))
        if self.model is not None and do != "load":
            async for _ in self.answers("load", self.model):
                pass

    def write(self, record: Mapping[str, Any]) -> None:
        """Send a line; to a process that is gone, nothing."""
        if self.process is not None and self.process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                self.process.stdin.write(json.dumps(record).encode() + b"\n")
                self.process.stdin.flush()

    async def read(self, process: subprocess.Popen[bytes]) -> None:
        """Hand out answers until the process ends; then tell whoever still waits."""
        await asyncio.gather(
            each_line(process.stdout, self.take), each_line(process.stderr, self.hear)
        )
        process.kill()  # it has closed its pipes; it may still be on its way out
        code = process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            close(pipe)
        self.process = None
        for queue in self.waiting.values():
            queue.put_nowait({"error": self.end_in_words(code), "done": True})

    def take(self, line: bytes) -> None:
        """Give a line to whoever waits for it."""
        try:
            record = json.loads(line)
        except ValueError:
            return
        request_id = record.get("id") if isinstance(record, dict) else None
        if request_id in self.waiting:
            self.waiting[request_id].put_nowait(record)

    def hear(self, line: bytes) -> None:
        """Keep the last words of the process."""
        self.said.append(line.decode(errors="replace").rstrip())

    def end_in_words(self, code: int) -> str:
        """How the process ended, and what it said last."""
        how = signal.Signals(-code).name if code < 0 else t("worker.code", code=code)
        last = next((line for line in reversed(self.said) if line.strip()), "")
        return t("worker.ended", how=how) + (f" ({last})" if last else "")

    async def close(self) -> None:
        """End the process: it goes when its stdin closes."""
        process, reading = self.process, self.reading
        if process is None or reading is None:
            return
        close(process.stdin)
        try:
            await asyncio.wait_for(asyncio.shield(reading), LEAVE_SECONDS)
        except TimeoutError:
            process.kill()
            await reading


async def each_line(pipe: IO[bytes] | None, take: Callable[[bytes], None]) -> None:
    """Give each line of a pipe to a function, until the other side has closed it."""
    reader = asyncio.StreamReader(LINE_LIMIT)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    try:
        while line := await reader.readline():
            take(line)
    except ValueError:
        return  # a line longer than any answer
    finally:
        transport.close()


def close(pipe: IO[bytes] | None) -> None:
    """Close a pipe whose other side may be gone."""
    if pipe is not None:
        with contextlib.suppress(OSError):
            pipe.close()
