"""The last look at a piece of a page: its text as a reader sees it, once more without secrets.

Blocks are without secrets before they are rendered. What is put side by side on a page (a label and its value, words
that markdown had parted) may still read as a secret; here it is found in the very text that is shown. So a page that
says that it holds no secrets has been scanned as shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape, unescape

from muniment.secrets import Redactor
from muniment.secrets.redact import Replacement

_TAG = re.compile(r"(<[^>]*>)")
"""Words of a session are escaped, in attributes too, so a bracket always belongs to a tag of ours."""
_INLINE = re.compile(r"</?(?:a|b|code|em|i|s|strong)\b|</dt>")
"""Tags that part no words."""


def redact_markup(piece: str, redactor: Redactor) -> str:
    """Return a piece of a page with a placeholder for each secret in its text; itself if there is none."""
    if not redactor.active:
        return piece
    parts = _TAG.split(piece)
    texts = [unescape(text) for text in parts[::2]]
    gaps = [_gap(tag) for tag in parts[1::2]] + [""]
    whole = "".join(text + gap for text, gap in zip(texts, gaps, strict=True))
    places = redactor.replacements(whole)
    at = 0
    for number, (text, gap) in enumerate(zip(texts, gaps, strict=True)):
        if own := [place for place in places if place.start < at + len(text) and place.end > at]:
            parts[2 * number] = escape(_without(text, at, own))
        at += len(text) + len(gap)
    return "".join(parts) if places else piece


def _gap(tag: str) -> str:
    """Return what stands between the words before and behind a tag, as a reader sees it."""
    return ": " if tag.startswith("<dd") else "" if _INLINE.match(tag) else "\n"


def _without(text: str, at: int, places: Sequence[Replacement]) -> str:
    """Return a text that begins at `at` without what lies in these places; a placeholder stands where one begins."""
    pieces: list[str] = []
    end = 0
    for place in places:
        start = max(place.start - at, 0)
        pieces += text[end:start], place.placeholder if place.start >= at else ""
        end = place.end - at
    return "".join([*pieces, text[end:]])
