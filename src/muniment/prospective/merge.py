"""What agents told of their engagements, put over what extraction found: pure.

A session that an engagement names belongs to it from the round in which it first said something to the one in which it
said the last; one that was still open then, to the end, or to where another began. These rounds are taken from the
engagements that were found; one that loses all of its rounds goes, and where it said something else, that is noted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol, cast

from msgspec import Struct, structs

from muniment.model import projects
from muniment.model.engagements import Conflict, Ingested, KeptEngagement, Method, Phase, runs
from muniment.prospective.record import Record, Touch

BY_AGENT = "prospective"
"""What made an engagement that the agent itself told of."""
NOT_OVER = ("started", "in-progress", "blocked")
MAX_DECISIONS = 20


class Timed(Protocol):
    """A turn of a skeleton, as far as its time matters."""

    @property
    def number(self) -> int: ...
    @property
    def at(self) -> str | None: ...
    @property
    def until(self) -> str | None: ...


class Claim(Struct):
    """Rounds that a told engagement takes."""

    record: Record
    touch: Touch
    rounds: set[int]


def merged(found: Ingested, turns: Sequence[Timed], told: Iterable[Record], native_id: str | None = None) -> Ingested:
    """The session with what was told of it; the same if nothing was."""
    ids = {found.session_id, (native_id or found.session_id).lower()}
    claims = _claims([(r, t) for r in told for t in r.sessions if t.session_id.lower() in ids], turns)
    if not claims:
        return found
    conflicts = _overlaps(claims)
    for later, claim in enumerate(claims, 1):
        claim.rounds.difference_update(*(other.rounds for other in claims[later:]))
    owner = {number: claim.record.id for claim in claims for number in claim.rounds}
    kept = [_told(claim, turns, _nearest(claim, found), found.cwd) for claim in claims]
    for engagement in found.engagements:
        conflicts += _disagreements(engagement, claims, owner)
        kept += _remaining(engagement, owner, turns)
    kept.sort(key=lambda engagement: engagement.turn_range)
    note = _noted(found.note, len(conflicts))
    above = structs.replace(found, ghost=False, engagements=tuple(kept), conflicts=tuple(conflicts), note=note)
    return structs.replace(above, found=found.engagements)


def unmerged(record: Ingested) -> Ingested:
    """The session as it was found, before anything was told of it."""
    if all(engagement.extractor != BY_AGENT for engagement in record.engagements):
        return record
    note = record.note.removesuffix(_noted("", len(record.conflicts))).removesuffix("; ")
    as_found = structs.replace(record, engagements=record.found, conflicts=(), note=note, found=())
    return structs.replace(as_found, ghost=record.extractor is None)


def _noted(note: str, count: int) -> str:
    said = f"agents and extraction disagree in {count} place{'s' if count > 1 else ''}" if count else ""
    return "; ".join(filter(None, (note, said)))


# -- rounds


def _claims(touches: Sequence[tuple[Record, Touch]], turns: Sequence[Timed]) -> list[Claim]:
    """In the order in which they began; one that is open gives way to the next."""
    firsts = sorted({number for _, touch in touches if (number := _turn_at(turns, touch.first))})
    claims = [Claim(record, touch, _rounds(touch, turns, firsts)) for record, touch in touches]
    return sorted((c for c in claims if c.rounds), key=lambda c: (min(c.rounds), c.touch.first, c.record.id))


def _rounds(touch: Touch, turns: Sequence[Timed], firsts: Sequence[int]) -> set[int]:
    numbers = {turn.number for turn in turns}
    if touch.turns:
        return {number for a, b in touch.turns for number in numbers if a <= number <= b}
    first, last = _turn_at(turns, touch.first), _turn_at(turns, touch.last)
    if first is None or last is None:
        return numbers
    if touch.phase_at_end in NOT_OVER:
        last = max(last, min((number - 1 for number in firsts if number > first), default=max(numbers)))
    return {number for number in numbers if first <= number <= last}


def _turn_at(turns: Sequence[Timed], time: str) -> int | None:
    """The round that was under way at a time; the first one for what was said before it."""
    moment = _moment(time)
    began = [(at, turn.number) for turn in turns if turn.at and (at := _moment(turn.at))]
    if moment is None or not began:
        return None
    return max((number for at, number in began if at <= moment), default=began[0][1])


def _moment(time: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(time)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


# -- engagements


def _phase(claim: Claim) -> str:
    """Where an engagement stood when a session left it; of the last session, where it stands now.

    What a person says of it in a shell, after the last session that had to do with it, is nobody's but still holds."""
    last = max(claim.record.sessions, key=lambda touch: touch.last)
    return claim.record.phase if claim.touch == last else claim.touch.phase_at_end


def _told(claim: Claim, turns: Sequence[Timed], near: KeptEngagement | None, cwd: str | None) -> KeptEngagement:
    """A told engagement; where it says no method, that of what was found there counts."""
    record, touch = claim.record, claim.touch
    method = record.method or (near.method if near else "discuss")
    about: dict[str, Any] = {
        "topic": record.topic,
        "project": projects.told(record.project, cwd) or (near.project if near else None),
        "method": cast("Method", method),
        "phase": cast("Phase", _phase(claim)),
        "phase_at_start": cast("Phase", touch.phase_at_start),
        "key_decisions": record.decisions[:MAX_DECISIONS],
        "outcome": record.outcome,
        "next_steps": record.open_obligations,
    }
    return KeptEngagement(**about, **_placed(claim.rounds or {1}, turns), engagement_id=record.id, extractor=BY_AGENT)


def _remaining(engagement: KeptEngagement, owner: dict[int, str], turns: Sequence[Timed]) -> list[KeptEngagement]:
    own = {number for first, last in engagement.turn_ranges for number in range(first, last + 1)}
    left = own - owner.keys()
    if left == own:
        return [engagement]
    return [structs.replace(engagement, **_placed(left, turns))] if left else []


def _placed(rounds: set[int], turns: Sequence[Timed]) -> dict[str, Any]:
    """Rounds as ranges, with the times of the first and the last."""
    ranges = runs(rounds)
    own = [turn for turn in turns if turn.number in rounds]
    return {
        "turn_ranges": tuple(ranges),
        "turn_range": (ranges[0][0], ranges[-1][1]),
        "started": next((turn.at for turn in own if turn.at), None),
        "ended": next((turn.until or turn.at for turn in reversed(own) if turn.until or turn.at), None),
    }


def _nearest(claim: Claim, found: Ingested) -> KeptEngagement | None:
    """What was found where this was told: the one with most rounds in common."""
    shared = [(_common(e, claim.rounds), e) for e in found.engagements]
    return max(shared, key=lambda pair: pair[0], default=(0, None))[1] if any(n for n, _ in shared) else None


def _common(engagement: KeptEngagement, rounds: set[int]) -> int:
    return sum(1 for number in rounds if any(a <= number <= b for a, b in engagement.turn_ranges))


# -- conflicts


def _overlaps(claims: Sequence[Claim]) -> list[Conflict]:
    """Rounds that two told engagements both name; they go to the one that began later."""
    conflicts: list[Conflict] = []
    for number, claim in enumerate(claims):
        for other in claims[number + 1 :]:
            if shared := sorted(claim.rounds & other.rounds):
                words = ", ".join(map(str, shared[:20]))
                conflicts.append(Conflict(claim.record.id, "rounds", words, words, other.record.id))
    return conflicts


def _disagreements(engagement: KeptEngagement, claims: Sequence[Claim], owner: dict[int, str]) -> list[Conflict]:
    """Where most of what was found lies under one told engagement and says something else."""
    own = [number for first, last in engagement.turn_ranges for number in range(first, last + 1)]
    most = Counter(owner[number] for number in own if number in owner).most_common(1)
    if not most or most[0][1] * 2 <= len(own):
        return []
    claim = next(c for c in claims if c.record.id == most[0][0])
    pairs = (
        ("method", claim.record.method, engagement.method),
        ("phase", _phase(claim), engagement.phase),
    )
    return [
        Conflict(claim.record.id, name, told, found, engagement.engagement_id)
        for name, told, found in pairs
        if told and told != found
    ]
