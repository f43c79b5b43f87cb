"""One round of a Copilot session: its events to messages and blocks.

A tool call is told twice, by the message that asks for it and when it starts: it is one block, under its id. A
reader knows the facts before its round and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from msgspec import structs

from muniment.model import Block, Facts, Media, Ref, Round, Text, Thinking, Tool, Unknown, Usage, codec
from muniment.sources.builder import Draft, RoundBuilder, add_usage, count, quiet
from muniment.sources.copilot import events, timeline
from muniment.sources.copilot.records import Line, listing, source_of, subagent_of, text

_REPEATED = frozenset({"content", "toolRequests", "reasoningText", "reasoningOpaque", "messageId", "model"})
"""Fields of an answer that its blocks hold."""

_CONTEXT = frozenset({"session.start", "session.resume", "session.context_changed"})


class RoundReader:
    """One round being read."""

    def __init__(self, facts: Facts, offset: int) -> None:
        self.round = RoundBuilder(facts.rounds + 1, offset)
        self.model = facts.model
        self.told = {"cwd": facts.cwd, "branch": facts.branch, "client": facts.client}
        self.now = dict(self.told)
        self.counted: dict[str | None, dict[str, Any]] = {}
        """Tokens of a request whose answer is still to come, by subagent."""

    def take(self, line: Line, ref: Ref) -> None:
        """Read one event."""
        if line.type in _CONTEXT:
            self.now |= {name: value for name, value in events.settings(line).items() if value}
            self.model = text(line.data, "selectedModel") or self.model
        self.take_type.get(line.type, RoundReader._event)(self, line, ref)

    def damaged(self, what: str, ref: Ref) -> None:
        """A line that cannot be read keeps its place."""
        self.round.add(Unknown(kind="damaged", damage=what, ref=ref))

    def close(self) -> Round:
        """The round as it stands; what changed behind its last message is told with that."""
        if self.round.drafts:
            self.round.drafts[-1].fields |= self._changed()
        return self.round.close()

    # -- what was said

    def _user(self, line: Line, ref: Ref) -> None:
        """A human's words, a task for a subagent, or what the program put there."""
        source, agent = source_of(line), subagent_of(line)
        words = text(line.data, "content") or ""
        if source and not agent:
            self.round.add(quiet(f"injected by {source}", ref, words or text(line.data, "transformedContent")))
            return
        queued = not agent and self.round.prompted
        self.round.prompted = self.round.prompted or not agent
        draft = self._message("user", ref.at, sidechain=agent, **({"queued": True} if queued else {}))
        draft.blocks.append(Text(words, ref))
        draft.blocks += [self._attached(entry, ref) for entry in listing(line.data, "attachments")]

    def _attached(self, entry: dict[str, Any], ref: Ref) -> Block:
        data, type_ = text(entry, "data"), text(entry, "mimeType")
        if data and type_:
            return self.round.add_media(data, type_, ref)
        return Unknown(kind=str(entry.get("type")), value=entry, ref=ref)

    def _answer(self, line: Line, ref: Ref) -> None:
        data, agent = line.data, subagent_of(line)
        draft = self._draft(line, ref)
        draft.raw = {name: value for name, value in data.items() if name not in _REPEATED} or None
        thoughts = _thoughts(data, ref)
        draft.blocks += thoughts
        if said := text(data, "content"):
            draft.blocks.append(Text(said, ref))
        requests = listing(data, "toolRequests")
        for request in requests:
            self._call(draft, request, "name", ref)
        if not (thoughts or said or requests):
            draft.blocks.append(quiet("empty message", ref))
        self._count(draft, data, self.counted.pop(agent, None))

    def _count(self, draft: Draft, data: dict[str, Any], record: dict[str, Any] | None) -> None:
        """The tokens of the request, else those of the answer, which is all that older versions tell."""
        if record:
            draft.raw = (draft.raw or {}) | {"usage": record}
            add_usage(draft, usage_of(record))
        elif type(data.get("outputTokens")) is int:
            add_usage(draft, usage_of(data))

    def _reasoning(self, line: Line, ref: Ref) -> None:
        words = text(line.data, "content") or text(line.data, "text") or ""
        self._draft(line, ref).blocks.append(Thinking(words, ref=ref))

    # -- tools

    def _call(self, draft: Draft, asked: dict[str, Any], name: str, ref: Ref) -> None:
        call_id = text(asked, "toolCallId") or f"call-{ref.id}-{len(draft.blocks)}"
        self.round.call(draft, Tool(call_id, text(asked, name), asked.get("arguments"), ref=ref))

    def _start(self, line: Line, ref: Ref) -> None:
        """A call that no message asked for was made by the human or the program."""
        self.round.add(events.event(line, ref))
        call_id = text(line.data, "toolCallId")
        if call_id and call_id not in self.round.calls:
            self._call(self._message("assistant", ref.at, sidechain=subagent_of(line)), line.data, "toolName", ref)

    def _listed(self, line: Line, ref: Ref) -> None:
        """A call in a timeline: it is told when it is over, behind the words that it came with."""
        if (text(line.data, "toolCallId") or "") not in self.round.calls:
            last = self.round.drafts[-1] if self.round.drafts else None
            draft = last if last and last.role == "assistant" else self._message("assistant", ref.at, model=self.model)
            self._call(draft, line.data, "toolName", ref)
        if "result" in line.data:
            self._complete(line, ref)

    def _complete(self, line: Line, ref: Ref) -> None:
        call_id, success = text(line.data, "toolCallId") or "", line.data.get("success")
        failed = None if not isinstance(success, bool) else not success
        place = Ref(ref.offset, ref.length, ref.id, ref.parent, ref.at, plain=True)
        self.round.result(call_id, output=tuple(self._given_back(line)), is_error=failed, result=place)
        draft, _ = self.round.calls.get(call_id, (None, 0))
        if draft and draft.role == "assistant" and not draft.fields.get("model"):
            draft.fields["model"] = text(line.data, "model")

    def _given_back(self, line: Line) -> list[Text | Media | Unknown]:
        """What the model saw of a result; longer forms for people stay in the evidence."""
        result, error = codec.mapping(line.data.get("result")), codec.mapping(line.data.get("error"))
        said = text(result, "content")
        if said is None:
            said = text(error, "message")
        parts: list[Text | Media | Unknown] = [] if said is None else [Text(said)]
        for entry in listing(result, "contents"):
            data, type_ = text(entry, "data"), text(entry, "mimeType")
            if data and type_:
                parts.append(self.round.add_media(data, type_, Ref()))
            elif entry.get("type") != "text":
                parts.append(Unknown(kind=str(entry.get("type")), value=entry))
        return parts

    def _spawned(self, line: Line, ref: Ref) -> None:
        draft, position = self.round.calls.get(text(line.data, "toolCallId") or "", (None, 0))
        tool = draft.blocks[position] if draft else None
        if draft and isinstance(tool, Tool):
            draft.blocks[position] = structs.replace(tool, sidechain=tool.id)
        self._event(line, ref)

    # -- around it

    def _event(self, line: Line, ref: Ref) -> None:
        self.round.add(events.event(line, ref))

    def _compacted(self, line: Line, ref: Ref) -> None:
        self.round.add(events.compaction(line, ref))

    def _usage(self, line: Line, ref: Ref) -> None:
        said = codec.mapping(line.data.get("usage"))
        self.counted[text(said, "parentToolCallId") or subagent_of(line)] = said
        self.round.add(quiet("session usage record", ref, said or None))

    def _model(self, line: Line, ref: Ref) -> None:
        self.model = text(line.data, "newModel") or self.model
        self._event(line, ref)

    def _asset(self, line: Line, ref: Ref) -> None:
        data, type_ = text(line.data, "data"), text(line.data, "mimeType")
        self.round.add(self.round.add_media(data, type_, ref) if data and type_ else events.event(line, ref))

    # -- messages

    def _draft(self, line: Line, ref: Ref) -> Draft:
        """The answer that an event belongs to."""
        agent = subagent_of(line)
        key = text(line.data, "messageId") or ref.id or str(ref.offset)
        known = self.round.by_id.get((key, agent))
        if known:
            return known
        model = text(line.data, "model") or (None if agent else self.model)
        fields = {"at": ref.at, "id": text(line.data, "messageId"), "model": model}
        return self.round.answer(key, agent, **fields, **self._changed())

    def _message(self, role: str, at: str | None, **fields: Any) -> Draft:
        return self.round.message(role, at=at, **fields, **self._changed())

    def _changed(self) -> dict[str, Any]:
        """Where folder, branch or program changed since they were last told."""
        changed = {name: value for name, value in self.now.items() if value != self.told[name]}
        self.told = dict(self.now)
        return changed

    take_type: ClassVar[dict[str, Callable[[RoundReader, Line, Ref], None]]] = {
        "user.message": _user,
        "assistant.message": _answer,
        "assistant.reasoning": _reasoning,
        "tool.execution_start": _start,
        "tool.execution_complete": _complete,
        timeline.CALL: _listed,
        "subagent.started": _spawned,
        "session.compaction_complete": _compacted,
        "session.usage_record": _usage,
        "session.model_change": _model,
        "session.binary_asset": _asset,
    }
    """Of the class: a reader that held its own methods would be a cycle, and inscribing goes without the garbage
    collector, so that its whole round would stay in memory."""


def _thoughts(data: dict[str, Any], ref: Ref) -> list[Thinking]:
    """The reasoning before an answer; the blocks of its provider, where they are all that is told of it."""
    words, sealed = text(data, "reasoningText"), text(data, "reasoningOpaque")
    if words or sealed:
        return [Thinking(words or "", sealed, redacted=not words, ref=ref)]
    told = listing(codec.mapping(data.get("reasoningBlocks")), "blocks")
    given = ((text(one, "thinking"), text(one, "signature") or text(one, "data")) for one in told)
    return [Thinking(words or "", sealed, redacted=not words, ref=ref) for words, sealed in given if words or sealed]


def usage_of(said: dict[str, Any]) -> Usage:
    """Copilot counts cached tokens as part of the input; we count them apart."""
    cached, written = count(said, "cacheReadTokens"), count(said, "cacheWriteTokens")
    return Usage(
        input=max(0, count(said, "inputTokens") - cached - written),
        output=count(said, "outputTokens"),
        cache_read=cached,
        cache_write=written,
    )
