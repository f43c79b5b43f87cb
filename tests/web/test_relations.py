"""What the viewer is told of a session beyond itself: its family, and how full its window was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from muniment import lineage
from muniment.archive import Archive
from muniment.budget import FULL
from muniment.lineage import copies
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.viewing import one, shapes
from muniment.viewing.families import Families
from tests.builder import ClaudeSession, conversation, text
from tests.lineage.graphs import is_in_order
from tests.lineage.test_archive import copied
from tests.web.served import MAIN, OTHER, Viewer, viewing

ELSEWHERE = "00000000-0000-4000-8000-000000000000"
A, B = "1a111111-1111-4111-8111-111111111111", "2b111111-1111-4111-8111-111111111111"


def test_the_family_of_a_session_has_its_subagents(viewer: Viewer) -> None:
    found = viewer.get(f"/api/session/{MAIN}/lineage", shapes.LineageAnswer)
    assert found.session_id == MAIN
    assert [(node.id, node.side, node.opens) for node in found.nodes] == [(MAIN, None, 1), (f"{MAIN}/a1", "a1", 1)]
    assert [(edge.earlier, edge.later, edge.kind) for edge in found.edges] == [(MAIN, f"{MAIN}/a1", "sidechain")]
    own, side = found.nodes
    assert own.title.startswith("Build the login page")
    assert (own.agent, own.source, own.rounds, own.missing) == ("claude", "claude-code", 6, False)
    assert (side.session_id, side.title, side.agent) == (MAIN, "Find the tests", "claude")
    assert (own.under, side.under) == (None, MAIN)


def test_a_session_without_kin_is_a_family_of_one(viewer: Viewer) -> None:
    found = viewer.get(f"/api/session/{OTHER}/lineage", shapes.LineageAnswer)
    assert ([node.id for node in found.nodes], found.edges) == ([OTHER], ())


def test_the_family_is_what_the_command_tells(archive: Archive, home: Path) -> None:
    first = conversation(3, A, "/proj/x")
    first.write(home, "-proj-x")
    copied(first, B).write(home, "-proj-x")
    archive.inscribe()
    with viewing(archive) as viewer:
        for id_ in (A, B):
            found = viewer.get(f"/api/session/{id_}/lineage", shapes.LineageAnswer)
            told = archive.lineage(id_)
            assert is_in_order(told)
            assert [node.id for node in found.nodes] == [node.id for node in told.nodes] == [A, B]
            assert found.edges == told.edges
            assert (found.edges[0].kind, found.edges[0].explicit, found.edges[0].confidence) == ("copy", True, 1.0)


def test_a_session_that_is_named_and_missing_is_told(archive: Archive, home: Path) -> None:
    session = conversation(2, A, "/proj/x")
    link = b'"forkedFrom":{"sessionId":"%s","messageUuid":"m"},"isSidechain"' % ELSEWHERE.encode()
    session.lines = [line.replace(b'"isSidechain"', link) for line in session.lines]
    session.write(home, "-proj-x")
    archive.inscribe()
    with viewing(archive) as viewer:
        found = viewer.get(f"/api/session/{A}/lineage", shapes.LineageAnswer)
        assert [(node.id, node.missing, node.agent) for node in found.nodes] == [
            (ELSEWHERE, True, ""),
            (A, False, "claude"),
        ]


def test_half_a_character_in_the_name_of_another_session(archive: Archive, home: Path) -> None:
    session = conversation(2, A, "/proj/x")
    session.lines[0] = session.lines[0].replace(A.encode(), b"old\\ud83d")
    session.write(home, "-proj-x")
    archive.inscribe()
    with viewing(archive) as viewer:
        found = viewer.get(f"/api/session/{A}/lineage", shapes.LineageAnswer)
        assert [node.missing for node in found.nodes] == [True, False]
        (link,) = viewer.get(f"/api/session/{A}", shapes.SessionAnswer).session.links
        assert (link.session_id, link.title) == ("old\ud83d", None)


def test_the_graph_is_made_once_for_each_state(filled: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    read = lineage.read

    def counted(*given: Any) -> lineage.Lineage:
        made.append(1)
        return read(*given)

    monkeypatch.setattr(lineage, "read", counted)
    families, layout = Families(), Layout(filled.layout.root, read_only=True)
    for state, id_ in (("1", MAIN), ("1", OTHER), ("1", MAIN), ("2", MAIN)):
        assert families.of(layout, state, id_).nodes[0].id == id_
    assert len(made) == 2


def test_no_look_at_the_index_waits_for_files(filled: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look that lasts too long is ended, and reading rounds takes its time: nothing is looked up behind it."""
    steps: list[Index | None] = []
    rows, ids_of = Index.rows, copies._ids_of  # pyright: ignore[reportPrivateUsage]

    def noted(self: Index, *given: Any) -> Any:
        steps.append(self)
        return rows(self, *given)

    def read(*given: Any) -> Any:
        steps.append(None)
        return ids_of(*given)

    monkeypatch.setattr(Index, "rows", noted)
    monkeypatch.setattr(copies, "_ids_of", read)
    lineage.read(Layout(filled.layout.root, read_only=True))
    first, last = steps.index(None), len(steps) - steps[::-1].index(None)
    assert 0 < first < last < len(steps)
    assert set(steps[:first]).isdisjoint(steps[last:])
    assert set(steps[first:last]) == {None}


# -- the budget


def test_the_budget_is_what_the_command_tells(viewer: Viewer, shown: Archive) -> None:
    found = viewer.get(f"/api/session/{MAIN}/budget", shapes.BudgetAnswer)
    assert found.budget == shown.budget(MAIN)
    assert found.mark == FULL
    assert [one.round for one in found.budget.rounds] == [1, 2, 3, 4, 5, 6]
    assert {one.window for one in found.budget.rounds} == {108}
    assert found.budget.unpriced == ("claude-x",)


def test_windows_and_prices_of_the_user_hold(archive: Archive, home: Path, tmp_path: Path) -> None:
    session = ClaudeSession(A, "/proj/x")
    for used in (500, 850):
        session.user("go on")
        session.answer(text("done"))
        session.lines[-1] = session.lines[-1].replace(b'"cache_read_input_tokens":100', b'"input_tokens":%d' % used)
    session.write(home, "-proj-x")
    archive.inscribe()
    windows = tmp_path / "windows.json"
    windows.write_text('{"claude-x": 1000}')
    found = one.budget(archive.layout, "state", A, {"MUNIMENT_WINDOWS": str(windows)}).budget
    assert [(each.limit, each.full) for each in found.rounds] == [(1000, False), (1000, True)]


# -- what is refused


@pytest.mark.parametrize("what", ["lineage", "budget"])
def test_only_sessions_that_are_there_have_one(viewer: Viewer, what: str) -> None:
    assert viewer.ask(f"/api/session/{ELSEWHERE}/{what}")[0] == 404
    for wrong in ("last", MAIN[:8], MAIN.upper(), "..%2f..", f"{MAIN}%00", "%2e%2e", f"{MAIN}%2fa1"):
        assert viewer.ask(f"/api/session/{wrong}/{what}")[0] == 404, wrong
    status, _, _ = viewer.post(f"/api/session/{MAIN}/{what}", {})
    assert status == 405


@pytest.mark.parametrize("what", ["lineage", "budget"])
def test_an_unchanged_answer_is_not_sent_again(viewer: Viewer, what: str) -> None:
    _, headers, body = viewer.ask(f"/api/session/{MAIN}/{what}")
    assert body
    assert viewer.ask(f"/api/session/{MAIN}/{what}", If_None_Match=headers["etag"])[0] == 304


def test_the_page_is_served_at_the_addresses_of_its_parts(viewer: Viewer) -> None:
    _, _, page = viewer.ask(f"/s/{MAIN}")
    for what in ("lineage", "budget"):
        assert viewer.ask(f"/s/{MAIN}/{what}")[::2] == (200, page)
