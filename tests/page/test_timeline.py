"""What was done, decided and left open, at a glance: the timeline, the list, and the filters of both."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlparse

from tests.page.conftest import Open

ROWS = "a.row"
ALL = 15
"""Engagements of the sample sessions."""


def params(page: Any) -> dict[str, list[str]]:
    return parse_qs(urlparse(page.url).query)


def shown(page: Any) -> int:
    """How many entries the list has."""
    return int(re.sub(r"\D", "", page.locator("[role=tab]").first.inner_text()))


def until(page: Any, number: int) -> None:
    page.wait_for_function(
        "n => document.querySelector('[role=tab]')?.textContent.trim().split(' ')[0] == String(n)", arg=number
    )


def until_less(page: Any, than: int) -> None:
    words = "n => Number(document.querySelector('[role=tab]').textContent.trim().split(' ')[0]) < n"
    page.wait_for_function(words, arg=than)


def test_engagements_are_listed_by_day_with_what_came_of_them(visit: Open) -> None:
    page = visit()
    page.wait_for_selector(ROWS)
    assert shown(page) == ALL
    first = page.locator(ROWS).first.inner_text()
    assert "The fog horn starts forty seconds late" in first
    assert "The cause is commit 5ca1ab1" in first
    assert "Watch the battery for two weeks" in first, "what was left open is seen without a click"
    assert page.locator("h2").first.inner_text().startswith("Tue, 2 Jun 2026")


def test_the_legend_names_all_eleven_methods(visit: Open) -> None:
    page = visit()
    page.wait_for_selector(ROWS)
    legend = page.get_by_role("list", name="Methods").get_by_role("button")
    assert legend.count() == 11
    colours = legend.locator("i").evaluate_all("all => all.map(one => getComputedStyle(one).backgroundColor)")
    assert len(set(colours)) == 11


def test_a_filter_narrows_the_list_and_lives_in_the_address(visit: Open) -> None:
    page = visit()
    page.wait_for_selector(ROWS)
    page.get_by_role("button", name="Method", exact=True).click()
    page.get_by_role("checkbox", name=re.compile("^debug")).check()
    page.get_by_role("checkbox", name=re.compile("^deploy")).check()
    until(page, 4)
    assert params(page)["method"] == ["debug", "deploy"]
    page.reload()
    page.wait_for_selector(ROWS)
    assert shown(page) == 4
    page.go_back()
    until(page, 3)


def test_projects_agents_models_and_phases_filter_too(visit: Open) -> None:
    page = visit("/?project=harbour-api&model=gpt-5-codex")
    page.wait_for_selector(ROWS)
    assert shown(page) == 1
    page.goto(page.url.split("?")[0] + "?agent=Reed&phase=completed")
    page.wait_for_selector(ROWS)
    assert shown(page) == 2


def test_what_was_left_open_is_one_click_away(visit: Open) -> None:
    page = visit()
    page.wait_for_selector(ROWS)
    page.get_by_role("button", name="Left open").click()
    until_less(page, ALL)
    assert params(page)["open"] == ["1"]
    phases = page.locator(f"{ROWS} [data-phase]").all_inner_texts()
    assert {"blocked", "in-progress", "handed-off"} <= set(phases)
    assert page.locator(ROWS).count() == page.locator(f"{ROWS} .open").count()


def test_grouping_by_every_kind_is_kept_in_the_address(visit: Open) -> None:
    page = visit()
    page.wait_for_selector(ROWS)
    lanes = {}
    for group in ("method", "agent", "day", "week", "month", "none", "project"):
        page.get_by_label("Group by").select_option(group)
        label = page.locator(".timeline canvas").get_attribute("aria-label")
        lanes[group] = int(re.search(r"in (\d+) lane", label)[1])
        assert params(page).get("group", ["project"]) == [group]
    assert lanes == {"method": 9, "agent": 4, "day": 12, "week": 12, "month": 6, "none": 1, "project": 4}
    page.locator("body").press("g")
    assert params(page)["group"] == ["method"]


def test_zooming_narrows_the_list_to_what_is_in_view(visit: Open) -> None:
    page = visit()
    page.wait_for_selector(ROWS)
    box = page.locator(".timeline canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 80)
    for _ in range(6):
        page.mouse.wheel(0, -300)
    until_less(page, ALL)
    page.wait_for_url(re.compile("from=.*to="))
    page.get_by_role("button", name="Whole time").click()
    until(page, ALL)
    page.wait_for_function("() => !location.search.includes('from=')")


def test_from_years_to_an_hour(visit: Open) -> None:
    page = visit("/?from=2026-04-14T08:30Z&to=2026-04-14T09:30Z")
    page.wait_for_selector(ROWS)
    assert shown(page) == 1
    for _ in range(30):
        page.locator("body").press("-")
    until(page, ALL)
    page.wait_for_function(
        "() => Date.parse(new URL(location).searchParams.get('to')) - Date.parse("
        "new URL(location).searchParams.get('from')) > 5 * 365 * 864e5"
    )


def test_dragging_moves_in_time(visit: Open) -> None:
    page = visit("/?from=2026-02-01T00:00Z&to=2026-03-01T00:00Z")
    page.wait_for_selector(ROWS)
    box = page.locator(".timeline canvas").bounding_box()
    page.mouse.move(box["x"] + 800, box["y"] + box["height"] - 8)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"] + box["height"] - 8, steps=5)
    page.mouse.up()
    page.wait_for_function("() => Date.parse(new URL(location).searchParams.get('from')) > Date.parse('2026-02-08')")


def test_the_density_is_a_brush(visit: Open) -> None:
    page = visit()
    page.wait_for_selector(ROWS)
    box = page.locator(".density canvas").bounding_box()
    page.mouse.move(box["x"] + 40, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 20, steps=5)
    page.mouse.up()
    until_less(page, ALL)
    assert page.get_by_role("slider").count() == 2


def point(page: Any) -> tuple[float, float]:
    """Where on the timeline there is something: the pointer says so."""
    canvas = page.locator(".timeline canvas")
    box = canvas.bounding_box()
    for y in range(30, int(box["height"]), 9):
        for x in range(200, int(box["width"]) - 10, 6):
            page.mouse.move(box["x"] + x, box["y"] + y)
            if canvas.evaluate("one => one.style.cursor") == "pointer":
                return box["x"] + x, box["y"] + y
    raise AssertionError("nothing on the timeline")


def test_hovering_tells_topic_and_outcome_and_a_click_opens(visit: Open) -> None:
    page = visit("/?from=2026-03-11T15:00Z&to=2026-03-11T18:00Z")
    page.wait_for_selector(ROWS)
    x, y = point(page)
    card = page.locator(".card").inner_text()
    assert "Deploy release 2.4" in card
    assert "blocked" in card
    assert "Version 2.4 is on staging" in card
    page.mouse.click(x, y)
    page.wait_for_selector("article")
    assert page.url.endswith("#r1")
    assert page.title() == "Release 2.4 to the harbour office · muniment"


def test_sessions_instead_of_engagements_and_ghosts_on_request(visit: Open) -> None:
    page = visit()
    page.wait_for_selector(ROWS)
    page.get_by_role("button", name="Sessions").click()
    until(page, 13)
    page.get_by_role("button", name=re.compile("Ghosts")).click()
    until(page, 14)
    assert params(page) == {"of": ["sessions"], "ghosts": ["1"]}


def test_the_keyboard_is_enough(visit: Open) -> None:
    page = visit()
    page.wait_for_selector(ROWS)
    body = page.locator("body")
    for key in "jjk":
        body.press(key)
    page.wait_for_function("() => document.activeElement?.matches('a.row')")
    assert "fog horn" in page.evaluate("document.activeElement.innerText")
    page.keyboard.press("Enter")
    page.wait_for_selector("article")
    page.keyboard.press("Escape")
    page.wait_for_selector(ROWS)
    assert urlparse(page.url).path == "/"
    page.keyboard.press("?")
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"


def test_coming_back_finds_the_place_again(visit: Open) -> None:
    page = visit("/?method=debug", size=(1280, 600))
    page.wait_for_selector(ROWS)
    page.locator(ROWS).last.click()
    page.wait_for_selector("article")
    page.get_by_role("button", name="Back").click()
    page.wait_for_selector(ROWS)
    assert params(page) == {"method": ["debug"]}
    assert page.locator(".row.selected").count() == 1


def test_charts_count_what_is_shown(visit: Open) -> None:
    page = visit("/?project=tide-tables", size=(1440, 1000))
    page.wait_for_selector("figure table")
    words = page.locator("aside").inner_text()
    assert "Activity by" in words
    assert "4 entries" in words
    assert "claude-sonnet-4-5" in words
    assert "gpt-5-codex" not in words, "the filters hold for the charts"
    assert page.locator("figure svg rect[data-method=plan]").count() == 1
