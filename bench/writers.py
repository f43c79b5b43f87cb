"""What is compared when appends are: each writer stores messages of 1 kB in its own way.

Run as a script, `writers.py NAME FOLDER`, by the Python that has the writer installed. It answers tasks, one a line,
until its input ends, so that many short runs can be taken turn about without the price of an import each time.
Opening the file is not timed, and a run counts only if everything is found in the file afterwards.
"""

import asyncio
import fcntl
import json
import os
import sqlite3
import sys
import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

TEXT = ("The token check is inverted: an expired one is let in, a fresh one is refused. " * 12)[:840]
"""Together with what a writer puts around it, about 1 kB."""
NOW = "2026-01-02T03:04:05.678Z"
Append = Callable[[], object]


class Writer(ABC):
    """One way to store messages. `appender` gives a function that stores one and returns when that is done."""

    name = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def appender(self, durable: bool) -> Append: ...

    @abstractmethod
    def stored(self) -> int:
        """How many messages its files hold."""

    def run(self, count: int, writers: int, durable: bool) -> float:
        """Seconds for this many appends, each awaited, shared out among threads."""
        append = self.appender(durable)
        if writers == 1:
            return timed(append, count)
        return timed_together([lambda: repeat(append, count // writers)] * writers)


def repeat(append: Append, count: int) -> None:
    for _ in range(count):
        append()


def timed(append: Append, count: int) -> float:
    started = time.perf_counter()
    repeat(append, count)
    return time.perf_counter() - started


def timed_together(loops: list[Callable[[], None]]) -> float:
    """From the moment all threads are there to the end of the last."""
    ready = threading.Barrier(len(loops) + 1)

    def work(loop: Callable[[], None]) -> None:
        ready.wait()
        loop()

    threads = [threading.Thread(target=work, args=(loop,)) for loop in loops]
    for thread in threads:
        thread.start()
    ready.wait()
    started = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - started


async def timed_tasks(append: Callable[[], Awaitable[None]], count: int, tasks: int) -> float:
    """The same for so many tasks of one event loop."""

    async def work() -> None:
        for _ in range(count // tasks):
            await append()

    started = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(tasks)))
    return time.perf_counter() - started


class Bare(Writer):
    """The least that can be done: encode, take the lock, write, and for durability fsync."""

    name = "bare"

    def __init__(self, folder: Path) -> None:
        import msgspec

        super().__init__(folder)
        self.path = folder / "bare.jsonl"
        self.encode = msgspec.json.Encoder().encode
        self.descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def appender(self, durable: bool) -> Append:
        return self._durably if durable else self._locked

    def _line(self) -> bytes:
        event = {"type": "assistant", "ts": NOW, "uuid": uuid.uuid4().hex, "prev_uuid": None, "payload": {"text": TEXT}}
        return self.encode(event) + b"\n"

    def _durably(self) -> None:
        os.write(self.descriptor, self._line())
        os.fsync(self.descriptor)

    def _locked(self) -> None:
        line = self._line()
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)
        os.write(self.descriptor, line)
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)

    def stored(self) -> int:
        return lines_in(self.path)


class Engine(Writer):
    """muniment's append engine with events in its own dialect, as the recorder uses it."""

    name = "muniment log"

    def __init__(self, folder: Path) -> None:
        from muniment.model.events import Event
        from muniment.record.log import Log
        from muniment.sources.native.dialect import Native

        super().__init__(folder)
        self.event, self.dialect = Event, Native()
        self.log = Log(folder / "log.jsonl", self.dialect)

    def appender(self, durable: bool) -> Append:
        return lambda: self.log.append(self._written(), durable)

    def _written(self) -> Any:
        event = self.event("assistant", NOW, uuid.uuid4().hex, None, {"text": TEXT})
        return self.dialect.lines([event])[0]

    def stored(self) -> int:
        return lines_in(self.log.path)


class Recording(Writer):
    """muniment's recorder, as a harness calls it."""

    name = "muniment"
    events_before = 0

    def __init__(self, folder: Path) -> None:
        from muniment.record import Recorder

        super().__init__(folder)
        self.recorder = Recorder.start(cwd=folder, home=folder / "home")
        repeat(self.appender(durable=False), self.events_before)

    def appender(self, durable: bool) -> Append:
        return lambda: self.recorder.event("assistant", {"text": TEXT}, durable)

    def stored(self) -> int:
        return lines_in(self.recorder.path)


class AwaitedRecording(Recording):
    """muniment's recorder in an event loop."""

    name = "muniment, awaited"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.runner = asyncio.Runner()

    def run(self, count: int, writers: int, durable: bool) -> float:
        return self.runner.run(timed_tasks(self._append, count, writers))

    async def _append(self) -> None:
        self.recorder.event("assistant", {"text": TEXT})
        await self.recorder.settled()


class YoungSession(Recording):
    """A session that has just begun."""

    name = "muniment, 1,000 events in"
    events_before = 1_000


class LongSession(Recording):
    """A session that is as long as they get."""

    name = "muniment, 200,000 events in"
    events_before = 200_000


class OpenaiAgents(Writer):
    """The session of openai-agents. It keeps the WAL it chose; only how far a commit syncs is set."""

    name = "openai-agents"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.runner = asyncio.Runner()
        self.sessions: dict[bool, Any] = {}

    def session(self, durable: bool) -> Any:
        from agents import SQLiteSession  # pyright: ignore[reportMissingImports]

        class Synced(SQLiteSession):
            @staticmethod
            def _configure_connection(conn: sqlite3.Connection) -> None:
                SQLiteSession._configure_connection(conn)
                conn.execute("PRAGMA synchronous=" + ("FULL" if durable else "OFF"))

        if durable not in self.sessions:
            self.sessions[durable] = Synced("session", self._path(durable))
        return self.sessions[durable]

    def _path(self, durable: bool) -> Path:
        return self.folder / f"agents-{durable}.db"

    def appender(self, durable: bool) -> Append:
        raise NotImplementedError("its appends are awaited")

    def run(self, count: int, writers: int, durable: bool) -> float:
        session = self.session(durable)

        async def append() -> None:
            await session.add_items([{"role": "user", "content": TEXT, "id": uuid.uuid4().hex}])

        return self.runner.run(timed_tasks(append, count, writers))

    def stored(self) -> int:
        return sum(rows_in(self._path(durable), "agent_messages") for durable in self.sessions)


class Langgraph(Writer):
    """The checkpoint saver of langgraph, called as its runtime does: a message's write, then a checkpoint with it.

    The checkpoint of a real graph holds all messages so far; this one only the new one, which is cheaper."""

    name = "langgraph-checkpoint-sqlite"

    def __init__(self, folder: Path) -> None:
        from langgraph.checkpoint.base import empty_checkpoint  # pyright: ignore[reportMissingImports]
        from langgraph.checkpoint.sqlite import SqliteSaver  # pyright: ignore[reportMissingImports]

        super().__init__(folder)
        self.path = folder / "checkpoints.db"
        self.connection = sqlite3.connect(self.path, check_same_thread=False)
        self.empty_checkpoint = empty_checkpoint
        self.saver = SqliteSaver(self.connection)
        self.saver.setup()
        self.config: Any = {"configurable": {"thread_id": "session", "checkpoint_ns": "", "checkpoint_id": "start"}}

    def appender(self, durable: bool) -> Append:
        self.connection.execute("PRAGMA synchronous=" + ("FULL" if durable else "OFF"))
        return self._step

    def _step(self) -> None:
        message = self._write()
        checkpoint = self.empty_checkpoint()
        checkpoint["channel_values"] = {"messages": [message]}
        self.config = self.saver.put(self.config, checkpoint, {"source": "loop", "step": 1}, {})

    def _write(self) -> dict[str, str]:
        message = {"role": "user", "content": TEXT}
        self.saver.put_writes(self.config, [("messages", message)], uuid.uuid4().hex)
        return message

    def stored(self) -> int:
        return rows_in(self.path, "writes")


class LanggraphWrite(Langgraph):
    """Half of it: the write alone, which is not yet a part of the graph's state."""

    name = "langgraph-checkpoint-sqlite, write only"

    def appender(self, durable: bool) -> Append:
        super().appender(durable)
        return self._write


def lines_in(path: Path) -> int:
    with path.open("rb", buffering=0) as file:
        return sum(piece.count(b"\n") for piece in iter(lambda: file.read(1 << 20), b""))


def rows_in(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"select count(*) from {table}").fetchone()[0]


KINDS: list[type[Writer]] = [
    Bare, Engine, Recording, AwaitedRecording, YoungSession, LongSession, OpenaiAgents, Langgraph, LanggraphWrite,
]  # fmt: skip


def main() -> None:
    name, folder = sys.argv[1:]
    writer = {kind.name: kind for kind in KINDS}[name](Path(folder))
    for line in sys.stdin:
        task = json.loads(line)
        before = writer.stored()
        seconds = writer.run(task["count"], task["writers"], task["durable"])
        print(json.dumps({"seconds": seconds, "stored": writer.stored() - before}), flush=True)


if __name__ == "__main__":
    main()
