"""An archive with one session that has something of everything a pack tells of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from muniment.archive import Archive
from tests.builder import ClaudeSession, text, tool

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
WEAK = "hunter2Blue!77"
ID = "11111111-2222-4333-8444-555555555555"


def worked_on() -> ClaudeSession:
    """Ada's login page: a decision, edits, tests, a commit, a rewind, a list of things to do, a secret."""
    s = ClaudeSession(ID, "/proj/site")
    s.user("Fix the login page. Let's use cookies, never local storage.")
    _run(s, "Edit", {"file_path": "/proj/site/src/login.ts", "old_string": "a", "new_string": "b"}, "ok")
    _run(s, "Bash", {"command": "cd /proj/site && npm run test:unit 2>&1 | tail -5"}, "12 passed")
    s.answer(text("Fixed in `checkToken`, see https://forge.example/ada/site/pull/7. Shall I deploy?"))
    before = s.last
    s.user("No, try it with websockets instead")
    s.answer(text("Done with websockets."))
    s.chain("user", parent=before, message={"role": "user", "content": "Commit it, the key is " + SECRET})
    _run(
        s,
        "Bash",
        {"command": 'git commit -m "Keep the session in a cookie"'},
        "[main 1a2b3c4] Keep the session in a cookie",
    )
    todos = [
        {"content": "Write the docs", "status": "pending"},
        {"content": "Fix the login page", "status": "completed"},
    ]
    _run(s, "TodoWrite", {"todos": todos}, "ok")
    _run(s, "Bash", {"command": "npm run e2e"}, "x" * 9000 + " 1 failed", is_error=True)
    s.answer(text("Committed. The check `checkToken` holds. The end-to-end test still fails: docs are left."))
    s.user("And now the docs")
    s.answer(tool("toolu_last", "Bash", {"command": "make docs", "password": WEAK}))
    return s


def _run(s: ClaudeSession, name: str, value: object, output: str, is_error: bool = False) -> None:
    id_ = f"toolu_{len(s.lines):04d}"
    s.answer(tool(id_, name, value))
    s.result(id_, output, is_error=is_error)


def archived(archive: Archive, home: Path, session: ClaudeSession, inscribe: Callable[..., object]) -> None:
    session.write(home, "-proj-site")
    inscribe()
    archive.ingest()
