"""What a person asks for, as an expression for the full text. Nothing that is typed is ever taken for its syntax.

Words must all occur, in any order; `"words in quotes"` stand together; `begin*` is the beginning of a word. Case and
accents do not count. A path or an identifier is taken apart as the index takes it apart, and its pieces must stand
together; a part of a camelCase name is found by itself. Signs of East Asian scripts have no spaces between words, so
they are looked for in pairs (see `words`), and what is found is compared with what was asked for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from msgspec import Struct

from muniment.store.words import east_asian, hidden_words, pairs, parted

MAX_TERMS = 32
MAX_TERM_CHARS = 200
_PIECES = re.compile(r'"([^"]*)"|(\S+)')
_WORD = re.compile(r"[^\W_]")
_BETWEEN = re.compile(r"[\W_]+")


class Term(Struct, frozen=True):
    """One thing that must occur."""

    text: str
    prefix: bool = False


def parse(query: str) -> list[Term]:
    """The terms of a query, the first `MAX_TERMS`; empty if it holds no letter and no digit."""
    terms: list[Term] = []
    for quoted, word in _PIECES.findall(_clean(query[: MAX_TERMS * MAX_TERM_CHARS])):
        whole = (quoted or word).strip()
        text = whole[:MAX_TERM_CHARS]
        prefix = (bool(word) and text.endswith("*")) or len(whole) > MAX_TERM_CHARS
        text = text.rstrip("*") if prefix else text.strip('"')
        if _WORD.search(text):
            terms.append(Term(text, prefix))
    return terms[:MAX_TERMS]


def _clean(query: str) -> str:
    return "".join(" " if unicodedata.category(c) in ("Cc", "Cs") else c for c in query)


def is_cut(query: str) -> bool:
    """Whether the query is longer than what is looked for."""
    return len(query) > MAX_TERMS * MAX_TERM_CHARS or len(_PIECES.findall(query)) > MAX_TERMS


def expression(terms: Sequence[Term]) -> str:
    """The terms in the language of the index."""
    return " AND ".join(_one(term) for term in terms)


def _one(term: Term) -> str:
    whole = _quoted(term.text) + ("*" if term.prefix else "")
    runs = east_asian(term.text)
    if not runs:
        return whole
    signs = [_quoted(pair) + ("*" if len(pair) == 1 else "") for run in runs for pair in pairs(run)]
    rests = [rest for rest in re.split("|".join(map(re.escape, runs)), term.text) if _WORD.search(rest)]
    asked = [f"(aux : ({' AND '.join(signs)}))", *(f"{_quoted(rest)}*" for rest in rests)]
    return f"({whole} OR ({' AND '.join(asked)}))"


def _quoted(text: str) -> str:
    return '"' + parted(_encoded(text)).decode().replace('"', '""') + '"'


def needs_comparing(terms: Sequence[Term]) -> list[Term]:
    """Terms for which the index may give too much: all with signs, but for a single pair."""
    return [term for term in terms if (runs := east_asian(term.text)) and not (len(runs) == 1 and len(term.text) == 2)]


def holds(text: str, terms: Sequence[Term]) -> bool:
    """Whether a text has the terms, letter by letter; case, accents and what stands between words do not count."""
    folded = _spaced(text)
    return all(_spaced(term.text) in folded for term in terms)


def occur(text: str, terms: Sequence[Term]) -> bool:
    """Whether a text has the terms, as the index would find them; for what is not indexed."""
    words = f" {_spaced(text)} {_spaced(hidden_words(_encoded(text)))} "
    return all(_shape(term) in words for term in terms)


def _shape(term: Term) -> str:
    asked = _spaced(term.text)
    return asked if east_asian(term.text) else f" {asked}" if term.prefix else f" {asked} "


def _spaced(text: str) -> str:
    return _BETWEEN.sub(" ", fold(parted(_encoded(text)).decode())).strip()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def fold(text: str) -> str:
    """Text without case and accents."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFD", text.casefold())
    return "".join(c for c in apart if not unicodedata.combining(c))


def pattern(terms: Sequence[Term]) -> re.Pattern[str]:
    """What to highlight: the terms, and failing that their words, in any case."""
    wholes = [re.escape(term.text) + (r"\w*" if term.prefix else "") for term in terms]
    words = [re.escape(word) for term in terms for word in re.findall(r"\w+", term.text) if len(word) > 1]
    ordered = sorted({*wholes, *words}, key=len, reverse=True)
    return re.compile("|".join(ordered) or r"(?!)", re.IGNORECASE)
