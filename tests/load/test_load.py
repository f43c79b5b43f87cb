"""A small load, in seconds: all of it works together. `make load` is the real one."""

from __future__ import annotations

from pathlib import Path

from tests.load.run import Load, run


def test_all_that_is_written_under_load_is_archived_and_every_client_is_answered(tmp_path: Path) -> None:
    result = run(tmp_path, Load(sessions=120, grown=40, clients=10, lines=200, seconds=5))
    assert result.missing == {}
    assert result.written == result.archived > 500
    assert set(result.answers) == {200}
    assert result.events > 0
    assert max(result.rss) < 200 << 20
