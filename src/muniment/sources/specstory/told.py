"""What the pieces of a history say that are no tools: its top, labels of turns, thoughts."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from muniment.sources.specstory.find import SESSION

_HEADING = re.compile(
    r"^#{1,2} (?!SpecStory[ \t\r]*$)(?P<title>.{1,300}?)(?: \((?P<at>[^()\n]*\d:\d\d[^()\n]*)\))?[ \t\r]{0,9}$",
    re.MULTILINE,
)
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[ T_](\d\d)[:-](\d\d)(?:[:-](\d\d)(?![\d:])(\.\d{1,9})?)?(?: ?(Z|[+-]\d\d:?\d\d))?",
)
_SIDE = re.compile(r" (?:- sidechain\b|\(sidechain\))")
_MODEL = re.compile(r"\bmodel ([^,]+)")
_OPENING = re.compile(r"\s*(?:<(?:think|tool-use|details)\b[^>\n]*>\s*)*(?:<summary>(.*?)</summary>)?", re.DOTALL)
_CLOSING = ("</think>", "</tool-use>", "</details>")
_USUAL = "Thought Process"
_FIRST_RULES = re.compile(r"(?:---\r*\n(?:\r*\n)+)+")
"""With an empty line below: the rule above the first lines of a file that is quoted has none."""
_RULES = ("---\n\n", "---\r\n\r\n")


def head(raw: str) -> tuple[str | None, str | None, str | None]:
    """What stands at the top: the title, the session that the history was made from, and its time."""
    session, heading = SESSION.search(raw), _HEADING.search(raw)
    title, at = (heading["title"].strip(), heading["at"]) if heading else (None, None)
    if title and _TIME.fullmatch(title):
        title, at = None, title
    begun = time_of(session["at"] or "") if session else None
    return title, session and session["id"], begun or time_of(at or "", unsaid=None)


def split_turn(raw: str) -> tuple[str, str]:
    """The label of a turn, and what is said in it."""
    label, _, below = raw.partition("\n")
    body = trimmed(below)
    return label.strip().removeprefix("_**").removesuffix("**_"), _unruled(body) if body.startswith("---") else body


def is_side(label: str) -> bool:
    """Whether it is a subagent that speaks, or is spoken to."""
    return "sidechain" in label and bool(_SIDE.search(label))


def is_ruled(raw: str) -> bool:
    """Whether a rule stands below a turn, as it does where the other one speaks next."""
    return raw.endswith(_RULES)


def _unruled(said: str) -> str:
    """Without the rules right behind a label."""
    rules = _FIRST_RULES.match(said)
    return said[rules.end() :] if rules else said


def thought(raw: str) -> str:
    """What a model thought."""
    summary, inside = block(raw, *span(raw))
    return inside if summary in ("", _USUAL) else f"{summary}\n\n{inside}"


# Outputs are long: what is not part of them is passed over before anything is copied.


def block(raw: str, begin: int, end: int) -> tuple[str, str]:
    """The summary of a block and what is inside it, without the tags that open and close it."""
    opening = _OPENING.match(raw, begin, end)
    summary, begin = ((opening[1] or "").strip(), opening.end()) if opening else ("", begin)
    while raw.endswith(_CLOSING, begin, end):
        end = raw.rindex("<", begin, end)
        while end > begin and raw[end - 1].isspace():
            end -= 1
    return summary, _bare(raw, begin, end)


def trimmed(raw: str) -> str:
    """Without the rule that ends a turn and the empty lines around it."""
    begin, end = span(raw)
    return raw[begin:end]


def span(raw: str) -> tuple[int, int]:
    """Where the trimmed text begins and ends."""
    begin, end = _inner(raw, 0, len(raw))
    while raw.endswith("\n---", begin, end) or (end - begin == 3 and raw.startswith("---", begin)):
        begin, end = _inner(raw, begin, end - 3)
    return begin, end


def _bare(raw: str, begin: int, end: int) -> str:
    begin, end = _inner(raw, begin, end)
    return raw[begin:end]


def _inner(raw: str, begin: int, end: int) -> tuple[int, int]:
    """Without the ends of lines at both ends."""
    while begin < end and raw[end - 1] in "\r\n":
        end -= 1
    while begin < end and raw[begin] in "\r\n":
        begin += 1
    return begin, end


def time_of(words: str, unsaid: str | None = "Z") -> str | None:
    """A time as SpecStory writes it, in UTC; none if neither it nor `unsaid` tells the zone.

    Older versions write those of the reader's country, which cannot be told."""
    found = _TIME.search(words)
    if not found:
        return None
    day, hour, minute, second, fraction, zone = found.groups()
    zone, at = zone or unsaid, f"{day}T{hour}:{minute}:{second or '00'}"
    utc = at if zone == "Z" else _in_utc(at + zone) if zone else None
    return f"{utc}{fraction or ''}Z" if utc else None


def _in_utc(at: str) -> str | None:
    """A time with its distance from UTC as one of UTC."""
    try:
        return datetime.fromisoformat(at).astimezone(UTC).replace(tzinfo=None).isoformat()
    except (ValueError, OverflowError):
        return None


def model_of(label: str) -> str | None:
    """The model in a label: `Agent (model x, mode Agent)`, `Agent (x 2026-01-02 03:04:05Z)`, `Assistant (x)`."""
    if "sidechain" in label:
        label = _SIDE.sub("", label)
    _, bracket, inside = label.partition("(")
    inside = _TIME.sub("", inside.rpartition(")")[0]).strip() if bracket else ""
    named = _MODEL.search(inside) if "model " in inside else None
    name = named[1].strip() if named else inside
    return name if name and "," not in name else None
