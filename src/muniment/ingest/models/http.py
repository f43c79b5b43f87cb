"""One JSON question over HTTP by the standard library, with patience and without surprises.

Redirects are not followed: they would carry the key and the session to a server nobody named. The time limit holds for
the whole answer, and an answer has a greatest size. What goes wrong is told without the request.
"""

from __future__ import annotations

import contextlib
import http.client
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from muniment.ingest.models.client import Unanswered
from muniment.ingest.models.keys import Key
from muniment.model.codec import mapping

MAX_BYTES = 8 << 20
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
"""A server that wants more patience than this is as good as none."""
_FOR_THE_MOMENT = {408, 409, 425, 429}
_NEAR = {"localhost", "127.0.0.1", "::1"}


class Refused(Exception):
    """The server answered with an error; `said` is its own word for it, without the key."""

    def __init__(self, status: int, said: str, pause: float | None) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.said = said
        self.pause = pause

    @property
    def passing(self) -> bool:
        return self.status in _FOR_THE_MOMENT or self.status >= 500


class Server(Struct, frozen=True):
    """Where to ask, and how patiently."""

    url: str
    key: Key | None
    timeout: float
    retries: int

    @property
    def name(self) -> str:
        return urlsplit(self.url).netloc

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a question. Raises Refused or Unanswered once all retries are used up."""
        data = msgspec.json.encode(body)
        for attempt in range(self.retries):
            try:
                return self._post(path, data)
            except Refused as refused:
                if not refused.passing or (refused.pause or 0) > LONGEST_PAUSE:
                    raise
                pause = refused.pause
            except Unanswered:
                pause = None
            time.sleep(min(FIRST_PAUSE * 2**attempt, LONGEST_PAUSE) if pause is None else pause)
        return self._post(path, data)

    def _post(self, path: str, data: bytes) -> dict[str, Any]:
        request = urllib.request.Request(self.url + path, data, self._headers(), method="POST")
        until = time.monotonic() + self.timeout
        problem: Exception
        try:
            with _opener(self.url).open(request, timeout=self.timeout) as response:
                return mapping(msgspec.json.decode(_read(response, until)))
        except urllib.error.HTTPError as error:
            with error:
                problem = Refused(
                    error.code, self._said(_body(error, until)), pause_asked(error.headers.get("Retry-After"))
                )
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            problem = Unanswered("the server answered with something that is not JSON", perhaps_paid=True)
        except (OSError, http.client.HTTPException, ValueError) as error:
            late = _is_late(error)
            word = "the server did not answer in time" if late else "the server could not be reached"
            problem = Unanswered(word, perhaps_paid=late)
        raise problem  # outside of the handlers, whose errors hold the request

    def _headers(self) -> dict[str, str]:
        """A key travels only where nobody can listen."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        parts = urlsplit(self.url)
        if self.key and (parts.scheme == "https" or parts.hostname in _NEAR):
            headers["Authorization"] = f"Bearer {self.key.reveal()}"
        return headers

    def _said(self, body: bytes) -> str:
        """The server's own word for an error, wherever it puts it."""
        try:
            answer = mapping(msgspec.json.decode(body))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return ""
        error = answer.get("error")
        said = mapping(error).get("message") or error or answer.get("message") or ""
        return (self.key.hide(said) if self.key else said) if isinstance(said, str) else ""


class _Stay(urllib.request.HTTPRedirectHandler):
    """Redirects are errors."""

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any) -> None:
        return None


def _opener(url: str) -> urllib.request.OpenerDirector:
    """Proxies of the environment count, but not on the way to this machine."""
    near = urlsplit(url).hostname in _NEAR
    return urllib.request.build_opener(_Stay(), urllib.request.ProxyHandler({} if near else None))


def _read(response: http.client.HTTPResponse | urllib.error.HTTPError, until: float) -> bytes:
    """The whole body. One that drips would never meet the limit of a single read."""
    pieces: list[bytes] = []
    size = 0
    while piece := response.read1(1 << 16):  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]
        pieces.append(piece)  # pyright: ignore[reportUnknownArgumentType]
        size += len(pieces[-1])
        if size > MAX_BYTES:
            raise ValueError("the answer is too long")
        if time.monotonic() > until:
            raise TimeoutError
    return b"".join(pieces)


def _body(error: urllib.error.HTTPError, until: float) -> bytes:
    with contextlib.suppress(OSError, http.client.HTTPException, ValueError, AttributeError):
        return _read(error, until)
    return b""


def _is_late(error: Exception) -> bool:
    """Whether time ran out, or the connection broke, after the question was sent."""
    reason = getattr(error, "reason", error)
    if isinstance(reason, (ssl.SSLCertVerificationError, ConnectionRefusedError)):
        return False
    return isinstance(reason, (TimeoutError, http.client.HTTPException, ConnectionError))


def pause_asked(given: str | None) -> float | None:
    """How long the server asks to wait: seconds, or a date."""
    with contextlib.suppress(ValueError, TypeError):
        return max(0.0, float(given or ""))
    with contextlib.suppress(ValueError, TypeError):
        return max(0.0, parsedate_to_datetime(given or "").timestamp() - time.time())
    return None
