"""Chats that were exported as markdown: the laws of sources hold for what lies in nobody's home."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

from muniment.contract.samples import Subject
from muniment.contract.suite import *  # noqa: F403
from tests.sources.test_cursor import EXPORTED

FOLDER = Path(tempfile.mkdtemp(prefix="muniment-contract-"))
"""Samples must be there when tests are collected."""
atexit.register(shutil.rmtree, FOLDER, True)

(FOLDER / "cursor_lamps.md").write_text(EXPORTED)
SUBJECTS = [Subject("cursor", FOLDER)]


def test_what_lies_in_the_agents_home_is_found_there(subject: Subject, tmp_path: Path) -> None:
    """An export lies wherever somebody put it: a home is not searched for it."""
    assert list(subject.source.candidates(subject.laid_out(tmp_path))) == []
