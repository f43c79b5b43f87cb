"""Subagents as a reader meets them: listed, linked, opened by the command that a hit names."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from muniment.store.layout import Layout, Shelf
from tests.builder import ClaudeSession, conversation
from tests.test_cli import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def _subagent(home: Path, id_: str, *prompts: str, of: ClaudeSession) -> None:
    sub = ClaudeSession(of.id, isSidechain=True, agentId=id_)
    for prompt in prompts:
        sub.exchange(prompt, f"found it: {prompt}")
    path = home / ".claude" / "projects" / "-w" / of.id / "subagents" / f"agent-{id_}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(sub.data)


@pytest.fixture
def both(cli: Cli) -> Cli:
    """A session with two subagents."""
    session = conversation(2)
    session.write(cli.home / ".claude")
    _subagent(cli.home, "a1b2", "look into xylophones", of=session)
    _subagent(cli.home, "a1c3", "look into zithers", "and into lutes", of=session)
    cli("inscribe")
    return cli


@pytest.fixture
def left(cli: Cli) -> Cli:
    """A session of which only a subagent is left."""
    _subagent(cli.home, "a1b2", "look into xylophones", of=ClaudeSession())
    cli("inscribe")
    return cli


def _shelf(cli: Cli) -> Shelf:
    return Layout(cli.home / ".local" / "share" / "muniment").shelf("claude", ClaudeSession().id)


def test_a_session_lists_its_subagents(both: Cli) -> None:
    shown = both("show", "last").stdout
    assert "prompt 1" in shown
    assert "look into xylophones" in shown
    assert "a1c3" in shown
    assert "--subagent" in shown


def test_a_subagent_is_shown_as_a_session_is(both: Cli) -> None:
    assert "and into lutes" in both("show", "last", "--subagent", "a1c3").stdout
    assert "found it: and into lutes" in both("show", "last", "2", "--subagent", "a1c").stdout
    assert "subagent a1c3" in both("show", "last", "--subagent", "a1c3", "--document").stdout
    assert json.loads(both("show", "last", "2", "--subagent", "a1c3", "--json").stdout)["round"] == 2
    rounds = json.loads(both("show", "last", "--subagent", "a1c3", "--json").stdout)
    assert [row["user_preview"] for row in rounds] == ["look into zithers", "and into lutes"]


def test_a_subagent_that_is_not_there_is_an_error_that_names_those_that_are(both: Cli) -> None:
    assert "a1b2, a1c3" in both("show", "last", "--subagent", "b", code=3).stderr
    assert "a1b2, a1c3" in both("show", "last", "--subagent", "a1", code=4).stderr
    assert "no round 3" in both("show", "last", "3", "--subagent", "a1c3", code=3).stderr


@pytest.mark.parametrize("kept", ["both", "left"])
def test_a_hit_in_a_subagent_names_the_command_that_opens_it(kept: str, request: pytest.FixtureRequest) -> None:
    cli: Cli = request.getfixturevalue(kept)
    found = cli("search", "xylophones", "--in", "user").stdout
    (command,) = [row.strip() for row in found.splitlines() if "--subagent" in row]
    program, *args = shlex.split(command)
    assert program == "muniment"
    assert "found it: look into xylophones" in cli(*args).stdout


def test_no_document_is_named_that_does_not_exist(left: Cli) -> None:
    shown = left("show", "last").stdout
    assert "look into xylophones" in shown
    assert all(Path(row).exists() for row in shown.splitlines() if row.startswith("/"))
    assert "--subagent" in left("show", "last", "1", code=3).stderr


def test_the_listing_of_a_session_links_its_subagents(both: Cli) -> None:
    shelf = _shelf(both)
    for _ in range(2):  # as inscribed, then as understood
        listing = shelf.listing.read_text()
        assert "| [1](rounds/001.json) |" in listing
        assert "[a1b2](sidechains/a1b2.md)" in listing
        assert (shelf.folder / "sidechains" / "a1b2.md").exists()
        both("ingest")


def test_a_subagent_that_comes_later_is_linked_too(both: Cli) -> None:
    _subagent(both.home, "a9", "look into drums", of=ClaudeSession())
    both("append")
    listing = _shelf(both).listing.read_text()
    assert "[a9](sidechains/a9.md)" in listing
    assert listing.count("[a1b2](sidechains/a1b2.md)") == 1


def test_what_is_left_of_a_session_has_a_listing(left: Cli) -> None:
    assert "[a1b2](sidechains/a1b2.md)" in _shelf(left).listing.read_text()
    _shelf(left).listing.unlink()
    left("reindex")
    assert "[a1b2](sidechains/a1b2.md)" in _shelf(left).listing.read_text()
