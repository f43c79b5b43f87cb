"""Edges that nothing states: time, branch and words suggest them. Each has a confidence, and none is ever exact.

Only sessions of the same project are compared. Every session looks back at the few before it there, and at those that
share rare words with it, so the work grows with the number of sessions and not with its square.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from muniment.lineage.values import Edge, Member

LOOK_BACK = 6
"""Sessions of the same project, before a session, that it is compared with."""
RARE = 8
"""A word that at most so many sessions of a project have brings them together, however far apart."""
LEAST = 0.4
"""Less confident edges are not told."""
_HOUR, _DAY, _WEEK = 3_600, 86_400, 7 * 86_400
_TRUNKS = frozenset({"main", "master", "trunk", "dev", "develop", "next", "head", "default", "staging", "release"})
"""Branches that everybody works on: sharing one says little."""
_CUE = re.compile(
    r"\b(?:continue|resume|carry on|pick(?:ing)? up|left off|(?:last|previous|prior|earlier) session|hand-?off)\b", re.I
)
"""Words of a first prompt that ask to go on with something."""
_SHOWN_TERMS = 6

Named = Mapping[str, Mapping[str, str]]
"""By session: the sessions whose ids stand in it, and whether they were `said` in a prompt or `seen` in its work."""


class _Pair(Struct, frozen=True):
    """Two sessions, and what they have in common."""

    earlier: Member
    later: Member
    branch: str | None
    """The one that both were on."""
    gap: int | None
    alike: float
    """From 0 to 1, by the words of their prompts."""
    terms: tuple[str, ...]
    file: str | None
    """A file that prompts of both name."""
    named: str | None


def infer(members: Sequence[Member], place: Mapping[str, int], named: Named) -> Iterator[Edge]:
    """For each session the best of those before it in its project, if it is good enough."""
    projects: dict[str, list[Member]] = {}
    for one in sorted(members, key=lambda one: place[one.id]):
        if one.project and not one.ghost and one.started:
            projects.setdefault(one.project, []).append(one)
    kin = [one for group in projects.values() for one in group]
    everywhere = Counter(term for one in kin for term in one.terms)
    for group in projects.values():
        yield from _in_project(group, _Words(group, everywhere, len(kin)), named)


def _in_project(group: Sequence[Member], words: _Words, named: Named) -> Iterator[Edge]:
    holders: dict[str, list[int]] = {}
    numbers = {one.id: number for number, one in enumerate(group)}
    for number, one in enumerate(group):
        near = range(max(0, number - LOOK_BACK), number)
        rare = one.terms & words.rare
        alike = {other for term in rare for other in holders.get(term, ())}
        names = named.get(one.id, {})
        called = {numbers[id_] for id_ in names if numbers.get(id_, number) < number}
        others = sorted({*near, *alike, *called}, reverse=True)
        pairs = [words.pair(group[other], one, names.get(group[other].id)) for other in others]
        if pairs and _surety(best := max(pairs, key=_surety)) >= LEAST:  # the nearest of those that are as good
            yield _edge(best)
        for term in rare:
            holders.setdefault(term, []).append(number)


class _Words:
    """How much the words of a project tell: little if most sessions have them, there or anywhere."""

    def __init__(self, group: Sequence[Member], everywhere: Mapping[str, int], members: int) -> None:
        counts = Counter(term for one in group for term in one.terms)
        own, all_ = len(group) + 1, members + 1
        self.weight = {t: (math.log(own / n) * math.log(all_ / everywhere[t])) ** 2 for t, n in counts.items()}
        self.rare = {term for term, count in counts.items() if 1 < count <= RARE}
        self.norm = {one.id: math.sqrt(sum(self.weight[term] for term in one.terms)) for one in group}

    def pair(self, earlier: Member, later: Member, named: str | None) -> _Pair:
        both = earlier.terms & later.terms
        norm = self.norm[earlier.id] * self.norm[later.id]
        alike = sum(self.weight[term] for term in both) / norm if norm else 0.0
        file = min((term for term in both if "." in term), default=None)
        branch = later.branch if earlier.branch == later.branch else None
        shown = heapq.nsmallest(_SHOWN_TERMS, both, key=lambda term: (-self.weight[term], term))
        return _Pair(earlier, later, branch, _gap(earlier, later), alike, tuple(shown), file, named)


def _gap(earlier: Member, later: Member) -> int | None:
    """Seconds between them; below zero they overlap."""
    try:
        ended = datetime.fromisoformat(earlier.ended or earlier.started or "")
        return round((datetime.fromisoformat(later.started or "") - ended).total_seconds())
    except (ValueError, TypeError):
        return None


def _edge(pair: _Pair) -> Edge:
    """What the pair suggests, and how surely."""
    overlap = pair.gap is not None and pair.gap < 0
    sure = bool(pair.named or pair.branch or _asks(pair.later))
    kind = "beside" if overlap else "follows" if sure else "similar"
    evidence = "; ".join(words for _, words in _reasons(pair))
    about = (round(_surety(pair), 2), evidence, (), 0, pair.branch, pair.gap, pair.terms)
    return Edge(pair.earlier.id, pair.later.id, kind, False, *about)


def _surety(pair: _Pair) -> float:
    """The points were set by reading the sessions of the corpus; see `docs/lineage.md`."""
    return min(0.95, sum(points for points, _ in _reasons(pair)))


def _reasons(pair: _Pair) -> Iterator[tuple[float, str]]:
    yield _of_branch(pair)
    if pair.gap is not None and pair.gap <= _WEEK and _asks(pair.later):
        yield 0.35, "its first prompt asks to go on"
    if pair.file:
        yield 0.3, f"prompts of both name {pair.file}"
    if pair.alike >= 0.1:
        yield min(0.45, pair.alike * 2), f"prompts alike by {pair.alike:.0%}"
    if pair.named:
        yield (0.9, "a prompt names that session") if pair.named == "said" else (0.15, "its work names that session")


def _of_branch(pair: _Pair) -> tuple[float, str]:
    """A branch of its own says much, a trunk little, and only while it is fresh."""
    gap = math.inf if pair.gap is None else pair.gap
    if pair.branch and pair.branch.lower() not in _TRUNKS:
        return (0.8 if gap <= _WEEK else 0.6), f"same branch {pair.branch}, {_told(pair.gap)}"
    if pair.branch:
        points = 0.3 if gap <= _HOUR else 0.2 if gap <= _DAY else 0.1
        return points, f"same branch {pair.branch}, {_told(pair.gap)}"
    return (0.2 if gap <= _HOUR else 0.1 if gap <= _DAY else 0.0), f"same project, {_told(pair.gap)}"


def _asks(one: Member) -> bool:
    return _CUE.search(one.prompt) is not None


def _told(gap: int | None) -> str:
    if gap is None:
        return "at an unknown time"
    if gap < 0:
        return f"began {_span(-gap)} before the other ended"
    return f"{_span(gap)} later"


def _span(seconds: int) -> str:
    for size, unit in ((_DAY, "day"), (_HOUR, "hour"), (60, "minute")):
        if seconds >= size:
            count = round(seconds / size)
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return "less than a minute"
