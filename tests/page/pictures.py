"""The pictures of docs/viewer.md, taken of the sample sessions: `python -m tests.page.pictures`.

They are review artefacts: look at them again after every change of the page.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.browser import chromium
from tests.page import sessions
from tests.page.conftest import Viewer, enter, muniment, serve

IMAGES = Path(__file__).parents[2] / "docs" / "images"
DESK, PHONE = (1280, 800), (360, 740)


@contextmanager
def running() -> Iterator[Viewer]:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        sessions.write(Path(folder) / "agents")
        muniment(store, "inscribe", str(Path(folder) / "agents"))
        muniment(store, "ingest")
        viewer = serve(store)
        try:
            yield next(viewer)
        finally:
            viewer.close()


def take(browser: Any, viewer: Viewer, name: str, path: str, size: tuple[int, int], theme: str, *keys: str) -> None:
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=theme, timezone_id="UTC", reduced_motion="reduce"
    )
    page = context.new_page()
    enter(page, viewer)
    page.goto(viewer.origin + path)
    page.wait_for_selector("a.row, article .prose, a.hit")
    for key in keys:
        if key.startswith("click:"):
            page.get_by_role("button", name=key.removeprefix("click:")).first.click()
        else:
            page.keyboard.press(key)
    page.wait_for_timeout(900)
    page.screenshot(path=str(IMAGES / f"{name}.png"))
    context.close()


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    with running() as viewer, chromium() as browser:
        known = {one["title"]: one["session_id"] for one in json.loads(muniment(viewer.store, "sessions", "--json"))}
        design, lamp = known["Design of the notification queue"], known["Flaky lamp test"]
        take(browser, viewer, "viewer-timeline", "/", DESK, "light")
        take(browser, viewer, "viewer-timeline-dark", "/?open=1", DESK, "dark")
        take(browser, viewer, "viewer-weeks", "/?group=week&of=sessions", DESK, "light")
        take(browser, viewer, "viewer-transcript", f"/s/{design}#r1", DESK, "light", "click:Open the subagent")
        take(browser, viewer, "viewer-transcript-dark", f"/s/{lamp}#r3", DESK, "dark")
        take(browser, viewer, "viewer-search", "/?q=tests", DESK, "light")
        take(browser, viewer, "viewer-phone", "/", PHONE, "light")
        take(browser, viewer, "viewer-phone-transcript", f"/s/{lamp}#r2", PHONE, "dark")


if __name__ == "__main__":
    main()
