"""The pictures of docs/viewer.md, taken of the sample sessions and their relatives: `python -m tests.page.pictures`.

They are review artefacts: look at them again after every change of the page. With words, only those pictures are taken
whose names have one of them: `python -m tests.page.pictures lineage budget`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.browser import chromium
from tests.page import relatives, sessions
from tests.page.conftest import Viewer, enter, muniment, serve

IMAGES = Path(__file__).parents[2] / "docs" / "images"
DESK, PHONE = (1280, 800), (360, 740)


@contextmanager
def running(related: bool = False) -> Iterator[Viewer]:
    """A viewer of the samples, or of the sessions that belong together."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        if related:
            relatives.family(Path(folder) / "agents")
            relatives.filling(Path(folder) / "agents")
        else:
            sessions.write(Path(folder) / "agents")
        muniment(store, "inscribe", str(Path(folder) / "agents"))
        muniment(store, "ingest")
        viewer = serve(store)
        try:
            yield next(viewer)
        finally:
            viewer.close()


def take(browser: Any, viewer: Viewer, name: str, path: str, size: tuple[int, int], theme: str, *keys: str) -> None:
    if not any(word in name for word in sys.argv[1:] or [""]):
        return
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=theme, timezone_id="UTC", reduced_motion="reduce"
    )
    page = context.new_page()
    enter(page, viewer)
    page.goto(viewer.origin + path)
    page.wait_for_selector("a.row, article .prose, a.hit, .kin, .chart svg")
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
    with running(related=True) as viewer, chromium() as browser:
        family, budget = f"/s/{relatives.BOTH}/lineage", f"/s/{relatives.FULL}/budget"
        take(browser, viewer, "viewer-lineage", family, DESK, "light")
        take(browser, viewer, "viewer-budget", budget, DESK, "light")
        take(browser, viewer, "viewer-budget-dark", budget, DESK, "dark")
        take(browser, viewer, "viewer-phone-lineage", family, PHONE, "dark")
        take(browser, viewer, "viewer-phone-budget", budget, PHONE, "light")


if __name__ == "__main__":
    main()
