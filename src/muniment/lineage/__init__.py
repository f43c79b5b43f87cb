"""Which sessions continue, copy or belong to which.

    lineage.make(members, records)         from plain values
    lineage.read(layout)                   of an archive

`copies` finds sessions that hold the same records, `explicit` makes edges of what records show, `inferred` of what
time, branch and words suggest, `order` keeps the graph free of cycles, and `families` turns it into trees for reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from muniment.lineage import copies, explicit, gather, inferred
from muniment.lineage.explicit import Notes, Records
from muniment.lineage.families import family as family
from muniment.lineage.inferred import Named
from muniment.lineage.order import born, in_line
from muniment.lineage.values import Edge as Edge
from muniment.lineage.values import Lineage as Lineage
from muniment.lineage.values import Member as Member
from muniment.lineage.values import Node as Node
from muniment.store import edits
from muniment.store.index import Index
from muniment.store.layout import Layout


def make(
    members: Sequence[Member], records: Records, named: Named | None = None, notes: Notes | None = None
) -> Lineage:
    """The graph. `records` are ids and times of the sessions that have some in common; `named` tells which ids of
    sessions stand in others: without it nothing is inferred. `notes` tell what was written from what."""
    about = {one.id: born(one.started, one.ended, one.written, one.id) for one in members}
    notes = notes or {}
    stated = [*explicit.by_links(members, _names(members)), *explicit.by_notes(members, notes)]
    forks = {(edge.earlier, edge.later) for edge in stated if edge.kind == "fork"}
    stated = [edge for edge in stated if edge.kind == "fork" or (edge.later, edge.earlier) not in forks]
    exact = _merged([*_by_records(records, about, stated, notes), *stated])
    missing = {edge.earlier for edge in exact} - set(about)
    place = in_line(about | {id_: ("", "", id_) for id_ in missing}, ((edge.earlier, edge.later) for edge in exact))
    edges = [edge for edge in exact if place[edge.earlier] < place[edge.later]]
    if named is not None:
        known = {edge.later for edge in edges}
        edges += [edge for edge in inferred.infer(members, place, named) if edge.later not in known]
    nodes = [*map(_node, members), *(Node(id_, missing=True) for id_ in missing)]
    nodes.sort(key=lambda node: place[node.id])
    sides = list(explicit.by_sidechains(members))
    return Lineage((*nodes, *(node for node, _ in sides)), (*edges, *(edge for _, edge in sides)))


def _by_records(
    records: Records, about: Mapping[str, tuple[str, str, str]], stated: Iterable[Edge], notes: Notes
) -> Iterator[Edge]:
    """Edges by shared records, in the direction that is stated where it is.

    A session that says where it was forked from, or was written from, shares records with others from there too."""
    stated = list(stated)
    origins: dict[str, set[str]] = {session: {note.origin} for session, note in notes.items()}
    for edge in stated:
        if edge.kind == "fork":
            origins.setdefault(edge.later, set()).add(edge.earlier)
    known = [(note.origin, session) for session, note in notes.items()]
    for edge in explicit.by_records(records, about, [*known, *((edge.earlier, edge.later) for edge in stated)]):
        if edge.earlier in origins.get(edge.later, {edge.earlier}):
            yield edge


def _names(members: Iterable[Member]) -> dict[str, str]:
    """Every name that a link may call a session by."""
    names = {name.lower(): one.id for one in members for name in (one.native_id,) if name}
    return names | {one.id: one.id for one in members}


def _merged(edges: Iterable[Edge]) -> list[Edge]:
    """One edge between two sessions: what records say of themselves names it, shared ids add to the evidence."""
    found: dict[tuple[str, str], Edge] = {}
    for edge in edges:
        former = found.get((edge.earlier, edge.later))
        if former:
            both = {"records": former.records or edge.records, "shared": max(former.shared, edge.shared)}
            edge = structs.replace(edge, evidence=f"{edge.evidence}; {former.evidence}", **both)
        found[edge.earlier, edge.later] = edge
    return list(found.values())


def _node(one: Member) -> Node:
    times = (one.started, one.ended, one.project, one.branch)
    return Node(one.id, one.title, one.source, *times, one.rounds, one.versions)


def read(layout: Layout, only_explicit: bool = False) -> Lineage:
    """The graph of an archive. Each part is a look at the index of its own: one that lasts too long is ended."""
    with Index(layout) as index:
        members = list(gather.members(index, only_explicit))
    with Index(layout) as index:
        records = copies.find(layout, index, members)
    with Index(layout) as index:
        named = None if only_explicit else gather.named(index)
    dated = [_dated(layout, one) if one.id in records else one for one in members]
    return make(dated, records, named, edits.continued(layout))


def _dated(layout: Layout, one: Member) -> Member:
    return structs.replace(one, written=copies.written(layout.shelf(one.agent_id, one.id)))
