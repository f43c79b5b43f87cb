"""Sessions of older versions: many small files, read as one, and every one given back."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import canonical, tree

from muniment.archive import Archive
from muniment.inscribe import Outcome
from muniment.model import Event, Media, Text, Thinking, Tool, Unknown, Usage
from muniment.model.rounds import text_of
from muniment.sources import find_in
from muniment.sources.opencode import SOURCE

from . import homes


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    return tmp_path / "user" / ".local" / "share" / "opencode"


@pytest.fixture
def home(empty: Path) -> Path:
    homes.storage(empty)
    return empty


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "store", {"HOME": str(tmp_path / "user")})


def inscribe(archive: Archive, *paths: Path) -> list[Outcome]:
    outcomes: list[Outcome] = []
    archive.inscribe(paths, outcomes.append)
    return outcomes


LayOut = Callable[[Path], Path]


def of_a_project(home: Path) -> Path:
    return homes.earliest(home / "project" / "home-ada-lighthouse")


LAYOUTS = [homes.storage, homes.earliest, of_a_project]


@pytest.mark.parametrize("lay_out", LAYOUTS)
def test_the_files_read_as_their_export_does(lay_out: LayOut, empty: Path, archive: Archive, tmp_path: Path) -> None:
    lay_out(empty)
    other = Archive(tmp_path / "other", {"HOME": "/nowhere"})
    assert [outcome.problems for outcome in [*inscribe(archive), *inscribe(other, homes.EXPORT)]] == [(), ()]
    ours, theirs = (canonical(store.layout.sessions) for store in (archive, other))
    rounds = [name for name in ours if "/rounds/" in name]
    assert len(rounds) == 2
    assert [ours[name] for name in rounds] == [theirs[name] for name in rounds]


@pytest.mark.parametrize("lay_out", LAYOUTS)
def test_every_file_comes_back_and_no_other(lay_out: LayOut, empty: Path, archive: Archive) -> None:
    lay_out(empty)
    before = tree(empty)
    inscribe(archive)
    shutil.rmtree(empty)
    archive.restore(archive.sessions()[0].session_id)
    assert tree(empty) == before


def test_the_size_of_the_whole_is_known_before_it_is_read(home: Path) -> None:
    (session,) = SOURCE.gather(SOURCE.candidates(home), home, [home])
    main = session.main
    assert main is not None
    assert main.size == len(b"".join(SOURCE.content(main)))
    assert len(session.files) == 1 + len(tree(home))


def test_a_new_part_goes_into_what_is_there(home: Path, archive: Archive) -> None:
    inscribe(archive)
    assert inscribe(archive) == []
    message = homes.DOCUMENT["messages"][-1]["info"]["id"]
    later = home / "storage" / "part" / message / "prt_zz.json"
    later.write_text('{"id":"prt_zz","type":"text","text":"Sleep well."}')
    (outcome,) = inscribe(archive)
    assert (outcome.what, outcome.problems) == ("appended", ())
    assert inscribe(archive) == []


def test_a_file_that_cannot_be_read_damages_its_message_only(home: Path, archive: Archive) -> None:
    path = next((home / "storage" / "part").rglob("*.json"))
    path.write_bytes(path.read_bytes()[:-5])
    (outcome,) = inscribe(archive)
    assert len(outcome.problems) == 1
    assert outcome.rounds >= 1


def test_a_session_is_found_by_its_own_file(home: Path) -> None:
    path = next((home / "storage" / "session").rglob("*.json"))
    (session,) = find_in(path, {"HOME": "/nowhere"})
    assert session.native_id == homes.NATIVE
    assert not session.home


@pytest.mark.parametrize("lay_out", LAYOUTS)
def test_a_home_holds_its_sessions_once(lay_out: LayOut, empty: Path) -> None:
    lay_out(empty)
    (found,) = SOURCE.gather(SOURCE.candidates(empty), empty, [empty])
    assert (found.native_id, found.root, found.home) == (homes.NATIVE, str(empty), True)
    (pointed,) = find_in(empty, {"HOME": "/nowhere"})
    assert [file.name for file in pointed.files] == [file.name for file in found.files]


def test_a_session_that_was_carried_over_from_layout_to_layout_comes_to_rest(empty: Path, archive: Archive) -> None:
    for lay_out in LAYOUTS:
        lay_out(empty)
    inscribe(archive)
    assert len(archive.sessions()) == 1
    assert inscribe(archive) == []


def test_messages_that_hold_their_parts_read_as_a_conversation(empty: Path, archive: Archive) -> None:
    homes.earliest(empty / "project" / "home-ada", homes.NESTED)
    assert [outcome.problems for outcome in inscribe(archive)] == [()]
    (session,) = archive.sessions()
    first, second = archive.rounds(session)
    assert [text_of(round_.prompt) for round_ in (first, second) if round_.prompt] == [
        "How much oil is left? See the gauge.",
        "Good night.",
    ]
    asked, answer = first.messages
    assert [type(block) for block in asked.blocks if not isinstance(block, Event)] == [Text, Media, Unknown]
    (thought,) = (block for block in answer.blocks if isinstance(block, Thinking))
    assert thought.signature == "c2ln"
    calls = [block for block in answer.blocks if isinstance(block, Tool)]
    assert [(call.id, call.input, call.output and call.output[0]) for call in calls] == [
        ("c1", {"command": "cat gauge.txt"}, Text("40 l")),
        ("c2", {"command": "refill"}, None),
        ("c3", {}, None),
    ]
    assert (answer.at, answer.model) == ("2025-06-15T15:06:42.000Z", "claude-sonnet-4")
    assert (answer.usage, session.cwd) == (Usage(10, 5, 3, 2), "/home/ada/lighthouse")


@pytest.mark.parametrize("size", [0, 1, 5, 40])
@pytest.mark.parametrize("kind", ["message", "part"])
def test_a_file_that_is_cut_hides_no_other_and_is_a_problem(home: Path, archive: Archive, kind: str, size: int) -> None:
    """A crash leaves files empty or half written."""
    cut = sorted((home / "storage" / kind).rglob("*.json"))[2]
    cut.write_bytes(cut.read_bytes()[:size])
    (found,) = archive.find()
    (document,) = (file for file in found.files if file.role == "main")
    made = b"".join(SOURCE.content(document))
    assert len(made) == document.size
    assert len(json.loads(made)["messages"]) == len(homes.DOCUMENT["messages"])
    assert [len(outcome.problems) for outcome in inscribe(archive)] == [1]
    (session,) = archive.sessions()
    assert session.messages >= len(homes.DOCUMENT["messages"]) - 1, "one is the program's own"
