"""What a killed run left is gone with the next command that writes, whatever that is, and with `forget` above all."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.builder import conversation

from muniment.archive import Archive

COMMANDS: dict[str, Callable[[Archive, str], object]] = {
    "forget": lambda archive, id_: archive.forget(id_),
    "reindex": lambda archive, id_: archive.reindex(),
    "tag": lambda archive, id_: archive.set_tags(id_, ["x"]),
    "bundle": lambda archive, id_: archive.bundle([id_], archive.layout.root.parent / "x.bundle"),
    "ingest": lambda archive, id_: archive.ingest(),
}


@pytest.fixture
def session_id(archive: Archive, home: Path) -> str:
    session = conversation()
    session.write(home)
    archive.inscribe()
    return session.id


def left(archive: Archive) -> list[Path]:
    """Folders as killed runs leave them."""
    data = archive.layout.root / "data"
    made = [data / ".unbundling-dead" / "sessions" / "x", data / ".new" / "x" / "source"]
    for folder in made:
        folder.mkdir(parents=True)
        (folder / "transcript.jsonl").write_text("secret words\n")
    return made


@pytest.mark.parametrize("command", COMMANDS)
def test_the_next_command_that_writes_removes_them(archive: Archive, session_id: str, command: str) -> None:
    made = left(archive)
    COMMANDS[command](archive, session_id)
    assert [path for path in made if path.exists()] == []
    assert {path.name for path in (archive.layout.root / "data").iterdir() if path.name.startswith(".")} == set()


def test_a_command_that_only_reads_leaves_them(archive: Archive, session_id: str) -> None:
    made = left(archive)
    archive.sessions()
    assert all(path.exists() for path in made)


def test_what_is_held_by_a_run_at_work_stays(archive: Archive, session_id: str) -> None:
    held, _ = left(archive)
    folder = held.parent.parent
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    archive.forget(session_id)
    assert held.exists()
    os.close(descriptor)
    archive.reindex()
    assert not folder.exists()


def test_a_link_is_not_followed(archive: Archive, session_id: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("mine\n")
    (archive.layout.root / "data" / ".unbundling-link").symlink_to(outside)
    archive.forget(session_id)
    assert (outside / "mine").exists()
