"""A document that is there already, where a session goes: whose it is decides, and nothing in it is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from muniment.archive import Archive
from muniment.inscribe import Outcome
from muniment.surfaces.cli.inscribe import command
from tests.builder import conversation

Inscribe = Callable[..., list[Outcome]]

OTHER = "0e0e0e0e-1111-4222-8333-444444444444"
HAND = """---
session_id: {id}
source: "/elsewhere/it.jsonl"
---
# Historian · 2026-03-19

What I made of that day.

---

### 2026-03-19T10:00:01.000Z · user

prompt 0

> [!note] This is where it went wrong.
"""


def laid_down(archive: Archive, session_id: str, said: str) -> Path:
    """A document without a folder, as an older tool left it."""
    path = archive.layout.shelf("claude", session_id).document
    path.parent.mkdir(parents=True)
    path.write_text(HAND.format(id=said))
    return path


def test_the_document_of_another_session_is_not_overwritten(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session, neighbour = conversation(1), conversation(1, cwd="/other")
    session.write(home)
    neighbour.write(home)
    path = laid_down(archive, session.id, OTHER)
    before = path.read_bytes()
    outcomes = {outcome.session_id: outcome for outcome in inscribe()}
    assert outcomes[neighbour.id].what == "new", "the others go on"
    assert outcomes[session.id].what == "failed"
    assert OTHER in outcomes[session.id].note
    assert "move it away" in outcomes[session.id].note
    assert "\n" not in outcomes[session.id].note
    assert path.read_bytes() == before
    assert not path.with_suffix("").exists()
    path.unlink()
    assert [outcome.what for outcome in inscribe()] == ["new"]


def test_a_refused_document_makes_the_exit_code_1(archive: Archive, home: Path) -> None:
    session = conversation(1)
    source = session.write(home)
    laid_down(archive, session.id, OTHER)
    done = CliRunner().invoke(command, [str(source)], obj=str(archive.layout.root), env=dict(archive.env))
    assert done.exit_code == 1
    assert f"failed: {source}: " in done.output


def test_a_document_whose_id_was_changed_is_kept_aside_and_stops_nothing(
    archive: Archive, inscribe: Inscribe, home: Path
) -> None:
    """One flipped bit of a disk must not end the archiving of a session."""
    session = conversation(1)
    session.write(home)
    inscribe()
    shelf = archive.shelf(archive.sessions()[0])
    shelf.document.write_text(shelf.document.read_text().replace(session.id, OTHER))
    session.exchange("more", "done")
    session.write(home)
    assert [outcome.what for outcome in inscribe()] == ["appended"]
    assert OTHER not in shelf.document.read_text()
    assert any(OTHER in kept.read_text() for kept in shelf.versions.glob("edited-*.md"))
    assert [report.note for report in archive.check_stored()] == [""]


@pytest.mark.parametrize("quoted", [True, False])
def test_a_document_of_an_older_tool_is_kept_aside_and_what_it_says_of_the_session_stays(
    archive: Archive, inscribe: Inscribe, home: Path, quoted: bool
) -> None:
    session = conversation(1)
    session.write(home)
    path = laid_down(archive, session.id, f'"{session.id}"' if quoted else session.id)
    before = path.read_bytes()
    (outcome,) = inscribe()
    assert outcome.what == "new"
    assert any("edited" in problem.what for problem in outcome.problems)
    text = path.read_text()
    assert "What I made of that day." in text
    assert "/elsewhere/it.jsonl" in text
    assert "reply 0" in text
    (kept,) = archive.shelf(archive.sessions()[0]).versions.glob("edited-*.md")
    assert kept.read_bytes() == before


@pytest.mark.parametrize("change", [("reply 0", "a remark of mine"), ('session_id: "', f'session_id: "{OTHER}')])
def test_a_rebuild_keeps_aside_what_it_writes_anew(
    archive: Archive, inscribe: Inscribe, home: Path, change: tuple[str, str]
) -> None:
    conversation(1).write(home)
    inscribe()
    shelf = archive.shelf(archive.sessions()[0])
    whole = shelf.document.read_bytes()
    shelf.document.write_text(shelf.document.read_text().replace(*change))
    edited = shelf.document.read_bytes()
    archive.reindex()
    (kept,) = shelf.versions.glob("edited-*.md")
    assert kept.read_bytes() == edited
    assert shelf.document.read_bytes() == whole
    archive.reindex()
    assert len(list(shelf.versions.iterdir())) == 1, "what was written anew is nobody's edit"
