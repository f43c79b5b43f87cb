"""Databases that are damaged, odd or made to harm: what can be read is, what cannot is named."""

from __future__ import annotations

import contextlib
import copy
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.conftest import tree
from tests.faults.world import done, run, small

from muniment.archive import Archive
from muniment.contract.keeping import HOSTILE
from muniment.errors import MunimentError
from muniment.restore import Target
from muniment.sources import databases
from muniment.sources.finding import is_fault

from . import homes

INDEXES = """
    CREATE INDEX message_session_idx ON message (session_id);
    CREATE INDEX part_message_idx ON part (message_id);
    CREATE INDEX todo_session_idx ON todo (session_id);
"""
FLAT_INDEX = "CREATE INDEX record_session_idx ON session_message (session_id)"


def document(number: int) -> dict[str, Any]:
    """The sample under ids of its own."""
    made = copy.deepcopy(homes.DOCUMENT)
    own = f"ses_{number:04d}"
    made["info"]["id"] = own
    for message in made["messages"]:
        message["info"] |= {"id": f"{own}_{message['info']['id']}", "sessionID": own}
        message["parts"] = [part | {"id": f"{own}_{part['id']}"} for part in message["parts"]]
    return made


def many(path: Path, count: int = 60, indexed: bool = True) -> bytes:
    """A database of so many sessions, at rest."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_many(count, indexed))
    return path.read_bytes()


@cache
def _many(count: int, indexed: bool) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "opencode.db")
        db = homes.database(path, *(document(number) for number in range(count)))
        if indexed:
            db.execute(INDEXES)
        db.close()
        return path.read_bytes()


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "store", {"HOME": str(tmp_path / "user")})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "user" / ".local" / "share" / "opencode" / "opencode.db"


def natives(archive: Archive) -> set[str]:
    return {found.native_id or "" for found in archive.find()}


def contents(archive: Archive) -> dict[str, bytes]:
    """Every session that is found, read; sizes are what they are said to be."""
    from muniment.sources.opencode import SOURCE

    made: dict[str, bytes] = {}
    for found in archive.find():
        for file in found.files:
            data = b"".join(SOURCE.content(file))
            assert len(data) == file.size, file.name
            made[file.name] = data
    return made


def inscribe_all(archive: Archive) -> None:
    """Inscribe what is found; a session that fails has a reason that is no bug."""
    outcomes: list[Any] = []
    archive.inscribe([], outcomes.append)
    assert not any("a bug in muniment" in outcome.note for outcome in outcomes), outcomes


# -- damage


def whole_pages(data: bytes, number: int, filler: bytes = b"\0") -> bytes:
    size = 4096
    return data[: number * size] + filler * size + data[(number + 1) * size :]


@pytest.mark.parametrize("indexed", [True, False])
def test_one_bad_page_hides_few_sessions_and_is_named(path: Path, archive: Archive, indexed: bool) -> None:
    good = many(path, indexed=indexed)
    before = contents(archive)
    pages = len(good) // 4096
    lost: list[int] = []
    for number in range(1, pages, 7):
        path.write_bytes(whole_pages(good, number, random.Random(number).randbytes(1)))
        after = contents(archive)
        names = {name for name in before if name.endswith(".json") and name not in after}
        lost.append(len(names))
        if names or (not indexed and any(before[name] != data for name, data in after.items())):
            assert archive.unreadable, number
        if indexed:
            assert all(before[name] == data for name, data in after.items() if name.endswith(".json")), number
    assert statistics.median(lost) <= 3
    assert sum(count > 12 for count in lost) <= 3, "but for the pages that lead to all others"


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("part", [0.2, 0.5, 0.9, 0.99])
def test_a_truncated_database_is_named(path: Path, archive: Archive, indexed: bool, part: float) -> None:
    good = many(path, indexed=indexed)
    path.write_bytes(good[: int(len(good) * part)])
    contents(archive)
    assert path in archive.unreadable
    diagnosis = archive.doctor()
    assert not diagnosis.healthy
    assert str(path) in diagnosis.unreadable


@pytest.mark.parametrize("seed", range(150))
def test_what_flipped_bytes_hide_is_named(path: Path, archive: Archive, seed: int) -> None:
    """Of a small database: whatever is turned around, nothing is raised, and no session goes without a word."""
    chance = random.Random(seed)
    good = bytearray(many(path, 8, indexed=seed % 2 == 0))
    for _ in range(chance.choice([1, 1, 2, 10, 200])):
        good[chance.randrange(len(good))] = chance.randrange(256)
    path.write_bytes(good)
    inscribe_all(archive)
    if {f"ses_{number:04d}" for number in range(8)} - natives(archive):
        assert archive.unreadable
    assert all(why.startswith("cannot be read: ") for why in archive.unreadable.values())
    assert not any(is_fault(why) for why in archive.unreadable.values()), archive.unreadable


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bytes_of_version_2_and_of_a_log(path: Path, archive: Archive, seed: int) -> None:
    chance = random.Random(seed)
    db = homes.flat_database(path, old=(homes.DOCUMENT,) if seed % 2 else ())
    db.execute("PRAGMA journal_mode = WAL")
    homes.add_flat(db, {"info": homes.FLAT["info"] | {"id": "ses_log"}, "messages": []})
    data = {file: bytearray(file.read_bytes()) for file in path.parent.iterdir()}
    db.close()
    for file in path.parent.iterdir():
        file.unlink()
    for file, held in data.items():
        for _ in range(chance.choice([1, 20])):
            held[chance.randrange(len(held))] = chance.randrange(256)
        file.write_bytes(held)
    inscribe_all(archive)
    assert not any(is_fault(why) for why in archive.unreadable.values()), archive.unreadable


def test_a_bad_page_stops_no_other_agent(path: Path, tmp_path: Path) -> None:
    good = many(path)
    path.write_bytes(good[: len(good) // 2])
    tree = small(tmp_path / "user" / ".claude")
    env = {"HOME": str(tmp_path / "user")}
    for words in ("up",), ("inscribe",), ("doctor",), ("watch", "--once"):
        ran = run(tmp_path / "store", *words, env=env)
        assert ran.code == 1, (words, ran)
        assert "Traceback" not in ran.out + ran.err
        assert "nothing is at risk" not in ran.out
    assert str(path) in run(tmp_path / "store", "sources", env=env).err
    listed = done(tmp_path / "store", "sessions").out
    assert all(session.id[:8] in listed for session in tree.sessions.values())


def test_what_is_no_database_at_all_is_named(path: Path, archive: Archive) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database, though it was one\n" * 500)
    assert natives(archive) == set()
    assert list(archive.unreadable) == [path]


def test_a_folder_that_is_pointed_at_tells_too(path: Path, archive: Archive) -> None:
    good = many(path)
    path.write_bytes(good[:4096] + bytes(8192) + good[12288:])
    archive.find([path.parent])
    assert archive.unreadable


def test_an_empty_database_is_no_trouble(path: Path, archive: Archive) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    assert natives(archive) == set()
    homes.database(path, homes.DOCUMENT).execute("DELETE FROM session")
    assert natives(archive) == set()
    assert archive.unreadable == {}


# -- odd rows


ODD_IDS: dict[str, Any] = {"null": None, "blob": b"\x00\xff", "number": 7, "empty": "", "wide": b"wide"}


@pytest.mark.parametrize("kind", ODD_IDS)
def test_a_session_with_an_odd_id_is_named_and_hides_no_other(path: Path, archive: Archive, kind: str) -> None:
    db = homes.database(path, document(1), document(2))
    db.execute("PRAGMA ignore_check_constraints = 1")
    db.execute("UPDATE session SET id = ? WHERE id = 'ses_0002'", (ODD_IDS[kind],))
    if kind == "number":  # the column has the affinity of text
        assert natives(archive) == {"ses_0001", "7"}
        return
    assert natives(archive) == {"ses_0001"}
    (place,) = archive.unreadable
    assert str(place).startswith(f"{path}#session#")
    db.close()


@pytest.mark.parametrize("native", HOSTILE[:-1])
def test_an_id_is_never_a_path(path: Path, archive: Archive, tmp_path: Path, native: str) -> None:
    db = homes.database(path, document(1))
    for table, column in (("session", "id"), ("message", "session_id"), ("part", "session_id"), ("todo", "session_id")):
        db.execute(f"UPDATE {table} SET {column} = ?", (native,))
    db.close()
    before = tree(tmp_path / "user")
    inscribe_all(archive)
    for session in archive.sessions():
        with contextlib.suppress(MunimentError, OSError):
            archive.restore(session.session_id, Target(to=tmp_path / "out"))
    assert tree(tmp_path / "user") == before
    assert {each.name for each in tmp_path.iterdir()} <= {"user", "store", "out"}


@pytest.mark.parametrize("value", ["yesterday", b"\x01", None, 1e300, -5, 1 << 62, 1.5])
@pytest.mark.parametrize("table", ["session", "message", "part"])
def test_times_of_any_kind_are_read(path: Path, archive: Archive, table: str, value: Any) -> None:
    db = homes.database(path, document(1), document(2))
    for column in ("time_created", "time_updated"):
        loose(db, table, column)
        db.execute(f"UPDATE {table} SET {column} = ? WHERE id LIKE 'ses_0001%'", (value,))
    assert {"exported/ses_0001.json", "exported/ses_0002.json"} <= contents(archive).keys()
    outcomes: list[Any] = []
    archive.inscribe([], outcomes.append)
    assert [outcome.what for outcome in outcomes] == ["new", "new"]
    db.close()


def loose(db: apsw.Connection, table: str, column: str) -> None:
    """Let a column take anything."""
    db.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO old_{column}")
    db.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
    db.execute(f"UPDATE {table} SET {column} = old_{column}")


@pytest.mark.parametrize("value", [None, b"\x00\xff", 5, "", 'a"\n'])
def test_messages_and_parts_with_odd_ids_are_kept(path: Path, archive: Archive, value: Any) -> None:
    db = homes.database(path, document(1))
    db.execute("INSERT INTO message VALUES (?, 'ses_0001', 1, 1, '{\"role\":\"user\"}')", (value,))
    own = homes.DOCUMENT["messages"][0]["info"]["id"]
    db.execute("INSERT INTO part VALUES (?, ?, 'ses_0001', 1, 1, '{\"a\":1}')", (value, f"ses_0001_{own}"))
    made = contents(archive)
    assert len(json.loads(made["exported/ses_0001.json"])["messages"]) == len(homes.DOCUMENT["messages"]) + 1
    db.close()


def test_text_that_is_none_is_kept_as_it_is(path: Path, archive: Archive) -> None:
    db = homes.database(path, document(1), document(2))
    db.execute("UPDATE part SET data = CAST(x'7b2278ff223a317d' AS TEXT) WHERE id LIKE 'ses_0001%'")
    db.execute("UPDATE session SET title = CAST(x'4cff4d' AS TEXT), slug = 'ü' WHERE id = 'ses_0001'")
    made = contents(archive)
    assert b'"x\xff":1}' in made["exported/ses_0001.json"]
    assert json.loads(made["exported/ses_0001.rows.jsonl"].splitlines()[0])["row"]["title"] == "L\\xffM"
    assert archive.unreadable == {}
    outcomes: list[Any] = []
    archive.inscribe([], outcomes.append)
    assert [outcome.what for outcome in outcomes] == ["new", "new"]
    db.close()


# -- rows that are no JSON

CUT = [
    '{"role":"user","a":{',
    '{"role":"user","a":"x',
    '{"role":"user","a":[',
    '{"role":"user"}}}',
    '{"role":"user"}]}',
    '{"role":"assistant","time":{"created":17',
    '{"role":"user","a":"line\nbreak"}',
    "hello",
]


@pytest.mark.parametrize("data", CUT)
@pytest.mark.parametrize("table", ["message", "part"])
def test_a_row_that_is_no_json_hides_no_other_and_is_a_problem(
    path: Path, archive: Archive, table: str, data: str
) -> None:
    db = homes.database(path, document(1))
    db.execute(f"UPDATE {table} SET data = ? WHERE rowid = 3", (data,))
    made = json.loads(contents(archive)["exported/ses_0001.json"])["messages"]
    ids = [part["id"] for message in document(1)["messages"] for part in message["parts"]]
    assert [part["id"] for message in made for part in message["parts"]] == ids
    assert sum(data in (held.get("data") for held in (m["info"], *m["parts"])) for m in made) == 1
    inscribe_all(archive)
    (session,) = archive.sessions()
    assert session.messages >= len(document(1)["messages"]) - 1, "one is the program's own"
    assert session.problems == 1
    assert len(archive.doctor().damaged) == 1
    db.close()


@pytest.mark.parametrize("data", CUT)
def test_a_record_of_version_2_that_is_no_json_hides_no_other(path: Path, archive: Archive, data: str) -> None:
    db = homes.flat_database(path)
    whole = json.loads(contents(archive)[f"exported/{homes.FLAT_ID}.json"])["messages"]
    db.execute("UPDATE session_message SET data = ? WHERE seq = 6", (data,))
    made = json.loads(contents(archive)[f"exported/{homes.FLAT_ID}.json"])["messages"]
    assert [(held["id"], held["type"]) for held in made] == [(held["id"], held["type"]) for held in whole]
    inscribe_all(archive)
    (session,) = archive.sessions()
    assert session.problems == 1
    db.close()


def test_a_database_in_utf_16_is_the_same(path: Path, archive: Archive) -> None:
    homes.database(path, document(1)).close()
    before = contents(archive)
    schema, rows = _dumped(path)
    path.unlink()
    db = apsw.Connection(str(path))
    db.execute("PRAGMA encoding = 'UTF-16le'; PRAGMA synchronous = OFF")
    db.execute(schema)
    for table, values in rows:
        db.execute(f"INSERT INTO {table} VALUES (?{', ?' * (len(values) - 1)})", values)
    db.close()
    assert contents(archive) == before


def _dumped(path: Path) -> tuple[str, list[tuple[str, tuple[Any, ...]]]]:
    db: Any = apsw.Connection(str(path))
    made = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall()
    rows = [(name, row) for name, _ in made for row in db.execute(f"SELECT * FROM {name}").fetchall()]
    db.close()
    return "; ".join(sql for _, sql in made), rows


# -- odd schemas


def view(db: apsw.Connection) -> None:
    db.execute("ALTER TABLE message RENAME TO messages; CREATE VIEW message AS SELECT * FROM messages")


def endless(db: apsw.Connection) -> None:
    db.execute("ALTER TABLE session RENAME TO sessions")
    db.execute(
        """CREATE VIEW session AS WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n)
        SELECT 'ses_' || i AS id, 1 AS time_created, 1 AS time_updated FROM n"""
    )


def without_column(db: apsw.Connection) -> None:
    db.execute("ALTER TABLE part DROP COLUMN data")


def generated_content(db: apsw.Connection) -> None:
    db.execute("ALTER TABLE part DROP COLUMN data")
    db.execute("ALTER TABLE part ADD COLUMN data AS (hex(zeroblob(100000000)))")


def other_tables(db: apsw.Connection) -> None:
    for table in ("session", "message", "part"):
        db.execute(f"ALTER TABLE {table} RENAME TO {table}_v3")


def made_up(db: apsw.Connection) -> None:
    db.execute("DROP TABLE part; CREATE VIRTUAL TABLE part USING fts5(id, message_id, time_updated, data)")


def huge_default(db: apsw.Connection) -> None:
    db.execute(f"ALTER TABLE session ADD COLUMN extra DEFAULT '{'x' * 100_000}'")


@pytest.mark.parametrize(
    "change", [view, endless, without_column, generated_content, other_tables, made_up, huge_default]
)
def test_another_schema_is_named(path: Path, archive: Archive, change: Callable[[apsw.Connection], None]) -> None:
    db = homes.database(path, document(1))
    change(db)
    db.close()
    assert natives(archive) == set()
    assert list(archive.unreadable) == [path]
    assert not archive.doctor().healthy


def test_triggers_and_computed_columns_change_nothing(path: Path, archive: Archive) -> None:
    db = homes.database(path, document(1))
    before = contents(archive)
    db.execute("CREATE TRIGGER t AFTER INSERT ON message BEGIN DELETE FROM session; END")
    for table in ("session", "message", "part", "todo"):
        db.execute(f"ALTER TABLE {table} ADD COLUMN computed AS (hex(zeroblob(400000000)))")
    db.execute("CREATE INDEX odd ON session (upper(id)) WHERE id LIKE 's%'")
    assert contents(archive) == before
    assert archive.unreadable == {}
    db.close()


# -- memory and time


MEASURED = """
import json, resource, sys
from muniment.archive import Archive
from muniment.sources import named
archive = Archive(sys.argv[1], {"HOME": sys.argv[2]})
limit = 1 << 30
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
found = archive.find()
for session in found:
    for file in session.files:
        try:
            b"".join(named(session.source).content(file))
        except OSError:
            pass
(line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]  # ru_maxrss begins with the parent's
used = int(line.split()[1]) // 1024
print(json.dumps([len(found), len(archive.unreadable), used]))
"""


def measured(tmp_path: Path) -> tuple[int, int, int]:
    """Sessions found, places refused, and the largest memory in megabytes of a process that reads all there is."""
    command = [sys.executable, "-c", MEASURED, str(tmp_path / "store"), str(tmp_path / "user")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    return tuple(json.loads(ran.stdout))


def test_computed_columns_cost_no_memory(path: Path, tmp_path: Path) -> None:
    db = homes.database(path, document(1), document(2))
    for table in ("session", "message", "part", "todo"):
        for number in range(3):
            db.execute(f"ALTER TABLE {table} ADD COLUMN large{number} AS (hex(zeroblob(450000000)))")
    db.close()
    found, refused, megabytes = measured(tmp_path)
    assert (found, refused) == (2, 0)
    assert megabytes < 150


def test_a_value_that_is_too_large_is_named_and_hides_no_other(path: Path, tmp_path: Path) -> None:
    db = homes.database(path, document(1), document(2))
    large = databases.MAX_VALUE_BYTES + 1000
    db.execute(
        "UPDATE part SET data = '{\"a\":\"' || hex(zeroblob(?)) || '\"}' WHERE id LIKE 'ses_0001%'", (large // 2,)
    )
    db.close()
    found, refused, megabytes = measured(tmp_path)
    assert (found, refused) == (1, 1)
    assert megabytes < 500


def test_rows_that_would_be_told_again_and_again_are_not(path: Path, tmp_path: Path) -> None:
    """Messages that share an id would each take all parts of that id: a million parts of a kilobyte."""
    db = homes.database(path, document(1), document(2))
    db.execute("CREATE TABLE odd AS SELECT * FROM message; DROP TABLE message; ALTER TABLE odd RENAME TO message")
    count = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
    db.execute(f"{count} INSERT INTO message SELECT 'same', 'ses_0001', i, i, '{{\"role\":\"user\"}}' FROM n")
    text = "json_object('type', 'text', 'text', hex(zeroblob(500)))"
    db.execute(f"{count} INSERT INTO part SELECT 'p' || i, 'same', 'ses_0001', 1, 1, {text} FROM n")
    db.close()
    found, refused, megabytes = measured(tmp_path)
    assert (found, refused) == (1, 1)
    assert megabytes < 300


def test_a_database_that_takes_too_long_is_named(path: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    many(path)
    monkeypatch.setattr(databases, "SECONDS", -1e9)
    monkeypatch.setattr(databases, "STEPS", 1)
    assert natives(archive) == set()
    assert "takes too long" in archive.unreadable[path]


def test_memory_of_this_process_is_not_limited_by_these_tests() -> None:
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
