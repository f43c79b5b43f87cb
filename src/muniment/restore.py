"""Giving the original files back: the very bytes, where the agent looks for them, fresh enough to stay.

Nothing is overwritten that differs unless asked; a session that a live client has open is left alone; the
modification times are new, because agents erase old files by them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path, PurePosixPath

from msgspec import Struct, structs

from muniment import files, sources
from muniment.before import Before
from muniment.errors import Conflict, MunimentError, NotFound, StoreError, Unsupported
from muniment.model import Facts
from muniment.model.words import many
from muniment.sources.base import Move, Source
from muniment.store import evidence, versions
from muniment.store.evidence import Kept, Manifest
from muniment.store.layout import Shelf


class Restored(Struct, frozen=True):
    """One file that was given back, or why it was not."""

    path: str
    what: str
    """written, unchanged, newer (the file there has more than we do), appended (history lines), other (what was there
    differs and was left alone, because the session only came along with another)."""
    bytes: int = 0
    then: str = ""
    """What has to be typed before the agent sees it; most agents find the file by themselves."""
    note: str = ""
    """What the agent will miss."""
    resume: str = ""
    """What a person types to go on with the session, told of a transcript that lies where its agent looks."""


class Target(Struct, frozen=True):
    """Where to."""

    to: Path | None = None
    """Another place than the agent's own."""
    move: Move = Move()
    force: bool = False
    taken: Set[Path] = frozenset()
    """Files of other sessions, given back just before."""
    along: bool = False
    """The session comes along with one that begins in it: whatever lies at its path is left as it is."""

    @property
    def only_current(self) -> bool:
        """Whether other versions and copies stay away: they lie at paths of their own."""
        return self.along or self.move != Move()


def restore(
    shelf: Shelf, facts: Facts, target: Target, env: Mapping[str, str], before: Before | None = None
) -> list[Restored]:
    """Write all files of a session back, and those of the sessions it begins in.

    Every conflict is found before anything is written."""
    before = before or Before()
    along = structs.replace(target, move=Move(cwd=target.move.cwd), force=False, along=True)
    plans = [plan for one in before.earlier for plan in _plans(one.shelf, one.facts, along, env)]
    plans += _plans(shelf, facts, target, env)
    restored = [plan.carry_out() for plan in plans]
    if restored and (lacks := _lacks(before)):
        restored[-1] = structs.replace(restored[-1], note=f"it goes on from {lacks}: its agent may refuse it")
    return restored


def _lacks(before: Before) -> str:
    """What of the sessions that one begins in is not there."""
    if before.missing:
        return f"session {before.missing}, which is not in the archive"
    return f"session {short}, which was inscribed before it came so far" if (short := before.short) else ""


def _plans(shelf: Shelf, facts: Facts, target: Target, env: Mapping[str, str]) -> list[_Plan]:
    manifest = evidence.load(shelf.evidence)
    if manifest is None:
        raise NotFound(f"no evidence of session {facts.session_id}", "`muniment check --stored` tells what is wrong")
    source = sources.named(manifest.source)
    plans: dict[Path, _Plan] = {}
    _refuse_strange(manifest, target)
    target = _apart(shelf, source, target, facts)
    for own in [shelf, *_versions(shelf, target)]:
        for wanted in _wanted(own, source, target):
            base = _base(wanted, source, target, env)
            if target.to and own is not shelf and _lay_elsewhere(wanted, manifest):
                base = base / own.folder.parent.name
            _refuse_live(source, base, facts)
            plan = _plan(own, wanted, source, base, facts, target)
            if own is shelf and wanted.kept.role == "main" and not target.along:
                plan = structs.replace(
                    plan, resume=_resume(plan.path, source, base in source.homes(env), facts, target)
                )
            plans.setdefault(plan.path, plan)
    return list(plans.values())


def _resume(path: Path, source: Source, at_home: bool, facts: Facts, target: Target) -> str:
    found = (at_home or source.resumed_by_path) and source.resumed(facts)  # none for what a person saved
    return source.going_on(source.identity(facts, target.move), str(path)) if found else ""


def _apart(shelf: Shelf, source: Source, target: Target, facts: Facts) -> Target:
    """Below one folder, sessions of several places may have files of one name: then each has a folder of its own."""
    if target.to is None or not target.taken:
        return target
    own = [wanted for wanted in _wanted(shelf, source, target) if wanted.kept.role == "main"]
    if not any(inside(target.to.absolute(), wanted.place) in target.taken for wanted in own):
        return target
    return structs.replace(target, to=target.to / facts.session_id, taken=frozenset())


def _lay_elsewhere(wanted: Wanted, current: Manifest) -> bool:
    """Whether a version has its name from another folder than the current one: below one folder they would collide."""
    same = [kept for kept in current.files if (kept.place or kept.name) == wanted.place]
    return any((kept.root or current.root) != wanted.root for kept in same)


def choose_version(asked: str, known: Mapping[str, Facts]) -> str:
    """The version with this name or beginning of a name."""
    found = [name for name in known if name.startswith(asked.lower())]
    if asked in known or len(found) == 1:
        return asked if asked in known else found[0]
    told = [f"{name} ({version_told(facts)})" for name, facts in known.items()]
    hint = f"there are: {', '.join(told)}" if told else "the session has no older versions"
    raise NotFound(f"{len(found) or 'no'} versions are called {asked!r}", hint)


def version_told(facts: Facts) -> str:
    """How much a version has, and until when it went if it tells."""
    rounds = many(facts.rounds, "round")
    return f"{rounds}, until {facts.ended}" if facts.ended else rounds


class Wanted(Struct, frozen=True):
    """One file to be given back: what is kept of it, how much of that, and where it was."""

    kept: Kept
    size: int
    root: str
    place: str
    home: bool


def _versions(shelf: Shelf, target: Target) -> list[Shelf]:
    """Versions lie at paths of their own; one that is moved or forked is the current one."""
    found = [] if target.only_current else [shelf.version(name) for name in versions.names(shelf)]
    return [own for own in found if _strange(evidence.load(own.evidence), target) is None]


def _refuse_strange(manifest: Manifest, target: Target) -> None:
    if error := _strange(manifest, target):
        raise error


def _strange(manifest: Manifest | None, target: Target) -> MunimentError | None:
    """Why what came in a bundle cannot be put there: it is not the exact bytes, or its place is on another machine."""
    if manifest and manifest.bundled == "redacted":
        hint = "`muniment export` writes what is there in an agent's format"
        return Unsupported("the session came without its secrets: its exact bytes are not here", hint)
    if manifest and manifest.bundled and not (manifest.home or target.to or target.move.cwd):
        return Conflict("the session comes from a folder of another machine", "say where to put it: --to DIR")
    return None


def _wanted(shelf: Shelf, source: Source, target: Target) -> Iterator[Wanted]:
    manifest = evidence.load(shelf.evidence)
    for kept in manifest.files if manifest else ():
        if manifest and kept.role != "old" and source.given_back(kept.name):
            size = kept.size if target.only_current else _size_there(manifest, kept)
            root, place = kept.root or manifest.root, kept.place or kept.name
            yield Wanted(kept, size, root, place, manifest.home)
    for copy in manifest.copies if manifest and not target.only_current else ():
        kept = manifest.get(copy.kept) if manifest else None
        if kept and source.given_back(kept.name):
            yield Wanted(kept, copy.size, copy.root, copy.place, copy.home)


def _size_there(manifest: Manifest, kept: Kept) -> int:
    """How much of a file belongs at its path: as much as lay there, unless the rest has no other place to return to."""
    elsewhere = any(copy.kept == kept.name and copy.size == kept.size for copy in manifest.copies)
    size = manifest.size_at(kept, kept.path) if elsewhere else None
    return kept.size if size is None else size


def _base(wanted: Wanted, source: Source, target: Target, env: Mapping[str, str]) -> Path:
    """The folder that names are relative to: the one asked for, today's home of the agent, or where it was."""
    if target.to:
        return target.to.absolute()
    homes = source.homes(env)
    root = Path(wanted.root)
    if root in homes or not (wanted.home or target.move.cwd):
        return root
    return homes[0] if homes else root


def _refuse_live(source: Source, base: Path, facts: Facts) -> None:
    if pid := source.live(base, facts.native_id or facts.session_id):
        raise Conflict(f"session {facts.session_id} is open in process {pid}", "close it first; nothing was written")


class _Plan(Struct, frozen=True):
    """One file to be written."""

    path: Path
    what: str
    pieces: Iterable[bytes]
    then: str = ""
    resume: str = ""

    def carry_out(self) -> Restored:
        size, what = 0, self.what
        if self.what == "written":
            files.make_folder(self.path.parent)
            size = _write(self.path, self.pieces)
        elif self.what == "appended":
            size = _append_lines(self.path, b"".join(self.pieces))
            what = what if size else "unchanged"
        elif self.what == "unchanged":
            os.utime(self.path)
        return Restored(str(self.path), what, size, self.then, resume=self.resume)


def _plan(shelf: Shelf, wanted: Wanted, source: Source, base: Path, facts: Facts, target: Target) -> _Plan:
    kept = wanted.kept

    def content() -> tuple[str, Iterable[bytes]]:
        pieces = _first(evidence.read(shelf.evidence, kept), wanted.size)
        if target.move == Move() or kept.role == "history":
            return wanted.place, pieces
        return source.moved(wanted.place, pieces, facts, target.move)

    name, pieces = content()
    path = inside(base, name)
    if kept.role == "history":
        return _Plan(path, "appended", pieces)
    relation = _relation(path, pieces)
    if relation == "differs" and target.along:
        return _Plan(path, "other", ())
    if relation == "differs" and not target.force:
        raise Conflict(f"{path} exists and differs", "nothing was written; --force replaces it, --to writes elsewhere")
    what = {"missing": "written", "differs": "written", "shorter": "written", "equal": "unchanged", "longer": "newer"}
    return _Plan(path, what[relation], content()[1], source.taking_in(str(path)) if kept.role == "main" else "")


def _first(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The first `size` bytes."""
    for piece in pieces:
        yield piece[:size]
        size -= len(piece)
        if size <= 0:
            return


def inside(base: Path, name: str) -> Path:
    """`name` below `base`; never outside it, not even through a link."""
    pure = PurePosixPath(name)
    if pure.is_absolute() or ".." in pure.parts or not _can_name(name):
        raise StoreError(f"{name!r} would leave {base}", "the evidence was tampered with")
    path = base.joinpath(*pure.parts)
    existing = next(p for p in [path.parent, *path.parent.parents] if p.exists())
    if not existing.resolve().is_relative_to(base.resolve()) and base.exists():
        raise Conflict(f"{existing} leads out of {base}", "links are not followed; remove it or use --to")
    return path


def _can_name(name: str) -> bool:
    """Whether a file can have this name at all."""
    try:
        return b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False


def _relation(path: Path, pieces: Iterable[bytes]) -> str:
    """How what lies at a path compares with what would be written."""
    if path.is_symlink():
        return "differs"
    if not path.exists():
        return "missing"
    theirs = 0
    size = path.stat().st_size
    with files.open_regular(path) as file:
        for piece in pieces:
            there = file.read(len(piece)) or b""
            if not piece.startswith(there):
                return "differs"
            theirs += len(there)
            if len(there) < len(piece):
                return "shorter"
    return "equal" if theirs == size else "longer"


def _write(path: Path, pieces: Iterable[bytes]) -> int:
    size = 0

    def counted() -> Iterator[bytes]:
        nonlocal size
        for piece in pieces:
            size += len(piece)
            yield piece

    files.write_atomic(path, counted())
    return size


def _append_lines(path: Path, lines: bytes) -> int:
    """Lines that are not there yet, added at the end; the rest of a shared file is not ours to touch."""
    there = b"".join(files.chunks(path)) if path.exists() or path.is_symlink() else b""
    known = set(there.split(b"\n"))
    missing = [line for line in lines.split(b"\n") if line and line not in known]
    if not missing:
        return 0
    files.make_folder(path.parent)
    start = b"\n" if there and not there.endswith(b"\n") else b""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, files.FILE_MODE)
    with os.fdopen(descriptor, "wb") as out:
        return out.write(start + b"\n".join(missing) + b"\n")
