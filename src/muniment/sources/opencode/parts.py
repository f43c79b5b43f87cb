"""Parts of a message to blocks.

What a block has no field for and a rewritten file needs again (provider's marks, times, titles) is the part's note;
notes stand by the part's id in the message's `raw`.
"""

from __future__ import annotations

from typing import Any

from muniment.model import Block, Compaction, Event, Media, Ref, Text, Thinking, Tool, Unknown, codec
from muniment.sources.builder import RoundBuilder, quiet
from muniment.sources.opencode.records import HELD, data_of, identity, is_unread, listing, mapping, text

IDS = frozenset({"id", "sessionID", "messageID"})
OWN = IDS | {"type"}
_SEALS = ("signature", "reasoningEncryptedContent", "reasoningOpaque", "encrypted_content", "redactedData")
"""Where providers put what only they can read."""

_SHORT = 200
QUEUED = {"muniment": {"queued": True}}
"""Our mark on words that arrived while the agent worked: opencode has none."""
QUIET = "part "
"""Begins the kind of a quiet event that holds a part as it was."""


def block(part: dict[str, Any], ref: Ref, round_: RoundBuilder, summary: bool) -> Block:
    """A part as a block; the text of a message that sums up the context is what took its place."""
    kind = text(part, "type")
    words = text(part, "text")
    if kind == "text" and words and not part.get("synthetic"):
        if part.get("ignored"):
            return Event("ignored text", words, without(part, "text"), ref)
        return Compaction(words, ref=ref) if summary else Text(words, ref)
    if kind == "reasoning" and (words or part.get("metadata")):
        seal = sealed(part.get("metadata"))
        return Thinking(words or "", seal, redacted=bool(seal) and not words, ref=ref)
    if kind == "tool":
        return _tool(part, ref, round_)
    if kind == "file":
        return _file(part, ref, round_) or Unknown(kind="file", value=unnamed(part), ref=ref)
    if kind == "subtask" or kind == "retry":
        said = text(part, "prompt") or text(mapping(mapping(part, "error"), "data"), "message")
        return Event(QUIET + kind, said or "", without(part), ref)
    if kind in ("text", "reasoning", "step-start", "step-finish", "patch", "snapshot", "agent", "compaction"):
        return quiet(QUIET + kind, ref, without(part))
    if is_unread(part):
        return unread(part, ref)
    return Unknown(kind=kind or "part", value=unnamed(part), ref=ref)


def unread(row: dict[str, Any], ref: Ref) -> Unknown:
    """Return what is no JSON object as a piece that cannot be read."""
    return Unknown(kind="damaged", value=row[HELD], damage="not a JSON object", ref=ref)


def note(part: dict[str, Any]) -> dict[str, Any]:
    """What a block of this part does not hold."""
    kind = part.get("type")
    if kind in ("text", "reasoning"):
        told = part.get("text") or part.get("metadata")
        return without(part, "text") if told and not part.get("synthetic") else {}
    if kind == "file":
        return without(part, "url") if data_of(text(part, "url")) else {}
    if kind != "tool":
        return {}
    state = mapping(part, "state")
    kept = {name: value for name, value in state.items() if name not in ("input", "output", "error")}
    if "metadata" in kept:
        kept["metadata"] = small(mapping(state, "metadata"))
    if "attachments" in kept:
        kept["attachments"] = [without(codec.mapping(file), "url", own=False) for file in listing(state, "attachments")]
    return without(part, "state", "tool", "callID") | {"state": kept}


def without(part: dict[str, Any], *names: str, own: bool = True) -> dict[str, Any]:
    """A part without these fields, and without those that every part has."""
    return {name: value for name, value in part.items() if name not in names and not (own and name in OWN)}


def unnamed(part: dict[str, Any]) -> dict[str, Any]:
    """A part without what names it and its place."""
    return {name: value for name, value in part.items() if name not in IDS}


def small(fields: dict[str, Any]) -> dict[str, Any]:
    """The short, plain fields; what repeats the output at length stays in the evidence."""
    return {name: value for name, value in fields.items() if _is_small(value)}


def _is_small(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float)) or (isinstance(value, str) and len(value) <= _SHORT)


def sealed(metadata: Any) -> str | None:
    """What the provider signed or sealed, whichever provider it was."""
    for marks in codec.mapping(metadata).values():
        for name in _SEALS:
            if found := text(codec.mapping(marks), name):
                return found
    return None


def _tool(part: dict[str, Any], ref: Ref, round_: RoundBuilder) -> Tool:
    """A call together with its result: they are one part here."""
    state = mapping(part, "state")
    status = text(state, "status")
    done = status in ("completed", "error")
    child = text(mapping(state, "metadata"), "sessionId")
    return Tool(
        id=text(part, "callID") or ref.id or "",
        name=text(part, "tool"),
        input=state.get("input"),
        output=tuple(_given_back(state, round_)) if done else None,
        is_error=status == "error" if done else None,
        sidechain=identity(child) if child else None,
        ref=ref,
        result=Ref(ref.offset, ref.length, ref.id, ref.parent, ref.at, plain=True) if done else None,
    )


def _given_back(state: dict[str, Any], round_: RoundBuilder) -> list[Text | Media | Unknown]:
    said = state.get("error" if state.get("status") == "error" else "output")
    given: list[Text | Media | Unknown] = [Text(said) if isinstance(said, str) else Unknown(kind="output", value=said)]
    files = [codec.mapping(file) for file in listing(state, "attachments")]
    return given + [_file(file, Ref(), round_) or Unknown(kind="file", value=file) for file in files]


def _file(part: dict[str, Any], ref: Ref, round_: RoundBuilder) -> Media | Unknown | None:
    """A file that is there as data; others are only named."""
    given = data_of(text(part, "url"))
    return round_.add_media(given[1], given[0], ref) if given else None
