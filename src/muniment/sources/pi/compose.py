"""Messages of a pi session as the entries that they were."""

from __future__ import annotations

from typing import Any

from muniment.model import Block, Event, Media, Message, Ref, Text, Thinking, Tool, Unknown
from muniment.model.codec import mapping
from muniment.sources.base import MediaBytes
from muniment.sources.pi import events, parts
from muniment.sources.pi.place import milliseconds
from muniment.sources.pi.records import QUEUED, rest


def is_part(block: Block) -> bool:
    """Whether a block stands in the content of its message."""
    if isinstance(block, Tool):
        return block.name is not None
    return isinstance(block, Text | Thinking | Media) or (isinstance(block, Unknown) and not block.damage)


def is_command(message: Message) -> bool:
    """A command that the person ran; its only call is that command."""
    return mapping(message.raw).get("role") == "bashExecution"


def place_of(message: Message) -> Ref | None:
    """The record of a message; one that only gathers events has none."""
    own = (b.ref for b in message.blocks if is_part(b) or (isinstance(b, Event) and b.kind in _OWN))
    return next(own, None)


_OWN = (events.EMPTY, events.FAILED)


def message(spoken: Message, ref: Ref, media: MediaBytes) -> dict[str, Any]:
    """The entry of a message."""
    made = _command(spoken) if is_command(spoken) else _spoken(spoken, ref, media)
    queued = mapping(spoken.raw).get(QUEUED) if spoken.role == "user" else None
    return {"type": "message"} | ({} if queued is None else {QUEUED: queued}) | {"message": made}


def _command(spoken: Message) -> dict[str, Any]:
    tool = next(block for block in spoken.blocks if isinstance(block, Tool) and block.name is not None)
    output = [part.text for part in tool.output or () if isinstance(part, Text)]
    made: dict[str, Any] = {"role": "bashExecution", "command": mapping(tool.input).get("command")}
    return made | ({"output": output[0]} if output else {}) | rest(mapping(spoken.raw), "role")


def _spoken(spoken: Message, ref: Ref, media: MediaBytes) -> dict[str, Any]:
    raw = mapping(spoken.raw)
    extras = mapping(raw.get("extras"))
    own = [block for block in spoken.blocks if is_part(block)]
    content: Any = [parts.written(block, media) | mapping(extras.get(str(n))) for n, block in enumerate(own)]
    if own and own[0].ref.plain:
        content = content[0]["text"]
    made: dict[str, Any] = {"role": spoken.role, "content": content}
    if spoken.role == "user":
        return made | {"timestamp": milliseconds(ref.at)}
    before = {name: raw[name] for name in ("api", "provider") if name in raw}
    made |= before | ({"model": spoken.model} if spoken.model is not None else {})
    return made | rest(raw, "api", "provider", "extras")


def result(tool: Tool, ref: Ref, media: MediaBytes, details: dict[str, Any]) -> dict[str, Any]:
    """The entry of what a tool gave back."""
    content: Any = [parts.written(block, media) for block in tool.output or ()]
    if ref.plain and content:
        content = content[0].get("text")
    made: dict[str, Any] = {"role": "toolResult", "toolCallId": tool.id, "toolName": tool.name or ""}
    said = {} if tool.is_error is None and ref.length else {"isError": bool(tool.is_error)}
    made |= {"content": content} | details | said
    return {"type": "message", "message": made | {"timestamp": milliseconds(ref.at)}}
