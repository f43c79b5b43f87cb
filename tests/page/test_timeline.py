"""What was done, decided and left open, at a glance: the timeline, the list, and the filters of both."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest

from tests.browser import expect, resting, until
from tests.page.conftest import Open, Viewer

ROWS = "a.row"
CANVAS = ".timeline canvas"
_PAINTED = """() => {
  const canvas = document.querySelector(".timeline canvas");
  const fits = (pixels, length) => pixels === Math.round(length * devicePixelRatio);
  return canvas !== null && fits(canvas.width, canvas.clientWidth) && fits(canvas.height, canvas.clientHeight);
}"""


@pytest.fixture(scope="module")
def engagements(viewer: Viewer) -> list[dict[str, Any]]:
    """Those of the sample sessions, the latest first. What extraction makes of them is not what is tested here."""
    return known(viewer)


def known(viewer: Viewer) -> list[dict[str, Any]]:
    found = json.loads(viewer("search", "--since", "2000-01-01", "--limit", "500", "--json"))["engagements"]
    return sorted(found, key=lambda one: one["started"], reverse=True)


def is_open(engagement: dict[str, Any]) -> bool:
    return engagement["phase"] not in ("completed", "abandoned") or bool(engagement["next_steps"])


def home(visit: Open, path: str = "/", **options: Any) -> Any:
    """The first view, with its list and its timeline drawn."""
    page = visit(path, **options)
    drawn(page)
    return page


def drawn(page: Any) -> None:
    expect(page.locator(ROWS).first).to_be_visible()
    page.wait_for_function(_PAINTED)


def params_are(page: Any, **wanted: list[str]) -> None:
    until(page, lambda: parse_qs(urlparse(page.url).query), wanted)


def lists(page: Any, number: int) -> None:
    """The list has so many entries."""
    expect(page.get_by_role("tab").first).to_have_text(re.compile(rf"^\s*{number}\s"))


def lists_fewer(page: Any, than: int) -> None:
    words = "n => Number(document.querySelector('[role=tab]').textContent.trim().split(' ')[0]) < n"
    page.wait_for_function(words, arg=than)


def test_engagements_are_listed_by_day_with_what_came_of_them(visit: Open, engagements: list[Any]) -> None:
    page = home(visit)
    lists(page, len(engagements))
    # What was left open is seen without a click.
    for words in (engagements[0]["topic"], engagements[0]["outcome"], *engagements[0]["next_steps"]):
        expect(page.locator(ROWS).first).to_contain_text(words)
    expect(page.locator("h2").first).to_contain_text("Tue, 2 Jun 2026")


def test_the_legend_names_all_eleven_methods(visit: Open) -> None:
    legend = home(visit).get_by_role("list", name="Methods").get_by_role("button")
    expect(legend).to_have_count(11)
    colours = legend.locator("i").evaluate_all("all => all.map(one => getComputedStyle(one).backgroundColor)")
    assert len(set(colours)) == 11


def test_a_filter_narrows_the_list_and_lives_in_the_address(visit: Open, engagements: list[Any]) -> None:
    methods = Counter(one["method"] for one in engagements)
    (first, some), (second, more) = methods.most_common()[-2:]
    page = home(visit)
    page.get_by_role("button", name="Method", exact=True).click()
    page.get_by_role("checkbox", name=re.compile(f"^{first}")).check()
    lists(page, some)
    page.get_by_role("checkbox", name=re.compile(f"^{second}")).check()
    lists(page, some + more)
    params_are(page, method=[first, second])
    page.reload()
    lists(page, some + more)
    page.go_back()
    lists(page, some)


def test_projects_agents_models_and_phases_filter_too(visit: Open, engagements: list[Any]) -> None:
    page = home(visit, "/?project=harbour-api&model=gpt-5-codex")
    lists(page, sum(one["source"] == "codex" for one in engagements))
    page.goto(page.url.split("?")[0] + "?agent=Reed&phase=completed")
    lists(page, sum((one["agent_name"], one["phase"]) == ("Reed", "completed") for one in engagements))


def test_what_was_left_open_is_one_click_away(visit: Open, engagements: list[Any]) -> None:
    page = home(visit, size=(1280, 3000))
    page.get_by_role("button", name="Left open").click()
    lists_fewer(page, len(engagements))
    params_are(page, open=["1"])
    for phase in {one["phase"] for one in engagements if is_open(one)}:
        expect(page.locator(f"{ROWS} [data-phase]", has_text=phase).first).to_be_visible()
    expect(page.locator(ROWS).filter(has_not=page.locator(".open"))).to_have_count(0)


def test_keys_walk_through_what_was_left_open(visit: Open) -> None:
    page = home(visit)
    page.get_by_role("tab", name=re.compile("left open")).click()
    expect(page.locator(ROWS).filter(has_not=page.locator(".open"))).to_have_count(0)
    for at in (0, 1, 2):
        page.keyboard.press("j")
        expect(page.locator(ROWS).nth(at)).to_be_focused()


def test_grouping_by_every_kind_is_kept_in_the_address(visit: Open, engagements: list[Any]) -> None:
    page = home(visit)
    methods = len({one["method"] for one in engagements})
    lanes = {"method": methods, "agent": 4, "day": 12, "week": 12, "month": 6, "none": 1, "project": 4}
    for group, number in lanes.items():
        page.get_by_label("Group by").select_option(group)
        expect(page.locator(CANVAS)).to_have_attribute("aria-label", re.compile(rf"in {number} lane"))
        params_are(page, **({} if group == "project" else {"group": [group]}))
    page.get_by_label("Group by").blur()
    page.keyboard.press("g")
    params_are(page, group=["method"])


def test_zooming_narrows_the_list_to_what_is_in_view(visit: Open, engagements: list[Any]) -> None:
    page = home(visit)
    page.locator(CANVAS).hover(position={"x": 1150, "y": 80})
    for _ in range(6):
        page.mouse.wheel(0, -300)
    lists_fewer(page, len(engagements))
    page.wait_for_url(re.compile("from=.*to="))
    page.get_by_role("button", name="Whole time").click()
    lists(page, len(engagements))
    page.wait_for_function("() => !location.search.includes('from=')")


def test_only_lanes_with_something_to_see_are_drawn(visit: Open) -> None:
    page = home(visit, "/?from=2026-03-11T15:00Z&to=2026-03-11T18:00Z")
    canvas = page.locator(CANVAS)
    expect(canvas).to_have_attribute("aria-label", re.compile("in 1 lane,"))
    height = resting(canvas)["height"]
    page.keyboard.press("0")
    expect(canvas).to_have_attribute("aria-label", re.compile("in 4 lanes,"))
    assert resting(canvas)["height"] == height, "what one points at stays where it is"


def test_from_years_to_an_hour(visit: Open, engagements: list[Any]) -> None:
    page = home(visit, "/?from=2026-04-14T08:30Z&to=2026-04-14T09:30Z")
    lists(page, 1)
    for _ in range(30):
        page.keyboard.press("-")
    lists(page, len(engagements))
    page.wait_for_function(
        "() => Date.parse(new URL(location).searchParams.get('to')) - Date.parse("
        "new URL(location).searchParams.get('from')) > 5 * 365 * 864e5"
    )


def test_dragging_moves_in_time(visit: Open) -> None:
    page = home(visit, "/?from=2026-02-01T00:00Z&to=2026-03-01T00:00Z")
    canvas = page.locator(CANVAS)
    box = canvas.bounding_box()
    canvas.hover(position={"x": 800, "y": box["height"] - 8})
    page.mouse.down()
    canvas.hover(position={"x": 400, "y": box["height"] - 8})
    page.mouse.up()
    page.wait_for_function("() => Date.parse(new URL(location).searchParams.get('from')) > Date.parse('2026-02-08')")


def test_the_density_is_a_brush(visit: Open, engagements: list[Any]) -> None:
    page = home(visit)
    canvas = page.locator(".density canvas")
    canvas.hover(position={"x": 40, "y": 20})
    page.mouse.down()
    canvas.hover(position={"x": 300, "y": 20}, force=True)  # what is drawn over it lets the pointer through
    page.mouse.up()
    lists_fewer(page, len(engagements))
    expect(page.get_by_role("slider")).to_have_count(2)


_FIRST_BAR = """() => {
  const canvas = document.querySelector(".timeline canvas");
  const box = canvas.getBoundingClientRect();
  for (let y = 30; y < box.height; y += 9)
    for (let x = 200; x < box.width - 10; x += 6) {
      canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: box.x + x, clientY: box.y + y }));
      if (canvas.style.cursor === "pointer") return { x, y };
    }
  return null;
}"""


def bar(page: Any) -> dict[str, float]:
    """Where on the timeline there is something: the pointer says so."""
    return page.wait_for_function(_FIRST_BAR).json_value()


def test_hovering_tells_topic_and_outcome_and_a_click_opens(visit: Open, engagements: list[Any]) -> None:
    deployed = next(one for one in engagements if one["started"].startswith("2026-03-11"))
    page = home(visit, "/?from=2026-03-11T15:00Z&to=2026-03-11T18:00Z")
    place = bar(page)
    page.locator(CANVAS).hover(position=place)
    for words in (deployed["topic"], deployed["phase"], deployed["outcome"][:20]):
        expect(page.locator(".card")).to_contain_text(words)
    page.locator(CANVAS).click(position=place)
    expect(page.locator("article").first).to_be_visible()
    page.wait_for_url(re.compile("#r1$"))
    expect(page).to_have_title("Release 2.4 to the harbour office · muniment")


def test_sessions_instead_of_engagements_and_ghosts_on_request(visit: Open) -> None:
    page = home(visit)
    page.get_by_role("button", name="Sessions").click()
    lists(page, 13)
    page.get_by_role("button", name=re.compile("Ghosts")).click()
    lists(page, 14)
    params_are(page, of=["sessions"], ghosts=["1"])


def test_the_keyboard_is_enough(visit: Open, engagements: list[Any]) -> None:
    page = home(visit)
    for key in "jjk":
        page.keyboard.press(key)
    expect(page.locator(ROWS, has_text=engagements[0]["topic"]).first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("article").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(ROWS).first).to_be_visible()
    until(page, lambda: urlparse(page.url).path, "/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()


def test_who_asks_twice_to_go_back_does_not_leave_the_page(visit: Open, engagements: list[Any]) -> None:
    page = home(visit, f"/?method={engagements[0]['method']}")
    page.get_by_role("button", name="Sessions").click()
    params_are(page, method=[engagements[0]["method"]], of=["sessions"])
    page.locator(ROWS).first.click()
    expect(page.locator("article").first).to_be_visible()
    escape = "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));"
    page.evaluate(escape * 2)
    expect(page.locator(ROWS).first).to_be_visible()
    params_are(page, method=[engagements[0]["method"]], of=["sessions"])


def test_coming_back_finds_the_place_again(visit: Open, engagements: list[Any]) -> None:
    page = home(visit, f"/?method={engagements[0]['method']}", size=(1280, 600))
    page.locator(ROWS).last.click()
    expect(page.locator("article").first).to_be_visible()
    page.get_by_role("button", name="Back").click()
    expect(page.locator(ROWS).first).to_be_visible()
    params_are(page, method=[engagements[0]["method"]])
    expect(page.locator(".row.selected")).to_have_count(1)


def test_a_press_that_begins_on_a_row_ends_there_while_the_list_scrolls(visit: Open) -> None:
    page = home(visit, size=(1280, 700))
    row = page.locator(ROWS).nth(1)
    row.hover()
    page.mouse.down()
    scroll = """box => new Promise(done => {
      const takes = () => done(getComputedStyle(box.firstElementChild).pointerEvents);
      box.addEventListener("scroll", () => setTimeout(takes), { once: true });
      box.scrollTop += 4;
    })"""
    assert page.locator(".virtual").first.evaluate(scroll) == "auto"
    page.mouse.up()
    expect(page.locator("article").first).to_be_visible()


def test_charts_count_what_is_shown(visit: Open, engagements: list[Any]) -> None:
    shown = [one for one in engagements if one["project"] == "tide-tables"]
    page = home(visit, "/?project=tide-tables", size=(1440, 1000))
    charts = page.locator("aside")
    for words in ("Activity by", f"{len(shown)} entries", "claude-sonnet-4-5"):
        expect(charts).to_contain_text(words)
    # The filters hold for the charts.
    expect(charts).not_to_contain_text("gpt-5-codex")
    for method in {one["method"] for one in shown}:
        expect(page.locator(f"figure svg rect[data-method={method}]").first).to_be_attached()
