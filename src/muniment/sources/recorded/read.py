"""Events to rounds: the reader of every format that a recorder can write.

A dialect says what a line tells, as events; from there on all such formats are read alike. Each round has a reader of
its own that knows the facts before it and nothing else, so reading may begin at any round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Protocol

from msgspec import structs

from muniment.model import Compaction, Facts, Ref, Round, Tool, Unknown, Usage
from muniment.model import Event as Happening
from muniment.model import events as types
from muniment.model.codec import mapping
from muniment.model.events import Event
from muniment.model.facts import TITLE_RANK
from muniment.sources import salvage
from muniment.sources.builder import Draft, RoundBuilder, add_usage, quiet
from muniment.sources.dialect import Dialect
from muniment.sources.lines import Record, too_long
from muniment.sources.recorded import lines, parts

_TAKEN = frozenset({"title", "agent-name", "link", "running-total"})
"""Names of quiet events that speak for a whole session; a harness's own event of that name must not."""


class Form(Protocol):
    """What a reader must know of a format, beside its dialect."""

    line_is_message: bool
    """Whether a line holds a whole answer; else what the agent says in a row is one."""

    @property
    def spoken(self) -> Dialect: ...

    def events(self, value: Any) -> list[Event]:
        """What a line says that is JSON already. Raises ValueError if it is no line of this format."""
        ...

    def shown(self, event: Event) -> str:
        """The words of an event of the harness's own that a reader wants to see."""
        ...

    def usage(self, payload: dict[str, Any]) -> Usage | None:
        """The tokens of an answer."""
        ...


def read(form: Form, records: Iterable[Record], facts: Facts) -> Iterator[Round]:
    """The rounds of a file, the last one still open."""
    reader: RoundReader | None = None
    for record, value, told in _told(form, records):
        opens = isinstance(told, list) and any(map(_is_prompt, told))
        if reader is None or (opens and reader.begun):
            if reader:
                yield (closed := reader.close())
                facts = facts.after(closed)
            reader = RoundReader(form, facts, record.offset)
        reader.take(record, told, value)
    yield (reader or RoundReader(form, facts, 0)).close()


def _told(form: Form, records: Iterable[Record]) -> Iterator[tuple[Record, Any, list[Event] | str]]:
    """Each record as JSON, and what it says or what is wrong with it. What is blank or not yet there is left out."""
    for record in records:
        value = lines.value_of(record.raw)
        try:
            told = _events(form, record.raw, value)
        except ValueError:
            yield from _told_apart(form, record)
        else:
            yield record, value, told


def _told_apart(form: Form, record: Record) -> Iterator[tuple[Record, Any, list[Event] | str]]:
    if what := too_long(record):
        yield record, None, what
        return
    for part in salvage.parts(record):
        value = lines.value_of(part.raw)
        try:
            yield part, value, _events(form, part.raw, value)
        except ValueError as error:
            if not part.torn:
                yield part, None, _what_is_wrong(part.raw, error)


def _events(form: Form, raw: bytes, value: Any) -> list[Event]:
    return form.spoken.events(raw) if value is None else form.events(value)


def _what_is_wrong(raw: bytes, error: ValueError) -> str:
    if not raw.strip(b"\0"):
        return f"{len(raw)} NUL bytes"
    return str(error) if str(error).startswith("not ") else f"not JSON: {error}"


def _is_prompt(event: Event) -> bool:
    return event.type == types.USER and mapping(event.payload).get("queued") is not True


class RoundReader:
    """One round being read."""

    def __init__(self, form: Form, facts: Facts, offset: int) -> None:
        self.form = form
        self.round = RoundBuilder(facts.rounds + 1, offset)
        self.model = facts.model
        self.cwd: str | None = None
        """A working folder that no message has told of yet."""
        self.begun = False
        """Whether anybody has spoken; a header by itself opens no round."""
        self.lines: dict[int, tuple[bytes, Any]] = {}
        """Each as it stands there, and as JSON; by their offsets."""
        self.open: Draft | None = None
        """The answer that goes on."""

    def take(self, record: Record, told: list[Event] | str, value: Any) -> None:
        """Read one line; `value` is what it holds as JSON, `told` what that says."""
        if isinstance(told, str):
            ref = Ref(record.offset, record.length)
            self.round.add(Unknown(kind="damaged", damage=told, ref=ref))
            return
        self.lines[record.offset] = (record.raw, value)
        id_, parent = told[-1].uuid or None, told[0].prev_uuid
        ref = Ref(record.offset, record.length, id_, parent, told[0].ts or None)
        for event in told:
            self.take_type.get(event.type, RoundReader._other)(self, event, ref)

    def close(self) -> Round:
        """The round as it stands, with all that its lines need to be written again."""
        if self.round.waiting and not self.round.drafts:
            self._message("assistant", next((b.ref.at for b in self.round.waiting if b.ref.at), None))
        if self.round.drafts:
            blocks = (block for draft in self.round.drafts for block in draft.blocks)
            said = lines.said(blocks, self.round.media.__getitem__)
            kept = {str(at): lines.kept(*line, said.get(at, ())) for at, line in self.lines.items()}
            self.round.drafts[0].raw = {lines.FIELD: kept} if kept else None
        return self.round.close()

    # -- who speaks

    def _message(self, role: str, at: str | None, **fields: Any) -> Draft:
        """Begin a message; the first one behind a header tells the folder."""
        if self.cwd:
            fields["cwd"], self.cwd = self.cwd, None
        self.begun, self.open = True, None
        return self.round.message(role, at=at, **fields)

    def _user(self, event: Event, ref: Ref) -> None:
        queued = not _is_prompt(event)
        if not queued:
            self.round.prompted, self.round.parent = True, event.prev_uuid
        draft = self._message("user", ref.at, **({"queued": True} if queued else {}))
        draft.blocks += parts.said(event, ref, self.round) or [quiet("empty message", ref)]

    def _said(self, event: Event, ref: Ref) -> None:
        self._answer(event, ref).blocks += parts.said(event, ref, self.round) or [quiet("empty message", ref)]

    def _answer(self, event: Event, ref: Ref) -> Draft:
        """The message that something the agent did belongs to."""
        payload = mapping(event.payload)
        name = payload.get("message")
        key = name if isinstance(name, str) else f"line {ref.offset}" if self.form.line_is_message else None
        usage = self.form.usage(payload)
        draft = self.round.by_id.get((key, None)) if key else self.open
        if draft is None or (usage and not key and "usage" in draft.fields):
            model = payload.get("model")
            self.model = model if isinstance(model, str) and model else self.model
            draft = self._message("assistant", ref.at, model=self.model)
        if key:
            self.round.by_id[key, None] = draft
        if usage:
            add_usage(draft, usage)
        self.open = draft
        return draft

    # -- tools

    def _call(self, event: Event, ref: Ref) -> None:
        said = types.call_said(event.payload)
        own = said.id or f"call-{ref.offset}"
        tool = Tool(own, said.name or "unnamed", said.value, ref=ref)
        draft = self._answer(event, ref)
        if own in self.round.calls:
            draft.blocks.append(tool)  # an id that is taken: the result belongs to the call that had it first
        else:
            self.round.call(draft, tool)

    def _result(self, event: Event, ref: Ref) -> None:
        said, failed = types.result_said(event.payload), mapping(event.payload).get("is_error")
        own = said.id or self._unanswered(said.name) or f"result-{ref.offset}"
        plain = structs.replace(ref, plain=isinstance(said.value, str))
        is_error = failed if isinstance(failed, bool) else None
        self.round.result(own, output=parts.output(said.value, self.round), is_error=is_error, result=plain)
        self.open = None

    def _unanswered(self, name: str | None) -> str | None:
        """The call that a result without an id belongs to: the first of that tool, or the last of any, without one."""
        calls = [draft.blocks[place] for draft, place in self.round.calls.values()]
        waiting = [tool for tool in calls if isinstance(tool, Tool) and tool.output is None]
        if name is not None:
            return next((tool.id for tool in waiting if tool.name == name), None)
        return waiting[-1].id if waiting else None

    def _sidechain(self, event: Event, ref: Ref) -> None:
        """A subagent has ended: it belongs to the call that names it, else to the one that is waiting."""
        payload = mapping(event.payload)
        task, told = payload.get("task_id"), (payload.get("summary"), payload.get("error"))
        named = [name for name in (payload.get("call"), task) if isinstance(name, str) and name in self.round.calls]
        call = named[0] if named else self._unanswered(None)
        if call and isinstance(task, str):
            draft, place = self.round.calls[call]
            tool = draft.blocks[place]
            draft.blocks[place] = structs.replace(tool, sidechain=task) if isinstance(tool, Tool) else tool
        text = "\n\n".join(words for words in told if isinstance(words, str) and words)
        self.round.add(Happening("sidechain", text, event.payload, ref))

    # -- around it

    def _header(self, event: Event, ref: Ref) -> None:
        payload = mapping(event.payload)
        cwd, model = payload.get("cwd"), payload.get("model")
        self.cwd = cwd if isinstance(cwd, str) and cwd else None
        self.model = model if isinstance(model, str) and model else self.model
        if event.ts and not self.begun:
            self._message("assistant", event.ts)  # nobody speaks, but the session begins at this time
            self.begun = False
        self.round.add(quiet("header", ref, event.payload))
        for kind, name in (("resume", "resumed_from"), ("fork", "forked_from"), ("image", "image_id")):
            self._link(kind, payload.get(name), None, ref)

    def _link(self, kind: str, session: Any, record: Any, ref: Ref) -> None:
        if isinstance(session, str) and session:
            more = {"record": record} if isinstance(record, str) else {}
            self.round.add(quiet("link", ref, {"kind": kind, "session": session, **more}))

    def _branch(self, event: Event, ref: Ref) -> None:
        payload = mapping(event.payload)
        session, summary = payload.get("parent_session") or payload.get("parent_path"), payload.get("summary")
        text = summary if isinstance(summary, str) else ""
        self.round.add(Happening("branch", text, event.payload, ref))
        self._link("fork", session, payload.get("fork_uuid"), ref)

    def _summary(self, event: Event, ref: Ref) -> None:
        text = mapping(event.payload).get("text")
        if isinstance(text, str):
            self.round.add(Compaction(text, ref=ref))
        else:
            self.round.add(Unknown(kind=event.type, value=event.payload, ref=ref))

    def _title(self, event: Event, ref: Ref) -> None:
        payload = mapping(event.payload)
        title, by = payload.get("title"), payload.get("by", "user")
        if isinstance(title, str) and isinstance(by, str) and by in TITLE_RANK:
            self.round.add(quiet("title", ref, {"title": title, "by": by}))
        else:
            self._other(event, ref)

    def _other(self, event: Event, ref: Ref) -> None:
        """Anything else is kept by its name."""
        kind = f"event {event.type}" if event.type in _TAKEN else event.type
        self.round.add(Happening(kind, self.form.shown(event), event.payload, ref))

    take_type: ClassVar[dict[str, Callable[[RoundReader, Event, Ref], None]]] = {
        types.HEADER: _header,
        types.USER: _user,
        types.ASSISTANT: _said,
        types.THINKING: _said,
        types.TOOL_CALL: _call,
        types.TOOL_RESULT: _result,
        types.SUMMARY: _summary,
        types.BRANCH: _branch,
        types.SIDECHAIN: _sidechain,
        "title": _title,
    }
    """Of the class, not of each reader: one that held its own methods would be a cycle, and inscribing goes without
    the garbage collector, so that all lines of its round would stay in memory."""
