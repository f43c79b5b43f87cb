"""The archive is scanned for secrets a moment at a time, nothing twice, and the doctor says what was searched."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from muniment import doctor, scanning
from muniment.archive import Archive
from muniment.forgetting import forget
from muniment.scanning import Scan
from muniment.surfaces.cli.doctor import report
from tests.builder import ClaudeSession, conversation
from tests.secrets.vectors import plant

SECRET = plant("github-token", random.Random(1)).secret


def _session(number: int, secret: str = "nothing") -> ClaudeSession:
    session = conversation(2, str(uuid.UUID(int=number, version=4)))
    session.exchange(f"use {secret}", "done")
    return session


@pytest.fixture
def sessions(archive: Archive, home: Path) -> list[ClaudeSession]:
    """Three sessions, one of them with a secret that a subagent has too."""
    made = [_session(1, SECRET), _session(2), _session(3)]
    for session in made:
        session.write(home)
    archive.inscribe()
    return made


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rounds that are looked into from now on."""
    seen: list[int] = []
    look = scanning.in_round

    def note(round_: Any, key: bytes) -> Any:
        seen.append(round_.number)
        return look(round_, key)

    monkeypatch.setattr(scanning, "in_round", note)
    return seen


def known(archive: Archive) -> dict[str, int]:
    return {id_: one.secrets for id_, one in scanning.load(archive.layout, archive.sessions()).items()}


def test_nothing_is_scanned_twice_until_it_changes(
    archive: Archive, home: Path, sessions: list[ClaudeSession], scanned: list[int]
) -> None:
    assert not Scan(archive.layout).advance(60)
    assert known(archive) == {sessions[0].id: 1, sessions[1].id: 0, sessions[2].id: 0}
    assert len(scanned) == 9
    Scan(archive.layout).advance(60)
    assert len(scanned) == 9
    sessions[1].exchange(f"now {SECRET}", "done")
    sessions[1].write(home)
    archive.inscribe()
    assert sessions[1].id not in known(archive)
    Scan(archive.layout).advance(60)
    assert len(scanned) == 13
    assert known(archive)[sessions[1].id] == 1


def test_a_scan_goes_on_where_it_was_interrupted(
    archive: Archive, sessions: list[ClaudeSession], scanned: list[int]
) -> None:
    scan = Scan(archive.layout)
    turns = 1
    while scan.advance(0):
        turns += 1
    assert len(scanned) == 9, "each round once"
    assert turns > 9
    assert len(known(archive)) == 3


def test_another_scan_takes_up_what_a_killed_one_knew(
    archive: Archive, sessions: list[ClaudeSession], scanned: list[int]
) -> None:
    scan = Scan(archive.layout)
    while not known(archive):
        scan.advance(0)
    with archive.layout.scanned.open("ab") as file:
        file.write(b'{"session_id":"torn')
    Scan(archive.layout).advance(60)
    assert len(known(archive)) == 3
    assert len(scanned) == 9


def test_other_rules_scan_everything_again(
    archive: Archive, sessions: list[ClaudeSession], monkeypatch: pytest.MonkeyPatch
) -> None:
    Scan(archive.layout).advance(60)
    monkeypatch.setattr(scanning, "_rules", lambda: "other")
    assert known(archive) == {}


def test_a_session_that_goes_on_is_left_until_it_is_quiet(archive: Archive, home: Path) -> None:
    session = _session(1)
    session.write(home)
    archive.inscribe()
    (row,) = archive.sessions()
    moment = datetime.fromisoformat(row.ended or "")
    past = (datetime.now(UTC) - moment).total_seconds()
    for quiet, expected in ((past + 60, 0), (past - 60, 1)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scanning, "QUIET_SECONDS", quiet)
            Scan(archive.layout).advance(60)
        assert len(known(archive)) == expected


def test_what_is_forgotten_is_not_remembered_here(archive: Archive, sessions: list[ClaudeSession]) -> None:
    Scan(archive.layout).advance(60)
    forget(archive.layout, archive.session(sessions[0].id))
    assert sessions[0].id.encode() not in archive.layout.scanned.read_bytes()
    assert len(known(archive)) == 2


def test_secrets_are_counted_and_nothing_of_them_is_kept(archive: Archive, sessions: list[ClaudeSession]) -> None:
    Scan(archive.layout).advance(60)
    assert SECRET[4:12].encode() not in archive.layout.scanned.read_bytes()
    assert archive.layout.scanned.stat().st_mode & 0o077 == 0


# -- the doctor


@pytest.fixture
def told(archive: Archive, capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    def ask() -> str:
        report(archive.doctor(thorough=True))
        return capsys.readouterr().out

    return ask


def test_the_doctor_says_what_was_searched_and_promises_no_more(
    archive: Archive, sessions: list[ClaudeSession], told: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "SEARCHED_BYTES", 1)
    said = told()
    assert "1 of 3 sessions searched; `muniment secrets` searches all" in said
    assert "nothing is at risk" not in said
    assert "all are archived" in said


def test_the_doctor_knows_what_a_watch_has_scanned(
    archive: Archive, sessions: list[ClaudeSession], told: Callable[[], str], scanned: list[int]
) -> None:
    Scan(archive.layout).advance(60)
    scanned.clear()
    said = told()
    assert scanned == []
    assert "1 secret at rest in 1 session (all sessions searched)" in said
    assert "nothing is at risk" not in said


def test_nothing_is_at_risk_if_all_was_searched_and_none_was_found(
    archive: Archive, home: Path, told: Callable[[], str]
) -> None:
    _session(1).write(home)
    archive.inscribe()
    assert "no secrets found (all sessions searched)" in told()
    assert "nothing is at risk" in told()


def test_a_session_that_cannot_be_read_was_not_searched(
    archive: Archive, sessions: list[ClaudeSession], told: Callable[[], str]
) -> None:
    shelf = archive.shelf(archive.session(sessions[1].id))
    shelf.round_file(1).write_bytes(b"{")
    said = told()
    assert "2 of 3 sessions searched" in said
    assert "nothing is at risk" not in said
