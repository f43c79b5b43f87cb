"""The cross-session index, `sessions.db`: what search and listings read, always rebuildable from the store.

One process writes at a time (see `lock`). An append adds rows and removes only those that a killed run left behind the
last known offset. Tables that belong together have modules of their own.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from muniment import files
from muniment.errors import Ambiguous, NotFound, StoreError
from muniment.model import Facts, Problem, codec
from muniment.model.engagements import Ingested
from muniment.store import (
    connection,
    damage_table,
    edits,
    engagement_table,
    leftovers,
    roster,
    round_table,
    schema,
    session_table,
    text_table,
)
from muniment.store.connection import told_plainly
from muniment.store.damage_table import Copied, Damage
from muniment.store.layout import Layout, session_folder
from muniment.store.rows import Place, RoundRow, Span, TextRow, UsageRow, bound, fit
from muniment.store.session_table import Listed, SessionRow
from muniment.store.usage_table import UsageTable


def exists(layout: Layout) -> bool:
    return layout.database.exists()


def session_ids(layout: Layout) -> set[str]:
    """The ids of all sessions; none where there is no index."""
    if not exists(layout):
        return set()
    with Index(layout) as known:
        return set(known.agents())


def is_outdated(layout: Layout) -> bool:
    """Whether the index was made by an older version of this program, and must be built anew."""
    if files.is_irregular(layout.database):
        return False  # whoever opens it tells what is wrong
    try:
        db: Any = apsw.Connection(str(layout.database), flags=apsw.SQLITE_OPEN_READONLY)
        version = db.execute("PRAGMA user_version").get
        db.close()
    except apsw.Error:
        return False  # whoever opens it tells what is wrong
    return version < schema.SCHEMA_VERSION


def require(layout: Layout) -> None:
    """An archive with sessions and without an index is damaged, not empty."""
    if not exists(layout) and layout.holds_sessions():
        raise StoreError(f"{layout.database}: the index is missing", "`muniment reindex` builds it anew")


def require_archive(layout: Layout) -> None:
    """Who only reads must not take a place where nothing is for an archive without sessions."""
    if not exists(layout):
        require(layout)
        raise NotFound(f"no archive at {layout.root}", "`muniment up` or `muniment inscribe` makes one")


UNFIT = (apsw.ConstraintError, apsw.MismatchError, apsw.TooBigError, OverflowError)
"""What is raised for rows that collide or are beyond what a table holds: the fault of their session alone."""

_SESSIONS = "`muniment sessions` lists them; `muniment inscribe` takes in what is not there yet"


class Index:
    """The open index of a store."""

    def __init__(self, layout: Layout, write: bool = False, path: Path | None = None) -> None:
        self.layout = layout
        self.path = path or layout.database
        self.db: Any = None
        self.fresh: dict[str, int] = {}
        """Sessions that this connection added, and their row numbers: nothing of theirs can be in the way."""
        if write:
            _require_writable(layout)
        if write and not self.path.exists():
            files.make_folder(layout.sessions)
            files.write_atomic(self.path, [_empty()])
        elif not self.path.exists():
            require_archive(layout)
        with told_plainly(self.path):
            self.db = connection.to_write(self.path) if write else self._readable()
        self.usage = UsageTable(self.db)

    def _readable(self) -> Any:
        db = connection.to_look(self.path) if self.layout.read_only else connection.to_read(self.path)
        roster.see_through(self.layout, db)
        return db

    def close(self) -> None:
        with told_plainly(self.path):
            self.db.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        with told_plainly(self.path):
            try:
                if isinstance(error, apsw.Error):
                    raise error
            finally:
                self.db.close()

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return list(self.db.execute(sql, bound(values)))

    # -- writing

    def begin(self) -> None:
        self.db.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Everything so far is durable afterwards: first the files, then the index that vouches for them."""
        syncing = files.Syncing(self.layout.sessions)
        self.db.execute("INSERT INTO texts_fts(texts_fts) VALUES ('flush')")  # else the commit does it, afterwards
        syncing.wait()
        self._note_size(self.layout.edits)
        self.db.execute("COMMIT")

    def _note_size(self, path: Path) -> None:
        """How far a file has come that only ever grows: it can be noticed that it was cut off."""
        if size := files.changed_at(path)[1]:
            self.db.execute(_GROWN, (path.name, size))

    def rollback(self) -> None:
        with contextlib.suppress(apsw.Error):
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")

    def session_key(self, session_id: str, agent_id: str, source: str) -> int:
        """The row number of a session, made if it is new."""
        if key := self.fresh.get(session_id):
            return key
        if found := self.rows("SELECT id FROM sessions WHERE session_id = ?", session_id):
            return found[0][0]
        sql = "INSERT INTO sessions(session_id, agent_id, source, facts) VALUES (?, ?, ?, ?)"
        self.db.execute(sql, (session_id, agent_id, source, codec.encode(Facts(session_id, source)).decode()))
        key = self.fresh[session_id] = self.db.last_insert_rowid()
        if tags := edits.tags(self.layout, session_id):
            self.put_tags(session_id, tags)
        return key

    def clear_from(
        self, key: int, session_id: str, sidechain: str | None, round_: int, offset: int, same: Span
    ) -> None:
        """Make room for rows from this round and byte on; what a killed run left there goes too."""
        if session_id in self.fresh:
            return
        if sidechain is None:
            round_table.delete(self.db, session_id, round_)
            self.db.execute("DELETE FROM branches WHERE session = ? AND round >= ?", (key, round_))
        text_table.clear(self.db, key, sidechain, offset, same)
        self.usage.clear(key, sidechain, round_)

    def put_rounds(self, rows: Sequence[RoundRow], agent_id: str) -> None:
        """Rows of one session, whose files lie in this bucket."""
        if rows:
            round_table.insert(self.db, rows, f"{session_folder(agent_id, rows[0].session_id)}/")

    def move(self, session_id: str, old: str, new: str) -> None:
        """A session and its round files now lie in another bucket."""
        self.db.execute("UPDATE sessions SET agent_id = ? WHERE session_id = ?", (new, session_id))
        before, after = session_folder(old, session_id), session_folder(new, session_id)
        sql = "UPDATE rounds SET round_file = ? || substr(round_file, ?) WHERE session_id = ?"
        self.db.execute(sql, (after, len(before) + 1, session_id))

    def tag(self, session_id: str, tags: Mapping[int, str]) -> None:
        """The engagements of a session's rounds, replaced; round files are not touched."""
        self.db.execute("UPDATE rounds SET engagement_id = NULL WHERE session_id = ?", (session_id,))
        sql = "UPDATE rounds SET engagement_id = ? WHERE session_id = ? AND round = ?"
        self.db.executemany(sql, [(fit(tag), session_id, round_) for round_, tag in tags.items()])

    def tags(self, session_id: str) -> dict[int, str]:
        """The engagements of a session's rounds."""
        sql = "SELECT round, engagement_id FROM rounds WHERE session_id = ? AND engagement_id IS NOT NULL"
        return dict(self.rows(sql, session_id))

    def put_ingested(self, record: Ingested) -> None:
        """What a session was understood as, replaced."""
        engagement_table.delete(self.db, record.session_id)
        engagement_table.insert(self.db, record)

    def put_summary(self, session_id: str, summary: str) -> None:
        self.db.execute("UPDATE sessions SET summary = ? WHERE session_id = ?", (fit(summary), session_id))

    def put_tags(self, session_id: str, tags: Sequence[str]) -> None:
        """What people call a session, replaced."""
        self.db.execute("DELETE FROM tags WHERE session_id = ?", (session_id,))
        self.db.executemany("INSERT OR IGNORE INTO tags VALUES (?,?)", [(session_id, fit(tag)) for tag in tags])

    def put_branches(self, key: int, rows: Sequence[tuple[int, int]]) -> None:
        if rows:
            self.db.executemany("INSERT INTO branches VALUES (?,?,?)", [(key, *row) for row in rows])

    def put_texts(self, key: int, rows: Sequence[TextRow]) -> None:
        text_table.insert(self.db, key, rows)

    def move_texts(self, key: int, moves: Sequence[tuple[Place, Place | None]]) -> None:
        text_table.move(self.db, key, moves)

    def put_usage(self, key: int, rows: Sequence[UsageRow]) -> None:
        """What answers cost, each once."""
        if rows:
            self.usage.insert(key, rows)

    def put_session(self, key: int, row: SessionRow) -> None:
        """What is known of a session as a whole, replaced."""
        session_table.replace(self.db, key, row)

    def put_version(self, key: int, hash8: str, path: str, facts: Facts) -> None:
        values = (key, hash8, fit(path), codec.encode(facts).decode())
        self.db.execute("INSERT OR REPLACE INTO versions VALUES (?,?,?,?)", values)

    def put_state(
        self, path: str, session_id: str, version: str, signature: str, progress: Sequence[tuple[str, bytes]]
    ) -> None:
        """How far the files of a session are read; says that all before is in the store."""
        anew = "REPLACE" if signature else "IGNORE"  # who did not look at the source knows nothing newer of it
        self.db.execute(f"INSERT OR {anew} INTO seen VALUES (?,?,?,?)", (fit(path), session_id, version, signature))
        rows = [(session_id, version, fit(name), state) for name, state in progress]
        self.db.executemany("INSERT OR REPLACE INTO progress VALUES (?,?,?,?)", rows)

    def distrust(self, session_id: str) -> None:
        """Forget how far a session is read, so that the next run reads all of it; one that is new goes altogether."""
        if session_id in self.fresh:
            self.drop(session_id)
        for table in ("seen", "progress"):
            self.db.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))

    def drop(self, session_id: str) -> None:
        """Remove a session from the index, all tables."""
        self.fresh.pop(session_id, None)
        for (key,) in self.rows("SELECT id FROM sessions WHERE session_id = ?", session_id):
            for table in ("sidechains", "versions", "branches", "texts", "usage"):
                self.db.execute(f"DELETE FROM {table} WHERE session = ?", (key,))
        round_table.delete(self.db, session_id)
        engagement_table.delete(self.db, session_id)
        for table in ("seen", "progress", "tags", "manifests", "damage", "sessions"):
            self.db.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))

    def put_manifest(self, session_id: str, version: str, copy: Copied) -> None:
        """Keep a copy of a manifest, from which it comes back if it is damaged."""
        damage_table.put_manifest(self.db, session_id, version, copy)

    def set_aside(self, session_id: str, version: str) -> None:
        """The current version of a session is now an older one, and lies elsewhere."""
        damage_table.move(self.db, session_id, version)

    def mark_damage(self, session_id: str, version: str, problems: Iterable[Problem], tried: bool) -> None:
        """All that is damaged of a version of a session, in place of what was known."""
        damage_table.mark(self.db, session_id, version, problems, tried)

    def unmark_damage(self) -> None:
        """Nothing is known to be damaged."""
        self.db.execute("DELETE FROM damage")

    # -- reading

    def manifests(self, session_id: str) -> dict[str, bytes]:
        """The copies of a session's manifests, by version."""
        return damage_table.manifests(self.db, session_id)

    def damage(self) -> list[Damage]:
        """What is known to be damaged, and what the size of its files shows."""
        known = damage_table.marked(self.db)
        paths = {one.path for one in known}
        return known + [one for one in damage_table.missing_evidence(self.layout, self.db) if one.path not in paths]

    def seen(self) -> dict[str, tuple[str, str, str]]:
        """Every source path that is in the store: session, version, signature."""
        return {row[0]: (row[1], row[2], row[3]) for row in self.rows("SELECT * FROM seen")}

    def progress(self, session_id: str, version: str) -> dict[str, bytes]:
        """How far each file of a session is read."""
        sql = "SELECT name, state FROM progress WHERE session_id = ? AND version = ?"
        return dict(self.rows(sql, session_id, version))

    def agents(self) -> dict[str, str]:
        """The bucket of every session."""
        return dict(self.rows("SELECT session_id, agent_id FROM sessions"))

    def sessions(self, where: str = "", *values: Any) -> Iterator[Listed]:
        """Sessions, the latest first."""
        return session_table.listed(self.db, where, *values)

    def find(self, name: str) -> Listed:
        """The session with this id, unique prefix, id of its agent's own, or `last`."""
        if name == "last":
            found = self._last()
        else:
            prefix = name.lower().replace("%", "").replace("_", "")
            found = list(self.sessions("WHERE session_id LIKE ?", prefix + "%")) if prefix else []
            found = found or list(self.sessions("WHERE facts ->> 'native_id' = ?", name))
        if not found:
            raise NotFound(f"no session {name!r} in the archive", _SESSIONS)
        if len(found) > 1:
            some = ", ".join(row.session_id for row in found[:3]) + ("…" if len(found) > 3 else "")
            raise Ambiguous(f"{name!r} could be {len(found)} sessions: {some}", "give more of the id")
        return found[0]

    def short_ids(self, ids: Iterable[str]) -> dict[str, str]:
        """What to show of session ids: the beginning of each that `find` takes for no other."""
        return session_table.short_ids(self.db, ids)

    def _last(self) -> list[Listed]:
        """The session that went on last; where none tells a time, the one that was inscribed last."""
        if timed := next(self.sessions("WHERE ended IS NOT NULL"), None):
            return [timed]
        shelves = ((row, self.layout.shelf(row.agent_id, row.session_id)) for row in self.sessions())
        return [row for row, _ in sorted(shelves, key=lambda pair: files.changed_at(pair[1].evidence))[-1:]]

    def abandoned(self, session_id: str) -> set[int]:
        """Rounds that a rewind left behind: not on the way from the last round back to the first."""
        key, last = self.rows("SELECT id, rounds FROM sessions WHERE session_id = ?", session_id)[0]
        jumps = dict(self.rows("SELECT round, follows FROM branches WHERE session = ?", key))
        kept: set[int] = set()
        at: int | None = last
        while at and at not in kept:
            kept.add(at)
            at = jumps.get(at, at - 1)
        return set(range(1, (last or 0) + 1)) - kept

    def facts(self, session_id: str) -> Facts:
        (text,) = self.rows("SELECT facts FROM sessions WHERE session_id = ?", session_id)[0]
        return codec.decode(text.encode(), Facts)


_GROWN = """INSERT INTO grown VALUES (?,?)
  ON CONFLICT(name) DO UPDATE SET size = max(size, excluded.size)"""
"""A file that was cut off must not be taken for one that is as long as it was."""


def _empty() -> bytes:
    """An index without sessions. It is put in place whole, so that nobody meets one without tables."""
    db: Any = apsw.Connection(":memory:")
    db.execute("PRAGMA page_size=16384")  # a fifth less time of the process that writes it than with 4096
    db.execute(schema.ROUNDS + schema.ARCHIVE)
    db.execute("INSERT INTO texts_fts(texts_fts, rank) VALUES ('hashsize', 16777216)")
    db.execute(f"PRAGMA user_version={schema.SCHEMA_VERSION}")
    data: bytes = db.serialize("main")
    db.close()
    return data


def _require_writable(layout: Layout) -> None:
    if layout.read_only:
        raise StoreError(f"{layout.root}: opened for reading only", "a bug: please report it")


@contextlib.contextmanager
def lock(layout: Layout, waiting: Callable[[], None]) -> Generator[None]:
    """Only one process writes to a store; a second one waits, and says so. What killed runs left goes first."""
    _require_writable(layout)
    files.make_folder(layout.sessions)
    descriptor = os.open(layout.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, files.FILE_MODE)
    try:
        if not files.locked(descriptor):
            waiting()
            while not files.locked(descriptor):
                time.sleep(0.1)
        leftovers.remove(layout)
        yield
    finally:
        os.close(descriptor)
