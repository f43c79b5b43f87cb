"""How the page looks and bears up: sizes, contrast, names for screen readers, and speed with much work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser import asked_later, expect, until
from tests.builder import ClaudeSession, conversation, tool
from tests.page.conftest import Open, Viewer
from tests.page.test_timeline import CANVAS, drawn, home
from tests.page.test_transcript import named, opened, ready

SIZES = [(360, 740), (768, 1024), (1280, 800), (1920, 1080), (3840, 2160)]
METHODS = ["review", "build", "design", "debug", "write", "research", "plan", "discuss", "deploy", "triage", "reorg"]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size[0]))
def test_nothing_sticks_out_at_any_width(visit: Open, viewer: Viewer, size: tuple[int, int]) -> None:
    page = home(visit, size=size)
    too_wide = (
        "() => [...document.querySelectorAll('body *')].filter(one => one.scrollWidth > innerWidth + 1)"
        ".filter(one => getComputedStyle(one).overflowX === 'visible').map(one => one.outerHTML.slice(0, 90))"
    )
    until(page, lambda: page.evaluate(too_wide), [])
    # The list begins on the first screen.
    until(page, lambda: (page.locator("a.row").first.bounding_box() or {"y": size[1]})["y"] < size[1] * 0.85)
    page.goto(f"{viewer.origin}/s/{named(viewer, 'Flaky lamp test')}#r1")
    ready(page)
    until(page, lambda: page.evaluate(too_wide), [])


def luminance(colour: str) -> float:
    parts = [int(number) / 255 for number in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_can_be_read(visit: Open, theme: str) -> None:
    page = home(visit, color_scheme=theme)

    def colour(name: str) -> str:
        return page.evaluate(
            "name => { const one = document.createElement('i'); document.body.append(one);"
            " one.style.color = `var(--${name})`; return getComputedStyle(one).color }",
            name,
        )

    grounds = [colour(name) for name in ("bg", "surface", "raised", "soft")]
    words = ["text", "muted", "link", "open-text", "blocked", "done"]
    pale = {(name, at): round(contrast(colour(name), ground), 2) for name in words for at, ground in enumerate(grounds)}
    assert {pair: value for pair, value in pale.items() if value < 4.5} == {}
    on = {method: round(contrast(colour(f"m-{method}"), colour("on-method")), 2) for method in METHODS}
    assert {method: value for method, value in on.items() if value < 4.5} == {}, "words on bars"
    edges = {method: round(contrast(colour(f"m-{method}"), grounds[1]), 2) for method in METHODS}
    assert {method: value for method, value in edges.items() if value < 3} == {}, "bars on the ground"


def test_the_theme_can_be_chosen_and_is_kept(visit: Open) -> None:
    page = home(visit, color_scheme="light")

    ground = "getComputedStyle(document.documentElement).backgroundColor"

    def is_dark() -> bool:
        return luminance(page.evaluate(ground)) < 0.05

    until(page, is_dark, False)
    page.get_by_role("button", name="Dark theme").click()
    until(page, is_dark)
    until(page, lambda: luminance(asked_later(page, ground)) < 0.05)


def test_everything_that_can_be_used_has_a_name(visit: Open, viewer: Viewer) -> None:
    nameless = (
        "() => [...document.querySelectorAll('button, a, input, select, canvas[tabindex], [role=slider]')]"
        ".filter(one => one.offsetParent)"
        ".filter(one => !(one.ariaLabel || one.innerText?.trim() || one.title || one.labels?.length))"
        ".map(one => one.outerHTML.slice(0, 120))"
    )
    page = home(visit)
    until(page, lambda: page.evaluate(nameless), [])
    page = opened(visit, viewer, "Design of the notification queue")
    until(page, lambda: page.evaluate(nameless), [])


@pytest.mark.parametrize("width", [720, 899, 900, 1023, 1024, 1279, 1280, 1359])
def test_what_can_be_done_with_a_session_is_said_in_words(visit: Open, viewer: Viewer, width: int) -> None:
    page = opened(visit, viewer, "Flaky lamp test", size=(width, 800))
    bar = page.locator(".session > .bar")
    said = (
        "one => [...one.querySelectorAll('.button')].filter(one => one.offsetParent).map(one => one.innerText.trim())"
    )
    until(page, lambda: "" in bar.evaluate(said), False)
    for word in ("Back", "Transcript", "Lineage", "Budget", "Results", "Follow", "Copy", "Document"):
        expect(bar.get_by_text(word, exact=True)).to_be_in_viewport()
    until(page, lambda: bar.evaluate("one => one.querySelector('h1').clientWidth") > 60)


@pytest.mark.parametrize("size", SIZES[:3], ids=lambda size: str(size[0]))
def test_a_sign_without_a_word_says_what_it_does_when_it_is_pointed_at(
    visit: Open, viewer: Viewer, size: tuple[int, int]
) -> None:
    wordless = (
        "() => [...document.querySelectorAll('button, a.button')].filter(one => one.offsetParent)"
        ".filter(one => /^.?$/.test(one.innerText.trim()) && !one.title).map(one => one.outerHTML.slice(0, 120))"
    )
    page = home(visit, size=size)
    until(page, lambda: page.evaluate(wordless), [])
    page = opened(visit, viewer, "Flaky lamp test", size=size)
    until(page, lambda: page.evaluate(wordless), [])


@pytest.mark.parametrize("hidden", ["", "?hide=details"])
def test_a_long_name_of_a_tool_leaves_room_for_the_rest(
    visit: Open, viewer: Viewer, tmp_path: Path, hidden: str
) -> None:
    session = ClaudeSession("5f0f7f0e-6a4b-4a55-9a37-0d6f4d3b1c44", "/proj/lamp")
    session.user("Turn the lamp")
    session.answer(tool("t1", "mcp__the_lamp_house__turn_the_lamp_by_so_many_degrees", {"name": "north_by_north_west"}))
    session.result("t1", "turned")
    session.write(tmp_path)
    viewer("inscribe", str(tmp_path))
    page = visit(f"/s/{session.id}{hidden}#r1", size=(360, 740))
    head = page.locator("article[data-kind=tool] header")
    expect(head.get_by_role("button", name="Copy as markdown")).to_be_in_viewport(ratio=1)
    expect(head.get_by_text("north_by_north_west")).to_be_in_viewport()
    until(page, lambda: head.evaluate("one => one.scrollWidth <= one.clientWidth"))


def test_what_has_no_date_is_listed_last(visit: Open) -> None:
    work, held = many(15)
    held["columns"]["started"][1] = held["columns"]["ended"][1] = None
    for at in range(5, 10):
        work["columns"]["started"][at] = work["columns"]["ended"][at] = None
    page = visit()
    page.route("**/api/engagements", lambda route: route.fulfill(json=work))
    page.route("**/api/sessions", lambda route: route.fulfill(json=held))
    page.reload()
    drawn(page)
    titles = page.locator("a.row .title")
    order = [f"Topic number {at} of the work that was done" for at in (*range(14, 9, -1), *range(4, -1, -1))]
    until(page, lambda: titles.all_inner_texts()[:10], order)


def many(number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two years of engagements, five to a session."""
    sessions, hour = number // 5, 3_600

    def time(at: int) -> str:
        days, rest = divmod(at, 86_400)
        month, day = divmod(days % 336, 28)
        return f"{2024 + days // 336}-{month + 1:02d}-{day + 1:02d}T{rest // 3600:02d}:{rest // 60 % 60:02d}:00Z"

    begins = [at * 4 * hour for at in range(sessions)]
    held = {
        "session_id": [f"00000000-0000-4000-8000-{at:012d}" for at in range(sessions)],
        "title": [f"Session {at}" for at in range(sessions)],
        "summary": [""] * sessions,
        "agent": [at % 3 for at in range(sessions)],
        "agent_name": [None] * sessions,
        "agent_role": [None] * sessions,
        "source": [0] * sessions,
        "model": [at % 2 for at in range(sessions)],
        "project": [at % 40 for at in range(sessions)],
        "started": [time(at) for at in begins],
        "ended": [time(at + 3 * hour) for at in begins],
        "rounds": [9] * sessions,
        "tokens": [1000] * sessions,
        "ghost": [False] * sessions,
        "tags": [[] for _ in range(sessions)],
    }
    work = {
        "engagement_id": [f"e{at}" for at in range(number)],
        "session": [at // 5 for at in range(number)],
        "topic": [f"Topic number {at} of the work that was done" for at in range(number)],
        "method": [at * 7 % 11 for at in range(number)],
        "phase": [at % 6 for at in range(number)],
        "project": [at // 5 % 40 for at in range(number)],
        "started": [time(begins[at // 5] + at % 5 * 2400) for at in range(number)],
        "ended": [time(begins[at // 5] + at % 5 * 2400 + 2000) for at in range(number)],
        "turns": [2] * number,
        "first_turn": [1] * number,
        "outcome": ["It works now, and the tests pass."] * number,
        "key_decisions": [[] for _ in range(number)],
        "next_steps": [[] for _ in range(number)],
    }
    tables = {
        "agents": ["a", "b", "c"],
        "sources": ["s"],
        "models": ["m", "n"],
        "projects": [f"p{at}" for at in range(40)],
    }
    phases = ["started", "in-progress", "blocked", "completed", "abandoned", "handed-off"]
    methods = {"methods": METHODS, "phases": phases, "projects": tables["projects"]}
    return {"state": "x", "columns": work, **methods}, {"state": "x", "columns": held, **tables}


def test_fifteen_thousand_engagements_can_be_zoomed_and_moved(visit: Open) -> None:
    work, held = many(15_000)
    page = visit()
    page.route("**/api/engagements", lambda route: route.fulfill(json=work))
    page.route("**/api/sessions", lambda route: route.fulfill(json=held))
    page.reload()
    drawn(page)
    page.get_by_role("tab", name=re.compile("^15,000 ")).wait_for()
    for dx, dy in (0, -300), (600, 0), (0, 300):
        before = page.locator(CANVAS).evaluate("one => one.toDataURL()")
        page.locator(CANVAS).hover(position={"x": 700, "y": 60})
        page.mouse.wheel(dx, dy)
        # Every turn of the wheel shows another time.
        page.wait_for_function(
            "before => document.querySelector('.timeline canvas').toDataURL() !== before", arg=before
        )


def test_a_session_of_twenty_thousand_messages(visit: Open, viewer: Viewer, tmp_path: Path) -> None:
    session = conversation(5_000, cwd="/proj/long")
    session.write(tmp_path)
    viewer("inscribe", str(tmp_path))
    page = visit(f"/s/{session.id}#r4321")
    expect(page.locator("h2", has_text="Round 4321")).to_be_in_viewport()
    expect(page.get_by_text("reply 4320").first).to_be_visible()
    # Only what is near is on the page.
    until(page, lambda: page.locator("article").count() < 80)
    gone = "() => ![...document.querySelectorAll('h2')].some(head => head.textContent.includes('Round 4321'))"
    away = f"() => {{ document.querySelector('.rows > .virtual').scrollBy(0, -20000); return ({gone})() }}"
    page.wait_for_function(away)  # more than once, if the page was still bringing the round into view
    ready(page)
    until(page, lambda: page.locator("article").count() < 80)
