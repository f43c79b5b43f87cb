"""The file of a round is found from either database, wherever its session lies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
from tests.builder import conversation

from muniment.archive import Archive
from muniment.model import codec


def numbers(database: Path) -> list[int]:
    """The rounds that a database leads to: each file says itself which it is."""
    db: Any = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)
    files = [database.parent / row[0] for row in db.execute("SELECT round_file FROM rounds ORDER BY round")]
    db.close()
    return [codec.mapping(codec.loads(file.read_bytes()))["round"] for file in files]


def both(archive: Archive) -> list[list[int]]:
    return [numbers(archive.layout.database), numbers(archive.shelf(archive.session("last")).database)]


def test_a_round_file_is_found_from_either_database_after_whatever_happens(archive: Archive, home: Path) -> None:
    session = conversation(2)
    session.write(home)
    archive.inscribe()
    assert both(archive) == [[1, 2]] * 2
    archive.register("last", None, "Lead Historian")
    archive.move("last")
    assert both(archive) == [[1, 2]] * 2
    session.exchange("more", "done")
    session.write(home)
    archive.inscribe()
    assert both(archive) == [[1, 2, 3]] * 2
    archive.reindex()
    assert both(archive) == [[1, 2, 3]] * 2


def test_an_index_with_paths_of_another_form_is_built_anew(archive: Archive, home: Path) -> None:
    session = conversation(2)
    session.write(home)
    archive.inscribe()
    db: Any = apsw.Connection(str(archive.layout.database))
    db.execute("UPDATE rounds SET round_file = substr(round_file, 8); PRAGMA user_version = 2")
    db.close()
    archive.inscribe()
    assert both(archive) == [[1, 2]] * 2
