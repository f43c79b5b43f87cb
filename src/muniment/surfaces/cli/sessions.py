"""`muniment sessions`"""

from __future__ import annotations

import click

from muniment import sources
from muniment.archive import Archive
from muniment.store.session_table import Listed
from muniment.surfaces.cli.output import as_json, line, many, table, talk
from muniment.surfaces.cli.recording import list_recorded, where_recorded


@click.command()
@click.option("--source", help="Only sessions of this source.")
@click.option("--limit", type=click.IntRange(1), help="At most so many.")
@click.option("--recorded", is_flag=True, help="Those that were recorded here, inscribed or not.")
@where_recorded
@click.option("--json", is_flag=True, help="One JSON array.")
@click.pass_obj
def command(
    store: str | None, source: str | None, limit: int | None, recorded: bool, root: str | None, format_: str, json: bool
) -> None:
    """List the sessions of the archive, the latest first.

    `versions` counts older or diverging versions of the same session; `copies` the other sessions that begin
    with the same record: forks and resume copies. `transcript gone` marks sessions whose agent had deleted the
    transcript before it was inscribed: their prompts, subagents or side files are left.
    """
    if recorded:
        list_recorded(root, format_, limit, json)
        return
    archive = Archive(store)
    if store or archive.layout.root.is_file():
        archive.require()
    rows = [row for row in archive.sessions() if source in (None, row.source)]
    if source and not rows:
        sources.named(source)  # which tells the names there are
    shown = rows[:limit]
    if json:
        as_json(shown)
        return
    if not rows:
        talk(f"no sessions of {source}" if source else _nothing(archive))
        return
    ids = archive.short_ids(row.session_id for row in shown)
    headers = ("session", "source", "ended", "rounds", "messages", "also", "title")
    cells = [
        (
            ids[row.session_id],
            row.source,
            (row.ended or "undated")[:16].replace("T", " "),
            str(row.rounds),
            str(row.messages),
            " ".join(_also(row)),
            line(row.title),
        )
        for row in shown
    ]
    table(headers, cells, right=(3, 4))
    if len(shown) < len(rows):
        talk(f"{many(len(rows) - len(shown), 'more session')}")


def _nothing(archive: Archive) -> str:
    if archive.layout.holds_sessions():
        return "the index knows none of the sessions that are in the archive; `muniment reindex` takes them up"
    return "the archive is empty; `muniment up` fills it"


def _also(row: Listed) -> list[str]:
    named = [("versions", row.versions), ("copies", row.copies)]
    named += [("subagents", row.sidechains), ("problems", row.problems)]
    gone = ["transcript gone"] if row.transcript_gone else []
    return [*gone, *(f"{name}:{count}" for name, count in named if count)]
