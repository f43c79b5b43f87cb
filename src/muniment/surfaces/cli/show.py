"""`muniment show`"""

from __future__ import annotations

import click

from muniment.archive import Archive
from muniment.errors import NotFound
from muniment.restore import version_told
from muniment.store import rounds as stored
from muniment.store.session_table import Listed
from muniment.surfaces.cli.output import line, out, plain, table, talk

_NO_TRANSCRIPT = "its transcript is gone; `muniment show SESSION` lists what is left of it"


@click.command()
@click.argument("session")
@click.argument("round_", metavar="[ROUND]", type=click.IntRange(1), required=False)
@click.option("--json", is_flag=True, help="The round file, or the list of rounds, as JSON.")
@click.option("--document", is_flag=True, help="The whole markdown document.")
@click.pass_obj
def command(store: str | None, session: str, round_: int | None, json: bool, document: bool) -> None:
    """Show SESSION as a list of its rounds, or one ROUND in full.

    SESSION may also be the file of a transcript, inscribed or not: it is read as it stands, and nothing is inscribed.
    """
    own = Archive(store)
    with own.reading(session) as (archive, found):
        _show(archive, found, round_, json, document)
        if archive is own and found.rounds and not (json or document or round_):
            out(f"\n{archive.shelf(found).document}")
            for name, facts in archive.versions(found).items():
                out(f"version {name}: {version_told(facts)}")


def _show(archive: Archive, found: Listed, round_: int | None, json: bool, document: bool) -> None:
    shelf = archive.shelf(found)
    if document and not found.rounds:
        raise NotFound(f"session {found.session_id} has no document of its own", _NO_TRANSCRIPT)
    if document:
        click.echo(plain(shelf.document.read_text("utf-8", "replace")), nl=False)
    elif round_ is not None:
        path = shelf.round_file(round_)
        if not path.exists():
            raise NotFound(f"no round {round_}", f"the session has {found.rounds}" if found.rounds else _NO_TRANSCRIPT)
        click.echo(path.read_bytes() if json else plain(_round_text(stored.load(shelf, round_), shelf.folder.name)))
    elif not found.rounds and not json:
        _subagents(archive, found)
    else:
        _rounds(archive, found.session_id, json)


def _round_text(round_: stored.Round, folder: str) -> str:
    from muniment.store import document

    shown = (document.render_message(m, folder) for m in round_.messages if not m.silent)
    return document.SEPARATOR.join(shown).rstrip("\n")


def _subagents(archive: Archive, session: Listed) -> None:
    """What is left of a session without a transcript."""
    _, sides = archive.facts(session)
    talk("only subagents are left of this session:" if sides else "only files are left of this session; see `restore`")
    rows = [
        (id_, (f.started or "")[:16].replace("T", " "), str(f.rounds), line(f.display_title))
        for id_, f in sides.items()
    ]
    if rows:
        table(("subagent", "started", "rounds", "task"), rows, right=(2,))
        out("")
    for id_ in sides:
        out(str(archive.shelf(session).sidechain(id_).document))


def _rounds(archive: Archive, session_id: str, json: bool) -> None:
    from muniment.store.index import Index
    from muniment.store.rows import RoundRow

    with Index(archive.layout) as index:
        sql = "SELECT * FROM rounds WHERE session_id = ? ORDER BY round"
        rows = [RoundRow(*row) for row in index.rows(sql, session_id)]
        abandoned = index.abandoned(session_id)
    if json:
        import json as encoder

        click.echo(encoder.dumps([row._asdict() | {"abandoned": row.round in abandoned} for row in rows]))
        return
    cells = [
        (
            f"{row.round}{' (rewound)' if row.round in abandoned else ''}",
            (row.started or "")[:16].replace("T", " "),
            str(row.tool_count),
            str(row.token_count),
            line(row.user_preview or f"→ {row.agent_preview}"),
        )
        for row in rows
    ]
    table(("round", "started", "tools", "tokens", "prompt"), cells, right=(2, 3))
