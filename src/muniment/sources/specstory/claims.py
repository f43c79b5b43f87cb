"""What each piece of a history says, told without the reader: the yardstick of `check`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from muniment.sources.base import Claim
from muniment.sources.specstory import markdown, tool_claims

_OUTER = re.compile(r"\s*(?:<(?:think|tool-use|details)\b[^>\n]*>\s*)*(?:<summary>(.*?)</summary>)?", re.DOTALL)


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one piece."""
    kind, raw = line.partition(b" ")[0].decode("utf-8", "replace"), markdown.piece(line)[1]
    key = hashlib.sha256(line).hexdigest()[:16]
    if kind in ("user", "agent"):
        if body := _said(raw.partition("\n")[2]):
            yield Claim(key, "text", body)
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


def _unclosed(raw: str) -> str:
    """Without the tags that end a block."""
    raw = raw.rstrip()
    for _ in range(raw.count("</")):
        for tag in ("think", "tool-use", "details"):
            raw = raw.removesuffix(f"</{tag}>").rstrip()
    return raw.strip("\n")
