"""A source that fails stops no other, whatever it raises and wherever; it is named, and nothing is said to be safe."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faults.world import Ran, Tree, done, run, small
from tests.watch.watched import Machine

from muniment.archive import Archive
from muniment.sources import all_sources, named
from muniment.sources.base import Source

PLUG_IN = """
from pathlib import Path
from muniment.model import Ref, Text
from muniment.sources.builder import RoundBuilder
from muniment.sources.base import Source, found_session, source_file

class Wren(Source):
    name, title, family = "wren", "Wren", "wren"

    def homes(self, env):
        return [Path(env["HOME"]) / ".wren"]

    def candidates(self, home):
        yield from sorted(home.glob("*.wren"))

    def matches(self, path, head):
        return path.suffix == ".wren"

    def gather(self, paths, root, homes):
        for path in paths:
            file = source_file(path, root, "main")
            yield found_session("wren", path.stem, root, True, (file,))

    def read(self, records, facts):
        round_ = RoundBuilder(facts.rounds + 1, 0)
        for record in records:
            said = Text(record.raw.decode(), ref=Ref(record.offset, record.length))
            round_.message("user").blocks.append(said)
        yield round_.close()

    def claims(self, line):
        return iter(())

SOURCE = Wren()
"""

FAILING = {
    "homes": "def homes(self, env): raise ZeroDivisionError('a wren')",
    "candidates": "def candidates(self, home):\n        yield home / 'a.wren'\n        raise KeyError('a wren')",
    "gather": "def gather(self, paths, root, homes): raise TypeError('a wren')",
    "remembered": "def remembered(self, home): raise RecursionError('a wren')",
    "content": "def content(self, file, start=0, end=None): raise AssertionError('a wren')",
    "read": "def read(self, records, facts): raise LookupError('a wren')",
}

NO_SOURCES = {
    "import": ("raise ValueError('a wren\\nis ill')", "it cannot be loaded (ValueError: a wren is ill)"),
    "exit": ("import sys; sys.exit('a wren')", "it cannot be loaded (SystemExit: a wren)"),
    "missing": ("", "it cannot be loaded (AttributeError: "),
    "construction": (PLUG_IN.replace("class Wren(Source):", "class Wren(Source):\n    def __init__(self): 1 / 0"), "("),
    "class": (PLUG_IN.replace("Wren()", "Wren"), "it is a class"),
    "number": ("SOURCE = 42", "it is a int and no Source"),
    "nameless": (PLUG_IN.replace('name, title, family = "wren", "Wren", "wren"', "pass"), "it has no name"),
    "taken": (PLUG_IN.replace('"wren", "Wren"', '"codex", "Wren"'), "another source called codex"),
}


class World:
    """A machine with a plug-in, two files of its agent, and sessions of another agent."""

    def __init__(self, folder: Path) -> None:
        self.site, self.user, self.store = folder / "site", folder / "user", folder / "store"
        about = self.site / "wren-1.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: wren\nVersion: 1\n")
        (about / "entry_points.txt").write_text("[muniment.sources]\nwren = wren:SOURCE\n")
        (self.user / ".wren").mkdir(parents=True)
        for name in ("a", "b"):
            (self.user / ".wren" / f"{name}.wren").write_text("tweet\n")
        self.tree: Tree = small(self.user / ".claude")

    def put(self, code: str) -> None:
        (self.site / "wren.py").write_text(code)

    def run(self, *words: object) -> Ran:
        return run(self.store, *words, env={"PYTHONPATH": str(self.site), "HOME": str(self.user)})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_the_plug_in_of_these_tests_works(world: World) -> None:
    world.put(PLUG_IN)
    ran = world.run("sources")
    assert (ran.code, ran.err) == (0, "")
    assert "wren" in ran.out


@pytest.mark.parametrize("method", FAILING)
def test_a_source_that_fails_is_named_and_the_others_go_on(world: World, method: str) -> None:
    body = FAILING[method]
    world.put(PLUG_IN.replace("\nSOURCE", f"\n    {body}\n\nSOURCE"))
    for words in ("up",), ("inscribe",), ("watch", "--once"), ("doctor",):
        ran = world.run(*words)
        only_told = method == "remembered" and words != ("doctor",)  # what is inscribed needs no history
        assert ran.code == (0 if only_told else 1), (words, ran)
        assert "nothing is at risk" not in ran.out
        if method not in ("content", "read"):
            assert "Traceback" not in ran.out + ran.err, (words, ran)
        if ran.code == 1 and words != ("doctor",):
            assert "a wren" in ran.out + ran.err, (words, ran)
    for words in ("sources",), ("check", world.user), ("sessions",), ("ingest",):
        ran = world.run(*words)
        assert "Traceback" not in ran.err, (words, ran)
    listed = done(world.store, "sessions").out
    assert all(session.id[:8] in listed for session in world.tree.sessions.values())


def test_a_source_without_homes_keeps_no_session_of_another_from_its_place(world: World) -> None:
    world.put(PLUG_IN.replace("\nSOURCE", f"\n    {FAILING['homes']}\n\nSOURCE"))
    world.run("inscribe")
    session = next(iter(world.tree.sessions.values()))
    for words in ("restore", session.id), ("restore", session.id, "--to", world.user / "to"):
        ran = world.run(*words)
        assert (ran.code, "Traceback" in ran.err) == (0, False), ran


def test_one_file_that_a_source_fails_at_hides_no_other(world: World) -> None:
    body = "if path.stem == 'a': raise ValueError('a wren')"
    world.put(PLUG_IN.replace("for path in paths:", f"for path in paths:\n            {body}"))
    for index in range(100):
        (world.user / ".wren" / f"x{index}.wren").write_text("tweet\n")
    ran = world.run("inscribe")
    assert ran.code == 1
    assert f"{world.user}/.wren/a.wren: cannot be read: the source fails (wren: ValueError: a wren, wren.py:" in ran.out
    assert "105 sessions found" in ran.out


def test_a_source_that_fails_at_recognising_hides_no_file_of_another(world: World) -> None:
    """Its own are found all the same, because they lie in its home."""
    world.put(PLUG_IN.replace("return path.suffix == ", "raise ValueError('a wren')\n        return path.suffix == "))
    ran = world.run("inscribe", world.user)
    assert ran.code == 1
    assert "6 sessions found" in ran.out
    assert "Traceback" not in ran.out + ran.err


@pytest.mark.parametrize("way", NO_SOURCES)
def test_a_broken_plug_in_is_named_in_one_line(world: World, way: str) -> None:
    code, why = NO_SOURCES[way]
    world.put(code)
    ran = world.run("sources")
    assert ran.code == 0
    assert ran.err.startswith("plug-in wren (wren:SOURCE): "), ran
    assert why in ran.err
    assert len(ran.err.splitlines()) == 1
    assert "claude-code" in ran.out
    for words in ("up",), ("doctor",), ("inscribe",), ("watch", "--once"):
        told = world.run(*words)
        assert told.code == 1, (words, told)
        assert "Traceback" not in told.out + told.err
        assert why in told.out + told.err
    for words in ("sessions",), ("show", "last"), ("search", "lighthouse"), ("check", "--stored"):
        assert world.run(*words).code == 0


def test_a_watch_goes_on_with_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path / "world")
    world.put(PLUG_IN.replace("\nSOURCE", f"\n    {FAILING['gather']}\n\nSOURCE"))
    monkeypatch.setenv("PYTHONPATH", str(world.site))
    machine = Machine(tmp_path)
    (machine.user / ".wren").mkdir()
    (machine.user / ".wren" / "a.wren").write_text("tweet\n")
    tree = small(machine.home, 1)
    with machine.watch("--no-ingest") as watched:
        watched.wait_for("failed", path=str(machine.user / ".wren" / "a.wren"))
        (machine.user / ".wren" / "b.wren").write_text("tweet\n")
        tree.grow()
        watched.wait_for("inscribed", session_id=tree.sessions[0].id, what="appended")


def test_without_notes_a_failure_is_raised(archive: Archive, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What tests a source, as the contract does, must see that it fails."""
    from muniment.sources import find_everywhere

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    tree = small(home)
    monkeypatch.setattr(type(named("claude-code")), "gather", fail)
    with pytest.raises(ZeroDivisionError):
        list(find_everywhere(archive.env))
    assert archive.find() == []
    assert tree.transcript(0) in archive.unreadable
    assert all(isinstance(source, Source) for source in all_sources())
