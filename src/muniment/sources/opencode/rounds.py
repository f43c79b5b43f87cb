"""One round of an opencode session: its messages, each with the parts that make it up.

A message of the user that no human wrote (the program asks for a summary, or goes on after it) is kept as it is, in
a quiet event, so that a rewritten file has it again.
"""

from __future__ import annotations

from typing import Any

from muniment.model import Event, Facts, Ref, Round, Unknown, Usage, codec
from muniment.sources.builder import Draft, RoundBuilder, count, quiet
from muniment.sources.opencode import flat, parts
from muniment.sources.opencode.records import at_time, identity, is_unread, listing, mapping, text

INJECTED = "injected message"
HEAD = "session info"

_LEFT_OUT = frozenset({"id", "sessionID", "role"})
_UNNAMED = ("New session - ", "Child session - ")
"""How the titles begin that a session has before it gets one."""


class RoundReader:
    """One round being read."""

    def __init__(self, facts: Facts, offset: int) -> None:
        self.round = RoundBuilder(facts.rounds + 1, offset)
        self.told = {"cwd": facts.cwd, "client": facts.client}
        self.now = dict(self.told)

    def head(self, info: dict[str, Any], ref: Ref) -> None:
        """What is said of the session as a whole; what was allowed in it stays in the evidence."""
        self.round.add(quiet(HEAD, ref, {name: value for name, value in info.items() if name != "permission"}))
        folder = text(info, "directory") or text(mapping(info, "location"), "directory")
        self._set(cwd=folder, client=text(info, "version"))
        if (title := text(info, "title")) and not title.startswith(_UNNAMED):
            self.round.add(quiet("title", ref, {"title": title, "by": "ai"}))
        if slug := text(info, "slug"):
            self.round.add(quiet("slug", ref, slug))
        if parent := text(info, "parentID"):
            self.round.add(quiet("link", ref, {"kind": "parent", "session": identity(parent)}))
        if revert := mapping(info, "revert"):
            said = f"what follows {text(revert, 'messageID')} was taken back"
            self.round.add(Event("revert", said, parts.small(revert) or None, ref))

    def other(self, kind: str, value: Any, ref: Ref) -> None:
        """A record of no kind that is known."""
        self.round.add(Unknown(kind=kind, value=value, ref=ref))

    def damaged(self, what: str, ref: Ref) -> None:
        """A record that cannot be read keeps its place."""
        self.round.add(Unknown(kind="damaged", damage=what, ref=ref))

    def message(self, value: dict[str, Any], ref: Ref) -> None:
        """One message with its parts."""
        info = mapping(value, "info")
        if info.get("role") == "user" and not is_human(value):
            self.round.add(quiet(INJECTED, ref, value))
            return
        self._set(cwd=text(mapping(info, "path"), "cwd"))
        draft = self._begun(info, ref, is_queued(value))
        if is_unread(info):
            draft.blocks.append(parts.unread(info, ref))
        summary = info.get("role") == "assistant" and info.get("summary") is True
        for part in listing(value, "parts"):
            self._part(draft, codec.mapping(part), ref, summary)
        _end(draft, info, ref)

    def record(self, value: dict[str, Any], ref: Ref) -> None:
        """One record of opencode 2: a message, or what happened around it."""
        if not flat.speaks(value):
            self.round.add(flat.aside(value, Ref(ref.offset, ref.length)))
            self._go_to(flat.folder(value))
            return
        draft = self._spoken(value, ref)
        for block, note in flat.said(value, ref, self.round) or [(quiet("empty message", ref), None)]:
            draft.blocks.append(block)
            if note and block.ref.id:
                draft.parts[block.ref.id] = note
        _end(draft, value, ref)

    def close(self) -> Round:
        """The round as it stands."""
        return self.round.close()

    def _begun(self, info: dict[str, Any], ref: Ref, queued: bool) -> Draft:
        fields: dict[str, Any] = {"at": ref.at, "id": text(info, "id"), **self._changed()}
        role = "user" if info.get("role") == "user" else "assistant"
        if role == "user" and queued:
            fields["queued"] = True
        elif role == "user":
            self.round.prompted = True
        else:
            fields |= {"model": text(info, "modelID"), "usage": usage_of(mapping(info, "tokens"))}
        draft = self.round.message(role, **fields)
        kept = {name: value for name, value in info.items() if name not in _LEFT_OUT}
        if isinstance(kept.get("summary"), dict):
            del kept["summary"]  # the changes of the turn at length; they stay in the evidence
        draft.raw = {"info": kept}
        return draft

    def _spoken(self, value: dict[str, Any], ref: Ref) -> Draft:
        fields: dict[str, Any] = {"at": ref.at, "id": ref.id, **self._changed()}
        if value["type"] == "user":
            self.round.prompted = True
            draft = self.round.message("user", **fields)
        else:
            model, usage = text(mapping(value, "model"), "id"), usage_of(mapping(value, "tokens"))
            draft = self.round.message("assistant", model=model, usage=usage, **fields)
        draft.raw = {flat.KEPT: flat.kept(value)}
        return draft

    def _go_to(self, folder: str | None) -> None:
        """The next prompt may open a round, whose reader knows only what messages told."""
        self._set(cwd=folder)
        if folder and self.round.drafts:
            self.round.drafts[-1].fields |= self._changed()

    def _part(self, draft: Draft, part: dict[str, Any], ref: Ref, summary: bool) -> None:
        own = text(part, "id")
        draft.blocks.append(parts.block(part, Ref(ref.offset, ref.length, own, ref.id, ref.at), self.round, summary))
        if own and (note := parts.note(part)):
            draft.parts[own] = note

    def _set(self, **settings: str | None) -> None:
        self.now |= {name: value for name, value in settings.items() if value}

    def _changed(self) -> dict[str, Any]:
        """Where folder or program changed since they were last told."""
        changed = {name: value for name, value in self.now.items() if value != self.told[name]}
        self.told = dict(self.now)
        return changed


def _end(draft: Draft, info: dict[str, Any], ref: Ref) -> None:
    """What went wrong with a message, and that it says nothing."""
    if error := mapping(info, "error"):
        said = text(mapping(error, "data"), "message") or text(error, "message") or text(error, "name") or ""
        draft.blocks.append(Event("error", said, parts.small(error) or None, ref))
    if not draft.blocks:
        draft.blocks.append(quiet("empty message", ref))


def is_human(value: dict[str, Any]) -> bool:
    """Whether a user message holds anything that the program did not put there itself."""
    held = [codec.mapping(part) for part in listing(value, "parts")]
    return not held or any(not part.get("synthetic") and part.get("type") != "compaction" for part in held)


def is_queued(value: dict[str, Any]) -> bool:
    """Whether a message bears our mark of one that came while the agent worked."""
    return any(codec.mapping(part).get("metadata") == parts.QUEUED for part in listing(value, "parts"))


def place(value: dict[str, Any], offset: int, length: int) -> Ref:
    """Where a message lies."""
    info = mapping(value, "info")
    created = mapping(info, "time").get("created")
    return Ref(offset, length, text(info, "id"), text(info, "parentID"), at_time(created))


def usage_of(said: dict[str, Any]) -> Usage | None:
    """Reasoning is counted beside the output by most providers, and as a part of it by some: the total tells."""
    cache = mapping(said, "cache")
    counted = Usage(count(said, "input"), count(said, "output"), count(cache, "read"), count(cache, "write"))
    reasoning = count(said, "reasoning")
    if not counted.total and not reasoning:
        return None
    if said.get("total") == counted.total:
        return counted
    return Usage(counted.input, counted.output + reasoning, counted.cache_read, counted.cache_write)
