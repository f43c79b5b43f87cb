"""What any lineage must hold."""

from __future__ import annotations

from muniment.lineage import Lineage


def is_in_order(graph: Lineage) -> bool:
    """Every edge points from a node to one further down the list, so no way leads back."""
    place = {node.id: number for number, node in enumerate(graph.nodes)}
    return len(place) == len(graph.nodes) and all(place[edge.earlier] < place[edge.later] for edge in graph.edges)


def families(graph: Lineage, explicit: bool) -> dict[str, str]:
    """Every node with one that stands for all it hangs together with."""
    chief = {node.id: node.id for node in graph.nodes}

    def of(id_: str) -> str:
        while chief[id_] != id_:
            id_ = chief[id_]
        return id_

    for edge in graph.edges:
        if edge.explicit or not explicit:
            chief[of(edge.earlier)] = of(edge.later)
    return {id_: of(id_) for id_ in chief}
