"""Writing and listing the table `sessions`, and what hangs on it: one row for each session as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from muniment.model import Facts, codec
from muniment.store.layout import short_id
from muniment.store.rows import bound, count, fit


class SessionRow(Struct, frozen=True):
    """What the archive knows of one session."""

    session_id: str
    agent_id: str
    facts: Facts
    summary: str
    sidechains: dict[str, Facts]
    source_bytes: int
    path: str


class Listed(Struct, frozen=True):
    """One session in a listing."""

    session_id: str
    agent_id: str
    source: str
    title: str
    summary: str
    model: str | None
    cwd: str | None
    branch: str | None
    started: str | None
    ended: str | None
    rounds: int
    prompts: int
    messages: int
    tool_calls: int
    tokens: int
    problems: int
    sidechains: int
    source_bytes: int
    path: str
    versions: int
    copies: int
    """How many other sessions begin with the same record: forks and resume copies."""
    transcript_gone: bool = False
    """Whether the transcript was never seen: the prompts, subagents or side files are all that is left."""


_LISTED = """SELECT session_id, agent_id, source, title, summary, model, cwd, branch, started, ended, rounds, prompts,
  messages, tool_calls, tokens, problems, sidechains, source_bytes, path,
  (SELECT count(*) FROM versions v WHERE v.session = s.id),
  CASE WHEN origin IS NULL THEN 0
       ELSE (SELECT count(*) - 1 FROM sessions o WHERE o.origin = s.origin) END,
  coalesce(json_extract(facts, '$.prompts_only'), json_extract(facts, '$.transcript_gone'), 0)
FROM sessions s"""


def listed(db: Any, where: str = "", *values: Any) -> Iterator[Listed]:
    """Sessions, the latest first."""
    sql = f"{_LISTED} {where} ORDER BY ended IS NULL, ended DESC, session_id"
    for row in db.execute(sql, bound(values)):
        *plain, gone = row
        yield Listed(*plain, transcript_gone=bool(gone))


_BESIDE = """SELECT value, (SELECT max(session_id) FROM sessions WHERE session_id < value),
  (SELECT min(session_id) FROM sessions WHERE session_id > value) FROM json_each(?)"""


def short_ids(db: Any, ids: Iterable[str]) -> dict[str, str]:
    """The beginning of each id that names its session and no other.

    Only the ids right before and behind it in order can share more of it than any other, so two looks into the index
    tell how much is needed."""
    asked = codec.encode(list(ids)).decode()
    return {id_: short_id(id_, (before or "", behind or "")) for id_, before, behind in db.execute(_BESIDE, (asked,))}


_SPENT = "SELECT total(input + output + cache_read + cache_write) FROM usage WHERE session = ?"
"""Summed as a float: integers beyond 2^63 would be an error, and hostile files hold such counts."""


def replace(db: Any, key: int, row: SessionRow) -> None:
    """Replace what is known of a session as a whole. Its tokens are those of its rows: each answer counts once."""
    f = row.facts
    ((spent,),) = db.execute(_SPENT, (key,))
    db.execute(
        """UPDATE sessions SET agent_id=?, source=?, title=?, summary=?, model=?, cwd=?, branch=?, started=?,
        ended=?, rounds=?, prompts=?, messages=?, tool_calls=?, tokens=?, problems=?, sidechains=?, source_bytes=?,
        origin=?, path=?, facts=? WHERE id=?""",
        (
            fit(row.agent_id),
            fit(f.source),
            fit(f.display_title),
            fit(row.summary),
            fit(f.model),
            fit(f.first_cwd or f.cwd),
            fit(f.branch),
            fit(f.started),
            fit(f.ended),
            f.rounds,
            f.prompts,
            f.messages,
            f.tool_calls,
            count(int(spent)),
            f.problems + sum(side.problems for side in row.sidechains.values()),
            len(row.sidechains),
            row.source_bytes,
            fit(f.origin),
            fit(row.path),
            codec.encode(f).decode(),
            key,
        ),
    )
    if row.sidechains:
        sides = [(key, fit(id_), codec.encode(facts).decode()) for id_, facts in row.sidechains.items()]
        db.executemany("INSERT OR REPLACE INTO sidechains VALUES (?,?,?)", sides)
