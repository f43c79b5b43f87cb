"""Sources that keep sessions in databases, in hundreds of small files or as plain text: the same laws hold for them."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

from muniment.contract.samples import Subject
from muniment.contract.suite import *  # noqa: F403
from tests.sources.opencode import homes
from tests.sources.test_cursor import CHAT, ID, PLAIN, TURNS, build, transcript

FOLDER = Path(tempfile.mkdtemp(prefix="muniment-contract-"))
"""Samples must be there when tests are collected."""
atexit.register(shutil.rmtree, FOLDER, True)


def made() -> list[Subject]:
    homes.database(FOLDER / "database" / "opencode.db").close()
    homes.flat_database(FOLDER / "flat_database" / "opencode.db").close()
    homes.storage(FOLDER / "storage")
    homes.earliest(FOLDER / "earliest")
    homes.earliest(FOLDER / "nested" / "project" / "home-ada", homes.NESTED)
    homes.exported(FOLDER / "flat")
    build(FOLDER / "chats" / "chats" / "0123456789abcdef" / ID / "store.db", CHAT).close()
    transcript(FOLDER / "lines", *TURNS)
    transcript(FOLDER / "plain", PLAIN, name=f"{ID}.txt")
    return [
        Subject("opencode", FOLDER / "database"),
        Subject("opencode", FOLDER / "flat_database"),
        Subject("opencode", FOLDER / "storage"),
        Subject("opencode", FOLDER / "earliest"),
        Subject("opencode", FOLDER / "nested"),
        Subject("opencode", FOLDER / "flat"),
        Subject("cursor", FOLDER / "chats"),
        Subject("cursor", FOLDER / "lines"),
        Subject("cursor", FOLDER / "plain"),
    ]


SUBJECTS = made()
