"""`muniment secrets`"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import click
from msgspec import structs

from muniment.archive import Archive
from muniment.errors import StoreError
from muniment.secrets import Redactor, new_key
from muniment.secrets.places import Place, in_round
from muniment.store import rounds
from muniment.store.layout import Shelf
from muniment.store.session_table import Listed
from muniment.surfaces.cli.bar import bar
from muniment.surfaces.cli.output import as_json, many, table, talk


class Row(Place, frozen=True, kw_only=True):
    """One secret in one block of one session of the archive."""

    session_id: str
    sidechain: str | None


@click.command()
@click.argument("session", required=False)
@click.option("--json", is_flag=True, help="One JSON array.")
@click.pass_obj
def command(store: str | None, session: str | None, json: bool) -> None:
    """List where secrets are in the archive, or in one SESSION; never the secrets themselves.

    `tag` is the same wherever the same secret stands, in one run. Nothing is changed: the archive keeps what the agent
    recorded, readable by you alone. Older versions of a session are not searched.
    """
    archive = Archive(store)
    archive.require()
    chosen = [archive.session(session)] if session else archive.sessions()
    key = new_key()
    rows: list[Row] = []
    with bar("searching", len(chosen)) as advance:
        for listed in chosen:
            rows += _rows(archive, listed, key)
            advance()
    if json:
        as_json(rows)
    else:
        _print(rows, archive.short_ids(row.session_id for row in rows))


def _rows(archive: Archive, session: Listed, key: bytes) -> Iterator[Row]:
    """The secrets of a session and of its subagents; only one round of it is in memory."""
    shelf = archive.shelf(session)
    yield from (_row(session, None, place) for place in _places(shelf, key))
    if session.sidechains:
        for id_ in archive.facts(session)[1]:
            shown = Redactor(key).text(id_)
            yield from (_row(session, shown, place) for place in _places(shelf.sidechain(id_), key))


def _places(shelf: Shelf, key: bytes) -> Iterator[Place]:
    """A damaged round is named and ends its transcript, not the search."""
    try:
        for round_ in rounds.load_all(shelf):
            yield from in_round(round_, key)
    except StoreError as error:
        talk(f"{error.message}; {error.hint}")


def _row(session: Listed, sidechain: str | None, place: Place) -> Row:
    return Row(**structs.asdict(place), session_id=session.session_id, sidechain=sidechain)


def _print(rows: Sequence[Row], ids: Mapping[str, str]) -> None:
    cells = [
        (
            ids[row.session_id],
            str(row.round),
            " ".join(filter(None, (row.kind, row.tool, row.sidechain and "of a subagent"))),
            row.rule,
            row.tag,
            str(row.count),
            row.preview,
        )
        for row in rows
    ]
    table(("session", "round", "where", "secret", "tag", "times", "preview"), cells, right=(1, 5))
    secrets, sessions = {row.tag for row in rows}, {row.session_id for row in rows}
    where = f" in {many(len(rows), 'place')} of {many(len(sessions), 'session')}" if rows else " found"
    talk(f"{many(len(secrets), 'secret')}{where}")
