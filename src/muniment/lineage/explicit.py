"""Edges that the records themselves show: links, subagents, and ids that several sessions have. They are exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from muniment.lineage.order import rank
from muniment.lineage.values import Edge, Member, Node
from muniment.store.edits import Continued

KINDS = {"fork": "fork", "copied from": "copy", "continues": "continues", "resume": "resume", "parent": "subagent"}
"""What a link says, and what its edge is called. Links of other kinds name no session."""
_SHOWN_IDS = 4

Records = Mapping[str, Mapping[str, str]]
"""By session: ids of its records and when they were written."""

Notes = Mapping[str, Continued]
"""By session: what it was written from."""


def by_links(members: Sequence[Member], resolve: Mapping[str, str]) -> Iterator[Edge]:
    """What sessions say of themselves. A session that is named and not there keeps the name it was called by."""
    for member in members:
        for link in member.links:
            other = resolve.get(link.session.lower(), link.session)
            if (kind := KINDS.get(link.kind)) and other != member.id:
                says = f"its records say: {link.kind} {other}"
                records = (link.record,) if link.record else ()
                yield Edge(other, member.id, kind, True, 1.0, says, records)


def by_notes(members: Sequence[Member], notes: Notes) -> Iterator[Edge]:
    """What this program wrote from another session."""
    for member in members:
        if note := notes.get(member.id):
            rounds = "1 round" if note.rounds == 1 else f"{note.rounds:,} rounds"
            says = f"muniment wrote {rounds} of that session into it"
            yield Edge(note.origin, member.id, "continues", True, 1.0, says)


def by_sidechains(members: Sequence[Member]) -> Iterator[tuple[Node, Edge]]:
    """A session and its subagents."""
    for member in members:
        for id_, title, started in member.sidechains:
            node = Node(f"{member.id}/{id_}", title, member.source, started, None, member.project, sidechain=id_)
            yield node, Edge(member.id, node.id, "sidechain", True, 1.0, f"it is the subagent {id_} of that session")


def by_records(
    records: Records, about: Mapping[str, tuple[str, str, str]], known: Iterable[tuple[str, str]] = ()
) -> Iterator[Edge]:
    """Every session that holds records of earlier ones, tied to as few of them as account for all it holds."""
    place = rank(records, {id_: about[id_] for id_ in records}, known)
    holders: dict[str, list[str]] = {}
    for session in sorted(records, key=lambda one: place[one]):
        left = {id_ for id_ in records[session] if id_ in holders}
        while left:
            shares = Counter(other for id_ in left for other in holders[id_])
            most = max(shares.values())
            earlier = min((one for one in shares if shares[one] == most), key=lambda one: place[one])
            yield _copied(earlier, session, records)
            left -= records[earlier].keys()
        for id_ in records[session]:
            holders.setdefault(id_, []).append(session)


def _copied(earlier: str, later: str, records: Records) -> Edge:
    """A copy goes on where the other stopped; in a fork both went on."""
    left, right = records[earlier], records[later]
    both = sorted((id_ for id_ in left if id_ in right), key=lambda id_: (left[id_], id_))
    own_left = [at for id_, at in left.items() if id_ not in right and at]
    own_right = [at for id_, at in right.items() if id_ not in left and at]
    forked = bool(own_left and own_right and max(own_left) > min(own_right))
    says = f"{len(both):,} of its ids are also in that session, which has {len(left):,}"
    shown = tuple(dict.fromkeys([*both[: _SHOWN_IDS // 2], *both[-_SHOWN_IDS // 2 :]]))
    return Edge(earlier, later, "fork" if forked else "copy", True, 1.0, says, shown, len(both))
