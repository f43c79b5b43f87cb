"""The lines of a Claude Code file, decoded as far as the reader needs them.

    {"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"hi"},
     "uuid":"1111…","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w","sessionId":"2222…","version":"2.1.200"}

Fields that are not named here are skipped by the decoder, which is what makes reading fast; they stay in the
evidence.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec
from msgspec import Struct, field, structs

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
    origin: Any = None
    result: AgentResult | str | list[Any] | None = field(name="toolUseResult", default=None)
    attachment: Any = None
    subtype: str | None = None
    content: Any = None
    error: Any = None
    compaction: Any = field(name="compactMetadata", default=None)
    logical_parent: str | None = field(name="logicalParentUuid", default=None)
    forked_from: Any = field(name="forkedFrom", default=None)
    parent_session: str | None = field(name="parentSessionId", default=None)
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
    """A line that the strict decoder refuses: odd JSON, or a field of another type than usual, which is left out.

    What is said is kept whatever its type; of a message that is no object nothing could be."""
    try:
        value = codec.loads(raw)
    except ValueError as error:
        raise ValueError(_what_is_wrong(raw, error)) from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    fields = cast("dict[str, Any]", value)
    if not isinstance(kind := fields.get("type"), str):
        raise ValueError("not a record of a known shape: it has no type")
    message = fields.get("message")
    if isinstance(message, dict):
        fields = fields | {"message": _message(cast("dict[str, Any]", message))}
    elif message is not None and kind in ("user", "assistant"):
        raise ValueError("not a record of a known shape: its message is no object")
    return msgspec.convert(_fitting(fields, Line), Line)


def _message(said: dict[str, Any]) -> dict[str, Any]:
    """A message that can be read; content that is neither words nor a list of parts is one part."""
    content = said.get("content")
    if content is not None and not isinstance(content, str | list):
        said = said | {"content": [content]}
    return _fitting(said, ApiMessage)


def _fitting(fields: dict[str, Any], form: type[Struct]) -> dict[str, Any]:
    """Those of a form's fields that have the type that they should."""
    named = {known.encode_name: known.type for known in structs.fields(form)}
    return {name: fields[name] for name, type_ in named.items() if name in fields and _fits(fields[name], type_)}


def _fits(value: Any, type_: Any) -> bool:
    try:
        msgspec.convert(value, type_)
    except (msgspec.ValidationError, UnicodeEncodeError):
        return False
    return True


def _what_is_wrong(raw: bytes, error: ValueError) -> str:
    if not raw.strip(b"\0"):
        return f"{len(raw)} NUL bytes"
    return f"not JSON: {error}"


def usage_of(usage: dict[str, Any]) -> Usage:
    """Anthropic counts what was not cached as input; so do we."""
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return Usage(*[value if type(value := usage.get(name)) is int else 0 for name in names])
