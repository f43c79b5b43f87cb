"""What indexes tell of a damaged database: which rows there were, and of which session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import apsw

from muniment.sources.databases import ERRORS, Guarded, quoted

_OWNERS = ("session_id", "message_id")
"""By which column rows are found; a part may have both."""


def find(db: Guarded, tables: Mapping[str, Sequence[str]]) -> None:
    """Raise where a table has fewer rows than its index: a page that was cut short tells nothing by itself."""
    for table in tables:
        for index, column in _indexes(db, table):
            if column == "id":
                asked = (f"INDEXED BY {quoted(index)}", "NOT INDEXED")
                counts = {db.rows(f"SELECT count(*) FROM {quoted(table)} {way} WHERE id > ''")[0] for way in asked}
                if len(counts) > 1:
                    raise apsw.CorruptError(f"the table {table} and its index have not the same rows")


def is_indexed(db: Guarded, tables: Mapping[str, Sequence[str]]) -> bool:
    """Whether the rows of a session are found without a look at those of others."""
    wanted = {table: next((name for name in reversed(_OWNERS) if name in tables[table]), "id") for table in tables}
    try:
        return all(column in {by for _, by in _indexes(db, table)} for table, column in wanted.items())
    except ERRORS:
        return False


def ids_in_index(db: Guarded, table: str) -> list[str]:
    """The ids that an index has, also those of rows that cannot be read."""
    found: list[str] = []
    for index, column in _indexes(db, table):
        if column == "id":
            try:
                asked = db.each(f"SELECT id FROM {quoted(table)} INDEXED BY {quoted(index)} WHERE id > ''")
                found.extend(native for (native,) in asked if isinstance(native, str))
            except ERRORS:
                break
    return found


def _indexes(db: Guarded, table: str) -> Iterator[tuple[str, str]]:
    """Every index of all rows, with the column that it is sorted by."""
    for _, name, _, _, partial in db.rows(f"PRAGMA index_list({quoted(table)})"):
        first = db.rows(f"PRAGMA index_info({quoted(name)})")
        if not partial and first and isinstance(first[0][2], str):
            yield name, first[0][2]
