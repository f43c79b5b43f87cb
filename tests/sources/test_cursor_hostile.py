"""Chats of Cursor in databases that are damaged, odd or made to harm: what can be read is, and nothing is raised."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.sources.opencode.test_hostile import measured
from tests.sources.test_cursor import CHAT, ID, build, node

from muniment.archive import Archive
from muniment.sources.cursor import database

LONG = [*CHAT, *({"role": "user", "content": f"{number} " + "word " * 300} for number in range(60))]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "user" / ".cursor" / "chats" / "0123456789abcdef" / ID / "store.db"


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "store", {"HOME": str(tmp_path / "user")})


def read(path: Path) -> tuple[list[dict[str, Any]], list[bytes]]:
    """The lines of a chat, and those that say what could not be read."""
    good: list[dict[str, Any]] = []
    bad: list[bytes] = []
    for line in database.lines([path.read_bytes()]):
        try:
            good.append(json.loads(line))
        except ValueError:
            bad.append(line)
    return good, bad


def inscribe(archive: Archive) -> list[Any]:
    outcomes: list[Any] = []
    archive.inscribe([], outcomes.append)
    return outcomes


@pytest.mark.parametrize("seed", range(150))
def test_flipped_bytes_and_pages_raise_nothing(store: Path, seed: int) -> None:
    chance = random.Random(seed)
    build(store, LONG if seed % 2 else CHAT).close()
    data = bytearray(store.read_bytes())
    for _ in range(chance.choice([1, 3, 50])):
        data[chance.randrange(len(data))] = chance.randrange(256)
    if seed % 3 == 0:
        data = data[: chance.randrange(len(data))]
    store.write_bytes(data)
    good, bad = read(store)
    assert good or bad
    assert isinstance(database.native_id(store), str | None)


def test_a_bad_page_hides_few_messages_and_is_told(store: Path, archive: Archive) -> None:
    build(store, LONG).close()
    good = store.read_bytes()
    whole = len(read(store)[0])
    seen: list[int] = []
    for number in range(4, len(good) // 4096, 3):
        store.write_bytes(good[: number * 4096] + b"\xff" * 4096 + good[(number + 1) * 4096 :])
        lines, bad = read(store)
        seen.append(len(lines))
        assert bad or len(lines) == whole
    assert sorted(seen)[len(seen) // 2] > whole - 12
    assert [outcome.what for outcome in inscribe(archive)] == ["new"]


@pytest.mark.parametrize("part", [0, 100, 3000, 5000])
def test_a_truncated_chat_is_found_and_told(store: Path, archive: Archive, part: int) -> None:
    build(store, CHAT).close()
    store.write_bytes(store.read_bytes()[:part])
    assert archive.doctor().found == 1
    outcomes = inscribe(archive)
    assert [outcome.what for outcome in outcomes] == (["new"] if part else [])
    assert all(outcome.problems for outcome in outcomes)
    assert dict(archive.doctor().damaged) == ({ID: 1} if part else {})


def number(db: sqlite3.Connection) -> None:
    db.execute("UPDATE meta SET value = 99999999999")
    db.execute("CREATE TABLE b (id TEXT PRIMARY KEY, data); INSERT".partition(";")[0])
    db.execute("INSERT INTO b SELECT id, 99999999999 FROM blobs")
    db.execute("DROP TABLE blobs")
    db.execute("ALTER TABLE b RENAME TO blobs")


def view(db: sqlite3.Connection) -> None:
    db.execute("ALTER TABLE blobs RENAME TO other")
    db.execute("CREATE VIEW blobs AS SELECT id, hex(zeroblob(400000000)) AS data FROM other")


def generated(db: sqlite3.Connection) -> None:
    db.execute("ALTER TABLE blobs RENAME COLUMN data TO other")
    db.execute("ALTER TABLE blobs ADD COLUMN data AS (hex(zeroblob(400000000)))")


def wide(db: sqlite3.Connection) -> None:
    for column in range(3):
        db.execute(f"ALTER TABLE blobs ADD COLUMN c{column} AS (hex(zeroblob(400000000)))")


def odd_ids(db: sqlite3.Connection) -> None:
    db.executemany("INSERT INTO blobs VALUES (?, ?)", [(None, b"{}"), (b"\xff", b"{}"), (7, None)])
    db.execute('INSERT INTO blobs VALUES (CAST(x\'ff00\' AS TEXT), \'{"role":"user","content":"odd"}\')')


def many_names(db: sqlite3.Connection) -> None:
    """Nodes that name each other, and what is not there."""
    names = [f"{each:064x}".encode() for each in range(300)]
    for name in names:
        db.execute("INSERT INTO blobs VALUES (?, ?)", (name.decode(), node(*names) * 20))


CHANGES = [number, view, generated, wide, odd_ids, many_names]


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_odd_costs_no_memory(tmp_path: Path, store: Path, change: Callable[[sqlite3.Connection], None]) -> None:
    db = build(store, CHAT)
    change(db)
    db.commit()
    db.close()
    found, _, megabytes = measured(tmp_path)
    assert found == 1
    assert megabytes < 200, "of 800 MB that a reader who believes it would hold"
    good, bad = read(store)
    assert good or bad
    if change in (wide, odd_ids):
        assert sum("message" in line for line in good) >= len(CHAT)


# -- what names the order is gone


def told(archive: Archive) -> tuple[int, int]:
    """How many messages and problems the archive has of the chat."""
    inscribe(archive)
    (session,) = archive.sessions()
    return session.messages, session.problems


SQL = {
    "meta gone": "DELETE FROM meta",
    "meta junk": "UPDATE meta SET value = 'zz'",
    "meta null": "UPDATE meta SET value = NULL",
    "meta of nothing": "UPDATE meta SET value = '7b7d'",
    "no meta table": "DROP TABLE meta",
    "nodes null": "UPDATE blobs SET data = NULL WHERE rowid > (SELECT max(rowid) - 2 FROM blobs)",
    "nodes text": "UPDATE blobs SET data = 'text' WHERE rowid > (SELECT max(rowid) - 2 FROM blobs)",
    "node gone": "DELETE FROM blobs WHERE rowid = (SELECT max(rowid) FROM blobs)",
}


@pytest.mark.parametrize("change", SQL)
def test_messages_are_read_without_what_names_their_order(store: Path, archive: Archive, change: str) -> None:
    db = build(store, LONG)
    whole = len([line for line in read(store)[0] if "message" in line])
    db.execute(SQL[change])
    db.commit()
    db.close()
    good, bad = read(store)
    assert [line["message"] for line in good if "message" in line] == LONG
    assert not [line for line in good if line.get("left")]
    assert whole == len(LONG)
    assert bad
    messages, problems = told(archive)
    assert messages == len(LONG) - 3, "two are the program's own, and one is a result"
    assert problems == len(bad)
    assert archive.doctor().damaged


@pytest.mark.parametrize("value", ["NULL", "'text'", "x'00ff'"])
def test_messages_that_are_gone_are_told_and_hide_no_other(store: Path, archive: Archive, value: str) -> None:
    db = build(store, LONG)
    db.execute(f"UPDATE blobs SET data = {value} WHERE rowid % 3 = 0 AND rowid <= {len(LONG)}")
    db.commit()
    db.close()
    good, bad = read(store)
    left = [message for number, message in enumerate(LONG, 1) if number % 3]
    assert [line["message"] for line in good if "message" in line] == left
    assert bad
    assert told(archive)[1] == len(bad)


@pytest.mark.parametrize("tables", [["blobs"], ["blobs", "meta"]])
def test_a_chat_of_which_nothing_can_be_told_is_a_problem(store: Path, archive: Archive, tables: list[str]) -> None:
    db = build(store, LONG)
    for table in tables:
        db.execute(f"DELETE FROM {table}")
    db.commit()
    db.close()
    assert told(archive)[1] == 1
    assert archive.doctor().damaged


def test_a_chat_that_has_just_begun_is_no_problem(store: Path, archive: Archive) -> None:
    db = build(store, [], latestRootBlobId="")
    db.execute("DELETE FROM blobs")
    db.commit()
    db.close()
    assert told(archive)[1] == 0


def test_names_that_are_no_hashes_are_no_damage(store: Path) -> None:
    """Nothing says that every version names blobs by what is in them."""
    db = build(store, CHAT)
    rows = db.execute("SELECT id, data FROM blobs").fetchall()
    for name, data in rows:
        for other, _ in rows:
            data = data.replace(bytes.fromhex(other), bytes.fromhex(other)[::-1])
        db.execute("UPDATE blobs SET id = ?, data = ? WHERE id = ?", (bytes.fromhex(name)[::-1].hex(), data, name))
    about = json.loads(bytes.fromhex(db.execute("SELECT value FROM meta").fetchone()[0]))
    about["latestRootBlobId"] = bytes.fromhex(about["latestRootBlobId"])[::-1].hex()
    db.execute("UPDATE meta SET value = ?", (json.dumps(about).encode().hex(),))
    db.commit()
    db.close()
    good, bad = read(store)
    assert [line["message"] for line in good if "message" in line] == CHAT
    assert not bad
