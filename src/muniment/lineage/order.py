"""Which session came first.

Where this program wrote one from the other, it noted that. Else the one that begins later took over what the other
began with. A copy keeps the times of what it copied, so of two that begin at once the first record that a session has
alone tells: from there on it went its own way. A session without one was continued by another and did nothing more
itself.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import Any, TypeVar

Key = TypeVar("Key", bound=Hashable)


def born(started: str | None, ended: str | None, written: int, name: str) -> tuple[str, str, str]:
    """What sessions are ordered by where their records do not tell. Two may say the same of the same time, if one was
    written from the other for another agent: then the file that was written later is the copy."""
    return (started or "", ended or "", f"{written:020} {name}")


def rank(
    records: Mapping[Key, Mapping[str, str]],
    about: Mapping[Key, tuple[str, str, str]],
    known: Iterable[tuple[Key, Key]] = (),
) -> dict[Key, int]:
    """The place of each session in time. `records` are ids and times; `about` is what `born` gives; of `known` pairs
    the first is the earlier, whatever times tell."""
    holders = Counter(id_ for own in records.values() for id_ in own)

    def parted(key: Key) -> tuple[str, str, str, str]:
        alone = [at for id_, at in records.get(key, {}).items() if at and holders[id_] == 1]
        started, ended, name = about[key]
        return (started, min(alone) if alone else started, ended, name)

    by_time = {key: place for place, key in enumerate(sorted(about, key=parted))}
    return in_line(by_time, ((one, other) for one, other in known if one in about and other in about))


def in_line(nodes: Mapping[Key, Any], edges: Iterable[tuple[Key, Key]]) -> dict[Key, int]:
    """A place for every node, so that edges point from lower places to higher ones; by time where none says otherwise.

    Where edges run in a circle, the oldest node of it goes first, and the edges into it point backwards."""
    ahead: dict[Key, set[Key]] = {}
    behind: dict[Key, set[Key]] = {}
    for earlier, later in edges:
        ahead.setdefault(later, set()).add(earlier)
        behind.setdefault(earlier, set()).add(later)
    free = [(about, node) for node, about in nodes.items() if not ahead.get(node)]
    held = deque(sorted((about, node) for node, about in nodes.items() if ahead.get(node)))
    heapify(free)
    place: dict[Key, int] = {}
    while free or held:
        _, node = heappop(free) if free else held.popleft()
        if node in place:
            continue
        place[node] = len(place)
        for later in behind.get(node, ()):
            ahead[later].discard(node)
            if not ahead[later] and later not in place:
                heappush(free, (nodes[later], later))
    return place
