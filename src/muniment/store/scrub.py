"""Taking what was deleted out of the bytes of `sessions.db`, not only out of its answers.

SQLite leaves deleted rows where they lay until the place is needed, and a full text keeps the words of what it was told
to delete until its parts are merged. Whoever forgets a session wants neither.
"""

from __future__ import annotations

from typing import Any

from muniment.errors import StoreError

_WORDS = "CREATE VIRTUAL TABLE temp.words USING fts5vocab('main', 'texts_fts', 'instance')"
_FORGET = """INSERT INTO texts_fts(texts_fts, rowid, body, aux)
SELECT 'delete', doc, coalesce(group_concat(term, ' ') FILTER (WHERE col = 'body'), ''),
  coalesce(group_concat(term, ' ') FILTER (WHERE col = 'aux'), '')
FROM temp.words WHERE doc IN (SELECT id FROM texts_fts_docsize EXCEPT SELECT id FROM texts) GROUP BY doc"""


def words(db: Any) -> None:
    """Take every word out of the full text that no row of `texts` has any more, inside the transaction of the caller.

    The full text keeps no copy of what it was given, so it is told the words that it has itself. They are those of
    rows that were deleted now, and of rows that an earlier inscription replaced."""
    db.execute(_WORDS)
    db.execute(_FORGET)
    db.execute("DROP TABLE temp.words")
    for table in ("texts_fts", "engagements_fts"):
        db.execute(f"INSERT INTO {table}({table}) VALUES ('optimize')")


def file(db: Any) -> None:
    """Write the whole database anew, after the commit, so that neither it nor its log has what was deleted.

    `rounds` has row numbers that this may change, so its full text is made anew, over what it was."""
    db.execute("VACUUM")
    db.execute("PRAGMA secure_delete=ON")
    db.execute("INSERT INTO rounds_fts(rounds_fts) VALUES ('rebuild')")
    busy, _, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        hint = "stop what reads the archive (`view`, `mcp`) and run `muniment reindex`"
        raise StoreError("the index is in use, and its former words are still in the file", hint)
