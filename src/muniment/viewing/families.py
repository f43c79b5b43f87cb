"""The family of a session, for the page: who continues, copies or belongs to whom, with names and where to open each.

Which sessions belong together can only be told from all of them. So the graph of the whole archive is made once for
each state of it, and every family is a part of that.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from muniment import lineage
from muniment.lineage import Edge, Lineage, Node
from muniment.lineage.families import surest
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.viewing.one import round_at
from muniment.viewing.shapes import LineageAnswer, Relative


class Families:
    """The lineage of an archive as it was when somebody last asked. Who asks meanwhile waits for it."""

    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.state = ""
        self.graph = Lineage((), ())

    def of(self, layout: Layout, state: str, session_id: str) -> LineageAnswer:
        """The session with all that hang together with it."""
        with Index(layout) as index:
            session_id = index.find(session_id).session_id
        found = lineage.family(self._graph(layout, state), session_id)
        with Index(layout) as index:
            agents, starts = _agents(index, found), _starts(index, found)
        above = surest(found)
        nodes = [_relative(node, above.get(node.id), agents, starts) for node in found.nodes]
        return LineageAnswer(state, session_id, nodes, found.edges)

    def _graph(self, layout: Layout, state: str) -> Lineage:
        with self.guard:
            if state != self.state:
                self.graph, self.state = Lineage((), ()), ""  # two graphs of a large archive would be too many
                self.graph, self.state = lineage.read(layout), state
            return self.graph


def _session_of(node: Node) -> str:
    return node.id.removesuffix(f"/{node.sidechain}") if node.sidechain is not None else node.id


def _agents(index: Index, found: Lineage) -> dict[str, str]:
    sql = """SELECT coalesce(i.agent_name, s.agent_id) FROM sessions s LEFT JOIN ingested i
      ON i.session_id = s.session_id WHERE s.session_id = ?"""
    known = {id_: index.rows(sql, id_) for id_ in set(map(_session_of, found.nodes))}
    return {id_: rows[0][0] for id_, rows in known.items() if rows}


def _starts(index: Index, found: Lineage) -> dict[str, list[str]]:
    """When the rounds of those sessions began that have subagents."""
    sql = "SELECT coalesce(started, '') FROM rounds WHERE session_id = ? ORDER BY round"
    parents = {_session_of(node) for node in found.nodes if node.sidechain is not None}
    return {id_: [started for (started,) in index.rows(sql, id_)] for id_ in parents}


def _relative(node: Node, edge: Edge | None, agents: Mapping[str, str], starts: Mapping[str, list[str]]) -> Relative:
    session_id = _session_of(node)
    return Relative(
        id=node.id,
        session_id=session_id,
        side=node.sidechain,
        under=edge.earlier if edge else None,
        title=node.title,
        agent=agents.get(session_id, ""),
        source=node.source,
        started=node.started,
        ended=node.ended,
        project=node.project,
        branch=node.branch,
        rounds=node.rounds,
        opens=1 if node.sidechain is None else round_at(starts[session_id], node.started),
        versions=node.versions,
        missing=node.missing,
    )
