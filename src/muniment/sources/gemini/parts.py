"""The parts of Gemini content as blocks: text, thoughts, calls, results, media.

Calls and results stand in a message of their own list (`toolCalls`), and may stand in the content once more.
"""

from __future__ import annotations

from typing import Any

from muniment.model import Block, Media, Ref, Text, Thinking, Tool, Unknown
from muniment.model.codec import mapping
from muniment.sources.builder import RoundBuilder
from muniment.sources.gemini.records import listing, parts_of, text, thought_of

FAILED = {"success": False, "error": True, "cancelled": True}
"""By the state of a call: whether it failed."""


def said(part: Any, ref: Ref, round_: RoundBuilder) -> Block:
    """A part that is neither a call nor a result."""
    fields = mapping(part)
    words = text(fields, "text")
    if words is not None and fields.get("thought") is True:
        return Thinking(words, text(fields, "thoughtSignature"), ref=ref)
    if words is not None and fields.keys() <= {"text", "thoughtSignature", "thought"}:
        return Text(words, ref)
    return _media(fields, ref, round_) or Unknown(kind=_kind(fields), value=part, ref=ref)


def _media(fields: dict[str, Any], ref: Ref, round_: RoundBuilder) -> Media | Unknown | None:
    inline = mapping(fields.get("inlineData"))
    data, media_type = text(inline, "data"), text(inline, "mimeType")
    if data is None or media_type is None or len(fields) != 1:
        return None
    return round_.add_media(data, media_type, ref)


def _kind(fields: dict[str, Any]) -> str:
    """A part is named by the first field that it has."""
    return next(iter(fields), "part")


def answer(message: dict[str, Any], ref: Ref, round_: RoundBuilder) -> list[Block]:
    """The blocks of an answer; what stands in it twice is read once."""
    thoughts: list[Block] = [Thinking(thought_of(one), ref=ref) for one in listing(message.get("thoughts"))]
    calls = [mapping(call) for call in listing(message.get("toolCalls"))]
    known = {thought.text for thought in thoughts if isinstance(thought, Thinking)}
    named = {text(call, "id") for call in calls}
    blocks: list[Block] = thoughts
    for part in parts_of(message.get("content")):
        call = mapping(mapping(part).get("functionCall"))
        if call:
            blocks += [] if text(call, "id") in named else [_bare_call(call, ref)]
            continue
        block = said(part, ref, round_)
        if not (isinstance(block, Thinking) and block.text in known and not block.signature):
            blocks.append(block)
    return blocks + [_call(call, ref, round_) for call in calls]


def _bare_call(call: dict[str, Any], ref: Ref) -> Tool:
    return Tool(id=text(call, "id") or "", name=text(call, "name") or "", input=call.get("args"), ref=ref)


def _call(call: dict[str, Any], ref: Ref, round_: RoundBuilder) -> Tool:
    given = output(call["result"], round_) if call.get("result") is not None else None
    return Tool(
        id=text(call, "id") or "",
        name=text(call, "name") or "",
        input=call.get("args"),
        output=given,
        is_error=FAILED.get(text(call, "status") or ""),
        sidechain=text(call, "agentId"),
        ref=ref,
        result=ref if given is not None else None,
    )


def results(given: list[Any]) -> list[list[Any]]:
    """Each result with the pictures behind it, which are its own; everything else by itself."""
    found: list[list[Any]] = []
    for part in given:
        if found and "inlineData" in mapping(part) and "functionResponse" in mapping(found[-1][0]):
            found[-1].append(part)
        else:
            found.append([part])
    return found


def output(result: Any, round_: RoundBuilder) -> tuple[Text | Media | Unknown, ...]:
    """What a tool gave back: a string, or parts with the response among them."""
    return tuple(block for part in parts_of(result) for block in _given(part, round_))


def _given(part: Any, round_: RoundBuilder) -> list[Text | Media | Unknown]:
    response = mapping(mapping(part).get("functionResponse"))
    if not response:
        block = said(part, Ref(), round_)
        return [block if isinstance(block, Text | Media | Unknown) else Unknown(kind="thought", value=part)]
    inner = [said(one, Ref(), round_) for one in listing(response.get("parts"))]
    return [response_of(response), *(one for one in inner if isinstance(one, Text | Media | Unknown))]


def response_of(response: dict[str, Any]) -> Text | Unknown:
    """The words of a response, if it has nothing but words."""
    value = mapping(response.get("response"))
    words = text(value, "output") if "output" in value else text(value, "error")
    if words is not None and len(value) == 1:
        return Text(words)
    return Unknown(kind="functionResponse", value=response.get("response"))
