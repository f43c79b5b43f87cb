"""Which sessions hold the same records: found by the index first, so that few round files are opened.

A copy keeps ids and times. So sessions that begin with the same record, or have an API message in common, are known
from the index; a copy that begins in the middle of another session starts at a time inside of it, and only the round
of that time has to be looked at.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec
from msgspec import Struct

from muniment.lineage.values import Member
from muniment.model import Tool
from muniment.store import evidence, rounds
from muniment.store.index import Index
from muniment.store.layout import Layout, Shelf

MIN_ID_CHARS = 16
"""Shorter ids are numbers that every session begins anew."""
FIRST_IDS = 8
"""Of a session's beginning: a copy may have a record or two of its own before what it copied."""


class _Ref(Struct, frozen=True, gc=False):
    id: str | None = None
    at: str | None = None


class _Block(Struct, gc=False):
    id: str | None = None
    ref: _Ref = _Ref()


class _User(Struct, gc=False):
    blocks: tuple[_Block, ...] = ()


class _File(Struct, gc=False):
    user: _User | None = None
    agent: tuple[_Block, ...] = ()


_decoder = msgspec.json.Decoder(_File)
_Starts = dict[str, list[tuple[str, int]]]
"""By session: when its rounds began, with their numbers."""


def find(layout: Layout, index: Index, members: Sequence[Member]) -> dict[str, dict[str, str]]:
    """Ids and times of the records of every session that has one in common with another."""
    shelves = {one.id: layout.shelf(one.agent_id, one.id) for one in members}
    kin = {id_ for (id_,) in (*index.rows(_ORIGIN), *index.rows(_MESSAGES))}
    starts = _starts(index)
    for source in {one.source for one in members}:
        kin.update(_by_time(starts, [one for one in members if one.source == source and one.started], shelves))
    return {id_: dict(_ids(shelves[id_])) for id_ in sorted(kin) if id_ in shelves}


_ORIGIN = """SELECT session_id FROM sessions WHERE origin IN
  (SELECT origin FROM sessions WHERE origin IS NOT NULL GROUP BY origin HAVING count(*) > 1)"""

_MESSAGES = f"""SELECT session_id FROM sessions WHERE id IN (SELECT session FROM usage WHERE message_id IN
  (SELECT message_id FROM usage WHERE length(message_id) >= {MIN_ID_CHARS} AND sidechain IS NULL
   GROUP BY message_id HAVING min(session) <> max(session)))"""


def written(shelf: Shelf) -> int:
    """When the transcript of a session was last written, in nanoseconds; 0 if there is none."""
    manifest = evidence.load(shelf.evidence)
    return manifest.main.mtime_ns if manifest and manifest.main else 0


# -- copies that begin in the middle of another session


def _by_time(starts: _Starts, members: list[Member], shelves: Mapping[str, Shelf]) -> Iterator[str]:
    """Sessions whose first records are in another one that was running when they began, and that other."""
    members.sort(key=lambda one: (one.started or "", one.id))
    first: dict[str, set[str]] = {}
    for one in _inside(members):
        for id_ in _first_ids(shelves[one.id]):
            first.setdefault(id_, set()).add(one.id)
    times = [one.started or "" for one in members]
    for one in members if first else ():
        for number in _rounds_around(one, starts.get(one.id, []), times):
            for id_ in _ids_of(shelves[one.id], number):
                if others := first.get(id_, set()) - {one.id}:
                    yield one.id
                    yield from others


def _inside(members: Iterable[Member]) -> Iterator[Member]:
    """Sessions that began while another one was running."""
    latest = ""
    for one in members:
        if one.started and one.started <= latest:
            yield one
        latest = max(latest, one.ended or "")


def _starts(index: Index) -> _Starts:
    found: _Starts = {}
    for id_, number, started in index.rows("SELECT session_id, round, started FROM rounds ORDER BY session_id, round"):
        found.setdefault(id_, []).append((started or "", number))
    return found


def _rounds_around(one: Member, starts: Sequence[tuple[str, int]], times: Sequence[str]) -> list[int]:
    """The rounds during which another session began; all of them if the session's times run backwards."""

    def begins(since: str, until: str) -> bool:
        found = bisect_right(times, until) - bisect_left(times, since)
        return found > (1 if since <= (one.started or "") <= until else 0)

    end = one.ended or ""
    if not starts or not begins(one.started or "", end):
        return []
    marks = [one.started or "", *(time for time, _ in starts[1:]), end]
    if any(later < earlier for earlier, later in pairwise(marks)):
        return [number for _, number in starts]
    spans = zip(starts, pairwise(marks), strict=True)
    return [number for (_, number), (since, until) in spans if begins(since, until)]


def _first_ids(shelf: Shelf) -> list[str]:
    """The ids with which a session begins."""
    ids = _ids_of(shelf, 1)
    return sorted(ids, key=lambda id_: ids[id_])[:FIRST_IDS]


# -- ids


def _ids(shelf: Shelf) -> Iterator[tuple[str, str]]:
    number = 1
    while shelf.round_file(number).exists():
        yield from _ids_of(shelf, number).items()
        number += 1


def _ids_of(shelf: Shelf, number: int) -> dict[str, str]:
    """Ids of records and calls in a round; nothing else of the file is built."""
    try:
        made = _decoder.decode(shelf.round_file(number).read_bytes())
    except FileNotFoundError:
        return {}
    except (msgspec.MsgspecError, ValueError):
        return dict(_ids_slowly(shelf, number))
    blocks = (*(made.user.blocks if made.user else ()), *made.agent)
    named = ((id_, block.ref.at or "") for block in blocks for id_ in (block.ref.id, block.id))
    return {id_: at for id_, at in named if id_ and len(id_) >= MIN_ID_CHARS}


def _ids_slowly(shelf: Shelf, number: int) -> Iterator[tuple[str, str]]:
    """Of a file that the fast decoder refuses."""
    for block in rounds.load(shelf, number).blocks():
        for id_ in (block.ref.id, block.id if isinstance(block, Tool) else None):
            if id_ and len(id_) >= MIN_ID_CHARS:
                yield id_, block.ref.at or ""
