"""Sources that keep sessions in databases, or in hundreds of small files: the same laws hold for them."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

from muniment.contract.samples import Subject
from muniment.contract.suite import *  # noqa: F403
from tests.sources.opencode import homes
from tests.sources.test_cursor import CHAT, ID, build

FOLDER = Path(tempfile.mkdtemp(prefix="muniment-contract-"))
"""Samples must be there when tests are collected."""
atexit.register(shutil.rmtree, FOLDER, True)


def made() -> list[Subject]:
    homes.database(FOLDER / "database" / "opencode.db").close()
    homes.storage(FOLDER / "storage")
    build(FOLDER / "chats" / "chats" / "0123456789abcdef" / ID / "store.db", CHAT).close()
    return [
        Subject("opencode", FOLDER / "database"),
        Subject("opencode", FOLDER / "storage"),
        Subject("cursor", FOLDER / "chats"),
    ]


SUBJECTS = made()
