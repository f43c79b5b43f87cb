"""The judge: what was attempted and acknowledged, against what can be read. Pure functions; nothing here runs anything.

Every call is noted when it begins and when it returns, on a clock that all processes share. From that, with no
knowledge of the file's format:

- what was acknowledged can be read, and what can be read was attempted, with the payload it was attempted with;
- nothing is there twice;
- if one append had returned before another began, it stands before it (for one writer, that is its own order).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

Kind = Literal["invoke", "ok", "fail", "durable"]
Survival = Literal["accepted", "durable"]
_SHOWN = 5
"""How many of a kind of complaint are told one by one."""


class Note(Struct, frozen=True, array_like=True):
    """One line of a writer's history."""

    kind: Kind
    at: int
    """Nanoseconds of the clock that all processes of a machine share."""
    uuid: str = ""
    size: int = 0
    flavour: str = ""
    """Tells payloads of one uuid apart."""
    error: str = ""


class Attempt(Struct):
    """One event that one writer tried to append."""

    writer: str
    uuid: str
    size: int
    flavour: str
    invoked: int
    accepted: int | None = None
    durable: int | None = None
    error: str = ""


class _Stored(Struct):
    """When an event may have been written: all attempts at it taken together."""

    invoked: int
    accepted: int | None


def payload_of(uuid: str, size: int, flavour: str = "") -> str:
    """So many characters that only this event has, with everything in them that a careless writer trips over."""
    pattern = f'{flavour}{uuid} "\\\n\r\t\u2028{{}}\u00fc\u6f22\U0001f600|'
    return (pattern * (size // len(pattern) + 1))[:size]


def parse(lines: Iterable[bytes]) -> list[Note]:
    """The notes of one writer; one that it was killed while writing is as good as not made."""
    notes: list[Note] = []
    for line in lines:
        try:
            notes.append(msgspec.json.decode(line, type=Note))
        except msgspec.MsgspecError:
            break
    return notes


def attempts_of(writer: str, notes: Iterable[Note]) -> list[Attempt]:
    """What one writer, one call after another, tried and was told."""
    made: list[Attempt] = []
    for note in notes:
        if note.kind == "invoke":
            made.append(Attempt(writer, note.uuid, note.size, note.flavour, note.at))
        elif note.kind == "ok":
            made[-1].accepted = note.at
        elif note.kind == "fail" and made:
            made[-1].error = note.error
        elif note.kind == "durable":
            for attempt in reversed(made):
                if attempt.durable is not None:
                    break
                attempt.durable = note.at if attempt.accepted else None
    return made


def complaints(
    attempts: Sequence[Attempt],
    read: Sequence[tuple[str, str]],
    survived: Survival = "accepted",
    once: bool = True,
    ordered: bool = True,
) -> list[str]:
    """What is wrong with a file that these attempts have made; empty if all is well."""
    by_uuid: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        by_uuid[attempt.uuid].append(attempt)
    known = [_recognised(uuid, payload, by_uuid) for uuid, payload in read]
    found: list[str] = _some("was never attempted", [u for (u, _), k in zip(read, known, strict=True) if k is None])
    places = [place for place in known if place is not None]
    found += _some(f"was acknowledged ({survived}) and is lost", _lost(attempts, set(places), survived))
    if once:
        found += _some("is there more than once", _repeated(places))
    if ordered:
        found += _some("stands before one that had been acknowledged before it began", _early(places, by_uuid))
    return found


Key = tuple[str, str]
"""Uuid and flavour: an event and its content."""


def _recognised(uuid: str, payload: str, by_uuid: Mapping[str, Sequence[Attempt]]) -> Key | None:
    """Which attempt an event that was read comes from."""
    for attempt in by_uuid.get(uuid, ()):
        if len(payload) == attempt.size and payload == payload_of(uuid, attempt.size, attempt.flavour):
            return uuid, attempt.flavour
    return None


def _lost(attempts: Sequence[Attempt], there: set[Key], survived: Survival) -> list[str]:
    def promised(attempt: Attempt) -> bool:
        return (attempt.accepted if survived == "accepted" else attempt.durable) is not None

    return [a.uuid for a in attempts if promised(a) and (a.uuid, a.flavour) not in there]


def _repeated(places: Sequence[Key]) -> list[str]:
    seen: set[Key] = set()
    return [place[0] for place in places if place in seen or seen.add(place)]


def _early(places: Sequence[Key], by_uuid: Mapping[str, Sequence[Attempt]]) -> list[str]:
    """Events behind which one stands that was acknowledged before they began; a copy counts at its first place."""
    times: list[tuple[str, _Stored]] = []
    for uuid, flavour in dict.fromkeys(places):
        mine = [a for a in by_uuid[uuid] if a.flavour == flavour]
        accepted = [a.accepted for a in mine if a.accepted is not None]
        times.append((uuid, _Stored(min(a.invoked for a in mine), min(accepted) if accepted else None)))
    early: list[str] = []
    first_behind: int | None = None
    for uuid, stored in reversed(times):
        if first_behind is not None and first_behind < stored.invoked:
            early.append(uuid)
        if stored.accepted is not None and (first_behind is None or stored.accepted < first_behind):
            first_behind = stored.accepted
    return early[::-1]


def _some(what: str, uuids: Sequence[str]) -> list[str]:
    told = [f"{uuid} {what}" for uuid in uuids[:_SHOWN]]
    return [*told, f"… and {len(uuids) - _SHOWN} more: {what}"] if len(uuids) > _SHOWN else told


def changed(earlier: Mapping[str, bytes], later: Mapping[str, bytes]) -> list[str]:
    """Files whose earlier content is not the beginning of the later one."""
    return [
        f"{name}: what had been in it was changed or removed"
        for name, content in earlier.items()
        if not later.get(name, b"").startswith(content)
    ]
