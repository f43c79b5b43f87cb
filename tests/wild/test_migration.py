"""New versions and other places: old forms are read, unknown ones kept, and a broken migration loses nothing."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import apsw
import pytest

from muniment import batch
from muniment.archive import Archive
from muniment.errors import StoreError
from muniment.export import Request
from muniment.inscribe import Outcome
from muniment.model import Unknown
from muniment.record import Recorder
from muniment.restore import Target
from muniment.sources.base import Move
from tests.builder import ClaudeSession
from tests.conftest import canonical

from .scenes import THREAD, Machine, contents, exchanged, finish, meta, record, session_id, start, texts, turn

OLD_FORMS = Path(__file__).parents[1] / "sources" / "codex"


def filled(machine: Machine, count: int = 8) -> list[str]:
    """An archive with so many sessions."""
    for number in range(count):
        machine.claude(f"s{number}")
    machine.inscribe()
    return machine.listed()


REINDEX = """
    import os, signal, sys
    from muniment import Archive, batch
    done = []
    def told(outcome):
        done.append(outcome)
        if len(done) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
    Archive(sys.argv[1]).reindex(told)
"""


def test_wild_opencode_13560(machine: Machine) -> None:
    """A migration ended after a seventh of the sessions, and the others were not shown any more."""
    known = filled(machine)
    before = canonical(machine.archive.layout.sessions)
    finish(start(REINDEX, machine.archive.layout.root), ends=(-signal.SIGKILL,))
    assert machine.listed() == known
    assert machine.archive.reindex() == len(known)
    assert machine.listed() == known
    assert canonical(machine.archive.layout.sessions) == before


def test_wild_opencode_13636(machine: Machine) -> None:
    """The migration gave up in the middle, and what it had not come to was invisible to the new program."""
    known = filled(machine, 4)
    real, seen = batch.one.inscribe, []

    def give_up(*task: object) -> object:
        seen.append(task)
        if len(seen) == 3:
            raise MemoryError
        return real(*task)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch.one, "inscribe", give_up)
        outcomes: list[Outcome] = []
        machine.archive.reindex(outcomes.append)
    told = [outcome.session_id for outcome in outcomes if outcome.what == "failed"]
    assert len(told) == 1
    assert machine.listed() == [name for name in known if name not in told]
    machine.archive.reindex()
    assert machine.listed() == known


def test_wild_opencode_36178(machine: Machine) -> None:
    """Projects were named anew from their paths, and the sessions of the old names were left behind."""
    path = machine.claude("s", slug="D--Proj-Shop")
    machine.inscribe()
    path.parent.rename(path.parent.with_name("-proj-shop"))
    moved = path.parent.with_name("-proj-shop") / path.name
    machine.inscribe()
    assert machine.listed() == [path.stem]
    assert machine.row(path.stem).versions == 0
    moved.unlink()
    machine.archive.restore(path.stem, Target(move=Move(cwd="/proj/new_shop")))
    assert (machine.home / "projects" / "-proj-new-shop" / path.name).exists()


def test_wild_opencode_34445(machine: Machine) -> None:
    """An update made the agent's folder anew and took nothing over."""
    known = filled(machine)
    before = contents(machine.transcripts())
    shutil.rmtree(machine.home)
    machine.home.mkdir()
    newest = machine.claude("after the update")
    machine.inscribe()
    assert machine.listed() == sorted([*known, newest.stem])
    machine.restore_all()
    assert {path: data for path, data in contents(machine.transcripts()).items() if path != newest} == before


def test_wild_opencode_31023(machine: Machine) -> None:
    """A fresh database lay in the place of the old one, all its migrations done and no session in it."""
    known = filled(machine)
    database = machine.archive.layout.database
    version = apsw.Connection(str(database)).execute("PRAGMA user_version").get
    for name in database.parent.glob("sessions.db*"):
        name.unlink()
    fresh = apsw.Connection(str(database))
    fresh.execute("CREATE TABLE sessions(id INTEGER PRIMARY KEY)")
    fresh.close()
    with pytest.raises(StoreError, match="index version 0") as told:
        machine.listed()
    assert version
    assert "reindex" in told.value.hint
    machine.archive.reindex()
    assert machine.listed() == known


def test_wild_opencode_2987(machine: Machine) -> None:
    """All sessions were gone, because the program looked for its database under another name."""
    known = filled(machine)
    database = machine.archive.layout.database
    database.rename(database.with_name("sessions-stable.db"))
    with pytest.raises(StoreError, match="the index is missing"):
        machine.listed()
    newest = machine.claude("one more")
    machine.inscribe()
    assert machine.listed() == sorted([*known, newest.stem])


def test_wild_opencode_14546(machine: Machine, tmp_path: Path) -> None:
    """Sessions in an older form than the program's own were not to be found after an upgrade."""
    forms = ("oldest", "bare", "legacy", "items_only", "paginated")
    for number, form in enumerate(forms):
        (given,) = (OLD_FORMS / form).glob("input.*")
        own = THREAD[:-1] + str(number)
        data = given.read_bytes().replace(THREAD.encode(), own.encode())
        path = machine.rollout(data, own)
        path.rename(path.with_suffix(given.suffix))
    machine.inscribe()
    rows = machine.archive.sessions()
    assert len(rows) == len(forms)
    assert all(row.rounds and row.title for row in rows)
    assert all(checked.restored and not checked.problems for checked in machine.archive.check_stored())


def test_wild_opencode_30157(machine: Machine, project: Path, tmp_path: Path) -> None:
    """A newer program had written what the older one could not read, and it dropped the session."""
    session = ClaudeSession(session_id("s"), cwd="/proj/shop")
    session.exchange("hello", "hi")
    session.answer({"type": "hologram", "depth": 3}, {"type": "text", "text": "and more"})
    session.add({"type": "from-the-future", "sessionId": session.id, "value": {"deep": [1, 2.5, None]}})
    path = machine.put(session)
    machine.rollout(meta() + turn(1) + record("telepathy", {"type": "thought", "strength": 9}) + turn(2))
    with Recorder.start(cwd=project) as rec:
        rec.user("hello")
        rec.event("from the future", {"strength": 9})
        rec.assistant("hi")
    lines = rec.path.read_bytes().splitlines(keepends=True)
    lines[2] = json.dumps(json.loads(lines[2]) | {"new field": [1, 2]}).encode() + b"\n"
    rec.path.write_bytes(b"".join(lines))
    machine.inscribe(machine.home, machine.codex, project)
    assert len(machine.listed()) == 3
    kinds = [b.kind for r in machine.rounds(session.id) for b in r.blocks() if isinstance(b, Unknown)]
    assert "hologram" in kinds
    assert machine.words(THREAD) == exchanged(1, 2)
    assert machine.restored(session.id, path, tmp_path / "back") == session.data
    for name, source in ((session.id, "claude-code"), (THREAD, "codex"), (rec.session_id, "native")):
        machine.archive.export(name, Request(source, to=tmp_path / source))
    written = {source: b"".join(all_bytes(tmp_path / source)) for source in ("claude-code", "native")}
    assert b'"hologram"' in written["claude-code"]
    assert b"from the future" in written["native"]
    with Recorder.resume(rec.session_id, cwd=project) as resumed:
        assert texts(resumed.chain) == ["hello", "hi"]


def all_bytes(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


def test_an_archive_of_a_newer_version_is_not_written_to(machine: Machine) -> None:
    """An older program tells that it cannot, and changes nothing."""
    filled(machine, 1)
    database = machine.archive.layout.database
    newer = apsw.Connection(str(database))
    newer.execute("PRAGMA user_version = 9999")
    newer.close()
    before = database.read_bytes()
    machine.claude("another")
    with pytest.raises(StoreError, match="index version 9999"):
        Archive(machine.archive.layout.root, machine.archive.env).inscribe()
    assert database.read_bytes() == before
