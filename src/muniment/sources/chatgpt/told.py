"""What a line of a conversation says: a node of the tree, or something about the whole."""

from __future__ import annotations

from typing import Any

from muniment.model import Event, Ref, Text, Tool, Unknown, codec
from muniment.model.blocks import NOWHERE
from muniment.sources.builder import quiet
from muniment.sources.chatgpt.order import HIDDEN, is_call, is_hidden
from muniment.sources.chatgpt.parts import asked, given_back, hit, hits, parts, unfinished
from muniment.sources.chatgpt.records import ABOUT, CURRENT
from muniment.sources.chats import Part, Result, Said, text, without
from muniment.sources.history import time_of

_ROOT = "client-created-root"
"""The first node of every newer conversation: as an id it would make them copies of one another."""
_SAID = ("id", "author", "content", "create_time")


def tell(line: dict[str, Any], ref: Ref) -> Said:
    """One node, with the message that it may hold."""
    if "message" not in line:
        return _about(line, ref)
    message = codec.mapping(line["message"])
    ref = Ref(ref.offset, ref.length, text(line, "id"), text(line, "parent"), time_of(message.get("create_time")))
    if not message:
        return Said((quiet("node", Ref(ref.offset, ref.length) if ref.id == _ROOT else ref),), ref=ref)
    role = text(codec.mapping(message.get("author")), "role")
    if role is None:
        return Said((Unknown(kind="message", value=message, ref=ref),), ref=ref)
    content, about = codec.mapping(message.get("content")), codec.mapping(message.get("metadata"))
    if is_hidden(role, content.get("content_type"), about.get(HIDDEN), message.get("weight")):
        return Said((quiet(f"hidden {role}", ref, message.get("content")),), ref=ref)
    if role == "tool":
        return _result(text(line, "answers"), content, about, ref)
    raw = without(message, *_SAID) or None
    if role == "user":
        return Said(tuple(parts(content, ref)), "user", ref, opens=True, raw=raw)
    fields = {"model": model} if (model := text(about, "model_slug")) else {}
    return Said(tuple(_answer(message, content, about, ref)), "assistant", ref, fields=fields, raw=raw)


def _about(line: dict[str, Any], ref: Ref) -> Said:
    known = codec.mapping(line.get(ABOUT))
    if not known:
        kind = "open branch" if CURRENT in line else "record"
        return Said((quiet(kind, ref, line),), ref=ref)
    parts = [quiet(ABOUT, Ref(ref.offset, ref.length, at=time_of(known.get("create_time"))), known)]
    if title := text(known, "title"):
        parts.append(quiet("title", ref, {"title": title, "by": "ai"}))
    return Said(tuple(parts), ref=ref)


def _result(call: str | None, content: dict[str, Any], about: dict[str, Any], ref: Ref) -> Said:
    given = [given_back(part) for part in parts(content, NOWHERE)]
    if about:
        given += [Text(words) if (words := hit(found)) else Unknown("search_result", found) for found in hits(about)]
    return Said((Result(call or ref.id or str(ref.offset), tuple(given)),), ref=ref)


def _answer(message: dict[str, Any], content: dict[str, Any], about: dict[str, Any], ref: Ref) -> list[Part]:
    """Words to the reader, or to a tool, and why there are no more of them."""
    recipient = text(message, "recipient")
    if is_call("assistant", recipient):
        made: list[Part] = [Tool(ref.id or str(ref.offset), recipient, asked(content), ref=ref)]
    else:
        made = parts(content, ref)
    if how := unfinished(about):
        made.append(Event("unfinished", how, about["finish_details"], ref))
    return made
