"""`check --stored`: no false alarm, nothing overlooked, and no end before all was looked at."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from click.testing import CliRunner

from muniment import integrity
from muniment.archive import Archive
from muniment.inscribe import Outcome
from muniment.store import edits
from muniment.store.edits import Edit
from muniment.surfaces.cli.check import command
from muniment.surfaces.cli.doctor import command as doctor
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


@pytest.mark.parametrize("name", ["claude/index.md", "index.md", "claude/{id}/index.md", "claude/{id}.md"])
def test_what_can_be_made_anew_needs_no_backup(archive: Archive, inscribe: Inscribe, home: Path, name: str) -> None:
    session = conversation(2)
    session.write(home)
    inscribe()
    (archive.layout.sessions / name.format(id=session.id)).unlink()
    list(archive.check_stored())
    said = CliRunner().invoke(doctor, [], obj=str(archive.layout.root), env=dict(archive.env)).output
    assert "muniment reindex" in said
    assert "backup" not in said
    archive.reindex()
    assert not [one for one in archive.check_stored() if one.note]
    assert not archive.doctor().damage


def test_only_copies_need_a_backup(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = conversation(2)
    session.write(home)
    inscribe()
    archive.set_tags(session.id, ["one"])
    archive.layout.edits.write_bytes(archive.layout.edits.read_bytes().replace(b"one", b"onf"))
    said = CliRunner().invoke(doctor, [], obj=str(archive.layout.root), env=dict(archive.env)).output
    assert "backup" in said
    assert "muniment reindex" not in said


# -- the index


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """An archive with rows in every table that is made from sessions."""
    folder = tmp_path_factory.mktemp("full")
    archive = Archive(folder / "store", {"HOME": str(folder / "user")})
    session = conversation(3)
    before = session.last
    session.exchange("a way that is left", "reply")
    session.last = before
    session.exchange("another way", "reply")
    main = session.write(folder / "user" / ".claude")
    side = conversation(2, session.id, cwd="/side")
    (main.with_suffix("") / "subagents").mkdir(parents=True)
    data = side.data.replace(b'"isSidechain":false', b'"isSidechain":true').replace(b"msg_", b"side_")
    (main.with_suffix("") / "subagents" / "agent-a1.jsonl").write_bytes(data)
    archive.inscribe()
    main.write_bytes(session.data.replace(b"reply 1", b"quite other words"))
    archive.inscribe()
    archive.set_tags(session.id, ["one"])
    archive.ingest()
    return archive


@contextlib.contextmanager
def changed(archive: Archive, sql: str) -> Iterator[Any]:
    """The index with rows that somebody changed; afterwards it is what it was."""
    db: Any = apsw.Connection(str(archive.layout.database))
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = archive.layout.database.read_bytes()
    db.execute(sql)
    assert db.changes(), "the table has rows"
    db.close()
    try:
        yield
    finally:
        for path in archive.layout.sessions.glob("sessions.db*"):
            path.unlink()
        archive.layout.database.write_bytes(before)


CHANGES = [
    *(f"DELETE FROM {table}" for table in ("texts", "usage", "sidechains", "versions", "branches", "progress")),
    *(f"DELETE FROM {table}" for table in ("manifests", "rounds", "tags", "ingested", "texts_fts_docsize")),
    "DELETE FROM texts WHERE id = (SELECT max(id) FROM texts)",
    "UPDATE texts SET offset = offset + 1 WHERE id = (SELECT max(id) FROM texts)",
    "UPDATE texts SET session = session + 1",
    "UPDATE usage SET output = output + 1 WHERE sidechain IS NULL",
    "UPDATE usage SET at = 'x' WHERE sidechain IS NOT NULL",
    "DELETE FROM usage WHERE sidechain IS NOT NULL",
    "UPDATE branches SET follows = 1",
    "UPDATE sidechains SET facts = replace(facts, 'prompt', 'promqt')",
    "UPDATE versions SET hash8 = 'x'",
    "UPDATE versions SET path = 'x'",
    "UPDATE progress SET state = replace(CAST(state AS TEXT), '\"open_offset\":', '\"open_offset\":1')",
    "UPDATE manifests SET sizes = '{}'",
    "UPDATE manifests SET data = 'x' WHERE version <> ''",
    "UPDATE progress SET state = 'x'",
    "UPDATE sidechains SET facts = '{'",
    "UPDATE versions SET facts = 7",
    "UPDATE sessions SET tokens = tokens + 1",
    "UPDATE sessions SET path = 'x'",
    "UPDATE sessions SET origin = 'x'",
    "UPDATE sessions SET facts = replace(facts, '/w', '/v')",
    "UPDATE sessions SET session_id = replace(session_id, substr(session_id, 1, 4), 'ffff')",
    "UPDATE rounds SET round_file = 'x' || round_file",
    "UPDATE rounds SET user_preview = 'x'",
    "UPDATE rounds_fts_data SET block = CAST(replace(CAST(block AS TEXT), 'prompt', 'promqt') AS BLOB) WHERE id > 100",
]


@pytest.mark.parametrize("sql", CHANGES)
def test_rows_of_the_index_that_are_others_are_noticed(full: Archive, sql: str) -> None:
    with changed(full, sql):
        wrong = [one for one in full.check_stored() if one.note]
        said = [problem for one in wrong for problem in one.problems]
        assert any(problem.path == str(full.layout.database) and "muniment reindex" in str(problem) for problem in said)
        assert all(one.restored for one in wrong if "UPDATE sessions SET session_id" not in sql)
        full.reindex()
        assert not [str(problem) for one in full.check_stored() if one.note for problem in one.problems]


def test_an_index_that_is_whole_is_found_whole(full: Archive) -> None:
    assert not [str(problem) for one in full.check_stored() if one.note for problem in one.problems]
    full.reindex()
    assert not [str(problem) for one in full.check_stored() if one.note for problem in one.problems]


@pytest.mark.parametrize("sql", [sql for sql in CHANGES if " rounds" not in sql and " tags" not in sql][:7])
def test_rows_of_the_index_are_mended_by_the_next_run(full: Archive, sql: str) -> None:
    with changed(full, sql):
        list(full.check_stored())
        full.inscribe()
        assert not [str(problem) for one in full.check_stored() if one.note for problem in one.problems]


# -- what is no file, and what belongs to nothing


def test_a_file_that_nothing_refers_to_is_told_and_is_no_damage(
    archive: Archive, inscribe: Inscribe, home: Path
) -> None:
    session = conversation(2)
    session.write(home)
    inscribe()
    shelf = archive.shelf(archive.session(session.id))
    shelf.media.mkdir()
    strays = [shelf.round_file(99), shelf.media / "stray.png"]
    for path in strays:
        path.write_bytes(b"{}")
    (shelf.media / ".a.png.part").write_bytes(b"")
    told = [problem.path for one in archive.check_stored() for problem in one.problems]
    assert told == [str(path) for path in strays]
    assert archive.doctor().healthy
    done = CliRunner().invoke(command, ["--stored"], obj=str(archive.layout.root), env=dict(archive.env))
    assert done.exit_code == 0
    assert "nothing refers to this file" in done.output


def test_a_round_too_many_is_damage_that_a_rebuild_mends(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    """It would be shown and exported like any other."""
    session = conversation(2)
    session.write(home)
    inscribe()
    shelf = archive.shelf(archive.session(session.id))
    shelf.round_file(3).write_bytes(shelf.round_file(2).read_bytes())
    (wrong,) = [one for one in archive.check_stored() if one.note]
    assert (wrong.restored, [problem.path for problem in wrong.problems]) == (True, [str(shelf.round_file(3))])
    archive.reindex()
    assert not [one for one in archive.check_stored() if one.note]


IRREGULAR = ["claude/{id}/source/manifest.json", "claude/{id}/source/{id}.jsonl.zst", "claude/{id}/rounds/001.json",
             "claude/{id}.md", "claude/{id}/session.db", "claude/{id}/index.md", "claude/index.md", "index.md",
             "edits.jsonl", "engagements.jsonl", "engagements-index.md"]  # fmt: skip


@pytest.mark.parametrize("name", IRREGULAR)
def test_a_pipe_in_place_of_a_file_keeps_no_check_waiting(
    archive: Archive, inscribe: Inscribe, home: Path, name: str
) -> None:
    session = conversation(2)
    session.write(home)
    inscribe()
    archive.set_tags(session.id, ["one"])
    archive.ingest()
    path = archive.layout.sessions / name.format(id=session.id)
    path.unlink()
    os.mkfifo(path)
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(20)
    try:
        assert str(path) in [problem.path for one in archive.check_stored() for problem in one.problems]
    finally:
        signal.alarm(0)


def _give_up(*_: object) -> None:
    raise TimeoutError("it waits for somebody to write into the pipe")
