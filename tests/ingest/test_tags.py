"""An engagement that a person names for rounds stands wherever engagements of a session stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from muniment.archive import Archive
from muniment.store import page
from tests.builder import conversation

NAMED = {"id": "console-work", "phase_at_start": None, "phase_at_end": None}


@pytest.fixture
def session_id(archive: Archive, home: Path) -> str:
    session = conversation(4)
    session.write(home)
    archive.inscribe()
    return session.id


def frontmatter(archive: Archive) -> list[Any]:
    top = page.load_head(archive.shelf(archive.session("last")).document)
    assert top
    return top.fields["engagements"]


def test_before_ingestion_the_document_names_it(archive: Archive, session_id: str) -> None:
    archive.tag("last", [2, 3], "console-work")
    assert frontmatter(archive) == [NAMED]
    archive.tag("last", [2, 3], None)
    assert frontmatter(archive) == []


def test_what_another_program_wrote_there_stays(archive: Archive, session_id: str) -> None:
    document = archive.shelf(archive.session("last")).document
    theirs = {"id": "lighthouse", "phase_at_start": "started", "phase_at_end": "completed"}
    document.write_text(document.read_text().replace("engagements: []", 'engagements: [{"id": "lighthouse", '
        '"phase_at_start": "started", "phase_at_end": "completed"}]'))  # fmt: skip
    archive.tag("last", [2], "console-work")
    assert frontmatter(archive) == [theirs, NAMED]
    archive.tag("last", [2], None)
    assert frontmatter(archive) == [theirs]


@pytest.mark.parametrize("tagged_first", [True, False])
def test_once_ingested_it_stands_beside_what_was_found(archive: Archive, session_id: str, tagged_first: bool) -> None:
    if tagged_first:
        archive.tag("last", [2, 3], "console-work")
        archive.ingest()
    else:
        archive.ingest()
        archive.tag("last", [2, 3], "console-work")
    (record,) = archive.engagements()
    found = [engagement.engagement_id for engagement in record.engagements]
    assert found
    assert [(named.engagement_id, named.turn_ranges) for named in record.tagged] == [("console-work", ((2, 3),))]
    assert [entry["id"] for entry in frontmatter(archive)] == [*found, "console-work"]
    assert "- **console-work** · by hand · turns 2–3\n" in archive.layout.engagements_listing.read_text()


def test_taken_away_it_stands_nowhere(archive: Archive, session_id: str) -> None:
    archive.ingest()
    archive.tag("last", [2], "console-work")
    archive.tag("last", [2], None)
    assert NAMED not in frontmatter(archive)
    assert b"console-work" not in archive.layout.engagements.read_bytes()
    assert "console-work" not in archive.layout.engagements_listing.read_text()


def test_rounds_given_to_an_engagement_that_was_found_name_no_other(archive: Archive, session_id: str) -> None:
    archive.ingest()
    before = frontmatter(archive)
    archive.tag("last", [2], before[0]["id"])
    assert frontmatter(archive) == before


@pytest.mark.parametrize("ingested", [True, False])
def test_a_document_that_was_lost_names_it_again(archive: Archive, session_id: str, ingested: bool) -> None:
    if ingested:
        archive.ingest()
    archive.tag("last", [2], "console-work")
    before = frontmatter(archive)
    archive.shelf(archive.session("last")).document.unlink()
    archive.reindex()
    assert frontmatter(archive) == before
