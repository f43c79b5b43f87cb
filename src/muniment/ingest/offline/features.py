"""What speaks for and against a new engagement at a turn: eight numbers with a reason each.

They compare a turn with the few before and after it and need no segmentation to be known first, so that one pass is
enough and the weights can be learned turn by turn. The words of a new subject are new, and those of the old one end. A
follow-up leans on what came before, corrects it, or goes on in the same files. And where every prompt of a session is
much work, prompts are tasks; where it is little, they are talk about one.

What was tried and did not help on sessions that were left out is told in docs/decisions/0008.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations

from muniment.ingest.offline import cues, projects
from muniment.ingest.offline.deeds import Deeds, is_paper
from muniment.ingest.offline.hearing import Heard

NAMES = ("bias", "novel", "ends", "opening", "pointing", "following", "kind", "files", "pace")

_FEW_WORDS = 6
_FEW_CHAINS = 5
_MOST_ACTS = 40
_OPENING_WORDS, _POINTING_WORDS, _FOLLOWING_WORDS = 30, 8, 12


def features(heard: Sequence[Heard]) -> list[tuple[float, ...]]:
    """For every turn but the first, in the order of `NAMES`."""
    pace = _pace(heard)
    rows: list[tuple[float, ...]] = []
    kind = _kind(heard[0].deeds) if heard else ""
    for at in range(1, len(heard)):
        now = _kind(heard[at].deeds)
        changed = float({kind, now} == _KINDS)
        rows.append((1.0, *_words(heard, at), *_prompt(heard[at - 1], heard[at]), changed, _same(heard, at), pace))
        kind = now or kind
    return rows


# -- words: what is new, and what is heard no more


def _words(heard: Sequence[Heard], at: int) -> tuple[float, float]:
    terms = heard[at].terms
    new = terms - _told(heard[max(0, at - 2) : at])
    return len(new) / max(len(terms), _FEW_WORDS), _ends(heard, at)


def _ends(heard: Sequence[Heard], at: int) -> float:
    """The part of the words common to the last three turns that are not in the next three."""
    before = [one.told for one in heard[max(0, at - 3) : at]]
    chains = frozenset[str]().union(*(one & other for one, other in combinations(before, 2))) if at > 1 else before[0]
    return len(chains - _told(heard[at : at + 3])) / max(len(chains), _FEW_CHAINS)


def _told(heard: Iterable[Heard]) -> frozenset[str]:
    return frozenset[str]().union(*(one.told for one in heard))


# -- the prompt: how it begins


def _prompt(former: Heard, now: Heard) -> tuple[float, float, float]:
    said = now.said[:400].split()
    opens = _opens(former, now, said)
    points = bool(cues.POINTING.search(" ".join(said[:_POINTING_WORDS])))
    follows = not opens and bool(cues.FOLLOWING.search(" ".join(said[:_FOLLOWING_WORDS])))
    return float(opens), float(points), float(follows)


def _opens(former: Heard, now: Heard, said: Sequence[str]) -> bool:
    """Whether something else begins: because it is said, the project is another, or /init delivered its document."""
    if now.turn.user[:200] == former.turn.user[:200]:
        return False
    if former.command == "init" or projects.switched(former.cwd, now.cwd):
        return True
    return bool(cues.OPENING.search(" ".join(said[:_OPENING_WORDS])))


# -- the work: of which kind it is, on which files, and how much of it a prompt is worth

_KINDS = {"code", "prose"}


def _kind(deeds: Deeds) -> str:
    if deeds.edits > deeds.prose:
        return "code"
    return "prose" if deeds.prose and not all(map(is_paper, deeds.written)) else ""


def _same(heard: Sequence[Heard], at: int) -> float:
    """The part of the files that were written or read both before and after, of the smaller number."""
    before, after = _files(heard[max(0, at - 4) : at]), _files(heard[at : at + 2])
    return len(before & after) / max(1, min(len(before), len(after)))


def _files(heard: Iterable[Heard]) -> frozenset[str]:
    return frozenset[str]().union(*(one.deeds.written | one.deeds.seen for one in heard))


def _pace(heard: Sequence[Heard]) -> float:
    """How much is done on a prompt of this session, on average; the last one may not be at its end."""
    done = [math.log1p(min(one.acts, _MOST_ACTS)) for one in heard[:-1]]
    return sum(done) / max(1, len(done))
