"""What a line says, of whichever of Cursor's formats it is."""

from __future__ import annotations

import re
from itertools import chain
from typing import Any, cast

from muniment.model import Event, Ref, Text, Thinking, Tool, Unknown, codec
from muniment.sources.builder import quiet
from muniment.sources.chats import Image, Part, Result, Said, text, without
from muniment.sources.cursor import asked, exported, plain
from muniment.sources.history import time_of

_WITHHELD = "[REDACTED]"
_ENDS = ("turn_ended", "error")
_SAID = frozenset({"role", "content"})
_DATA = re.compile(r"data:([\w.+/-]+);base64,(.*)", re.DOTALL)


def tell(line: dict[str, Any], ref: Ref) -> Said:
    """One line of a transcript or a chat."""
    if line.get("exported") in exported.KINDS:
        return _exported(line, text(line, "raw") or "", ref)
    if "kind" in line and "raw" in line:
        return _plain(str(line["kind"]), text(line, "raw") or "", ref)
    if "about" in line:
        return _about(codec.mapping(line["about"]), ref)
    if line.get("sealed") is True:
        return Said((Unknown(kind="sealed", damage="the messages are encrypted", ref=ref),), ref=ref)
    message = codec.mapping(line.get("message"))
    role = text(line, "role", "kind") or text(message, "role")
    ref = _ref(line, ref)
    if line.get("type") in _ENDS and not message:
        return Said((_ended(line, ref),), ref=ref)
    if not message or line.get("left") is True:
        return Said((quiet("left out of the chat" if message else text(line, "type") or "line", ref, line),), ref=ref)
    return _message(role or "", message, ref)


def _ended(line: dict[str, Any], ref: Ref) -> Event:
    """The end of a turn, or an error that ended it; what did not end well is shown."""
    words = text(line, "error", "status")
    if line.get("status") == "success" or not words:
        return quiet(str(line["type"]), ref, line)
    status = text(line, "status") or "error"
    return Event("interrupted" if status == "aborted" else status, words, line, ref)


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
        return prompt(parts, ref)
    raw = None if message.keys() <= _SAID else without(message, *_SAID) or None
    joins = ref.id is None  # of a transcript, in which nothing stands between two answers
    return Said(_answer(parts), "assistant" if role == "assistant" else None, ref, joins=joins, raw=raw)


def _answer(parts: list[Part]) -> tuple[Part, ...]:
    told = (spoken(part.text, part.ref) if isinstance(part, Text) else [part] for part in parts)
    return tuple(chain.from_iterable(told))


def spoken(words: str, ref: Ref) -> list[Part]:
    """A text of the model. The word for a withheld thought is all of it, or a paragraph of its own behind it."""
    if not words.endswith(_WITHHELD):
        return [Text(words, ref)]
    before, _, last = words.rpartition("\n\n")
    if last != _WITHHELD:
        return [Text(words, ref)]
    return [*([Text(before, ref)] if before else []), Thinking(last, redacted=True, ref=ref)]


def prompt(parts: list[Part], ref: Ref) -> Said:
    """A prompt, unless all of it is the program's."""
    at = ref.at
    for part in parts:
        at = at or (asked.time_in(part.text) if isinstance(part, Text) else None)
    ref = Ref(ref.offset, ref.length, ref.id, at=at)
    made: list[Part] = []
    for part in parts:
        made += asked.parts(part.text, ref) if isinstance(part, Text) else [part]
    opens = not all(isinstance(part, (Result, Event)) for part in made)
    return Said(tuple(made), "user" if opens else None, ref, opens)


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


def _plain(kind: str, raw: str, ref: Ref) -> Said:
    """A piece of an old transcript."""
    said = plain.body(raw)
    if kind == "user":
        return prompt([Text(said, ref)], ref)
    if kind == "assistant":
        return Said((Text(said, ref),) if said else (quiet("turn", ref),), "assistant", ref)
    if kind == "thinking":
        return Said((Thinking(said.strip(), ref=ref),), ref=ref)
    if kind == "call":
        name, _, given = said.strip().partition("\n")
        return Said((Tool(f"call-{ref.offset}", name.strip(), {"text": given}, ref=ref),), ref=ref)
    if kind == "answer":
        return Said((Text(raw.strip("\r\n"), ref),), ref=ref)
    if kind == "returned":
        return Said((quiet("tool result", ref, said.strip()),), ref=ref)
    if kind == "result":
        return Said((Tool(f"result-{ref.offset}", output=(Text(said.strip()),), ref=ref, result=ref),), ref=ref)
    return Said((quiet("head", ref, raw),), ref=ref)


def _exported(line: dict[str, Any], raw: str, ref: Ref) -> Said:
    """A piece of an exported chat."""
    if line["exported"] == "head":
        title = text(line, "title")
        named = (quiet("title", ref, {"title": title, "by": "ai"}),) if title else ()
        return Said((quiet("exported", ref, raw), *named), ref=ref)
    said, client, asks = exported.body(raw), text(line, "client"), line["exported"] == "user"
    if asks and asked.is_notice(said):
        return Said(tuple(asked.parts(said, ref)), ref=ref)
    parts = (Text(said, ref),) if said else ()
    return Said(parts, "user" if asks else "assistant", ref, asks, fields={"client": client} if client else {})
