"""The index is asked for sessions by the names that people give."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.builder import conversation

from muniment.archive import Archive
from muniment.errors import NotFound


def untimed(folder: Path, name: str) -> Path:
    """A session that tells no time at all."""
    said = [{"role": "user", "content": name}, {"role": "assistant", "content": f"Yes, {name}."}]
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"model": "gpt-5", "messages": said}))
    return path


def test_the_last_session_is_the_newest_by_its_own_time(archive: Archive, home: Path, tmp_path: Path) -> None:
    old = conversation(2, cwd="/proj/old")
    new = conversation(3, cwd="/proj/new")
    for session in (new, old):
        session.write(home, session.fixed["cwd"].replace("/", "-"))
        archive.inscribe()
    archive.inscribe([untimed(tmp_path, "later")])
    assert archive.session("last").session_id == new.id


def test_without_any_time_it_is_the_one_that_was_inscribed_last(archive: Archive, tmp_path: Path) -> None:
    ids: list[str] = []
    for number, name in enumerate(("one", "two", "three", "four")):
        archive.inscribe([untimed(tmp_path, name)])
        new = next(row for row in archive.sessions() if row.session_id not in ids)
        assert new.ended is None
        ids.append(new.session_id)
        manifest = archive.shelf(new).evidence / "manifest.json"
        os.utime(manifest, ns=(0, 1_000_000_000 * (number + 1)))  # clocks of disks are coarse
        assert archive.session("last").session_id == new.session_id
    archive.reindex()
    assert archive.session("last").session_id == ids[-1]


def test_a_name_that_is_no_text_is_nobody_s(archive: Archive, home: Path) -> None:
    """Bytes of an argument that are no text arrive as halves of characters."""
    conversation(2).write(home)
    archive.inscribe()
    with pytest.raises(NotFound, match="no session"):
        archive.session("caf\udce9")


def test_an_archive_without_sessions_has_no_last(archive: Archive, home: Path) -> None:
    session = conversation(2)
    path = session.write(home)
    archive.inscribe()
    path.unlink()
    archive.forget(session.id)
    with pytest.raises(NotFound, match="no session 'last'"):
        archive.session("last")
