"""Gemini objects to rounds.

A round begins with a person's message, or where the conversation was taken back: what follows a rewind belongs to the
prompt that comes next. A message that comes again with the same id replaces the former one, as long as its round is
open; the client does so only with the last one. A history told again as a whole brings nothing new.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import structs

from muniment.model import Block, Compaction, Event, Facts, Ref, Round, Text, Tool, Unknown
from muniment.model.codec import mapping
from muniment.model.facts import PROMPT_CHARS
from muniment.model.words import shortened
from muniment.sources.builder import Draft, RoundBuilder, quiet, rounds_of
from muniment.sources.gemini import objects, parts, prompts, records
from muniment.sources.gemini.checkpoints import Calls
from muniment.sources.gemini.records import listing, parts_of, text
from muniment.sources.lines import Record

_SHOWN = ("info", "warning", "error")
_ANSWERED = ("model", "tokens", "thoughts", "toolCalls")
"""What only an answer has: programs made from this client call theirs by their own names."""


def read(lines: Iterable[Record], facts: Facts) -> Iterator[Round]:
    """The rounds of a session, the last one still open."""
    return rounds_of(Reader(facts), objects.objects(lines, facts.rounds > 0), records.decode)


class Reader:
    """The open round, and what must be known to read the next object."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.round = RoundBuilder(facts.rounds + 1, 0)
        self.begun = False
        self.folder = facts.cwd
        self.told = facts.cwd
        self.known: dict[str, tuple[Draft, Ref]] = {}
        """The messages of the open round by their ids, with their last records."""
        self.calls = Calls()
        self.shortened = False
        """A summary came: until the new history is told as a whole, what was kept of the old one is told again."""

    def take(self, record: Record, value: dict[str, Any]) -> Round | None:
        """Read one object; gives the round that it closes, if it does."""
        if not self.begun:
            self.begun, self.round.offset = True, record.offset
        ref = Ref(record.offset, record.length)
        match records.kind_of(value):
            case "message":
                return self._message(value, Ref(ref.offset, ref.length, value["id"], at=text(value, "timestamp")))
            case "content":
                return self._content(value, ref)
            case "rewind":
                return self._rewind(value["$rewindTo"], ref)
            case "change":
                self._metadata(mapping(value["$set"]), "metadata", ref)
            case "end":
                self._metadata(mapping(value["$end"]), "metadata", ref)
            case "saved":
                self.round.add(quiet("saved conversation", ref, value[records.SAVED] or None))
            case "metadata":
                self._metadata(value, "session meta", structs.replace(ref, at=text(value, "startTime")))
            case _:
                self.round.add(quiet("unknown", ref, value))
        return None

    def damaged(self, record: Record, what: str) -> None:
        """Keep the place of what cannot be read."""
        if not self.begun:
            self.begun, self.round.offset = True, record.offset
        self.round.add(Unknown(kind="damaged", damage=what, ref=Ref(record.offset, record.length)))

    def close(self) -> Round:
        """The open round as it stands."""
        if self.round.waiting:
            at = next((block.ref.at for block in self.round.waiting if block.ref.at), None)
            self.round.message("assistant", at=at, **self._changes())
        return self.round.close()

    # -- what is said of the session as a whole

    def _metadata(self, fields: dict[str, Any], kind: str, ref: Ref) -> None:
        told = [message for message in listing(fields.get("messages")) if mapping(message)]
        if "messages" in fields:
            self.shortened = False
            fields = fields | {"messages": len(told)}
            kind = "history told again" if told else kind
        folders = [folder for folder in listing(fields.get("directories")) if isinstance(folder, str)]
        self._moved(folders[0] if folders else None)
        self.round.add(quiet(kind, ref, fields))
        if summary := text(fields, "summary"):
            self.round.add(quiet("title", ref, {"title": summary, "by": "ai"}))

    def _rewind(self, target: str, ref: Ref) -> Round | None:
        """Everything from a message on was taken back."""
        closed = self._open(ref) if self.round.prompted else None
        words = "The conversation was taken back to before an earlier message."
        self.round.add(Event("rewind", words, {"before": target}, ref))
        return closed

    def _open(self, ref: Ref) -> Round:
        closed = self.round.close()
        self.round = RoundBuilder(self.round.number + 1, ref.offset)
        self.known, self.shortened, self.calls = {}, False, Calls()
        return closed

    # -- messages

    def _message(self, message: dict[str, Any], ref: Ref) -> Round | None:
        kind = message["type"]
        if kind == "user":
            return self._user(message, ref)
        if kind in _SHOWN:
            self._told(message, kind, ref)
        elif kind == "gemini" or any(name in message for name in _ANSWERED):
            self._answer(message, ref)
        else:
            self._strange(message, f"message {kind}", ref)
        return None

    def _content(self, content: dict[str, Any], ref: Ref) -> Round | None:
        """A message of a saved conversation. What a summary stands for was left out when it was saved."""
        role, parts = content["role"], self.calls.named(listing(content["parts"]), ref.offset)
        self.shortened = False
        if role == "user":
            return self._user({"content": parts}, ref)
        if role == "model":
            self._answer({"content": parts}, ref)
        else:
            self._strange({"content": parts}, f"message {role}", ref)
        return None

    def _user(self, message: dict[str, Any], ref: Ref) -> Round | None:
        content = message.get("content")
        given = parts_of(content)
        if any("functionResponse" in mapping(part) for part in given):
            self._results(given, ref)
            return None
        kind = prompts.injected_kind(content)
        if kind or self.shortened:
            self._injected(content, kind or "kept by the compaction", ref)
            return None
        closed = None
        if self.round.prompted and ref.id not in self.known:
            closed = self._open(ref)
        self._prompt(message, given, ref)
        return closed

    def _prompt(self, message: dict[str, Any], given: list[Any], ref: Ref) -> None:
        self.round.prompted = True
        blocks: list[Block] = []
        files = False
        for part in given:
            files = files or prompts.begins_files(part)
            block = parts.said(part, ref, self.round)
            attached = files and isinstance(block, Text)
            blocks.append(Event("referenced files", block.text, ref=ref) if attached else block)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
        shown = message.get("displayContent")
        if shown and (title := _title(shown, blocks)):
            blocks.append(quiet("title", Ref(ref.offset, ref.length), {"title": title, "by": "prompt"}))
        draft = self._draft("user", ref, blocks)
        if shown:
            draft.raw = {"displayContent": shown}

    def _answer(self, message: dict[str, Any], ref: Ref) -> None:
        blocks = parts.answer(message, ref, self.round)
        about = {"model": text(message, "model"), "usage": records.usage_of(message.get("tokens"))}
        draft = self._draft("assistant", ref, blocks, **{name: value for name, value in about.items() if value})
        if message.get("tokens"):
            draft.raw = {"tokens": message["tokens"]}

    def _draft(self, role: str, ref: Ref, blocks: list[Block], **fields: Any) -> Draft:
        """The message with this id, begun if it is new; what it said before is replaced."""
        blocks = blocks or [quiet("empty message", ref)]
        key = ref.id or f"at {ref.offset}"
        draft, former = self.known.get(key, (None, ref))
        results: list[Tool] = []
        if draft is None or draft.role != role:
            draft = self.round.message(role, at=ref.at, **self._changes())
            draft.blocks += blocks
        else:
            results = _results_beside(draft, former)
            self._replace(draft, former, blocks)
        draft.fields |= fields
        self.known[key] = (draft, ref)
        self._know_calls(draft)
        for tool in results:
            self._keep_result(tool, draft)
        return draft

    def _keep_result(self, tool: Tool, draft: Draft) -> None:
        """A result that came before its call was told again, and that the call now does without."""
        if tool.result and not any(isinstance(b, Tool) and b.result == tool.result for b in draft.blocks):
            self._result(tool.id, tool.output or (), tool.result)

    def _replace(self, draft: Draft, former: Ref, blocks: list[Block]) -> None:
        """Put blocks where the message's own stood; results that came meanwhile stay with their calls."""
        mine = [block.ref.offset == former.offset for block in draft.blocks]
        first = mine.index(True)
        tools = {block.id: block for block in draft.blocks if isinstance(block, Tool)}
        others = [block for block, own in zip(draft.blocks[first:], mine[first:], strict=True) if not own]
        draft.blocks[first:] = [*(_with_result(block, tools) for block in blocks), *others]
        self.round.add(quiet("replaced", Ref(former.offset, former.length)))

    def _know_calls(self, draft: Draft) -> None:
        """Where the calls of a message stand now."""
        calls = {call: place for call, place in self.round.calls.items() if place[0] is not draft}
        tools = [
            (n, block) for n, block in enumerate(draft.blocks) if isinstance(block, Tool) and block.name is not None
        ]
        self.round.calls = calls | {tool.id: (draft, position) for position, tool in tools}

    # -- what is no one's words

    def _results(self, given: list[Any], ref: Ref) -> None:
        """Results in a message of their own: the calls have most of them already."""
        beside: list[Block] = []
        for first, *pictures in parts.results(given):
            response = mapping(mapping(first).get("functionResponse"))
            if response:
                self._result(text(response, "id") or "", parts.output([first, *pictures], self.round), ref)
            else:
                beside.append(parts.said(first, ref, self.round))
        if beside:
            self.round.message("user", at=ref.at, queued=True).blocks += beside

    def _result(self, call: str, output: tuple[Any, ...], ref: Ref) -> None:
        draft, position = self.round.calls.get(call, (None, 0))
        tool = draft.blocks[position] if draft else None
        if isinstance(tool, Tool) and tool.output == output:
            self.round.add(quiet("result told again", ref))
        else:
            self.round.result(call, output=output, result=ref)

    def _injected(self, content: Any, kind: str, ref: Ref) -> None:
        words = prompts.words_of(content)
        if kind == prompts.CONTEXT:  # the same text has the same id in every session, so the id names nothing
            self._moved(None if self.folder else prompts.folder_in(words))
            self.round.add(quiet(kind, Ref(ref.offset, ref.length, at=ref.at), words))
        elif kind == prompts.SUMMARY:
            self.shortened = True
            self.round.add(Compaction(words, ref=ref))
        else:
            self._told({"content": content}, kind, ref)

    def _told(self, message: dict[str, Any], kind: str, ref: Ref) -> None:
        """Something that is shown beside the conversation."""
        given = parts_of(message.get("content"))
        for part in given:
            block = parts.said(part, ref, self.round)
            self.round.add(Event(kind, block.text, ref=ref) if isinstance(block, Text) else block)
        if not given:
            self.round.add(quiet(kind, ref))

    def _strange(self, message: dict[str, Any], kind: str, ref: Ref) -> None:
        """A message of a type that nobody knows: its words are shown, everything else is kept."""
        self.round.add(quiet(kind, ref, {name: value for name, value in message.items() if name != "content"}))
        if parts_of(message.get("content")):
            self._told(message, kind, ref)

    def _moved(self, folder: str | None) -> None:
        """The working folder is told by the message that stands there, else by the next one."""
        self.folder = folder or self.folder
        if self.round.drafts:
            self.round.drafts[-1].fields |= self._changes()

    def _changes(self) -> dict[str, str]:
        """The working folder, where it differs from before."""
        if self.folder is None or self.folder == self.told:
            return {}
        self.told = self.folder
        return {"cwd": self.folder}


def _title(shown: Any, blocks: list[Block]) -> str | None:
    """What was typed, where the prompt is what a command was expanded to."""
    typed = " ".join(prompts.words_of(shown).split())
    said = " ".join("".join(block.text for block in blocks if isinstance(block, Text)).split())
    return shortened(typed, PROMPT_CHARS) if typed and typed != said else None


def _results_beside(draft: Draft, own: Ref) -> list[Tool]:
    """The calls of a message whose results stand in other records."""
    tools = (block for block in draft.blocks if isinstance(block, Tool))
    return [tool for tool in tools if tool.result and tool.result.offset != own.offset]


def _with_result(block: Block, former: dict[str, Tool]) -> Block:
    """A call that had its result before it was told again."""
    known = former.get(block.id) if isinstance(block, Tool) and block.output is None else None
    if not isinstance(block, Tool) or known is None:
        return block
    return structs.replace(block, output=known.output, result=known.result)
