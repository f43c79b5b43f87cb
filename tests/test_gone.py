"""Sessions whose transcript the agent has deleted, with files beside it that are still there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from muniment import sources
from muniment.archive import Archive
from muniment.forgetting import left_at
from muniment.inscribe import Outcome
from muniment.restore import Target
from muniment.sources.claude import side_files
from muniment.sources.homes import Home
from tests.builder import conversation
from tests.conftest import tree
from tests.test_cli import Cli

GONE = "0a1b2c3d-0000-4000-8000-00000000000a"

Inscribe = Callable[..., list[Outcome]]


def put(home: Path, name: str, data: bytes = b"output\n") -> Path:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def leave_side_files(home: Path) -> None:
    put(home, f"projects/-w/{GONE}/tool-results/toolu_1.txt")
    put(home, f"file-history/{GONE}/0123456789abcdef@v1", b"before\n")
    put(home, f"todos/{GONE}-agent-{GONE}.json", b'[{"content":"lamp"}]')


def test_side_files_are_kept_and_restored_exactly(archive: Archive, home: Path, inscribe: Inscribe) -> None:
    leave_side_files(home)
    before = tree(home)
    assert [(o.session_id, o.what) for o in inscribe()] == [(GONE, "new")]
    assert [(o.session_id, o.what) for o in inscribe()] == []
    (row,) = archive.sessions()
    assert (row.session_id, row.transcript_gone, row.rounds) == (GONE, True, 0)
    for name in before:
        (home / name).unlink()
    archive.restore(GONE)
    assert tree(home) == before


def test_a_transcript_that_turns_up_later_joins_them(archive: Archive, home: Path, inscribe: Inscribe) -> None:
    leave_side_files(home)
    inscribe()
    conversation(2, GONE).write(home)
    assert [(o.session_id, o.what) for o in inscribe()] == [(GONE, "appended")]
    (row,) = archive.sessions()
    assert (row.rounds, row.transcript_gone, row.versions) == (2, False, 0)
    assert archive.doctor().gone == ()


def test_side_files_join_a_session_that_was_inscribed_before(
    archive: Archive, home: Path, inscribe: Inscribe, tmp_path: Path
) -> None:
    """The transcript goes, and a side file is met for the first time."""
    path = conversation(2, GONE).write(home)
    inscribe()
    path.unlink()
    leave_side_files(home)
    inscribe()
    (row,) = archive.sessions()
    assert (row.rounds, row.transcript_gone, row.versions) == (2, False, 0)
    archive.restore(GONE, Target(to=tmp_path / "out"))
    assert sorted(Path(name).name for name in tree(tmp_path / "out")) == sorted(
        [f"{GONE}.jsonl", "toolu_1.txt", "0123456789abcdef@v1", f"{GONE}-agent-{GONE}.json"]
    )


def test_a_session_of_side_files_and_prompts_is_one(archive: Archive, home: Path, inscribe: Inscribe) -> None:
    """What `doctor --rescue` would bring comes along; nothing is left for it to do."""
    line = {"display": "light the lamp", "timestamp": 1767323045000, "project": "/w", "sessionId": GONE}
    put(home, "history.jsonl", json.dumps(line).encode() + b"\n")
    assert archive.doctor().lost == (GONE,)
    leave_side_files(home)
    inscribe()
    (row,) = archive.sessions()
    assert (row.session_id, row.prompts, row.transcript_gone) == (GONE, 1, True)
    assert archive.doctor().lost == ()
    put(home, f"projects/-w/{GONE}/tool-results/toolu_1.txt").unlink()
    put(home, f"file-history/{GONE}/0123456789abcdef@v1").unlink()
    put(home, f"todos/{GONE}-agent-{GONE}.json").unlink()
    assert (archive.doctor().lost, len(archive.sessions())) == ((), 1)


def test_prompts_that_were_rescued_and_side_files_are_one_session(
    archive: Archive, home: Path, inscribe: Inscribe
) -> None:
    line = {"display": "light the lamp", "timestamp": 1767323045000, "project": "/w", "sessionId": GONE}
    put(home, "history.jsonl", json.dumps(line).encode() + b"\n")
    archive.run(archive.plan(archive.lost()), lambda _: None)
    leave_side_files(home)
    inscribe()
    (row,) = archive.sessions()
    assert (row.session_id, row.prompts, row.versions) == (GONE, 1, 0)
    assert archive.doctor().lost == ()


def test_the_way_to_forget_names_side_files_that_are_still_there(
    archive: Archive, home: Path, inscribe: Inscribe
) -> None:
    line = {"display": "light the lamp", "timestamp": 1767323045000, "project": "/w", "sessionId": GONE}
    put(home, "history.jsonl", json.dumps(line).encode() + b"\n")
    path = put(home, f"projects/-w/{GONE}/tool-results/toolu_1.txt")
    inscribe()
    assert left_at(archive.layout, archive.session(GONE)) == [str(path)]


def test_doctor_tells_of_sessions_that_were_read_from_side_files(
    archive: Archive, home: Path, inscribe: Inscribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an archive of an earlier release has them."""
    other = "0a1b2c3d-0000-4000-8000-00000000000b"
    conversation(3, GONE).write(home)
    put(home, f"projects/-w/{GONE}/tool-results/toolu_1.txt", conversation(1, other).data)
    put(home, f"projects/-w/{GONE}/tool-results/toolu_2.txt", conversation(1, GONE, cwd="/v").data)
    inscribe()
    assert archive.doctor().misread == ()
    with monkeypatch.context() as earlier:
        earlier.setattr(side_files, "owner_of", lambda _: None)
        earlier.setattr(Home, "has_side_file", lambda *_: False)
        earlier.setattr(sources, "_without_side_files", list)
        inscribe(home)
    assert archive.doctor().misread == (GONE, other)


def test_the_commands_tell_that_the_transcript_is_gone(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    leave_side_files(cli.home / ".claude")
    cli("inscribe")
    assert "transcript gone" in cli("sessions").stdout
    assert "1 session in the archive with nothing but subagents or side files left" in cli("doctor").stdout
    assert "only side files are left" in cli("show", GONE[:8]).stderr
