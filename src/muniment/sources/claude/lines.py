"""Items to the lines of a Claude Code file: how content stands in records, and how records hang together.

An item is one content part with the place of its record. Items of one record come together as a group; the record
gets its parent, its time, and the folder, branch and version that hold where it stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec

from muniment.model import Facts, Message, Ref, Usage, codec
from muniment.model.codec import mapping
from muniment.sources.base import Move
from muniment.sources.claude.place import identity

NO_TIME = "1970-01-01T00:00:00.000Z"
VERSION = "2.1.200"
"""Written where the session does not tell the client's version."""

_QUEUED = {"type": "queued_command", "commandMode": "prompt"}
_LOGICAL_PARENT = "logicalParentUuid"
"""Stands beside the parent, in front of the content."""


class Item(msgspec.Struct):
    """One content part on its way into a record; None for a record without any."""

    ref: Ref
    role: str
    """The kind of record that holds it: user, assistant, system, progress, attachment, summary, leaf (where the client
    goes on), or settings, which have no record of their own."""
    part: Any
    message: Message | None = None
    flags: dict[str, Any] = {}
    """Fields that the record gets beside its content, and `plain`, `answer`: how the content is written."""


def _a_moment_later(at: str) -> str:
    """Return the next millisecond; a time that is none, and the one that stands for none, stay as they are."""
    try:
        moment = datetime.fromisoformat(at) + timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        return at
    return at if at == NO_TIME else moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _records(items: list[Item]) -> Iterator[list[Item]]:
    """Items of one record stand together."""
    group: list[Item] = []
    for item in items:
        if group and (item.ref.id != group[0].ref.id or item.ref.offset != group[0].ref.offset):
            yield group
            group = []
        if group and "settings" in (item.role, group[0].role):
            yield group
            group = []
        group.append(item)
    if group:
        yield group


class Lines:
    """The records written so far, as far as the next one needs them."""

    def __init__(self, facts: Facts, move: Move) -> None:
        self.facts, self.move = facts, move
        self.session_id = identity(facts, move)
        self.cwd = self._folder(facts.first_cwd or facts.cwd or "/")
        self.branch = ""
        self.version = VERSION
        self.dropped: dict[str, str | None] = {}
        self.written: set[str] = set()
        self.last: str | None = None
        self.at = facts.started or NO_TIME
        self.prompted: set[str] = set()
        """When the prompts of another agent were written."""
        self.native = False

    def of(self, items: list[Item], native: bool) -> Iterator[bytes]:
        """The lines that hold these items; native ones come from a Claude Code file and are given back as they were."""
        self.native = native
        for group in _records(items):
            if record := self._record(group):
                yield codec.encode(record) + b"\n"

    def drop(self, ref: Ref) -> None:
        """A record is left out; those that hang on it will hang on its parent."""
        if ref.id:
            self.dropped[ref.id] = ref.parent

    def _record(self, group: list[Item]) -> dict[str, Any] | None:
        """The record that holds these items."""
        first = group[0]
        if first.role == "settings":
            self._apply(first.part)
            return None
        if first.role == "leaf":
            return self._leaf(mapping(first.part))
        if first.role == "summary":
            return {"type": "summary", **first.part}
        return self._chain_record(first, group)

    def _leaf(self, detail: dict[str, Any]) -> dict[str, Any] | None:
        if detail["leaf"] not in self.written and not detail.get("explicit"):
            return None
        explicit = {"explicit": True} if detail.get("explicit") else {}
        return {"type": "last-prompt", "leafUuid": detail["leaf"], **explicit, "sessionId": self.session_id}

    def _apply(self, changed: dict[str, Any]) -> None:
        self.cwd = self._folder(changed["cwd"] or self.cwd)
        self.branch = changed["branch"] or self.branch
        self.version = changed["client"] or self.version

    def _folder(self, cwd: str) -> str:
        """The working folder, moved along with the session."""
        old = self.facts.first_cwd or self.facts.cwd
        if self.move.cwd is None or old is None:
            return self.move.cwd or cwd
        if cwd == old or cwd.startswith(old + "/"):
            return self.move.cwd + cwd[len(old) :]
        return cwd

    def _chain_record(self, first: Item, group: list[Item]) -> dict[str, Any]:
        ref, message = first.ref, first.message
        kind = first.role
        self.at = ref.at or (message.at if message else None) or self.at
        if kind == "user" and not self.native:
            self.at = self._free_moment(self.at)
        record: dict[str, Any] = {"parentUuid": self._parent(ref)}
        if kind == "system":
            record |= {name: value for name, value in first.part.items() if name == _LOGICAL_PARENT}
        sidechain = self.facts.sidechain or (message.sidechain if message else None)
        record |= {"isSidechain": bool(sidechain)}
        record |= self._agent(ref, message)
        record |= {"type": kind} | self._payload(kind, group)
        timed = {} if self.native and ref.at is None else {"timestamp": self.at}
        record |= {"uuid": ref.id, **timed, "userType": "external"}
        branch = self.branch or ("" if self.native else self.facts.branch or "")  # a document names it in its head
        record |= {"cwd": self.cwd, "sessionId": self.session_id, "version": self.version, "gitBranch": branch}
        self.last = ref.id
        self.written.add(ref.id or "")
        return record

    def _free_moment(self, at: str) -> str:
        """Return a time that no prompt has yet. Some agents tell minutes or nothing at all, and the same words at one
        time would be read as a record that was written again (decision 14)."""
        while at in self.prompted and (later := _a_moment_later(at)) != at:
            at = later
        self.prompted.add(at)
        return at

    def _agent(self, ref: Ref, message: Message | None) -> dict[str, str]:
        """The id of the subagent that a record belongs to. Old files have none: there a chain is named after its first
        record, which the others are found by."""
        inline = message.sidechain if message else None
        named_after_record = inline == ref.id or inline in self.written
        agent = self.facts.sidechain or (None if named_after_record else inline)
        return {"agentId": agent} if agent else {}

    def _parent(self, ref: Ref) -> str | None:
        """The record it follows; where that one is left out, the one before it."""
        if ref.parent == "":
            return self.last
        parent = ref.parent
        for _ in range(len(self.dropped) + 1):
            if parent not in self.dropped:
                break
            parent = self.dropped[parent]
        return parent

    def _payload(self, kind: str, group: list[Item]) -> dict[str, Any]:
        first = group[0]
        if kind in ("system", "progress"):
            return {name: value for name, value in first.part.items() if name != _LOGICAL_PARENT}
        if kind == "attachment":
            return {"attachment": self._attachment(group)}
        parts = [item.part for item in group if item.part is not None]
        if kind == "assistant":
            return self._answer(first, parts)
        plain = first.flags.get("plain") and len(parts) == 1 and mapping(parts[0]).get("type") == "text"
        content = parts[0]["text"] if plain else parts
        flags = {name: value for name, value in first.flags.items() if name not in ("plain", "answer")}
        return {"message": {"role": "user", "content": content}, **flags}

    def _attachment(self, group: list[Item]) -> dict[str, Any]:
        """A queued prompt stands in its attachment; other attachments come back as they were."""
        detail = next((mapping(i.part) for i in group if "plain" not in i.flags), _QUEUED)
        texts = [item for item in group if "plain" in item.flags]
        if not texts:
            return detail
        plain = len(texts) == 1 and (texts[0].flags["plain"] or not self.native) and "text" in texts[0].part
        prompt: Any = texts[0].part["text"] if plain else [item.part for item in texts]
        return {"type": detail.get("type"), "prompt": prompt, **detail}

    def _answer(self, first: Item, parts: list[Any]) -> dict[str, Any]:
        message = first.message
        assert message, "an assistant part belongs to a message"
        said = mapping(message.raw)
        said = mapping(mapping(said.get("parts")).get(first.ref.id or "")) or said
        usage = said.get("usage") if self.native else None
        content = parts[0]["text"] if first.flags.get("plain") else parts
        answer = {
            "model": message.model if self.native else message.model or self.facts.model or "unknown",
            **({"id": first.flags["answer"]} if first.flags["answer"] else {}),
            "type": "message",
            "role": "assistant",
            "content": content,
            "stop_reason": said.get("stop_reason"),
            "stop_sequence": None,
            "usage": usage or _in_convention(message.usage or Usage()),
        }
        return {"message": answer} | ({"requestId": said["request"]} if said.get("request") else {})

    def end(self) -> Iterator[bytes]:
        """Titles stand last: the client reads the ends of its files."""
        if self.facts.title and self.facts.title_by in ("user", "ai") and self.written:
            names = {"user": ("custom-title", "customTitle"), "ai": ("ai-title", "aiTitle")}
            type_, field = names[self.facts.title_by]
            line = {"type": type_, field: self.facts.title, "sessionId": self.session_id}
            yield codec.encode(line) + b"\n"
        if self.facts.agent_name and self.written:
            line = {"type": "agent-name", "agentName": self.facts.agent_name, "sessionId": self.session_id}
            yield codec.encode(line) + b"\n"


def _in_convention(usage: Usage) -> dict[str, int]:
    """Tokens of another agent as the API tells them."""
    return {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
    }
