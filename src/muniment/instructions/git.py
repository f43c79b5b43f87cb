"""Reading a repository's past, and nothing else: plumbing commands, no hooks, no filters, no network, no writes.

The repository is somebody else's. Nothing that its configuration names is run: only commands that read objects are
used, and what could start a program on the way is switched off.
"""

from __future__ import annotations

import os
import posixpath
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

TIMEOUT_SECONDS = 10
MAX_BYTES = 1 << 20
"""A file of instructions that is larger is none."""
_MAX_LINKS = 5
_LINK = "120000"
_SAFE = {
    "core.fsmonitor": "",
    "core.hooksPath": os.devnull,
    "log.showSignature": "false",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
}


class Blob(Struct, frozen=True):
    """A file at a commit."""

    data: bytes
    commit: str
    """The latest commit up to then that changed it."""
    committed: str


class Repository(Struct, frozen=True):
    """A repository that can be read."""

    root: str
    prefix: str
    """The working folder below the root; empty for the root itself."""
    env: Mapping[str, str]

    def resolve(self, name: str) -> str | None:
        """The commit that a name stands for, if it is there."""
        found = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return found.decode().strip() if found else None

    def before(self, commit: str, time: str) -> str | None:
        """The last commit up to a time, on the way to this one."""
        found = self._run("rev-list", "-1", f"--before={time}", commit)
        return found.decode().strip() if found else None

    def tip(self, branch: str) -> str | None:
        """The end of a branch, here or as it was last seen elsewhere."""
        remote = self._run("for-each-ref", "--format=%(refname)", f"refs/remotes/*/{branch}") or b""
        names = [f"refs/heads/{branch}", *remote.decode("utf-8", "replace").split()]
        return next((commit for name in names if (commit := self.resolve(name))), None)

    def files(self, commit: str, paths: Sequence[str]) -> list[str]:
        """Which of these paths are files at a commit; of a folder, which ends in a slash, all files below it."""
        return list(self._listed(commit, paths)) if paths else []

    def blob(self, commit: str, path: str) -> Blob | None:
        """A file at a commit; links inside of the repository are followed."""
        for _ in range(_MAX_LINKS):
            mode, object_ = self._listed(commit, [path]).get(path, ("", ""))
            data = self._content(object_) if object_ else None
            if data is None or mode != _LINK:
                break
            path = posixpath.normpath(posixpath.join(posixpath.dirname(path), data.decode("utf-8", "replace")))
        else:
            return None
        if data is None:
            return None
        told = self._run("rev-list", "-1", "--format=%cI", commit, "--", f":(literal,top){path}") or b""
        _, changed, when, *_ = [*told.decode().split(), "", "", ""]
        return Blob(data, changed, when)

    def _listed(self, commit: str, paths: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Mode and object of files, by path."""
        out = self._run("ls-tree", "-r", "-z", "--full-tree", commit, "--", *paths) or b""
        found: dict[str, tuple[str, str]] = {}
        for line in out.decode("utf-8", "surrogateescape").split("\0"):
            about, _, path = line.partition("\t")
            if path and (parts := about.split())[1] == "blob":
                found[path] = (parts[0], parts[2])
        return found

    def _content(self, object_: str) -> bytes | None:
        size = self._run("cat-file", "-s", object_) or b"0"
        return self._run("cat-file", "blob", object_) if int(size) <= MAX_BYTES else None

    def _run(self, *args: str) -> bytes | None:
        return run(self.root, args, self.env)


def open_at(folder: str, env: Mapping[str, str]) -> Repository | None:
    """The repository that a folder lies in, if there is one that may be read."""
    if not Path(folder).is_absolute() or not Path(folder).is_dir():
        return None
    told = run(folder, ("rev-parse", "--show-toplevel", "--show-prefix"), env)
    if not told:
        return None
    root, prefix, *_ = [*told.decode("utf-8", "surrogateescape").split("\n"), "", ""]
    return Repository(root, prefix.rstrip("/"), env)


def run(folder: str, args: Sequence[str], env: Mapping[str, str]) -> bytes | None:
    """What a command prints; None if it fails, takes too long, or there is no git."""
    path = env.get("PATH") or os.environ.get("PATH") or os.defpath
    program = shutil.which("git", path=path)
    if program is None:
        return None
    settings = [part for name, value in _SAFE.items() for part in ("-c", f"{name}={value}")]
    own = {"PATH": path, "HOME": env.get("HOME", "/"), "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    own |= {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_PAGER": "cat", "GIT_ATTR_NOSYSTEM": "1"}
    try:
        done = subprocess.run(
            [program, "--no-pager", *settings, "-C", folder, *args],
            env=own,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None
    return done.stdout if done.returncode == 0 else None
