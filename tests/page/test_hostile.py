"""Nothing that stands in a session ever runs on the page or leaves it, wherever the page shows it.

Each test also sees, by the fixture `visit`, that there was no dialog, no word on the console, no error and no request
to anywhere else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.browser import watched
from tests.page import hostile
from tests.page.conftest import Open, Viewer, enter, serve
from tests.page.test_timeline import point
from tests.render.hostile import HOST, PAYLOADS

HALF = len(PAYLOADS) // 2
VIEWS = {"shell", "diff", "write", "read", "search", "todo", "task", "web", "generic"}


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """An archive in which every word is an attack."""
    folder = tmp_path_factory.mktemp("hostile")
    home = folder / ".claude"
    home.mkdir()
    hostile.fill(folder / "store", home)
    yield from serve(folder / "store")


_STRANGE = """() => {
  const found = [];
  if (typeof window.ran !== "undefined") found.push("something ran");
  const never = "iframe, object, embed, math, form, base, video, audio, frame";
  const inside = "body link, body style, body meta, body script";
  for (const one of document.querySelectorAll(`${never}, ${inside}`)) found.push(one.outerHTML.slice(0, 200));
  const drawn = ["path", "g", "rect", "circle", "line", "text", "title", "polyline"];
  for (const one of document.querySelectorAll("svg *"))
    if (!drawn.includes(one.localName)) found.push(one.outerHTML);
  for (const one of document.querySelectorAll("*"))
    for (const name of one.getAttributeNames()) if (/^on/i.test(name)) found.push(`${one.localName} ${name}`);
  for (const one of document.links)
    if (!["http:", "https:", "mailto:"].includes(one.protocol)) found.push(one.href);
  for (const one of document.images) if (!one.src.startsWith(location.origin)) found.push(one.src);
  return found;
}"""


def assert_inert(page: Any) -> None:
    assert page.evaluate(_STRANGE) == []


def texts(page: Any, selector: str) -> set[str]:
    return set(page.locator(selector).evaluate_all("all => all.map((one) => one.textContent)"))


def shown_while_scrolling(page: Any, scrolled: str, selector: str, each: Callable[[], None]) -> set[str]:
    """The words of everything that a list shows on the way to its end."""
    found: set[str] = set()
    place = page.locator(scrolled).first
    for _ in range(2_000):
        page.wait_for_timeout(40)
        found |= texts(page, selector)
        each()
        down = (
            "one => { const old = one.scrollTop; one.scrollTop += one.clientHeight * 0.8; return one.scrollTop - old }"
        )
        if place.evaluate(down) < 1:
            return found
    raise AssertionError("the list has no end")


def window(number: int, count: int) -> str:
    """The address of the time of some sessions."""
    start = hostile.START + number * hostile.STEP
    times = (start, start + count * hostile.STEP)
    return urlencode({"group": "none", **dict(zip(("from", "to"), map(minute, times), strict=True))})


def minute(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M}Z"


def scroller(page: Any, selector: str) -> str:
    """The list around what it shows."""
    mark = """one => {
      while (!["auto", "scroll"].includes(getComputedStyle(one).overflowY)) one = one.parentElement;
      one.dataset.scrolled = "1";
    }"""
    page.locator(selector).first.evaluate(mark)
    return "[data-scrolled='1']"


# -- the first view


@pytest.mark.parametrize("of", ["engagements", "sessions"])
def test_the_list_shows_every_payload_as_words(visit: Open, of: str) -> None:
    page = visit(f"/?of={of}", size=(1280, 3000))
    page.wait_for_selector("a.row")
    found = shown_while_scrolling(page, scroller(page, "a.row"), "a.row .title", lambda: assert_inert(page))
    assert {" ".join(p.split()) for p in PAYLOADS} <= {" ".join(words.split()) for words in found}


def test_the_card_over_the_timeline_shows_every_payload_as_words(visit: Open) -> None:
    found: set[str] = set()
    page = visit(f"/?{window(0, 24)}", size=(1400, 800))
    for first in range(0, len(PAYLOADS), 24):
        page.evaluate(
            "at => { history.pushState(null, '', at); dispatchEvent(new PopStateEvent('popstate')) }",
            f"/?{window(first, 24)}",
        )
        page.wait_for_timeout(200)
        _, y = point(page)
        box = page.locator(".timeline canvas").bounding_box()
        for x in range(10, int(box["width"]), 12):
            page.mouse.move(box["x"] + x, y)
            found |= texts(page, ".card .title")
        assert_inert(page)
    assert set(PAYLOADS) <= found


@pytest.mark.parametrize("group", ["project", "agent", "method", "month"])
def test_lanes_and_density_are_named_after_payloads(visit: Open, group: str) -> None:
    page = visit(f"/?group={group}", size=(1280, 900))
    page.wait_for_selector("a.row")
    label = page.locator(".timeline canvas").get_attribute("aria-label")
    assert f"{len(PAYLOADS)} engagements" in label
    assert_inert(page)


def test_charts_name_every_model_and_project(visit: Open) -> None:
    page = visit("/", size=(1440, 1000))
    page.wait_for_selector("figure table")
    for figure in ("Tokens by model", "Tokens by project"):
        page.locator("figure", has_text=figure).get_by_role("button", name="All").click()
    assert_inert(page)
    for figure in ("Tokens by model", "Tokens by project"):
        named = page.locator("figure", has_text=figure).locator("th span")
        titles = set(named.evaluate_all("all => all.map((one) => one.title)"))
        assert set(PAYLOADS) <= titles


@pytest.mark.parametrize("facet", ["Project", "Agent", "Model"])
def test_filters_offer_payloads_and_take_them(visit: Open, facet: str) -> None:
    page = visit("/", size=(1280, 900))
    page.wait_for_selector("a.row")
    page.get_by_role("button", name=facet, exact=True).click()
    assert page.get_by_role("checkbox").count() > 190, "a model in angle brackets is none"
    assert_inert(page)
    for _ in range(3):
        page.get_by_role("checkbox", checked=False).last.check()
    page.wait_for_function("() => document.querySelector('[role=tab]').textContent.trim().startsWith('3 ')")
    page.reload()
    page.wait_for_selector("a.row")
    assert_inert(page)


@pytest.mark.parametrize("half", [0, 1])
def test_what_is_found_is_shown_as_words(visit: Open, half: int) -> None:
    page = visit(f"/?q={hostile.word(half)}", size=(1280, 2000))
    for _ in range(3):
        page.locator("button", has_text="Show more").click()
        page.wait_for_selector(".found[aria-busy=false]")
    page.wait_for_function("n => document.querySelectorAll('.found a.hit').length >= 2 * n", arg=HALF)
    found = page.locator(".found").evaluate("one => one.textContent")
    plain = "".join(found.split())
    wanted = [p for number, p in enumerate(PAYLOADS) if number % 2 == half]
    assert [p for p in wanted if "".join(p.split()) not in plain] == []
    assert page.locator("mark").count() >= HALF
    assert_inert(page)


def test_the_words_of_a_search_are_words(visit: Open) -> None:
    page = visit()
    page.wait_for_selector("a.row")
    for payload in PAYLOADS[::10]:
        page.locator("input[type=search]").fill(payload)
        page.wait_for_timeout(60)
    page.goto(
        page.url.split("?")[0]
        + "?"
        + urlencode({"q": f"{PAYLOADS[0]}zzz", "project": PAYLOADS[3], "agent": PAYLOADS[5]})
    )
    page.get_by_text("Nothing was found for").wait_for()
    assert_inert(page)


# -- one session


def test_the_head_of_every_session_is_words(visit: Open) -> None:
    """Title, summary, folder, branch, model, agent, role, tags, and the engagement above the round."""
    page = visit(f"/s/{hostile.name(0)}", size=(1400, 900))
    page.wait_for_selector("section.head")
    for number, payload in enumerate(PAYLOADS):
        follow = "id => { history.pushState(null, '', `/s/${id}`); dispatchEvent(new PopStateEvent('popstate')) }"
        page.evaluate(follow, hostile.name(number))
        words = " ".join(payload.split())
        is_there = (
            "words => document.querySelector('section.head h2')?.textContent.trim().split(/\\s+/).join(' ') === words"
        )
        page.wait_for_function(is_there, arg=words)
        page.wait_for_selector("article .prose")
        head = page.locator("section.head").evaluate("one => one.textContent.split(/\\s+/).join(' ')")
        assert head.count(words) >= 6, payload
        assert_inert(page)


@pytest.mark.skipif("MUNIMENT_SLOW" not in os.environ, reason="a minute or more, and it waits on a loaded machine")
def test_every_block_and_every_tool_is_words(visit: Open, viewer: Viewer) -> None:
    page = visit(size=(1280, 6000))
    kinds: set[str] = set()
    views: set[str] = set()
    for id_ in hostile.whole_rounds():
        page.goto(f"{viewer.origin}/s/{id_}")
        page.wait_for_selector("article .prose")
        items = page.request.get(f"{viewer.origin}/api/session/{id_}/items?count=100").json()["items"]
        views |= {item["tool"]["view"] for item in items if item["tool"]}
        for number in range(1, hostile.ROUNDS + 1):
            page.wait_for_function(_ROUND_IS_SHOWN, arg=number)
            kinds |= set(page.locator("article").evaluate_all("all => all.map((one) => one.dataset.kind)"))
            assert_inert(page)
            page.keyboard.press("n")
    assert views == VIEWS
    assert kinds == {"user", "assistant", "thinking", "tool", "compaction", "event", "unknown", "media"}


_ROUND_IS_SHOWN = """number => {
  const heads = [...document.querySelectorAll("h2")].map((one) => one.textContent);
  return heads.some((words) => words.startsWith(`Round ${number} `)) && !document.querySelector(".wait");
}"""


def test_a_subagent_is_words(visit: Open) -> None:
    page = visit(f"/s/{hostile.whole_rounds()[0]}", size=(1280, 6000))
    page.wait_for_selector("article .prose")
    page.get_by_role("button", name="Subagent").first.click()
    page.wait_for_selector("article[data-depth='1']")
    page.wait_for_timeout(300)
    assert_inert(page)


def test_the_files_of_a_session_are_text(visit: Open, viewer: Viewer) -> None:
    page = visit()
    paths = [f"/doc/{hostile.name(number)}.md" for number in range(0, len(PAYLOADS), 25)]
    for path in [*paths, *(f"/raw/{id_}/1.json" for id_ in hostile.whole_rounds())]:
        page.goto(viewer.origin + path)
        assert page.locator("body > pre").count() == 1
        assert page.evaluate("typeof window.ran") == "undefined"


def test_edits_bring_words_back(visit: Open) -> None:
    page = visit(f"/s/{hostile.name(3)}", size=(1280, 900))
    page.wait_for_selector("section.head")
    for label in ("summary", "name", "role"):
        page.get_by_title(f"Edit: {label}").click()
        page.keyboard.type(f"{PAYLOADS[3]} typed")
        page.keyboard.press("Enter")
        page.get_by_title(f"Edit: {label}").filter(has_text="typed").wait_for()
        page.wait_for_timeout(500)  # the news of an edit redraws the head; typing into it meanwhile is lost
    page.get_by_role("button", name="Add").click()
    page.keyboard.type(f"{PAYLOADS[5]} typed")
    page.keyboard.press("Enter")
    page.locator(".tag", has_text="typed").wait_for()
    assert_inert(page)


# -- the tests above can fail


def refusal(page: Any, act: str, words: str) -> str:
    """What the browser says of an act."""
    caught = f"words => {{ try {{ ({act})(words); return 'nothing' }} catch (error) {{ return error.name }} }}"
    return page.evaluate(caught, words)


def test_the_second_wall_holds_by_itself(browser: Any, viewer: Viewer) -> None:
    """Where a payload did become markup, the browser would refuse it: no markup from words, no script, no handler."""
    with watched(browser, viewer.origin) as (page, seen):
        enter(page, viewer)
        page.goto(viewer.origin)
        page.wait_for_selector("a.row")
        put = "words => document.body.insertAdjacentHTML('beforeend', words)"
        assert {refusal(page, put, payload) for payload in PAYLOADS[:24]} == {"TypeError"}
        assert refusal(page, "words => document.body.setAttribute('onclick', words)", "window.ran = 1") == "TypeError"
        page.evaluate(f"() => fetch('{HOST}/stolen').catch(() => 0)")
        page.wait_for_timeout(200)
        assert page.evaluate("typeof window.ran") == "undefined"
        assert seen.requests == []
        assert any("Content Security Policy" in line or "Trusted" in line for line in seen.console)


def test_what_is_looked_for_would_be_seen(browser: Any, tmp_path: Path) -> None:
    strange = 0
    for number, payload in enumerate(PAYLOADS[:24]):
        path = tmp_path / f"{number}.html"
        path.write_text(f"<!doctype html><title>x</title><body>{payload}", errors="replace")
        with watched(browser) as (page, seen):
            page.goto(path.as_uri(), wait_until="commit")
            page.wait_for_timeout(400)  # whatever leads away does so at once
            strange += bool(seen.dialogs or seen.requests or page.evaluate(_STRANGE))
    assert strange == 24
