"""`check --stored`: no false alarm, nothing overlooked, and no end before all was looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from muniment import integrity
from muniment.archive import Archive
from muniment.inscribe import Outcome
from muniment.store import edits
from muniment.store.edits import Edit
from muniment.surfaces.cli.check import command
from tests.builder import conversation

Inscribe = Callable[..., list[Outcome]]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def test_an_image_of_a_subagent_is_looked_for_where_it_lies(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = conversation(2)
    folder = session.write(home).with_suffix("") / "subagents"
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    side = conversation(1, session.id, cwd="/side")
    side.chain("user", message={"role": "user", "content": [image]})
    folder.mkdir(parents=True)
    (folder / "agent-a1.jsonl").write_bytes(side.data.replace(b'"isSidechain":false', b'"isSidechain":true'))
    inscribe()
    assert [(one.lossless, one.note, one.problems) for one in archive.check_stored()] == [(True, "", [])] * 2


def test_a_result_that_the_service_itself_gave_is_not_lost(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    """Some services put the result of a tool of theirs into the answer."""
    session = conversation(1)
    session.answer({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}})
    session.answer({"type": "tool_result", "tool_use_id": "srvtoolu_1", "content": "what was found"})
    session.write(home)
    inscribe()
    assert [one.lossless for one in archive.check_stored()] == [True]


def test_a_check_goes_on_past_what_is_missing(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    sessions = [conversation(2, cwd=f"/{number}") for number in range(3)]
    for session in sessions:
        session.write(home)
    inscribe()
    shelves = [archive.shelf(archive.session(session.id)) for session in sessions]
    next(shelves[0].evidence.glob("*.zst")).unlink()
    (shelves[1].evidence / "manifest.json").unlink()
    shelves[2].database.write_bytes(b"no database")
    done = CliRunner().invoke(command, ["--stored"], obj=str(archive.layout.root), env=dict(archive.env))
    assert done.exit_code == 1
    assert all(session.id in done.output for session in sessions)


def test_edits_that_were_cut_off_are_noticed(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = conversation(2)
    session.write(home)
    inscribe()
    archive.set_tags(session.id, ["one"])
    archive.set_tags(session.id, ["two"])
    assert not [one for one in archive.check_stored() if one.note]
    lines = archive.layout.edits.read_bytes().splitlines(keepends=True)
    archive.layout.edits.write_bytes(lines[0])
    assert [one.path for one in archive.check_stored() if one.note] == [str(archive.layout.edits)]
    assert not archive.doctor().healthy
    conversation(1, cwd="/later").write(home)
    inscribe()
    assert not archive.doctor().healthy, "what is inscribed later does not make the file as long as it was"
    archive.layout.edits.write_bytes(b"".join(lines).replace(b"two", b"twq"))
    assert not archive.doctor().healthy


def test_edits_of_an_older_version_have_no_checksum_and_are_whole(archive: Archive) -> None:
    edits.append(archive.layout, Edit("2026-03-20T09:00:00Z", "tags", "x", None, "[]"))
    line, _, _ = archive.layout.edits.read_bytes().rpartition(b',"sha256":')
    archive.layout.edits.write_bytes(line + b"}\n")
    assert archive.doctor().healthy


def test_parts_that_are_nested_deep_are_checked(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = conversation(1)
    nested: object = "deep"
    for _ in range(600):
        nested = [nested]
    session.answer({"type": "something new", "value": nested})
    session.write(home)
    inscribe()
    assert [one.lossless for one in archive.check_stored()] == [True]


def test_a_session_that_nobody_foresaw_hides_no_other(
    archive: Archive, inscribe: Inscribe, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = conversation(1, cwd="/one"), conversation(1, cwd="/two")
    for session in (first, second):
        session.write(home)
    inscribe()
    check = integrity.check_session
    monkeypatch.setattr(integrity, "check_session", lambda stored: 1 / 0 if first.id in str(stored) else check(stored))
    found = {one.session_id: one.note for one in archive.check_stored()}
    assert set(found) == {first.id, second.id}
    assert found[first.id]


def test_checking_one_session_keeps_what_is_known_of_others(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    hurt, whole = conversation(2, cwd="/hurt"), conversation(2, cwd="/whole")
    for session in (hurt, whole):
        session.write(home)
    inscribe()
    archive.set_tags(whole.id, ["one"])
    archive.layout.edits.write_bytes(archive.layout.edits.read_bytes().replace(b"one", b"onf"))
    packed = next(archive.shelf(archive.session(hurt.id)).evidence.glob("*.zst"))
    packed.write_bytes(bytes(packed.stat().st_size))
    list(archive.check_stored())
    known = [one.path for one in archive.doctor().damage]
    assert str(archive.layout.edits) in known
    list(archive.check_stored([hurt.id]))
    list(archive.check_stored([whole.id]))
    assert [one.path for one in archive.doctor().damage] == known


def test_a_session_that_is_whole_again_is_no_longer_marked(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = conversation(2)
    session.write(home)
    inscribe()
    packed = next(archive.shelf(archive.session(session.id)).evidence.glob("*.zst"))
    data = packed.read_bytes()
    packed.write_bytes(bytes(len(data)))
    list(archive.check_stored())
    assert archive.doctor().damage
    packed.write_bytes(data)
    list(archive.check_stored([session.id]))
    assert not archive.doctor().damage
