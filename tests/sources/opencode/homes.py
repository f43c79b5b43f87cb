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


GAUGE = "iVBORw0KGgo="


def _called(state: str, id_: str, args: dict[str, Any], **more: Any) -> dict[str, Any]:
    call = {"state": state, "toolCallId": id_, "toolName": "bash", "args": args}
    return {"type": "tool-invocation", "toolInvocation": call | more}


PICTURE = {"type": "file", "uri": f"data:image/png;base64,{GAUGE}", "mime": "image/png"}


def record(number: int, kind: str, **fields: Any) -> dict[str, Any]:
    at = 1790000000000 + 1000 * number
    return {"id": f"msg_0{number:011x}FlatRecord", "type": kind, "time": {"created": at}} | fields


def words(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def call(id_: str, status: str, **state: Any) -> dict[str, Any]:
    held = {"status": status, "input": {"command": f"motor {id_}"}} | state
    return {"type": "tool", "id": id_, "name": "shell", "executed": False, "state": held, "time": {"created": 1}}


def without(fields: dict[str, Any], *names: str) -> str:
    return json.dumps({n: v for n, v in fields.items() if n not in names}, ensure_ascii=False, separators=(",", ":"))


def database(path: Path, *documents: dict[str, Any]) -> apsw.Connection:
    """A database with these sessions, still open: what is in it lies in its log."""
    path.parent.mkdir(parents=True, exist_ok=True)
    db = apsw.Connection(str(path))
    db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF")
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


_FLAT_SCHEMA = """
    CREATE TABLE session_v2 (id text PRIMARY KEY, project_id text NOT NULL, workspace_id text, parent_id text,
        slug text NOT NULL, directory text NOT NULL, path text, title text, version text NOT NULL, metadata text,
        cost real DEFAULT 0 NOT NULL, tokens_input integer, tokens_output integer, tokens_reasoning integer,
        tokens_cache_read integer, tokens_cache_write integer, agent text, model text, permission text,
        time_created integer NOT NULL, time_updated integer NOT NULL, time_viewed integer);
    CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL,
        seq integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
    CREATE TABLE credential (id text PRIMARY KEY, value text NOT NULL);
    INSERT INTO credential VALUES ('c', 'nobody may read this');
"""


def flat_database(path: Path, *documents: dict[str, Any], old: tuple[dict[str, Any], ...] = ()) -> apsw.Connection:
    """A database of version 2, still open, with sessions in its own tables and in those of version 1."""
    db = database(path, *old) if old else apsw.Connection(str(_folder_of(path)))
    db.execute("PRAGMA synchronous = OFF")
    db.execute(_FLAT_SCHEMA)
    for document in documents or (FLAT,):
        add_flat(db, document)
    return db


def _folder_of(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def add_flat(db: apsw.Connection, document: dict[str, Any]) -> None:
    info, made = document["info"], document["info"]["time"]
    db.execute(
        """INSERT INTO session_v2 (id, project_id, slug, directory, title, version, cost, agent, model, permission,
        tokens_input, tokens_output, tokens_reasoning, tokens_cache_read, tokens_cache_write, time_created,
        time_updated) VALUES (?, 'global', 'quick-lamp', '/home/ada/lighthouse', ?, '2.0.14', 0.25, 'build', ?, '[]',
        30, 20, 5, 4, 3, ?, ?)""",
        (info["id"], info["title"], json.dumps(FLAT["info"]["model"]), made["created"], made["updated"]),
    )
    for number, message in enumerate(document["messages"]):
        add_record(db, info["id"], message, number * 3)


def add_record(db: apsw.Connection, session: str, message: dict[str, Any], seq: int) -> None:
    at = message["time"]["created"]
    row = (message["id"], session, message["type"], seq, at, at, without(message, "id", "type"))
    db.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)", row)


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


def earliest(top: Path, document: dict[str, Any] = DOCUMENT) -> Path:
    """The files of the earliest versions: in the home, or before that in `project/<name>` of it."""
    info = document["info"]
    folder = top / "storage" / "session"
    session = _put(folder / "info" / f"{info['id']}.json", info)
    _put(folder / "share" / f"{info['id']}.json", {"secret": "s", "url": "u"})
    for message in document["messages"]:
        own = message["info"]
        _put(folder / "message" / info["id"] / f"{own['id']}.json", own)
        for part in message["parts"]:
            _put(folder / "part" / info["id"] / own["id"] / f"{part['id']}.json", part)
    return session


NESTED: dict[str, Any] = {
    "info": {"id": "ses_8cEarlyLamp0001", "version": "0.1.150", "title": "Oil for the lamp", "time": {"created": 1}},
    "messages": [
        {
            "info": {
                "id": "msg_0001EarlyLamp",
                "role": "user",
                "parts": [
                    {"type": "text", "text": "How much oil is left? See the gauge."},
                    {
                        "type": "file",
                        "mediaType": "image/png",
                        "filename": "gauge.png",
                        "url": f"data:image/png;base64,{GAUGE}",
                    },
                    {"type": "file", "mediaType": "text/plain", "url": "file:///home/ada/gauge.txt"},
                ],
                "metadata": {"sessionID": "ses_8cEarlyLamp0001", "time": {"created": 1750000001000}, "tool": {}},
            },
            "parts": [],
        },
        {
            "info": {
                "id": "msg_0002EarlyLamp",
                "role": "assistant",
                "parts": [
                    {"type": "step-start"},
                    {
                        "type": "reasoning",
                        "text": "The gauge is in litres.",
                        "providerMetadata": {"anthropic": {"signature": "c2ln"}},
                    },
                    _called("result", "c1", {"command": "cat gauge.txt"}, result="40 l"),
                    _called("call", "c2", {"command": "refill"}),
                    _called("partial-call", "c3", {}),
                    {"type": "text", "text": "Forty litres are left."},
                    {"type": "source-url", "sourceId": "s1", "url": "https://example.org/oil"},
                ],
                "metadata": {
                    "sessionID": "ses_8cEarlyLamp0001",
                    "time": {"created": 1750000002000, "completed": 1750000003000},
                    "snapshot": "5f1c",
                    "assistant": {
                        "modelID": "claude-sonnet-4",
                        "providerID": "anthropic",
                        "system": ["Keep the lamp."],
                        "cost": 0.5,
                        "tokens": {"input": 10, "output": 5, "reasoning": 0, "cache": {"read": 3, "write": 2}},
                        "path": {"cwd": "/home/ada/lighthouse", "root": "/home/ada/lighthouse"},
                    },
                    "tool": {"c1": {"title": "cat gauge.txt", "exit": 0, "time": {"start": 1, "end": 2}}},
                },
            },
            "parts": [],
        },
        {
            "info": {
                "id": "msg_0003EarlyLamp",
                "role": "user",
                "parts": [{"type": "text", "text": "Good night."}],
                "metadata": {"sessionID": "ses_8cEarlyLamp0001", "time": {"created": 1750000009000}, "tool": {}},
            },
            "parts": [],
        },
    ],
}
"""A session of the first versions, whose messages hold their parts."""


FLAT_ID = "ses_f2b0Second0Lamp0001"
FLAT: dict[str, Any] = {
    "info": {
        "id": FLAT_ID,
        "projectID": "global",
        "title": "The lamp turns too fast",
        "agent": "build",
        "model": {"id": "claude-sonnet-5", "providerID": "anthropic"},
        "cost": 0.25,
        "tokens": {"input": 30, "output": 20, "reasoning": 5, "cache": {"read": 4, "write": 3}},
        "time": {"created": 1790000000000, "updated": 1790000099000},
        "location": {"directory": "/home/ada/lighthouse"},
    },
    "messages": [
        record(1, "agent-switched", agent="build"),
        record(
            2,
            "user",
            text="Why does the lamp turn too fast?",
            files=[
                {"data": GAUGE, "mime": "image/png", "name": "lamp.png", "source": {"type": "inline"}},
                {"uri": f"data:image/png;base64,{GAUGE}", "mime": "image/png"},
                {"uri": "file:///home/ada/lighthouse/lamp.py", "mime": "text/plain"},
            ],
            agents=[{"name": "explore"}],
        ),
        record(
            3,
            "assistant",
            agent="build",
            model={"id": "claude-sonnet-5", "providerID": "anthropic", "variant": "high"},
            content=[
                {"type": "reasoning", "text": "The motor may be set wrong.", "native": {"signature": "bGFtcA=="}},
                {"type": "reasoning", "text": "", "state": {"reasoningEncryptedContent": "c2VhbGVk"}},
                {"type": "text", "text": "I look at the motor."},
                {"type": "text", "text": ""},
                call("c1", "completed", content=[words("speed: 9\n")], metadata={"exit": 0, "sessionID": "ses_child"}),
                call("c2", "error", error={"type": "tool.failed", "message": "no such motor"}),
                call("c3", "completed", content=[PICTURE]),
                {"type": "hologram", "id": "h", "beams": [1, 2]},
            ],
            finish="tool-calls",
            cost=0.25,
            tokens={"input": 10, "output": 5, "reasoning": 2, "cache": {"read": 3, "write": 1}},
        ),
        record(
            4,
            "assistant",
            agent="build",
            model={"id": "claude-sonnet-5"},
            content=[],
            finish="error",
            error={"type": "provider", "message": "the provider sleeps"},
        ),
        record(5, "idle", outcome="failed"),
        record(
            6,
            "shell",
            shellID="sh_1",
            command="ls",
            status="exited",
            exit=0,
            output={"output": "lamp.py\n", "truncated": False},
        ),
        record(7, "shell", shellID="sh_2", command="sleep 9", status="running"),
        record(8, "synthetic", text="The person ran a command.", metadata={"source": "shell"}),
        record(9, "system", text="It is night."),
        record(10, "skill", skill="s", name="knots", text="How knots are tied."),
        record(
            11,
            "compaction",
            status="completed",
            reason="auto",
            summary="The lamp turns at speed nine.",
            recent="…",
            tokens={"input": 7, "output": 2},
        ),
        record(
            12,
            "compaction",
            status="failed",
            reason="manual",
            error={"type": "x", "message": "the summary was refused"},
        ),
        record(13, "model-switched", model={"id": "claude-haiku-5", "providerID": "anthropic"}),
        record(14, "location-switched", location={"directory": "/home/ada/tower"}),
        record(15, "hologram", text="a kind that nobody knows"),
        record(16, "user", text="Then set it to three."),
        record(
            17,
            "assistant",
            agent="build",
            model={"id": "claude-haiku-5"},
            content=[words("It turns at three.")],
            finish="stop",
        ),
        record(18, "idle", outcome="succeeded"),
    ],
}
"""A session of opencode 2, with a record of every kind."""


def exported(home: Path, document: dict[str, Any] = FLAT) -> Path:
    return _put(home / "exported" / f"{document['info']['id']}.json", document)


def _put(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False))
    return path
