"""Starting the viewer and leading a person to it: the address, the browser, and a watch beside it."""

from __future__ import annotations

import contextlib
import ctypes
import http.client
import os
import secrets
import signal
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from muniment.archive import Archive
from muniment.model import codec
from muniment.store import index
from muniment.surfaces.web import keys, redirect, server

_WATCH = [sys.executable, "-m", "muniment.surfaces.cli.main"]
_END_SECONDS = 3.0
_ASK_SECONDS = 2.0


class Invitation(Struct, frozen=True):
    """What lets one browser in, once: where to go, and the code to give there."""

    port: int
    code: str
    session: str | None

    @property
    def address(self) -> str:
        return f"http://{server.ADDRESS}:{self.port}/{f's/{self.session}' if self.session else ''}"


def serve(archive: Archive, port: int, session: str | None, show: Callable[[Invitation], None]) -> None:
    """Serve an archive until a signal; `show` gets an invitation."""
    _prepare(archive)
    listening = server.listen(port)
    own: int = listening[0].getsockname()[1]
    server.serve(archive.layout.root, archive.env, listening, lambda code: show(Invitation(own, code, session)))


def _prepare(archive: Archive) -> None:
    """The viewer itself only reads: an index of an older version is brought up to date before."""
    if index.exists(archive.layout):
        index.Index(archive.layout).close()


def ask_running(archive: Archive, port: int, session: str | None) -> Invitation | None:
    """Return an invitation from the viewer that serves this archive at this port already; None if there is none.

    It must prove that it is ours before anything is opened there: the port may belong to anybody.
    """
    own = keys.load(archive.env, port, archive.layout.root)
    if own is None:
        return None
    nonce = secrets.token_hex(16)
    said = _ask_for_code(port, f"{nonce}.{own.prove('ask', nonce)}")
    code = str(said.get("code", ""))
    if not own.accepts("answer", f"{nonce}\0{code}", str(said.get("proof", ""))):
        return None
    return Invitation(port, code, session)


def _ask_for_code(port: int, proof: str) -> Mapping[str, Any]:
    asked = http.client.HTTPConnection(server.ADDRESS, port, timeout=_ASK_SECONDS)
    try:
        asked.request("POST", "/code", headers={"Authorization": f"Bearer {proof}"})
        return codec.mapping(codec.loads(asked.getresponse().read(1000)))
    except (OSError, http.client.HTTPException, ValueError):
        return {}
    finally:
        asked.close()


# -- the browser


def is_likely_seen(env: Mapping[str, str]) -> bool:
    """Whether a browser that is opened here appears before the person who asks."""
    if not sys.stderr.isatty() or env.get("SSH_CONNECTION"):
        return False
    return sys.platform == "darwin" or bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY"))


def open_browser(archive: Archive, invitation: Invitation) -> threading.Thread:
    """Open a browser that is signed in, or leave it at what was printed.

    The browser gets the path of a private file: its command line can be read by every user of the machine. Some
    browsers are waited for until they end, so a thread does that: the server has to answer them meanwhile.
    """
    opening = threading.Thread(target=_open, args=(keys.home(archive.env), invitation), daemon=True)
    opening.start()
    return opening


def _open(folder: Path, invitation: Invitation) -> None:
    enter = f"http://{server.ADDRESS}:{invitation.port}/enter"
    with contextlib.suppress(webbrowser.Error, OSError):
        page = redirect.write(folder, invitation.port, enter, invitation.code, invitation.session)
        webbrowser.open(page.as_uri())


# -- keeping current


@contextlib.contextmanager
def watching(archive: Archive) -> Generator[None]:
    """A process of its own keeps the archive current, and ends with this one."""
    command = [*_WATCH, "--store", str(archive.layout.root), "watch", "--quiet"]
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=dict(archive.env), preexec_fn=_end_with_parent)
    try:
        yield
    finally:
        child.terminate()
        try:
            child.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _end_with_parent() -> None:
    """A viewer that is killed leaves no watch behind, where the system can promise that."""
    os.setpgid(0, 0)  # an interruption at the terminal is for the viewer, which then ends its watch
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)
