"""An exported chat as lines: markdown, in which every turn stands behind a rule.

# Fix the login
_Exported on 3/28/2026 at 10:44:59 PDT from Cursor (2.6.20)_

---

**User**

fix the login

---

**Cursor**

It is fixed.

Of times there is only that of the export, in a zone whose name may mean several.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from muniment.model import codec
from muniment.sources.chats import at_once

SUFFIX = ".md"
KINDS = ("head", "user", "cursor")
_HEAD = re.compile(
    r"\ufeff?#(?P<title>[^\r\n]{0,1000})\r?\n(?:\r?\n)?"
    r"_Exported on [^\r\n]{1,100} from Cursor \((?P<client>[^)\r\n]{1,50})\)_\r?\n"
    r"\r?\n---\r?\n\r?\n\*\*(?:User|Cursor)\*\*(?=\r?\n\r?\n)"
)
_HEAD_BYTES = 8192
_MARK = re.compile(r"\n---\r?\n\r?\n\*\*(User|Cursor)\*\*(?=\r?\n\r?\n|\r?\n?\Z)")
_BLANK = ("\n", "\n\r")
_FENCE = re.compile(r"\n {0,3}(`{3,}+|~{3,}+)([^`\n]*+)(?=\n|\Z)")


def is_export(head: bytes) -> bool:
    """Whether a file begins with a title, the line of the program and a turn."""
    return bool(_HEAD.match(head[:_HEAD_BYTES].decode("utf-8", "surrogateescape")))


def native_id(path: Path, head: bytes) -> str:
    """Of the name and the first turn, which stay when a chat is exported again; titles and times may change."""
    text = head.decode("utf-8", "surrogateescape")
    begun = _HEAD.match(text)
    first = _MARK.split(text[begun.end() if begun else 0 :], maxsplit=1)[0]
    told = f"{path.stem}\n{' '.join(first[:_HEAD_BYTES].split())}"
    return hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()


def lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """An export as JSON lines; the first two are told the title and the version of the program."""
    return at_once(pieces, _lines)


def _lines(content: bytes) -> Iterator[bytes]:
    text = content.decode("utf-8", "surrogateescape")
    head = _HEAD.match(text)
    told = [{"title": head["title"].strip()}, {"client": head["client"]}] if head else []
    for number, (kind, raw) in enumerate(sections(text)):
        more = told[number] if number < len(told) else {}
        yield codec.encode({"exported": kind, "raw": raw, **more}) + b"\n"


def sections(text: str) -> Iterator[tuple[str, str]]:
    """The pieces with their kinds; together they are the whole text."""
    marks = _turns(text)
    starts = [0, *(mark.start() + 1 for mark in marks), len(text)]
    kinds = ["head", *(mark[1].lower() for mark in marks)]
    for kind, start, end in zip(kinds, starts, starts[1:], strict=False):
        if start < end:
            yield kind, text[start:end]


def _turns(text: str) -> list[re.Match[str]]:
    """Where turns begin.

    Models leave fences open, and a turn may be stopped within one. So a fence reaches over a mark only if a later
    turn ends it with a line that this turn by itself would have no use for."""
    marks = [mark for mark in _MARK.finditer(text) if text.endswith(_BLANK, 0, mark.start())]
    counted: list[re.Match[str]] = []
    opened, since = list[str](), 0
    for mark, end in zip(marks, [*(mark.start() for mark in marks[1:]), len(text)], strict=False):
        counted.append(mark)
        if not (left := _left_open(text, mark.end(), end, [])):
            continue
        if opened and not _left_open(text, mark.end(), end, opened):
            del counted[since:]
            opened = []
        else:
            opened, since = left, len(counted)
    return counted


def _left_open(text: str, start: int, end: int, opened: list[str]) -> list[str]:
    """The fences that are open at the end of a turn. Models put one with a language into another of the same length."""
    for fence in _FENCE.finditer(text, start, end):
        if fence[2].strip() or not opened:
            opened.append(fence[1])
        elif fence[1].startswith(opened[-1]):
            opened.pop()
    return opened


def body(raw: str) -> str:
    """What is said in a turn."""
    return raw.split("**", 2)[-1].strip("\r\n")
