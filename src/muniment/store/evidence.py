"""The evidence: source files verbatim, so that they come back byte for byte.

    source/manifest.json               what is kept: names, sizes, frames with their sha256
    source/<name>.zst                  the bytes, as zstd frames; `zstd -d` gives the original file

An append adds frames and then replaces the manifest, which alone says what counts: frames of an append that
was killed in between lie behind the last one listed and are cut off by the next append. The frames are on the disk
before the manifest that lists them is: a power cut in the midst of an append takes nothing away that was there before.
Only in a staging folder, which a power cut may empty, is nothing synced one by one. A file that was written anew
goes into a new edition, `<name>.<edition>.zst`; the former one is removed when the new one is durable.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import msgspec
import zstandard
from msgspec import Struct, structs

from muniment import files
from muniment.errors import Damaged, MunimentError, Unsupported
from muniment.model import codec
from muniment.sources.base import FileRole
from muniment.store import sealed
from muniment.store.layout import safe_name

_own = threading.local()
MANIFEST = "manifest.json"
MANIFEST_VERSION = 1
FRAME_BYTES = 4 << 20
HEAL = "`muniment check --stored` tells how much; then `muniment up` takes it from the source, if that still has it"
LEVEL = 1
"""Real transcripts shrink 5.3-fold at this level and 5.8-fold at level 3, which is a quarter slower."""


class Frame(Struct, frozen=True, array_like=True):
    """One compressed piece: where it begins in the file and in the archive, and the hash of its content."""

    offset: int
    length: int
    packed_offset: int
    packed_length: int
    sha256: str

    def is_content(self, content: bytes) -> bool:
        """Whether these are the very bytes of it."""
        return hashlib.sha256(content).hexdigest() == self.sha256


class Kept(Struct, frozen=True, omit_defaults=True):
    """One file of the evidence."""

    name: str
    """Path below the root it came from."""
    role: FileRole
    path: str
    """Absolute path it was read from."""
    frames: tuple[Frame, ...] = ()
    mtime_ns: int = 0
    id: str | None = None
    root: str | None = None
    """Folder it was found below, where that is not the manifest's."""
    place: str | None = None
    """Its path below that folder, where that is not its name."""
    edition: int = 0
    """How often its content was replaced by one that says all that the former said."""
    bundled: bool = False
    """Whether it came in a bundle, to a session that was here: where it says that it lay, it may never have been."""

    @property
    def size(self) -> int:
        return self.frames[-1].offset + self.frames[-1].length if self.frames else 0

    @property
    def packed_size(self) -> int:
        return self.frames[-1].packed_offset + self.frames[-1].packed_length if self.frames else 0

    @property
    def digest(self) -> str:
        """One hash over all frames: names this content."""
        return hashlib.sha256("".join(f.sha256 for f in self.frames).encode()).hexdigest()


class Copy(Struct, frozen=True, omit_defaults=True):
    """Another path at which the beginning of a kept file was found: a backup, a snapshot, a moved project."""

    kept: str
    """Name of the kept file."""
    path: str
    root: str
    place: str
    """Path below that root."""
    size: int
    """How many of the kept bytes it holds."""
    home: bool = False


class Manifest(Struct, frozen=True):
    """All files of a session's evidence."""

    source: str
    session_id: str
    root: str
    home: bool = False
    native_id: str | None = None
    version: int = MANIFEST_VERSION
    files: tuple[Kept, ...] = ()
    copies: tuple[Copy, ...] = ()
    bundled: str = ""
    """`whole` if it came in a bundle; `redacted` if in one without secrets: these are not the exact bytes then."""

    def size_at(self, kept: Kept, path: str) -> int | None:
        """How much of a kept file lay at a path when it was last looked at; None if it was never seen there."""
        copy = next((c for c in self.copies if c.path == path and c.kept == kept.name), None)
        if copy:
            return copy.size
        return kept.size if kept.path == path else None

    def seen_at(self, kept: Kept, path: str, root: str, place: str, home: bool, size: int) -> Manifest:
        """With this path known to hold the first `size` bytes of a kept file; what it was first found below stays."""
        known = next((c for c in self.copies if c.path == path and c.kept == kept.name), None)
        if known:
            root, place, home = known.root, known.place, known.home
        elif path == kept.path and not self.is_bundled(kept):
            root, place, home = kept.root or self.root, kept.place or kept.name, self.home
        others = tuple(c for c in self.copies if c.path != path)
        if path != kept.path or size != kept.size:
            others = (*others, Copy(kept.name, path, root, place, size, home))
        return structs.replace(self, copies=tuple(sorted(others, key=lambda c: c.path)))

    def is_bundled(self, kept: Kept) -> bool:
        """Whether a file came in a bundle: path, root and place of it are a stranger's word then."""
        return bool(self.bundled) or kept.bundled

    def get(self, name: str) -> Kept | None:
        return next((kept for kept in self.files if kept.name == name), None)

    @property
    def main(self) -> Kept | None:
        return next((kept for kept in self.files if kept.role == "main"), None)

    def put(self, kept: Kept) -> Manifest:
        """With this file added or replaced; the order of names is kept stable."""
        others = [k for k in self.files if k.name != kept.name]
        ordered = sorted([*others, kept], key=lambda k: (k.role != "main", k.name))
        return structs.replace(self, files=tuple(ordered))


class _Unsealed(Manifest, frozen=True, forbid_unknown_fields=True):
    """A manifest without a checksum that can be compared: every field of it must be known."""

    sha256: str = ""
    """Of one that another program wrote again, with other blanks."""


def exists(folder: Path) -> bool:
    """Whether there is evidence, damaged or not: its manifest is written last."""
    return (folder / MANIFEST).exists()


def load(folder: Path) -> Manifest | None:
    """The manifest of an evidence folder; None if there is none yet."""
    try:
        data = files.read_regular(folder / MANIFEST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _damaged_manifest(folder, str(error.strerror)) from None
    try:
        manifest = decode(data)
    except (msgspec.MsgspecError, ValueError) as error:
        raise _damaged_manifest(folder, str(error)) from None
    if manifest.version > MANIFEST_VERSION:
        raise Unsupported(f"{folder}: evidence of version {manifest.version}", "written by a newer muniment; update")
    return manifest


def decode(data: bytes) -> Manifest:
    """The manifest that stands in a file. Raises ValueError or MsgspecError for one that is not what it was."""
    if sealed.is_broken(data):
        raise ValueError("its checksum is another")
    if not sealed.is_sealed(data):
        codec.decode(data, _Unsealed)
    return codec.decode(data, Manifest)


def encode(manifest: Manifest) -> bytes:
    """The bytes of a manifest's file."""
    return sealed.seal(codec.encode(manifest))


def _damaged_manifest(folder: Path, why: str) -> Damaged:
    path = folder / MANIFEST
    return Damaged(f"{path}: damaged: {why}", HEAL, str(path))


def save(folder: Path, manifest: Manifest, staged: bool = False) -> None:
    """Replace the manifest: from here on, what it lists counts."""
    _put(staged)(f"{folder}/{MANIFEST}", [encode(manifest)])


def _put(staged: bool) -> files.Put:
    return files.write_unseen if staged else files.write_durable


def packed_path(folder: Path, kept: Kept) -> Path:
    """Where a file's frames lie."""
    return folder / _packed_name(kept)


def _packed_name(kept: Kept) -> str:
    edition = f".{kept.edition}" if kept.edition else ""
    return f"{_packed_stem(kept)}{edition}.zst"


def _packed_stem(kept: Kept) -> str:
    """All lie in one folder, under their own name, told apart by a hash of the whole path."""
    name = kept.name.rpartition("/")[2]
    if kept.role != "main":
        path = PurePosixPath(name)
        name = f"{path.stem}-{_hash8(kept.name)}{path.suffix}"
    return safe_name(name)


def packed_slot(kept: Kept) -> str:
    """Return what no two files of an evidence folder may share, in any edition and on disks that fold letters.

    The hash in a packed name has 32 bits: a name that shares the slot of another can be found by trying."""
    return files.fold(re.sub(r"(\.\d+)+$", "", _packed_stem(kept)))


def former_editions(folder: Path, manifest: Manifest) -> list[Path]:
    """Files whose content was replaced: not listed any more, and to be removed once the new ones are durable."""
    replaced = (structs.replace(kept, edition=kept.edition - 1) for kept in manifest.files if kept.edition)
    return [path for kept in replaced if (path := packed_path(folder, kept)).exists()]


def _hash8(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _compressor() -> zstandard.ZstdCompressor:
    """One for each thread: what it needs to begin costs more than to pack a small file."""
    if (own := getattr(_own, "compressor", None)) is None:
        own = _own.compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=False)
    return own


class Appender:
    """Adds bytes to one file of the evidence; `kept` counts what is packed so far."""

    def __init__(self, folder: Path, kept: Kept, staged: bool = False) -> None:
        self.kept = kept
        self.staged = staged
        self.path = f"{folder}/{_packed_name(kept)}"
        self.is_new = not kept.frames
        self.waiting: list[bytes] = []
        self.waiting_bytes = 0
        self.packed: list[bytes] = []
        self.packed_bytes = 0
        self.out: BinaryIO | None = None

    def through(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Pass pieces on, keeping a copy of each."""
        for piece in pieces:
            self.waiting.append(piece)
            self.waiting_bytes += len(piece)
            if self.waiting_bytes >= FRAME_BYTES:
                self._pack()
            yield piece

    def _pack(self) -> None:
        content = b"".join(self.waiting)
        self.waiting, self.waiting_bytes = [], 0
        if not content:
            return
        packed = _compressor().compress(content)
        sha256 = hashlib.sha256(content).hexdigest()
        frame = Frame(self.kept.size, len(content), self.kept.packed_size, len(packed), sha256)
        self.kept = structs.replace(self.kept, frames=(*self.kept.frames, frame))
        self.packed.append(packed)
        self.packed_bytes += len(packed)
        if self.packed_bytes > FRAME_BYTES:
            self._write()

    def _write(self) -> None:
        """Behind the last frame that counts; what a killed run left there is cut off first."""
        if self.out is None:
            files.make_folder(os.path.dirname(self.path))
            end = self.kept.packed_size - self.packed_bytes
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
            descriptor = os.open(self.path, flags, files.FILE_MODE)
            if os.fstat(descriptor).st_size < end:  # to go on would hide that the end of the former frames is gone
                os.close(descriptor)
                raise _damaged(Path(self.path), self.kept, self.kept.frames[0].offset)
            os.ftruncate(descriptor, end)
            os.lseek(descriptor, end, os.SEEK_SET)
            self.out = os.fdopen(descriptor, "wb", buffering=files.CHUNK_BYTES)
        self.out.writelines(self.packed)
        self.packed, self.packed_bytes = [], 0

    def close(self) -> Kept:
        """Write what is left; the file as it now stands."""
        self._pack()
        if not self.packed and self.out is None:
            return self.kept
        if self.is_new and self.out is None:
            _put(self.staged)(self.path, self.packed)
            return self.kept
        self._write()
        if self.out:
            self._close(self.out)
        return self.kept

    def _close(self, out: BinaryIO) -> None:
        with out:
            out.flush()
            if not self.staged:
                os.fsync(out.fileno())


def read(folder: Path, kept: Kept, start: int = 0) -> Iterator[bytes]:
    """The bytes of a kept file from `start` on, each frame checked against its hash."""
    frames = [frame for frame in kept.frames if frame.offset + frame.length > start]
    for frame, content in _frames(folder, kept, frames):
        if content is None:
            raise _damaged(packed_path(folder, kept), kept, frame.offset)
        yield content[start - frame.offset :] if frame.offset < start else content


def damaged_frames(folder: Path, kept: Kept) -> list[Frame]:
    """The frames of a kept file that are not what they were."""
    return [frame for frame, content in _frames(folder, kept, kept.frames) if content is None]


def _frames(folder: Path, kept: Kept, frames: Iterable[Frame]) -> Iterator[tuple[Frame, bytes | None]]:
    """Each frame with its content; None if it is damaged."""
    decompressor = zstandard.ZstdDecompressor()
    with _Packed(packed_path(folder, kept)) as packed:
        for frame in frames:
            yield frame, _unpack(decompressor, packed.read(frame), frame)


class _Packed:
    """The frames of a file as they lie there, nothing for those that are gone or cannot be read."""

    def __init__(self, path: Path) -> None:
        self.file: BinaryIO | None = None
        with contextlib.suppress(MunimentError, OSError):
            self.file = files.open_regular(path)  # pyright: ignore[reportAttributeAccessIssue]

    def __enter__(self) -> _Packed:
        return self

    def __exit__(self, *_: object) -> None:
        if self.file:
            self.file.close()

    def read(self, frame: Frame) -> bytes:
        try:
            if self.file is None or frame.packed_offset < 0 or frame.packed_length < 0:
                return b""
            self.file.seek(frame.packed_offset)
            return self.file.read(frame.packed_length) or b""
        except OSError:  # a disk that fails
            return b""


def _unpack(decompressor: zstandard.ZstdDecompressor, data: bytes, frame: Frame) -> bytes | None:
    content = b""
    with contextlib.suppress(zstandard.ZstdError):
        # The size in a frame's own header may be damaged too; it must not decide how much memory is taken.
        if data and zstandard.frame_content_size(data) == frame.length:
            content = decompressor.decompress(data)
    return content if frame.is_content(content) else None


def _damaged(path: Path, kept: Kept, offset: int) -> Damaged:
    return Damaged(f"the evidence of {kept.name} is damaged at byte {offset}", HEAL, str(path), offset)


def mend(folder: Path, kept: Kept, lost: Collection[Frame], content_of: Callable[[Frame], bytes | None]) -> Kept:
    """Write a file of the evidence anew, as a new edition: the lost frames from elsewhere, where somebody has their
    very bytes, and all others as they lie there."""
    found = {frame for frame in lost if content_of(frame) is not None}
    if not found:
        return kept
    made: list[Frame] = []

    def pieces() -> Iterator[bytes]:
        at = 0
        with _Packed(packed_path(folder, kept)) as packed:
            for frame in kept.frames:
                content = content_of(frame) if frame in found else None
                data = packed.read(frame) if content is None else _compressor().compress(content)
                made.append(Frame(frame.offset, frame.length, at, len(data), frame.sha256))
                at += len(data)
                yield data

    new = structs.replace(kept, edition=kept.edition + 1)
    files.write_durable(packed_path(folder, new), pieces())  # the manifest that names it comes next
    return structs.replace(new, frames=tuple(made))


def sizes(manifest: Manifest) -> dict[str, int]:
    """How large each file of an evidence folder must at least be."""
    return {MANIFEST: 1} | {_packed_name(kept): kept.packed_size for kept in manifest.files if kept.frames}


def survives(content: bytes) -> bool:
    """Whether these bytes come back from a frame as they went in."""
    packed = zstandard.ZstdCompressor(level=LEVEL).compress(content)
    return zstandard.ZstdDecompressor().decompress(packed, max_output_size=len(content)) == content if content else True
