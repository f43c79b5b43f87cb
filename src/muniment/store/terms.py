"""What a person asks for, as an expression for the full text. Nothing that is typed is ever taken for its syntax.

Words must all occur, in any order; `"words in quotes"` stand together; `begin*` is the beginning of a word. A path or
an identifier is taken apart as the index takes it apart, and its pieces must stand together. Signs of East Asian
scripts have no spaces between words, so they are looked for in pairs (see `words`), and what is found is compared
with what was asked for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from msgspec import Struct

from muniment.store.words import east_asian, pairs

MAX_TERMS = 32
MAX_TERM_CHARS = 200
_PIECES = re.compile(r'"([^"]*)"|(\S+)')
_WORD = re.compile(r"\w", re.UNICODE)


class Term(Struct, frozen=True):
    """One thing that must occur."""

    text: str
    prefix: bool = False


def parse(query: str) -> list[Term]:
    """The terms of a query; empty if it holds no letter and no digit."""
    clean = "".join(" " if unicodedata.category(c) in ("Cc", "Cs") else c for c in query[: MAX_TERMS * MAX_TERM_CHARS])
    terms: list[Term] = []
    for quoted, word in _PIECES.findall(clean):
        text = (quoted or word).strip()[:MAX_TERM_CHARS]
        prefix = bool(word) and text.endswith("*")
        text = text.rstrip("*") if prefix else text.strip('"')
        if _WORD.search(text):
            terms.append(Term(text, prefix))
    return terms[:MAX_TERMS]


def expression(terms: Sequence[Term]) -> str:
    """The terms in the language of the index."""
    return " AND ".join(_one(term) for term in terms)


def _one(term: Term) -> str:
    whole = _quoted(term.text) + ("*" if term.prefix else "")
    runs = east_asian(term.text)
    if not runs:
        return whole
    asked = [pair for run in runs for pair in pairs(run)]
    asked += [rest for rest in re.split("|".join(map(re.escape, runs)), term.text) if _WORD.search(rest)]
    return f"({whole} OR (aux : ({' AND '.join(_quoted(word) for word in asked)})))"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def needs_comparing(terms: Sequence[Term]) -> list[Term]:
    """Terms for which the index may give too much: more than one pair of signs."""
    return [term for term in terms if any(len(run) != 2 for run in east_asian(term.text))]


def holds(text: str, terms: Sequence[Term]) -> bool:
    """Whether a text has the terms, letter by letter."""
    folded = text.casefold()
    return all(term.text.casefold() in folded for term in terms)


def pattern(terms: Sequence[Term]) -> re.Pattern[str]:
    """What to highlight: the terms, and failing that their words, in any case."""
    wholes = [re.escape(term.text) + (r"\w*" if term.prefix else "") for term in terms]
    words = [re.escape(word) for term in terms for word in re.findall(r"\w+", term.text) if len(word) > 1]
    ordered = sorted({*wholes, *words}, key=len, reverse=True)
    return re.compile("|".join(ordered) or r"(?!)", re.IGNORECASE)
