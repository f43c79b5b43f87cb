"""Which files of instructions lay where when a session began, and what stood in them.

A file that nobody has changed since before the session is its own witness. Else the last commit before the session
tells, and what was not committed then is not known. Nothing is guessed: a file that neither tells of is unknown.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from muniment import files
from muniment.errors import MunimentError
from muniment.instructions.git import MAX_BYTES, Repository
from muniment.instructions.imports import MAX_DEPTH, imports
from muniment.instructions.values import Instruction, Level
from muniment.sources.base import InstructionFiles

MAX_FILES = 200


class Look:
    """One look back at one moment."""

    def __init__(
        self,
        where: InstructionFiles,
        started: datetime,
        repository: Repository | None,
        commit: str | None,
        user: str,
        homes: Sequence[str],
    ) -> None:
        self.where = where
        self.started = started
        self.repository = repository
        self.commit = commit
        self.user = user
        """The user's own folder, for `~`."""
        self.homes = homes
        self.found: dict[str, Instruction] = {}

    def home(self) -> None:
        """Files in the agent's own home: the user's, for all projects."""
        for folder in self.homes:
            self._folder(folder, self.where.in_home, "home", folder)

    def project(self, folder: str, touched: Iterable[str]) -> None:
        """Files from the root of the project down to the working folder, and in folders that were touched."""
        root = self.repository.root if self.repository else folder
        if self.where.above_root:
            for above in reversed(Path(root).parents):
                self._folder(str(above), self._names(str(above)), "above", root)
        for inner in _down(root, folder):
            self._folder(inner, self._names(inner), "project", root)
        if self.where.when_touched:
            inside = {one for path in touched for one in _down(folder, path) if one != folder}
            for inner in sorted(inside)[:MAX_FILES]:
                self._folder(inner, self._names(inner), "below", root)

    def _names(self, folder: str) -> tuple[str, ...]:
        """The files that may be in a folder; of folders that hold any number, those that are known."""
        beside = [f"{folder}/{name}" for name in self.where.folders]
        known = {*self._committed(f"{path}/" for path in beside), *_markdown_below(beside)}
        return (*self.where.names, *sorted(posixpath.relpath(path, folder) for path in known if path.endswith(".md")))

    def _committed(self, folders: Iterable[str]) -> list[str]:
        if not (self.repository and self.commit):
            return []
        inside = [path for folder in folders if (path := self._below_root(folder))]
        return [f"{self.repository.root}/{path}" for path in self.repository.files(self.commit, inside)]

    def _below_root(self, path: str) -> str | None:
        root = self.repository.root.rstrip("/") + "/" if self.repository else ""
        return path[len(root) :] if root and path.startswith(root) else None

    # -- one folder, one file

    def _folder(self, folder: str, names: Iterable[str], level: Level, limit: str) -> None:
        for name in names:
            path = posixpath.join(folder, name)
            here = self._file(path, level, limit)
            if here and path not in self.found:
                self._keep(here, limit, 0)
            if here and self.where.only_first:
                return

    def _keep(self, one: Instruction, limit: str, depth: int) -> None:
        """A file with those that it imports."""
        if one.path in self.found or len(self.found) >= MAX_FILES:
            return
        self.found[one.path] = one
        for name in imports(one.text or "") if self.where.imports else ():
            path = _joined(one.path, name, self.user)
            if path in self.found:
                continue
            if depth >= MAX_DEPTH:
                told = Instruction(path, "import", "unknown", why=f"more than {MAX_DEPTH} imports deep")
            elif not any(_inside(path, folder) for folder in (limit, *self.homes)):
                told = Instruction(path, "import", "unknown", why="outside of the project: not read")
            else:
                told = self._file(path, "import", limit)
            if told:
                self._keep(structs.replace(told, imported_by=one.path), limit, depth + 1)

    def _file(self, path: str, level: Level, limit: str) -> Instruction | None:
        """What is known of one file; None if there is no trace of it. A project's link may not lead out of it."""
        own = level in ("home", "above")
        on_disk, since = _on_disk(path, None if own else (limit, *self.homes))
        if on_disk is not None and since <= self.started:
            return _known(path, level, on_disk, f"the file has not changed since {since.isoformat(timespec='seconds')}")
        inside = self._below_root(path)
        blob = self.repository.blob(self.commit, inside) if self.repository and self.commit and inside else None
        if blob:
            why = "as committed; what was not committed then is unknown"
            made = _known(path, level, blob.data, why)
            return structs.replace(made, known="git", commit=blob.commit, committed=blob.committed)
        if on_disk is None or self._came_later(inside):
            return None
        why = "it was not committed then, and has changed since the session began"
        return Instruction(path, level, "unknown", why=why)

    def _came_later(self, inside: str | None) -> bool:
        """Whether git knows a file, but not yet then: it was not there, unless somebody had it uncommitted."""
        return bool(self.repository and self.commit and inside and self.repository.files("HEAD", [inside]))


def _known(path: str, level: Level, data: bytes, why: str) -> Instruction:
    sha256 = hashlib.sha256(data).hexdigest()
    return Instruction(path, level, "disk", sha256, len(data), why=why, text=data.decode("utf-8", "replace"))


def _on_disk(path: str, limits: Iterable[str] | None) -> tuple[bytes | None, datetime]:
    """The bytes of a file that is there now, and since when it is so: by the disk's own clock, which no tool sets."""
    never = datetime.max.replace(tzinfo=UTC)
    try:
        real = Path(path).resolve()
        if limits is not None and not any(_inside(str(real), str(Path(limit).resolve())) for limit in limits):
            return None, never
        with files.open_regular(real) as file:
            status = os.fstat(file.fileno())
            data = file.read(MAX_BYTES + 1) or b""
        since = datetime.fromtimestamp(max(status.st_ctime, status.st_mtime, Path(path).lstat().st_ctime), UTC)
    except (OSError, MunimentError, ValueError, RuntimeError):
        return None, never
    return (data, since) if len(data) <= MAX_BYTES else (None, never)


def _markdown_below(folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        if Path(folder).is_dir():
            found = [entry.path for entry in files.walk(Path(folder)) if entry.path.endswith(".md")]
            yield from sorted(found)[:MAX_FILES]


def _down(root: str, folder: str) -> Iterator[str]:
    """The folders from the root to this one; only this one if it lies elsewhere."""
    if not _inside(folder, root):
        return
    yield root
    steps = posixpath.relpath(folder, root).split("/") if folder != root else []
    for number in range(1, len(steps) + 1):
        yield posixpath.join(root, *steps[:number])


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _joined(importer: str, name: str, user: str) -> str:
    name = name.replace("\\", "/")
    if name.startswith("~/"):
        return posixpath.normpath(posixpath.join(user, name[2:]))
    return posixpath.normpath(posixpath.join(posixpath.dirname(importer), name))
