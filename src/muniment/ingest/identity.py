"""Who was this? A session's agent name, from four sources in order, and which of them it was.

1. `/rename Reed` typed in the session, 2. a title that is a name, 3. a signature under a post, `[claude:opus::Reed]`,
4. the roster. People name sessions after their subject too, so what has several words is a title and no name, unless
the roster knows it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from muniment.ingest.skeleton import Skeleton
from muniment.store.roster import Roster

_RENAMED = re.compile(r"^[ \t]*/rename[ \t]+(\S[^\n<]{0,80})", re.MULTILINE)
_COMMAND = re.compile(r"<command-name>/?rename</command-name>.{0,500}?<command-args>([^<]{1,80})<", re.DOTALL)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_NAME = re.compile(r"[^\W\d_]+")


class Identity(Struct, frozen=True):
    """Who an agent was, and how that is known."""

    name: str | None = None
    by: str | None = None
    """rename, title, signature or roster."""
    role: str | None = None


def resolve(skeleton: Skeleton, roster: Roster) -> Identity:
    """The first source that gives a name wins; the role is the roster's."""
    entry = roster.of(skeleton.facts.session_id)
    name, by = next(_names(skeleton, roster), (None, None))
    if name is None and entry and entry.agent_name:
        name, by = entry.agent_name, "roster"
    known = entry or (roster.named(name) if name else None)
    return Identity(name, by, known.role if known else None)


def _names(skeleton: Skeleton, roster: Roster) -> Iterator[tuple[str, str]]:
    renamed = [name.strip() for name in _renames(skeleton)]
    if renamed and (_NAME.fullmatch(renamed[-1]) or _is_name(renamed[-1]) or roster.named(renamed[-1])):
        yield renamed[-1], "rename"
    facts = skeleton.facts
    given = facts.agent_name or (facts.title if facts.title_by == "user" else None)
    if given and (_is_name(given) or roster.named(given)):
        yield given, "title"
    if signed := Counter(skeleton.signatures).most_common(1):
        yield signed[0][0], "signature"


def _renames(skeleton: Skeleton) -> Iterator[str]:
    """Names given by command, in order; the last one counts."""
    for turn in skeleton.turns:
        yield from _RENAMED.findall(turn.user)
        for _, text in turn.events:
            yield from _COMMAND.findall(text)


def _is_name(text: str) -> bool:
    """One capitalised word."""
    return bool(_WORD.fullmatch(text)) and text[0].isupper()
