"""The words that tell what a text is about: no stop words, endings cut, names of code in their parts."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\d_]{3,}")
"""Scripts without spaces are taken character by character."""
_STOP_WORDS = """
    about above actually after again ain all also and any anything are aren back been before being below bit both
    but can could couldn did didn does doesn doing don done down each else etc even ever everything few first for
    from get going good got great had has hasn have haven her here hers him his how into isn its itself just know
    last let lets like look lot made make many may maybe might more most much must myself need new next nor not
    nothing now off okay once one only onto other our ours out over own per please really same see shall should
    shouldn some something still such sure than thank thanks that the their them then there these they thing
    things think this those too two under use used using very via want was wasn way were what when where which
    while who whom whose why will with won would wouldn yeah yep yes you your yours
"""
_STOP = frozenset(_STOP_WORDS.split())


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    """The word without its commonest endings; crude, and enough for comparing."""
    for ending in ("ations", "ation", "ings", "ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word.rstrip("e") if len(word) > 4 else word


def of(text: str) -> list[str]:
    """The telling words of a text, in order."""
    return [_stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP]
