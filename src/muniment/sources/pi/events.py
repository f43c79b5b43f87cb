"""Entries around the conversation, as blocks and back: settings, labels, summaries, what extensions keep."""

from __future__ import annotations

from typing import Any

from muniment.model import Block, Compaction, Event, Ref, Text, Tool
from muniment.model.codec import mapping
from muniment.sources.builder import quiet
from muniment.sources.pi import printed
from muniment.sources.pi.records import ENVELOPE, listing, rest, text

EMPTY = "empty message"
FAILED = "error"
DETAILS = "tool result details"
OF_A_MESSAGE = frozenset({EMPTY, FAILED, DETAILS})
"""Events that stand in the entry of a message, not in one of their own."""
WITHOUT_ENTRY = frozenset({"header", "link", *(kind.replace("_", " ") for kind in printed.EVENTS)})
"""Events that the header tells, or that nothing but a stream has."""
_NAMES = {"thinking_level_change": "effort change"}
"""Events called otherwise than their entries: what is counted as thinking should be thinking."""

# -- reading


def event(entry: dict[str, Any], ref: Ref) -> Block:
    """An entry that is no message; of one that nobody knows every field is kept."""
    more = rest(entry, *ENVELOPE)
    summary = text(entry, "summary")
    match entry["type"]:
        case "compaction" if summary is not None:
            return Compaction(summary, rest(more, "summary") or None, ref)
        case "branch_summary" if summary is not None:
            return Event("branch summary", summary, rest(more, "summary") or None, ref)
        case "custom_message":
            return custom_message(more, rest(more, "content"), ref)
        case "session_info" if set(more) <= {"name"} and isinstance(more.get("name", ""), str):
            return quiet("title", ref, {"title": more.get("name") or "", "by": "user"})
        case kind if kind in printed.EVENTS:
            return quiet(kind.replace("_", " "), ref)
        case kind:
            named = _NAMES.get(kind) or kind.replace("_", " ")
            return quiet(named, ref, more | ({} if named.replace(" ", "_") == kind else {"type": kind}))


def custom_message(fields: dict[str, Any], about: dict[str, Any], ref: Ref) -> Event:
    """What an extension says to the model; a list of parts is kept as it came, beside its words."""
    content = fields.get("content")
    if isinstance(content, str):
        return Event("custom message", content, about or None, ref)
    words = (text(mapping(part), "text") for part in listing(content))
    return Event("custom message", "\n\n".join(word for word in words if word), about | {"content": content}, ref)


def failed(error: str, ref: Ref) -> Event:
    """Why an answer broke off."""
    return Event(FAILED, error, ref=ref)


def command(message: dict[str, Any], ref: Ref) -> Tool:
    """A command that the person ran, with what it gave back; its time names it, as version 1 has no ids."""
    output = text(message, "output")
    code = message.get("exitCode")
    return Tool(
        id=f"bash-{message.get('timestamp') or ref.at}",
        name="bash",
        input={"command": message["command"]},
        output=(Text(output),) if output is not None else None,
        is_error=code != 0 if isinstance(code, int) else None,
        ref=ref,
        result=ref if output is not None else None,
    )


# -- writing


def again(block: Event | Compaction) -> dict[str, Any] | None:
    """The entry that a block was, without its envelope; None for what has no entry of its own."""
    detail = mapping(block.detail)
    if isinstance(block, Compaction):
        return {"type": "compaction", "summary": block.text} | detail
    if block.kind in WITHOUT_ENTRY or block.kind in OF_A_MESSAGE:
        return None
    if block.kind == "title":
        return {"type": "session_info", "name": detail.get("title")}
    if block.kind == "custom message":
        return _custom(block, detail)
    if block.kind == "branch summary":
        return {"type": "branch_summary"} | detail | {"summary": block.text}
    strange = block.kind.startswith("message ") and "message" in detail
    kind = "message" if strange else detail.get("type") or block.kind.replace(" ", "_")
    return {"type": kind} | rest(detail, "type")


def _custom(block: Event, detail: dict[str, Any]) -> dict[str, Any]:
    content = detail.get("content", block.text)
    if message := mapping(detail.get("message")):
        role = "custom"  # as version 3 calls it
        return {"type": "message", "message": {"role": role, **rest(message, "role"), "content": content}}
    return {"type": "custom_message", **rest(detail, "content"), "content": content}
