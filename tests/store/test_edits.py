"""Decisions are kept whole, or not at all."""

from __future__ import annotations

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
