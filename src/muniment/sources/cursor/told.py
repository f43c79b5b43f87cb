"""What a line says, of whichever of Cursor's formats it is."""

from __future__ import annotations

import re
from typing import Any, cast

from muniment.model import Ref, Text, Thinking, Tool, Unknown, codec
from muniment.sources.builder import quiet
from muniment.sources.chats import Image, Part, Result, Said, text, without
from muniment.sources.cursor import plain
from muniment.sources.history import time_of

_ASKED, _END = "<user_query>", "</user_query>"
_INJECTED = re.compile(r"\s*<(?:user_info|rules|project_layout|agent_skills|git_status|open_and_recently)")
_SAID = frozenset({"role", "content"})
_DATA = re.compile(r"data:([\w.+/-]+);base64,(.*)", re.DOTALL)


def tell(line: dict[str, Any], ref: Ref) -> Said:
    """One line of a transcript or a chat."""
    if "kind" in line and "raw" in line:
        return _plain(str(line["kind"]), text(line, "raw") or "", ref)
    if "about" in line:
        return _about(codec.mapping(line["about"]), ref)
    if line.get("sealed") is True:
        return Said((Unknown(kind="sealed", damage="the messages are encrypted", ref=ref),), ref=ref)
    message = codec.mapping(line.get("message"))
    role = text(line, "role", "kind") or text(message, "role")
    ref = _ref(line, ref)
    if not message or line.get("left") is True:
        return Said((quiet("left out of the chat" if message else text(line, "type") or "line", ref, line),), ref=ref)
    return _message(role or "", message, ref)


def _ref(line: dict[str, Any], ref: Ref) -> Ref:
    """Where a line stands, with its id and its time; those of a transcript have neither."""
    own, at = text(line, "id"), text(line, "timestamp") or time_of(line.get("at"), 1000)
    return Ref(ref.offset, ref.length, own, at=at) if own or at else ref


def _about(known: dict[str, Any], ref: Ref) -> Said:
    parts = [quiet("chat", Ref(ref.offset, ref.length, at=time_of(known.get("createdAt"), 1000)), known)]
    if title := text(known, "name"):
        parts.append(quiet("title", ref, {"title": title, "by": "ai"}))
    return Said(tuple(parts), ref=ref)


def _message(role: str, message: dict[str, Any], ref: Ref) -> Said:
    content = message.get("content")
    if role not in ("user", "assistant", "tool"):
        return Said((quiet(f"{role} prompt", ref, content),), ref=ref)
    parts = [_part(part, ref, number) for number, part in enumerate(_listed(content))]
    if role == "user":
        parts = [made for part in parts for made in _asked(part, ref)]
        spoken = any(not isinstance(part, Result) and getattr(part, "kind", "") != "context" for part in parts)
        return Said(tuple(parts), "user" if spoken else None, ref, opens=spoken)
    raw = None if message.keys() <= _SAID else without(message, *_SAID) or None
    joins = ref.id is None  # of a transcript, in which nothing stands between two answers
    return Said(tuple(parts), "assistant" if role == "assistant" else None, ref, joins=joins, raw=raw)


def _listed(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return cast("list[Any]", content) if isinstance(content, list) else []


def _part(entry: Any, ref: Ref, number: int) -> Part:
    part = codec.mapping(entry)
    kind = part.get("type")
    if kind == "text" and isinstance(part.get("text"), str):
        return Text(part["text"], ref)
    if kind in ("tool_use", "tool-call"):
        call_id = text(part, "id", "toolCallId") or f"call-{ref.offset}-{number}"
        return Tool(call_id, text(part, "name", "toolName"), part.get("input", part.get("args")), ref=ref)
    if kind in ("reasoning", "thinking"):
        return Thinking(text(part, "text", "thinking") or "", text(part, "signature"), ref=ref)
    if kind == "redacted-reasoning":
        return Thinking("", text(part, "data"), redacted=True, ref=ref)
    if kind == "tool-result" and (call_id := text(part, "toolCallId")):
        return Result(call_id, _output(part), True if part.get("isError") is True else None)
    return _image(part) or Unknown(kind=text(part, "type") or "part", value=entry, ref=ref)


def _output(part: dict[str, Any]) -> tuple[Text | Unknown, ...]:
    result = part.get("result", part.get("output"))
    if isinstance(result, str):
        return (Text(result),)
    return () if result is None else (Unknown(kind="result", value=result),)


def _image(part: dict[str, Any]) -> Image | None:
    found = _DATA.fullmatch(text(part, "image", "data") or "")
    return Image(found[1], found[2]) if found else None


def _asked(part: Part, ref: Ref) -> list[Part]:
    """What the human wrote stands in a tag of its own; around it the program says where and when."""
    if not isinstance(part, Text):
        return [part]
    around, asked = _queries(part.text)
    if not asked:
        return [quiet("context", ref, part.text)] if _INJECTED.match(part.text) else [part]
    return [*([quiet("context", ref, around)] if around else []), *(Text(query, ref) for query in asked)]


def _queries(said: str) -> tuple[str, list[str]]:
    """What stands around the tags, and what stands in them."""
    around: list[str] = []
    asked: list[str] = []
    before, begun, rest = said.partition(_ASKED)
    while begun and _END in rest:
        query, _, behind = rest.partition(_END)
        around.append(before)
        asked.append(query.strip("\r\n"))
        before, begun, rest = behind.partition(_ASKED)
    return "".join([*around, before, begun, rest]).strip(), asked


def _plain(kind: str, raw: str, ref: Ref) -> Said:
    """A piece of an old transcript."""
    said = plain.body(raw)
    if kind == "user":
        return Said(tuple(_asked(Text(said, ref), ref)), "user", ref, opens=True)
    if kind == "assistant":
        return Said((Text(said, ref),) if said else (quiet("turn", ref),), "assistant", ref)
    if kind == "thinking":
        return Said((Thinking(said.strip(), ref=ref),), ref=ref)
    if kind == "call":
        name, _, given = said.strip().partition("\n")
        return Said((Tool(f"call-{ref.offset}", name.strip(), {"text": given}, ref=ref),), ref=ref)
    if kind == "result":
        return Said((Tool(f"result-{ref.offset}", output=(Text(said.strip()),), ref=ref, result=ref),), ref=ref)
    return Said((quiet("head", ref, raw),), ref=ref)
