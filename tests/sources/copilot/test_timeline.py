"""Sessions from before there were events: one document each, with what the person saw and what the model was sent."""

import json
from pathlib import Path
from typing import Any

from muniment import check, sources
from muniment.archive import Archive
from muniment.model import Event, Facts, Round, Text, Tool, Unknown
from muniment.model.rounds import text_of
from muniment.sources.base import SourceFile
from muniment.sources.copilot import SOURCE
from muniment.sources.lines import records

SESSION = "01c00000-0000-4000-8000-000000000001"
FACTS = Facts(SESSION, "copilot")
NAME = f"session_{SESSION}_1759744800000.json"
ASKED = {"role": "user", "content": "How deep is the well?"}
CALLED = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command":"plumb"}'}}
SENT = [
    ASKED,
    {"role": "assistant", "content": "I look.", "tool_calls": [CALLED]},
    {"role": "tool", "tool_call_id": "c1", "content": "nine fathoms"},
]


def entry(kind: str, second: int, **fields: Any) -> dict[str, Any]:
    return {"id": f"e-{second}", "timestamp": f"2025-10-06T10:00:{second:02d}.000Z", "type": kind, **fields}


def call(kind: str, second: int, **fields: Any) -> dict[str, Any]:
    given = {"callId": "c1", "name": "bash", "arguments": {"command": "plumb"}}
    return entry(kind, second, **given, **fields)


def document(timeline: list[Any], messages: list[Any] | None = None, **more: Any) -> bytes:
    about = {"sessionId": SESSION, "startTime": "2025-10-06T10:00:00.000Z"}
    whole = about | {"chatMessages": SENT if messages is None else messages, "timeline": timeline} | more
    return json.dumps(whole, indent=2).encode()


def read(data: bytes) -> list[Round]:
    return list(SOURCE.read(records(SOURCE.open(NAME, [data])), FACTS))


def tools(rounds: list[Round]) -> list[Tool]:
    return [block for round_ in rounds for block in round_.blocks() if isinstance(block, Tool)]


def told(rounds: list[Round]) -> list[str]:
    return [text_of(message) for round_ in rounds for message in round_.messages if text_of(message)]


def test_the_timeline_is_the_conversation_and_the_messages_are_not_read_twice() -> None:
    rounds = read(document([entry("user", 1, text="How deep?"), entry("copilot", 2, text="Nine fathoms.")]))
    assert told(rounds) == ["How deep?", "Nine fathoms."]
    assert rounds[0].started == "2025-10-06T10:00:01.000Z"


def test_the_messages_are_read_where_the_timeline_is_empty() -> None:
    (round_,) = read(document([]))
    assert told([round_]) == ["How deep is the well?", "I look."]
    (tool,) = tools([round_])
    assert (tool.name, tool.input, tool.output) == ("bash", {"command": "plumb"}, (Text("nine fathoms"),))


def test_a_call_that_was_asked_for_and_came_back_is_one() -> None:
    done = call("tool_call_completed", 3, result={"type": "success", "log": "nine"})
    (tool,) = tools(read(document([entry("user", 1, text="?"), call("tool_call_requested", 2), done])))
    assert (tool.output, tool.is_error) == ((Text("nine"),), False)
    (open_,) = tools(read(document([entry("user", 1, text="?"), call("tool_call_requested", 2)])))
    assert open_.output is None


def test_a_result_of_another_shape_is_kept() -> None:
    result = {"type": "rejected", "why": "not allowed"}
    (tool,) = tools(read(document([call("tool_call_completed", 1, result=result)])))
    assert tool.is_error
    (kept,) = tool.output or ()
    assert isinstance(kept, Unknown)
    assert kept.value == {"type": "result", "value": result}


def test_what_stopped_the_agent_is_shown_and_chatter_is_not() -> None:
    notes = [
        entry("info", 2, text="Connected to GitHub MCP Server"),
        entry("info", 3, text="Operation cancelled by user"),
    ]
    (round_,) = read(document([entry("user", 1, text="?"), *notes]))
    shown = [block.text for block in round_.blocks() if isinstance(block, Event) and block.text]
    assert shown == ["Operation cancelled by user"]


def test_an_entry_that_nobody_heard_of_and_one_that_is_none_are_kept() -> None:
    data = document([entry("user", 1, text="?"), entry("dance", 2, steps=3), "torn"])
    (round_,) = read(data)
    kinds = [block.kind for block in round_.blocks() if isinstance(block, Event | Unknown)]
    assert kinds == ["session start", "timeline dance", "damaged", "timeline end"]


def test_a_document_without_loss(tmp_path: Path) -> None:
    done = call("tool_call_completed", 3, result={"type": "failure", "log": "no rope"})
    whole = [entry("user", 1, text="How deep?", imageAttachments=[{"type": "image", "path": "/well.png"}]), done]
    for number, data in enumerate([document(whole), document([]), document(whole, [])]):
        path = tmp_path / f"{number}.json"
        path.write_bytes(data)
        file = SourceFile(str(path), NAME, "main", len(data), 0)
        checked = check.check_transcript(SOURCE, FACTS, file, lambda data=data: [data])
        assert checked.lossless
        assert [tally for tally in checked.export.values() if not tally.kept] == []


def test_a_session_that_went_on_as_events_keeps_its_document_as_a_version(tmp_path: Path) -> None:
    home = tmp_path / ".copilot"
    old, new = home / "history-session-state" / NAME, home / "session-state" / SESSION / "events.jsonl"
    for path in (old, new):
        path.parent.mkdir(parents=True)
    old.write_bytes(document([entry("user", 1, text="How deep?")]))
    start = {"type": "session.start", "data": {"sessionId": SESSION}, "id": "s", "timestamp": "t", "parentId": None}
    new.write_text(json.dumps(start) + "\n")
    archive = Archive(tmp_path / "store", {"HOME": str(tmp_path)})
    archive.inscribe([], lambda outcome: None)
    (session,) = archive.sessions()
    assert len(list(archive.shelf(session).versions.iterdir())) == 1


def test_another_program_that_writes_a_start_time_is_not_claimed() -> None:
    for head in (b'{"startTime":"x","timeline":[]}', b'{"sessionId":"s","timeline":[]}', b'{"data":{"sessionId":"s"}}'):
        assert [s.name for s in sources.all_sources() if s.matches(Path("a.json"), head)] == []
