"""What is at risk: sessions an agent will delete soon, sessions never inscribed or already gone, damage."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from muniment import batch, rescue, sources
from muniment.inscribe import key_path
from muniment.sources.base import Found
from muniment.store import index
from muniment.store.index import Index
from muniment.store.layout import Layout

DAY = 86_400
SOON_DAYS = 7


class AtRisk(Struct, frozen=True):
    """A session that its agent will delete."""

    session_id: str
    source: str
    path: str
    days_left: float
    inscribed: bool


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

    @property
    def healthy(self) -> bool:
        return not (self.not_inscribed or self.lost or any(not risk.inscribed for risk in self.at_risk))


def diagnose(layout: Layout, found: Iterable[Found], env: Mapping[str, str]) -> Diagnosis:
    """Look at this machine and at the archive; changes nothing."""
    present = list(found)
    pending = {key_path(task.found) for task in batch.plan(layout, present).tasks}
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
    )


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


def _is_gone(path: str, session_id: str) -> bool:
    """Whether a transcript was there; the key of a history is no path of one."""
    return not path.endswith(f"#{session_id}") and not Path(path).exists()
