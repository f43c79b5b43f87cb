"""The routes that answer with JSON: each turns what was asked into one call below."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from muniment import __version__, search
from muniment.errors import MunimentError, NotFound
from muniment.model.engagements import METHODS, PHASES
from muniment.search import KINDS, Findings, Query
from muniment.store import terms
from muniment.store.layout import Shelf, is_session_id
from muniment.surfaces.web.view import Make, View
from muniment.viewing import everything, numbers, one
from muniment.viewing.shapes import ItemAnswer, ItemsAnswer, LightAnswer, SearchAnswer

MAX_FOUND = 200
MAX_WORDS = 1_000
MAX_VALUES = 200
_TEXTS = ("session", "since", "until", "file")
_CHOICES: dict[str, tuple[str, ...]] = {
    "method": METHODS,
    "phase": PHASES,
    "project": (),
    "agent": (),
    "source": (),
    "model": (),
}
"""Filters that may be given several times, with the values there are, if they are known."""

Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]


def routes(view: View) -> list[Route]:
    """Every route below `/api` that reads."""
    return [Route(path, _endpoint(view, make), methods=["GET"]) for path, make in READING.items()]


def _endpoint(view: View, make: Make) -> Endpoint:
    async def answer(request: Request) -> Response:
        return await view.answer(request, make)

    return answer


# -- what was asked


def session_id(request: Request) -> str:
    """The id in the path, which is nothing else."""
    given: str = request.path_params["id"]
    if not is_session_id(given):
        raise NotFound("no such session", "ids are UUIDs in lower case")
    return given


def _shelf(view: View, request: Request) -> Shelf:
    return one.shelf_of(view.layout, session_id(request), request.query_params.get("side"))


def _number(request: Request, name: str, default: int | None = None) -> int:
    given = request.path_params.get(name) or request.query_params.get(name)
    if given is None and default is not None:
        return default
    if given is None or not (given.isascii() and given.isdecimal()) or len(given) > 9:
        raise MunimentError(f"{name} is no number")
    return int(given)


def asked(request: Request) -> Query:
    """The filters of a search, as the command line has them."""
    given = request.query_params
    exact = given.get("exact") == "1"
    found: dict[str, Any] = {name: given[name][:MAX_WORDS] for name in _TEXTS if given.get(name)}
    found |= {name: _choice(request, name, allowed, exact) for name, allowed in _CHOICES.items()}
    kinds = tuple(kind for kind in given.get("in", "").split(",") if kind)
    if any(kind not in KINDS for kind in kinds):
        raise MunimentError("no such kind of block", f"some of {', '.join(KINDS)}")
    found |= {"kinds": kinds, "ghosts": given.get("ghosts") == "1", "left_open": given.get("open") == "1"}
    limit = min(_number(request, "limit", 20) or 1, MAX_FOUND)
    text = _words(given.get("q", "")[:MAX_WORDS].strip(), given.get("typing") == "1")
    return Query(text=text, limit=limit, exact=exact, **found)


def _choice(request: Request, name: str, allowed: tuple[str, ...], exact: bool) -> tuple[str, ...]:
    """All values of a filter. An empty one is what has no name, for who asks for whole names; else it says nothing."""
    values = tuple(value[:MAX_WORDS] for value in request.query_params.getlist(name) if value or exact)
    if len(values) > MAX_VALUES:
        raise MunimentError(f"too many values of {name}", f"at most {MAX_VALUES}")
    if allowed and any(value and value not in allowed for value in values):
        raise MunimentError(f"no such {name}", f"one of {', '.join(allowed)}")
    return values


def _words(text: str, typing: bool) -> str:
    """While somebody types, the last word is the beginning of one."""
    return f"{text}*" if typing and text and text[-1].isalnum() and text.count('"') % 2 == 0 else text


# -- what is answered


def _overview(view: View, state: str, _: Request) -> Any:
    return everything.overview(view.layout, state, __version__)


def _sessions(view: View, state: str, _: Request) -> Any:
    return everything.sessions(view.layout, state)


def _engagements(view: View, state: str, _: Request) -> Any:
    return everything.engagements(view.layout, state)


def _engagement(view: View, state: str, request: Request) -> Any:
    return one.engagement(view.layout, state, request.path_params["engagement_id"], request.query_params.get("session"))


def _session(view: View, state: str, request: Request) -> Any:
    return one.session(view.layout, state, session_id(request), view.transcripts)


def _light(view: View, state: str, request: Request) -> Any:
    return LightAnswer(state, view.transcripts.light(_shelf(view, request)))


def _items(view: View, state: str, request: Request) -> Any:
    shelf = _shelf(view, request)
    first, count = _number(request, "first", 0), _number(request, "count", 50)
    return ItemsAnswer(state, list(view.transcripts.items(shelf, first, count)))


def _item(view: View, state: str, request: Request) -> Any:
    shelf = _shelf(view, request)
    return ItemAnswer(state, *view.transcripts.item(shelf, _number(request, "n")))


def _lineage(view: View, state: str, request: Request) -> Any:
    return view.families.of(view.layout, state, session_id(request))


def _budget(view: View, state: str, request: Request) -> Any:
    return one.budget(view.layout, state, session_id(request), view.env)


def _search(view: View, state: str, request: Request) -> Any:
    query = asked(request)
    found = Findings()
    if terms.parse(query.text) or (not query.text and (query.filters or query.ghosts) and not query.kinds):
        found = search.find(view.layout, query)
    return SearchAnswer(state, found.engagements, found.files, found.hits)


def _stats(view: View, state: str, request: Request) -> Any:
    return numbers.stats(view.layout, state, structs.replace(asked(request), text="", kinds=(), file=None))


READING: dict[str, Make] = {
    "/api/overview": _overview,
    "/api/sessions": _sessions,
    "/api/engagements": _engagements,
    "/api/engagement/{engagement_id}": _engagement,
    "/api/session/{id}": _session,
    "/api/session/{id}/light": _light,
    "/api/session/{id}/items": _items,
    "/api/session/{id}/item/{n}": _item,
    "/api/session/{id}/lineage": _lineage,
    "/api/session/{id}/budget": _budget,
    "/api/search": _search,
    "/api/stats": _stats,
}
