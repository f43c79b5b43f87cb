"""Durable file work: private modes, atomic replacement, one sync per batch, walking without following links.

Every file of the store is written without a name, or beside its target, and then put in its place, so a reader sees
the old file or the new one, and what a killed writer may leave is replaced by the next writer of that name. A folder
that nobody looks into yet is filled more cheaply, and then put in its place as a whole.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import stat
import sys
import threading
import unicodedata
from collections.abc import Callable, Generator, Iterable, Iterator
from contextvars import ContextVar
from itertools import count
from pathlib import Path

from muniment.errors import NotFound, StoreError

FILE_MODE = 0o600
FOLDER_MODE = 0o700
CHUNK_BYTES = 1 << 20
Put = Callable[[str, Iterable[bytes]], None]
"""Write a file and put it in its place."""
_TEMPORARY = ".part"
_ANEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
_HERE, _EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE."""
_CAN_NAME = Path("/proc/self/fd").exists()
"""Whether a file without a name can be given one later."""


def make_folder(path: str | Path) -> bool:
    """The folder exists afterwards, with all above it, readable by its owner only; tells whether it is new."""
    try:
        os.mkdir(path, FOLDER_MODE)
    except FileExistsError:
        return False
    except FileNotFoundError:
        if not (above := os.path.dirname(path)):  # the working folder itself is gone
            raise
        make_folder(above)
        with contextlib.suppress(FileExistsError):  # another process was as quick
            os.mkdir(path, FOLDER_MODE)
    return True


def temporary_beside(path: Path) -> Path:
    """The name under which a new version of `path` grows. Always the same: a left-over is replaced, not piled up."""
    return path.with_name(f".{path.name}{_TEMPORARY}")


def write_atomic(path: str | Path, pieces: Iterable[bytes], durable: bool = False) -> None:
    """Replace `path` by these bytes, whole or not at all; a folder that is missing is made. Durable after `sync`."""
    folder = os.path.dirname(path) or os.curdir
    try:
        descriptor = _open_nameless(folder)
    except FileNotFoundError:
        make_folder(folder)
        descriptor = _open_nameless(folder)
    if descriptor is None:
        _write_named(Path(path), pieces, durable)
        return
    try:
        _write_all(descriptor, pieces)
        if durable and _holds_same(path, descriptor):
            return  # a rebuild writes thousands of documents as they were, and a sync of each would take minutes
        if durable:
            os.fsync(descriptor)
        _give_name(descriptor, path)
    finally:
        os.close(descriptor)


def _holds_same(path: str | Path, descriptor: int) -> bool:
    """Whether a file holds the bytes of another one."""
    try:
        with open_regular(path) as file:
            size = os.fstat(descriptor).st_size
            if os.fstat(file.fileno()).st_size != size:
                return False
            steps = range(0, size, CHUNK_BYTES)
            return all(file.read(CHUNK_BYTES) == os.pread(descriptor, CHUNK_BYTES, at) for at in steps)
    except (OSError, NotFound, StoreError):
        return False


def write_durable(path: str | Path, pieces: Iterable[bytes]) -> None:
    """`write_atomic` for a file that is the only copy of something: after a power cut, `path` holds either all of the
    old bytes or all of the new ones, never an empty file under a new name, as XFS and ext4 may leave it otherwise."""
    write_atomic(path, pieces, durable=True)


def write_unseen(path: str | Path, pieces: Iterable[bytes]) -> None:
    """Write these bytes to a file of a folder that nobody looks into; a folder that is missing is made."""
    try:
        descriptor = os.open(path, _ANEW, FILE_MODE)
    except FileNotFoundError:
        make_folder(os.path.dirname(path))
        descriptor = os.open(path, _ANEW, FILE_MODE)
    try:
        _write_all(descriptor, pieces)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, pieces: Iterable[bytes]) -> None:
    """Small pieces go together; a file object with a buffer of its own would cost more than the write."""
    waiting: list[bytes] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= CHUNK_BYTES:
            write_whole(descriptor, b"".join(waiting))
            waiting, size = [], 0
    write_whole(descriptor, b"".join(waiting))


def write_whole(descriptor: int, data: bytes) -> None:
    """A write may take less than it was given."""
    written = os.write(descriptor, data) if data else 0
    while written < len(data):
        written += os.write(descriptor, memoryview(data)[written:])


def _open_nameless(folder: str) -> int | None:
    """A file without a name: it vanishes with its writer, so a killed one leaves nothing behind."""
    if not _CAN_NAME:
        return None
    try:
        return os.open(folder, os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, FILE_MODE)
    except AttributeError:  # not Linux
        return None
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            return None
        raise


def _give_name(descriptor: int, path: str | Path) -> None:
    """Link a nameless file to its place; one that is there already is replaced by a rename."""
    own = f"/proc/self/fd/{descriptor}"
    try:
        os.link(own, path, src_dir_fd=descriptor, follow_symlinks=True)
    except FileExistsError:
        temporary = temporary_beside(Path(path))
        temporary.unlink(missing_ok=True)
        os.link(own, temporary, src_dir_fd=descriptor, follow_symlinks=True)
        _replace(temporary, path)


def _replace(temporary: Path, path: str | Path) -> None:
    """Rename a file over another; where that fails, nothing is left of it. A folder is not replaced."""
    try:
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None


def exchange(one: Path, other: Path) -> None:
    """Two folders change places, in one step where the system can: then there is always something at both paths."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if rename and rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return
    waiting = other.with_name(f"{other.name}-exchanged")
    os.rename(one, waiting)
    os.rename(other, one)
    os.rename(waiting, other)


def _write_named(path: Path, pieces: Iterable[bytes], durable: bool) -> None:
    make_folder(path.parent)
    temporary = temporary_beside(path)
    try:
        with open_new(temporary) as out:
            out.writelines(pieces)
            if durable:
                out.flush()
                os.fsync(out.fileno())
        _replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_if_changed(path: Path, data: bytes) -> bool:
    """Replace `path` only if its bytes differ; tells whether it did."""
    try:
        if read_regular(path) == data:
            return False
    except (FileNotFoundError, Irregular):
        pass
    try:
        write_atomic(path, [data])
    except (FileExistsError, FileNotFoundError):
        if read_regular(path) != data:  # else another wrote the same at the same moment
            raise
    return True


def free_place(path: Path) -> None:
    """Put a folder away that lies where a file of ours belongs."""
    if path.is_dir() and not path.is_symlink():
        path.rename(first_free(path.with_name(f"{path.name}.folder")))


def first_free(path: Path) -> Path:
    """The first of `path-1`, `path-2` … at which nothing lies."""
    numbered = (path.with_name(f"{path.name}-{number}") for number in count(1))
    return next(free for free in numbered if not os.path.lexists(free))


def open_new(path: Path):
    """A new private file for writing; a left-over of the same name is replaced, a link never followed."""
    return os.fdopen(os.open(path, _ANEW, FILE_MODE), "wb", buffering=CHUNK_BYTES)


def open_regular(path: str | Path):
    """Open for reading, refusing links, pipes and devices, never blocking on one."""
    flags = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        raise NotFound(f"{path}: no such file") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise StoreError(f"{path}: is a link", "links are not followed; name the file itself") from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StoreError(f"{path}: not a regular file")
    return os.fdopen(descriptor, "rb", buffering=0)


def is_irregular(path: str | Path) -> bool:
    """Whether a pipe, a socket or a device lies there, or a link to one."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def walk_irregular(root: str | Path) -> Iterator[str]:
    """Every pipe, socket, device and link below a folder; unreadable folders are skipped."""
    try:
        with os.scandir(root) as entries:
            found = list(entries)
    except OSError:
        return
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            yield from walk_irregular(entry.path)
        elif not entry.is_file(follow_symlinks=False):
            yield entry.path


class Irregular(OSError):
    """A pipe, socket or device lies where a file of ours belongs."""


def read_regular(path: str | Path) -> bytes:
    """Return the bytes of a file of the store. Raises the errors of `Path.read_bytes`, and Irregular instead of waiting
    for somebody to write into a pipe. A link is followed, as people may keep a file of theirs elsewhere."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket
            raise Irregular(errno.EINVAL, "not a regular file", str(path)) from None
        raise
    try:
        return _read_all(descriptor, require_regular(descriptor, path).st_size)
    finally:
        os.close(descriptor)


def require_regular(descriptor: int, path: str | Path) -> os.stat_result:
    """Return the status of an open file. Raises IsADirectoryError or Irregular if it is no file."""
    status = os.fstat(descriptor)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise Irregular(errno.EINVAL, "not a regular file", str(path))
    return status


def _read_all(descriptor: int, size: int) -> bytes:
    """Read to the end, also of a file that grows meanwhile."""
    pieces: list[bytes] = []
    while piece := os.read(descriptor, max(size, 4096)):
        pieces.append(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def chunks(path: str | Path, start: int = 0, end: int | None = None) -> Iterator[bytes]:
    """The bytes of a file from `start` to `end`, in pieces; stops at `end` even while the file grows."""
    if end is not None and start >= end:
        return
    with open_regular(path) as file:
        file.seek(start)
        left = (end - start) if end is not None else sys.maxsize
        while left > 0 and (piece := file.read(min(CHUNK_BYTES, left))):
            left -= len(piece)
            yield piece


def changed_at(path: Path) -> tuple[int, int]:
    """Time and size of a file; zeros if it is not there. A key for what was read from it."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)


def same_file(status: os.stat_result, path: Path) -> bool:
    """Whether an open file is the one that is now at a path."""
    try:
        there = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (there.st_ino, there.st_dev) == (status.st_ino, status.st_dev)


def sync(folder: Path) -> None:
    """Everything written to the file system of `folder` so far survives a power cut when this returns."""
    libc_syncfs = getattr(ctypes.CDLL(None), "syncfs", None) if sys.platform == "linux" else None
    if libc_syncfs is None:
        os.sync()
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if libc_syncfs(descriptor) != 0:
            raise StoreError(f"{folder}: the disk refused to sync", "is it full or failing?")
    finally:
        os.close(descriptor)


class Syncing(threading.Thread):
    """A sync of what was written until now, while other work goes on: disk and processor are busy at once."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder = folder
        self.failed: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            sync(self.folder)
        except BaseException as error:
            self.failed = error

    def wait(self) -> None:
        """All of it is durable afterwards. A failure is told here, and the system tells it only once."""
        self.join()
        if self.failed:
            raise self.failed


def locked(descriptor: int) -> bool:
    """Take the lock of an open file or folder unless another holds it; tells whether it is ours now."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def remove_temporaries(root: Path) -> None:
    """What killed writers left below a folder that nobody writes to now."""
    for entry in walk(root):
        if entry.name.startswith(".") and entry.name.endswith(_TEMPORARY):
            os.unlink(entry.path)


def full_path(path: Path) -> Path:
    """The whole path, without steps back; only where there are some are links followed, which a step back may cross."""
    return path.resolve() if ".." in path.parts else path.absolute()


UNREADABLE = "cannot be read"

_refused: ContextVar[dict[Path, str] | None] = ContextVar("places that cannot be read", default=None)


@contextlib.contextmanager
def noting_refused(places: dict[Path, str]) -> Generator[None]:
    """Places that cannot be read meanwhile are noted with the reason, which no source needs to hand on."""
    before = _refused.set(places)
    try:
        yield
    finally:
        _refused.reset(before)


def refuse(place: Path, why: str = UNREADABLE) -> bool:
    """Note that a place cannot be read; tells whether anybody keeps such notes."""
    noted = _refused.get()
    if noted is not None:
        noted.setdefault(place, why)
    return noted is not None


def fold(name: str) -> str:
    """Return a name as the most lenient file system compares it: two that fold alike may be one file there."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def is_gone(path: str | Path) -> bool:
    """Whether nothing is there. Of a place that nobody may look into, this is not known."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def walk(root: str | Path) -> Iterator[os.DirEntry[str]]:
    """Every regular file below `root` in a stable order; links are not followed, unreadable folders skipped."""
    try:
        with os.scandir(root) as entries:
            found = sorted(entries, key=lambda e: e.name)
    except PermissionError:
        refuse(Path(root))
        return
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in found:
        if entry.is_symlink():
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from walk(entry.path)
        elif entry.is_file(follow_symlinks=False):
            yield entry
