"""The lines of a Qwen session: records that name the one before them.

    {"uuid":"…","parentUuid":null,"sessionId":"…","timestamp":"2026-07-01T10:00:00.000Z","type":"user","cwd":"/w",
     "version":"0.24.4","gitBranch":"main","message":{"role":"user","parts":[{"text":"hi"}]}}

What was said has the form of the Gemini API, whatever model is asked. Fields that are not named here stay in the
evidence.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from muniment.model import Usage, codec
from muniment.sources.builder import count
from muniment.sources.gemini.records import listing

_TEXTS = ("uuid", "parentUuid", "sessionId", "timestamp", "subtype", "cwd", "gitBranch", "version", "model")
_OBJECTS = ("message", "usageMetadata", "toolCallResult", "systemPayload", "forkedFrom")


class Line(Struct, gc=False, rename="camel"):
    """One record of any type."""

    type: str
    uuid: str | None = None
    parent_uuid: str | None = None
    session_id: str | None = None
    timestamp: str | None = None
    subtype: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    version: str | None = None
    model: str | None = None
    message: dict[str, Any] | None = None
    usage_metadata: dict[str, Any] | None = None
    tool_call_result: dict[str, Any] | None = None
    system_payload: dict[str, Any] | None = None
    forked_from: dict[str, Any] | None = None
    context_window_size: int | None = None

    @property
    def parts(self) -> list[Any]:
        """What was said, piece by piece."""
        return listing((self.message or {}).get("parts"))

    @property
    def payload(self) -> dict[str, Any]:
        """What a record of the program holds."""
        return self.system_payload or {}


_decoder = msgspec.json.Decoder(Line)


def decode(raw: bytes) -> Line:
    """The record of one line. Raises ValueError with what is wrong with it."""
    try:
        return _decoder.decode(raw)
    except RecursionError:
        raise ValueError("nested too deep") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _decode_loosely(raw)


def _decode_loosely(raw: bytes) -> Line:
    """A line that the strict decoder refuses; fields of an unexpected kind are left out, the record is not."""
    try:
        fields = codec.mapping(codec.loads(raw))
    except ValueError as error:
        raise ValueError(f"{len(raw)} NUL bytes" if not raw.strip(b"\0") else f"not JSON: {error}") from None
    if not isinstance(fields.get("type"), str):
        raise ValueError("not a record of a known shape: it has no type")
    kept: dict[str, Any] = {"type": fields["type"]}
    kept |= {name: value for name in _TEXTS if isinstance(value := fields.get(name), str)}
    kept |= {name: codec.mapping(fields.get(name)) or None for name in _OBJECTS}
    return msgspec.convert(kept, Line)


def is_prompt(line: Line) -> bool:
    """Whether a person says something that the agent was waiting for."""
    return line.type == "user" and line.subtype in (None, "realtime_message")


def usage_of(said: dict[str, Any]) -> Usage:
    """Tokens in our convention; cached ones are part of the input here, and thoughts of the output for most models.

    Those of Google's count thoughts apart, which the sum shows."""
    given, answered, thought = (count(said, f"{what}TokenCount") for what in ("prompt", "candidates", "thoughts"))
    cached = min(count(said, "cachedContentTokenCount"), given)
    apart = count(said, "totalTokenCount") >= given + answered + thought
    return Usage(given - cached, answered + (thought if apart else 0), cached)
