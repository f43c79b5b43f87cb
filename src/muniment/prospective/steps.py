"""What can be said of an engagement, and when: each step makes a new record and a line of its log.

started ──▶ in-progress ◀──▶ blocked
                 │              │
                 ▼              ▼
         completed, abandoned, handed-off (taken up again: in-progress)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct, structs

from muniment.errors import Conflict, MunimentError, NotFound
from muniment.model.engagements import METHODS, PHASES
from muniment.prospective.record import CLOSED, MAX_TEXT, Obligation, Record, Touch, is_id

NEXT: dict[str, tuple[str, ...]] = {
    "started": ("in-progress", "blocked", "abandoned", "handed-off"),
    "in-progress": ("blocked", "completed", "abandoned", "handed-off"),
    "blocked": ("in-progress", "completed", "abandoned", "handed-off"),
    "handed-off": ("in-progress", "abandoned"),
    "completed": (),
    "abandoned": (),
}
"""From each phase, those that may follow."""
OVER = ("completed", "abandoned")


class Speaker(Struct, frozen=True):
    """Who says it, and when."""

    at: str
    agent: str | None = None
    session_id: str | None = None


class Step(Struct, frozen=True):
    """A record as it stands after something was said, and the words for the log."""

    record: Record
    line: str


class Begin(Struct, frozen=True, kw_only=True):
    """What an engagement begins with."""

    topic: str
    method: str
    id: str = ""
    project: str | None = None
    participants: tuple[str, ...] = ()


def start(begin: Begin, by: Speaker) -> Step:
    """A new engagement; without an id it gets one of its topic and its moment."""
    if begin.method not in METHODS:
        raise MunimentError(f"there is no method {begin.method[:40]!r}", f"say one of {', '.join(METHODS)}")
    id_ = begin.id or made_id(begin.topic, by.at)
    if not is_id(id_):
        raise MunimentError(f"{id_[:80]!r} is no id of an engagement", "letters, digits, - and _, at most 64")
    made = Record(
        id=id_,
        topic=words(begin.topic, "topic"),
        project=begin.project,
        method=begin.method,
        phase="started",
        started=by.at,
        agent=by.agent,
        participants=begin.participants,
    )
    return _said(made, made.phase, f"started · {made.method}", by)


def made_id(topic: str, at: str) -> str:
    """`login-page-0319-100005`: the beginning of the topic, the day and the second."""
    slug = "-".join(re.findall(r"[a-z0-9]+", topic.lower()))[:40].strip("-") or "work"
    digits = re.sub(r"[^0-9]", "", at)
    return f"{slug}-{digits[4:8]}-{digits[8:14]}"


def phase(record: Record, to: str, by: Speaker, note: str = "") -> Step:
    """Go on to another phase. Raises Conflict if it does not follow from the present one."""
    if to not in PHASES:
        raise MunimentError(f"there is no phase {to[:40]!r}", f"say one of {', '.join(PHASES)}")
    if to not in NEXT[record.phase]:
        after = ", ".join(NEXT[record.phase])
        hint = f"from there it goes on to {after}" if after else "it is over; start a new one"
        raise Conflict(f"{record.id} is {record.phase}, which {to} does not follow", hint)
    return _said(structs.replace(record, phase=to), record.phase, _with(f"{record.phase} → {to}", note), by)


def decide(record: Record, text: str, by: Speaker) -> Step:
    """A decision was taken."""
    decided = words(text, "decision")
    return _said(
        structs.replace(record, decisions=(*record.decisions, decided)), record.phase, f"decided: {decided}", by
    )


def oblige(record: Record, text: str, by: Speaker) -> Step:
    """Something is owed from now on."""
    owed = Obligation(words(text, "obligation"))
    number = len(record.obligations) + 1
    made = structs.replace(record, obligations=(*record.obligations, owed))
    return _said(made, record.phase, f"obligation {number}: {owed.text}", by)


def fulfil(record: Record, number: int, by: Speaker) -> Step:
    """What was owed is done; obligations are counted from 1."""
    if not 1 <= number <= len(record.obligations):
        raise NotFound(f"{record.id} has no obligation {number}", f"it has {len(record.obligations)}")
    duties = list(record.obligations)
    duties[number - 1] = structs.replace(duties[number - 1], state=CLOSED)
    made = structs.replace(record, obligations=tuple(duties))
    return _said(made, record.phase, f"obligation {number} closed", by)


def hand_off(record: Record, to: str, by: Speaker, note: str = "") -> Step:
    """Another takes it from here."""
    receiver = words(to, "name")
    step = phase(record, "handed-off", by, _with(f"to {receiver}", note))
    people = _added(step.record.participants, receiver)
    return structs.replace(step, record=structs.replace(step.record, participants=people))


def complete(record: Record, by: Speaker, outcome: str = "", leave_open: bool = False) -> Step:
    """It is done. Raises Conflict while something is owed, unless that may stay so."""
    if record.open_obligations and not leave_open:
        count = len(record.open_obligations)
        hint = f"first: {record.open_obligations[0][:80]!r}; close it, hand it off, or leave it open"
        raise Conflict(f"{record.id} has {count} open obligation{'s' if count > 1 else ''}", hint)
    done = words(outcome, "outcome") if outcome else record.outcome
    return phase(structs.replace(record, outcome=done), "completed", by, done)


def words(text: str, what: str) -> str:
    """What was said, as one line."""
    line = on_one_line(text)
    if not line:
        raise MunimentError(f"the {what} is empty", "say it in a few words")
    if len(line) > MAX_TEXT:
        raise MunimentError(f"this {what} is too long", f"at most {MAX_TEXT} characters")
    return line


def on_one_line(text: str) -> str:
    """Without line breaks and whatever else could steer a terminal."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _with(text: str, note: str) -> str:
    return f"{text} · {words(note, 'note')}" if note.strip() else text


def _said(made: Record, before: str, text: str, by: Speaker) -> Step:
    """The record with who said it and when; `before` is the phase before."""
    said = structs.replace(
        made,
        updated=by.at,
        session_id=by.session_id or made.session_id,
        participants=_added(made.participants, by.agent),
        sessions=_touched(made, before, by) if by.session_id else made.sessions,
    )
    who = " · ".join(filter(None, (by.agent, f"session {by.session_id[:8]}" if by.session_id else None)))
    return Step(said, f"- {by.at} · {text}{f' ({who})' if who else ''}")


def _added(names: Sequence[str], name: str | None) -> tuple[str, ...]:
    return (*names, name) if name and name not in names else tuple(names)


def _touched(made: Record, before: str, by: Speaker) -> tuple[Touch, ...]:
    assert by.session_id, "only a named session touches"
    known = {touch.session_id: touch for touch in made.sessions}
    touch = known.get(by.session_id) or Touch(by.session_id, before, made.phase, by.at, by.at)
    known[by.session_id] = structs.replace(touch, phase_at_end=made.phase, last=by.at)
    return tuple(known.values())
