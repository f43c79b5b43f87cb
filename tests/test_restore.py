"""Restoring: the very bytes, in the right place, fresh, and never over something else."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from muniment.archive import Archive
from muniment.errors import Conflict, NotFound, StoreError
from muniment.inscribe import Outcome
from muniment.model import Facts
from muniment.restore import Target, choose_version
from muniment.sources.base import Move
from tests.builder import ClaudeSession, conversation
from tests.conftest import tree
from tests.test_cli import Cli

Inscribe = Callable[..., list[Outcome]]


def test_restored_files_have_fresh_times(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    """Claude Code deletes by modification time: an old one would be erased again."""
    path = conversation().write(home)
    os.utime(path, (1, 1))
    inscribe()
    path.unlink()
    archive.restore("last")
    assert time.time() - path.stat().st_mtime < 60


def test_a_file_that_differs_is_left_alone(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    path = conversation().write(home)
    inscribe()
    path.write_text("mine\n")
    with pytest.raises(Conflict):
        archive.restore("last")
    assert path.read_text() == "mine\n"
    archive.restore("last", Target(force=True))
    assert path.read_bytes() == conversation().data


def test_a_file_with_more_in_it_is_left_alone(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    path = conversation(2).write(home)
    inscribe()
    path.write_bytes(conversation(3).data)
    assert [file.what for file in archive.restore("last")] == ["newer"]
    assert path.read_bytes() == conversation(3).data


def test_a_session_that_a_client_has_open_is_left_alone(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = conversation()
    path = session.write(home)
    inscribe()
    path.unlink()
    entry = home / "sessions" / "1.json"
    entry.parent.mkdir()
    entry.write_text(json.dumps({"pid": os.getpid(), "sessionId": session.id}))
    with pytest.raises(Conflict, match="is open in process"):
        archive.restore("last")
    assert not path.exists()


def test_to_writes_the_same_tree_elsewhere(archive: Archive, inscribe: Inscribe, home: Path, tmp_path: Path) -> None:
    conversation().write(home)
    inscribe()
    archive.restore("last", Target(to=tmp_path / "other"))
    assert tree(tmp_path / "other") == tree(home)


def test_sessions_with_files_of_one_name_all_come_back_below_one_folder(tmp_path: Path) -> None:
    """Transcripts that tools keep elsewhere are often called the same, each in a folder of its own."""
    cli = Cli(tmp_path)
    sessions = [conversation(2, f"aaaaaaaa-2222-4333-8444-55555555555{number}") for number in range(3)]
    for session in sessions:
        path = tmp_path / "kept" / session.id[-1] / "full.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(session.data)
        cli("inscribe", path)
    other = ClaudeSession(sessions[0].id)
    other.exchange("another road", "taken")
    other_path = tmp_path / "kept" / "version" / "full.jsonl"
    other_path.parent.mkdir()
    other_path.write_bytes(other.data)
    cli("inscribe", other_path)
    for options in ((), ("--force",)):
        cli("restore", "--all", "--to", tmp_path / "back", *options)
        found = set(tree(tmp_path / "back").values())
        assert {session.data for session in sessions} <= found
        assert other.data in found, "a version of the first, at another path"


def test_a_moved_home_is_followed(archive: Archive, inscribe: Inscribe, home: Path, tmp_path: Path) -> None:
    path = conversation().write(home)
    inscribe()
    elsewhere = Archive(archive.layout.root, {"HOME": str(tmp_path / "new")})
    elsewhere.restore("last")
    assert (tmp_path / "new" / ".claude" / path.relative_to(home)).read_bytes() == conversation().data


def test_a_moved_project_gets_its_folder_and_paths(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = ClaudeSession(cwd="/old/place")
    session.exchange("hello", "hi")
    session.add({"type": "file-history-delta", "backup": {"realParentDir": "/old/place/src"}})
    session.write(home, "-old-place")
    inscribe()
    archive.restore("last", Target(move=Move(cwd="/new/my_place")))
    moved = (home / "projects" / "-new-my-place" / f"{session.id}.jsonl").read_text()
    assert '"cwd":"/new/my_place"' in moved
    assert '"realParentDir":"/new/my_place/src"' in moved
    assert "/old/place" not in moved


def test_a_new_identity_is_used_everywhere(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = conversation()
    session.write(home)
    inscribe()
    new = "99999999-2222-4333-8444-555555555555"
    archive.restore("last", Target(move=Move(session_id=new)))
    copy = (home / "projects" / "-w" / f"{new}.jsonl").read_bytes()
    assert session.id.encode() not in copy
    assert copy.count(new.encode()) == session.data.count(session.id.encode())


def test_evidence_cannot_write_outside_its_target(
    archive: Archive, inscribe: Inscribe, home: Path, tmp_path: Path
) -> None:
    conversation().write(home)
    inscribe()
    (listed,) = archive.sessions()
    manifest = archive.shelf(listed).evidence / "manifest.json"
    data = json.loads(manifest.read_text())
    data["files"][0]["place"] = "../../escaped.jsonl"
    manifest.write_text(json.dumps(data))
    with pytest.raises(StoreError):
        archive.restore("last", Target(to=tmp_path / "a" / "b"))
    assert not (tmp_path / "escaped.jsonl").exists()


def test_a_link_planted_in_the_target_is_not_followed(
    archive: Archive, inscribe: Inscribe, home: Path, tmp_path: Path
) -> None:
    conversation().write(home)
    inscribe()
    target, outside = tmp_path / "target", tmp_path / "outside"
    target.mkdir()
    outside.mkdir()
    (target / "projects").symlink_to(outside)
    with pytest.raises(Conflict):
        archive.restore("last", Target(to=target))
    assert list(outside.iterdir()) == []


def test_an_unknown_session_is_a_clear_error(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    conversation().write(home)
    inscribe()
    with pytest.raises(NotFound, match="no session 'ffffffff'"):
        archive.restore("ffffffff")


def test_a_flipped_bit_in_the_evidence_never_reaches_the_agent(
    archive: Archive, inscribe: Inscribe, home: Path
) -> None:
    path = conversation().write(home)
    inscribe()
    path.unlink()
    (listed,) = archive.sessions()
    (packed,) = archive.shelf(listed).evidence.glob("*.zst")
    data = bytearray(packed.read_bytes())
    data[len(data) // 2] ^= 4
    packed.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"):
        archive.restore("last")
    assert not path.exists()


# -- versions


def two_versions(archive: Archive, inscribe: Inscribe, home: Path) -> tuple[Path, str, bytes]:
    """A session that was rewritten at its path: where it lies, the name of its former version, and that one's bytes."""
    former = conversation(3)
    path = former.write(home)
    inscribe()
    other = ClaudeSession(former.id)
    other.exchange("another beginning", "another end")
    path.write_bytes(other.data)
    inscribe()
    (name,) = archive.versions(archive.session("last"))
    return path, name, former.data


def test_a_former_version_of_the_same_path_comes_back_when_it_is_asked_for(
    archive: Archive, inscribe: Inscribe, home: Path, tmp_path: Path
) -> None:
    path, name, former = two_versions(archive, inscribe, home)
    current = path.read_bytes()
    with pytest.raises(Conflict):
        archive.restore("last", version=name)
    archive.restore("last", Target(to=tmp_path / "to"), version=name[:4])
    assert list(tree(tmp_path / "to").values()) == [former]
    archive.restore("last", Target(force=True), version=name)
    assert path.read_bytes() == former
    archive.restore("last", Target(force=True))
    assert path.read_bytes() == current


def test_a_version_can_be_moved(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    path, name, former = two_versions(archive, inscribe, home)
    archive.restore("last", Target(move=Move(cwd="/new/place")), version=name)
    moved = home / "projects" / "-new-place" / path.name
    assert moved.read_bytes() == former.replace(b'"cwd":"/w"', b'"cwd":"/new/place"')


def test_an_unknown_version_tells_which_there_are(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    _, name, _ = two_versions(archive, inscribe, home)
    with pytest.raises(NotFound, match="no versions are called 'zz'") as raised:
        archive.restore("last", version="zz")
    assert f"there are: {name} (3 rounds, until 2026-03-19" in (raised.value.hint or "")


def test_of_a_version_only_what_it_tells_is_told() -> None:
    known = {"aaaa": Facts("x", "openai", rounds=1), "bbbb": Facts("x", "openai", rounds=2, ended="2026-03-19")}
    with pytest.raises(NotFound) as raised:
        choose_version("zz", known)
    assert raised.value.hint == "there are: aaaa (1 round), bbbb (2 rounds, until 2026-03-19)"


def test_one_of_something_is_said_as_one(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    path = conversation(1).write(cli.home / ".claude")
    cli("inscribe")
    other = ClaudeSession(path.stem)
    other.exchange("another beginning", "another end")
    path.write_bytes(other.data)
    cli("inscribe")
    assert re.search(r"version \w+: 1 round, until", cli("show", "last").stdout)
    assert "1 file, " in cli("restore", "last", "--to", tmp_path / "to").stderr


def test_restore_tells_how_to_resume_what_lies_where_its_agent_looks(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    session = conversation()
    path = session.write(cli.home / ".claude")
    cli("inscribe")
    path.unlink()
    assert f"resume with: claude --resume {session.id}" in cli("restore", "last").stderr
    assert "resume with" not in cli("restore", "last", "--to", tmp_path / "elsewhere").stderr
    assert "resume with" not in cli("restore", "--all").stderr
    (forked,) = json.loads(cli("restore", "last", "--new-id", "--json").stdout)
    assert forked["resume"] == f"claude --resume {Path(forked['path']).stem}"


def test_lines_of_a_history_that_are_there_are_unchanged(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = conversation()
    session.write(home)
    (home / "history.jsonl").write_text(json.dumps({"display": "prompt 0", "sessionId": session.id}) + "\n")
    inscribe()
    assert [file.what for file in archive.restore("last")] == ["unchanged", "unchanged"]


def test_show_names_the_versions_that_restore_takes(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    path = conversation(2).write(cli.home / ".claude")
    cli("inscribe")
    path.write_bytes(conversation(1, session_id=path.stem, cwd="/other").data)
    cli("inscribe")
    (line,) = (line for line in cli("show", "last").stdout.split("\n") if line.startswith("version "))
    name = line.split()[1].removesuffix(":")
    cli("restore", "last", "--version", name, "--to", tmp_path / "to")
    assert list(tree(tmp_path / "to").values()) == [conversation(2).data]
    cli("restore", "last", "--version", "zz", code=3)
    cli("restore", "--all", "--version", name, code=2)


def test_what_a_person_saved_is_given_back_without_a_command_that_no_agent_knows(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    saved = cli.home / ".gemini" / "tmp" / "app" / "checkpoint-well.json"
    saved.parent.mkdir(parents=True)
    saved.write_text('[{"role":"user","parts":[{"text":"hello"}]},{"role":"model","parts":[{"text":"hi"}]}]')
    cli("up")
    saved.unlink()
    assert "resume with" not in cli("restore", "last").stderr
    assert saved.exists()
