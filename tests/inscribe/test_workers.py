"""How many processes inscribe a plan."""

from __future__ import annotations

import pytest

from muniment.inscribe.workers import SMALL_BYTES, WORKERS, worthwhile

LARGE = SMALL_BYTES
SMALL = SMALL_BYTES // 4


@pytest.mark.parametrize(
    ("sizes", "cores", "expected"),
    [
        ([], 2, 0),
        ([SMALL] * 3, 2, 0),
        ([SMALL] * 4, 2, WORKERS),
        ([SMALL] * 400, 64, WORKERS),
        ([LARGE], 2, 1),
        ([SMALL] * 400, 1, 0),
        ([SMALL, LARGE], 1, 1),
        ([], 1, 0),
    ],
)
def test_workers_are_started_where_they_help(sizes: list[int], cores: int, expected: int) -> None:
    assert worthwhile(sizes, cores) == expected
