"""The lineage of a session as a graph: who continues whom, why that is thought, and how one gets there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import expect, resting, until
from tests.page import relatives
from tests.page.conftest import Open, Viewer, muniment, serve
from tests.page.relatives import BOTH, COPY, FIRST, FORK, LAST, LOST, NEXT, Dated

PIER = "5ef00000-0000-4000-8000-000000000000"
TITLES = [
    "A timer for the lamp",
    "The timer, on the next morning",
    "Find every timer in the code",
    "Look up the law on lamp times",
    "The timer, with a real clock instead",
    "Timer and clock in one",
    "Sunset from the almanac",
    "Sunset at the poles",
]


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("family")
    relatives.family(folder / "agents")
    relatives.lost(folder / "agents")
    muniment(folder / "store", "inscribe", str(folder / "agents"))
    muniment(folder / "store", "ingest")
    yield from serve(folder / "store")


def rows(page: Any) -> Any:
    return page.get_by_role("treeitem")


def row(page: Any, title: str) -> Any:
    return rows(page).filter(has=page.get_by_text(title, exact=True))


def test_every_relative_says_who_it_is_and_why_it_stands_there(visit: Open) -> None:
    page = visit(f"/s/{BOTH}/lineage")
    expect(page.locator(".kin .title")).to_have_text(TITLES)
    expect(page.get_by_text("6 sessions, 2 subagents")).to_be_visible()
    expect(row(page, "Timer and clock in one")).to_have_attribute("aria-current", "true")
    for title, kind, sure, why in (
        ("The timer, on the next morning", "copy", "exact", "8 of its ids are also in that session"),
        ("Find every timer in the code", "subagent", "exact", "the subagent a0"),
        ("Timer and clock in one", "copy", "exact", "4 of its ids"),
        ("Sunset from the almanac", "follows", "80 %", "same branch timer, 23 hours later"),
        ("Sunset at the poles", "follows", "95 %", "its first prompt asks to go on"),
    ):
        expect(row(page, title)).to_contain_text(re.compile(f"{kind}.*{sure}.*{why}", re.S))
        expect(row(page, title)).to_contain_text(re.compile(r"\d+ Jun 2026, \d\d:\d\d.*claude", re.S))


def test_lines_lead_from_the_earlier_to_the_later(visit: Open) -> None:
    page = visit(f"/s/{BOTH}/lineage")
    expect(page.locator(".family circle")).to_have_count(8)
    kinds = page.locator(".family path[data-edge]")
    expect(kinds).to_have_count(8)
    told = sorted(kinds.evaluate_all("all => all.map(one => one.dataset.edge)"))
    assert told == ["copy", "copy", "follows", "follows", "fork", "fork", "sidechain", "sidechain"]
    dashed = "all => all.map(one => getComputedStyle(one).strokeDasharray !== 'none')"
    assert page.locator(".family path[data-edge=follows]").evaluate_all(dashed) == [True, True]
    assert page.locator(".family path[data-edge=copy]").evaluate_all(dashed) == [False, False]


def test_a_session_with_two_origins_tells_both(visit: Open) -> None:
    page = visit(f"/s/{BOTH}/lineage")
    footer = page.locator(".family footer")
    expect(footer).to_contain_text("Copy that goes on from “The timer, with a real clock instead” (exact)")
    expect(footer).to_contain_text("Fork of “The timer, on the next morning” (exact)")
    row(page, "Sunset at the poles").hover()
    expect(footer).to_contain_text("Follows “Sunset from the almanac” (inferred, 95 % sure): same branch timer")


def test_a_click_opens_and_back_leads_to_the_family(visit: Open) -> None:
    page = visit(f"/s/{BOTH}/lineage")
    page.get_by_role("link", name="Sunset from the almanac").click()
    page.wait_for_url(f"**/s/{NEXT}#r1")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sunset from the almanac")
    page.wait_for_selector("article .prose")
    page.get_by_role("button", name="Back").click()
    page.wait_for_url(f"**/s/{BOTH}/lineage")
    expect(rows(page)).to_have_count(8)


def test_a_subagent_opens_its_session_where_it_began(visit: Open) -> None:
    page = visit(f"/s/{NEXT}/lineage")
    row(page, "Look up the law on lamp times").get_by_role("link").click()
    page.wait_for_url(re.compile(f"/s/{FIRST}#r[12]$"))
    page.wait_for_selector("article .prose")


def test_one_gets_there_from_the_transcript_and_back(visit: Open) -> None:
    page = visit(f"/s/{COPY}#r3")
    page.wait_for_selector("h2 >> text='Round 3'")
    page.get_by_role("link", name="Lineage").click()
    page.wait_for_url(f"**/s/{COPY}/lineage#r3")
    expect(row(page, "The timer, on the next morning")).to_have_attribute("aria-current", "true")
    expect(page.get_by_role("link", name="Lineage")).to_have_attribute("aria-current", "page")
    page.locator("body").press("t")
    page.wait_for_url(f"**/s/{COPY}#r3")
    expect(page.locator("h2", has_text="Round 3")).to_be_in_viewport()
    page.locator("body").press("l")
    page.wait_for_url(f"**/s/{COPY}/lineage#r3")
    page.reload()
    expect(rows(page)).to_have_count(8)
    page.go_back()
    page.wait_for_selector("article .prose")


def test_all_of_it_by_keyboard(visit: Open) -> None:
    page = visit(f"/s/{FIRST}/lineage")
    tree = page.get_by_role("tree")
    expect(rows(page)).to_have_count(8)

    def chosen(title: str) -> None:
        expect(row(page, title)).to_have_attribute("aria-selected", "true")
        own = row(page, title).get_attribute("id")
        expect(tree).to_have_attribute("aria-activedescendant", own or "")

    tree.focus()
    tree.press("ArrowDown")
    chosen("The timer, on the next morning")
    tree.press("End")
    chosen("Sunset at the poles")
    tree.press("ArrowLeft")
    chosen("Sunset from the almanac")
    tree.press("ArrowLeft")
    expect(row(page, "Sunset from the almanac")).to_have_attribute("aria-expanded", "false")
    expect(rows(page)).to_have_count(7)
    tree.press("ArrowRight")
    expect(rows(page)).to_have_count(8)
    tree.press("Home")
    chosen("A timer for the lamp")
    page.locator("body").press("j")
    chosen("The timer, on the next morning")
    page.locator("body").press("k")
    chosen("A timer for the lamp")
    tree.press("ArrowDown")
    chosen("The timer, on the next morning")
    tree.press("Enter")
    page.wait_for_url(f"**/s/{COPY}#r1")


def test_levels_and_places_are_told_to_who_cannot_see_the_lines(visit: Open) -> None:
    page = visit(f"/s/{FIRST}/lineage")
    expect(rows(page)).to_have_count(8)
    told = rows(page).evaluate_all(
        "all => all.map(one => [one.ariaLevel, one.ariaPosInSet, one.ariaSetSize].join(' '))"
    )
    assert told == ["1 1 1", "2 1 4", "2 2 4", "2 3 4", "2 4 4", "3 1 1", "4 1 1", "5 1 1"]


def test_what_is_inferred_and_who_is_a_subagent_can_be_left_out(visit: Open) -> None:
    page = visit(f"/s/{FORK}/lineage")
    expect(rows(page)).to_have_count(8)
    page.get_by_role("button", name="Inferred 2").click()
    expect(page.locator(".kin .title")).to_have_text(TITLES[:6])
    page.get_by_role("button", name="Subagents 2").click()
    expect(page.locator(".kin .title")).to_have_text([TITLES[0], TITLES[1], TITLES[4], TITLES[5]])
    page.get_by_role("button", name="Inferred 2").click()
    expect(rows(page)).to_have_count(6)


def test_a_fold_hides_what_comes_from_it(visit: Open) -> None:
    page = visit(f"/s/{FIRST}/lineage")
    row(page, "Timer and clock in one").get_by_role("button").click()
    expect(page.locator(".kin .title")).to_have_text(TITLES[:6])
    row(page, "Timer and clock in one").get_by_role("button", name="Show 1 that come from it").click()
    expect(rows(page)).to_have_count(8)


def test_a_session_that_is_not_there_is_shown_and_leads_nowhere(visit: Open) -> None:
    page = visit(f"/s/{PIER}/lineage")
    expect(rows(page)).to_have_count(2)
    expect(rows(page).first).to_contain_text(re.compile(f"{LOST}.*not in the archive", re.S))
    expect(rows(page).first.get_by_role("link")).to_have_count(0)
    page.get_by_role("tree").press("Home")
    page.get_by_role("tree").press("Enter")
    expect(rows(page)).to_have_count(2)


def test_a_session_that_is_not_in_the_archive_is_said_so(visit: Open) -> None:
    page = visit("/s/00000000-0000-4000-8000-000000000000/lineage", refusal="404")
    page.get_by_role("button", name="Back to the timeline").click()
    page.wait_for_selector("a.row")


# -- many of them


def many(number: int, deep: bool) -> dict[str, Any]:
    """A family of so many, with the first of ours among them: each follows the one before, or all come from one."""
    ids = [f"00000000-0000-4000-8000-{at:012d}" for at in range(number)]
    ids[number // 2] = FIRST
    nodes = [
        {
            **{"id": id_, "session_id": id_, "side": None, "title": f"Session number {at}", "agent": "claude"},
            **{"under": None if not at else ids[at - 1 if deep else 0], "source": "s", "project": None, "branch": None},
            **{"started": f"2026-01-01T{at // 60 % 24:02d}:{at % 60:02d}:00Z", "ended": None, "rounds": 3, "opens": 1},
            **{"versions": 0, "missing": False},
        }
        for at, id_ in enumerate(ids)
    ]
    about = {"kind": "follows", "explicit": False, "confidence": 0.8, "evidence": "same branch x"}
    edges = [{"earlier": node["under"], "later": node["id"], **about} for node in nodes[1:]]
    return {"state": "x", "session_id": FIRST, "nodes": nodes, "edges": edges}


def asked(visit: Open, answer: dict[str, Any]) -> Any:
    """A page on which the family of a session is another one."""
    page = visit()
    page.route("**/api/session/*/lineage", lambda route: route.fulfill(json=answer))
    page.goto(page.url.rstrip("/") + f"/s/{FIRST}/lineage")
    return page


@pytest.mark.parametrize("deep", [True, False], ids=["chain", "fan"])
def test_a_thousand_relatives_can_be_gone_through(visit: Open, deep: bool) -> None:
    page = asked(visit, many(1000, deep))
    expect(page.get_by_text("1,000 sessions")).to_be_visible()
    expect(row(page, "Session number 500")).to_be_in_viewport()
    until(page, lambda: rows(page).count() < 60)  # only what is seen is drawn
    until(page, lambda: page.locator(".family path").count() < 150)
    tree = page.get_by_role("tree")
    tree.press("End")
    expect(row(page, "Session number 999")).to_be_in_viewport()
    tree.press("PageUp")
    expect(row(page, "Session number 999")).to_have_attribute("aria-selected", "false")
    box = resting(row(page, "Session number 990").locator(".title"))
    assert box["x"] < 120, "a long line of descent does not run out of the page"


def test_one_of_many_is_found(visit: Open) -> None:
    page = asked(visit, many(300, True))
    find = page.get_by_role("searchbox", name="Find in the family")
    find.fill("number 25")
    expect(page.get_by_role("status").filter(has_text="13 matches")).to_be_visible()
    find.press("Enter")
    expect(row(page, "Session number 225")).to_be_in_viewport()
    find.press("Enter")
    expect(row(page, "Session number 250")).to_be_in_viewport()
    expect(row(page, "Session number 250")).to_have_attribute("aria-selected", "true")
    find.press("Shift+Enter")
    expect(row(page, "Session number 225")).to_have_attribute("aria-selected", "true")


def test_what_stands_in_a_title_is_words(visit: Open) -> None:
    answer = many(3, True)
    hostile = "<img src=x onerror=alert(1)>{@html 1}</title><script>alert(2)</script>"
    for node in answer["nodes"]:
        node |= {"title": hostile, "agent": hostile, "started": hostile, "project": hostile}
    for edge in answer["edges"]:
        edge |= {"evidence": hostile, "kind": hostile, "terms": [hostile]}
    page = asked(visit, answer)
    expect(rows(page)).to_have_count(3)
    expect(rows(page).last).to_contain_text(hostile)
    assert page.locator(".family img, .family script").count() == 0


# -- how it bears up


@pytest.mark.parametrize("size", [(360, 740), (768, 1024), (1280, 800), (3840, 2160)], ids=lambda size: str(size[0]))
def test_nothing_sticks_out_at_any_width(visit: Open, size: tuple[int, int]) -> None:
    page = visit(f"/s/{FIRST}/lineage", size=size)
    expect(rows(page)).to_have_count(8)
    too_wide = (
        "() => [...document.querySelectorAll('body *')].filter(one => one.scrollWidth > innerWidth + 1)"
        ".filter(one => getComputedStyle(one).overflowX === 'visible').map(one => one.outerHTML.slice(0, 90))"
    )
    until(page, lambda: page.evaluate(too_wide), [])
    for name in ("Transcript", "Lineage", "Budget"):
        expect(page.get_by_role("link", name=name)).to_be_in_viewport(ratio=1)
    over = "all => all.filter(one => one.scrollHeight > one.clientHeight + 1).length"
    until(page, lambda: rows(page).evaluate_all(over), 0)  # a row holds its words


def test_a_relative_that_arrives_appears_by_itself(visit: Open, viewer: Viewer, tmp_path: Path) -> None:
    page = visit(f"/s/{LAST}/lineage")
    expect(row(page, "Sunset at the poles")).to_be_visible()
    before = rows(page).count()
    session = Dated("5ee00000-0000-4000-8000-000000000000", "2026-06-13T09:00:00", "Sunset, the last of it")
    for number in range(3):
        session.user(f"Continue with the sunset, part {number}")
        session.say("Done.")
    session.write(tmp_path)
    viewer("inscribe", str(tmp_path))
    expect(row(page, "Sunset, the last of it")).to_be_visible()
    expect(rows(page)).to_have_count(before + 1)
