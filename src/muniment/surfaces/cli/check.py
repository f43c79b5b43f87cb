"""`muniment check`"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from muniment import check as library
from muniment.archive import Archive
from muniment.check import Checked
from muniment.surfaces.cli.output import as_json, many, out, talk
from muniment.surfaces.cli.progress import require_found, waiting


@click.command()
@click.argument("paths", nargs=-1)
@click.option("--stored", is_flag=True, help="Check the archive itself; PATHS are then sessions.")
@click.option("--json", is_flag=True, help="One JSON array, a report per transcript.")
@click.pass_obj
def command(store: str | None, paths: tuple[str, ...], stored: bool, json: bool) -> None:
    """Prove that inscribing loses nothing: inscribe, restore and export in memory, and compare with the source.

    Every claim of every record is compared in both directions: from document and rounds, and from the document
    alone. Nothing is written. The exit code is 1 if anything of a conversation is lost, or the archive is damaged;
    damage that the source came with is told, and is neither.

    --stored reads every file of the archive, while others may write to it, and compares it with its checksum or with
    what the evidence gives. Damage is noted in the index: `muniment doctor` tells of it, and the next `muniment up`
    mends what the sources still have.
    """
    archive = Archive(store)
    reports = _stored(archive, paths) if stored else _found(archive, [Path(path) for path in paths])
    if json:
        as_json(reports)
    else:
        _print(reports)
    damaged = any(not report.lossless or report.note == library.DAMAGED for report in reports)
    if archive.unreadable or damaged:
        raise click.exceptions.Exit(1)


def _stored(archive: Archive, names: Sequence[str]) -> list[Checked]:
    if not archive.layout.holds_sessions():
        archive.require()
    return list(archive.check_stored(names, waiting))


def _found(archive: Archive, paths: Sequence[Path]) -> list[Checked]:
    reports = list(archive.check(paths))
    if not reports:
        require_found(archive, paths)
    for path, why in archive.unreadable.items():
        talk(f"{path}: {why}")
    return reports


def _print(reports: list[Checked]) -> None:
    whole = library.total(reports)
    bad = [report for report in reports if not report.lossless]
    out(f"{many(len(reports), 'transcript')} checked, {len(reports) - len(bad)} without loss")
    out(f"restore     {'exact' if whole.restored else 'NOT EXACT'}")
    for title, tallies in (("export", whole.export), ("document", whole.document)):
        for field, t in sorted(tallies.items()):
            lost = f"  changed {t.changed}  lost {t.lost}" if not t.kept else ""
            out(f"{title:10}  {field:14} equal {t.equal:>9,}{lost}")
    if whole.rehung:
        out(f"            {many(whole.rehung, 'parent')} re-hung, because the record they named is left out")
    out(f"again       {'the same document' if whole.stable else 'some documents differ'}")
    if whole.not_carried:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in whole.not_carried.items())
        out(f"left out of exports (kept in the archive): {kinds}")
    for problem in whole.problems:
        out(f"problem: {problem}")
    if any(report.note == library.DAMAGED for report in reports):
        out("the archive is damaged; `muniment up` takes what is lost from the sources, if they still have it,")
        out("`muniment reindex` makes documents, listings and the index anew, and a backup has the rest")
    for report in bad:
        out(f"LOSS: {report.path}")
