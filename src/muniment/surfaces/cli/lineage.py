"""`muniment lineage`"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from muniment.archive import Archive
from muniment.lineage import Edge, Lineage, Node
from muniment.lineage.families import Branch, trees
from muniment.model.words import shortened
from muniment.surfaces.cli.output import as_json, line, many, out, talk

_MAX_TITLE = 70


@click.command()
@click.argument("session", required=False)
@click.option("--all", "every", is_flag=True, help="Also sessions that stand alone.")
@click.option("--explicit", is_flag=True, help="Only what the records themselves show; nothing inferred.")
@click.option("--json", is_flag=True, help="One JSON object: nodes and edges.")
@click.pass_obj
def command(store: str | None, session: str | None, every: bool, explicit: bool, json: bool) -> None:
    """Which sessions continue, copy or belong to which: all families, or that of SESSION.

    A copy goes on where another stopped, with its records; in a fork both went on. What is only inferred, from time,
    branch and words, has a `?` and how sure it is.
    """
    graph = Archive(store).lineage(session, explicit)
    shown = [tree for tree in trees(graph) if session or every or tree.sessions > 1]
    if json:
        as_json(_part(graph, shown))
        return
    if not shown:
        talk("no session continues another; `--all` lists them all")
    for tree in shown:
        for text in _lines(tree, bool(session)):
            out(text)
    if shown:
        talk(f"{many(sum(tree.sessions for tree in shown), 'session')} in {many(len(shown), 'tree')}")


def _part(graph: Lineage, shown: Sequence[Branch]) -> Lineage:
    """The part of a graph that stands in some of its trees."""
    kept = {one.node.id for tree in shown for one in tree.walk()}
    nodes = tuple(node for node in graph.nodes if node.id in kept)
    return Lineage(nodes, tuple(edge for edge in graph.edges if edge.earlier in kept and edge.later in kept))


def _lines(tree: Branch, with_subagents: bool) -> Iterator[str]:
    """A tree as lines; subagents are counted unless one family is looked at."""
    waiting = [(tree, "", "", "")]
    while waiting:
        one, lead, turn, below = waiting.pop()
        children = [child for child in one.children if with_subagents or child.node.sidechain is None]
        folded = len(one.children) - len(children)
        count = f"  +{many(folded, 'subagent')}" if folded else ""
        yield f"{lead}{turn}{_reason(one.edge)}{_told(one.node)}{count}"
        for number, child in reversed(list(enumerate(children))):
            last = number == len(children) - 1
            waiting.append((child, lead + below, "└─ " if last else "├─ ", "   " if last else "│  "))


def _told(node: Node) -> str:
    if node.missing:
        return f"{line(node.id)[:36]}  (not in the archive)"
    when = (node.started or "undated")[:16].replace("T", " ")
    versions = f"  versions:{node.versions}" if node.versions else ""
    name = node.sidechain or node.id[:13]
    return f"{line(name)}  {when}  {shortened(line(node.title), _MAX_TITLE)}{versions}"


def _reason(edge: Edge | None) -> str:
    if edge is None:
        return ""
    return f"{edge.kind} " if edge.explicit else f"{edge.kind}? {edge.confidence:.0%} "
