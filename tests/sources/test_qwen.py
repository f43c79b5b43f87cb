"""Qwen's records: what is said and done in them, by whom, where they lie, and what damage does."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.conftest import tree

from muniment import check, sources
from muniment.archive import Archive
from muniment.model import Compaction, Event, Facts, Media, Message, Round, Text, Thinking, Tool, Unknown, Usage, codec
from muniment.model.facts import Link
from muniment.model.rounds import text_of
from muniment.sources.base import Move, SourceFile, head_of
from muniment.sources.lines import records
from muniment.sources.qwen import SOURCE

SESSION = "0e000000-0000-4000-8000-000000000001"
OTHER = "99999999-9999-4999-8999-999999999999"
FACTS = Facts(SESSION, "qwen")
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PICTURE = {"inlineData": {"mimeType": "image/png", "data": PNG}}


def name_of(number: int) -> str:
    return f"0e000000-0000-4000-8000-{number:012d}"


class Records:
    """A transcript in the making."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def add(self, type_: str, **fields: Any) -> str:
        number = len(self.lines)
        record: dict[str, Any] = {
            "uuid": name_of(number + 100),
            "parentUuid": name_of(number + 99) if number else None,
            "sessionId": SESSION,
            "timestamp": f"2026-07-01T10:00:{number:02d}.000Z",
            "type": type_,
            "cwd": "/proj/a",
            "version": "0.24.4",
        }
        self.lines.append(json.dumps(record | fields, separators=(",", ":")).encode())
        return record["uuid"]

    def user(self, *parts: Any, **fields: Any) -> str:
        return self.add("user", **fields, message={"role": "user", "parts": [text(part) for part in parts]})

    def says(self, *parts: Any, **fields: Any) -> str:
        return self.add("assistant", **fields, message={"role": "model", "parts": [text(part) for part in parts]})

    def calls(self, call_id: str, name: str = "glob", **given: Any) -> str:
        return self.says({"functionCall": {"id": call_id, "name": name, "args": given}})

    def result(self, call_id: str, *beside: Any, response: Any, **told: Any) -> str:
        part = {"functionResponse": {"id": call_id, "name": "glob", "response": response}}
        told = {"callId": call_id, "status": "success"} | told
        return self.add("tool_result", message={"role": "user", "parts": [part, *beside]}, toolCallResult=told)

    def system(self, subtype: str, **payload: Any) -> str:
        return self.add("system", subtype=subtype, systemPayload=payload)

    @property
    def data(self) -> bytes:
        return b"\n".join(self.lines) + b"\n"

    def rounds(self) -> list[Round]:
        return read(self.data)


def text(part: Any) -> Any:
    return {"text": part} if isinstance(part, str) else part


def read(data: bytes, facts: Facts = FACTS) -> list[Round]:
    return list(SOURCE.read(records([data]), facts))


def blocks(rounds: list[Round], kind: type) -> list[Any]:
    return [block for round_ in rounds for block in round_.blocks() if isinstance(block, kind)]


def answers(rounds: list[Round]) -> list[Message]:
    return [message for round_ in rounds for message in round_.messages if message.role == "assistant"]


@pytest.fixture
def told() -> Records:
    made = Records()
    made.user("hello")
    return made


# -- what was said


def test_a_prompt_opens_a_round_and_words_meanwhile_steer_it(told: Records) -> None:
    told.user("and quickly", subtype="mid_turn_user_message", systemPayload={"displayText": "and quickly"})
    told.user("next")
    first, second = told.rounds()
    assert [(text_of(m), m.queued) for m in first.messages] == [("hello", False), ("and quickly", True)]
    assert (text_of(second.messages[0]), second.parent) == ("next", name_of(101))


@pytest.mark.parametrize("subtype", ["notification", "cron", "goal_runtime", "something_new"])
def test_what_the_program_says_in_the_users_name_is_no_prompt(told: Records, subtype: str) -> None:
    told.user("a task ended", subtype=subtype, systemPayload={"displayText": "ended"})
    (round_,) = told.rounds()
    (event,) = blocks([round_], Event)
    assert (event.kind, event.text) == (f"user {subtype}".replace("_", " "), "a task ended")


def test_named_files_and_what_a_hook_adds_are_no_words_of_the_person(told: Records) -> None:
    hook = "<qwen:user-prompt-submit-context>\nbe kind\n</qwen:user-prompt-submit-context>"
    told.user("look at @a", hook, "\n--- Content from referenced files ---", "a\n")
    prompt = told.rounds()[1].messages[0]
    assert text_of(prompt) == "look at @a"
    assert [b.kind for b in prompt.blocks if isinstance(b, Event)] == ["hook context", *["referenced files"] * 2]


def test_an_answer_has_thoughts_words_and_calls_in_their_order(told: Records) -> None:
    call = {"functionCall": {"id": "c1", "name": "glob", "args": {"pattern": "*"}}}
    told.says({"text": "hm", "thought": True, "thoughtSignature": "s"}, "I look.", call, model="qwen3")
    (answer,) = answers(told.rounds())
    thought, words, tool = answer.blocks
    assert isinstance(thought, Thinking)
    assert (thought.text, thought.signature) == ("hm", "s")
    assert isinstance(words, Text)
    assert isinstance(tool, Tool)
    assert (tool.id, tool.name, tool.input, tool.output) == ("c1", "glob", {"pattern": "*"}, None)
    assert answer.model == "qwen3"


@pytest.mark.parametrize(
    ("thoughts", "total", "counted"),
    [(4, 110, Usage(40, 10, 60)), (4, 114, Usage(40, 14, 60)), (0, 110, Usage(40, 10, 60))],
    ids=["thoughts in the answer", "thoughts beside it", "no thoughts"],
)
def test_tokens_are_counted_once(told: Records, thoughts: int, total: int, counted: Usage) -> None:
    usage = {"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 10}
    told.says("yes", usageMetadata=usage | {"thoughtsTokenCount": thoughts, "totalTokenCount": total})
    told.system("ui_telemetry", uiEvent={"event.name": "qwen-code.api_response", "input_token_count": 100})
    assert [m.usage for m in answers(told.rounds())] == [counted]


def test_pictures_are_media_and_unknown_parts_are_kept(told: Records) -> None:
    told.user("see", PICTURE, {"fileData": {"fileUri": "x"}})
    made = told.rounds()[1].messages[0].blocks
    assert [type(block) for block in made] == [Text, Media, Unknown]
    assert (made[2].kind, made[2].value) == ("fileData", {"fileData": {"fileUri": "x"}})  # pyright: ignore


# -- tools


def test_results_find_their_calls_whatever_their_order(told: Records) -> None:
    told.calls("c1")
    told.calls("c2")
    told.result("c2", response={"error": "no"}, status="error")
    told.result("c1", response={"output": "yes"})
    assert [(t.id, t.output, t.is_error) for t in blocks(told.rounds(), Tool)] == [
        ("c1", (Text("yes"),), False),
        ("c2", (Text("no"),), True),
    ]


def test_what_lies_beside_a_result_belongs_to_it(told: Records) -> None:
    told.calls("c1")
    told.result("c1", PICTURE, {"text": "a pixel"}, response={"rows": 3})
    (tool,) = blocks(told.rounds(), Tool)
    assert [type(part) for part in tool.output] == [Unknown, Media, Text]
    assert tool.output[0].value == {"rows": 3}


def test_a_call_that_starts_a_subagent_names_its_file(told: Records) -> None:
    told.calls("c:1", "agent", prompt="look")
    shown = {"type": "task_execution", "subagentName": "general-purpose"}
    told.result("c:1", response={"output": "seen"}, resultDisplay=shown)
    (tool,) = blocks(told.rounds(), Tool)
    assert tool.sidechain == "general-purpose-c_1"


# -- around it


def test_a_compression_holds_the_summary_that_took_the_place_of_the_history(told: Records) -> None:
    shorter = [{"role": "user", "parts": [{"text": "so far"}]}, {"role": "model", "parts": [{"text": "I see"}]}]
    told.system("chat_compression", info={"originalTokenCount": 9}, compressedHistory=shorter)
    (block,) = blocks(told.rounds(), Compaction)
    assert (block.text, block.detail) == ("so far", {"originalTokenCount": 9})


def test_what_follows_a_rewind_belongs_to_the_next_prompt(told: Records) -> None:
    told.says("hi")
    told.add("system", subtype="rewind", systemPayload={"truncatedCount": 1}, parentUuid=name_of(100))
    told.user("otherwise")
    first, second = told.rounds()
    assert [text_of(m) for m in first.messages] == ["hello", "hi"]
    assert [block.kind for block in blocks([second], Event)] == ["system rewind"]
    assert text_of(second.messages[0]) == "otherwise"


@pytest.mark.parametrize(("source", "by"), [("manual", "user"), ("auto", "ai"), (None, "user")])
def test_a_title_is_the_sessions(told: Records, source: str | None, by: str) -> None:
    told.system("custom_title", customTitle="A greeting", **({"titleSource": source} if source else {}))
    facts = FACTS.after(told.rounds()[0])
    assert (facts.title, facts.title_by) == ("A greeting", by)


def test_folder_branch_and_program_are_told_where_they_change(told: Records) -> None:
    told.says("hi", cwd="/proj/b", gitBranch="fix")
    (round_,) = told.rounds()
    assert [(m.cwd, m.branch, m.client) for m in round_.messages] == [
        ("/proj/a", None, "0.24.4"),
        ("/proj/b", "fix", None),
    ]


def test_other_sessions_are_noted_once(told: Records) -> None:
    for number in range(2):
        told.user("again", forkedFrom={"sessionId": OTHER, "messageUuid": f"m{number}"})
    facts = FACTS
    for round_ in told.rounds():
        facts = facts.after(round_)
    assert facts.links == (Link("fork", OTHER, "m0"),)


def test_the_window_is_told_where_an_answer_has_it(told: Records) -> None:
    told.says("hi", contextWindowSize=262144)
    windows = [SOURCE.hints(event).window for event in blocks(told.rounds(), Event)]
    assert windows == [262144]


def test_a_failed_request_is_shown_and_other_measurements_are_not(told: Records) -> None:
    told.system("ui_telemetry", uiEvent={"event.name": "qwen-code.api_error", "error_message": "too many requests"})
    told.system("ui_telemetry", uiEvent={"event.name": "qwen-code.tool_call", "error": "no such file"})
    assert [event.text for event in blocks(told.rounds(), Event)] == ["too many requests", ""]


def test_a_record_of_an_unknown_kind_is_kept(told: Records) -> None:
    told.system("brand_new", level=3)
    told.add("title", systemPayload={"title": "not one"})
    kinds = {event.kind: event.detail for event in blocks(told.rounds(), Event)}
    assert kinds == {"system brand new": {"level": 3}, "title record": {"title": "not one"}}


# -- damage


@pytest.mark.parametrize("line", [b"{torn", b"[]", b"\0" * 20, b'{"uuid":"x"}', b'{"type":3}', b"\xff"])
def test_a_line_that_cannot_be_read_is_reported_and_the_rest_is_read(told: Records, line: bytes) -> None:
    told.lines.insert(0, line)
    rounds = told.rounds()
    assert len([problem for r in rounds for problem in r.problems("x")]) == 1
    assert rounds[0].prompt
    assert text_of(rounds[0].prompt) == "hello"


def test_half_a_last_line_is_not_yet_there(told: Records) -> None:
    assert read(told.data + told.lines[0][:40]) == told.rounds()


def test_a_state_that_is_no_word_stops_no_check() -> None:
    made = Records()
    made.calls("c1")
    made.result("c1", response={"output": "seen"}, status=["error"])
    assert report(made).lossless


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
FIELDS = ["message", "subtype", "usageMetadata", "toolCallResult", "systemPayload", "forkedFrom", "model", "cwd"]
PARTS = ["text", "thought", "functionCall", "functionResponse", "inlineData"]
TYPES = st.sampled_from(["user", "assistant", "tool_result", "system", "new"])


@settings(max_examples=150)
@given(
    TYPES,
    st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=4),
    st.none() | st.lists(VALUES | st.dictionaries(st.sampled_from(PARTS), VALUES, max_size=2), max_size=3),
)
@example("user", {"subtype": []}, ["0"])
@example("user", {"subtype": "", "cwd": []}, ["0", "1"])
def test_no_content_of_a_record_makes_it_fail_or_is_lost(type_: str, fields: dict[str, Any], parts: Any) -> None:
    made = Records()
    made.add(type_, **(fields if parts is None else fields | {"message": {"role": "user", "parts": parts}}))
    assert [codec.encode(round_) for round_ in made.rounds()]
    assert list(SOURCE.claims(made.lines[0]))
    assert report(made).lossless


def report(made: Records) -> check.Checked:
    file = SourceFile("x", "x", "main", len(made.data), 0)
    return check.check_transcript(SOURCE, FACTS, file, lambda: [made.data])


def test_check_tells_when_words_are_lost(told: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    told.says("here", usageMetadata={"promptTokenCount": 3})
    assert report(told).lossless
    whole = SOURCE.read
    monkeypatch.setattr(type(SOURCE), "read", lambda self, lines, facts: whole(list(lines)[:-1], facts))
    assert not report(told).lossless
    assert report(told).export["text"].lost == 1


# -- where they lie


@pytest.fixture
def home(tmp_path: Path, told: Records) -> Path:
    folder = tmp_path / "user" / ".qwen"
    agents = f"projects/-proj-a/subagents/{SESSION}"
    for name, content in {
        f"projects/-proj-a/chats/{SESSION}.jsonl": told.data,
        f"projects/-proj-a/chats/archive/{OTHER}.jsonl": told.data.replace(SESSION.encode(), OTHER.encode()),
        f"{agents}/agent-general-purpose-c1.jsonl": told.data,
        f"{agents}/agent-general-purpose-c1.meta.json": b"{}",
        f"file-history/{SESSION}/0123456789abcdef@v1": b"before\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def test_a_session_has_its_subagents_and_backups_beside_it(home: Path) -> None:
    (home / "projects/-proj-a/chats" / f"{SESSION}.runtime.json").write_text("{}")
    found = {session.session_id: session for session in SOURCE.gather(SOURCE.candidates(home), home, [home])}
    assert sorted(file.role for file in found[SESSION].files) == ["main", "side", "side", "sidechain"]
    assert [file.id for file in found[SESSION].files if file.role == "sidechain"] == ["general-purpose-c1"]
    assert [file.role for file in found[OTHER].files] == ["main"]
    assert all(session.home for session in found.values())


def test_subagents_whose_transcript_is_gone_are_found(home: Path) -> None:
    (home / "projects/-proj-a/chats" / f"{SESSION}.jsonl").unlink()
    found = {session.session_id: session for session in SOURCE.gather(SOURCE.candidates(home), home, [home])}
    assert sorted(file.role for file in found[SESSION].files) == ["side", "side", "sidechain"]


def test_every_file_comes_back(home: Path, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "store", {"HOME": str(home.parent)})
    archive.inscribe([])
    before = tree(home)
    shutil.rmtree(home)
    for session in archive.sessions():
        archive.restore(session.session_id)
    assert tree(home) == before


def test_the_home_is_told_or_usual() -> None:
    assert SOURCE.homes({"HOME": "/h"}) == [Path("/h/.qwen")]
    assert SOURCE.homes({"HOME": "/h", "QWEN_HOME": "/x"}) == [Path("/x")]
    assert SOURCE.homes({"HOME": "/h", "QWEN_HOME": "/x", "QWEN_RUNTIME_DIR": "/y"}) == [Path("/y")]


@pytest.mark.parametrize("fields", [{}, {"isSidechain": True, "agentId": "a"}], ids=["transcript", "subagent"])
def test_a_long_first_line_is_enough_and_nobody_else_takes_it(tmp_path: Path, fields: dict[str, Any]) -> None:
    made = Records()
    made.user("long " * 20_000, **fields)
    path = tmp_path / "any.jsonl"
    path.write_bytes(made.data)
    assert [source.name for source in sources.all_sources() if source.matches(path, head_of(path))] == ["qwen"]


@pytest.mark.parametrize("fields", [{}, {"isSidechain": True, "agentId": "a"}], ids=["transcript", "subagent"])
@pytest.mark.parametrize(
    "odd",
    [{"subtype": "session_resumed"}, {"message": {"role": 7, "parts": [{"text": "hello"}]}}],
    ids=["no payload", "no role"],
)
def test_an_odd_record_makes_it_nobody_elses(tmp_path: Path, odd: dict[str, Any], fields: dict[str, Any]) -> None:
    made = Records()
    made.add("system", **odd, **fields)
    made.user("hello", **fields)
    path = tmp_path / "any.jsonl"
    path.write_bytes(made.data)
    assert [source.name for source in sources.all_sources() if source.matches(path, head_of(path))] == ["qwen"]


def test_an_original_can_go_to_another_folder_under_another_id(home: Path, told: Records) -> None:
    told.user(f'"cwd":"/proj/a" of "sessionId":"{SESSION}"')
    facts = FACTS.after(told.rounds()[0])
    name, pieces = SOURCE.moved(
        f"projects/-proj-a/chats/{SESSION}.jsonl", [told.data], facts, Move(OTHER, "/proj/näw 𝛑")
    )
    assert name == f"projects/-proj-n-w---/chats/{OTHER}.jsonl"
    moved = [json.loads(line) for line in b"".join(pieces).splitlines()]
    assert {(line["sessionId"], line["cwd"]) for line in moved} == {(OTHER, "/proj/näw 𝛑")}
    assert moved[-1]["message"] == json.loads(told.lines[-1])["message"]
