"""Where everything in a store lies. The only module that knows a path rule of the archive.

<root>/data/sessions/<agent_id>/<uuid>.md          the document
<root>/data/sessions/<agent_id>/<uuid>/            rounds/ media/ source/ sidechains/ versions/ session.db index.md
<root>/data/.new/                                  the same of sessions that are not whole yet
<root>/data/.unbundling-…/                         a bundle that is being unpacked
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from muniment import files
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


ROUNDS = "rounds"
SIDECHAINS = "sidechains"
DATABASE = "session.db"
LISTING = "index.md"


def round_name(number: int) -> str:
    """The file of a round, below the folder of its session."""
    return f"{ROUNDS}/{number:03d}.json"


def session_folder(agent_id: str, session_id: str) -> str:
    """The folder of a session, below that of all sessions."""
    return f"{safe_name(agent_id)}/{session_id}"


SHORT_ID = 8
"""Characters of an id that people are shown, where they are enough."""


def short_id(id_: str, others: Collection[str]) -> str:
    """So much of an id that none of the others begins so, and no dash is at its end."""
    cuts = (id_[:count] for count in range(SHORT_ID, len(id_)) if id_[count - 1] != "-")
    return next((cut for cut in cuts if not any(other.startswith(cut) for other in others)), id_)


class Shelf(Struct, frozen=True, dict=True):
    """Where one session lies, or one of its sidechains or older versions: all have the same form.

    What every session has is written by name: to make a `Path` takes about as long as to make a small file."""

    place: str
    """Of its folder; the document lies beside it, under the same name."""
    unseen: bool = False
    """Nobody looks there yet: it was empty at first, and is put where people look once it is whole."""

    @property
    def name(self) -> str:
        return os.path.basename(self.place)

    @cached_property
    def folder(self) -> Path:
        return Path(self.place)

    @cached_property
    def document(self) -> Path:
        return Path(f"{self.place}.md")

    @cached_property
    def rounds(self) -> Path:
        return self.folder / ROUNDS

    @cached_property
    def media(self) -> Path:
        return self.folder / "media"

    @cached_property
    def evidence(self) -> Path:
        return Path(f"{self.place}/source")

    @cached_property
    def database(self) -> Path:
        return self.folder / DATABASE

    @cached_property
    def listing(self) -> Path:
        return self.folder / LISTING

    def round_file(self, number: int) -> Path:
        return Path(f"{self.place}/{round_name(number)}")

    def sidechain(self, id_: str) -> Shelf:
        """The shelf of a subagent, with its own rounds and media."""
        return Shelf(f"{self.place}/{SIDECHAINS}/{safe_name(id_)}", self.unseen)

    @cached_property
    def versions(self) -> Path:
        return self.folder / "versions"

    def version(self, hash8: str) -> Shelf:
        """The shelf of an older or diverging version of the same session."""
        return Shelf(f"{self.place}/versions/{safe_name(hash8)}/{self.name}")

    def exists(self) -> bool:
        return os.path.lexists(self.place) or os.path.lexists(f"{self.place}.md")

    @property
    def put(self) -> files.Put:
        """How a file gets to its place on this shelf."""
        return files.write_unseen if self.unseen else files.write_atomic

    def write(self, name: str, data: bytes) -> None:
        """One of the files of the folder."""
        self.put(f"{self.place}/{name}", [data])

    def make_folder(self, name: str) -> None:
        """One of the folders in the folder."""
        files.make_folder(f"{self.place}/{name}")

    def write_document(self, pieces: Iterable[bytes]) -> None:
        """Replace the document. It has the only copy of what a person wrote into its head."""
        put = files.write_unseen if self.unseen else files.write_durable
        put(f"{self.place}.md", pieces)

    def clear(self) -> None:
        """An empty folder, whatever a run that failed left there."""
        if not files.make_folder(self.place):
            shutil.rmtree(self.place)
            self.document.unlink(missing_ok=True)
        files.make_folder(f"{self.place}/source")

    def become(self, seen: Shelf) -> None:
        """Put all of it where nothing is yet; the evidence goes first."""
        try:
            os.rename(self.place, seen.place)
        except FileNotFoundError:  # the first session of its bucket
            files.make_folder(os.path.dirname(seen.place))
            os.rename(self.place, seen.place)
        with contextlib.suppress(FileNotFoundError):  # there may be side files alone
            os.rename(f"{self.place}.md", f"{seen.place}.md")


def _folders(path: str | Path) -> list[os.DirEntry[str]]:
    """The folders in a folder, by name; links are none of them."""
    try:
        with os.scandir(path) as entries:
            return sorted((e for e in entries if e.is_dir(follow_symlinks=False)), key=lambda entry: entry.name)
    except FileNotFoundError:
        return []


class Layout(Struct, frozen=True, dict=True):
    """The places of one store."""

    root: Path
    read_only: bool = False
    """Whoever holds this looks, and cannot write: neither the index nor the lock opens for it."""

    @cached_property
    def data(self) -> Path:
        return self.root / "data"

    @cached_property
    def sessions(self) -> Path:
        return self.data / "sessions"

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
        return self.data / "agent-roster.jsonl"

    @cached_property
    def prospective(self) -> Path:
        """Copies of the `engagement.md` files that agents keep in their projects."""
        return self.data / "engagements"

    @cached_property
    def scanned(self) -> Path:
        """Which sessions were scanned for secrets, and how many each holds."""
        return self.sessions / ".scanned.jsonl"

    @cached_property
    def verified(self) -> Path:
        """When the originals of which sessions were verified."""
        return self.sessions / ".verified.jsonl"

    @cached_property
    def lock(self) -> Path:
        return self.sessions / ".lock"

    @cached_property
    def watching(self) -> Path:
        """Held by the process that keeps the archive current."""
        return self.sessions / ".watching"

    @cached_property
    def unseen(self) -> Path:
        """Where sessions are put together that nobody has seen yet."""
        return self.data / ".new"

    def holds_sessions(self) -> bool:
        """Whether anything is in the store, whatever the index says."""
        return any(self.sessions.glob("*/*/source"))

    def shelved(self) -> Iterator[tuple[str, str]]:
        """Bucket and id of everything that has the name of a session, whatever the index says."""
        for agent in _folders(self.sessions):
            yield from ((agent.name, folder.name) for folder in _folders(agent.path) if is_session_id(folder.name))

    def agent(self, agent_id: str) -> Path:
        return self.sessions / safe_name(agent_id)

    def shelf(self, agent_id: str, session_id: str) -> Shelf:
        if not is_session_id(session_id):
            raise StoreError(f"{session_id!r} is no session id")
        return Shelf(f"{self.sessions}/{session_folder(agent_id, session_id)}")

    def find_shelf(self, session_id: str) -> Shelf | None:
        """The shelf of a session in whatever bucket it lies."""
        found = (agent_id for agent_id, id_ in self.shelved() if id_ == session_id)
        return next((self.shelf(agent_id, session_id) for agent_id in found), None)

    def unseen_shelf(self, session_id: str) -> Shelf:
        """Where a session is put together that is in no bucket yet."""
        return Shelf(f"{self.unseen}/{session_id}", unseen=True)
