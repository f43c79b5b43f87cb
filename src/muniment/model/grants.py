"""What sounds like a permission. A grant belongs to one session and to no file: names are all that tells one."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_GRANTING = re.compile(
    r"allow(s|ed|list)?|approv(e|es|ed|al|als)|grant(s|ed)?|permissions?|permit(s|ted)?|trust(ed)?|whitelist"
)
_WITHHOLDING = re.compile(
    r"ask(s|ed)?|den(y|ies|ied|ial|ylist)|disallow(s|ed)?|forbid(s|den)?|not|pending|refus(e|es|ed|al)|reject(s|ed)?"
    r"|request(s|ed)?|required|restrict(s|ed|ions?)?|revok(e|es|ed)"
)


@lru_cache(256)
def is_grant(name: str) -> bool:
    """Whether a name sounds like a permission that was given. What is denied, taken back or asked for is none."""
    return any(map(_GRANTING.fullmatch, _words(name))) and not withholds(name)


def withholds(name: str) -> bool:
    """Whether a name sounds like a permission that is not given."""
    return any(map(_WITHHOLDING.fullmatch, _words(name)))


def _words(name: str) -> list[str]:
    """The words of a name in any spelling: `always_allow`, `alwaysAllow`, `ALWAYS-ALLOW`."""
    return [word.lower() for word in _WORD.findall(name)]
