"""Transcripts for tests: made up record by record, read, and folded."""

import json
from collections.abc import Iterable
from typing import Any

from muniment.model import Event, Facts, Round, Text, Tool
from muniment.sources.base import Former
from muniment.sources.claude import SOURCE
from muniment.sources.lines import records

SESSION = "22222222-2222-4222-8222-222222222222"
OTHER = "33333333-3333-4333-8333-333333333333"
FACTS = Facts(SESSION, "claude-code")


class Transcript:
    """A file being written: each record follows the last one unless it is told another parent."""

    def __init__(self, session: str = SESSION) -> None:
        self.session = session
        self.lines: list[bytes] = []
        self.last: str | None = None

    @property
    def data(self) -> bytes:
        return b"".join(line + b"\n" for line in self.lines)

    def raw(self, line: bytes) -> int:
        """Any bytes as a line; tells where they begin."""
        at = len(self.data)
        self.lines.append(line)
        return at

    def meta(self, type_: str, **fields: Any) -> int:
        """A record outside of the chain."""
        return self.raw(json.dumps({"type": type_, **fields}, separators=(",", ":")).encode())

    def chain(self, type_: str, **fields: Any) -> str:
        """A record of the chain; gives its id."""
        number = len(self.lines) + 1
        uuid = fields.pop("uuid", f"r{number}")
        about = {"uuid": uuid, "timestamp": f"2026-01-02T03:04:{number:02d}.000Z", "cwd": "/w", "version": "2.1.200"}
        record = {"parentUuid": self.last, "isSidechain": False, "type": type_, "sessionId": self.session}
        self.raw(json.dumps(record | about | fields, separators=(",", ":"), ensure_ascii=False).encode())
        self.last = uuid
        return uuid

    def user(self, content: Any, **fields: Any) -> str:
        return self.chain("user", message={"role": "user", "content": content}, **fields)

    def answer(self, id_: str, *parts: dict[str, Any], output: int | None = None, **fields: Any) -> str:
        """One record of an API answer, reporting 10 tokens of input where it reports any."""
        usage = {} if output is None else {"usage": {"input_tokens": 10, "output_tokens": output}}
        said = {"model": "claude-x", "id": id_, "role": "assistant", "content": list(parts), **usage}
        return self.chain("assistant", message=said, **fields)

    def result(self, call: str, content: Any = "done", **fields: Any) -> str:
        return self.user([{"type": "tool_result", "tool_use_id": call, "content": content}], **fields)

    def attach(self, type_: str, **fields: Any) -> str:
        return self.chain("attachment", attachment={"type": type_, **fields})

    def rounds(self) -> list[Round]:
        return read(self.data)


def say(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def call(id_: str, name: str = "Bash", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": fields}


def read(data: bytes, facts: Facts = FACTS, offset: int = 0, closed: Iterable[Round] = ()) -> list[Round]:
    """The rounds from a place in a file on; those before it are closed."""
    known = list(closed)
    first = len(known)
    former = Former(lambda number: known[number - 1], lambda: fold(known[first:], facts))
    for round_ in SOURCE.read_on(records([data[offset:]], offset), facts, former):
        known.append(round_)
    return known[first:]


def fold(rounds: Iterable[Round], facts: Facts = FACTS) -> Facts:
    for round_ in rounds:
        facts = facts.after(round_)
    return facts


def tools(round_: Round) -> list[Tool]:
    return [block for block in round_.blocks() if isinstance(block, Tool)]


def events(round_: Round) -> list[Event]:
    return [block for block in round_.blocks() if isinstance(block, Event)]


def output_of(tool: Tool) -> list[str]:
    return [part.text for part in tool.output or () if isinstance(part, Text)]


def links(rounds: Iterable[Round]) -> list[tuple[str, str, str | None]]:
    return [(link.kind, link.session, link.record) for link in fold(rounds).links]
