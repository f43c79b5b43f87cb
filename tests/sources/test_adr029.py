"""The format of ADR-029: its header and its ten events, the program's own lines, and the dialect."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recorded import SESSION, blocks, exported, fold, read, record, written

from muniment import demo, sources
from muniment.archive import Archive
from muniment.errors import Unsupported
from muniment.model import Event, Facts, Text, Thinking, Tool, Unknown
from muniment.model import events as types
from muniment.model.events import Event as Happened
from muniment.model.rounds import text_of
from muniment.record import Recorder
from muniment.sources.adr029 import SOURCE, payloads
from muniment.sources.adr029.dialect import Adr029
from muniment.sources.base import Move

HERE = Path(__file__).parent / "adr029"
HEADER = (
    b'{"type":"session_start","session_id":"uuid","image_id":"...","started_at":"2026-04-27T14:30:00Z",'
    b'"agent_provider":"claude-sonnet-4-7","agent_temperature":1.0,'
    b'"context_loaded":["taste.md","brief.md","notes.md"],"starting_snapshot_hash":"..."}'
)
"""The header of the decision record, on one line."""

PAYLOADS: dict[str, dict[str, Any]] = {
    "agent_thinking": {"text": "The lamps are above the quay."},
    "agent_tool_call": {"tool": "apply_primitive", "parameters": {"name": "warm", "strength": 0.4}},
    "tool_result": {"result": {"ok": True}},
    "photographer_message": {"text": "Warmer, please."},
    "snapshot_created": {"hash": "b7d02f", "label": "warmer"},
    "mask_generated": {"name": "water", "provider": "coarse-agent", "target": "the basin"},
    "vocabulary_gap_logged": {"description": "No word for this grey.", "workaround": None},
    "taste_proposal": {"update": {"file": "taste.md", "add": "grey water"}},
    "taste_confirmation": {"update": "grey water"},
    "session_end": {"statistics": {"events": 9}},
}
EVENTS = {
    name: json.dumps({"type": name, "timestamp": "2026-04-27T14:31:00Z"} | said, separators=(",", ":")).encode()
    for name, said in PAYLOADS.items()
}
each_event = pytest.mark.parametrize("name", PAYLOADS)
PROGRAM = (HERE / "program" / "input.jsonl").read_bytes()


def test_the_ten_events_are_those_of_the_decision_record() -> None:
    assert set(payloads.EVENTS) == set(PAYLOADS)


@pytest.mark.parametrize("line", [HEADER, *EVENTS.values()], ids=["session_start", *EVENTS])
def test_a_line_is_read_and_written_back_unchanged(line: bytes) -> None:
    assert written(SOURCE, line + b"\n") == (line + b"\n", [])
    dialect = Adr029()
    (made,) = dialect.lines(dialect.events(line))
    assert made.line == line
    assert made.key is None
    assert dialect.identify(line) is None


# -- what an event must say


@each_event
def test_an_event_that_lacks_something_is_refused_in_plain_words(name: str) -> None:
    payloads.validate(name, PAYLOADS[name])
    for field in PAYLOADS[name]:
        said = {other: value for other, value in PAYLOADS[name].items() if other != field}
        with pytest.raises(ValueError, match=f"{name}: missing {field}"):
            payloads.validate(name, said)


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("snapshot_created", "hash", 7),
        ("photographer_message", "text", None),
        ("session_end", "statistics", "many"),
        ("agent_tool_call", "tool", ["a"]),
    ],
)
def test_an_event_of_another_shape_is_refused(name: str, field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name}: .*{field}"):
        payloads.validate(name, PAYLOADS[name] | {field: value})


def test_other_names_are_no_events_of_this_format() -> None:
    with pytest.raises(ValueError, match="no event of this format"):
        payloads.validate("telepathy", {})


# -- reading


def test_events_become_messages_tools_and_happenings() -> None:
    data = b"".join(line + b"\n" for line in (HEADER, *EVENTS.values()))
    rounds = read(SOURCE, data)
    assert [text_of(round_.prompt) for round_ in rounds if round_.prompt] == ["Warmer, please."]
    assert [block.text for block in blocks(rounds, Thinking)] == ["The lamps are above the quay."]
    shown = {block.kind: block.text for block in blocks(rounds, Event) if block.text}
    assert shown == {
        "snapshot_created": "- hash: b7d02f\n- label: warmer",
        "mask_generated": "- name: water\n- provider: coarse-agent\n- target: the basin",
        "vocabulary_gap_logged": "- description: No word for this grey.",
        "taste_proposal": '- update: {"file":"taste.md","add":"grey water"}',
        "taste_confirmation": "- update: grey water",
    }
    kept = {block.kind: block.detail for block in blocks(rounds, Event)}
    assert kept["taste_proposal"] == PAYLOADS["taste_proposal"]
    assert kept["vocabulary_gap_logged"] == PAYLOADS["vocabulary_gap_logged"]
    assert kept["terminator"]["statistics"] == {"events": 9}
    facts = fold(rounds, Facts(SESSION, "adr029"))
    assert [(link.kind, link.session) for link in facts.links] == [("image", "...")]
    assert facts.model == "claude-sonnet-4-7"


def test_a_result_finds_its_call_by_id_else_by_the_tool() -> None:
    call = {"type": "agent_tool_call", "timestamp": "t", "tool": "a", "parameters": {}}
    result = {"type": "tool_result", "timestamp": "t", "tool": "a"}
    said = [call | {"call_id": "1"}, call | {"call_id": "2"}, result | {"call_id": "2", "result": "two"}]
    said += [result | {"result": "one"}, result | {"result": "nobody's"}]
    rounds = read(SOURCE, b"".join(json.dumps(line).encode() + b"\n" for line in said))
    tools = [(block.id, block.output) for block in blocks(rounds, Tool)]
    assert tools[:2] == [("1", (Text("one"),)), ("2", (Text("two"),))]
    assert [output for _, output in tools[2:]] == [(Text("nobody's"),)]


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ({"tool": "a", "parameters": {"x": 1}}, {"result": "two"}),
        ({"tool_name": "a", "params": {"x": 1}}, {"tool_name": "a", "return_value": "two"}),
        ({"name": "a", "x": 1}, {"name": "a", "output": "two"}),
    ],
)
def test_the_names_of_other_writers_are_understood(call: dict[str, Any], result: dict[str, Any]) -> None:
    lines = [{"type": "agent_tool_call", "timestamp": "t"} | call, {"type": "tool_result", "timestamp": "t"} | result]
    said = [json.dumps(line).encode() + b"\n" for line in lines]
    (tool,) = blocks(read(SOURCE, b"".join(said)), Tool)
    assert (tool.name, tool.input, tool.output) == ("a", {"x": 1}, (Text("two"),))
    claims = {claim.field: claim.value for line in said for claim in SOURCE.claims(line)}
    assert (claims["tool input"], claims["tool output"]) == ({"x": 1}, "two")


def test_an_event_that_says_nothing_it_should_is_kept_as_it_came() -> None:
    rounds = read(SOURCE, b'{"type":"photographer_message","timestamp":"t","words":"hm"}\n')
    assert [block.value for block in blocks(rounds, Unknown)] == [{"words": "hm"}]


def test_the_end_shows_what_is_more_than_counts() -> None:
    line = b'{"type":"session_end","timestamp":"t","statistics":{"events":9},"status":"completed","mood":"calm"}\n'
    assert [block.text for block in blocks(read(SOURCE, line), Event)] == ["- mood: calm"]


# -- the program's own lines


def test_the_programs_calls_have_no_ids_and_results_no_values() -> None:
    rounds = read(SOURCE, PROGRAM)
    tools = [(block.name, block.output, block.is_error) for block in blocks(rounds, Tool)]
    assert tools == [
        ("apply_primitive", (), False),
        ("render_preview", (Text("NO_CONFIG"),), True),
        ("apply_primitive", (), False),
        ("render_preview", None, None),
    ]
    assert len(rounds) == 1
    assert not rounds[0].prompted
    assert {block.kind for block in blocks(rounds, Event)} >= {"proposal", "confirmation", "note", "write_failure"}


def test_the_programs_file_survives_the_archive(
    archive: Archive, inscribe: Callable[..., object], tmp_path: Path
) -> None:
    path = tmp_path / "work" / "iguana" / "sessions" / "0f3c5a7e9b1d4c2f8e6a0b3d5f7a9c1e.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(PROGRAM)
    assert exported(archive, inscribe, path, "adr029", tmp_path / "out") == PROGRAM
    assert (tmp_path / "out" / "iguana" / "sessions" / path.name).exists()


# -- finding


def test_sessions_are_found_below_the_workspace(tmp_path: Path) -> None:
    assert SOURCE.homes({"HOME": "/home/ada"}) == [Path("/home/ada/Pictures/Chemigram")]
    assert SOURCE.homes({"CHEMIGRAM_WORKSPACE": str(tmp_path)}) == [tmp_path]
    for name in ("iguana/sessions/a.jsonl", "iguana/log.jsonl", "iguana/objects/x.jsonl", "quay/sessions/b.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(PROGRAM)
    found = list(SOURCE.gather(SOURCE.candidates(tmp_path), tmp_path, [tmp_path]))
    assert [file.name for session in found for file in session.files] == [
        "iguana/sessions/a.jsonl",
        "quay/sessions/b.jsonl",
    ]
    assert {session.native_id for session in found} == {"0f3c5a7e9b1d4c2f8e6a0b3d5f7a9c1e"}
    assert all(session.home for session in found)
    assert list(SOURCE.candidates(tmp_path / "nowhere")) == []


def test_folders_of_a_recorder_are_homes_too(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "MUNIMENT_RECORDER": str(tmp_path)}
    project = tmp_path / "project"
    for name in ("quay/sessions/mine.jsonl", "src/sessions/theirs.jsonl"):
        (project / name).parent.mkdir(parents=True)
        (project / name).write_bytes(PROGRAM if "mine" in name else b'{"type":"message"}\n')
    lines = [json.dumps({"path": str(folder)}) for folder in (project, tmp_path / "gone")]
    (tmp_path / "places.jsonl").write_text("\n".join(lines))
    assert SOURCE.homes(env) == [tmp_path / "Pictures" / "Chemigram", project]
    assert [path.name for path in SOURCE.candidates(project)] == ["mine.jsonl"]


def test_a_file_without_its_header_is_still_claimed() -> None:
    assert SOURCE.matches(Path("x.jsonl"), b"".join(line + b"\n" for line in EVENTS.values()))
    assert not SOURCE.matches(Path("x.jsonl"), EVENTS["tool_result"] + b"\n")
    assert not SOURCE.matches(Path("x.jsonl"), b'{"kind":"header","session_id":"x"}\n')


def test_an_export_lies_in_the_folder_of_its_image() -> None:
    facts = fold(read(SOURCE, HEADER.replace(b'"..."', b'"quay"') + b"\n"), Facts(SESSION, "adr029"))
    assert SOURCE.place(facts, Move()) == "quay/sessions/2026-04-27T14-30-00_session_001.jsonl"
    other = Facts(SESSION, "claude-code", first_cwd="/home/ada/lighthouse", started="2026-04-27T14:30:00Z")
    assert SOURCE.place(other, Move()) == "lighthouse/sessions/2026-04-27T14-30-00_session_001.jsonl"
    hostile = HEADER.replace(b'"image_id":"..."', b'"image_id":"../../etc"')
    facts = fold(read(SOURCE, hostile + b"\n"), Facts(SESSION, "adr029"))
    assert SOURCE.place(facts, Move()).split("/")[0] == SESSION


# -- the dialect


def event(type_: str, payload: Any = None) -> Happened:
    return Happened(type_, "2026-04-27T14:31:00Z", "1", None, payload)


def header(**more: Any) -> Happened:
    said = {"session_id": SESSION, "start_ts": "2026-04-27T14:30:00Z", "resumed_from": None, "cwd": "/proj/x"}
    return event(types.HEADER, said | {"agent": None, "model": "claude-x", "image_id": "iguana"} | more)


def lines(*events: Happened) -> list[dict[str, Any]]:
    return [json.loads(made.line) for made in Adr029().lines(events)]


def test_a_file_gets_the_next_free_number(tmp_path: Path) -> None:
    folder = tmp_path / "iguana" / "sessions"
    assert Adr029().place(tmp_path, header()) == folder / "2026-04-27T14-30-00_session_001.jsonl"
    folder.mkdir(parents=True)
    (folder / "2026-04-20T10-00-00_session_007.jsonl").touch()
    (folder / "0f3c.jsonl").touch()
    assert Adr029().place(tmp_path, header()).name == "2026-04-27T14-30-00_session_008.jsonl"


@pytest.mark.parametrize("image_id", [None, "", "../x", "a/b", "..", ".hidden", 7])
def test_a_session_belongs_to_an_image_that_can_be_a_folder(image_id: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="image_id"):
        Adr029().place(tmp_path, header(image_id=image_id))


def test_a_header_says_what_the_decision_record_says() -> None:
    (line,) = lines(header(agent_temperature=0.5, context_loaded=["taste.md"]))
    assert list(line) == list(json.loads(HEADER))
    assert (line["agent_provider"], line["starting_snapshot_hash"]) == ("claude-x", None)
    with pytest.raises(ValueError, match="session_start: missing image_id"):
        lines(event(types.HEADER, {"session_id": SESSION}))


def test_events_of_a_recorder_get_the_formats_names() -> None:
    made = lines(
        event(types.USER, {"text": "Warmer."}),
        event(types.THINKING, {"text": "Hm."}),
        event(types.TOOL_CALL, {"id": "c", "name": "warm", "input": {"by": 1}}),
        event(types.TOOL_RESULT, {"id": "c", "name": "warm", "output": None, "is_error": False}),
        event(types.TERMINATOR, {"end_ts": "x", "status": "completed", "statistics": {"user": 1}}),
    )
    for line in made:
        assert line.pop("timestamp") == "2026-04-27T14:31:00Z"
    assert made == [
        {"type": "photographer_message", "text": "Warmer."},
        {"type": "agent_thinking", "text": "Hm."},
        {"type": "agent_tool_call", "tool": "warm", "parameters": {"by": 1}, "call_id": "c"},
        {"type": "tool_result", "tool": "warm", "call_id": "c", "result": None},
        {"type": "session_end", "status": "completed", "statistics": {"user": 1}},
    ]


@each_event
def test_its_own_events_pass_by_their_names(name: str) -> None:
    if name not in ("tool_result", "session_end"):
        assert lines(event(name, PAYLOADS[name]))[0]["type"] == name
        with pytest.raises(ValueError, match=f"{name}: missing"):
            lines(event(name, {}))


def test_the_agents_words_have_no_place() -> None:
    with pytest.raises(Unsupported) as refused:
        lines(event(types.ASSISTANT, {"text": "Done."}))
    assert "thinking" in refused.value.hint


@pytest.mark.parametrize("type_", [types.RESTRICTION, types.SUMMARY, types.COMPACTION, types.BRANCH, "telepathy"])
def test_an_event_that_must_not_be_dropped_is_refused(type_: str) -> None:
    with pytest.raises(Unsupported):
        lines(event(type_, {}))


@pytest.mark.parametrize("type_", [types.CHECKPOINT, types.SIDECHAIN, types.RECOVERY])
def test_events_around_the_conversation_have_no_line(type_: str) -> None:
    assert lines(event(type_, {})) == []


def test_a_recorded_session_survives_the_archive(
    archive: Archive, inscribe: Callable[..., object], tmp_path: Path
) -> None:
    dialect = Adr029()
    groups = [[header()], [event(types.USER, {"text": "Grey — like \u2028 rain \U0001f327"})]]
    groups += [[event(types.TOOL_CALL, {"id": "c", "name": "warm", "input": {"by": 0.00001}})]]
    groups += [[event(types.TOOL_RESULT, {"id": "c", "name": "warm", "output": [1, {"x": None}], "is_error": True})]]
    groups += [[event(name, said)] for name, said in PAYLOADS.items() if name not in ("tool_result", "session_end")]
    groups += [[event(types.TERMINATOR, {"end_ts": "x", "status": "completed", "statistics": {"user": 1}})]]
    path = dialect.place(tmp_path / "work", groups[0][0])
    data = record(dialect, path, groups)
    assert data.count(b"\n") == 13
    assert exported(archive, inscribe, path, "adr029", tmp_path / "out") == data
    assert (tmp_path / "out" / "iguana" / "sessions" / path.name).exists()


def test_a_harness_records_in_this_format(archive: Archive, inscribe: Callable[..., object], tmp_path: Path) -> None:
    about = {"image_id": "iguana", "agent_temperature": 1.0, "context_loaded": ["taste.md"]}
    asked = {"dialect": "adr029", "root": tmp_path / "work", "home": tmp_path / "rec", "about": about}
    with Recorder.start(cwd="/proj/x", model="claude-x", **asked) as rec:
        rec.user("Warmer, please.")
        rec.thinking("The lamps.")
        rec.tool_result(rec.tool_call("warm", {"by": 1}), {"ok": True})
        for name in ("snapshot_created", "mask_generated", "vocabulary_gap_logged", "taste_proposal"):
            rec.event(name, PAYLOADS[name])
        with pytest.raises(ValueError, match="snapshot_created: missing label"):
            rec.event("snapshot_created", {"hash": "x"})
    data = rec.path.read_bytes()
    assert rec.path.parent == tmp_path / "work" / "iguana" / "sessions"
    assert json.loads(data.splitlines()[-1])["statistics"]["snapshot_created"] == 1
    assert exported(archive, inscribe, rec.path, "adr029", tmp_path / "out") == data


def test_the_words_of_another_agent_are_kept_and_counted() -> None:
    """They stand in one of the ten events, marked, and are read as words again."""
    other = sources.named("agent")
    sample = next((demo.SAMPLES / "agent").rglob("*.jsonl")).read_bytes()
    rounds, losses = read(other, sample), []
    media = {name: content for round_ in rounds for name, content in round_.media.items()}
    made = b"".join(SOURCE.write(rounds, fold(rounds, Facts(SESSION, "agent")), Move(), media.__getitem__, losses))
    assert {json.loads(line)["type"] for line in made.splitlines()} <= {"session_start", *payloads.EVENTS}
    assert {"answer as such": 3, "image": 1, "compaction": 1}.items() <= {
        loss.what: loss.count for loss in losses
    }.items()
