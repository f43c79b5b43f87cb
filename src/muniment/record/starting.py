"""How a session begins: its header, where its files lie, and what it says of the one it came from."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from muniment import config
from muniment.model.codec import mapping
from muniment.model.events import ANSWERS, HEADER, Event
from muniment.record.clock import now
from muniment.record.permissions import Rule, refuse_grants
from muniment.record.transcript import Transcript, safe_id
from muniment.sources.dialect import Dialect


def new_header(
    session_id: str,
    cwd: Path,
    agent: str | None = None,
    model: str | None = None,
    resumed_from: str | None = None,
    about: Mapping[str, Any] | None = None,
) -> Event:
    """The first event of a session. Raises ValueError where `about` tells of grants."""
    refuse_grants(HEADER, about)
    started = now()
    said: dict[str, Any] = {
        "session_id": safe_id(session_id),
        "start_ts": started,
        "resumed_from": resumed_from,
        "cwd": str(cwd),
        "agent": agent,
        "model": model,
    }
    return Event(HEADER, started, uuid.uuid4().hex, None, said | dict(about or {}))


def who_runs(said: Mapping[str, Any]) -> dict[str, Any]:
    """Of what a header or an answer says: who runs, not what happens."""
    return {name: said[name] for name in ("agent", "model", "provider") if said.get(name)}


def carried(former: Transcript) -> dict[str, Any]:
    """Who runs when a session goes on: what its header says; where that has no place for it, the last answers."""
    told: dict[str, Any] = {}
    for event in former.events:
        if event.type in ANSWERS:
            told |= who_runs(mapping(event.payload))
    return told | (who_runs(mapping(former.header.payload)) if former.header else {})


class Parent(Struct, frozen=True):
    """A session that another is forked from."""

    session_id: str
    path: Path
    cwd: Path
    chain: Sequence[Event]
    restrictions: Sequence[Rule]
    who: Mapping[str, Any]
    """Runs it: agent, model, provider."""


def branch_of(parent: Parent, copies: Sequence[Event], summary: str) -> dict[str, Any]:
    """What a fork says of its parent."""
    last = copies[-1].uuid if copies else None
    return {"parent_session": parent.session_id, "parent_path": str(parent.path), "fork_uuid": last, "summary": summary}


def root_of(given: str | Path | None, cwd: Path, dialect: Dialect) -> Path:
    """Where the transcripts lie: where the dialect has them, unless told otherwise."""
    return Path(given).absolute() if given is not None else dialect.root(cwd, os.environ)


def home_of(given: str | Path | None) -> Path:
    """The recorder's own folder."""
    return Path(given).absolute() if given is not None else config.recorder_home(os.environ)
