"""What is at risk: sessions an agent will delete soon, sessions never inscribed or already gone, damage, secrets."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from muniment import batch, files, reindex, rescue, scanning, sources, verifying
from muniment.errors import MunimentError
from muniment.inscribe import Task, key_path
from muniment.sources import finding
from muniment.sources.base import Found
from muniment.store import evidence, index, versions
from muniment.store.damage_table import Damage
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.store.session_table import Listed

DAY = 86_400
SOON_DAYS = 7
SEARCHED_BYTES = 64 << 20
"""Of the latest transcripts, searched for secrets: about a second."""
VERIFIED_BYTES = 512 << 20
"""Of the latest originals, verified: about a second."""


class AtRisk(Struct, frozen=True):
    """A session that its agent will delete."""

    session_id: str
    source: str
    path: str
    days_left: float
    inscribed: bool


class SecretsAtRest(Struct, frozen=True):
    """What is known of secrets in the archive; `muniment secrets` searches all of it."""

    sessions: tuple[str, ...]
    """The ones that hold any."""
    secrets: int
    """How many: those of each session, in which equal ones count once."""
    looked_at: int
    """Sessions that were searched whole, of `of`."""
    of: int

    @property
    def none(self) -> bool:
        """Whether there are none for certain: every session was searched."""
        return not self.secrets and self.looked_at == self.of


class VerifiedOriginals(Struct, frozen=True):
    """How many sessions have originals that were verified lately, of `of`."""

    sessions: int
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
    gone: tuple[str, ...]
    """Sessions whose transcript was gone before they were inscribed; the archive has subagents or side files."""
    damaged: tuple[tuple[str, int], ...]
    """Sessions with damaged records: id and count."""
    secrets: SecretsAtRest | None = None
    """None if nobody looked for them."""
    unreadable: tuple[str, ...] = ()
    """Places of agents that cannot be read; nobody knows what of them is not in the archive."""
    reasons: dict[str, str] = {}
    """Why, by the place."""
    misread: tuple[str, ...] = ()
    """Sessions that were read, or have a version that was read, from a side file that is no transcript."""
    unlisted: tuple[str, ...] = ()
    """Sessions that are in the archive and not in its index, so that nothing finds them."""
    damage: tuple[Damage, ...] = ()
    """Files of the archive that are known not to be what they were."""
    verified: VerifiedOriginals | None = None
    """None if nobody looked."""

    @property
    def nothing_at_risk(self) -> bool:
        """Whether nothing could be lost or leak: all originals were verified, and all sessions searched for secrets."""
        verified = self.verified is not None and self.verified.sessions == self.verified.of
        return self.healthy and verified and self.secrets is not None and self.secrets.none

    @property
    def healthy(self) -> bool:
        unsafe = any(not risk.inscribed for risk in self.at_risk)
        return not (self.not_inscribed or self.lost or self.unreadable or self.unlisted or self.damage or unsafe)


def diagnose(
    layout: Layout,
    found: Iterable[Found],
    env: Mapping[str, str],
    unreadable: Mapping[Path, str] | None = None,
    thorough: bool = False,
) -> Diagnosis:
    """Look at this machine, where some places may be unreadable, and at the archive; changes nothing but marks.

    Damage and secrets in the archive are looked for if that is asked for."""
    from muniment import integrity  # what it compares with takes longer to import than most commands

    present = list(found)
    pending = {key_path(task.found) for task in batch.plan(layout, present).tasks if not _is_kept(layout, task)}
    lost = batch.plan(layout, rescue.lost(layout, present, env))
    known: dict[str, tuple[str, str, str]] = {}
    damaged: list[tuple[str, int]] = []
    halves: set[str] = set()
    gone: set[str] = set()
    misread: list[str] = []
    looked = thorough and index.exists(layout)
    verified = verify_originals(layout) if looked else None
    hurt = [Damage("", one.path, one.offset, one.what, tried=True) for one in integrity.check_records(layout)]
    hurt += _find_damage(layout, {one.path for one in hurt})
    if index.exists(layout):
        with Index(layout) as archive:
            known = archive.seen()
            halves = rescue.rescued(archive)
            gone = {row.session_id for row in archive.sessions() if row.transcript_gone} - halves
            misread = _misread(archive)
            damaged = [(row.session_id, row.problems) for row in archive.sessions("WHERE problems > 0")]
    return Diagnosis(
        found=len(present),
        not_inscribed=tuple(sorted(pending)),
        at_risk=tuple(at_risk(present, pending)),
        vanished=tuple(sorted({s for path, (s, _, _) in known.items() if _is_gone(path, s)} - _hurt_sessions(hurt))),
        lost=tuple(sorted({task.found.session_id for task in lost.tasks if not _is_kept(layout, task)})),
        rescued=tuple(sorted(halves)),
        gone=tuple(sorted(gone)),
        damaged=tuple(damaged),
        secrets=secrets_at_rest(layout) if looked else None,
        unreadable=tuple(sorted(map(str, unreadable or ()))),
        reasons={str(path): why for path, why in (unreadable or {}).items()},
        misread=tuple(misread),
        unlisted=tuple(id_ for _, id_ in reindex.unlisted(layout)),
        damage=tuple(hurt),
        verified=verified,
    )


def _hurt_sessions(found: Iterable[Damage]) -> set[str]:
    """The sessions that cannot be relied on to come back whole."""
    return {one.session_id for one in found}


def _find_damage(layout: Layout, told: set[str]) -> list[Damage]:
    """What the index knows to be damaged, and evidence that is missing or too short.

    While a writer puts a new version in place, the old one seems to be missing. So that counts only while nobody
    writes; where the archive cannot be locked, nobody does."""
    if not index.exists(layout):
        return []
    with Index(layout) as archive:
        found = archive.damage()
    if any(not one.tried for one in found):
        with contextlib.suppress(OSError, MunimentError), index.lock(layout, lambda: None), Index(layout) as archive:
            found = archive.damage()
    return [one for one in found if one.path not in told]


def _misread(archive: Index) -> list[str]:
    """Earlier releases took outputs that hold lines of a transcript for transcripts, where a folder was given."""
    known = {row.session_id: [row.path] for row in archive.sessions() if not row.transcript_gone}
    sql = "SELECT s.session_id, v.path FROM versions v JOIN sessions s ON s.id = v.session"
    for session_id, path in archive.rows(sql):
        known.setdefault(session_id, []).append(path)
    every = sources.all_sources()
    return sorted(
        id_ for id_, paths in known.items() if any(finding.is_side_file(s, Path(p)) for p in paths for s in every)
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
    except Exception:  # whatever is wrong with a session, it is not known to be kept
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


def verify_originals(layout: Layout) -> VerifiedOriginals:
    """Verify the originals that nobody has verified lately, as many as a moment allows. What is damaged is marked."""
    with Index(layout) as known:
        rows, due = list(known.sessions()), verifying.find_due(layout, known)
    done, left, hurt = len(verifying.load(layout, rows)), VERIFIED_BYTES, list[Listed]()
    for row in due:
        if left > 0:
            left -= row.source_bytes
            done += 1
            if not verifying.is_whole(layout, row):
                hurt.append(row)
    if hurt:
        verifying.mark_damage(layout, hurt)
    return VerifiedOriginals(done - len(hurt), len(rows))


def secrets_at_rest(layout: Layout) -> SecretsAtRest:
    """Tell what is known of secrets: what a watch has found, and of the other sessions the latest, scanned now, as many
    as a moment allows."""
    with Index(layout) as known:
        rows = list(known.sessions())
        found = scanning.load(layout, rows)
        left = SEARCHED_BYTES
        for row in rows:
            if row.session_id not in found and left > 0:
                left -= row.source_bytes
                found[row.session_id] = scanning.scan_whole(layout, row, scanning.subagents(known, row))
    holding = tuple(row.session_id for row in rows if (one := found.get(row.session_id)) and one.secrets)
    scanned = sum(one.whole for one in found.values())
    return SecretsAtRest(holding, sum(one.secrets for one in found.values()), scanned, len(rows))


def _is_gone(path: str, session_id: str) -> bool:
    """Whether a transcript was there; the key of a history is no path of one."""
    return not path.endswith(f"#{session_id}") and files.is_gone(path)
