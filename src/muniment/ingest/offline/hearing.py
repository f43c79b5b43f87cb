"""A turn, read once: what the person said, what was done, and the words it is compared by."""

from __future__ import annotations

from msgspec import Struct

from muniment.ingest.offline import deeds, prompts, words
from muniment.ingest.offline.deeds import Deeds
from muniment.ingest.skeleton import Turn

_PROMPT_CHARS = 1000
_ANSWER_CHARS = 1000
_FILE_NAMES = 40


class Heard(Struct, frozen=True):
    """A turn with what is made of it."""

    turn: Turn
    deeds: Deeds
    said: str
    """The person's own words, without pastes where there are any."""
    terms: frozenset[str]
    """The telling words of the prompt."""
    told: frozenset[str]
    """Those of the prompt, of the end of the answer and of the files: what later prompts are compared with."""
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
    done = deeds.of(turn)
    whole = prompts.whole(turn.user)
    terms = frozenset(words.of(whole[:_PROMPT_CHARS]))
    names = " ".join(sorted(done.written | done.seen)[:_FILE_NAMES])
    told = terms.union(words.of(turn.assistant[-_ANSWER_CHARS:]), words.of(names))
    said = prompts.request(whole) or whole[:300]
    return Heard(turn, done, said, terms, told, prompts.command(turn.user), turn.cwd or cwd)
