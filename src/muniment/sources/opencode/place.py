"""What must change in an original file when a session goes to another folder or takes another identity."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable

from muniment.model import Facts
from muniment.sources.base import Move
from muniment.sources.opencode.records import native_of

_FOLDERS = rb'("(?:directory|cwd|root)"\s*:\s*")'
_IN_NAME = re.compile(r"(?:msg|prt)_[0-9a-f]{12}[^./]*")
_NAMED = re.compile(rb'(?<=")((?:msg|prt)_[0-9a-f]{12})([^"\\]{1,40})(?=")')


def moved(name: str, pieces: Iterable[bytes], facts: Facts, move: Move) -> tuple[str, Iterable[bytes]]:
    """Fields as the client writes them; inside a text their quotes are escaped, so no text is touched."""
    data = b"".join(pieces)
    old = facts.first_cwd or facts.cwd
    if move.cwd and old:
        pattern = re.compile(_FOLDERS + re.escape(_quoted(old)) + rb'(?=["/\\])')
        new = _quoted(move.cwd)
        data = pattern.sub(lambda found: found[1] + new, data)
    native = facts.native_id
    if move.session_id and native:
        new_id = native_of(move.session_id)
        data = data.replace(f'"{native}"'.encode(), f'"{new_id}"'.encode())
        data = _NAMED.sub(lambda found: renamed(found[0].decode(), new_id).encode(), data)
        name = name.replace(native, new_id)
        name = _IN_NAME.sub(lambda found: renamed(found[0], new_id), name)
    return name, [data]


def renamed(own: str, session: str) -> str:
    """The id of a message or part in a fork: the client takes none under an id that it has. The age stays in it."""
    digest = hashlib.sha256(f"{session} {own}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{own[:16]}{digest[:14]}"


def _quoted(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")
