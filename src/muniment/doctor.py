"""What is at risk: sessions an agent will delete soon, sessions never inscribed or already gone, damage, secrets."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from muniment import batch, files, reindex, rescue, sources
from muniment.errors import MunimentError, StoreError
from muniment.inscribe import Task, key_path
from muniment.secrets import new_key
from muniment.secrets.places import in_round
from muniment.sources.base import Found
from muniment.store import evidence, index, rounds, versions
from muniment.store.index import Index
from muniment.store.layout import Layout, Shelf
from muniment.store.session_table import Listed

DAY = 86_400
SOON_DAYS = 7
SEARCHED_BYTES = 64 << 20
"""Of the latest transcripts, searched for secrets: about a second."""


class AtRisk(Struct, frozen=True):
    """A session that its agent will delete."""

    session_id: str
    source: str
    path: str
    days_left: float
    inscribed: bool


class SecretsAtRest(Struct, frozen=True):
    """What a look at the latest sessions found of secrets; `muniment secrets` looks at all of them."""

    sessions: tuple[str, ...]
    """The ones that hold any."""
    secrets: int
    """Different ones."""
    looked_at: int
    """Sessions that were searched, of `of`."""
    of: int


class Diagnosis(Struct, frozen=True):
    """What `doctor` found."""

    found: int
    not_inscribed: tuple[str, ...]
    """Paths of sessions that are not, or not wholly, in the archive."""
    at_risk: tuple[AtRisk, ...]
    vanished: tuple[str, ...]
    """Sessions whose source is gone; the archive has them."""
    lost: tuple[str, ...]
    """Sessions gone from disk that an agent's history knows; what it has of them is not all in the archive."""
    rescued: tuple[str, ...]
    """Sessions of which the archive has what a history had: the prompts, and no answers."""
    damaged: tuple[tuple[str, int], ...]
    """Sessions with damaged records: id and count."""
    secrets: SecretsAtRest | None = None
    """None if nobody looked for them."""
    unreadable: tuple[str, ...] = ()
    """Files and folders of agents that may not be read; nobody knows what of them is not in the archive."""
    unlisted: tuple[str, ...] = ()
    """Sessions that are in the archive and not in its index, so that nothing finds them."""

    @property
    def healthy(self) -> bool:
        unsafe = any(not risk.inscribed for risk in self.at_risk)
        return not (self.not_inscribed or self.lost or self.unreadable or self.unlisted or unsafe)


def diagnose(
    layout: Layout,
    found: Iterable[Found],
    env: Mapping[str, str],
    unreadable: Iterable[Path] = (),
    secrets: bool = False,
) -> Diagnosis:
    """Look at this machine, where some places may be unreadable, and at the archive; changes nothing.

    Secrets in the archive are looked for if that is asked for."""
    present = list(found)
    pending = {key_path(task.found) for task in batch.plan(layout, present).tasks if not _is_kept(layout, task)}
    lost = batch.plan(layout, rescue.lost(layout, present, env))
    known: dict[str, tuple[str, str, str]] = {}
    damaged: list[tuple[str, int]] = []
    halves: set[str] = set()
    if index.exists(layout):
        with Index(layout) as archive:
            known = archive.seen()
            halves = rescue.rescued(archive)
            damaged = [(row.session_id, row.problems) for row in archive.sessions("WHERE problems > 0")]
    return Diagnosis(
        found=len(present),
        not_inscribed=tuple(sorted(pending)),
        at_risk=tuple(at_risk(present, pending)),
        vanished=tuple(sorted({s for path, (s, _, _) in known.items() if _is_gone(path, s)})),
        lost=tuple(sorted({task.found.session_id for task in lost.tasks})),
        rescued=tuple(sorted(halves)),
        damaged=tuple(damaged),
        secrets=secrets_at_rest(layout) if secrets and index.exists(layout) else None,
        unreadable=tuple(sorted(map(str, unreadable))),
        unlisted=tuple(id_ for _, id_ in reindex.unlisted(layout)),
    )


def _is_kept(layout: Layout, task: Task) -> bool:
    """Whether the archive has the very bytes of a session all the same, from another path."""
    folder, source = layout.shelf(task.agent_id, task.found.session_id).evidence, sources.named(task.found.source)
    try:
        manifest = evidence.load(folder)
        kept = {(one.role, one.id, one.name): one for one in manifest.files} if manifest else {}
        pairs = [(kept.get((file.role, file.id, file.name)), file) for file in task.found.files]
        return bool(kept) and all(
            own and own.size >= file.size and versions.holds_bytes_of(folder, own, file, source) for own, file in pairs
        )
    except (MunimentError, OSError):
        return False


def at_risk(found: Iterable[Found], pending: set[str]) -> list[AtRisk]:
    """Sessions that their agent will delete within a week, the most urgent first."""
    now = time.time()
    risks: list[AtRisk] = []
    for session in found:
        days = sources.named(session.source).retention_days
        main = session.main
        if days is None or main is None or not session.home:
            continue
        left = days - (now - main.mtime_ns / 1e9) / DAY
        if left < SOON_DAYS:
            done = key_path(session) not in pending
            risks.append(AtRisk(session.session_id, session.source, main.path, round(left, 1), done))
    return sorted(risks, key=lambda risk: risk.days_left)


def secrets_at_rest(layout: Layout) -> SecretsAtRest:
    """Search the latest sessions for secrets, as many as a moment allows."""
    key, tags, holding, looked_at = new_key(), set[str](), list[str](), 0
    with Index(layout) as known:
        rows = list(known.sessions())
        left = SEARCHED_BYTES
        for row in rows:
            if left <= 0:
                break
            left, looked_at = left - row.source_bytes, looked_at + 1
            found = {tag for shelf in _shelves(layout, known, row) for tag in _tags(shelf, key)}
            tags |= found
            holding += [row.session_id] if found else []
    return SecretsAtRest(tuple(holding), len(tags), looked_at, len(rows))


def _shelves(layout: Layout, known: Index, row: Listed) -> Iterator[Shelf]:
    shelf = layout.shelf(row.agent_id, row.session_id)
    yield shelf
    sql = "SELECT c.id FROM sidechains c JOIN sessions s ON s.id = c.session WHERE s.session_id = ?"
    yield from (shelf.sidechain(id_) for (id_,) in known.rows(sql, row.session_id))


def _tags(shelf: Shelf, key: bytes) -> Iterator[str]:
    """What tells the secrets of a transcript apart; a damaged round ends it, and is told of elsewhere."""
    with suppress(StoreError):
        for round_ in rounds.load_all(shelf):
            yield from (place.tag for place in in_round(round_, key))


def _is_gone(path: str, session_id: str) -> bool:
    """Whether a transcript was there; the key of a history is no path of one."""
    return not path.endswith(f"#{session_id}") and files.is_gone(path)
