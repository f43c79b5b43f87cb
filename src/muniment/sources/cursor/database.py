"""A `store.db` as lines: what is known of the chat, then its messages in their order.

    {"about":{"agentId":"…","name":"Login","mode":"default","createdAt":1767323045000}}
    {"id":"<sha256>","message":{"role":"user","content":[…]}}

Messages are blobs named by their hash; their order stands in a tree of protobuf nodes, of which only the hashes are
understood. A chat that is open has a log beside its database: both are copied, and the copy is put together. SQLite
opens copies, or a file as one that nobody changes: the original is neither locked nor written to.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import tempfile
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import apsw

from muniment import files
from muniment.model import codec
from muniment.sources import databases
from muniment.sources.chats import unread
from muniment.sources.databases import MAGIC, Guarded, as_bytes, what_is_wrong
from muniment.sources.lines import MAX_LINE_BYTES

__all__ = ["MAGIC", "image", "is_chat", "lines", "native_id"]

_TABLES = re.compile(rb'CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?["`\[]?(blobs|meta)\b', re.IGNORECASE)
_TRIES = 5
_MAX_LOG_BYTES = 256 << 20
_MAX_IMAGE_BYTES = 512 << 20
_HASH_BYTES = 32
_HASH = re.compile(r"[0-9a-f]{64}")
_STORED = {"blobs": ("id", "data"), "meta": ("key", "value")}
"""The tables; one whose `meta` is gone has its messages all the same."""
_DEEP = 6
"""How far nodes are looked into for hashes."""


def is_chat(head: bytes) -> bool:
    """Whether a database has the tables of a chat: its first page holds how they were made."""
    return {name.lower() for name in _TABLES.findall(head)} == {b"blobs", b"meta"}


# -- a consistent copy


def image(path: Path) -> bytes | None:
    """The database together with its log; None if it has none, or one that cannot be used."""
    log = path.with_name(f"{path.name}-wal")
    if not 0 < files.changed_at(log)[1] <= _MAX_LOG_BYTES or files.changed_at(path)[1] > _MAX_IMAGE_BYTES:
        return None
    with tempfile.TemporaryDirectory(prefix="muniment-") as folder:
        copy = Path(folder, path.name)
        if not _copied(path, log, copy):
            return None
        with contextlib.suppress(apsw.Error):
            known: Any = apsw.Connection(str(copy))
            with contextlib.closing(known):
                known.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                return copy.read_bytes()
    return None


def _copied(path: Path, log: Path, copy: Path) -> bool:
    """Both files as they were at one moment: neither changed while they were read."""
    for _ in range(_TRIES):
        before = (files.changed_at(path), files.changed_at(log))
        try:
            with copy.open("wb") as out, copy.with_name(f"{copy.name}-wal").open("wb") as beside:
                out.writelines(files.chunks(path))
                beside.writelines(files.chunks(log))
        except OSError:
            return False
        if before == (files.changed_at(path), files.changed_at(log)):
            return True
    return False


# -- reading it


def lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The chat of a database. What is wrong with it is a line that cannot be read."""
    with tempfile.TemporaryDirectory(prefix="muniment-") as folder:
        copy = Path(folder, "store.db")
        with copy.open("wb") as out:
            out.writelines(pieces)
        try:
            with contextlib.closing(_opened(copy)) as known:
                chat = _Chat(known)
                yield from (codec.encode(line) + b"\n" for line in chat.lines())
                yield from map(unread, chat.wrong)
        except databases.ERRORS as error:
            yield unread(what_is_wrong(error))


def native_id(path: Path) -> str | None:
    """The id that a chat has of itself."""
    try:
        with contextlib.closing(_opened(path)) as known:
            own = _Chat(known).about().get("agentId")
    except (*databases.ERRORS, OSError):
        return None
    return own if isinstance(own, str) and 0 < len(own) <= 128 and own.isprintable() else None


def _opened(path: Path) -> Guarded:
    """Read as it lies there: SQLite takes no lock and looks for no log."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    known = Guarded(apsw.Connection(f"{path.absolute().as_uri()}?immutable=1", flags=flags), path.stat().st_size)
    try:
        present = known.columns()
    except databases.ERRORS:
        known.close()
        raise
    tables = {table: columns for table, columns in _STORED.items() if table in present or table == "blobs"}
    if any(not {*columns} <= {*present.get(table, ())} for table, columns in tables.items()):
        known.close()
        raise ValueError("it has not the tables of a chat")
    return known


class _Chat:
    """One chat in its database."""

    def __init__(self, known: Guarded) -> None:
        self.known = known
        self.blobs = _Blobs(known)
        self.lacking: list[str] = []
        """What the chat should tell and does not."""

    @property
    def wrong(self) -> list[str]:
        """What could not be read, once all lines were asked for."""
        return [*self.lacking, *self.blobs.wrong]

    def about(self) -> dict[str, Any]:
        """What is known of the chat, however it is written down."""
        asked = "FROM meta WHERE length(value) <= ? ORDER BY key"
        has_any = "meta" in self.known.columns()
        for (value,) in self.known.values(("value",), asked, MAX_LINE_BYTES) if has_any else ():
            raw = as_bytes(value)
            with contextlib.suppress(ValueError):
                raw = bytes.fromhex(raw.decode("ascii"))
            with contextlib.suppress(ValueError):
                if found := codec.mapping(codec.loads(raw)):
                    return found
        return {}

    def lines(self) -> Iterator[dict[str, Any]]:
        about = self.about()
        if not about:
            self.lacking.append("what the chat tells of itself is gone or cannot be read")
        root = about.pop("latestRootBlobId", None)
        sealed = bool(about.pop("blobEncryptionKey", None))
        yield {"about": about}
        at = {"at": about.get("createdAt")} if about.get("createdAt") else {}
        reached, others = self._in_order(root if isinstance(root, str) else "")
        for name, message in self.blobs.messages(reached):
            yield {"id": name, **at, "message": message}
            at = {}
        for name, message in self.blobs.messages(others):
            yield {"id": name, "left": True, "message": message}
        if sealed:
            yield {"sealed": True}

    def _in_order(self, root: str) -> tuple[Iterable[str], Iterable[str]]:
        """The blobs that the latest node leads to, and all others: before an edit, or of a tree that is not understood.

        Where nodes are gone nothing tells which messages they led to. Then all of them count, as they were written."""
        reached, has_all = self._reached(root)
        names = self.blobs.names
        others = [name for name in names if name not in reached]
        is_left = any(self.blobs.messages(others))
        if is_left and (not has_all or self.blobs.changed):
            self.lacking.append("the order of its messages is not known: they are told as they were written")
            return names, ()
        if root and root not in reached:
            self.lacking.append("its messages are gone")
        return reached, others

    def _reached(self, root: str) -> tuple[dict[str, None], bool]:
        """The blobs that a node leads to, and whether all that it names are there."""
        reached: dict[str, None] = {}
        waiting, has_all = [root], True
        while waiting:
            name = waiting.pop()
            if name in reached:
                continue
            if (data := self.blobs.get(name)) is None:
                has_all = False
                continue
            reached[name] = None
            if not data.lstrip().startswith(b"{"):
                waiting += reversed([other for other in _hashes(data) if other not in reached])
        return reached, has_all


class _Blobs:
    """The blobs of a chat by their names, and what is wrong with them."""

    def __init__(self, known: Guarded) -> None:
        self.known = known
        self.unread: dict[str, None] = {}
        self.empty: dict[str, None] = {}
        """Those that hold neither bytes nor text."""
        self.fitting = 0
        """How many are named by the hash of what they hold; a version that names them otherwise has none."""
        self.other: dict[str, None] = {}
        """Those that are not."""

    @property
    def changed(self) -> list[str]:
        """The blobs that do not hold what they held."""
        return [*self.empty, *(self.other if self.fitting else ())]

    @property
    def wrong(self) -> list[str]:
        """What could not be read, of those that were asked for."""
        found = self.changed
        told = [f"{len(found)} blobs do not hold what their names say, such as {found[0][:64]!r}"] if found else []
        return [*self.unread, *told]

    @cached_property
    def names(self) -> list[str]:
        """The names of all blobs; where a page is bad, those before it and those that the index has."""
        found: dict[str, None] = {}
        for order in ("rowid", "id"):
            try:
                for (name,) in self.known.values(("id",), f"FROM blobs ORDER BY {order}"):
                    if isinstance(name, str):
                        found[name] = None
                break
            except databases.DAMAGED as error:
                self.unread[what_is_wrong(error)] = None
        return list(found)

    def messages(self, names: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Those of these blobs that are messages."""
        for name in names:
            if (data := self.get(name)) and (message := _message(data)):
                yield name, message

    def get(self, name: str) -> bytes | None:
        """What goes by a name; one that cannot be read hides no other."""
        asked = "FROM blobs WHERE id = CAST(? AS TEXT) AND ifnull(length(data), 0) <= ?"
        try:
            found = list(self.known.values(("data",), asked, name.encode("utf-8", "surrogateescape"), MAX_LINE_BYTES))
        except databases.DAMAGED as error:
            self.unread[f"the blob {name[:64]!r} cannot be read: {what_is_wrong(error)}"] = None
            return None
        return self._checked(name, found[0][0]) if found else None

    def _checked(self, name: str, value: Any) -> bytes | None:
        if not isinstance(value, str | bytes):
            self.empty[name] = None
            return None
        data = as_bytes(value)
        if hashlib.sha256(data).hexdigest() == name:
            self.fitting += 1
        elif _HASH.fullmatch(name):
            self.other[name] = None
        return data


def _message(data: bytes) -> dict[str, Any]:
    """A blob that is a message."""
    if not data.lstrip().startswith(b"{"):
        return {}
    try:
        value = codec.mapping(codec.loads(data))
    except ValueError:
        return {}
    return value if isinstance(value.get("role"), str) else {}


# -- protobuf


def _hashes(data: bytes, depth: int = 0) -> Iterator[str]:
    """All fields of a node that may be the hash of another one, in their order."""
    for value in _fields(data):
        if len(value) == _HASH_BYTES and not (value.isascii() and value.decode().isprintable()):
            yield value.hex()
        elif depth < _DEEP:
            yield from _hashes(value, depth + 1)


def _fields(data: bytes) -> Iterator[bytes]:
    """The fields of a node that hold bytes, up to where it is no node any more."""
    at = 0
    while at < len(data):
        key, at = _number(data, at)
        kind = key & 7
        if kind == 0:
            _, at = _number(data, at)
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        elif kind == 2:
            length, at = _number(data, at)
            if length > len(data) - at:
                return
            yield data[at : at + length]
            at += length
        else:
            return


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, and where it ends; one that is cut off leads behind the data."""
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    return 0, len(data) + 1
