"""The tools that are compared: how each is installed, called once, and asked what it has taken in.

Every contender gets a home of its own with the tree as `~/.claude/projects`, and an environment with nothing
of the caller's in it. A rival lives in a virtual environment of its own; its daemon, update check and
telemetry are off, so that a run is one foreground process that ends.
"""

import shutil
import sqlite3
import subprocess
import sys
from abc import ABC, abstractmethod
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from .trees import is_session


class NotInstalled(Exception):
    """A contender cannot be had here; the others are measured without it."""


@dataclass(frozen=True)
class Home:
    """One contender's home folder."""

    root: Path

    @property
    def projects(self) -> Path:
        return self.root / ".claude" / "projects"


@dataclass(frozen=True)
class Contender(ABC):
    executable: Path
    version: str

    name = ""
    work = ""
    """What one run does, in words for the report."""
    rounds = 5  # the best counts; on a machine with neighbours three are too few to meet a quiet moment
    """How often a first run is repeated; its figure is the best."""

    @abstractmethod
    def command(self, home: Home) -> list[str]:
        """Take in the whole tree; called again, only what is new."""

    @abstractmethod
    def taken_in(self, home: Home) -> int:
        """How many of the tree's sessions the tool itself says it holds."""

    @abstractmethod
    def kept(self, home: Home) -> list[Path]:
        """Every file the tool made."""

    def environment(self, home: Home) -> dict[str, str]:
        return {"HOME": str(home.root), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}

    def kept_bytes(self, home: Home) -> int:
        """The larger of lengths and allocated blocks: small files cost blocks, sparse ones do not count twice."""
        facts = [path.stat() for path in self.kept(home)]
        return max(sum(f.st_size for f in facts), sum(f.st_blocks * 512 for f in facts))


class Muniment(Contender):
    name = "muniment"
    work = "`muniment inscribe`: documents, rounds, full-text and session indexes, and the source bytes themselves"

    def command(self, home: Home) -> list[str]:
        return [*self._at_store(home), "inscribe", str(home.projects)]

    def listing(self, home: Home) -> list[str]:
        return [*self._at_store(home), "sessions"]

    def showing(self, home: Home) -> list[str]:
        return [*self._at_store(home), "show", "last"]

    def taken_in(self, home: Home) -> int:
        documents = (home.root / "store" / "data" / "sessions").glob("*/*.md")
        return sum(1 for path in documents if path.name != "index.md")

    def kept(self, home: Home) -> list[Path]:
        return files_below(home.root / "store")

    def _at_store(self, home: Home) -> list[str]:
        return [str(self.executable), "--store", str(home.root / "store")]


class Agentsview(Contender):
    name = "agentsview"
    work = "`agentsview sync` without its daemon: messages, tool calls and full text in SQLite, no source bytes"

    def command(self, home: Home) -> list[str]:
        return [str(self.executable), "sync"]

    def environment(self, home: Home) -> dict[str, str]:
        return super().environment(home) | {
            "AGENTSVIEW_NO_DAEMON": "1",
            "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1",
            "AGENTSVIEW_TELEMETRY_ENABLED": "0",
        }

    def taken_in(self, home: Home) -> int:
        database = home.root / ".agentsview" / "sessions.db"
        return sessions_in(database, "select distinct file_path from sessions", home)

    def kept(self, home: Home) -> list[Path]:
        return files_below(home.root / ".agentsview")


class ClaudeCodeLog(Contender):
    name = "claude-code-log"
    work = "`claude-code-log --all-projects`: HTML pages per session and project, and a SQLite cache, no source bytes"
    rounds = 1  # it takes longer than all others together, and no promise is held against it

    def command(self, home: Home) -> list[str]:
        return [str(self.executable), "--all-projects"]

    def taken_in(self, home: Home) -> int:
        database = home.projects / "claude-code-log-cache.db"
        return sessions_in(database, "select file_path from cached_files", home)

    def kept(self, home: Home) -> list[Path]:
        # It writes its pages between the sources.
        return [path for path in files_below(home.projects) if path.suffix != ".jsonl"]


def muniment_at(executable: Path) -> Muniment:
    if not executable.is_file():
        raise NotInstalled("muniment: no such command here, see --muniment")
    asked = subprocess.run([str(executable), "--version"], capture_output=True, text=True)
    return Muniment(executable, asked.stdout.split()[-1] if asked.stdout.split() else "unknown")


def rival(kind: type[Contender], version: str, work: Path) -> Contender:
    """The rival of exactly this version, installed once into `work`."""
    return kind(installed(kind.name, version, work) / "bin" / kind.name, version)


def installed(package: str, version: str, work: Path) -> Path:
    """The virtual environment of a package of exactly this version, made once."""
    place = work / "rivals" / f"{package}-{version}"
    if not place.is_dir():
        install(f"{package}=={version}", place)
    return place


def install(requirement: str, place: Path) -> None:
    """A virtual environment with one requirement; a failed one leaves nothing behind."""
    # Not made aside and renamed at the end: the scripts of a virtual environment carry its path.
    uv = str(Path(sys.executable).with_name("uv"))
    try:
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(place)], check=True)
        with place.with_name(f"{place.name}.log").open("wb") as log:
            install = [uv, "pip", "install", "--python", str(place / "bin" / "python"), requirement]
            subprocess.run(install, check=True, stdout=log, stderr=log)
    except BaseException as failure:
        shutil.rmtree(place, ignore_errors=True)
        if isinstance(failure, subprocess.CalledProcessError):
            raise NotInstalled(f"{requirement}: it could not be installed") from failure
        raise


def sessions_in(database: Path, query: str, home: Home) -> int:
    """How many of the paths the query gives are main files of sessions in this home."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        paths = [Path(row[0]) for row in connection.execute(query)]
    projects = home.projects.resolve()
    return sum(1 for path in paths if path.is_relative_to(projects) and is_session(path, projects))


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
