"""Full disks, size limits, stores that cannot be written, sources that cannot be read."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from muniment.store.layout import Layout

from .checks import differences, not_restored, view
from .world import COMMON, Ran, Tree, contents, done, every, large, one_line, owner_without_privileges, run, small

OWNER = owner_without_privileges()
needs_modes = pytest.mark.skipif(OWNER is None, reason="root ignores file modes, and setpriv is not installed")


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[None]:
    """A file system of this size."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,mode=700", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a file system cannot be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def clear_failure(ran: Ran) -> list[str]:
    """A failure that a person understands: store trouble in one line, or failed sessions by name."""
    if ran.code == 8:
        return one_line(ran)
    if ran.code == 1:
        wrong = [] if "failed: " in ran.out else ["no failed session is named"]
        return wrong + (["a traceback"] if "Traceback" in ran.out + ran.err else [])
    return [f"exit code {ran.code}"]


@pytest.mark.parametrize("spare", [64, 300, 900, 2000, 3500])
def test_full_disk(tmp_path: Path, spare: int) -> None:
    """A store with something in it, and so many free kilobytes that the rest does not fit."""
    first, rest = small(tmp_path / "first", 3, first=100), large(tmp_path / "rest")
    disk = tmp_path / "disk"
    done(tmp_path / "whole", "inscribe", first.home, rest.home)
    with small_disk(disk, 60_000):
        store = disk / "store"
        done(store, "inscribe", first.home)
        used = shutil.disk_usage(disk).used // 1024
        subprocess.run(["mount", "-o", f"remount,size={used + spare}k", str(disk)], check=True)
        ran = run(store, "inscribe", first.home, rest.home)
        assert clear_failure(ran) == [], ran
        assert run(store, "sessions").code == 0
        subprocess.run(["mount", "-o", "remount,size=60m", str(disk)], check=True)
        for session in first.sessions.values():
            done(store, "restore", session.id, "--to", tmp_path / "back")
        assert contents(tmp_path / "back" / "projects") == contents(first.home / "projects")
        done(store, "inscribe", first.home, rest.home)
        assert differences(store, view(tmp_path / "whole")) == []


def full(disk: Path) -> None:
    """Fill a disk to its last byte."""
    with (disk / "filler").open("wb", buffering=0) as out, contextlib.suppress(OSError):
        while True:
            out.write(bytes(4096))


def read_only_disk(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)


READING = (
    ("sessions",), ("sessions", "--json"), ("show", "last"), ("show", "last", "1"), ("search", COMMON),
    ("context", "last"), ("context", "last", "-o", "{out}/pack.md"), ("html", "last", "-o", "{out}/page.html"),
    ("check", "--stored"), ("restore", "--all", "--to", "{out}"), ("restore", "last", "--to", "{out}"),
    ("lineage", "last"), ("budget", "last"), ("instructions", "last"), ("secrets",), ("sources",), ("doctor",),
    ("export", "last", "--to", "codex", "-o", "{out}/a.jsonl"), ("roster",),
    ("bundle", "last", "-o", "{out}/a.bundle"), ("bundle", "last", "--redact", "-o", "{out}/b.bundle"),
)  # fmt: skip


def logged(store: Path) -> None:
    """Leave the last commit in the log of the index, without the memory that its readers share."""
    path = Layout(store).database
    db = apsw.Connection(str(path))
    db.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
    db.execute("UPDATE sessions SET title = 'only in the log'")
    names = [path, path.with_name(f"{path.name}-wal")]
    held = {name: name.read_bytes() for name in names}
    db.close()
    for name, data in held.items():
        name.write_bytes(data)
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("end", [full, read_only_disk])
def test_reading_needs_no_room(tmp_path: Path, end: Callable[[Path], None], log: bool) -> None:
    """On a disk that is full, and on one that cannot be written, every command that reads does."""
    tree = small(tmp_path / "home")
    env = {"CLAUDE_CONFIG_DIR": str(tree.home)}
    with small_disk(tmp_path / "disk", 60_000):
        store = tmp_path / "disk" / "store"
        done(store, "up", env=env)
        if log:
            logged(store)
        before = contents(store)
        end(tmp_path / "disk")
        wrong = []
        for number, words in enumerate(READING):
            out = tmp_path / "out" / str(number)
            out.mkdir(parents=True)
            ran = run(store, *(word.format(out=out) for word in words), env=env)
            # A check notices the title that was put into the index by hand.
            may_complain = words == ("doctor",) or (log and words == ("check", "--stored"))
            if ran.code not in (0, int(may_complain)):
                wrong.append((words, ran))
        assert not wrong, wrong
        assert ("only in the log" in done(store, "sessions", "--json").out) == log
        after = {name: data for name, data in contents(store).items() if not name.endswith("-shm") and data}
        assert after == {name: data for name, data in before.items() if data}
    restored = tmp_path / "out" / str(READING.index(("restore", "--all", "--to", "{out}")))
    assert contents(restored / "projects") == contents(tree.home / "projects")


@pytest.mark.parametrize("limit", [20_000, 100_000, 400_000, 1_500_000])
def test_file_size_limit(tmp_path: Path, limit: int) -> None:
    tree = large(tmp_path / "home")
    store = tmp_path / "store"
    ran = run(store, "inscribe", tree.home, before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert clear_failure(ran) == [], ran
    done(store, "inscribe", tree.home)
    done(tmp_path / "whole", "inscribe", tree.home)
    assert differences(store, view(tmp_path / "whole")) == []
    assert not_restored(store, tree, tmp_path / "back") == []


FULL = """
import errno, os
from muniment import files
whole = files.write_atomic
def write(path, pieces, durable=False):
    if os.path.basename(path) == {name!r}:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))
    whole(path, pieces, durable)
files.write_atomic = write
"""


@pytest.mark.parametrize("name", ["004.json", "manifest.json", "session.db", "{id}.md"])
def test_a_failed_append_takes_nothing_away(tmp_path: Path, name: str) -> None:
    """The disk is full in the middle of an append: what the index said before, it still says."""
    tree = small(tmp_path / "home", 2)
    store, name = tmp_path / "store", name.format(id=tree.sessions[1].id)
    done(store, "inscribe", tree.home)
    before = {key: value for key, value in view(store).items() if key.startswith("sessions.db")}
    tree.grow()
    ran = run(store, "append", tree.sessions[1].id, patch=FULL.format(name=name))
    assert clear_failure(ran) == [], ran
    after = view(store)
    assert {key: after[key] for key in before} == before
    done(store, "append")
    done(tmp_path / "whole", "inscribe", tree.home)
    assert differences(store, view(tmp_path / "whole")) == []


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    tree = small(tmp_path / "home")
    store = tmp_path / "store"
    done(store, "inscribe", tree.home)
    tree.grow()
    for path in every(store):
        path.chmod(0o500 if path.is_dir() else 0o400)
    yield store
    for path in every(store):
        path.chmod(0o700 if path.is_dir() else 0o600)


@needs_modes
def test_read_only_store_is_not_written(tmp_path: Path, read_only: Path) -> None:
    before = contents(read_only)
    for words in (("inscribe", tmp_path / "home"), ("append",), ("reindex",), ("forget", "last", "--yes")):
        ran = run(read_only, *words, wrap=OWNER)
        assert ran.code == 8, (words, ran)
        assert one_line(ran) == [], (words, ran)
    assert contents(read_only) == before


@needs_modes
def test_read_only_store_is_read(tmp_path: Path, read_only: Path) -> None:
    out = tmp_path / "b"
    for words in (
        ("sessions",), ("show", "last"), ("check", "--stored"), ("restore", "--all", "--to", out),
        ("bundle", "last", "-o", tmp_path / "a.bundle"),
    ):  # fmt: skip
        ran = run(read_only, *words, wrap=OWNER)
        assert ran.code == 0, (words, ran)


@needs_modes
def test_store_in_a_folder_of_somebody_else(tmp_path: Path) -> None:
    tree = small(tmp_path / "home")
    closed = tmp_path / "closed"
    closed.mkdir(0o500)
    ran = run(closed / "store", "inscribe", tree.home, wrap=OWNER)
    assert ran.code == 8, ran
    assert one_line(ran) == [], ran


@needs_modes
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("make", [small, large])
def test_unreadable_source(tmp_path: Path, make: Callable[[Path], Tree], named: bool) -> None:
    """A folder that is named, and the home that is found without naming it."""
    tree = make(tmp_path / "home")
    store = tmp_path / "store"
    tree.transcript(2).chmod(0)
    words = ("inscribe", tree.home) if named else ("inscribe",)
    env = {} if named else {"CLAUDE_CONFIG_DIR": str(tree.home)}
    ran = run(store, *words, wrap=OWNER, env=env)
    listed = done(store, "sessions").out.splitlines()[1:]
    assert len(listed) == len(tree.sessions) - 1, (listed, ran)
    assert "Traceback" not in ran.out + ran.err
    assert tree.sessions[2].id in ran.out + ran.err, ran
    assert ran.code == 1, ran
    tree.transcript(2).chmod(0o600)
    done(store, *words, env=env)
    done(tmp_path / "whole", *words, env=env)
    assert differences(store, view(tmp_path / "whole")) == []


@needs_modes
def test_unreadable_side_file_and_folder(tmp_path: Path) -> None:
    tree = small(tmp_path / "home")
    store = tmp_path / "store"
    side = next((tree.home / "projects").rglob("tool-results"))
    os.chmod(side / "out1.txt", 0)
    ran = run(store, "inscribe", tree.home, wrap=OWNER)
    assert ran.code == 1, ran
    assert len(done(store, "sessions").out.splitlines()) >= len(tree.sessions)
    os.chmod(side / "out1.txt", 0o600)
    done(store, "inscribe", tree.home)
    assert not_restored(store, tree, tmp_path / "back") == []


@needs_modes
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("what", ["folder", "folder of names", "file"])
def test_what_may_not_be_read_is_named_and_at_risk(tmp_path: Path, what: str, known: bool) -> None:
    """A folder that is closed, one that tells no more than names, and a file; inscribed before, or never."""
    tree = small(tmp_path / "home")
    store = tmp_path / "store"
    env = {"CLAUDE_CONFIG_DIR": str(tree.home)}
    if known:
        done(store, "up", env=env)
    closed = tree.transcript(2) if what == "file" else tree.transcript(2).parent
    mode = closed.stat().st_mode
    closed.chmod(0o400 if what == "folder of names" else 0)
    try:
        up, doctor = run(store, "up", wrap=OWNER, env=env), run(store, "doctor", wrap=OWNER, env=env)
        checked = run(store, "check", closed, wrap=OWNER, env=env)
    finally:
        closed.chmod(mode)
    for ran in (up, doctor):
        assert ran.code == 1, ran
        assert str(closed) in ran.out, ran
        assert "may not be read" in ran.out, ran
        assert "nothing is at risk" not in ran.out, ran
        assert "gone from disk" not in ran.out, ran
    assert checked.code == 1, checked
    assert "cannot be read" in checked.err, checked
