"""A project that a session edits, for tests of checkpoints and rewinds."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from muniment.record import paths
from muniment.record.checkpoints import OBJECTS, Checkpoints


def _may_do_everything() -> bool:
    """Whether permissions mean nothing to this process."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0)
        return os.access(folder, os.W_OK)


needs_permissions = pytest.mark.skipif(_may_do_everything(), reason="root may read and write everything")
SESSION = "5c1e0000-1111-4222-8333-444455556666"


class Project:
    """A folder of files that a session edits, and the session's checkpoints."""

    def __init__(self, root: Path) -> None:
        self.root = root / "proj"
        self.root.mkdir(parents=True)
        self.home = root / "recorder"
        self.folder = self.home / "checkpoints" / SESSION
        self.kept = Checkpoints(self.folder, cwd=self.root)
        self.count = 0

    def write(self, name: str, text: str | None) -> Path:
        """Somebody writes a file, or deletes it."""
        path = self.root / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return path

    def edit(self, name: str, text: str | None, settle: bool = True) -> str:
        """The session edits a file; gives the entry."""
        self.count += 1
        self.kept.before_edit(self.root / name, f"e{self.count}")
        self.write(name, text)
        if settle:
            self.kept.settle()
        return f"e{self.count}"

    def names(self, paths_: tuple[str, ...]) -> set[str]:
        return {str(Path(path).relative_to(self.root.resolve())) for path in paths_}

    def tree(self) -> dict[str, str]:
        found = sorted(self.root.rglob("*"))
        return {str(p.relative_to(self.root)): p.read_text() for p in found if p.is_file()}

    def objects(self) -> list[str]:
        return sorted(path.name for path in (self.folder / OBJECTS).iterdir())


def scenario(root: Path) -> Project:
    """A session that changed, made, deleted and linked files; its log is closed."""
    project = Project(root)
    for name in ("a.txt", "sub/b.txt", "gone.txt"):
        project.write(name, f"{name} before")
    (project.root / "link").symlink_to("nowhere")
    project.edit("a.txt", "a after")
    project.edit("sub/b.txt", "b after")
    project.edit("gone.txt", None)
    project.edit("new/c.txt", "c after")
    project.kept.before_edit(project.root / "link", "e5")
    (project.root / "link").unlink()
    project.kept.settle()
    project.kept.close()
    return project


def whole(project: Project) -> dict[str, paths.State]:
    names = ("a.txt", "sub/b.txt", "gone.txt", "new/c.txt", "link")
    return {name: paths.look(project.root.resolve() / name) for name in names}


def left_over(project: Project) -> list[str]:
    return [path.name for path in project.root.rglob("*.part")]
