"""The telling pieces of a long text, verbatim: which sentences a successor would miss most.

Pieces are sentences or lines as they stand, told by their place in the text, so that what is quoted can be found
again. What makes a piece worth its room: it settles something, tells a result, asks something, or names things
(paths, addresses, commits, names of code). The beginning of what a person says and the end of what an agent says
count more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from muniment.ingest.offline import cues

MAX_READ = 20_000
"""Characters of a text that are looked at, half of them at its end."""
LINE_BREAK = re.compile("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""Whatever any reader takes for the end of a line."""
_BREAK = re.compile(LINE_BREAK.pattern + "+|(?<=[.!?])[\"')]?[ \t]+(?=[A-Z`*\\[(\"'0-9])|(?<=[。！？])")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_RULE = re.compile(r"[\W_]*$")
_NAMED = re.compile(
    r"`[^`\n]{2,80}`|https?://\S{4,200}|\b[0-9a-f]{7,40}\b|[\w.-]+/[\w./-]+|\b\w+\.(?:[a-z]{1,4}|json|yaml|toml)\b"
    r"|\b[a-z]+[A-Z]\w+|\b\w+_\w+|#\d+|\b[A-Z]{2,8}-\d+"
)
_BINDING = re.compile(
    r"\b(?:never|always|must|don'?t|do not|dont|should(?:n'?t)?|only|instead|prefer|rule|standing|not supported?|keep"
    r"|skip|drop|leave|no longer|because|since)\b",
    re.IGNORECASE,
)
_STATE = re.compile(
    r"\b(?:root cause|uncommitted|not (?:yet )?(?:pushed|committed|done|tested)|still open|remaining|left|deferred|todo"
    r"|pending|blocked|reverted|closed|merged|draft|next|fail(?:s|ed|ing|ure)?|unrelated|existing|backup|branch"
    r"|decided|chose|agreed)\b",
    re.IGNORECASE,
)


class Piece(Struct, frozen=True):
    """A piece of a text: characters from `start` to `end`, and how much it tells."""

    start: int
    end: int
    score: float


def pieces(text: str, asks: bool) -> list[Piece]:
    """Every piece of a text; `asks` says that a person wrote it."""
    found: list[Piece] = []
    fenced = False
    spans = _spans(text)
    for number, (start, end) in enumerate(spans):
        words = text[start:end]
        if _FENCE.match(words):
            fenced = not fenced
        elif not _RULE.match(words):
            place = _place(number, len(spans), asks)
            found.append(Piece(start, end, (0.3 if fenced else 1.0) * _telling(words, asks) + place))
    return found


def _spans(text: str) -> list[tuple[int, int]]:
    """Sentences and lines, without the blanks around them."""
    spans: list[tuple[int, int]] = []
    for first, last in _read(text):
        at = first
        for found in [*_BREAK.finditer(text, first, last), None]:
            start, end = at, found.start() if found else last
            words = text[start:end]
            start += len(words) - len(words.lstrip())
            end = start + len(words.strip())
            if end > start:
                spans.append((start, end))
            at = found.end() if found else last
    return spans


def _read(text: str) -> list[tuple[int, int]]:
    if len(text) <= MAX_READ:
        return [(0, len(text))]
    return [(0, MAX_READ // 2), (len(text) - MAX_READ // 2, len(text))]


def _place(number: int, count: int, asks: bool) -> float:
    """A request stands at the beginning; what came of it is summed up at both ends."""
    if number == 0:
        return 3.0 if asks else 1.5
    if number == count - 1:
        return 1.0 if asks else 1.5
    return 1.0 if number < 3 else 0.0


def _telling(words: str, asks: bool) -> float:
    read = words[:600]
    names = len(set(_NAMED.findall(read)))
    score = min(names, 4) * 0.5
    score += 1.0 if _BINDING.search(read) else 0.0
    score += 1.0 if _STATE.search(read) else 0.0
    if asks:
        return score + (2.0 if cues.DECIDED.search(read) else 0.0)
    score += 0.7 if cues.RESULT.search(read) else 0.0
    score += 1.5 if cues.CHOSE.search(read) or read.rstrip().endswith("?") else 0.0
    return score - (1.0 if cues.STARTING.match(read) else 0.0)


def best(text: str, limit: int, asks: bool) -> list[tuple[int, int]]:
    """The most telling pieces that fit into so many characters, in order; neighbours are put together."""
    stripped = text.strip()
    if len(stripped) <= limit and not _BREAK.search(stripped):
        start = len(text) - len(text.lstrip())
        return [(start, start + len(stripped))] if stripped else []
    chosen: list[Piece] = []
    room = limit
    for piece in sorted(pieces(text, asks), key=lambda p: (-p.score / (1 + (p.end - p.start) / 200), p.start)):
        length = min(piece.end - piece.start, room)
        if length < min(40, piece.end - piece.start):
            continue
        chosen.append(Piece(piece.start, piece.start + length, piece.score))
        room -= length + 3
        if room < 12:
            break
    return _joined(text, sorted(chosen, key=lambda p: p.start))


def _joined(text: str, chosen: Sequence[Piece]) -> list[tuple[int, int]]:
    """Pieces that follow each other on one line are one piece."""
    spans: list[tuple[int, int]] = []
    for piece in chosen:
        between = text[spans[-1][1] : piece.start] if spans else "\n"
        if spans and not between.strip() and not LINE_BREAK.search(between):
            spans[-1] = (spans[-1][0], piece.end)
        else:
            spans.append((piece.start, piece.end))
    return spans


def ends(text: str, limit: int) -> list[tuple[int, int]]:
    """Beginning and end of a text: what a long output shows, and how it came out."""
    if len(text) <= limit:
        return [(0, len(text))] if text else []
    first = limit * 2 // 5
    return [(0, first), (len(text) - (limit - first), len(text))]


def one_word(name: str) -> str:
    """A name from a file, as a label: one short word without anything that could be mistaken for more."""
    return re.sub(r"[^\w.:-]+", "_", name)[:60] or "unnamed"


def whole_words(text: str, limit: int) -> str:
    """The first words of a text, on one line. A word that was cut off goes: half a secret would not be recognised."""
    words = " ".join(text.split())
    if len(words) <= limit and not words.endswith("…"):
        return words
    return f"{words[:limit].removesuffix('…').rsplit(' ', 1)[0]}…"
