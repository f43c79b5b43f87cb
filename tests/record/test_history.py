"""The prompts of the machine: recall from the end, rotation, retention."""

import multiprocessing
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.record import history as module
from muniment.record.history import History, read_entries, rollover

NOW = "2026-01-02T03:04:05.000Z"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "history.jsonl"


def prompts(path: Path, limit: int = 50, reverse: bool = True, **env: str) -> list[str]:
    return [entry.prompt for entry in read_entries(path, limit, reverse, env)]


def filled(path: Path, count: int, **limits: int) -> History:
    history = History(path, **limits)
    for n in range(count):
        history.append(f"prompt {n}", "s", NOW, f"u{n}", durable=False)
    return history


def test_the_latest_come_first_and_no_more_than_asked_for(path: Path) -> None:
    filled(path, 120).close()
    assert prompts(path) == [f"prompt {n}" for n in range(119, 69, -1)]
    assert prompts(path, 2, reverse=False) == ["prompt 0", "prompt 1"]


def test_a_time_may_be_a_count_of_seconds(path: Path) -> None:
    path.parent.mkdir(parents=True)
    lines = ['{"ts": 1767323045.678, "prompt": "old", "session_id": "s"}', f'{{"ts":{time.time()},"prompt":"new"}}']
    path.write_text("".join(line + "\n" for line in lines))
    assert read_entries(path, 50, False, {})[0].ts == "2026-01-02T03:04:05.678Z"
    assert prompts(path) == ["new", "old"]
    assert prompts(path, HISTORY_RETAIN_DAYS="30") == ["new"]


def test_no_history_is_an_empty_one(path: Path) -> None:
    assert prompts(path) == []


def test_an_offset_is_where_the_line_lies(path: Path) -> None:
    filled(path, 30).close()
    data = path.read_bytes()
    for entry in read_entries(path, 30, True, {}):
        assert f'"{entry.prompt}"'.encode() in data[entry.offset :].split(b"\n")[0]


def test_a_full_file_makes_way_and_nothing_is_overwritten(path: Path) -> None:
    filled(path, 95, max_entries=20).close()
    assert sorted(file.name for file in path.parent.iterdir()) == [
        "history.jsonl",
        *(f"history.jsonl.{n}" for n in range(1, 5)),
    ]
    assert all(len(rollover(path, n).read_bytes().splitlines()) == 20 for n in range(1, 5))
    assert prompts(path, 200) == [f"prompt {n}" for n in range(94, -1, -1)]
    assert prompts(path, 200, reverse=False) == [f"prompt {n}" for n in range(95)]


def test_the_size_counts_too(path: Path) -> None:
    filled(path, 100, max_bytes=1000).close()
    longest = max(len(line) for line in path.read_bytes().splitlines()) + 1
    assert all(file.stat().st_size < 1000 + longest for file in path.parent.iterdir())


def test_a_prompt_given_twice_is_kept_once_even_across_a_rotation(path: Path) -> None:
    filled(path, 25, max_entries=20).close()
    again = History(path, max_entries=20)
    assert again.append("prompt 24", "s", "later", "u24").duplicate
    assert again.append("prompt 3", "s", "later", "u3").duplicate, "it lies in the rollover"
    assert not again.append("prompt 3", "other session", NOW, "u3").duplicate
    again.close()


def _write(path: Path, name: str, count: int) -> None:
    history = History(path, max_bytes=4096)
    for n in range(count):
        history.append(f"{name} {n} {'x' * (n % 90)}", name, NOW, f"{name}{n}", durable=False)
    history.close()


def test_writers_may_rotate_at_the_same_time(path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write, args=(path, name, 300)) for name in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    found = read_entries(path, 10_000, False, {})
    for name in "abcd":
        assert [e.uuid for e in found if e.session_id == name] == [f"{name}{n}" for n in range(300)]
    line = 90 + 130
    assert all(file.stat().st_size <= 4096 + line for file in path.parent.glob("history.jsonl*"))


def test_old_rollovers_are_swept_the_first_stays(path: Path) -> None:
    filled(path, 95, max_entries=20).close()
    old = time.time() - 40 * 86_400
    for n in (1, 3, 4):
        os.utime(rollover(path, n), (old, old))
    filled(path, 1).close()
    assert sorted(file.name for file in path.parent.iterdir()) == [
        "history.jsonl",
        "history.jsonl.1",
        "history.jsonl.2",
    ]


def test_retention_hides_what_is_older(path: Path) -> None:
    history = History(path)
    history.append("long ago", "s", "2020-01-01T00:00:00.000Z")
    history.append("today", "s", "2999-01-01T00:00:00.000Z")
    history.close()
    assert prompts(path, HISTORY_RETAIN_DAYS="30") == ["today"]
    assert prompts(path, HISTORY_RETAIN_DAYS="nonsense") == ["today", "long ago"]


def test_a_warning_near_the_limit(path: Path) -> None:
    filled(path, 10).close()
    assert "rotated" in History(path, max_bytes=int(path.stat().st_size * 1.05)).warning
    assert "10 of 11 entries" in History(path, max_entries=11).warning
    assert not History(path).warning
    assert not History(path.with_name("none")).warning


def test_a_huge_file_makes_way_unread(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LEARN_BYTES", 1000)
    filled(path, 100).close()
    filled(path, 1).close()
    assert rollover(path, 1).stat().st_size > 1000
    assert prompts(path, 1) == ["prompt 0"]


def test_damaged_lines_and_a_half_one_are_passed_over(path: Path) -> None:
    filled(path, 3).close()
    with path.open("ab") as file:
        file.write(b"\0\0\0\n{broken\n" + b'{"prompt":"half')
    assert prompts(path) == ["prompt 2", "prompt 1", "prompt 0"]


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=60), max_size=30), st.integers(1, 64))
def test_backwards_is_forwards_reversed_whatever_the_block(tmp_path_factory, texts: list[str], block: int) -> None:
    path = tmp_path_factory.mktemp("history") / "history.jsonl"
    history = History(path)
    for text in texts:
        history.append(text, "s", NOW, durable=False)
    history.close()
    size, module._BLOCK_BYTES = module._BLOCK_BYTES, block
    try:
        backwards = read_entries(path, 100, True, {})
    finally:
        module._BLOCK_BYTES = size
    assert [e.prompt for e in backwards] == texts[::-1]
    assert backwards[::-1] == read_entries(path, 100, False, {})
