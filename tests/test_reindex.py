"""Rebuilding everything derived: what was known of the files on this machine is still known afterwards."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from muniment.archive import Archive
from muniment.inscribe import Outcome
from muniment.store import evidence
from muniment.store.index import Index
from muniment.surfaces.cli.main import cli
from tests.builder import ClaudeSession, conversation
from tests.conftest import canonical
from tests.sources.opencode import homes

Inscribe = Callable[..., list[Outcome]]


def side(session: ClaudeSession, home: Path, rounds: int) -> None:
    """A subagent's file beside a session's."""
    path = home / "projects" / "-w" / session.id / "subagents" / "agent-a1b2c3d.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    work = ClaudeSession(session.id, isSidechain=True, agentId="a1b2c3d")
    for number in range(rounds):
        work.exchange(f"sub {number}", f"done {number}")
    path.write_bytes(work.data)


def test_after_a_rebuild_there_is_nothing_to_inscribe(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = conversation(3)
    path = session.write(home)
    side(session, home, 2)
    session.write(home, "-a-copy")
    inscribe()
    path.write_bytes(conversation(4, session.id, "/elsewhere").data)  # beside it there is an older version now
    inscribe()
    assert archive.versions(archive.session(session.id))
    archive.reindex()
    assert archive.doctor().healthy
    assert inscribe() == []


@pytest.mark.parametrize("rounds", [3, 5])
def test_what_is_appended_after_a_rebuild_is_as_if_inscribed_at_once(
    archive: Archive, inscribe: Inscribe, home: Path, tmp_path: Path, rounds: int
) -> None:
    session = conversation(3)
    whole = conversation(rounds)
    whole.exchange("last", "words")
    half = b"".join(whole.lines[: len(session.lines) + 2])  # in the middle of a round
    path = session.write(home)
    side(session, home, 1)
    path.write_bytes(half)
    inscribe()
    archive.reindex()
    whole.write(home)
    side(session, home, 3)
    assert [outcome.what for outcome in inscribe()] == ["appended"]
    alone = Archive(tmp_path / "alone", archive.env)
    inscribe(into=alone)
    assert canonical(archive.layout.root) == canonical(alone.layout.root)
    assert len(archive.sessions()) == len(alone.sessions())


def test_what_the_evidence_lost_is_looked_for_again(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    """An older copy of the evidence was put back: the old index knows more than there is."""
    session = conversation(3)
    session.write(home)
    inscribe()
    folder = archive.shelf(archive.session(session.id)).evidence
    older = evidence.load(folder)
    assert older
    session.exchange("more", "done")
    session.write(home)
    inscribe()
    evidence.save(folder, older)
    archive.reindex()
    assert not archive.doctor().healthy
    assert [outcome.what for outcome in inscribe()] == ["appended"]
    assert archive.session(session.id).rounds == 4


def test_an_index_that_cannot_be_read_is_no_hindrance(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    conversation(3).write(home)
    inscribe()
    archive.layout.database.write_bytes(b"no index" * 1000)
    archive.reindex()
    assert [outcome.what for outcome in inscribe()] == ["unchanged"]


@pytest.fixture
def unreadable(archive: Archive, inscribe: Inscribe, home: Path) -> Path:
    """The path of a session that is gone and whose evidence is damaged, in an archive without an index."""
    path = conversation(3).write(home)
    inscribe()
    (packed,) = archive.shelf(archive.session("last")).evidence.glob("*.zst")
    packed.write_bytes(bytes(packed.stat().st_size))
    archive.layout.database.unlink()
    path.unlink()
    return path


def test_what_a_rebuild_on_the_way_could_not_read_is_told(
    archive: Archive, inscribe: Inscribe, unreadable: Path
) -> None:
    """It is told once, and the session stays: its rounds have what its evidence lost."""
    (damaged,) = inscribe()
    assert (damaged.what, damaged.path) == ("damaged", str(unreadable))
    assert damaged.note
    assert inscribe() == []
    assert [row.rounds for row in archive.sessions()] == [3]


@pytest.mark.parametrize("name", ["inscribe", "append"])
def test_every_command_that_rebuilds_tells_it(archive: Archive, unreadable: Path, home: Path, name: str) -> None:
    other = conversation(2, cwd="/other").write(home, "-other")
    hook = name == "append"
    done = CliRunner().invoke(
        importlib.import_module(f"muniment.surfaces.cli.{name}").command,
        ["--hook"] if hook else [],
        obj=str(archive.layout.root),
        env=dict(archive.env),
        input=json.dumps({"transcript_path": str(other)}) if hook else None,
    )
    assert f"damaged: {unreadable}" in done.output
    assert done.exit_code == 1


# -- shelves that the index does not know


@pytest.fixture
def unlisted(archive: Archive, inscribe: Inscribe, home: Path) -> ClaudeSession:
    """A session that a run put into the store; before it could tell the index, it was killed. The source is gone."""
    session = conversation(2)
    path = session.write(home)
    inscribe()
    path.unlink()
    with Index(archive.layout, write=True) as known:
        known.begin()
        known.drop(session.id)
        known.commit()
    return session


def _run(archive: Archive, *args: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["--store", str(archive.layout.root), *args], env=dict(archive.env))
    return done.exit_code, done.output


def test_sessions_that_the_index_does_not_know_are_told(archive: Archive, unlisted: ClaudeSession) -> None:
    diagnosis = archive.doctor()
    assert diagnosis.unlisted == (unlisted.id,)
    assert not diagnosis.healthy
    code, told = _run(archive, "doctor")
    assert code == 1
    assert "`muniment reindex`" in told
    assert "`muniment reindex`" in _run(archive, "sessions")[1]


@pytest.mark.parametrize("command", ["up", "inscribe"])
def test_sessions_that_the_index_does_not_know_are_taken_up_by_the_next_run(
    archive: Archive, unlisted: ClaudeSession, command: str
) -> None:
    code, told = _run(archive, command)
    assert (code, "1 session was in the archive and not in its index" in told) == (0, True)
    assert [row.session_id for row in archive.sessions()] == [unlisted.id]
    assert archive.doctor().healthy
    assert "not in its index" not in _run(archive, command)[1]


def test_a_session_that_is_still_found_is_read_once(archive: Archive, unlisted: ClaudeSession, home: Path) -> None:
    unlisted.write(home)
    assert "not in its index" not in _run(archive, "up")[1]
    assert archive.doctor().healthy


# -- what a database holds by now


@pytest.mark.parametrize("change", ["gone", "cut", "grown"])
def test_a_rebuild_asks_no_source(archive: Archive, inscribe: Inscribe, home: Path, change: str) -> None:
    """The database of opencode may be gone or say more by now; the evidence is what the session was."""
    path = home.parent / ".local" / "share" / "opencode" / "opencode.db"
    db = homes.database(path, homes.DOCUMENT)
    inscribe()
    (before,) = archive.sessions()
    if change == "grown":
        db.execute(
            "INSERT INTO message SELECT id || 'x', session_id, time_created + 1, time_updated, data FROM message"
        )
    db.close()
    if change != "grown":
        path.write_bytes(path.read_bytes()[:100] if change == "cut" else b"")
    if change == "gone":
        path.unlink()
    outcomes: list[Outcome] = []
    archive.reindex(outcomes.append)
    assert [outcome.what for outcome in outcomes] == ["rebuilt"]
    (after,) = archive.sessions()
    assert after.messages == before.messages
    assert not [one.problems for one in archive.check_stored() if one.note]
