"""A real viewer process on a port of its own, and small clients for it: one polite, one that sends raw bytes."""

from __future__ import annotations

import base64
import gzip
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from muniment.archive import Archive
from muniment.model import codec
from muniment.surfaces.web import api, app, edits
from tests.browser import PATIENCE_SECONDS
from tests.builder import ClaudeSession, text, tool

CANARY = "canary-4c1d9e7a"
"""Stands in the sessions; who sees it was let in."""
MAIN = "7d0f7f0e-6a4b-4a55-9a37-0d6f4d3b1c11"
OTHER = "7d0f7f0e-6a4b-4a55-9a37-0d6f4d3b1c22"
PNG = b"\x89PNG\r\n\x1a\n" + b"pixels" * 4
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def conversation() -> ClaudeSession:
    """A session with a bit of everything that is shown."""
    session = ClaudeSession(MAIN, "/proj/shop")
    session.user(f"Build the login page, {CANARY}")
    session.answer({"type": "thinking", "thinking": "Well, **hm**.", "signature": "c2ln"}, text("On it: `login.py`."))
    edit = {"file_path": "/proj/shop/login.py", "old_string": "a = 1", "new_string": "a = 2"}
    session.answer(tool("t1", "Edit", edit))
    session.result("t1", "done")
    session.answer(tool("t2", "Task", {"description": "Look around", "prompt": "Find the tests", "subagent_type": "x"}))
    session.result("t2", "found them")
    session.user("And <script>alert(1)</script> the tests")
    session.answer(tool("t3", "Bash", {"command": "pytest -q"}), text("All green, decided to ship it."))
    session.result("t3", [text("3 passed\n" * 50), _image("image/png", PNG), _image("image/svg+xml", SVG)])
    for number in range(4):
        session.exchange(f"step {number}", f"reply {number} é 中文")
    return session


def _image(type_: str, data: bytes) -> dict[str, Any]:
    source = {"type": "base64", "media_type": type_, "data": base64.b64encode(data).decode()}
    return {"type": "image", "source": source}


def fill(archive: Archive, home: Path) -> None:
    """Two sessions, one with a subagent, inscribed and understood."""
    main = conversation()
    path = main.write(home, "-proj-shop")
    subagent = ClaudeSession(MAIN, "/proj/shop", isSidechain=True, agentId="a1")
    subagent.user("Find the tests")
    subagent.answer(text(f"They are in tests/, {CANARY}"))
    folder = path.parent / MAIN / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.jsonl").write_bytes(subagent.data)
    other = ClaudeSession(OTHER, "/proj/other")
    for number in range(5):
        other.exchange(f"review the pull request {number}", f"looks good {number}")
    other.write(home, "-proj-other")
    archive.inscribe()
    archive.ingest()


class Viewer:
    """One running `muniment view`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout
        self.process = process
        self.address, self.code = read_invitation(process.stdout.readline, process.stdout.readline)
        self.port = int(re.findall(r":(\d+)/", self.address)[0])
        self.host = f"127.0.0.1:{self.port}"
        self.token = ""

    def enter(self) -> Viewer:
        """Sign in, as the page does with the code that a person types."""
        self.token = self.redeem(self.code)
        return self

    def redeem(self, code: str) -> str:
        """The token for a code; empty if it is refused."""
        status, _, body = self.ask("/enter", "POST", f"code={code}".encode(), token="")
        return json.loads(body)["token"] if status == 200 else ""

    def ask(
        self, path: str, method: str = "GET", body: bytes | None = None, token: str | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """One request, on a connection of its own. Header names are written with _ for -."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            token = self.token if token is None else token
            connection.request(method, path, body, sent | ({"Authorization": f"Bearer {token}"} if token else {}))
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def get(self, path: str, type_: Any = Any, **headers: str) -> Any:
        """A JSON answer as its shape, which it must have exactly."""
        status, got, body = self.ask(path, Accept_Encoding="gzip", **headers)
        assert status == 200, (status, body[:300])
        plain = gzip.decompress(body) if got.get("content-encoding") == "gzip" else body
        value = codec.decode(plain, type_)
        assert json.loads(codec.encode(value)) == json.loads(plain), "the answer has fields that its shape has not"
        return value

    def post(self, path: str, value: Any, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """An edit as the page sends it."""
        usual = {"Content_Type": "application/json", "X_Muniment": "edit", "Origin": f"http://{self.host}"}
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return self.ask(path, "POST", body, **{name: v for name, v in (usual | headers).items() if v})

    def raw(self, data: bytes, seconds: float = 5.0) -> bytes:
        """What comes back for these bytes, until the server closes or nothing more comes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
            connection.sendall(data)
            got = b""
            try:
                while piece := connection.recv(1 << 16):
                    got += piece
            except (TimeoutError, ConnectionResetError):
                pass
            return got

    def rss(self) -> int:
        """Bytes of memory at the most so far; 0 where the system does not tell."""
        try:
            found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        except FileNotFoundError:
            return 0
        return int(found[1]) * 1024 if found else 0

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_SECONDS)


def read_invitation(*lines: Callable[[], bytes]) -> tuple[str, str]:
    """The address and the code that `muniment view` prints first."""
    address, code = (read().decode().strip() for read in lines)
    assert address.startswith("http://127.0.0.1:"), (address, code)
    return address, code.split()[1]


PYTHON = [sys.executable, "-m", "muniment.surfaces.cli.main"]


@contextmanager
def viewing(archive: Archive, *options: str, command: list[str] | None = None) -> Iterator[Viewer]:
    """A viewer of an archive, entered; ended afterwards."""
    whole = [*(command or PYTHON), "--store", str(archive.layout.root), "view", "--no-open", "--no-watch", *options]
    if "--port" not in options:
        whole += ["--port", "0"]
    errors = (archive.layout.root.parent / "viewer.err").open("ab")
    process = subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=errors, env=environment(archive))
    try:
        yield Viewer(process).enter()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(PATIENCE_SECONDS)
        assert process.stdout
        process.stdout.close()
        errors.close()


def environment(archive: Archive) -> dict[str, str]:
    """What a viewer of a test sees of the machine."""
    path = os.environ.get("PATH", "")
    return {"HOME": archive.env["HOME"], "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}


PAGE = ("/", f"/s/{MAIN}", "/assets/x.js", "/icon.svg")
"""The page as it was built: the only thing that everybody gets."""


def paths() -> list[tuple[str, str]]:
    """Every route with its method, filled in so that it answers."""
    fixed = {
        "/api/engagement/{engagement_id}": f"/api/engagement/{MAIN[:8]}-1",
        "/api/session/{id}/light": f"/api/session/{MAIN}/light?side=a1",
        "/api/session/{id}/item/{n}": f"/api/session/{MAIN}/item/0",
        "/api/search": f"/api/search?q={CANARY}",
    }
    reading = [("GET", fixed.get(path, path.replace("{id}", MAIN))) for path in api.READING]
    writing = [("POST", f"/api/session/{MAIN}/{name}") for name in edits.EDITS]
    others = ["/api/live", f"/doc/{MAIN}.md", f"/raw/{MAIN}/1.json", f"/media/{MAIN}/{'0' * 64}.png"]
    assert app.STATIC.name == "static"
    return [*reading, *writing, ("POST", "/leave"), *(("GET", path) for path in [*others, *PAGE])]
