"""Whether a restore may write a file to a place: the verdict, given at the moment of writing.

What a manifest says of places may be a stranger's word: it came in a bundle, or somebody changed it on disk. So nothing
in it is believed that the source does not declare (`Source.owns`):

- Into the agent's home goes what a session of this source has there, and nothing else. Of a file that came in a bundle,
  it must be a file of this very session: its name tells so, or the source reads it as one.
- What came in a bundle goes nowhere else, unless a person names a folder; that may be no agent's home. It never takes
  the place of a file that is not this session's.
- A session that was inscribed from a plain folder returns there, with the files that the source finds beside it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from msgspec import Struct

from muniment import files, sources
from muniment.sources import finding
from muniment.sources.base import HEAD_BYTES, FileRole, Source, head_of, session_id_of
from muniment.store import evidence
from muniment.store.evidence import Kept, Manifest


class Homes:
    """The homes of all agents of this machine."""

    def __init__(self, env: Mapping[str, str]) -> None:
        known = [(source, home) for source in sources.all_sources() for home in finding.known_homes(source, env)]
        self.known = [(source, [files.fold(part) for part in _real_parts(home)]) for source, home in known]

    def owners(self, path: Path) -> Iterator[tuple[Source, str]]:
        """The sources whose home a path lies in, each with its name there.

        Links are resolved, and letters compared as the most lenient file system does."""
        parts = _real_parts(path)
        folded = [files.fold(part) for part in parts]
        for source, home in self.known:
            if folded[: len(home)] == home and len(parts) > len(home):
                yield source, "/".join(parts[len(home) :])


def _real_parts(path: Path) -> tuple[str, ...]:
    return Path(os.path.realpath(path)).parts


def native_id(manifest: Manifest) -> str:
    """The agent's own id of a session, if it is one: a bundle could name that of another session."""
    own = manifest.native_id
    fits = own and (manifest.session_id in own or session_id_of(manifest.source, own) == manifest.session_id)
    return own if own and fits else manifest.session_id


class File(Struct, frozen=True):
    """A file on its way back to a place."""

    source: Source
    ids: frozenset[str]
    """Under which the session may have files."""
    role: FileRole
    name: str
    """Its name below the folder it is written to."""
    path: Path
    bundled: bool
    chosen: bool
    """Whether a person named the folder."""
    origin: Path | None = None
    """Where it was found, if it returns to a plain folder of this machine."""
    unproven: bool = False
    """Whether it came in a bundle and nothing shows that it is of this session."""

    def is_owned(self, name: str) -> bool:
        """Whether the session may have it under this name in the agent's home.

        A transcript that was found on this machine may be called otherwise than its session."""
        if self.unproven:
            return False
        own = any(self.source.owns(name, self.role, id_) for id_ in self.ids)
        return own or (self.role == "main" and not self.bundled and self.source.owns(name, self.role))


def may_write(file: File, homes: Homes) -> bool:
    """Whether a file may be written to its place, as far as names tell."""
    if file.origin and not file.bundled:
        returns = file.role == "main" and file.path.is_relative_to(file.origin.parent)
        return file.role != "history" and (returns or file.is_owned(file.name))
    owners = list(homes.owners(file.path))
    own = [name for source, name in owners if source is file.source]
    if own:
        return any(map(file.is_owned, own))
    return file.chosen and not (file.bundled and owners)


def ids_in(source: Source, name: str) -> Iterator[str]:
    """The ids that the name of a transcript may hold; some agents name files otherwise than the records inside."""
    for part in name.split("/"):
        for id_ in (part, part.partition(".")[0]):
            if id_ and source.owns(name, "main", id_):
                yield id_


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OTHER_DIGITS = str.maketrans("0123456789abcdef", "1234567890bcdefa")


def is_bound(source: Source, name: str, ids: Collection[str]) -> bool:
    """Whether a name is that of a file of one of these sessions, and of no session with another id.

    The source is asked about an id of the same form that nobody has: so its list need not say which names are bound."""
    roles: tuple[FileRole, ...] = ("main", "sidechain", "side")
    return any(
        source.owns(name, role, id_) and not source.owns(name, role, id_.translate(_OTHER_DIGITS))
        for role in roles
        for id_ in ids
    )


def find_unproven(source: Source, ids: Collection[str], names: Iterable[str], found: Collection[str]) -> set[str]:
    """Return the names that any session's transcript could have, of files that the source did not find as this one's,
    and those that hold the id of another session."""
    others = [id_.translate(_OTHER_DIGITS) for id_ in ids]
    roles: tuple[FileRole, ...] = ("main", "sidechain")

    def is_anyones(name: str) -> bool:
        return any(source.owns(name, role, other) for role in roles for other in others)

    def names_another(name: str) -> bool:
        named = _UUID.findall(name.rpartition("/")[2].lower())
        return bool(named) and not any(id_.lower() in named for id_ in ids)

    unbound = [name for name in names if is_anyones(name)]
    return {name for name in unbound if name not in found or names_another(name)}


def sessions_at(source: Source, path: Path, base: Path) -> set[str]:
    """Return the ids of the sessions that the source takes a file for, where it lies."""
    try:
        found = list(source.gather([path], base, [base]))
    except Exception:  # a source that fails at a file knows of no session there
        return set()
    return {one.session_id for one in found if any(file.path == str(path) for file in one.files)}


def found_together(source: Source, session_id: str, heads: Mapping[str, bytes], in_home: bool) -> set[str]:
    """The names of these files that the source's own rules find as this session's, where nothing else lies.

    It looks for them in a folder of its own, at the beginnings of the files alone."""
    with TemporaryDirectory(prefix="muniment-") as folder:
        look = Path(folder).resolve()
        try:
            for name, head in heads.items():
                if ".." in PurePosixPath(name).parts or PurePosixPath(name).is_absolute():
                    return set()
                files.write_atomic(look.joinpath(*PurePosixPath(name).parts), [head])
            given = source.candidates(look) if in_home else _recognised(source, look)
            found = source.gather(given, look, [look] if in_home else [])
            present = [file for one in found if one.session_id == session_id for file in one.files]
        except Exception:  # a source that fails at a stranger's files finds no session in them
            return set()
    paths = [Path(file.path) for file in present]
    named = {path.relative_to(look).as_posix() for path in paths if path.is_relative_to(look)}
    return (named | {file.name for file in present}) & heads.keys()


def _recognised(source: Source, folder: Path) -> Iterable[Path]:
    paths = [Path(entry.path) for entry in files.walk(folder)]
    return [path for path in paths if source.matches(path, head_of(path))]


def head_kept(folder: Path, kept: Kept) -> bytes:
    """The beginning of a file of the evidence, enough to tell what it is."""
    return next(iter(evidence.read(folder, kept)), b"")[:HEAD_BYTES]
