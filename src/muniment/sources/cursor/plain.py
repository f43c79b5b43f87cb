"""An old transcript as lines: plain text, in which a word at the beginning of a line tells what follows.

user:
<user_query>
fix the login
</user_query>

assistant:
[Thinking] where is it?
[Tool call] Read
  path: login.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from muniment.model import codec
from muniment.sources.chats import at_once

_MARK = re.compile(r"(?m)^(user|assistant):[ \t]*\r?$|^\[(Thinking|Tool call|Tool result)\]")
_KINDS = {"Thinking": "thinking", "Tool call": "call", "Tool result": "result"}


def lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """A transcript as JSON lines."""
    return at_once(pieces, _lines)


def _lines(content: bytes) -> Iterator[bytes]:
    for kind, raw in sections(content.decode("utf-8", "surrogateescape")):
        yield codec.encode({"kind": kind, "raw": raw}) + b"\n"


def sections(text: str) -> Iterator[tuple[str, str]]:
    """The pieces with their kinds; together they are the whole text."""
    marks = list(_MARK.finditer(text))
    starts = [mark.start() for mark in marks]
    if text[: starts[0] if starts else None]:
        yield "head", text[: starts[0] if starts else None]
    for mark, end in zip(marks, [*starts[1:], len(text)], strict=False):
        yield mark[1] or _KINDS[mark[2]], text[mark.start() : end]


def body(raw: str) -> str:
    """What a piece says, without the word that it begins with and the empty lines around it."""
    mark = _MARK.match(raw)
    return raw[mark.end() if mark else 0 :].strip("\r\n")
