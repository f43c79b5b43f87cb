"""The way in and out: a code becomes a token, a token is revoked, and another `muniment view` gets a code.

A code arrives in the body of a form, from the file that was opened or from the page on which a person typed it. So no
secret ever stands in an address.
"""

from __future__ import annotations

import asyncio
import re
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from muniment.store.layout import is_session_id
from muniment.surfaces.web import answers
from muniment.surfaces.web.keys import Keys
from muniment.surfaces.web.passes import CODE_SECONDS, Passes

MAX_FORM = 4_000
_NONCE = re.compile(r"[0-9a-f]{16,128}")
_SCRIPT = '<script src="/enter.js" defer data-token="{token}" data-to="{to}"></script>'


def routes(keys: Keys, passes: Passes) -> list[Route]:
    async def enter(request: Request) -> Response:
        form = await _read_form(request)
        token = passes.redeem(form.get("code", ""))
        return _let_in(request, token, form.get("session", "")) if token else _refuse_code(request)

    async def code(request: Request) -> Response:
        nonce, _, proof = bearer(request.headers.get("authorization", "")).partition(".")
        if not _NONCE.fullmatch(nonce) or not keys.accepts("ask", nonce, proof):
            return answers.refused(403, "not asked by `muniment view`")
        made = invite(passes)
        return answers.done({"code": made, "proof": keys.prove("answer", f"{nonce}\0{made}")})

    async def leave(request: Request) -> Response:
        passes.revoke(bearer(request.headers.get("authorization", "")))
        return answers.done({})

    return [
        Route("/enter", enter, methods=["POST"]),
        Route("/code", code, methods=["POST"]),
        Route("/leave", leave, methods=["POST"]),
    ]


def invite(passes: Passes) -> str:
    """Return a new code, and see to it that nothing is left of it when its time is over."""
    code = passes.invite()
    asyncio.get_running_loop().call_later(CODE_SECONDS + 1, passes.expire)
    return code


def bearer(authorization: str) -> str:
    """Return the token of an `Authorization` header; empty if it holds none."""
    kind, _, token = authorization.partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


async def _read_form(request: Request) -> dict[str, str]:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_FORM:
            return {}
    return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}


def _let_in(request: Request, token: str, session: str) -> Response:
    """Hand out a token: to a browser by a page that keeps it, to a program as JSON."""
    if not _is_browsing(request):
        return answers.done({"token": token})
    to = f"/s/{session}" if is_session_id(session) else "/"
    return answers.page(200, "muniment", "One moment.", _SCRIPT.format(token=token, to=to))


def _refuse_code(request: Request) -> Response:
    if _is_browsing(request):
        words = "It was used already, or its ten minutes are over. Run <code>muniment view</code> again for a new one."
        return answers.page(403, "This code is not good any more", words)
    return answers.refused(403, "wrong code, or one that was used already", "run `muniment view` again for a new one")


def _is_browsing(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "")
