"""The lines of a Claude Code file, decoded as far as the reader needs them.

    {"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"hi"},
     "uuid":"1111…","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w","sessionId":"2222…","version":"2.1.200"}

Fields that are not named here are skipped by the decoder, which is what makes reading fast; they stay in the
evidence.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from muniment.model import Usage, codec


class AgentResult(Struct, gc=False):
    """The part of `toolUseResult` that names a subagent."""

    agent_id: str | None = field(name="agentId", default=None)


class ApiMessage(Struct, gc=False):
    """The API's message inside a record."""

    content: str | list[Any] | None = ""
    id: str | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None


class Line(Struct, gc=False):
    """One record of any type."""

    type: str
    uuid: str | None = None
    parent: str | None = field(name="parentUuid", default=None)
    timestamp: str | None = None
    session_id: str | None = field(name="sessionId", default=None)
    process_session: str | None = field(name="session_id", default=None)
    sidechain: bool | None = field(name="isSidechain", default=None)
    agent_id: str | None = field(name="agentId", default=None)
    meta: bool | None = field(name="isMeta", default=None)
    summary_of_compaction: bool | None = field(name="isCompactSummary", default=None)
    message: ApiMessage | None = None
    request: str | None = field(name="requestId", default=None)
    result: AgentResult | str | list[Any] | None = field(name="toolUseResult", default=None)
    attachment: Any = None
    subtype: str | None = None
    content: Any = None
    error: Any = None
    compaction: Any = field(name="compactMetadata", default=None)
    logical_parent: str | None = field(name="logicalParentUuid", default=None)
    forked_from: Any = field(name="forkedFrom", default=None)
    cwd: str | None = None
    branch: str | None = field(name="gitBranch", default=None)
    version: str | None = None
    slug: str | None = None
    custom_title: str | None = field(name="customTitle", default=None)
    ai_title: str | None = field(name="aiTitle", default=None)
    agent_name: str | None = field(name="agentName", default=None)
    summary: str | None = None
    operation: str | None = None
    url: str | None = field(name="prUrl", default=None)
    tag: str | None = None
    leaf: str | None = field(name="leafUuid", default=None)
    explicit: bool | None = None


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
    """A line that the strict decoder refuses: odd JSON, or a field of another type than usual."""
    try:
        value = codec.loads(raw)
    except ValueError as error:
        raise ValueError(_what_is_wrong(raw, error)) from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    try:
        return msgspec.convert(value, Line)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise ValueError(f"not a record of a known shape: {error}") from None


def _what_is_wrong(raw: bytes, error: ValueError) -> str:
    if not raw.strip(b"\0"):
        return f"{len(raw)} NUL bytes"
    if b"\0" in raw[:1]:
        return "NUL bytes in front of a record"
    return f"not JSON: {error}"


def usage_of(usage: dict[str, Any]) -> Usage:
    """Anthropic counts what was not cached as input; so do we."""
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return Usage(*[value if type(value := usage.get(name)) is int else 0 for name in names])
