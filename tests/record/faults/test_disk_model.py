"""The disk on paper keeps what a disk must keep, and not a byte more."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.record.conformance.disk_model import Disk, UnknownCall, calls_of

WRITTEN = b"0123456789"


def after(folder: Path, *lines: str) -> bytes | None:
    """What is left of the file after a power cut behind these calls; `F` is its path and `D` its folder."""
    path = folder / "file"
    path.write_bytes(WRITTEN)
    disk = Disk(folder)
    text = [f"7 {line}".replace("<F>", f"<{path}>").replace("<D>", f"<{folder}>") for line in lines]
    for call in calls_of(text):
        disk.follow(call)
    return disk.kept(path)


OPEN = 'openat(AT_FDCWD</w>, ""..., O_RDWR|O_CREAT, 0600) = 3<F>'
NAMED = "fsync(4<D>) = 0"
WRITE = 'write(3<F>, ""..., 5) = 5'
SYNC = "fsync(3<F>) = 0"


def test_what_was_synced_is_kept(tmp_path: Path) -> None:
    assert after(tmp_path, OPEN, NAMED, WRITE, SYNC, WRITE) == b"01234"
    assert after(tmp_path, OPEN, NAMED, WRITE, SYNC, WRITE, "fdatasync(3<F>) = 0") == WRITTEN


def test_without_a_sync_nothing_is_kept(tmp_path: Path) -> None:
    assert after(tmp_path, OPEN, NAMED, WRITE) == b""


def test_without_a_name_nothing_is_found(tmp_path: Path) -> None:
    assert after(tmp_path, OPEN, WRITE, SYNC) is None
    assert after(tmp_path, OPEN, "fsync(4<D>) = -1 EIO (Input/output error)", WRITE, SYNC) is None
    assert after(tmp_path, NAMED, OPEN, WRITE, SYNC) is None, "synced before the file was made"


def test_what_a_sync_failed_on_is_gone_whatever_the_next_one_says(tmp_path: Path) -> None:
    failed = "fsync(3<F>) = -1 EIO (Input/output error)"
    assert after(tmp_path, OPEN, NAMED, WRITE, failed, SYNC) == bytes(5)
    assert after(tmp_path, OPEN, NAMED, WRITE, failed, SYNC, WRITE, SYNC) == bytes(5) + b"56789"


def test_a_failed_write_adds_nothing(tmp_path: Path) -> None:
    assert after(tmp_path, OPEN, NAMED, 'write(3<F>, ""..., 5) = -1 ENOSPC (No space)', SYNC) == b""
    assert after(tmp_path, OPEN, NAMED, 'write(3<F>, ""..., 5) = 2', SYNC) == b"01"


def test_a_sync_covers_what_was_there_when_it_began(tmp_path: Path) -> None:
    begun, ended = "fsync(3<F> <unfinished ...>", "<... fsync resumed>) = 0"
    assert after(tmp_path, OPEN, NAMED, WRITE, begun, WRITE, ended) == b"01234"


def test_what_the_model_does_not_know_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownCall):
        after(tmp_path, OPEN, NAMED, WRITE, "ftruncate(3<F>, 0) = 0")
