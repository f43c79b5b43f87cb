"""What a line of a conversation says: a node of the tree, or something about the whole."""

from __future__ import annotations

from typing import Any, cast

from muniment.model import Event, Ref, Text, Thinking, Tool, Unknown, codec
from muniment.model.blocks import NOWHERE
from muniment.sources.builder import quiet
from muniment.sources.chatgpt.records import ABOUT, CURRENT, is_call
from muniment.sources.chats import Part, Result, Said, entries, text, without
from muniment.sources.history import time_of

_SAID = ("id", "author", "content", "create_time")
_HIDDEN = ("user_editable_context", "model_editable_context", "reasoning_recap")
"""Content that serves the program or repeats what stands elsewhere."""


def tell(line: dict[str, Any], ref: Ref) -> Said:
    """One node, with the message that it may hold."""
    if "message" not in line:
        return _about(line, ref)
    message = codec.mapping(line.get("message"))
    ref = Ref(ref.offset, ref.length, text(line, "id"), text(line, "parent"), time_of(message.get("create_time")))
    if not message:
        return Said((quiet("node", ref),), ref=ref)
    role = text(codec.mapping(message.get("author")), "role")
    if role is None:
        return Said((Unknown(kind="message", value=message, ref=ref),), ref=ref)
    if is_hidden(message):
        return Said((quiet(f"hidden {role}", ref, message.get("content")),), ref=ref)
    if role == "tool":
        return _result(line, message, ref)
    return _message(role, message, ref)


def is_hidden(message: dict[str, Any]) -> bool:
    """What nobody was shown."""
    about = codec.mapping(message.get("metadata"))
    kind = codec.mapping(message.get("content")).get("content_type")
    role = codec.mapping(message.get("author")).get("role")
    hidden = about.get("is_visually_hidden_from_conversation") is True or message.get("weight") == 0
    return role is not None and (hidden or kind in _HIDDEN or role not in ("user", "assistant", "tool"))


def _about(line: dict[str, Any], ref: Ref) -> Said:
    known = codec.mapping(line.get(ABOUT))
    if not known:
        kind = "open branch" if CURRENT in line else "record"
        return Said((quiet(kind, ref, line),), ref=ref)
    parts = [quiet(ABOUT, Ref(ref.offset, ref.length, at=time_of(known.get("create_time"))), known)]
    if title := text(known, "title"):
        parts.append(quiet("title", ref, {"title": title, "by": "ai"}))
    return Said(tuple(parts), ref=ref)


def _message(role: str, message: dict[str, Any], ref: Ref) -> Said:
    about = codec.mapping(message.get("metadata"))
    raw = without(message, *_SAID) or None
    if role == "user":
        return Said(tuple(_parts(message, ref)), "user", ref, opens=True, raw=raw)
    fields = {"model": model} if (model := text(about, "model_slug")) else {}
    if is_call(role, text(message, "recipient")):
        return Said((_call(message, ref),), "assistant", ref, fields=fields, raw=raw)
    return Said(tuple(_parts(message, ref)), "assistant", ref, fields=fields, raw=raw)


def _call(message: dict[str, Any], ref: Ref) -> Tool:
    """Words to a tool, which may be JSON."""
    return Tool(ref.id or str(ref.offset), text(message, "recipient"), asked(message), ref=ref)


def asked(message: dict[str, Any]) -> Any:
    """What a tool was given: its words, as an object where they are one."""
    content = codec.mapping(message.get("content"))
    words = [part for part in _listed(content, "parts") if isinstance(part, str)]
    said = content.get("text") if isinstance(content.get("text"), str) else "".join(words)
    try:
        value = codec.loads(cast("str", said).encode("utf-8", "surrogatepass"))
    except ValueError:
        return {"text": said}
    return codec.mapping(value) or {"text": said}


def _result(line: dict[str, Any], message: dict[str, Any], ref: Ref) -> Said:
    given = [part if isinstance(part, (Text, Unknown)) else Text(getattr(part, "text", "")) for part in _parts(message)]
    return Said((Result(text(line, "answers") or ref.id or str(ref.offset), tuple(given)),), ref=ref)


def _parts(message: dict[str, Any], ref: Ref = NOWHERE) -> list[Part]:
    content = codec.mapping(message.get("content"))
    kind = text(content, "content_type") or "content"
    if kind in ("text", "multimodal_text") and isinstance(content.get("parts"), list):
        return [_part(part, ref) for part in _listed(content, "parts") if part != ""]
    if kind == "thoughts":
        return [Thinking(thought(entry), ref=ref) for entry in entries(content, "thoughts")]
    if kind == "system_error":
        return [Event("error", text(content, "text") or "", without(content, "text", "content_type"), ref)]
    if kind in ("code", "execution_output", "tether_quote") and isinstance(content.get("text"), str):
        return [Text(content["text"], ref)]
    if kind == "tether_browsing_display" and isinstance(content.get("result"), str):
        return [Text(content["result"], ref)]
    return [Unknown(kind=kind, value=content, ref=ref)]


def _part(part: Any, ref: Ref) -> Text | Unknown:
    if isinstance(part, str):
        return Text(part, ref)
    return Unknown(kind=text(codec.mapping(part), "content_type") or "part", value=part, ref=ref)


def thought(entry: dict[str, Any]) -> str:
    """A thought with its heading."""
    return "\n\n".join(words for name in ("summary", "content") if (words := text(entry, name)))


def _listed(fields: dict[str, Any], name: str) -> list[Any]:
    value = fields.get(name)
    return cast("list[Any]", value) if isinstance(value, list) else []
