"""The routes put together, and behind the guard: the whole of what the server answers."""

from __future__ import annotations

import re
import sys
import traceback
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from muniment.errors import MunimentError
from muniment.surfaces.web import answers, api, edits, entry, files
from muniment.surfaces.web.edits import TooMuch
from muniment.surfaces.web.keys import Keys
from muniment.surfaces.web.live import Live
from muniment.surfaces.web.passes import Passes
from muniment.surfaces.web.security import Guard
from muniment.surfaces.web.view import View

STATIC = Path(__file__).parent / "static"
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
}


def build(view: View, keys: Keys, passes: Passes, live: Live, port: int) -> ASGIApp:
    """The server's app."""
    return Guard(Starlette(routes=routes(view, keys, passes, live), exception_handlers=_FAILURES), passes, port)


def routes(view: View, keys: Keys, passes: Passes, live: Live) -> list[Route]:
    """Every route there is."""
    return [
        *api.routes(view),
        live.route(),
        *edits.routes(view),
        *files.routes(view),
        *entry.routes(keys, passes),
        Route("/assets/{name}", _asset, methods=["GET"]),
        Route("/{page:path}", _page, methods=["GET"]),
    ]


# -- the page


async def _asset(request: Request) -> Response:
    return _static(STATIC / "assets", request.path_params["name"], "private, max-age=31536000, immutable")


async def _page(request: Request) -> Response:
    """The page itself at every path of its own; a name with a dot is a file beside it."""
    path: str = request.path_params["page"]
    if path.startswith(("api/", "doc/", "raw/", "media/")) or "\\" in path:
        return answers.refused(404, "no such route", "docs/api.md lists them")
    if "." in path:
        return _static(STATIC, path, "private, no-cache")
    try:
        html = (STATIC / "index.html").read_bytes()
    except FileNotFoundError:
        commands = "<code>npm ci --ignore-scripts</code> and <code>npm run build</code>"
        words = f"Build it with {commands} in the folder <code>web</code> of the project."
        return answers.page(200, "The page was not built", words)
    return Response(html, media_type="text/html", headers={"Cache-Control": "private, no-cache"})


def _static(folder: Path, name: str, cache: str) -> Response:
    type_ = _TYPES.get(Path(name).suffix)
    if not _NAME.fullmatch(name) or type_ is None:
        return answers.refused(404, "no such file")
    try:
        data = (folder / name).read_bytes()
    except OSError:
        return answers.refused(404, "no such file")
    return Response(data, media_type=type_, headers={"Cache-Control": cache})


# -- failures


async def _for_people(_: Request, error: Exception) -> Response:
    assert isinstance(error, MunimentError)
    return answers.failed(error)


async def _too_much(_: Request, error: Exception) -> Response:
    return answers.refused(413, str(error), getattr(error, "hint", ""))


async def _of_http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return answers.refused(error.status_code, str(error.detail).lower(), "docs/api.md lists the routes")


async def _of_disk(_: Request, error: Exception) -> Response:
    assert isinstance(error, OSError)
    return answers.refused(503, error.strerror or "the disk does not answer", "is the archive still there?")


async def _bug(_: Request, error: Exception) -> Response:
    traceback.print_exception(error, file=sys.stderr)
    return answers.refused(500, "a bug in muniment", "the terminal of `muniment view` shows it; please report it")


_FAILURES = {
    TooMuch: _too_much,
    MunimentError: _for_people,
    HTTPException: _of_http,
    OSError: _of_disk,
    Exception: _bug,
}
