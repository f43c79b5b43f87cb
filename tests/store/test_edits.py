"""Decisions are kept whole, or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from muniment.store import edits
from muniment.store.edits import Edit
from muniment.store.layout import Layout


@pytest.mark.parametrize("most", [1, 7, 40])
def test_a_write_that_takes_less_than_it_was_given_is_brought_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    whole = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: whole(descriptor, bytes(data)[:most]))
    layout = Layout(tmp_path)
    made = [Edit("2026-03-20T09:00:00Z", "tags", f"session {number}", value="[]") for number in range(3)]
    for edit in made:
        edits.append(layout, edit)
    assert list(edits.every(layout)) == made


def test_a_decision_that_did_not_fit_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a line would be told as damage from then on, though nothing was lost."""
    layout = Layout(tmp_path)
    edits.append(layout, Edit("2026-03-20T09:00:00Z", "tags", "first", value="[]"))
    before = layout.edits.read_bytes()
    whole, calls = os.write, list[int]()

    def write(descriptor: int, data: bytes) -> int:
        calls.append(descriptor)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return whole(descriptor, bytes(data)[:10])

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OSError, match="No space left"):
        edits.append(layout, Edit("2026-03-20T09:00:00Z", "tags", "second", value="[]"))
    monkeypatch.undo()
    assert layout.edits.read_bytes() == before
    edits.append(layout, Edit("2026-03-20T09:00:00Z", "tags", "third", value="[]"))
    assert [edit.session_id for edit in edits.every(layout)] == ["first", "third"]


def test_a_pipe_in_place_of_the_decisions_keeps_nobody_waiting(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.sessions.mkdir(parents=True)
    os.mkfifo(layout.edits)
    assert edits.every(layout) == ()
    with pytest.raises(OSError, match="not a regular file"):
        edits.append(layout, Edit("2026-03-20T09:00:00Z", "tags", "first", value="[]"))
