"""Records of opencode 2: a message is one record together with its words, and what happens around it are records too.

    {"id":"msg_…","type":"user","text":"hello","files":[…],"time":{"created":…}}
    {"id":"msg_…","type":"assistant","model":{"id":…},"content":[{"type":"text","text":"hi"}],"time":{…},…}
    {"id":"msg_…","type":"idle","outcome":"succeeded","time":{…}}

What a record says beside its words stands in the message's `raw`, so that a rewritten file has it again.
"""

from __future__ import annotations

from typing import Any

from muniment.model import Block, Compaction, Event, Message, Ref, Text, Tool, Unknown, codec
from muniment.sources.base import MediaBytes
from muniment.sources.builder import RoundBuilder
from muniment.sources.opencode import parts, pieces
from muniment.sources.opencode.pieces import Piece
from muniment.sources.opencode.records import at_time, is_unread, listing, mapping, text

AROUND = "record "
"""Begins the kind of an event that is a record of its own."""
UNHEARD = "message"
"""A record of no kind that is known."""
KEPT = "record"
"""Where in `raw` a record is, without its words."""

_WORDS: dict[str, tuple[str, type]] = {
    "user": ("text", str),
    "assistant": ("content", list),
    "shell": ("command", str),
    "compaction": ("summary", str),
}
"""Where a record of a kind has its words, and what it has there."""
_AROUND = frozenset(
    {"synthetic", "system", "skill", "idle", "agent-switched", "model-switched", "location-switched", "compaction"}
)
_SHELL = "shell"
_UNFINISHED = (None, "running")


def speaks(value: dict[str, Any]) -> bool:
    """Whether a record is a message, with an id and its words."""
    words = _WORDS.get(text(value, "type") or "")
    return words is not None and bool(text(value, "id")) and isinstance(value.get(words[0]), words[1])


def opens(value: dict[str, Any]) -> bool:
    """Whether a record is a prompt."""
    return value.get("type") == "user" and speaks(value)


def place(value: dict[str, Any], offset: int, length: int) -> Ref:
    """Where a message lies."""
    return Ref(offset, length, text(value, "id"), None, at_time(mapping(value, "time").get("created")))


def folder(value: dict[str, Any]) -> str | None:
    """The folder that the session goes on in from here."""
    moved = value.get("type") == "location-switched"
    return text(mapping(value, "location"), "directory") if moved else None


def aside(value: dict[str, Any], ref: Ref) -> Event | Unknown:
    """A record that is no message, as it is; what went wrong is shown."""
    kind = text(value, "type") or ""
    if is_unread(value):
        return parts.unread(value, ref)
    if kind not in _AROUND:
        return Unknown(kind=UNHEARD, value=value, ref=ref)
    return Event(AROUND + kind, text(mapping(value, "error"), "message") or "", value, ref)


def is_aside(block: Block) -> bool:
    """Whether a block is a record of its own; a part that nobody knows has an id."""
    if isinstance(block, Unknown):
        return block.kind == UNHEARD and not block.ref.id and not block.damage
    return isinstance(block, Event) and block.kind.startswith(AROUND)


# -- what is said


def said(value: dict[str, Any], ref: Ref, round_: RoundBuilder) -> list[Piece]:
    """The words of a message."""
    kind = value["type"]
    if kind == "user":
        words = [(Text(value["text"], _ref(ref, 0)), None)] if value["text"] else []
        return words + [pieces.attached(f, _ref(ref, n), round_) for n, f in enumerate(listing(value, "files"), 1)]
    if kind == "assistant":
        return [pieces.piece(item, _ref(ref, n), round_) for n, item in enumerate(value["content"])]
    if kind == _SHELL:
        return [(_command(value, _ref(ref, 0)), None)]
    return [(Compaction(value["summary"], ref=_ref(ref, 0)), None)] if value["summary"] else []


def kept(value: dict[str, Any]) -> dict[str, Any]:
    """A record without its id and its words."""
    rest = {name: held for name, held in value.items() if name not in ("id", _WORDS[value["type"]][0])}
    if value["type"] == "user" and isinstance(rest.get("files"), list):
        rest["files"] = []
    if value["type"] == _SHELL and "output" in rest:
        told = {name: held for name, held in mapping(rest, "output").items() if name != "output"}
        rest["output"] = told if isinstance(rest["output"], dict) else None
    return rest


def _ref(ref: Ref, number: int) -> Ref:
    return Ref(ref.offset, ref.length, f"{ref.id}.{number}", ref.id, ref.at)


def _command(value: dict[str, Any], ref: Ref) -> Tool:
    """A command that the person ran, with what it gave."""
    output = value.get("output")
    given = mapping(value, "output").get("output") if isinstance(output, dict) else output
    done = given is not None or value.get("status") not in _UNFINISHED
    told = Text(given) if isinstance(given, str) else Unknown(kind="output", value=given)
    return Tool(
        id=text(value, "shellID") or text(value, "callID") or ref.parent or "",
        name=_SHELL,
        input={"command": value["command"]},
        output=((told,) if given is not None else ()) if done else None,
        is_error=bool(value.get("exit")) or value.get("status") in ("timeout", "killed") if done else None,
        ref=ref,
        result=ref if done else None,
    )


# -- and written again


def is_flat(message: Message) -> bool:
    """Whether a message was one record."""
    return KEPT in codec.mapping(message.raw)


def is_own(block: Block, message: Message) -> bool:
    """Whether a block comes from the record of its message."""
    own = block.ref.id or ""
    return own == message.id or own.startswith(f"{message.id}.")


def record(message: Message, media: MediaBytes) -> dict[str, Any]:
    """The record of a message, without its id."""
    raw = codec.mapping(message.raw)
    rest, notes = mapping(raw, KEPT), mapping(raw, "parts")
    own = [block for block in message.blocks if is_own(block, message) and block.ref.id != message.id]
    held = [(block, notes.get(block.ref.id or "")) for block in own]
    words = "".join(block.text for block in own if isinstance(block, Text | Compaction))
    kind = rest["type"]
    if kind == "assistant":
        return rest | {"content": [pieces.item(block, note, media) for block, note in held]}
    if kind == "user":
        files = [pieces.file(block, note, media) for block, note in held if not isinstance(block, Text)]
        return rest | {"text": words} | ({"files": files} if files else {})
    if kind == _SHELL:
        return rest | _commanded(own[0], rest)
    return rest | {"summary": words}


def _commanded(block: Block, rest: dict[str, Any]) -> dict[str, Any]:
    assert isinstance(block, Tool), "a command is a call"
    made = {"command": codec.mapping(block.input)["command"]}
    for told in block.output or ():
        given = told.text if isinstance(told, Text) else getattr(told, "value", None)
        made["output"] = rest["output"] | {"output": given} if rest["output"] is not None else given
    return made
