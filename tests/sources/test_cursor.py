"""Cursor: transcripts as lines or plain text, exported chats, and chats in a database that is never touched."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment import check
from muniment.archive import Archive
from muniment.model import Event, Facts, Ref, Round, Text, Thinking, Tool, Unknown
from muniment.model.rounds import text_of
from muniment.restore import Target
from muniment.sources import find_everywhere, find_in, named
from muniment.sources.base import Found, bytes_of, head_of
from muniment.sources.cursor import database, exported, find, plain, quick, told
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
    lines = [ask("one"), tell({"type": "text", "text": "1"}), {"type": "turn_ended", "status": "success"}, ask("two")]
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


@pytest.mark.parametrize("below", ["sub-1.jsonl", "sub-1/sub-1.jsonl"])
def test_a_subagent_may_have_a_folder_of_its_own(cursor_home: Path, below: str) -> None:
    transcript(cursor_home, ask("list the files"))
    transcript(cursor_home, ask("count"), name=f"{ID}/subagents/{below}")
    (session,) = found(cursor_home)
    assert [(file.role, file.id) for file in session.files] == [("main", None), ("sidechain", "sub-1")]


def test_a_project_may_be_called_subagents(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "subagents" / "agent-transcripts" / f"{ID}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(ask("hi")) + "\n")
    (session,) = find_in(tmp_path, {"HOME": "/nowhere"})
    assert session.main


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


PLAIN = """user:
<user_query>
count the lamps
</user_query>

assistant:
[Thinking] **Counting**

Two folders:
- east
- west
I count them.
[Tool call] Shell
  command: ls east
[Tool call] Write
  path: lamps.yml
  contents: lamps:
user:
  name: ada
[Tool call] Shell
  command: ls west

[Tool result] Shell

[Tool result] Shell

[Tool result] Write

assistant:
[Thinking] Seven in all.
Seven lamps.

Three of them are in the east.

user:
<user_query>
thanks
</user_query>

assistant:
[Thinking] No more to do:
- nothing
"""


def blocks_of(text: str) -> list[Any]:
    """What a plain transcript holds, kind by kind; its claims are kept."""
    data = text.encode("utf-8", "surrogateescape")
    file = check.SourceFile("x.txt", "x.txt", "main", len(data), 0)
    checked = check.check_transcript(named("cursor"), Facts("x", "cursor"), file, lambda: [data])
    assert checked.lossless, (checked.export, checked.document)
    source = named("cursor")
    return [b for r in source.read(records(source.open("x.txt", [data])), Facts("x", "cursor")) for b in r.blocks()]


def test_an_answer_of_plain_text_is_told_from_the_thought_before_it() -> None:
    said = [(type(b).__name__, b.text) for b in blocks_of(PLAIN) if isinstance(b, (Text, Thinking))]
    assert said == [
        ("Text", "count the lamps"),
        ("Thinking", "**Counting**\n\nTwo folders:\n- east\n- west"),
        ("Text", "I count them."),
        ("Thinking", "Seven in all."),
        ("Text", "Seven lamps.\n\nThree of them are in the east."),
        ("Text", "thanks"),
        ("Thinking", "No more to do:"),
        ("Text", "- nothing"),
    ]


@pytest.mark.parametrize(
    ("thought", "answer"),
    [
        ("one\n\ntwo", []),
        ("one\n  two", []),
        ("see\n\n```\na\nb\n```\n\nso", []),
        ("see\n\n```\na\nb\n```\nI see.", ["I see."]),
        ("one\nassistant:\ntwo", ["assistant:\ntwo"]),
    ],
)
def test_what_parts_a_thought_from_an_answer(thought: str, answer: list[str]) -> None:
    made = blocks_of(f"assistant:\n[Thinking] {thought}\n[Tool call] Read\n  path: a\n")
    assert [block.text for block in made if isinstance(block, Text)] == answer


def test_a_result_of_plain_text_is_but_a_name() -> None:
    made = blocks_of(PLAIN)
    assert [(b.name, b.output) for b in made if isinstance(b, Tool)] == [
        ("Shell", None),
        ("Write", None),
        ("Shell", None),
    ]
    assert [b.detail for b in made if getattr(b, "kind", "") == "tool result"] == ["Shell", "Shell", "Write"]


@pytest.mark.parametrize("result", ["Read\nthe file", "Grep"])
def test_a_result_that_says_more_is_shown(result: str) -> None:
    made = blocks_of(f"assistant:\n[Tool call] Read\n  path: a\n\n[Tool result] {result}\n")
    assert [b.output for b in made if isinstance(b, Tool)] == [None, (Text(result),)]


@pytest.mark.parametrize("quoted", ["user:\n<b>", "\nuser:\nada", "assistant:\nx"])
def test_a_word_inside_an_argument_is_no_mark(quoted: str) -> None:
    made = blocks_of(f"user:\n<user_query>\ngo\n</user_query>\n\nassistant:\n[Tool call] Write\n  text: a\n{quoted}\n")
    (tool,) = [block for block in made if isinstance(block, Tool)]
    assert tool.input == {"text": f"  text: a\n{quoted}"}


def test_plain_text_that_grows_reads_as_if_it_had_come_at_once(cursor_home: Path, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "store", {"HOME": str(cursor_home.parent)})
    for end in range(200, len(PLAIN) + 40, 40):
        path = transcript(cursor_home, PLAIN[:end], name=f"{ID}.txt")
        archive.inscribe()
    (session,) = found(cursor_home)
    assert list(archive.rounds(archive.session(ID))) == rounds(session)
    assert [(checked.lossless, checked.problems) for checked in archive.check_stored()] == [(True, [])]
    assert path.read_text() == PLAIN


def test_plain_text_elsewhere_is_known_by_how_it_begins(tmp_path: Path) -> None:
    path = tmp_path / "one" / "agent-transcript.txt"
    for place, text in [(path, PLAIN), (tmp_path / "two" / path.name, PLAIN.replace("lamps", "doors"))]:
        place.parent.mkdir()
        place.write_text(text)
    sessions = {session.session_id: session for session in find_in(tmp_path, {"HOME": "/nowhere"})}
    assert len(sessions) == 2
    path.write_text(PLAIN + "\nMore.\n")
    assert {session.session_id for session in find_in(path, {"HOME": "/nowhere"})} <= sessions.keys()
    assert not find.matches(tmp_path / "notes.txt", b"user:\nfix it\n")


MARKS = ["user:\n", "assistant:\n", "[Thinking] x\n", "[Tool call] y\n", "[Tool result] z\n", "words\n", "\n"]


@given(st.lists(st.sampled_from(MARKS) | st.text(max_size=10), max_size=20).map("".join))
def test_the_pieces_of_plain_text_are_the_whole(text: str) -> None:
    assert "".join(raw for _, raw in plain.sections(text)) == text
    blocks_of(text)


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


# -- exported chats


def turn(who: str, said: str) -> str:
    return f"---\n\n**{who}**\n\n{said}\n\n"


HEAD = "# Lamps of the pier\n_Exported on 9/20/2026 at 10:40:12 PDT from Cursor (2.6.20)_\n\n"
PASTED = f"The old chat:\n\n```\nHello.\n\n{turn('User', 'And then?')}{turn('Cursor', 'Nothing.')}```\n\nThat is all."
NESTED = "I write it down:\n\n```markdown\n# Lamps\n```sh\nls east\n```\nSeven.\n```\n\nDone."
EXPORTED = (
    HEAD
    + turn("User", "which lamps are out?")
    + turn("Cursor", f"I look.\n\n{NESTED}\n\n---\n\n## Result\n\n**User** lamps: none")
    + turn("User", PASTED)
    + turn("Cursor", "")
    + turn("User", "thanks")
    + turn("Cursor", "You are welcome.")
)


def exported_as(path: Path, text: str) -> list[Round]:
    """The rounds of an exported chat, which is found and whose claims they keep."""
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    (session,) = find_in(path, {"HOME": "/nowhere"})
    assert session.source == "cursor"
    (checked,) = check.check_found(session)
    assert checked.lossless, (checked.export, checked.document)
    return rounds(session)


@pytest.fixture
def export(tmp_path: Path) -> Path:
    return tmp_path / "cursor_lamps_of_the_pier.md"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_exported_chat_is_read_turn_by_turn(export: Path, newline: str) -> None:
    made = exported_as(export, EXPORTED.replace("\n", newline))
    prompts = [text_of(round_.prompt) for round_ in made if round_.prompt]
    assert prompts == ["which lamps are out?", PASTED.replace("\n", newline), "thanks"]
    assert words(made)[1].endswith("lamps: none")
    assert words(made)[-1] == "You are welcome."
    assert [[message.role for message in round_.messages] for round_ in made] == [["user", "assistant"]] * 3


def test_an_exported_chat_has_a_title_a_version_and_no_times(export: Path) -> None:
    made = exported_as(export, EXPORTED)
    facts = Facts("x", "cursor")
    for round_ in made:
        facts = facts.after(round_)
    assert (facts.title, facts.client, facts.started) == ("Lamps of the pier", "2.6.20", None)
    quiet = {block.kind: block.detail for block in made[0].blocks() if isinstance(block, Event)}
    assert quiet["exported"] == HEAD


@pytest.mark.parametrize(
    "said",
    [
        "---",
        "**User**",
        "a\n---\n\n**User**\n\nb",
        "a\n\n---\n**User**\n\nb",
        "a\n\n---\n\n**User** said\n\nb",
        "a\n\n---\n\n**User**\nb",
        "a\n\n---\n\n**Somebody**\n\nb",
        "a\n\n~~~~ text\n\n---\n\n**User**\n\n```\n~~~\n~~~~\n\nb",
    ],
)
def test_what_looks_like_a_turn_is_text(export: Path, said: str) -> None:
    assert words(exported_as(export, HEAD + turn("User", "go") + turn("Cursor", said))) == ["go", said]


@pytest.mark.parametrize(
    "left", ["```sh\nls", "```\nls", "~~~ sh\nls", "```markdown\n```sh\nls\n```", "a\n```\nb\n```\nc\n```"]
)
def test_a_fence_that_was_never_closed_hides_no_turns(export: Path, left: str) -> None:
    said = [left, "and?", "```sh\nls\n```", "so?", "```\nls\n```", left.replace("```\n", "```sh\n")]
    turns = "".join(turn("User" if number % 2 else "Cursor", words) for number, words in enumerate(said))
    assert words(exported_as(export, HEAD + turn("User", "go") + turns)) == ["go", *said]


def test_a_chat_that_is_exported_again_is_the_same_session(export: Path, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "store", {"HOME": "/nowhere"})
    later = EXPORTED.replace("9/20/2026 at 10:40:12 PDT", "12/1/2026 at 9:05:00 GMT+1").replace("of the pier", "out")
    short = HEAD + turn("User", "which lamps are out?")
    for text in (short, EXPORTED, later + turn("User", "one more")):
        export.write_text(text)
        archive.inscribe([export])
    (listed,) = archive.sessions()
    assert (listed.rounds, listed.title) == (4, "Lamps out")
    kept = export.read_bytes()
    export.unlink()
    archive.restore(listed.session_id)
    assert export.read_bytes() == kept
    assert all(checked.lossless and not checked.problems for checked in archive.check_stored())


def test_other_chats_of_the_same_name_are_others(tmp_path: Path) -> None:
    asked = ["which lamps are out?", "which lamps are lit?", "x" * 100_000, "x" * 100_000 + "y"]
    for number, words in enumerate(asked):
        path = tmp_path / str(number) / "agent-transcripts" / "chat.md"
        path.parent.mkdir(parents=True)
        path.write_text(HEAD + turn("User", words))
    found = list(find_in(tmp_path, {"HOME": "/nowhere"}))
    assert len({session.session_id for session in found}) == 3
    assert len(found) == 4  # the last two are taken for versions of one chat, and both are kept


@pytest.mark.parametrize(
    "text",
    [
        "# Lamps\n\n---\n\n**User**\n\ngo\n",
        f"notes\n\n{EXPORTED}",
        HEAD,
        HEAD + "**User**\n\ngo\n",
        HEAD.replace("(2.6.20)", "via Somebody") + turn("User", "go"),
    ],
)
def test_other_markdown_is_left_alone(text: str) -> None:
    assert not find.matches(Path("x.md"), text.encode())


PIECES = [
    "```\n",
    "```sh\n",
    "~~~\n",
    "\n",
    "\r\n",
    "---\n\n**User**\n\n",
    "\n---\n\n**Cursor**\n\n",
    "**User**\n",
    "words\n",
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=10), max_size=30).map("".join))
def test_the_pieces_of_an_export_are_the_whole(text: str) -> None:
    assert "".join(raw for _, raw in exported.sections(text)) == text
    data = (HEAD + turn("User", text)).encode("utf-8", "surrogateescape")
    file = check.SourceFile("x.md", "x.md", "main", len(data), 0)
    assert check.check_transcript(named("cursor"), Facts("x", "cursor"), file, lambda: [data]).lossless


@pytest.mark.parametrize(
    "piece", ["```sh\n", "```\n", turn("User", "```"), turn("User", "```sh"), "```" + " " * 997, "`"]
)
def test_a_hostile_export_costs_no_more_than_its_length(piece: str) -> None:
    begun = time.process_time()
    assert list(exported.sections(HEAD + turn("User", piece * (2_000_000 // len(piece)))))
    assert time.process_time() - begun < 10


# -- what stands around the human's words


def prompt(around: str, query: str) -> dict[str, Any]:
    text = f"{around}\n<user_query>\n{query}\n</user_query>"
    return {"role": "user", "message": {"content": [{"type": "text", "text": text}]}}


def told_by(path: Path, *lines: Any) -> list[Round]:
    """The rounds of a transcript, whose claims they keep."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (session,) = find_in(path, {"HOME": "/nowhere"})
    (checked,) = check.check_found(session)
    assert checked.lossless, (checked.export, checked.document)
    return rounds(session)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / f"{ID}.jsonl"


@pytest.mark.parametrize(
    ("written", "at"),
    [
        ("Sunday, Sep 20, 2026, 10:40 AM (UTC+2)", "2026-09-20T08:40:00Z"),
        ("Sunday, Sep 20, 2026, 10:40\u202fPM (UTC-7)", "2026-09-21T05:40:00Z"),
        ("Friday, January 1, 2027, 12:05 AM (UTC+5:30)", "2026-12-31T18:35:00Z"),
        ("Friday, Jan 1, 2027, 12:05 PM (UTC)", "2027-01-01T12:05:00Z"),
        ("Friday, Jan 32, 2027, 12:05 PM (UTC)", None),
        ("Friday, Foo 1, 2027, 12:05 PM (UTC)", None),
        ("Friday, Jan 1, 0001, 1:05 AM (UTC+9)", None),
        ("Friday, Jan 1, 2027, 12:05 PM (UTC+99)", None),
        ("yesterday", None),
    ],
)
def test_a_prompt_tells_its_time(path: Path, written: str, at: str | None) -> None:
    (round_,) = told_by(path, prompt(f"<timestamp>{written}</timestamp>", "go"))
    assert round_.prompt
    assert (round_.started, text_of(round_.prompt), round_.prompt.blocks[-1].ref.at) == (at, "go", at)


def test_a_time_that_the_human_wrote_is_none(path: Path) -> None:
    (round_,) = told_by(path, ask("<timestamp>Friday, Jan 1, 2027, 12:05 PM (UTC)</timestamp>\nis this wrong?"))
    assert round_.started is None


def test_the_time_of_a_line_is_better_than_the_one_in_its_text(path: Path) -> None:
    line = prompt("<timestamp>Friday, Jan 1, 2027, 12:05 PM (UTC)</timestamp>", "go")
    (round_,) = told_by(path, line | {"timestamp": "2027-01-01T12:05:07.123Z"})
    assert round_.started == "2027-01-01T12:05:07.123Z"


@pytest.mark.parametrize(
    ("ended", "shown"),
    [
        ({"status": "success"}, []),
        ({"status": "error", "error": "no tokens left"}, [("error", "no tokens left")]),
        ({"status": "aborted", "error": "stopped by hand"}, [("interrupted", "stopped by hand")]),
        ({"status": "aborted"}, [("interrupted", "aborted")]),
        ({"status": "out of turns", "error": None}, [("out of turns", "out of turns")]),
        ({"status": ["error"], "error": "odd"}, [("error", "odd")]),
        ({}, []),
    ],
)
def test_a_turn_that_ended_badly_says_so(path: Path, ended: dict[str, Any], shown: list[tuple[str, str]]) -> None:
    made = told_by(path, ask("go"), tell({"type": "text", "text": "I go."}), {"type": "turn_ended"} | ended)
    ends = [block for block in made[0].blocks() if isinstance(block, Event) and block.detail]
    assert [(end.kind, end.text) for end in ends if end.text] == shown
    assert [end.detail for end in ends] == [{"type": "turn_ended"} | ended]


@pytest.mark.parametrize(("error", "shown"), [("Provider Error: too many lamps", True), ({"code": 7}, False)])
def test_an_error_of_the_provider_is_shown(path: Path, error: Any, shown: bool) -> None:
    failed = {"type": "error", "error": error}
    (round_,) = told_by(path, ask("go"), failed, tell({"type": "text", "text": "I go."}))
    (event,) = [block for block in round_.blocks() if isinstance(block, Event)]
    assert (event.kind, event.text, event.detail) == ("error", error if shown else "", failed)


NOTICE = "<system_notification>\nA task has ended: the lamp test, exit 0.\n</system_notification>"
REMINDER = "<system_reminder>\nOnly plan, change nothing.\n</system_reminder>"
CLOCK = "<timestamp>Friday, Jan 1, 2027, 12:05 PM (UTC)</timestamp>"


REPORT = prompt(f"{CLOCK}\n{NOTICE}", "Briefly inform the user of the result.")
TURNS = [
    prompt(f"{CLOCK}\n{REMINDER}", "which lamps are out?"),
    tell(
        {"type": "text", "text": "I look.\n\n[REDACTED]"},
        {"type": "tool_use", "name": "Shell", "input": {"command": "ls"}},
    ),
    {"type": "turn_ended", "status": "aborted", "error": "stopped by hand"},
    REPORT,
    tell({"type": "text", "text": "[REDACTED]"}, {"type": "text", "text": "None."}),
    {"type": "turn_ended", "status": "success"},
    ask("thanks"),
    {"type": "turn_ended", "status": "error", "error": "no tokens left"},
]
"""A transcript with all that the program puts around what is said."""


def test_a_notice_of_the_program_opens_no_round(path: Path) -> None:
    made = told_by(path, ask("go"), tell({"type": "text", "text": "I go."}), REPORT, tell())
    assert words(made) == ["go", "I go."]
    (event,) = [block for block in made[0].blocks() if isinstance(block, Event) and block.text]
    assert (event.kind, event.ref.at) == ("task notification", "2027-01-01T12:05:00Z")
    assert event.text == REPORT["message"]["content"][0]["text"]


def written(said: str) -> dict[str, Any]:
    return {"role": "user", "message": {"content": [{"type": "text", "text": said}]}}


FOLLOW_UP = "Perform any necessary follow-up actions"
NOTICES = [
    f"{NOTICE}\n<user_query>{FOLLOW_UP} in response to the subagent completion above.</user_query>",
    f"{NOTICE}\n<user_query>{FOLLOW_UP} of the lamp test.</user_query>",
    f"{CLOCK}\n<user_query>{FOLLOW_UP} in response to the *lamps* subagent completion above.</user_query>",
    f"{CLOCK}\n<user_query>\nBriefly inform the user about the task result.\n</user_query>",
    f"\n{NOTICE}\n",
    f"{CLOCK}\n{NOTICE}",
]


@pytest.mark.parametrize("said", NOTICES)
def test_a_notice_may_come_with_other_words_or_alone(path: Path, said: str) -> None:
    made = told_by(path, ask("go"), tell({"type": "text", "text": "I go."}), written(said), tell())
    assert words(made) == ["go", "I go."]
    assert [(b.kind, b.text) for b in made[0].blocks() if isinstance(b, Event) and b.text] == [
        ("task notification", said)
    ]


@pytest.mark.parametrize("said", [said.strip("\n") for said in NOTICES])
def test_a_notice_in_an_exported_chat_opens_no_round(export: Path, said: str) -> None:
    turns = turn("User", "go") + turn("Cursor", "I go.") + turn("User", said) + turn("Cursor", "It is done.")
    (round_,) = exported_as(export, HEAD + turns)
    assert words([round_]) == ["go", "I go.", "It is done."]
    assert [(b.kind, b.text) for b in round_.blocks() if isinstance(b, Event) and b.text] == [
        ("task notification", said)
    ]


@pytest.mark.parametrize(
    "said",
    [
        f"{NOTICE}\nand now?",
        f"{NOTICE}\nand now?\n{NOTICE}",
        "<system_notification>",
        f"<user_query>{FOLLOW_UP} yourself</user_query>",
        "<user_query>Briefly inform the user of the lamps</user_query>",
    ],
)
def test_what_only_looks_like_a_notice_is_a_prompt(path: Path, said: str) -> None:
    assert len(told_by(path, ask("go"), written(said))) == 2


@pytest.mark.parametrize("around", [NOTICE, REMINDER, f"{CLOCK}\n{REMINDER}", "<manually_attached_skills>"])
def test_what_a_human_asked_beside_it_is_a_prompt(path: Path, around: str) -> None:
    assert words(told_by(path, ask("go"), prompt(around, "and now?"))) == ["go", "and now?"]


TOOLS = "<dynamic_tools>\nTools come in namespaces.\n</dynamic_tools>"
CHATS = "<agent_transcripts>\nOlder chats lie below <project>/agent-transcripts.\n</agent_transcripts>"
SERVERS = "<mcp_file_system>\nServers lie in a folder.\n</mcp_file_system>"


@pytest.mark.parametrize(
    "said",
    [
        CLOCK,
        REMINDER,
        f"{CLOCK}\n{NOTICE}\n{REMINDER}\n",
        f"{CLOCK}\n<user_info>\nOS: linux\n</user_info>",
        TOOLS,
        CHATS,
        SERVERS,
        f"{CLOCK}\n{CHATS}\n\n{SERVERS}\n<rules>\nBe brief.\n</rules>",
    ],
)
def test_wrappers_of_the_program_alone_are_no_prompt(path: Path, said: str) -> None:
    made = told_by(path, ask("go"), written(said))
    assert words(made) == ["go"]
    assert [b.detail for b in made[0].blocks() if isinstance(b, Event)] == [said]


@pytest.mark.parametrize(
    "said",
    [
        f"{CLOCK}\nand now?",
        f"{REMINDER} and now?",
        "<system_reminder> and now?",
        f"{TOOLS}\nand now?",
        "<dynamic_tools>",
        "<lamp_list>\n<lamp>east</lamp>\n</lamp_list>",
    ],
)
def test_words_behind_a_wrapper_are_not_hidden(path: Path, said: str) -> None:
    assert words(told_by(path, ask("go"), written(said))) == ["go", said]


def test_what_a_human_pasted_is_claimed() -> None:
    line = json.dumps(written("<lamps>east</lamps>")).encode()
    assert [claim.value for claim in named("cursor").claims(line)] == ["<lamps>east</lamps>"]


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("<user_query>\nand now?\n", ["and now?"]),
        (f"{CLOCK}\n{REMINDER}\n<user_query>and <now>?", ["and <now>?"]),
        ("<user_query>one</user_query>\n<user_query>\ntwo", ["one\n\ntwo"]),
    ],
)
def test_a_query_that_nothing_ends_is_what_is_behind_its_tag(path: Path, said: str, asked: list[str]) -> None:
    made = told_by(path, ask("go"), written(said))
    assert words(made) == ["go", *asked]


@pytest.mark.parametrize("said", ["why does <user_query> stand there?", f"{CLOCK}\nwhy <user_query>?"])
def test_words_before_a_tag_that_nothing_ends_are_not_hidden(path: Path, said: str) -> None:
    assert words(told_by(path, ask("go"), written(said))) == ["go", said]


def test_a_tag_that_the_human_wrote_ends_nothing(path: Path) -> None:
    assert words(told_by(path, ask("why does <user_query> stand there?"))) == ["why does <user_query> stand there?"]


@pytest.mark.parametrize(
    ("said", "text", "thought"),
    [
        ("[REDACTED]", [], ["[REDACTED]"]),
        ("I look.\n\n[REDACTED]", ["I look."], ["[REDACTED]"]),
        ("\n\n[REDACTED]", [], ["[REDACTED]"]),
        ("The log says [REDACTED]", ["The log says [REDACTED]"], []),
        ("[REDACTED]\n\nI look.", ["[REDACTED]\n\nI look."], []),
        ("", [""], []),
    ],
)
def test_a_thought_that_was_withheld_is_no_answer(path: Path, said: str, text: list[str], thought: list[str]) -> None:
    blocks = told_by(path, ask(said or "go"), tell({"type": "text", "text": said}))[0].messages[1].blocks
    assert [block.text for block in blocks if isinstance(block, Text)] == text
    assert [block.text for block in blocks if isinstance(block, Thinking) and block.redacted] == thought


# -- the quick way


WORDS = st.sampled_from(
    ["", "go", "[REDACTED]", "I look.\n\n[REDACTED]", f"{CLOCK}\n<user_query>go</user_query>", REMINDER, "<user_query>"]
)
ODD = WORDS | st.none() | st.integers() | st.lists(st.integers(), max_size=1)
TOLD = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use", "image"])}, optional={"text": ODD, "name": ODD}
)
CALLED = st.fixed_dictionaries(
    {"type": st.just("tool_use"), "name": WORDS}, optional={"input": ODD, "id": ODD, "x": ODD}
)
SPOKEN = st.fixed_dictionaries({"type": st.just("text"), "text": WORDS})
CONTENT = st.fixed_dictionaries({"content": st.lists(SPOKEN | CALLED | TOLD, max_size=3) | ODD}, optional={"role": ODD})
LINE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", None]), "message": CONTENT}, optional={"id": ODD, "at": ODD}
)


@settings(max_examples=400)
@given(LINE)
def test_the_quick_way_says_the_same(line: dict[str, Any]) -> None:
    ref = Ref(7, 70)
    assert quick.tell(json.dumps(line).encode(), ref) in (None, told.tell(line, ref))


def test_the_quick_way_is_taken() -> None:
    call = {"type": "tool_use", "name": "Read", "input": {"path": "a"}}
    for line in (ask("go"), tell({"type": "text", "text": "I go."}, call), tell(call | {"id": "c1"})):
        assert quick.tell(json.dumps(line).encode(), Ref()) == told.tell(line, Ref())
