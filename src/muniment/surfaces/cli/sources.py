"""`muniment sources`"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import click
from msgspec import Struct

from muniment import files, sources
from muniment.archive import Archive
from muniment.doctor import SOON_DAYS, at_risk
from muniment.inscribe import key_path
from muniment.sources import finding
from muniment.surfaces.cli.output import as_json, many, out, size, table, talk

ANYWHERE = "wherever you point: muniment inscribe PATH"


class SourceRow(Struct, frozen=True):
    """One agent on this machine."""

    name: str
    title: str
    homes: tuple[str, ...]
    """Where it keeps its sessions; none if they are found only where somebody points."""
    found: int
    """Sessions that lie there now."""
    bytes: int
    inscribed: int
    """Sessions of it in the archive, whether or not their files are still there."""
    pending: int
    """Sessions found that are new or have grown since."""
    only_kept: int
    """Sessions in the archive that do not lie in the agent's own place: deleted since, or found elsewhere."""
    at_risk: int
    """Pending ones that the agent will delete within a week."""
    writable: bool


@click.command()
@click.option("--json", is_flag=True, help="One JSON array.")
@click.pass_obj
def command(store: str | None, json: bool) -> None:
    """Which agents are known, what of theirs is on this machine, and how much of it is in the archive.

    PENDING are sessions that are new or have grown since they were inscribed; AT RISK those of them that their agent
    will delete within a week. ONLY KEPT are sessions of the archive that do not lie in the agent's own place: deleted
    since, or inscribed from elsewhere. WRITES tells for which agents `muniment continue` and `export` can write.
    """
    archive = Archive(store)
    with files.noting_refused(archive.unreadable):
        rows = _rows(archive)
    for place, why in archive.unreadable.items():
        talk(f"{place}: {why}")
    if json:
        as_json(rows)
        return
    here = [row for row in rows if row.found or row.inscribed]
    headers = ("source", "found", "size", "inscribed", "pending", "at risk", "only kept", "writes", "place")
    table(headers, [_cells(row) for row in here], right=(1, 2, 3, 4, 5, 6))
    _tell(rows, [row for row in rows if row not in here])


def _cells(row: SourceRow) -> Sequence[str]:
    counts = (row.inscribed, row.pending, row.at_risk, row.only_kept)
    told = (str(count) if count else "-" for count in counts)
    return (row.name, str(row.found), size(row.bytes), *told, "yes" if row.writable else "no", _place(row))


def _place(row: SourceRow) -> str:
    return ", ".join(row.homes) or ANYWHERE


def _tell(rows: Sequence[SourceRow], absent: Sequence[SourceRow]) -> None:
    """The sum, and what to do about it."""
    found, pending, risk = (sum(getattr(row, name) for row in rows) for name in ("found", "pending", "at_risk"))
    if absent:
        out(f"nothing here of: {', '.join(row.name for row in absent)}")
    out(f"{many(found, 'session')} on this machine, {size(sum(row.bytes for row in rows))}")
    if pending:
        out(f"{many(pending, 'session')} not wholly in the archive: `muniment inscribe`")
    if risk:
        out(f"{risk} of them will be deleted by their agent within {SOON_DAYS} days: `muniment doctor` tells which")


def _rows(archive: Archive) -> list[SourceRow]:
    found, known = archive.find(), archive.sessions()
    tasks = archive.plan(found).tasks
    pending = Counter(task.found.source for task in tasks)
    risks = at_risk(found, {key_path(task.found) for task in tasks})
    urgent = Counter(risk.source for risk in risks if not risk.inscribed)
    here = {session.session_id for session in found}
    only_kept = Counter(session.source for session in known if session.session_id not in here)
    inscribed = Counter(session.source for session in known)
    return [
        SourceRow(
            name=source.name,
            title=source.title,
            homes=tuple(str(home) for home in finding.homes_of(source, archive.env)),
            found=sum(1 for f in found if f.source == source.name),
            bytes=sum(file.size for f in found if f.source == source.name for file in f.files),
            inscribed=inscribed[source.name],
            pending=pending[source.name],
            only_kept=only_kept[source.name],
            at_risk=urgent[source.name],
            writable=source.writable,
        )
        for source in sources.all_sources()
    ]
