"""Sessions of which only the subagents are left: everything that names them says so, and leads to what is there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from muniment.archive import Archive
from muniment.errors import NotFound
from muniment.inscribe import Outcome
from muniment.surfaces.cli.show import command
from tests.builder import conversation

Inscribe = Callable[..., list[Outcome]]


@pytest.fixture
def alone(archive: Archive, inscribe: Inscribe, home: Path) -> str:
    """The id of one whose transcript is gone, beside one that is whole."""
    session = conversation(cwd="/gone")
    path = home / "projects" / "-w" / session.id / "subagents" / "agent-a1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(session.data)
    conversation(1).write(home)
    inscribe()
    return session.id


def show(archive: Archive, *args: str) -> Result:
    return CliRunner().invoke(command, args, obj=str(archive.layout.root), env=dict(archive.env))


def test_listings_link_only_what_is_there(archive: Archive, alone: str) -> None:
    folder = archive.layout.agent("claude")
    links = re.findall(r"\]\(([^)]+)\)", (folder / "index.md").read_text())
    assert len(links) == 2
    assert all((folder / link).exists() for link in links)
    assert f"[{alone}]({alone}/sidechains/)" in (folder / "index.md").read_text()


def test_their_summary_survives_a_rebuild(archive: Archive, alone: str) -> None:
    listing = archive.layout.agent("claude") / "index.md"
    inscribed = listing.read_text()
    archive.ingest()
    ingested = listing.read_text()
    archive.reindex()
    assert inscribed.count("(only subagents are left)") == 2, "as title and as summary"
    assert ingested.count("(only subagents are left)") == 2
    assert listing.read_text() == ingested


def test_show_lists_the_subagents(archive: Archive, alone: str) -> None:
    shown = show(archive, alone)
    assert "only subagents are left" in shown.stderr
    assert "prompt 0" in shown.stdout
    assert "--subagent ID" in shown.stdout
    assert "prompt 0" in show(archive, alone, "--subagent", "a1", "--document").stdout


@pytest.mark.parametrize("asked", ["--document", "1"])
def test_what_they_have_not_is_said_to_be_gone(archive: Archive, alone: str, asked: str) -> None:
    refused = show(archive, alone, asked).exception
    assert isinstance(refused, NotFound)
    assert "only subagents are left" in refused.hint


def test_a_summary_has_no_place(archive: Archive, alone: str) -> None:
    with pytest.raises(NotFound, match="no document"):
        archive.summarise(alone, "What it was")
