"""Copilot's events: what is said and done in them, by whom, and what damage does."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import tree

from muniment import check
from muniment.archive import Archive
from muniment.model import Compaction, Event, Facts, Media, Message, Round, Text, Thinking, Tool, Unknown, Usage, codec
from muniment.model.rounds import text_of
from muniment.sources import find_everywhere, find_in
from muniment.sources.base import Move, SourceFile, head_of
from muniment.sources.copilot import SOURCE
from muniment.sources.lines import records

SESSION = "01b00000-0000-4000-8000-000000000001"
FACTS = Facts(SESSION, "copilot")
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Events:
    """A transcript in the making."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        context = {"cwd": "/proj/a", "branch": "main"}
        self.add("session.start", sessionId=SESSION, copilotVersion="1.0.102", context=context)

    def add(self, type_: str, agent: str | None = None, **data: Any) -> str:
        own = f"01b00000-0000-4000-8000-{len(self.lines):012d}"
        parent = f"01b00000-0000-4000-8000-{len(self.lines) - 1:012d}" if self.lines else None
        at = f"2026-07-01T10:00:{len(self.lines):02d}.000Z"
        record = {"type": type_, "data": data, "id": own, "timestamp": at, "parentId": parent}
        self.lines.append(json.dumps(record | ({"agentId": agent} if agent else {})).encode())
        return own

    def call(self, call_id: str, **fields: Any) -> None:
        request = {"toolCallId": call_id, "name": "bash", "arguments": {"command": "ls"}}
        self.add("assistant.message", messageId=f"m-{call_id}", content="", toolRequests=[request], **fields)

    def result(self, call_id: str, **fields: Any) -> None:
        self.add("tool.execution_complete", toolCallId=call_id, **({"success": True} | fields))

    @property
    def data(self) -> bytes:
        return b"\n".join(self.lines) + b"\n"

    def rounds(self) -> list[Round]:
        return read(self.data)


def read(data: bytes, facts: Facts = FACTS) -> list[Round]:
    return list(SOURCE.read(records([data]), facts))


def tools(rounds: list[Round]) -> list[Tool]:
    return [block for round_ in rounds for block in round_.blocks() if isinstance(block, Tool)]


def answers(rounds: list[Round]) -> list[Message]:
    return [message for round_ in rounds for message in round_.messages if message.role == "assistant"]


@pytest.fixture
def events() -> Events:
    made = Events()
    made.add("user.message", content="hello", transformedContent="<now/>hello", delivery="idle")
    return made


def test_words_while_the_agent_works_steer_it_and_open_no_round(events: Events) -> None:
    events.add("user.message", content="and quickly", delivery="steering")
    events.add("user.message", content="next", delivery="idle")
    first, second = events.rounds()
    assert [(text_of(m), m.queued) for m in first.messages] == [("hello", False), ("and quickly", True)]
    assert text_of(second.messages[0]) == "next"


def test_what_the_program_says_in_the_users_name_is_no_prompt(events: Events) -> None:
    events.add("user.message", content="<reminder/>", source="system", delivery="idle")
    (round_,) = events.rounds()
    (event,) = [b for b in round_.blocks() if isinstance(b, Event) and b.kind == "injected by system"]
    assert (event.text, event.detail) == ("", "<reminder/>")


def test_a_call_that_is_told_twice_is_one_block_with_its_result(events: Events) -> None:
    events.call("c1")
    events.add("tool.execution_start", toolCallId="c1", toolName="bash", arguments={"command": "ls"})
    events.result("c1", result={"content": "a b", "detailedContent": "a  b"})
    (tool,) = tools(events.rounds())
    assert (tool.name, tool.input, tool.output, tool.is_error) == ("bash", {"command": "ls"}, (Text("a b"),), False)


def test_a_call_that_nobody_asked_for_is_a_call_all_the_same(events: Events) -> None:
    events.add("tool.execution_start", toolCallId="c9", toolName="bash", arguments={"command": "pwd"})
    events.result("c9", result={"content": "/proj/a"})
    (tool,) = tools(events.rounds())
    assert (tool.name, tool.output) == ("bash", (Text("/proj/a"),))


def test_a_failure_is_told_by_its_message(events: Events) -> None:
    events.call("c1")
    events.result("c1", success=False, error={"code": "denied", "message": "not allowed"})
    (tool,) = tools(events.rounds())
    assert (tool.output, tool.is_error) == ((Text("not allowed"),), True)


def test_subagents_speak_in_the_same_file_and_are_told_apart(events: Events) -> None:
    events.call("c1")
    events.add("subagent.started", "c1", toolCallId="c1", agentName="scout")
    events.add("user.message", "c1", content="look around", source=f"agent-{SESSION}", delivery="idle")
    events.add("assistant.message", "c1", messageId="s1", content="nothing", toolRequests=[], parentToolCallId="c1")
    events.result("c1", result={"content": "done"})
    (round_,) = events.rounds()
    (tool,) = tools([round_])
    assert (tool.sidechain, tool.output) == ("c1", (Text("done"),))
    assert [text_of(m) for m in round_.messages if m.sidechain == "c1"] == ["look around", "nothing"]


def test_tokens_of_the_request_count_else_those_of_the_answer(events: Events) -> None:
    usage = {"inputTokens": 100, "outputTokens": 7, "cacheReadTokens": 60, "cacheWriteTokens": 30}
    events.add("session.usage_record", usage=usage)
    events.add("assistant.message", messageId="m1", content="a", toolRequests=[], outputTokens=7)
    events.add("assistant.message", messageId="m2", content="b", toolRequests=[], outputTokens=5)
    assert [m.usage for m in answers(events.rounds())] == [Usage(10, 7, 60, 30), Usage(output=5)]


def test_the_tokens_of_a_subagent_are_those_of_its_answer(events: Events) -> None:
    """Its requests name the subagent by an id of its own and the call that started it."""
    agent = "01b00000-0000-4000-8000-0000000000aa"
    events.add("session.usage_record", usage={"inputTokens": 100, "outputTokens": 7})
    usage = {"inputTokens": 40, "outputTokens": 3, "parentToolCallId": "c1"}
    events.add("session.usage_record", agent=agent, usage=usage)
    events.add("assistant.message", agent=agent, messageId="s", content="Two files.", parentToolCallId="c1")
    events.add("assistant.message", messageId="m", content="There are two.")
    rounds = events.rounds()
    assert [(m.sidechain, m.usage) for m in answers(rounds)] == [("c1", Usage(40, 3)), (None, Usage(100, 7))]
    assert FACTS.after(rounds[0]).tokens == 150


def test_thinking_keeps_what_only_its_provider_can_read(events: Events) -> None:
    events.add("assistant.message", messageId="m", content="", toolRequests=[], reasoningOpaque="b3BhcXVl")
    (block,) = [b for b in events.rounds()[0].blocks() if isinstance(b, Thinking)]
    assert (block.text, block.signature, block.redacted) == ("", "b3BhcXVl", True)


def test_pictures_are_media_and_other_attachments_are_kept(events: Events) -> None:
    file = {"type": "file", "path": "/proj/a/x"}
    events.add(
        "user.message", content="see", attachments=[{"type": "blob", "data": PNG, "mimeType": "image/png"}, file]
    )
    blocks = events.rounds()[1].messages[0].blocks
    assert [type(block) for block in blocks] == [Text, Media, Unknown]
    assert blocks[2] == Unknown(kind="file", value=file, ref=blocks[2].ref)


def test_a_compaction_holds_its_summary_unless_it_failed(events: Events) -> None:
    events.add("session.compaction_complete", success=True, summaryContent="so far", preCompactionTokens=9)
    events.add("session.compaction_complete", success=False, error="no")
    (block,) = [b for b in events.rounds()[0].blocks() if isinstance(b, Compaction)]
    assert (block.text, block.detail) == ("so far", {"success": True, "preCompactionTokens": 9})


def test_folder_branch_and_program_are_told_where_they_change(events: Events) -> None:
    events.add("session.context_changed", cwd="/proj/b", branch="fix")
    (round_,) = events.rounds()
    assert (round_.messages[0].cwd, round_.messages[0].client) == ("/proj/b", "1.0.102")
    facts = FACTS.after(round_)
    assert (facts.cwd, facts.branch) == ("/proj/b", "fix")


def test_a_title_that_the_agent_gave_is_the_sessions(events: Events) -> None:
    events.add("session.title_changed", title="A greeting")
    assert FACTS.after(events.rounds()[0]).title == "A greeting"


def test_an_event_of_an_unknown_kind_is_kept(events: Events) -> None:
    events.add("session.brand_new", level=3)
    events.add("title", title="not one")
    kinds = {b.kind: b.detail for b in events.rounds()[0].blocks() if isinstance(b, Event)}
    assert kinds["session brand new"] == {"level": 3}
    assert kinds["event title"] == {"title": "not one"}


@pytest.mark.parametrize("line", [b"{torn", b"[]", b"\0" * 20, b'{"data":{}}', b'{"type":3}', b"\xff"])
def test_a_line_that_cannot_be_read_is_reported_and_the_rest_is_read(events: Events, line: bytes) -> None:
    events.lines.insert(1, line)
    rounds = events.rounds()
    assert len([p for r in rounds for p in r.problems("x")]) == 1
    assert text_of(rounds[0].messages[0]) == "hello"


def test_half_a_last_line_is_not_yet_there(events: Events) -> None:
    whole = events.rounds()
    assert read(events.data + events.lines[1][:40]) == whole


@settings(max_examples=60)
@given(st.binary(max_size=80), st.integers(0, 3))
def test_no_bytes_make_it_fail(noise: bytes, position: int) -> None:
    made = Events()
    made.add("user.message", content="hello")
    made.lines.insert(min(position, len(made.lines)), noise.replace(b"\n", b""))
    assert any(text_of(m) == "hello" for r in made.rounds() for m in r.messages)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
NAMES = st.sampled_from(
    ["content", "toolRequests", "result", "toolCallId", "usage", "attachments", "context", "success", "messageId"]
)
TYPES = st.sampled_from(
    sorted([*"abc", "user.message", "assistant.message", "tool.execution_complete", "session.start"])
)


@settings(max_examples=150)
@given(TYPES, st.dictionaries(NAMES, VALUES, max_size=4))
def test_no_content_of_an_event_makes_it_fail(type_: str, data: dict[str, Any]) -> None:
    made = Events()
    made.add(type_, **data)
    rounds = made.rounds()
    assert [codec.encode(round_) for round_ in rounds]
    assert len(list(SOURCE.claims(made.lines[-1]))) > 0


def test_check_tells_when_words_are_lost(events: Events, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events.add("assistant.message", messageId="m", content="here", toolRequests=[], outputTokens=3)
    file = SourceFile("x", "x", "main", len(events.data), 0)

    def report() -> check.Checked:
        return check.check_transcript(SOURCE, FACTS, file, lambda: [events.data])

    assert report().lossless
    whole = SOURCE.read
    monkeypatch.setattr(type(SOURCE), "read", lambda self, lines, facts: whole(list(lines)[:-1], facts))
    assert not report().lossless
    assert report().export["text"].lost == 1


@pytest.fixture
def home(tmp_path: Path, events: Events) -> Path:
    folder = tmp_path / "user" / ".copilot"
    own = folder / "session-state" / SESSION
    for name, content in {
        "events.jsonl": events.data,
        "workspace.yaml": b"name: a greeting\n",
        "checkpoints/001.md": b"# so far\n",
        ".workspace-fork.lock": b"",
    }.items():
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).write_bytes(content)
    (folder / "session-state" / "flat-one.jsonl").write_bytes(events.data.replace(SESSION.encode(), b"flat-one"))
    return folder


def test_a_session_is_its_folder_and_older_ones_are_files(home: Path) -> None:
    found = {f.native_id or f.session_id: f for f in SOURCE.gather(SOURCE.candidates(home), home, [home])}
    assert sorted(Path(f.name).name for f in found[SESSION].files) == ["001.md", "events.jsonl", "workspace.yaml"]
    assert len(found["flat-one"].files) == 1
    assert all(session.home for session in found.values())


def test_every_file_comes_back(home: Path, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "store", {"HOME": str(home.parent)})
    archive.inscribe([])
    before = {name: data for name, data in tree(home).items() if not name.endswith(".lock")}
    shutil.rmtree(home)
    for session in archive.sessions():
        archive.restore(session.session_id)
    assert tree(home) == before


def test_the_home_is_told_or_usual() -> None:
    assert SOURCE.homes({"COPILOT_HOME": "/x"}) == [Path("/x")]
    assert SOURCE.homes({"HOME": "/h"}) == [Path("/h/.copilot")]


@pytest.mark.parametrize("cut", [100, 10_000])
def test_a_transcript_is_known_by_its_content(home: Path, cut: int) -> None:
    path = home / "session-state" / SESSION / "events.jsonl"
    assert SOURCE.matches(path, head_of(path)[:cut])


@pytest.mark.parametrize(
    ("begun", "known"),
    [
        ('{"type":"system.message","data":{"role":"system","content":"', True),
        ('{"type": "user.message", "data": {"content": "', True),
        ('{"type":"tool.execution_complete","data":{"toolCallId":"c1","result":{"content":"', True),
        ('{"type":"system.message","data":{"text":"', False),
        ('{"type":"message","data":{"role":"user","content":"', False),
        ('{"data":{"role":"system","content":"', False),
    ],
)
def test_a_first_event_longer_than_the_head_is_known_by_its_first_fields(begun: str, known: bool) -> None:
    assert SOURCE.matches(Path("x.jsonl"), begun.encode() + b"x" * 70_000) is known


def test_an_original_can_go_to_another_folder_under_another_id(home: Path) -> None:
    data = (home / "session-state" / SESSION / "events.jsonl").read_bytes()
    new = "99999999-9999-4999-8999-999999999999"
    name, pieces = SOURCE.moved(
        f"session-state/{SESSION}/events.jsonl", [data], FACTS.after(read(data)[0]), Move(new, "/proj/new")
    )
    assert name == f"session-state/{new}/events.jsonl"
    first = json.loads(b"".join(pieces).splitlines()[0])
    assert (first["data"]["sessionId"], first["data"]["context"]["cwd"]) == (new, "/proj/new")


BLOCKS = [{"type": "thinking", "thinking": "One lamp.", "signature": "s1"}, {"type": "redacted_thinking", "data": "s2"}]


@pytest.mark.parametrize(
    ("beside", "expected"),
    [
        ({}, [("One lamp.", "s1", False), ("", "s2", True)]),
        ({"reasoningText": "One lamp.", "reasoningOpaque": "o"}, [("One lamp.", "o", False)]),
    ],
)
def test_reasoning_that_is_told_in_blocks_is_read_once(beside: dict[str, Any], expected: list[Any]) -> None:
    events = Events()
    events.add("user.message", content="hello")
    told = {"provider": "anthropic", "blocks": BLOCKS}
    events.add("assistant.message", messageId="m", content="Hi.", toolRequests=[], reasoningBlocks=told, **beside)
    thoughts = [b for r in events.rounds() for b in r.blocks() if isinstance(b, Thinking)]
    assert [(t.text, t.signature, t.redacted) for t in thoughts] == expected
    file = SourceFile("events.jsonl", "events.jsonl", "main", len(events.data), 0)
    checked = check.check_transcript(SOURCE, FACTS, file, lambda: [events.data])
    assert all(tally.kept for tally in checked.document.values())
    assert checked.document["thinking"].equal == len(expected)


# -- what is left where the transcript is gone

GONE = "0a1b2c3d-0000-4000-8000-00000000000a"


def leave(home: Path, *names: str) -> None:
    for name in names:
        path = home / "session-state" / GONE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())


@pytest.mark.parametrize("below", [None, "", "session-state", f"session-state/{GONE}", f"session-state/{GONE}/files"])
def test_what_lies_beside_a_transcript_that_is_gone_is_a_session(tmp_path: Path, below: str | None) -> None:
    home = tmp_path / "user" / ".copilot"
    env = {"HOME": str(tmp_path / "user")}
    leave(home, "plan.md", "workspace.yaml", "checkpoints/001.md", "files/talk.jsonl", "x.lock")
    found = list(find_everywhere(env) if below is None else find_in(home / below, env))
    ((session, files),) = [(one.session_id, [(file.name, file.role) for file in one.files]) for one in found]
    assert session == GONE
    assert files == [
        (f"session-state/{GONE}/{name}", "side")
        for name in ("checkpoints/001.md", "files/talk.jsonl", "plan.md", "workspace.yaml")
    ]


def test_it_is_kept_restored_and_joined_by_a_transcript_that_turns_up(tmp_path: Path) -> None:
    home = tmp_path / "user" / ".copilot"
    archive = Archive(tmp_path / "store", {"HOME": str(tmp_path / "user")})
    leave(home, "plan.md", "checkpoints/001.md")
    before = tree(home)
    outcomes: list[Any] = []
    archive.inscribe([], outcomes.append)
    assert [(one.session_id, one.what) for one in outcomes] == [(GONE, "new")]
    (row,) = archive.sessions()
    assert (row.transcript_gone, row.rounds) == (True, 0)
    assert archive.doctor().gone == (GONE,)
    shutil.rmtree(home)
    archive.restore(GONE)
    assert tree(home) == before
    told = Events()
    told.add("user.message", content="go")
    (home / "session-state" / GONE / "events.jsonl").write_bytes(told.data.replace(SESSION.encode(), GONE.encode()))
    archive.inscribe([], outcomes.append)
    assert [(one.session_id, one.what) for one in outcomes[1:]] == [(GONE, "appended")]
    (row,) = archive.sessions()
    assert not row.transcript_gone
    assert row.rounds


@pytest.mark.parametrize("names", [["workspace.yaml"], ["workspace.yaml", "rewind-file-snapshots/tracking.json"]])
def test_a_folder_in_which_nothing_was_said_is_no_session(tmp_path: Path, names: list[str]) -> None:
    leave(tmp_path / ".copilot", *names)
    assert list(find_everywhere({"HOME": str(tmp_path)})) == []
    assert list(find_in(tmp_path, {"HOME": str(tmp_path)})) == []
