"""What came of an engagement, and what was settled on the way: taken from what was said and done, never made up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from muniment.ingest.offline import cues
from muniment.ingest.offline.hearing import Heard
from muniment.ingest.offline.sentences import capital, clipped, plain, sentences
from muniment.ingest.offline.topics import bare, telling
from muniment.ingest.skeleton import CLOSING_CHARS

MOST = 3
_OUTCOME_WORDS, _DECISION_WORDS, _STEP_WORDS = 30, 25, 20
_ANSWER_CHARS = 500
_OFFER_CHARS = 500
_CHOSE = ("decided", "chose", "went with", "settled on", "opted", "agreed")
"""One of these is in what `cues.CHOSE` finds; looking for them first is cheap."""
_LAST_TURNS, _MOST_TURNS = 4, 100
_PREFIX = re.compile(r"^\w{1,12}(?:\([^)]{0,40}\))?!?:\s+")
"""Of a commit message: its kind, and what it touches."""
_BULLET = re.compile(r"^\s{0,8}(?:[-*+•]|\d{1,2}[.)])\s+")

_DELIVERED = (
    ("pr create", "pull request opened"),
    ("pr merge", "merged"),
    ("release create", "released"),
    ("push", "pushed"),
)


def outcome(heard: Sequence[Heard]) -> str:
    """One sentence on what was accomplished; empty if nothing says so.

    The subject of a commit or pull request is what the agent itself called the work; else the closing message tells."""
    worked = [one for one in heard if one.acts][-_LAST_TURNS:] or heard[-1:]
    told = _subject(heard) or first(_told(one, cues.RESULT) for one in reversed(worked)) or _told(heard[-1])
    done = _delivered(heard)
    if not told:
        return f"{capital(done)}." if done else ""
    told = told.rstrip(".")
    return f"{told} ({done})." if done else f"{told}."


def first(texts: Iterable[str]) -> str:
    """The first of them that says anything."""
    return next(filter(None, texts), "")


def _subject(heard: Sequence[Heard]) -> str:
    """Of the pull request if there is one, else of the first commit: later ones mend it."""
    found = [text for one in heard for text in one.deeds.subjects]
    titles = [text for one in heard for text in one.deeds.titles]
    subjects = (_PREFIX.sub("", plain(text), count=1) for text in [*titles, *found])
    return first(capital(clipped(text, _OUTCOME_WORDS)) for text in subjects if telling(text, 2))


def _told(one: Heard, cue: re.Pattern[str] = cues.ANY) -> str:
    """The first whole sentence of a closing message that has the cue."""
    for text in sentences(one.turn.closing[:CLOSING_CHARS]):
        text = cues.EXCLAIMED.sub("", text, count=1)
        if telling(text, 4) and not text.endswith(("?", ":")) and cue.search(text) and not cues.STARTING.match(text):
            return capital(clipped(text, _OUTCOME_WORDS))
    return ""


def _delivered(heard: Sequence[Heard]) -> str:
    """What was handed over, counted."""
    commits = sum("commit" in one.deeds.git for one in heard)
    asked = frozenset[str]().union(*(one.deeds.git for one in heard))
    tests = next((one.deeds.tests for one in reversed(heard) if one.deeds.tests), "")
    parts = ["committed"] if commits else []
    parts += [words for name, words in _DELIVERED if name in asked]
    parts += [f"tests {tests}"] if tests else []
    return ", ".join(parts)


def decisions(heard: Sequence[Heard]) -> tuple[str, ...]:
    """At most three things that were settled: by the person first, then as the agent reports them."""
    asked = heard[0].said
    found = dict.fromkeys(text for one in heard[1:_MOST_TURNS] if one.said != asked for text in _settled(one))
    if len(found) < MOST:
        found |= dict.fromkeys(text for one in heard[-_LAST_TURNS:] for text in _reported(one))
    return tuple(list(found)[:MOST])


def _settled(one: Heard) -> Iterator[str]:
    if len(one.said) > _ANSWER_CHARS:
        return  # a long prompt is a request or a paste
    for text in sentences(one.said):
        said = bare(text)
        if cues.DECIDED.search(text) and telling(said, 3) and not text.endswith("?") and not cues.ASSENT.match(text):
            yield capital(clipped(said, _DECISION_WORDS))


def _reported(one: Heard) -> Iterator[str]:
    closing = one.turn.closing[:CLOSING_CHARS]
    if not any(word in closing for word in _CHOSE):
        return
    for text in sentences(closing):
        if cues.CHOSE.search(text) and telling(text, 5) and not text.endswith(("?", ":")):
            yield capital(clipped(text, _DECISION_WORDS))


def next_steps(heard: Sequence[Heard], unfinished: bool) -> tuple[str, ...]:
    """At most three things that were left: what was asked for last and not done, what is listed, what was offered."""
    end = heard[-1]
    found: dict[str, None] = {}
    if unfinished and not end.turn.closing.strip() and telling(end.said, 4):
        found[capital(clipped(bare(plain(end.said[:400])), _STEP_WORDS))] = None
    closing = end.turn.closing[-CLOSING_CHARS:]
    found |= dict.fromkeys(
        capital(clipped(text, _STEP_WORDS)) for text in [*_listed(closing), *_offered(closing)] if telling(text, 2)
    )
    return tuple(list(found)[:MOST])


def _listed(closing: str) -> Iterator[str]:
    """The items below a line that says what is left."""
    below = False
    for line in closing.splitlines():
        if cues.LEFT.match(line):
            below = True
        elif below and _BULLET.match(line):
            yield plain(line).rstrip(".")
        elif below and line.strip():
            return


def _offered(closing: str) -> Iterator[str]:
    for text in sentences(closing[-_OFFER_CHARS:]):
        if text.endswith("?") and cues.OFFER.match(text):
            yield cues.OFFER.sub("", text, count=1).rstrip("?")
