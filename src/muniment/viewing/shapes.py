"""The answers of the viewer's API as values. `docs/api.md` prints them, the tests decode every answer into them.

What there are thousands of is sent in columns: one list per field, and numbers into tables for names that repeat.
"""

from __future__ import annotations

from msgspec import Struct

from muniment.budget import Budget
from muniment.lineage import Edge
from muniment.render.shown import Item, Light
from muniment.search import FoundEngagement, Hit, Touched


class Failure(Struct, frozen=True):
    """What every refused request is told, unless it comes from where nobody should ask: then the body is empty."""

    error: str
    hint: str = ""


class Done(Struct, frozen=True):
    """What an edit is answered with."""

    state: str


class Count(Struct, frozen=True):
    """A name, and how often it occurs."""

    name: str
    count: int


class Facets(Struct, frozen=True):
    """What there is to filter by, the most frequent first."""

    projects: list[Count]
    agents: list[Count]
    """Names of agents, else their buckets."""
    sources: list[Count]
    models: list[Count]
    tags: list[Count]


class Overview(Struct, frozen=True):
    """What there is."""

    state: str
    version: str
    sessions: int
    ghosts: int
    ingested: int
    """Sessions that were understood; fewer than `sessions` means that `muniment ingest` has something to do."""
    engagements: int
    first: str | None
    last: str | None
    methods: tuple[str, ...]
    phases: tuple[str, ...]
    facets: Facets


class SessionColumns(Struct, frozen=True):
    """One entry per session, in the order in which they came into the archive."""

    session_id: list[str]
    title: list[str]
    summary: list[str]
    agent: list[int]
    """Into `agents`: the bucket."""
    agent_name: list[str | None]
    agent_role: list[str | None]
    source: list[int]
    model: list[int]
    """Into `models`; -1 if there is none."""
    project: list[int]
    """Into `projects`: that of its first engagement, else its folder; -1 if there is none."""
    started: list[str | None]
    ended: list[str | None]
    rounds: list[int]
    messages: list[int]
    tool_calls: list[int]
    tokens: list[int]
    sidechains: list[int]
    problems: list[int]
    ghost: list[bool | None]
    """None if it was not ingested yet."""
    tags: list[list[str]]


class Sessions(Struct, frozen=True):
    """Every session."""

    state: str
    columns: SessionColumns
    agents: list[str]
    sources: list[str]
    models: list[str]
    projects: list[str]


class EngagementColumns(Struct, frozen=True):
    """One entry per engagement, in the order in which they were found; those that a person named are at the end."""

    engagement_id: list[str]
    session: list[int]
    """Which entry of the columns of sessions."""
    topic: list[str]
    method: list[int]
    """Into `methods`; -1 for one that a person named."""
    phase: list[int]
    """Into `phases`; -1 for one that a person named."""
    project: list[int]
    """Into `projects`; -1 if there is none."""
    started: list[str | None]
    ended: list[str | None]
    turns: list[int]
    """How many."""
    first_turn: list[int]
    outcome: list[str]
    key_decisions: list[list[str]]
    next_steps: list[list[str]]


class Engagements(Struct, frozen=True):
    """Every engagement."""

    state: str
    columns: EngagementColumns
    methods: list[str]
    phases: list[str]
    projects: list[str]


class Engagement(Struct, frozen=True):
    """One engagement in full."""

    engagement_id: str
    session_id: str
    topic: str
    project: str | None
    method: str | None
    """None for one that a person named."""
    phase: str | None
    key_decisions: tuple[str, ...]
    outcome: str
    next_steps: tuple[str, ...]
    turn_ranges: tuple[tuple[int, int], ...]
    started: str | None
    ended: str | None
    extractor: str
    """What found it: a name and version, a model, or `hand`."""


class EngagementAnswer(Struct, frozen=True):
    """One engagement."""

    state: str
    engagement: Engagement


class Linked(Struct, frozen=True):
    """Another session that this one continues, copies or belongs to."""

    kind: str
    session_id: str
    title: str | None
    """None if it is not in the archive."""


class Session(Struct, frozen=True):
    """What is known of a session as a whole."""

    session_id: str
    title: str
    summary: str
    summary_by_hand: bool
    agent_id: str
    agent_name: str | None
    agent_role: str | None
    source: str
    model: str | None
    models: list[str]
    project: str | None
    cwd: str | None
    branch: str | None
    slug: str | None
    started: str | None
    ended: str | None
    rounds: int
    messages: int
    tool_calls: int
    tokens: int
    problems: int
    ghost: bool | None
    tags: list[str]
    links: list[Linked]
    copies: list[str]
    """Sessions that begin with the same record: forks and resume copies."""
    versions: list[str]
    resume_command: str
    """Empty if the agent cannot resume it."""


class RoundShown(Struct, frozen=True):
    """One round of a session."""

    round: int
    started: str | None
    engagement_id: str | None
    tokens: int
    tools: int
    first_item: int
    """Equal to that of the next round if nothing of it is shown."""
    abandoned: bool
    """A rewind left it behind."""
    preview: str


class Side(Struct, frozen=True):
    """A subagent's own session; its items come with `?side=ID`."""

    id: str
    title: str
    round: int
    """The round of the session during which it began."""
    first_item_of_parent: int | None
    """The tool call that started it; None if the source does not say."""
    messages: int
    tool_calls: int
    tokens: int
    started: str | None
    ended: str | None
    model: str | None


class SessionAnswer(Struct, frozen=True):
    """A session and, for the height of the list, what its items are."""

    state: str
    session: Session
    engagements: list[Engagement]
    rounds: list[RoundShown]
    sides: list[Side]
    items: Light


class LightAnswer(Struct, frozen=True):
    """The items of a subagent, without their contents."""

    state: str
    items: Light


class ItemsAnswer(Struct, frozen=True):
    """Items in full. Fewer than asked for where the answer would become too large: ask for the rest."""

    state: str
    items: list[Item]


class ItemAnswer(Struct, frozen=True):
    """One item with nothing cut."""

    state: str
    item: Item
    markdown: str
    """The text of the block itself, for copying."""


class Relative(Struct, frozen=True):
    """One session of a family, or a subagent of one."""

    id: str
    """That of the session; for a subagent that of its session, a slash, and its own."""
    session_id: str
    side: str | None
    """Set on a subagent."""
    under: str | None
    """The earlier end of the surest edge into it: where it stands in a tree. None if there is no edge into it."""
    title: str
    agent: str
    """Its name, else its bucket; of a subagent that of its session. Empty if it is not in the archive."""
    source: str
    started: str | None
    ended: str | None
    project: str | None
    """The root of the project it worked in."""
    branch: str | None
    rounds: int
    opens: int
    """The round of the session to open: for a subagent the one during which it began."""
    versions: int
    missing: bool
    """Another session names it, and it is not in the archive."""


class LineageAnswer(Struct, frozen=True):
    """The family of a session: a graph without cycles."""

    state: str
    session_id: str
    nodes: list[Relative]
    """The earlier first: every edge points from a node to one behind it."""
    edges: tuple[Edge, ...]


class BudgetAnswer(Struct, frozen=True):
    """How full the window of a session was, and what it cost, as `muniment budget --json` gives it."""

    state: str
    budget: Budget
    mark: float
    """From this share of the window on, a round is flagged as full."""


class SearchAnswer(Struct, frozen=True):
    """What a search found, as `muniment search --json` gives it."""

    state: str
    engagements: tuple[FoundEngagement, ...] = ()
    files: tuple[Touched, ...] = ()
    hits: tuple[Hit, ...] = ()


class Day(Struct, frozen=True):
    """One day, as the clock here counts them."""

    day: str
    sessions: int
    """That began on it."""
    engagements: int
    tokens: int


class ModelTokens(Struct, frozen=True):
    """Tokens by kind."""

    name: str
    input: int
    output: int
    cache_read: int
    cache_write: int


class ProjectWork(Struct, frozen=True):
    """What was done in one project."""

    name: str
    tokens: int
    sessions: int
    engagements: int


class Stats(Struct, frozen=True):
    """Few and good numbers; of what has no name, the name is empty."""

    state: str
    days: list[Day]
    models: list[ModelTokens]
    projects: list[ProjectWork]
    methods: list[Count]
    phases: list[Count]


class SummaryEdit(Struct, frozen=True, forbid_unknown_fields=True):
    """The one-line summary; empty gives it back to the machine."""

    summary: str


class TagsEdit(Struct, frozen=True, forbid_unknown_fields=True):
    """All tags of a session, in place of those it had."""

    tags: list[str]


class EngagementEdit(Struct, frozen=True, forbid_unknown_fields=True):
    """Which engagement rounds belong to; null gives them back to what extraction found."""

    rounds: list[int]
    engagement_id: str | None


class RosterEdit(Struct, frozen=True, forbid_unknown_fields=True):
    """Who a session was; both empty takes it out of the roster."""

    name: str | None = None
    role: str | None = None
