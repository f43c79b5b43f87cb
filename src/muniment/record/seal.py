"""The seal: a side file that makes any later edit, cut or bit flip of a log detectable.

`session.jsonl.chain` has one line per span of the log:

    {"offset":0,"length":181,"sha256":"…","running":"…"}

`running` is the hash of the one before and of this span's, so no line can be changed alone. A log and its chain cut off
at the same line still agree: who fears that keeps the size and the last `running` somewhere else (`Verified.mark`) and
gives them to `verify`. Writers without a seal may take part; whoever seals next covers their lines too.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from muniment import files
from muniment.errors import StoreError
from muniment.model import Problem
from muniment.record.disk import sync_file

_SPAN_BYTES = 1 << 20


class Span(Struct, frozen=True):
    """A covered part of the log."""

    offset: int
    length: int
    sha256: str
    running: str

    @property
    def end(self) -> int:
        return self.offset + self.length


class Verified(Struct, frozen=True):
    """What a check of a log against its chain came to."""

    size: int
    covered: int
    """Bytes that the chain vouches for; the rest was written by somebody who does not seal, or just before a crash."""
    running: str
    problems: tuple[Problem, ...] = ()

    @property
    def mark(self) -> str:
        """To be kept elsewhere: with it, a cut of log and chain together shows, too."""
        return f"{self.covered}:{self.running}"


def chain_path(path: Path) -> Path:
    return path.with_name(path.name + ".chain")


class Seal:
    """Writes the chain of one log. Called under the log's lock."""

    def __init__(self, path: Path) -> None:
        self.path = chain_path(path)
        self._descriptor = -1
        self._size = -1
        self._last = Span(0, 0, "", "")

    def cover(self, read: Callable[[int, int], bytes], end: int) -> None:
        """Extend the chain to `end`; `read` gives the log's bytes."""
        if self._descriptor < 0:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
            self._descriptor = os.open(self.path, flags, files.FILE_MODE)
        self._catch_up(self._descriptor)
        size, self._size = self._size, -1  # unless all of it is written, the next one looks what is there
        lines = b"".join(msgspec.json.encode(span) + b"\n" for span in self._spans(read, end))
        if os.write(self._descriptor, lines) == len(lines):
            self._size = size + len(lines)

    def sync(self) -> None:
        """What is sealed so far survives a power cut."""
        if self._descriptor >= 0:
            sync_file(self._descriptor)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _catch_up(self, descriptor: int) -> None:
        """Others seal as well; an unfinished line of a dead one is cut off, for the chain is derived."""
        size = os.fstat(descriptor).st_size
        if size == self._size:
            return
        data = os.pread(descriptor, size, 0)
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < size:
            os.ftruncate(descriptor, len(whole))
        self._last = _last_span(whole) or Span(0, 0, "", "")
        self._size = len(whole)

    def _spans(self, read: Callable[[int, int], bytes], end: int) -> Iterator[Span]:
        """One span per line, as far as lines are known; a long line is one span."""
        at = self._last.end
        pending = b""
        while at + len(pending) < end:
            pending += read(at + len(pending), min(end, at + len(pending) + _SPAN_BYTES))
            *lines, rest = pending.split(b"\n")
            for line in lines:
                yield self._next(line + b"\n")
            at, pending = self._last.end, rest
        if pending:
            yield self._next(pending)

    def _next(self, data: bytes) -> Span:
        self._last = _span(self._last, data)
        return self._last


def _span(before: Span, data: bytes) -> Span:
    digest = hashlib.sha256(data).hexdigest()
    running = hashlib.sha256(f"{before.running}{before.end}:{len(data)}:{digest}".encode()).hexdigest()
    return Span(before.end, len(data), digest, running)


def _last_span(data: bytes) -> Span | None:
    for line in reversed(data.splitlines()):
        try:
            return msgspec.json.decode(line, type=Span)
        except msgspec.DecodeError:
            continue
    return None


def verify(path: Path, mark: str | None = None) -> Verified:
    """Compare a log with its chain, byte for byte, and with a mark that was kept elsewhere."""
    chain = chain_path(path)
    if not chain.exists():
        raise StoreError(f"{path}: has no chain", "record with `seal=True` to be able to verify it")
    problems: list[Problem] = []
    size, last = path.stat().st_size, Span(0, 0, "", "")
    known: dict[str, bool] = {}
    with files.open_regular(path) as log:
        for number, line in enumerate(chain.read_bytes().split(b"\n")[:-1], 1):
            try:
                span = msgspec.json.decode(line, type=Span)
            except msgspec.DecodeError:
                problems.append(Problem(str(chain), number, "not a line of a chain"))
                continue
            log.seek(span.offset)
            data = log.read(span.length) or b""
            expected = _span(last, data)
            if span.offset != last.end or expected != span:
                problems.append(Problem(str(path), span.offset, "is not what was sealed", span.length))
            last = span
            known[f"{last.end}:{last.running}"] = True
    if last.end > size:
        problems.append(Problem(str(path), size, f"{last.end - size} sealed bytes are gone"))
    if mark and mark not in known:
        problems.append(Problem(str(chain), 0, f"does not contain the mark {mark}"))
    return Verified(size, last.end, last.running, tuple(problems))
