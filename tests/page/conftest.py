"""The viewer of the sample sessions, served by a process of its own and looked at with a real Chromium."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tests.web.served
from tests.browser import Seen, chromium, watched
from tests.page import sessions

STATIC = Path(__file__).parents[2] / "src" / "muniment" / "surfaces" / "web" / "static"
MUNIMENT = [sys.executable, "-c", "from muniment.surfaces.cli.main import main; main()"]


def muniment(store: Path, *args: str) -> str:
    """Run a command on a store, and give what it says."""
    words = [*MUNIMENT, "--store", str(store), *args]
    return subprocess.run(words, check=True, capture_output=True, text=True, env=environment(store)).stdout


def environment(store: Path) -> dict[str, str]:
    """A home of its own, and a clock that is the same everywhere."""
    return {**os.environ, "HOME": str(store.parent), "TZ": "UTC"}


class Viewer:
    """A running viewer."""

    def __init__(self, store: Path, process: subprocess.Popen[bytes]) -> None:
        served = tests.web.served.Viewer(process).enter()
        self.store, self.process, self.token = store, process, served.token
        self.origin = f"http://{served.host}"
        self.headers = {"Authorization": f"Bearer {self.token}"}

    def __call__(self, *args: str) -> str:
        return muniment(self.store, *args)


def serve(store: Path) -> Iterator[Viewer]:
    if not (STATIC / "index.html").exists():
        pytest.skip("the page was not built: `make page`")
    words = [*MUNIMENT, "--store", str(store), "view", "--no-open", "--no-watch", "--port", "0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment(store))
    try:
        yield Viewer(store, process)
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """For one module: while it runs, playwright holds an event loop that tests of others would trip over."""
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """The sample sessions of `stories.py`, understood and served."""
    folder = tmp_path_factory.mktemp("viewer")
    sessions.write(folder / "agents")
    muniment(folder / "store", "inscribe", str(folder / "agents"))
    muniment(folder / "store", "ingest")
    yield from serve(folder / "store")


Open = Callable[..., Any]


@pytest.fixture
def visit(browser: Any, viewer: Viewer) -> Iterator[Open]:
    """Open a path of the viewer; whatever the page should not do fails the test at its end.

    Chromium notes every refusal on its console: `refusal` is the one that a test provokes."""
    opened: list[tuple[Any, Seen, str]] = []

    def go(path: str = "/", size: tuple[int, int] = (1280, 800), refusal: str = "none", **options: Any) -> Any:
        shape = {"viewport": {"width": size[0], "height": size[1]}, "timezone_id": "UTC", **options}
        context = watched(browser, viewer.origin, **shape)
        page, seen = context.__enter__()
        opened.append((context, seen, refusal))
        enter(page, viewer)
        page.goto(viewer.origin + path)
        return page

    try:
        yield go
    finally:
        for context, *_ in opened:
            context.__exit__(None, None, None)
    for _, seen, refusal in opened:
        said = [words for words in seen.console if f"status of {refusal}" not in words]
        assert (seen.requests, seen.dialogs, seen.errors, said) == ([], [], [], [])


def enter(page: Any, viewer: Viewer) -> None:
    """A code is good once: whoever came in first lends the token to the other browsers of a test."""
    keep = f"if (location.origin === '{viewer.origin}') localStorage.setItem('muniment-token', '{viewer.token}')"
    page.context.add_init_script(keep)
