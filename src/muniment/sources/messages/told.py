"""What a message or item says, whichever API it is of."""

from __future__ import annotations

from typing import Any

from muniment.model import Event, Ref, Thinking, Tool, Unknown, codec
from muniment.model.rounds import Usage
from muniment.sources.builder import count, quiet
from muniment.sources.chats import Part, Result, Said, entries, text, without
from muniment.sources.history import time_of
from muniment.sources.messages import parts, shapes, stream

_SAID = frozenset({"role", "content", "tool_calls", "function_call", "refusal", "type", *parts.REASONING})
_TIMES = frozenset(shapes.TIMES)
_BESIDE = frozenset(shapes.BESIDE)
_ASKED = frozenset({"role", "content", "type", "id"})
_TOLD = frozenset({"id", "model", "usage", stream.ENVELOPE})


def tell(line: dict[str, Any], ref: Ref) -> Said:
    """One line of a conversation."""
    role = text(line, "role")
    ref = Ref(ref.offset, ref.length, text(line, "id"), at=when(line))
    if role in ("system", "developer"):
        return Said((quiet(f"{role} prompt", ref, line.get("content")),), ref=ref)
    if role in ("tool", "function"):
        answered = text(line, "tool_call_id", "name") or str(ref.offset)
        return Said((Result(answered, parts.output(line.get("content"))),), ref=ref)
    if role == "user":
        said = parts.parts(line.get("content"), ref)
        opens = not said or any(not isinstance(part, Result) for part in said)
        helper = _helper(line)
        return Said(tuple(said), "user", ref, opens=opens and not helper, fields=helper, raw=_rest(line, _ASKED))
    if role == "assistant":
        return Said(tuple(_answer(line, ref)), "assistant", ref, fields=_fields(line), raw=_rest(line, _SAID))
    kind = text(line, "type")
    if kind and stream.is_event(line):
        return _event(kind, line, ref)
    if kind in ("request", "response"):
        return _around(kind, line, ref)
    return _item(kind or "record", line, ref)


def _rest(line: dict[str, Any], said: frozenset[str]) -> dict[str, Any] | None:
    """What a message has beside what it says; most have nothing."""
    return None if line.keys() <= said else without(line, *said) or None


def when(line: dict[str, Any]) -> str | None:
    """The time of a line, where a program noted one, in it or in an object beside what is said."""
    if at := None if _TIMES.isdisjoint(line) else _time_in(line):
        return at
    if _BESIDE.isdisjoint(line):
        return None
    found = (_time_in(codec.mapping(line.get(name))) for name in shapes.BESIDE)
    return next((at for at in found if at), None)


def _time_in(line: dict[str, Any]) -> str | None:
    for name in shapes.TIMES:
        value = line.get(name)
        if value is None:
            continue
        if isinstance(value, str) and value[:4].isdigit():
            return value
        if type(value) in (int, float):
            return time_of(value, 1000 if value > 1e11 else 1)  # pyright: ignore[reportOperatorIssue]
    return None


def _answer(line: dict[str, Any], ref: Ref) -> list[Part]:
    made = [*parts.thoughts(line, ref), *parts.parts(line.get("content"), ref)]
    called = {part.id for part in made if isinstance(part, Tool)}
    if refusal := text(line, "refusal"):
        made.append(Event("refusal", refusal, ref=ref))
    for number, call in enumerate(entries(line, "tool_calls")):
        if text(call, "id") not in called:
            made.append(parts.call(call, f"call-{ref.offset}-{number}", ref))
    if asked := codec.mapping(line.get("function_call")):
        made.append(
            Tool(text(asked, "name") or f"call-{ref.offset}", text(asked, "name"), parts.parsed(asked), ref=ref)
        )
    return made


def _fields(line: dict[str, Any]) -> dict[str, Any]:
    """What an answer tells of itself, where it is the answer of a request and not a repeated one."""
    if _TOLD.isdisjoint(line):
        return {}
    told: dict[str, Any] = {"id": text(line, "id"), "model": text(line, "model"), "usage": usage_of(line.get("usage"))}
    return {name: value for name, value in told.items() if value is not None} | _helper(line)


def _helper(line: dict[str, Any]) -> dict[str, Any]:
    return {"sidechain": call} if (call := stream.helper_of(line)) else {}


def _event(kind: str, line: dict[str, Any], ref: Ref) -> Said:
    """What a stream tells of its session; that it failed is shown."""
    if line.get("is_error") is True:
        words = text(line, "result", "subtype") or kind
        return Said((Event("error", words, without(line, "result"), ref),), ref=ref)
    return Said((quiet(" ".join(filter(None, (kind, text(line, "subtype")))), ref, line),), ref=ref)


def _around(kind: str, line: dict[str, Any], ref: Ref) -> Said:
    """What a request asks for, or what an answer cost."""
    about = without(line, "type")
    if kind == "request":
        system = [quiet("system prompt", ref, line["system"])] if line.get("system") else []
        title = text(line, "title")  # no API has one: it is of a document that a program keeps
        named = [quiet("title", ref, {"title": title, "by": "ai"})] if title else []
        return Said((*system, quiet("request", ref, without(about, "system") or None), *named), ref=ref)
    fields = {name: value for name, value in _fields(line).items() if name != "id"}
    return Said((quiet("response", ref, about),), "assistant" if fields else None, ref, fields=fields)


def _item(kind: str, line: dict[str, Any], ref: Ref) -> Said:
    """An item of the Responses API."""
    call_id = text(line, "call_id") or text(line, "id") or f"call-{ref.offset}"
    if kind == "reasoning":
        sealed = text(line, "encrypted_content")
        words = parts.reasoned(line)
        return Said((Thinking(words, sealed, redacted=bool(sealed) and not words, ref=ref),), "assistant", ref)
    if kind.endswith("_output"):
        return Said((Result(call_id, parts.output(line.get("output"))),), ref=ref)
    if kind in ("function_call", "custom_tool_call"):
        given = parts.parsed(line) if kind == "function_call" else line.get("input")
        return Said((Tool(call_id, text(line, "name"), given, ref=ref),), "assistant", ref)
    if kind.endswith("_call"):
        given = without(line, "id", "call_id", "type", "status")
        return Said((Tool(call_id, kind, given, ref=ref),), "assistant", ref)
    return Said((Unknown(kind=kind, value=line, ref=ref),), ref=ref)


def usage_of(said: Any) -> Usage | None:
    """Tokens as we count them: OpenAI counts cached ones as part of the input, Anthropic beside it."""
    known = codec.mapping(said)
    if not known:
        return None
    if "prompt_tokens" in known or "input_tokens_details" in known:
        details = codec.mapping(known.get("prompt_tokens_details") or known.get("input_tokens_details"))
        cached = count(details, "cached_tokens")
        given = count(known, "prompt_tokens") + count(known, "input_tokens")
        output = count(known, "completion_tokens") + count(known, "output_tokens")
        return Usage(max(0, given - cached), output, cached)
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return Usage(*(count(known, name) for name in names))
