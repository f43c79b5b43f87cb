"""What can be searched for after a session grew is what could be searched for had it been read at once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from muniment.archive import Archive
from muniment.store.index import Index

SAMPLES = Path(__file__).parents[2] / "src" / "muniment" / "samples"
SESSIONS = sorted(
    path
    for name in ("codex", "gemini", "pi", "copilot", "qwen", "cursor", "agent", "native")
    for path in (SAMPLES / name).rglob("*.jsonl")
    if "sub" not in str(path.relative_to(SAMPLES)) and ".sidechains" not in path.parts
)


def texts(archive: Archive) -> list[tuple[object, ...]]:
    with Index(archive.layout) as known:
        sql = """SELECT t.id, s.session_id, t.round, t.kind, t.tool, t.sidechain, t.offset
            FROM texts t JOIN sessions s ON s.id = t.session"""
        found = list(known.rows(sql))
        said = {row[0] for row in known.rows("SELECT rowid FROM texts_fts")}
    assert {row[0] for row in found} <= said, "every row has its words"
    return sorted((row[1:] for row in found), key=repr)


def at_once(tmp_path: Path, folder: Path) -> list[tuple[object, ...]]:
    archive = Archive(tmp_path / "at-once", {"HOME": str(tmp_path)})
    archive.inscribe([folder])
    return texts(archive)


@pytest.mark.parametrize("sample", SESSIONS, ids=lambda path: str(path.relative_to(SAMPLES)).split("/")[0])
def test_texts_of_a_session_that_grew_line_by_line(sample: Path, tmp_path: Path) -> None:
    folder = tmp_path / "grows"
    shutil.copytree(SAMPLES / sample.relative_to(SAMPLES).parts[0], folder)
    path = folder / sample.relative_to(SAMPLES / sample.relative_to(SAMPLES).parts[0])
    lines = sample.read_bytes().splitlines(keepends=True)
    archive = Archive(tmp_path / "grown", {"HOME": str(tmp_path)})
    for count in range(2, len(lines) + 1):
        path.write_bytes(b"".join(lines[:count]))
        archive.inscribe([folder])
    assert texts(archive) == at_once(tmp_path, folder)


def test_a_prompt_that_was_an_event_is_found_as_a_prompt(tmp_path: Path) -> None:
    sample = next(path for path in SESSIONS if "e0af8e9c" in path.name)
    path = tmp_path / "sessions" / sample.name
    path.parent.mkdir()
    lines = sample.read_bytes().splitlines(keepends=True)
    archive = Archive(tmp_path / "grown", {"HOME": str(tmp_path)})
    for end in (22, len(lines)):
        path.write_bytes(b"".join(lines[:end]))
        archive.inscribe([path])
    assert texts(archive) == at_once(tmp_path, path)


def test_a_document_that_was_half_there_is_found_whole(tmp_path: Path) -> None:
    """An older Gemini writes one document; its first state is cut inside of a text."""
    said = ("How fast does the lamp turn?", "Twice in a minute.", "Untracked, and despite the fog?", "Yes.")
    at = "2026-01-02T03:04:05Z"
    messages = [
        {"id": str(n), "timestamp": at, "type": ("user", "gemini")[n % 2], "content": text}
        for n, text in enumerate(said)
    ]
    told = {"sessionId": "5a3c0f6e-7d0e-4b5c-9a55-0123456789ab", "projectHash": "x", "startTime": at, "lastUpdated": at}
    document = json.dumps(told | {"messages": messages}, indent=2).encode()
    path = tmp_path / "chats" / "session-2026-01-02T03-04-5a3c0f6e.json"
    path.parent.mkdir()
    archive = Archive(tmp_path / "grown", {"HOME": str(tmp_path)})
    for end in (document.index(b", and despite"), len(document)):
        path.write_bytes(document[:end])
        archive.inscribe([path])
    assert texts(archive) == at_once(tmp_path, path)
    assert len(texts(archive)) == len(said)
