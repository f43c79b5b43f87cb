"""By which of the eleven methods an engagement was done: what was asked for, weighed with what was done.

Deeds decide the family (code, documents, history, looking, talk); words decide within it. Words count most in the
request that opened the engagement, and messages of commits count because they name the kind of change.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from muniment.ingest.offline import cues
from muniment.ingest.offline.hearing import Heard
from muniment.ingest.offline.topics import opener
from muniment.model.engagements import Method

_OPENER_CHARS = 400
_FIRST_WORDS = 160
_LATER_CHARS = 150
_LATER_TURNS = 12
_FEW_LATER = 3
"""So few later turns count for less than the request, each the same as if there were so many."""
_CLOSING_CHARS = 1500
_ANSWERED = 200
"""An answer of so many characters is one."""
_COMMIT_VOTE = 1.5
_SEPARATORS = re.compile(r"[-_:]+")
_PREFIX = re.compile(
    r"^(feat|fix|docs?|refactor|chore|style|ci|build|perf|test|revert)(?:\([^)]{0,40}\))?!?:", re.IGNORECASE
)
_OF_PREFIX = {
    "feat": "build",
    "fix": "debug",
    "doc": "write",
    "docs": "write",
    "refactor": "reorg",
    "ci": "deploy",
    "style": "reorg",
}
_PLAN_FILE = re.compile(r"plan|roadmap", re.IGNORECASE)
_DESIGN_FILE = re.compile(r"design|spec|adr|rfc|architecture", re.IGNORECASE)
_DEPLOY_FILE = re.compile(r"workflows/|dockerfile|compose\.ya?ml|\.tf$|jenkinsfile|gitlab-ci", re.IGNORECASE)


def method(heard: Sequence[Heard]) -> Method:
    """The kind of work these turns were."""
    scores = _said(heard)
    for name, points in _done(heard).items():
        scores[name] = scores.get(name, 0.0) + points
    return cast(Method, max(scores, key=lambda name: scores[name]))


def _said(heard: Sequence[Heard]) -> dict[str, float]:
    """Points for words: two for a kind that the beginning of the opening request names, one for the rest of it."""
    first = opener(heard)
    text = _text(first, _OPENER_CHARS)
    scores: dict[str, float] = {}
    for name, pattern in cues.METHODS.items():
        if found := pattern.search(text):
            scores[name] = 2.0 if found.start() < _FIRST_WORDS and name != "build" else 1.0
    if cues.HISTORY.search(text[:_FIRST_WORDS]):
        scores["reorg"] = 4.0
    later = heard[1:_LATER_TURNS]
    for one in later:
        text = _text(one, _LATER_CHARS)
        for name, pattern in cues.METHODS.items():
            if pattern.search(text):
                scores[name] = scores.get(name, 0.0) + 1 / max(_FEW_LATER, len(later))
    return scores


def _text(one: Heard, length: int) -> str:
    command = _SEPARATORS.sub(" ", one.command) if one.command else ""
    return f"{command} {one.said[:length]}".lower()


def _done(heard: Sequence[Heard]) -> dict[str, float]:
    """Points for deeds."""
    edits = sum(one.deeds.edits for one in heard)
    prose = sum(one.deeds.prose for one in heard)
    if edits > prose:
        deeds = {"build": 1.5, "debug": 0.8, "reorg": 0.5, "write": 2.0 * prose / edits - 1.0}
        deeds |= {"triage": -0.5, **dict.fromkeys(("research", "discuss", "plan", "design"), -2.0)}
    elif prose:
        deeds = _documents(" ".join(name for one in heard for name in one.deeds.written))
    elif sum(len(one.turn.closing) for one in heard) > _ANSWERED:
        deeds = _looked(heard)
    else:
        deeds = {"build": 0.5}  # asked for and not begun: only the words tell
    deeds["debug"] = deeds.get("debug", 0.0) + _explained(heard)
    deeds["deploy"] = deeds.get("deploy", 0.0) + _shipped(heard)
    votes = _committed(heard)
    return {name: deeds.get(name, 0.0) + votes.get(name, 0.0) for name in deeds | votes}


def _explained(heard: Sequence[Heard]) -> float:
    """The part of the answers that say why something went wrong."""
    answers = [one.turn.closing[:_CLOSING_CHARS] for one in heard if one.turn.closing]
    return sum(bool(cues.CAUSE.search(text)) for text in answers) / max(1, len(answers))


def _shipped(heard: Sequence[Heard]) -> float:
    """Points for work on how the project is tested and delivered elsewhere, if half of the files are of that kind."""
    names = [name for one in heard for name in one.deeds.written]
    return 1.5 if names and sum(bool(_DEPLOY_FILE.search(name)) for name in names) * 2 >= len(names) else 0.0


def _documents(names: str) -> dict[str, float]:
    """Only documents were written; what kind, their names tell."""
    deeds = {"write": 3.0, **dict.fromkeys(("build", "debug", "research", "discuss"), -1.5)}
    deeds["design"] = 3.0 if _DESIGN_FILE.search(names) else -1.0
    deeds["plan"] = 3.0 if _PLAN_FILE.search(names) else -1.0
    return deeds


def _looked(heard: Sequence[Heard]) -> dict[str, float]:
    """Nothing was written: it was talk, or looking, or work on history."""
    git = frozenset[str]().union(*(one.deeds.git for one in heard))
    talk = sum(one.deeds.looks for one in heard) <= len(heard) // 2
    return {
        **dict.fromkeys(("build", "write"), -2.0),
        "debug": -1.0,
        "design": 0.5,
        "plan": 0.5,
        "discuss": 2.0 if talk else -1.0,
        "research": -0.5 if talk else 1.5,
        "reorg": 1.5 if git & {"commit", "merge", "rebase"} else -1.0,
        "deploy": 1.5 if git & {"release create", "tag"} else -0.5,
    }


def _committed(heard: Sequence[Heard]) -> dict[str, float]:
    """What commits say that they are, one vote for all of them."""
    kinds = [found[1].lower() for one in heard for text in one.deeds.subjects if (found := _PREFIX.match(text))]
    votes: dict[str, float] = {}
    for kind in filter(None, map(_OF_PREFIX.get, kinds)):
        votes[kind] = votes.get(kind, 0.0) + _COMMIT_VOTE / len(kinds)
    return votes
