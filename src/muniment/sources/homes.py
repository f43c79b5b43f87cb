"""Homes of agents, recognised wherever they lie: which files in them are no transcripts, whatever is in those.

Agents keep outputs of tools, pastes, logs and snapshots beside their sessions, and any of them may hold lines of a
transcript. So in a home only those files count that lie where its agent keeps transcripts, or have the name of one: a
copy that somebody put away. What lies in a repository, or in a hidden folder of another program, is not the agent's.

    Home(".codex", shown_by=("sessions",), places=PLACES, named=r"rollout-.*")
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, structs

from muniment.sources.places import Places

_CHECKED_OUT = frozenset({"worktrees", "worktree"})
"""Folders of a home in which clients check out repositories."""


_known: set[Path] = set()
"""Homes that were recognised in this process."""


class Home(Struct, frozen=True):
    """How the home of an agent is recognised, and where its transcripts lie."""

    folder: str
    """What it is called; two folders, as in `.pi/agent`, where one name says too little."""
    shown_by: tuple[str, ...]
    """Paths below it. One of them shows that a folder of this name is a home: projects have folders like `.claude`."""
    places: Places
    """Where transcripts lie below it."""
    named: str = r"(?!)"
    """How transcripts are called, as a regular expression."""
    filled: tuple[str, ...] = ()
    """Folders in which nobody but the agent puts files: a name alone makes no transcript there."""
    outputs: tuple[tuple[str, str], ...] = ()
    """Folders that hold no transcripts, each with what lies beside it, so that it is known in a renamed home too."""
    marks: frozenset[str] = frozenset()
    """Names of folders without which a path is of no concern here; follows from the fields above."""

    def __post_init__(self) -> None:
        # Every agent is asked about every file, and nearly all lie elsewhere: one comparison of sets answers those.
        names = (self.folder.rpartition("/")[2], *(name for name, _ in self.outputs))
        structs.force_setattr(self, "marks", frozenset(names))

    def has_side_file(self, path: Path) -> bool:
        """Return whether a file lies in a home of this agent, or in a folder of outputs, and is no transcript."""
        parts = path.parts
        if self.marks.isdisjoint(parts):
            return False
        if self.outputs and self._is_output(path):
            return True
        return any(not self._may_be_transcript(below) for below in self._below_homes(parts))

    def _is_output(self, path: Path) -> bool:
        return any(
            folder.name == name and (folder.parent / beside).exists()
            for folder in path.parents
            for name, beside in self.outputs
        )

    def _below_homes(self, parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Return the parts of a file's name below every home that it lies in."""
        names = tuple(self.folder.split("/"))
        for at in range(len(names), len(parts)):
            if parts[at - len(names) : at] == names and self._is_home(Path(*parts[:at])):
                yield parts[at:]

    def _is_home(self, path: Path) -> bool:
        """Return whether a folder is a home. What is one stays one: thousands of files in it ask the same."""
        if path not in _known:
            if not any((path / sign).exists() for sign in self.shown_by):
                return False
            _known.add(path)
        return True

    def _may_be_transcript(self, below: tuple[str, ...]) -> bool:
        if any(folder.startswith(".") or folder in _CHECKED_OUT for folder in below[:-1]):
            return True
        name = "/".join(below)
        if any(self.places.own(name, role) for role in ("main", "sidechain", "history")):
            return True
        return below[0] not in self.filled and bool(re.fullmatch(self.named, below[-1], re.DOTALL))
