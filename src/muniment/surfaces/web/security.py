"""The guard before every route: who asks, from where, and what a browser may do with the answer.

It stands outside of the router, so that a new route cannot be forgotten: every request is refused unless it comes
under a known name, from the page itself or from a person who typed the address, and with a token. Only the page as it
was built is for everybody: it holds nothing of the archive. `docs/decisions/0009` has the reasons.
"""

from __future__ import annotations

import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muniment.surfaces.web import answers
from muniment.surfaces.web.entry import bearer
from muniment.surfaces.web.passes import Pass, Passes

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types muniment svelte-trusted-html"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
"""On every answer that does not say otherwise."""
EDIT_HEADER = ("x-muniment", "edit")
METHODS = ("GET", "HEAD", "POST")
ENTRY = ("/enter", "/code")
"""These check themselves what they are sent: a code, and a proof."""
_PAGE = re.compile(r"/|/s/[^/]+(/[a-z]+)?|/assets/[^/]+|/[^/]+\.[a-z0-9]+")
"""Where the page as it was built is answered: a browser cannot send a token before a script of the page runs."""


def hosts(port: int) -> tuple[str, ...]:
    """The names under which the server answers, as a browser writes them."""
    return (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}")


class Guard:
    """Lets a request through to the app, or answers it."""

    def __init__(self, app: ASGIApp, passes: Passes, port: int) -> None:
        self.app = app
        self.passes = passes
        self.hosts = hosts(port)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refusal = self.refusal(scope)
        await (refusal or self.app)(scope, receive, _headed(send))

    def refusal(self, scope: Scope) -> Response | None:
        """Why a request is not let through; None if it is."""
        headers = Headers(scope=scope)
        if not self._is_addressed_here(scope, headers):
            return Response(status_code=421)
        if scope["method"] not in METHODS:
            return answers.refused(405, "only GET and POST are answered")
        if not self._comes_from_here(scope, headers):
            return Response(status_code=403)
        scope["pass"] = self._find_pass(headers)
        if not scope["pass"] and not _is_open(scope):
            return _way_in(headers)
        if not scope["path"].isprintable():
            return answers.refused(404, "no such route", "docs/api.md lists them")
        return self._edit_refusal(headers) if scope["method"] == "POST" and scope["path"] not in ENTRY else None

    def _is_addressed_here(self, scope: Scope, headers: Headers) -> bool:
        """One Host, written exactly as we are called; no other server's address in the request line."""
        named = headers.getlist("host")
        return len(named) == 1 and named[0] in self.hosts and scope["raw_path"].startswith(b"/")

    def _comes_from_here(self, scope: Scope, headers: Headers) -> bool:
        """From the page itself, or from no page at all; only a form with a code may be sent from elsewhere."""
        own = [f"http://{headers['host']}"]
        posted = scope["path"] == "/enter" and scope["method"] == "POST"
        if posted and headers.get("sec-fetch-mode") in (None, "navigate"):
            return all(origin in [*own, "null"] for origin in headers.getlist("origin"))  # a file has no origin
        if any(origin not in own for origin in headers.getlist("origin")):
            return False
        return all(site in ("same-origin", "none") for site in headers.getlist("sec-fetch-site"))

    def _find_pass(self, headers: Headers) -> Pass | None:
        given = headers.getlist("authorization")
        return self.passes.find(bearer(given[0])) if len(given) == 1 else None

    def _edit_refusal(self, headers: Headers) -> Response | None:
        """A form of another site can send neither JSON nor a header of its own."""
        name, value = EDIT_HEADER
        if "origin" not in headers or headers.get(name) != value:
            return answers.refused(403, "not sent by the page", f"edits need an Origin and the header {name}: {value}")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return answers.refused(415, "an edit is JSON", "Content-Type: application/json")
        return None


def _is_open(scope: Scope) -> bool:
    """Whether a request needs no token. What is not named here does, so a new route cannot be forgotten."""
    if scope["method"] == "POST":
        return scope["path"] in ENTRY
    return bool(_PAGE.fullmatch(scope["path"]))


def _way_in(headers: Headers) -> Response:
    """Where to get a token: a page for a person, words for a program."""
    if "text/html" in headers.get("accept", ""):
        return answers.page(403, "This page is yours alone", 'Sign in on <a href="/">the first page</a>.')
    return answers.refused(403, "not signed in", "open the page; `muniment view` prints its address and a code")


def _headed(send: Send) -> Send:
    async def headed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=message["headers"])
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            message["headers"] = headers.raw
        await send(message)

    return headed
