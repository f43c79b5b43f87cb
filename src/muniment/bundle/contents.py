"""What a bundle is: a tar, compressed with zstd, whose first member says what all others are.

    manifest.json                     this: every other member in order, with size and sha256; the sessions
    sessions/<uuid>.md                the document
    sessions/<uuid>/source/…          the evidence: what alone counts when it is unpacked
    sessions/<uuid>/rounds/… media/… sidechains/… versions/…
    engagements.jsonl  edits.jsonl  agent-roster.jsonl        the lines about these sessions
    engagements/<id>.md               what agents told of their work

It can be read without this program: `tar --zstd -xf FILE`. The same content gives the same bytes.
"""

from __future__ import annotations

import re

from msgspec import Struct

from muniment.errors import StoreError, Unsupported
from muniment.store.layout import is_session_id

FORMAT = "muniment-bundle"
VERSION = 1
MANIFEST = "manifest.json"
RECORDS, EDITS, ROSTER = "engagements.jsonl", "edits.jsonl", "agent-roster.jsonl"
SESSIONS, TOLD = "sessions", "engagements"

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._~@-]{0,180}")
MAX_PARTS = 10


class Limits(Struct, frozen=True):
    """How much a bundle may hold; beyond, it is taken for an attack."""

    manifest_bytes: int = 256 << 20
    members: int = 1_000_000
    total_bytes: int = 256 << 30
    ratio: int = 100
    free_bytes: int = 64 << 20
    """So much may be unpacked whatever it was packed into: small things shrink a lot."""


class Member(Struct, frozen=True):
    """One file of a bundle."""

    name: str
    size: int
    sha256: str


class Bundled(Struct, frozen=True):
    """One session of a bundle."""

    session_id: str
    agent_id: str
    source: str


class Contents(Struct, frozen=True, kw_only=True):
    """The manifest."""

    format: str
    version: int
    muniment: str
    redacted: bool = False
    """Without secrets, and therefore without the exact bytes."""
    sessions: tuple[Bundled, ...]
    members: tuple[Member, ...]


def require_sound(contents: Contents, limits: Limits) -> None:
    """Raise unless this is a manifest that can be carried out safely."""
    if contents.format != FORMAT:
        raise StoreError("not a bundle of sessions", "`muniment bundle` makes them")
    if contents.version > VERSION:
        raise Unsupported(f"a bundle of version {contents.version}", "written by a newer muniment; update to read it")
    if len(contents.members) > limits.members or sum(m.size for m in contents.members) > limits.total_bytes:
        raise StoreError("the bundle holds more than is allowed", f"at most {limits.total_bytes >> 30} GiB")
    names = [member.name for member in contents.members]
    sessions = [session.session_id for session in contents.sessions]
    if len({name.lower() for name in names}) != len(names) or len(set(sessions)) != len(sessions):
        raise StoreError("the bundle names something twice", "it was damaged or tampered with")
    for member in contents.members:
        if member.size < 0 or not _is_sound(member.name, set(sessions)):
            raise StoreError(f"the bundle holds {member.name[:200]!r}, which no bundle does", "it was tampered with")
    if any(not is_session_id(session) for session in sessions):
        raise StoreError("the bundle names a session that is none", "it was tampered with")


def _is_sound(name: str, sessions: set[str]) -> bool:
    """A name of the forms above, every part of which is harmless on every system."""
    first, *rest = parts = name.split("/")
    if len(parts) > MAX_PARTS or not all(_PART.fullmatch(part) and not part.endswith(".") for part in parts):
        return False
    if not rest:
        return name in (RECORDS, EDITS, ROSTER)
    if first == TOLD:
        return len(rest) == 1 and rest[0].endswith(".md")
    if first != SESSIONS:
        return False
    return rest[0] in sessions if len(rest) > 1 else rest[0].removesuffix(".md") in sessions and rest[0].endswith(".md")
