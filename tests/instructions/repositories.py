"""A small repository with a past, made by the real git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


class Repo:
    """A repository whose commits are dated by hand."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *args: str, at: str = "2026-01-01T00:00:00Z") -> str:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.root.parent), "GIT_CONFIG_NOSYSTEM": "1"}
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
        env |= {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
        done = subprocess.run(["git", *who, *args], cwd=self.root, env=env, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, at: str, **files: str) -> str:
        """Write files, and commit everything."""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=change", at=at)
        return self.git("rev-parse", "HEAD")

    def state(self) -> dict[str, tuple[int, int]]:
        """Every file below, with when it was last written and its size."""
        found = sorted(path for path in self.root.rglob("*") if path.is_file())
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in found}
