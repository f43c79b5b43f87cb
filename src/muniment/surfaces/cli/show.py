"""`muniment show`"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from muniment.archive import Archive
from muniment.errors import NotFound
from muniment.model import Facts
from muniment.restore import version_told
from muniment.store import rounds as stored
from muniment.store.layout import Shelf
from muniment.store.rows import RoundRow
from muniment.store.session_table import Listed
from muniment.surfaces.cli.output import line, many, out, out_json, plain, table, talk


@click.command()
@click.argument("session")
@click.argument("round_", metavar="[ROUND]", type=click.IntRange(1), required=False)
@click.option("--subagent", metavar="ID", help="Of this subagent of the session; the beginning of its id is enough.")
@click.option("--json", is_flag=True, help="The round file, or the list of rounds, as JSON.")
@click.option("--document", is_flag=True, help="The whole markdown document.")
@click.pass_obj
def command(
    store: str | None, session: str, round_: int | None, subagent: str | None, json: bool, document: bool
) -> None:
    """Show SESSION as a list of its rounds and subagents, or one ROUND in full.

    SESSION may also be the file of a transcript, inscribed or not: it is read as it stands, and nothing is inscribed.
    """
    own = Archive(store)
    with own.reading(session) as (archive, found):
        side = archive.subagent(found, subagent) if subagent is not None else None
        shelf = archive.shelf(found).sidechain(side) if side is not None else archive.shelf(found)
        if document:
            _document(archive, found, shelf)
        elif round_ is not None:
            _round(archive, found, shelf, round_, json)
        elif side is not None:
            _rounds(_of_subagent(shelf, found.session_id), frozenset(), json)
        else:
            _session(archive, found, json)
        if archive is own and shelf.document.exists() and not (json or document or round_):
            out(f"\n{shelf.document}")
            for name, facts in archive.versions(found).items() if side is None else ():
                out(f"version {name}: {version_told(facts)}")
        if archive is own and not (json or document or round_):
            for damage in archive.damage(found):
                out(f"damaged: {damage}")


def _document(archive: Archive, found: Listed, shelf: Shelf) -> None:
    if not found.rounds and shelf == archive.shelf(found):
        raise NotFound(f"session {found.session_id} has no document of its own", _other_rounds(archive, found, shelf))
    click.echo(plain(shelf.document.read_text("utf-8", "replace")), nl=False)


def _session(archive: Archive, found: Listed, json: bool) -> None:
    from muniment.store.index import Index

    if not found.rounds and not json:
        talk(f"only {'subagents' if found.sidechains else 'side files'} are left of this session")
    with Index(archive.layout) as index:
        sql = "SELECT * FROM rounds WHERE session_id = ? ORDER BY round"
        rows = [RoundRow(*row) for row in index.rows(sql, found.session_id)]
        abandoned = index.abandoned(found.session_id)
    if rows or json:
        _rounds(rows, abandoned, json)
    if not json:
        _subagents(archive.facts(found)[1] if found.sidechains else {}, archive, found)


def _of_subagent(shelf: Shelf, session_id: str) -> list[RoundRow]:
    """The index knows no rounds of subagents: their files do."""
    from muniment.store.rows import round_row

    return [round_row(one, session_id, str(shelf.round_file(one.number))) for one in stored.load_all(shelf)]


# -- one round


def _round(archive: Archive, found: Listed, shelf: Shelf, number: int, json: bool) -> None:
    path = shelf.round_file(number)
    if not path.exists():
        raise NotFound(f"no round {number}", _other_rounds(archive, found, shelf))
    if json:
        out_json(path.read_bytes())
    else:
        click.echo(plain(_round_text(stored.load(shelf, number), shelf.folder.name)))


def _other_rounds(archive: Archive, found: Listed, shelf: Shelf) -> str:
    if shelf != archive.shelf(found):
        return f"the subagent has {sum(1 for _ in shelf.rounds.glob('*.json'))}"
    if found.rounds or not found.sidechains:
        return f"the session has {found.rounds}"
    return f"only subagents are left of it; `{_opening(archive, found)}` shows one"


def _round_text(round_: stored.Round, folder: str) -> str:
    from muniment.store import document

    shown = (document.render_message(m, folder) for m in round_.messages if not m.silent)
    return document.SEPARATOR.join(shown).rstrip("\n")


# -- listings


def _rounds(rows: Sequence[RoundRow], abandoned: frozenset[int] | set[int], json: bool) -> None:
    if json:
        import json as encoder

        out_json(encoder.dumps([row._asdict() | {"abandoned": row.round in abandoned} for row in rows]).encode())
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


def _subagents(sides: Mapping[str, Facts], archive: Archive, found: Listed) -> None:
    if not sides:
        return
    cells = [
        (id_, (facts.started or "")[:16].replace("T", " "), str(facts.rounds), str(facts.messages), facts.display_title)
        for id_, facts in sorted(sides.items(), key=lambda side: side[1].started or "")
    ]
    if found.rounds:
        out()
    table(("subagent", "started", "rounds", "messages", "prompt"), cells, right=(2, 3))
    out(f"\n{many(len(sides), 'subagent')}; `{_opening(archive, found)}` shows one")


def _opening(archive: Archive, found: Listed) -> str:
    return f"muniment show {archive.short_ids([found.session_id])[found.session_id]} --subagent ID"
