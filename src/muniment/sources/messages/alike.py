"""Whether two messages say the same.

A log has every message again with each later request, and not to the letter: programs mark what may be cached, leave
out what is empty, and write a text as a string or as a part.
"""

from __future__ import annotations

import hashlib
from typing import Any, cast

import msgspec

from muniment.model import codec
from muniment.sources.messages.parts import WORDS

_SAID = frozenset({"role", "content", "tool_calls", "function_call", "call_id", "output", "arguments"})
"""An answer has an id and a price where it is given, and not where it is repeated."""
_TRIFLES = frozenset({"cache_control", "citations", "caller", "index"})
"""Fields of a part that are there in one request and not in the next."""
_encode = msgspec.json.Encoder(order="sorted").encode


def digest(message: dict[str, Any]) -> bytes:
    """The same for two messages that say the same."""
    told = {name: value for name, given in message.items() if name in _SAID and (value := _content(given))}
    return hashlib.blake2b(_encoded(told), digest_size=16).digest()


def _content(content: Any) -> Any:
    """A content, or another list of parts; a text that is alone is a string."""
    if not isinstance(content, list):
        return content
    parts = [told for entry in cast("list[Any]", content) if (told := _part(entry)) != ""]
    return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else parts


def _part(entry: Any) -> Any:
    part = codec.mapping(entry)
    if part.get("type") in WORDS and isinstance(part.get("text"), str):
        return part["text"]
    told = {name: value for name, value in part.items() if name not in _TRIFLES and value is not None}
    if "content" in told:
        told["content"] = _content(told["content"])
    return told or entry


def _encoded(told: dict[str, Any]) -> bytes:
    """The encoder refuses half of a character."""
    try:
        return _encode(told)
    except (OverflowError, ValueError):
        return codec.encode(told)
