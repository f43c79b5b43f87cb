"""The tour is true: its commands are run against the demo, and what they say is what it shows.

In a block of the tour, a line that begins with `$` is a command, and what follows is its output, standard error too. A
line `…` stands for any number of lines that are left out. `MUNIMENT_GOLDEN=write` puts the real output in: as many
lines before a `…` as stand there now, and behind it those that stand there, else as many from the end. Then read the
diff.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "tour.md"
BLOCK = re.compile(r"^(```+)\n(\$ .*?)^\1$", re.MULTILINE | re.DOTALL)
CUT = "…"
WANTED = {"up", "sessions", "show", "search", "ingest", "view", "html", "context", "continue", "lineage", "budget"}
WANTED |= {"bundle", "unbundle", "check"}
MINTED = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
STANDS_FOR = "0c5e7f2a-1b3d-4e6f-8a9b-2d4c6e8f0a1b"
SIZE = re.compile(r"\b\d+(\.\d)? [kM]?B\b")


class Visitor:
    """Somebody who types what the tour says, in a home of their own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        programs = Path(sys.executable).parent
        self.env = {"HOME": str(home), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "LANG": "C.UTF-8"}
        self.env |= {"TZ": "UTC", "COLUMNS": "110"}
        self.minted: set[str] = set()

    def types(self, line: str) -> list[str]:
        """The lines that a command prints."""
        if line.startswith("export "):
            name, _, value = line.removeprefix("export ").partition("=")
            self.env[name] = value.replace("~", str(self.home), 1)
            return []
        said = self._served(line) if line.startswith("muniment view") else self._ran(line)
        return self._calm(said).splitlines()

    def _ran(self, line: str) -> str:
        how = {"cwd": self.home, "env": self.env, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(["sh", "-c", line], stdin=subprocess.DEVNULL, text=True, timeout=300, check=False, **how)
        assert done.returncode == 0, f"{line}\n{done.stdout}"
        return done.stdout

    def _served(self, line: str) -> str:
        """A command that goes on until it is stopped: what it says first."""
        how = {"cwd": self.home, "env": self.env, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(
            [*shlex.split(line), "--port", "0"], stdin=subprocess.DEVNULL, text=True, **how
        ) as served:
            try:
                assert served.stdout
                said = served.stdout.readline() + served.stdout.readline()
                return re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:18820", said)
            finally:
                served.terminate()
                served.communicate(timeout=60)

    def _calm(self, text: str) -> str:
        """Without what differs from run to run: the home, ids that are minted, codes."""
        self.minted |= set(MINTED.findall(text))
        for id_ in self.minted:
            text = text.replace(id_, STANDS_FOR).replace(id_[:13], STANDS_FOR[:13])
        text = re.sub(r"code: [0-9A-Z-]+", "code: …", text.replace(str(self.home), "~"))
        return "\n".join(line.rstrip() for line in text.splitlines())


def shown(commands: list[tuple[str, list[str]]]) -> str:
    return "\n".join("\n".join([f"$ {line}", *output]) for line, output in commands) + "\n"


def commands(block: str) -> list[tuple[str, list[str]]]:
    """The commands of a block, each with the lines under it."""
    found: list[tuple[str, list[str]]] = []
    for line in block.rstrip("\n").split("\n"):
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def abridged(real: list[str], told: list[str]) -> list[str]:
    """The real lines, cut where the tour cuts: so many before the first cut, so many behind each."""
    if CUT not in [line.strip() for line in told]:
        return real
    first, *others = _parts(told)
    made, at = real[: len(first)], len(first)
    for part in others:
        at = _place(real, part, at)
        made += [CUT, *real[at : at + len(part)]]
        at += len(part)
    return made


def _parts(told: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for line in told:
        if line.strip() == CUT:
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def _place(real: list[str], part: list[str], since: int) -> int:
    """Where these lines stand; if they stand nowhere, so many from the end."""
    places = range(since, len(real) - len(part) + 1)
    return next((at for at in places if real[at : at + len(part)] == part), max(since, len(real) - len(part)))


def same_sizes(real: list[str], told: list[str]) -> list[str]:
    """A size may differ from one build to the next: where only that differs, what the tour says stays."""
    known = {SIZE.sub("", line): line for line in told}
    return [known.get(SIZE.sub("", line), line) for line in real]


@pytest.fixture(scope="module")
def true(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page with what the commands really say."""
    visitor = Visitor(tmp_path_factory.mktemp("home"))

    def told(block: re.Match[str]) -> str:
        made = [
            (line, same_sizes(abridged(visitor.types(line), output), output)) for line, output in commands(block[2])
        ]
        return f"{block[1]}\n{shown(made)}{block[1]}"

    return BLOCK.sub(told, PAGE.read_text())


def test_every_command_says_what_the_tour_shows(true: str) -> None:
    if os.environ.get("MUNIMENT_GOLDEN") == "write":
        PAGE.write_text(true)
    assert PAGE.read_text() == true


def test_the_tour_goes_everywhere() -> None:
    typed = [line for _, block in BLOCK.findall(PAGE.read_text()) for line, _ in commands(block)]
    visited = {word for line in typed for word in line.split()}
    assert visited >= WANTED
