"""Engagements: which filters they pass, which words they are found by, and in what order they come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from muniment import search
from muniment.archive import Archive
from muniment.errors import MunimentError
from muniment.search import Query
from tests.builder import ClaudeSession
from tests.search.worked import engagement, session_id, understand

Inscribe = Callable[..., object]


@pytest.fixture
def _in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def filled(archive: Archive, home: Path, inscribe: Inscribe) -> Archive:
    """Three sessions of three rounds each: two engagements, one, and a ghost."""
    for name in ("login", "paper", "ghost"):
        session = ClaudeSession(session_id(name), cwd=f"/proj/{name}")
        for number in range(3):
            session.exchange(f"prompt {number} of {name}", f"the answer {number}, with a checkToken")
        session.write(home)
    inscribe()
    understand(
        archive,
        "login",
        engagement("login", 1, (1, 1), topic="mend the login page", method="debug", project="/proj/login"),
        engagement(
            "login",
            2,
            (2, 3),
            topic="plan the 登录页面",
            method="plan",
            phase="blocked",
            started="2026-03-20T09:00:00.000Z",
            ended="2026-03-21T09:00:00.000Z",
            key_decisions=("keep maxRetries at three",),
        ),
        agent_name="Reed",
        agent_role="historian",
        slug="calm-river",
        session_summary="The login is mended",
    )
    understand(
        archive,
        "paper",
        engagement("paper", 1, (1, 3), method="write", project="inscription", started="2026-03-18T10:00:00.000Z"),
        agent_name="Élodie",
    )
    understand(archive, "ghost", ghost=True, agent_name="Shade")
    return archive


def topics(archive: Archive, text: str = "", **more: Any) -> list[str]:
    return [found.topic for found in archive.find_engagements(Query(text, **more))]


LOGIN, PLAN, PAPER = "mend the login page", "plan the 登录页面", "work 1 of paper"


def test_without_anything_all_come_and_the_latest_first(filled: Archive) -> None:
    assert topics(filled) == [PLAN, LOGIN, PAPER]
    assert topics(filled, limit=1) == [PLAN]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"method": "debug"}, [LOGIN]),
        ({"phase": "blocked"}, [PLAN]),
        ({"project": "INSCR"}, [PAPER]),
        ({"project": "proj/lo"}, [LOGIN]),
        ({"agent": "reed"}, [PLAN, LOGIN]),
        ({"agent": "histor"}, [PLAN, LOGIN]),
        ({"agent": "calm-"}, [PLAN, LOGIN]),
        ({"agent": "élo"}, [PAPER]),
        ({"agent": "ELODIE"}, [PAPER]),
        ({"agent": "claude"}, [PLAN, LOGIN, PAPER]),
        ({"agent": "%"}, []),
        ({"source": "codex"}, []),
        ({"session": session_id("paper")[:6].upper()}, [PAPER]),
        ({"session": "_"}, []),
        ({"since": "2026-03-20T00:00:00Z"}, [PLAN]),
        ({"until": "2026-03-19T00:00:00Z"}, [PAPER]),
        ({"since": "2026-03-21T08:00:00Z", "until": "2026-03-21T10:00:00Z"}, [PLAN]),
        ({"method": "debug", "agent": "reed", "project": "login"}, [LOGIN]),
        ({"method": "debug", "phase": "blocked"}, []),
        ({"method": ("debug", "plan")}, [PLAN, LOGIN]),
        ({"method": ("debug", "write"), "phase": ("completed", "blocked")}, [LOGIN, PAPER]),
        ({"project": ("INSCR", "proj/lo")}, [LOGIN, PAPER]),
        ({"agent": ("reed", "nobody")}, [PLAN, LOGIN]),
        ({"source": ("codex", "claude-code"), "model": ("claude-x", "gpt-9")}, [PLAN, LOGIN, PAPER]),
        ({"source": ("codex", "gemini")}, []),
        ({"model": "gpt-9"}, []),
        ({"method": ()}, [PLAN, LOGIN, PAPER]),
        ({"project": "inscr", "exact": True}, []),
        ({"project": ("inscription", "/proj/login"), "exact": True}, [LOGIN, PAPER]),
        ({"project": "", "exact": True}, [PLAN]),
        ({"project": ("", "inscription"), "exact": True}, [PLAN, PAPER]),
        ({"agent": "ree", "exact": True}, []),
        ({"agent": ("Reed", "Shade"), "exact": True}, [PLAN, LOGIN]),
        ({"agent": "claude", "exact": True}, []),
        ({"left_open": True}, [PLAN]),
        ({"left_open": True, "method": ("debug", "write")}, []),
    ],
)
def test_filters_and_their_combinations(filled: Archive, filters: dict[str, Any], expected: list[str]) -> None:
    assert topics(filled, **filters) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("login page", [LOGIN]),
        ("page login", [LOGIN]),
        ('"page login"', []),
        ("mended", [PLAN, LOGIN]),
        ("mend*", [PLAN, LOGIN]),
        ("reed", [PLAN, LOGIN]),
        ("elodie", [PAPER]),
        ("calm-river", [PLAN, LOGIN]),
        ("debug", [LOGIN]),
        ("blocked", [PLAN]),
        ("retries", [PLAN]),
        ("maxRetries", [PLAN]),
        ("页面", [PLAN]),
        ("登录页", [PLAN]),
        ("登", [PLAN]),
        ("面登", []),
        ("/proj/login", [LOGIN]),
        ("checkToken", []),
    ],
)
def test_the_words_an_engagement_is_found_by(filled: Archive, text: str, expected: list[str]) -> None:
    assert topics(filled, text) == expected


@pytest.mark.usefixtures("_in_tokyo")
def test_days_are_those_of_the_place_where_one_is(filled: Archive) -> None:
    understand(filled, "paper", engagement("paper", 1, (1, 3), started="2026-03-18T20:00:00.000Z", ended=None))
    assert topics(filled, since="2026-03-19", until="2026-03-20") == [LOGIN, PAPER]
    assert topics(filled, since="2026-03-18", until="2026-03-19") == []
    assert list(search.count(filled.layout, Query()).day) == ["2026-03-20", "2026-03-19"]


def test_what_is_no_date_is_said(filled: Archive) -> None:
    with pytest.raises(MunimentError, match="no date"):
        topics(filled, since="last week")


def test_ghosts_are_listed_only_when_asked_for(filled: Archive) -> None:
    (ghost,) = filled.find_engagements(Query(ghosts=True, agent="shade"))
    assert (ghost.ghost, ghost.session_id, ghost.method, ghost.turn_ranges) == (
        True,
        session_id("ghost"),
        None,
        ((1, 3),),
    )
    assert topics(filled, agent="shade") == []
    assert len(topics(filled, ghosts=True)) == 4
    assert topics(filled, "shade prompt", ghosts=True) == [ghost.topic]
    assert topics(filled, "shade nobody", ghosts=True) == []
    assert topics(filled, ghosts=True, method="build") == []


def test_rounds_that_a_person_named_are_found_by_that_name(filled: Archive) -> None:
    filled.tag(session_id("paper"), [1, 2], "second reading")
    (named,) = filled.find_engagements(Query("second reading"))
    assert (named.turn_ranges, named.engagement_id, named.opens) == (((1, 2),), "second reading", 1)
    assert topics(filled, "second", project="proj/paper") == ["second reading"]
    assert topics(filled, "second", project="elsewhere") == []
    assert topics(filled, "second", until="2026-01-01") == []


def test_a_hand_given_tag_that_is_an_engagement_is_no_second_one(filled: Archive) -> None:
    filled.tag(session_id("paper"), [1], f"{session_id('login')[:8]}-1")
    assert topics(filled) == [PLAN, LOGIN, PAPER]


def test_counts_honour_the_filters(filled: Archive) -> None:
    counts = search.count(filled.layout, Query(agent="reed", ghosts=True))
    assert (counts.engagements, counts.sessions, counts.ghosts) == (2, 1, 0)
    assert counts.method == {"plan": 1, "debug": 1}
    assert counts.phase == {"blocked": 1, "completed": 1}
    assert counts.agent == {"Reed": 2}
    assert search.count(filled.layout, Query(ghosts=True)).ghosts == 1
    assert search.count(filled.layout, Query("mended login")).engagements == 2


def test_an_engagement_has_the_rounds_that_people_left_it(filled: Archive) -> None:
    filled.tag(session_id("paper"), [2], "elsewhere")
    (paper,) = filled.find_engagements(Query(project="inscription"))
    assert paper.turn_ranges == ((1, 1), (3, 3))


# -- the same filters on text


def rounds(archive: Archive, text: str, **more: Any) -> set[tuple[str, int]]:
    names = {session_id(name): name for name in ("login", "paper", "ghost")}
    return {(names[hit.session_id], hit.opens) for hit in archive.search(Query(text, **more))}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"method": "debug"}, {("login", 1)}),
        ({"phase": "blocked"}, {("login", 2), ("login", 3)}),
        ({"project": "inscription"}, {("paper", n) for n in (1, 2, 3)}),
        ({"project": "proj/ghost"}, {("ghost", n) for n in (1, 2, 3)}),
        ({"agent": "shade"}, {("ghost", n) for n in (1, 2, 3)}),
        ({"agent": "reed", "method": "plan"}, {("login", 2), ("login", 3)}),
        ({"method": "deploy"}, set()),
        ({"since": "2999-01-01"}, set()),
    ],
)
def test_text_is_narrowed_by_the_engagement_of_its_round(
    filled: Archive, filters: dict[str, str], expected: set[tuple[str, int]]
) -> None:
    assert rounds(filled, "token", **filters) == expected


def test_a_round_that_a_person_moved_counts_where_it_was_moved(filled: Archive) -> None:
    filled.tag(session_id("paper"), [2], f"{session_id('login')[:8]}-1")
    assert rounds(filled, "token", method="debug") == {("login", 1), ("paper", 2)}
    assert rounds(filled, "token", method="write") == {("paper", 1), ("paper", 3)}


def test_a_tag_like_the_own_session_means_that_session(filled: Archive) -> None:
    """Two sessions whose ids begin alike have engagements of the same name."""
    same = engagement("paper", 1, (1, 3), engagement_id=f"{session_id('login')[:8]}-1", method="write")
    understand(filled, "paper", same)
    filled.tag(session_id("login"), [1], f"{session_id('login')[:8]}-1")
    assert ("login", 1) not in rounds(filled, "token", method="write")


def test_everything_at_once(filled: Archive) -> None:
    found = search.find(filled.layout, Query("login"))
    assert [e.topic for e in found.engagements] == [PLAN, LOGIN]
    assert {hit.session_id for hit in found.hits} == {session_id("login")}
    only_text = search.find(filled.layout, Query("login", kinds=("user",)))
    assert only_text.engagements == ()
    assert {hit.kind for hit in only_text.hits} == {"user"}
    assert search.find(filled.layout, Query(method="plan")).hits == ()


def test_an_archive_that_must_not_be_written_to_is_searched_all_the_same(filled: Archive) -> None:
    layout = structs.replace(filled.layout, read_only=True)
    found = search.find(layout, Query("login", method="debug", since="2026-01-01"))
    assert (len(found.engagements), {hit.opens for hit in found.hits}) == (1, {1})


def test_what_was_searched_is_counted(filled: Archive) -> None:
    there = search.searched(filled.layout)
    assert (there.sessions, there.engagements, there.ingested) == (3, 3, 3)
    assert there.blocks > 9


def test_of_several_values_any_holds_for_rounds_ghosts_and_counts(filled: Archive) -> None:
    assert rounds(filled, "answer", method=("debug", "write")) == {("login", 1), *(("paper", n) for n in (1, 2, 3))}
    assert rounds(filled, "answer", left_open=True) == {("login", 2), ("login", 3)}
    assert rounds(filled, "answer", project=("ghost", "inscription"), exact=True) == {
        (name, number) for name in ("ghost", "paper") for number in (1, 2, 3)
    }
    ghosts = [found.ghost for found in filled.find_engagements(Query(ghosts=True, method=("", "plan"), exact=True))]
    assert sorted(ghosts) == [False, True], "a ghost has no method"
    assert search.count(filled.layout, Query(method=("debug", "plan"))).method == {"plan": 1, "debug": 1}


def test_any_number_of_values_may_be_given(filled: Archive) -> None:
    many = tuple(f"name {number}" for number in range(5_000))
    assert topics(filled, agent=(*many, "reed"), project=(*many, "login"), method=(*many, "debug")) == [LOGIN]
