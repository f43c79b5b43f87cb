"""Several processes at once: on one file, in each other's files, and on one index."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections import Counter
from pathlib import Path

import apsw
import pytest

from muniment.archive import Archive
from muniment.errors import StoreError
from muniment.export import Request
from muniment.record import Recorder, read_history
from muniment.record.transcript import dialect_named, load
from muniment.store import connection
from tests.builder import ClaudeSession, text, tool

from .scenes import (
    THREAD,
    Machine,
    contents,
    events,
    exchanged,
    finish,
    meta,
    ready,
    running,
    said,
    session_id,
    start,
    texts,
    turn,
)

WRITERS = 4
EACH = 150

# -- many processes, one shared file

CROWD = """
    import sys
    from pathlib import Path
    from muniment.record import Recorder, append_history, append_transcript, close_all
    from muniment.record.history import History
    root, name, each = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(each):
        uuid = f"{name}-{number}"
        append_transcript("shared", {"type": "note", "payload": uuid, "uuid": uuid}, root=root / "proj")
        append_history(uuid, "shared", uuid)
    for number in range(5):
        place = root / f"proj-{name}-{number}"
        place.mkdir()
        Recorder.start(cwd=place).close()
    rolled = History(root / "rolled" / "history.jsonl", max_entries=20)
    for number in range(each):
        rolled.append(f"{name}-{number}", "shared", "2026-01-02T03:04:05.000Z", f"{name}-{number}", durable=False)
    rolled.close()
    close_all()
"""


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What several processes left, each of which wrote to every shared file there is."""
    root = tmp_path_factory.mktemp("crowd")
    processes = [
        start(CROWD, root, f"w{number}", EACH, MUNIMENT_RECORDER=str(root / "home")) for number in range(WRITERS)
    ]
    together(processes)
    return root


def together(processes: list[subprocess.Popen[bytes]]) -> None:
    """Let them go at the same moment, once all have said that they are ready."""
    for process in processes:
        ready(process)
    for process in processes:
        assert process.stdin
        process.stdin.write(b"\n")
        process.stdin.flush()
    for process in processes:
        finish(process)


EVERYTHING = sorted(f"w{writer}-{number}" for writer in range(WRITERS) for number in range(EACH))


def test_wild_claude_code_1035(crowd: Path) -> None:
    """Every running session rewrote one shared file, and it broke: here the prompts of all are in one history."""
    prompts = [entry["prompt"] for entry in read_history(10_000, home=crowd / "home")]
    assert sorted(prompt for prompt in prompts if prompt) == EVERYTHING


def test_wild_claude_code_3117(crowd: Path) -> None:
    """A shared list of projects lost entries to whoever wrote last."""
    places = {line["path"] for line in events(crowd / "home" / "places.jsonl")}
    wanted = {str(crowd / f"proj-w{writer}-{number}") for writer in range(WRITERS) for number in range(5)}
    assert places == wanted


def test_wild_claude_code_28829(crowd: Path) -> None:
    """Two writers met in the middle of a JSON file, and neither could read it afterwards."""
    lines = events(crowd / "proj" / ".transcripts" / "shared.jsonl")
    assert sorted(line["payload"] for line in lines) == EVERYTHING
    for writer in range(WRITERS):
        own = [int(line["uuid"].split("-")[1]) for line in lines if line["uuid"].startswith(f"w{writer}-")]
        assert own == sorted(own)


def test_wild_claude_code_29198(crowd: Path) -> None:
    """Concurrent replacing of one file threw entries away: here it is rotated under four writers."""
    files = list((crowd / "rolled").glob("history.jsonl*"))
    found = Counter(line["prompt"] for file in files for line in events(file))
    assert found == Counter(EVERYTHING)
    assert len(files) > WRITERS


def test_wild_claude_code_28988(crowd: Path) -> None:
    """Within hours 291 corrupt copies lay beside the shared file."""
    assert {path.name for path in (crowd / "home").iterdir()} == {"history.jsonl", "places.jsonl"}
    transcripts = crowd / "proj" / ".transcripts"
    assert {path.name for path in transcripts.iterdir()} == {"shared.jsonl", ".gitignore"}
    assert load(transcripts / "shared.jsonl", dialect_named("native")).problems == []


# -- events in the wrong file


def test_wild_claude_code_26964(machine: Machine, tmp_path: Path) -> None:
    """Three quarters of a transcript were lines of other sessions that ran at the same time."""
    own = ClaudeSession(session_id("own"), cwd="/proj/shop")
    other = ClaudeSession(session_id("other"), cwd="/proj/shop")
    own.exchange("own prompt", "own reply")
    for number in range(4):
        other.exchange(f"foreign prompt {number}", f"foreign reply {number}")
    mixed = [*own.lines[:2], *other.lines, *own.lines[2:]]
    other.lines, kept = other.lines[:5], other.lines
    machine.put(other)
    own.lines = mixed
    path = machine.put(own)
    machine.inscribe()
    assert machine.listed() == sorted([own.id, other.id])
    words = machine.words(own.id)
    assert {"own prompt", "own reply", *(f"foreign reply {n}" for n in range(4))} <= set(words)
    assert machine.restored(own.id, path, tmp_path / "back") == b"".join(mixed)
    assert other.id.encode() in b"".join(kept)


def test_wild_claude_code_29342(machine: Machine) -> None:
    """A moved project had its session in two folders, and entries went to the wrong one of both."""
    old = machine.claude("s", rounds=2, slug="-proj-old")
    new = machine.claude("s", rounds=2, slug="-proj-new")
    for path, words in ((old, "to the old one"), (new, "to the new one")):
        session = ClaudeSession(old.stem)
        session.exchange(words, f"{words}, answered")
        path.write_bytes(path.read_bytes() + session.data)
    machine.inscribe()
    before = contents(machine.transcripts())
    for path in before:
        path.unlink()
    machine.restore_all()
    assert contents(machine.transcripts()) == before
    assert machine.row(old.stem).versions == 1


def test_wild_claude_code_30802(project: Path) -> None:
    """Two sessions of one program wrote into one another's transcript."""
    recorders = [Recorder.start(cwd=project, session_id=f"session-{number}") for number in range(4)]

    def talk(rec: Recorder) -> None:
        for number in range(40):
            rec.user(f"{rec.session_id} says {number}")

    threads = [threading.Thread(target=talk, args=(rec,)) for rec in recorders for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rec in recorders:
        rec.close()
        said_ = [event["payload"]["text"] for event in events(rec.path) if event["type"] == "user"]
        assert Counter(said_) == Counter({f"{rec.session_id} says {number}": 2 for number in range(40)})


# -- parallel tools and subagents


def test_wild_claude_code_45286(machine: Machine, project: Path, tmp_path: Path) -> None:
    """Of several calls at once one result was never written, and the session could not be used any more."""
    session = ClaudeSession(session_id("s"), cwd="/proj/shop")
    session.user("look at all three")
    session.answer(*(tool(f"t{n}", "Bash", {"command": f"cat {n}"}) for n in range(3)))
    for answered in ("t0", "t2"):
        session.result(answered, f"result of {answered}")
    session.answer(text("Two of three."))
    machine.put(session)
    machine.one()
    exported = machine.archive.export(session.id, Request("claude-code", to=tmp_path / "out"))
    assert [b"result of t" in line for line in Path(exported.paths[0]).read_bytes().splitlines()].count(True) == 2
    rec = Recorder.start(cwd=project)
    calls = [rec.tool_call("bash", {"command": f"cat {n}"}, id=f"t{n}") for n in range(3)]
    rec.tool_result(calls[2], "two")
    rec.tool_result(calls[0], "zero")
    rec.flush()
    with Recorder.resume(rec.session_id, cwd=project) as resumed:
        assert [(call.id, call.input) for call in resumed.unanswered] == [("t1", {"command": "cat 1"})]
        resumed.tool_result(resumed.unanswered[0], "one")
    with Recorder.resume("last", cwd=project) as again:
        assert again.unanswered == []


def test_wild_claude_code_51504(machine: Machine, project: Path) -> None:
    """With subagents at work in parallel the parent's transcript was never written."""
    rec = Recorder.start(cwd=project)
    rec.user("ask four agents")
    barrier = threading.Barrier(4)

    def work(number: int) -> None:
        barrier.wait(20)
        with rec.sidechain(f"task-{number}") as child:
            child.append("user", {"text": f"part {number}"})
            child.summary = f"did {number}"

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rec.close()
    told = [event["payload"] for event in events(rec.path) if event["type"] == "sidechain"]
    assert sorted(entry["summary"] for entry in told) == [f"did {number}" for number in range(4)]
    machine.inscribe(project)
    assert machine.row(rec.session_id).sidechains == 4


# -- two servers, one rollout

SERVER = """
    import sys
    from muniment.record import append_transcript, close_all
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(80):
        uuid = f"{sys.argv[2]}-{number}"
        event = {"type": "user", "payload": {"text": uuid + "x" * 5000}, "uuid": uuid}
        append_transcript("thread", event, root=sys.argv[1])
    close_all()
"""


def test_wild_codex_33241(machine: Machine, project: Path, tmp_path: Path) -> None:
    """Two servers appended to one rollout, each with a history of its own in mind."""
    data = meta() + turn(1) + said("user", "ask 2") + said("user", "ask 3")
    data += said("assistant", "answer 3") + said("assistant", "answer 2")
    path = machine.rollout(data)
    machine.one()
    assert sorted(machine.words(THREAD)) == sorted(exchanged(1, 2, 3))
    assert machine.restored(THREAD, path, tmp_path / "back") == data
    together([start(SERVER, project, name) for name in ("app", "browser")])
    found = Counter(event["uuid"] for event in events(project / ".transcripts" / "thread.jsonl"))
    assert found == Counter(f"{name}-{number}" for name in ("app", "browser") for number in range(80))


def test_wild_codex_38629(machine: Machine, project: Path) -> None:
    """A second window took over a running conversation, and both went on writing turns into it."""
    owner = Recorder.start(cwd=project)
    owner.user("first window")
    with Recorder.resume(owner.session_id, cwd=project) as second:
        second.user("second window")
        owner.user("first window again")
        assert texts(second.chain) == ["first window", "second window"]
    owner.close()
    assert [event["payload"].get("text") for event in events(owner.path)][1:3] == ["first window", "first window again"]
    machine.inscribe(project)
    assert len(machine.listed()) == 2


HOLDER = """
    import sys, time
    from muniment.record import Recorder
    rec = Recorder.start(cwd=sys.argv[1], session_id="held")
    rec.user("held open")
    print("ready", flush=True)
    time.sleep(60)
"""


def test_wild_codex_39823(project: Path) -> None:
    """Another process still had the session open, and resuming it was refused."""
    with running(HOLDER, project), Recorder.resume("held", cwd=project) as resumed:
        assert texts(resumed.chain) == ["held open"]


LOCKED = """
    import fcntl, os, sys
    descriptor = os.open(sys.argv[1], os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_wild_codex_37552(project: Path, machine: Machine) -> None:
    """A writer that hung kept its lock for good: reading, resuming and archiving need none."""
    rec = Recorder.start(cwd=project)
    rec.user("before it hung")
    rec.flush()
    with running(LOCKED, rec.path) as process:
        process.send_signal(signal.SIGSTOP)
        with Recorder.resume(rec.session_id, cwd=project) as resumed:
            assert texts(resumed.chain) == ["before it hung"]
            resumed.user("goes on")
        machine.inscribe(project)
        assert len(machine.listed()) == 2
    rec.close()


# -- one index, several processes

INSCRIBE = """
    import sys
    from pathlib import Path
    from muniment import Archive
    print("ready", flush=True)
    sys.stdin.readline()
    Archive(sys.argv[1]).inscribe([Path(sys.argv[2])])
"""


def test_wild_opencode_21215(machine: Machine) -> None:
    """Runs at the same time crashed because the database was busy."""
    for number in range(20):
        machine.claude(f"s{number}", rounds=1)
    together([start(INSCRIBE, machine.archive.layout.root, machine.home) for _ in range(3)])
    assert len(machine.listed()) == 20
    assert all(checked.lossless for checked in machine.archive.check_stored())


def open_transaction(archive: Archive, exclusive: bool = False) -> apsw.Connection:
    """Another process in the middle of writing the index."""
    held = apsw.Connection(str(archive.layout.database))
    held.execute("PRAGMA locking_mode=EXCLUSIVE" if exclusive else "SELECT 1")
    held.execute("BEGIN EXCLUSIVE; UPDATE sessions SET title = title")
    return held


def test_wild_opencode_47566(machine: Machine) -> None:
    """A long write made every reader fail: listing and reading go on beside it."""
    path = machine.claude("s")
    machine.inscribe()
    held = open_transaction(machine.archive)
    try:
        assert machine.listed() == [path.stem]
        assert machine.words(path.stem)[-1] == "s reply 1"
    finally:
        held.close()


def test_wild_opencode_48416(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the wait was over, the turn was dropped without a word: here it is told, and the next run has everything."""
    machine.claude("first")
    machine.inscribe()
    monkeypatch.setattr(connection, "BUSY_MS", 100)
    path = machine.claude("second")
    held = open_transaction(machine.archive)
    with pytest.raises(StoreError, match="locked"):
        machine.inscribe()
    held.close()
    machine.inscribe()
    assert machine.words(path.stem)[-1] == "second reply 1"


def test_wild_opencode_33320(machine: Machine, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A locked database stopped the conversation itself: recording needs none."""
    machine.claude("s")
    machine.inscribe()
    held = open_transaction(machine.archive)
    try:
        with Recorder.start(cwd=project) as rec:
            rec.user("nobody waits")
    finally:
        held.close()
    assert rec.problems == []
    machine.inscribe(project)
    assert machine.words(rec.session_id) == ["nobody waits"]


STOPPED = """
    import sys
    from pathlib import Path
    from muniment.store import index
    from muniment.store.layout import Layout
    with index.lock(Layout(Path(sys.argv[1])), lambda: None):
        print("ready", flush=True)
        sys.stdin.readline()
"""


def test_wild_opencode_36775(machine: Machine) -> None:
    """A process that waited for the lock gave up and lost its part: here it says that it waits, and then goes on."""
    path = machine.claude("s")
    machine.archive.layout.sessions.mkdir(parents=True)
    told = threading.Event()
    plan = machine.archive.plan(machine.archive.find())
    waiter = threading.Thread(target=machine.archive.run, args=(plan, lambda _: None, told.set))
    with running(STOPPED, machine.archive.layout.root):
        waiter.start()
        assert told.wait(20)
    waiter.join(20)
    assert machine.listed() == [path.stem]


# -- a malformed database


def spoiled(machine: Machine) -> tuple[Path, list[str]]:
    """An index of several pages, closed, and what it knew."""
    for number in range(6):
        machine.claude(f"s{number}", rounds=4)
    machine.inscribe()
    return machine.archive.layout.database, machine.listed()


def told_and_rebuilt(machine: Machine, known: list[str]) -> None:
    """The damage is told, with what to do about it; the evidence then gives everything back."""
    with pytest.raises(StoreError) as told:
        machine.listed()
    assert "reindex" in told.value.hint
    assert machine.archive.reindex() == len(known)
    assert machine.listed() == known
    assert all(checked.lossless for checked in machine.archive.check_stored())


def test_wild_claude_mem_3179(machine: Machine) -> None:
    """Several writers left a database whose image was malformed from its first page on."""
    database, known = spoiled(machine)
    database.write_bytes(b"\0" * 4096 + database.read_bytes()[4096:])
    told_and_rebuilt(machine, known)


def test_wild_codex_35091(machine: Machine) -> None:
    """Pages in the middle of the database were overwritten."""
    database, known = spoiled(machine)
    data = database.read_bytes()
    database.write_bytes(data[:4096] + b"\xa5" * (len(data) - 4096))
    told_and_rebuilt(machine, known)


def test_wild_openclaw_143556(machine: Machine) -> None:
    """The database was cut short."""
    database, known = spoiled(machine)
    os.truncate(database, 4096)
    told_and_rebuilt(machine, known)


def test_wild_mempalace_2045(machine: Machine) -> None:
    """Something that was no database any more lay in its place."""
    database, known = spoiled(machine)
    database.write_bytes(b"not a database " * 500)
    told_and_rebuilt(machine, known)


def test_wild_ruflo_2735(machine: Machine) -> None:
    """An older image was renamed over the database while its write-ahead log was in use."""
    for number in range(3):
        machine.claude(f"s{number}")
    machine.inscribe()
    database = machine.archive.layout.database
    shutil.copy(database, database.with_suffix(".old"))
    live = apsw.Connection(str(database))
    live.execute("SELECT count(*) FROM sessions").fetchall()
    for number in range(3, 6):
        machine.claude(f"s{number}")
    machine.inscribe()
    known = machine.listed()
    os.replace(database.with_suffix(".old"), database)
    live.close()
    machine.archive.reindex()
    assert machine.listed() == known
    assert len(known) == 6
    assert all(checked.lossless for checked in machine.archive.check_stored())
