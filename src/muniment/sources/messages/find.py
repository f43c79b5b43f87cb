"""Which files hold a conversation in the form of an API, and which session each is.

Much JSON has a role and a content somewhere. So all that is seen of a file must fit, and nothing may point at a format
of its own: this source is asked like any other, and must not take what belongs to another.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from muniment.model import codec
from muniment.sources.base import Found, bytes_of, found_session, source_file
from muniment.sources.messages import exchanges, printed, shapes, stream
from muniment.sources.raw_json import extent, fields, objects

NAME = "messages"
_SUFFIXES = (".json", ".jsonl", ".ndjson")
_LOOKED_AT = 20
_MAX_LINES = 1000
"""Lines that are looked at for the first answer."""
_FIRST = re.compile(rb'"(?:messages|input|output)"\s*:\s*\[\s*(?=\{)')


def matches(path: Path, head: bytes) -> bool:
    """JSON whose first objects are all messages, items or exchanges."""
    if path.suffix.lower() not in _SUFFIXES or head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
        return False
    if head.startswith(b"{") and (there := extent(head)) != "unknown":
        return _may_be(head) if there == "cut" else _known(head, head.endswith(b"}"))
    spans = list(islice(objects([head]), _LOOKED_AT))
    whole = spans[:-1] if len(spans) > 1 and spans[-1].end == len(head) else spans
    return bool(whole) and all(_known(head[span.start : span.end], span.end == len(head)) for span in whole)


def _known(raw: bytes, cut: bool) -> bool:
    try:
        value = codec.mapping(codec.loads(raw))
    except ValueError:
        return cut and _may_be(raw)
    told = (shapes.is_message, shapes.is_item, shapes.is_exchange, stream.is_line, printed.is_line)
    return any(is_one(value) for is_one in told)


def _may_be(raw: bytes) -> bool:
    """An object that is longer than the head of its file, by its fields and the first entry of its list."""
    told = fields(raw)
    names = told.keys()
    if names & shapes.FOREIGN:
        return False
    if "role" in names and "content" in names:
        return told["role"] in shapes.ROLES and not names & shapes.ROW
    begun = _FIRST.search(raw)
    if not begun or not names & {"messages", "input", "output", "request"}:
        return False
    inner = fields(raw[begun.end() :])
    return inner.get("role") in shapes.ROLES or inner.get("type") in shapes.ITEMS


def gather(paths: Iterable[Path], root: Path) -> Iterator[Found]:
    """One session per file."""
    for path in paths:
        if main := source_file(path, root, "main"):
            yield found_session(NAME, native_id(bytes_of(main)), root, False, (main,))


def native_id(pieces: Iterable[bytes]) -> str:
    """A hash of what was said up to the first answer, that one included; what a stream says of the session.

    The agent that prints a stream keeps a transcript as well, under the same id: both must have their place."""
    digest = hashlib.sha256()
    for line in islice(exchanges.one_by_one(pieces, exchanges.written_anew), _MAX_LINES):
        value = _fields(line)
        if own := stream.session_of(value):
            return f"stream of {own}"
        digest.update(line)
        if value.get("role") == "assistant" or value.get("type") in ("function_call", "custom_tool_call"):
            break
    return digest.hexdigest()


def _fields(line: bytes) -> dict[str, Any]:
    try:
        return codec.mapping(codec.loads(line))
    except ValueError:
        return {}
