"""Histories: files in which an agent notes something about all its sessions, a line at a time.

    {"display":"fix the login","pastedContents":{},"timestamp":1767323045000,"project":"/proj/shop","sessionId":"…"}

They outlive the transcripts. The lines about a session are kept with it, and where its transcript is gone they are read
in place of it: every prompt is a round of which only the human's half is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from muniment import files
from muniment.model import Facts, Ref, Round, Text, Unknown
from muniment.sources.base import Found, SourceFile, found_session, source_file
from muniment.sources.builder import Draft, RoundBuilder, quiet
from muniment.sources.lines import Record

_MAX_ID = 128
"""Characters of an id; none that an agent makes comes near."""


class Note(Struct, frozen=True):
    """What one line says."""

    prompt: str | None = None
    at: str | None = None
    cwd: str | None = None
    pasted: tuple[tuple[str, str], ...] = ()
    """Media type and content of what was pasted; all but text is base64."""
    title: str | None = None
    """A name that the session was given."""


# -- finding


def lines_by_session(path: Path, session_of: Callable[[bytes], Any]) -> dict[str, bytes]:
    """Every session's lines of a history, in order; `session_of` raises ValueError for a line that is damaged."""
    lines: dict[str, list[bytes]] = {}
    found = source_file(path, path.parent, "history")
    for line in b"".join(files.chunks(path)).split(b"\n") if found else ():
        try:
            session = session_of(line)
        except ValueError:
            continue
        if isinstance(session, str) and 0 < len(session) <= _MAX_ID and session.isprintable():
            lines.setdefault(session, []).append(line)
    return {session: b"\n".join(own) + b"\n" for session, own in lines.items()}


def history_file(path: Path, lines: bytes) -> SourceFile:
    """The lines about one session, as a file of that session."""
    return SourceFile(str(path), path.name, "history", len(lines), 0, text=lines)


def remembered(source: str, home: Path, notes: Mapping[str, Iterable[SourceFile]]) -> Iterator[Found]:
    """Sessions by what histories say of them, and nothing else."""
    for native_id, own in notes.items():
        yield found_session(source, native_id, home, True, own)


# -- reading


def read(lines: Iterable[Record], facts: Facts, note_of: Callable[[bytes], Note]) -> Iterator[Round]:
    """The rounds of the lines about one session; `note_of` raises ValueError for a line that is damaged."""
    cwd = facts.cwd
    round_ = RoundBuilder(facts.rounds + 1, 0)
    for record in lines:
        ref = Ref(record.offset, record.length)
        try:
            note = note_of(record.raw)
        except ValueError as error:
            round_.add(Unknown(kind="damaged", damage=str(error), ref=ref))
            continue
        if note.prompt is not None:
            if round_.prompted:
                yield round_.close()
                round_ = RoundBuilder(round_.number + 1, record.offset)
            _ask(round_, note, ref, note.cwd if note.cwd != cwd else None)
            cwd = note.cwd or cwd
        if note.title:
            round_.add(quiet("title", ref, {"title": note.title, "by": "user"}))
    yield round_.close()


def _ask(round_: RoundBuilder, note: Note, ref: Ref, cwd: str | None) -> None:
    """A prompt opens its round."""
    round_.prompted = True
    ref = Ref(ref.offset, ref.length, at=note.at)
    said: Draft = round_.message("user", at=note.at, cwd=cwd)
    said.blocks.append(Text(note.prompt or "", ref))
    for media_type, content in note.pasted:
        is_text = media_type == "text/plain"
        said.blocks.append(Text(content, ref) if is_text else round_.add_media(content, media_type, ref))


def time_of(count: Any, per_second: int = 1) -> str | None:
    """A count of seconds since 1970, or of parts of them, as agents write times; None for anything else."""
    if type(count) not in (int, float):
        return None
    try:
        at = datetime.fromtimestamp(count / per_second, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    seconds: str = msgspec.to_builtins(at)[:19]  # twice as fast as isoformat
    return f"{seconds}.{at.microsecond // 1000:03d}Z"
