"""`session.db`: whole, searchable, and the same for the same rows, whatever was written before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from muniment.store import session_db
from muniment.store.layout import Shelf
from muniment.store.rows import RoundRow


def row(number: int, prompt: str, session_id: str = "s") -> RoundRow:
    return RoundRow(session_id, number, None, None, prompt, "done", 0, 0, 0, 0, f"rounds/{number:03d}.json")


def no_former() -> list[RoundRow]:
    raise AssertionError("the rows before are in the database")


def written(shelf: Shelf, first: int, rows: list[RoundRow]) -> list[RoundRow]:
    return session_db.write(shelf, first, rows, no_former)


def opened(shelf: Shelf) -> Any:
    db: Any = apsw.Connection(str(shelf.database), flags=apsw.SQLITE_OPEN_READWRITE)
    assert db.execute("PRAGMA integrity_check").get == "ok"
    db.execute("INSERT INTO rounds_fts(rounds_fts) VALUES ('integrity-check')")
    return db


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(str(tmp_path / "s"))


def test_a_new_database_is_whole_and_can_be_searched(shelf: Shelf) -> None:
    rows = [row(1, "mend the login"), row(2, "then the logout")]
    assert written(shelf, 1, rows) == rows
    db = opened(shelf)
    assert [RoundRow(*got) for got in db.execute("SELECT * FROM rounds ORDER BY round")] == rows
    assert list(db.execute("SELECT rowid FROM rounds_fts WHERE rounds_fts MATCH 'login'")) == [(1,)]


def test_what_was_written_before_leaves_no_trace(shelf: Shelf, tmp_path: Path) -> None:
    written(shelf, 1, [row(1, "alpha")])
    first = shelf.database.read_bytes()
    other = Shelf(str(tmp_path / "other"))
    other.folder.mkdir()
    written(other, 1, [row(number, f"beta {number}", "o") for number in range(1, 300)])
    written(shelf, 1, [row(1, "alpha")])
    assert shelf.database.read_bytes() == first


def test_rows_that_fail_leave_no_trace_either(shelf: Shelf) -> None:
    with pytest.raises(apsw.ConstraintError):
        written(shelf, 1, [row(1, "alpha"), row(1, "twice")])
    assert not shelf.database.exists()
    assert written(shelf, 1, [row(1, "alpha")]) == [row(1, "alpha")]
    assert opened(shelf).execute("SELECT count(*) FROM rounds").get == 1


def test_an_append_replaces_the_open_round(shelf: Shelf) -> None:
    written(shelf, 1, [row(1, "alpha"), row(2, "half")])
    every = written(shelf, 2, [row(2, "whole"), row(3, "next")])
    assert [r.user_preview for r in every] == ["alpha", "whole", "next"]
    db = opened(shelf)
    assert not list(db.execute("SELECT 1 FROM rounds_fts WHERE rounds_fts MATCH 'half'"))
    assert len(list(db.execute("SELECT 1 FROM rounds_fts WHERE rounds_fts MATCH 'whole'"))) == 1
