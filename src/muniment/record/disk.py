"""The files under a log: opening them so that their names last, locking them, and counting their segments."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from pathlib import Path

from muniment import files
from muniment.errors import NotRecorded

LOCK_SECONDS = 10.0


def segment_path(path: Path, number: int) -> Path:
    return path if number == 0 else path.with_name(f"{path.name}.s{number}")


def segments(path: Path) -> list[Path]:
    """The segments of a log that are there, in order; the first one even if it is not."""
    found = [path]
    while os.path.exists(following := segment_path(path, len(found))):  # unlike Path's, never raises
        found.append(following)
    return found


def open_durable(path: Path) -> int:
    """Open a regular file for appending, made if it is not there; its name then survives a power cut."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    files.make_folder(path.parent)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), files.FILE_MODE)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise NotRecorded(f"{path}: not a regular file", "is there a pipe or a device in the way?")
    if not status.st_size and path not in missing:
        missing.append(path)  # whoever made it may have died before it synced the name
    for made in missing:
        sync_folder(made.parent)
    return descriptor


def sync_file(descriptor: int) -> None:
    """What a file holds survives a power cut when this returns; the time of its last change need not."""
    if hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:
        os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """The names in a folder survive a power cut when this returns."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock(descriptor: int, path: Path) -> None:
    """Take the lock of an open file; a holder that does not let go is named."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    except BlockingIOError:
        pass
    pause, deadline = 0.0, time.monotonic() + LOCK_SECONDS
    while time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(pause + 0.0001, 0.01)
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
    holder = _holder(descriptor)
    raise NotRecorded(f"{path}: locked by process {holder} for {LOCK_SECONDS:.0f} s", "is it stopped?")


def _holder(descriptor: int) -> str:
    """The process that holds the lock, as far as the system tells."""
    inode = os.fstat(descriptor).st_ino
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()
            if "FLOCK" in fields and fields[-3].endswith(f":{inode}") and "->" not in fields:
                return fields[4]
    return "(unknown)"
