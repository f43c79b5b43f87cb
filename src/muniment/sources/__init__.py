"""The sources: one module per agent format, found because it lies in this folder.

A module that defines `SOURCE` is a source. Installed packages add theirs by the entry point `muniment.sources`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from muniment import files
from muniment.errors import NotFound, UnknownFormat, Unsupported
from muniment.model import Facts
from muniment.sources import finding, plugins
from muniment.sources.base import Found, Source, head_of
from muniment.sources.renaming import Named, Renaming

__all__ = [
    "Named",
    "Renaming",
    "all_sources",
    "broken",
    "find_everywhere",
    "find_in",
    "named",
    "recognise",
    "renaming",
    "writable",
]


def all_sources() -> tuple[Source, ...]:
    """Every source there is, in the order of their names."""
    return _loaded()[0]


def broken() -> dict[str, str]:
    """Plug-ins that give no source, by their names, and why."""
    return _loaded()[1]


@cache
def _loaded() -> tuple[tuple[Source, ...], dict[str, str]]:
    found: list[Source] = []
    for module in pkgutil.iter_modules(__path__):
        loaded = importlib.import_module(f"{__name__}.{module.name}")
        if source := getattr(loaded, "SOURCE", None):
            found.append(source)
    added, failed = plugins.load({source.name for source in found})
    return tuple(sorted([*found, *added], key=lambda s: s.name)), failed


def named(name: str) -> Source:
    """The source with this name."""
    for source in all_sources():
        if source.name == name:
            return source
    names = ", ".join(s.name for s in all_sources())
    raise NotFound(f"no source is called {name!r}", f"known sources: {names}")


def writable(name: str) -> Source:
    """The source by which sessions are written: by its name, or by what people call the agent."""
    known = all_sources()
    named = [source for source in known if name in (source.name, source.family)]
    found = [source for source in named if source.writable]
    if found:
        return next((source for source in found if source.name == name), found[0])
    names = ", ".join(source.name for source in known if source.writable)
    if named:
        raise Unsupported(f"{named[0].title} sessions cannot be written", f"sessions can be written for {names}")
    raise NotFound(f"no agent is called {name!r}", f"sessions can be written for {names}")


def renaming(facts: Facts, target: Source) -> Renaming:
    """How the tool calls of a session are called by the agent that it is written for; its own keep their names."""
    ours = next((source.tools for source in all_sources() if source.name == facts.source), ())
    theirs = () if facts.source == target.name else target.tools
    return Renaming(ours, theirs, facts.first_cwd or facts.cwd)


def find_everywhere(env: Mapping[str, str]) -> Iterator[Found]:
    """Every session in the places where the agents of this machine keep them."""
    note_broken()
    for source in all_sources():
        for home in finding.homes_of(source, env):
            yield from finding.find_at(source, home, env)


def note_broken() -> None:
    """Note plug-ins that give no source: what their agents keep is not found."""
    for name, why in broken().items():
        files.refuse(Path(name), why)


def find_in(path: Path, env: Mapping[str, str]) -> Iterator[Found]:
    """The sessions in a file or below a folder, told by their content."""
    path = files.full_path(path)
    if not path.exists():
        raise NotFound(f"{path}: no such file or folder")
    root = path if path.is_dir() else path.parent
    paths = [Path(entry.path) for entry in files.walk(path)] if path.is_dir() else [path]
    mine: dict[str, list[Path]] = {}
    usual: Source | None = None
    unknown: list[Path] = []
    read = True
    for file in paths:
        try:
            source = _beside(file) or recognise(file, usual)
        except OSError:
            if not files.refuse(file):
                raise
            read = False
            continue
        if source:
            usual = source
            mine.setdefault(source.name, []).append(file)
        else:
            unknown.append(file)
    for source, file in _by_place(unknown, path, env):
        mine.setdefault(source.name, []).append(file)
    chosen = [source for source in all_sources() if source.name in mine]
    found = [one for source in chosen for one in finding.gather(source, mine[source.name], root, env)]
    if not found and not path.is_dir() and read:
        raise _no_session(path, bool(mine))
    yield from _without_side_files(found)


def _beside(file: Path) -> Source | None:
    """The source that knows a file to be beside a session."""
    return next((source for source in all_sources() if finding.is_side_file(source, file)), None)


def _by_place(unknown: list[Path], path: Path, env: Mapping[str, str]) -> Iterator[tuple[Source, Path]]:
    """Return files of unknown content that lie where an agent of this machine keeps sessions: they may be damaged."""
    left = set(unknown)
    for source in all_sources() if left else ():
        for home in finding.homes_of(source, env):
            if home.is_relative_to(path) or path.is_relative_to(home):
                yield from ((source, file) for file in finding.candidates(source, home) if file in left)


def _no_session(path: Path, beside: bool) -> UnknownFormat:
    if beside:
        return UnknownFormat(f"{path}: a side file of a session", "name the transcript, or the folder of the session")
    names = ", ".join(s.title for s in all_sources())
    return UnknownFormat(f"{path}: no session of a known format", f"known formats: {names}")


def _without_side_files(found: list[Found]) -> list[Found]:
    """Leave out what is no session but files beside one: an output or a backup may hold the transcript of another."""
    owners = {file.path: one for one in found if one.main for file in one.files if file.role != "main"}
    return [one for one in found if not _is_beside(one, owners)]


def _is_beside(session: Found, owners: Mapping[str, Found]) -> bool:
    own = {file.path for file in session.files if file.role != "history"}
    if session.main is None:
        return all(owners.get(path, session) is not session for path in own)
    owner = owners.get(session.main.path, session)
    return owner is not session and owner.main is not None and owner.main.path not in own


def recognise(path: Path, usual: Source | None = None) -> Source | None:
    """The source that a file belongs to, if any. At most one matches, so that of the file before it may be first."""
    head = head_of(path)
    order = (usual, *all_sources()) if usual else all_sources()
    return next((s for s in order if head and finding.matches(s, path, head)), None)
