"""What a line of a conversation says.

Blocks say more than the flat text beside them, so that is used only where there are none. Tools often have no ids:
results then belong to the calls of the same message, to those of their name in order.
"""

from __future__ import annotations

from typing import Any

from muniment.model import Event, Ref, Text, Thinking, Tool, Unknown, codec
from muniment.sources.builder import quiet
from muniment.sources.chats import Part, Result, Said, entries, text, without
from muniment.sources.claude_ai.records import ABOUT

NO_MESSAGE = "00000000-0000-4000-8000-000000000000"
"""What the first message of a conversation has as its parent."""
_SAID = ("uuid", "text", "content", "sender", "created_at", "parent_message_uuid", "attachments", "files")


def tell(line: dict[str, Any], ref: Ref) -> Said:
    """A message, or what is known of the conversation."""
    sender = text(line, "sender")
    if sender not in ("human", "assistant"):
        return _about(line, ref)
    ref = Ref(ref.offset, ref.length, text(line, "uuid"), _parent(line), text(line, "created_at"))
    human = sender == "human"
    said = _Blocks(ref).parts(line)
    parts = (*said, *_attached(line, ref, human and _is_wordless(said)))
    raw = without(line, *_SAID) or None
    return Said(parts, "user" if human else "assistant", ref, opens=human, raw=raw)


def _about(line: dict[str, Any], ref: Ref) -> Said:
    known = codec.mapping(line.get(ABOUT))
    if not known:
        return Said((Unknown(kind="record", value=line, ref=ref),), ref=ref)
    parts = [quiet(ABOUT, Ref(ref.offset, ref.length, at=text(known, "created_at")), known)]
    if title := text(known, "name"):
        parts.append(quiet("title", ref, {"title": title, "by": "ai"}))
    return Said(tuple(parts), ref=ref)


def _parent(line: dict[str, Any]) -> str | None:
    parent = text(line, "parent_message_uuid")
    return None if parent == NO_MESSAGE else parent


def _is_wordless(said: list[Part]) -> bool:
    return not any(isinstance(part, Text) and part.text.strip() for part in said)


def _attached(line: dict[str, Any], ref: Ref, wordless: bool) -> list[Part]:
    """Texts that were attached are there, each below its name; of other files only the names are.

    A long text that somebody pastes becomes a file without a name: where nothing else is said, it is the prompt."""
    given: list[Part] = []
    for entry in entries(line, "attachments"):
        words, about = text(entry, "extracted_content") or "", without(entry, "extracted_content")
        if words and wordless and not entry.get("file_name"):
            given.append(Text(words, ref))
            words = ""
        told = "\n\n".join(filter(None, (text(entry, "file_name"), words)))
        given.append(Event("attachment", told, about, ref))
    return given + [Event("file", text(entry, "file_name") or "", entry, ref) for entry in entries(line, "files")]


class _Blocks:
    """The blocks of one message."""

    def __init__(self, ref: Ref) -> None:
        self.ref = ref
        self.due: dict[str, str | None] = {}
        """Calls that have no result yet, with the names of their tools."""
        self.calls = 0

    def parts(self, line: dict[str, Any]) -> list[Part]:
        made = [self._part(block) for block in entries(line, "content") if not is_empty(block)]
        if made:
            return made
        words = text(line, "text")
        return [Text(words, self.ref)] if words else []

    def _part(self, block: dict[str, Any]) -> Part:
        kind = text(block, "type") or "block"
        if kind == "text" and isinstance(block.get("text"), str):
            return Text(block["text"], self.ref)
        if kind == "thinking" and isinstance(block.get("thinking"), str):
            return Thinking(block["thinking"], text(block, "signature"), ref=self.ref)
        if kind == "tool_use":
            return Tool(self._call_id(block), text(block, "name"), block.get("input"), ref=self.ref)
        if kind == "tool_result":
            failed = block.get("is_error")
            return Result(self._result_id(block), _output(block), failed if isinstance(failed, bool) else None)
        if kind in ("token_budget", "flag"):
            return quiet(kind.replace("_", " "), self.ref, block)
        return Unknown(kind=kind, value=block, ref=self.ref)

    def _call_id(self, block: dict[str, Any]) -> str:
        self.calls += 1
        own = text(block, "id") or f"{self.ref.id or self.ref.offset}-{self.calls}"
        self.due[own] = text(block, "name")
        return own

    def _result_id(self, block: dict[str, Any]) -> str:
        """The call that it names, else the first that is due of the same tool, else the first of any."""
        name = text(block, "name")
        alike = (call for call, tool in self.due.items() if tool == name)
        call = text(block, "tool_use_id") or next(alike, None) or next(iter(self.due), f"{self.ref.id}-result")
        self.due.pop(call, None)
        return call


def is_empty(block: dict[str, Any]) -> bool:
    """A text without words, as it stands where somebody only attached something."""
    return block.get("text") == "" and block.get("type") == "text"


def _output(block: dict[str, Any]) -> tuple[Text | Unknown, ...]:
    content = block.get("content")
    if isinstance(content, str):
        return (Text(content),)
    if not isinstance(content, list):
        return () if content is None else (Unknown(kind="content", value=content),)
    given: list[Text | Unknown] = []
    for entry in entries(block, "content"):
        if entry.get("type") == "text" and isinstance(entry.get("text"), str):
            given.append(Text(entry["text"]))
        elif entry.get("type") == "knowledge" and (words := _page(entry)):
            given.append(Text(words))
        else:
            given.append(Unknown(kind=text(entry, "type") or "content", value=entry))
    return tuple(given)


def _page(entry: dict[str, Any]) -> str:
    """A page that was found, as far as it was shown to the model."""
    return "\n".join(words for name in ("title", "url", "text") if (words := text(entry, name)))
