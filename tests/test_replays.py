"""Subagents that replay the conversation of their session, as those do that sum it up: what was said counts once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from muniment.archive import Archive
from muniment.inscribe import Outcome
from muniment.search import Query
from muniment.store.index import Index
from muniment.viewing import numbers
from tests.builder import ClaudeSession, conversation, text

Inscribe = Callable[..., list[Outcome]]


def summing_up(session: ClaudeSession, new_ids: bool) -> bytes:
    """The file of the subagent: the whole conversation, then what it was asked and its answer."""
    lines: list[bytes] = []
    for number, line in enumerate(session.lines):
        record = json.loads(line) | {"isSidechain": True, "agentId": "acompact-1f"}
        lines.append(json.dumps(record | ({"uuid": f"new-{number}"} if new_ids else {})).encode() + b"\n")
    more = ClaudeSession(session.id, isSidechain=True, agentId="acompact-1f")
    more.seconds, more.lines = session.seconds, list(session.lines)
    more.user("Sum it all up.")
    more.answer(text("All was done."), id_="msg_of_the_summary")
    return b"".join([*lines, *more.lines[len(session.lines) :]])


def put_summing_up(home: Path, session: ClaudeSession, new_ids: bool = False) -> Path:
    path = home / "projects" / "-w" / session.id / "subagents" / "agent-acompact-1f.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(summing_up(session, new_ids))
    return path


def counted(archive: Archive) -> int:
    stats = numbers.stats(archive.layout, "", Query())
    return sum(model.input + model.output + model.cache_read + model.cache_write for model in stats.models)


@pytest.mark.parametrize("new_ids", [False, True])
@pytest.mark.parametrize("first", ["transcript", "subagent", "together"])
def test_tokens_count_once(archive: Archive, home: Path, inscribe: Inscribe, first: str, new_ids: bool) -> None:
    session = conversation(3)
    if first != "transcript":
        put_summing_up(home, session, new_ids)
    if first == "subagent":
        inscribe()
    session.write(home)
    inscribe()
    put_summing_up(home, session, new_ids)
    inscribe()
    answers = {json.loads(line).get("message", {}).get("id") for line in session.lines} - {None}
    assert counted(archive) == 108 * (len(answers) + 1)
    with Index(archive.layout) as index:
        rows = index.rows("SELECT count(*), count(DISTINCT message_id) FROM usage WHERE sidechain IS NULL")
    assert rows == [(len(answers), len(answers))]
    assert [session.tokens for session in archive.sessions()] == [108 * (len(answers) + 1)]
    archive.reindex()
    assert counted(archive) == 108 * (len(answers) + 1)


@pytest.mark.parametrize("new_ids", [False, True])
def test_a_search_finds_them_once_and_in_the_session(
    archive: Archive, home: Path, inscribe: Inscribe, new_ids: bool
) -> None:
    session = conversation(3)
    session.write(home)
    put_summing_up(home, session, new_ids)
    inscribe()
    hits = archive.search(Query("reply"))
    assert sorted((hit.round, hit.sidechain) for hit in hits) == [(1, None), (2, None), (3, None)]
    assert [hit.sidechain for hit in archive.search(Query("sum"))] == ["acompact-1f"]


def test_the_same_words_of_a_subagent_at_another_time_are_its_own(
    archive: Archive, home: Path, inscribe: Inscribe
) -> None:
    session = conversation(1)
    session.write(home)
    other = ClaudeSession(session.id, isSidechain=True, agentId="a1")
    other.seconds = 90
    other.exchange("prompt 0", "reply 0")
    path = home / "projects" / "-w" / session.id / "subagents" / "agent-a1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(other.data)
    inscribe()
    assert sorted(str(hit.sidechain) for hit in archive.search(Query("reply"))) == ["None", "a1"]
