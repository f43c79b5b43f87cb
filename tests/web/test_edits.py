"""The four edits: kept, found again, made anew by reindex, and never in a round file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from muniment.archive import Archive
from muniment.errors import Conflict, MunimentError
from muniment.search import Query
from muniment.store import head, index, page
from muniment.surfaces.cli.main import cli
from muniment.surfaces.web import edits
from muniment.surfaces.web.view import View
from muniment.viewing import shapes
from muniment.viewing.shapes import TagsEdit
from tests.web.served import MAIN, Viewer, viewing


@pytest.fixture
def own(filled: Archive) -> Iterator[Viewer]:
    with viewing(filled) as running:
        yield running


def evidence(archive: Archive) -> dict[str, bytes]:
    """What no edit may touch."""
    folder = archive.shelf(archive.session(MAIN)).folder
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file() and {"rounds", "source"} & set(p.parts)}


def session(viewer: Viewer) -> shapes.Session:
    return viewer.get(f"/api/session/{MAIN}", shapes.SessionAnswer).session


def edited(viewer: Viewer, name: str, value: Any) -> str:
    status, _, body = viewer.post(f"/api/session/{MAIN}/{name}", value)
    assert status == 200, body
    return json.loads(body)["state"]


def test_a_summary_is_written_as_by_hand_and_stays(own: Viewer, filled: Archive) -> None:
    before = evidence(filled)
    state = edited(own, "summary", {"summary": "  The login\npage, <b>finished</b> --- é "})
    found = own.get(f"/api/session/{MAIN}", shapes.SessionAnswer)
    assert found.state == state
    assert found.session.summary == "The login page, <b>finished</b> --- é"
    assert found.session.summary_by_hand
    top = page.load_head(filled.shelf(filled.session(MAIN)).document)
    assert top
    assert head.written_by_hand(top)
    filled.ingest(None)
    filled.reindex()
    assert session(own).summary == "The login page, <b>finished</b> --- é"
    assert evidence(filled) == before
    assert [one.session_id for one in filled.find_engagements(Query("finished"))][:1] == [MAIN]


def test_an_empty_summary_is_the_machines_again(own: Viewer) -> None:
    machines = session(own).summary
    edited(own, "summary", {"summary": "mine"})
    edited(own, "summary", {"summary": " "})
    assert (session(own).summary, session(own).summary_by_hand) == (machines, False)


@pytest.mark.parametrize(
    "line", ["---", "\\---", "### 2026-03-19T10:00:05.120Z · user", "<details>", "# x", "<!-- x -->"]
)
def test_a_summary_that_looks_like_structure_comes_back_as_it_is(filled: Archive, line: str) -> None:
    assert filled.summarise(MAIN, line) == line
    assert filled.session(MAIN).summary == line
    top = page.load_head(filled.shelf(filled.session(MAIN)).document)
    assert top
    assert top.summary == line


def test_tags_are_kept_replaced_and_outlive_reindex(own: Viewer, filled: Archive) -> None:
    before = evidence(filled)
    edited(own, "tags", {"tags": ["release", " to  read ", "release", "", "中文, comma"]})
    assert sorted(session(own).tags) == sorted(["release", "to read", "中文, comma"])
    filled.reindex()
    assert sorted(session(own).tags) == sorted(["release", "to read", "中文, comma"])
    assert {one.name for one in own.get("/api/overview", shapes.Overview).facets.tags} >= {"release"}
    edited(own, "tags", {"tags": ["other"]})
    assert filled.tags(MAIN) == ("other",)
    edited(own, "tags", {"tags": []})
    assert session(own).tags == []
    assert evidence(filled) == before


def test_a_forgotten_session_takes_its_tags_along(filled: Archive) -> None:
    filled.set_tags(MAIN, ["x"])
    filled.forget(MAIN)
    with index.Index(filled.layout) as known:
        assert known.rows("SELECT * FROM tags") == []


def test_rounds_are_given_to_an_engagement_and_back(own: Viewer, filled: Archive) -> None:
    before = evidence(filled)
    own_round = own.get(f"/api/session/{MAIN}", shapes.SessionAnswer).rounds[1].engagement_id
    edited(own, "engagement", {"rounds": [2, 3, 2], "engagement_id": "console-work"})
    found = own.get(f"/api/session/{MAIN}", shapes.SessionAnswer)
    assert [one.engagement_id for one in found.rounds][1:3] == ["console-work"] * 2
    named = [one for one in found.engagements if one.engagement_id == "console-work"]
    assert [(one.turn_ranges, one.extractor) for one in named] == [(((2, 3),), "hand")]
    columns = own.get("/api/engagements", shapes.Engagements).columns
    assert columns.method[columns.engagement_id.index("console-work")] == -1
    assert own.get("/api/engagement/console-work", shapes.EngagementAnswer).engagement.session_id == MAIN
    edited(own, "engagement", {"rounds": [2, 3], "engagement_id": None})
    assert own.get(f"/api/session/{MAIN}", shapes.SessionAnswer).rounds[1].engagement_id == own_round
    assert evidence(filled) == before


def test_the_roster_names_a_session(own: Viewer, filled: Archive) -> None:
    edited(own, "roster", {"name": "Reed", "role": "historian"})
    assert (session(own).agent_name, session(own).agent_role) == ("Reed", "historian")
    assert [entry.agent_name for entry in filled.roster().entries] == ["Reed"]
    edited(own, "roster", {"name": "", "role": None})
    assert filled.roster().entries == ()
    assert session(own).agent_name is None


WRONG = [
    ("summary", {}),
    ("summary", {"summary": 3}),
    ("summary", {"summary": "x", "more": 1}),
    ("summary", {"summary": "x" * 600}),
    ("summary", []),
    ("summary", b""),
    ("summary", b"{"),
    ("summary", b"\xff\xfe"),
    ("summary", b"[" * 20_000),
    ("tags", {"tags": "a"}),
    ("tags", {"tags": [1]}),
    ("tags", {"tags": ["x" * 61]}),
    ("tags", {"tags": [str(n) for n in range(31)]}),
    ("engagement", {"rounds": [1]}),
    ("engagement", {"rounds": ["1"], "engagement_id": "x"}),
    ("engagement", {"rounds": [1], "engagement_id": "x" * 201}),
    ("roster", {"name": ["x"]}),
    ("roster", {"name": "x" * 201}),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_what_is_not_understood_is_refused_with_a_word(viewer: Viewer, name: str, value: Any) -> None:
    status, _, body = viewer.post(f"/api/session/{MAIN}/{name}", value)
    assert status == 400
    assert json.loads(body)["error"]


def test_rounds_and_sessions_that_are_not_there_are_not_found(viewer: Viewer) -> None:
    for rounds in ([0], [-1], [999]):
        assert viewer.post(f"/api/session/{MAIN}/engagement", {"rounds": rounds, "engagement_id": "x"})[0] == 404
    assert viewer.post(f"/api/session/{'0' * 8}-0000-0000-0000-{'0' * 12}/tags", {"tags": []})[0] == 404


FORGED = [
    ({"Content_Type": "text/plain"}, 415),
    ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
    ({"Content_Type": "multipart/form-data; boundary=x"}, 415),
    ({"Content_Type": ""}, 415),
    ({"X_Muniment": ""}, 403),
    ({"X_Muniment": "read"}, 403),
    ({"Origin": ""}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": "http://evil.example"}, 403),
    ({"Sec_Fetch_Site": "cross-site"}, 403),
    ({"token": "x"}, 403),
]


@pytest.mark.parametrize(("headers", "status"), FORGED)
def test_an_edit_that_another_page_could_send_is_refused(
    viewer: Viewer, shown: Archive, headers: dict[str, str], status: int
) -> None:
    for name in edits.EDITS:
        assert viewer.post(f"/api/session/{MAIN}/{name}", {"tags": ["x"], "summary": "x"}, **headers)[0] == status
    assert shown.tags(MAIN) == ()


def test_an_edit_does_not_wait_for_ever(filled: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "WAIT_SECONDS", 0.2)
    view = View(filled.layout.root, filled.env)
    change = edits.EDITS["tags"][1]
    with index.lock(filled.layout, lambda: None), pytest.raises(Conflict):
        edits._apply(view, change, MAIN, TagsEdit(["x"]))
    edits._apply(view, change, MAIN, TagsEdit(["x"]))
    assert filled.tags(MAIN) == ("x",)


def test_the_command_line_can_do_the_same(filled: Archive) -> None:
    def run(*arguments: str) -> int:
        return CliRunner().invoke(cli, ["--store", str(filled.layout.root), "tag", MAIN, *arguments]).exit_code

    assert run("--tags", "a, b") == 0
    assert run("--summary", "from the terminal") == 0
    assert (filled.tags(MAIN), filled.session(MAIN).summary) == (("a", "b"), "from the terminal")
    assert run("2-3", "work") == 0
    assert [run(), run("2-3"), run("2", "x", "--tags", "a")] == [2, 2, 2]
    assert run("--tags", "") == 0
    assert filled.tags(MAIN) == ()


def test_too_much_to_keep_is_refused_by_the_library_too(filled: Archive) -> None:
    with pytest.raises(MunimentError):
        filled.summarise(MAIN, "x" * 501)
    with pytest.raises(MunimentError):
        filled.set_tags(MAIN, ["x" * 61])
