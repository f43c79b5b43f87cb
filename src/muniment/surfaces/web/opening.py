"""Starting the viewer and leading a person to it: the link, the browser, and a watch beside it."""

from __future__ import annotations

import contextlib
import ctypes
import http.client
import os
import secrets
import signal
import subprocess
import sys
import webbrowser
from collections.abc import Callable, Generator, Mapping

from muniment.archive import Archive
from muniment.model import codec
from muniment.store import index
from muniment.surfaces.web import keys, server
from muniment.surfaces.web.keys import Keys, equal

_WATCH = [sys.executable, "-m", "muniment.surfaces.cli.main"]
_END_SECONDS = 3.0
_ASK_SECONDS = 2.0


def serve(archive: Archive, port: int, session: str | None, show: Callable[[str], None]) -> None:
    """Serve an archive until a signal; `show` gets the link."""
    _prepare(archive)
    listening = server.listen(port)
    own: int = listening.getsockname()[1]
    server.serve(archive.layout.root, archive.env, listening, lambda known: show(link(known, own, session)))


def _prepare(archive: Archive) -> None:
    """The viewer itself only reads: an index of an older version is brought up to date before."""
    if index.exists(archive.layout):
        index.Index(archive.layout).close()


def link(own: Keys, port: int, session: str | None) -> str:
    """An address that lets one browser in, once."""
    where = f"&session={session}" if session else ""
    return f"http://{server.ADDRESS}:{port}/enter?token={own.mint()}{where}"


def link_of_running(archive: Archive, port: int, session: str | None) -> str | None:
    """A link to the viewer that serves this archive at this port already; None if there is none.

    It must prove that it is ours before anything is opened there: the port may belong to anybody.
    """
    own = Keys(keys.load(archive.env), port, archive.layout.root)
    nonce = secrets.token_hex(16)
    if port and equal(_asked_who(port, nonce), own.proof(nonce)):
        return link(own, port, session)
    return None


def _asked_who(port: int, nonce: str) -> str:
    asked = http.client.HTTPConnection(server.ADDRESS, port, timeout=_ASK_SECONDS)
    try:
        asked.request("GET", f"/who?nonce={nonce}")
        return str(codec.mapping(codec.loads(asked.getresponse().read(1000))).get("proof", ""))
    except (OSError, http.client.HTTPException, ValueError):
        return ""
    finally:
        asked.close()


# -- the browser


def is_likely_seen(env: Mapping[str, str]) -> bool:
    """Whether a browser that is opened here appears before the person who asks."""
    if not sys.stderr.isatty() or env.get("SSH_CONNECTION"):
        return False
    return sys.platform == "darwin" or bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY"))


def open_browser(address: str) -> None:
    """Open it, or leave it at the printed link."""
    with contextlib.suppress(webbrowser.Error, OSError):
        webbrowser.open(address)


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
