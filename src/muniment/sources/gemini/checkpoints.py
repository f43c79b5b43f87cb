"""Conversations that a person saved by `/chat save TAG`: the history as it was sent to the model, in one document.

    [{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{…}}]},…]     until 0.15
    {"history":[…],"authType":"oauth-personal"}                                                     since

So the client's own code writes and reads them; no document of either form was at hand, but the pages that `/chat share`
makes of the same history were, and show what the program puts into it. Nothing in it has a time, and calls have no ids
in older ones: a result then belongs to the call of the same tool that was first without one. The session is named by
what was said up to the first answer, so that one that is saved again, under the same tag or another, is the same.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

from muniment.model import codec
from muniment.model.codec import mapping
from muniment.sources import documents, raw_json
from muniment.sources.gemini import prompts
from muniment.sources.gemini.records import SAVED, decode, listing, text
from muniment.sources.lines import records

_SAVED = "saved "
_LIST = "history"
_OPENS = b'{"history":'
_BEGINS = re.compile(rb'\s*(?:\{\s*(?:"authType"\s*:\s*"[^"\\]*"\s*,\s*)?"history"\s*:\s*)?\[\s*(?=\{)')
_OBJECT = re.compile(rb'\{\s*"(?:authType|history)"\s*:')
_CUT = re.compile(rb'\{\s*"role"\s*:\s*"(?:user|model)"\s*,\s*"parts"\s*:\s*\[\s*\{\s*"(\w+)"')
_PARTS = frozenset({"text", "thought", "inlineData", "fileData", "functionCall", "functionResponse"})
_ENOUGH = 4096
"""Bytes that tell how a file begins."""
_MAX_CONTENTS = 1000
"""So many are looked at for the first answer."""


def may_be(name: str) -> bool:
    """Whether a file of this name can be one: a transcript has another."""
    return name.endswith(".json") and not name.rpartition("/")[2].startswith("session-")


def matches(head: bytes) -> bool:
    """A list of contents as only this provider's models are sent them: others say of each part what type it is."""
    head = raw_json.unmarked(head)
    begun = _BEGINS.match(head)
    if not begun:
        return False
    first = next(raw_json.objects([head[begun.end() :]]), raw_json.Span(0, 0))
    try:
        content = codec.mapping(codec.loads(head[begun.end() :][: first.end]))
    except ValueError:
        cut = _CUT.match(head, begun.end())
        return cut is not None and cut[1].decode() in _PARTS
    parts = listing(content.get("parts"))
    known = [part for part in map(mapping, parts) if part.keys() & _PARTS and "type" not in part]
    return content.get("role") in ("user", "model") and bool(parts) and len(known) == len(parts)


def lines(pieces: Iterable[bytes]) -> Iterable[bytes]:
    """A saved conversation as lines, one for each content; any other file comes as it is."""
    rest = iter(pieces)
    begun = b""
    while len(begun) < _ENOUGH and (piece := next(rest, b"")):
        begun += piece
    start = raw_json.unmarked(begun).lstrip()
    if start.startswith(b"["):
        return _closed(documents.lines(chain([_OPENS, start], rest), _LIST))
    return documents.lines(chain([begun], rest), _LIST) if _OBJECT.match(start) else chain([begun], rest)


def _closed(made: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a list, its end like that of a document."""
    for line in made:
        yield b"]}\n" if line == b"]" else line


def is_id(native_id: str | None) -> bool:
    """Whether an id is one of a saved conversation, which the client knows by its tag only."""
    return bool(native_id and native_id.startswith(_SAVED))


def native_id(pieces: Iterable[bytes]) -> str:
    """A hash of what was said up to the first answer to a person, that one included."""
    digest = hashlib.sha256()
    asked = False
    for record in islice(records(lines(pieces)), _MAX_CONTENTS):
        try:
            content = decode(record.raw)
        except ValueError:
            continue
        if SAVED in content:
            continue
        digest.update(codec.encode(content))
        if content.get("role") == "model" and asked:
            break
        asked = asked or not prompts.injected_kind(content.get("parts"))
    return _SAVED + digest.hexdigest()


class Calls:
    """The calls of a round that have no result yet."""

    def __init__(self) -> None:
        self.due: dict[str, str | None] = {}
        """Their ids, with the names of their tools."""

    def named(self, parts: list[Any], offset: int) -> list[Any]:
        """The same parts, with ids where calls and results have none."""
        return [self._named(part, f"{offset}-{number}") for number, part in enumerate(parts)]

    def _named(self, part: Any, spare: str) -> Any:
        fields = mapping(part)
        for kind, find in (("functionCall", self._asked), ("functionResponse", self._answered)):
            if told := mapping(fields.get(kind)):
                own = find(text(told, "id"), text(told, "name"), spare)
                return {**fields, kind: {**told, "id": own}}
        return part

    def _asked(self, own: str | None, name: str | None, spare: str) -> str:
        own = own or f"call-{spare}"
        self.due[own] = name
        return own

    def _answered(self, own: str | None, name: str | None, spare: str) -> str:
        alike = (call for call, tool in self.due.items() if tool == name)
        own = own or next(alike, None) or f"result-{spare}"
        self.due.pop(own, None)
        return own
