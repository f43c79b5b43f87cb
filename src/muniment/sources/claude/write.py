"""Rounds to a Claude Code file that the real client resumes.

Sessions of Claude Code get their own records back: ids, parents, times, signatures, usage. Sessions of other
agents, and documents without their rounds, get ids made from the session id and the place of the record, in
one straight chain. Grants of permission are never written.
"""

from __future__ import annotations

import base64
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import structs

from muniment.model import (
    Block,
    Compaction,
    Event,
    Facts,
    Loss,
    Media,
    Message,
    Ref,
    Round,
    Text,
    Thinking,
    Tool,
    Unknown,
    codec,
)
from muniment.model.codec import mapping
from muniment.sources.base import NAMESPACE, MediaBytes, Move
from muniment.sources.claude.read import BOUNDARY, EARLIER_SUMMARY, SHOWN_SYSTEM

GRANTS: dict[str, dict[str, list[str]]] = {"attachment command_permissions": {"allowedTools": []}}
"""Records that grant something, and what is written in place of it: others hang on them, so they stay, empty."""
NO_TIME = "1970-01-01T00:00:00.000Z"
VERSION = "2.1.200"
"""Written where the session does not tell the client's version."""


class Item(msgspec.Struct):
    """One content part on its way into a record."""

    ref: Ref
    role: str
    """user, assistant, system, attachment, summary, title: what kind of record holds it."""
    part: Any
    message: Message | None = None
    flags: dict[str, Any] = {}


def write(rounds: Iterable[Round], facts: Facts, move: Move, media: MediaBytes, losses: list[Loss]) -> Iterator[bytes]:
    """The lines of a resumable file."""
    writer = Writer(facts, move, media)
    for round_ in rounds:
        yield from writer.round(round_)
    yield from writer.end()
    losses += [Loss(where, what, why, count) for (where, what, why), count in sorted(writer.losses.items())]


class Writer:
    """What must be known from one round to the next."""

    def __init__(self, facts: Facts, move: Move, media: MediaBytes) -> None:
        self.facts = facts
        self.native = False
        """Whether the records of the round come from a Claude Code file and can be given back as they were."""
        self.session_id = move.session_id or facts.native_id or facts.session_id
        self.old_id = facts.native_id or facts.session_id
        self.move = move
        self.media = media
        self.losses: Counter[tuple[str, str, str]] = Counter()
        self.cwd = self._folder(facts.first_cwd or facts.cwd or "/")
        self.branch = ""
        self.version = VERSION
        self.dropped: dict[str, str | None] = {}
        self.written: set[str] = set()
        self.last: str | None = None
        self.at = facts.started or NO_TIME
        self.minted = 0
        self.answer_id = ""
        self.results: set[int] = set()
        """Where tool results of the round stand: words beside one belong to its record."""

    # -- rounds to items

    def round(self, round_: Round) -> Iterator[bytes]:
        items: list[Item] = []
        blocks = list(round_.blocks())
        self.native = self.facts.source == "claude-code" and any(block.ref.length for block in blocks)
        self.results = {block.result.offset for block in blocks if isinstance(block, Tool) and block.result}
        for message in round_.messages:
            if message.role == "assistant" or not message.queued:
                self._settings(message, items)
            items += self._items(message)
        if self.native:
            items.sort(key=lambda item: (item.ref.offset, item.role == "user" and not _is_result(item.part)))
        for group in _records(items):
            if line := self._line(group):
                yield codec.encode(line) + b"\n"

    def _settings(self, message: Message, items: list[Item]) -> None:
        """Folder, branch and version hold from the message on that names them."""
        if message.cwd or message.branch or message.client:
            changed = {"cwd": message.cwd, "branch": message.branch, "client": message.client}
            offset = min((b.ref.offset for b in message.blocks if b.ref.length), default=0)
            items.append(Item(Ref(offset=offset), "settings", changed))

    def _items(self, message: Message) -> Iterator[Item]:
        """What a message is made of; the results of its calls follow it."""
        answers: list[Item] = []
        shared = None if self.native or message.role == "assistant" else self._mint(Ref(at=message.at))
        self.answer_id = message.id if self.native and message.id else self._answer_id(message)
        for block in message.blocks:
            match block:
                case Tool():
                    if block.name is not None:
                        yield self._item(block.ref, "assistant", self._call(block), message)
                    if block.output is not None:
                        answers.append(self._result(block, message))
                case Event() | Compaction():
                    yield from self._event(block, message)
                case Thinking():
                    yield from self._thinking(block, message)
                case Unknown() if block.damage:
                    self._lose("damaged line", "only a restore gives it back", block.ref)
                case _:
                    yield self._part(block, message, shared)
        yield from answers

    def _item(self, ref: Ref, role: str, part: Any, message: Message, flags: dict[str, Any] | None = None) -> Item:
        return Item(self._ref(ref), role, part, message, (flags or {}) | {"answer": self.answer_id})

    def _ref(self, ref: Ref) -> Ref:
        """The record's own place, or a new one where it has none."""
        return ref if self.native and ref.id else self._mint(ref)

    def _mint(self, ref: Ref) -> Ref:
        """An id made from the session and the place, so that writing twice gives the same file."""
        self.minted += 1
        made = str(uuid.uuid5(NAMESPACE, f"{self.old_id}:{ref.offset}:{self.minted}"))
        return Ref(offset=ref.offset, length=ref.length, id=made, parent=ref.parent or "", at=ref.at, plain=ref.plain)

    def _answer_id(self, message: Message) -> str:
        """One id per answer, the same on all its parts."""
        self.minted += 1
        return "msg_" + uuid.uuid5(NAMESPACE, f"{self.old_id}:{message.id or self.minted}").hex

    def _part(self, block: Block, message: Message, shared: Ref | None) -> Item:
        attached = message.queued and self.native and block.ref.offset not in self.results
        role = "attachment" if attached else message.role
        item = self._item(block.ref, role, self._content(block), message, {"plain": block.ref.plain})
        if shared:
            item.ref = shared
        return item

    def _content(self, block: Block) -> Any:
        match block:
            case Text(text):
                return {"type": "text", "text": text}
            case Media():
                return self._image(block)
            case Unknown(_, value):
                return value if value is not None else {"type": "text", "text": ""}
            case _:
                raise AssertionError(f"not a content part: {block!r}")

    def _image(self, block: Media) -> dict[str, Any]:
        data = base64.b64encode(self.media(block.name)).decode("ascii")
        kind = "image" if block.media_type.startswith("image/") else "document"
        return {"type": kind, "source": {"type": "base64", "media_type": block.media_type, "data": data}}

    def _thinking(self, block: Thinking, message: Message) -> Iterator[Item]:
        if not block.signature or not self.native:
            why = "a signature is valid only for its own provider" if block.signature else "its signature is not there"
            self._lose("thinking", why, block.ref)
        elif block.redacted:
            part = {"type": "redacted_thinking", "data": block.signature}
            yield self._item(block.ref, "assistant", part, message)
        else:
            part = {"type": "thinking", "thinking": block.text, "signature": block.signature}
            yield self._item(block.ref, "assistant", part, message)

    def _call(self, tool: Tool) -> dict[str, Any]:
        value = tool.input if self.native or mapping(tool.input) else {"input": tool.input}
        return {"type": "tool_use", "id": tool.id, "name": tool.name, "input": value}

    def _result(self, tool: Tool, message: Message) -> Item:
        parts = [self._content(part) for part in tool.output or ()]
        plain = tool.result.plain if tool.result else all(isinstance(p, Text) for p in tool.output or ())
        content: Any = "".join(part.get("text", "") for part in parts) if plain else parts
        part: dict[str, Any] = {"tool_use_id": tool.id, "type": "tool_result", "content": content}
        if tool.is_error is not None:
            part["is_error"] = tool.is_error
        flags = {"toolUseResult": {"agentId": tool.sidechain}} if tool.sidechain else {}
        return self._item(tool.result or Ref(at=message.at), "user", part, message, flags)

    # -- events

    def _event(self, block: Event | Compaction, message: Message) -> Iterator[Item]:
        ref = block.ref
        if isinstance(block, Compaction):
            if not self.native:
                yield self._new_boundary()
            yield self._compaction(block, message)
        elif self.native and block.kind in GRANTS:
            self._lose(f"event: {block.kind}", _why_left_out(block.kind), ref)
            yield Item(ref, "attachment", mapping(block.detail) | GRANTS[block.kind], message)
        elif self.native and block.kind.startswith("attachment "):
            yield Item(ref, "attachment", block.detail, message)
        elif self.native and block.kind == BOUNDARY:
            yield self._boundary(block)
        elif self.native and block.kind == "last-prompt" and block.detail:
            yield Item(ref, "leaf", block.detail)
        elif self.native and block.text:
            yield self._shown(block, message)
        elif self.native and ref.id and (record := _stub(block.kind)):
            yield Item(ref, record.pop("type"), record)
        else:
            self._drop(ref)
            self._lose(f"event: {block.kind}", _why_left_out(block.kind), ref)

    def _shown(self, block: Event, message: Message) -> Item:
        kind = block.kind.replace(" ", "_")
        if block.kind == EARLIER_SUMMARY:
            return Item(block.ref, "summary", {"summary": block.text, "leafUuid": block.detail})
        if block.kind == "API error":
            return Item(block.ref, "system", {"subtype": "api_error", "error": {"message": block.text}})
        if kind in SHOWN_SYSTEM:
            return Item(block.ref, "system", {"subtype": kind, "content": block.text})
        flags: dict[str, Any] = {"plain": block.ref.plain} | ({"isMeta": True} if block.kind == "injected" else {})
        return Item(block.ref, "user", {"type": "text", "text": block.text}, message, flags)

    def _boundary(self, block: Event) -> Item:
        detail = mapping(block.detail)
        part = {"subtype": "compact_boundary", "content": detail.get("text") or "Conversation compacted"}
        part |= {"compactMetadata": detail.get("metadata") or {"trigger": "manual", "preTokens": 0}}
        return Item(block.ref, "system", part | {"logicalParentUuid": detail.get("logical_parent")})

    def _new_boundary(self) -> Item:
        """A cut in a session that was not Claude's: what came before it is out of the model's sight."""
        ref = structs.replace(self._mint(Ref()), parent=None)
        part = {"subtype": "compact_boundary", "content": "Conversation compacted"}
        part |= {"compactMetadata": {"trigger": "manual", "preTokens": 0}, "logicalParentUuid": None}
        return Item(ref, "system", part)

    def _compaction(self, block: Compaction, message: Message) -> Item:
        flags = {"plain": block.ref.plain or not self.native}
        flags |= {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
        return self._item(block.ref, "user", {"type": "text", "text": block.text}, message, flags)

    def _drop(self, ref: Ref) -> None:
        if ref.id:
            self.dropped[ref.id] = ref.parent

    def _lose(self, what: str, why: str, ref: Ref) -> None:
        self.losses["conversation" if what == "thinking" else "around it", what, why] += 1
        if what == "thinking":
            self._drop(ref)

    # -- items to lines

    def _line(self, group: list[Item]) -> dict[str, Any] | None:
        """The record that holds these items."""
        first = group[0]
        if first.role == "settings":
            self._apply(first.part)
            return None
        if first.role == "leaf":
            detail = mapping(first.part)
            if detail["leaf"] not in self.written and not detail.get("explicit"):
                return None
            explicit = {"explicit": True} if detail.get("explicit") else {}
            return {"type": "last-prompt", "leafUuid": detail["leaf"], **explicit, "sessionId": self.session_id}
        if first.role == "summary":
            return {"type": "summary", **first.part}
        return self._chain_record(first, group)

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
        self.at = ref.at or (message.at if message else None) or self.at
        kind = first.role
        record: dict[str, Any] = {"parentUuid": self._parent(ref)}
        if kind == "system":
            record |= (
                {"logicalParentUuid": first.part["logicalParentUuid"]} if "logicalParentUuid" in first.part else {}
            )
        sidechain = self.facts.sidechain or (message.sidechain if message else None)
        record |= {"isSidechain": bool(sidechain)}
        record |= {"agentId": self.facts.sidechain} if self.facts.sidechain else {}
        record |= {"type": kind} | self._payload(kind, group)
        record |= {"uuid": ref.id, "timestamp": self.at, "userType": "external"}
        record |= {"cwd": self.cwd, "sessionId": self.session_id, "version": self.version, "gitBranch": self.branch}
        self.last = ref.id
        self.written.add(ref.id or "")
        return record

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
            return {name: value for name, value in first.part.items() if name != "logicalParentUuid"}
        if kind == "attachment":
            return {"attachment": self._attachment(group)}
        parts = [item.part for item in group]
        if kind == "assistant":
            return self._answer(first, parts)
        plain = first.flags.get("plain") and len(parts) == 1 and mapping(parts[0]).get("type") == "text"
        content = parts[0]["text"] if plain else parts
        flags = {name: value for name, value in first.flags.items() if name not in ("plain", "answer")}
        return {"message": {"role": "user", "content": content}, **flags}

    def _attachment(self, group: list[Item]) -> dict[str, Any]:
        """A queued prompt stands in its attachment; other attachments come back as they were."""
        detail = next((mapping(i.part) for i in group if "plain" not in i.flags), {"type": "queued_command"})
        texts = [item for item in group if "plain" in item.flags]
        if not texts:
            return detail
        plain = texts[0].flags.get("plain")
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
            "id": first.flags["answer"],
            "type": "message",
            "role": "assistant",
            "content": content,
            "stop_reason": said.get("stop_reason"),
            "stop_sequence": None,
            "usage": usage or _no_usage(message),
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


def _why_left_out(kind: str) -> str:
    if kind in GRANTS or kind == "permission-mode":
        return "permissions are never restored"
    if kind.startswith("file-history"):
        return "files can be rewound only after a restore, which brings their backups"
    return "says nothing to the conversation"


def _is_result(part: Any) -> bool:
    return mapping(part).get("type") == "tool_result"


def _stub(kind: str) -> dict[str, Any]:
    """A record that carries nothing but its place in the chain: others hang on it."""
    if kind == "progress":
        return {"type": "progress", "data": {"type": "progress"}}
    if kind.startswith("system "):
        return {"type": "system", "subtype": kind.removeprefix("system ").replace(" ", "_"), "content": ""}
    return {}


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


def _no_usage(message: Message) -> dict[str, int]:
    usage = message.usage
    return {
        "input_tokens": usage.input if usage else 0,
        "output_tokens": usage.output if usage else 0,
        "cache_creation_input_tokens": usage.cache_write if usage else 0,
        "cache_read_input_tokens": usage.cache_read if usage else 0,
    }
