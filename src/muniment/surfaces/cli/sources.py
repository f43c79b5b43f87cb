"""`muniment sources`"""

from __future__ import annotations

import os
from collections import Counter

import click
from msgspec import Struct

from muniment import sources
from muniment.archive import Archive
from muniment.surfaces.cli.output import as_json, size, table


class SourceRow(Struct, frozen=True):
    """One agent on this machine."""

    name: str
    title: str
    homes: tuple[str, ...]
    found: int
    bytes: int
    inscribed: int
    """Sessions of it in the archive, whether or not their files are still there."""
    pending: int
    """Sessions found that are new or have grown since."""
    writable: bool


@click.command()
@click.option("--json", is_flag=True, help="One JSON array.")
@click.pass_obj
def command(store: str | None, json: bool) -> None:
    """Which agents are known, what of theirs is on this machine, and how much of it is in the archive."""
    rows = _rows(Archive(store))
    if json:
        as_json(rows)
        return
    headers = ("source", "found", "size", "inscribed", "pending", "writes", "place")
    cells = [
        (
            row.name,
            str(row.found),
            size(row.bytes),
            str(row.inscribed),
            str(row.pending),
            "yes" if row.writable else "no",
            ", ".join(row.homes),
        )
        for row in rows
    ]
    table(headers, cells, right=(1, 2, 3, 4))


def _rows(archive: Archive) -> list[SourceRow]:
    found = archive.find()
    pending = Counter(task.found.source for task in archive.plan(found).tasks)
    inscribed = Counter(session.source for session in archive.sessions())
    return [
        SourceRow(
            name=source.name,
            title=source.title,
            homes=tuple(str(home) for home in source.homes(os.environ)),
            found=sum(1 for f in found if f.source == source.name),
            bytes=sum(file.size for f in found if f.source == source.name for file in f.files),
            inscribed=inscribed[source.name],
            pending=pending[source.name],
            writable=source.writable,
        )
        for source in sources.all_sources()
    ]
