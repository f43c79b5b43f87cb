"""Engagements: the units of work inside a session, and what is known of a session once it is understood.

An extractor reads a skeleton and gives an `Extraction`; `Ingested` is the line of `engagements.jsonl` that is kept of
it. Field names are those of the specification.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from msgspec import Struct

Method = Literal[
    "review", "write", "design", "build", "reorg", "triage", "discuss", "debug", "deploy", "research", "plan"
]
Phase = Literal["started", "in-progress", "blocked", "completed", "abandoned", "handed-off"]

METHODS: tuple[str, ...] = get_args(Method)
PHASES: tuple[str, ...] = get_args(Phase)
OPEN_PHASES: tuple[Phase, ...] = ("started", "in-progress", "blocked", "handed-off")
"""Phases in which somebody has to go on."""


class Engagement(Struct, frozen=True, kw_only=True):
    """One unit of work: turns are round numbers, both ends included."""

    topic: str
    """Five to fifteen words."""
    project: str | None = None
    """Path or name of the project; `system` or `meta` for work on none."""
    method: Method
    phase: Phase
    key_decisions: tuple[str, ...] = ()
    outcome: str = ""
    """One sentence on what was accomplished."""
    next_steps: tuple[str, ...] = ()
    turn_ranges: tuple[tuple[int, int], ...]
    """In order, at least one; several if the work was interrupted by other work."""

    @property
    def span(self) -> tuple[int, int]:
        """From its first turn to its last."""
        return self.turn_ranges[0][0], self.turn_ranges[-1][1]


class Extraction(Struct, frozen=True, kw_only=True):
    """What an extractor makes of a session."""

    engagements: tuple[Engagement, ...]
    session_summary: str
    """One line."""
    agent_name: str | None = None
    """As the conversation tells it; names that were given outright count more."""
    agent_role: str | None = None
    extractor: str
    """Name and version of what made it, or the name of the model."""
    note: str = ""
    """Why another extractor than the one asked for made it."""


class KeptEngagement(Engagement, frozen=True, kw_only=True):
    """An engagement as the index keeps it: named, dated, and with who found it."""

    engagement_id: str
    """Session prefix and number; what rounds are tagged with."""
    turn_range: tuple[int, int]
    """From its first turn to its last, whatever lies between."""
    extractor: str
    started: str | None = None
    ended: str | None = None
    phase_at_start: Phase | None = None
    """Where it stood when the session took it up; known only if an agent told."""


class Conflict(Struct, frozen=True):
    """What an agent told of an engagement and what was found do not agree."""

    engagement_id: str
    field: str
    """method, phase or rounds."""
    told: str
    """What counts."""
    found: str
    by: str
    """The other engagement: the one found, or another that claims the same rounds."""


class Tagged(Struct, frozen=True):
    """An engagement that people named, and the rounds of a session that they say belong to it."""

    engagement_id: str
    turn_ranges: tuple[tuple[int, int], ...]


class Ingested(Struct, frozen=True, kw_only=True):
    """One session, understood: a line of `engagements.jsonl`."""

    session_id: str
    agent_id: str
    source: str
    slug: str | None = None
    title: str = ""
    branch: str | None = None
    cwd: str | None = None
    models: tuple[str, ...] = ()
    started: str | None = None
    ended: str | None = None
    duration_seconds: int | None = None
    user_turns: int = 0
    tool_calls: int = 0
    subagents: int = 0
    ghost: bool = False
    """Never reached substantive work: recorded, not extracted."""
    agent_name: str | None = None
    agent_name_from: str | None = None
    """rename, title, signature, roster or extractor."""
    agent_role: str | None = None
    session_summary: str = ""
    engagements: tuple[KeptEngagement, ...] = ()
    extractor: str | None = None
    note: str = ""
    skeleton: str | None = None
    """Hash of the skeleton that was read."""
    state: str = ""
    """What the session was like when it was read; another state means that it has grown."""
    conflicts: tuple[Conflict, ...] = ()
    """Where agents told something else than was found."""
    found: tuple[KeptEngagement, ...] = ()
    """What was found, where agents told of engagements that stand above it."""
    tagged: tuple[Tagged, ...] = ()
    """What people decided, above all of it."""


def runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Numbers as ranges without gaps, both ends included."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
