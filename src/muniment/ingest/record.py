"""From a skeleton and what an extractor made of it to the record that is kept."""

from __future__ import annotations

from datetime import datetime

from msgspec import structs

from muniment.ingest.identity import Identity
from muniment.ingest.skeleton import Skeleton, fingerprint
from muniment.model import projects
from muniment.model.engagements import Engagement, Extraction, Ingested, KeptEngagement
from muniment.model.words import shortened
from muniment.store import head

MAX_LINE = 500
ID_CHARS = 13
"""Of a session id: some ids begin with the time, and eight characters of that are the same for a minute."""


def make(skeleton: Skeleton, identity: Identity, extraction: Extraction | None, state: str) -> Ingested:
    """The record of a session; without an extraction it is that of a ghost."""
    facts = skeleton.facts
    about = Ingested(
        session_id=facts.session_id,
        agent_id=skeleton.agent_id,
        source=facts.source,
        slug=facts.slug,
        title=one_line(facts.display_title),
        branch=facts.branch,
        cwd=facts.first_cwd or facts.cwd,
        models=skeleton.models,
        started=facts.started,
        ended=facts.ended,
        duration_seconds=seconds_between(facts.started, facts.ended),
        user_turns=facts.prompts,
        tool_calls=facts.tool_calls,
        subagents=skeleton.subagents,
        ghost=extraction is None,
        agent_name=identity.name,
        agent_name_from=identity.by,
        agent_role=identity.role,
        session_summary=head.placeholder(facts.display_title),
        state=state,
    )
    return about if extraction is None else _with(about, skeleton, extraction)


def _with(about: Ingested, skeleton: Skeleton, extraction: Extraction) -> Ingested:
    told = about.agent_name is None and extraction.agent_name is not None
    return structs.replace(
        about,
        agent_name=extraction.agent_name if told else about.agent_name,
        agent_name_from="extractor" if told else about.agent_name_from,
        agent_role=about.agent_role or extraction.agent_role,
        session_summary=one_line(extraction.session_summary) or about.session_summary,
        engagements=tuple(
            _kept(skeleton, number, engagement, extraction.extractor)
            for number, engagement in enumerate(extraction.engagements, 1)
        ),
        extractor=extraction.extractor,
        note=extraction.note,
        skeleton=fingerprint(skeleton),
    )


def _kept(skeleton: Skeleton, number: int, engagement: Engagement, extractor: str) -> KeptEngagement:
    first, last = engagement.span
    turns = [turn for turn in skeleton.turns if first <= turn.number <= last]
    return KeptEngagement(
        topic=one_line(engagement.topic),
        project=projects.told(engagement.project and one_line(engagement.project), skeleton.facts.first_cwd),
        method=engagement.method,
        phase=engagement.phase,
        key_decisions=tuple(map(one_line, engagement.key_decisions)),
        outcome=one_line(engagement.outcome),
        next_steps=tuple(map(one_line, engagement.next_steps)),
        turn_ranges=engagement.turn_ranges,
        turn_range=engagement.span,
        engagement_id=f"{skeleton.facts.session_id[:ID_CHARS]}-{number}",
        extractor=extractor,
        started=next((turn.at for turn in turns if turn.at), None),
        ended=next((turn.until or turn.at for turn in reversed(turns) if turn.until or turn.at), None),
    )


def one_line(text: str) -> str:
    """Text as one line that a listing can show."""
    words = " ".join(text[: MAX_LINE * 4].split())
    return shortened(words, MAX_LINE)


def seconds_between(first: str | None, last: str | None) -> int | None:
    """None where the times are missing or no times."""
    if not first or not last:
        return None
    try:
        return round((datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds())
    except (ValueError, TypeError):
        return None
