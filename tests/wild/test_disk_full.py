"""The disk is full: whoever writes is told where, nothing acknowledged is lost, and it goes on when there is room."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.archive import Archive
from muniment.errors import NotRecorded, StoreError
from muniment.record import Recorder
from muniment.record.transcript import load

from .scenes import Machine, events, finish, start, texts


class Disk:
    """Writing to files below a folder takes what there is room for, and then fails as a full disk does."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = str(folder)
        self.room: int | None = None
        """Bytes that still fit; None for as many as one likes."""
        self.write = os.write
        monkeypatch.setattr(os, "write", self._write)

    def _write(self, descriptor: int, data: bytes) -> int:
        if self.room is None or not os.readlink(f"/proc/self/fd/{descriptor}").startswith(self.folder):
            return self.write(descriptor, data)
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = self.write(descriptor, memoryview(data)[: self.room])
        self.room -= taken
        return taken


@pytest.fixture
def disk(project: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    """The disk of the project, on which the recorder's home does not lie."""
    return Disk(project, monkeypatch)


# -- recording

LIMITED = """
    import resource, sys
    from muniment.errors import NotRecorded
    from muniment.record import Recorder
    rec = Recorder.start(cwd=sys.argv[1], session_id="full")
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
    done = []
    try:
        while True:
            rec.assistant(f"answer {len(done)} " + "x" * 700)
            done.append(len(done))
    except NotRecorded as error:
        print(len(done), error.message, "|", error.hint)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    rec.assistant("room again")
    rec.close()
"""


def test_wild_claude_code_16720(project: Path) -> None:
    """A full disk ended the program in the middle of a session: here it goes on when there is room."""
    told = finish(start(LIMITED, project))
    count, _, message = told.partition(" ")
    path = project / ".transcripts" / "full.jsonl"
    assert message.startswith(f"{path}: ")
    assert "make room" in message
    with Recorder.resume("full", cwd=project) as resumed:
        assert [text.split()[1] for text in texts(resumed.chain)[:-1]] == [str(n) for n in range(int(count))]
        assert texts(resumed.chain)[-1] == "room again"


def test_wild_claude_code_8575(project: Path, disk: Disk) -> None:
    """Appending failed in the middle of a line, and the next line was glued to the half one."""
    rec = Recorder.start(cwd=project)
    rec.user("one")
    disk.room = 50
    with pytest.raises(NotRecorded):
        rec.user("two")
    disk.room = None
    rec.user("three")
    rec.close()
    found = load(rec.path, rec.dialect)
    assert texts(found.events) == ["one", "three"]
    assert [problem.length for problem in found.problems] == [50]
    assert "recovery" in [event.type for event in found.events]


def test_wild_claude_code_20848(project: Path, disk: Disk) -> None:
    """What could not be written was never written: here the harness may give the same event again."""
    rec = Recorder.start(cwd=project)
    disk.room = 0
    with pytest.raises(NotRecorded):
        rec.event("user", {"text": "one"}, uuid="u1")
    assert rec.chain == []
    disk.room = None
    again = rec.event("user", {"text": "one"}, uuid="u1")
    assert (again.duplicate, again.conflict) == (False, False)
    rec.close()
    assert [event["type"] for event in events(rec.path)] == ["header", "user", "terminator"]


def test_wild_claude_code_35442(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one file system full, output was silently empty: here what failed is named, and the rest goes on."""
    rec = Recorder.start(cwd=project)
    rec.user("one")
    full = Disk(tmp_path / "recorder", monkeypatch)
    full.room = 0
    rec.user("two")
    full.room = None
    assert not rec.close().history_appended
    (told,) = rec.problems
    assert told.startswith("the history: ")
    assert str(tmp_path / "recorder" / "history.jsonl") in told
    assert texts(load(rec.path, rec.dialect).events) == ["one", "two"]


def test_wild_claude_code_22584(machine: Machine, project: Path, disk: Disk) -> None:
    """After the disk was full the report of the session said zero for everything that had been used."""
    rec = Recorder.start(cwd=project)
    rec.user("one")
    rec.assistant("two", usage={"input": 7, "output": 9})
    disk.room = 0
    with pytest.raises(NotRecorded):
        rec.assistant("three", usage={"input": 1, "output": 1})
    disk.room = None
    rec.close("failed")
    assert events(rec.path)[-1]["payload"]["statistics"] == {"events": 3, "header": 1, "user": 1, "assistant": 1}
    machine.inscribe(project)
    assert machine.row(rec.session_id).tokens == 16


# -- archiving


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, which can be made to hold no more than it has."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a file system cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def failures(machine: Machine) -> list[str]:
    """What is said of sessions that could not be kept; the index may be what does not fit."""
    try:
        return [outcome.note for outcome in machine.inscribe() if outcome.what == "failed"]
    except StoreError as error:
        return [error.message]


def test_wild_claude_code_89879(machine: Machine, small_disk: Path) -> None:
    """The message of the full disk named a folder that had plenty of room."""
    machine.archive = Archive(small_disk / "store", machine.archive.env)
    first = machine.claude("first")
    machine.inscribe()
    for number in range(40):
        machine.claude(f"s{number}", rounds=30)
    used = shutil.disk_usage(small_disk).used // 1024
    subprocess.run(["mount", "-o", f"remount,size={used + 60}k", str(small_disk)], check=True)
    told = failures(machine)
    assert told
    assert all(str(small_disk) in note and str(machine.home) not in note for note in told), told
    assert machine.words(first.stem)[-1] == "first reply 1"
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    machine.inscribe()
    assert len(machine.listed()) == 41
    assert all(checked.lossless for checked in machine.archive.check_stored())
