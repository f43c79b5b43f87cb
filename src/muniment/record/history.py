"""The second channel: every prompt of every session on this machine, for recall with the up arrow.

    {"prompt":"fix the login bug","ts":"2026-01-02T03:04:05.678Z","session_id":"5c1e…","uuid":"77aa…"}

One file for all sessions, so it is rotated: at 10 MiB or 10,000 entries `history.jsonl` becomes `history.jsonl.1`, the
former `.1` becomes `.2`, and so on. Rollovers from `.2` on are deleted a month after they were last written to. Reading
goes backwards from the end and costs what it gives, however large the file.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from msgspec import Struct

from muniment import files
from muniment.model import codec
from muniment.model.events import Written, told_time
from muniment.record.disk import lock, open_durable
from muniment.record.log import Ack, Log

MAX_BYTES = 10 << 20
MAX_ENTRIES = 10_000
NEARLY_FULL = 0.9
SWEEP_DAYS = 30
RETAIN_DAYS = "HISTORY_RETAIN_DAYS"
_BLOCK_BYTES = 1 << 16
_LEARN_BYTES = 4 * MAX_BYTES
"""Larger files are not searched for entries that are given twice."""


class Entry(Struct, frozen=True):
    """One prompt."""

    prompt: str
    ts: str
    session_id: str
    offset: int = -1
    """First byte of its line in its file."""
    uuid: str = ""


class _Line(Struct, omit_defaults=True):
    prompt: str
    ts: str | int | float = ""
    session_id: str = ""
    uuid: str = ""


class _Form:
    """Entries are told apart by session and event."""

    def identify(self, line: bytes) -> tuple[str, int] | None:
        entry = _decoded(line)
        if entry is None or not entry.uuid:
            return None
        return f"{entry.session_id} {entry.uuid}", hash(entry.prompt)

    def flag(self, line: bytes) -> bytes:
        return line[:-1] + b',"conflict":true}'

    def recovery(self, offset: int, length: int, sha256: str) -> bytes | None:
        return None


class History:
    """The prompts of this machine: one writer among several."""

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES, max_entries: int = MAX_ENTRIES) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self.max_entries = max_entries
        self._log: Log | None = None

    def append(self, prompt: str, session_id: str, ts: str, uuid: str = "", durable: bool = True) -> Ack:
        """Add a prompt; the same event of the same session is added once."""
        line = codec.encode(_Line(prompt, ts, session_id, uuid))
        key = f"{session_id} {uuid}" if uuid else None
        return self._opened().append(Written(line, key, hash(prompt)), durable)

    def close(self) -> None:
        if self._log:
            self._log.close()
            self._log = None

    @property
    def warning(self) -> str:
        """A word for the user when the file is nearly full; empty otherwise. A file that is too large is not read."""
        size = files.changed_at(self.path)[1]
        readable = 0 < size <= self.max_bytes
        return self.nearly_full(size, sum(p.count(b"\n") for p in files.chunks(self.path)) if readable else 0)

    def nearly_full(self, size: int, entries: int) -> str:
        """The same of a file of which both are known."""
        full = [f"{size / 2**20:.1f} of {self.max_bytes / 2**20:.0f} MiB"] * (size >= self.max_bytes * NEARLY_FULL)
        full += [f"{entries} of {self.max_entries} entries"] * (entries >= self.max_entries * NEARLY_FULL)
        return f"{self.path}: {', '.join(full)}; it will be rotated" if full else ""

    def _opened(self) -> Log:
        if self._log is None:
            self._tidy()
            self._log = Log(self.path, _Form(), rotation=self)
            self._learn_rolled(self._log)
        return self._log

    def _tidy(self) -> None:
        """Before the file is read: a huge one makes way at once, and old rollovers go."""
        descriptor = open_durable(self.path)
        try:
            lock(descriptor, self.path)
            status = os.fstat(descriptor)
            if files.same_file(status, self.path):
                self.sweep()
                if status.st_size > _LEARN_BYTES:
                    self.move()
        finally:
            os.close(descriptor)

    def _learn_rolled(self, log: Log) -> None:
        """What was rotated away a moment ago may be given again, too."""
        rolled = rollover(self.path, 1)
        if 0 < files.changed_at(rolled)[1] <= _LEARN_BYTES:
            log.know(line for _, line in _backwards(rolled))

    # -- rotation, under the log's lock

    def due(self, size: int, lines: int) -> bool:
        return size >= self.max_bytes or lines >= self.max_entries

    def move(self) -> None:
        """Out of the way, the oldest first: at every moment each rollover has a name, and none is overwritten."""
        for number in range(_rollovers(self.path), 0, -1):
            with contextlib.suppress(FileNotFoundError):  # a sweep or a crash may leave a gap
                os.rename(rollover(self.path, number), rollover(self.path, number + 1))
        os.rename(self.path, rollover(self.path, 1))

    def sweep(self, now: float | None = None) -> list[Path]:
        """Delete rollovers behind the first that nobody has written to for a month."""
        oldest = (now or time.time()) - SWEEP_DAYS * 86_400
        candidates = [rollover(self.path, number) for number in range(2, _rollovers(self.path) + 1)]
        gone = [path for path in candidates if path.exists() and path.stat().st_mtime < oldest]
        for path in reversed(gone):
            path.unlink(missing_ok=True)
        return gone


def rollover(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")


def _rollovers(path: Path) -> int:
    """The highest number a rollover has; there may be gaps after a sweep or a crash."""
    numbers = (p.name.removeprefix(path.name + ".") for p in path.parent.glob(path.name + ".*"))
    return max((int(number) for number in numbers if number.isdigit()), default=0)


# -- reading


def read_entries(path: Path, limit: int, reverse: bool, env: Mapping[str, str]) -> list[Entry]:
    """The latest prompts, newest first; or the oldest that are kept, oldest first."""
    since = _retained_since(env)
    found: list[Entry] = []
    for file in _files(path, reverse):
        for offset, line in _backwards(file) if reverse else _forwards(file):
            if len(found) >= limit:
                return found
            entry = _decoded(line)
            if entry and (at := told_time(entry.ts)) >= since:
                found.append(Entry(entry.prompt, at, entry.session_id, offset, entry.uuid))
    return found


def _retained_since(env: Mapping[str, str]) -> str:
    days = env.get(RETAIN_DAYS, "")
    if not days.isdigit():
        return ""
    return (datetime.now(UTC) - timedelta(days=int(days))).isoformat(timespec="milliseconds")


def _files(path: Path, reverse: bool) -> list[Path]:
    files_ = [path, *(rollover(path, number) for number in range(1, _rollovers(path) + 1))]
    there = [file for file in files_ if file.exists()]
    return there if reverse else there[::-1]


def _decoded(line: bytes) -> _Line | None:
    try:
        return codec.decode(line, _Line)
    except (msgspec.MsgspecError, ValueError):
        return None


def _forwards(path: Path) -> Iterator[tuple[int, bytes]]:
    offset = 0
    with files.open_regular(path) as raw:
        for line in iter(raw.readline, b""):
            if line.endswith(b"\n"):
                yield offset, line[:-1]
            offset += len(line)


def _backwards(path: Path) -> Iterator[tuple[int, bytes]]:
    """Whole lines from the last to the first, a block at a time."""
    with files.open_regular(path) as raw:
        at = raw.seek(0, os.SEEK_END)
        pending: list[bytes] = []
        is_tail = True
        while at > 0:
            start = max(0, at - _BLOCK_BYTES)
            raw.seek(start)
            block = raw.read(at - start) or b""
            at = start
            first, newline, rest = block.partition(b"\n")
            if not newline:
                pending.append(block)
                continue
            lines = (rest + b"".join(reversed(pending))).split(b"\n")
            if is_tail:
                lines, is_tail = lines[:-1], False  # behind the last newline a line is not yet written
            end = start + len(first) + 1 + sum(len(line) + 1 for line in lines)
            for line in reversed(lines):
                end -= len(line) + 1
                yield end, line
            pending = [first]
        if pending and not is_tail:
            yield 0, b"".join(reversed(pending))
