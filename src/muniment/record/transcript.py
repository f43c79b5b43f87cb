"""The first channel, read: a recorded session from its file, and which sessions there are.

A file is read once, from its first segment to its last. Lines that say the same twice (a failing disk makes them be
written again) count once; damage is told and skipped; a missing terminator is a session that crashed, and as good.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from muniment import files, sources
from muniment.errors import Ambiguous, NotFound, UnknownFormat, Unsupported
from muniment.model import Problem
from muniment.model.codec import mapping
from muniment.model.events import COMPACTION, HEADER, SUMMARY, TERMINATOR, USER, Event, words_of
from muniment.record.chain import boundary_of
from muniment.record.disk import segments
from muniment.record.read import Line, Mode, is_record, read
from muniment.sources.dialect import Dialect

_SAFE_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
_HEAD_BYTES = 1 << 16


class Transcript(Struct):
    """A recorded session as its file tells it."""

    path: Path
    dialect: Dialect
    events: list[Event]
    problems: list[Problem]
    places: list[tuple[str, int]] = []
    """Of each event: the file, and the first byte of the line that tells it."""

    @property
    def header(self) -> Event | None:
        return next((event for event in self.events if event.type == HEADER), None)

    @property
    def session_id(self) -> str:
        return self._said("session_id") or self.path.stem

    @property
    def resumed_from(self) -> str | None:
        return self._said("resumed_from")

    @property
    def cwd(self) -> str | None:
        return self._said("cwd")

    def _said(self, name: str) -> str | None:
        value = mapping(self.header.payload).get(name) if self.header else None
        return value if isinstance(value, str) else None

    @property
    def ended(self) -> bool:
        """Whether it came to its end; a crashed one has no terminator."""
        return any(event.type == TERMINATOR for event in self.events)

    @property
    def unfinished(self) -> int:
        """Bytes of a last line that is not yet written, or never will be, in all its segments."""
        return sum(problem.length for problem in torn_ends(self.path))


def safe_id(text: str) -> str:
    """An id that may become a file name. Raises ValueError for any other."""
    if not _SAFE_ID.fullmatch(text):
        raise ValueError(f"{text[:40]!r} cannot be the id of a session: letters, digits, '-', '_' and '.' only")
    return text


def dialect_named(name: str) -> Dialect:
    """The dialect of a source. Raises `Unsupported` if it has none."""
    if dialect := sources.named(name).dialect:
        return dialect
    able = ", ".join(source.name for source in sources.all_sources() if source.dialect)
    raise Unsupported(f"{name} is not a format that can be recorded in", f"these are: {able}")


def dialect_of(path: Path) -> Dialect:
    """The dialect that a file is written in."""
    source = sources.recognise(path)
    if source is None or source.dialect is None:
        raise UnknownFormat(f"{path}: not a recorded session", "`muniment inscribe` reads the sessions of agents")
    return source.dialect


def load(path: str | Path, dialect: Dialect | None = None, mode: Mode = "salvage") -> Transcript:
    """Read a session from its file, all its segments, in whatever dialect it is written."""
    path = Path(path)
    dialect = dialect or dialect_of(path)
    made = Transcript(path, dialect, [], [], [])
    seen: set[tuple[str, int]] = set()
    for segment in segments(path):
        for line in read(segment, mode, made.problems):
            known = dialect.identify(line.raw)
            if known is None or known not in seen:
                made.events += _events(dialect, line, segment, made.problems)
                made.places += [(str(segment), line.offset)] * (len(made.events) - len(made.places))
            if known:
                seen.add(known)
    made.problems += _partial_compactions(made)
    return made


def _events(dialect: Dialect, line: Line, path: Path, problems: list[Problem]) -> list[Event]:
    try:
        return dialect.events(line.raw)
    except ValueError as error:
        problems.append(Problem(str(path), line.offset, str(error), len(line.raw)))
        return []


def _partial_compactions(transcript: Transcript) -> Iterator[Problem]:
    """Boundaries that a crash cut off: the chain before them holds."""
    summaries = {event.uuid for event in transcript.events if event.type == SUMMARY}
    for event, place in zip(transcript.events, transcript.places, strict=True):
        if event.type == COMPACTION:
            boundary = boundary_of(event)
            if boundary is None or boundary.summary not in summaries:
                yield Problem(*place, f"compaction {event.uuid} is incomplete and does not count")


def torn_ends(path: Path) -> Iterator[Problem]:
    """Last lines that are not yet written, or never will be: no damage to what was said before."""
    for segment in segments(path):
        end, size = _last_newline(segment)
        if end < size:
            yield Problem(str(segment), end, "an unfinished last line", size - end)


def _last_newline(path: Path) -> tuple[int, int]:
    """Where the last whole line of a file ends, and where the file does."""
    with path.open("rb") as file:
        size = at = file.seek(0, 2)
        while at > 0:
            at = max(0, at - (1 << 16))
            file.seek(at)
            found = file.read(1 << 16).rfind(b"\n")
            if found >= 0:
                return at + found + 1, size
    return 0, size


# -- which sessions there are


class Listed(Struct, frozen=True):
    """A recorded session in a listing."""

    session_id: str
    path: str
    started: str
    prompt: str
    """The first one."""
    size: int
    changed_ns: int


def recorded(root: Path, dialect: Dialect) -> list[Listed]:
    """The sessions recorded below a folder, the latest first."""
    folder = dialect.folder(root)
    there = [Path(entry.path) for entry in files.walk(folder)]
    rows = [row for path in there if _is_transcript(path.relative_to(folder)) and (row := _listed(path, dialect))]
    return sorted(rows, key=lambda row: row.changed_ns, reverse=True)


def _is_transcript(name: Path) -> bool:
    """Hidden folders are other people's, or those of the other channels."""
    return name.suffix == ".jsonl" and not any(part.startswith(".") for part in name.parts)


def _listed(path: Path, dialect: Dialect) -> Listed | None:
    """What the beginning of a file tells; None if it is of another format."""
    changed, size = files.changed_at(path)
    events: list[Event] = []
    for line in _first_lines(path):
        with contextlib.suppress(ValueError):
            events += dialect.events(line) if is_record(line) else []
    if size and not events:
        return None
    made = Transcript(path, dialect, events, [])
    started = next((event.ts for event in events if event.ts), "")
    prompt = next((_text(event) for event in events if event.type == USER), "")
    return Listed(made.session_id, str(path), started, prompt, size, changed)


def _first_lines(path: Path) -> list[bytes]:
    """The lines at the beginning of a file, at least one of them whole."""
    head = b""
    for piece in files.chunks(path):
        head += piece[:_HEAD_BYTES] if b"\n" in piece[:_HEAD_BYTES] else piece
        if b"\n" in head:
            break
    return head.split(b"\n")[:-1]


def _text(event: Event) -> str:
    return " ".join((words_of(event.payload) or "").split())[:200]


def find(root: Path, name: str, dialect: Dialect) -> Path:
    """A session by its path, a unique beginning of its id, or `last`."""
    if "/" in name or name.endswith(".jsonl"):
        if not Path(name).exists():
            raise NotFound(f"{name}: no such file")
        return Path(name)
    rows = recorded(root, dialect)
    fits = rows[:1] if name == "last" else [row for row in rows if row.session_id.startswith(name) and name]
    if not fits:
        raise NotFound(
            f"no recorded session {name!r} in {dialect.folder(root)}", "`muniment sessions --recorded` lists them"
        )
    if len(fits) > 1:
        raise Ambiguous(f"{name!r} could be {len(fits)} sessions", "give more of the id")
    return Path(fits[0].path)


def ancestry(root: Path, transcript: Transcript) -> list[Transcript]:
    """The sessions that this one goes on from, the first one first, and itself at the end."""
    line = [transcript]
    known = {transcript.session_id}
    while (former := line[0].resumed_from) and former not in known:
        known.add(former)
        try:
            path = find(root, former, transcript.dialect)
        except (NotFound, Ambiguous):
            line[0].problems.append(Problem(str(line[0].path), 0, f"the session before it, {former}, is not there"))
            break
        line.insert(0, load(path, transcript.dialect))
    return line
