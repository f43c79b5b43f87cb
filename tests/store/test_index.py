"""The index is asked for sessions by the names that people give."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.builder import conversation

from muniment.archive import Archive
from muniment.errors import Ambiguous, NotFound


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


def test_a_short_id_is_as_long_as_it_must_be(archive: Archive, home: Path) -> None:
    ids = {
        "019ddb95-1111-7000-8000-000000000001": "019ddb95-1",  # cut behind the dash it differs at
        "019ddb95-2222-7000-8000-000000000001": "019ddb95-2222-7000-8000-000000000001",
        "019ddb95-2222-7000-8000-000000000002": "019ddb95-2222-7000-8000-000000000002",
        "019ddb96-2222-7000-8000-000000000001": "019ddb96",
    }
    for id_ in ids:
        conversation(1, id_).write(home)
    archive.inscribe()
    assert archive.short_ids(ids) == ids
    assert [archive.session(short).session_id for short in ids.values()] == list(ids)
    assert archive.short_ids(["019ddb95-1111-7000-8000-000000000001"] * 2) == {
        "019ddb95-1111-7000-8000-000000000001": "019ddb95-1"
    }


def test_only_where_more_sessions_follow_a_refusal_says_so(archive: Archive, home: Path) -> None:
    for number in range(3):
        conversation(1, f"aaaaaaaa-2222-4333-8444-55555555555{number}").write(home)
    archive.inscribe()
    with pytest.raises(Ambiguous, match=r"3 sessions: .*2$"):
        archive.session("aaaa")
    conversation(1, "aaaaaaaa-2222-4333-8444-555555555553").write(home)
    archive.inscribe()
    with pytest.raises(Ambiguous, match=r"4 sessions: .*2…$"):
        archive.session("aaaa")
