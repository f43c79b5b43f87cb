"""Search as one types: what was meant, what was said, and where."""

from __future__ import annotations

import re

from tests.page.conftest import Open


def test_results_come_while_one_types(visit: Open) -> None:
    page = visit()
    page.wait_for_selector("a.row")
    page.locator("body").press("/")
    page.keyboard.type("southamp", delay=30)
    page.wait_for_selector("a.hit mark")
    found = page.get_by_role("region", name="Search results")
    assert found.locator("h2").first.inner_text().startswith("Engagements")
    assert "two high waters" in found.locator("a.hit").first.inner_text()
    assert {text.lower() for text in found.locator("mark").all_inner_texts()} >= {"southampton"}
    assert "q=southamp" in page.url


def test_a_passage_opens_at_its_round(visit: Open) -> None:
    page = visit("/?q=horn.sounded.wait")
    page.wait_for_selector(".of a.hit")
    page.locator(".of a.hit").first.click()
    page.wait_for_selector("article")
    assert page.url.endswith("#r3")
    page.keyboard.press("Escape")
    page.wait_for_selector("a.hit")
    assert "q=horn" in page.url, "and back to what was found"


def test_the_same_filters_hold(visit: Open) -> None:
    page = visit("/?q=fixed&project=harbour-api")
    page.wait_for_selector("a.hit")
    words = page.get_by_role("region", name="Search results").inner_text()
    assert "Arrivals after midnight" in words or "arrivals after midnight" in words
    assert "lamp" not in words
    page.get_by_role("button", name=re.compile("Project: harbour-api")).click()
    page.get_by_role("checkbox", name=re.compile("^harbour-api")).uncheck()
    page.wait_for_function("() => document.querySelector('.found').innerText.includes('lamp')")


def test_keys_walk_through_what_was_found(visit: Open) -> None:
    page = visit("/?q=tests")
    page.wait_for_selector("a.hit")
    for _ in range(3):
        page.keyboard.press("j")
    chosen = page.evaluate("[...document.querySelectorAll('a.hit')].indexOf(document.activeElement)")
    assert chosen == 2
    page.keyboard.press("Enter")
    page.wait_for_selector("article")


def test_stale_answers_are_dropped(visit: Open) -> None:
    page = visit()
    page.wait_for_selector("a.row")

    def late(route: object) -> None:
        page.wait_for_timeout(400)
        route.continue_()

    page.route(re.compile(r"/api/search\?q=lam&"), late)
    page.locator("body").press("/")
    page.keyboard.type("lam", delay=60)
    page.wait_for_timeout(60)
    page.keyboard.type("p test", delay=20)
    page.wait_for_selector("a.hit mark")
    page.wait_for_timeout(700)
    assert "The lamp test fails" in page.get_by_role("region", name="Search results").inner_text()
    assert page.locator("a.hit mark", has_text="test").count() > 0
    assert page.locator("input[type=search]").input_value() == "lamp test"


def test_nothing_found_is_said(visit: Open) -> None:
    page = visit("/?q=zzzunheardof")
    page.get_by_text('Nothing was found for "zzzunheardof"').wait_for()
    page.keyboard.press("Escape")
    page.wait_for_selector("a.row")


def test_several_values_of_a_filter_mean_any_of_them(visit: Open) -> None:
    page = visit("/?q=tests&project=harbour-api&project=almanac", size=(1280, 1600))
    page.wait_for_selector("a.hit")
    words = page.get_by_role("region", name="Search results").inner_text()
    assert "harbour-api" in words
    assert "almanac" in words
    assert "lighthouse" not in words
    page = visit("/?project=harbour-api&project=almanac", size=(1440, 1000))
    page.wait_for_selector("aside table")
    page.wait_for_function("() => document.querySelector('aside').innerText.includes('almanac')")
    words = page.locator("aside").inner_text()
    assert "harbour-api" in words
    assert "lighthouse" not in words
