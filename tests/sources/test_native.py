"""Recorded sessions as a source: where they are found, what makes them up, and that they come back unchanged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recorded import SESSION, blocks, fold, read, written

from muniment import demo, sources
from muniment.archive import Archive
from muniment.check import check_found
from muniment.config import recorder_home
from muniment.export import Request
from muniment.inscribe import Outcome
from muniment.model import Compaction, Event, Facts, Loss, Text, Thinking, Tool, Usage
from muniment.model import events as types
from muniment.model.events import Event as Happened
from muniment.model.rounds import text_of
from muniment.record import Recorder
from muniment.sources import find_in
from muniment.sources.base import Found, Move
from muniment.sources.native import SOURCE
from muniment.sources.native.dialect import Native

Inscribe = Callable[..., list[Outcome]]


class Project:
    """A folder in which sessions were recorded."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.count = 0

    def event(self, type_: str, **payload: Any) -> Happened:
        self.count += 1
        return Happened(type_, f"2026-01-02T03:04:{self.count:02d}.678Z", f"{self.count:032x}", None, payload)

    def write(self, name: str, *events: Happened) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(made.line + b"\n" for made in Native().lines(events)))
        return path

    def transcript(self, session: str = SESSION, *more: Happened) -> Path:
        header = self.event(types.HEADER, session_id=session, cwd="/proj/x")
        return self.write(f".transcripts/{session}.jsonl", header, self.event(types.USER, text="go"), *more)

    def sidechain(self, task: str, parent: str | None = SESSION) -> Path:
        header = self.event(types.HEADER, session_id=task, parent=parent)
        return self.write(f".sidechains/{task}.jsonl", header, self.event(types.USER, text=f"do {task}"))

    def found(self) -> list[Found]:
        return list(SOURCE.gather(SOURCE.candidates(self.root), self.root, [self.root]))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "proj")


# -- finding


def test_the_recorder_lives_where_the_environment_says() -> None:
    assert recorder_home({"MUNIMENT_RECORDER": "/rec"}) == Path("/rec")
    assert recorder_home({"XDG_DATA_HOME": "/data", "HOME": "/home/ada"}) == Path("/data/muniment/recorder")
    assert recorder_home({"HOME": "/home/ada"}) == Path("/home/ada/.local/share/muniment/recorder")


def test_homes_are_the_folders_of_the_register(tmp_path: Path) -> None:
    env = {"MUNIMENT_RECORDER": str(tmp_path)}
    assert SOURCE.homes(env) == [tmp_path]
    lines = ['{"path":"/proj/x"}', '{"path":"/proj/y"}', '{"path":"/proj/x"}', '{"path":7}', "torn", '{"path":"here"}']
    (tmp_path / "places.jsonl").write_text("\n".join(lines))
    assert SOURCE.homes(env) == [Path("/proj/x"), Path("/proj/y")]


def test_a_session_is_its_transcript_its_segments_and_its_subagents(project: Project) -> None:
    main = project.transcript()
    segment = project.write(f".transcripts/{SESSION}.jsonl.s1", project.event(types.ASSISTANT, text="on"))
    sides = [project.sidechain("task-b"), project.sidechain("task-a")]
    (project.root / ".transcripts" / ".gitignore").write_text("*\n")
    (project.root / ".transcripts" / f"{SESSION}.jsonl.chain").write_text("{}\n")
    (found,) = project.found()
    assert (found.session_id, found.native_id, found.home) == (SESSION, None, True)
    assert [(file.role, file.id, file.path) for file in found.files] == [
        ("main", None, str(main)),
        ("sidechain", "task-a", str(sides[1])),
        ("sidechain", "task-b", str(sides[0])),
        ("sidechain", "segment-1", str(segment)),
    ]
    (alone,) = find_in(main, {"HOME": "/nowhere"})
    assert alone.files == found.files


def test_sessions_of_one_project_are_told_apart(project: Project) -> None:
    other = "6d2f0000-0000-5000-8000-000000000001"
    project.transcript()
    project.transcript(other)
    project.sidechain("task-a", other)
    project.sidechain("task-b", "gone")
    project.sidechain("task-c", None)
    found = {
        session.native_id or session.session_id: [file.id for file in session.files] for session in project.found()
    }
    assert found == {SESSION: [None], other: [None, "task-a"], "gone": ["task-b"], "task-c": ["task-c"]}


def test_a_file_given_by_itself_brings_its_own_session_and_no_other(project: Project) -> None:
    other = "6d2f0000-0000-5000-8000-000000000001"
    main, foreign = project.transcript(), project.transcript(other)
    project.write(f".transcripts/{other}.jsonl.s1", project.event(types.ASSISTANT, text="on"))
    mine, _, lonely = (
        project.sidechain("task-a"),
        project.sidechain("task-b", other),
        project.sidechain("task-c", "gone"),
    )
    own = [(SESSION, [None, "task-a"])]
    for given, expected in (
        (main, own),
        (mine, own),
        (foreign.with_name(foreign.name + ".s1"), [(other, [None, "task-b", "segment-1"])]),
        (lonely, [("gone", ["task-c"])]),
    ):
        found = find_in(given, {"HOME": "/nowhere"})
        assert [(one.native_id or one.session_id, [file.id for file in one.files]) for one in found] == expected


def test_a_session_without_a_header_is_named_by_its_file(project: Project) -> None:
    path = project.write(".transcripts/night-shift.jsonl", project.event(types.USER, text="go"))
    assert SOURCE.matches(path, path.read_bytes())
    (found,) = project.found()
    assert found.native_id == "night-shift"


@pytest.mark.parametrize(
    "head",
    [
        b'{"timestamp":"t","type":"event_msg","payload":{"type":"user_message"}}\n',
        b'{"type":"user","ts":null,"uuid":"x","payload":{}}\n',
        b'{"type":"user","ts":true,"uuid":"x","payload":{}}\n',
        b'{"type":"user","ts":"t","payload":{}}\n',
        b'{"prompt":"x","ts":"t","session_id":"s","uuid":"u"}\n',
    ],
)
def test_other_lines_are_not_claimed(head: bytes) -> None:
    assert not SOURCE.matches(Path("x.jsonl"), head)


# -- reading


COUNTED = {"seconds": 1767323045.678, "whole seconds": 1767323045, "milliseconds": 1767323045678}
"""A time as `time.time()` and its like tell it."""


@pytest.mark.parametrize("name", COUNTED)
def test_a_time_may_be_a_count_of_seconds_or_milliseconds(name: str, tmp_path: Path) -> None:
    line = {"uuid": "u1", "ts": COUNTED[name], "type": "user", "prev_uuid": None, "payload": {"text": "go"}}
    data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
    assert SOURCE.matches(Path("x.jsonl"), data)
    (round_,) = read(SOURCE, data)
    at = "2026-01-02T03:04:05.000Z" if name == "whole seconds" else "2026-01-02T03:04:05.678Z"
    assert [(message.at, text_of(message)) for message in round_.messages] == [(at, "go")]
    assert Native().events(data) == [Happened("user", at, "u1", None, {"text": "go"})]
    assert written(SOURCE, data) == (data, [])


@pytest.mark.parametrize("count", ["1e300", "-1e300", "123456789012345678901234567890"])
def test_a_count_that_is_no_time_dates_nothing(count: str) -> None:
    data = b'{"type":"user","ts":%b,"uuid":"u1","payload":{"text":"go"}}\n' % count.encode()
    (message,) = read(SOURCE, data)[0].messages
    assert (message.at, text_of(message)) == (None, "go")


def test_what_the_agent_says_in_a_row_is_one_message(project: Project) -> None:
    told = [
        project.event(types.THINKING, text="hm", signature="c2ln"),
        project.event(types.ASSISTANT, text="on it", usage={"input": 1, "output": 2}, model="m1"),
        project.event(types.TOOL_CALL, id="c", name="ls", input={}),
        project.event(types.TOOL_RESULT, id="c", name="ls", output="a", is_error=True),
        project.event(types.ASSISTANT, text="one", usage={"input": 3}),
        project.event(types.ASSISTANT, text="two", usage={"input": 5}, model="m2"),
    ]
    (round_,) = read(SOURCE, project.transcript(SESSION, *told).read_bytes())
    answers = [message for message in round_.messages if message.role == "assistant" and not message.silent]
    assert [[type(block) for block in m.blocks] for m in answers] == [[Thinking, Text, Tool], [Text], [Text]]
    assert [(m.usage, m.model) for m in answers] == [(Usage(1, 2), None), (Usage(3), None), (Usage(5), "m2")]
    (tool,) = blocks([round_], Tool)
    assert (tool.output, tool.is_error) == ((Text("a"),), True)


def test_a_result_belongs_to_the_call_that_had_the_id_first(project: Project) -> None:
    call = project.event(types.TOOL_CALL, id="c", name="ls", input={"path": "a"})
    told = [call, project.event(types.TOOL_CALL, id="c", name="ls", input={"path": "b"})]
    told += [project.event(types.TOOL_RESULT, id="c", output="done")]
    rounds = read(SOURCE, project.transcript(SESSION, *told).read_bytes())
    assert [(tool.input["path"], tool.output) for tool in blocks(rounds, Tool)] == [("a", (Text("done"),)), ("b", None)]


CALLS: list[tuple[Any, tuple[str, Any]]] = [
    ({"id": "c", "tool": "bash", "args": {"command": "ls"}}, ("bash", {"command": "ls"})),
    ({"call_id": "c", "tool_name": "bash", "params": {"command": "ls"}}, ("bash", {"command": "ls"})),
    ({"id": "c", "name": "bash", "arguments": '{"command":"ls"}'}, ("bash", '{"command":"ls"}')),
    ({"id": "c", "name": "bash", "input": None}, ("bash", None)),
    ({"id": "c", "tool": "bash"}, ("bash", None)),
    ({"id": "c", "tool": "bash", "cmd": "ls", "cwd": "/"}, ("bash", {"cmd": "ls", "cwd": "/"})),
    ({"id": "c", "function": {"name": "bash"}}, ("unnamed", {"function": {"name": "bash"}})),
    ("ls -l", ("unnamed", "ls -l")),
]
"""What a call may say, and what a reader sees of it."""

RESULTS: list[tuple[Any, tuple[Text, ...]]] = [
    ({"id": "c", "result": "two files"}, (Text("two files"),)),
    ({"call_id": "c", "tool": "bash", "return_value": {"files": 2}}, (Text('{"files":2}'),)),
    (
        {"id": "c", "content": [{"type": "text", "text": "two"}, {"type": "text", "text": "files"}]},
        (Text("two"), Text("files")),
    ),
    ({"id": "c", "output": ["a", "b"], "is_error": True}, (Text('["a","b"]'),)),
    ({"id": "c", "name": "bash", "stdout": "a", "code": 0}, (Text('{"stdout":"a","code":0}'),)),
    ({"id": "c", "output": None, "is_error": False}, ()),
    ({"id": "c"}, ()),
    ("two files", (Text("two files"),)),
]


def _line(type_: str, payload: Any) -> bytes:
    return json.dumps({"type": type_, "ts": "t", "uuid": type_, "prev_uuid": None, "payload": payload}).encode() + b"\n"


@pytest.mark.parametrize(("payload", "seen"), CALLS, ids=str)
def test_a_call_is_understood_by_other_names_and_shown_whole_without_any(payload: Any, seen: tuple[str, Any]) -> None:
    data = _line(types.TOOL_CALL, payload)
    (tool,) = blocks(read(SOURCE, data), Tool)
    assert (tool.name, tool.input) == seen
    assert [claim.value for claim in SOURCE.claims(data) if claim.field == "tool input"] == [seen[1]]
    assert written(SOURCE, data) == (data, [])


@pytest.mark.parametrize(("payload", "seen"), RESULTS, ids=str)
def test_a_result_is_understood_by_other_names_and_shown_whole_without_any(
    payload: Any, seen: tuple[Text, ...]
) -> None:
    data = _line(types.TOOL_CALL, {"id": "c", "name": "bash", "input": {}}) + _line(types.TOOL_RESULT, payload)
    (tool,) = blocks(read(SOURCE, data), Tool)
    assert tool.output == seen
    claims = [claim.value for claim in SOURCE.claims(data.splitlines()[1]) if claim.field == "tool output"]
    assert claims == [text.text for text in seen]
    assert written(SOURCE, data) == (data, [])


def test_a_session_begins_with_its_header_and_rounds_with_prompts(project: Project) -> None:
    path = project.transcript(
        SESSION, project.event(types.USER, text="wait", queued=True), project.event("user", text="2")
    )
    rounds = read(SOURCE, path.read_bytes())
    assert [text_of(round_.prompt) for round_ in rounds if round_.prompt] == ["go", "2"]
    assert [text_of(m) for m in rounds[0].messages if m.queued] == ["wait"]
    facts = fold(rounds, Facts(SESSION, "native"))
    assert (facts.started, facts.cwd) == ("2026-01-02T03:04:01.678Z", "/proj/x")


def test_a_subagent_is_tied_to_the_call_that_waits_for_it(project: Project) -> None:
    told = [
        project.event(types.TOOL_CALL, id="c1", name="ls", input={}),
        project.event(types.TOOL_CALL, id="c2", name="task", input={}),
        project.event(types.SIDECHAIN, task_id="task-a", status="completed", summary="found it"),
        project.event(types.TOOL_RESULT, id="c2", name="task", output="found it"),
    ]
    rounds = read(SOURCE, project.transcript(SESSION, *told).read_bytes())
    assert [(tool.id, tool.sidechain) for tool in blocks(rounds, Tool)] == [("c1", None), ("c2", "task-a")]
    assert [event.text for event in blocks(rounds, Event) if event.kind == "sidechain"] == ["found it"]


def test_events_of_an_editor_are_shown_here_too(project: Project) -> None:
    told = [
        project.event("snapshot_created", hash="b7d02f", label=None),
        project.event("taste_proposal", update={"add": "grey"}),
        project.event("heartbeat", beats=3),
    ]
    rounds = read(SOURCE, project.transcript(SESSION, *told).read_bytes())
    shown = [block.text for block in blocks(rounds, Event) if block.text]
    assert shown == ["- hash: b7d02f", '- update: {"add":"grey"}']


def test_compactions_forks_and_everything_else_are_kept(project: Project) -> None:
    told = [
        project.event(types.SUMMARY, text="S"),
        project.event(types.COMPACTION, headUuid="a", anchorUuid=None, tailUuid="b", summary_event_uuid="c"),
        project.event(types.BRANCH, parent_session="p", fork_uuid="f", summary=""),
        project.event(types.CHECKPOINT, path="/proj/x/a", sha256=None, mode=0),
        project.event(types.RESTRICTION, tool="bash", pattern="rm *"),
        project.event("link", kind="x", sessions=["y"]),
        project.event("title", title="A title", by="user"),
        project.event("telepathy", strength=3),
    ]
    rounds = read(SOURCE, project.transcript(SESSION, *told).read_bytes())
    assert [block.text for block in blocks(rounds, Compaction)] == ["S"]
    kept = {block.kind: block.detail for block in blocks(rounds, Event)}
    assert kept["telepathy"] == {"strength": 3}
    assert kept["event link"] == {"kind": "x", "sessions": ["y"]}
    assert kept[types.RESTRICTION] == {"tool": "bash", "pattern": "rm *"}
    assert kept[types.COMPACTION]["tailUuid"] == "b"
    facts = fold(rounds, Facts(SESSION, "native"))
    assert [(link.kind, link.session, link.record) for link in facts.links] == [("fork", "p", "f")]
    assert facts.title == "A title"


# -- writing


@pytest.mark.parametrize("type_", ["allow", "permission_grant", "always_allow", "approved"])
def test_a_grant_of_another_writer_is_kept_and_never_written(project: Project, type_: str) -> None:
    data = project.transcript(SESSION, project.event(type_, tool="bash"), project.event("user", text="on")).read_bytes()
    back, losses = written(SOURCE, data)
    assert back == b"".join(line for line in data.splitlines(keepends=True) if f'"{type_}"'.encode() not in line)
    assert [(loss.what, loss.why) for loss in losses] == [("grant", "permissions are never restored")]


def test_a_restriction_that_a_format_cannot_hold_is_listed_as_lost(project: Project) -> None:
    told = [project.event(types.RESTRICTION, tool="bash", pattern="rm *")]
    rounds = read(SOURCE, project.transcript(SESSION, *told).read_bytes())
    for name in ("agent", "adr029"):
        losses = list[Loss]()
        facts = fold(rounds, Facts(SESSION, "native"))
        assert b"rm *" not in b"".join(sources.named(name).write(rounds, facts, Move(), lambda _: b"", losses))
        assert ("restriction", 1) in [(loss.what, loss.count) for loss in losses]


def test_parts_of_a_session_go_back_to_their_places() -> None:
    names = {
        None: f".transcripts/{SESSION}.jsonl",
        "segment-2": f".transcripts/{SESSION}.jsonl.s2",
        "task-a": ".sidechains/task-a.jsonl",
    }
    for part, name in names.items():
        assert SOURCE.place(Facts(SESSION, "native", sidechain=part), Move()) == name


def record(root: Path, home: Path) -> Recorder:
    """A session with a subagent, as a harness records it."""
    with Recorder.start(cwd=root, agent="reviewer", model="claude-opus-4-6", home=home) as rec:
        rec.user("Fix the login bug <now> & \u2028 here \U0001f600")
        call = rec.tool_call("task", {"prompt": "look", "n": 0.00001})
        with rec.sidechain("task-1") as side:
            side.append(types.ASSISTANT, {"text": "The check is inverted."})
            side.summary = "inverted"
        rec.tool_result(call, [{"type": "text", "text": "inverted"}], is_error=False)
        rec.assistant("The token check is inverted.", usage={"input": 7, "output": 5})
        rec.permissions.deny("bash", "git push*")
        rec.compact("It was inverted.")
        rec.user("Thanks")
    return rec


def test_a_recorded_session_survives_the_archive(archive: Archive, inscribe: Inscribe, tmp_path: Path) -> None:
    root = tmp_path / "proj"
    root.mkdir()
    rec = record(root, tmp_path / "rec")
    inscribe(root)
    made = archive.export("last", Request(source="native", to=tmp_path / "out"))
    assert made.losses == ()
    assert made.session_id == rec.session_id
    files = [f".transcripts/{rec.session_id}.jsonl", ".sidechains/task-1.jsonl"]
    assert [Path(path).relative_to(tmp_path / "out").as_posix() for path in made.paths] == files
    for name in files:
        assert (tmp_path / "out" / name).read_bytes() == (root / name).read_bytes()


def test_a_recorded_session_is_found_by_the_register_and_checks_out(tmp_path: Path) -> None:
    root = tmp_path / "proj"
    root.mkdir()
    record(root, tmp_path / "rec")
    (home,) = SOURCE.homes({"MUNIMENT_RECORDER": str(tmp_path / "rec")})
    (found,) = SOURCE.gather(SOURCE.candidates(home), home, [home])
    checked = list(check_found(found))
    assert [(report.lossless, report.stable, report.not_carried) for report in checked] == [(True, True, {})] * 2


def test_a_title_and_a_signature_of_another_agent_are_kept() -> None:
    path = next((demo.SAMPLES / "claude-code").rglob("bab68615*.jsonl"))
    source = sources.named("claude-code")
    rounds = read(source, path.read_bytes())
    facts = fold(rounds, Facts(SESSION, source.name))
    data = b"".join(SOURCE.write(rounds, facts, Move(), lambda _: b"", []))
    again = read(SOURCE, data)
    assert fold(again, Facts(SESSION, "native")).title == facts.title
    signed = [block.signature for block in blocks(rounds, Thinking)]
    assert [block.signature for block in blocks(again, Thinking)] == signed
    assert any(signed)
    ids = [json.loads(line)["uuid"] for line in data.splitlines()]
    assert len(ids) == len(set(ids))


def test_half_a_character_beside_the_payload_is_written_too() -> None:
    event = Happened(types.USER, "2026-01-02T03:04\ud83d", "u\ud83d", None, {"text": "go"})
    (made,) = Native().lines([event])
    assert Native().events(made.line) == [event]
