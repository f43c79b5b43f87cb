"""A command killed at its own system calls: every one of them that touches the store is a moment to die."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from .world import copy, done, start

CALLS = ("rename", "linkat", "openat", "write", "pwrite64", "ftruncate", "unlink", "mkdir", "fsync", "fdatasync")
POINTS = int(os.environ.get("MUNIMENT_POINTS", "12"))
"""System calls at which a command is killed; 0 for every one of them."""

needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")


class Traced:
    """A command on a small store, killed at a system call that touches the store, as often as one likes."""

    def __init__(self, folder: Path, before: Path, *words: object) -> None:
        self.before, self.store, self.words = before, folder / "store", words
        self.tried = self.missed = 0
        self._fresh()
        log = folder / "log"
        trace = ["strace", "-f", "-qq", "-y", "-e", f"trace={','.join(CALLS)}", "-o", str(log)]
        done(self.store, *words, wrap=trace)
        self.points = self._points(log)

    def _points(self, log: Path) -> list[tuple[str, int]]:
        """The calls that touch the store: name, and ordinal among the calls of that name."""
        counts: Counter[str] = Counter()
        found: list[tuple[str, int]] = []
        for line in log.read_text("utf-8", "replace").splitlines():
            if match := re.match(r"\d+ +(\w+)\(", line):
                counts[match[1]] += 1
                if str(self.store) in line:
                    found.append((match[1], counts[match[1]]))
        return found

    def some(self, *names: str) -> list[tuple[str, int]]:
        """Some calls of every name, spread over the run."""
        named: dict[str, list[tuple[str, int]]] = {}
        for point in self.points:
            if point[0] in names:
                named.setdefault(point[0], []).append(point)
        most = max(1, POINTS // len(named)) if POINTS else len(self.points)
        return [own[i * len(own) // min(most, len(own))] for own in named.values() for i in range(min(most, len(own)))]

    def _fresh(self) -> None:
        shutil.rmtree(self.store, ignore_errors=True)
        if self.before.exists():
            copy(self.before, self.store)

    def kill_at(self, call: str, ordinal: int) -> None:
        """Run the command until then. Calls outside of the store vary by a few from run to run, as those that import
        modules, so the last ones may not be reached: then it was not killed, which is rarely so."""
        self._fresh()
        self.tried += 1
        inject = ["strace", "-f", "-qq", "-e", f"trace={call}", "-e", f"inject={call}:signal=SIGKILL:when={ordinal}"]
        process = start(self.store, *self.words, wrap=[*inject, "-o", "/dev/null"])
        process.communicate(timeout=60)
        self.missed += process.returncode == 0
        assert self.missed <= 2 + self.tried // 20, f"{call} {ordinal} was not reached, and {self.missed} with it"
