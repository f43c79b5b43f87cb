"""Understanding a session without a model: deterministic, no key, no network, a tenth of a millisecond a turn.

`extract` reads every turn once (`hearing`), decides where engagements begin (`features`, `weights`, `boundaries`), and
says of each what it was about, how it was done and how it ended, from what was said and done (`topics`, `methods`,
`phases`, `findings`). Nothing is made up: what the transcript does not say stays empty.
"""

from __future__ import annotations

from collections.abc import Sequence

from muniment.ingest.offline import findings
from muniment.ingest.offline.boundaries import segments
from muniment.ingest.offline.hearing import Heard, hear
from muniment.ingest.offline.methods import method
from muniment.ingest.offline.phases import phase
from muniment.ingest.offline.sentences import plain
from muniment.ingest.offline.topics import topic
from muniment.ingest.offline.weights import WEIGHTS
from muniment.ingest.skeleton import Skeleton
from muniment.model import Facts, projects
from muniment.model.engagements import Engagement, Extraction
from muniment.model.words import shortened

NAME = "offline-3"
_SUMMARY_CHARS = 200


def extract(skeleton: Skeleton, weights: Sequence[float] = WEIGHTS) -> Extraction:
    """What the session was about. Never raises, whatever the session holds."""
    heard = listen(skeleton)
    engagements = tuple(_engagement(heard, ranges, skeleton.facts) for ranges in segments(heard, weights))
    return Extraction(
        engagements=engagements, session_summary=_summary(engagements, skeleton.facts.title or ""), extractor=NAME
    )


def listen(skeleton: Skeleton) -> list[Heard]:
    """Every turn, read."""
    heard: list[Heard] = []
    for turn in skeleton.turns:
        heard.append(hear(turn, heard[-1].cwd if heard else skeleton.facts.first_cwd))
    return heard


def _engagement(heard: Sequence[Heard], ranges: Sequence[range], facts: Facts) -> Engagement:
    turns = [heard[at] for part in ranges for at in part]
    folder = next((one.cwd for one in reversed(turns) if one.cwd), None)
    project = projects.name(folder, facts.first_cwd)
    state = phase(turns, last=ranges[-1].stop == len(heard))
    return Engagement(
        topic=topic(turns, facts.title or "", project),
        project=project,
        method=method(turns),
        phase=state,
        key_decisions=findings.decisions(turns),
        outcome=findings.outcome(turns),
        next_steps=findings.next_steps(turns, state != "completed"),
        turn_ranges=tuple((heard[part[0]].turn.number, heard[part[-1]].turn.number) for part in ranges),
    )


def _summary(engagements: Sequence[Engagement], title: str) -> str:
    """One line: what a single engagement was and brought, or what several were."""
    if not engagements:
        return shortened(plain(title), _SUMMARY_CHARS)
    first = engagements[0]
    told = [one.topic for one in engagements] if len(engagements) > 1 else [first.topic, first.outcome]
    line = "; ".join(filter(None, told))
    return line if len(line) <= _SUMMARY_CHARS else line[: _SUMMARY_CHARS - 1].rsplit(" ", 1)[0] + "…"
