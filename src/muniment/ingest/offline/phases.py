"""How far an engagement came: completed when delivered, in progress when cut off or left open."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.ingest.offline import cues
from muniment.ingest.offline.hearing import Heard
from muniment.model.engagements import Phase

_TAIL = 400


def phase(heard: Sequence[Heard], last: bool) -> Phase:
    """The state in which these turns left the work; `last` if nothing came after them in the session."""
    end = heard[-1] if last else _answered(heard)
    closing = end.turn.closing[-_TAIL:]
    events = dict(end.turn.events)
    if cues.BLOCKED.search(events.get("error", "")[:_TAIL]) or (last and cues.BLOCKED.search(closing)):
        return "blocked"
    if cues.HANDED.search(end.said[:200]):
        return "handed-off"
    if cues.DROPPED.match(end.said[:80]) and not end.deeds.edits:
        return "abandoned"
    return "in-progress" if _open(end, closing, last) else "completed"


def _answered(heard: Sequence[Heard]) -> Heard:
    """The last turn that came to anything: where other work follows, a slip of the keyboard leaves nothing open."""
    return next((one for one in reversed(heard) if one.turn.assistant or one.acts), heard[-1])


def _open(end: Heard, closing: str, last: bool) -> bool:
    """Whether the last turn came to no end. Where other work follows, only a plain interruption tells that."""
    if not closing.strip():
        return last or not end.turn.assistant
    if not last:
        return False
    return closing.rstrip().endswith(":") or (not end.acts and bool(cues.UNDERWAY.match(closing.strip())))
