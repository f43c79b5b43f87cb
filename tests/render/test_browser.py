"""Our pages in a real Chromium: nothing of a session ever runs or leaves, and the reader's tools work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muniment.archive import Archive
from muniment.render import html, known, site
from muniment.render.html import Request
from tests.browser import Seen, asked_later, chromium, expect, settle, until, watched

from . import hostile, sample


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture
def kettle(archive: Archive, home: Path, tmp_path: Path) -> str:
    sample.archived(archive, home)
    path = tmp_path / "page.html"
    html.write(known.find(archive.layout, archive.session("last")), path, Request())
    return path.as_uri()


def assert_nothing_happened(page: Any, seen: Seen) -> None:
    """After everything was opened, pointed at and focused."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.evaluate(
        """document.querySelectorAll('body *').forEach((one) => {
             for (const name of ['mouseover', 'mouseenter', 'focus', 'error', 'load', 'toggle', 'animationend'])
               one.dispatchEvent(new Event(name));
           })"""
    )
    settle(page)
    assert (seen.dialogs, seen.requests, seen.console, seen.errors) == ([], [], [], [])
    assert page.evaluate("typeof window.ran") == "undefined"
    assert (
        page.evaluate(
            "document.querySelectorAll('iframe, object, embed, svg, math, form, base, link, video, audio').length"
        )
        == 0
    )
    assert page.evaluate("document.scripts.length") == 1
    handlers = "[...document.querySelectorAll('*')].flatMap((e) => e.getAttributeNames()).filter((n) => /^on/.test(n))"
    assert page.evaluate(handlers) == []
    odd = "[...document.links].filter((a) => !['http:', 'https:', 'mailto:', 'file:'].includes(a.protocol)).length"
    assert page.evaluate(odd) == 0


def test_there_are_enough_payloads_and_each_is_its_own() -> None:
    assert len(hostile.PAYLOADS) == len(set(hostile.PAYLOADS)) > 300


@pytest.mark.parametrize("redact", [True, False])
def test_every_payload_in_every_field_is_inert(browser: Any, tmp_path: Path, redact: bool) -> None:
    session = hostile.known(tmp_path)
    html.write(session, tmp_path / "page.html", Request(redact=redact))
    with watched(browser) as (page, seen):
        page.goto((tmp_path / "page.html").as_uri())
        expect(page.locator("section.round").nth(len(hostile.PAYLOADS) - 1)).to_be_attached()
        assert_nothing_happened(page, seen)


def test_every_payload_in_the_index_of_a_site_is_inert(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_bytes(site.index([hostile.known(tmp_path)], Request(redact=False)))
    with watched(browser) as (page, seen):
        page.goto((tmp_path / "index.html").as_uri())
        expect(page.locator(".card")).to_have_count(len(hostile.PAYLOADS))
        assert_nothing_happened(page, seen)


def test_the_payloads_do_harm_where_nothing_holds_them(browser: Any, tmp_path: Path) -> None:
    """Else the tests above would prove nothing. Some wait for a click, and are left out here."""
    waiting = ("<svg><a", "<a href", "<form", "<base", "<math")
    harmful = [payload for payload in hostile.PAYLOADS[:24] if not payload.startswith(waiting)]
    assert len(harmful) == 19
    for number, payload in enumerate(harmful):
        path = tmp_path / f"{number}.html"
        path.write_text(f"<!doctype html><title>x</title><body>{payload}", errors="replace")
        with watched(browser) as (page, seen):
            page.goto(path.as_uri(), wait_until="commit")
            until(page, lambda seen=seen: bool(seen.dialogs or seen.requests))


def test_the_policy_would_stop_what_got_through(browser: Any, kettle: str) -> None:
    """The second wall, by itself: a script, a handler and a picture put into the page by hand."""
    with watched(browser) as (page, seen):
        page.goto(kettle)
        page.evaluate(f"document.body.insertAdjacentHTML('beforeend', `{' '.join(hostile.PAYLOADS[:8])}`)")
        page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'window.ran = 1'}))")
        until(page, lambda: any("Content Security Policy" in line for line in seen.console))
        settle(page)
        assert seen.dialogs == []
        assert seen.requests == []
        assert page.evaluate("typeof window.ran") == "undefined"


# -- the reader's tools


def visible(page: Any, selector: str, words: str = "") -> int:
    """How many of these are shown, on screen or further down, and have the words."""
    count = """([selector, words]) => [...document.querySelectorAll(selector)]
                 .filter((one) => one.checkVisibility() && one.textContent.includes(words)).length"""
    return page.evaluate(count, [selector, words])


def shows(page: Any, number: int, selector: str, words: str = "") -> None:
    until(page, lambda: visible(page, selector, words), number)


def test_filters_hide_and_show_each_kind(browser: Any, kettle: str) -> None:
    with watched(browser) as (page, seen):
        page.goto(kettle)
        page.click("[data-do=unfold]")
        expect(page.locator("main details:not([open])")).to_have_count(0)
        for name, selector in (
            ("user", "article.user"),
            ("assistant", "article.assistant"),
            ("thinking", "article.thinking"),
            ("call", ".item .call"),
            ("result", ".item .result"),
        ):
            before = visible(page, selector)
            assert before > 0
            button = page.locator(f"[data-filter={name}]")
            button.click()
            shows(page, 0, selector)
            expect(button).to_have_attribute("aria-pressed", "false")
            button.click()
            shows(page, before, selector)
        assert (seen.errors, seen.console) == ([], [])


def test_folding_all_and_unfolding_all(browser: Any, kettle: str) -> None:
    with watched(browser) as (page, _):
        page.goto(kettle)
        page.click("[data-do=unfold]")
        expect(page.locator("main details:not([open])")).to_have_count(0)
        page.click("[data-do=fold]")
        expect(page.locator("main details[open]")).to_have_count(0)


def test_search_opens_what_it_finds(browser: Any, kettle: str) -> None:
    with watched(browser) as (page, seen):
        page.goto(kettle)
        page.keyboard.press("/")
        expect(page.locator(".find input")).to_be_focused()
        page.keyboard.type("steam")
        expect(page.locator(".here").first).to_be_attached()
        for number in (1, 2, 3):
            expect(page.locator(".find output")).to_have_text(f"{number} of 3")
            page.keyboard.press("Enter")
        page.fill(".find input", "of course")
        expect(page.locator(".side .here")).to_be_visible()
        shows(page, 1, ".side .md", "Steam, of course.")
        page.fill(".find input", "no such words")
        expect(page.locator(".find output")).to_have_text("no hits")
        assert seen.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_is_the_systems_until_it_is_chosen(browser: Any, kettle: str, scheme: str) -> None:
    grounds = {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 27)"}
    with watched(browser, color_scheme=scheme) as (page, _):
        page.goto(kettle)
        ground = "getComputedStyle(document.body).backgroundColor"
        until(page, lambda: page.evaluate(ground), grounds.pop(scheme))
        (other,) = grounds.values()
        page.click("[data-do=theme]")
        until(page, lambda: page.evaluate(ground), other)
        until(page, lambda: asked_later(page, ground), other)


def test_without_the_script_everything_can_be_read(browser: Any, kettle: str) -> None:
    with watched(browser, java_script_enabled=False) as (page, _):
        page.goto(kettle)
        shows(page, 0, ".bar")
        page.click("summary:has-text('Find the limit')")
        shows(page, 1, "pre", "3:limit = 100")


@pytest.mark.parametrize("width", [360, 768, 1280, 2560])
def test_no_page_is_wider_than_its_window(browser: Any, kettle: str, tmp_path: Path, width: int) -> None:
    wide = hostile.known(tmp_path / "wide", ("w" * 3_000, "| a " * 60 + "|\n" + "| - " * 60 + "|\n"))
    html.write(wide, tmp_path / "wide.html", Request())
    for address in (kettle, (tmp_path / "wide.html").as_uri()):
        with watched(browser, viewport={"width": width, "height": 800}) as (page, _):
            page.goto(address)
            page.click("[data-do=unfold]")
            expect(page.locator("main details:not([open])")).to_have_count(0)
            until(page, lambda page=page: page.evaluate("document.documentElement.scrollWidth") <= width)


def test_the_picture_is_shown(browser: Any, kettle: str) -> None:
    with watched(browser) as (page, seen):
        page.goto(kettle)
        page.locator("figure img").scroll_into_view_if_needed()
        page.wait_for_function("() => document.querySelector('figure img').naturalWidth === 1")
        assert seen.console == []


def test_on_paper_everything_is_unfolded(browser: Any, kettle: str) -> None:
    with watched(browser) as (page, _):
        page.goto(kettle)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        shows(page, 0, ".bar")
        shows(page, 1, "pre", "3:limit = 100")
        assert page.pdf().startswith(b"%PDF")
