"""The real sessions: every link that a plain scan of the files finds is an edge, and no way leads back."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from muniment.archive import Archive
from muniment.lineage import Lineage
from tests.lineage.graphs import families, is_in_order

pytestmark = pytest.mark.corpus


def records(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            for raw in path.read_bytes().split(b"\n"):
                try:
                    value = json.loads(raw)
                except ValueError:
                    continue
                if isinstance(value, dict):
                    yield path, value


@pytest.fixture(scope="module")
def graph(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Lineage:
    archive = Archive(tmp_path_factory.mktemp("lineage"), {"HOME": "/home/ada"})
    archive.inscribe([corpus])
    archive.ingest()
    return archive.lineage()


def test_no_way_leads_back(graph: Lineage) -> None:
    assert len(graph.nodes) > 200
    assert is_in_order(graph)


def test_sessions_with_the_same_record_ids_are_one_family(graph: Lineage, corpus: Path) -> None:
    holders: defaultdict[str, set[str]] = defaultdict(set)
    for _, record in records(corpus / "claude-code"):
        if record.get("uuid") and record.get("sessionId") and not record.get("isSidechain"):
            holders[record["uuid"]].add(record["sessionId"])
    pairs = {pair for ids in holders.values() for pair in combinations(sorted(ids), 2)}
    assert len(pairs) >= 4
    chief = families(graph, explicit=True)
    assert [pair for pair in pairs if chief[pair[0]] != chief[pair[1]]] == []
    own = {node.id for node in graph.nodes if node.source == "claude-code"}
    tied = {tuple(sorted((e.earlier, e.later))) for e in graph.edges if e.kind in ("copy", "fork") and e.later in own}
    assert tied <= pairs


def test_every_subagent_hangs_on_its_session(graph: Lineage, corpus: Path) -> None:
    kept = {node.id for node in graph.nodes}
    told: defaultdict[Path, list[dict[str, Any]]] = defaultdict(list)
    for path, record in records(corpus / "claude-code"):
        if path.name.startswith("agent-") and record.get("agentId"):
            told[path].append(record)
    wanted = {f"{own[0]['sessionId']}/{own[0]['agentId']}" for own in told.values() if own[0]["sessionId"] in kept}
    edges = {edge.later: edge.earlier for edge in graph.edges if edge.kind == "sidechain"}
    assert len(wanted) >= 40
    assert wanted - edges.keys() == set()
    assert all(later.startswith(f"{earlier}/") for later, earlier in edges.items())


def test_every_thread_hangs_on_the_one_that_spawned_it(graph: Lineage, corpus: Path) -> None:
    wanted: set[tuple[str, str, str]] = set()
    for _, record in records(corpus / "codex"):
        payload = record.get("payload") or {}
        source = payload.get("source")
        if record.get("type") == "session_meta":
            spawn = (source.get("subagent") or {}).get("thread_spawn") or {} if isinstance(source, dict) else {}
            parent = payload.get("parent_thread_id") or spawn.get("parent_thread_id")
            wanted |= {(parent, "subagent", payload["id"])} if parent else set()
            wanted |= {(payload["forked_from_id"], "fork", payload["id"])} if payload.get("forked_from_id") else set()
    assert len(wanted) >= 8
    assert wanted <= {(edge.earlier, edge.kind, edge.later) for edge in graph.edges}


def test_what_is_inferred_says_why_and_how_surely(graph: Lineage) -> None:
    inferred = [edge for edge in graph.edges if not edge.explicit]
    assert inferred
    assert all(0.4 <= edge.confidence < 1 and edge.evidence for edge in inferred)
