"""`engagements.jsonl`, one line per session with all its engagements, and `engagements-index.md`, made from it.

The file is the record of what extraction found, some of it paid for: `reindex` reads it and never makes it anew. A
session that was understood again has its line replaced, so the file is written whole and put in place at once. Each
line ends with a checksum of its own (`sealed`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import msgspec
from msgspec import structs

from muniment import files
from muniment.model import codec
from muniment.model.engagements import Ingested, KeptEngagement, Tagged, runs
from muniment.model.words import shortened
from muniment.store import edits, escape, sealed
from muniment.store.layout import Layout, session_folder
from muniment.store.listings import cell

_decoder = msgspec.json.Decoder(Ingested)
_ID_AT = len(b'{"session_id":"')
_ID_BYTES = 36


def load(layout: Layout) -> Iterator[Ingested]:
    """Every session that was understood; a line that cannot be read is left to whoever wrote it."""
    for line in _lines(layout):
        try:
            yield _decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            try:
                yield codec.decode(line, Ingested)
            except (msgspec.MsgspecError, ValueError):
                continue


def put(layout: Layout, records: Sequence[Ingested]) -> None:
    """Add or replace the lines of these sessions, with what people decided about their rounds."""
    said = (structs.replace(record, tagged=tagged(layout, record.session_id)) for record in records)
    replace(layout, {record.session_id: sealed.seal(codec.encode(record)) for record in said})


def remove(layout: Layout, session_id: str) -> None:
    """Take the line of a session out."""
    if layout.engagements.exists():
        replace(layout, {session_id: b""})


def replace(layout: Layout, lines: dict[str, bytes]) -> None:
    new = {session_id.encode(): line for session_id, line in lines.items()}
    kept = (line for line in _lines(layout) if line[_ID_AT : _ID_AT + _ID_BYTES] not in new)
    files.write_durable(layout.engagements, (line + b"\n" for line in (*kept, *new.values()) if line))


def _lines(layout: Layout) -> list[bytes]:
    try:
        return [line for line in files.read_regular(layout.engagements).split(b"\n") if line.strip()]
    except (FileNotFoundError, IsADirectoryError, files.Irregular):
        return []


def tags(layout: Layout, record: Ingested | None, session_id: str) -> dict[int, str]:
    """The engagement of every round: as extraction found it, and above that as people decided."""
    found = record.engagements if record else ()
    extracted = {
        turn: engagement.engagement_id
        for engagement in found
        for first, last in engagement.turn_ranges
        for turn in range(first, last + 1)
    }
    return extracted | edits.engagements(layout, session_id)


def tagged(layout: Layout, session_id: str) -> tuple[Tagged, ...]:
    """The engagements that people named for rounds of a session, in the order of the rounds."""
    rounds: dict[str, list[int]] = {}
    for number, name in sorted(edits.engagements(layout, session_id).items()):
        rounds.setdefault(name, []).append(number)
    return tuple(Tagged(name, tuple(runs(numbers))) for name, numbers in rounds.items())


# -- the index for people


def listing(records: Iterable[Ingested]) -> bytes:
    """By date, then session, then engagement; the latest day first."""
    known = list(records)
    worked = [record for record in known if not record.ghost or record.tagged]
    worked.sort(key=lambda r: (r.started or "", r.session_id), reverse=True)
    lines = ["# Engagements", "", _count(worked, len(known) - len(worked)), ""]
    for day, of_day in groupby(worked, key=lambda r: (r.started or "undated")[:10]):
        lines += [f"## {cell(day)}", ""]
        for record in of_day:
            lines += [*_session(record), ""]
    return escape.to_bytes("\n".join(lines).rstrip("\n") + "\n")


def _count(worked: Sequence[Ingested], ghosts: int) -> str:
    found = sum(len(record.engagements) for record in worked)
    return f"engagements: {found:,} · sessions: {len(worked):,} · ghosts, which are not listed: {ghosts:,}"


def _session(record: Ingested) -> Iterator[str]:
    name = cell(record.agent_name or record.agent_id)
    title = cell(shortened(record.title, 120))
    yield f"### {name} · [{record.session_id[:8]}]({session_folder(record.agent_id, record.session_id)}.md) · {title}"
    yield ""
    if record.session_summary:
        yield f"{cell(record.session_summary)}\n"
    for engagement in record.engagements:
        yield from _engagement(engagement)
    for named in record.tagged:
        name = cell(named.engagement_id)
        yield f"- **{name}** · by hand · turns {_turns(named.turn_ranges)}"


def _engagement(engagement: KeptEngagement) -> Iterator[str]:
    project = f" · {cell(engagement.project)}" if engagement.project else ""
    method, phase, topic = map(cell, (engagement.method, engagement.phase, engagement.topic))
    yield f"- **{method}** · {phase}{project} · turns {_turns(engagement.turn_ranges)}: {topic}"
    if engagement.outcome:
        yield f"  - outcome: {cell(engagement.outcome)}"
    yield from (f"  - decided: {cell(decision)}" for decision in engagement.key_decisions)
    yield from (f"  - next: {cell(step)}" for step in engagement.next_steps)


def _turns(ranges: Iterable[tuple[int, int]]) -> str:
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in ranges)


def write_listing(layout: Layout) -> None:
    files.free_place(layout.engagements_listing)
    files.write_if_changed(layout.engagements_listing, listing(load(layout)))
