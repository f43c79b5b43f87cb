"""The input: trees of Claude Code sessions grown from real ones.

The real sessions are not part of the project. They lie in a folder beside it (`unpack` and `grow.py` with
them) and are unpacked and grown once into the bench's own folder; growing is deterministic.
"""

import os
import re
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

CHUNK_BYTES = 1 << 20


class NoCorpus(Exception):
    """The real sessions are not beside the project."""


@dataclass(frozen=True)
class Tree:
    """A grown `projects` folder as Claude Code keeps it."""

    title: str
    projects: Path
    sessions: int
    files: int
    source_bytes: int


@dataclass(frozen=True)
class Corpus:
    """The folder with the packed sessions and the folder to unpack and grow them in."""

    shared: Path
    work: Path

    def many(self, size: str) -> Tree:
        """Many sessions of the real size distribution, `size` bytes in all."""
        return described(self._grown(f"many-{size}", "--bytes", size, "."))

    def one(self, size: str) -> Tree:
        """One session of `size` bytes."""
        return described(self._grown(f"one-{size}", "--one", size, "-home-dev-one"))

    def _grown(self, name: str, option: str, size: str, folder: str) -> Path:
        projects = self.work / "trees" / name
        if not projects.is_dir():
            unfinished = fresh(projects.with_name(f"{name}.part"))
            (unfinished / folder).mkdir(exist_ok=True)
            grow = [sys.executable, str(self.shared / "grow.py"), str(self.unpacked / "claude-code")]
            subprocess.run([*grow, str(unfinished / folder), option, size], check=True, stdout=sys.stderr)
            unfinished.rename(projects)
        return projects

    @property
    def unpacked(self) -> Path:
        """A folder for each agent."""
        if not (self.shared / "grow.py").is_file():
            raise NoCorpus(f"no real sessions in {self.shared}: see --corpus")
        unpacked = self.work / "corpus"
        if not unpacked.is_dir():
            unfinished = fresh(self.work / "corpus.part")
            subprocess.run([str(self.shared / "unpack"), str(unfinished)], check=True)
            unfinished.rename(unpacked)
        return unpacked


def described(projects: Path) -> Tree:
    files = [path for path in projects.rglob("*") if path.is_file()]
    sessions = sum(1 for path in files if is_session(path, projects))
    size = sum(path.stat().st_size for path in files)
    of = "one session" if sessions == 1 else f"{sessions} sessions"
    return Tree(f"{size / 1e6:.0f} MB in {of}", projects, sessions, len(files), size)


def is_session(path: Path, projects: Path) -> bool:
    """Whether this is a session's main file (`<project>/<id>.jsonl`) and not a subagent's."""
    return path.suffix == ".jsonl" and len(path.relative_to(projects).parts) == 2


def warm(tree: Tree) -> None:
    """Read every byte once, so that the first contender does not pay for the disk."""
    for path in tree.projects.rglob("*"):
        if path.is_file():
            warm_file(path)


def warm_file(path: Path) -> None:
    with path.open("rb", buffering=0) as file:
        while file.read(CHUNK_BYTES):
            pass


def lay_out(tree: Tree, projects: Path) -> None:
    """The tree at a place of one contender's own: hard links, as no contender writes to a source."""
    projects.parent.mkdir(parents=True)
    shutil.copytree(tree.projects, projects, copy_function=os.link)


def fresh(folder: Path) -> Path:
    """An empty folder, whatever was there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


_discarded: list[Path] = []


def discard(folder: Path) -> None:
    """To be removed when the bench ends.

    For minutes after thousands of files were deleted, ext4 passes over their places one by one when it makes others.
    Whoever is measured next would pay for that: a fifth of the time of an inscription."""
    _discarded.append(folder)


DEAR_SECONDS = 40e-6
PATIENCE_SECONDS = 420


def settle(work: Path) -> None:
    """Wait until new files cost the system no more than they should.

    What was deleted before the bench began, a bench's files among it, makes them dearer for up to six minutes; a file
    then took 50 to 170 microseconds where it takes 20 to 28."""
    until = time.monotonic() + PATIENCE_SECONDS
    while (cost := _cost_of_a_file(work)) > DEAR_SECONDS and time.monotonic() < until:
        print(f"  a new file costs {cost * 1e6:.0f} µs: waiting", file=sys.stderr, flush=True)
        time.sleep(20)


def _cost_of_a_file(work: Path) -> float:
    count = 500
    folder = work / "settling" / str(time.time_ns())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_stime
    for number in range(count):
        if number % 10 == 0:
            (folder / str(number)).mkdir(parents=True)
        (folder / str(number - number % 10) / f"{number}").write_bytes(b"-" * 4000)
    discard(folder)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_stime - before) / count


def remove_discarded() -> None:
    for folder in _discarded:
        shutil.rmtree(folder, ignore_errors=True)


def has_uuid(path: Path) -> bool:
    """Whether a session's file is named by its id, which can then be replaced in it by another."""
    return bool(re.fullmatch(r"[0-9a-f-]{36}", path.stem))
