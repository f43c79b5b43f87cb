"""Text for people: sentences without markup, links by their names, nothing cut off in the middle without a sign."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^\s*(?:```|~~~)")
_LINK = re.compile(r"!?\[([^\]\n]{1,200})\]\([^)\n]{0,500}\)")
_FORGE = re.compile(r"https?://[^\s/]+/[^\s/]+/[^\s/]+/(pull|issues|merge_requests|-/issues)/(\d+)(?:[/#?]\S*)?")
_URL = re.compile(r"https?://([^\s/)>\]]+)[^\s)>\]]*")
_LONG_PATH = re.compile(
    r"@?(?<![\w.])(?:[A-Za-z]:|~|\.{1,2})?[/\\](?:[^\s/\\,;:'\"()]{1,80}[/\\]){1,20}([^\s/\\,;:'\"()]{1,80})"
)
_MENTION = re.compile(r"(?<!\w)@((?:[\w.-]{1,80}/)*)([\w.-]{1,80})")
_MARKUP = re.compile(r"\*\*|__|`+|(?<!\w)\*(?=\w)|(?<=\w)\*(?!\w)|^\s{0,10}(?:#{1,6}\s+|>\s?|[-*+•]\s+|\d{1,2}[.)]\s+)")
_PICTURES = re.compile(r"[\u2190-\u21ff\u2300-\u23ff\u2460-\u27ff\u2900-\u2bff\ufe0f\u200d\U0001f000-\U0001faff]+")
_CONTROL = re.compile(
    r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff]"
)
_END = re.compile(r"(?<=[.!?。！？])[\"')\]]?\s+(?=[^\s])|(?<=[。！？])")
_TABLE = re.compile(r"^\s*\|")
_LIMIT = 3000
_WRAPPED = 50
"""A line so long without an end may go on in the next."""


def plain(text: str) -> str:
    """One line without markup: links by their text, paths by their last part, addresses by what they are."""
    text = text[:_LIMIT]
    if not text.isprintable():
        text = _CONTROL.sub(" ", text)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "://" in text:
        text = _URL.sub(r"\1", _FORGE.sub(_named, text))
    if "/" in text or "\\" in text:
        text = _LONG_PATH.sub(r"\1", text)
    if "@" in text:
        text = _MENTION.sub(r"\2", text)
    if not text.isascii():
        text = _PICTURES.sub(" ", text)
    return " ".join(_MARKUP.sub("", text).split())


def _named(found: re.Match[str]) -> str:
    """A pull request or an issue, from its address."""
    return f"{'issue' if 'issues' in found[1] else 'PR'} {found[2]}"


def sentences(text: str) -> list[str]:
    """The sentences of a text, in order; code, tables and headings are left out."""
    return [one for line in _lines(text[:_LIMIT]) for one in _END.split(plain(line)) if one]


def _lines(text: str) -> list[str]:
    """The lines that are prose; those that were only wrapped are put together."""
    found: list[str] = []
    fenced = wrapped = False
    for line in text.splitlines():
        bare = line.strip()
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced or not bare or _TABLE.match(line) or bare.startswith("#"):
            wrapped = False
        else:
            if wrapped and bare[0].islower():
                found[-1] += f" {bare}"
            else:
                found.append(bare)
            wrapped = len(bare) > _WRAPPED and bare[-1] not in ".!?:"
    return found


def clipped(text: str, words: int) -> str:
    """At most so many words; a cut is made where a clause ends if there is such a place, and shown if not."""
    parts = text.split()
    if len(parts) <= words:
        return text
    for at in range(words, words * 2 // 3, -1):
        if parts[at - 1].endswith((",", ";", ":", "—", ")")) or parts[at - 1] in ("-", "–"):
            return " ".join(parts[:at]).rstrip(" ,;:—–-")
    return " ".join(parts[:words]).rstrip(" ,;:—–-") + "…"


def capital(text: str) -> str:
    """With a capital at the beginning, unless the first word is a name of code."""
    first = text.split(maxsplit=1)[0] if text else ""
    plain_word = first.replace("-", "").replace("'", "").isalpha() and first.islower()
    return text[0].upper() + text[1:] if plain_word else text
