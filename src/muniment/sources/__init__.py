"""The sources: one module per agent format, found because it lies in this folder.

A module that defines `SOURCE` is a source. Installed packages add theirs by the entry point `muniment.sources`.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from muniment import files
from muniment.errors import NotFound, UnknownFormat, Unsupported
from muniment.model import Facts
from muniment.sources.base import Found, Source, head_of
from muniment.sources.renaming import Named, Renaming

__all__ = [
    "Named",
    "Renaming",
    "all_sources",
    "find_everywhere",
    "find_in",
    "named",
    "recognise",
    "renaming",
    "writable",
]


_GROUP = "muniment.sources"
"""The entry point by which a package adds sources."""


@cache
def all_sources() -> tuple[Source, ...]:
    """Every source there is, in the order of their names."""
    found: list[Source] = []
    for module in pkgutil.iter_modules(__path__):
        loaded = importlib.import_module(f"{__name__}.{module.name}")
        if source := getattr(loaded, "SOURCE", None):
            found.append(source)
    return tuple(sorted([*found, *_installed()], key=lambda s: s.name))


def _installed() -> list[Source]:
    """Those of other packages, if one announces any: what reads their metadata is slow to import."""
    announced = (path for folder in sys.path for path in Path(folder).glob("*-info/entry_points.txt"))
    if not any(f"[{_GROUP}]" in path.read_text("utf-8", "replace") for path in announced):
        return []
    from importlib.metadata import entry_points

    return [point.load() for point in entry_points(group=_GROUP)]


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


def find_everywhere(env: Mapping[str, str], unreadable: list[Path] | None = None) -> Iterator[Found]:
    """Every session in the places where the agents of this machine keep them; what may not be read is listed."""
    refused: list[Path] = [] if unreadable is None else unreadable
    for source in all_sources():
        homes = source.homes(env)
        for home in homes:
            yield from source.gather(_readable(source.candidates(home), refused), home, homes)


def _readable(paths: Iterable[Path], refused: list[Path]) -> Iterator[Path]:
    """One file of another user must not keep all others from being found."""
    for path in paths:
        if os.access(path, os.R_OK):
            yield path
        elif not files.is_gone(path):
            refused.append(path)


def find_in(path: Path, env: Mapping[str, str], unreadable: list[Path] | None = None) -> Iterator[Found]:
    """The sessions in a file or below a folder, told by their content; what may not be read is listed."""
    path = files.full_path(path)
    if not path.exists():
        raise NotFound(f"{path}: no such file or folder")
    root = path if path.is_dir() else path.parent
    paths = [Path(entry.path) for entry in files.walk(path)] if path.is_dir() else [path]
    mine: dict[str, list[Path]] = {}
    usual: Source | None = None
    for file in paths:
        try:
            source = recognise(file, usual)
        except OSError:
            if unreadable is None:
                raise
            unreadable.append(file)
            continue
        if source:
            usual = source
            mine.setdefault(source.name, []).append(file)
    if not mine and not path.is_dir() and path not in (unreadable or ()):
        names = ", ".join(s.title for s in all_sources())
        raise UnknownFormat(f"{path}: no session of a known format", f"known formats: {names}")
    for source in all_sources():
        yield from source.gather(mine.get(source.name, ()), root, source.homes(env))


def recognise(path: Path, usual: Source | None = None) -> Source | None:
    """The source that a file belongs to, if any. At most one matches, so that of the file before it may be first."""
    head = head_of(path)
    order = (usual, *all_sources()) if usual else all_sources()
    return next((s for s in order if head and s.matches(path, head)), None)
