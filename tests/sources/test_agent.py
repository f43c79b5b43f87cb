"""The format `agent`: every example of its specification, its dialect, and its messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recorded import blocks, exported, fold, read, record, written

from muniment import demo, sources
from muniment.archive import Archive
from muniment.errors import Unsupported
from muniment.model import Compaction, Event, Facts, Text, Thinking, Tool, Unknown, Usage
from muniment.model import events as types
from muniment.model.events import Event as Happened
from muniment.model.rounds import text_of
from muniment.record import Recorder
from muniment.sources.agent import SOURCE, entries, messages, parse_entry, parse_line
from muniment.sources.agent.dialect import Agent
from muniment.sources.base import Move

HEADER = (
    b'{"type":"session","id":"a3f7c901-...","version":1,"timestamp":"2026-02-26T14:30:12Z","cwd":"/home/user/project"}'
)
USER = (
    b'{"type":"message","id":"d4e5f6a7","parent_id":"c3d4e5f6","timestamp":"2026-02-26T14:30:13Z","role":"user",'
    b'"message":{"role":"user","content":[{"type":"text","text":"Hello!"}],"timestamp":1740579013000}}'
)
ASSISTANT = (
    b'{"type":"message","id":"e5f6a7b8","parent_id":"d4e5f6a7","timestamp":"2026-02-26T14:30:15Z","role":"assistant",'
    b'"message":{"role":"assistant","content":[{"type":"text","text":"Hello! How can I help?"}],'
    b'"model":"claude-sonnet-4-5","provider":"anthropic","usage":{"input":12,"output":8,"total_tokens":20},'
    b'"stop_reason":"stop","timestamp":1740579015000}}'
)
RESULT = (
    b'{"type":"message","id":"f6a7b8c9","parent_id":"e5f6a7b8","timestamp":"2026-02-26T14:30:16Z","role":"tool_result",'
    b'"message":{"role":"tool_result","tool_call_id":"call_abc","tool_name":"bash",'
    b'"content":[{"type":"text","text":"main.go\\npkg/\\n"}],"is_error":false,"timestamp":1740579016000}}'
)
COMPACTION = (
    b'{"type":"compaction","id":"a1b2c3d4","parent_id":"f6a7b8c9","timestamp":"2026-02-26T15:00:00Z",'
    b'"summary":"## Goal\\nRefactor the auth module...\\n\\n## Progress\\n...","first_kept_entry_id":"f6a7b8c9",'
    b'"tokens_before":45000}'
)
BRANCH = (
    b'{"type":"branch","id":"b2c3d4e5","timestamp":"2026-02-26T15:30:00Z",'
    b'"parent_session_path":"/home/user/.config/agent/sessions/20260226-143012-a3f7c901.jsonl",'
    b'"fork_entry_id":"f6a7b8c9","branch_summary":"User was refactoring the auth module..."}'
)
USER_OBJECT = b'{"role":"user","content":[{"type":"text","text":"..."}],"timestamp":1740579013000}'
ASSISTANT_OBJECT = (
    b'{"role":"assistant","content":[{"type":"text","text":"..."},{"type":"thinking","thinking":"..."},'
    b'{"type":"tool_call","id":"call_abc","name":"bash","arguments":{"command":"ls"}}],"model":"claude-sonnet-4-5",'
    b'"provider":"anthropic","usage":{"input":100,"output":50,"cache_read":80,"cache_write":20,"total_tokens":150},'
    b'"stop_reason":"tool_use","timestamp":1740579015000}'
)
RESULT_OBJECT = (
    b'{"role":"tool_result","tool_call_id":"call_abc","tool_name":"bash",'
    b'"content":[{"type":"text","text":"output..."}],"details":null,"is_error":false,"timestamp":1740579016000}'
)


def entry_of(message: bytes, id_: bytes) -> bytes:
    role = json.loads(message)["role"].encode()
    about = b'"parent_id":"00000000","timestamp":"2026-02-26T14:30:13Z"'
    return b'{"type":"message","id":"%b",%b,"role":"%b","message":%b}' % (id_, about, role, message)


EXAMPLES = {
    "header": HEADER,
    "user": USER,
    "assistant": ASSISTANT,
    "tool_result": RESULT,
    "compaction": COMPACTION,
    "branch": BRANCH,
    "user object": entry_of(USER_OBJECT, b"00000001"),
    "assistant object": entry_of(ASSISTANT_OBJECT, b"00000002"),
    "tool_result object": entry_of(RESULT_OBJECT, b"00000003"),
}
FILE = b"".join(line + b"\n" for line in EXAMPLES.values())
each_example = pytest.mark.parametrize("line", EXAMPLES.values(), ids=EXAMPLES)


# -- every example of the specification


@each_example
def test_an_example_is_read_and_written_back_unchanged(line: bytes) -> None:
    assert written(SOURCE, line + b"\n") == (line + b"\n", [])


@each_example
def test_an_example_says_what_the_dialect_writes(line: bytes) -> None:
    dialect = Agent()
    (made,) = dialect.lines(dialect.events(line))
    assert made.line == line
    assert dialect.identify(line) == (made.key, made.fingerprint)


@each_example
def test_an_example_is_an_entry(line: bytes) -> None:
    kind, raw = parse_line(line)
    entry = parse_entry(raw)
    assert (kind, raw) == (json.loads(line)["type"], line)
    assert entry.id == json.loads(line)["id"]


def test_the_examples_are_typed() -> None:
    header, message, cut, branch = (parse_entry(line) for line in (HEADER, USER, COMPACTION, BRANCH))
    assert isinstance(header, entries.Header)
    assert (header.version, header.cwd) == (1, "/home/user/project")
    assert isinstance(message, entries.MessageEntry)
    assert (message.role, message.parent_id) == ("user", "c3d4e5f6")
    assert isinstance(cut, entries.CompactionEntry)
    assert (cut.first_kept_entry_id, cut.tokens_before) == ("f6a7b8c9", 45000)
    assert isinstance(branch, entries.BranchEntry)
    assert branch.fork_entry_id == "f6a7b8c9"


def test_all_examples_together_survive_the_archive(
    archive: Archive, inscribe: Callable[..., object], tmp_path: Path
) -> None:
    path = tmp_path / "20260226-143012-a3f7c901.jsonl"
    path.write_bytes(FILE)
    assert exported(archive, inscribe, path, "agent", tmp_path / "out") == FILE


@pytest.mark.parametrize("line", [b"", b"[]", b"{}", b'{"type":1}', b"{", b"null", b"\xff"])
def test_what_is_no_entry_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_line(line)
    with pytest.raises(ValueError, match=r"."):
        parse_entry(line)
    with pytest.raises(ValueError, match=r"."):
        Agent().events(line)
    assert Agent().identify(line) is None


# -- messages as the model sees them


def said(*lines: bytes) -> list[str]:
    return [message["content"][0]["text"] for message in messages(parse_entry(line) for line in lines)]


def test_without_a_compaction_messages_are_those_of_the_file() -> None:
    made = messages(parse_entry(line) for line in (HEADER, USER, ASSISTANT, RESULT))
    assert made == [json.loads(line)["message"] for line in (USER, ASSISTANT, RESULT)]


def test_one_synthetic_prompt_stands_for_all_before_the_first_kept_entry() -> None:
    after = entry_of(USER_OBJECT, b"00000001")
    made = messages(parse_entry(line) for line in (HEADER, USER, ASSISTANT, RESULT, COMPACTION, after))
    summary = json.loads(COMPACTION)["summary"]
    first = {"role": "user", "content": [{"type": "text", "text": summary}], "timestamp": 1772118000000}
    assert made == [first, json.loads(RESULT)["message"], json.loads(USER_OBJECT)]


def test_the_last_compaction_counts() -> None:
    second = COMPACTION.replace(b"a1b2c3d4", b"a1b2c3d5").replace(b"## Goal", b"## Then")
    second = second.replace(b'"first_kept_entry_id":"f6a7b8c9"', b'"first_kept_entry_id":"00000001"')
    after = entry_of(USER_OBJECT, b"00000001")
    texts = said(USER, ASSISTANT, RESULT, COMPACTION, after, second)
    assert [text[:7] for text in texts] == ["## Then", "..."]


def test_a_compaction_that_keeps_nothing_names_itself() -> None:
    own = COMPACTION.replace(b'"first_kept_entry_id":"f6a7b8c9"', b'"first_kept_entry_id":"a1b2c3d4"')
    assert [text[:7] for text in said(USER, ASSISTANT, RESULT, own)] == ["## Goal"]


def test_a_compaction_that_names_nothing_there_does_not_count() -> None:
    torn = COMPACTION.replace(b'"first_kept_entry_id":"f6a7b8c9"', b'"first_kept_entry_id":"99999999"')
    assert said(USER, ASSISTANT, torn) == ["Hello!", "Hello! How can I help?"]


# -- reading


def test_rounds_begin_at_prompts_and_an_answer_is_one_message() -> None:
    rounds = read(SOURCE, FILE)
    assert [text_of(round_.prompt) for round_ in rounds if round_.prompt] == ["Hello!", "..."]
    assert [(m.role, m.model) for m in rounds[1].messages] == [("user", None), ("assistant", "claude-sonnet-4-5")]
    (tool,) = [block for block in rounds[1].blocks() if isinstance(block, Tool)]
    assert (tool.id, tool.name, tool.input, tool.output) == (
        "call_abc",
        "bash",
        {"command": "ls"},
        (Text("output..."),),
    )
    assert [type(block) for block in rounds[1].messages[1].blocks] == [Text, Thinking, Tool]


@pytest.mark.parametrize("said", [{"arguments": {"x": 1}}, {"input": {"x": 1}}, {"args": {"x": 1}}, {"x": 1}])
def test_a_call_is_understood_by_other_names(said: dict[str, Any]) -> None:
    part = {"type": "tool_call", "id": "c", "name": "ls"} | said
    message = {"role": "assistant", "content": [part], "model": "m"}
    line = json.dumps({"type": "message", "id": "00000001", "role": "assistant", "message": message}).encode() + b"\n"
    assert [(tool.name, tool.input) for tool in blocks(read(SOURCE, line), Tool)] == [("ls", {"x": 1})]
    assert [claim.value for claim in SOURCE.claims(line) if claim.field == "tool input"] == [{"x": 1}]


def test_cached_tokens_are_part_of_the_input_unless_the_total_says_otherwise() -> None:
    example = {"input": 100, "output": 50, "cache_read": 80, "cache_write": 20, "total_tokens": 150}
    assert SOURCE.usage({"usage": example}) == Usage(0, 50, 80, 20)
    assert SOURCE.usage({"usage": example | {"total_tokens": 250}}) == Usage(100, 50, 80, 20)
    assert SOURCE.usage({"usage": {"input": 12, "output": 8, "total_tokens": 20}}) == Usage(12, 8)
    assert SOURCE.usage({"usage": {"input": "many", "output": True, "cache_read": -1}}) is not None
    assert SOURCE.usage({}) is None


def test_a_compaction_and_a_fork_are_told() -> None:
    rounds = read(SOURCE, FILE)
    assert [block.text[:7] for block in blocks(rounds, Compaction)] == ["## Goal"]
    facts = fold(rounds, Facts("x", "agent"))
    parent = "/home/user/.config/agent/sessions/20260226-143012-a3f7c901.jsonl"
    assert [(link.kind, link.session, link.record) for link in facts.links] == [("fork", parent, "f6a7b8c9")]
    assert "User was refactoring the auth module..." in [block.text for block in blocks(rounds, Event)]
    assert (facts.cwd, facts.model) == ("/home/user/project", "claude-sonnet-4-5")


def test_unknown_entries_are_kept_and_damage_is_told() -> None:
    label = b'{"type":"label","id":"00000009","timestamp":"2026-02-26T14:30:13Z","text":"x","n":0.00001}'
    odd = b'{"type":"message","id":"0000000a","role":"poet","message":{"role":"poet","content":"ode"}}'
    data = b"\n".join([HEADER, USER, b'{"type":"mess', label, odd, b""])
    rounds = read(SOURCE, data)
    assert [block.kind for block in blocks(rounds, Event)] == ["header", "label", "message poet"]
    assert [block.ref.offset for block in blocks(rounds, Unknown) if block.damage] == [data.index(b'{"type":"mess\n')]
    back, losses = written(SOURCE, data)
    assert back == b"".join(line + b"\n" for line in (HEADER, USER, label, odd))
    assert [(loss.what, loss.count) for loss in losses] == [("damaged line", 1)]


def test_an_unfinished_last_line_is_not_yet_there() -> None:
    assert read(SOURCE, HEADER + b"\n" + USER + b"\n" + ASSISTANT[:-5]) == read(SOURCE, HEADER + b"\n" + USER + b"\n")


# -- in the formats of others


def test_records_for_another_client_hang_on_one_another() -> None:
    """Ids of entries mean nothing there: none may be left as the parent of a record."""
    sample = next((demo.SAMPLES / "agent").rglob("*.jsonl")).read_bytes()
    rounds = read(SOURCE, sample)
    media = {name: content for round_ in rounds for name, content in round_.media.items()}
    target = sources.named("claude-code")
    data = b"".join(target.write(rounds, fold(rounds, Facts("x", "agent")), Move(), media.__getitem__, []))
    made = [json.loads(line) for line in data.splitlines()]
    ids = {line["uuid"] for line in made}
    assert {line["parentUuid"] for line in made} <= {None, *ids}
    assert {line["subtype"] for line in made[1:] if line["parentUuid"] is None} == {"compact_boundary"}


# -- finding


def test_sessions_are_found_where_the_program_keeps_them(tmp_path: Path) -> None:
    (home,) = SOURCE.homes({"HOME": str(tmp_path)})
    assert home == tmp_path / ".config" / "agent"
    assert SOURCE.homes({"HOME": "/x", "XDG_CONFIG_HOME": "/conf"}) == [Path("/conf/agent")]
    path = home / "sessions" / "20260226-143012-a3f7c901.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(HEADER.replace(b"-...", b"-1111-4111-8111-111111111111") + b"\n" + USER + b"\n")
    (found,) = SOURCE.gather(SOURCE.candidates(home), home, [home])
    assert (found.session_id, found.native_id, found.home) == ("a3f7c901-1111-4111-8111-111111111111", None, True)
    assert SOURCE.place(Facts(found.session_id, "agent", started="2026-02-26T14:30:12Z"), Move()) == found.files[0].name


def test_folders_of_a_recorder_are_homes_too(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "MUNIMENT_RECORDER": str(tmp_path)}
    here, other = tmp_path / "here", tmp_path / "other"
    for folder in (here, other):
        (folder / "sessions").mkdir(parents=True)
    (here / "sessions" / "mine.jsonl").write_bytes(FILE)
    (other / "sessions" / "theirs.jsonl").write_bytes(b'{"type":"session","version":3,"id":"x"}\n')
    lines = [json.dumps({"path": str(folder)}) for folder in (here, other, tmp_path / "gone")]
    (tmp_path / "places.jsonl").write_text("\n".join(lines))
    own, *recorded = SOURCE.homes(env)
    assert (own, recorded) == (tmp_path / ".config" / "agent", [here, other])
    assert [path.name for home in recorded for path in SOURCE.candidates(home)] == ["mine.jsonl"]


@pytest.mark.parametrize(
    "head",
    [
        b'{"type":"session","version":3,"id":"x","timestamp":"t","cwd":"/w"}\n',
        b'{"type":"session","version":1,"id":"x","timestamp":"t","cwd":"/w"}\n'
        b'{"type":"message","id":"00000002","parentId":"00000001","timestamp":"t","message":{"role":"user"}}\n',
        b'{"type":"session","id":"x","timestamp":"t","cwd":"/w","parentSession":"/a"}\n',
        b'{"type":"session","id":"x","sessionId":"y"}\n',
        b'{"type":"message","message":{"role":"user"}}\n',
    ],
)
def test_sessions_of_pi_and_others_are_not_claimed(head: bytes) -> None:
    assert not SOURCE.matches(Path("x.jsonl"), head)


def test_a_header_or_an_entry_by_itself_is_claimed() -> None:
    for line in (HEADER, USER, COMPACTION, BRANCH):
        assert SOURCE.matches(Path("x.jsonl"), line + b"\n")
        assert SOURCE.matches(Path("x.jsonl"), b'{"type":"sess\n' + line + b"\n" + USER[:50])


# -- the dialect


def event(type_: str, payload: Any = None, id_: str = "00000002", prev: str | None = "00000001") -> Happened:
    return Happened(type_, "2026-02-26T14:30:12.250Z", id_, prev, payload)


def header(**more: Any) -> Happened:
    said = {"session_id": "a3f7c901-1111-4111-8111-111111111111", "start_ts": "2026-02-26T15:30:12+01:00"}
    return event(types.HEADER, said | {"cwd": "/proj/x", "model": "m"} | more, "f" * 32, None)


def lines(*events: Happened) -> list[dict[str, Any]]:
    return [json.loads(made.line) for made in Agent().lines(events)]


def test_a_file_is_named_by_its_time_and_id(tmp_path: Path) -> None:
    assert Agent().place(tmp_path, header()) == tmp_path / "sessions" / "20260226-143012-a3f7c901.jsonl"
    assert Agent().folder(tmp_path) == tmp_path / "sessions"
    assert len(Agent().new_id()) == 8
    int(Agent().new_id(), 16)


def test_what_follows_the_header_has_no_parent() -> None:
    (line,) = lines(event(types.USER, {"text": "hi"}, prev="f" * 32))
    assert "parent_id" not in line
    assert line["message"] == {
        "role": "user",
        "content": [{"type": "text", "text": "hi"}],
        "timestamp": 1772116212250,
    }


def test_a_header_says_what_the_specification_says_and_no_more() -> None:
    assert list(lines(header())[0]) == ["type", "id", "version", "timestamp", "cwd"]


def test_a_summary_and_its_boundary_are_one_entry() -> None:
    cut = {"first_kept": "00000001", "tokens_before": 7, "headUuid": "x", "tailUuid": "y"}
    (line,) = lines(event(types.SUMMARY, {"text": "S"}), event(types.COMPACTION, cut, "00000003", "00000002"))
    about = {"type": "compaction", "id": "00000003", "parent_id": "00000001", "timestamp": "2026-02-26T14:30:12.250Z"}
    assert line == about | {"summary": "S", "first_kept_entry_id": "00000001", "tokens_before": 7}
    with pytest.raises(ValueError, match="given together"):
        lines(event(types.COMPACTION, cut))


def test_a_summary_by_itself_is_the_prompt_that_the_format_makes_of_it() -> None:
    assert lines(event(types.SUMMARY, {"text": "S"}))[0]["message"]["content"] == [{"type": "text", "text": "S"}]


def test_what_belongs_to_one_answer_is_one_entry_and_comes_apart_again() -> None:
    spoken = [
        event(types.THINKING, {"text": "hm"}, "00000002.0"),
        event(types.TOOL_CALL, {"id": "c", "name": "ls", "input": {}}, "00000002", "00000002.0"),
    ]
    (made,) = Agent().lines(spoken)
    again = Agent().events(made.line)
    assert [(e.type, e.uuid, e.prev_uuid) for e in again] == [(e.type, e.uuid, e.prev_uuid) for e in spoken]


def test_a_part_that_becomes_an_entry_of_its_own_gets_an_id_of_its_own() -> None:
    (line,) = lines(event(types.ASSISTANT, {"text": "hm"}, "00000002.0"))
    assert len(line["id"]) == 8
    assert line["id"] != "00000002"


@pytest.mark.parametrize("type_", [types.CHECKPOINT, types.SIDECHAIN, types.RECOVERY, types.TERMINATOR])
def test_events_around_the_conversation_have_no_line(type_: str) -> None:
    assert Agent().lines([event(type_, {})]) == []


@pytest.mark.parametrize("type_", [types.RESTRICTION, "telepathy"])
def test_an_event_that_must_not_be_dropped_is_refused(type_: str) -> None:
    with pytest.raises(Unsupported) as refused:
        Agent().lines([event(type_, {"tool": "bash"})])
    assert refused.value.hint


def test_the_time_is_no_part_of_what_makes_a_line_the_same() -> None:
    first, later, other = (
        Agent().lines([Happened(types.USER, at, "00000002", None, {"text": text})])[0]
        for at, text in (("2026-01-01T00:00:00Z", "a"), ("2026-01-01T00:00:09Z", "a"), ("2026-01-01T00:00:00Z", "b"))
    )
    assert (first.key, first.fingerprint) == (later.key, later.fingerprint)
    assert first.fingerprint != other.fingerprint


def test_a_harness_records_in_this_format(archive: Archive, inscribe: Callable[..., object], tmp_path: Path) -> None:
    with Recorder.start(cwd="/proj/x", dialect="agent", root=tmp_path / "a", home=tmp_path / "rec") as rec:
        rec.user("hello")
        rec.tool_result(rec.tool_call("bash", {"command": "ls"}), "a.txt")
        kept = rec.assistant("One file.", model="m", provider="p", usage={"input": 3, "output": 2, "total_tokens": 5})
        rec.compact("There is one file.", first_kept=kept.uuid, tokens_before=40)
        rec.user("Thanks")
        with pytest.raises(Unsupported):
            rec.permissions.deny("bash")
    data = rec.path.read_bytes()
    seen = messages(parse_entry(line) for line in data.splitlines())
    assert [m["content"][0]["text"] for m in seen] == ["There is one file.", "One file.", "Thanks"]
    assert exported(archive, inscribe, rec.path, "agent", tmp_path / "out") == data


def test_a_subagent_is_read_in_the_recorders_own_lines(
    archive: Archive, inscribe: Callable[..., object], tmp_path: Path
) -> None:
    """Its file belongs to the session, whichever format that is in, also when everything is read anew."""
    with Recorder.start(cwd="/proj/x", dialect="agent", root=tmp_path / "a", home=tmp_path / "rec") as rec:
        rec.user("hello")
        with rec.sidechain("task-1") as side:
            side.append(types.ASSISTANT, {"text": "The lamp is dark."})
    inscribe(tmp_path / "a")
    (listed,) = archive.sessions()
    document = archive.shelf(listed).sidechain("task-1").document
    assert "The lamp is dark." in document.read_text()
    archive.reindex()
    assert "The lamp is dark." in document.read_text()
    assert [report.note for report in archive.check_stored()] == ["", ""]


def test_a_recorded_session_survives_the_archive(
    archive: Archive, inscribe: Callable[..., object], tmp_path: Path
) -> None:
    dialect = Agent()
    groups = [
        [header()],
        [event(types.BRANCH, {"parent_path": "/proj/p.jsonl", "fork_uuid": "0", "summary": ""}, "00000001", None)],
        [event(types.USER, {"text": "go <on> & \u2028 on \U0001f600"})],
        [event(types.THINKING, {"text": "hm"}, "00000003", "00000002")],
        [event(types.TOOL_CALL, {"id": "c1", "name": "ls", "input": {"n": 0.00001}}, "00000004", "00000003")],
        [event(types.SIDECHAIN, {"task_id": "t"}, "00000005", "00000004")],
        [event(types.TOOL_RESULT, {"id": "c1", "name": "ls", "output": "a", "is_error": True}, "00000006", "00000004")],
        [
            event(types.SUMMARY, {"text": "S"}, "00000007", "00000006"),
            event(types.COMPACTION, {"first_kept": None, "tokens_before": None}, "00000008", "00000007"),
        ],
        [event(types.ASSISTANT, {"text": "done", "model": "m", "usage": {"input": 3}}, "00000009", "00000008")],
        [event(types.TERMINATOR, {"statistics": {}}, "0000000a", "00000009")],
    ]
    path = dialect.place(tmp_path / "agent", groups[0][0])
    data = record(dialect, path, groups)
    assert data.count(b"\n") == 8
    assert exported(archive, inscribe, path, "agent", tmp_path / "out") == data
    assert (tmp_path / "out" / "sessions" / path.name).exists()
