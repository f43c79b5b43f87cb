"""What an engagement was about, in the words of the person who asked for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from muniment.ingest.offline import cues
from muniment.ingest.offline.hearing import Heard
from muniment.ingest.offline.sentences import capital, clipped, plain, sentences

FEWEST, MOST = 5, 15
_HEADING = re.compile(
    r"^#{1,3}\s+(?:(?:implementation )?plan(?: for)?\s*:?\s*)?(.{8,150})$", re.IGNORECASE | re.MULTILINE
)
_WORDY = re.compile(r"[^\W\d_]{2,}")


def topic(heard: Sequence[Heard], title: str, project: str | None) -> str:
    """Five to fifteen words on what the work was; title and project are for sessions that say little themselves."""
    parts: list[str] = []
    for part in _candidates(heard, title, project):
        if part and not any(part in one or one in part for one in parts):
            parts.append(part)
        if sum(len(one.split()) for one in parts) >= FEWEST:
            break
    return clipped(capital("; ".join(parts)), MOST) or "(nothing said)"


def _candidates(heard: Sequence[Heard], title: str, project: str | None) -> Iterator[str]:
    """Where a topic may be found, best first."""
    first = opener(heard)
    if first.command:
        yield f"/{plain(first.command)}"
    if heading := _HEADING.search(first.said[:400]):
        yield plain(heading[1])
    yield from _requests(first)
    for one in heard:
        yield from (subject for text in one.deeds.subjects[:1] if telling(subject := plain(text), 2))
    if telling(plain(title), 2):
        yield plain(title)
    for one in heard[:20]:
        if one is not first and not cues.ASSENT.match(one.said[:120]):
            yield from _requests(one)
    yield plain(first.said[:200])
    yield plain(", ".join(sorted({name.rsplit("/", 1)[-1] for one in heard for name in one.deeds.written})[:3]))
    yield f"in {project}" if project else ""


def opener(heard: Sequence[Heard]) -> Heard:
    """The turn that says what the work is: the first that is more than an answer or getting ready."""
    for one in heard:
        said = one.said[:120]
        if one.command or (said and not cues.ASSENT.match(said) and not cues.HOUSEKEEPING.match(said)):
            return one
    return heard[0]


def _requests(one: Heard) -> Iterator[str]:
    """Sentences of a prompt that name something; the first that asks comes before those that tell."""
    said = [bare(text) for text in sentences(one.said[:1200])[:8]]
    useful = [text for text in said if telling(text, 3)]
    asking = [text for text in useful if cues.REQUEST.match(text)]
    yield from [*asking[:1], *useful[:2]]


def bare(text: str) -> str:
    """A request without the words around it."""
    for _ in range(6):
        shorter = cues.POLITE.sub("", text, count=1)
        if shorter == text or not shorter:
            break
        text = shorter
    return text.rstrip(" .:;,!\\")


def telling(text: str, words: int) -> bool:
    """Whether a text has so many words that are words."""
    return len(_WORDY.findall(text[:300])) >= words
