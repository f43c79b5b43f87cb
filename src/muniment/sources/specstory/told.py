"""What a piece of a history says.

A tool's block is rendered for people: what was asked for and what came back cannot be told apart for certain. Its
summary is taken as the input, all below it as the output.
"""

from __future__ import annotations

import html
import re
from typing import Any

from muniment.model import Ref, Text, Thinking, Tool, Unknown
from muniment.sources.builder import quiet
from muniment.sources.chats import Said, text
from muniment.sources.specstory.find import SESSION
from muniment.sources.specstory.markdown import TURN

_TITLE = re.compile(
    r"^#{1,2} (?!SpecStory[ \t\r]*$)(.{1,300}?)(?: \([^()\n]*\d:\d\d[^()\n]*\))?[ \t\r]{0,9}$", re.MULTILINE
)
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T_](\d\d:\d\d)(:\d\d)?(?: ?(Z|[+-]\d\d:?\d\d))?")
_MODEL = re.compile(r"\bmodel ([^,]+)")
_OPENING = re.compile(r"\s*(?:<(?:think|tool-use|details)\b[^>\n]*>\s*)*(?:<summary>(.*?)</summary>)?", re.DOTALL)
_CLOSING = ("</think>", "</tool-use>", "</details>")
_USUAL = "Thought Process"
_NAMED = re.compile(r'<tool-use\b[^>\n]*? data-tool-name="([^"\n]*)"')
_TYPED = re.compile(r'<tool-use\b[^>\n]*? data-tool-type="([^"\n]*)"')


def tell(line: dict[str, Any], ref: Ref) -> Said:
    """One piece of a history."""
    kind, raw = text(line, "kind") or "", text(line, "raw") or ""
    if kind == "head":
        return _head(raw, ref)
    if kind in ("user", "agent"):
        return _turn(kind, raw, ref)
    if kind == "think":
        return Said((Thinking(_thought(raw), ref=ref),), ref=ref)
    if kind == "tool":
        return Said((_tool(raw, ref),), ref=ref)
    if kind == "text":
        return Said((Text(trimmed(raw), ref),), ref=ref)
    return Said((Unknown(kind=kind or "line", value=line, ref=ref),), ref=ref)


def _head(raw: str, ref: Ref) -> Said:
    session = SESSION.search(raw)
    at = Ref(ref.offset, ref.length, at=time_of(session["at"] or "") if session else None)
    parts = [quiet("head", at, raw)]
    if title := _TITLE.search(raw):
        parts.append(quiet("title", at, {"title": title[1].strip(), "by": "ai"}))
    if session:
        parts.append(quiet("link", at, {"kind": "rendered", "session": session["id"]}))
    return Said(tuple(parts), ref=at)


def _turn(kind: str, raw: str, ref: Ref) -> Said:
    label, body = split_turn(raw)
    ref = Ref(ref.offset, ref.length, at=time_of(label))
    said = (Text(body, ref),) if body else ()
    if kind == "user":
        return Said(said, "user", ref, opens=True)
    model = model_of(label)
    return Said(said or (quiet("turn", ref),), "assistant", ref, fields={"model": model} if model else {})


def split_turn(raw: str) -> tuple[str, str]:
    """The label of a turn, and what is said in it."""
    turn = TURN.match(raw)
    return (turn["label"], trimmed(raw[turn.end() :])) if turn else ("", trimmed(raw))


def _thought(raw: str) -> str:
    summary, inside = _block(raw)
    return inside if summary in ("", _USUAL) else f"{summary}\n\n{inside}"


def _tool(raw: str, ref: Ref) -> Tool:
    summary, inside = _block(raw)
    name, type_ = _NAMED.match(raw), _TYPED.match(raw)
    asked = {"summary": html.unescape(summary)}
    if type_:
        asked["type"] = html.unescape(type_[1])
    named = html.unescape(name[1]) if name else "tool"
    return Tool(f"tool-{ref.offset}", named, asked, (Text(inside),), ref=ref, result=ref)


def _block(raw: str) -> tuple[str, str]:
    """The summary of a block and what is inside it, without the tags that open and close it."""
    opening = _OPENING.match(raw)
    summary = opening[1].strip() if opening and opening[1] else ""
    inside = _unclosed(trimmed(raw[opening.end() if opening else 0 :]))
    return summary, inside.strip("\n")


def _unclosed(inside: str) -> str:
    """Without the tags that close a block. All are found before anything is cut off: there may be very many."""
    end = _behind_words(inside, len(inside))
    while inside.endswith(_CLOSING, 0, end):
        end = _behind_words(inside, inside.rindex("<", 0, end))
    return inside[:end]


def _behind_words(said: str, end: int) -> int:
    """Where the space begins that stands before an end."""
    while end and said[end - 1].isspace():
        end -= 1
    return end


def trimmed(raw: str) -> str:
    """Without the rule that ends a turn and the empty lines around it."""
    raw = raw.strip("\r\n")
    end = len(raw)
    while raw.endswith("\n---", 0, end) or (end == 3 and raw.startswith("---")):
        end -= 3
        while end and raw[end - 1] in "\r\n":
            end -= 1
    return raw[:end]


def time_of(words: str) -> str | None:
    """A time as SpecStory writes it; older versions write those of the reader's country, which cannot be told."""
    found = _TIME.search(words)
    if not found:
        return None
    return f"{found[1]}T{found[2]}{found[3] or ':00'}{found[4] or 'Z'}"


def model_of(label: str) -> str | None:
    """The model in a label: `Agent (model x, mode Agent)`, `Agent (x 2026-01-02 03:04:05Z)`, `Assistant (x)`."""
    _, bracket, inside = label.partition("(")
    inside = _TIME.sub("", inside.rpartition(")")[0]).strip() if bracket else ""
    named = _MODEL.search(inside)
    name = named[1].strip() if named else inside
    return name if name and "," not in name and name != "sidechain" else None
