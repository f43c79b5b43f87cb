"""An engagement as an agent tells it: the fields of the frontmatter of `engagement.md`.

Files are written by agents and edited by people, so reading is forgiving: what is missing has a default, what has
another type becomes text, and fields of others are left where they are. Only the id and the phase must be right.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Any, cast

from msgspec import Struct, structs

from muniment.errors import StoreError
from muniment.model import codec
from muniment.model.engagements import METHODS, PHASES

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
ARCHIVE = "archive"
MAX_TEXT = 2000
OPEN, CLOSED = "open", "closed"


class Obligation(Struct, frozen=True):
    """Something that was promised."""

    text: str
    state: str = OPEN


class Touch(Struct, frozen=True, omit_defaults=True):
    """What one session had to do with it."""

    session_id: str
    phase_at_start: str
    phase_at_end: str
    first: str
    """When it first said something."""
    last: str
    turns: tuple[tuple[int, int], ...] = ()
    """Its rounds, if somebody gave them; else they follow from the times."""


class Record(Struct, frozen=True, kw_only=True):
    """One engagement. Times are UTC."""

    id: str
    topic: str
    project: str | None = None
    method: str | None = None
    phase: str
    started: str = ""
    updated: str = ""
    agent: str | None = None
    session_id: str | None = None
    """The session that said something last."""
    participants: tuple[str, ...] = ()
    obligations: tuple[Obligation, ...] = ()
    decisions: tuple[str, ...] = ()
    outcome: str = ""
    sessions: tuple[Touch, ...] = ()

    @property
    def open_obligations(self) -> tuple[str, ...]:
        return tuple(duty.text for duty in self.obligations if duty.state != CLOSED)


def fields(record: Record) -> dict[str, Any]:
    """The record as the frontmatter has it, in order."""
    return {name: codec.loads(codec.encode(getattr(record, name))) for name in structs.asdict(record)}


def is_id(text: str) -> bool:
    return bool(ID.fullmatch(text)) and text.lower() != ARCHIVE


def read(said: dict[str, Any]) -> Record:
    """The record that a frontmatter gives. Raises StoreError for one without a usable id or phase."""
    id_, phase = _text(said.get("id")), _text(said.get("phase"))
    if not is_id(id_):
        raise StoreError(f"{id_[:80]!r} is no id of an engagement", "letters, digits, - and _, at most 64")
    if phase not in PHASES:
        raise StoreError(f"engagement {id_}: phase {phase[:40]!r} is unknown", f"say one of {', '.join(PHASES)}")
    method = _text(said.get("method"))
    return Record(
        id=id_,
        topic=_text(said.get("topic")) or id_,
        project=_text(said.get("project")) or None,
        method=method if method in METHODS else None,
        phase=phase,
        started=_text(said.get("started")),
        updated=_text(said.get("updated")) or _text(said.get("started")),
        agent=_text(said.get("agent")) or None,
        session_id=_text(said.get("session_id")) or None,
        participants=tuple(filter(None, map(_text, _list(said.get("participants"))))),
        obligations=tuple(_obligation(item) for item in _list(said.get("obligations")) if item),
        decisions=tuple(filter(None, map(_text, _list(said.get("decisions"))))),
        outcome=_text(said.get("outcome")),
        sessions=tuple(touch for item in _list(said.get("sessions")) if (touch := _touch(item, phase))),
    )


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [] if value is None else [value]


def _text(value: Any) -> str:
    """Any value as one line; YAML turns what looks like a date or a number into one."""
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, (dict, list)):
        return ""
    return " ".join(str(value).split())[:MAX_TEXT]


def _obligation(item: Any) -> Obligation:
    """An object as we write it, or just words."""
    if not isinstance(item, dict):
        return Obligation(_text(item))
    said = codec.mapping(item)
    return Obligation(_text(said.get("text")), CLOSED if _text(said.get("state")) == CLOSED else OPEN)


def _touch(item: Any, phase: str) -> Touch | None:
    """An object as we write it, or just the id of a session."""
    said = codec.mapping(item) if isinstance(item, dict) else {"session_id": item}
    session = _text(said.get("session_id"))
    if not session:
        return None
    began, ended = (_text(said.get(name)) for name in ("phase_at_start", "phase_at_end"))
    return Touch(
        session,
        began if began in PHASES else phase,
        ended if ended in PHASES else phase,
        _text(said.get("first")),
        _text(said.get("last")) or _text(said.get("first")),
        tuple(turns for pair in _list(said.get("turns")) if (turns := _turns(pair))),
    )


def _turns(pair: Any) -> tuple[int, int] | None:
    ends = [number for number in _list(pair) if type(number) is int and number > 0]
    return (ends[0], ends[-1]) if ends and ends[0] <= ends[-1] else None
