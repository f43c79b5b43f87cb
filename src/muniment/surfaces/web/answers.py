"""How answers look: JSON with its state, refusals, and small pages for a person."""

from __future__ import annotations

import gzip
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from muniment.errors import Ambiguous, Conflict, MunimentError, NotFound, StoreError, Unsupported
from muniment.model import codec
from muniment.viewing.shapes import Failure

_SMALL = 1_000
_STATUS: dict[type[MunimentError], int] = {
    NotFound: 404,
    Ambiguous: 409,
    Conflict: 409,
    StoreError: 503,
    Unsupported: 503,
}

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>muniment</title>{head}</head>
<body><h1>{title}</h1><p>{words}</p></body></html>
"""


class Packed:
    """A JSON answer as it is kept: compressed, and unpacked for the rare client that wants it so."""

    __slots__ = ("body", "compressed")

    def __init__(self, value: Any) -> None:
        plain = codec.encode(value)
        self.compressed = len(plain) > _SMALL
        # The answers go no further than this machine: what counts is the time it takes, not the last percent.
        self.body = gzip.compress(plain, 1, mtime=0) if self.compressed else plain

    def __len__(self) -> int:
        return len(self.body)


def json(request: Request, packed: Packed, state: str) -> Response:
    """A JSON answer for this client."""
    headers = {"ETag": f'"{state}"', "Cache-Control": "private, no-cache", "Vary": "Accept-Encoding"}
    body = packed.body
    if packed.compressed:
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
        else:
            body = gzip.decompress(body)
    return Response(body, media_type="application/json", headers=headers)


def unchanged(request: Request, state: str) -> Response | None:
    """304, if that is all the client needs."""
    known = request.headers.get("if-none-match", "")
    if f'"{state}"' not in (tag.strip().removeprefix("W/") for tag in known.split(",")):
        return None
    return Response(status_code=304, headers={"ETag": f'"{state}"', "Cache-Control": "private, no-cache"})


def done(value: Any) -> Response:
    """The answer to an edit."""
    return Response(codec.encode(value), media_type="application/json")


def refused(status: int, error: str, hint: str = "") -> Response:
    """Why not, as JSON."""
    return Response(codec.encode(Failure(error, hint)), status_code=status, media_type="application/json")


def failed(error: MunimentError) -> Response:
    """An error for people, in the words of HTTP."""
    status = next((number for kind, number in _STATUS.items() if isinstance(error, kind)), 400)
    return refused(status, error.message, error.hint)


def page(status: int, title: str, words: str, head: str = "") -> Response:
    """A page of two sentences. They are ours: nothing from outside is put into it."""
    return Response(_PAGE.format(title=title, words=words, head=head), status_code=status, media_type="text/html")
