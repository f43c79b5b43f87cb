"""Whether the evidence of an unpacked bundle is what it says, and whether it may go back to an agent's home.

Hashes of members prove that the bundle is whole; they prove nothing of who made it. So every frame is unpacked and
compared with its own hash, and a session counts as one of an agent's home only if its source owns every file by name
(`Source.owns`) and the agent's own rules would find it there: else a bundle could bring files that an agent heeds, such
as its settings. A restore gives the verdict again when it writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from msgspec import structs

from muniment import ownership, sources
from muniment.bundle import contents
from muniment.bundle.contents import Contents, Limits
from muniment.errors import StoreError
from muniment.store import evidence
from muniment.store.evidence import Kept, Manifest

WHOLE, REDACTED = "whole", "redacted"
MAX_FRAME_BYTES = 512 << 20
"""A frame is unpacked in memory."""


def evidence_folders(folder: Path, session_id: str) -> Iterator[tuple[str, Path]]:
    """Of a session in an unpacked bundle: version ("" is the current one) and evidence."""
    own = folder / contents.SESSIONS / session_id
    yield "", own / "source"
    versions = own / "versions"
    for path in sorted(versions.iterdir()) if versions.is_dir() else ():
        if path.is_dir():
            yield path.name, path / session_id / "source"


def verify(folder: Path, made: Contents, limits: Limits) -> None:
    """Every session's evidence, whole; the manifests are rewritten for another machine on the way."""
    total = sum(member.size for member in made.members)
    most = limits.free_bytes + limits.ratio * total
    for session in made.sessions:
        for _, own in evidence_folders(folder, session.session_id):
            manifest = _load(own, session.session_id, session.source)
            most -= sum(kept.size for kept in manifest.files)
            if most < 0:
                raise StoreError("the evidence unpacks to far more than it holds", "it was made to fill the disk")
            for kept in manifest.files:
                _require_whole(own, kept)
            evidence.save(own, _here(manifest, own, made.redacted))


def _load(own: Path, session_id: str, source: str) -> Manifest:
    manifest = evidence.load(own)
    if manifest is None or not manifest.files:
        raise StoreError(f"the bundle has no evidence of session {session_id}")
    if (manifest.session_id, manifest.source) != (session_id, source):
        raise StoreError(f"the evidence of session {session_id} is that of another")
    sources.named(source)
    return manifest


def _require_whole(own: Path, kept: Kept) -> None:
    """Frames that follow one another without a gap, each of which unpacks to its hash, and nothing else."""
    if not all(is_relative(name) for name in (kept.name, kept.place or kept.name)):
        raise StoreError(f"the evidence holds {kept.name[:200]!r}, which leads elsewhere", "it was tampered with")
    at = packed = 0
    for frame in kept.frames:
        if (frame.offset, frame.packed_offset) != (at, packed) or not 0 < frame.length <= MAX_FRAME_BYTES:
            raise StoreError(f"the frames of {kept.name} do not follow one another", "it was tampered with")
        at, packed = at + frame.length, packed + frame.packed_length
    if kept.frames and evidence.packed_path(own, kept).stat().st_size != packed:
        raise StoreError(f"the evidence of {kept.name} is cut off or has more than it says")
    if sum(len(piece) for piece in evidence.read(own, kept)) != kept.size:
        raise StoreError(f"the evidence of {kept.name} is not what it says")


def is_relative(name: str) -> bool:
    pure = PurePosixPath(name)
    return bool(name) and not pure.is_absolute() and ".." not in pure.parts and "\0" not in name and "\\" not in name


def _here(manifest: Manifest, own: Path, redacted: bool) -> Manifest:
    """The manifest for this machine: paths at which copies lay on another mean nothing here."""
    at_home = manifest.home and _would_be_found(manifest, own)
    return structs.replace(manifest, home=at_home, copies=(), bundled=REDACTED if redacted else WHOLE)


def _would_be_found(manifest: Manifest, own: Path) -> bool:
    """Whether the source owns all of these files, and its own rules find this session in a home with nothing else."""
    source = sources.named(manifest.source)
    id_ = ownership.native_id(manifest)
    current = [(kept.place or kept.name, kept) for kept in manifest.files if kept.role != "old"]
    if not all(source.owns(name, kept.role, id_) for name, kept in current if source.given_back(kept.name)):
        return False
    heads = {name: ownership.head_kept(own, kept) for name, kept in current if kept.role != "history"}
    return not heads or bool(ownership.found_together(source, manifest.session_id, heads, in_home=True))
