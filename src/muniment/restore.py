"""Giving the original files back: the very bytes, where the agent looks for them, fresh enough to stay.

Nothing is overwritten that differs unless asked; a session that a live client has open is left alone; the
modification times are new, because agents erase old files by them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path, PurePosixPath

from msgspec import Struct, structs

from muniment import files, ownership, sources
from muniment.before import Before
from muniment.errors import Conflict, MunimentError, NotFound, StoreError, Unsupported
from muniment.model import Facts
from muniment.model.words import many
from muniment.ownership import File, Homes
from muniment.sources import finding
from muniment.sources.base import Move, Source
from muniment.store import evidence, versions
from muniment.store.evidence import Manifest
from muniment.store.layout import Shelf
from muniment.wanted import Key, Placed, Wanted, lay_elsewhere, name_apart, settle, wanted_files
from muniment.write_back import WHAT, Plan, Restored, compare

__all__ = ["Restored", "Target", "choose_version", "inside", "restore", "version_told"]


class Target(Struct, frozen=True):
    """Where to."""

    to: Path | None = None
    """Another place than the agent's own."""
    move: Move = Move()
    force: bool = False
    taken: Set[str] = frozenset()
    """Paths of files of other sessions, given back just before, as `files.fold` gives them."""
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


def _plans(shelf: Shelf, facts: Facts, target: Target, env: Mapping[str, str]) -> list[Plan]:
    manifest = evidence.load(shelf.evidence)
    if manifest is None:
        raise NotFound(f"no evidence of session {facts.session_id}", "`muniment check --stored` tells what is wrong")
    _refuse_strange(manifest, target)
    return _Planner(shelf, manifest, facts, target, env).plans()


class _Planner:
    """What a restore of one session will do, all of it known before anything is written."""

    def __init__(self, shelf: Shelf, manifest: Manifest, facts: Facts, target: Target, env: Mapping[str, str]) -> None:
        self.shelf, self.manifest, self.facts = shelf, manifest, facts
        self.source = sources.named(manifest.source)
        self.target = _apart(shelf, manifest, self.source, target, facts)
        self.homes = finding.known_homes(self.source, env)
        self.everywhere = Homes(env)
        self.native_id = ownership.native_id(manifest)
        self.left: list[Plan] = []

    def plans(self) -> list[Plan]:
        chosen, apart = settle([*self._placed(), *self._placed_versions()])
        if self.target.to:  # their new paths may be those of others, too
            chosen, apart = settle([*chosen, *map(self._rename_apart, apart)])
        for one in apart:
            self._leave(one.path, f"another file has its place: {self._hint(one.wanted)} gives it back")
        return [self._plan(one) for one in chosen] + self.left

    def _rename_apart(self, one: Placed) -> Placed:
        name = name_apart(one)
        return structs.replace(one, name=name, path=inside(one.base, name))

    def _hint(self, wanted: Wanted) -> str:
        return "--to DIR" if wanted.shelf == self.shelf else f"--version {wanted.version}"

    def _leave(self, path: Path, why: str) -> None:
        self.left.append(Plan(path, "left out", (), note=why))

    # -- where each goes

    def _placed(self) -> Iterator[Placed]:
        """The files of the current version that may be written, each with its place."""
        for one, allowed in self._judged(self.shelf, self.manifest, self.target.only_current):
            if self._is_added(one.wanted):
                self._leave(one.path, "it came in a bundle; --to DIR writes it elsewhere")
            elif allowed:
                yield one
            elif self.manifest.bundled or one.wanted.kept.role == "main":
                hint = "nothing was written; --to DIR writes it to a new folder"
                raise Conflict(f"{one.name!r} is no file of a {self.source.title} session", hint)
            else:
                self._leave(one.path, f"it is no file of a {self.source.title} session; --to DIR writes it elsewhere")

    def _placed_versions(self) -> Iterator[Placed]:
        """Those of other versions; not of one that a later version took the place of at its path."""
        replaced = {(kept.root or self.manifest.root, kept.place or kept.name) for kept in self.manifest.files}
        for own, manifest in _versions(self.shelf, self.target):
            judged = self._judged(own, manifest, only_current=False)
            if manifest.bundled and not all(allowed for _, allowed in judged):
                continue
            for one, allowed in judged:
                if self._is_added(one.wanted):
                    self._leave_version(one)
                elif allowed and one.wanted.where not in replaced:
                    yield one

    def _leave_version(self, one: Placed) -> None:
        if one.wanted.kept.role == "main":
            self._leave(one.path, f"it is a version that came in a bundle: {self._hint(one.wanted)} gives it back")

    def _is_added(self, wanted: Wanted) -> bool:
        """Whether a file came in a bundle to a session that is this machine's own.

        A stranger can name any session: their files go where a person asks for them, not along with one's own."""
        return wanted.bundled and not self.manifest.bundled and self.target.to is None

    def _judged(self, shelf: Shelf, manifest: Manifest, only_current: bool) -> list[tuple[Placed, bool]]:
        """The files of a version with their places, and whether each may be written there."""
        files = list(wanted_files(shelf, manifest, self.source, only_current))
        ids = self._ids(files)
        unproven = self._find_unproven(files, ids)
        known = self._found_here(files, ids) - unproven
        placed = [(self._place(wanted, wanted.key in known), wanted.key in known) for wanted in files]
        return [(one, self._may_go(one, is_known, ids, unproven)) for one, is_known in placed]

    def _may_go(self, one: Placed, is_known: bool, ids: frozenset[str], unproven: set[Key]) -> bool:
        """Whether a file may be written. What is no session's by its old name is none by a new one, too."""
        if is_known and self._returns(one):
            return True
        return (is_known or self.target.to is not None) and self._may_write(one, ids, one.wanted.key in unproven)

    def _place(self, wanted: Wanted, known: bool) -> Placed:
        base = self._base(wanted, known)
        if self.target.to and wanted.shelf != self.shelf and lay_elsewhere(wanted, self.manifest):
            base = base / wanted.version
        name = self._content(wanted)[0]
        return Placed(wanted, base, name, inside(base, name))

    def _base(self, wanted: Wanted, known: bool) -> Path:
        """The folder that names are relative to: the one asked for, today's home of the agent, or where it was.

        Below the one asked for, a file that is none of a session's gets a folder apart."""
        if self.target.to:
            base = self.target.to.absolute()
            if known or self.manifest.bundled:
                return base
            if inside(base, wanted.place).is_symlink():  # one that leads out of there is refused, not put apart
                raise Conflict(f"{base / wanted.place} is a link", "links are not followed; remove it or use --to")
            return base / self.facts.session_id
        root = Path(wanted.root)
        if root in self.homes or not (wanted.bundled or wanted.home or self.target.move.cwd):
            return root
        if wanted.bundled and not self.homes:
            raise Conflict(f"{self.source.title} has no folder on this machine", "say where to put it: --to DIR")
        return self.homes[0] if self.homes else root

    # -- the verdict

    def _ids(self, files: list[Wanted]) -> frozenset[str]:
        """The ids under which the session may have files: its own, a new one, and those in the names of transcripts."""
        mains = [w.place for w in files if w.kept.role == "main" and not w.bundled]
        return frozenset(self._own_ids().union(*(ownership.ids_in(self.source, place) for place in mains)))

    def _own_ids(self) -> set[str]:
        """Return the session's id and the new one that it gets. What its records call it may be the id of another."""
        move = self.target.move
        return {self.native_id, *([self.source.identity(self.facts, move)] if move.session_id else [])}

    def _returns(self, one: Placed) -> bool:
        """Whether a file goes to the very path that it was found at, in a plain folder."""
        return not one.wanted.bundled and one.base not in self.homes and one.path == Path(one.wanted.origin)

    def _may_write(self, one: Placed, ids: frozenset[str], unproven: bool) -> bool:
        plain = self.target.to is None and one.base not in self.homes
        origin = Path(one.wanted.origin) if plain else None
        bundled, chosen = one.wanted.bundled, self.target.to is not None
        file = File(self.source, ids, one.wanted.kept.role, one.name, one.path, bundled, chosen, origin, unproven)
        return ownership.may_write(file, self.everywhere)

    def _found_here(self, files: list[Wanted], ids: frozenset[str]) -> set[Key]:
        """The files that are surely a session's: transcripts and copies that were found on this machine, and what the
        source takes for one by its name or by its own rules. Any other may have come in a bundle long ago."""
        plain = [w for w in files if not w.bundled and w.kept.role != "history"]
        known = {w.key for w in plain if w.seen or w.kept.role == "main"}
        known |= {w.key for w in files if any(self.source.owns(w.place, w.kept.role, id_) for id_ in ids)}
        if any(not wanted.home and wanted.key not in known for wanted in plain):
            for root in {wanted.root for wanted in plain}:
                known |= self._found_in_folder([w for w in plain if w.root == root])
        return known

    def _find_unproven(self, files: list[Wanted], ids: frozenset[str]) -> set[Key]:
        """Files of a bundle with names that any session could have, and that the source reads as none of this one."""
        written = [w for w in files if w.bundled and w.kept.role != "history"]
        own = {*ids, self.manifest.session_id}
        if not ownership.find_unproven(self.source, own, [w.place for w in written], ()):
            return set()
        heads = {w.place: ownership.head_kept(w.shelf.evidence, w.kept) for w in written}
        found = ownership.found_together(self.source, self.manifest.session_id, heads, in_home=True)
        unproven = ownership.find_unproven(self.source, own, heads, found)
        return {wanted.key for wanted in written if wanted.place in unproven}

    def _found_in_folder(self, files: list[Wanted]) -> set[Key]:
        heads = {w.place: ownership.head_kept(w.shelf.evidence, w.kept) for w in files}
        found = ownership.found_together(self.source, self.manifest.session_id, heads, in_home=False)
        return {wanted.key for wanted in files if wanted.place in found}

    # -- what is done

    def _plan(self, one: Placed) -> Plan:
        _refuse_live(self.source, one.base, self.facts)
        kept, path = one.wanted.kept, one.path
        if kept.role == "history":
            return Plan(path, "appended", [self._own_lines(one)])
        relation = compare(path, self._content(one.wanted)[1])
        if relation == "differs" and self.target.along:
            return Plan(path, "other", ())
        if relation in ("differs", "shorter") and one.wanted.bundled and not self._is_own_file(one):
            return self._keep_as_it_is(one)
        if relation == "differs" and not self.target.force:
            hint = "nothing was written; --force replaces it, --to writes elsewhere"
            raise Conflict(f"{path} exists and differs", hint)
        then = self.source.taking_in(str(path)) if kept.role == "main" else ""
        return Plan(path, WHAT[relation], self._content(one.wanted)[1], then, self._resume(one))

    def _is_own_file(self, one: Placed) -> bool:
        """Whether what lies at a path is a file of this session: its name or the source tells so.

        In a folder that a person named, and that is no home, it is enough that no other session is there."""
        owners = [name for source, name in self.everywhere.owners(one.path) if source is self.source]
        if any(ownership.is_bound(self.source, name, self._own_ids()) for name in owners):
            return True
        there = ownership.sessions_at(self.source, one.path, one.base)
        return there == {self.manifest.session_id} or not (there or owners)

    def _keep_as_it_is(self, one: Placed) -> Plan:
        """Leave what sessions share; anything else that is not this session's keeps the whole of it away."""
        if one.wanted.kept.role == "side" and self.target.force:
            return Plan(one.path, "left out", (), note="sessions share it, and another is there; --to DIR writes it")
        hint = "nothing was written; --to DIR writes it to a new folder"
        raise Conflict(f"{one.path} exists and is no file of this session", hint)

    def _content(self, wanted: Wanted) -> tuple[str, Iterable[bytes]]:
        """The name and the bytes of a file, changed if the session moves."""
        if self.target.move == Move() or wanted.kept.role == "history":
            return wanted.place, wanted.content()
        return self.source.moved(wanted.place, wanted.content(), self.facts, self.target.move)

    def _own_lines(self, one: Placed) -> bytes:
        """The lines of a history that are about this session: of others nobody has a right to speak."""
        lines = b"".join(one.wanted.content()).split(b"\n")
        return b"\n".join(line for line in lines if self.source.notes(one.name, line, self.native_id))

    def _resume(self, one: Placed) -> str:
        wanted, facts = one.wanted, self.facts
        if wanted.shelf != self.shelf or wanted.kept.role != "main" or self.target.along:
            return ""
        reachable = one.base in self.homes or self.source.resumed_by_path
        found = reachable and self.source.resumed(facts)  # none for what a person saved
        return self.source.going_on(self.source.identity(facts, self.target.move), str(one.path)) if found else ""


def _apart(shelf: Shelf, manifest: Manifest, source: Source, target: Target, facts: Facts) -> Target:
    """Below a folder that holds something, a session may need a folder of its own: where its names are taken, and where
    they came in a bundle and are none that a session of its agent has."""
    if target.to is None:
        return target
    wanted = list(wanted_files(shelf, manifest, source, target.only_current))
    mains = [files.fold(str(inside(target.to.absolute(), w.place))) for w in wanted if w.kept.role == "main"]
    taken = any(path in target.taken for path in mains)
    if taken or (manifest.bundled and not _is_at_home_in(target.to.absolute(), wanted, source, manifest)):
        return structs.replace(target, to=target.to / facts.session_id, taken=frozenset())
    return target


def _is_at_home_in(folder: Path, wanted: list[Wanted], source: Source, manifest: Manifest) -> bool:
    """Whether all files of a bundled session may lie in a folder: it is empty, or has them, or they harm nobody."""
    id_ = ownership.native_id(manifest)
    return (
        all(source.owns(one.place, one.kept.role, id_) for one in wanted)
        or not (folder.exists() and any(folder.iterdir()))
        or all(compare(inside(folder, one.place), one.content()) == "equal" for one in wanted)
    )


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


def _versions(shelf: Shelf, target: Target) -> list[tuple[Shelf, Manifest]]:
    """Versions lie at paths of their own; one that is moved or forked is the current one."""
    shelves = [] if target.only_current else [shelf.version(name) for name in versions.names(shelf)]
    found = [(own, manifest) for own in shelves if (manifest := evidence.load(own.evidence))]
    return [(own, manifest) for own, manifest in found if _strange(manifest, target) is None]


def _refuse_strange(manifest: Manifest, target: Target) -> None:
    if error := _strange(manifest, target):
        raise error


def _strange(manifest: Manifest, target: Target) -> MunimentError | None:
    """Why what came in a bundle cannot be put there: it is not the exact bytes, or its place is on another machine."""
    if manifest.bundled == "redacted":
        hint = "`muniment export` writes what is there in an agent's format"
        return Unsupported("the session came without its secrets: its exact bytes are not here", hint)
    if manifest.bundled and not (manifest.home or target.to):
        return Conflict("the session comes from a folder of another machine", "say where to put it: --to DIR")
    return None


def _refuse_live(source: Source, base: Path, facts: Facts) -> None:
    if pid := source.live(base, facts.native_id or facts.session_id):
        raise Conflict(f"session {facts.session_id} is open in process {pid}", "close it first; nothing was written")


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
