"""Where sessions lie on this machine, and which session a changed file belongs to.

A change must not cost a look at ten thousand other sessions. So the transcripts of every session are remembered from
the last look at everything: the changed one and those of the same session are gathered as if they were all there is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from muniment import files, sources
from muniment.inscribe import key_path
from muniment.sources import finding
from muniment.sources.base import Found, Source

TRANSCRIPTS = ("main", "sidechain")
OTHERS_SECONDS = 5.0
MAX_OTHERS = 1000

Home = tuple[str, str]
"""The name of a source, and a folder in which its agent keeps sessions."""


class Places:
    """The homes of all agents, and the sessions that were found there."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.env = env
        self.refused: dict[Path, str] = {}
        """What could not be looked at, and why; as of the last look."""
        self.broke = False
        """Whether changed files could not be looked at since somebody looked here."""
        self._transcripts: dict[str, tuple[str, ...]] = {}
        """The paths of every session's transcripts …"""
        self._owner: dict[str, str] = {}
        """… and the session of every such path."""
        self._others: dict[str, float] = {}
        """Files that are no transcripts, and until when that is taken for granted."""
        self._folders: dict[Home, frozenset[str]] = {}
        """What every home was seen to hold, at the first level."""
        self._empty: set[Home] = set()
        """Homes in which no session was found: nothing there is followed, so they are looked at now and then."""

    @property
    def sessions(self) -> int:
        return len(self._transcripts)

    # -- looking at everything

    def look(self) -> list[Found]:
        """Every session of this machine."""
        self.refused = {}
        with files.noting_refused(self.refused):
            sources.note_broken()
            self._folders = {home: _folders_in(home) for home in self._homes()}
            self._empty = set(self._folders)
            found = [session for home in self._folders for session in self._found_at(home)]
        self._transcripts, self._owner = {}, {}
        self._remember(found)
        return found

    def glance(self) -> list[Found]:
        """The sessions of homes that were made, or given a new folder, since the last look, and of those that had none.

        Costs next to nothing: where there is no session, there is little to walk through."""
        with files.noting_refused(self.refused):
            now = {home: _folders_in(home) for home in self._homes()}
            new = [home for home, folders in now.items() if folders - self._known_in(home)]
            self._folders = now
            found = [session for home in new for session in self._found_at(home)]
        self._remember(found)
        return found

    def _known_in(self, home: Home) -> frozenset[str]:
        return frozenset() if home in self._empty else self._folders.get(home, frozenset())

    def roots(self) -> frozenset[str]:
        """The folders to watch: those below the homes that hold transcripts, and not all of somebody's project."""
        homes = {Path(home) for _, home in self._folders}
        folders = {os.path.dirname(path) for path in self._owner}
        tops = {top for folder in folders if (top := _top(Path(folder), homes))}
        return frozenset(str(top) for top in tops if top.is_dir())

    def _homes(self) -> Iterator[Home]:
        for source in sources.all_sources():
            yield from ((source.name, str(home)) for home in finding.homes_of(source, self.env))

    def _found_at(self, home: Home) -> list[Found]:
        found = finding.find_at(sources.named(home[0]), Path(home[1]), self.env)
        if found:
            self._empty.discard(home)
        return found

    def _remember(self, found: Iterable[Found]) -> None:
        """Copies of a session share its id: all their transcripts are looked at together."""
        for session in found:
            known = self._transcripts.get(session.session_id, ())
            own = [file.path for file in session.files if file.role in TRANSCRIPTS]
            self._transcripts[session.session_id] = tuple(dict.fromkeys((*known, *own)))
            self._owner |= dict.fromkeys(own, session.session_id)

    # -- looking at what changed

    def sessions_of(self, paths: Iterable[str], now: float) -> list[Found]:
        """The sessions that these files belong to. A file that was never met may cost a walk through its home."""
        changed = set(paths)
        found: dict[str, Found] = {}
        refused: dict[Path, str] = {}
        with files.noting_refused(refused):  # the next look at everything tells
            for home in self._folders:
                if own := {path for path in changed if _is_below(path, home[1])}:
                    found |= {key_path(session): session for session in self._changed_at(home, own, now)}
        self.broke = self.broke or bool(refused)
        self._remember(found.values())
        return list(found.values())

    def _changed_at(self, home: Home, paths: set[str], now: float) -> list[Found]:
        source, folder = sources.named(home[0]), Path(home[1])
        new = self._new_at(source, folder, {path for path in paths if path not in self._owner}, now)
        sessions = {owner for path in paths - new if (owner := self._owner_of(path))}
        sessions |= {session.session_id for session in finding.gather(source, _as_paths(new), folder, self.env)}
        whole = new.union(*(self._transcripts.get(session_id, ()) for session_id in sessions))
        own = _as_paths(path for path in whole if _is_below(path, home[1]))
        return finding.gather(source, own, folder, self.env)

    def _owner_of(self, path: str) -> str | None:
        """A file without a form of its own belongs to the session that a folder above it is named after."""
        return self._owner.get(path) or next((part for part in Path(path).parts if part in self._transcripts), None)

    def _new_at(self, source: Source, folder: Path, paths: set[str], now: float) -> set[str]:
        """Those that are transcripts. Only the source can tell, and it tells of all that are in its home."""
        self._others = {path: until for path, until in self._others.items() if until > now}
        asked = {path for path in paths if path not in self._others and _has_content(path)}
        if not asked:
            return set()
        began = time.perf_counter()
        new = asked.intersection(map(str, finding.candidates(source, folder)))
        until = now + max(OTHERS_SECONDS, 200 * (time.perf_counter() - began))
        self._others |= dict.fromkeys(list(asked - new)[:MAX_OTHERS], until)
        return new


def _folders_in(home: Home) -> frozenset[str]:
    """The names of the folders in a home, of those that hold anything twice, and a mark that it is there at all."""
    try:
        with os.scandir(home[1]) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return frozenset()
    return frozenset([".", *names, *(f"{name}/" for name in names if _holds_any(os.path.join(home[1], name)))])


def _holds_any(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


def _top(folder: Path, homes: set[Path]) -> Path | None:
    """The folder directly below a home that this one is or lies in; the home itself if that is where the files are."""
    if folder in homes:
        return folder
    return next((above for above in (folder, *folder.parents) if above.parent in homes), None)


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def _has_content(path: str) -> bool:
    """An empty file tells nothing yet; there will be another hint."""
    try:
        return os.stat(path, follow_symlinks=False).st_size > 0
    except OSError:
        return False


def _as_paths(paths: Iterable[str]) -> list[Path]:
    """Those that are still there."""
    return [Path(path) for path in sorted(paths) if os.path.lexists(path)]
