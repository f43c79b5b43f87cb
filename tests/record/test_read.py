"""Reading a log that is damaged anywhere."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import StoreError
from muniment.model import Problem
from muniment.record.read import Line, read

GOOD = [b'{"n":%d,"t":"%s"}' % (n, b"x" * n) for n in range(5)]


def write(path: Path, data: bytes) -> Path:
    file = path / "log.jsonl"
    file.write_bytes(data)
    return file


def salvaged(path: Path) -> tuple[list[bytes], list[Problem]]:
    problems: list[Problem] = []
    return [line.raw for line in read(path, "salvage", problems)], problems


def test_whole_lines_come_with_their_places(tmp_path: Path) -> None:
    data = b"\n".join(GOOD) + b"\n"
    found = list(read(write(tmp_path, data), "strict"))
    assert [line.raw for line in found] == GOOD
    assert [line.number for line in found] == [1, 2, 3, 4, 5]
    assert all(data[line.offset :].startswith(line.raw) for line in found)


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (b"\0" * 4096, "4096 NUL bytes"),
        (b"\0\0" + GOOD[1], "2 NUL bytes in a line"),
        (GOOD[1] + GOOD[2], "glued"),
        (b'{"n"' + GOOD[1], "not a record"),
        (b"[1,2]", "not a record"),
        (b"\xff\xfe", "not a record"),
        (b"{" * 50_000, "not a record"),
    ],
)
def test_damage_in_the_middle_costs_no_neighbour(tmp_path: Path, damage: bytes, what: str) -> None:
    path = write(tmp_path, GOOD[0] + b"\n" + damage + b"\n" + GOOD[4] + b"\n")
    records, problems = salvaged(path)
    assert (records[0], records[-1]) == (GOOD[0], GOOD[4])
    assert records[1:-1] == [good for good in GOOD[1:4] if good in damage]
    (problem,) = problems
    assert what in problem.what
    assert (problem.offset, problem.length) == (len(GOOD[0]) + 1, len(damage))
    for mode in ("strict", "tail"):
        with pytest.raises(StoreError):
            list(read(path, mode))


def test_a_half_last_line_is_not_yet_written(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD[0] + b"\n" + GOOD[3][:6])
    assert salvaged(path) == ([GOOD[0]], [])
    assert [line.raw for line in read(path, "tail")] == [GOOD[0]]
    with pytest.raises(StoreError):
        list(read(path, "strict"))


def test_nuls_at_the_end_are_damage(tmp_path: Path) -> None:
    records, problems = salvaged(write(tmp_path, GOOD[0] + b"\n" + b"\0" * 100))
    assert records == [GOOD[0]]
    assert [problem.length for problem in problems] == [100]


def test_a_line_separator_of_another_kind_divides_nothing(tmp_path: Path) -> None:
    line = '{"t":"a\u2028b\u0085c"}'.encode()
    assert [found.raw for found in read(write(tmp_path, line + b"\n"))] == [line]


@given(st.binary(max_size=300), st.integers(0, 200), st.integers(0, 200))
def test_whatever_is_cut_or_put_in_every_untouched_line_is_read(
    tmp_path_factory, junk: bytes, at: int, cut: int
) -> None:
    data = b"\n".join(GOOD * 3) + b"\n"
    at = min(at, len(data))
    broken = data[:at] + junk.replace(b"\n", b" ") + data[at + cut :]
    path = write(tmp_path_factory.mktemp("cut"), broken)
    found = list(read(path, "salvage", []))
    before = [line for line in data[:at].split(b"\n")[:-1] if line]
    after = [line for line in data[at + cut :].split(b"\n")[1:] if line]
    raws = [line.raw for line in found]
    assert raws[: len(before)] == before
    assert not after or raws[-len(after) :] == after
    assert all(isinstance(line, Line) and broken[line.offset :].startswith(line.raw) for line in found)
