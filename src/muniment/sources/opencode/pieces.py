"""The pieces that a message of opencode 2 is made of, to blocks and back.

A piece has no id of its own: its note stands by the message's id and its position.
"""

from __future__ import annotations

from typing import Any

from muniment.model import Block, Event, Media, Ref, Text, Thinking, Tool, Unknown, codec
from muniment.sources.base import MediaBytes
from muniment.sources.builder import RoundBuilder, quiet
from muniment.sources.opencode import compose, parts
from muniment.sources.opencode.records import data_of, identity, listing, mapping, text

Piece = tuple[Block, Any]
"""A block, and what it does not hold of its piece."""
Given = Text | Media | Unknown


def piece(item: Any, ref: Ref, round_: RoundBuilder) -> Piece:
    """A piece of an answer."""
    fields = codec.mapping(item)
    kind, words = text(fields, "type"), text(fields, "text")
    marks = mapping(fields, "native") or mapping(fields, "state")  # what only its provider can read
    if kind == "text" and words:
        return Text(words, ref), _without(fields, "text")
    if kind == "reasoning" and words is not None and (words or marks):
        sealed = parts.sealed({"": marks} | marks)
        return Thinking(words, sealed, redacted=bool(sealed) and not words, ref=ref), _without(fields, "text")
    if kind == "tool" and None not in (text(fields, "id"), text(fields, "name")) and mapping(fields, "state"):
        return _tool(fields, ref, round_)
    if kind in ("text", "reasoning") and words == "":
        return quiet(parts.QUIET + kind, ref, fields), None
    return Unknown(kind=kind or "part", value=item, ref=ref), None


def attached(file: Any, ref: Ref, round_: RoundBuilder) -> Piece:
    """A file beside a prompt; one that is only named is kept as it is."""
    fields = codec.mapping(file)
    if data := text(fields, "data"):
        made = round_.add_media(data, text(fields, "mime") or "", ref)
        return made, {"data": _without(fields, "data")}
    if given := data_of(text(fields, "uri")):
        return round_.add_media(given[1], given[0], ref), {"uri": _without(fields, "uri")}
    return Unknown(kind="file", value=file, ref=ref), None


def _without(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


def _tool(fields: dict[str, Any], ref: Ref, round_: RoundBuilder) -> Piece:
    """A call together with its result; why it failed comes last."""
    state = mapping(fields, "state")
    failed = text(state, "status") == "error"
    done = failed or text(state, "status") == "completed"
    given = [_told(item, round_) for item in _content(state)] if done else []
    failure = [_failure(state["error"])] if failed and "error" in state else []
    child = text(mapping(state, "metadata"), "sessionID")
    tool = Tool(
        id=text(fields, "callID") or fields["id"],
        name=fields["name"],
        input=state.get("input"),
        output=tuple(told for told, _ in given + failure) if done else None,
        is_error=failed if done else None,
        sidechain=identity(child) if child else None,
        ref=ref,
        result=ref if done else None,
    )
    note = {"piece": _without(fields, "state"), "state": _kept(state, done, bool(failure))}
    return tool, note | {"given": [rest for _, rest in given], "failure": [rest for _, rest in failure]}


def _content(state: dict[str, Any]) -> list[Any]:
    content = state.get("content")
    return listing(state, "content") if isinstance(content, list) or content is None else [content]


def _kept(state: dict[str, Any], done: bool, failed: bool) -> dict[str, Any]:
    """What is said of a call beside its input and its result."""
    rest = _without(state, "input", *(("error",) if failed else ()))
    if done and "content" in rest:
        rest["content"] = [] if isinstance(rest["content"], list) else None
    if "metadata" in rest:
        rest["metadata"] = parts.small(mapping(state, "metadata"))
    return rest


def _told(item: Any, round_: RoundBuilder) -> tuple[Given, Any]:
    fields = codec.mapping(item)
    words = text(fields, "text")
    if fields.get("type") == "text" and words is not None:
        return Text(words), _without(fields, "text")
    if fields.get("type") == "file" and (given := data_of(text(fields, "uri"))):
        return round_.add_media(given[1], given[0], Ref()), _without(fields, "uri")
    return Unknown(kind="output", value=item), None


def _failure(error: Any) -> tuple[Given, Any]:
    words = text(codec.mapping(error), "message")
    if words is not None:
        return Text(words), _without(error, "message")
    return Unknown(kind="output", value=error), None


# -- and back


def item(block: Block, note: Any, media: MediaBytes) -> Any:
    """A block as the piece that it was."""
    if isinstance(block, Tool):
        return _call(block, codec.mapping(note), media)
    if isinstance(block, Text | Thinking):
        return codec.mapping(note) | {"text": block.text}
    return block.detail if isinstance(block, Event) else getattr(block, "value", None)


def file(block: Block, note: Any, media: MediaBytes) -> Any:
    """A block as the file that it was."""
    if note is None or not isinstance(block, Media | Unknown):
        return getattr(block, "value", None)
    media_type, data = compose.data(block, media)
    ((field, rest),) = codec.mapping(note).items()
    return rest | {field: data if field == "data" else compose.url(media_type, data)}


def _call(tool: Tool, note: dict[str, Any], media: MediaBytes) -> dict[str, Any]:
    state = mapping(note, "state") | {"input": tool.input}
    rests = listing(note, "given")
    output = tool.output or ()
    given = [_untold(block, rest, "text", media) for block, rest in zip(output, rests, strict=False)]
    if given:
        state["content"] = given if isinstance(state.get("content"), list) else given[0]
    for block, rest in zip(output[len(rests) :], listing(note, "failure"), strict=False):
        state["error"] = _untold(block, rest, "message", media)
    return mapping(note, "piece") | {"state": state}


def _untold(block: Given, rest: Any, words: str, media: MediaBytes) -> Any:
    if rest is None:
        return getattr(block, "value", None)
    return rest | (
        {words: block.text} if isinstance(block, Text) else {"uri": compose.url(*compose.data(block, media))}
    )
