"""Files of the archive as they are: the document, a round, an image.

A path is never put together from what was asked: an id is a UUID, a name has a strict pattern, and every step from the
store down is opened by itself, so that no link leads out of it. What could be more than text or an image is a download.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from muniment.errors import NotFound
from muniment.store.layout import Shelf
from muniment.surfaces.web.api import session_id
from muniment.surfaces.web.view import View
from muniment.viewing import one

MEDIA_NAME = re.compile(r"[0-9a-f]{64}\.[a-z0-9]{1,8}")
ROUND = re.compile(r"[0-9]{1,7}")
SANDBOX = "sandbox; default-src 'none'"
_CHUNK_BYTES = 1 << 18
_HEAD_BYTES = 16
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_FOREVER = "private, max-age=31536000, immutable"
"""Media are named by their hash."""


def routes(view: View) -> list[Route]:
    async def document(request: Request) -> Response:
        shelf = await view.work(lambda: _shelf(view, request))
        return _sent(view, shelf.document, {"Content-Type": "text/plain; charset=utf-8"})

    async def raw(request: Request) -> Response:
        if not ROUND.fullmatch(request.path_params["round"]):
            raise NotFound("no such round")
        shelf = await view.work(lambda: _shelf(view, request))
        path = shelf.round_file(int(request.path_params["round"]))
        return _sent(view, path, {"Content-Type": "application/json"})

    async def media(request: Request) -> Response:
        name: str = request.path_params["name"]
        if not MEDIA_NAME.fullmatch(name):
            raise NotFound("no such file")
        shelf = await view.work(lambda: _shelf(view, request))
        return _sent(view, shelf.media / name, None)

    return [
        Route("/doc/{id}.md", document, methods=["GET"]),
        Route("/raw/{id}/{round}.json", raw, methods=["GET"]),
        Route("/media/{id}/{name}", media, methods=["GET"]),
    ]


def _shelf(view: View, request: Request) -> Shelf:
    id_ = session_id(request)
    view.require()
    return one.shelf_of(view.layout, id_)


def _sent(view: View, path: Path, headers: dict[str, str] | None) -> Response:
    """A file, in pieces. Without headers it is a media file, which says itself what it is."""
    descriptor = open_below(view.layout.root, path)
    size = os.fstat(descriptor).st_size
    headers = headers or _about(os.pread(descriptor, _HEAD_BYTES, 0))
    always = {"Content-Security-Policy": SANDBOX, "Content-Length": str(size)}
    return _OpenFile(descriptor, size, always | headers)


class _OpenFile(StreamingResponse):
    """A file that stays open until it is sent, or until nobody waits for it any more."""

    def __init__(self, descriptor: int, size: int, headers: dict[str, str]) -> None:
        super().__init__(_pieces(descriptor, size), headers=headers)
        self._descriptor = descriptor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            os.close(self._descriptor)


def open_below(root: Path, path: Path) -> int:
    """Open a regular file below a folder, following no link on the way."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        *steps, name = path.relative_to(root).parts
        for step in steps:
            inner = os.open(step, _FLAGS | os.O_DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = inner
        descriptor = os.open(name, _FLAGS, dir_fd=folder)
    except OSError:
        raise NotFound("no such file", "`muniment doctor` tells what is missing") from None
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotFound("no such file")
    return descriptor


def _pieces(descriptor: int, left: int) -> Iterator[bytes]:
    """So many bytes and no more: the file may be replaced meanwhile, but the open one does not change."""
    while left > 0 and (piece := os.read(descriptor, min(_CHUNK_BYTES, left))):
        left -= len(piece)
        yield piece


def _about(head: bytes) -> dict[str, str]:
    if type_ := image_type(head):
        return {"Content-Type": type_, "Cache-Control": _FOREVER}
    return {
        "Content-Type": "application/octet-stream",
        "Content-Disposition": "attachment",
        "Cache-Control": _FOREVER,
    }


def image_type(head: bytes) -> str | None:
    """The type of a picture that cannot hold a script, told by its first bytes and not by its name."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else None
