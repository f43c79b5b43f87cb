"""What speaks for and against a new engagement at a turn: ten numbers with a reason each.

A turn is compared with the engagement that it would continue, as far as that has come, and with the next few turns. The
words and files of new work are new to it, and its own words end; a follow-up leans on what came before, corrects it,
or goes on in the same files. What an engagement is depends on where it began, so turns are read in order (`walk`), and
whoever decides says at each turn whether one begins there. A prompt that only answers begins nothing, whatever follows.

What was tried and did not help on sessions that were left out is told in docs/decisions/0008.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations

from muniment.ingest.offline import cues
from muniment.ingest.offline.deeds import Deeds, is_paper
from muniment.ingest.offline.hearing import Heard, Words, words_of
from muniment.model import projects

NAMES = ("bias", "novel", "ends", "opening", "pointing", "following", "asking", "kind", "other", "same", "worked")

Row = tuple[float, ...]
"""The numbers of one turn, in the order of `NAMES`."""

WordsAt = Callable[[int], Words]
"""The words of the turn at a position."""

_NEAR = 8
"""As many turns are compared with each other: the last three, this one and the next two."""
_FEW_WORDS = 6
_FEW_CHAINS = 5
_OPENING_WORDS, _POINTING_WORDS, _FOLLOWING_WORDS = 30, 8, 12


class SoFar:
    """The engagement that a turn would continue."""

    def __init__(self) -> None:
        self.told: set[str] = set()
        self.files: set[str] = set()
        self.worked = False

    def add(self, one: Heard, words: Words) -> None:
        self.told |= words.told
        self.files |= one.files
        self.worked = self.worked or one.deeds.edits > 0


def walk(heard: Sequence[Heard], begins: Callable[[int, Row], bool]) -> Iterator[int]:
    """The positions at which engagements begin, without the first; `begins` decides by position and row."""
    if not heard:
        return

    @lru_cache(maxsize=_NEAR)
    def words(at: int) -> Words:
        return words_of(heard[at])

    so_far = SoFar()
    so_far.add(heard[0], words(0))
    kind = _kind(heard[0].deeds)
    for at in range(1, len(heard)):
        now = _kind(heard[at].deeds)
        row = _row(heard, at, words, so_far, {kind, now} == _KINDS)
        if row and begins(at, row):
            yield at
            so_far = SoFar()
        so_far.add(heard[at], words(at))
        kind = now or kind


def _row(heard: Sequence[Heard], at: int, words: WordsAt, so_far: SoFar, changed: bool) -> Row | None:
    """Nothing if the prompt only answers."""
    said = heard[at].said[:400].split()
    opens = _opens(heard[at - 1], heard[at], said)
    if not opens and _answers(heard[at], words(at)):
        return None
    return (
        1.0,
        *_words(len(heard), at, words, so_far),
        float(opens),
        *_prompt(said, opens),
        float(changed),
        *_files(heard, at, so_far),
        float(so_far.worked),
    )


# -- words: what is new, and what is heard no more


def _words(turns: int, at: int, words: WordsAt, so_far: SoFar) -> tuple[float, float]:
    terms = words(at).terms
    return len(terms - so_far.told) / max(len(terms), _FEW_WORDS), _ends(turns, at, words)


def _ends(turns: int, at: int, words: WordsAt) -> float:
    """The part of the words common to the last three turns that are not in the next three; for half of what it is
    where there is but one turn before, whose words were never said twice."""
    before = [words(one).told for one in range(max(0, at - 3), at)]
    chains = frozenset[str]().union(*(one & other for one, other in combinations(before, 2))) if at > 1 else before[0]
    after = frozenset[str]().union(*(words(one).told for one in range(at, min(at + 3, turns))))
    return len(chains - after) / max(len(chains), _FEW_CHAINS) / (1 if at > 1 else 2)


# -- the prompt: how it begins


def _answers(now: Heard, words: Words) -> bool:
    """Whether it says nothing of its own: a yes, a no, a word to go on."""
    return not words.terms or bool(cues.ASSENT.match(now.said[:120]))


def _opens(former: Heard, now: Heard, said: Sequence[str]) -> bool:
    """Whether something else begins: because it is said, the project is another, or /init delivered its document."""
    if now.turn.user[:200] == former.turn.user[:200]:
        return False
    if former.command == "init" or projects.switched(former.cwd, now.cwd):
        return True
    return bool(cues.OPENING.search(" ".join(said[:_OPENING_WORDS])))


def _prompt(said: Sequence[str], opens: bool) -> tuple[float, float, float]:
    """Whether it points back, whether it corrects or adds, and whether it asks for something to be done."""
    points = bool(cues.POINTING.search(" ".join(said[:_POINTING_WORDS])))
    follows = not opens and bool(cues.FOLLOWING.search(" ".join(said[:_FOLLOWING_WORDS])))
    return float(points), float(follows), float(bool(cues.REQUEST.match(" ".join(said))))


# -- the work: of which kind it is, and on which files

_KINDS = {"code", "prose"}


def _kind(deeds: Deeds) -> str:
    if deeds.edits > deeds.prose:
        return "code"
    return "prose" if deeds.prose and not all(map(is_paper, deeds.written)) else ""


def _files(heard: Sequence[Heard], at: int, so_far: SoFar) -> tuple[float, float]:
    """The part of the files of this turn and the next that are other ones, and of this turn's that are the same.

    For the same ones the last two turns count in any case: an engagement that has just begun has few files yet."""
    now, earlier = heard[at].files, heard[max(0, at - 2)].files - so_far.files
    soon = now.union(*(one.files for one in heard[at + 1 : at + 2]))
    other = len(soon - so_far.files) / max(1, len(soon)) if so_far.files else 0.0
    same = len(now & so_far.files) + len(now & earlier)
    return other, same / max(1, min(len(now), len(so_far.files) + len(earlier)))
