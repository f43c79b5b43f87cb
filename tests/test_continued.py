"""What muniment writes as a continuation is known as one: it hangs on its origin, and what it took over counts once."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from muniment.archive import Archive
from muniment.context.selection import Selection, select
from muniment.export import Request
from muniment.model.engagements import Ingested
from muniment.restore import Target
from muniment.search import Query
from muniment.search.stats import count
from muniment.sources.base import Move
from muniment.store import edits
from muniment.viewing.numbers import stats
from tests.builder import ClaudeSession, text, tool
from tests.lineage.graphs import is_in_order

A = "11111111-1111-4111-8111-111111111111"
AGENTS = ("claude", "codex", "pi", "opencode")
ROUNDS = 4
Inscribe = Callable[..., object]


def worked(id_: str = A) -> ClaudeSession:
    """A session with calls to a model and to tools, whose ids are as long as real ones."""
    made = ClaudeSession(id_, cwd="/proj/x")
    for number in range(ROUNDS):
        call = f"toolu_{number:024}"
        made.user(f"please mend the gasket {number}")
        made.answer(tool(call, "Bash", {"command": "make"}), id_=f"msg_{number:024}")
        made.result(call, "made", is_error=False)
        made.answer(text(f"mended {number}"), id_=f"msg_1{number:023}")
    return made


@pytest.fixture(params=AGENTS)
def origin(request: pytest.FixtureRequest, tmp_path: Path, archive: Archive, home: Path, inscribe: Inscribe) -> str:
    """A session of each agent in the archive; gives its id."""
    if request.param == "claude":
        worked().write(home, "-proj-x")
    else:  # as that agent would have written it itself: nobody here knows where it comes from
        elsewhere = Archive(tmp_path / "elsewhere", archive.env)
        elsewhere.inscribe([worked().write(tmp_path / "old", "-proj-x")])
        (path,) = elsewhere.export(A, Request(source=request.param, new_id=True)).paths
        os.utime(path, (1, 1))
    inscribe()
    archive.ingest()
    (session,) = archive.sessions()
    return session.session_id


def gone_on(
    archive: Archive, inscribe: Inscribe, origin: str, agent: str, first: int | None = None, last: int | None = None
) -> str:
    """The id of a continuation, as the archive knows it."""
    made = archive.export(origin, Request(source=agent, new_id=True, first=first, last=last))
    before = {session.session_id for session in archive.sessions()}
    inscribe(*map(Path, made.paths))
    archive.ingest()
    (new,) = {session.session_id for session in archive.sessions()} - before
    return new


@pytest.mark.parametrize("agent", AGENTS)
def test_it_hangs_on_its_origin_and_counts_once(archive: Archive, inscribe: Inscribe, origin: str, agent: str) -> None:
    asked = Query(text="gasket", limit=100)
    alone = archive.budget(origin).with_sidechains
    found, chart, work = places(archive, asked), stats(archive.layout, "", Query()), count(archive.layout, Query())
    copy = gone_on(archive, inscribe, origin, agent)
    (edge,) = archive.lineage().edges
    assert (edge.earlier, edge.later, edge.explicit) == (origin, copy, True)
    assert archive.budget(origin).with_sidechains == alone
    assert archive.budget(copy).with_sidechains.tokens == 0
    assert archive.budget(copy).copied.tokens == alone.tokens
    assert places(archive, asked) == found
    assert stats(archive.layout, "", Query()).models == chart.models
    assert count(archive.layout, Query()) == structs.replace(work, ghosts=1)
    assert copy not in archive.layout.engagements_listing.read_text()
    assert {id_ for id_, *_ in places(archive, Query(text="gasket", session=copy))} == {copy}, "asked for by its id"


def places(archive: Archive, query: Query) -> list[tuple[str, int, str]]:
    return sorted((hit.session_id, hit.round, hit.kind) for hit in archive.search(query))


def test_what_it_goes_on_with_is_its_own(archive: Archive, home: Path, inscribe: Inscribe) -> None:
    worked().write(home, "-proj-x")
    inscribe()
    archive.ingest()
    made = archive.export(A, Request(source="claude", new_id=True))
    later = ClaudeSession(made.session_id, cwd="/proj/x")
    later.seconds = 500
    later.user("now the gasket of the flange")
    later.answer(text("mended too"), id_="msg_2" + "0" * 23)
    with Path(made.paths[0]).open("ab") as file:
        file.write(later.data)
    inscribe()
    archive.ingest()
    assert archive.budget(made.session_id).spent.calls == 1
    assert archive.budget(A).spent.calls == 2 * ROUNDS
    found = {hit.session_id: hit.round for hit in archive.search(Query(text="flange"))}
    assert found == {made.session_id: ROUNDS + 1}
    own = {record.session_id: record for record in archive.engagements()}[made.session_id]
    assert turns(own) == [(ROUNDS + 1, ROUNDS + 1)]


def with_subagent(path: Path) -> None:
    agent = ClaudeSession(A, isSidechain=True, agentId="a1")
    agent.user("look")
    agent.answer(text("seen"), id_="msg_3" + "0" * 23)
    beside = path.with_suffix("") / "subagents"
    beside.mkdir(parents=True)
    (beside / "agent-a1.jsonl").write_bytes(agent.data)


def turns(record: Ingested) -> list[tuple[int, int]]:
    return [turns for engagement in record.engagements for turns in engagement.turn_ranges]


def test_several_at_once_all_hang_on_the_origin(archive: Archive, home: Path, inscribe: Inscribe) -> None:
    """Also an excerpt, and an origin with a subagent, which another agent gets nothing of."""
    with_subagent(worked().write(home, "-proj-x"))
    inscribe()
    excerpt = gone_on(archive, inscribe, A, "codex", first=2, last=3)
    others = [gone_on(archive, inscribe, A, agent) for agent in AGENTS]
    graph = archive.lineage()
    assert is_in_order(graph)
    assert {(e.earlier, e.later) for e in graph.edges if e.kind != "sidechain"} == {(A, o) for o in (excerpt, *others)}
    assert archive.budget(A).with_sidechains.calls == 2 * ROUNDS + 1
    assert [archive.budget(other).with_sidechains.calls for other in (excerpt, *others)] == [0] * 5
    assert [hit.session_id for hit in archive.search(Query(text="seen", kinds=("assistant",)))] == [A]


def test_a_continuation_of_a_continuation(archive: Archive, inscribe: Inscribe, origin: str) -> None:
    second = gone_on(archive, inscribe, origin, "pi")
    third = gone_on(archive, inscribe, second, "codex")
    assert [(e.earlier, e.later) for e in archive.lineage().edges] == [(origin, second), (second, third)]
    assert archive.budget(third).spent.calls == 0
    assert {hit.session_id for hit in archive.search(Query(text="gasket"))} == {origin}


def test_a_restored_copy_with_an_id_of_its_own(archive: Archive, home: Path, inscribe: Inscribe) -> None:
    worked().write(home, "-proj-x")
    inscribe()
    new = "22222222-2222-4222-8222-222222222222"
    archive.restore(A, Target(move=Move(session_id=new, cwd="/proj/y")))
    inscribe()
    (edge,) = archive.lineage().edges
    assert (edge.earlier, edge.later, edge.kind) == (A, new, "continues")
    assert archive.budget(new).spent.calls == 0


def test_the_note_outlives_the_index(archive: Archive, inscribe: Inscribe, origin: str) -> None:
    copy = gone_on(archive, inscribe, origin, "codex")
    archive.layout.database.unlink()
    archive.reindex()
    assert [(edge.earlier, edge.later) for edge in archive.lineage().edges] == [(origin, copy)]
    assert archive.budget(copy).spent.calls == 0


def test_without_its_origin_it_counts_itself(archive: Archive, inscribe: Inscribe, origin: str) -> None:
    calls, work = archive.budget(origin).spent.calls, count(archive.layout, Query()).engagements
    copy = gone_on(archive, inscribe, origin, "codex")
    archive.forget(origin)
    archive.ingest()
    assert archive.budget(copy).spent.calls == calls
    assert {hit.session_id for hit in archive.search(Query(text="gasket"))} == {copy}
    assert count(archive.layout, Query()).engagements == work
    (missing,) = [node for node in archive.lineage(copy).nodes if node.missing]
    assert missing.id == origin


def test_a_store_that_cannot_be_written(
    archive: Archive, inscribe: Inscribe, origin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(edits, "append", refuse)
    made = archive.export(origin, Request(source="codex", new_id=True))
    assert Path(made.paths[0]).exists()
    assert "Permission denied" in made.note


def test_the_same_session_in_other_words_is_no_continuation(archive: Archive, home: Path, inscribe: Inscribe) -> None:
    worked().write(home, "-proj-x")
    inscribe()
    archive.export(A, Request(source="codex"))
    archive.restore(A, Target(to=home.parent / "elsewhere"))
    assert edits.continued(archive.layout) == {}


@pytest.mark.parametrize("agent", AGENTS)
def test_an_original_that_went_on_itself(archive: Archive, home: Path, inscribe: Inscribe, agent: str) -> None:
    session = worked()
    session.write(home, "-proj-x")
    inscribe()
    gone_on(archive, inscribe, A, agent)
    session.exchange("one more gasket", "mended")
    session.write(home, "-proj-x")
    inscribe()
    assert archive.budget(A).spent.calls == 2 * ROUNDS + 2
    assert A not in {edge.later for edge in archive.lineage().edges}


def test_a_context_tells_it_once(archive: Archive, inscribe: Inscribe, origin: str) -> None:
    copy = gone_on(archive, inscribe, origin, "pi")

    def told(wanted: Selection) -> set[str]:
        return {scope.session.session_id for scope in select(archive.layout, wanted)}

    assert told(Selection(query="gasket")) == {origin}
    assert told(Selection(project="x")) == {origin}
    assert told(Selection(query="gasket", sessions=(copy,))) == {copy}


def test_the_note_travels_in_a_bundle(archive: Archive, inscribe: Inscribe, origin: str, tmp_path: Path) -> None:
    copy = gone_on(archive, inscribe, origin, "codex")
    archive.bundle([origin, copy], tmp_path / "both.mun")
    other = Archive(tmp_path / "other", archive.env)
    other.unbundle(tmp_path / "both.mun")
    assert other.budget(copy).spent.calls == 0


# -- where nothing is noted: what an older version wrote, or what came from another archive


@pytest.mark.parametrize("agent", AGENTS)
def test_the_first_to_begin_has_paid_though_nothing_is_noted(
    archive: Archive, home: Path, inscribe: Inscribe, agent: str
) -> None:
    with_subagent(worked().write(home, "-proj-x"))
    inscribe()
    gone_on(archive, inscribe, A, agent, first=2, last=3)
    gone_on(archive, inscribe, A, agent)
    archive.layout.edits.unlink()
    assert archive.budget(A).with_sidechains.calls == 2 * ROUNDS + 1
    assert A not in {edge.later for edge in archive.lineage().edges}
