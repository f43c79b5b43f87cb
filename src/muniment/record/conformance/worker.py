"""The process that writes and is killed for it. It notes every call before it makes it and after it returned.

Started with a job as its argument it does that job; without one it is a nursery: it forks a worker for every job that
comes by its standard input, which is a hundred times faster than starting an interpreter for each.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Generator
from pathlib import Path

import msgspec
from msgspec import Struct

from muniment.record.conformance.history import Kind, Note, payload_of
from muniment.record.conformance.subject import Writer, load

SESSION = "conformance"
_GATE_SECONDS = 30.0


class Job(Struct, kw_only=True):
    """What one worker does."""

    subject: str
    path: str
    history: str
    writer: str
    """Its events are called after it; workers with the same name append the same events."""
    count: int
    smallest: int = 1
    largest: int = 1000
    seed: int = 0
    flavour: str = ""
    flush_every: int = 0
    reopen_every: int = 0
    gate: str = ""
    """A file; work begins when it is there, so that several begin at once."""
    forks: int = 0
    """So many children do the job, all with the one writer that they inherit."""
    settle_seconds: float = 0.0
    """After this while, what was accepted counts as durable by itself."""
    file_limit: int = 0
    """How large a file may grow, until the first error."""
    ballast: str = ""
    """A file that is removed after the first error, to make room."""
    retry: bool = False
    """Whether an append that failed is tried once more."""


class Request(Struct):
    """To a nursery: start a job, or wait for the end of one."""

    start: Job | None = None
    wait: int = 0


class Notes:
    """A history file. Each note is one write, so it survives the worker."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def add(self, kind: Kind, uuid: str = "", size: int = 0, flavour: str = "", error: str = "") -> None:
        note = Note(kind, time.monotonic_ns(), uuid, size, flavour, error)
        os.write(self._descriptor, msgspec.json.encode(note) + b"\n")


def work(job: Job) -> None:
    """Open, append, flush, close, and note what was acknowledged."""
    subject, path, notes = load(job.subject), Path(job.path), Notes(job.history)
    _wait_for(job.gate)
    writer = subject.open(path)
    if job.forks:
        _fork_and_wait(writer, job)
        return
    _use(writer, job, notes)


def _use(writer: Writer, job: Job, notes: Notes) -> None:
    subject, path = load(job.subject), Path(job.path)
    for number in range(job.count):
        if job.reopen_every and number and number % job.reopen_every == 0:
            writer.close()
            writer = subject.open(path)
        if not _append(writer, job, number, notes):
            _relieve(job)
            if job.retry:
                _append(writer, job, number, notes)
        if job.flush_every and (number + 1) % job.flush_every == 0:
            _flush(writer, notes)
    if job.settle_seconds:
        time.sleep(job.settle_seconds)
        notes.add("durable")
    with contextlib.suppress(Exception):
        writer.close()


def _fork_and_wait(writer: Writer, job: Job) -> None:
    """The children begin at once, when the last of them is there and the pipe is closed."""
    waiting, go = os.pipe()
    children: list[int] = []
    for number in range(job.forks):
        if pid := os.fork():
            children.append(pid)
            continue
        with _last_words():
            os.close(go)
            os.read(waiting, 1)
            _use(writer, job, Notes(f"{job.history}.{number}"))
    os.close(go)
    for pid in children:
        os.waitpid(pid, 0)
    writer.close()


@contextlib.contextmanager
def _last_words() -> Generator[None]:
    """The process ends with this block, and tells why if it did not go well."""
    code = 1
    try:
        yield
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _append(writer: Writer, job: Job, number: int, notes: Notes) -> bool:
    uuid = f"{job.writer}-{number:06d}"
    chance = random.Random(f"{job.seed}:{uuid}").random()
    size = round(job.smallest * (job.largest / job.smallest) ** chance)
    notes.add("invoke", uuid, size, job.flavour)
    try:
        with _limited(job.file_limit):
            writer.append(SESSION, uuid, payload_of(uuid, size, job.flavour))
    except Exception as error:
        notes.add("fail", uuid, error=f"{type(error).__name__}: {error}")
        return False
    notes.add("ok", uuid)
    return True


def _flush(writer: Writer, notes: Notes) -> None:
    try:
        writer.flush()
    except Exception as error:
        notes.add("fail", error=f"{type(error).__name__}: {error}")
    else:
        notes.add("durable")


@contextlib.contextmanager
def _limited(size: int) -> Generator[None]:
    """No file may grow beyond this size; our own notes may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if size:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        if size:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _relieve(job: Job) -> None:
    """The trouble has passed."""
    job.file_limit = 0
    if job.ballast:
        Path(job.ballast).unlink(missing_ok=True)


def _wait_for(gate: str) -> None:
    deadline = time.monotonic() + _GATE_SECONDS
    while gate and not os.path.exists(gate) and time.monotonic() < deadline:
        time.sleep(0.0005)


# -- the nursery


def nurse() -> None:
    """Fork a worker for every job; when whoever asks is gone, so are they."""
    alive: set[int] = set()
    while line := sys.stdin.buffer.readline():
        request = msgspec.json.decode(line, type=Request)
        if request.start:
            load(request.start.subject)
            alive.add(answer := _fork(request.start))
        else:
            answer = os.waitstatus_to_exitcode(os.waitpid(request.wait, 0)[1])
            alive.discard(request.wait)
        os.write(1, b"%d\n" % answer)
    for pid in alive:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def _fork(job: Job) -> int:
    """A worker in a process group of its own, so that what it starts dies with it."""
    pid = os.fork()
    if pid:
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        return pid
    with _last_words():
        with contextlib.suppress(OSError):
            os.setpgid(0, 0)
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 0)
        os.dup2(nowhere, 1)
        work(job)
    raise AssertionError("a worker does not come back")


def main() -> None:
    if len(sys.argv) > 1:
        work(msgspec.json.decode(sys.argv[1], type=Job))
    else:
        nurse()


if __name__ == "__main__":
    main()
