"""The page while the archive changes: it follows by itself and keeps its place; and the edits that it makes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builder import ClaudeSession
from tests.page.conftest import Open, Viewer
from tests.page.test_transcript import named, opened

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


def end(page: Any) -> float:
    """How far the reader is from the end."""
    return page.evaluate(
        "() => { const box = document.querySelector('.rows > div');"
        " return box.scrollHeight - box.scrollTop - box.clientHeight }"
    )


def test_what_is_ingested_appears_by_itself(visit: Open, viewer: Viewer, tmp_path: Path) -> None:
    page = visit("/?of=sessions", size=(1280, 3000))
    page.wait_for_selector("a.row")
    session = ClaudeSession(cwd="/proj/arrived")
    for number in range(4):
        session.exchange(f"Add the gate number {number}", "Added the gate.")
    session.write(tmp_path)
    viewer("inscribe", str(tmp_path))
    viewer("ingest", "--skip-existing")
    page.get_by_text("Add the gate number 0").first.wait_for(timeout=15_000)


def test_a_running_session_is_followed_until_one_scrolls_up(visit: Open, growing: Growing) -> None:
    page = visit(f"/s/{growing.session.id}#r1", size=(1280, 600))
    page.wait_for_selector("article .prose")
    page.locator("body").press("f")
    page.get_by_text("reply number 11").wait_for()
    growing.more()
    page.get_by_text("reply number 12").wait_for(timeout=15_000)
    page.wait_for_timeout(300)
    assert end(page) < 80
    page.mouse.move(800, 400)
    page.mouse.wheel(0, -1500)
    page.wait_for_timeout(300)
    before = page.locator("h2 a").first.inner_text()
    growing.more()
    page.get_by_role("navigation").get_by_text("prompt number 13").wait_for(timeout=15_000)
    page.wait_for_timeout(400)
    assert end(page) > 300
    assert page.locator("h2 a").first.inner_text() == before, "the place is kept"


def summary(viewer: Viewer) -> str:
    sessions = json.loads(viewer("sessions", "--json"))
    return next(one["summary"] for one in sessions if one["session_id"] == named(viewer, TITLE))


def test_the_summary_is_edited_and_can_be_taken_back(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, TITLE)
    before = page.locator(".head .text").first.inner_text()
    page.locator(".head .text").first.click()
    page.get_by_label("Summary").fill("Dates live in one place now")
    page.keyboard.press("Enter")
    page.get_by_text("Summary saved.").wait_for()
    page.reload()
    page.wait_for_selector("article .prose")
    assert page.locator(".head .text").first.inner_text() == "Dates live in one place now"
    page.locator(".head .text").first.click()
    page.get_by_label("Summary").fill("A mistake")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function("() => document.querySelector('.head .text').innerText === 'Dates live in one place now'")
    assert before != "Dates live in one place now"


def test_tags_names_and_roles_are_kept(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, TITLE)
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_label("New tag").fill("calendar")
    page.keyboard.press("Enter")
    page.get_by_text("Tags saved.").wait_for()
    page.get_by_title("Edit: name").click()
    page.get_by_label("Name").fill("Ibis")
    page.keyboard.press("Enter")
    page.get_by_text("Name and role saved.").wait_for()
    page.get_by_title("Edit: role").click()
    page.get_by_label("Role").fill("keeper")
    page.keyboard.press("Enter")
    page.wait_for_timeout(300)
    page.reload()
    page.wait_for_selector("article .prose")
    words = page.locator(".head").inner_text()
    assert "calendar" in words
    assert "Ibis" in words
    assert "keeper" in words
    page.get_by_role("button", name="Remove the tag calendar").click()
    page.wait_for_function("() => !document.querySelector('.head .tag')")


def test_rounds_are_given_to_another_engagement(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Flaky lamp test")
    page.get_by_role("button", name="Assign rounds").click()
    page.get_by_role("checkbox", name="Round 2").check()
    page.get_by_role("checkbox", name="Round 3").check()
    page.locator("form select").select_option(label="a new name")
    page.get_by_label("Name of the engagement").fill("sleeping-tests")
    page.get_by_role("button", name="Assign", exact=True).click()
    page.get_by_text("2 rounds changed.").wait_for()
    page.reload()
    page.wait_for_selector("article .prose")
    assert page.get_by_role("navigation").get_by_text("sleeping-tests").count() == 1


def test_an_edit_that_is_refused_is_taken_back(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Release 2.4 to the harbour office", refusal="409")
    before = page.locator(".head .text").first.inner_text()
    body = json.dumps({"error": "the archive is being written", "hint": "try again"})
    page.route("**/summary", lambda route: route.fulfill(status=409, body=body, content_type="application/json"))
    page.locator(".head .text").first.click()
    page.get_by_label("Summary").fill("never kept")
    page.keyboard.press("Enter")
    page.get_by_text("Not saved: the archive is being written").wait_for()
    assert page.locator(".head .text").first.inner_text() == before
