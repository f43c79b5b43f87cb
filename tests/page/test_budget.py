"""The budget of a session as a chart: how full the window was, where it was cut, and how one gets to a round."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import expect, resting, until
from tests.page import relatives
from tests.page.conftest import Open, Viewer, muniment, serve
from tests.page.relatives import FIRST, FULL, WINDOWS, Dated


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("budget")
    relatives.family(folder / "agents")
    relatives.filling(folder / "agents")
    muniment(folder / "store", "inscribe", str(folder / "agents"))
    muniment(folder / "store", "ingest")
    yield from serve(folder / "store")


def bars(page: Any) -> Any:
    return page.locator("rect[data-round]")


def marked(page: Any, mark: str, *rounds: str) -> None:
    """The bars of these rounds, and no others, have the mark."""
    those = page.locator(f"rect[data-round].{mark}")
    until(page, lambda: those.evaluate_all("all => all.map(one => one.dataset.round)"), list(rounds))


def told(page: Any) -> Any:
    return page.locator(".told")


def test_every_round_is_a_bar_as_high_as_its_window(visit: Open) -> None:
    page = visit(f"/s/{FULL}/budget")
    expect(bars(page)).to_have_count(len(WINDOWS))
    resting(bars(page).last)
    heights = bars(page).evaluate_all("all => all.map(one => one.height.baseVal.value)")
    recorded = [(height, window) for height, window in zip(heights, WINDOWS, strict=True) if window]
    scale = recorded[0][0] / (recorded[0][1] or 1)
    assert all(abs(height - scale * (window or 0)) < 0.5 for height, window in recorded)
    marked(page, "full", "6", "13")
    marked(page, "estimated", "9")


def test_the_limit_the_mark_and_the_cuts_are_drawn(visit: Open) -> None:
    page = visit(f"/s/{FULL}/budget")
    expect(page.get_by_text("window 200 k")).to_be_visible()
    expect(page.locator(".flag")).to_have_count(2)

    def top(what: str) -> float:
        return resting(page.locator(f".chart {what}"))["y"]

    limit, mark, full, below = top(".limit"), top(".mark"), top("[data-round='6']"), top("[data-round='5']")
    assert limit < full < mark < below, "round 6 is between the mark and the limit, round 5 below both"
    middle, flag = resting(page.locator("[data-round='6']")), resting(page.locator(".flag").first)
    assert middle["x"] < flag["x"] + flag["width"] / 2 < middle["x"] + middle["width"]


def test_the_figures_say_what_it_came_to(visit: Open) -> None:
    page = visit(f"/s/{FULL}/budget")
    figures = page.locator(".budget dl")
    for words in (
        "Fullest.*86 %.*171 k of 200 k, round 6",
        "Above 80 %.*2.*of 16 rounds",
        "Compactions.*2",
        r"Tokens.*1\.3 M.*15 calls",
        r"Cost.*\$\d\.\d\d.*at list prices of \d{4}-\d\d; not a bill",
    ):
        expect(figures).to_contain_text(re.compile(words, re.S))
    expect(page.locator(".budget")).to_contain_text("1 round without recorded usage: estimated from the sizes of texts")


def test_a_pointer_is_told_the_numbers_of_a_round(visit: Open) -> None:
    page = visit(f"/s/{FULL}/budget")
    expect(told(page)).to_contain_text("Round 6")  # the fullest, until one asks
    page.locator("[data-round='4']").hover()
    expect(told(page)).to_contain_text(
        re.compile(r"Round 4.*118,000 tokens, 59 % of 200 k.*1 call.*claude-opus-4-5", re.S)
    )
    page.locator("[data-round='9']").hover()
    expect(told(page)).to_contain_text(re.compile(r"Round 9.*about 61,\d\d\d tokens.*estimated from the sizes", re.S))
    page.mouse.move(5, 5)
    expect(told(page)).to_contain_text(re.compile(r"Round 6.*compacted from 171 k to 38 k", re.S))


def test_a_click_leads_to_the_round_and_back_to_the_chart(visit: Open) -> None:
    page = visit(f"/s/{FULL}/budget")
    page.locator("[data-round='11']").click()
    page.wait_for_url(f"**/s/{FULL}#r11")
    expect(page.locator("h2", has_text="Round 11")).to_be_in_viewport()
    page.go_back()
    page.wait_for_url(f"**/s/{FULL}/budget")
    expect(bars(page)).to_have_count(16)


def test_a_finger_chooses_first_and_opens_by_the_link(visit: Open) -> None:
    page = visit(f"/s/{FULL}/budget", size=(360, 740), has_touch=True)
    box = resting(page.locator("[data-round='12']"))
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + 20)
    expect(told(page)).to_contain_text(re.compile("Round 12.*139,000 tokens", re.S))
    assert page.url.endswith("/budget")
    page.get_by_role("link", name="Round 12").tap()
    page.wait_for_url(f"**/s/{FULL}#r12")


def test_all_of_it_by_keyboard(visit: Open) -> None:
    page = visit(f"/s/{FULL}#r2")
    page.wait_for_selector("article .prose")
    page.locator("body").press("b")
    page.wait_for_url(f"**/s/{FULL}/budget#r2")
    slider = page.get_by_role("slider", name="Round")
    slider.focus()
    slider.press("Home")
    expect(slider).to_have_attribute("aria-valuenow", "1")
    expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^Round 1: 21,000 tokens, 11 % of 200 k"))
    slider.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuenow", "2")
    slider.press("End")
    expect(slider).to_have_attribute("aria-valuenow", "16")
    expect(told(page)).to_contain_text("Round 16")
    page.locator("body").press("k")
    expect(slider).to_have_attribute("aria-valuenow", "15")
    page.locator("body").press("j")
    expect(slider).to_have_attribute("aria-valuenow", "16")
    slider.press("Enter")
    page.wait_for_url(f"**/s/{FULL}#r16")
    page.locator("body").press("Escape")
    page.wait_for_url(f"**/s/{FULL}/budget#r2")
    page.locator("body").press("t")
    expect(page.locator("h2", has_text="Round 2")).to_be_in_viewport()


def test_the_table_has_every_number_for_who_cannot_see_the_chart(visit: Open) -> None:
    page = visit(f"/s/{FULL}/budget")
    rows = page.get_by_role("table", name="Rounds").get_by_role("row")
    expect(rows).to_have_count(17)
    expect(rows.nth(6)).to_have_text(
        re.compile(r"^\s*6.*171,000\s*86 %\s*1\s*171,000.*compacted from 171 k to 38 k", re.S)
    )
    expect(rows.nth(9)).to_contain_text("~61,")
    rows.nth(3).get_by_role("link", name="3", exact=True).click()
    page.wait_for_url(f"**/s/{FULL}#r3")


def test_subagents_have_windows_of_their_own(visit: Open) -> None:
    page = visit(f"/s/{FIRST}/budget")
    sides = page.get_by_role("table", name="Subagents, each with a window of its own").get_by_role("row")
    expect(sides).to_have_count(3)
    expect(sides.nth(1)).to_contain_text(re.compile("Find every timer in the code.*108", re.S))


def test_a_model_that_nobody_knows_has_no_limit_and_no_price(visit: Open) -> None:
    page = visit(f"/s/{FIRST}/budget")
    expect(page.locator(".budget dl")).to_contain_text(re.compile("Cost.*unknown.*no price for claude-x", re.S))


def test_a_window_that_was_hardly_used_can_be_seen_closer(visit: Open) -> None:
    answer = made([2_000, 9_000, 5_000])
    page = asked(visit, answer)
    expect(page.locator(".limit")).to_have_count(1)
    low = resting(page.locator("[data-round='2']"))["height"]
    page.get_by_role("button", name="Closer").click()
    expect(page.locator(".limit")).to_have_count(0)
    assert resting(page.locator("[data-round='2']"))["height"] > 8 * low


# -- many of them


def made(windows: list[int], **about: Any) -> dict[str, Any]:
    """An answer of the server with such windows."""
    spent = {"calls": 1, "input": 1, "output": 1, "cache_read": 1, "cache_write": 1, "dollars": 0.01}
    rounds = [
        {
            **{"round": at, "started": None, "model": "m", "window": window, "estimated": False, "limit": 200_000},
            **{"share": window / 200_000, "full": window > 160_000, "spent": spent, "compactions": []},
            **about,
        }
        for at, window in enumerate(windows, 1)
    ]
    sums = {"spent": spent, "with_sidechains": spent, "copied": spent | {"calls": 0}, "compactions": 0}
    words = {"unpriced": [], "prices_date": "2026-11", "windows_date": "2026-11", "note": "not a bill"}
    return {
        "state": "x",
        "mark": 0.8,
        "budget": {"session_id": FULL, "rounds": rounds, "sidechains": [], **sums, **words},
    }


def asked(visit: Open, answer: dict[str, Any], **options: Any) -> Any:
    """A page on which the budget of a session is another one."""
    page = visit(**options)
    page.route("**/api/session/*/budget", lambda route: route.fulfill(json=answer))
    page.goto(page.url.rstrip("/") + f"/s/{FULL}/budget")
    return page


def test_five_thousand_rounds_fit_into_one_look(visit: Open) -> None:
    windows = [1_000 + at * 31 % 150_000 for at in range(5_000)]
    windows[3_210] = 190_000
    page = asked(visit, made(windows))
    expect(told(page)).to_contain_text(re.compile(r"Rounds 32\d\d to 32\d\d, most in 3211.*190,000 tokens, 95 %", re.S))
    marked(page, "full", "3211")
    chart, last = resting(page.locator(".chart")), resting(bars(page).last)
    assert last["x"] < chart["x"] + chart["width"]
    assert 100 < bars(page).count() <= 700
    rows = page.get_by_role("table", name="Rounds").get_by_role("row")
    expect(rows).to_have_count(101)
    page.get_by_role("button", name="All 5000 rounds").click()
    expect(rows).to_have_count(5_001)


def test_nothing_is_known_and_nothing_breaks(visit: Open) -> None:
    page = asked(visit, made([0], limit=None, share=None, model=None, estimated=True))
    expect(told(page)).to_contain_text("about 0 tokens, window unknown")
    empty = made([])
    page = asked(visit, empty)
    expect(page.get_by_text("The session has no rounds.")).to_be_visible()


def test_what_stands_in_a_name_is_words(visit: Open) -> None:
    hostile = "<img src=x onerror=alert(1)>{@html 1}<script>alert(2)</script>"
    answer = made([5_000, 9_000], model=hostile, started=hostile)
    side = {"id": hostile, "model": hostile, "window": 1, "limit": None, "share": None}
    answer["budget"] |= {
        "sidechains": [side | {"spent": answer["budget"]["spent"]}],
        "unpriced": [hostile],
        "note": hostile,
    }
    page = asked(visit, answer)
    expect(told(page)).to_contain_text(hostile)
    assert page.locator(".budget img, .budget script").count() == 0


# -- how it bears up


@pytest.mark.parametrize("size", [(360, 740), (768, 1024), (1280, 800), (3840, 2160)], ids=lambda size: str(size[0]))
def test_nothing_sticks_out_at_any_width(visit: Open, size: tuple[int, int]) -> None:
    page = visit(f"/s/{FULL}/budget", size=size)
    expect(bars(page)).to_have_count(16)
    too_wide = (
        "() => [...document.querySelectorAll('body *')].filter(one => one.scrollWidth > innerWidth + 1)"
        ".filter(one => getComputedStyle(one).overflowX === 'visible' && !one.closest('.wide'))"
        ".map(one => one.outerHTML.slice(0, 90))"
    )
    until(page, lambda: page.evaluate(too_wide), [])
    chart, last = resting(page.locator(".chart")), resting(bars(page).last)
    assert last["x"] + last["width"] <= chart["x"] + chart["width"]
    assert chart["x"] + chart["width"] <= size[0]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_bars_stand_out_from_their_ground(visit: Open, theme: str) -> None:
    from tests.page.test_shape import contrast

    page = visit(f"/s/{FULL}/budget", color_scheme=theme)
    expect(bars(page)).to_have_count(16)

    def colour(what: str, of: str) -> str:
        return page.locator(f".budget {what}").first.evaluate(f"one => getComputedStyle(one).{of}")

    ground = page.locator(".budget").evaluate("one => getComputedStyle(one).backgroundColor")
    drawn = [("[data-round='1']", "fill"), ("[data-round='6']", "fill"), ("path.limit", "stroke")]
    drawn += [("path.mark", "stroke"), ("path.flag", "fill"), ("path.cut", "stroke")]
    pale = {what: round(contrast(colour(what, of), ground), 2) for what, of in drawn}
    assert {what: value for what, value in pale.items() if value < 3} == {}
    assert contrast(colour(".axis", "fill"), ground) >= 4.5


def test_a_round_that_is_added_appears_by_itself(visit: Open, viewer: Viewer, tmp_path: Path) -> None:
    session = Dated("f1000000-0000-4000-8000-000000000000", "2026-06-16T09:00:00", "The lamp log, continued")
    for number in range(3):
        session.user(f"Read day {number}")
        session.say("No gaps.", 30_000)
    session.write(tmp_path)
    viewer("inscribe", str(tmp_path))
    page = visit(f"/s/{session.id}/budget")
    expect(bars(page)).to_have_count(3)
    session.user("And the last day")
    session.say("No gaps either.", 60_000)
    session.write(tmp_path)
    viewer("inscribe", str(tmp_path))
    expect(bars(page)).to_have_count(4)
