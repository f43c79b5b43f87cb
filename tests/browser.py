"""A real Chromium for tests that look at pages. Skips with a word where it or playwright is missing.

with chromium() as browser:
    page = browser.new_page()

with watched(browser) as (page, seen): a page on which nothing may leave and everything suspicious is noted.

A page takes its time, and on a busy machine a long one. So no test reads a page right after it did something: it says
what has to come, with `expect` or `until`, which wait for it.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_SECONDS = 60
"""How long anything may take to come."""


def executable() -> str | None:
    """The browser of this machine; $CHROMIUM names another."""
    return os.environ.get("CHROMIUM") or next((found for name in _NAMES if (found := shutil.which(name))), None)


@contextmanager
def chromium() -> Iterator[Any]:
    """A running browser."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = executable()
    if path is None:
        pytest.skip("there is no Chromium on this machine")
    playwright.expect.set_options(timeout=PATIENCE_SECONDS * 1000)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def expect(seen: Any) -> Any:
    """What a page or a part of it has to become; playwright is there only where a browser is."""
    from playwright.sync_api import expect

    return expect(seen)


def until(page: Any, ask: Callable[[], Any], wanted: Any = True) -> None:
    """Ask until this is the answer."""
    end = time.monotonic() + PATIENCE_SECONDS
    while (found := ask()) != wanted:
        assert time.monotonic() < end, f"{found!r} did not become {wanted!r}"
        page.wait_for_timeout(20)


def settle(page: Any) -> None:
    """Let the page do what it would do by itself: for what must not happen, which nobody can wait for."""
    frames = (
        "n => new Promise(done => { const step = () => n-- ? requestAnimationFrame(step) : setTimeout(done); step() })"
    )
    page.evaluate(frames, 12)


def asked_later(page: Any, script: str) -> Any:
    """What a page says that is opened later at the same address: for what a browser must remember. Not a reload: that
    may end the process of the page that goes before what it was told to keep has left it."""
    later = page.context.new_page()
    try:
        later.goto(page.url)
        return later.evaluate(script)
    finally:
        later.close()


def resting(part: Any) -> dict[str, float]:
    """Where a part of a page is, once it stays there: a page that is still being laid out moves what it shows."""
    last = None
    end = time.monotonic() + PATIENCE_SECONDS
    while (box := part.bounding_box()) is None or box != last:
        assert time.monotonic() < end, "it does not come to rest"
        last = box
        settle(part.page)
    return box


class Seen:
    """What a page tried to do."""

    def __init__(self) -> None:
        self.dialogs: list[str] = []
        self.console: list[str] = []
        self.errors: list[str] = []
        self.requests: list[str] = []
        """Everything that would have left; all of it was refused."""


@contextmanager
def watched(browser: Any, allowed: str = "file://", **options: Any) -> Iterator[tuple[Any, Seen]]:
    """A page of which every dialog, console message, error and request to anywhere but `allowed` is noted."""
    seen = Seen()
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE_SECONDS * 1000)
    page = context.new_page()

    def route(route: Any) -> None:
        address = route.request.url
        if address.startswith((allowed, "data:", f"blob:{allowed}")):
            route.continue_()
        else:
            seen.requests.append(address)
            route.abort()

    def dialog(dialog: Any) -> None:
        seen.dialogs.append(dialog.message)
        dialog.dismiss()

    context.route("**/*", route)
    page.on("dialog", dialog)
    page.on("console", lambda message: seen.console.append(message.text))
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    try:
        yield page, seen
    finally:
        context.close()
