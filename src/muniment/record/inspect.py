"""What is wrong with a recorded session: everything that can be told from its file, and from its seal if it has one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from muniment.model import Problem
from muniment.model.events import TERMINATOR, Event
from muniment.record.disk import segments
from muniment.record.seal import chain_path, verify
from muniment.record.transcript import Transcript, load


class Inspection(Struct, frozen=True):
    """What was found."""

    path: str
    records: int
    ended: bool
    unfinished: int
    """Bytes of a last line that is not yet written, or never will be."""
    mark: str
    """Of a sealed session; see `seal`."""
    problems: tuple[Problem, ...]


def inspect(path: Path, mark: str | None = None) -> Inspection:
    """Read a session whole; nothing is written."""
    transcript = load(path)
    problems = [*transcript.problems, *_odd(transcript)]
    sealed = verify(path, mark) if mark or chain_path(path).exists() else None
    problems += sealed.problems if sealed else ()
    for segment in segments(path)[1:]:
        problems += verify(segment).problems if chain_path(segment).exists() else ()
    ended = any(event.type == TERMINATOR for event in transcript.events)
    marked = sealed.mark if sealed else ""
    return Inspection(str(path), len(transcript.events), ended, transcript.unfinished, marked, tuple(problems))


def _odd(transcript: Transcript) -> Iterator[Problem]:
    """Records that are whole and still cannot be right: ids that are taken, links that lead nowhere."""
    known: dict[str, Event] = {}
    for event, place in zip(transcript.events, transcript.places, strict=True):
        if event.uuid in known:
            yield Problem(*place, f"two events have the id {event.uuid}: {known[event.uuid].type}, {event.type}")
        if event.prev_uuid and event.prev_uuid not in known:
            yield Problem(*place, f"event {event.uuid} follows {event.prev_uuid}, which is not there")
        known[event.uuid] = event
