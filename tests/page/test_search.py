"""Search as one types: what was meant, what was said, and where."""

from __future__ import annotations

import re
from typing import Any

from tests.browser import expect, settle, until
from tests.page.conftest import Open
from tests.page.test_timeline import home


def found(page: Any) -> Any:
    return page.get_by_role("region", name="Search results")


def test_results_come_while_one_types(visit: Open) -> None:
    page = home(visit)
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("southamp")
    expect(found(page).locator("h2").first).to_contain_text("Engagements")
    expect(found(page).locator("a.hit").first).to_contain_text("two high waters")
    expect(found(page).locator("mark", has_text=re.compile("southampton", re.IGNORECASE)).first).to_be_visible()
    page.wait_for_url(re.compile("q=southamp"))


def test_a_passage_opens_at_its_round(visit: Open) -> None:
    page = visit("/?q=horn.sounded.wait")
    page.locator(".of a.hit").first.click()
    expect(page.locator("article").first).to_be_visible()
    page.wait_for_url(re.compile("#r3$"))
    page.keyboard.press("Escape")
    expect(page.locator("a.hit").first).to_be_visible()
    page.wait_for_url(re.compile("q=horn"))


def test_the_same_filters_hold(visit: Open) -> None:
    page = visit("/?q=fixed&project=harbour-api")
    expect(found(page)).to_contain_text(re.compile("arrivals after midnight", re.IGNORECASE))
    expect(found(page)).not_to_contain_text("lamp")
    page.get_by_role("button", name=re.compile("Project: harbour-api")).click()
    page.get_by_role("checkbox", name=re.compile("^harbour-api")).uncheck()
    expect(found(page)).to_contain_text("lamp")


def test_keys_walk_through_what_was_found(visit: Open) -> None:
    page = visit("/?q=tests")
    expect(page.locator("a.hit").nth(2)).to_be_visible()
    for at in range(3):
        page.keyboard.press("j")
        expect(page.locator("a.hit").nth(at)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("article").first).to_be_visible()


def test_stale_answers_are_dropped(visit: Open) -> None:
    page = home(visit)
    held: list[Any] = []
    page.route(re.compile(r"/api/search\?q=lam&"), lambda route: held.append(route))
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("lam")
    until(page, lambda: len(held), 1)
    page.keyboard.type("p test")
    expect(page.locator("a.hit mark", has_text="test").first).to_be_visible()
    for route in held:
        route.fulfill(json={"engagements": [], "files": [], "hits": []})
    settle(page)
    expect(found(page)).to_contain_text("The lamp test fails")
    expect(page.get_by_role("searchbox")).to_have_value("lamp test")


def test_nothing_found_is_said(visit: Open) -> None:
    page = visit("/?q=zzzunheardof")
    expect(page.get_by_text('Nothing was found for "zzzunheardof"')).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("a.row").first).to_be_visible()


def test_several_values_of_a_filter_mean_any_of_them(visit: Open) -> None:
    page = visit("/?q=tests&project=harbour-api&project=almanac", size=(1280, 1600))
    for words in ("harbour-api", "almanac"):
        expect(found(page)).to_contain_text(words)
    expect(found(page)).not_to_contain_text("lighthouse")
    page = visit("/?project=harbour-api&project=almanac", size=(1440, 1000))
    for words in ("harbour-api", "almanac"):
        expect(page.locator("aside table").last).to_contain_text(words)
    expect(page.locator("aside")).not_to_contain_text("lighthouse")
