"""Starting workers, killing them, and collecting what they noted."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from muniment.record.conformance import history
from muniment.record.conformance.history import Attempt, Note
from muniment.record.conformance.subject import APPEND_ONLY, ONCE, ORDERED, Subject, load
from muniment.record.conformance.worker import Job, Request

_WORKER = [sys.executable, "-m", "muniment.record.conformance.worker"]
_SECONDS = 120


class Unavailable(Exception):
    """This machine does not allow the trial; the message says why."""


def environment() -> dict[str, str]:
    """Workers import what this process can import, so that a subject may lie anywhere on its path."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}


class Nursery:
    """Workers by the dozen. Leaving the block ends those that are left."""

    def __enter__(self) -> Nursery:
        self._process = subprocess.Popen(_WORKER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate(timeout=_SECONDS)

    def _ask(self, request: Request) -> int:
        source, answer = self._process.stdin, self._process.stdout
        assert source, "it was started with a pipe"
        assert answer, "it was started with a pipe"
        source.write(msgspec.json.encode(request) + b"\n")
        source.flush()
        return int(answer.readline())

    def start(self, job: Job) -> int:
        """The id of a worker that has begun."""
        return self._ask(Request(start=job))

    def wait(self, pid: int) -> int:
        """How a worker ended: 0 if it did its job, negative if it was killed."""
        return self._ask(Request(wait=pid))

    def kill(self, *pids: int) -> None:
        """All at once, without a word of warning. Until somebody waits for it, the id stays its own."""
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        for pid in pids:
            self.wait(pid)

    def run(self, jobs: Sequence[Job]) -> list[int]:
        """Do jobs side by side to their end."""
        return [self.wait(pid) for pid in [self.start(job) for job in jobs]]


def run_under(command: Sequence[str], job: Job) -> int:
    """Do a job in a process of its own below another program, such as a tracer."""
    words = [*command, *_WORKER, msgspec.json.encode(job).decode()]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, env=environment(), start_new_session=True) as process:
        try:
            return process.wait(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise


class World:
    """One file of one subject, and the histories of all who wrote to it."""

    def __init__(self, subject: str, folder: Path, place: Path | None = None) -> None:
        self.name = subject
        self.subject: Subject = load(subject)
        self.notes = folder / "notes"
        self.notes.mkdir(parents=True, exist_ok=True)
        self.path = (place or folder / "file") / "events.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._writers: list[tuple[str, Path]] = []
        self._ends: dict[Path, int] = {}
        self.earlier: list[Attempt] = []
        """What was attempted before any of them."""

    def job(self, writer: str, count: int, **how: object) -> Job:
        """Work for one writer, whose history is kept."""
        notes = self.notes / f"{len(self._writers):06d}.history"
        self._writers.append((writer, notes))
        fields = {"subject": self.name, "path": str(self.path), "history": str(notes), "writer": writer, "count": count}
        return msgspec.convert(fields | how, Job)

    def power_is_gone(self) -> None:
        """From now on nothing is acknowledged to those who write: the machine is off, whatever their kernel says.

        (A sync that is under way when a file system is shut down may return as if it had succeeded.)"""
        now = time.monotonic_ns()
        for _, notes in self._writers:
            self._ends.setdefault(notes, now)

    def history(self) -> list[tuple[str, list[Note]]]:
        """The notes of every process; those that a worker forked have files beside its own."""
        made = [(w, first, path) for w, first in self._writers for path in sorted(self.notes.glob(f"{first.name}*"))]
        return [
            (writer, [note for note in history.parse(path.read_bytes().splitlines()) if self._before_end(first, note)])
            for writer, first, path in made
        ]

    def _before_end(self, notes: Path, note: Note) -> bool:
        return note.kind == "invoke" or note.at < self._ends.get(notes, note.at + 1)

    def attempts(self) -> list[Attempt]:
        """Everything that anybody tried to append."""
        made = [attempt for writer, notes in self.history() for attempt in history.attempts_of(writer, notes)]
        return self.earlier + made

    def errors(self) -> list[str]:
        return [note.error for _, notes in self.history() for note in notes if note.kind == "fail"]

    def snapshot(self) -> dict[str, bytes]:
        """The files as they are now; none if the subject does not promise only to append."""
        if APPEND_ONLY not in self.subject.promises:
            return {}
        return {path.name: path.read_bytes() for path in self.subject.files(self.path) if path.exists()}

    def complaints(self, survived: history.Survival = "accepted", before: dict[str, bytes] | None = None) -> list[str]:
        """What the judge says of the file."""
        promises = self.subject.promises
        read = self.subject.read(self.path) if self.path.exists() else []
        found = history.complaints(self.attempts(), read, survived, ONCE in promises, ORDERED in promises)
        return found + (history.changed(before, self.snapshot()) if before else [])
