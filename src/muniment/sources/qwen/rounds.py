"""One round of a Qwen session: its records to messages and blocks.

A reader knows the facts before its round and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

from muniment.model import Block, Event, Facts, Ref, Round, Text, Tool, Unknown
from muniment.model.codec import mapping
from muniment.sources.builder import Draft, RoundBuilder, quiet
from muniment.sources.gemini import parts, prompts
from muniment.sources.gemini.records import text
from muniment.sources.qwen import events
from muniment.sources.qwen.records import Line, is_prompt, usage_of

HOOK = "<qwen:user-prompt-submit-context>"
"""Begins a part of a prompt that a hook added."""

_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")


class RoundReader:
    """One round being read."""

    def __init__(self, facts: Facts, offset: int) -> None:
        self.round = RoundBuilder(facts.rounds + 1, offset)
        self.own_id = facts.native_id or facts.session_id
        self.links = {(link.kind, link.session) for link in facts.links}
        self.told = {"cwd": facts.cwd, "branch": facts.branch, "client": facts.client}
        self.now = dict(self.told)
        self.window: int | None = None

    def take(self, line: Line, ref: Ref) -> None:
        """Read one record."""
        seen = {"cwd": line.cwd, "branch": line.git_branch, "client": line.version}
        self.now |= {name: value for name, value in seen.items() if value}
        self._link(line, ref)
        self.take_type.get(line.type, RoundReader._event)(self, line, ref)

    def damaged(self, what: str, ref: Ref) -> None:
        """A line that cannot be read keeps its place."""
        self.round.add(Unknown(kind="damaged", damage=what, ref=ref))

    def close(self) -> Round:
        """The round as it stands; what changed behind its last message is told with that."""
        if self.round.waiting:
            self._message("assistant", next((block.ref.at for block in self.round.waiting if block.ref.at), None))
        elif self.round.drafts:
            self.round.drafts[-1].fields |= self._changed()
        return self.round.close()

    # -- what was said

    def _user(self, line: Line, ref: Ref) -> None:
        """A human's words, or what the program put there in the human's name."""
        if not is_prompt(line) and line.subtype != "mid_turn_user_message":
            self.round.add(events.injected(line, ref))
            return
        queued = self.round.prompted
        if not queued:
            self.round.prompted, self.round.parent = True, ref.parent
        draft = self._message("user", ref.at, **({"queued": True} if queued else {}))
        files = False
        for part in line.parts:
            files = files or prompts.begins_files(part)
            draft.blocks.append(self._prompt_part(part, files, ref))
        if not line.parts:
            draft.blocks.append(quiet("empty message", ref))

    def _prompt_part(self, part: Any, files: bool, ref: Ref) -> Block:
        """A part of a prompt; files that it names and what a hook adds are no part of the words."""
        block = parts.said(part, ref, self.round)
        if isinstance(block, Text) and files:
            return Event("referenced files", block.text, ref=ref)
        if isinstance(block, Text) and block.text.lstrip().startswith(HOOK):
            return Event("hook context", block.text, ref=ref)
        return block

    def _answer(self, line: Line, ref: Ref) -> None:
        draft = self._message("assistant", ref.at, **({"model": line.model} if line.model else {}))
        for part in line.parts:
            self._answer_part(draft, part, ref)
        if not line.parts:
            draft.blocks.append(quiet("empty message", ref))
        if line.usage_metadata:
            draft.fields["usage"] = usage_of(line.usage_metadata)
            draft.raw = {"usage": line.usage_metadata}
        if line.context_window_size and line.context_window_size != self.window:
            self.window = line.context_window_size
            draft.blocks.append(quiet(events.WINDOW, Ref(ref.offset, ref.length), self.window))

    def _answer_part(self, draft: Draft, part: Any, ref: Ref) -> None:
        call = mapping(mapping(part).get("functionCall"))
        if call:
            call_id = text(call, "id") or f"call-{ref.id}-{len(draft.blocks)}"
            self.round.call(draft, Tool(call_id, text(call, "name") or "", call.get("args"), ref=ref))
        else:
            draft.blocks.append(parts.said(part, ref, self.round))

    # -- tools

    def _results(self, line: Line, ref: Ref) -> None:
        """The results in a record; pictures and words beside one belong to it."""
        told = line.tool_call_result or {}
        groups: list[list[Any]] = []
        for part in line.parts:
            if "functionResponse" in mapping(part) or not groups:
                groups.append([])
            groups[-1].append(part)
        for given in groups:
            response = mapping(mapping(given[0]).get("functionResponse"))
            call_id = text(response, "id") or text(told, "callId") or ""
            self._result(call_id, given, told if text(told, "callId") in (None, call_id) else {}, ref)
        if not groups:
            self.round.add(events.event(line, ref))

    def _result(self, call_id: str, given: list[Any], told: dict[str, Any], ref: Ref) -> None:
        self.round.result(
            call_id,
            output=parts.output(given, self.round),
            is_error=parts.FAILED.get(text(told, "status") or ""),
            sidechain=_started(told, call_id),
            result=ref,
        )

    # -- around it

    def _event(self, line: Line, ref: Ref) -> None:
        self.round.add(events.event(line, ref))

    def _link(self, line: Line, ref: Ref) -> None:
        """Other sessions that this one came from; every copied record names them, and they are noted once."""
        if line.session_id and line.session_id != self.own_id:
            self._tied("copied from", line.session_id, ref)
        if origin := text(line.forked_from or {}, "sessionId"):
            self._tied("fork", origin, ref, text(line.forked_from or {}, "messageUuid"))
        if line.subtype == "parent_session" and (parent := text(line.payload, "parentSessionId")):
            self._tied("parent", parent, ref)

    def _tied(self, kind: str, session: str, ref: Ref, record: str | None = None) -> None:
        if (kind, session) not in self.links:
            self.links.add((kind, session))
            detail = {"kind": kind, "session": session} | ({"record": record} if record else {})
            self.round.add(quiet("link", Ref(ref.offset, ref.length), detail))

    def _message(self, role: str, at: str | None, **fields: Any) -> Draft:
        return self.round.message(role, at=at, **fields, **self._changed())

    def _changed(self) -> dict[str, Any]:
        """Where folder, branch or program changed since they were last told."""
        changed = {name: value for name, value in self.now.items() if value != self.told[name]}
        self.told = dict(self.now)
        return changed

    take_type: ClassVar[dict[str, Callable[[RoundReader, Line, Ref], None]]] = {
        "user": _user,
        "assistant": _answer,
        "tool_result": _results,
    }
    """Of the class, not of each reader: one that held its own methods would be a cycle, and inscribing goes without
    the garbage collector, so that its whole round would stay in memory."""


def _started(told: dict[str, Any], call_id: str) -> str | None:
    """The subagent that a call started: its file is named after its kind and the call."""
    shown = mapping(told.get("resultDisplay"))
    kind = text(shown, "subagentName") if shown.get("type") == "task_execution" else None
    return _NOT_IN_A_NAME.sub("_", f"{kind}-{call_id}") if kind else None
