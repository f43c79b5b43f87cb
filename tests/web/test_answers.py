"""Every answer has the shape that is documented, and says what the archive holds."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest
from starlette.routing import Route

from muniment.archive import Archive
from muniment.model.engagements import METHODS, OPEN_PHASES, PHASES
from muniment.store.layout import Layout
from muniment.surfaces.web import app, describe
from muniment.surfaces.web.keys import Keys
from muniment.surfaces.web.live import Live
from muniment.surfaces.web.passes import Passes
from muniment.surfaces.web.view import View
from muniment.viewing import shapes, transcript
from muniment.viewing.transcript import Transcripts
from tests.web.served import CANARY, MAIN, OTHER, PNG, SVG, Viewer

DOCUMENT = Path(__file__).parents[2] / "docs" / "api.md"
TYPES = Path(__file__).parents[2] / "web" / "src" / "lib" / "types.ts"


def routes(archive: Archive) -> list[Route]:
    view = View(archive.layout.root, archive.env)
    return app.routes(view, Keys(b"k" * 32, 1, archive.layout.root), Passes(archive.layout.root, 1), Live(view))


# -- the document


def test_the_document_prints_the_shapes_as_they_are() -> None:
    page = DOCUMENT.read_text()
    assert page == describe.document(page), "run `make docs`"
    assert describe.module() == TYPES.read_text(), "run `make docs`"


def test_the_document_lists_exactly_the_routes_that_there_are(shown: Archive) -> None:
    written = set(re.findall(r"^\| `(GET|POST) (/[^`]*)` \|", DOCUMENT.read_text(), re.MULTILINE))
    there = {
        (method, route.path.replace(":path", ""))
        for route in routes(shown)
        for method in route.methods or ()
        if method != "HEAD"
    }
    assert written == there


def test_every_shape_that_the_document_names_exists() -> None:
    table = DOCUMENT.read_text().partition("## Routes")[2].partition("**Search.**")[0]
    named = set(re.findall(r"`([A-Z][A-Za-z]+)`", table))
    assert len(named) > 10
    assert [name for name in named if not hasattr(shapes, name)] == []


# -- everything


def test_the_overview_counts_and_names_what_there_is(viewer: Viewer) -> None:
    found = viewer.get("/api/overview", shapes.Overview)
    assert (found.sessions, found.ingested, found.ghosts) == (2, 2, 0)
    assert [one.name for one in found.facets.projects] == ["shop", "other"] or len(found.facets.projects) == 2
    assert [one.name for one in found.facets.sources] == ["claude-code"]
    assert [one.name for one in found.facets.models] == ["claude-x"]
    assert len(found.methods) == 11


def test_sessions_and_engagements_are_columns_of_one_length_that_point_at_each_other(viewer: Viewer) -> None:
    sessions = viewer.get("/api/sessions", shapes.Sessions)
    engagements = viewer.get("/api/engagements", shapes.Engagements)
    assert {len(column) for column in vars_of(sessions.columns).values()} == {2}
    assert len({len(column) for column in vars_of(engagements.columns).values()}) == 1
    own = sessions.columns.session_id.index(MAIN)
    assert sessions.projects[sessions.columns.project[own]] == "shop"
    assert sessions.columns.sidechains[own] == 1
    ids = {sessions.columns.session_id[number] for number in engagements.columns.session}
    assert ids == {MAIN, OTHER}
    assert all(engagements.methods[number] for number in engagements.columns.method)


def vars_of(columns: object) -> dict[str, list[object]]:
    return {name: getattr(columns, name) for name in columns.__struct_fields__}  # type: ignore[attr-defined]


def test_an_engagement_is_found_by_its_name(viewer: Viewer) -> None:
    """Sessions whose ids begin alike may share a name."""
    columns = viewer.get("/api/engagements", shapes.Engagements).columns
    sessions = viewer.get("/api/sessions", shapes.Sessions).columns.session_id
    for name, topic, number in zip(columns.engagement_id, columns.topic, columns.session, strict=True):
        asked = f"/api/engagement/{name}?session={sessions[number]}"
        found = viewer.get(asked, shapes.EngagementAnswer).engagement
        assert (found.engagement_id, found.topic, found.session_id) == (name, topic, sessions[number])
        assert viewer.get(f"/api/engagement/{name}", shapes.EngagementAnswer).engagement.engagement_id == name
    assert viewer.ask("/api/engagement/no-such-thing")[0] == 404
    assert viewer.ask(f"/api/engagement/{columns.engagement_id[0]}?session={'0' * 36}")[0] == 404


# -- one session


def test_a_session_tells_its_rounds_items_and_subagents(viewer: Viewer) -> None:
    found = viewer.get(f"/api/session/{MAIN}", shapes.SessionAnswer)
    assert found.session.title.startswith("Build the login page")
    assert found.session.resume_command == f"claude --resume {MAIN}"
    assert not found.session.summary_by_hand
    assert len(found.rounds) == found.session.rounds == 6
    assert [one.first_item for one in found.rounds] == [found.items.round.index(one.round) for one in found.rounds]
    (side,) = found.sides
    assert side.id == "a1"
    assert side.round == 1
    assert {one.session_id for one in found.engagements} == {MAIN}


def test_items_are_those_that_the_light_form_announced(viewer: Viewer) -> None:
    light = viewer.get(f"/api/session/{MAIN}", shapes.SessionAnswer).items
    count = len(light.kind)
    items = [
        item
        for first in range(0, count, 7)
        for item in viewer.get(f"/api/session/{MAIN}/items?first={first}&count=7", shapes.ItemsAnswer).items
    ]
    assert [item.n for item in items] == list(range(count))
    assert [item.kind for item in items] == [light.kinds[number] for number in light.kind]
    assert [item.round for item in items] == light.round
    assert any(item.tool and item.tool.view == "diff" for item in items)
    assert not any("<script" in item.html for item in items)
    assert viewer.get(f"/api/session/{MAIN}/items?first={count}", shapes.ItemsAnswer).items == []


def test_one_item_comes_whole_with_its_own_text(viewer: Viewer) -> None:
    found = viewer.get(f"/api/session/{MAIN}/item/0", shapes.ItemAnswer)
    assert found.markdown == f"Build the login page, {CANARY}"
    light = viewer.get(f"/api/session/{MAIN}", shapes.SessionAnswer).items
    bash = light.tool.index(light.tools.index("Bash"))
    assert "pytest -q" in viewer.get(f"/api/session/{MAIN}/item/{bash}", shapes.ItemAnswer).markdown
    assert viewer.ask(f"/api/session/{MAIN}/item/9999")[0] == 404
    assert viewer.ask(f"/api/session/{MAIN}/item/x")[0] == 400


def test_a_subagent_has_items_of_its_own(viewer: Viewer) -> None:
    light = viewer.get(f"/api/session/{MAIN}/light?side=a1", shapes.LightAnswer).items
    items = viewer.get(f"/api/session/{MAIN}/items?side=a1", shapes.ItemsAnswer).items
    assert [item.n for item in items] == list(range(len(light.kind)))
    assert CANARY in items[-1].html
    assert viewer.ask(f"/api/session/{MAIN}/items?side=../../x")[0] == 404


def test_a_large_round_is_read_block_by_block_and_gives_the_same(
    shown: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = shown.shelf(shown.session(MAIN))
    whole = [list(Transcripts().items(shelf, first, 3)) for first in range(30)]
    texts = [Transcripts().item(shelf, n) for n in range(12)]
    sides = Transcripts().started_by(shelf)
    monkeypatch.setattr(transcript, "LARGE_ROUND", 0)
    assert [list(Transcripts().items(shelf, first, 3)) for first in range(30)] == whole
    assert [Transcripts().item(shelf, n) for n in range(12)] == texts
    assert Transcripts().started_by(shelf) == sides


# -- files


def test_the_document_and_the_rounds_are_given_as_they_are(viewer: Viewer, shown: Archive) -> None:
    shelf = shown.shelf(shown.session(MAIN))
    status, headers, body = viewer.ask(f"/doc/{MAIN}.md")
    assert (status, body) == (200, shelf.document.read_bytes())
    assert headers["content-type"] == "text/plain; charset=utf-8"
    assert "sandbox" in headers["content-security-policy"]
    status, headers, body = viewer.ask(f"/raw/{MAIN}/1.json")
    assert (status, body) == (200, shelf.round_file(1).read_bytes())
    assert viewer.ask(f"/raw/{MAIN}/999.json")[0] == 404


def test_only_a_real_image_is_shown_and_all_else_is_a_download(viewer: Viewer) -> None:
    seen = {}
    for data, ending in ((PNG, "png"), (SVG, "svg")):
        name = f"{hashlib.sha256(data).hexdigest()}.{ending}"
        status, headers, body = viewer.ask(f"/media/{MAIN}/{name}")
        assert (status, body) == (200, data)
        assert "sandbox" in headers["content-security-policy"]
        seen[ending] = (headers["content-type"], headers.get("content-disposition"))
    assert seen == {"png": ("image/png", None), "svg": ("application/octet-stream", "attachment")}


# -- search and numbers


def test_search_finds_engagements_and_blocks_and_takes_the_filters(viewer: Viewer) -> None:
    found = viewer.get(f"/api/search?q={CANARY}", shapes.SearchAnswer)
    assert {hit.session_id for hit in found.hits} == {MAIN}
    assert viewer.get("/api/search?q=canar", shapes.SearchAnswer).hits == ()
    assert viewer.get("/api/search?q=canar&typing=1", shapes.SearchAnswer).hits
    assert viewer.get(f"/api/search?q={CANARY}&project=other", shapes.SearchAnswer).hits == ()
    assert viewer.get(f"/api/search?q={CANARY}&in=thinking", shapes.SearchAnswer).hits == ()
    assert viewer.get("/api/search?project=shop", shapes.SearchAnswer).engagements
    assert viewer.get("/api/search", shapes.SearchAnswer) == viewer.get("/api/search?q=%22%22", shapes.SearchAnswer)


def test_of_several_values_of_a_filter_any_holds(viewer: Viewer) -> None:
    def sessions(asked: str) -> set[str]:
        found = viewer.get(f"/api/search?{asked}&limit=200", shapes.SearchAnswer)
        return {one.session_id for one in (*found.engagements, *found.hits)}

    assert sessions("project=shop") == {MAIN}
    assert sessions("project=shop&project=other") == sessions("q=the&project=oth&project=sho") == {MAIN, OTHER}
    assert sessions("project=sho&project=oth&exact=1") == set()
    assert sessions("project=shop&project=nothing&exact=1") == {MAIN}
    assert sessions("source=codex&source=claude-code&model=claude-x&model=y&agent=claude&agent=z") == {MAIN, OTHER}
    assert sessions("project=&exact=1") == set(), "every session here has a project"
    every = "&".join(f"method={name}" for name in METHODS) + "&" + "&".join(f"phase={name}" for name in PHASES)
    assert sessions(every) == {MAIN, OTHER}


def test_what_was_left_open_is_found_by_itself(viewer: Viewer) -> None:
    columns = viewer.get("/api/engagements", shapes.Engagements).columns
    open_phases = {PHASES.index(name) for name in OPEN_PHASES}
    rows = zip(columns.engagement_id, columns.phase, columns.next_steps, strict=True)
    expected = sorted(name for name, phase, steps in rows if phase in open_phases or steps)
    found = viewer.get("/api/search?open=1&limit=200", shapes.SearchAnswer)
    assert sorted(one.engagement_id or "" for one in found.engagements) == expected


@pytest.mark.parametrize(
    "asked",
    [
        "method=nope",
        "method=build&method=nope",
        "&".join(["agent=x"] * 201),
        "phase=x",
        "in=body",
        "limit=x",
        "since=yesterday",
        "until=9",
        "limit=-1",
    ],
)
def test_wrong_words_are_refused_and_explained(viewer: Viewer, asked: str) -> None:
    status, _, body = viewer.ask(f"/api/search?q=x&{asked}")
    assert status == 400
    assert json.loads(body)["error"]


HOSTILE = ['"', "'", "AND", "NEAR(", "*", "a*b*", "%00", "%ff%fe", "\\", "(((", "col:x", "%F0%9F", "-", "^", "a" * 900]


@pytest.mark.parametrize("word", HOSTILE)
def test_no_words_break_the_search(viewer: Viewer, word: str) -> None:
    assert viewer.ask(f"/api/search?q={word}")[0] == 200 or word == '"'
    assert viewer.ask(f"/api/search?typing=1&q={word}&project={word}&agent={word}&file={word}")[0] in (200, 400)


def test_the_numbers_add_up(viewer: Viewer, shown: Archive) -> None:
    found = viewer.get("/api/stats", shapes.Stats)
    everything = sum(row.tokens for row in shown.sessions())
    assert sum(day.tokens for day in found.days) == everything > 0
    assert sum(work.tokens for work in found.projects) == everything
    assert sum(one.input + one.output + one.cache_read + one.cache_write for one in found.models) == everything
    assert sum(day.sessions for day in found.days) == 2
    assert sum(one.count for one in found.methods) == sum(day.engagements for day in found.days)


def test_filters_narrow_the_numbers(viewer: Viewer) -> None:
    whole, part = (viewer.get(f"/api/stats{asked}", shapes.Stats) for asked in ("", "?project=shop"))
    assert 0 < sum(day.tokens for day in part.days) < sum(day.tokens for day in whole.days)
    assert viewer.get("/api/stats?model=gpt-9", shapes.Stats).models == []
    both = viewer.get("/api/stats?project=shop&project=other&exact=1&model=claude-x&model=gpt-9", shapes.Stats)
    assert (both.days, both.models, both.methods) == (whole.days, whole.models, whole.methods)
    assert viewer.get("/api/stats?until=1999-01-01", shapes.Stats).days == []


# -- how they travel


def test_an_unchanged_answer_is_not_sent_again(viewer: Viewer) -> None:
    _, headers, _ = viewer.ask("/api/sessions")
    status, again, body = viewer.ask("/api/sessions", If_None_Match=headers["etag"])
    assert (status, body, again["etag"]) == (304, b"", headers["etag"])
    assert viewer.ask("/api/sessions", If_None_Match='"other"')[0] == 200


def test_json_is_compressed_for_who_wants_it(viewer: Viewer) -> None:
    _, plain_headers, plain = viewer.ask(f"/api/session/{MAIN}", Accept_Encoding="identity")
    _, headers, packed = viewer.ask(f"/api/session/{MAIN}", Accept_Encoding="gzip, br")
    assert "content-encoding" not in plain_headers
    assert headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed) == plain


def test_a_store_that_is_looked_at_cannot_be_written(shown: Archive) -> None:
    from muniment.errors import StoreError
    from muniment.store import index
    from muniment.store.index import Index

    looking = Layout(shown.layout.root, read_only=True)
    with pytest.raises(StoreError):
        Index(looking, write=True)
    with pytest.raises(StoreError), index.lock(looking, lambda: None):
        pass
    with pytest.raises(StoreError, match="readonly"), Index(looking) as known:
        known.put_summary(MAIN, "never")
