"""Sessions of an image editor's agent, as its decision record ADR-029 says, and as its program chemigram writes them.

<workspace>/<image_id>/sessions/2026-04-27T14-30-00_session_001.jsonl
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import structs

from muniment.model import Facts
from muniment.model import events as types
from muniment.model.codec import mapping
from muniment.model.events import Event
from muniment.sources.adr029 import claims, find, told
from muniment.sources.adr029.dialect import Adr029, file_name, image_folder
from muniment.sources.base import Claim, FileRole, Found, Move, made_id
from muniment.sources.losses import NO_PLACE, Losses
from muniment.sources.native import SOURCE as NATIVE
from muniment.sources.recorded import RecordedSource
from muniment.sources.recorded.retell import NO_TIME


class Adr029Source(RecordedSource):
    """Both forms of the format."""

    name = find.NAME
    title = "chemigram (ADR-029)"
    family = "chemigram"
    resume_command = "muniment resume {id} --format adr029"
    resumed_by_path = True
    dialect = Adr029()
    subagents = NATIVE

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
        return [told.event(mapping(value))]

    def shown(self, event: Event) -> str:
        return told.words(event)

    def place(self, facts: Facts, move: Move) -> str:
        """Named by its time; a session that has an id of the program's own, or a new one, or a parent, by that."""
        named = move.session_id or (facts.native_id if facts.source == self.name else None)
        if facts.sidechain:
            named = made_id(f"{named or facts.session_id} {facts.sidechain}").hex
        name = f"{named}.jsonl" if named else file_name(facts.started or NO_TIME, 1)
        return f"{_image_of(facts)}/{find.FOLDER}/{name}"

    def header(self, facts: Facts, move: Move) -> dict[str, Any]:
        return super().header(facts, move) | {"image_id": _image_of(facts)}

    def told(self, events: list[Event], losses: Losses) -> list[bytes]:
        """The agent's words as reasoning that is marked as spoken, for want of an event; pictures have no place."""
        made: list[Event] = []
        for event in events:
            said = event.payload
            if event.type in (types.USER, types.ASSISTANT) and "content" in said:
                said = _words_of(said, losses)
            if event.type == types.ASSISTANT:
                losses.add("answer as such", "its words are kept as agent_thinking, marked as spoken")
                event, said = structs.replace(event, type=types.THINKING), said | {told.SPOKEN: True}
            if event.type == types.HEADER and said.get("cwd"):
                losses.add("working folder", NO_PLACE)
            made.append(structs.replace(event, payload=said))
        return super().told(made, losses)

    def moved_header(self, line: dict[str, Any], facts: Facts, move: Move) -> dict[str, Any] | None:
        if line.get("type") != "session_start" and line.get("kind") != "header":
            return None
        changed = {"session_id": move.session_id, "cwd": move.cwd}
        return line | {name: value for name, value in changed.items() if value}

    def moved_name(self, name: str, facts: Facts, move: Move) -> str:
        """Files are told apart by the id of their session, where the identity is new."""
        path = PurePosixPath(name)
        return str(path.with_name(f"{move.session_id}.jsonl")) if move.session_id else name


def _image_of(facts: Facts) -> str:
    """The image that a session belongs to; one of another agent gets the name of its folder, or of itself."""
    for link in facts.links:
        if link.kind == "image":
            try:
                return image_folder(link.session)
            except ValueError:
                break
    name = PurePosixPath(facts.first_cwd or facts.cwd or "").name
    return name if name and not name.startswith(".") else facts.session_id


def _words_of(payload: dict[str, Any], losses: Losses) -> dict[str, Any]:
    parts: list[dict[str, Any]] = payload["content"]
    texts = [part["text"] for part in parts if part["type"] == "text"]
    for _ in range(len(parts) - len(texts)):
        losses.add("image", NO_PLACE)
    rest = {name: value for name, value in payload.items() if name != "content"}
    return {"text": "\n\n".join(texts)} | rest


SOURCE = Adr029Source()
