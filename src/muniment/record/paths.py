"""One path in somebody's project: what stands there, and putting something else there, never through a link.

Every folder on the way is opened without following links, and everything is done relative to the last one. A folder
that became a link since its path was noted is therefore an error and never a way out of the project.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from muniment.errors import Conflict, Unsupported
from muniment.files import CHUNK_BYTES

_KEPT_BITS = 0o777
"""Set-user-id and its like are left out: whoever restores a file may be another than its owner was."""
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class State(Struct, frozen=True, gc=False):
    """What stands at a path: nothing, a file or a link."""

    sha256: str | None = None
    """Of a file's bytes, or of the place that a link names; None if nothing is there."""
    mode: int = 0
    """Type and permissions."""

    @property
    def link(self) -> bool:
        return stat.S_ISLNK(self.mode)


ABSENT = State()


def located(path: Path) -> Path:
    """The path with all links in its folder resolved and its last name as it is."""
    if path.name in ("", ".."):
        return Path(os.path.realpath(path))
    return Path(os.path.realpath(path.parent)) / path.name


@contextlib.contextmanager
def folder_of(path: Path, make: bool = False) -> Generator[int]:
    """The folder of a located path, open. Raises FileNotFoundError unless it is there or is to be made."""
    descriptor = os.open("/", _FOLDER)
    try:
        for name in path.parent.parts[1:]:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=descriptor)
            inner = _enter(descriptor, name, path)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _enter(descriptor: int, name: str, path: Path) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=descriptor)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            raise Conflict(f"{path}: {name} is no folder any more", "move what is in the way") from None
        raise


def look(path: Path) -> State:
    """What stands at a located path. Raises Conflict if its folder is not one any more, Unsupported for a folder."""
    try:
        with folder_of(path) as folder:
            status = os.stat(path.name or ".", dir_fd=folder, follow_symlinks=False)
            mode = stat.S_IFMT(status.st_mode) | status.st_mode & _KEPT_BITS
            digest = hashlib.sha256()
            for piece in _pieces(path, folder, mode):
                digest.update(piece)
    except FileNotFoundError:
        return ABSENT
    return State(digest.hexdigest(), mode)


def pieces(path: Path, state: State) -> Iterator[bytes]:
    """The content of what stood at a located path when it was looked at: a file's bytes, or the place a link names."""
    with folder_of(path) as folder:
        yield from _pieces(path, folder, state.mode)


def _pieces(path: Path, folder: int, mode: int) -> Iterator[bytes]:
    if stat.S_ISLNK(mode):
        yield os.fsencode(os.readlink(path.name, dir_fd=folder))
    elif stat.S_ISREG(mode):
        yield from read_pieces(os.open(path.name, _READ, dir_fd=folder))
    elif stat.S_ISDIR(mode):
        raise Unsupported(f"{path}: is a folder", "name the files in it one by one")
    else:
        raise Unsupported(f"{path}: neither a file nor a link")


def read_pieces(descriptor: int) -> Iterator[bytes]:
    """All that can be read from an open file, which is closed at the end."""
    try:
        while piece := os.read(descriptor, CHUNK_BYTES):
            yield piece
    finally:
        os.close(descriptor)


def stage(path: Path, temporary: str, state: State, content: Iterable[bytes]) -> None:
    """Write what shall stand at a path beside it, durable; its folder is made if it is gone."""
    with folder_of(path, make=True) as folder:
        if state.link:
            os.symlink(b"".join(content), os.fsencode(temporary), dir_fd=folder)
            return
        descriptor = os.open(temporary, _NEW, 0o600, dir_fd=folder)
        try:
            for piece in content:
                _write(descriptor, piece)
            os.fchmod(descriptor, state.mode & _KEPT_BITS)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def put(path: Path, temporary: str) -> None:
    """Give what was staged its name, in one step; a link of that name is replaced, not followed."""
    with folder_of(path) as folder:
        os.rename(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)


def remove(path: Path, name: str | None = None) -> None:
    """Nothing stands at the path afterwards, or at another name beside it."""
    with contextlib.suppress(FileNotFoundError), folder_of(path) as folder:
        os.unlink(name or path.name, dir_fd=folder)


def sync_folder_of(path: Path) -> None:
    """What was put or removed survives a power cut when this returns."""
    with contextlib.suppress(FileNotFoundError, PermissionError), folder_of(path) as folder:
        descriptor = os.open(".", os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
