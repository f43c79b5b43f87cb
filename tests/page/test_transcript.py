"""The transcript: what is shown of a session, what can be hidden, and where links lead."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.browser import expect, until
from tests.builder import ClaudeSession, tool
from tests.page.conftest import Open, Viewer
from tests.page.test_timeline import known, params_are


def named(viewer: Viewer, title: str) -> str:
    """The id of a sample."""
    sessions = json.loads(viewer("sessions", "--json"))
    return next(one["session_id"] for one in sessions if one["title"] == title)


def opened(visit: Open, viewer: Viewer, title: str, after: str = "#r1", **options: Any) -> Any:
    page = visit(f"/s/{named(viewer, title)}{after}", **options)
    ready(page)
    return page


def ready(page: Any) -> None:
    """The session is there, and the words of all that is seen of it."""
    expect(page.locator("article .prose").first).to_be_visible()
    expect(page.locator("article .wait")).to_have_count(0)


def kinds_are(page: Any, *wanted: str) -> None:
    articles = page.locator("article")
    until(page, lambda: set(articles.evaluate_all("all => all.map(one => one.dataset.kind)")), set(wanted))


def test_head_and_rounds_say_what_this_is_about(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Review of the berth booking change", size=(1280, 3000))
    work = [one for one in known(viewer) if one["title"] == "Review of the berth booking change"]
    # What came of the work stands above its first round.
    told = [words for one in work for words in (one["topic"], *one["key_decisions"], *one["next_steps"])]
    for words in ("Review of the berth booking change", "branch berth-booking", *told):
        expect(page.locator("main.session")).to_contain_text(words)
    for one in work:
        expect(page.locator(f".round[data-method={one['method']}]").first).to_be_visible()


def test_each_kind_of_block_can_be_hidden_by_itself(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Flaky lamp test", size=(1280, 3000))
    kinds_are(page, "user", "assistant", "thinking", "tool")
    for key, kind in ("1", "user"), ("2", "assistant"), ("3", "thinking"):
        page.keyboard.press(key)
        expect(page.locator(f"article[data-kind={kind}]")).to_have_count(0)
        page.keyboard.press(key)
        expect(page.locator(f"article[data-kind={kind}]").first).to_be_visible()


def test_calls_and_results_are_told_apart(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Flaky lamp test", size=(1280, 3000))
    commands, outputs = page.locator("pre.command"), page.locator("article .output")
    page.get_by_role("button", name="Results").click()
    expect(outputs).to_have_count(0)
    expect(commands.nth(2)).to_be_visible()
    page.get_by_role("button", name="Results").click()
    expect(outputs.nth(2)).to_be_visible()
    page.get_by_role("button", name="Tool calls").click()
    expect(commands).to_have_count(0)
    expect(outputs.nth(2)).to_be_visible()
    page.get_by_role("button", name="Results").click()
    expect(page.locator("article[data-kind=tool]")).to_have_count(0)
    params_are(page, hide=["calls results"])
    page.reload()
    ready(page)
    kinds_are(page, "user", "assistant", "thinking")


def test_without_details_what_was_done_is_one_line_each(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Flaky lamp test", size=(1280, 3000))
    calls, commands = page.locator("article[data-kind=tool]"), page.locator("pre.command")
    expect(commands.first).to_be_visible()
    page.keyboard.press("6")
    expect(commands).to_have_count(0)
    expect(page.locator("article .output, article .diff")).to_have_count(0)
    expect(calls.first).to_contain_text("pytest -q tests/test_lamp.py --count 20")
    until(page, lambda: max(calls.evaluate_all("all => all.map(one => one.clientHeight)")) < 45)
    # What was said stays whole, and each of the others opens by itself.
    expect(page.locator("article[data-kind=assistant] .prose").first).to_be_visible()
    calls.first.get_by_role("button", name="Details").click()
    expect(commands).to_have_count(1)
    params_are(page, hide=["details"])
    page.keyboard.press("6")
    expect(commands.nth(2)).to_be_visible()


def test_tools_are_shown_as_a_person_wants_them(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Flaky lamp test", size=(1280, 3000))
    lines = page.locator(".diff .line")
    expect(lines.filter(has_text="time.sleep(0.1)").first).to_have_attribute("data-op", "-")
    expect(lines.filter(has_text="lamp.turned.wait(5)").first).to_have_attribute("data-op", "+")
    expect(page.locator("pre.command").first).to_have_text("$ pytest -q tests/test_lamp.py --count 20")
    expect(page.locator("article", has_text="2 failed, 18 passed").locator(".error").first).to_be_visible()
    page = opened(visit, viewer, "Release 2.4 to the harbour office", size=(1280, 3000))
    todos = ("Build the image", "completed"), ("Staging", "in_progress"), ("Production", "pending")
    for at, (words, state) in enumerate(todos):
        expect(page.locator("article li").nth(at)).to_have_text(re.compile(rf"^\s*{words}\s*\({state}\)\s*$"))


def test_a_result_that_came_as_json_looks_like_a_terminal(visit: Open, viewer: Viewer, tmp_path: Path) -> None:
    session = ClaudeSession("5f0f7f0e-6a4b-4a55-9a37-0d6f4d3b1c33", "/proj/lamp")
    session.user("Run the tests")
    session.answer(tool("t1", "shell", {"command": ["bash", "-lc", "make test"], "workdir": "/proj/lamp"}))
    told = {"output": "2 failed\n18 passed\n", "metadata": {"exit_code": 2, "duration_seconds": 1.5}}
    session.result("t1", json.dumps(told))
    session.write(tmp_path)
    viewer("inscribe", str(tmp_path))
    page = visit(f"/s/{session.id}#r1")
    call = page.locator("article[data-kind=tool]")
    expect(call.locator("pre.command")).to_have_text("$ make test")
    expect(call.locator(".output pre")).to_have_text("2 failed\n18 passed")
    expect(call.locator("header")).to_contain_text("exit 2 · 1.5 s")


def test_what_is_left_of_a_session_is_its_subagents(visit: Open, viewer: Viewer, tmp_path: Path) -> None:
    work = ClaudeSession("0b5e3c52-6d1f-4c8e-9a1d-3f0c8f1f7a21", "/proj/lamp", isSidechain=True, agentId="a1")
    work.exchange("Count the lamps", "There are four.")
    path = tmp_path / "projects" / "-proj-lamp" / work.id / "subagents" / "agent-a1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(work.data)
    viewer("inscribe", str(tmp_path))
    page = visit(f"/s/{work.id}")
    page.get_by_role("button", name="Count the lamps").click()
    expect(page.locator("article").last).to_contain_text("There are four.")
    expect(page.locator("main.session")).not_to_contain_text("claude --resume")
    expect(page.get_by_role("link", name="Document")).to_have_count(0)


def test_pictures_are_seen(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Lamp colours on the dashboard")
    page.wait_for_function("() => document.querySelector('article img')?.naturalWidth === 160")


def test_a_subagent_opens_in_place(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Design of the notification queue", size=(1280, 2400))
    expect(page.locator("article[data-depth='1']")).to_have_count(0)
    page.get_by_role("button", name=re.compile("Open the subagent")).click()
    expect(page.locator("article[data-depth='1']", has_text="SKIP LOCKED queue throughput").first).to_be_visible()
    expect(page.locator("article[data-depth='1'] .output").first).to_be_visible()
    page.get_by_role("button", name=re.compile("Close the subagent")).click()
    expect(page.locator("article[data-depth='1']")).to_have_count(0)


def test_a_compaction_is_visible(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Why Southampton has two high waters", "#r3", size=(1280, 1600))
    expect(page.locator("article[data-kind=compaction]")).to_contain_text("M4 and M6 were added for shallow ports")


def test_a_deep_link_leads_to_the_round(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Flaky lamp test", "#r3", size=(1280, 700))
    head = page.locator("h2", has_text="Round 3")
    until(page, lambda: 90 < (head.bounding_box() or {"y": 0})["y"] < 400)
    expect(page.locator("nav [aria-current=true]")).to_have_text(re.compile(r"^\s*3\s*Yes, both\.\s*$"))


def test_the_outline_jumps_and_the_address_follows(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Flaky lamp test", size=(1280, 500))
    page.get_by_role("navigation").get_by_text("Are there more tests that sleep?").click()
    page.wait_for_url(re.compile("#r2$"))
    page.keyboard.press("n")
    page.wait_for_url(re.compile("#r3$"))


def test_keys_reach_every_round_also_where_the_list_can_scroll_no_further(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Flaky lamp test", size=(1280, 3000))
    for key, number in ("n", 2), ("n", 3), ("p", 2), ("n", 3):
        page.keyboard.press(key)
        page.wait_for_url(re.compile(f"#r{number}$"))
        page.evaluate("document.querySelector('.rows > .virtual').dispatchEvent(new Event('scroll'))")
        expect(page.locator("nav [aria-current=true] .number")).to_have_text(str(number))


def test_the_document_and_the_raw_round_are_one_click_away(visit: Open, viewer: Viewer) -> None:
    page = opened(visit, viewer, "Flaky lamp test")

    def behind(name: str) -> str:
        with page.expect_popup() as opened:
            page.get_by_role("link", name=name).first.click()
        expect(opened.value.locator("body > pre")).to_have_count(1)
        return opened.value.locator("body > pre").text_content()

    assert behind("Document").startswith("---\nsession_id:")
    assert json.loads(behind("raw"))["round"] == 1


def test_blocks_and_sessions_are_copied_as_markdown(visit: Open, viewer: Viewer) -> None:
    page = opened(
        visit, viewer, "Harmonic sum of tide constituents", "#r2", permissions=["clipboard-read", "clipboard-write"]
    )
    table = page.locator("article", has_text="The difference is four centimetres")
    table.get_by_role("button", name="Copy as markdown").click()
    expect(page.get_by_text("Copied as markdown.")).to_be_visible()
    assert "| 06:12 | 6.91 m | 6.95 m |" in page.evaluate("navigator.clipboard.readText()")
    page.get_by_role("button", name="Copy", exact=True).first.click()
    expect(page.get_by_text("The whole session is on the clipboard")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").startswith("---\nsession_id:")


def test_a_session_that_is_not_there_is_said_so(visit: Open) -> None:
    page = visit("/s/00000000-0000-4000-8000-000000000000", refusal="404")
    page.get_by_role("button", name="Back to the timeline").click()
    expect(page.locator("a.row").first).to_be_visible()
