"""The transcript: what is shown of a session, what can be hidden, and where links lead."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote

from tests.page.conftest import Open, Viewer


def named(viewer: Viewer, title: str) -> str:
    """The id of a sample."""
    sessions = json.loads(viewer("sessions", "--json"))
    return next(one["session_id"] for one in sessions if one["title"] == title)


def opened(visit: Open, viewer: Viewer, title: str, after: str = "#r1", **options: Any) -> Any:
    page = visit(f"/s/{named(viewer, title)}{after}", **options)
    page.wait_for_selector("article .prose")
    return page


def kinds(page: Any) -> set[str]:
    return set(page.locator("article").evaluate_all("all => all.map(one => one.dataset.kind)"))


def test_head_and_rounds_say_what_this_is_about(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Review of the berth booking change")
    words = page.locator("main.session").inner_text()
    assert "Review of the berth booking change" in words
    assert "branch berth-booking" in words
    assert "Use a unique constraint rather than a lock" in words, "decisions stand above the first round of the work"
    assert "The author has to decide about bookings that span midnight" in words
    assert page.locator(".round[data-method=review]").count() >= 1


def test_each_kind_of_block_can_be_hidden_by_itself(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Flaky lamp test", size=(1280, 3000))
    assert kinds(page) == {"user", "assistant", "thinking", "tool"}
    for key, kind in ("1", "user"), ("2", "assistant"), ("3", "thinking"):
        page.locator("body").press(key)
        page.wait_for_function("kind => !document.querySelector(`article[data-kind=${kind}]`)", arg=kind)
        page.locator("body").press(key)
        page.wait_for_selector(f"article[data-kind={kind}]")


def test_calls_and_results_are_told_apart(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Flaky lamp test", size=(1280, 3000))
    page.get_by_role("button", name="Results").click()
    page.wait_for_function("() => !document.querySelector('.output')")
    assert page.locator("pre.command").count() >= 3
    page.get_by_role("button", name="Results").click()
    page.get_by_role("button", name="Tool calls").click()
    page.wait_for_function("() => !document.querySelector('pre.command')")
    assert page.locator(".output").count() >= 3
    page.get_by_role("button", name="Results").click()
    page.wait_for_function("() => !document.querySelector('article[data-kind=tool]')")
    assert "hide=calls results" in unquote(page.url).replace("+", " ")
    page.reload()
    page.wait_for_selector("article .prose")
    assert kinds(page) == {"user", "assistant", "thinking"}


def test_tools_are_shown_as_a_person_wants_them(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Flaky lamp test", size=(1280, 3000))
    lines = page.locator(".diff .line")
    assert lines.filter(has_text="time.sleep(0.1)").first.get_attribute("data-op") == "-"
    assert lines.filter(has_text="lamp.turned.wait(5)").first.get_attribute("data-op") == "+"
    assert page.locator("pre.command").first.inner_text() == "$ pytest -q tests/test_lamp.py --count 20"
    assert page.locator("article", has_text="2 failed, 18 passed").locator(".error").count() >= 1
    page = opened(visit, viewer, "Release 2.4 to the harbour office", size=(1280, 3000))
    todos = page.locator("article li").all_inner_texts()
    assert [re.sub(r"\s*\((\w+)\)", r" \1", text.strip()) for text in todos[:3]] == [
        "Build the image completed",
        "Staging in_progress",
        "Production pending",
    ]


def test_pictures_are_seen(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Lamp colours on the dashboard")
    page.wait_for_function("() => document.querySelector('article img')?.naturalWidth === 160")


def test_a_subagent_opens_in_place(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Design of the notification queue", size=(1280, 2400))
    assert page.locator("article[data-depth='1']").count() == 0
    page.get_by_role("button", name=re.compile("Open the subagent")).click()
    page.wait_for_selector("article[data-depth='1'] .output")
    words = page.locator("article[data-depth='1']").all_inner_texts()
    assert any("SKIP LOCKED queue throughput" in text for text in words)
    page.get_by_role("button", name=re.compile("Close the subagent")).click()
    page.wait_for_function("() => !document.querySelector('article[data-depth=\"1\"]')")


def test_a_compaction_is_visible(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Why Southampton has two high waters", "#r3", size=(1280, 1600))
    assert "M4 and M6 were added for shallow ports" in page.locator("article[data-kind=compaction]").inner_text()


def test_a_deep_link_leads_to_the_round(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Flaky lamp test", "#r3", size=(1280, 700))
    page.wait_for_selector("h2 >> text='Round 3'")
    top = page.locator("h2", has_text="Round 3").bounding_box()["y"]
    assert 90 < top < 400
    assert page.locator("nav [aria-current=true]").inner_text().split() == ["3", "Yes,", "both."]


def test_the_outline_jumps_and_the_address_follows(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Flaky lamp test", size=(1280, 500))
    page.get_by_role("navigation").get_by_text("Are there more tests that sleep?").click()
    page.wait_for_function("() => location.hash === '#r2'")
    page.locator("body").press("n")
    page.wait_for_function("() => location.hash === '#r3'")


def test_the_document_and_the_raw_round_are_one_click_away(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Flaky lamp test")
    document = page.request.get(
        page.url.split("/s/")[0] + page.get_by_role("link", name="Document").get_attribute("href")
    )
    assert document.text().startswith("---\nsession_id:")
    raw = page.request.get(page.url.split("/s/")[0] + page.get_by_role("link", name="raw").first.get_attribute("href"))
    assert json.loads(raw.text())["round"] == 1


def test_blocks_and_sessions_are_copied_as_markdown(visit: Open, viewer: Viewer) -> None:
    page = opened(
        visit, viewer, "Harmonic sum of tide constituents", "#r2", permissions=["clipboard-read", "clipboard-write"]
    )
    table = page.locator("article", has_text="The difference is four centimetres")
    table.get_by_role("button", name="Copy as markdown").click()
    page.get_by_text("Copied as markdown.").wait_for()
    assert "| 06:12 | 6.91 m | 6.95 m |" in page.evaluate("navigator.clipboard.readText()")
    page.get_by_role("button", name="Copy", exact=True).first.click()
    page.get_by_text("The whole session is on the clipboard").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").startswith("---\nsession_id:")


def test_a_session_that_is_not_there_is_said_so(visit: Open) -> None:
    page = visit("/s/00000000-0000-4000-8000-000000000000", refusal="404")
    page.get_by_role("button", name="Back to the timeline").click()
    page.wait_for_selector("a.row")
