"""What sessions took over when they were written from others: it counts where it was done, and not once more.

Only what the archive has at its origin is left out; a session whose origin was forgotten stands for itself.
"""

from __future__ import annotations

from datetime import UTC, datetime

from muniment.errors import MunimentError
from muniment.model import codec
from muniment.store import edits
from muniment.store.edits import Edit
from muniment.store.index import Index
from muniment.store.layout import Layout

MAIN = ""
"""The part of a session that is no subagent."""


def note(layout: Layout, session_id: str, origin: str, rounds: int) -> str:
    """Note which session was written from which. Gives the reason if that cannot be: what was written is good."""
    at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    try:
        edits.append(layout, Edit(at, "continued", session_id, rounds, origin))
    except (OSError, MunimentError) as error:
        return f"the archive could not note where it comes from ({error}): what it took over may count twice"
    return ""


_NOTED = """FROM json_each(?1) n JOIN sessions s ON s.session_id = n.value ->> 0
  JOIN sessions o ON o.session_id = n.value ->> 1"""
_PARTS = f"""INSERT INTO temp.carried SELECT s.id, '{MAIN}', n.value ->> 2 {_NOTED}
  UNION ALL SELECT c.session, c.id, {1 << 62} {_NOTED}
    JOIN sidechains c ON c.session = s.id JOIN sidechains own ON own.session = o.id AND own.id = c.id"""
"""A subagent that both have is the origin's, all of it."""

APART = """NOT EXISTS (SELECT 1 FROM temp.carried k WHERE k.session = t.session AND k.part = coalesce(t.sidechain, '')
  AND t.round <= k.rounds)"""
"""That `t`, a row of `texts` or `usage`, was not taken over; `find` must have found something."""


APART_ROUND = f"""NOT EXISTS (SELECT 1 FROM temp.carried k WHERE k.session = s.id AND k.part = '{MAIN}'
  AND r.round <= k.rounds)"""
"""The same of `r`, a round of the session `s`."""


def find(index: Index) -> bool:
    """Make the table of what was taken over, for this connection; tells whether there is any."""
    noted = edits.continued(index.layout)
    if not noted:
        return False
    columns = "(session INTEGER, part TEXT, rounds INTEGER, PRIMARY KEY (session, part)) WITHOUT ROWID"
    index.db.execute(f"DROP TABLE IF EXISTS temp.carried; CREATE TEMP TABLE carried {columns}")
    told = [(id_, one.origin, one.rounds) for id_, one in noted.items()]
    index.db.execute(_PARTS, (codec.encode(told).decode(),))
    return True


def rounds(index: Index) -> dict[str, int]:
    """By session: how many of its rounds, from the first on, were taken over."""
    sql = "SELECT s.session_id, k.rounds FROM temp.carried k JOIN sessions s ON s.id = k.session WHERE k.part = ?"
    return dict(index.rows(sql, MAIN)) if find(index) else {}


def parts(index: Index, session_id: str) -> dict[str, int]:
    """Of one session: the parts that were taken over, and up to which round."""
    sql = "SELECT k.part, k.rounds FROM temp.carried k JOIN sessions s ON s.id = k.session WHERE s.session_id = ?"
    return dict(index.rows(sql, session_id)) if find(index) else {}
