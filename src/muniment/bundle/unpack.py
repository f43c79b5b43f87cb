"""Unpacking a bundle into a folder of its own, checking everything before anything of it is used.

What is read is a stranger's file. Sizes are known before they are believed: the stream may not grow beyond what it was
packed into, headers may not be long, and the members must be exactly those that the manifest names, in its order, as
plain files. Names are checked before a file is made, and files are made where nothing is yet.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import msgspec
import zstandard

from muniment import files
from muniment.bundle import contents
from muniment.bundle.contents import Contents, Limits, Member
from muniment.errors import MunimentError, StoreError
from muniment.model import codec

_HEADER_BYTES = 1 << 20
"""Between one member's content and the next."""
_WINDOW_BYTES = 128 << 20
_MARK = b"the end of the bundle"
_BROKEN = (tarfile.TarError, zstandard.ZstdError, EOFError, ValueError, OverflowError, RecursionError, IndexError)


def unpack(path: Path, folder: Path, limits: Limits) -> Contents:
    """Every member below `folder`, which is empty; or an error, and then nothing may be used."""
    with _opened(path) as file:
        try:
            return _unpack(file, path.stat().st_size, folder, limits)
        except MunimentError as error:
            raise type(error)(f"{path}: {error.message}", error.hint or "nothing was put into the archive") from None
        except _BROKEN as error:
            said = f"not a bundle, or a damaged one: {str(error).splitlines()[0][:200] if str(error) else ''}"
            raise StoreError(f"{path}: {said}", "nothing was put into the archive") from None


def _opened(path: Path) -> IO[bytes]:
    try:
        return files.open_regular(path)
    except MunimentError as error:
        raise type(error)(error.message, error.hint or "name a file that `muniment bundle` wrote") from None


def _unpack(file: IO[bytes], size: int, folder: Path, limits: Limits) -> Contents:
    stream = _Guarded(file, limits.free_bytes + limits.ratio * size)
    with tarfile.open(fileobj=stream, mode="r|", bufsize=tarfile.BLOCKSIZE) as tar:
        found = _members(tar, stream)
        made = _manifest(tar, next(found, None), stream, limits)
        for member in made.members:
            _take(tar, next(found, None), member, stream, folder)
        if next(found, None) is not None:
            raise StoreError("the bundle holds more than its manifest says")
    stream.require_end()
    return made


def _members(tar: tarfile.TarFile, stream: _Guarded) -> Iterator[tarfile.TarInfo]:
    """Members one by one; nothing of the former ones is kept."""
    while True:
        stream.allow(_HEADER_BYTES)
        found = tar.next()
        if found is None:
            return
        tar.members = []  # pyright: ignore[reportAttributeAccessIssue]
        yield found


def _manifest(tar: tarfile.TarFile, first: tarfile.TarInfo | None, stream: _Guarded, limits: Limits) -> Contents:
    if first is None or first.name != contents.MANIFEST or not _is_plain(first):
        raise StoreError("not a bundle: its manifest does not come first")
    if first.size > limits.manifest_bytes:
        raise StoreError("the manifest is too long")
    data = b"".join(_content(tar, first, stream))
    try:
        made = codec.decode(data, Contents)
    except (msgspec.MsgspecError, ValueError):
        raise StoreError("the manifest cannot be read") from None
    contents.require_sound(made, limits)
    return made


def _is_plain(found: tarfile.TarInfo) -> bool:
    """A file with content: no folder, no link, no device, no hole."""
    return found.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not found.issparse()


def _take(tar: tarfile.TarFile, found: tarfile.TarInfo | None, member: Member, stream: _Guarded, folder: Path) -> None:
    if found is None or found.name != member.name or found.size != member.size or not _is_plain(found):
        raise StoreError(f"{member.name} is not where the manifest says, or no plain file")
    path = folder.joinpath(*member.name.split("/"))
    files.make_folder(path.parent)
    sha256 = hashlib.sha256()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags, files.FILE_MODE), "wb", buffering=files.CHUNK_BYTES) as out:
        for piece in _content(tar, found, stream):
            sha256.update(piece)
            out.write(piece)
    if sha256.hexdigest() != member.sha256:
        raise StoreError(f"{member.name} is damaged: its hash is another")


def _content(tar: tarfile.TarFile, found: tarfile.TarInfo, stream: _Guarded) -> Iterator[bytes]:
    stream.allow(found.size + _HEADER_BYTES)
    content: Any = tar.extractfile(found)
    left = found.size
    while left:
        piece: bytes = content.read(min(files.CHUNK_BYTES, left))
        if not piece:
            raise StoreError(f"{found.name} is cut off")
        left -= len(piece)
        yield piece


class _Followed(io.RawIOBase):
    """A file and then a mark, packed by itself: it is met only where what comes before it is whole."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.mark = zstandard.ZstdCompressor().compress(_MARK)

    def read(self, size: int = -1, /) -> bytes:
        if data := self.file.read(size):
            return data
        data, self.mark = self.mark[:size], self.mark[size:]
        return data


class _Guarded(io.RawIOBase):
    """The unpacked stream, which gives no more than was allowed, and never more than the file could honestly hold."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        unpacking = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES)
        self.reader = unpacking.stream_reader(
            cast("IO[bytes]", _Followed(file)), read_across_frames=True, closefd=False
        )
        self.most = most
        self.given = 0
        self.allowed = _HEADER_BYTES

    def allow(self, count: int) -> None:
        """From here on, so many bytes may be read."""
        self.allowed = self.given + count

    def read(self, size: int = -1, /) -> bytes:
        if size < 0 or self.given + size > self.allowed:
            raise StoreError("a header of the bundle is too long")
        data = self.reader.read(size)
        self.given += len(data)
        if self.given > self.most:
            raise StoreError("the bundle unpacks to far more than it holds", "it was made to fill the disk")
        return data

    def require_end(self) -> None:
        """Behind the last member there is nothing but the padding of the tar, and it is all there."""
        rest = b""
        while piece := self.reader.read(tarfile.RECORDSIZE):
            rest += piece
            if len(rest) > _HEADER_BYTES:
                raise StoreError("something follows the bundle")
        padding = rest.removesuffix(_MARK)
        if padding == rest or (self.given + len(padding)) % tarfile.RECORDSIZE:
            raise StoreError("the bundle is cut off")
        if padding.strip(b"\0"):
            raise StoreError("something follows the bundle")
