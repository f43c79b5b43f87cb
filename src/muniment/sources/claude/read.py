"""Claude Code records to rounds.

One API answer is split over several records that share `message.id`; parallel tool results hang off the path;
prompts typed while the agent works come as attachments. The reader takes records in file order, groups answers
by message id and lets results find their calls, so it needs only the open round in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, ClassVar, cast

from muniment.model import Block, Compaction, Event, Facts, Ref, Round, Text, Tool, Unknown, Usage
from muniment.model.blocks import is_quiet
from muniment.model.codec import mapping
from muniment.sources import salvage
from muniment.sources.base import Closed, Former
from muniment.sources.builder import Draft, RoundBuilder, add_usage, quiet
from muniment.sources.claude import events, parts, prompts, records
from muniment.sources.claude.links import Links
from muniment.sources.claude.queue import Queue
from muniment.sources.claude.records import AgentResult, ApiMessage, Line
from muniment.sources.claude.repeats import REPEATED, Repeats, Said, said_in
from muniment.sources.lines import Record


def read(lines: Iterable[Record], facts: Facts, former: Former | None = None) -> Iterator[Round]:
    """The rounds of a transcript, the last one still open; what closed ones have said is told once."""
    reader = Reader(facts, former.load if former else None)
    for record, line, what in salvage.told(lines, records.decode):
        if line is None:
            reader.damaged(record, what)
            continue
        if former and reader.may_split_before(record, line):
            yield reader.close(continued=True)
            reader = Reader(former.facts(), former.load)  # as if reading began here, which it may the next time
        if closed := reader.take(record, line):
            yield closed
    yield reader.close()


class Reader:
    """The open round, and what must be known to read the next record."""

    def __init__(self, facts: Facts, closed: Closed | None = None) -> None:
        self.facts = facts
        self.round = RoundBuilder(facts.rounds + 1, 0, facts.continued)
        self.begun = False
        self.settings = (facts.cwd, facts.branch, facts.client)
        self.slug = facts.slug
        self.links = Links(facts)
        self.sidechain_of: dict[str, str] = {}
        self.repeats = Repeats(facts, closed)
        self.queue = Queue()
        self.caveat: str | None = None
        """The notice that the next record is a command which the program answers itself."""
        self.latest = Line("")

    def take(self, record: Record, line: Line) -> Round | None:
        """Read one record; gives the round that it closes, if it does."""
        if not self.begun:
            self.begun, self.round.offset = True, record.offset
        ref = Ref(record.offset, record.length, line.uuid, line.parent, line.timestamp)
        if line.uuid and self.repeats.has(record, line.uuid, line, self.round, self._says):
            self._repeated(line, ref)
            return None
        if line.cwd:
            self.latest = line
        if line.slug and line.slug != self.slug:
            self.slug = line.slug
            self.round.add(quiet("slug", Ref(ref.offset, ref.length), line.slug))
        self.links.note(line, ref, self.round)
        return self.take_type.get(line.type, Reader._metadata)(self, line, ref)

    def _says(self, record: Record, line: Line) -> Said:
        """What a record says, read on its own."""
        apart = Reader(self.facts)
        apart.take(record, line)
        return said_in(apart.close())

    def _repeated(self, line: Line, ref: Ref) -> None:
        """What it says has its place already: it is only pointed at. An answer of this round may tell its cost anew."""
        copied = self.repeats.original
        own = line.uuid if copied else None  # what hangs on it hangs on what it copies
        self.round.add(quiet(REPEATED, Ref(ref.offset, ref.length, own, copied)))
        message = line.message or ApiMessage()
        draft = self.round.by_id.get((message.id or line.uuid or "", None)) if line.type == "assistant" else None
        if draft and line.uuid in self.repeats.seen:
            self._about_answer(draft, line, message, ref)

    def may_split_before(self, record: Record, line: Line) -> bool:
        """Whether a round that grew too large can be continued with this record: it begins an answer, hangs on what was
        read, and nothing that another reader would have to know is under way."""
        if line.type != "assistant" or not self.round.is_full(record.offset):
            return False
        known = self.repeats.going_on or line.uuid in self.repeats.seen or line.parent not in self.repeats.seen
        begun = line.message is None or (line.message.id or "", None) in self.round.by_id
        pending = self.queue.waiting or self.queue.absorbed or self.sidechain_of
        return not (known or begun or pending or (line.timestamp or "") < self.repeats.until)

    def close(self, continued: bool = False) -> Round:
        """The open round as it stands."""
        if self.round.waiting:
            shown = sorted(self.round.waiting, key=is_quiet)  # what is quiet may have no record in a written file
            at = next((block.ref.at for block in shown if block.ref.at), None)
            self.round.message("assistant", at=at, **self._changes(self.latest))
        return self.round.close(continued)

    def damaged(self, record: Record, what: str) -> None:
        """Keep the place of what cannot be read."""
        if not self.begun:
            self.begun, self.round.offset = True, record.offset
        self.round.add(Unknown(kind="damaged", damage=what, ref=Ref(record.offset, record.length)))

    # -- user records

    def _user(self, line: Line, ref: Ref) -> Round | None:
        content, ref = parts.listed(line.message.content if line.message else "", ref)
        if not content:
            self.round.add(quiet(events.EMPTY, ref, line.type))
        elif line.sidechain and not self.facts.sidechain:
            self._sidechain_user(line, content, ref)
        elif any(parts.type_of(part) == "tool_result" for part in content):
            self._results(line, content, ref)
        elif line.summary_of_compaction:
            self._put_in(content, ref, parts.as_compaction, events.SUMMARY)
        elif kind := self._injected_as(line, content):
            self._put_in(content, ref, self._injected(kind), events.INJECTED)
        elif line.origin is not None and (kind := self._sent_as(line.origin)):
            marks = {"origin": line.origin}
            self._put_in(content, ref, partial(parts.as_event, kind, detail=marks), marks)
        else:
            return self._prompt(line, content, ref)
        return None

    def _injected(self, kind: str) -> Callable[[Any, Ref, RoundBuilder], Block]:
        """How a text of the program is read. A summary that a session begins with is all that the model knows."""
        if kind == prompts.CONTINUATION and self.round.number == 1 and not self.round.drafts:
            return partial(parts.as_compaction, detail=events.UNMARKED)
        return partial(parts.as_event, kind)

    def _put_in(
        self,
        content: list[Any],
        ref: Ref,
        read: Callable[[Any, Ref, RoundBuilder], Block],
        marks: dict[str, Any],
        into: Draft | None = None,
    ) -> None:
        """What the program put into the conversation. Its words tell that themselves, an image or a file does not."""
        add = into.blocks.append if into else self.round.add
        blocks = [read(part, ref, self.round) for part in content]
        if not all(isinstance(block, (Event, Compaction)) for block in blocks):
            add(quiet(events.PUT_IN, ref, marks))
        for block in blocks:
            add(block)

    def _injected_as(self, line: Line, content: list[Any]) -> str | None:
        """What a user record was put in as; None for a human's. Commands of the program stand behind a notice."""
        known = prompts.injected_as(content)
        if known == "notice":
            self.caveat = line.uuid
        if line.meta:
            return "injected"
        answered = self.caveat is not None and line.parent == self.caveat
        return known or ("command" if answered and prompts.is_command(content) else None)

    def _sent_as(self, origin: Any) -> str | None:
        """What a record was put in as that says who sent it; what an agent says is the prompt of its subagent."""
        kind = prompts.origin_kind(origin)
        return None if kind == prompts.AGENTS and self.facts.sidechain else kind

    def _prompt(self, line: Line, content: list[Any], ref: Ref) -> Round | None:
        closed = None
        if self.round.prompted:
            closed = self.round.close()
            self.round = RoundBuilder(self.round.number + 1, ref.offset)
            self.sidechain_of, self.queue = {}, Queue()
        self.repeats.begin(ref, closed)
        self.round.prompted, self.round.parent = True, ref.parent
        draft = self.round.message("user", at=ref.at, **self._changes(line))
        draft.blocks.extend(self._prompt_part(part, ref) for part in content)
        words = " ".join(block.text for block in draft.blocks if isinstance(block, Text))
        if title := prompts.command_line(words):
            draft.blocks.append(quiet("title", Ref(ref.offset, ref.length), {"title": title, "by": "prompt"}))
        return closed

    def _prompt_part(self, part: Any, ref: Ref) -> Block:
        """A part of a prompt; an editor's note beside the human's words is no part of them."""
        block = parts.read(part, ref, self.round)
        kind = prompts.injected_kind(block.text) if isinstance(block, Text) else None
        return Event(kind=kind, text=block.text, ref=ref) if isinstance(block, Text) and kind else block

    def _results(self, line: Line, content: list[Any], ref: Ref) -> None:
        agent = line.result.agent_id if isinstance(line.result, AgentResult) else None
        for part in content:
            if parts.type_of(part) == "tool_result":
                self._result(mapping(part), ref, agent)
            else:
                self._beside_result(part, ref)

    def _beside_result(self, part: Any, ref: Ref) -> None:
        """Words beside a result are a person's who spoke up while the tool ran, unless the program put them there."""
        block = parts.read(part, ref, self.round)
        kind = prompts.injected_kind(block.text) if isinstance(block, Text) else None
        if isinstance(block, Text) and kind is None:
            self.round.message("user", at=ref.at, queued=True).blocks.append(block)
        else:
            self.round.add(parts.as_event(kind or "beside a result", part, ref, self.round))

    def _result(self, part: dict[str, Any], ref: Ref, agent: str | None) -> None:
        content = part.get("content")
        if isinstance(content, str):
            ref = parts.plain(ref)
            output: tuple[Any, ...] = (Text(content),)
        else:
            given = cast("list[Any]", content) if isinstance(content, list) else [content]
            output = tuple(parts.output(inner, self.round) for inner in given if content is not None)
        is_error = part.get("is_error")
        self.round.result(
            str(part.get("tool_use_id")),
            output=output,
            is_error=is_error if isinstance(is_error, bool) else None,
            sidechain=agent,
            result=ref,
        )

    def _sidechain_user(self, line: Line, content: list[Any], ref: Ref) -> None:
        if any(parts.type_of(part) == "tool_result" for part in content):
            self._results(line, content, ref)
            self._sidechain_id(line)
            return
        sidechain = self._sidechain_id(line)
        if kind := self._injected_as(line, content):
            self._put_in(content, ref, partial(parts.as_event, kind), events.INJECTED, self._latest_in(sidechain, ref))
            return
        if line.origin is not None and (kind := prompts.origin_kind(line.origin)):
            marks = {"origin": line.origin}
            sent = partial(parts.as_event, kind, detail=marks)
            self._put_in(content, ref, sent, marks, self._latest_in(sidechain, ref))
            return
        draft = self.round.message("user", at=ref.at, sidechain=sidechain)
        draft.blocks.extend(self._prompt_part(part, ref) for part in content)

    def _latest_in(self, sidechain: str, ref: Ref) -> Draft:
        """Where an inline subagent stands; what is put in before it began begins it."""
        own = (draft for draft in reversed(self.round.drafts) if draft.fields.get("sidechain") == sidechain)
        return next(own, None) or self.round.message("user", at=ref.at, sidechain=sidechain)

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
        content, ref = parts.listed(message.content, ref)
        if not content:
            draft.blocks.append(quiet(events.EMPTY, ref, line.type))
        for part in content:
            self._answer_part(draft, part, ref)

    def _about_answer(self, draft: Draft, line: Line, message: ApiMessage, ref: Ref) -> None:
        """What the API said beside the content; parts that say otherwise than the first are kept apart."""
        said: dict[str, Any] = {}
        if message.usage is not None:
            said["usage"] = message.usage
        if message.stop_reason is not None:
            said["stop_reason"] = message.stop_reason
        if line.request is not None:
            said["request"] = line.request
        if said == draft.raw:
            return
        ended = any("stop_reason" in told for told in (draft.raw or {}, *draft.parts.values()))
        if draft.raw is None:
            draft.raw = said
        elif ref.id:
            draft.parts[ref.id] = said
        if message.usage and line.uuid not in self.repeats.paid:
            self._count(draft, records.usage_of(message.usage), ended, message.stop_reason is not None)

    def _count(self, draft: Draft, usage: Usage, ended: bool, ends: bool) -> None:
        """Count the cost of an answer. The part that says why it stopped has the final figures; before it, or without
        one, the largest are the latest."""
        if ends and not ended:
            draft.fields["usage"] = usage
        elif ends or not ended:
            add_usage(draft, usage)

    def _answer_part(self, draft: Draft, part: Any, ref: Ref) -> None:
        if parts.is_call(part):
            call = mapping(part)
            tool = Tool(id=str(call.get("id")), name=str(call.get("name")), input=call.get("input"), ref=ref)
            if fields := parts.call_fields(call):
                draft.parts[tool.id] = fields
            self.round.call(draft, self.round.reunited(tool))
        elif parts.is_server_result(part) and mapping(part)["tool_use_id"] in self.round.calls:
            whole = Unknown(kind=str(parts.type_of(part)), value=part)
            self.round.result(mapping(part)["tool_use_id"], output=(whole,), result=ref)
        else:
            draft.blocks.append(parts.read(part, ref, self.round))

    # -- everything else

    def _attachment(self, line: Line, ref: Ref) -> None:
        detail = mapping(line.attachment)
        kind = str(detail.get("type"))
        if kind == "queued_command" and "prompt" in detail:
            ref = self._queued(detail, ref)
            detail = {name: value for name, value in detail.items() if name != "prompt"}
        self.round.add(quiet(f"attachment {kind}", ref, detail))

    def _queued(self, detail: dict[str, Any], ref: Ref) -> Ref:
        """What came in while the agent worked: words of a person, or a notice of a task or of another session."""
        prompt = detail["prompt"]
        if isinstance(prompt, str):
            ref = parts.plain(ref)
        said = cast("list[Any]", prompt) if isinstance(prompt, list) else [{"type": "text", "text": str(prompt)}]
        if prompts.is_from_human(detail):
            if isinstance(prompt, str):
                self.queue.attached(prompt, self.round)
            draft = self.round.message("user", at=ref.at, queued=True)
            draft.blocks.extend(parts.read(part, ref, self.round) for part in said)
        else:
            kind = prompts.queued_kind(detail)
            for part in said:
                self.round.add(parts.as_event(kind, part, ref, self.round, events.QUEUED))
        return ref

    def _system(self, line: Line, ref: Ref) -> None:
        self.round.add(events.system(line, ref))

    def _queue_operation(self, line: Line, ref: Ref) -> None:
        self.queue.take(line, ref, self.round)
        self._metadata(line, ref)

    def _metadata(self, line: Line, ref: Ref) -> None:
        self.round.add(events.metadata(line, ref))

    def _changes(self, line: Line) -> dict[str, str]:
        """Working folder, branch and program version, where they differ from before."""
        now = (line.cwd, line.branch, line.version)
        if now == self.settings:
            return {}
        changed = {
            name: value
            for name, value, before in zip(("cwd", "branch", "client"), now, self.settings, strict=True)
            if value and value != before
        }
        if changed:
            self.settings = tuple(new or old for new, old in zip(now, self.settings, strict=True))  # pyright: ignore[reportAttributeAccessIssue]
        return changed

    take_type: ClassVar[dict[str, Callable[[Reader, Line, Ref], Round | None]]] = {
        "user": _user,
        "assistant": _assistant,
        "attachment": _attachment,
        "system": _system,
        "queue-operation": _queue_operation,
    }
    """Of the class: a reader that held its own methods would be a cycle, and inscribing goes without the garbage
    collector, so that its whole round would stay in memory."""
