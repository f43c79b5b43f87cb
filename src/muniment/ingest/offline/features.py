"""What speaks for and against a new engagement at a turn: ten numbers with a reason each.

They compare a turn with the few before and after it and need no segmentation to be known first, so that one pass is
enough and the weights can be learned turn by turn. The words of a new subject are new and stay; those of the old one
end. A follow-up leans on what came before, goes on in the same files, or is about the commit, the pull request and the
checks.

Gaps in time, an agent's question before, commits, test results, the length and the place of a prompt were tried too and
did not help on sessions that were left out. See docs/decisions/0008.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations

from muniment.ingest.offline import cues, projects
from muniment.ingest.offline.deeds import Deeds, is_paper
from muniment.ingest.offline.hearing import Heard

NAMES = ("bias", "novel", "stays", "ends", "work", "opening", "pointing", "request", "kind", "files", "aftercare")

_FEW_WORDS = 6
_LASTING = 12
_FEW_CHAINS = 5
_MOST_ACTS = 40
_OPENING_WORDS, _REQUEST_WORDS, _POINTING_WORDS = 30, 12, 8
_AFTERCARE_CHARS = 200


def features(heard: Sequence[Heard]) -> list[tuple[float, ...]]:
    """For every turn but the first, in the order of `NAMES`."""
    rows: list[tuple[float, ...]] = []
    kind = _kind(heard[0].deeds) if heard else ""
    for at in range(1, len(heard)):
        now = _kind(heard[at].deeds)
        rows.append(
            (
                1.0,
                *_words(heard, at),
                *_prompt(heard[at - 1], heard[at]),
                float({kind, now} == _KINDS),
                *_rest(heard, at),
            )
        )
        kind = now or kind
    return rows


# -- words: what is new, whether it stays, and what is heard no more


def _words(heard: Sequence[Heard], at: int) -> tuple[float, float, float]:
    terms = heard[at].terms
    lately = _told(heard[max(0, at - 2) : at])
    new = terms - _told(heard[max(0, at - 4) : at])
    lasting = sum(len(new & one.told) for one in heard[at + 1 : at + 4])
    return len(terms - lately) / max(len(terms), _FEW_WORDS), min(lasting, _LASTING) / _LASTING, _ends(heard, at)


def _ends(heard: Sequence[Heard], at: int) -> float:
    """The part of the words common to the last three turns that are not in the next three."""
    before = [one.told for one in heard[max(0, at - 3) : at]]
    chains = frozenset[str]().union(*(one & other for one, other in combinations(before, 2))) if at > 1 else before[0]
    return len(chains - _told(heard[at : at + 3])) / max(len(chains), _FEW_CHAINS)


def _told(heard: Iterable[Heard]) -> frozenset[str]:
    return frozenset[str]().union(*(one.told for one in heard))


# -- the prompt: how it begins


def _prompt(former: Heard, now: Heard) -> tuple[float, float, float, float]:
    said = now.said[:400].split()
    return (
        math.log1p(min(former.acts, _MOST_ACTS)),  # a deliverable takes work: after talk, the same goes on
        float(_opens(former, now, said)),
        float(bool(cues.POINTING.search(" ".join(said[:_POINTING_WORDS])))),
        float(len(said) >= 5 and bool(cues.REQUEST.match(" ".join(said[:_REQUEST_WORDS])))),
    )


def _opens(former: Heard, now: Heard, said: Sequence[str]) -> bool:
    """Whether something else begins: because it is said, the project is another, or /init delivered its document."""
    if now.turn.user[:200] == former.turn.user[:200]:
        return False
    if former.command == "init" or projects.switched(former.cwd, now.cwd):
        return True
    return bool(cues.OPENING.search(" ".join(said[:_OPENING_WORDS])))


# -- the work: of which kind it is, and on which files

_KINDS = {"code", "prose"}


def _kind(deeds: Deeds) -> str:
    if deeds.edits > deeds.prose:
        return "code"
    return "prose" if deeds.prose and not all(map(is_paper, deeds.written)) else ""


def _rest(heard: Sequence[Heard], at: int) -> tuple[float, float]:
    before = frozenset[str]().union(*(one.deeds.written for one in heard[max(0, at - 3) : at]))
    after = frozenset[str]().union(*(one.deeds.written for one in heard[at : at + 2]))
    same = len(before & after) / max(1, min(len(before), len(after)))
    return same, float(bool(cues.AFTERCARE.search(heard[at].said, 0, _AFTERCARE_CHARS)))
