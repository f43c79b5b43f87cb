"""A session that was forgotten is gone: from the answers, and from the bytes of every file of the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner

from muniment.archive import Archive
from muniment.inscribe import Outcome
from muniment.search import Query
from muniment.store.index import Index
from muniment.surfaces.cli.forget import command
from tests.builder import ClaudeSession, conversation
from tests.conftest import tree

Inscribe = Callable[..., list[Outcome]]

KEY = "zqkxvendetta77"
FIRST = "qzfirstdraft88"
PLACE = "/w/qzhidden99"
SIGNS = "密钥藏匿处"


@pytest.fixture
def secretive(home: Path) -> ClaudeSession:
    """A session with a word that is nowhere else, said by everybody."""
    session = ClaudeSession(cwd=PLACE)
    session.exchange(f"my key is {KEY} {SIGNS}", f"I noted {KEY}")
    session.write(home, "-hidden")
    return session


def traces(archive: Archive) -> list[str]:
    """Files of the store in which something of the session can be read, however it is cased."""
    words = [word.encode().lower() for word in (KEY, FIRST, PLACE, PLACE[3:], SIGNS, SIGNS[:2])]
    return [name for name, data in tree(archive.layout.root).items() if any(word in data.lower() for word in words)]


def test_neither_words_nor_facts_are_left_in_any_file(
    archive: Archive, inscribe: Inscribe, home: Path, secretive: ClaudeSession
) -> None:
    other = conversation(3)
    other.write(home)
    inscribe()
    archive.ingest()
    assert "data/sessions/sessions.db" in traces(archive)
    archive.forget(secretive.id)
    assert traces(archive) == []
    assert [hit.session_id for hit in archive.search(Query("reply"))], "others are found as before"
    with Index(archive.layout) as known:
        assert known.rows("SELECT count(*) FROM rounds_fts WHERE rounds_fts MATCH 'prompt'") == [(3,)]
        assert known.rows("SELECT count(*) FROM texts_fts_docsize") == known.rows("SELECT count(*) FROM texts")


def test_words_that_an_earlier_inscription_replaced_go_too(
    archive: Archive, inscribe: Inscribe, home: Path, secretive: ClaudeSession
) -> None:
    """The full text of a source that was rewritten still has what it said at first."""
    conversation(1).write(home)
    path = secretive.write(home, "-hidden")
    path.write_bytes(secretive.data.replace(KEY.encode(), FIRST.encode()))
    inscribe()
    secretive.write(home, "-hidden")
    inscribe()
    archive.forget(secretive.id)
    assert traces(archive) == []


def test_the_specified_full_text_answers_for_the_rounds_that_are_left(
    archive: Archive, inscribe: Inscribe, home: Path, secretive: ClaudeSession
) -> None:
    conversation(4).write(home)
    inscribe()
    archive.forget(secretive.id)
    db = apsw.Connection(str(archive.layout.database))
    db.execute("INSERT INTO rounds_fts(rounds_fts, rank) VALUES ('integrity-check', 1)")
    sql = "SELECT r.round FROM rounds_fts f JOIN rounds r ON r.rowid = f.rowid WHERE rounds_fts MATCH 'prompt'"
    assert sorted(row[0] for row in db.execute(sql)) == [1, 2, 3, 4]
    db.close()


def test_it_is_told_that_a_source_is_still_there(
    archive: Archive, inscribe: Inscribe, home: Path, secretive: ClaudeSession
) -> None:
    inscribe()
    path = secretive.write(home, "-hidden")

    def told() -> str:
        asked = ["--yes", secretive.id]
        return CliRunner().invoke(command, asked, obj=str(archive.layout.root), env=dict(archive.env)).stderr

    assert f"still there ({path})" in told()
    inscribe()
    path.unlink()
    assert told() == ""
