"""Same id, other content: which version of a session a file belongs to, and how nothing is overwritten.

A file that extends what is kept is an append; one that is contained in it brings nothing new; one that was written
anew and says all that it said takes the place of what is kept (`superseded`); anything else is a version of its own. A
source that was rewritten in place becomes the current version, and the former one is moved to `versions/<hash8>/`; a
diverging copy found elsewhere is put there itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct, structs

from muniment import files
from muniment.errors import Damaged
from muniment.sources.base import Found, Source, SourceFile
from muniment.store import evidence
from muniment.store.evidence import Kept, Manifest
from muniment.store.layout import Shelf
from muniment.store.superseded import Grown, Pieces, grown

SAMPLE_BYTES = 4096
PROOF_BYTES = 256
"""So much of the beginning of a session tells that somebody has it. The first record may hold the id and nothing else
that cannot be guessed; these bytes hold the time of one that follows."""


class Choice(Struct, frozen=True):
    """Where a found session goes."""

    version: str = ""
    """Empty for the current version, else the name of another."""
    set_aside: bool = False
    """The current version must be moved away first."""
    skip_main: bool = False
    """The transcript brings nothing new; its side files may."""
    grown: Grown | None = None
    """The transcript was written anew and takes the place of what is kept of it."""
    note: str = ""


def choose(shelf: Shelf, found: Found, source: Source) -> Choice:
    """The version that the found files belong to."""
    manifest = evidence.load(shelf.evidence)
    main = found.main
    if manifest is None or main is None:
        return Choice()
    if manifest.bundled and is_planted(shelf.evidence, manifest, main, source):
        return Choice(set_aside=True, note="what came in a bundle is another session with this id; both are kept")
    if manifest.main is None:
        return Choice()
    kept = manifest.main
    if choice := _within(shelf.evidence, manifest, kept, main, source):
        return choice
    if kept.path == main.path or _is_followed(found, kept) or _packed_further(shelf.evidence, kept, main, source):
        return Choice(set_aside=True, note="the source was rewritten; both versions are kept")
    return _other_version(shelf, main, source)


def is_planted(folder: Path, manifest: Manifest, main: SourceFile, source: Source) -> bool:
    """Whether a session of a bundle must make way for the transcript that is found here, which is its owner's.

    It stays where both begin with the same records, enough of them that nobody can have guessed them, and where a
    restore could give it back: the owner's words must not become part of what cannot be restored."""
    kept = manifest.main
    if kept is None or manifest.bundled == "redacted" or not manifest.home:
        return True
    pieces = source.content(main)
    needed = main.size if source.packed(main.name) else first_records_bytes(pieces)
    if kept.size < needed:
        return compare(folder, kept, main, source) != "equal"
    return compare(folder, kept, main, source) == "differs"


def first_records_bytes(pieces: Iterable[bytes]) -> int:
    """Return how long the first whole lines are that have `PROOF_BYTES`; all, where there are not so many."""
    begun = b""
    for piece in pieces:
        begun += piece
        if end := begun.find(b"\n", PROOF_BYTES - 1) + 1:
            return end
    return len(begun)


def _within(folder: Path, manifest: Manifest, kept: Kept, main: SourceFile, source: Source) -> Choice | None:
    """How a transcript goes into a version; None if it says other things, or more than can be appended."""
    packed = source.packed(kept.name) or source.packed(main.name)
    own = kept.path == main.path
    whole = manifest.size_at(kept, main.path) == kept.size
    if whole and (_begins_so if packed else _grown_in_place)(folder, kept, main, source):
        return Choice()
    relation = compare(folder, kept, main, source)
    if not packed and relation in ("equal", "extends"):
        return Choice()
    if relation == "contained" and not (own and packed):
        shrank = own and main.size < (manifest.size_at(kept, main.path) or 0)
        return Choice(skip_main=True, note="the source shrank; the store keeps what it had" if shrank else "")
    if relation == "equal" and not own:
        return Choice(skip_main=True)
    further = superseded(folder, manifest, kept, main, source) if own else None
    return Choice(grown=further) if further else None


def superseded(folder: Path, manifest: Manifest, kept: Kept, file: SourceFile, source: Source) -> Grown | None:
    """How a file that was written anew goes on from what is kept of it; None if that must stay as it is.

    It must stay also where it lay at other paths too: those files are to come back as they were."""
    if any(copy.kept == kept.name and copy.path != kept.path for copy in manifest.copies):
        return None
    earlier = partial(_records, kept.name, partial(evidence.read, folder, kept), source)
    return grown(source, earlier, partial(_records, file.name, partial(source.content, file), source))


def _records(name: str, pieces: Pieces, source: Source) -> Iterable[bytes]:
    return source.open(name, pieces())


def _is_followed(found: Found, kept: Kept) -> bool:
    """The file that was the transcript is there and is none any more: the agent goes on in another."""
    return any(file.path == kept.path and file.role == "side" for file in found.files)


def _packed_further(folder: Path, kept: Kept, main: SourceFile, source: Source) -> bool:
    """A file elsewhere that goes on, and cannot be appended because one of the two is packed.

    The last record of a document may itself go on; then the bytes tell what the records do not."""
    packed = source.packed(kept.name) or source.packed(main.name)
    return packed and (compare(folder, kept, main, source) == "extends" or _begins_so(folder, kept, main, source))


def names(shelf: Shelf) -> list[str]:
    """The versions beside the current one. Documents that somebody had edited lie there too, and are none."""
    there = sorted(shelf.versions.iterdir()) if shelf.versions.is_dir() else []
    return [path.name for path in there if path.is_dir() and not path.is_symlink()]


def _other_version(shelf: Shelf, main: SourceFile, source: Source) -> Choice:
    """A copy that differs from the current version: one of the versions known, or a new one."""
    note = "same id, other content: kept as a version of its own"
    for name in names(shelf):
        with contextlib.suppress(Damaged):  # then this is none that can be added to
            if choice := _within_version(shelf.version(name).evidence, main, source):
                return structs.replace(choice, version=name, note=note)
    return Choice(version=_digest(source.content(main))[:8], note=note)


def _within_version(folder: Path, main: SourceFile, source: Source) -> Choice | None:
    manifest = evidence.load(folder)
    if manifest is None or manifest.main is None:
        return None
    if manifest.bundled and is_planted(folder, manifest, main, source):
        return None
    return _within(folder, manifest, manifest.main, main, source)


def _digest(pieces: Iterable[bytes]) -> str:
    """The hash that `Kept.digest` will give for this content."""
    frames: list[str] = []
    current, length = hashlib.sha256(), 0
    for piece in pieces:
        current.update(piece)
        length += len(piece)
        if length >= evidence.FRAME_BYTES:
            frames.append(current.hexdigest())
            current, length = hashlib.sha256(), 0
    if length:
        frames.append(current.hexdigest())
    return hashlib.sha256("".join(frames).encode()).hexdigest()


def _grown_in_place(folder: Path, kept: Kept, file: SourceFile, source: Source) -> bool:
    """A file that only grew, judged without reading it again: its end is where and what it was."""
    if file.size < kept.size or not kept.frames:
        return False
    start = max(0, kept.size - SAMPLE_BYTES)
    return b"".join(evidence.read(folder, kept, start)) == b"".join(source.content(file, start, kept.size))


def rewritten(folder: Path, kept: Kept, file: SourceFile, source: Source) -> bool:
    """Whether a file no longer begins with what is kept of it."""
    if source.packed(kept.name):
        return not _begins_so(folder, kept, file, source)
    if not kept.frames or _grown_in_place(folder, kept, file, source):
        return False
    return compare(folder, kept, file, source) == "differs"


def compare(folder: Path, kept: Kept, file: SourceFile, source: Source) -> str:
    """How a file relates to what is kept: equal, extends, contained or differs. Compares content, all of it."""
    kept_records = source.open(kept.name, evidence.read(folder, kept))
    return relation(kept_records, source.open(file.name, source.content(file)))


def holds_bytes_of(folder: Path, kept: Kept, file: SourceFile, source: Source) -> bool:
    """Whether the very bytes of a file are the beginning of those that are kept."""
    return relation(evidence.read(folder, kept), source.content(file)) in ("equal", "contained")


def _begins_so(folder: Path, kept: Kept, file: SourceFile, source: Source) -> bool:
    """Whether the very bytes of a file begin with those that are kept; a database changes in its midst."""
    return relation(evidence.read(folder, kept), source.content(file)) in ("equal", "extends")


def relation(kept: Iterable[bytes], found: Iterable[bytes]) -> str:
    """How some bytes relate to those that are kept: equal, extends, contained or differs."""
    ours, theirs = _Stream(kept), _Stream(found)
    while True:
        length = min(ours.available(), theirs.available())
        if length == 0:
            break
        if ours.take(length) != theirs.take(length):
            return "differs"
    if ours.available():
        return "contained"
    return "extends" if theirs.available() else "equal"


class _Stream:
    """Pieces of any size, read in steps."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.pieces: Iterator[bytes] = iter(pieces)
        self.current = memoryview(b"")

    def available(self) -> int:
        while not self.current and (piece := next(self.pieces, None)) is not None:
            self.current = memoryview(piece)
        return len(self.current)

    def take(self, length: int) -> memoryview:
        taken, self.current = self.current[:length], self.current[length:]
        return taken


def set_damaged_aside(shelf: Shelf) -> bool:
    """Evidence without a readable manifest (a power cut) is kept under another name, and the source read anew."""
    try:
        evidence.load(shelf.evidence)
    except Damaged:
        shelf.evidence.replace(files.first_free(shelf.folder / "source-damaged"))
        return True
    return False


# -- keeping what is replaced


def free_name(shelf: Shelf, hash8: str) -> str:
    """A name for a version; the same content may come and go, each time with other files beside it."""
    number, name = 1, hash8
    while shelf.version(name).folder.exists():
        number += 1
        name = f"{hash8}-{number}"
    return name


def move(shelf: Shelf, to: Shelf) -> None:
    """Everything of a session to another shelf. The evidence goes last: while it is here, nothing is lost."""
    _move_derived(shelf, to)
    if shelf.evidence.exists():
        shelf.evidence.replace(to.evidence)


def replace(shelf: Shelf, staged: Shelf, to: Shelf) -> None:
    """Put a session that is complete in a staging folder in the place of the current one, which becomes a version.

    The new evidence goes to the place of the version first, is synced, and then the two change places in one step: a
    power cut or a kill at any moment leaves both the old and the new evidence where they are found again."""
    _move_derived(shelf, to)
    staged.evidence.replace(to.evidence)
    files.sync(to.folder)
    files.exchange(shelf.evidence, to.evidence)
    _move_derived(staged, shelf)


def _move_derived(shelf: Shelf, to: Shelf) -> None:
    files.make_folder(to.folder)
    if shelf.document.exists():
        shelf.document.replace(to.document)
    for name in ("rounds", "media", "sidechains", "session.db", "index.md"):
        if (shelf.folder / name).exists():
            (shelf.folder / name).replace(to.folder / name)


def keep_old_file(folder: Path, manifest: Manifest, kept: Kept) -> Manifest:
    """A file was rewritten: its former content stays under another name, out of the way of a restore.

    It is copied, not renamed: until the manifest is written it must be found under both."""
    old = structs.replace(kept, name=f"{kept.name}~{kept.digest[:8]}", role="old", edition=0)
    packed = evidence.packed_path(folder, kept)
    if kept.frames and packed.is_file():  # else it is lost; what replaces it must be archived all the same
        files.write_durable(evidence.packed_path(folder, old), files.chunks(packed))
    remaining = tuple(k for k in manifest.files if k.name != kept.name)
    changed = structs.replace(manifest, files=remaining).put(old)
    evidence.save(folder, changed)
    return changed


def keep_edited(shelf: Shelf) -> Path:
    """An edited document is copied aside before it is written anew."""
    data = files.read_regular(shelf.document)
    path = shelf.versions / f"edited-{hashlib.sha256(data).hexdigest()[:8]}.md"
    files.write_durable(path, [data])
    return path


def remove_stale_rounds(shelf: Shelf, last: int) -> None:
    """Round files behind the last one were left by a run that was killed while setting a version aside."""
    number = last + 1
    while os.path.exists(path := shelf.round_file(number)):
        path.unlink()
        number += 1


def round_with(shelf: Shelf, record_id: str, last: int) -> int | None:
    """The round that holds a record, searched backwards from `last`."""
    needle = f'"id":"{record_id}"'.encode("utf-8", "surrogatepass")
    for number in range(last, 0, -1):
        with contextlib.suppress(OSError):  # a file that is lost
            if needle in files.read_regular(shelf.round_file(number)):
                return number
    return None
