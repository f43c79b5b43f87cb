"""A history as lines: one for what stands at the top, then one for each piece of a turn.

    {"kind":"user","raw":"_**User (2026-01-02 03:04:05Z)**_\\n\\nfix the login\\n\\n---\\n\\n"}

The pieces are the whole file, in order: nothing of it is left out. What looks like the beginning of a turn inside a
fence of code, or inside what a tool gave back, is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from muniment.model import codec
from muniment.sources.chats import at_once

TURN = re.compile(r"_\*\*(?P<label>[^*\n]*)\*\*_[ \t]*\r?\n?")
_FENCE = re.compile(r"[ ]{0,3}(?P<mark>`{3,}|~{3,})(?P<info>.*)")
_BEGINS = {"think": "<think>", "tool": "<tool-use"}
_ENDS = {"think": "</think>", "tool": "</tool-use>"}
_MARKED = re.compile(r"\n(?=_\*\*|<t(?:hink>|ool-use)| {0,3}(?:```|~~~))")
"""Before a line at which something may begin. To look for a newline first is what makes it fast."""
_RULES = re.compile(r"(?:[^\S\n]*+(?:---[^\S\n]*+)?\n)*+")
"""Lines that are empty or a rule: what stands between two pieces."""


def lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """A history as JSON lines."""
    return at_once(pieces, _lines)


def _lines(content: bytes) -> Iterator[bytes]:
    for kind, raw in sections(content.decode("utf-8", "surrogateescape")):
        yield codec.encode({"kind": kind, "raw": raw}) + b"\n"


def sections(text: str) -> Iterator[tuple[str, str]]:
    """The pieces with their kinds: head, user, agent, think, tool, or text that follows one of these."""
    return _Sections(text).all()


class _Sections:
    """A history being taken apart. Only newlines end a line: other characters that do may stand inside one."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.unclosed: dict[str, int] = {}
        """By mark, the shortest fence that is known to have no end: longer ones have none either."""

    def all(self) -> Iterator[tuple[str, str]]:
        kind, begun, at = "head", 0, 0
        while at < len(self.text):
            found, end = self._at(at, kind)
            if found and at > begun:
                yield kind, self.text[begun:at]
            if found:
                kind, begun = found, at
            at = self._behind_rules(end) if kind in _BEGINS else self._marked(end)
        if begun < len(self.text):
            yield kind, self.text[begun:]

    def _at(self, at: int, now: str) -> tuple[str, int]:
        """What begins at a line, if anything does, and where to look on."""
        end = self._line_end(at)
        if turn := TURN.fullmatch(self.text, at, end):
            return ("user" if turn["label"].strip().lower().startswith("user") else "agent"), end
        if now != "head" and now != "user":
            for kind, mark in _BEGINS.items():
                if self.text.startswith(mark, at) and (behind := self._block_end(at, kind)):
                    return kind, behind
        if now in _BEGINS and self.text[at:end].strip() not in ("", "---"):
            return "text", self._fence_end(at, end)
        return "", self._fence_end(at, end)

    def _marked(self, at: int) -> int:
        """The next line at which something may begin, this one or a later one."""
        found = _MARKED.search(self.text, at - 1)
        return found.end() if found else len(self.text)

    def _behind_rules(self, at: int) -> int:
        """The next line that is neither empty nor a rule, this one or a later one."""
        rules = _RULES.match(self.text, at)
        return rules.end() if rules else at

    def _line_end(self, at: int) -> int:
        return self.text.find("\n", at) + 1 or len(self.text)

    def _block_end(self, at: int, kind: str) -> int:
        """Behind the line that closes a block; none if another block begins before it does."""
        other = self.text.find("\n" + _BEGINS[kind], at)
        end = self.text.find(_ENDS[kind], at, other if other >= 0 else len(self.text))
        return self._line_end(end) if end >= 0 else 0

    def _fence_end(self, at: int, end: int) -> int:
        """Behind a fence that begins at a line and is closed; else the end of that line."""
        fence = _FENCE.match(self.text, at)
        if not fence or (fence["mark"][0] == "`" and "`" in fence["info"]):
            return end
        mark = fence["mark"]
        if len(mark) >= self.unclosed.get(mark[0], len(mark) + 1):
            return end
        if behind := self._closing_end(mark, end):
            return behind
        self.unclosed[mark[0]] = len(mark)
        return end

    def _closing_end(self, mark: str, at: int) -> int:
        """Behind the next line that is nothing but a mark, or a longer one; none if there is no such line."""
        while (found := self.text.find(mark, at)) >= 0:
            begun, at = self.text.rfind("\n", at, found) + 1 or at, self._line_end(found)
            if not self.text[begun:at].strip().strip(mark[0]):
                return at
        return 0
