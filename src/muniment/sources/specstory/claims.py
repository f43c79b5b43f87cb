"""What each piece of a history says, told without the reader: the yardstick of `check`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from muniment.model import codec
from muniment.sources.base import Claim

_OUTER = re.compile(r"\s*(?:<(?:think|tool-use|details)\b[^>\n]*>\s*)*(?:<summary>(.*?)</summary>)?", re.DOTALL)


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one piece."""
    try:
        piece = codec.mapping(codec.loads(line))
    except ValueError:
        return
    kind, raw = piece.get("kind"), piece.get("raw")
    if not isinstance(raw, str):
        return
    key = hashlib.sha256(line).hexdigest()[:16]
    if kind in ("user", "agent"):
        if body := _said(raw.partition("\n")[2]):
            yield Claim(key, "text", body)
    elif kind == "text":
        yield Claim(key, "text", _said(raw))
    elif kind in ("think", "tool"):
        outer = _OUTER.match(raw)
        inside = _unclosed(_said(raw[outer.end() if outer else 0 :]))
        if kind == "think" and outer and outer[1] and outer[1].strip() != "Thought Process":
            inside = f"{outer[1].strip()}\n\n{inside}"
        yield Claim(key, "thinking" if kind == "think" else "tool output", inside)
    else:
        yield Claim(key, f"record: {kind}")


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
