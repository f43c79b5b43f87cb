"""The graph as trees: who belongs together, and under whom each one stands."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from muniment.lineage.values import Edge, Lineage, Node


class Branch(Struct, frozen=True):
    """One node with what comes from it; `edge` is why it stands where it stands."""

    node: Node
    edge: Edge | None
    children: tuple[Branch, ...] = ()

    def walk(self) -> Iterator[Branch]:
        """This one and all below it."""
        waiting: list[Branch] = [self]
        while waiting:
            one = waiting.pop()
            yield one
            waiting += reversed(one.children)

    @property
    def sessions(self) -> int:
        return sum(1 for one in self.walk() if one.node.sidechain is None)


def trees(graph: Lineage) -> list[Branch]:
    """One tree per family, in the order of their roots. A node with several edges into it stands under the surest."""
    above = surest(graph)
    children: dict[str, list[Node]] = {}
    for node in graph.nodes:
        if edge := above.get(node.id):
            children.setdefault(edge.earlier, []).append(node)
    made: dict[str, Branch] = {}
    for node in _from_below(graph):
        below = tuple(made[child.id] for child in children.get(node.id, ()))
        made[node.id] = Branch(node, above.get(node.id), below)
    return [made[node.id] for node in graph.nodes if node.id not in above]


def surest(graph: Lineage) -> dict[str, Edge]:
    """By node: of the edges into it the one that it stands under."""
    best: dict[str, Edge] = {}
    for edge in graph.edges:
        former = best.get(edge.later)
        if former is None or _surety(edge) > _surety(former):
            best[edge.later] = edge
    return best


def _surety(edge: Edge) -> tuple[bool, float, int]:
    return edge.explicit, edge.confidence, edge.shared


def _from_below(graph: Lineage) -> Iterator[Node]:
    """Every node behind those that stand under it. Sessions lie in order; a subagent stands under one of them."""
    yield from (node for node in graph.nodes if node.sidechain is not None)
    yield from (node for node in reversed(graph.nodes) if node.sidechain is None)


def family(graph: Lineage, session_id: str) -> Lineage:
    """The part of a graph that hangs together with a session, by whatever edges."""
    near: dict[str, list[str]] = {}
    for edge in graph.edges:
        near.setdefault(edge.earlier, []).append(edge.later)
        near.setdefault(edge.later, []).append(edge.earlier)
    kin, waiting = {session_id}, [session_id]
    while waiting:
        for other in near.get(waiting.pop(), ()):
            if other not in kin:
                kin.add(other)
                waiting.append(other)
    nodes = tuple(node for node in graph.nodes if node.id in kin)
    return Lineage(nodes, tuple(edge for edge in graph.edges if edge.later in kin))
