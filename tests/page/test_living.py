"""The page while the archive changes: it follows by itself and keeps its place; and the edits that it makes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser import expect, resting, settle, until
from tests.builder import ClaudeSession
from tests.page.conftest import Open, Viewer
from tests.page.test_timeline import home
from tests.page.test_transcript import named, opened, ready

TITLE = "One module for dates"


class Growing:
    """A session that goes on."""

    def __init__(self, viewer: Viewer, folder: Path) -> None:
        self.viewer, self.folder = viewer, folder
        self.session = ClaudeSession(cwd="/proj/growing")
        self.more(12)

    def more(self, rounds: int = 1) -> None:
        for _ in range(rounds):
            number = len(self.session.lines) // 6
            self.session.exchange(f"prompt number {number}", f"reply number {number}")
        self.session.write(self.folder)
        self.viewer("inscribe", str(self.folder))


@pytest.fixture
def growing(viewer: Viewer, tmp_path: Path) -> Growing:
    return Growing(viewer, tmp_path)


_BOX = "const box = document.querySelector('.rows > .virtual');"
_FROM_END = f"() => {{ {_BOX} return box.scrollHeight - box.scrollTop - box.clientHeight }}"
_SEEN_FIRST = f"""() => {{
  {_BOX}
  const top = box.getBoundingClientRect().top;
  return [...box.querySelectorAll("article")].find(one => one.getBoundingClientRect().top > top).dataset.at;
}}"""
"""The uppermost block that begins in view."""


def test_what_is_ingested_appears_by_itself(visit: Open, viewer: Viewer, tmp_path: Path) -> None:
    page = home(visit, "/?of=sessions", size=(1280, 3000))
    session = ClaudeSession(cwd="/proj/arrived")
    for number in range(4):
        session.exchange(f"Add the gate number {number}", "Added the gate.")
    session.write(tmp_path)
    viewer("inscribe", str(tmp_path))
    viewer("ingest", "--skip-existing")
    expect(page.get_by_text("Add the gate number 0").first).to_be_visible()


def test_a_running_session_is_followed_until_one_scrolls_up(visit: Open, growing: Growing) -> None:
    page = visit(f"/s/{growing.session.id}#r1", size=(1280, 600))
    ready(page)
    page.keyboard.press("f")
    expect(page.get_by_text("reply number 11")).to_be_in_viewport()
    growing.more()
    expect(page.get_by_text("reply number 12")).to_be_in_viewport()
    until(page, lambda: page.evaluate(_FROM_END) < 80)
    page.locator(".rows").hover()
    page.mouse.wheel(0, -1500)
    until(page, lambda: page.evaluate(_FROM_END) > 300)
    expect(page.get_by_role("button", name="Follow")).to_have_attribute("aria-pressed", "false")
    ready(page)
    resting(page.locator(".rows article").first)
    read = page.locator(f"[data-at='{page.evaluate(_SEEN_FIRST)}']")
    before = resting(read)
    growing.more()
    expect(page.get_by_role("navigation").get_by_text("prompt number 13")).to_be_attached()
    settle(page)
    assert resting(read) == before, "the place is kept"


def test_a_hand_that_scrolls_is_not_pulled_back_to_where_the_page_went(visit: Open, growing: Growing) -> None:
    growing.more(30)
    page = visit(f"/s/{growing.session.id}#r1", size=(1280, 600))
    ready(page)
    page.locator(".rows").hover()
    page.keyboard.press("f")
    expect(page.get_by_role("button", name="Follow")).not_to_have_css("background-color", "rgba(0, 0, 0, 0)")
    until(page, lambda: page.evaluate(_FROM_END) < 80)
    page.mouse.wheel(0, -1500)  # at once: the rows above the end are not yet measured
    until(page, lambda: page.evaluate(_FROM_END) > 300)
    settle(page)
    assert page.evaluate(_FROM_END) > 300


def test_blocks_are_walked_from_the_end_that_is_followed(visit: Open, growing: Growing) -> None:
    growing.more(30)
    page = visit(f"/s/{growing.session.id}#r1", size=(1280, 600))
    ready(page)
    page.keyboard.press("f")
    until(page, lambda: page.evaluate(_FROM_END) < 80)
    page.keyboard.press("k")
    page.keyboard.press("j")
    expect(page.locator(".row.current")).to_contain_text("reply number 41")
    growing.more()
    expect(page.get_by_text("reply number 42")).to_be_in_viewport()
    expect(page.locator(".row.current")).to_contain_text("reply number 41")


# -- edits


def summary(page: Any) -> Any:
    return page.locator("section.head .text").first


def edit(page: Any, label: str, words: str) -> None:
    page.get_by_title(f"Edit: {label.lower()}").click()
    page.get_by_label(label, exact=True).fill(words)
    page.keyboard.press("Enter")


def test_the_summary_is_edited_and_can_be_taken_back(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, TITLE)
    expect(summary(page)).not_to_have_text("Dates live in one place now")
    edit(page, "Summary", "Dates live in one place now")
    expect(page.get_by_text("Summary saved.")).to_be_visible()
    page.reload()
    ready(page)
    expect(summary(page)).to_have_text("Dates live in one place now")
    edit(page, "Summary", "A mistake")
    page.get_by_role("button", name="Undo").click()
    expect(summary(page)).to_have_text("Dates live in one place now")


def test_tags_names_and_roles_are_kept(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, TITLE)
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_label("New tag").fill("calendar")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Tags saved.")).to_be_visible()
    for label, words in ("Name", "Ibis"), ("Role", "keeper"):
        with page.expect_response("**/roster"):
            edit(page, label, words)
    page.reload()
    ready(page)
    for words in ("calendar", "Ibis", "keeper"):
        expect(page.locator("section.head")).to_contain_text(words)
    page.get_by_role("button", name="Remove the tag calendar").click()
    expect(page.locator("section.head .tag")).to_have_count(0)


def told(page: Any, viewer: Viewer, session: str, *change: str) -> Callable[[], None]:
    """Have the archive change behind the page, and hold what the server says of it; gives what lets it through.

    What the page asks after that is answered at once."""
    held: list[Any] = []
    address = f"{viewer.origin}/api/session/{session}"
    expect(page.get_by_role("tab", include_hidden=True).first).to_be_attached()  # the page knows the archive by now
    page.route(address, lambda route: route.continue_() if held else held.append(route))
    viewer(*change)
    until(page, lambda: bool(held))
    said = page.request.get(address, headers=viewer.headers).json()
    return lambda: held[0].fulfill(json=said)


def test_news_never_disturb_who_is_writing(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "A printed almanac")
    session = named(viewer, "A printed almanac")
    release = told(page, viewer, session, "roster", "add", session, "--name", "Heron")
    page.get_by_title("Edit: summary").click()
    expect(page.get_by_label("Summary")).to_be_focused()
    page.keyboard.type("The guide")
    release()
    expect(page.get_by_title("Edit: name")).to_have_text("Heron")
    expect(page.get_by_label("Summary")).to_be_focused()
    page.keyboard.type(" is all that is left")
    page.keyboard.press("Enter")
    expect(summary(page)).to_have_text("The guide is all that is left")


def test_what_the_server_said_before_an_edit_does_not_undo_it(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Lamp colours on the dashboard")
    session = named(viewer, "Lamp colours on the dashboard")
    release = told(page, viewer, session, "roster", "add", session, "--name", "Heron")
    with page.expect_response("**/roster"):
        edit(page, "Name", "Ibis")
    release()
    settle(page)
    with page.expect_response("**/roster"):
        edit(page, "Role", "planner")
    page.reload()
    ready(page)
    expect(page.get_by_title("Edit: name")).to_have_text("Ibis")
    expect(page.get_by_title("Edit: role")).to_have_text("planner")


def test_words_that_are_being_written_outlive_scrolling_and_leaving(visit: Open, growing: Growing) -> None:
    growing.more(30)
    page = visit(f"/s/{growing.session.id}#r1", size=(1280, 500))
    ready(page)
    page.get_by_title("Edit: summary").click()
    expect(page.get_by_label("Summary")).to_be_focused()
    page.keyboard.type("Prompts")
    to_end = f"() => {{ {_BOX} box.scrollTop = box.scrollHeight; return box.innerText.includes('reply number 41') }}"
    page.wait_for_function(to_end)  # the list is longer than it guessed
    page.keyboard.type(" and replies")
    with page.expect_response("**/summary"):
        page.evaluate("() => { history.pushState(null, '', '/'); dispatchEvent(new PopStateEvent('popstate')) }")
    page.goto(f"{growing.viewer.origin}/s/{growing.session.id}")
    ready(page)
    expect(summary(page)).to_have_text("Prompts and replies")


def test_rounds_are_given_to_another_engagement(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Flaky lamp test")
    page.get_by_role("button", name="Assign rounds").click()
    page.get_by_role("checkbox", name="Round 2").check()
    page.get_by_role("checkbox", name="Round 3").check()
    page.locator("form select").select_option(label="a new name")
    page.get_by_label("Name of the engagement").fill("sleeping-tests")
    page.get_by_role("button", name="Assign", exact=True).click()
    expect(page.get_by_text("2 rounds changed.")).to_be_visible()
    page.reload()
    ready(page)
    expect(page.get_by_role("navigation").get_by_text("sleeping-tests")).to_have_count(1)


def test_an_edit_that_is_refused_is_taken_back(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Release 2.4 to the harbour office", refusal="409")
    before = summary(page).inner_text()
    body = json.dumps({"error": "the archive is being written", "hint": "try again"})
    page.route("**/summary", lambda route: route.fulfill(status=409, body=body, content_type="application/json"))
    edit(page, "Summary", "never kept")
    expect(page.get_by_text("Not saved: the archive is being written")).to_be_visible()
    expect(summary(page)).to_have_text(before)
