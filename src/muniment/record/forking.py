"""Forking a session that nobody is recording now: its file is read, and never opened for writing."""

from __future__ import annotations

from pathlib import Path

from muniment.record.chain import effective
from muniment.record.permissions import restrictions_in
from muniment.record.recorder import FORKED_MESSAGES, Recorder
from muniment.record.starting import Parent, carried, home_of, root_of
from muniment.record.transcript import ancestry, dialect_named, dialect_of, find, load


def fork(
    session: str = "last",
    root: str | Path | None = None,
    dialect: str = "native",
    last: int = FORKED_MESSAGES,
    summary: str = "",
    home: str | Path | None = None,
) -> Recorder:
    """A new session with the last messages of another, named by path, id prefix or `last`."""
    asked = dialect_named(dialect)
    base = root_of(root, Path.cwd(), asked)
    path = find(base, session, asked)
    spoken = dialect_of(path)
    line = ancestry(base, load(path, spoken))
    events = [event for transcript in line for event in transcript.events]
    cwd = Path(line[-1].cwd or Path.cwd())
    parent = Parent(line[-1].session_id, path, cwd, effective(events), restrictions_in(events), carried(line[-1]))
    return Recorder.branch(parent, base, home_of(home), spoken, last, summary)
