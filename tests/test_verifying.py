"""Originals are verified against their checksums, and nobody is told that all is well before that was done."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from muniment import doctor, verifying
from muniment.archive import Archive
from muniment.forgetting import forget
from muniment.surfaces.cli.doctor import report
from muniment.verifying import Verification
from tests.builder import ClaudeSession, conversation


@pytest.fixture
def sessions(archive: Archive, home: Path) -> list[ClaudeSession]:
    made = [conversation(2, cwd=f"/{number}") for number in range(3)]
    for session in made:
        session.write(home)
    archive.inscribe()
    return made


@pytest.fixture
def told(archive: Archive, capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    def ask() -> str:
        report(archive.doctor(thorough=True))
        return capsys.readouterr().out

    return ask


def flip(archive: Archive, session: ClaudeSession) -> Path:
    """Change one bit of what the archive has of a session."""
    packed = next(archive.shelf(archive.session(session.id)).evidence.glob("*.zst"))
    data = bytearray(packed.read_bytes())
    data[len(data) // 2] ^= 4
    packed.write_bytes(data)
    return packed


def known(archive: Archive) -> set[str]:
    return set(verifying.load(archive.layout, archive.sessions()))


def test_all_is_well_only_where_all_was_verified(
    archive: Archive, sessions: list[ClaudeSession], told: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "originals verified in all 3 sessions" in (said := told())
    assert "nothing is at risk" in said
    monkeypatch.setattr(doctor, "VERIFIED_BYTES", 1)
    assert "originals verified in 1 of 3 sessions; `muniment check --stored`" in (said := told())
    assert "nothing is at risk" not in said


def test_the_doctor_sees_a_flipped_bit_that_nobody_checked(
    archive: Archive, sessions: list[ClaudeSession], told: Callable[[], str]
) -> None:
    packed = flip(archive, sessions[1])
    assert str(packed) in (said := told())
    assert "nothing is at risk" not in said
    archive.inscribe()
    assert "nothing is at risk" in told(), "it was mended from the source"


def test_a_damaged_session_whose_source_is_gone_is_not_called_safe(
    archive: Archive, home: Path, sessions: list[ClaudeSession], told: Callable[[], str]
) -> None:
    flip(archive, sessions[0])
    for path in home.rglob("*.jsonl"):
        path.unlink()
    said = told()
    assert "2 sessions gone from disk, safe in the archive" in said
    assert sessions[0].id in said
    archive.reindex()
    assert "no source has it any more" in told(), "what a run tried in vain is remembered"


def test_a_sweep_verifies_each_session_once_a_month(
    archive: Archive, sessions: list[ClaudeSession], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not Verification(archive.layout).advance(60)
    assert known(archive) == {session.id for session in sessions}
    looked: list[object] = []
    monkeypatch.setattr(verifying, "_verify", lambda shelf: looked.append(shelf) or iter([True]))
    Verification(archive.layout).advance(60)
    assert looked == []
    later = time.time() + verifying.FRESH_SECONDS + 1
    monkeypatch.setattr(time, "time", lambda: later)
    Verification(archive.layout).advance(60)
    assert len(looked) == 3


def test_a_sweep_marks_damage_so_that_the_next_run_mends_it(archive: Archive, sessions: list[ClaudeSession]) -> None:
    flip(archive, sessions[2])
    Verification(archive.layout).advance(60)
    assert known(archive) == {sessions[0].id, sessions[1].id}
    assert {one.session_id for one in archive.doctor().damage} == {sessions[2].id}
    archive.inscribe()
    assert not archive.doctor().damage


def test_a_check_counts_as_a_verification(archive: Archive, home: Path, sessions: list[ClaudeSession]) -> None:
    flip(archive, sessions[0])
    list(archive.check_stored())
    assert known(archive) == {sessions[1].id, sessions[2].id}
    sessions[1].exchange("more", "done")
    sessions[1].write(home)
    archive.inscribe()
    assert known(archive) == {sessions[2].id}, "what has grown is to be verified again"


def test_what_is_forgotten_is_not_remembered_here(archive: Archive, sessions: list[ClaudeSession]) -> None:
    Verification(archive.layout).advance(60)
    forget(archive.layout, archive.session(sessions[0].id))
    assert sessions[0].id.encode() not in archive.layout.verified.read_bytes()
