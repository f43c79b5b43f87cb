"""Which files are sessions of pi, and where they lie."""

from pathlib import Path

import pytest
from tests.conftest import canonical

from muniment import sources
from muniment.archive import Archive
from muniment.inscribe import Outcome
from muniment.sources.pi import SOURCE

from .sessions import SESSION, header, lines
from .test_read import conversation

NAME = f"2026-01-02T03-00-00-000Z_{SESSION}.jsonl"


def put(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_homes_are_those_that_the_client_uses() -> None:
    assert SOURCE.homes({"HOME": "/home/ada"}) == [Path("/home/ada/.pi/agent")]
    env = {"HOME": "/home/ada", "PI_CODING_AGENT_DIR": "~/pi", "PI_CODING_AGENT_SESSION_DIR": "/proj/s"}
    assert SOURCE.homes(env) == [Path("/home/ada/pi"), Path("/proj/s")]


def test_sessions_are_found_below_a_home_and_in_a_folder_of_their_own(tmp_path: Path) -> None:
    usual = put(tmp_path / "agent" / "sessions" / "--proj-app--" / NAME, conversation().data)
    own = put(tmp_path / "own" / NAME, conversation().data)
    put(tmp_path / "own" / "notes.jsonl", b"{}\n")
    assert list(SOURCE.candidates(tmp_path / "agent")) == [usual]
    assert list(SOURCE.candidates(tmp_path / "own")) == [own]
    homes = [tmp_path / "agent", tmp_path / "own"]
    found = list(SOURCE.gather([usual, own], tmp_path, homes))
    assert [(one.root, one.home, one.session_id) for one in found] == [(str(home), True, SESSION) for home in homes]


@pytest.mark.parametrize("linear", [True, False])
def test_a_session_is_told_by_its_content(tmp_path: Path, linear: bool) -> None:
    path = put(tmp_path / "renamed.txt", conversation(linear).data)
    (found,) = sources.find_in(path, {"HOME": "/nowhere"})
    assert (found.source, found.session_id) == ("pi", SESSION)


@pytest.mark.parametrize(
    "data",
    [
        lines({"type": "session", "version": 1, "id": "x", "timestamp": "t", "cwd": "/"}),
        lines({"type": "session.start", "data": {}, "id": "x", "timestamp": "t", "parentId": None}),
        lines({"type": "user", "uuid": "x", "parentUuid": None, "message": {"role": "user"}, "timestamp": "t"}),
    ],
)
def test_files_of_others_are_not_claimed(data: bytes) -> None:
    assert not SOURCE.matches(Path("x.jsonl"), data)


def test_a_header_alone_or_a_broken_one_still_tells_whose_it_is(tmp_path: Path) -> None:
    assert SOURCE.matches(Path("x.jsonl"), lines(header()))
    broken = put(tmp_path / NAME, b'{"type":"ses\n' + conversation().data.split(b"\n", 1)[1])
    assert SOURCE.matches(broken, broken.read_bytes())
    (found,) = SOURCE.gather([broken], tmp_path, [])
    assert found.session_id == SESSION


@pytest.mark.parametrize("linear", [True, False])
def test_growing_step_by_step_gives_what_the_whole_gives(tmp_path: Path, linear: bool) -> None:
    tree = conversation(linear)
    for text in ("and now?", "and then?"):
        tree.user(text)
        tree.answer({"type": "text", "text": "Nothing."})
    whole = tree.data
    path = tmp_path / "live" / "x.jsonl"
    growing, alone = (Archive(tmp_path / name, {"HOME": "/x"}) for name in ("growing", "alone"))
    former = 0
    for cut in (*range(300, len(whole), 171), len(whole)):
        put(path, whole[:cut])
        outcomes: list[Outcome] = []
        growing.inscribe([path], outcomes.append)
        assert outcomes[0].bytes_read == cut - former
        former = cut
    alone.inscribe([path])
    assert canonical(growing.layout.sessions) == canonical(alone.layout.sessions)


def test_a_role_that_is_no_word_is_nobody_s() -> None:
    entry = {"type": "message", "parentId": None, "timestamp": "2026-01-02", "message": {"role": ["user"]}}
    assert not SOURCE.matches(Path("x.jsonl"), lines(entry))
