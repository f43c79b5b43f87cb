"""Whether the index has changed: a number that grows whenever another commits, or puts another index in place, or the
roster, through which the index is seen, is written.

SQLite counts the commits of others for each connection, which costs microseconds to ask; the file itself tells whether
it is still the one that was opened.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from typing import Any

import apsw

from muniment import files
from muniment.store.layout import Layout

_BUSY_MS = 200


class Pulse:
    """Feels whether an index changes. For any thread."""

    def __init__(self, layout: Layout) -> None:
        self.path = layout.database
        self.guard = threading.Lock()
        self.name = secrets.token_hex(4)
        """Numbers of different processes mean nothing to each other."""
        self.beats = 0
        self.place: tuple[int, int] | None = None
        self.db: Any = None
        self.version: int | None = None
        self.roster = layout.roster
        self.names = files.changed_at(self.roster)

    def state(self) -> str:
        """A token for the index as it is now."""
        with self.guard:
            if self._there() != self.place:
                self._open()
                self.beats += 1
            version, names = self._commits(), files.changed_at(self.roster)
            if (version, names) != (self.version, self.names):
                self.version, self.names = version, names
                self.beats += 1
            return f"{self.name}-{self.beats:x}"

    def close(self) -> None:
        with self.guard, contextlib.suppress(apsw.Error):
            if self.db is not None:
                self.db.close()
            self.db, self.place = None, None

    def _there(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _open(self) -> None:
        if self.db is not None:
            with contextlib.suppress(apsw.Error):
                self.db.close()
        self.place, self.db, self.version = self._there(), None, None
        if self.place is None:
            return
        with contextlib.suppress(apsw.Error):
            self.db = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY)
            self.db.set_busy_timeout(_BUSY_MS)
            self.version = self._commits()

    def _commits(self) -> int | None:
        """How often others committed, as this connection counts it; the last known where that cannot be told."""
        if self.db is None:
            return self.version
        try:
            return self.db.execute("PRAGMA data_version").get
        except apsw.Error:
            return self.version
