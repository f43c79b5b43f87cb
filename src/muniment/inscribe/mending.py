"""Mending the evidence of a session: every damaged frame whose very bytes its source still has is written anew.

Each frame has its hash, so it does not matter what else became of the source. What no source has stays as it lies
there, and is a problem with its file and place; a manifest comes back from the copy that the index has of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from muniment import files
from muniment.errors import Damaged, MunimentError
from muniment.model import Problem, codec
from muniment.sources.base import Source, SourceFile
from muniment.store import evidence
from muniment.store.damage_table import Copied
from muniment.store.evidence import Frame, Kept, Manifest
from muniment.store.layout import Shelf


class Mended(Struct, frozen=True):
    """What became of the evidence of one version of a session."""

    manifest: Manifest | None
    """None if it is lost."""
    unsound: frozenset[str] = frozenset()
    """Names of kept files with frames that nobody has."""
    problems: tuple[Problem, ...] = ()
    """What is still damaged."""
    healed: int = 0
    """How many files are whole again."""


def mend(shelf: Shelf, source: Source, found: Sequence[SourceFile], copy: bytes | None) -> Mended:
    """Verify all evidence of a session, and mend what can be mended."""
    try:
        manifest, healed = evidence.load(shelf.evidence), 0
        lost = Problem(str(shelf.evidence), 0, "there is no manifest")
    except Damaged as error:
        manifest, healed = None, 0
        lost = Problem(error.path, error.offset, "the manifest is damaged")
    if manifest is None:
        manifest, healed = _load_copy(copy), 1
    if manifest is None:
        return Mended(None, problems=(lost,))
    problems: list[Problem] = []
    unsound: set[str] = set()
    made = manifest
    for kept in manifest.files:
        if frames := evidence.damaged_frames(shelf.evidence, kept):
            whole = _mend_file(shelf.evidence, manifest, kept, frames, source, found)
            made, healed = made.put(whole), healed + 1
            if left := evidence.damaged_frames(shelf.evidence, whole):
                unsound.add(kept.name)
                problems += _problems(shelf.evidence, whole, left)
                healed -= 1
    if made != manifest or healed:
        files.free_place(shelf.evidence / evidence.MANIFEST)
        evidence.save(shelf.evidence, made)
    return Mended(made, frozenset(unsound), tuple(problems), healed)


def copy_manifest(manifest: Manifest) -> Copied:
    """What the index is to keep of a manifest."""
    return Copied(codec.encode(evidence.sizes(manifest)).decode(), evidence.encode(manifest))


def _load_copy(copy: bytes | None) -> Manifest | None:
    try:
        return evidence.decode(copy) if copy else None
    except (msgspec.MsgspecError, ValueError):
        return None


def _mend_file(
    folder: Path, manifest: Manifest, kept: Kept, frames: list[Frame], source: Source, found: Sequence[SourceFile]
) -> Kept:
    places = list(_places(manifest, kept, found))

    def content_of(frame: Frame) -> bytes | None:
        contents = (_content(source, place, frame) for place in places)
        return next((content for content in contents if frame.is_content(content)), None)

    return evidence.mend(folder, kept, frames, content_of)


def _places(manifest: Manifest, kept: Kept, found: Sequence[SourceFile]) -> Iterator[SourceFile]:
    """The files that may have the bytes of a kept one: as they were found just now, then where copies of it lay."""
    paths = [kept.path, *(copy.path for copy in manifest.copies if copy.kept == kept.name)]
    known = [file for file in found if file.path in paths or file.name == kept.name]
    yield from known
    for path in paths:
        if not any(file.path == path for file in known):
            yield SourceFile(path, kept.name, kept.role, kept.size, kept.mtime_ns, id=kept.id)


def _content(source: Source, file: SourceFile, frame: Frame) -> bytes:
    with contextlib.suppress(MunimentError, OSError, ValueError, LookupError):
        return b"".join(source.content(file, frame.offset, frame.offset + frame.length))
    return b""


def _problems(folder: Path, kept: Kept, frames: Iterable[Frame]) -> Iterator[Problem]:
    path = str(evidence.packed_path(folder, kept))
    for frame in frames:
        what = f"the evidence of {kept.name} is damaged, and its source does not have it any more"
        yield Problem(path, frame.offset, what, frame.length)


def free_places(shelf: Shelf) -> None:
    """Put folders away that lie where the derived files of a session belong."""
    for path in (shelf.document, shelf.database, shelf.listing, *_files_in(shelf.rounds), *_files_in(shelf.media)):
        files.free_place(path)


def _files_in(folder: Path) -> list[Path]:
    """What lies in a folder that holds files only."""
    return [path for path in folder.iterdir() if ".folder-" not in path.name] if folder.is_dir() else []
