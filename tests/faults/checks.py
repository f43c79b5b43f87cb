"""What must hold of a store: each check gives a list of complaints, empty when all is well."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import apsw

from .world import COMMON, Tree, contents, every, needle, normal, run

DERIVED = (".md", ".json")
TEMPORARY = re.compile(r"\.part|^tmp|~$|^\.new$")
QUERIES = {
    "sessions": """SELECT session_id, agent_id, source, title, summary, model, cwd, branch, started, ended, rounds,
        prompts, messages, tool_calls, tokens, problems, sidechains, source_bytes, origin, path, facts FROM sessions""",
    "rounds": "SELECT * FROM rounds",
    "texts": """SELECT s.session_id, t.round, t.kind, t.tool, t.sidechain, t.offset FROM texts t
        JOIN sessions s ON s.id = t.session""",
    "usage": """SELECT s.session_id, u.message_id, u.round, u.sidechain, u.model, u.at, u.input, u.output,
        u.cache_read, u.cache_write FROM usage u JOIN sessions s ON s.id = u.session""",
    "sidechains": "SELECT s.session_id, c.id, c.facts FROM sidechains c JOIN sessions s ON s.id = c.session",
    "versions": "SELECT s.session_id, v.path FROM versions v JOIN sessions s ON s.id = v.session",
    "branches": "SELECT s.session_id, b.round, b.follows FROM branches b JOIN sessions s ON s.id = b.session",
    "orphans": "SELECT count(*) FROM texts WHERE session NOT IN (SELECT id FROM sessions)",
}
FOUND = """SELECT s.session_id, t.round, t.kind, t.sidechain, t.offset FROM texts_fts f JOIN texts t ON t.id = f.rowid
    JOIN sessions s ON s.id = t.session WHERE texts_fts MATCH ?"""
FOUND_ROUNDS = "SELECT session_id, round FROM rounds_fts WHERE rounds_fts MATCH ?"


def database(path: Path, queries: dict[str, str], words: tuple[str, ...] = ()) -> dict[str, Any]:
    db: Any = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        view = {name: sorted(db.execute(sql), key=repr) for name, sql in queries.items()}
        for word in words:
            view[f"texts with {word}"] = sorted(db.execute(FOUND, (word,)), key=repr)
        for word in (COMMON, *words):
            view[f"rounds with {word}"] = sorted(db.execute(FOUND_ROUNDS, (word,)), key=repr)
        view["integrity"] = db.execute("PRAGMA integrity_check").get
    finally:
        db.close()
    return view


def view(store: Path) -> dict[str, Any]:
    """Everything derived: documents, rounds, listings as bytes, databases by what they say."""
    sessions = store / "data" / "sessions"
    found: dict[str, Any] = {}
    for path in sorted(sessions.rglob("*")):
        name = str(path.relative_to(sessions))
        if path.name == "session.db":
            found |= {f"{name}: {k}": v for k, v in database(path, {"rounds": QUERIES["rounds"]}).items()}
        elif path.suffix in DERIVED and path.name != "manifest.json" and path.is_file():
            found[name] = path.read_bytes()
    words = (COMMON, needle(0), needle(3), "word1*")
    return found | {f"sessions.db: {k}": v for k, v in database(sessions / "sessions.db", QUERIES, words).items()}


def differences(store: Path, expected: dict[str, Any]) -> list[str]:
    """Where a store says something else than an undisturbed one."""
    found = view(store)
    names = sorted(found.keys() | expected.keys())
    return [
        f"{name}: {_short(found.get(name))} instead of {_short(expected.get(name))}"
        for name in names
        if found.get(name) != expected.get(name)
    ]


def _short(value: Any) -> str:
    text = f"{len(value)} × " if isinstance(value, list) else ""
    return text + repr(value)[:200]


def not_restored(store: Path, tree: Tree, into: Path) -> list[str]:
    """Source files that the store does not give back byte for byte."""
    ran = run(store, "restore", "--all", "--to", into)
    found = normal(contents(into)) if into.exists() else {}
    expected = tree.content()
    wrong = [name for name in sorted(found.keys() | expected.keys()) if found.get(name) != expected.get(name)]
    return wrong + ([repr(ran)] if ran.code else [])


def wrong_modes(root: Path) -> list[str]:
    """Files and folders that are not private."""
    bad = []
    for path in every(root):
        status = path.lstat()
        wanted = 0o700 if stat.S_ISDIR(status.st_mode) else 0o600
        if stat.S_IMODE(status.st_mode) != wanted:
            bad.append(f"{path.relative_to(root)}: {stat.S_IMODE(status.st_mode):o}")
    return bad


def left_over(store: Path) -> list[str]:
    """Temporary files."""
    return [str(path.relative_to(store)) for path in every(store) if TEMPORARY.search(path.name)]


CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
OWN_STYLE = re.compile("\x1b\\[[01]m")


def control_characters(text: str) -> list[str]:
    """Characters that a terminal would obey, with what is around them; our own bold is allowed."""
    text = OWN_STYLE.sub("", text.replace("\r\n", "\n"))
    return [repr(text[max(0, m.start() - 30) : m.end() + 30]) for m in CONTROL.finditer(text)]


def tampered(manifest: Path, change: Any) -> None:
    """Change a manifest as an intruder would."""
    value = json.loads(manifest.read_bytes())
    change(value)
    manifest.write_text(json.dumps(value))
