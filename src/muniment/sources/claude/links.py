"""Traces of another session in a record: copied history, a fork, a cleared or branched conversation.

Every record names a session, so a trace stands on all records behind it as well; it is noted once.
"""

from __future__ import annotations

from muniment.model import Facts, Ref
from muniment.model.codec import mapping
from muniment.sources.builder import RoundBuilder, quiet
from muniment.sources.claude.records import Line


class Links:
    """The sessions that a transcript is known to be tied to."""

    def __init__(self, facts: Facts) -> None:
        self.own_id = facts.native_id or facts.session_id
        self.foreign = "parent" if facts.sidechain else "copied from"
        """What a record of another session shows."""
        self.known = {(link.kind, link.session) for link in facts.links}

    def note(self, line: Line, ref: Ref, round_: RoundBuilder) -> None:
        """Add to the round what a record shows for the first time."""
        if line.session_id and line.session_id != self.own_id:
            self._add(self.foreign, line.session_id, None, ref, round_)
        origin = mapping(line.forked_from) if line.forked_from else {}
        if (session := origin.get("sessionId")) and isinstance(session, str):
            record = origin.get("messageUuid")
            self._add("fork", session, record if isinstance(record, str) else None, ref, round_)
        before = line.parent_session
        if before and before not in (self.own_id, line.session_id) and ("fork", before) not in self.known:
            self._add("continues", before, None, ref, round_)
        if line.process_session and line.process_session != line.session_id:
            self._add("continues", line.process_session, None, ref, round_)

    def _add(self, kind: str, session: str, record: str | None, ref: Ref, round_: RoundBuilder) -> None:
        if (kind, session) not in self.known:
            self.known.add((kind, session))
            detail = {"kind": kind, "session": session} | ({"record": record} if record else {})
            round_.add(quiet("link", Ref(ref.offset, ref.length), detail))
