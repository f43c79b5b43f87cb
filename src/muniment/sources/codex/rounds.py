"""One round of a rollout: its records to messages and blocks.

The conversation is read from the response items; events count tokens, and speak where no item does. A reader
knows the facts before its round and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, cast

from msgspec import structs

from muniment.model import Block, Event, Facts, Ref, Round, Text, Tool, Unknown
from muniment.model.facts import PROMPT_CHARS
from muniment.model.words import shortened
from muniment.sources.builder import Draft, RoundBuilder, quiet
from muniment.sources.codex import events, heard, items, place, prompts, tokens
from muniment.sources.codex.heard import Heard
from muniment.sources.codex.records import Line, listing, mapping, text
from muniment.sources.codex.turns import Placed, spoken_text


class RoundReader:
    """One round being read."""

    def __init__(self, facts: Facts, offset: int) -> None:
        self.facts = facts
        self.round = RoundBuilder(facts.rounds + 1, offset, facts.continued)
        self.response = tokens.Response(facts)
        self.model = facts.model
        self.told = {"cwd": facts.cwd, "branch": facts.branch, "client": facts.client}
        self.now = dict(self.told)
        self.linked = {(link.kind, link.session) for link in facts.links}
        self.reported = Ref()
        """The latest report on tokens."""
        self.heard = Heard()
        self.spare = 0

    def take(self, record: Placed) -> None:
        """Read one record."""
        line, ref, how, _ = record
        if how == "damaged":
            self.round.add(Unknown(kind="damaged", damage=line.payload["what"], ref=ref))
        elif how == "injected":
            self._injected(line, ref)
        elif how == "plain":
            self.take_type.get(line.type, RoundReader._event)(self, line, ref)
        else:
            self._prompt(line, ref, queued=how == "queued")

    def may_split_before(self, record: Placed) -> bool:
        """Whether a round that grew too large can be continued with this record: the next response begins with it, and
        the tokens of the one before are told."""
        line, ref, how, _ = record
        if how != "plain" or line.kind not in items.OF_RESPONSE or not self.round.is_full(ref.offset):
            return False
        former = self.response.draft
        told = self.now == self.told and former is not None and former.fields.get("model") == self.model
        return told and not (self.heard.said or _is_injected(line)) and self.response.is_over

    def close(self, continued: bool = False) -> Round:
        """The round as it stands."""
        self.heard.speak(self.round, self._message, self.model)
        if pending := self.response.pending:
            self._alone(pending)
        self._tell_total()
        return self.round.close(continued)

    def _tell_total(self) -> None:
        """Note the client's running total where the sum over messages is another: a later round goes on from it."""
        running = self.response.running
        used = (draft.fields["usage"] for draft in self.round.drafts if draft.fields.get("usage"))
        if running and running != sum(used, self.facts.counted):
            place = Ref(self.reported.offset, self.reported.length)
            self.round.add(quiet("running-total", place, structs.asdict(running)))

    # -- what a human said, and what was put beside it

    def _prompt(self, line: Line, ref: Ref, queued: bool) -> None:
        self.round.prompted = True
        self.heard.speak(self.round, self._message, self.model)
        self.response.interrupt()
        draft = self._message("user", ref.at, **({"queued": True} if queued else {}))
        said = self._asked(line, ref)
        draft.blocks += said
        if details := items.find_details(line.payload.get("content")):
            _noted(draft, "details", details)
        if not queued:
            draft.blocks += _title([block.text for block in said if isinstance(block, Text)], ref)

    def _asked(self, line: Line, ref: Ref) -> list[Block]:
        if line.type == "response_item":
            return items.parts(line.payload.get("content"), ref, self.round) or [quiet("empty prompt", ref)]
        urls = [url for url in listing(line.payload, "images") if isinstance(url, str)]
        images = (items.image(url, ref, self.round) for url in urls)
        return [Text(spoken_text(line) or "", ref), *(block for block in images if block)]

    def _injected(self, line: Line, ref: Ref) -> None:
        """A message that no human wrote: shown if it tells something, or if nobody knows what it is."""
        role = text(line.payload, "role")
        kind = prompts.injected_kind(line.payload) or ("injected" if role == "user" else f"{role} message")
        blocks = items.parts(line.payload.get("content"), ref, self.round)
        words = "\n\n".join(prompts.texts_of(line.payload))
        if kind == prompts.ENVIRONMENT and self.now["cwd"] is None:
            self._set(cwd=prompts.folder_in(words))
        if kind == "injected" and not blocks:
            self.round.add(quiet(items.EMPTY["user"], ref))
        elif prompts.is_shown(kind) or kind == "injected":
            self.round.add(Event(kind=kind, text=words, ref=ref))
        else:
            self.round.add(quiet(kind, ref, words))
        for block in blocks:
            if not isinstance(block, Text):
                self.round.add(block)

    # -- items

    def _item(self, line: Line, ref: Ref) -> None:
        kind, payload = line.kind, line.payload
        if _is_injected(line):
            self._injected(line, ref)
        elif kind == "message":
            self._said(payload, ref)
        elif kind == "reasoning":
            self._thought(payload, ref)
        elif kind in items.INPUT_OF:
            self._call(payload, ref)
        elif kind in items.OUTPUT_OF:
            self._output(payload, kind, ref)
        elif kind in ("compaction", "compaction_summary", "context_compaction"):
            self._compacted(line, ref)
        elif kind == "ghost_snapshot":
            self.round.add(quiet("ghost snapshot", ref))
        elif kind == "agent_message":
            words = "\n\n".join(prompts.texts_of(payload))
            self.round.add(Event("message between agents", words, {"item": payload}, ref))
        else:
            self._answer(ref).blocks.append(Unknown(kind=kind, value=payload, ref=ref))

    def _said(self, payload: dict[str, Any], ref: Ref) -> None:
        draft = self._answer(ref)
        blocks = items.parts(payload.get("content"), ref, self.round)
        draft.blocks += blocks or [quiet(items.EMPTY["assistant"], ref)]
        texts = [block.text for block in blocks if isinstance(block, Text)]
        if phase := text(payload, "phase"):
            _noted(draft, "phases", {str(_count_of(draft) - len(texts) + n): phase for n in range(len(texts))})
        if texts:
            self.heard.forget_words("\n\n".join(texts))

    def _thought(self, payload: dict[str, Any], ref: Ref) -> None:
        block = items.thinking(payload, ref)
        self._answer(ref).blocks.append(block)
        self.heard.forget_thoughts()

    def _call(self, payload: dict[str, Any], ref: Ref) -> None:
        draft = self._answer(ref)
        self.spare += 1
        tool, note = items.call(payload, ref, f"{payload['type']}-{self.round.number}-{self.spare}")
        picture = text(payload, "result")
        if picture and (made := self.round.add_media(picture, "image/png", Ref())):
            tool = structs.replace(tool, output=(made,))
        if note:
            _noted(draft, "calls", {tool.id: note})
        self.round.call(draft, tool)
        if payload["type"] in items.UNANSWERED:
            self.round.unanswered.discard(tool.id)

    def _output(self, payload: dict[str, Any], kind: str, ref: Ref) -> None:
        self.response.output()
        plain = isinstance(payload.get(items.OUTPUT_OF[kind]), str)
        result = Ref(ref.offset, ref.length, ref.id, ref.parent, ref.at, plain=plain)
        output = items.output(payload, kind, self.round)
        call_id = text(payload, "call_id") or ""
        draft = self.round.result(call_id, output=output, result=result)
        if draft and (details := items.find_details(payload.get("output"))):
            _noted(draft, "outputs", {call_id: details})

    def _compacted(self, line: Line, ref: Ref) -> None:
        self.round.add(events.compaction(line, ref))

    # -- events and settings

    def _event(self, line: Line, ref: Ref) -> None:
        if line.kind in tokens.REPORTS and (report := tokens.report_of(line, self.model)):
            self._reported(report, events.named(line.kind), ref)
            return
        if line.kind in heard.KINDS:
            self.heard.hear(line, ref)
        if line.kind in events.STARTING and (started := events.started(line)):
            self._spawned(*started)
        self.round.add(events.event(line, ref))

    def _reported(self, report: tokens.Report, kind: str, ref: Ref) -> None:
        """Tokens count for a message; a report that counts for none is kept as it is."""
        self.reported = ref
        weight = self.response.weigh(report)
        if weight == "spent":
            missing = self.response.find_missing(report)
            former = self.response.report(report)
            for unheard in filter(None, (former, missing)):
                self._alone(unheard, None if self.response.pending else self.response.draft)
        self.round.add(quiet(kind, ref, report.kept() if weight == "noted" else None))

    def _alone(self, report: tokens.Report, before: Draft | None = None) -> None:
        """A report whose response left no item: that of an answer without one, else a message of its own."""
        drafts = self.round.drafts
        position = drafts.index(before) if before else len(drafts)
        answers = [draft for draft in drafts[:position] if draft.role == "assistant"]
        if answers and "usage" not in answers[-1].fields:
            report.tell(answers[-1])
        elif before:
            drafts.insert(position, alone := Draft("assistant", dict(report.about)))
            report.tell(alone)
        else:
            report.tell(self._message("assistant", **report.about))

    def _spawned(self, call: str, thread: str) -> None:
        """A call has started a session of its own."""
        draft, position = self.round.calls.get(call, (None, 0))
        tool = draft.blocks[position] if draft else None
        if draft and isinstance(tool, Tool):
            draft.blocks[position] = structs.replace(tool, sidechain=thread)

    def _meta(self, line: Line, ref: Ref) -> None:
        """The head of the file; copies of it, and those of sessions it was forked from, stand further down."""
        payload = line.payload
        self.round.add(events.meta(line, ref))
        first = self.facts.rounds == 0 and ref.offset == self.round.offset
        if not first and payload.get("id") != (self.facts.native_id or self.facts.session_id):
            return
        branch = mapping(payload, "git").get("branch")
        self._set(cwd=place.find_folder(payload), branch=branch, client=payload.get("cli_version"))
        spawn = mapping(mapping(mapping(payload, "source"), "subagent"), "thread_spawn")
        self._link("fork", payload.get("forked_from_id"), ref)
        self._link("parent", payload.get("parent_thread_id") or spawn.get("parent_thread_id"), ref)

    def _link(self, kind: str, session: Any, ref: Ref) -> None:
        if isinstance(session, str) and session and (kind, session) not in self.linked:
            self.linked.add((kind, session))
            self.round.add(quiet("link", ref, {"kind": kind, "session": session}))

    def _context(self, line: Line, ref: Ref) -> None:
        self._set(cwd=line.payload.get("cwd"))
        self.model = text(line.payload, "model") or self.model
        self.round.add(events.turn_context(line, ref))

    # -- messages

    def _set(self, **settings: Any) -> None:
        self.now |= {name: value for name, value in settings.items() if isinstance(value, str) and value}

    def _message(self, role: str, at: str | None, **fields: Any) -> Draft:
        """Begin a message; it tells where folder, branch or program changed.

        Bare items have no time; the head of the file, which waits for the first message, has."""
        at = at or next((block.ref.at for block in self.round.waiting if block.ref.at), None)
        changed = {name: value for name, value in self.now.items() if value != self.told[name]}
        self.told = dict(self.now)
        return self.round.message(role, at=at, **fields, **changed)

    def _answer(self, ref: Ref) -> Draft:
        """The message of the response that an item belongs to."""
        draft = self.response.goes_on
        if draft is None:
            draft = self._message("assistant", ref.at, model=self.model)
            self.response.begin(draft)
        return draft

    take_type: ClassVar[dict[str, Callable[[RoundReader, Line, Ref], None]]] = {
        "session_meta": _meta,
        "turn_context": _context,
        "response_item": _item,
        "event_msg": _event,
        "compacted": _compacted,
    }
    """Of the class: a reader that held its own methods would be a cycle, and inscribing goes without the garbage
    collector, so that its whole round would stay in memory."""


def _is_injected(line: Line) -> bool:
    return line.kind == "message" and line.payload.get("role") != "assistant"


def _noted(draft: Draft, name: str, note: dict[str, Any]) -> None:
    """Keep beside the content what a rewritten file needs again."""
    raw = draft.raw or {}
    draft.raw = raw | {name: cast("dict[str, Any]", raw.get(name, {})) | note}


def _title(texts: list[str], ref: Ref) -> list[Block]:
    """What names the session, where its first prompt does not begin with the human's own words."""
    words = " ".join((prompts.typed(texts) or "").split())
    about = {"title": shortened(words, PROMPT_CHARS), "by": "prompt"}
    return [quiet("title", Ref(ref.offset, ref.length), about)] if words else []


def _count_of(draft: Draft) -> int:
    return sum(1 for block in draft.blocks if isinstance(block, Text))
