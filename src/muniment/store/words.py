"""Words that a plain tokenizer misses: parts of camelCase names, and pairs of Chinese, Japanese or Korean signs.

SQLite's `unicode61` splits `snake_case` and paths by itself. What it cannot see goes into a second column.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Za-z]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_MAX_WORD = 64
"""A longer run of letters is encoded data, not a name."""


def hidden_words(text: str) -> str:
    """The words of a text that the tokenizer would not find, each once."""
    found: set[str] = set()
    for word in set(_WORD.findall(text)):
        if not (word.islower() or word.isupper() or word[1:].islower()) and len(word) <= _MAX_WORD:
            found.update(_PART.findall(word))
    if not text.isascii():
        for run in _CJK.findall(text):
            found.update(pairs(run))
    return " ".join(sorted(found))


def pairs(run: str) -> list[str]:
    """Overlapping pairs of a run of signs; a single sign stands for itself."""
    return [run[i : i + 2] for i in range(len(run) - 1)] if len(run) > 1 else [run]
