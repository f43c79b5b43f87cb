"""Putting the sessions of a verified bundle into the store, as an inscription would.

A session that is not there is moved in whole. Of one that is there: evidence that is there already brings nothing; what
goes on from where ours ends is appended; anything else becomes a version beside ours. Then documents, rounds and rows
are derived from the evidence, by the same code that derives them for any session.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, structs

from muniment import batch, files, sources
from muniment.batch import Plan
from muniment.bundle.contents import SESSIONS, Bundled
from muniment.bundle.verify import REDACTED, evidence_folders
from muniment.inscribe import Outcome
from muniment.inscribe.messages import Progress, is_transcript
from muniment.inscribe.rebuilding import tasks_of
from muniment.model import codec
from muniment.sources.base import FileRole, Source
from muniment.store import evidence, index, versions
from muniment.store.evidence import Appender, Kept, Manifest
from muniment.store.index import Index
from muniment.store.layout import Layout, Shelf
from muniment.store.rows import fit


class Placed(Struct, frozen=True):
    """What became of one session."""

    session_id: str
    what: str
    """new, appended, version or unchanged."""
    rebuild: tuple[str, ...] = ()
    """Versions whose evidence was changed; "" is the current one."""


def place(layout: Layout, folder: Path, session: Bundled, agent_id: str) -> Placed:
    """The evidence of one session into the store; the caller holds the lock."""
    shelf = layout.shelf(agent_id, session.session_id)
    if evidence.load(shelf.evidence) is None:
        return _new(shelf, folder, session.session_id)
    whats: list[tuple[str, str]] = []
    for _, own in evidence_folders(folder, session.session_id):
        whats += _beside(shelf, own)
    what = next((w for w in ("version", "appended") if w in {w for w, _ in whats}), "unchanged")
    return Placed(session.session_id, what, tuple(dict.fromkeys(version for _, version in whats)))


def _new(shelf: Shelf, folder: Path, session_id: str) -> Placed:
    """The evidence goes last: only then is there a session."""
    rebuild: list[str] = []
    for version, own in reversed(list(evidence_folders(folder, session_id))):
        target = shelf.version(version) if version else shelf
        _move(own.parent.with_suffix(".md") if version else folder / SESSIONS / f"{session_id}.md", target.document)
        _move(own, target.evidence)
        rebuild.append(version)
    for path in (folder / SESSIONS / session_id / "versions").glob("edited-*.md"):
        _move(path, shelf.versions / path.name)
    return Placed(session_id, "new", tuple(reversed(rebuild)))


def _move(source: Path, target: Path) -> None:
    if source.exists() and not target.exists():
        files.make_folder(target.parent)
        os.rename(source, target)


# -- a session that is there


def _beside(shelf: Shelf, theirs: Path) -> Iterator[tuple[str, str]]:
    """What to do with one version of a bundle, done: what, and which version of ours it changed."""
    their_manifest = evidence.load(theirs)
    assert their_manifest, "it was verified"
    for version in ("", *versions.names(shelf)):
        own = (shelf.version(version) if version else shelf).evidence
        ours = evidence.load(own)
        if ours is None or (their_manifest.bundled == REDACTED) != (ours.bundled == REDACTED):
            continue
        if _is_same_session(own, ours, theirs, their_manifest) and _fits_beside(ours, their_manifest):
            if _joined(own, ours, theirs, their_manifest):
                yield "appended", version
            return
    yield from _as_version(shelf, theirs, their_manifest)


def _as_version(shelf: Shelf, theirs: Path, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """A whole session takes the place of one without secrets; else it lies beside ours."""
    ours = evidence.load(shelf.evidence)
    main = manifest.main or manifest.files[0]
    if ours and ours.bundled == REDACTED and manifest.bundled != REDACTED:
        aside = versions.free_name(shelf, (ours.main or ours.files[0]).digest[:8])
        versions.move(shelf, shelf.version(aside))
        _move(theirs, shelf.evidence)
        yield from (("version", ""), ("version", aside))
        return
    name = versions.free_name(shelf, main.digest[:8])
    _move(theirs, shelf.version(name).evidence)
    yield "version", name


def _is_same_session(own: Path, ours: Manifest, theirs: Path, manifest: Manifest) -> bool:
    """Whether their evidence begins as ours does, or one of the two has nothing that the other has not."""
    if ours.main is None and manifest.main is not None:
        return False
    if ours.main and manifest.main:
        pairs = [(ours.main, manifest.main)]
    else:
        spoken = (kept for kept in manifest.files if kept.role in ("sidechain", "history"))
        pairs = [(known, kept) for kept in spoken if (known := ours.get(kept.name))]
    source = sources.named(ours.source)
    if any(_begin_alike(own, known, theirs, kept, source) for known, kept in pairs):
        return True
    here, there = ({(kept.name, kept.digest) for kept in one.files} for one in (ours, manifest))
    return here <= there or there <= here


def _begin_alike(own: Path, ours: Kept, folder: Path, theirs: Kept, source: Source) -> bool:
    """Whether the bytes are alike as far as the shorter goes, and enough of them to tell that theirs is no guess.

    Whoever knows an id can guess how a transcript begins, and could add files to ours."""
    needed = ours.size if source.packed(ours.name) else versions.first_records_bytes(evidence.read(own, ours))
    return 0 < needed <= theirs.size and _relation(own, ours, folder, theirs) != "differs"


def _relation(own: Path, ours: Kept, folder: Path, theirs: Kept) -> str:
    """How their bytes relate to ours: equal, extends, contained or differs."""
    return versions.relation(evidence.read(own, ours), evidence.read(folder, theirs))


def _fits_beside(ours: Manifest, manifest: Manifest) -> bool:
    """Whether no file of theirs would be packed where another one of ours is."""
    taken = {evidence.packed_slot(kept): kept.name for kept in ours.files}
    added = [kept for kept in manifest.files if kept.role != "main"]
    return all(taken.get(evidence.packed_slot(kept), kept.name) == kept.name for kept in added)


def _joined(own: Path, ours: Manifest, theirs: Path, manifest: Manifest) -> bool:
    """What they have and we do not, added to ours; tells whether there was anything."""
    made = ours
    for kept in manifest.files:
        made = _join_file(own, made, theirs, kept)
    if made != ours:
        evidence.save(own, made)
    return made != ours


def _join_file(own: Path, made: Manifest, theirs: Path, kept: Kept) -> Manifest:
    known = made.main if kept.role == "main" else made.get(kept.name)
    relation = _relation(own, known, theirs, kept) if known else "extends"
    if relation in ("equal", "contained"):
        return made
    if kept.role == "history" and not made.bundled:
        return _add(own, made, theirs, kept, f"{kept.name}@{kept.digest[:8]}", "history")
    if known and (relation == "differs" or not known.size):
        return _add(own, made, theirs, kept, f"{known.name}~{kept.digest[:8]}", "old")
    if known is None:
        return _add(own, made, theirs, kept, kept.name, kept.role)
    longer = _appended(own, known, evidence.read(theirs, kept, known.size))
    if kept.role == "main" or made.is_bundled(known):
        return made.put(longer)
    root, place = known.root or made.root, known.place or known.name
    longer = structs.replace(longer, bundled=True)  # so a restore gives back as much as was found here
    return made.put(longer).seen_at(longer, known.path, root, place, made.home, known.size)


def _add(own: Path, made: Manifest, theirs: Path, kept: Kept, name: str, role: FileRole) -> Manifest:
    """A file that ours has not. Of where it lay nothing is taken over but its name, and it is marked: a restore writes
    it only where it is asked to, and asks the source whether a session has such a file."""
    if made.get(name):
        return made
    place = kept.place or kept.name
    new = Kept(name, role, f"{made.root}/{name}", mtime_ns=kept.mtime_ns, id=kept.id, bundled=True)
    new = structs.replace(new, place=None if place == name else place)
    return made.put(_appended(own, new, evidence.read(theirs, kept)))


def _appended(own: Path, kept: Kept, pieces: Iterable[bytes]) -> Kept:
    appender = Appender(own, kept)
    for _ in appender.through(pieces):
        pass
    return appender.close()


# -- what is derived


def derive(layout: Layout, placed: Iterable[Placed], agents: Mapping[str, str]) -> list[Outcome]:
    """Documents, rounds and rows of what was placed; gives what went wrong."""
    outcomes: list[Outcome] = []
    waiting = {one.session_id: _to_derive(layout, one, agents[one.session_id]) for one in placed}
    while wave := {session_id: versions_.pop(0) for session_id, versions_ in waiting.items() if versions_}:
        tasks = tuple(
            task
            for session_id, version in wave.items()
            for task in tasks_of(layout.shelf(agents[session_id], session_id), agents[session_id], version)
        )
        batch.carry_out(layout, Plan(tasks, 0), outcomes.append)
    return [outcome for outcome in outcomes if outcome.what == "failed"]


def _to_derive(layout: Layout, one: Placed, agent_id: str) -> list[str]:
    """Versions that were changed now, and those whose evidence the index does not know: a run that was killed had
    placed it. The current one comes first."""
    shelf = layout.shelf(agent_id, one.session_id)
    every = ["", *versions.names(shelf)]
    if not index.exists(layout):
        return every
    with Index(layout) as known:
        return [v for v in every if v in one.rebuild or not _is_read(shelf, v, known.progress(one.session_id, v))]


def _is_read(shelf: Shelf, version: str, progress: Mapping[str, bytes]) -> bool:
    """Whether every transcript of a version was read to its end."""
    manifest = evidence.load((shelf.version(version) if version else shelf).evidence)
    kept = manifest.files if manifest else ()
    read = {name: codec.decode(state, Progress).size for name, state in progress.items()}
    return all(read.get(fit(file.name) or "") == file.size for file in kept if is_transcript(file, kept))
