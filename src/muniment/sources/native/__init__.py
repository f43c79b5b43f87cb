"""The recorder's own sessions: `<project>/.transcripts/<session>.jsonl`, one event per line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from muniment.model import Facts
from muniment.model import events as types
from muniment.model.codec import mapping
from muniment.model.events import Event
from muniment.model.grants import is_grant
from muniment.sources.base import Claim, FileRole, Found, Move
from muniment.sources.native import claims, find
from muniment.sources.native.dialect import FOLDER, Native, event_of
from muniment.sources.recorded import RecordedSource


class NativeSource(RecordedSource):
    """Sessions that `muniment.record` wrote."""

    name = find.NAME
    title = "muniment recorder"
    family = "recorded"
    resume_command = "muniment resume {id}"
    resumed_by_path = True
    dialect = Native()
    rich = True

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

    def events(self, value: Any) -> list[Event]:
        return [event_of(value)]

    def is_grant(self, line: dict[str, Any]) -> bool:
        """Our recorder refuses them. A file of another writer may have some: they are kept, and never written again."""
        return is_grant(str(line.get("type")))

    def place(self, facts: Facts, move: Move) -> str:
        native = facts.native_id if facts.source == self.name else None
        session = move.session_id or native or facts.session_id
        if facts.sidechain and not facts.sidechain.startswith(find.SEGMENT):
            return f"{find.SIDECHAINS}/{facts.sidechain}.jsonl"
        number = facts.sidechain.removeprefix(find.SEGMENT) if facts.sidechain else ""
        return f"{FOLDER}/{session}.jsonl" + (f".s{number}" if number else "")

    def header(self, facts: Facts, move: Move) -> dict[str, Any]:
        said = super().header(facts, move)
        if facts.sidechain:
            said |= {"session_id": facts.sidechain, "parent": move.session_id or facts.session_id}
        return said

    def moved_header(self, line: dict[str, Any], facts: Facts, move: Move) -> dict[str, Any] | None:
        if line.get("type") != types.HEADER:
            return None
        said = mapping(line.get("payload"))
        names = {"parent" if facts.sidechain else "session_id": move.session_id, "cwd": move.cwd}
        return line | {"payload": said | {name: value for name, value in names.items() if value}}

    def moved_name(self, name: str, facts: Facts, move: Move) -> str:
        path, old = PurePosixPath(name), facts.native_id or facts.session_id
        if not move.session_id or not path.name.startswith(old):
            return name
        return str(path.with_name(move.session_id + path.name[len(old) :]))


SOURCE = NativeSource()
