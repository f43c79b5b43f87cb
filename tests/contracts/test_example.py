"""`docs/adding-a-source.md` works as it stands: its source keeps the contract, and the program uses it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from muniment.archive import Archive

from . import example

CLI = [sys.executable, "-P", "-m", "muniment.surfaces.cli.main"]


class Installed:
    """A machine with the example on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        example.install(folder / "site")
        self.samples = example.put_samples(folder / "samples")
        self.home = example.put_samples(folder / "user" / ".wren")
        self.env = {"HOME": str(folder / "user"), "PATH": os.environ["PATH"], "PYTHONPATH": str(folder / "site")}

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*words], env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=300)

    def muniment(self, *words: str) -> Any:
        """What a command says, as JSON where it can."""
        ran = self.run(*CLI, "--store", str(self.folder / "store"), *words)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return json.loads(ran.stdout) if "--json" in words else ran.stdout


@pytest.fixture
def machine(tmp_path: Path) -> Installed:
    return Installed(tmp_path)


def test_the_example_keeps_the_contract(machine: Installed) -> None:
    program, *words = example.command()
    assert program == "pytest"
    ran = machine.run(sys.executable, "-m", "pytest", *words, "-q", "-rs", "-p", "no:cacheprovider")
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr
    assert " passed" in ran.stdout
    assert "no command that resumes" not in ran.stdout


def test_the_suite_says_what_it_misses(machine: Installed) -> None:
    """A wrong name, or a folder without a session, is an error and not a run in which nothing failed."""
    for words in (
        ["--contract-source", "nobody", "--contract-samples", "samples"],
        ["--contract-source", "wren", "--contract-samples", "site"],
        [],
    ):
        suite = ["-p", "muniment.contract", "--pyargs", "muniment.contract.suite", "-p", "no:cacheprovider"]
        ran = machine.run(sys.executable, "-m", "pytest", *suite, *words)
        assert ran.returncode not in (0, 5), ran.stdout


def test_the_program_uses_the_example(machine: Installed) -> None:
    (row,) = [row for row in machine.muniment("sources", "--json") if row["name"] == "wren"]
    assert (row["found"], row["inscribed"], row["pending"]) == (1, 0, 1)
    machine.muniment("inscribe")
    (row,) = [row for row in machine.muniment("sources", "--json") if row["name"] == "wren"]
    assert (row["found"], row["inscribed"], row["pending"]) == (1, 1, 0)
    machine.muniment("check")
    assert "8 hours and 11 minutes." in machine.muniment("show", "last", "1")
    talk = machine.home / "talks" / "t-0042.jsonl"
    kept = talk.read_bytes()
    talk.unlink()
    machine.muniment("restore", "last")
    assert talk.read_bytes() == kept


def test_sessions_go_to_the_example_and_come_from_it(machine: Installed) -> None:
    machine.muniment("inscribe")
    machine.muniment("export", "last", "--to", "wren", "--into", str(machine.folder / "out"))
    (written,) = (machine.folder / "out").rglob("*.jsonl")
    assert b"8 hours and 11 minutes." in written.read_bytes()


def test_an_archive_outlives_the_program_that_read_it(machine: Installed) -> None:
    """Without its source, a session is still listed and found; only what needs the format is refused."""
    machine.muniment("inscribe")
    archive = Archive(machine.folder / "store", {"HOME": machine.env["HOME"]})
    (session,) = archive.sessions()
    assert session.source == "wren"
    assert list(archive.rounds(session))
