"""The prompt history of Claude Code, `<home>/history.jsonl`: which sessions it knows, and what they were asked.

    {"display":"fix [Pasted text #1 +9 lines]","pastedContents":{"1":{"id":1,"type":"text","content":"…"}},
     "timestamp":1767323045000,"project":"/proj/shop","sessionId":"2222…"}

A large paste lies in `<home>/paste-cache/<contentHash>.txt` as long as the client lets it, and only its hash is here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from muniment import files
from muniment.model import Facts, Round
from muniment.model.codec import loads, mapping
from muniment.sources import history
from muniment.sources.base import Found, SourceFile, source_file
from muniment.sources.history import Note
from muniment.sources.lines import Record

FILE = "history.jsonl"
_PASTE = re.compile(rb'"contentHash"\s*:\s*"([0-9a-f]{16,64})"')


class _Named(Struct):
    """The part of a line that tells whose it is."""

    session_id: str = field(name="sessionId", default="")


_DECODER = msgspec.json.Decoder(_Named)


def about(home: Path, native_id: str) -> SourceFile | None:
    """The lines about a session, if there are any."""
    lines = _lines(home, files.changed_at(home / FILE)).get(native_id)
    return history.history_file(home / FILE, lines) if lines else None


def remembered(home: Path) -> Iterator[Found]:
    """Sessions that the prompt history knows, with their lines and the large pastes that are still there."""
    known = _lines(home, files.changed_at(home / FILE))
    notes = {id_: [history.history_file(home / FILE, own), *_pastes(home, own)] for id_, own in known.items()}
    return history.remembered("claude-code", home, notes)


def _pastes(home: Path, lines: bytes) -> Iterator[SourceFile]:
    for digest in dict.fromkeys(_PASTE.findall(lines)):
        if file := source_file(home / "paste-cache" / f"{digest.decode()}.txt", home, "side"):
            yield file


@lru_cache(maxsize=4)
def _lines(home: Path, _changed: tuple[int, int]) -> dict[str, bytes]:
    return history.lines_by_session(home / FILE, _session_of)


def session_of(line: bytes) -> str | None:
    """The session that a line names; None if it is damaged."""
    try:
        return _session_of(line)
    except ValueError:
        return None


def _session_of(line: bytes) -> str:
    return _DECODER.decode(line).session_id


def read(lines: Iterable[Record], facts: Facts) -> Iterator[Round]:
    """The human's half of a session, as the prompt history has it."""
    return history.read(lines, facts, _note)


def _note(line: bytes) -> Note:
    record = mapping(loads(line))
    display, project = record.get("display"), record.get("project")
    if not isinstance(display, str):
        raise ValueError("not a line of a prompt history")
    return Note(
        prompt=display,
        at=history.time_of(record.get("timestamp"), 1000),
        cwd=project if isinstance(project, str) and project else None,
        pasted=tuple(_pasted(mapping(record.get("pastedContents")))),
    )


def _pasted(contents: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What was pasted, where the history itself holds it."""
    for value in contents.values():
        paste = mapping(value)
        content, media_type = paste.get("content"), paste.get("mediaType")
        if isinstance(content, str) and content:
            is_image = paste.get("type") == "image"
            yield (media_type if isinstance(media_type, str) else "image/png") if is_image else "text/plain", content
