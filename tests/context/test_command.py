"""`muniment context`, as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from muniment.archive import Archive
from muniment.surfaces.cli.main import cli
from tests.context.past import ID


def run(site: Archive, *words: str, code: int = 0) -> str:
    result = CliRunner().invoke(cli, ["--store", str(site.layout.root), "context", *words])
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.output


def test_it_prints_a_pack(site: Archive) -> None:
    told = run(site, "last")
    assert told.startswith("# Context from the archive")
    assert ID in told
    assert run(site, ID[:8]) == told


def test_it_prints_json(site: Archive) -> None:
    told = json.loads(run(site, "last", "--as", "json", "--budget", "3000", "--policy", "archaeology"))
    assert told["policy"] == "archaeology"
    assert told["tokens"] <= 3000


def test_chosen_rounds(site: Archive) -> None:
    told = json.loads(run(site, "last", "--as", "json", "--full", "3-", "--ref", "rest"))
    assert told["policy"] == "explicit"
    assert (told["full"], told["references"]) == (2, 2)
    assert "--ref goes with --full" in run(site, "last", "--ref", "rest", code=2)
    assert "not a range" in run(site, "last", "--full", "x", code=2)


def test_selectors(site: Archive) -> None:
    told = json.loads(run(site, "--query", "cookies storage", "--file", "login.ts", "--as", "json"))
    assert told["rounds"] == 1


def test_it_writes_a_file_and_does_not_overwrite_another(site: Archive, tmp_path: Path) -> None:
    path = tmp_path / "pack.md"
    run(site, "last", "-o", str(path))
    assert path.read_text() == run(site, "last")
    assert path.stat().st_mode & 0o077 == 0
    path.write_text("mine")
    result = CliRunner().invoke(cli, ["--store", str(site.layout.root), "context", "last", "-o", str(path)])
    assert type(result.exception).__name__ == "Conflict"
    assert path.read_text() == "mine"


def test_it_writes_a_session(site: Archive, tmp_path: Path) -> None:
    told = json.loads(run(site, "last", "--as", "claude", "--into", str(tmp_path / "out"), "--json"))
    assert Path(told["path"]).exists()
    assert told["resume"].endswith(told["session_id"])


@pytest.mark.parametrize("words", [(), ("--policy", "successor")])
def test_without_a_selection_it_says_what_to_give(site: Archive, words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(cli, ["--store", str(site.layout.root), "context", *words])
    assert result.exit_code == 2
    assert "Say of what" in result.output
