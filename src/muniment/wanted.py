"""Which files of a session a restore gives back, how much of each, and below which folder each was found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from muniment import files
from muniment.sources.base import Source
from muniment.store import evidence, versions
from muniment.store.evidence import Kept, Manifest
from muniment.store.layout import Shelf

Key = tuple[str, str]
"""What tells the files of a version apart: the name of the kept file, and where it was found."""


class Wanted(Struct, frozen=True):
    """One file to be given back: what is kept of it, how much of that, and where it was."""

    shelf: Shelf
    kept: Kept
    size: int
    root: str
    place: str
    home: bool
    """Whether the root is an agent's home."""
    origin: str
    """The path it was found at."""
    bundled: bool
    """Whether it came in a bundle: then root and origin are of another machine, if not made up."""
    seen: bool = False
    """Whether it was seen at its path on this machine beside the kept file: bundles bring no such copies."""

    @property
    def key(self) -> Key:
        return self.kept.name, self.origin

    @property
    def where(self) -> tuple[str, str]:
        """The folder it was found below, and its name there."""
        return self.root, self.place

    @property
    def version(self) -> str:
        """The name of the version that it belongs to, where that is not the current one."""
        return self.shelf.folder.parent.name

    def has(self, other: Wanted) -> bool:
        """Whether the other one is the beginning of this one."""
        if other.size > self.size:
            return False
        if (self.shelf, self.kept.name) == (other.shelf, other.kept.name):
            return True
        return versions.relation(self.content(), other.content()) in ("equal", "contained")

    def content(self) -> Iterator[bytes]:
        """As many of the kept bytes as are wanted."""
        left = self.size
        for piece in evidence.read(self.shelf.evidence, self.kept):
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                return


def wanted_files(shelf: Shelf, manifest: Manifest, source: Source, only_current: bool) -> Iterator[Wanted]:
    """The files of one version of a session; where they have copies, those too unless `only_current` is asked for."""
    for kept in manifest.files:
        if kept.role != "old" and source.given_back(kept.name):
            size = kept.size if only_current else _size_there(manifest, kept)
            root, place = kept.root or manifest.root, kept.place or kept.name
            yield Wanted(shelf, kept, size, root, place, manifest.home, kept.path, manifest.is_bundled(kept))
    for copy in () if only_current else manifest.copies:
        kept = manifest.get(copy.kept)
        if kept and kept.role != "old" and source.given_back(kept.name):
            yield Wanted(shelf, kept, copy.size, copy.root, copy.place, copy.home, copy.path, bundled=False, seen=True)


def _size_there(manifest: Manifest, kept: Kept) -> int:
    """How much of a file belongs at its path: as much as lay there, unless the rest has no other place to return to."""
    elsewhere = any(copy.kept == kept.name and copy.size == kept.size for copy in manifest.copies)
    size = manifest.size_at(kept, kept.path) if elsewhere else None
    return kept.size if size is None else size


def lay_elsewhere(wanted: Wanted, current: Manifest) -> bool:
    """Whether a version has its name from another folder than the current one: below one folder they would collide."""
    same = [kept for kept in current.files if (kept.place or kept.name) == wanted.place]
    return any((kept.root or current.root) != wanted.root for kept in same)


class Placed(Struct, frozen=True):
    """A file with the folder it goes to and its name there."""

    wanted: Wanted
    base: Path
    name: str
    path: Path


def settle(placed: list[Placed]) -> tuple[list[Placed], list[Placed]]:
    """One file for each path, the longest; and those that say something else than the one that has their path.

    Paths that some disks take for one are one here: else the file that is written last would replace the other.
    Lines of histories are added to what is there: of those no file is in the way of another."""
    chosen: dict[str, Placed] = {}
    apart: list[Placed] = []
    for one in placed:
        path = files.fold(str(one.path))
        other = chosen.setdefault(path, one)
        if other is one or other.wanted.has(one.wanted):
            continue
        if one.wanted.has(other.wanted):
            chosen[path] = one
        else:
            apart.append(one)
    lines = [one for one in apart if one.wanted.kept.role == "history"]
    return [*chosen.values(), *lines], [one for one in apart if one not in lines]


def name_apart(one: Placed) -> str:
    """The name of a file whose path is taken, below a folder that a person named."""
    is_version = one.wanted.shelf.folder.parent.parent.name == "versions"
    return f"{one.wanted.version}/{one.name}" if is_version else one.wanted.kept.name
