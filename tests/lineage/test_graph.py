"""Edges and their order, from members that are made up here."""

from __future__ import annotations

import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from muniment import lineage
from muniment.lineage import Edge, Lineage, Member
from muniment.lineage.families import family, trees
from muniment.lineage.order import in_line, rank
from muniment.model.facts import Link
from tests.lineage.graphs import is_in_order


def member(id_: str, day: int = 1, hours: int = 1, **fields: object) -> Member:
    about = {"project": "/proj/x", "branch": "main"} | fields
    started, ended = f"2026-01-{day:02d}T10:00:00Z", f"2026-01-{day:02d}T{10 + hours}:00:00Z"
    return Member(id_, "claude-code", started=started, ended=ended, **about)  # pyright: ignore[reportArgumentType]


def edges(graph: Lineage) -> list[tuple[str, str, str]]:
    return [(edge.earlier, edge.kind, edge.later) for edge in graph.edges]


# -- what records show


def test_links_name_the_session_before() -> None:
    members = [
        member("a"),
        member("b", 2, links=(Link("fork", "a", "r1"),)),
        member("c", 3, links=(Link("continues", "B"), Link("image", "i-1"))),
        member("d", 4, links=(Link("parent", "native-a"), Link("resume", "lost"))),
    ]
    members[0] = member("a", native_id="native-a")
    graph = lineage.make(members, {})
    assert sorted(edges(graph)) == [
        ("a", "fork", "b"),
        ("a", "subagent", "d"),
        ("b", "continues", "c"),
        ("lost", "resume", "d"),
    ]
    assert next(edge for edge in graph.edges if edge.later == "b").records == ("r1",)
    assert [node.id for node in graph.nodes if node.missing] == ["lost"]
    assert all(edge.explicit and edge.confidence == 1 for edge in graph.edges)


def test_a_session_is_not_its_own_forebear() -> None:
    assert edges(lineage.make([member("a", links=(Link("copied from", "a"),))], {})) == []


def test_a_copy_goes_on_where_the_other_stopped() -> None:
    records = {"a": {"1": "t1", "2": "t2"}, "b": {"1": "t1", "2": "t2", "3": "t3"}}
    graph = lineage.make([member("a"), member("b")], records)
    assert edges(graph) == [("a", "copy", "b")]
    assert (graph.edges[0].shared, graph.edges[0].records) == (2, ("1", "2"))


def test_in_a_fork_both_went_on() -> None:
    records = {"a": {"1": "t1", "2": "t4"}, "b": {"1": "t1", "3": "t3", "4": "t5"}}
    assert edges(lineage.make([member("a"), member("b")], records)) == [("b", "fork", "a")]


def test_a_fork_that_says_so_is_never_turned_around() -> None:
    """Times alone would: the one it was forked from went on later, and began at the same time."""
    records = {"a": {"1": "t1", "2": "t9"}, "b": {"1": "t1", "3": "t3", "4": "t5"}}
    members = [member("a", hours=9), member("b", links=(Link("fork", "a", "1"),))]
    graph = lineage.make(members, records)
    assert edges(graph) == [("a", "fork", "b")]
    (edge,) = graph.edges
    assert (edge.explicit, edge.confidence, edge.shared) == (True, 1.0, 1)
    assert "its records say: fork a" in edge.evidence
    inferred = lineage.make(members, records, named={"a": {"b": "said"}})
    assert edges(inferred) == [("a", "fork", "b")]


def test_a_fork_of_a_fork_hangs_on_the_one_that_it_names() -> None:
    """Both hold the same of its records."""
    records = {"a": {"1": "t1", "2": "t2"}, "b": {"1": "t1", "3": "t3"}, "c": {"1": "t1", "4": "t4"}}
    members = [member("a"), member("b", links=(Link("fork", "a"),)), member("c", links=(Link("fork", "b"),))]
    graph = lineage.make(members, records)
    assert edges(graph) == [("a", "fork", "b"), ("b", "fork", "c")]


def test_a_fork_outweighs_what_else_is_said_the_other_way_round() -> None:
    members = [member("a", links=(Link("continues", "b"),)), member("b", links=(Link("fork", "a"),))]
    assert edges(lineage.make(members, {})) == [("a", "fork", "b")]


@given(st.permutations("abcd"), st.lists(st.sampled_from("1234567"), min_size=4, max_size=12))
def test_stated_forks_keep_their_direction_whatever_the_times(order: list[str], held: list[str]) -> None:
    """Each is forked from the one before it; records and times are anything."""
    links = {later: (Link("fork", earlier),) for earlier, later in pairwise(order)}
    members = [member(id_, 1 + ord(id_) % 3, links=links.get(id_, ())) for id_ in "abcd"]
    records = {id_: {one: f"t{ord(one) * n % 7}" for one in held[n::2]} for n, id_ in enumerate("abcd")}
    graph = lineage.make(members, {id_: own for id_, own in records.items() if own})
    assert is_in_order(graph)
    assert {(edge.earlier, edge.later) for edge in graph.edges if edge.kind == "fork"} >= set(pairwise(order))


def test_a_fork_of_a_fork_hangs_on_the_one_it_shares_the_most_with() -> None:
    records = {
        "a": {"1": "t1", "2": "t2"},
        "b": {"1": "t1", "2": "t2", "3": "t3"},
        "c": {"1": "t1", "2": "t2", "3": "t3", "4": "t4"},
        "d": {"1": "t1", "5": "t5"},
    }
    graph = lineage.make([member(id_) for id_ in "dcba"], records)
    assert edges(graph) == [("a", "copy", "b"), ("b", "copy", "c"), ("a", "copy", "d")]


def test_the_same_records_under_two_ids() -> None:
    records = {"a": {"1": "t1"}, "b": {"1": "t1"}}
    assert edges(lineage.make([member("b"), member("a")], records)) == [("a", "copy", "b")]


def test_a_link_and_shared_records_are_one_edge() -> None:
    members = [member("a"), member("b", links=(Link("fork", "a"),))]
    graph = lineage.make(members, {"a": {"1": "t1"}, "b": {"1": "t1", "2": "t2"}})
    assert edges(graph) == [("a", "fork", "b")]
    assert "its records say" in graph.edges[0].evidence
    assert graph.edges[0].shared == 1


def test_subagents_hang_on_their_session() -> None:
    graph = lineage.make([member("a", sidechains=(("s1", "look it up", "2026-01-01T10:30:00Z"),))], {})
    assert edges(graph) == [("a", "sidechain", "a/s1")]
    assert graph.nodes[1].title == "look it up"


def test_links_that_run_in_a_circle_lose_one_edge() -> None:
    members = [member("a", links=(Link("fork", "b"),)), member("b", 2, links=(Link("fork", "a"),))]
    graph = lineage.make(members, {})
    assert edges(graph) == [("a", "fork", "b")]


def test_who_was_born_first() -> None:
    records = {"x": {"1": "t1", "2": "t9"}, "y": {"1": "t1", "3": "t2"}, "z": {"1": "t1"}}
    assert rank(records, {id_: ("t1", "t9", id_) for id_ in "xyz"}) == {"z": 0, "y": 1, "x": 2}


def test_nobody_comes_from_an_excerpt_of_itself() -> None:
    """The whole holds nothing alone but what it did last, because there is a copy of the rest."""
    records = {
        "whole": {"1": "t1", "2": "t2", "9": "t9"},
        "copy": {"1": "t1", "2": "t2"},
        "excerpt": {"2": "t2", "x": "t2"},
    }
    about = {"whole": ("t1", "t9", ""), "copy": ("t1", "t2", ""), "excerpt": ("t2", "t2", "")}
    assert rank(records, about) == {"copy": 0, "whole": 1, "excerpt": 2}
    assert rank(records, about, [("whole", "copy")]) == {"whole": 0, "copy": 1, "excerpt": 2}, "as it was noted"


names = st.sampled_from([f"s{n}" for n in range(8)])


@given(st.lists(st.tuples(names, names), max_size=30))
def test_no_links_make_a_cycle_and_none_is_lost_without_one(pairs: list[tuple[str, str]]) -> None:
    links: dict[str, list[Link]] = {}
    for earlier, later in pairs:
        links.setdefault(later, []).append(Link("fork", earlier))
    members = [member(f"s{n}", n + 1, links=tuple(links.get(f"s{n}", ()))) for n in range(8)]
    graph = lineage.make(members, {}, {})
    assert is_in_order(graph)
    wanted = {pair for pair in pairs if pair[0] != pair[1]}
    if not has_cycle(wanted):
        assert {(edge.earlier, edge.later) for edge in graph.edges if edge.explicit} == wanted
    assert sum(tree.sessions for tree in trees(graph)) == 8


def has_cycle(pairs: set[tuple[str, str]]) -> bool:
    left = set(pairs)
    while left:
        held = {later for _, later in left}
        free = {pair for pair in left if pair[0] not in held}
        if not free:
            return True
        left -= free
    return False


@given(
    st.dictionaries(
        names, st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["t1", "t2", "t3", ""])), max_size=8
    )
)
def test_shared_records_make_no_cycle_and_leave_nobody_out(records: dict[str, dict[str, str]]) -> None:
    graph = lineage.make([member(f"s{n}", n + 1) for n in range(8)], records)
    assert is_in_order(graph)
    shown = {frozenset((edge.earlier, edge.later)) for edge in graph.edges}
    joined = {id_ for pair in shown for id_ in pair}
    for one, own in records.items():
        shares = any(own.keys() & other.keys() for name, other in records.items() if name != one)
        assert shares == (one in joined)


def test_time_decides_where_no_edge_does() -> None:
    nodes = {"a": ("t2", "", "a"), "b": ("t1", "", "b"), "c": ("t0", "", "c")}
    assert in_line(nodes, [("a", "c")]) == {"b": 0, "a": 1, "c": 2}


# -- what is inferred


def inferred(*members: Member, named: dict[str, dict[str, str]] | None = None) -> list[Edge]:
    return list(lineage.make(members, {}, named or {}).edges)


def test_a_branch_of_its_own_ties_sessions_together() -> None:
    (edge,) = inferred(member("a", branch="fix/login"), member("b", 2, branch="fix/login"))
    assert (edge.kind, edge.explicit, edge.branch, edge.gap_seconds) == ("follows", False, "fix/login", 23 * 3600)
    assert edge.confidence >= 0.7
    assert "fix/login" in edge.evidence


def test_sessions_that_overlap_stand_beside_each_other() -> None:
    (edge,) = inferred(member("a", hours=9, branch="fix/login"), member("b", branch="fix/login", hours=2))
    assert edge.kind == "beside"
    assert edge.gap_seconds is not None
    assert edge.gap_seconds < 0


def test_a_trunk_alone_ties_nobody() -> None:
    assert inferred(member("a"), member("b", 2)) == []


def test_nor_does_another_project() -> None:
    assert inferred(member("a", branch="fix/x"), member("b", 2, branch="fix/x", project="/proj/y")) == []


def test_a_prompt_that_asks_to_go_on() -> None:
    (edge,) = inferred(member("a"), member("b", 2, prompt="Pick up where we left off"))
    assert edge.kind == "follows"


def test_a_prompt_that_names_the_session() -> None:
    (edge,) = inferred(member("a"), member("b", 20), member("c", 28), named={"c": {"a": "said"}})
    assert (edge.earlier, edge.later) == ("a", "c")
    assert edge.confidence > 0.9


def test_the_same_file_in_the_prompts_of_both() -> None:
    others = [member(f"o{n}", 1, terms=frozenset({"the", f"word{n}"})) for n in range(6)]
    first = member("a", 2, terms=frozenset({"the", "login.ts"}))
    (edge,) = inferred(*others, first, member("b", 3, terms=frozenset({"login.ts", "the", "again"})))
    assert (edge.earlier, edge.later) == ("a", "b")
    assert "login.ts" in edge.evidence


def test_ghosts_follow_nobody() -> None:
    assert inferred(member("a", branch="fix/x"), member("b", 2, branch="fix/x", ghost=True)) == []


def test_an_exact_edge_leaves_nothing_to_infer() -> None:
    second = member("b", 2, branch="fix/x", links=(Link("fork", "c"),))
    assert [edge.kind for edge in inferred(member("a", branch="fix/x"), second, member("c"))] == ["fork"]


def test_ten_thousand_sessions_take_a_few_seconds() -> None:
    members = [
        Member(
            f"{n:05d}",
            "claude-code",
            project=f"/proj/{n % 100}",
            branch="main" if n % 3 else f"fix/{n % 700}",
            started=f"2026-01-{1 + n // 400:02d}T{n // 17 % 24:02d}:00:00Z",
            ended=f"2026-01-{1 + n // 400:02d}T{n // 17 % 24:02d}:30:00Z",
            terms=frozenset(f"word{(n * step) % 5000}" for step in range(1, 41)),
        )
        for n in range(10_000)
    ]
    began = time.process_time()
    graph = lineage.make(members, {}, {})
    assert time.process_time() - began < 10
    assert len(graph.nodes) == 10_000
    assert is_in_order(graph)


# -- trees


def test_a_tree_per_family() -> None:
    graph = lineage.make([member("a"), member("b", 2, links=(Link("fork", "a"),)), member("c", 3)], {})
    assert [(tree.node.id, [one.node.id for one in tree.walk()]) for tree in trees(graph)] == [
        ("a", ["a", "b"]),
        ("c", ["c"]),
    ]
    assert [node.id for node in family(graph, "b").nodes] == ["a", "b"]
    assert family(graph, "c").edges == ()
