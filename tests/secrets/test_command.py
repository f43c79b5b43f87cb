"""`muniment secrets` says where secrets are, and never what they are."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from muniment.archive import Archive
from muniment.surfaces.cli import secrets
from tests.builder import ClaudeSession, conversation, text, tool
from tests.secrets.vectors import plant

GITHUB, PASSWORD = plant("github-token", random.Random(1)).secret, plant("password", random.Random(2)).secret


@pytest.fixture
def run(archive: Archive, home: Path, inscribe: Callable[..., Any]) -> Callable[..., Result]:
    session = ClaudeSession()
    session.exchange("hello", "nothing here")
    session.user(f"use {GITHUB} please")
    session.answer(text("I set it."), tool("toolu_x", "Write", {"file": "a", "content": {"password": PASSWORD}}))
    session.result("toolu_x", f"wrote {GITHUB}\nand again {GITHUB}\n", is_error=False)
    session.answer({"type": "thinking", "thinking": f"It is {GITHUB}.", "signature": "c2ln"}, text("Done."))
    session.write(home)
    inscribe()
    return lambda *args: CliRunner().invoke(secrets.command, args, obj=str(archive.layout.root))


def test_places_are_listed_for_machines(run: Callable[..., Result]) -> None:
    done = run("--json")
    assert done.exit_code == 0
    rows = json.loads(done.stdout)
    assert [(r["round"], r["kind"], r["tool"], r["rule"], r["preview"], r["count"]) for r in rows] == [
        (2, "user", None, "github-token", "ghp_…", 1),
        (2, "tool-input", "Write", "password", "…", 1),
        (2, "tool-output", "Write", "github-token", "ghp_…", 2),
        (2, "thinking", None, "github-token", "ghp_…", 1),
    ]
    assert len({r["tag"] for r in rows}) == 2, "one tag for one secret"


def test_places_are_listed_for_people(run: Callable[..., Result]) -> None:
    done = run("last")
    assert done.exit_code == 0
    assert "tool-output Write" in done.stdout
    assert "2 secrets in 4 places of 1 session" in done.stderr


@pytest.mark.parametrize("args", [(), ("--json",), ("last",)])
def test_no_secret_is_ever_shown(run: Callable[..., Result], args: tuple[str, ...]) -> None:
    shown = run(*args).output
    assert GITHUB[4:12] not in shown
    assert PASSWORD[:5] not in shown


def test_an_archive_without_secrets_says_so(archive: Archive, home: Path) -> None:
    conversation(1).write(home)
    archive.inscribe()
    done = CliRunner().invoke(secrets.command, ["--json"], obj=str(archive.layout.root))
    assert (done.exit_code, done.stdout) == (0, "[]\n")
    assert "0 secrets found" in CliRunner().invoke(secrets.command, [], obj=str(archive.layout.root)).stderr
