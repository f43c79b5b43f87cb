"""Words for listings: one is not many."""

from __future__ import annotations

import pytest

from muniment.model.words import many, numbered
from muniment.store.rows import PREVIEW_CHARS, preview


def test_one_is_not_many() -> None:
    assert [many(count, "round") for count in (0, 1, 2, 1000)] == ["0 rounds", "1 round", "2 rounds", "1,000 rounds"]
    assert [numbered("round", numbers) for numbers in ("4", "3-9", "1, 2", "")] == [
        "round 4",
        "rounds 3-9",
        "rounds 1, 2",
        "",
    ]


@pytest.mark.parametrize("text", ["word " * 50, "w" * 121, "a" + " " * 1000 + "b"])
def test_a_preview_that_was_cut_says_so(text: str) -> None:
    assert preview(text).endswith("…")
    assert len(preview(text)) <= PREVIEW_CHARS
    assert preview("w" * PREVIEW_CHARS) == "w" * PREVIEW_CHARS
