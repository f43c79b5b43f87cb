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
_LABEL = "_**"
_MARKS = ("`", "~")
_FENCE = re.compile(r"[ ]{0,3}(?P<mark>`{3,}|~{3,})(?P<info>.*)")
_ENDS = {"think": "</think>", "tool": "</tool-use>"}
_BEGINS = {"think": "<think>", "tool": "<tool-use"}


def lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """A history as JSON lines."""
    return at_once(pieces, _lines)


def _lines(content: bytes) -> Iterator[bytes]:
    for kind, raw in sections(content.decode("utf-8", "surrogateescape")):
        yield codec.encode({"kind": kind, "raw": raw}) + b"\n"


def sections(text: str) -> Iterator[tuple[str, str]]:
    """The pieces with their kinds: head, user, agent, think, tool, or text that follows one of these."""
    return _Sections(_split(text)).all()


def _split(text: str) -> list[str]:
    """At newlines only: other characters that end a line may stand inside one."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


class _Sections:
    """A history being taken apart."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.unclosed: dict[str, int] = {}
        """By mark, the shortest fence that is known to have no end: longer ones have none either."""

    def all(self) -> Iterator[tuple[str, str]]:
        kind, begun, at = "head", 0, 0
        while at < len(self.lines):
            found, end = self._at(at, kind)
            if found and at > begun:
                yield kind, "".join(self.lines[begun:at])
            if found:
                kind, begun = found, at
            at = end
        if begun < len(self.lines):
            yield kind, "".join(self.lines[begun:])

    def _at(self, at: int, now: str) -> tuple[str, int]:
        """What begins at a line, if anything does, and where to look on."""
        line = self.lines[at]
        if line.startswith(_LABEL) and (turn := TURN.fullmatch(line)):
            return ("user" if turn["label"].strip().lower().startswith("user") else "agent"), at + 1
        if now != "head" and now != "user":
            for kind, mark in _BEGINS.items():
                if line.startswith(mark) and (end := self._end(at, kind)):
                    return kind, end
        if now in _BEGINS and line.strip() and line.strip() != "---":
            return "text", self._fence_end(at)
        return "", self._fence_end(at)

    def _end(self, at: int, kind: str) -> int:
        """Behind the line that closes a block; none if another block begins before it does."""
        begins, ends = _BEGINS[kind], _ENDS[kind]
        for number in range(at, len(self.lines)):
            line = self.lines[number]
            if number > at and line.startswith(begins):
                return 0
            if ends in line:
                return number + 1
        return 0

    def _fence_end(self, at: int) -> int:
        """Behind a fence that begins here and is closed; else the next line."""
        line = self.lines[at]
        fence = _FENCE.match(line) if line.lstrip(" ").startswith(_MARKS) else None
        if not fence or (fence["mark"][0] == "`" and "`" in fence["info"]):
            return at + 1
        char, length = fence["mark"][0], len(fence["mark"])
        if length >= self.unclosed.get(char, length + 1):
            return at + 1
        for number in range(at + 1, len(self.lines)):
            bare = self.lines[number].strip()
            if len(bare) >= length and not bare.strip(char):
                return number + 1
        self.unclosed[char] = length
        return at + 1
