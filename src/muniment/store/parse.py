"""Documents back to messages: the other half of the grammar in `document`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, cast

from muniment.model import Block, Compaction, Event, Media, Message, Text, Thinking, Tool, Unknown, codec
from muniment.store import closing, escape
from muniment.store.document import SEPARATOR

_HEADER = re.compile(r"^### (\S+) · (user|assistant)$", re.MULTILINE)
_MEDIA = re.compile(escape.MEDIA)
_LINK = re.compile(r"!\[([^\]\n]*)\]\([^)\n]*/media/([0-9a-f]{64}\.\w+)\)$")


def split(body: str) -> list[str]:
    """The messages of a document body, as text."""
    starts = [match.start() for match in _HEADER.finditer(body)]
    messages = [body[start:end].removesuffix(SEPARATOR) for start, end in pairwise(starts)]
    return messages + [body[start:] for start in starts[-1:]]


def parse(body: str) -> Iterator[Message]:
    """The messages of a document body."""
    for text in split(body):
        yield parse_message(text)


def parse_message(text: str) -> Message:
    """One message as its header and blocks say."""
    return _Parser(text.removesuffix("\n").split("\n")).message()


class _Parser:
    """A cursor over the lines of one message."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0

    def message(self) -> Message:
        header = _HEADER.fullmatch(self.lines[0])
        assert header, "split() gives messages that begin with a header"
        self.at = 1
        fields: dict[str, Any] = {"at": None if header[1] == "undated" else header[1]}
        if self._here().startswith("<!-- "):
            fields |= _parse_about(self._take())
        return Message(role=cast("Any", header[2]), blocks=tuple(self._blocks()), **fields)

    def _here(self) -> str:
        return self.lines[self.at] if self.at < len(self.lines) else ""

    def _take(self) -> str:
        line = self._here()
        self.at += 1
        return line

    def _skip_blank(self) -> None:
        if self.at < len(self.lines) and self.lines[self.at] == "":
            self.at += 1

    def _blocks(self) -> Iterator[Block]:
        while self.at < len(self.lines):
            self._skip_blank()
            line = self._here()
            if line == escape.NEXT:
                self.at += 1
            elif line.startswith("<details><summary>"):
                yield self._details()
            elif _MEDIA.fullmatch(line):
                yield _parse_media(self._take())
            elif self.at < len(self.lines):
                yield Text(self._free_text(self._begins_block))
            else:
                return

    def _begins_block(self, line: str) -> bool:
        return line == escape.NEXT or line.startswith("<details><summary>") or bool(_MEDIA.fullmatch(line))

    def _free_text(self, stops: Callable[[str], bool]) -> str:
        """Lines up to a blank one that is followed by structure, or to the end."""
        start = self.at
        while self.at < len(self.lines):
            following = self.lines[self.at + 1] if self.at + 1 < len(self.lines) else None
            if self.lines[self.at] == "" and following is not None and stops(following):
                break
            self.at += 1
        return escape.unescape_text("\n".join(closing.opened(self.lines[start : self.at])))

    def _details(self) -> Block:
        line = self._take().removeprefix("<details><summary>")
        summary, _, closed = line.partition("</summary>")
        if summary.startswith("Tool: ") or summary == "Tool result":
            name = None if summary == "Tool result" else _parse_label(summary.removeprefix("Tool: "))
            return self._tool(name)
        if summary.startswith("Unknown: "):
            return self._unknown_details()
        text = "" if closed else self._folded_text()
        if summary.startswith("Thinking"):
            return Thinking(text, redacted="withheld" in summary)
        if summary == "Compaction":
            return Compaction(text)
        return Event(_parse_label(summary.removeprefix("Event: ")), text)

    def _folded_text(self) -> str:
        self._skip_blank()
        text = self._free_text(lambda line: line == "</details>")
        self._close()
        return text

    def _close(self) -> None:
        self._skip_blank()
        if self._here() == "</details>":
            self.at += 1

    def _unknown_details(self) -> Unknown:
        self._skip_blank()
        made = _as_unknown(self._fenced())
        self._close()
        return made

    def _fenced(self) -> str:
        """The content of the fence that begins here."""
        ticks = _ticks_of(self._take())
        start = self.at
        while self.at < len(self.lines) and self.lines[self.at] != ticks:
            self.at += 1
        text = "\n".join(self.lines[start : self.at])
        self.at += 1
        return escape.unescape_fenced(text)

    def _tool(self, name: str | None) -> Tool:
        about = _parse_tool_about(self._take())
        value: Any = None
        output: list[Any] | None = None
        is_error: bool | None = None
        while self.at < len(self.lines) and self._here() != "</details>":
            line = self._here()
            if output is None and line in ("Output:", "Output (error):"):
                output, is_error = [], line != "Output:" or None
                self.at += 1
            elif line.startswith("```"):
                info = line.lstrip("`")
                text = self._fenced()
                if output is None:
                    value = json.loads(text)
                else:
                    output.append(_as_unknown(text) if info == "json" else Text(text))
            elif output is not None and _MEDIA.fullmatch(line):
                output.append(_parse_media(self._take()))
            elif output is None and line.startswith("- "):
                value = codec.mapping(value)
                self._field(value)
            else:
                self.at += 1
        self._close()
        made = None if output is None else tuple(output)
        return Tool(name=name, input=value, output=made, is_error=is_error, **about)

    def _field(self, into: dict[str, Any]) -> None:
        key, _, rest = self._take()[2:].partition(":")
        if rest:
            into[key] = json.loads(rest)
        else:
            self._skip_blank()
            into[key] = self._fenced()


def _ticks_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip("`"))]


def _parse_label(text: str) -> str:
    return json.loads(text) if text.startswith('"') else text


def _parse_media(line: str) -> Media:
    match = _LINK.fullmatch(line)
    assert match, "only called on media lines"
    return Media(name=match[2], media_type=match[1])


def _as_unknown(text: str) -> Unknown:
    said = codec.mapping(codec.loads(text.encode("utf-8", "surrogatepass")))
    return Unknown(kind=said["kind"], value=said["value"], damage=said["damage"])


def _parse_about(line: str) -> dict[str, Any]:
    inner = line.removeprefix("<!-- ").removesuffix(" -->")
    if inner.startswith("{"):
        return cast("dict[str, Any]", json.loads(inner))
    said: dict[str, Any] = {}
    for word in inner.split(" · "):
        name, _, value = word.partition(" ")
        if word == "queued":
            said["queued"] = True
        elif value:
            said[name] = value
        else:
            said["model" if "id" in said else "id"] = word
    return said


def _parse_tool_about(line: str) -> dict[str, Any]:
    inner = line.removeprefix("<!-- ").removesuffix(" -->")
    if inner.startswith("{"):
        return cast("dict[str, Any]", json.loads(inner))
    id_, _, side = inner.partition(" · sidechain ")
    return {"id": id_} | ({"sidechain": side} if side else {})
