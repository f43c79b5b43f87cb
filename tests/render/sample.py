"""A small session that has one of everything, written for these tests."""

from __future__ import annotations

import base64
import json
import struct
import uuid
import zlib
from pathlib import Path
from typing import Any

from muniment.archive import Archive
from tests.builder import ClaudeSession, text, tool
from tests.search.worked import engagement, session_id, understand

NAME = "sample"
SIDE = "a1b2c3d4e5f607182"


def png() -> bytes:
    """A picture of one point."""
    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(b"\0\x2b\x6c\xb0")), (b"IEND", b""))
    chunks = (struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def picture(data: bytes, media_type: str = "image/png") -> dict[str, Any]:
    source = {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode()}
    return {"type": "image", "source": source}


def session() -> ClaudeSession:
    made = ClaudeSession(session_id(NAME), cwd="/proj/kettle")
    made.user("Make the **kettle** whistle at `98` degrees.\n\n- keep the tests green\n- no new parts")
    thought = {"type": "thinking", "thinking": "The threshold is in `kettle.py`.", "signature": "c2ln"}
    steps = (("Find the threshold", "completed"), ("Change it", "in_progress"))
    todos = [{"content": content, "status": status} for content, status in steps]
    made.answer(thought, text("I will look first."), tool("t1", "TodoWrite", {"todos": todos}))
    made.result("t1", "Todos have been modified.", is_error=False)
    made.answer(tool("t2", "Bash", {"command": "grep -n limit kettle.py", "description": "Find the limit"}))
    made.result("t2", "3:limit = 100\n", is_error=False)
    old, new = (f"limit = {degrees}\nrun()" for degrees in (100, 98))
    edit = {"file_path": "/proj/kettle/kettle.py", "old_string": old, "new_string": new}
    made.answer(tool("t3", "Edit", edit))
    made.result("t3", "The file was updated.", is_error=False)
    made.answer(tool("t4", "Bash", {"command": "pytest -q"}))
    made.result("t4", "1 failed", is_error=True)
    made.answer(text("```python\nassert limit == 98\n```\n\n| test | result |\n| - | -: |\n| whistle | 1 |"))
    made.chain("user", message={"role": "user", "content": [picture(png()), text("Why?")]})
    made.answer(tool("t5", "Agent", {"description": "Ask why", "subagent_type": "helper", "prompt": "Say *why*."}))
    found = {"tool_use_id": "t5", "type": "tool_result", "content": "Because of steam."}
    made.chain("user", message={"role": "user", "content": [found]}, toolUseResult={"agentId": SIDE})
    made.answer(text("Steam <b>rises</b>."))
    return made


def side() -> bytes:
    """What the subagent said."""
    ids = [str(uuid.uuid5(uuid.NAMESPACE_URL, f"side{n}")) for n in range(2)]
    common = {"isSidechain": True, "sessionId": session_id(NAME), "agentId": SIDE, "cwd": "/proj/kettle"}
    answer = {"role": "assistant", "model": "claude-x", "id": "msg_s", "content": [text("Steam, of course.")]}
    records = (
        {"type": "user", "message": {"role": "user", "content": "Say why."}, "uuid": ids[0], "parentUuid": None},
        {"type": "assistant", "message": answer, "uuid": ids[1], "parentUuid": ids[0]},
    )
    times = ("2026-03-19T10:01:00.000Z", "2026-03-19T10:01:01.000Z")
    lines = (json.dumps(r | common | {"timestamp": at}) + "\n" for r, at in zip(records, times, strict=True))
    return "".join(lines).encode()


def write(home: Path, made: ClaudeSession | None = None) -> Path:
    """Put it, and its subagent, where the client would."""
    path = (made or session()).write(home, "-proj-kettle")
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    (folder / f"agent-{SIDE}.jsonl").write_bytes(side())
    return path


def archived(archive: Archive, home: Path) -> Archive:
    """An archive with it, understood."""
    write(home)
    archive.inscribe()
    first = engagement(
        NAME,
        1,
        (1, 1),
        topic="Make the kettle whistle at 98 degrees",
        project="/proj/kettle",
        outcome="The limit is 98; one test fails.",
        key_decisions=("no new parts",),
        next_steps=("repair the test",),
        phase="in-progress",
    )
    second = engagement(NAME, 2, (2, 2), topic="Explain the picture", method="research", phase="completed")
    summary = "The kettle whistles at 98 degrees."
    understand(archive, NAME, first, second, agent_name="Reed", agent_role="plumber", session_summary=summary)
    return archive
