"""The objects of a Gemini session, whatever their era.

    {"sessionId":"…","projectHash":"…","startTime":"…","lastUpdated":"…","kind":"main"}
    {"id":"…","timestamp":"…","type":"user","content":[{"text":"hi"}]}
    {"id":"…","timestamp":"…","type":"gemini","content":"hello","thoughts":[],"tokens":{…},"model":"…","toolCalls":[…]}
    {"$set":{"lastUpdated":"…"}}
    {"$rewindTo":"…"}

A message with the id of a former one takes its place. The contents of a saved conversation (`checkpoints`) have none.
"""

from __future__ import annotations

from typing import Any, Literal, cast

from muniment.model import Usage, codec
from muniment.model.codec import mapping
from muniment.sources import documents
from muniment.sources.builder import count
from muniment.sources.raw_json import unmarked

SAVED = "$saved"
"""What is said around the contents of a saved conversation."""

Kind = Literal["message", "content", "saved", "change", "rewind", "end", "metadata", "unknown"]


def decode(raw: bytes) -> dict[str, Any]:
    """One object. Raises ValueError with what is wrong with it."""
    try:
        value = codec.loads(unmarked(raw))
    except ValueError as error:
        if (listed := _listed(raw)) is not None:
            return listed
        if not raw.strip(b"\0"):
            raise ValueError(f"{len(raw)} NUL bytes") from None
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return cast("dict[str, Any]", value)


def _listed(raw: bytes) -> dict[str, Any] | None:
    """A line of a saved conversation: a content of its list, or what stands around that."""
    try:
        part = documents.decode(raw)
    except ValueError:
        return None
    return part.value if part.kind == "entry" else {SAVED: part.value}


def kind_of(record: dict[str, Any]) -> Kind:
    """What an object is, by the fields that the client looks at."""
    if isinstance(record.get("$rewindTo"), str):
        return "rewind"
    if isinstance(record.get("id"), str) and isinstance(record.get("type"), str):
        return "message"
    if isinstance(record.get("$set"), dict):
        return "change"
    if isinstance(record.get("role"), str) and isinstance(record.get("parts"), list):
        return "content"
    if SAVED in record:
        return "saved"
    if "$end" in record:
        return "end"
    return "metadata" if isinstance(record.get("sessionId"), str) else "unknown"


def text(fields: dict[str, Any], name: str) -> str | None:
    """A field that is a string, else None: any field of a foreign file may hold anything."""
    value = fields.get(name)
    return value if isinstance(value, str) else None


def listing(value: Any) -> list[Any]:
    """The value if it is an array, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def parts_of(content: Any) -> list[Any]:
    """Content as parts: it may be a string, one part, or a list of both."""
    if content is None or content == "":
        return []
    given = cast("list[Any]", content) if isinstance(content, list) else [content]
    return [{"text": part} if isinstance(part, str) else part for part in given]


def thought_of(said: Any) -> str:
    """A thought as the client tells it to the model."""
    fields = mapping(said)
    subject, description = text(fields, "subject"), text(fields, "description") or ""
    return f"**{subject}** {description}" if subject else description


def usage_of(said: Any) -> Usage | None:
    """Tokens in our convention; here the input has the cached ones in it, the output has no thoughts in it."""
    tokens = mapping(said)
    if not tokens:
        return None
    cached = count(tokens, "cached")
    fresh = max(count(tokens, "input") - cached, 0) + count(tokens, "tool")
    return Usage(fresh, count(tokens, "output") + count(tokens, "thoughts"), cached)
