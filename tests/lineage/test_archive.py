"""Lineage of sessions on disk, and `muniment lineage` as a person meets it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from muniment.archive import Archive
from muniment.export import Request
from tests.builder import ClaudeSession, conversation, text, tool
from tests.lineage.graphs import is_in_order
from tests.test_cli import Cli

A, B, C = (f"{n}1111111-1111-4111-8111-111111111111" for n in (1, 2, 3))
Inscribe = Callable[..., object]


def copied(first: ClaudeSession, id_: str, since: int = 0) -> ClaudeSession:
    """A session that begins with records of another, as a fork writes them."""
    made = ClaudeSession(id_, cwd="/proj/x")
    made.lines = [line.replace(first.id.encode(), id_.encode()) for line in first.lines[since:]]
    made.last, made.seconds = first.last, first.seconds + 5
    made.user("go on here")
    made.answer(text("done"))
    return made


def edges(archive: Archive, name: str | None = None) -> list[tuple[str, str, str]]:
    graph = archive.lineage(name, only_explicit=True)
    assert is_in_order(graph)
    return [(edge.earlier[:1], edge.kind, edge.later[:1]) for edge in graph.edges]


def test_a_fork_is_found_by_its_first_record(archive: Archive, home: Path, inscribe: Inscribe) -> None:
    first = conversation(2, A, "/proj/x")
    for session in (first, copied(first, B), conversation(2, C, "/proj/x")):
        session.write(home, "-proj-x")
    inscribe()
    assert edges(archive) == [("1", "copy", "2")]


def test_a_copy_from_the_middle_of_a_session(archive: Archive, home: Path, inscribe: Inscribe) -> None:
    """Only the end of the other was copied, without any answer of a model: neither beginning nor message is shared."""
    first = conversation(3, A, "/proj/x")
    first.user("one more thing")
    second = copied(first, B, since=len(first.lines) - 1)
    for session in (first, second, conversation(2, C, "/proj/x")):
        session.write(home, "-proj-x")
    inscribe()
    graph = archive.lineage(only_explicit=True)
    assert [(edge.earlier, edge.later, edge.shared) for edge in graph.edges] == [(A, B, 1)]


def test_a_session_that_carries_another_ones_id(archive: Archive, home: Path, inscribe: Inscribe) -> None:
    """Old versions resumed into a new file and left the copied records as they were."""
    first = conversation(1, A, "/proj/x")
    second = ClaudeSession(B, cwd="/proj/x")
    second.lines, second.last, second.seconds = list(first.lines), first.last, 50
    second.user("go on")
    first.write(home, "-proj-x")
    second.write(home, "-proj-x")
    inscribe()
    (edge,) = archive.lineage().edges
    assert (edge.earlier, edge.kind, edge.later) == (A, "copy", B)
    assert "copied from" in edge.evidence


def test_half_a_character_in_the_prompt_of_a_subagent(archive: Archive, home: Path, inscribe: Inscribe) -> None:
    """Where a program cut a text between the halves of a sign."""
    beside = conversation(1, A).write(home).with_suffix("") / "subagents"
    beside.mkdir(parents=True)
    agent = ClaudeSession(A, isSidechain=True, agentId="a1")
    agent.exchange("look MARK", "seen")
    (beside / "agent-a1.jsonl").write_bytes(agent.data.replace(b"MARK", b"\\ud83d"))
    inscribe()
    assert [node.title for node in archive.lineage().nodes if node.sidechain] == ["look \ud83d"]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def test_the_tree_and_the_json(cli: Cli) -> None:
    first = conversation(3, A, "/proj/x")
    second = copied(first, B)
    for session in (first, second, conversation(3, C, "/proj/y")):
        session.write(cli.home / ".claude", "-proj-x")
    cli("inscribe")
    told = cli("lineage")
    assert "└─ copy 21111111-1111" in told.stdout
    assert "31111111" not in told.stdout
    assert "31111111" in cli("lineage", "--all").stdout
    made = json.loads(cli("lineage", B[:8], "--json", "--explicit").stdout)
    assert [node["id"] for node in made["nodes"]] == [A, B]
    assert made["edges"][0]["records"]
    for flags, ids in (((), [A, B]), (("--all",), [A, B, C])):
        made = json.loads(cli("lineage", "--json", *flags).stdout)
        assert sorted(node["id"] for node in made["nodes"]) == ids
        assert [(edge["earlier"], edge["later"]) for edge in made["edges"]] == [(A, B)]


def test_nobody_continues_anybody(cli: Cli) -> None:
    conversation(1, A, "/proj/x").write(cli.home / ".claude", "-proj-x")
    cli("inscribe")
    assert "no session continues another" in cli("lineage").stderr


def test_a_session_that_goes_on_in_another_agent_comes_from_the_first(
    archive: Archive, home: Path, inscribe: Inscribe
) -> None:
    """Both say the same of the same time; the file that was written later is the copy, whatever it is called."""
    first = ClaudeSession(C, "/proj/x")
    for number in range(2):
        call = f"toolu_{number:024}"
        first.user(f"step {number}")
        first.answer(tool(call, "Bash", {"command": "make"}), id_=f"msg_{number:024}")
        first.result(call, "made", is_error=False)
    first.write(home, "-proj-x")
    inscribe()
    made = [archive.export(C, Request(source="codex", new_id=True)) for _ in range(6)]
    inscribe()
    graph = archive.lineage(only_explicit=True)
    assert is_in_order(graph)
    assert {edge.later for edge in graph.edges} == {one.session_id for one in made}
    assert C in {edge.earlier for edge in graph.edges}
    assert archive.budget(C).spent.calls == 2, "the first one has paid"
