"""Claude Code records to rounds.

One API answer is split over several records that share `message.id`; parallel tool results hang off the path;
prompts typed while the agent works come as attachments. The reader takes records in file order, groups answers
by message id and lets results find their calls, so it needs only the open round in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from muniment.model import Block, Compaction, Event, Facts, Media, Ref, Round, Text, Thinking, Tool, Unknown, Usage
from muniment.model.codec import mapping
from muniment.sources.base import MAX_LINE_BYTES, Record
from muniment.sources.builder import Draft, RoundBuilder, add_usage, quiet
from muniment.sources.claude import prompts, records
from muniment.sources.claude.records import AgentResult, ApiMessage, Line

SHOWN_SYSTEM = {"local_command", "away_summary", "informational", "bridge_status"}
"""System records whose content a reader wants to see."""

BOUNDARY = "compaction boundary"
EARLIER_SUMMARY = "summary of an earlier session"


def read(lines: Iterable[Record], facts: Facts) -> Iterator[Round]:
    """The rounds of a transcript, the last one still open."""
    reader = Reader(facts)
    for record in lines:
        if record.torn and not _complete(record):
            continue
        if closed := reader.take(record):
            yield closed
    yield reader.close()


def _complete(record: Record) -> bool:
    """A last line without its newline counts once it is whole."""
    try:
        records.decode(record.raw)
    except ValueError:
        return False
    return True


class Reader:
    """The open round, and what must be known to read the next record."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.own_id = facts.native_id or facts.session_id
        self.round = RoundBuilder(facts.rounds + 1, 0)
        self.begun = False
        self.settings = (facts.cwd, facts.branch, facts.client)
        self.linked = {(link.kind, link.session) for link in facts.links}
        self.sidechain_of: dict[str, str] = {}
        self.seen: dict[str, int] = {}
        self.latest = Line("")
        self.take_type: dict[str, Callable[[Line, Ref], Round | None]] = {
            "user": self._user,
            "assistant": self._assistant,
            "attachment": self._attachment,
            "system": self._system,
        }

    def take(self, record: Record) -> Round | None:
        """Read one record; gives the round that it closes, if it does."""
        if not self.begun:
            self.begun, self.round.offset = True, record.offset
        if not record.raw.strip():
            if record.length > MAX_LINE_BYTES:
                self._damaged(record, f"a line of {record.length} bytes is kept and not read")
            return None
        try:
            line = records.decode(record.raw)
        except ValueError as error:
            self._damaged(record, str(error))
            return None
        ref = Ref(record.offset, record.length, line.uuid, line.parent, line.timestamp)
        if line.uuid:
            fingerprint = hash((record.length, record.raw[-256:]))
            if self.seen.get(line.uuid) == fingerprint:
                self.round.add(quiet("repeated record", ref))
                return None
            self.seen[line.uuid] = fingerprint
        if line.cwd:
            self.latest = line
        self._note_links(line, ref)
        return self.take_type.get(line.type, self._metadata)(line, ref)

    def close(self) -> Round:
        """The open round as it stands."""
        if self.round.waiting:
            at = next((block.ref.at for block in self.round.waiting if block.ref.at), None)
            self.round.message("assistant", at=at, **self._changes(self.latest))
        return self.round.close()

    def _damaged(self, record: Record, what: str) -> None:
        self.round.add(Unknown(kind="damaged", damage=what, ref=Ref(record.offset, record.length)))

    def _note_links(self, line: Line, ref: Ref) -> None:
        """Traces of another session: copied history, a fork, a cleared or branched conversation."""
        if line.session_id and line.session_id != self.own_id:
            self._link("parent" if self.facts.sidechain else "copied from", line.session_id, None, ref)
        if origin := mapping(line.forked_from):
            record = origin.get("messageUuid")
            self._link("fork", str(origin.get("sessionId")), record if isinstance(record, str) else None, ref)
        if line.process_session and line.process_session != line.session_id:
            self._link("continues", line.process_session, None, ref)

    def _link(self, kind: str, session: str, record: str | None, ref: Ref) -> None:
        if (kind, session) not in self.linked:
            self.linked.add((kind, session))
            detail = {"kind": kind, "session": session} | ({"record": record} if record else {})
            self.round.add(quiet("link", Ref(ref.offset, ref.length), detail))

    # -- user records

    def _user(self, line: Line, ref: Ref) -> Round | None:
        content = line.message.content if line.message else ""
        if isinstance(content, str):
            ref = _plain(ref)
            content = [{"type": "text", "text": content}]
        if line.sidechain and not self.facts.sidechain:
            self._sidechain_user(line, content, ref)
        elif any(_type_of(part) == "tool_result" for part in content):
            self._results(line, content, ref)
        elif line.summary_of_compaction:
            for part in content:
                self.round.add(self._compaction_part(part, ref))
        elif kind := self._injected(line, content):
            for part in content:
                self.round.add(self._event_part(kind, part, ref))
        else:
            return self._prompt(line, content, ref)
        return None

    def _injected(self, line: Line, content: list[Any]) -> str | None:
        """The kind of an injected record; None if any of its texts is a human's."""
        if line.meta:
            return "injected"
        texts = [str(mapping(part).get("text", "")) for part in content if _type_of(part) == "text"]
        if len(texts) < len(content) or not texts:
            return None
        kinds = [prompts.injected_kind(text) for text in texts]
        return kinds[0] if all(kinds) else None

    def _prompt(self, line: Line, content: list[Any], ref: Ref) -> Round | None:
        closed = None
        if self.round.prompted:
            closed = self.round.close()
            self.round = RoundBuilder(self.round.number + 1, ref.offset)
            self.seen = {ref.id: self.seen[ref.id]} if ref.id in self.seen else {}
            self.sidechain_of = {}
        self.round.prompted, self.round.parent = True, ref.parent
        draft = self.round.message("user", at=ref.at, **self._changes(line))
        draft.blocks.extend(self._prompt_part(part, ref) for part in content)
        words = " ".join(block.text for block in draft.blocks if isinstance(block, Text))
        if title := prompts.command_line(words):
            draft.blocks.append(quiet("title", Ref(ref.offset, ref.length), {"title": title, "by": "prompt"}))
        return closed

    def _prompt_part(self, part: Any, ref: Ref) -> Block:
        """A part of a prompt; an editor's note beside the human's words is no part of them."""
        block = self._part(part, ref)
        kind = prompts.injected_kind(block.text) if isinstance(block, Text) else None
        return Event(kind=kind, text=block.text, ref=ref) if isinstance(block, Text) and kind else block

    def _results(self, line: Line, content: list[Any], ref: Ref) -> None:
        agent = line.result.agent_id if isinstance(line.result, AgentResult) else None
        for part in content:
            if _type_of(part) == "tool_result":
                self._result(mapping(part), ref, agent)
            else:
                self._beside_result(part, ref)

    def _beside_result(self, part: Any, ref: Ref) -> None:
        """Words beside a result are a person's who spoke up while the tool ran, unless the program put them there."""
        block = self._part(part, ref)
        kind = prompts.injected_kind(block.text) if isinstance(block, Text) else None
        if isinstance(block, Text) and kind is None:
            self.round.message("user", at=ref.at, queued=True).blocks.append(block)
        else:
            self.round.add(self._event_part(kind or "beside a result", part, ref))

    def _result(self, part: dict[str, Any], ref: Ref, agent: str | None) -> None:
        content = part.get("content")
        if isinstance(content, str):
            ref = _plain(ref)
            output: tuple[Any, ...] = (Text(content),)
        else:
            parts = (
                cast("list[Any]", content) if isinstance(content, list) else [content] if content is not None else []
            )
            output = tuple(self._output_part(p) for p in parts)
        is_error = part.get("is_error")
        self.round.result(
            str(part.get("tool_use_id")),
            output=output,
            is_error=is_error if isinstance(is_error, bool) else None,
            sidechain=agent,
            result=ref,
        )

    def _output_part(self, part: Any) -> Text | Media | Unknown:
        """What a tool gave back is text, media, or kept as it came."""
        block = self._part(part, None)
        known = isinstance(block, (Text, Media, Unknown))
        return block if known else Unknown(kind=str(_type_of(part)), value=part)

    def _sidechain_user(self, line: Line, content: list[Any], ref: Ref) -> None:
        if any(_type_of(part) == "tool_result" for part in content):
            self._results(line, content, ref)
            self._sidechain_id(line)
            return
        draft = self.round.message("user", at=ref.at, sidechain=self._sidechain_id(line))
        draft.blocks.extend(self._part(part, ref) for part in content)

    def _sidechain_id(self, line: Line) -> str:
        """Old files give inline subagents no id: the first record of the chain names it."""
        found = line.agent_id or self.sidechain_of.get(line.parent or "") or line.uuid or "sidechain"
        if line.uuid:
            self.sidechain_of[line.uuid] = found
        return found

    # -- assistant records

    def _assistant(self, line: Line, ref: Ref) -> Round | None:
        message = line.message or ApiMessage()
        inline = self._sidechain_id(line) if line.sidechain and not self.facts.sidechain else None
        key = message.id or line.uuid or f"at {ref.offset}"
        draft = self.round.by_id.get((key, inline))
        if draft is None:
            changes = {} if inline else self._changes(line)
            draft = self.round.answer(key, inline, at=ref.at, id=message.id, model=message.model, **changes)
        self._about_answer(draft, line, message, ref)
        content = message.content
        if isinstance(content, str):
            ref = _plain(ref)
            content = [{"type": "text", "text": content}]
        for part in content:
            self._answer_part(draft, part, ref)

    def _about_answer(self, draft: Draft, line: Line, message: ApiMessage, ref: Ref) -> None:
        """What the API said beside the content; parts that say otherwise than the last are kept apart."""
        said = {"usage": message.usage, "stop_reason": message.stop_reason, "request": line.request}
        said = {name: value for name, value in said.items() if value is not None}
        if draft.raw is not None and said != draft.raw and ref.id:
            draft.parts[ref.id] = said
        elif draft.raw is None:
            draft.raw = said
        if message.usage:
            add_usage(draft, usage_of(message.usage))

    def _answer_part(self, draft: Draft, part: Any, ref: Ref) -> None:
        if _type_of(part) == "tool_use":
            call = mapping(part)
            tool = Tool(id=str(call.get("id")), name=str(call.get("name")), input=call.get("input"), ref=ref)
            self.round.call(draft, tool)
        else:
            draft.blocks.append(self._part(part, ref))

    # -- everything else

    def _attachment(self, line: Line, ref: Ref) -> None:
        detail = mapping(line.attachment)
        kind = str(detail.get("type"))
        if kind == "queued_command" and _from_human(detail):
            prompt = detail.get("prompt")
            if isinstance(prompt, str):
                ref = _plain(ref)
            parts = cast("list[Any]", prompt) if isinstance(prompt, list) else [{"type": "text", "text": str(prompt)}]
            draft = self.round.message("user", at=ref.at, queued=True)
            draft.blocks.extend(self._part(part, ref) for part in parts)
            detail = {name: value for name, value in detail.items() if name != "prompt"}
        self.round.add(quiet(f"attachment {kind}", ref, detail))

    def _system(self, line: Line, ref: Ref) -> None:
        kind = line.subtype or "system"
        text = line.content if isinstance(line.content, str) else ""
        if kind == "compact_boundary":
            detail = {"metadata": line.compaction, "logical_parent": line.logical_parent, "text": text}
            self.round.add(quiet(BOUNDARY, ref, detail))
        elif kind == "api_error":
            self.round.add(Event(kind="API error", text=_error_text(line.error), ref=ref))
        elif kind in SHOWN_SYSTEM and text:
            self.round.add(Event(kind=kind.replace("_", " "), text=text, ref=ref))
        else:
            self.round.add(quiet(f"system {kind.replace('_', ' ')}", ref))

    def _metadata(self, line: Line, ref: Ref) -> None:
        block: Event = quiet(line.type, ref)
        if line.type == "custom-title" and line.custom_title:
            block = quiet("title", ref, {"title": line.custom_title, "by": "user"})
        elif line.type == "ai-title" and line.ai_title:
            block = quiet("title", ref, {"title": line.ai_title, "by": "ai"})
        elif line.type == "agent-name" and line.agent_name:
            block = quiet("agent-name", ref, line.agent_name)
        elif line.type == "summary" and line.summary:
            block = Event(kind=EARLIER_SUMMARY, text=line.summary, detail=line.leaf, ref=ref)
        elif line.type == "last-prompt" and line.leaf:
            block = quiet("last-prompt", ref, {"leaf": line.leaf, "explicit": bool(line.explicit)})
        elif line.type == "queue-operation" and isinstance(line.content, str):
            block = quiet("queue-operation", ref, {"operation": line.operation, "content": line.content})
        elif line.type == "tag" and line.tag is not None:
            block = quiet("tag", ref, line.tag)
        elif line.type == "pr-link" and line.url:
            block = quiet("pr-link", ref, line.url)
        self.round.add(block)

    # -- parts of content

    def _part(self, part: Any, ref: Ref | None) -> Any:
        """One content part as a block; parts inside a tool result carry no ref of their own."""
        where = ref or Ref()
        if not isinstance(part, dict):
            return Unknown(kind="part", value=part, ref=where)
        part = mapping(cast("Any", part))
        kind = part.get("type")
        if kind == "text" and isinstance(text := part.get("text"), str):
            return Text(text, where)
        signature = part.get("signature")
        if kind == "thinking" and isinstance(text := part.get("thinking"), str) and isinstance(signature, str | None):
            return Thinking(text, signature, ref=where)
        if kind == "redacted_thinking" and isinstance(data := part.get("data"), str):
            return Thinking("", data, redacted=True, ref=where)
        if kind in ("image", "document") and (media := self._media(part, where)):
            return media
        return Unknown(kind=str(kind), value=part, ref=where)

    def _media(self, part: dict[str, Any], ref: Ref) -> Media | Unknown | None:
        """An image or document that holds nothing but base64; anything richer stays as it came."""
        source = mapping(part.get("source"))
        if len(part) != 2 or source.get("type") != "base64" or set(source) != {"type", "media_type", "data"}:
            return None
        if not isinstance(data := source["data"], str) or not isinstance(media_type := source["media_type"], str):
            return None
        made = self.round.add_media(data, media_type, ref)
        return made if isinstance(made, Media) else None

    def _event_part(self, kind: str, part: Any, ref: Ref) -> Block:
        block = self._part(part, ref)
        return Event(kind=kind, text=block.text, ref=ref) if isinstance(block, Text) else block

    def _compaction_part(self, part: Any, ref: Ref) -> Block:
        block = self._part(part, ref)
        return Compaction(text=block.text, ref=ref) if isinstance(block, Text) else block

    def _changes(self, line: Line) -> dict[str, str]:
        """Working folder, branch and program version, where they differ from before."""
        now = (line.cwd, line.branch, line.version)
        changed = {
            name: value
            for name, value, before in zip(("cwd", "branch", "client"), now, self.settings, strict=True)
            if value and value != before
        }
        if changed:
            self.settings = tuple(new or old for new, old in zip(now, self.settings, strict=True))  # pyright: ignore[reportAttributeAccessIssue]
        return changed


def _plain(ref: Ref) -> Ref:
    return Ref(ref.offset, ref.length, ref.id, ref.parent, ref.at, plain=True)


def usage_of(usage: dict[str, Any]) -> Usage:
    """Anthropic counts what was not cached as input; so do we."""

    def count(name: str) -> int:
        value = usage.get(name)
        return value if type(value) is int else 0

    return Usage(
        input=count("input_tokens"),
        output=count("output_tokens"),
        cache_read=count("cache_read_input_tokens"),
        cache_write=count("cache_creation_input_tokens"),
    )


def _type_of(part: Any) -> Any:
    return mapping(part).get("type")


def _from_human(detail: dict[str, Any]) -> bool:
    """A queued command is a person's unless it says that it is a notification."""
    kind = mapping(detail.get("origin")).get("kind")
    return detail.get("commandMode", "prompt") == "prompt" and kind in (None, "human")


def _error_text(error: Any) -> str:
    """The shortest true account of an API error."""
    if isinstance(error, dict):
        said = mapping(cast("Any", error))
        for name in ("message", "formatted", "error", "status", "type", "cause"):
            if found := said.get(name):
                return _error_text(found)
        return "connection error"
    return str(error or "unknown error")
