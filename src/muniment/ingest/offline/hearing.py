"""A turn, read: what the person said, what was done, and the words it is compared by."""

from __future__ import annotations

from msgspec import Struct

from muniment.ingest.offline import deeds, prompts, words
from muniment.ingest.offline.deeds import Deeds
from muniment.ingest.skeleton import ANSWER_CHARS, Turn

_PROMPT_CHARS = 1000
_SAID_CHARS = 1200
_FILE_NAMES = 40


class Words(Struct, frozen=True):
    """The words that a turn is compared by."""

    terms: frozenset[str]
    """The telling words of the prompt."""
    told: frozenset[str]
    """Those of the prompt, of the end of the answer and of the files: what later prompts are compared with."""


class Heard(Struct, frozen=True):
    """A turn with what is made of it."""

    turn: Turn
    deeds: Deeds
    said: str
    """The person's own words, without pastes where there are any."""
    command: str | None
    """The slash command that the prompt is."""
    cwd: str | None
    """The working folder, also where it did not change."""

    @property
    def acts(self) -> int:
        return self.deeds.edits + self.deeds.looks

    @property
    def files(self) -> frozenset[str]:
        """Written or read."""
        return self.deeds.written | self.deeds.seen


def hear(turn: Turn, cwd: str | None = None) -> Heard:
    """A turn, read; `cwd` is where the session was before it."""
    whole = prompts.whole(turn.user)
    said = prompts.request(whole) or whole[:300]
    done = deeds.of(turn)
    return Heard(turn, done, said[:_SAID_CHARS], prompts.command(turn.user), turn.cwd or cwd)


def words_of(one: Heard) -> Words:
    """Made when turns are compared and not kept: the words of a long session are many."""
    terms = frozenset(words.of(prompts.whole(one.turn.user)[:_PROMPT_CHARS]))
    names = " ".join(sorted(one.deeds.written | one.deeds.seen)[:_FILE_NAMES])
    return Words(terms, terms.union(words.of(one.turn.assistant[-ANSWER_CHARS:]), words.of(names)))
