"""Another user of the machine wants in: by what command lines show, by another port, by the same one later.

A real Chromium is started by `muniment view` itself, as for a person at a desktop.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import pty
import re
import stat
import subprocess
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.browser import PATIENCE_SECONDS, executable, expect, until, watched
from tests.builder import ClaudeSession
from tests.page.conftest import MUNIMENT, STATIC, Viewer, environment, muniment, serve
from tests.web.served import Viewer as Served

BROWSER = """#!/bin/sh
exec {chromium} --headless=new --no-sandbox --disable-gpu --no-first-run --user-data-dir={profile} \
  --remote-debugging-port=0 "$@"
"""
"""What a desktop starts for an address: a script, so that the one of the machine is not needed."""


class Poller(threading.Thread):
    """Another user who reads the command lines of all processes, as fast as it goes."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seen: set[str] = set()
        self.modes: dict[str, int] = {}
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.is_set():
            for process in (name for name in os.listdir("/proc") if name.isdecimal()):
                with contextlib.suppress(OSError):
                    self._note(Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace"))

    def _note(self, line: str) -> None:
        self.seen.update(words := [word for word in line.split("\0") if "127.0.0.1" in word or "file://" in word])
        for word in words:
            with contextlib.suppress(OSError, ValueError):
                self.modes[word] = stat.S_IMODE(os.stat(word.partition("file://")[2]).st_mode)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    session = ClaudeSession(cwd="/proj/lamp")
    for number in range(3):
        session.exchange(f"Light the lamp {number}", "It is lit.")
    session.write(tmp_path / "agents")
    muniment(tmp_path / "store", "inscribe", str(tmp_path / "agents"))
    muniment(tmp_path / "store", "ingest")
    return tmp_path / "store"


class Desktop:
    """A terminal with a display, in which `muniment view` opens a browser by itself."""

    def __init__(self, store: Path) -> None:
        self.profile = store.parent / "profile"
        browser = store.parent / "browser"
        browser.write_text(BROWSER.format(chromium=executable(), profile=self.profile))
        browser.chmod(0o700)
        env = environment(store) | {"DISPLAY": ":99", "BROWSER": f"{browser} %s"}
        env.pop("SSH_CONNECTION", None)
        words = [*MUNIMENT, "--store", str(store), "view", "--no-watch", "--port", "0"]
        self.terminal, theirs = pty.openpty()
        self.process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs, env=env, start_new_session=True
        )
        os.close(theirs)

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, 15)
        self.process.communicate(timeout=PATIENCE_SECONDS)
        os.close(self.terminal)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="no /proc here")
def test_what_lets_a_browser_in_is_never_on_a_command_line(browser: Any, store: Path) -> None:
    """The browser that is opened is signed in, and who read every command line meanwhile is not."""
    _require_page()
    poller = Poller()
    poller.start()
    desktop = Desktop(store)
    try:
        served = Served(desktop.process)
        port = _debugging_port(browser, desktop.profile / "DevToolsActivePort")
        opened = browser.browser_type.connect_over_cdp(f"http://127.0.0.1:{port}")
        page = opened.contexts[0].pages[0]
        expect(page.get_by_text("Light the lamp").first).to_be_visible()
        token = page.evaluate("localStorage.getItem('muniment-token')")
        address = page.url
        opened.close()
        poller.ended.set()
        poller.join()
        _assert_nothing_was_shown(poller, served, token)
        assert address == f"http://{served.host}/"
        assert served.redeem(served.code) == "", "the browser has used it"
        assert [path.name for path in (store.parent / ".local/state/muniment").iterdir()] == [f"view-{served.port}.key"]
    finally:
        desktop.end()
        poller.ended.set()


def _debugging_port(browser: Any, told: Path) -> str:
    """Where the browser that was opened can be spoken to; it writes that down when it is ready."""
    page = browser.new_page()
    until(page, lambda: told.exists() and len(told.read_text().split()) == 2)
    page.close()
    return told.read_text().split()[0]


def _assert_nothing_was_shown(poller: Poller, served: Served, token: str) -> None:
    pages = [word for word in poller.seen if re.search(r"file://.*/view-\d+-\w+\.html", word)]
    assert pages, "the poller saw how the browser was started"
    assert {poller.modes[page] for page in pages if page in poller.modes} <= {0o600}
    secrets = [token, served.code, *served.code.split("-")]
    assert [word for word in poller.seen if any(secret in word for secret in secrets)] == []
    for word in poller.seen:
        for address in re.findall(rf"http://{re.escape(served.host)}(/\S*)", word):
            assert served.ask(address, token="")[0] in (200, 403)
            assert "set-cookie" not in served.ask(address, token="")[1]
    assert served.ask("/api/overview", token=token)[0] == 200, "so that the above means something"


def _require_page() -> None:
    if not (STATIC / "index.html").exists():
        pytest.skip("the page was not built: `make page`")


# -- another user's server


class Stranger(http.server.BaseHTTPRequestHandler):
    """A server that notes all it is sent, and whose page tries everything that a page can."""

    said: list[str]
    page = ""

    def do_GET(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        self.said.append(f"{self.requestline}\n{self.headers}\n{self.rfile.read(length)!r}")
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(self.page.encode())

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def stranger(port: int = 0, page: str = "") -> Iterator[tuple[str, list[str]]]:
    """The origin of a stranger's server, and what it is sent."""
    said: list[str] = []
    handler = type("Handler", (Stranger,), {"said": said, "page": page})
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", said
        finally:
            server.shutdown()


TRIES = """
const target = "%s";
window.got = [];
const note = (how, what) => window.got.push([how, String(what)]);
note("cookie", document.cookie);
note("storage", JSON.stringify({ ...localStorage, ...sessionStorage }));
const asked = ["/api/overview", "/", "/leave", "/enter"].flatMap(path =>
  [{}, { credentials: "include" }, { mode: "no-cors" }, { method: "POST", credentials: "include" }]
    .map(how => fetch(target + path, how).then(a => a.text()).then(text => note(path, text), () => 0)));
const other = window.open(target + "/");
const frame = document.createElement("iframe");
frame.src = target + "/";
document.documentElement.append(frame);
Promise.all(asked).then(() => setTimeout(() => {
  for (const [name, one] of [["window", other], ["frame", frame.contentWindow]])
    try { note(name, one.localStorage.getItem("muniment-token") + one.document.body.innerText) } catch { }
  window.tried = true;
}, 500));
"""


def test_a_server_on_another_port_gains_nothing(browser: Any, viewer: Viewer) -> None:
    page = f"<!doctype html><title>x</title><script>{TRIES % viewer.origin}</script>"
    with stranger(page=page) as (origin, said), watched(browser, "http://127.0.0.1:") as (own, _):
        signed_in(own, viewer)
        assert own.context.cookies() == []
        visited = own.context.new_page()
        visited.goto(f"{origin}/bait")
        visited.wait_for_function("window.tried")
        got = [what for _, what in visited.evaluate("window.got")]
        assert [what for what in got if what.strip() not in ("", "{}", "null")] == []
        assert len(said) >= 1
        assert [line for line in said if viewer.token in line or "authorization" in line.lower()] == []
        assert [line for line in said if re.search(r"(?i)^cookie:", line, re.MULTILINE)] == []
        own.reload()
        expect(own.locator("a.row").first).to_be_visible()


def signed_in(page: Any, viewer: Viewer) -> None:
    """The page keeps the token by itself from here on: other origins of the context have none."""
    page.goto(f"{viewer.origin}/icon.svg")
    page.evaluate("token => localStorage.setItem('muniment-token', token)", viewer.token)
    page.goto(viewer.origin)
    expect(page.locator("a.row").first).to_be_visible()


def test_who_takes_the_port_later_gets_a_token_that_is_worth_nothing(browser: Any, store: Path) -> None:
    serving = serve(store)
    first = next(serving)
    port = int(first.origin.rpartition(":")[2])
    with watched(browser, "http://127.0.0.1:") as (page, _):
        signed_in(page, first)
        serving.close()
        with stranger(port) as (_, said):
            until(page, lambda: any(first.token in line for line in said))  # the open page asks for news again
        words = [*MUNIMENT, "--store", str(store), "view", "--no-open", "--no-watch", "--port", str(port)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment(store))
        try:
            again = Served(process)
            assert again.ask("/api/overview", token=first.token)[0] == 403
            expect(page.get_by_role("button", name="Sign in")).to_be_visible()
            page.get_by_label("Code").fill("wrong")
            page.keyboard.press("Enter")
            expect(page.get_by_role("alert")).to_contain_text("wrong code")
            page.get_by_label("Code").fill(again.code.lower())
            page.keyboard.press("Enter")
            expect(page.locator("a.row").first).to_be_visible()
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE_SECONDS)


def test_signing_out_revokes_the_token(browser: Any, store: Path) -> None:
    serving = serve(store)
    own = next(serving)
    try:
        with watched(browser, own.origin) as (page, _):
            signed_in(page, own)
            other = page.context.new_page()
            other.goto(f"{own.origin}/?of=sessions")
            expect(other.locator("a.row").first).to_be_visible()  # a new tab needs no code
            page.keyboard.press("?")
            page.get_by_role("button", name="Sign out").click()
            expect(page.get_by_role("button", name="Sign in")).to_be_visible()
            assert page.evaluate("localStorage.getItem('muniment-token')") is None
            assert _status(own, own.token) == 403
            other.reload()
            expect(other.get_by_role("button", name="Sign in")).to_be_visible()
            assert "Light the lamp" not in page.content() + other.content()
    finally:
        serving.close()


def _status(viewer: Viewer, token: str) -> int:
    connection = HTTPConnection(viewer.origin.removeprefix("http://"), timeout=PATIENCE_SECONDS)
    connection.request("GET", "/api/overview", headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    json.loads(answer.read())
    connection.close()
    return answer.status
