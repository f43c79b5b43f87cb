"""Silent stops, lists that hide what is there, and chains that lead nowhere: everything written is found and read."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path

import pytest

from muniment.errors import NotRecorded
from muniment.export import Request
from muniment.model import Media, Text, Tool
from muniment.record import Recorder, append_transcript, effective, resume
from muniment.record.inspect import inspect
from muniment.record.transcript import dialect_named, load, recorded
from tests.builder import ClaudeSession, conversation, text

from .scenes import THREAD, Machine, events, exchanged, finish, meta, record, session_id, start, texts, turn

# -- recording stops without a word


def test_wild_claude_code_22566(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the working folder was changed nothing was persisted any more."""
    monkeypatch.chdir(project)
    rec = Recorder.start()
    rec.user("before")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    os.chdir(elsewhere)
    rec.user("after")
    with rec.sidechain("task") as child:
        child.append("note", "still in the project")
    rec.close()
    assert rec.path.parent == project / ".transcripts"
    assert texts(load(rec.path, rec.dialect).events) == ["before", "after"]
    assert (project / ".sidechains" / "task.jsonl").exists()
    assert list(elsewhere.iterdir()) == []


def test_wild_claude_code_29923(project: Path, machine: Machine) -> None:
    """Files had been edited, and there was no transcript of the session that did it."""
    edited = project / "a.py"
    edited.write_text("before")
    rec = Recorder.start(cwd=project)
    assert [event["type"] for event in events(rec.path)] == ["header"]
    rec.before_edit(edited)
    assert [event["type"] for event in events(rec.path)] == ["header", "checkpoint"]
    edited.write_text("after")
    machine.inscribe(project)
    assert rec.session_id in machine.listed()
    rec.close()
    (project / "no" / ".transcripts").parent.mkdir()
    (project / "no" / ".transcripts").write_text("in the way")
    with pytest.raises((NotRecorded, OSError)):
        Recorder.start(cwd=project / "no")


# -- the file is fine, the list hides it


def test_wild_claude_code_41616(machine: Machine) -> None:
    """The client's index of sessions was stale, and what it did not name was not shown."""
    path = machine.claude("s")
    index = {"version": 1, "entries": [{"sessionId": session_id("another"), "messageCount": 3}]}
    (path.parent / "sessions-index.json").write_text(json.dumps(index))
    machine.inscribe()
    assert machine.listed() == [path.stem]


def test_wild_claude_code_62851(machine: Machine, project: Path) -> None:
    """A first line of another kind than usual kept the session from being listed."""
    session = ClaudeSession(session_id("s"), cwd="/proj/shop")
    session.add({"type": "file-history-snapshot", "messageId": "x", "snapshot": {"trackedFileBackups": {}}})
    session.add({"type": "queue-operation", "operation": "enqueue", "sessionId": session.id})
    session.exchange("hello", "hi")
    machine.put(session)
    machine.one()
    assert machine.row(session.id).title == "hello"
    append_transcript("odd", {"type": "something new", "payload": {}, "uuid": "u0"}, root=project)
    append_transcript("odd", {"type": "user", "payload": {"text": "hello"}, "uuid": "u1"}, root=project)
    assert [row.session_id for row in recorded(project, dialect_named("native"))] == ["odd"]


def test_wild_claude_code_89512(machine: Machine, project: Path) -> None:
    """Only the beginning of a file was looked at, and a long one held no prompt."""
    session = ClaudeSession(session_id("s"), cwd="/proj/shop")
    session.add({"type": "attachment", "attachment": {"text": "x" * 200_000}, "sessionId": session.id})
    session.exchange("far behind", "found")
    machine.put(session)
    machine.one()
    assert machine.row(session.id).title == "far behind"
    with Recorder.start(cwd=project) as rec:
        rec.event("note", "x" * 200_000)
        rec.user("far behind")
    assert [row.session_id for row in recorded(project, dialect_named("native"))] == [rec.session_id]
    with Recorder.resume(rec.session_id[:8], cwd=project) as resumed:
        assert texts(resumed.chain) == ["far behind"]


def test_wild_claude_code_39658(machine: Machine, project: Path) -> None:
    """The first line was damaged, and with it the whole session was passed over."""
    session = conversation(2, session_id("s"))
    session.lines.insert(0, b"\0" * 300 + b"\n")
    machine.put(session)
    outcome = machine.one()
    assert [problem.offset for problem in outcome.problems] == [0]
    assert machine.words(session.id)[-1] == "reply 1"
    rec = Recorder.start(cwd=project)
    rec.user("hello")
    rec.close()
    lines = rec.path.read_bytes().splitlines(keepends=True)
    rec.path.write_bytes(b"".join([lines[0][:50], b"\n", *lines[1:]]))
    with Recorder.resume(rec.session_id[:8], cwd=project) as resumed:
        assert texts(resumed.chain) == ["hello"]


# -- parents that are not there


def orphaned(session: ClaudeSession, every: int) -> ClaudeSession:
    """With every so-manieth record hung on one that was never written."""
    for number in range(every, len(session.lines), every):
        changed = json.loads(session.lines[number]) | {"parentUuid": session_id(f"never written {number}")}
        session.lines[number] = json.dumps(changed).encode() + b"\n"
    return session


def test_wild_claude_code_24304(machine: Machine, project: Path) -> None:
    """A parent that was not in the file cut off what came before it."""
    session = orphaned(conversation(6, session_id("s")), every=17)
    machine.put(session)
    machine.one()
    assert machine.row(session.id).rounds == 6
    event = {"type": "user", "payload": {"text": "hello"}, "uuid": "u1", "prev_uuid": "never written"}
    append_transcript("broken", event, root=project)
    assert [e["payload"]["text"] for e in resume("broken", root=project)] == ["hello"]
    (problem,) = inspect(project / ".transcripts" / "broken.jsonl").problems
    assert "never written, which is not there" in problem.what


def test_wild_claude_code_58554(machine: Machine, tmp_path: Path) -> None:
    """With 22 such breaks only one record in twenty could be reached."""
    session = orphaned(conversation(45, session_id("s")), every=10)
    path = machine.put(session)
    machine.one()
    words = machine.words(session.id)
    assert [word for word in words if word.startswith("reply")] == [f"reply {n}" for n in range(45)]
    assert machine.restored(session.id, path, tmp_path / "back") == session.data


def test_wild_claude_code_46603(machine: Machine) -> None:
    """After a compaction the chain began at a record that never was, and days of work seemed gone."""
    session = conversation(3, session_id("s"))
    session.chain("system", parent=None, subtype="compact_boundary", content="Conversation compacted")
    session.chain("user", isCompactSummary=True, message={"role": "user", "content": "So far: three rounds."})
    session.last = session_id("taken away by the compaction")
    session.exchange("and then?", "more work")
    machine.put(session)
    machine.one()
    words = machine.words(session.id)
    assert words[0] == "prompt 0"
    assert words[-1] == "more work"
    assert "So far: three rounds." in machine.document(session.id)


def test_wild_claude_code_40487(machine: Machine, project: Path) -> None:
    """Two records had the same id, and one of them was never seen again."""
    session = ClaudeSession(session_id("s"), cwd="/proj/shop")
    session.exchange("hello", "hi")
    twin = json.loads(session.lines[-1])
    twin["message"]["content"] = [text("another answer")]
    session.add(twin)
    machine.put(session)
    machine.one()
    assert {"hi", "another answer"} <= set(machine.words(session.id))
    for words in ("one", "one", "two"):
        append_transcript("twins", {"type": "user", "payload": {"text": words}, "uuid": "u1"}, root=project)
    lines = events(project / ".transcripts" / "twins.jsonl")
    assert [(line["payload"]["text"], line.get("conflict")) for line in lines] == [("one", None), ("two", True)]


def test_wild_claude_code_40027(machine: Machine, project: Path) -> None:
    """A compacted session named the one before it, which was deleted, and could not be resumed."""
    session = ClaudeSession(session_id("s"), cwd="/proj/shop")
    session.chain("system", parent=None, subtype="compact_boundary", logicalParentUuid=session_id("deleted"))
    session.chain("user", isCompactSummary=True, message={"role": "user", "content": "So far: nothing."})
    session.exchange("go on", "gladly")
    machine.put(session)
    machine.one()
    assert machine.words(session.id)[-1] == "gladly"
    first = Recorder.start(cwd=project)
    first.user("the beginning")
    first.close()
    with Recorder.resume(first.session_id, cwd=project) as second:
        second.user("the rest")
    first.path.unlink()
    with Recorder.resume(second.session_id, cwd=project) as third:
        assert texts(third.chain) == ["the rest"]
        assert any(first.session_id in problem for problem in third.problems)


# -- compaction


def compacted(project: Path, times: int = 1) -> Recorder:
    """A session in which only the last prompt and the summaries are left in sight."""
    rec = Recorder.start(cwd=project)
    for number in range(6):
        kept = rec.user(f"prompt {number}").uuid
        if number >= 6 - times:
            rec.compact(f"summary {number}", first_kept=kept)
    rec.close()
    return rec


def test_wild_claude_code_43144(machine: Machine, project: Path) -> None:
    """An export after a compaction held a fraction of the conversation."""
    rec = compacted(project)
    machine.inscribe(project)
    assert [word for word in machine.words(rec.session_id) if word.startswith("prompt")] == [
        f"prompt {number}" for number in range(6)
    ]
    exported = machine.archive.export(rec.session_id, Request("claude-code"))
    written = Path(exported.paths[0]).read_text()
    assert [f"prompt {number}" in written for number in range(6)] == [True] * 6


def test_wild_claude_code_88679(project: Path) -> None:
    """What was resumed after a compaction had silently lost what it had read before."""
    rec = compacted(project)
    with Recorder.resume(rec.session_id, cwd=project) as resumed:
        assert texts(resumed.chain) == ["summary 5", "prompt 5"]
        found = load(rec.path, rec.dialect).events
        assert texts(effective(found, compactions=0)) == [f"prompt {number}" for number in range(6)]


def test_wild_claude_code_19443(project: Path) -> None:
    """A second compaction took away what the first had kept."""
    rec = compacted(project, times=3)
    found = load(rec.path, rec.dialect).events
    assert texts(effective(found)) == ["summary 5", "prompt 5"]
    assert texts(effective(found, compactions=1)) == ["summary 3", "prompt 3", "prompt 4", "prompt 5"]
    assert texts(effective(found, compactions=0)) == [f"prompt {number}" for number in range(6)]


# -- half a character

HALF = "broken \ud83d emoji"


def test_wild_claude_code_56064(machine: Machine, tmp_path: Path) -> None:
    """Half of a surrogate pair in one message made the whole session unusable."""
    session = ClaudeSession(session_id("s"), cwd="/proj/shop")
    session.exchange("hello", "MARK")
    session.lines = [line.replace(b"MARK", b"broken \\ud83d emoji") for line in session.lines]
    path = machine.put(session)
    outcome = machine.one()
    assert outcome.problems == ()
    assert machine.words(session.id)[-1] == HALF
    assert machine.restored(session.id, path, tmp_path / "back") == session.data
    exported = machine.archive.export(session.id, Request("claude-code", to=tmp_path / "out"))
    assert rb"broken \ud83d emoji" in Path(exported.paths[0]).read_bytes()


def test_wild_claude_code_68325(project: Path, machine: Machine) -> None:
    """A tool's output was cut in the middle of a character, and nothing could be sent any more."""
    with Recorder.start(cwd=project) as rec:
        rec.user("run it")
        rec.tool_result(rec.tool_call("bash", {"command": HALF}), HALF)
    assert rec.problems == []
    with Recorder.resume("last", cwd=project) as resumed:
        assert resumed.chain[1].payload["input"] == {"command": HALF}
        assert resumed.chain[2].payload["output"] == HALF
    machine.inscribe(project)
    (used,) = (block for r in machine.rounds(rec.session_id) for block in r.blocks() if isinstance(block, Tool))
    assert used.output == (Text(HALF),)


SHOW = """
    import sys
    from muniment.surfaces.cli.main import main
    sys.argv = ["muniment", "--store", sys.argv[1], "show", "last"]
    main()
"""


def test_wild_claude_code_69927(machine: Machine) -> None:
    """The session could not even be shown."""
    session = ClaudeSession(session_id("s"), cwd="/proj/shop")
    session.exchange("MARK first", "second")
    session.lines = [line.replace(b"MARK", b"\\udc00\\ud800") for line in session.lines]
    machine.put(session)
    machine.one()
    shown = finish(start(SHOW, machine.archive.layout.root))
    assert "first" in shown


# -- too large to be opened


def image(size: int) -> str:
    return base64.b64encode(hashlib.sha256(b"pixel").digest() * (size // 32)).decode()


def test_wild_codex_22004(machine: Machine, tmp_path: Path) -> None:
    """A rollout with images in it grew beyond the longest string the client could hold, and was never opened again."""
    picture = record("event_msg", {"type": "image_generation_end", "result": "A" * (65 << 20)})
    data = meta() + turn(1) + picture + turn(2)
    path = machine.rollout(data)
    outcome = machine.one()
    (problem,) = outcome.problems
    assert problem.length > 65 << 20
    assert machine.words(THREAD) == exchanged(1, 2)
    assert machine.restored(THREAD, path, tmp_path / "back") == data


HUGE = """
    import resource, sys
    from pathlib import Path
    from muniment import Archive
    archive = Archive(sys.argv[1])
    archive.inscribe([Path(sys.argv[2])])
    print(sum(1 for _ in archive.rounds(archive.session("last"))))
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(max(int(peak.split()[1]), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) // 1024)
"""


def test_wild_codex_28531(machine: Machine, tmp_path: Path) -> None:
    """A rollout of 8.41 GiB: what is in memory must not grow with the file."""
    picture = record("event_msg", {"type": "image_generation_end", "result": image(1 << 20)})
    path = machine.rollout(meta() + b"".join(turn(number) + picture for number in range(96)))
    assert path.stat().st_size > 128 << 20
    # The peak of RUSAGE_SELF would be that of this process, which wrote the file: it outlives an exec.
    rounds, megabytes = map(int, finish(start(HUGE, tmp_path / "store", machine.codex)).split())
    assert rounds == 96
    assert megabytes < 128


def test_wild_codex_24676(machine: Machine) -> None:
    """Images inside the records hung the window that showed the session: here they are files beside the text."""
    url = f"data:image/png;base64,{image(3 << 20)}"
    shown = {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": url}]}
    machine.rollout(meta() + turn(1) + record("response_item", shown) + turn(2))
    machine.one()
    assert len(machine.document(THREAD)) < 5000
    (media,) = (block for r in machine.rounds(THREAD) for block in r.blocks() if isinstance(block, Media))
    kept = machine.archive.shelf(machine.row(THREAD)).media / media.name
    assert kept.read_bytes() == base64.b64decode(image(3 << 20))


def test_wild_codex_46078(project: Path, machine: Machine) -> None:
    """A session with pictures in its results could not be resumed any more."""
    picture = {"type": "image", "media_type": "image/png", "data": image(2 << 20)}
    with Recorder.start(cwd=project) as rec:
        rec.user("draw it")
        rec.tool_result(rec.tool_call("draw", {}), [picture])
        rec.assistant("Drawn.")
    with Recorder.resume("last", cwd=project) as resumed:
        assert resumed.chain[2].payload["output"] == [picture]
        assert texts(resumed.chain) == ["draw it", "Drawn."]
    machine.inscribe(project)
    assert len(machine.document(rec.session_id)) < 5000
    (kept,) = machine.archive.shelf(machine.row(rec.session_id)).media.iterdir()
    assert kept.read_bytes() == base64.b64decode(picture["data"])


# -- found on the way


@pytest.mark.parametrize("first", ["a header of 200 kB", "a line of another tool"])
def test_a_recorded_session_is_listed_whatever_its_first_lines_are(project: Path, first: str) -> None:
    """What can be resumed by its path can be found by its id."""
    with Recorder.start(cwd=project, about={"prompt": "x" * (200_000 if "header" in first else 0)}) as rec:
        rec.user("hello")
    if "another" in first:
        rec.path.write_bytes(b'{"added by":"another tool"}\n' + rec.path.read_bytes())
    with Recorder.resume(rec.path, cwd=project) as resumed:
        assert texts(resumed.chain) == ["hello"]
    resumed.path.unlink()
    assert [row.session_id for row in recorded(project, dialect_named("native"))] == [rec.session_id]


def test_the_same_event_given_again_is_recorded_once(project: Path) -> None:
    """A harness that does not know whether an event was recorded gives it again."""
    with Recorder.start(cwd=project) as rec:
        rec.event("note", {"n": 1}, uuid="u1")
        assert rec.event("note", {"n": 1}, uuid="u1").duplicate
