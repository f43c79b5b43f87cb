"""An archive in which every word is an attack: the payloads of `tests.render.hostile` wherever a session can hold text.

Two kinds of sessions. One for every payload, which is its title, folder, branch, model, agent, tags, summary and
engagement. And some with many rounds, whose files are replaced by rounds that have a payload in every field.
"""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import structs

from muniment.archive import Archive
from muniment.model import Message, Round, Tool
from muniment.model.engagements import Ingested, KeptEngagement
from muniment.store import engagements as engagements_file
from muniment.store import rounds as stored
from muniment.store.index import Index
from tests.builder import ClaudeSession, text
from tests.render.hostile import PAYLOADS
from tests.render.hostile import rounds as hostile_rounds

START = datetime(2026, 3, 1, tzinfo=UTC)
STEP = timedelta(minutes=10)
"""From one session to the next; each takes eight minutes."""
ROUNDS = 20
"""Of each session that is about its rounds."""
NAMES = ("Bash", "shell", "Edit", "MultiEdit", "Write", "Read", "Grep", "TodoWrite", "Task", "WebFetch", "apply_patch")
"""Tools that a person knows, in the order of the inputs of `tests.render.hostile`."""


def name(number: int) -> str:
    """The id of the session that one payload has for itself."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"hostile {number}"))


def word(number: int) -> str:
    """What a search finds about half of the payloads by."""
    return f"needle{number % 2}"


def whole_rounds() -> list[str]:
    """The ids of the sessions that are about their rounds."""
    return [name(-1 - number) for number in range(-(-len(PAYLOADS) // ROUNDS))]


def of_rounds(number: int) -> tuple[str, ...]:
    """The payloads of one of those sessions, round by round."""
    return PAYLOADS[number * ROUNDS : (number + 1) * ROUNDS]


def fill(store: Path, home: Path) -> Archive:
    archive = Archive(store, {"HOME": str(home.parent)})
    for number, payload in enumerate(PAYLOADS):
        _session(number, payload).write(home, f"-p{number}")
    for id_ in whole_rounds():
        _empty(id_).write(home, "-rounds")
        _subagent(id_, home / "projects" / "-rounds" / id_)
    archive.inscribe()
    _understand(archive)
    for number, id_ in enumerate(whole_rounds()):
        _replace(archive, id_, of_rounds(number))
    return archive


# -- a session for each payload


def _session(number: int, p: str) -> ClaudeSession:
    fixed = {"gitBranch": p, "slug": p, "version": p}
    session = ClaudeSession(name(number), p, **fixed)
    session.add({"type": "custom-title", "customTitle": p, "sessionId": session.id})
    session.user(f"{word(number)} {p}")
    message = {"model": p, "id": p, "type": "message", "role": "assistant", "content": [text(f"{word(number)} {p}")]}
    session.chain("assistant", message=message | {"usage": {"input_tokens": 3, "output_tokens": 5}})
    return session


def _understand(archive: Archive) -> None:
    records = [_record(number, payload) for number, payload in enumerate(PAYLOADS)]
    with Index(archive.layout, write=True) as index:
        index.begin()
        engagements_file.put(archive.layout, records)
        for record in records:
            index.put_ingested(record)
            index.put_summary(record.session_id, record.session_summary)
            index.put_tags(record.session_id, [record.title])
            index.tag(record.session_id, {1: record.engagements[0].engagement_id})
        index.commit()


def _record(number: int, p: str) -> Ingested:
    about: dict[str, Any] = {"agent_id": "claude", "source": "claude-code", "state": "x", "title": p}
    about |= {"agent_name": p, "agent_role": p, "slug": p, "session_summary": p, "models": (p,)}
    start = START + number * STEP
    fields: dict[str, Any] = {"topic": p, "project": p, "method": p, "phase": p, "extractor": p, "engagement_id": p}
    fields |= {"outcome": f"{word(number)} {p}", "key_decisions": (p, p), "next_steps": (p, p)}
    fields |= {"started": start.isoformat(), "ended": (start + STEP * 0.8).isoformat()}
    engagement = KeptEngagement(**fields, turn_ranges=((1, 1),), turn_range=(1, 1))
    return Ingested(session_id=name(number), engagements=(engagement,), **about)


# -- sessions that are about their rounds


def _empty(id_: str) -> ClaudeSession:
    session = ClaudeSession(id_, "/proj/rounds")
    for number in range(ROUNDS):
        session.exchange(f"prompt {number}", "reply")
    return session


def _subagent(id_: str, folder: Path) -> None:
    session = ClaudeSession(id_, "/proj/rounds", isSidechain=True, agentId="a1")
    for payload in PAYLOADS[:: len(PAYLOADS) // 20]:
        session.user(payload)
        session.answer(text(payload))
    (folder / "subagents").mkdir(parents=True)
    (folder / "subagents" / "agent-a1.jsonl").write_bytes(session.data)
    meta = {"agentType": PAYLOADS[0], "description": PAYLOADS[1]}
    (folder / "subagents" / "agent-a1.meta.json").write_text(json.dumps(meta))


def _replace(archive: Archive, id_: str, payloads: tuple[str, ...]) -> None:
    shelf = archive.shelf(archive.session(id_))
    for round_ in hostile_rounds(payloads):
        path = shelf.round_file(round_.number)
        path.chmod(0o600)
        path.write_bytes(stored.encode(_with_known_tools(round_) if round_.number % 5 == 1 else round_))


def _with_known_tools(round_: Round) -> Round:
    """The same with the tools that people know beside those that nobody knows."""
    return structs.replace(round_, messages=tuple(map(_named, round_.messages)))


def _named(message: Message) -> Message:
    tools = [block for block in message.blocks if isinstance(block, Tool)]
    named = [structs.replace(tool, name=known, sidechain=None) for tool, known in zip(tools, NAMES, strict=False)]
    return structs.replace(message, blocks=(*message.blocks, *named))
