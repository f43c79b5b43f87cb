"""What each piece of a history says, told without the reader: the yardstick of `check`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime

from muniment.sources.base import Claim
from muniment.sources.specstory import markdown, tool_claims

_OUTER = re.compile(r"\s*(?:<(?:think|tool-use|details)\b[^>\n]*>\s*)*(?:<summary>(.*?)</summary>)?", re.DOTALL)


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one piece."""
    kind, raw = line.partition(b" ")[0].decode("utf-8", "replace"), markdown.piece(line)[1]
    key = hashlib.sha256(line).hexdigest()[:16]
    if kind in ("user", "agent"):
        label, _, below = raw.partition("\n")
        if body := _unruled(_said(below)):
            yield Claim(key, "text", body)
        if at := _time(label):
            yield Claim(key, "time", at)
    elif kind == "text":
        yield Claim(key, "text", _said(raw))
    elif kind == "think":
        summary, inside = _inside(raw)
        yield Claim(key, "thinking", inside if summary in ("", "Thought Process") else f"{summary}\n\n{inside}")
    elif kind == "tool":
        said, below = _said(raw), ""
        if said.endswith("```") and "</tool-use>\n```" in said:
            raw, _, below = said.rpartition("</tool-use>\n```")
        asked, output = tool_claims.told(said, *_inside(raw), below)
        yield Claim(key, "tool input", asked)
        if output is not None:
            yield Claim(key, "tool output", output)
    else:
        yield Claim(key, f"record: {kind}")


def _time(label: str) -> str | None:
    """When something was said, in UTC, where a label tells it."""
    words = [*label.replace("(", " ").replace(")", " ").replace("**_", "").split(), "", ""]
    at = next((n for n, word in enumerate(words) if word[4:5] == word[7:8] == "-" and word[:4].isdigit()), -1)
    day, clock, zone = words[at][:10], words[at][11:] or words[at + 1], words[at + 1 if words[at][11:] else at + 2]
    if ":" not in clock:
        clock = clock[:8].replace("-", ":") + clock[8:]
    clock, _, tail = f"{clock}{zone if zone[:1] in ('+', '-') else ''}".partition(".")
    fraction = tail[: len(tail) - len(tail.lstrip("0123456789"))]
    try:
        told = datetime.fromisoformat(f"{day}T{clock}{tail.removeprefix(fraction)}")
        told = told.replace(tzinfo=told.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    seconds = told.replace(tzinfo=None).isoformat(timespec="seconds")
    return f"{seconds}{'.' * bool(fraction)}{fraction}Z" if clock[2:3] == ":" else None


def _inside(raw: str) -> tuple[str, str]:
    """The summary of a block, and what stands between its tags."""
    outer = _OUTER.match(raw)
    summary = (outer[1] or "").strip() if outer else ""
    return summary, _unclosed(_said(raw[outer.end() if outer else 0 :]))


def _said(raw: str) -> str:
    """Without the rules and the empty lines that end a turn."""
    lines = raw.split("\n")
    while lines and lines[-1].rstrip("\r") in ("", "---"):
        lines.pop()
    return "\n".join(lines).strip("\r\n")


def _unruled(said: str) -> str:
    """Without the rules that stand right behind a label, each with an empty line below."""
    lines, at = said.split("\n"), 0
    bare = [line.rstrip("\r") for line in lines]
    while bare[at : at + 2] == ["---", ""]:
        at = next((n for n in range(at + 1, len(bare)) if bare[n]), len(bare))
    return "\n".join(lines[at:])


def _unclosed(raw: str) -> str:
    """Without the tags that end a block."""
    raw = raw.rstrip()
    for _ in range(raw.count("</")):
        for tag in ("think", "tool-use", "details"):
            raw = raw.removesuffix(f"</{tag}>").rstrip()
    return raw.strip("\n")
