"""A byte order mark, as editors and shells put in front of a document, changes nothing that is read of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from muniment.archive import Archive
from muniment.model import Unknown
from muniment.model.rounds import text_of
from muniment.sources import find_in

MARK = b"\xef\xbb\xbf"
ID = "0e000000-0000-4000-8000-000000000001"
AT = "2026-06-01T20:00:00Z"


def opencode(role: str, said: str) -> dict[str, Any]:
    info = {"id": f"msg_{said}", "sessionID": "ses_1", "role": role, "time": {"created": 1}}
    return {"info": info, "parts": [{"id": f"prt_{said}", "type": "text", "text": said}]}


DOCUMENTS: dict[str, Any] = {
    "atif": {
        "schema_version": "ATIF-v1.7",
        "session_id": ID,
        "agent": {"name": "keeper", "version": "1"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "one"},
            {"step_id": 2, "source": "agent", "message": "two"},
        ],
    },
    "gemini": {
        "sessionId": ID,
        "projectHash": "h",
        "startTime": AT,
        "lastUpdated": AT,
        "messages": [
            {"id": "a", "timestamp": AT, "type": "user", "content": "one"},
            {"id": "b", "timestamp": AT, "type": "gemini", "content": "two"},
        ],
    },
    "messages": [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}],
    "opencode": {
        "info": {"id": "ses_1", "slug": "s"},
        "messages": [opencode("user", "one"), opencode("assistant", "two")],
    },
}


@pytest.mark.parametrize("indent", [None, 2], ids=["one line", "many lines"])
@pytest.mark.parametrize("source", DOCUMENTS)
def test_a_mark_is_kept_and_not_read(tmp_path: Path, source: str, indent: int | None) -> None:
    path = tmp_path / "talk.json"
    plain = json.dumps(DOCUMENTS[source], indent=indent).encode()
    path.write_bytes(plain)
    (unmarked,) = find_in(path, {"HOME": "/nowhere"})
    path.write_bytes(MARK + plain)
    (session,) = find_in(path, {"HOME": "/nowhere"})
    assert (session.source, session.session_id) == (source, unmarked.session_id)
    archive = Archive(tmp_path / "store", {"HOME": "/nowhere"})
    archive.inscribe([path])
    (round_,) = archive.rounds(archive.session(session.session_id))
    assert [text_of(message) for message in round_.messages] == ["one", "two"]
    assert not any(isinstance(block, Unknown) for block in round_.blocks())
    path.unlink()
    archive.restore(session.session_id)
    assert path.read_bytes() == MARK + plain
