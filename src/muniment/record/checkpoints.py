"""Checkpoints: the files of a project as they were before a session edited them.

checkpoints/<session>/objects/<sha256>   what stood somewhere, once for each content
checkpoints/<session>/log.jsonl          what happened to which path, in order; only ever appended to

`before_edit` returns when the copy and the line that names it survive a power cut: only then may the edit happen.
`settle` notes how the session left the files, so that a rewind can tell its edits from those of others.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path

from msgspec import Struct

from muniment import files
from muniment.errors import MunimentError, NotFound, NotRecorded, StoreError
from muniment.model import codec
from muniment.model.events import Written
from muniment.record import paths
from muniment.record.checkpoint_log import Began, Done, Edit, Entry, Left, Lines, Rewind, Step, decode
from muniment.record.clock import now
from muniment.record.disk import lock, sync_folder
from muniment.record.log import Log
from muniment.record.paths import State

LOG = "log.jsonl"
OBJECTS = "objects"


class Checkpoint(Struct, frozen=True):
    """What stood at a path before an edit."""

    path: Path
    """Absolute, its folder free of links."""
    sha256: str | None
    """None: there was no such file."""
    mode: int


class _Changed(Exception):
    """A file is not what it was a moment ago."""


class Checkpoints:
    """The checkpoints of one session. Nothing is written before the first edit; safe to share between threads."""

    def __init__(self, folder: Path, cwd: Path | None = None, transcript: Path | None = None) -> None:
        self.folder = folder
        self.entries: list[Entry] = []
        """The log, in order."""
        self._began = (_text(cwd), _text(transcript))
        self._ids: set[str] = set()
        self._pending: dict[str, str] = {}
        """Paths whose latest edit is not settled, with the edit's id."""
        self._durable: set[str] = set()
        """Objects that this process has seen whole and synced, and the name of their folder."""
        self._digest = hashlib.sha256()
        self._mutex = threading.RLock()
        self._log: Log | None = self._open() if (folder / LOG).exists() else None

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the log; what is pending stays so."""
        if self._log:
            self._log.close()

    @property
    def hash(self) -> str:
        """The sha256 of the log's entries so far, as lines: the session's `checkpoint_hash`."""
        return self._digest.copy().hexdigest()

    @property
    def cwd(self) -> Path | None:
        """Where the session worked, if it was told."""
        return _path(self._told().cwd)

    @property
    def transcript(self) -> Path | None:
        return _path(self._told().transcript)

    def _told(self) -> Began:
        began = (entry for entry in self.entries if isinstance(entry, Began))
        return next(began, Began(id="", ts="", cwd=self._began[0], transcript=self._began[1]))

    # -- edits

    def before_edit(self, path: Path, entry_uuid: str) -> Checkpoint:
        """Keep what stands at the path; durable when this returns. A link is kept as a link.

        Where it leads to a file inside the session's folder, that file is kept too: an edit goes through the link.
        Raises Unsupported for a folder, NotRecorded for what cannot be read or does not hold still."""
        place = paths.located(path)
        with self._mutex:
            state = self.keep(place)
            self._add(Edit(**_fresh(), entry=entry_uuid, path=str(place), before=state), durable=True)
            if state.link and (inner := self._behind(place)):
                self.before_edit(inner, entry_uuid)
        return Checkpoint(place, state.sha256, state.mode)

    def _behind(self, link: Path) -> Path | None:
        inner = Path(os.path.realpath(link))
        inside = self.cwd is not None and inner.is_relative_to(os.path.realpath(self.cwd))
        return inner if inside and inner.is_file() else None

    def after_edit(self, path: Path) -> None:
        """Note how the session left the file."""
        place = paths.located(path)
        edits = [entry for entry in self.entries if isinstance(entry, Edit) and entry.path == str(place)]
        if not edits:
            raise NotFound(f"{place}: no edit of it was announced", "call before_edit first")
        self._settle(str(place), edits[-1].id)

    def settle(self) -> None:
        """Do that for every edit that has been announced and is done by now; what cannot be read stays open."""
        for path, edit in list(self._pending.items()):
            self._settle(path, edit)

    def _settle(self, path: str, edit: str) -> None:
        try:
            state = paths.look(Path(path))
        except (OSError, MunimentError):
            return
        with self._mutex:
            self._add(Left(**_fresh(), edit=edit, path=path, after=state))

    # -- the log

    def add_rewind(self, to: str | None, undoes: str | None, steps: tuple[Step, ...]) -> Rewind:
        """A rewind is about to happen; durable when this returns."""
        entry = Rewind(**_fresh(), to=to, undoes=undoes, steps=steps)
        with self._mutex:
            self._add(entry, durable=True)
        return entry

    def add_done(self, rewind: Rewind) -> None:
        with self._mutex:
            self._add(Done(**_fresh(), rewind=rewind.id), durable=True)

    @contextlib.contextmanager
    def alone(self) -> Generator[None]:
        """No other process rewinds these files meanwhile; what the others logged before is known."""
        if not (self.folder / LOG).exists():
            raise NotFound(f"{self.folder}: no checkpoints", "the session announced no edit")
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            lock(descriptor, self.folder)
            with self._mutex:
                self._catch_up()
                yield
        finally:
            os.close(descriptor)

    def _catch_up(self) -> None:
        """The engine learns what others wrote when it opens a file."""
        if self._log:
            self._log.close()
        self._log = self._open()

    def _open(self) -> Log:
        return Log(self.folder / LOG, Lines(), observe=lambda _, line: self._learn(line))

    def _add(self, entry: Entry, durable: bool = False) -> None:
        line = codec.encode(entry)
        self._ready().append(Written(line, entry.id, hash(line)), durable)
        self._learn(line)

    def _ready(self) -> Log:
        """The log, begun if it is not there. Opening it makes the folders, durable as they must be for the objects."""
        if self._log is None:
            self._log = self._open()
        if not self.entries:
            line = codec.encode(began := Began(**_fresh(), cwd=self._began[0], transcript=self._began[1]))
            self._log.append(Written(line, began.id, hash(line)))
            self._learn(line)
        return self._log

    def _learn(self, line: bytes) -> None:
        entry = decode(line)
        if entry is None or entry.id in self._ids:
            return
        self._ids.add(entry.id)
        self.entries.append(entry)
        self._digest.update(line + b"\n")
        if isinstance(entry, Edit):
            self._pending[entry.path] = entry.id
        elif isinstance(entry, Left) and self._pending.get(entry.path) == entry.edit:
            del self._pending[entry.path]

    # -- the copies

    def keep(self, place: Path) -> State:
        """What stands at a located path, with its content among the objects for good."""
        for _ in range(2):
            with _unreadable(place), contextlib.suppress(_Changed):
                state = paths.look(place)
                if state.sha256:
                    self._ensure_object(place, state, state.sha256)
                return state
        raise NotRecorded(f"{place}: changes while it is copied", "wait for the program that writes it")

    def content(self, sha256: str) -> Iterator[bytes]:
        """An object's bytes. Raises StoreError at the end if they are not what was kept."""
        digest = hashlib.sha256()
        for piece in files.chunks(self.folder / OBJECTS / sha256):
            digest.update(piece)
            yield piece
        if digest.hexdigest() != sha256:
            raise StoreError(f"{self.folder / OBJECTS / sha256}: the copy is damaged", "it cannot be restored")

    def _ensure_object(self, place: Path, state: State, sha256: str) -> None:
        """Also an object that is there already is read and synced: its writer may have died before it was."""
        path = self.folder / OBJECTS / sha256
        if sha256 in self._durable:
            return
        if not self._whole(sha256):
            self._ready()
            files.make_folder(path.parent)
            with _taken():
                files.write_atomic(path, _unchanged(place, state, sha256))
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        sync_folder(path.parent)
        if OBJECTS not in self._durable:
            sync_folder(self.folder)
        self._durable |= {OBJECTS, sha256}

    def _whole(self, sha256: str) -> bool:
        try:
            for _ in self.content(sha256):
                pass
        except (NotFound, StoreError):
            return False
        return True


def _unchanged(place: Path, state: State, sha256: str) -> Iterator[bytes]:
    """The content of a path; nothing is kept of it unless it is what was looked at."""
    digest = hashlib.sha256()
    try:
        for piece in paths.pieces(place, state):
            digest.update(piece)
            yield piece
    except FileNotFoundError:
        raise _Changed from None
    if digest.hexdigest() != sha256:
        raise _Changed


@contextlib.contextmanager
def _taken() -> Generator[None]:
    """Another process writes the same object at this moment: look again."""
    try:
        yield
    except FileExistsError:
        raise _Changed from None


@contextlib.contextmanager
def _unreadable(place: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        hint = "an edit of it could not be rewound"
        raise NotRecorded(f"{place}: no copy could be kept: {error.strerror or error}", hint) from error


def _fresh() -> dict[str, str]:
    return {"id": uuid.uuid4().hex, "ts": now()}


def _text(path: Path | None) -> str | None:
    return None if path is None else os.path.abspath(path)


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
