"""Cursor: transcripts as lines or plain text, and chats in a database that is never touched."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment import check
from muniment.archive import Archive
from muniment.model import Facts, Round, Text, Thinking, Tool, Unknown
from muniment.model.rounds import text_of
from muniment.restore import Target
from muniment.sources import find_everywhere, find_in, named
from muniment.sources.base import Found, bytes_of, head_of
from muniment.sources.cursor import database, find, plain
from muniment.sources.lines import records

ID = "5e1d7c3a-90ab-4cde-8f01-23456789abcd"
CHAT = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": "<user_info>\nOS: linux\n</user_info>"},
    {"role": "user", "content": [{"type": "text", "text": "<user_query>\nlist the files\n</user_query>"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "reasoning", "text": "ls will do", "signature": "sig"},
            {"type": "tool-call", "toolCallId": "t1", "toolName": "Shell", "args": {"command": "ls"}},
        ],
    },
    {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "t1", "toolName": "Shell", "result": "a b"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Two files: a and b."}]},
]


def node(*children: bytes) -> bytes:
    return b"".join(b"\x0a\x20" + bytes.fromhex(child.decode()) for child in children)


def build(path: Path, messages: list[dict[str, Any]], wal: bool = False, **about: Any) -> sqlite3.Connection:
    """A chat as the client keeps it; the connection is still open."""
    path.parent.mkdir(parents=True, exist_ok=True)
    known = sqlite3.connect(path)
    if wal:
        known.execute("PRAGMA journal_mode = WAL")
        known.execute("PRAGMA wal_autocheckpoint = 0")
    known.execute("CREATE TABLE IF NOT EXISTS blobs (id TEXT PRIMARY KEY, data BLOB)")
    known.execute("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT)")
    names: list[bytes] = []
    for message in messages:
        names.append(_put(known, json.dumps(message).encode()))
    branch = _put(known, node(*names[2:]))
    root = _put(known, node(*names[:2]) + b"\x12\x22" + node(branch) + b"\x18\x07")
    said = {"agentId": ID, "latestRootBlobId": root.decode(), "name": "Files", "createdAt": 1767323045000} | about
    known.execute("INSERT OR REPLACE INTO meta VALUES ('0', ?)", (json.dumps(said).encode().hex(),))
    known.commit()
    return known


def _put(known: sqlite3.Connection, data: bytes) -> bytes:
    name = hashlib.sha256(data).hexdigest()
    known.execute("INSERT OR REPLACE INTO blobs VALUES (?, ?)", (name, data))
    return name.encode()


@pytest.fixture
def cursor_home(tmp_path: Path) -> Path:
    return tmp_path / "user" / ".cursor"


@pytest.fixture
def store(cursor_home: Path) -> Path:
    return cursor_home / "chats" / "0123456789abcdef" / ID / "store.db"


def rounds(session: Found) -> list[Round]:
    source, main = named(session.source), session.main
    assert main
    return list(source.read(records(source.open(main.name, bytes_of(main))), Facts(session.session_id, session.source)))


def found(home: Path) -> list[Found]:
    return [s for s in find_everywhere({"HOME": str(home.parent)}) if s.source == "cursor"]


def words(made: list[Round]) -> list[str]:
    return [text for r in made for m in r.messages if (text := text_of(m))]


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {str(p): (p.stat().st_mtime_ns, p.read_bytes()) for p in sorted(folder.rglob("*")) if p.is_file()}


# -- chats


def test_a_chat_is_read_in_the_order_of_its_tree(store: Path, cursor_home: Path) -> None:
    build(store, CHAT).close()
    (session,) = found(cursor_home)
    assert session.session_id == ID
    (round_,) = rounds(session)
    assert round_.prompt
    assert text_of(round_.prompt) == "list the files"
    assert words([round_]) == ["list the files", "Two files: a and b."]
    (tool,) = [block for block in round_.blocks() if isinstance(block, Tool)]
    assert (tool.name, tool.input, tool.output) == ("Shell", {"command": "ls"}, (Text("a b"),))
    (thought,) = [block for block in round_.blocks() if isinstance(block, Thinking)]
    assert (thought.text, thought.signature) == ("ls will do", "sig")
    assert [checked.lossless for checked in check.check_found(session)] == [True]


def test_a_chat_without_a_log_comes_back_byte_for_byte(store: Path, cursor_home: Path, tmp_path: Path) -> None:
    build(store, CHAT).close()
    store.with_name("meta.json").write_text('{"schemaVersion":1,"cwd":"/proj/shop"}')
    before = state(cursor_home)
    archive = Archive(tmp_path / "store", {"HOME": str(cursor_home.parent)})
    archive.inscribe()
    assert state(cursor_home) == before
    for path in before:
        os.unlink(path)
    archive.restore(ID)
    assert {path: content for path, (_, content) in state(cursor_home).items()} == {
        path: content for path, (_, content) in before.items()
    }
    assert [(c.lossless, c.problems) for c in archive.check_stored()] == [(True, [])]


def test_what_is_only_in_the_log_is_read_and_nothing_is_touched(store: Path, cursor_home: Path, tmp_path: Path) -> None:
    with contextlib.closing(build(store, CHAT, wal=True)):
        before = state(cursor_home)
        assert any(path.endswith("-wal") for path in before)
        (session,) = found(cursor_home)
        assert words(rounds(session)) == ["list the files", "Two files: a and b."]
        archive = Archive(tmp_path / "store", {"HOME": str(cursor_home.parent)})
        archive.inscribe()
        assert state(cursor_home) == before
    archive.restore(ID, Target(to=tmp_path / "back"))
    with contextlib.closing(sqlite3.connect(tmp_path / "back" / store.relative_to(cursor_home))) as restored:
        assert restored.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert restored.execute("SELECT count(*) FROM blobs").fetchone() == (len(CHAT) + 2,)


def test_a_chat_that_goes_on_is_the_same_session(store: Path, cursor_home: Path, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "store", {"HOME": str(cursor_home.parent)})
    more = [*CHAT, {"role": "user", "content": "<user_query>\nthanks\n</user_query>"}]
    build(store, CHAT).close()
    archive.inscribe()
    build(store, more).close()
    archive.inscribe()
    (listed,) = archive.sessions()
    assert listed.rounds == 2
    assert words(list(archive.rounds(listed))) == ["list the files", "Two files: a and b.", "thanks"]
    assert all(checked.lossless for checked in archive.check_stored())


def test_messages_that_the_tree_has_left_are_kept_and_not_shown(store: Path, cursor_home: Path) -> None:
    build(store, [*CHAT, {"role": "user", "content": "never mind"}]).close()
    build(store, CHAT).close()
    (session,) = found(cursor_home)
    assert words(rounds(session)) == ["list the files", "Two files: a and b."]
    kept = [getattr(block, "detail", None) for r in rounds(session) for block in r.blocks()]
    assert any(isinstance(d, dict) and d.get("message") == {"role": "user", "content": "never mind"} for d in kept)


def test_an_encrypted_chat_is_reported(store: Path, cursor_home: Path) -> None:
    build(store, [], blobEncryptionKey="k").close()
    (session,) = found(cursor_home)
    damage = [b.damage for r in rounds(session) for b in r.blocks() if isinstance(b, Unknown)]
    assert damage == ["the messages are encrypted"]
    assert not any(b"blobEncryptionKey" in line for line in database.lines([store.read_bytes()]))


@settings(max_examples=60)
@given(data=st.data())
def test_a_damaged_database_is_reported(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("damaged") / "store.db"
    build(path, CHAT).close()
    content = bytearray(path.read_bytes())
    cut = data.draw(st.integers(0, len(content)))
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=20)):
        content[at] ^= 0xFF
    lines = list(database.lines([bytes(content[:cut])]))
    source = named("cursor")
    made = list(source.read(records(lines), Facts("x", "cursor")))
    assert lines
    assert made


@given(st.binary(max_size=300))
def test_any_bytes_may_be_a_node(data: bytes) -> None:
    assert all(len(name) == 64 for name in database._hashes(data))


def test_other_databases_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(path)) as known:
        known.execute("CREATE TABLE session (id TEXT)")
        known.execute("CREATE TABLE blobs (id TEXT)")
    assert not find.matches(path, head_of(path))
    with contextlib.closing(sqlite3.connect(path)) as known:
        known.execute("CREATE VIEW meta AS SELECT 1 AS key")
    assert not find.matches(path, head_of(path))


# -- transcripts


def transcript(home: Path, *lines: Any, name: str = f"{ID}/{ID}.jsonl") -> Path:
    path = home / "projects" / "proj-shop" / "agent-transcripts" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines))
    return path


def ask(text: str) -> dict[str, Any]:
    return {"role": "user", "message": {"content": [{"type": "text", "text": f"<user_query>\n{text}\n</user_query>"}]}}


def tell(*parts: Any) -> dict[str, Any]:
    return {"role": "assistant", "message": {"content": list(parts)}}


def test_a_transcript_grows_by_lines(cursor_home: Path, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "store", {"HOME": str(cursor_home.parent)})
    lines = [ask("one"), tell({"type": "text", "text": "1"}), {"type": "turn_ended", "status": "ok"}, ask("two")]
    outcomes: list[str] = []
    for count in (2, 3, 4):
        path = transcript(cursor_home, *lines[:count])
        archive.inscribe(report=lambda outcome: outcomes.append(outcome.what))
    assert outcomes == ["new", "appended", "appended"]
    assert archive.session(ID).rounds == 2
    kept = path.read_bytes()
    path.unlink()
    archive.restore(ID)
    assert path.read_bytes() == kept


def test_a_chat_and_its_transcript_are_one_session(store: Path, cursor_home: Path) -> None:
    build(store, CHAT).close()
    transcript(cursor_home, ask("list the files"))
    transcript(cursor_home, ask("count"), name=f"{ID}/subagents/sub-1.jsonl")
    (session,) = found(cursor_home)
    assert [(file.role, Path(file.path).name) for file in session.files] == [
        ("main", "store.db"),
        ("side", f"{ID}.jsonl"),
        ("sidechain", "sub-1.jsonl"),
    ]
    (alone,) = named("cursor").gather([store], cursor_home, [cursor_home])
    assert alone.files == session.files


def test_an_old_transcript_is_plain_text(cursor_home: Path) -> None:
    text = (
        "user:\n<user_query>\nfix it\n</user_query>\n\nassistant:\n[Thinking] where?\n[Tool call] Read\n  path: a.py\n"
        "\n[Tool result] Read\n\nassistant:\nDone.\n"
    )
    transcript(cursor_home, text, name=f"{ID}.txt")
    (session,) = found(cursor_home)
    assert session.session_id == ID
    made = rounds(session)
    assert words(made) == ["fix it", "Done."]
    assert [b.text for r in made for b in r.blocks() if isinstance(b, Thinking)] == ["where?"]
    assert [(b.name, b.input) for r in made for b in r.blocks() if isinstance(b, Tool) and b.name] == [
        ("Read", {"text": "  path: a.py"})
    ]
    assert [checked.lossless for checked in check.check_found(session)] == [True]


MARKS = ["user:\n", "assistant:\n", "[Thinking] x\n", "[Tool call] y\n", "[Tool result] z\n", "words\n", "\n"]


@given(st.lists(st.sampled_from(MARKS) | st.text(max_size=10), max_size=20).map("".join))
def test_the_pieces_of_plain_text_are_the_whole(text: str) -> None:
    assert "".join(raw for _, raw in plain.sections(text)) == text


def test_a_transcript_elsewhere_goes_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / f"{ID}.jsonl"
    path.write_text(json.dumps(ask("hi")) + "\n")
    (session,) = find_in(path, {"HOME": "/nowhere"})
    assert (session.source, session.session_id) == ("cursor", ID)


NEW_ROLE = {"role": "tool", "message": {"content": "x"}}


@pytest.mark.parametrize("odd", [NEW_ROLE, '{"role":"assist\n'], ids=["unknown", "damaged"])
def test_an_odd_line_leaves_a_transcript_known(tmp_path: Path, odd: Any) -> None:
    path = transcript(tmp_path, ask("one"), odd, tell({"type": "text", "text": "1"}), ask("two"))
    elsewhere = tmp_path / f"{ID}.jsonl"
    path.rename(elsewhere)
    (session,) = find_in(elsewhere, {"HOME": "/nowhere"})
    assert (session.source, session.session_id) == ("cursor", ID)
    assert [said[:3] for said in words(rounds(session))] == ["one", "1", "two"]


@pytest.mark.parametrize("folder", ["anywhere", "agent-transcripts"])
def test_a_transcript_stays_known_whatever_it_grows_by(tmp_path: Path, folder: str) -> None:
    path = tmp_path / folder / f"{ID}.jsonl"
    path.parent.mkdir()
    asked = ask("one") if folder == "anywhere" else tell({"type": "text", "text": "1"})
    archive = Archive(tmp_path / "store", {"HOME": "/nowhere"})
    outcomes: list[str] = []
    for lines in ([asked], [asked, NEW_ROLE, NEW_ROLE, NEW_ROLE]):
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        archive.inscribe([path], report=lambda outcome: outcomes.append(outcome.what))
    assert outcomes == ["new", "appended"]


@pytest.mark.parametrize(
    "lines",
    [
        [NEW_ROLE, NEW_ROLE],
        [tell(), NEW_ROLE, NEW_ROLE],
        [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "<user_query>"}],
        [{"type": "user", "sessionId": "s", "message": {"role": "user", "content": "hi"}}],
    ],
    ids=["roles alone", "one by chance", "messages", "another agent"],
)
def test_lines_of_others_are_left_alone(lines: list[Any]) -> None:
    assert not find.matches(Path("x.jsonl"), b"".join(json.dumps(line).encode() + b"\n" for line in lines))


def test_two_calls_of_one_line_are_two(tmp_path: Path) -> None:
    path = tmp_path / f"{ID}.jsonl"
    call = {"type": "tool_use", "name": "Read", "input": {}}
    path.write_text(json.dumps(ask("hi")) + "\n" + json.dumps(tell(call, call)) + "\n")
    (session,) = find_in(path, {"HOME": "/nowhere"})
    assert len({b.id for r in rounds(session) for b in r.blocks() if isinstance(b, Tool)}) == 2
