"""Where pi looks for a session, and what must change when one moves: the header alone knows identity and folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import PurePosixPath

from muniment.model import Facts, codec
from muniment.sources.base import Move
from muniment.sources.moving_lines import changed
from muniment.sources.pi.find import FOLDER, NAME, NAMED

EPOCH = "1970-01-01T00:00:00.000Z"
"""The time of sessions that tell none."""
_SEPARATORS = re.compile(r"[/\\:]")


def slug(cwd: str) -> str:
    """The folder name of a working folder, as the client makes it."""
    bare = cwd[1:] if cwd[:1] in ("/", "\\") else cwd
    return f"--{_SEPARATORS.sub('-', bare)}--"


def place(facts: Facts, move: Move) -> str:
    """A name of the client's own shape."""
    cwd = move.cwd or facts.first_cwd or facts.cwd or "/"
    return f"{FOLDER}/{slug(cwd)}/{_stamp(facts.started)}_{identity(facts, move)}.jsonl"


def identity(facts: Facts, move: Move) -> str:
    """The id that the header tells: pi's own if it is a session of pi."""
    own = facts.native_id if facts.source == NAME else None
    return move.session_id or own or facts.session_id


def _stamp(at: str | None) -> str:
    try:
        found = datetime.fromisoformat(at or EPOCH)
    except ValueError:
        found = datetime.fromisoformat(EPOCH)
    utc = found.astimezone(UTC) if found.tzinfo else found
    return f"{utc:%Y-%m-%dT%H-%M-%S}-{utc.microsecond // 1000:03d}Z"


def milliseconds(at: str | None) -> int:
    """A time as messages tell it."""
    try:
        found = datetime.fromisoformat(at or EPOCH)
    except ValueError:
        return 0
    return round((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)


def moved(name: str, pieces: Iterable[bytes], facts: Facts, move: Move) -> tuple[str, Iterable[bytes]]:
    """An original file with folder and identity changed."""
    return _moved_name(name, move), _moved_lines(pieces, move)


def _moved_name(name: str, move: Move) -> str:
    *folders, last = name.split("/")
    named = NAMED.fullmatch(last)
    if move.session_id and named:
        last = f"{last[: named.start(1)]}{move.session_id}.jsonl"
    if move.cwd and folders and folders[-1].startswith("--"):
        folders[-1] = slug(move.cwd)
    return str(PurePosixPath(*folders, last))


def _moved_lines(pieces: Iterable[bytes], move: Move) -> Iterator[bytes]:
    first = iter((True,))
    return changed(pieces, lambda line: _moved_header(line, move) if next(first, False) else line)


def _moved_header(line: bytes, move: Move) -> bytes:
    """The header with its new fields in their old places."""
    try:
        header = codec.mapping(codec.loads(line))
    except ValueError:
        return line
    changed = {"id": move.session_id, "cwd": move.cwd}
    new = header | {name: value for name, value in changed.items() if value}
    return codec.encode(new) if header.get("type") == "session" and new != header else line
