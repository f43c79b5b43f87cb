"""Sessions in the database: seen as they are at one moment, and nothing there is touched."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.conftest import tree

from muniment.archive import Archive
from muniment.inscribe import Outcome
from muniment.sources.base import Found, head_of
from muniment.sources.opencode import SOURCE

from . import homes


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "user" / ".local" / "share" / "opencode"


@pytest.fixture
def used(home: Path) -> Iterator[apsw.Connection]:
    """A database in use: what was written lies in its log."""
    db = homes.database(home / "opencode.db")
    yield db
    db.close()


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "store", {"HOME": str(tmp_path / "user")})


def found(home: Path) -> list[Found]:
    return list(SOURCE.gather(SOURCE.candidates(home), home, [home]))


def content(session: Found, number: int = 0) -> bytes:
    return b"".join(SOURCE.content(session.files[number]))


def inscribe(archive: Archive) -> list[Outcome]:
    outcomes: list[Outcome] = []
    archive.inscribe([], outcomes.append)
    return outcomes


def test_a_session_is_the_document_that_an_export_gives(home: Path, used: apsw.Connection) -> None:
    (session,) = found(home)
    made = json.loads(content(session))
    assert made["messages"] == homes.DOCUMENT["messages"]
    assert made["info"] == homes.DOCUMENT["info"] | {"permission": []}
    assert (session.native_id, session.home) == (homes.NATIVE, True)


def test_what_has_no_place_in_the_document_is_kept_beside_it(home: Path, used: apsw.Connection) -> None:
    (session,) = found(home)
    rows = [json.loads(line) for line in content(session, 1).splitlines()]
    assert [row["table"] for row in rows] == ["session", "todo"]
    assert rows[1]["row"]["content"] == "sound the horn"


@pytest.mark.parametrize("odd", [None, "{}", '{ "role":"user"}', "no JSON", '{"role":\n"user","text":"ü"}'])
def test_sizes_are_known_without_making_the_documents(home: Path, used: apsw.Connection, odd: str | None) -> None:
    if odd:
        used.execute("INSERT INTO message VALUES ('msg_x', ?, 1, 1, ?)", (homes.NATIVE, odd))
        used.execute("INSERT INTO part VALUES ('prt_x', 'msg_x', ?, 1, 1, ?)", (homes.NATIVE, odd))
    bare = copy.deepcopy(homes.DOCUMENT) | {"messages": []}
    bare["info"]["id"] = "ses_bare"
    homes.add(used, bare)
    for session in found(home):
        for number, file in enumerate(session.files):
            assert file.size == len(content(session, number))
            json.loads(content(session, number).splitlines()[0] + (b"" if number else b"]}"))


def test_nothing_in_the_home_is_touched(home: Path, used: apsw.Connection, archive: Archive) -> None:
    before = {path: path.stat() for path in home.rglob("*")}, tree(home)
    assert [outcome.what for outcome in inscribe(archive)] == ["new"]
    after = {path: path.stat() for path in home.rglob("*")}, tree(home)
    assert after[1] == before[1]
    assert {p: s.st_mtime_ns for p, s in after[0].items()} == {p: s.st_mtime_ns for p, s in before[0].items()}


def test_a_database_at_rest_is_read_without_a_log(home: Path, archive: Archive) -> None:
    homes.database(home / "opencode.db").close()
    assert sorted(tree(home)) == ["opencode.db"]
    assert [outcome.what for outcome in inscribe(archive)] == ["new"]
    assert sorted(tree(home)) == ["opencode.db"]
    assert [outcome.what for outcome in inscribe(archive)] == []


def test_a_restore_gives_a_document_that_can_be_imported(home: Path, used: apsw.Connection, archive: Archive) -> None:
    inscribe(archive)
    expected = content(found(home)[0])
    archive.restore(archive.sessions()[0].session_id)
    exported = home / "exported" / f"{homes.NATIVE}.json"
    assert exported.read_bytes() == expected
    assert inscribe(archive)[0].problems == ()
    assert len(archive.sessions()) == 1


def test_a_session_that_grows_keeps_what_was_there(home: Path, used: apsw.Connection, archive: Archive) -> None:
    inscribe(archive)
    message = copy.deepcopy(homes.DOCUMENT["messages"][0])
    message["info"] |= {"id": "msg_later", "time": {"created": 1780999999999}}
    message["parts"] = [{"id": "prt_later", "type": "text", "text": "And by day?"}]
    homes.add_message(used, message)
    (outcome,) = inscribe(archive)
    assert outcome.what == "appended"
    (session,) = archive.sessions()
    assert (session.rounds, session.versions) == (3, 0)


def test_a_message_that_is_taken_back_is_kept_in_a_version(home: Path, used: apsw.Connection, archive: Archive) -> None:
    inscribe(archive)
    last = homes.DOCUMENT["messages"][-1]["info"]["id"]
    used.execute("DELETE FROM part WHERE message_id = ?", (last,))
    used.execute("DELETE FROM message WHERE id = ?", (last,))
    used.execute("UPDATE session SET time_updated = time_updated + 1")
    (outcome,) = inscribe(archive)
    assert outcome.what == "version"
    assert archive.sessions()[0].versions == 1


def test_a_tool_that_comes_to_its_end_does_not_make_a_version(
    home: Path, used: apsw.Connection, archive: Archive
) -> None:
    def part(state: dict[str, object]) -> str:
        return json.dumps({"type": "tool", "callID": "c1", "tool": "bash", "state": state})

    given = {"input": {"command": "make"}}
    states = [
        {"status": "pending", "input": {}, "raw": ""},
        {"status": "running", **given},
        {"status": "completed", **given, "output": "done"},
    ]
    own = homes.DOCUMENT["messages"][-1]["info"]["id"]
    used.execute("INSERT INTO part VALUES ('prt_zz', ?, ?, 1, 1, '{}')", (own, homes.NATIVE))
    for number, state in enumerate(states):
        used.execute("UPDATE part SET data = ?, time_updated = ? WHERE id = 'prt_zz'", (part(state), number + 2))
        inscribe(archive)
    (session,) = archive.sessions()
    assert session.versions == 0
    assert "done" in archive.shelf(session).document.read_text()


def test_any_database_is_recognised_by_its_tables(tmp_path: Path, home: Path, used: apsw.Connection) -> None:
    path = home / "opencode.db"
    used.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert SOURCE.matches(path, head_of(path))
    other = apsw.Connection(str(tmp_path / "other.db"))
    other.execute("CREATE TABLE session (id)")
    other.close()
    assert not SOURCE.matches(tmp_path / "other.db", head_of(tmp_path / "other.db"))


def test_a_damaged_database_is_no_reason_to_fail(home: Path) -> None:
    homes.database(home / "opencode.db").close()
    whole = (home / "opencode.db").read_bytes()
    (home / "opencode.db").write_bytes(whole[:2000] + b"\0" * 3000 + whole[5000:])
    assert found(home) == []


def test_a_session_is_asked_for_by_its_own_id_and_says_how_it_gets_back(
    archive: Archive, used: apsw.Connection
) -> None:
    inscribe(archive)
    document, *beside = archive.restore(homes.NATIVE)
    assert document.then == f"opencode import {document.path}"
    assert [file.then for file in beside] == [""]


# -- version 2


def rows_of(session: Found) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content(session, 1).splitlines()]


def test_records_of_version_2_are_what_it_exports(home: Path) -> None:
    homes.flat_database(home / "opencode.db").close()
    (session,) = found(home)
    made = json.loads(content(session))
    assert made["messages"] == homes.FLAT["messages"]
    more = {"version": "2.0.14", "slug": "quick-lamp", "permission": []}
    assert made["info"] == homes.FLAT["info"] | more
    assert (session.native_id, session.home) == (homes.FLAT_ID, True)
    assert [row["table"] for row in rows_of(session)] == ["session_v2"]


def test_records_are_in_the_order_of_their_numbers(home: Path) -> None:
    db = homes.flat_database(home / "opencode.db")
    early = homes.record(0, "user", text="numbered last")
    homes.add_record(db, homes.FLAT_ID, early, 1000)
    (session,) = found(home)
    assert json.loads(content(session))["messages"][-1] == early
    db.close()


@pytest.mark.parametrize("odd", ["{}", '{ "text":"a"}', "no JSON", '{"text":\n"ü"}', '{"text":"plain"}'])
def test_sizes_of_version_2_are_known_too(home: Path, odd: str) -> None:
    db = homes.flat_database(home / "opencode.db")
    db.execute("INSERT INTO session_message VALUES ('msg_ü\"', ?, 'user', 999, 1, 1, ?)", (homes.FLAT_ID, odd))
    homes.add_flat(db, {"info": homes.FLAT["info"] | {"id": "ses_bare"}, "messages": []})
    assert len(found(home)) == 2
    for session in found(home):
        for number, file in enumerate(session.files):
            assert file.size == len(content(session, number))
    assert all(json.loads(content(session)) for session in found(home))
    db.close()


def test_tables_of_version_1_that_are_empty_hide_nothing(home: Path) -> None:
    bare = copy.deepcopy(homes.DOCUMENT) | {"messages": []}
    db = homes.flat_database(home / "opencode.db", old=(bare,))
    db.execute("DELETE FROM session")
    assert [session.native_id for session in found(home)] == [homes.FLAT_ID]
    db.close()


def test_sessions_of_both_versions_are_found(home: Path, archive: Archive) -> None:
    db = homes.flat_database(home / "opencode.db", old=(homes.DOCUMENT,))
    assert {session.native_id for session in found(home)} == {homes.FLAT_ID, homes.NATIVE}
    assert [(outcome.what, outcome.problems) for outcome in inscribe(archive)] == [("new", ()), ("new", ())]
    assert inscribe(archive) == []
    db.close()


def carried_over() -> dict[str, Any]:
    """The sample of version 1 under its id in the tables of version 2, said at the same time."""
    said = [
        {
            "id": f"msg_v2_{number}",
            "type": "user",
            "text": "carried",
            "time": {"created": message["info"]["time"]["created"]},
        }
        for number, message in enumerate(homes.DOCUMENT["messages"])
    ]
    return {"info": homes.DOCUMENT["info"], "messages": said}


def test_a_session_that_was_carried_over_is_read_once(home: Path) -> None:
    db = homes.flat_database(home / "opencode.db", carried_over(), old=(homes.DOCUMENT,))
    (session,) = found(home)
    assert {message["type"] for message in json.loads(content(session))["messages"]} == {"user"}
    kept = rows_of(session)
    old = [row["row"]["id"] for row in kept if row["table"] == "message"]
    assert old == [message["info"]["id"] for message in homes.DOCUMENT["messages"]]
    assert {"session_v2", "session", "part"} <= {row["table"] for row in kept}
    assert "nobody may read this" not in str(kept)
    db.close()


@pytest.mark.parametrize("carried", [0, 3])
def test_what_version_1_said_later_stands_behind(home: Path, archive: Archive, carried: int) -> None:
    document = carried_over()
    document["messages"] = document["messages"][:carried]
    db = homes.flat_database(home / "opencode.db", document, old=(homes.DOCUMENT,))
    (session,) = found(home)
    assert session.files[0].size == len(content(session))
    made = json.loads(content(session))["messages"]
    assert made[:carried] == document["messages"]
    assert made[carried:] == homes.DOCUMENT["messages"][carried:]
    assert [(outcome.what, outcome.problems) for outcome in inscribe(archive)] == [("new", ())]
    assert all(report.lossless for report in archive.check([home / "opencode.db"]))
    db.close()


def test_a_session_of_version_2_grows(home: Path, archive: Archive) -> None:
    db = homes.flat_database(home / "opencode.db")
    inscribe(archive)
    homes.add_record(db, homes.FLAT_ID, homes.record(40, "user", text="And by day?"), 500)
    (outcome,) = inscribe(archive)
    assert outcome.what == "appended"
    (session,) = archive.sessions()
    assert (session.rounds, session.versions) == (3, 0)
    db.close()
