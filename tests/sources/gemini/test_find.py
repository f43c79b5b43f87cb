"""Which files are sessions of Gemini CLI, and which make up one session."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest
from msgspec import structs
from tests.conftest import tree

from muniment import sources
from muniment.archive import Archive
from muniment.errors import Conflict
from muniment.restore import Target
from muniment.sources.base import Move
from muniment.sources.gemini import SOURCE, find

from .chats import FACTS, HASH, SESSION, change, head, lines, user
from .test_read import FORMS, TALK

CHATS = "tmp/app/chats"
NAME = f"{CHATS}/session-2026-01-02T03-00-01a00000.jsonl"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a session, its subagent, a long output, and the stub that a resume left."""
    folder = tmp_path / "user" / ".gemini"
    files = {
        NAME: FORMS["lines"],
        f"{CHATS}/session-2026-01-02T04-00-01a00000.jsonl": lines(head(kind="main"), change(lastUpdated="x")),
        f"{CHATS}/{SESSION}/sub-1.jsonl": lines(head(sessionId="sub-1", kind="subagent"), user(1, "help")),
        f"tmp/app/tool-outputs/session-{SESSION}/shell_1.txt": b"long",
        "tmp/app/.project_root": b"/proj/app",
        "tmp/app/logs.json": b"[]",
    }
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def test_homes_are_those_that_the_client_uses() -> None:
    assert SOURCE.homes({"HOME": "/home/ada"}) == [Path("/home/ada/.gemini")]
    assert SOURCE.homes({"HOME": "/home/ada", "GEMINI_CLI_HOME": "/data"}) == [Path("/data/.gemini")]


def test_a_session_has_its_subagents_outputs_and_the_stub_of_a_resume(home: Path) -> None:
    (found,) = SOURCE.gather(SOURCE.candidates(home), home, [home])
    assert (found.session_id, found.root, found.home) == (SESSION, str(home), True)
    assert [(file.role, file.name.rsplit("/", 1)[1]) for file in found.files] == [
        ("main", NAME.rsplit("/", 1)[1]),
        ("side", "session-2026-01-02T04-00-01a00000.jsonl"),
        ("sidechain", "sub-1.jsonl"),
        ("side", "shell_1.txt"),
        ("side", ".project_root"),
    ]


def test_everything_comes_back(home: Path, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "store", {"HOME": str(home.parent)})
    archive.inscribe()
    before = tree(home)
    shutil.rmtree(home / "tmp")
    archive.restore(SESSION)
    assert tree(home) == {name: data for name, data in before.items() if name != "tmp/app/logs.json"}


def test_a_document_that_the_client_continues_in_lines_gives_way_to_them(tmp_path: Path) -> None:
    chats = tmp_path / "user" / ".gemini" / CHATS
    chats.mkdir(parents=True)
    (chats / "session-old.json").write_bytes(FORMS["document"])
    archive = Archive(tmp_path / "store", {"HOME": str(tmp_path / "user")})
    archive.inscribe()
    (chats / "session-old.jsonl").write_bytes(FORMS["lines"] + lines(user(6, "still there?")))
    archive.inscribe()
    (session,) = archive.sessions()
    assert (session.rounds, session.versions) == (3, 1)
    before = tree(chats)
    shutil.rmtree(chats)
    archive.restore(SESSION)
    assert tree(chats) == before


@pytest.mark.parametrize("form", FORMS)
def test_a_session_is_told_by_its_content(tmp_path: Path, form: str) -> None:
    path = tmp_path / "renamed.txt"
    path.write_bytes(FORMS[form])
    (found,) = sources.find_in(path, {"HOME": "/nowhere"})
    assert (found.source, found.session_id) == ("gemini", SESSION)


def test_a_file_whose_first_line_is_broken_is_told_by_its_changes(tmp_path: Path) -> None:
    assert SOURCE.matches(tmp_path, lines(b'{"sess', TALK[0], change(lastUpdated="x")))
    assert not SOURCE.matches(tmp_path, lines(TALK[0], {"sessionId": "x", "type": "user"}))


@pytest.mark.parametrize("form", FORMS)
def test_growing_step_by_step_gives_what_the_whole_gives(tmp_path: Path, form: str) -> None:
    """A document is rewritten with every message, so its former states are versions; lines only grow."""
    (tmp_path / "live").mkdir()
    path = tmp_path / "live" / "x.jsonl"
    growing, alone = (Archive(tmp_path / name, {"HOME": "/x"}) for name in ("growing", "alone"))
    whole = FORMS[form]
    for cut in (len(whole) // 3, len(whole) // 2, len(whole) - 5, len(whole)):
        path.write_bytes(whole[:cut])
        growing.inscribe([path])
    alone.inscribe([path])
    kept = [[p.read_bytes() for p in sorted(a.layout.sessions.rglob("0*.json"))] for a in (growing, alone)]
    assert kept[0] == kept[1]
    assert growing.sessions()[0].rounds == 2


@pytest.mark.parametrize("given", ["lamp", "lamp/chats", "lamp/chats/session-x.jsonl", f"lamp/chats/{SESSION}"])
def test_what_lies_beside_the_chats_of_a_backup_belongs_to_them_wherever_one_points(tmp_path: Path, given: str) -> None:
    beside = {
        ".project_root": b"/proj/lamp",
        f"chats/{SESSION}/sub-1.jsonl": lines(head(sessionId="sub-1", kind="subagent"), user(1, "help")),
        f"tool-outputs/session-{SESSION}/shell_1.txt": b"long",
    }
    for name, data in {"chats/session-x.jsonl": FORMS["lines"], **beside}.items():
        path = tmp_path / "lamp" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (found,) = sources.find_in(tmp_path / given, {"HOME": "/nowhere"})
    assert (found.session_id, found.root) == (SESSION, str(tmp_path / "lamp"))
    assert {file.name for file in found.files} >= beside.keys()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into every folder")
def test_long_outputs_that_may_not_be_looked_at_keep_no_session_from_being_found(home: Path) -> None:
    outputs = home / "tmp/app/tool-outputs"
    outputs.chmod(0)
    (found,) = SOURCE.gather(SOURCE.candidates(home), home, [home])
    outputs.chmod(0o700)
    assert "shell_1.txt" not in {Path(file.name).name for file in found.files}


# -- moved


def archive_of(home: Path, tmp_path: Path) -> Archive:
    archive = Archive(tmp_path / "store", {"HOME": str(home.parent)})
    archive.inscribe()
    shutil.rmtree(home)
    return archive


def test_a_moved_project_has_its_folder_marker_and_hash(home: Path, tmp_path: Path) -> None:
    archive = archive_of(home, tmp_path)
    archive.restore("last", Target(move=Move(cwd="/new/My app_2")))
    made = tree(home / "tmp" / "my-app-2")
    assert made.pop(".project_root") == b"/new/My app_2"
    assert made.pop(f"tool-outputs/session-{SESSION}/shell_1.txt") == b"long"
    new = hashlib.sha256(b"/new/My app_2").hexdigest().encode()
    assert made[NAME.removeprefix("tmp/app/")] == FORMS["lines"].replace(HASH.encode(), new)
    assert [(data.count(new), data.count(HASH.encode())) for data in made.values()] == [(1, 0)] * 3


def test_a_new_identity_is_in_names_and_heads(home: Path, tmp_path: Path) -> None:
    archive = archive_of(home, tmp_path)
    new = "99999999-2222-4333-8444-555555555555"
    archive.restore("last", Target(move=Move(session_id=new)))
    (found,) = SOURCE.gather(SOURCE.candidates(home), home, [home])
    assert (found.session_id, len(found.files)) == (new, 5)
    assert not any(SESSION[:8] in file.name for file in found.files)


def test_the_folder_of_another_project_of_the_same_name_is_left_alone(home: Path, tmp_path: Path) -> None:
    archive = archive_of(home, tmp_path)
    marker = home / "tmp" / "app" / ".project_root"
    marker.parent.mkdir(parents=True)
    marker.write_text("/other/app")
    with pytest.raises(Conflict, match="project_root exists and differs"):
        archive.restore("last", Target(move=Move(cwd="/new/app")))
    assert tree(home) == {"tmp/app/.project_root": b"/other/app"}


@pytest.mark.parametrize(
    ("name", "folder", "place"),
    [
        ("talk.json", "/proj/app", "tmp/app/chats/session-talk.json"),
        ("kept/session-x.jsonl", "/proj/App", "tmp/app/chats/session-x.jsonl"),
        (f"tmp/{HASH}/chats/session-x.json", "/proj/ÄB", "tmp/b/chats/session-x.json"),
        ("tmp/app/chats/session-x.jsonl", "/", "tmp/project/chats/session-x.jsonl"),
    ],
)
def test_a_transcript_from_anywhere_goes_where_the_client_looks(name: str, folder: str, place: str) -> None:
    assert SOURCE.moved(name, [], FACTS, Move(cwd=folder))[0] == place


SERVED = {"sessionId": "a2a-server", "kind": "main"}


def test_sessions_of_the_server_are_told_apart_though_all_have_one_name(tmp_path: Path) -> None:
    """An editor runs the client as a server, which calls every session by the server's own name."""
    home = tmp_path / "user" / ".gemini"
    (home / CHATS).mkdir(parents=True)
    for hour, words in (("03", "hello"), ("04", "good day"), ("05", "bye")):
        begun = head(**SERVED, startTime=f"2026-01-02T{hour}:00:00.000Z")
        (home / CHATS / f"session-2026-01-02T{hour}-00-a2a-serv.jsonl").write_bytes(lines(begun, user(1, words)))
    before = tree(home)
    archive = Archive(tmp_path / "store", {"HOME": str(home.parent)})
    archive.inscribe()
    found = archive.sessions()
    assert sorted((session.title, session.versions) for session in found) == [
        ("bye", 0),
        ("good day", 0),
        ("hello", 0),
    ]
    shutil.rmtree(home / "tmp")
    for session in found:
        archive.restore(session.session_id)
    assert tree(home) == before


def test_a_session_of_the_server_gets_an_identity_of_its_own() -> None:
    facts = structs.replace(FACTS, native_id="a2a-server 2026-01-02T03:00:00.000Z")
    name = f"{CHATS}/session-2026-01-02T03-00-a2a-serv.jsonl"
    begun = lines(head(**SERVED, startTime="2026-01-02T03:00:00.000Z"))
    moved, pieces = SOURCE.moved(name, [begun], facts, Move(session_id=SESSION))
    assert moved == f"{CHATS}/session-2026-01-02T03-00-{SESSION[:8]}.jsonl"
    assert f'"{SESSION}"'.encode() in b"".join(pieces)


# -- prompts of sessions whose transcript is gone


def log(*prompts: tuple[str, str]) -> bytes:
    entries = [
        {
            "sessionId": session,
            "messageId": number,
            "type": "user",
            "message": said,
            "timestamp": f"2026-01-02T03:0{number}Z",
        }
        for number, (session, said) in enumerate(prompts)
    ]
    return json.dumps(entries, indent=2).encode()


def test_prompts_of_lost_sessions_are_told_and_rescued(tmp_path: Path) -> None:
    gone, other = "0a1b2c3d-0000-4000-8000-00000000000a", "0a1b2c3d-0000-4000-8000-00000000000b"
    logs = tmp_path / "user" / ".gemini" / "tmp" / "shop" / "logs.json"
    logs.parent.mkdir(parents=True)
    logs.write_bytes(log((gone, "light the lamp"), (other, "go"), (gone, "and the horn")))
    archive = Archive(tmp_path / "store", {"HOME": str(tmp_path / "user")})
    assert archive.find() == []
    assert archive.doctor().lost == (gone, other)
    archive.run(archive.plan(archive.lost()), lambda _: None)
    assert archive.doctor().lost == ()
    rows = {row.session_id: row for row in archive.sessions()}
    assert {id_: (row.prompts, row.transcript_gone, row.problems) for id_, row in rows.items()} == {
        gone: (2, True, 0),
        other: (1, True, 0),
    }
    before = logs.read_bytes()
    archive.restore(gone, Target(to=tmp_path / "out"))
    assert logs.read_bytes() == before
    assert all(one.lossless for one in archive.check_stored())


@pytest.mark.parametrize("data", [b"", b"[", b"{}", b"[1, null, {}]", b'[{"sessionId": 5}]', log((find.SERVER, "go"))])
def test_a_log_that_tells_of_no_session_is_no_trouble(tmp_path: Path, data: bytes) -> None:
    logs = tmp_path / ".gemini" / "tmp" / "shop" / "logs.json"
    logs.parent.mkdir(parents=True)
    logs.write_bytes(data)
    assert list(SOURCE.remembered(tmp_path / ".gemini")) == []
