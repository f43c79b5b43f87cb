"""What a plain tokenizer misses: parts of camelCase names, Chinese, Japanese and Korean words, and letters that are
glued to such signs or to icons.

SQLite's `unicode61` splits `snake_case` and paths by itself, and takes a run of letters for one word, `用React写` too.
So signs and letters are parted before it sees them, and the words that it cannot tell go into a second column.
"""

from __future__ import annotations

import re

from muniment.store.names import parts_in
from muniment.store.scan import foreign

SIGNS = (
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
)
ICONS = "\u2066-\u2069\u23f4-\u23ff\u2b80-\u2bff\ue000-\uf8ff\U0001f000-\U0001fbff\U000e0000-\U0010fffd"
"""Pictures that are letters to the tokenizer: those of terminal fonts, and those younger than its tables."""
_CJK = re.compile(f"[{SIGNS}]+")
_ICON = re.compile(f"[{ICONS}]")
RARE = re.compile(rb"[\xe3-\xf4]|\xe2[\x81\x8f\xae\xaf]")
"""With these begin all signs and icons, in UTF-8, and hardly anything else in a text of letters."""


def indexed(data: bytes) -> tuple[bytes, str]:
    """A text as the tokenizer should see it, and the words that it would still not find.

    What is seen has no icons, and signs apart from letters. What is hidden: parts of names, and signs by pairs, each
    once; the last sign of a run stands there too, so that every sign begins a word and can be found alone.
    """
    hidden = parts_in(data)
    if not data.isascii():
        data = _part_signs(data, hidden)
    return data, " ".join(sorted(hidden)) if hidden else ""


def _part_signs(data: bytes, hidden: set[str]) -> bytes:
    """A text without icons, its signs apart from letters; the pairs of signs are added to what is hidden."""
    strange = foreign(data)  # short, so that it is cheap to look at
    if not RARE.search(strange):
        return data
    if _ICON.search(signs := strange.decode()):
        data = _ICON.sub(" ", data.decode()).encode()
    if _CJK.search(signs):
        text = data.decode()
        hidden.update(word for run in _CJK.findall(text) for word in (*pairs(run), run[-1]))
        data = _CJK.sub(r" \g<0> ", text).encode()
    return data


def parted(data: bytes) -> bytes:
    """A text as the tokenizer should see it."""
    return indexed(data)[0]


def hidden_words(data: bytes) -> str:
    """The words of a text that the tokenizer would not find."""
    return indexed(data)[1]


def east_asian(text: str) -> list[str]:
    """The runs of signs that are written without spaces between words."""
    return _CJK.findall(text)


def pairs(run: str) -> list[str]:
    """Overlapping pairs of a run of signs; a single sign stands for itself."""
    return [run[i : i + 2] for i in range(len(run) - 1)] if len(run) > 1 else [run]
