"""Whether the evidence of an unpacked bundle is what it says, and whether it may go back to an agent's home.

Hashes of members prove that the bundle is whole; they prove nothing of who made it. So every frame is unpacked and
compared with its own hash, and a session counts as one of an agent's home only if its source owns every file by name
(`Source.owns`) and the agent's own rules would find it there: else a bundle could bring files that an agent heeds, such
as its settings. A restore gives the verdict again when it writes.
"""

from __future__ import annotations

import re
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
    _require_apart(manifest)
    return manifest


def _require_apart(manifest: Manifest) -> None:
    """Raise unless every file has a name and a place of its own, and every transcript says whose it is.

    Two subagents may have one id: clients that moved their files left the old ones behind."""
    told, hint = f"the evidence of session {manifest.session_id}", "it was tampered with"
    roles = [kept.role for kept in manifest.files]
    for same in ([kept.name for kept in manifest.files], [evidence.packed_slot(kept) for kept in manifest.files]):
        if len(set(same)) != len(same):
            raise StoreError(f"{told} names a file twice", hint)
    if roles.count("main") > 1:
        raise StoreError(f"{told} has several transcripts", hint)
    if not all(kept.id for kept in manifest.files if kept.role == "sidechain"):
        raise StoreError(f"{told} has a subagent without an id", hint)


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
    """The manifest for this machine: places on another one, and copies that lay there, mean nothing here."""
    kept = tuple(structs.replace(kept, root=None, place=_place(kept)) for kept in manifest.files)
    manifest = structs.replace(manifest, files=kept, copies=(), bundled=REDACTED if redacted else WHOLE)
    return structs.replace(manifest, home=manifest.home and _would_be_found(manifest, own))


def _place(kept: Kept) -> str | None:
    """Return the place of a file that was kept apart from another of its name; the place of any other is its name."""
    own, _, digits = kept.name.rpartition("@")
    return kept.place if kept.place == own and re.fullmatch("[0-9a-f]{8}", digits) else None


def _would_be_found(manifest: Manifest, own: Path) -> bool:
    """Whether the source owns all of these files, and its own rules find this session in a home with nothing else."""
    source = sources.named(manifest.source)
    id_ = ownership.native_id(manifest)
    current = [(kept.place or kept.name, kept) for kept in manifest.files if kept.role != "old"]
    if not current or not all(
        source.owns(name, kept.role, id_) for name, kept in current if source.given_back(kept.name)
    ):
        return False
    heads = {name: ownership.head_kept(own, kept) for name, kept in current if kept.role != "history"}
    if not heads:
        return True
    found = ownership.found_together(source, manifest.session_id, heads, in_home=True)
    written = {name for name, kept in current if kept.role != "history" and source.given_back(kept.name)}
    return bool(found) and not ownership.find_unproven(source, {manifest.session_id, id_}, written, found)
