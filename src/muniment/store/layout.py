"""Where everything in a store lies. The only module that knows a path rule of the archive.

<root>/data/sessions/<agent_id>/<uuid>.md          the document
<root>/data/sessions/<agent_id>/<uuid>/            rounds/ media/ source/ sidechains/ versions/ session.db index.md
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from muniment.errors import StoreError

_SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
_RESERVED = {"con", "prn", "aux", "nul", *(f"{p}{n}" for p in ("com", "lpt") for n in range(1, 10))}
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def safe_name(name: str) -> str:
    """A name from a file as one path component: itself if that is harmless, else its hash."""
    if _SAFE.fullmatch(name) and name.split(".")[0].lower() not in _RESERVED:
        return name
    return "x" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def is_session_id(text: str) -> bool:
    return bool(_UUID.fullmatch(text))


SHORT_ID = 8
"""Characters of an id that people are shown, where they are enough."""


def short_id(id_: str, others: Collection[str]) -> str:
    """So much of an id that none of the others begins so, and no dash is at its end."""
    cuts = (id_[:count] for count in range(SHORT_ID, len(id_)) if id_[count - 1] != "-")
    return next((cut for cut in cuts if not any(other.startswith(cut) for other in others)), id_)


class Shelf(Struct, frozen=True, dict=True):
    """Where one session lies, or one of its sidechains or older versions: all have the same form."""

    document: Path
    folder: Path

    @cached_property
    def rounds(self) -> Path:
        return self.folder / "rounds"

    @cached_property
    def media(self) -> Path:
        return self.folder / "media"

    @cached_property
    def evidence(self) -> Path:
        return self.folder / "source"

    @cached_property
    def database(self) -> Path:
        return self.folder / "session.db"

    @cached_property
    def listing(self) -> Path:
        return self.folder / "index.md"

    def round_file(self, number: int) -> Path:
        return self.rounds / f"{number:03d}.json"

    def sidechain(self, id_: str) -> Shelf:
        """The shelf of a subagent; its media lie with the session's."""
        name = safe_name(id_)
        return Shelf(self.folder / "sidechains" / f"{name}.md", self.folder / "sidechains" / name)

    @cached_property
    def versions(self) -> Path:
        return self.folder / "versions"

    def version(self, hash8: str) -> Shelf:
        """The shelf of an older or diverging version of the same session."""
        folder = self.versions / safe_name(hash8)
        return Shelf(folder / self.document.name, folder / self.document.stem)


class Layout(Struct, frozen=True, dict=True):
    """The places of one store."""

    root: Path
    read_only: bool = False
    """Whoever holds this looks, and cannot write: neither the index nor the lock opens for it."""

    @cached_property
    def sessions(self) -> Path:
        return self.root / "data" / "sessions"

    @cached_property
    def database(self) -> Path:
        return self.sessions / "sessions.db"

    @cached_property
    def listing(self) -> Path:
        return self.sessions / "index.md"

    @cached_property
    def engagements(self) -> Path:
        return self.sessions / "engagements.jsonl"

    @cached_property
    def engagements_listing(self) -> Path:
        return self.sessions / "engagements-index.md"

    @cached_property
    def extractions(self) -> Path:
        """Answers of models, kept so that none is paid for twice."""
        return self.sessions / ".extractions"

    @cached_property
    def edits(self) -> Path:
        return self.sessions / "edits.jsonl"

    @cached_property
    def roster(self) -> Path:
        return self.root / "data" / "agent-roster.jsonl"

    @cached_property
    def prospective(self) -> Path:
        """Copies of the `engagement.md` files that agents keep in their projects."""
        return self.root / "data" / "engagements"

    @cached_property
    def lock(self) -> Path:
        return self.sessions / ".lock"

    @cached_property
    def watching(self) -> Path:
        """Held by the process that keeps the archive current."""
        return self.sessions / ".watching"

    def holds_sessions(self) -> bool:
        """Whether anything is in the store, whatever the index says."""
        return any(self.sessions.glob("*/*/source"))

    def agent(self, agent_id: str) -> Path:
        return self.sessions / safe_name(agent_id)

    def shelf(self, agent_id: str, session_id: str) -> Shelf:
        if not is_session_id(session_id):
            raise StoreError(f"{session_id!r} is no session id")
        folder = self.agent(agent_id)
        return Shelf(folder / f"{session_id}.md", folder / session_id)
