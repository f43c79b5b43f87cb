"""What lineage knows of a session, and what it says: nodes and edges that point from the earlier to the later."""

from __future__ import annotations

from msgspec import Struct

from muniment.model.facts import Link


class Member(Struct, frozen=True):
    """A session, as far as its kinship can be told from it."""

    id: str
    source: str
    agent_id: str = ""
    title: str = ""
    project: str | None = None
    """The root of the project it worked in."""
    branch: str | None = None
    started: str | None = None
    ended: str | None = None
    rounds: int = 0
    links: tuple[Link, ...] = ()
    native_id: str | None = None
    sidechains: tuple[tuple[str, str, str | None], ...] = ()
    """Id, title and start of its subagents."""
    ghost: bool = False
    """It never reached substantive work."""
    versions: int = 0
    """Older or diverging content under the same id; no session of its own."""
    terms: frozenset[str] = frozenset()
    """Words of its prompts and topics."""
    prompt: str = ""
    """How its first prompt begins."""
    written: int = 0
    """When its file was last written, in nanoseconds; asked only of sessions that share records."""


class Node(Struct, frozen=True, omit_defaults=True):
    """One session or subagent in the graph."""

    id: str
    title: str = ""
    source: str = ""
    started: str | None = None
    ended: str | None = None
    project: str | None = None
    branch: str | None = None
    rounds: int = 0
    versions: int = 0
    sidechain: str | None = None
    """Set on a subagent: its id inside the session it belongs to."""
    missing: bool = False
    """Another session names it, and it is not in the archive."""


class Edge(Struct, frozen=True, omit_defaults=True):
    """The later one comes from the earlier one, and why that is thought."""

    earlier: str
    later: str
    kind: str
    explicit: bool
    confidence: float
    evidence: str
    """One plain sentence."""
    records: tuple[str, ...] = ()
    """Some of the ids that both have, the first and the last among them; or the one that a link names."""
    shared: int = 0
    """How many ids both have."""
    branch: str | None = None
    gap_seconds: int | None = None
    """From the end of one to the start of the other; below zero they overlap."""
    terms: tuple[str, ...] = ()
    """Rare words that both have, the rarest first."""


class Lineage(Struct, frozen=True):
    """Who continues, copies or belongs to whom: a graph without cycles."""

    nodes: tuple[Node, ...]
    """The earlier first: every edge points from a node to one behind it."""
    edges: tuple[Edge, ...]
