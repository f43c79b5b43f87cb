"""The effective chain: what the agent sees of a session, as a pure function of its events.

A compaction adds a boundary and takes nothing away: the span from `headUuid` to `tailUuid` is seen as the one event
`summary_event_uuid`, behind `anchorUuid`; a format that names only what is kept (`first_kept`) means everything before
it. A boundary that lacks a part, or names what is not there, was cut off by a
crash and does nothing. Compactions nest: a later one may span the summary of an earlier one, by either name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from muniment.model.codec import mapping
from muniment.model.events import COMPACTION, SPOKEN, SUMMARY, TOOL_CALL, TOOL_RESULT, Event, call_said, result_said


class Boundary(Struct, frozen=True):
    """What a compaction says: which span the summary stands for, or from which event on all is kept."""

    summary: str
    head: str | None = None
    tail: str | None = None
    first_kept: str | None = None


class Chain:
    """The effective chain while a session goes on: events are added, and nothing is ever read again."""

    def __init__(self, events: Iterable[Event] = (), compactions: int | None = None) -> None:
        self.events: list[Event] = []
        """As the agent sees them."""
        self._compactions = compactions
        self._summaries: dict[str, Event] = {}
        self._stands_for: dict[str, str] = {}
        """By event that a compaction took out of sight: the summary in its place."""
        self.applied = 0
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        if event.type == SUMMARY:
            self._summaries[event.uuid] = event
        elif event.type == COMPACTION:
            self._compact(event)
        elif event.type in SPOKEN:
            self.events.append(event)

    def _compact(self, event: Event) -> None:
        boundary = boundary_of(event)
        if boundary is None or (self._compactions is not None and self.applied >= self._compactions):
            return
        summary = self._summaries.get(boundary.summary)
        span = self._span(boundary, event.uuid)
        if summary is None or span is None:
            return
        self._stands_for.update((hidden.uuid, summary.uuid) for hidden in self.events[span])
        self.events[span] = [summary]
        self.applied += 1

    def _span(self, boundary: Boundary, own_id: str) -> slice | None:
        """What the summary takes out of sight; None if the chain does not have it."""
        place = {seen.uuid: at for at, seen in enumerate(self.events)}
        if boundary.head and boundary.tail:
            first, last = place.get(self._seen_as(boundary.head)), place.get(self._seen_as(boundary.tail))
            return slice(first, last + 1) if first is not None and last is not None and first <= last else None
        if boundary.first_kept == own_id:
            return slice(0, len(self.events))
        kept = self._seen_as(boundary.first_kept or "")
        parts = (at for uuid, at in place.items() if uuid == kept or uuid.startswith(f"{kept}."))
        end = min(parts, default=None)
        return None if end is None else slice(0, end)

    def _seen_as(self, uuid: str) -> str:
        while uuid in self._stands_for:
            uuid = self._stands_for[uuid]
        return uuid


def effective(events: Iterable[Event], compactions: int | None = None) -> list[Event]:
    """The chain after the first `compactions` boundaries, or after all of them; 0 shows it as if none had been."""
    return Chain(events, compactions).events


def boundary_of(event: Event) -> Boundary | None:
    """What a boundary says; None if a crash left it without a part."""
    said = mapping(event.payload)
    names = ("summary_event_uuid", "headUuid", "tailUuid", "first_kept")
    summary, head, tail, kept = (value if isinstance(value := said.get(name), str) else None for name in names)
    if summary is None or not ((head and tail) or kept):
        return None
    return Boundary(summary, head, tail, kept)


class Unanswered(Struct, frozen=True):
    """A tool call whose result was never recorded: the harness decides whether to run it again."""

    id: str
    name: str
    input: Any
    uuid: str


def unanswered(events: Iterable[Event]) -> list[Unanswered]:
    """Calls without a result, in their order."""
    calls: dict[str, Unanswered] = {}
    for event in events:
        if event.type == TOOL_CALL and (said := call_said(event.payload)).id:
            calls[said.id] = Unanswered(said.id, said.name or "unnamed", said.value, event.uuid)
        elif event.type == TOOL_RESULT and (id_ := result_said(event.payload).id):
            calls.pop(id_, None)
    return list(calls.values())


def last_messages(chain: Sequence[Event], count: int) -> list[Event]:
    """The last `count` events of a chain, and before them the calls whose results are among them: pairs stay whole."""
    start = max(0, len(chain) - count)
    results = {result_said(e.payload).id for e in chain[start:] if e.type == TOOL_RESULT} - {None}
    calls = [at for at, e in enumerate(chain[:start]) if e.type == TOOL_CALL and call_said(e.payload).id in results]
    return list(chain[min(calls, default=start) :])
