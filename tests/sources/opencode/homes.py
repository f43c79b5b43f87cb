"""The sample session as opencode itself would keep it: in its database, and in the many files of older versions."""

import json
from pathlib import Path
from typing import Any

import apsw

from muniment import demo

EXPORT = next((demo.SAMPLES / "opencode").rglob("*.json"))
DOCUMENT: dict[str, Any] = json.loads(EXPORT.read_bytes())
NATIVE: str = DOCUMENT["info"]["id"]

_SCHEMA = """
    CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL,
        directory text NOT NULL, title text NOT NULL, version text NOT NULL, share_url text,
        summary_additions integer, summary_deletions integer, summary_files integer, revert text, permission text,
        time_created integer NOT NULL, time_updated integer NOT NULL, time_compacting integer, time_archived integer);
    CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
        time_updated integer NOT NULL, data text NOT NULL);
    CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
        time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
    CREATE TABLE todo (session_id text NOT NULL, content text NOT NULL, status text NOT NULL, position integer);
"""


def without(fields: dict[str, Any], *names: str) -> str:
    return json.dumps({n: v for n, v in fields.items() if n not in names}, ensure_ascii=False, separators=(",", ":"))


def database(path: Path, *documents: dict[str, Any]) -> apsw.Connection:
    """A database with these sessions, still open: what is in it lies in its log."""
    path.parent.mkdir(parents=True, exist_ok=True)
    db = apsw.Connection(str(path))
    db.execute("PRAGMA journal_mode = WAL")
    db.execute(_SCHEMA)
    for document in documents or (DOCUMENT,):
        add(db, document)
    return db


def add(db: apsw.Connection, document: dict[str, Any]) -> None:
    info, made = document["info"], document["info"]["time"]
    row = (info["id"], "global", info["slug"], info["directory"], info["title"], info["version"], 1, 1, 1)
    db.execute(
        """INSERT INTO session (id, project_id, slug, directory, title, version, summary_additions, summary_deletions,
        summary_files, permission, time_created, time_updated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '[]', ?, ?)""",
        (*row, made["created"], made["updated"]),
    )
    db.execute("INSERT INTO todo VALUES (?, 'sound the horn', 'pending', 0)", (info["id"],))
    for message in document["messages"]:
        add_message(db, message)


def add_message(db: apsw.Connection, message: dict[str, Any]) -> None:
    info = message["info"]
    at = info["time"]["created"]
    data = without(info, "id", "sessionID")
    db.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (info["id"], info["sessionID"], at, at, data))
    for part in message["parts"]:
        data = without(part, "id", "sessionID", "messageID")
        row = (part["id"], info["id"], info["sessionID"], at, at, data)
        db.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)


def storage(home: Path, document: dict[str, Any] = DOCUMENT) -> Path:
    """The files of an older version; gives back that of the session."""
    info = document["info"]
    session = _put(home / "storage" / "session" / "global" / f"{info['id']}.json", info)
    _put(home / "storage" / "session_diff" / f"{info['id']}.json", [])
    for message in document["messages"]:
        own = message["info"]
        _put(home / "storage" / "message" / info["id"] / f"{own['id']}.json", own)
        for part in message["parts"]:
            _put(home / "storage" / "part" / own["id"] / f"{part['id']}.json", part)
    return session


def _put(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False))
    return path
