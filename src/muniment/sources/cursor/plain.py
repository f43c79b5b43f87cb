"""An old transcript as lines: plain text, in which a word at the beginning of a line tells what follows.

user:
<user_query>
fix the login
</user_query>

assistant:
[Thinking] where is it?
I look for it.
[Tool call] Read
  path: login.py

[Tool result] Read

Of a result there is no more than the name of its tool.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from muniment.model import codec
from muniment.sources.chats import at_once

_MARK = re.compile(r"(?m)^(user|assistant):[ \t]*\r?$|^\[(Thinking|Tool call|Tool result)\]")
_KINDS = {"Thinking": "thinking", "Tool call": "call", "Tool result": "result"}
_BLANK = ("\n\n", "\n\r\n")
_NEXT = re.compile(r"(?<=\S)[ \t]*\r?\n(?=\S)")
_GOES_ON = re.compile(r"[-*+•] |[0-9]+[.)] |```")
"""How a line of a thought begins that a single newline does not part from what is before it."""


def lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """A transcript as JSON lines."""
    return at_once(pieces, _lines)


def _lines(content: bytes) -> Iterator[bytes]:
    for kind, raw in sections(content.decode("utf-8", "surrogateescape")):
        yield codec.encode({"kind": kind, "raw": raw}) + b"\n"


def sections(text: str) -> Iterator[tuple[str, str]]:
    """The pieces with their kinds; together they are the whole text."""
    marks = [mark for mark in _MARK.finditer(text) if _counts(text, mark)]
    kinds = [mark[1] or _KINDS[mark[2]] for mark in marks]
    starts = [mark.start() for mark in marks]
    if text[: starts[0] if starts else None]:
        yield "head", text[: starts[0] if starts else None]
    called: Counter[str] = Counter()
    for kind, start, end, after in zip(kinds, starts, [*starts[1:], len(text)], [*kinds[1:], "user"], strict=False):
        raw = text[start:end]
        if kind == "thinking":
            yield from _thought(raw, after == "user")
        else:
            yield "returned" if _has_returned(kind, raw, called) else kind, raw


def _has_returned(kind: str, raw: str, called: Counter[str]) -> bool:
    """Whether a result says no more than that a call of this turn had one."""
    said = body(raw).strip()
    if kind == "user":
        called.clear()
    elif kind == "call":
        called[said.partition("\n")[0].strip()] += 1
    elif kind == "result" and called[said]:
        called[said] -= 1
        return True
    return False


def _counts(text: str, mark: re.Match[str]) -> bool:
    """Whether a word is a mark: a speaker's stands behind an empty line, and what a user says begins with a tag."""
    if mark[2] or not mark.start():
        return True
    if not text.endswith(_BLANK, 0, mark.start()):
        return False
    return mark[1] == "assistant" or text.startswith("\n<", mark.end())


def _thought(raw: str, last: bool) -> Iterator[tuple[str, str]]:
    """A thought, and the answer behind it, which but a newline parts from it; what a turn ends with is an answer."""
    end = _end_of_thought(raw, lists=True) or (_end_of_thought(raw, lists=False) if last else None) or len(raw)
    yield "thinking", raw[:end]
    if raw[end:]:
        yield "answer", raw[end:]


def _end_of_thought(raw: str, lists: bool) -> int | None:
    """Behind the first single newline that is in no code and, where a thought may hold lists, before no item."""
    fences = at = 0
    for newline in _NEXT.finditer(raw):
        fences += raw.count("```", at, newline.end())
        at = newline.end()
        if fences % 2 == 0 and not (lists and _GOES_ON.match(raw, at)):
            return at
    return None


def body(raw: str) -> str:
    """What a piece says, without the word that it begins with and the empty lines around it."""
    mark = _MARK.match(raw)
    return raw[mark.end() if mark else 0 :].strip("\r\n")
