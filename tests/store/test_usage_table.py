"""What answers cost: each counts once, and to see that costs little."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw
import pytest

from muniment.store import schema
from muniment.store.rows import UsageRow
from muniment.store.usage_table import UsageTable


@pytest.fixture
def db() -> Iterator[Any]:
    made: Any = apsw.Connection(":memory:")
    made.execute(schema.ARCHIVE)
    yield made
    made.close()


def row(id_: str | None, sidechain: str | None = None, at: str | None = "10:00", round_: int = 1) -> UsageRow:
    return (id_, round_, sidechain, "model", at, 1, 2, 3, 4)


def counted(db: Any) -> list[tuple[str | None, str | None]]:
    return sorted(db.execute("SELECT message_id, sidechain FROM usage"), key=str)


def test_a_copy_in_a_subagent_does_not_count(db: Any) -> None:
    table = UsageTable(db)
    table.insert(1, [row("a"), row("b")])
    table.insert(1, [row("a", "side"), row("c", "side")])
    assert counted(db) == [("a", None), ("b", None), ("c", "side")]


def test_the_transcript_counts_though_it_comes_later(db: Any) -> None:
    table = UsageTable(db)
    table.insert(1, [row("a", "side"), row("c", "side")])
    UsageTable(db).insert(1, [row("x", "side"), row("a")])
    assert counted(db) == [("a", None), ("c", "side"), ("x", "side")]


def test_an_id_alone_proves_no_copy(db: Any) -> None:
    table = UsageTable(db)
    table.insert(1, [row("1"), row(None)])
    table.insert(1, [row("1", "side", at="11:00"), row(None, "side")])
    assert len(counted(db)) == 4


def test_sessions_have_nothing_to_do_with_each_other(db: Any) -> None:
    table = UsageTable(db)
    table.insert(1, [row("a", "side")])
    table.insert(2, [row("a", "side")])
    table.insert(1, [row("a", "other")])
    assert len(counted(db)) == 2


def test_rows_that_were_cleared_count_again(db: Any) -> None:
    table = UsageTable(db)
    table.insert(1, [row("a", "side"), row("b", "side", round_=2)])
    table.clear(1, "side", 2)
    table.insert(1, [row("b", "side", round_=2)])
    assert counted(db) == [("a", "side"), ("b", "side")]


def test_the_rows_of_a_session_are_looked_through_once(db: Any) -> None:
    """400 subagents of 100 answers took 26 seconds when every batch did."""
    asked: list[str] = []
    db.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: asked.append(event["sql"]))
    table = UsageTable(db)
    for side in range(50):
        table.clear(1, str(side), 1)
        table.insert(1, [row(f"{side}-{number}", str(side)) for number in range(10)])
    assert len(counted(db)) == 500
    assert sum("SELECT message_id, coalesce" in sql for sql in asked) == 1


def test_a_session_without_subagents_is_not_looked_through(db: Any) -> None:
    asked: list[str] = []
    db.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: asked.append(event["sql"]))
    table = UsageTable(db)
    for number in range(5):
        table.insert(1, [row(str(number))])
    assert not any("SELECT message_id, coalesce" in sql for sql in asked)
