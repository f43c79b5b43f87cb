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
from muniment.model.events import HEADER, Event
from muniment.record.clock import now
from muniment.record.permissions import Rule
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
    """The first event of a session."""
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


def carried(former: Transcript) -> dict[str, Any]:
    """Of the header of the session before: who runs, not what happened."""
    said = mapping(former.header.payload) if former.header else {}
    return {name: said[name] for name in ("agent", "model") if said.get(name)}


class Parent(Struct, frozen=True):
    """A session that another is forked from."""

    session_id: str
    path: Path
    cwd: Path
    chain: Sequence[Event]
    restrictions: Sequence[Rule]


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
