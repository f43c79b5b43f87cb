"""`agent`, a terminal agent whose format is public: `~/.config/agent/sessions/20260226-143012-a3f7c901.jsonl`.

Line 1 is the header, every other line an entry: `message`, `compaction` or `branch`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from muniment.model import Facts, Usage
from muniment.model import events as types
from muniment.model.codec import mapping
from muniment.model.events import Event
from muniment.sources.agent import claims, find, told
from muniment.sources.agent.dialect import Agent, file_name
from muniment.sources.agent.entries import messages, parse_entry, parse_line
from muniment.sources.base import Claim, FileRole, Found, Move, made_id
from muniment.sources.builder import count
from muniment.sources.losses import Losses
from muniment.sources.native import SOURCE as NATIVE
from muniment.sources.recorded import RecordedSource
from muniment.sources.recorded.retell import NO_TIME

__all__ = ["SOURCE", "messages", "parse_entry", "parse_line"]


class AgentSource(RecordedSource):
    """Sessions of version 1 of the format."""

    name = find.NAME
    title = "agent"
    family = "agent"
    resume_command = "agent -session {id}"
    dialect = Agent()
    subagents = NATIVE
    line_is_message = True
    id_length = 8

    def homes(self, env: Mapping[str, str]) -> list[Path]:
        return find.homes(env)

    def candidates(self, home: Path) -> Iterator[Path]:
        return find.candidates(home)

    def matches(self, path: Path, head: bytes) -> bool:
        return find.matches(path, head)

    def gather(self, paths: Iterable[Path], root: Path, homes: Sequence[Path]) -> Iterator[Found]:
        return find.gather(paths, root, homes)

    def owns(self, name: str, role: FileRole, native_id: str | None = None) -> bool:
        return find.PLACES.own(name, role, native_id)

    def claims(self, line: bytes) -> Iterator[Claim]:
        return claims.claims(line)

    def place(self, facts: Facts, move: Move) -> str:
        """A subagent of another agent's session gets a file of its own beside the one of its parent."""
        native = facts.native_id if facts.source == self.name else None
        session_id = move.session_id or native or facts.session_id
        if facts.sidechain:
            session_id = made_id(f"{session_id} {facts.sidechain}").hex
        return f"{find.FOLDER}/{file_name(facts.started or NO_TIME, session_id)}"

    def events(self, value: Any) -> list[Event]:
        return told.events(mapping(value))

    def usage(self, payload: dict[str, Any]) -> Usage | None:
        """Cached tokens are part of the input, unless the total says that they stand beside it."""
        said = mapping(payload.get("usage"))
        if not said:
            return None
        given, read, written = (count(said, name) for name in ("input", "cache_read", "cache_write"))
        output, total = count(said, "output"), count(said, "total_tokens")
        inside = read + written <= given and total != given + read + written + output
        return Usage(given - read - written if inside else given, output, read, written)

    def told(self, events: list[Event], losses: Losses) -> list[bytes]:
        """An answer says why it ended, and counts tokens in its own way."""
        if events[0].type in (types.ASSISTANT, types.THINKING, types.TOOL_CALL):
            called = any(event.type == types.TOOL_CALL for event in events)
            said = events[0].payload | {"stop_reason": "tool_use" if called else "stop"}
            if "usage" in said:
                said["usage"] = _counted(said["usage"])
            events = [structs.replace(events[0], payload=said), *events[1:]]
        return super().told(events, losses)

    def moved_header(self, line: dict[str, Any], facts: Facts, move: Move) -> dict[str, Any] | None:
        if line.get("type") != "session":
            return None
        changed = {"id": move.session_id, "cwd": move.cwd}
        return line | {name: value for name, value in changed.items() if value}

    def moved_name(self, name: str, facts: Facts, move: Move) -> str:
        old = (facts.native_id or facts.session_id)[:8]
        return name.replace(old, move.session_id[:8]) if move.session_id else name


def _counted(usage: dict[str, int]) -> dict[str, int]:
    whole = usage["input"] + usage["cache_read"] + usage["cache_write"]
    return usage | {"input": whole, "total_tokens": whole + usage["output"]}


SOURCE = AgentSource()
