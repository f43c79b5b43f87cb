"""The four edits that belong to a viewer. The only place of the server that can write, and only through the library."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from muniment.archive import Archive
from muniment.errors import Conflict, MunimentError
from muniment.store import index
from muniment.store.layout import Layout
from muniment.surfaces.web import answers
from muniment.surfaces.web.api import session_id
from muniment.surfaces.web.view import View
from muniment.tagging import MAX_NAME, line
from muniment.viewing.shapes import Done, EngagementEdit, RosterEdit, SummaryEdit, TagsEdit

MAX_BODY = 64 << 10
WAIT_SECONDS = 5.0

T = TypeVar("T", bound=Struct)
Change = Callable[[Archive, str, Any], object]


def routes(view: View) -> list[Route]:
    """One route per edit."""
    return [
        Route(f"/api/session/{{id}}/{name}", _endpoint(view, shape, change), methods=["POST"])
        for name, (shape, change) in EDITS.items()
    ]


def _endpoint(view: View, shape: type[Struct], change: Change) -> Any:
    one_at_a_time = anyio.CapacityLimiter(1)

    async def edit(request: Request) -> Response:
        id_ = session_id(request)
        said = _understood(await _body(request), shape)
        await anyio.to_thread.run_sync(lambda: _apply(view, change, id_, said), limiter=one_at_a_time)
        return answers.done(Done(view.state()))

    return edit


async def _body(request: Request) -> bytes:
    """What was sent, as long as it is not too much."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_BODY:
            raise TooMuch("too much", f"an edit is at most {MAX_BODY} bytes")
    return body


class TooMuch(MunimentError):
    """More was sent than any edit needs."""


def _understood(body: bytes, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise MunimentError(f"not understood: {error}", "docs/api.md has the shapes") from None


def _apply(view: View, change: Change, id_: str, said: Struct) -> None:
    view.require()
    archive = Archive(view.layout.root, view.env)
    _wait_for_turn(archive.layout)
    change(archive, id_, said)


def _wait_for_turn(layout: Layout) -> None:
    """Wait a little for another writer; a page should not wait for the inscription of a whole disk."""

    def busy() -> None:
        raise Conflict("the archive is being written", "try again in a moment")

    until = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            with index.lock(layout, busy):
                return
        except Conflict:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


# -- the edits


def _summary(archive: Archive, id_: str, said: SummaryEdit) -> object:
    return archive.summarise(id_, said.summary)


def _tags(archive: Archive, id_: str, said: TagsEdit) -> object:
    return archive.set_tags(id_, said.tags)


def _engagement(archive: Archive, id_: str, said: EngagementEdit) -> object:
    name = line(said.engagement_id or "", MAX_NAME, "name")
    return archive.tag(id_, sorted(set(said.rounds)), name or None)


def _roster(archive: Archive, id_: str, said: RosterEdit) -> object:
    name, role = (line(words or "", MAX_NAME, "name") for words in (said.name, said.role))
    return archive.register(id_, name or None, role or None) if name or role else archive.unregister(id_)


EDITS: dict[str, tuple[type[Struct], Change]] = {
    "summary": (SummaryEdit, _summary),
    "tags": (TagsEdit, _tags),
    "engagement": (EngagementEdit, _engagement),
    "roster": (RosterEdit, _roster),
}
