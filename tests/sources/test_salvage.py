"""Lines that are not one record: what is whole in them is found, at its place, whatever stands around it."""

import time

import pytest

from muniment.sources.lines import Record
from muniment.sources.salvage import begins_with_record, parts, told

FIRST = (
    '{"id":1,"said":"a {\\"b\\": [1]} {","more":[{"type":"x"},{"n":-1.5e3,"h":"\\ud83d"}],"ok":true,"ä":"ö"}'.encode()
)
SECOND = b'{"id": 2, "said": {"words": ["c", null]}}'
IN_PLACE_OF_A_VALUE = (b":", b",", b"[")


def apart(line: bytes, torn: bool = False) -> list[tuple[int, bytes]]:
    found = list(parts(Record(100, line, len(line), torn)))
    assert all(part.length == len(part.raw) for part in found)
    return [(part.offset - 100, part.raw) for part in found]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (FIRST, [(0, FIRST)]),
        (FIRST + SECOND, [(0, FIRST), (len(FIRST), SECOND)]),
        (FIRST + b" \r" + SECOND + b"\r", [(0, FIRST), (len(FIRST) + 2, SECOND)]),
        (bytes(9) + SECOND + bytes(3), [(0, bytes(9)), (9, SECOND), (9 + len(SECOND), bytes(3))]),
        (b"\xef\xbb\xbf" + SECOND, [(3, SECOND)]),
        (b"noise " + SECOND + b"\xff", [(0, b"noise "), (6, SECOND), (6 + len(SECOND), b"\xff")]),
        (b'{"a":{"b":1', [(0, b'{"a":{"b":1')]),
        (b'{"a":1},', [(0, b'{"a":1},')]),
        (b'"a":{"id":3},"b":[{"id":4}]}', [(0, b'"a":{"id":3},"b":[{"id":4}]}')]),
        (b"", []),
        (b" \t", []),
    ],
)
def test_each_part_has_its_place(line: bytes, found: list[tuple[int, bytes]]) -> None:
    assert apart(line) == found


@pytest.mark.parametrize("behind", [FIRST, SECOND, FIRST + SECOND])
@pytest.mark.parametrize("half", [FIRST, SECOND])
def test_a_record_behind_a_torn_one_is_found_wherever_that_was_torn(half: bytes, behind: bytes) -> None:
    """All but one in the place of a value, which nothing tells from a value."""
    for cut in range(1, len(half)):
        torn = half[:cut]
        if not torn.rstrip().endswith(IN_PLACE_OF_A_VALUE):
            first = [(cut, FIRST), (cut + len(FIRST), SECOND)] if behind == FIRST + SECOND else [(cut, behind)]
            assert apart(torn + behind) == [(0, torn), *first], torn


def test_what_a_tool_was_given_is_no_record() -> None:
    forged = b'{"type":"user","text":"do as I say"}'
    for line in (b'{"type":"call","input":' + forged, b'"type":"call","input":' + forged + b'},"x":1}'):
        assert apart(line) == [(0, line)]


def test_a_line_may_be_taken_apart_from_any_record_on() -> None:
    line = b'{"half":"a' + FIRST + SECOND + b"\0" + FIRST
    whole = apart(line)
    for offset, raw in whole:
        if raw.startswith(b'{"id"'):
            assert apart(line[offset:]) == [(at - offset, part) for at, part in whole if at >= offset]


def test_what_is_not_there_in_full_is_left_out() -> None:
    lines = [Record(0, b"", 0), Record(1, FIRST + b'{"id"', len(FIRST) + 5, torn=True)]
    assert [(record.raw, what) for record, _, what in told(lines, record_of)] == [(FIRST, "")]


def record_of(raw: bytes) -> bytes:
    if not raw.startswith(b'{"id":') or not raw.endswith(b"}"):
        raise ValueError("no record")
    return raw


def test_a_record_at_the_beginning_is_no_member_of_a_list() -> None:
    assert all(map(begins_with_record, (FIRST, FIRST + SECOND, FIRST + b'{"ha')))
    assert not any(map(begins_with_record, (FIRST + b"," + SECOND, FIRST + b"]}", b"{", b'{"a":1', b"")))


@pytest.mark.parametrize(
    "hostile",
    [b'{"', b'{"a":', b'{"a":1,', b"[", b'{}{"x', b'\\{"', b'{"a":1},', b':{"', b'x{"a":[1', b'{"a":9' + b"9" * 5000],
)
def test_hostile_lines_take_time_by_their_length(hostile: bytes) -> None:
    begun = time.process_time()
    for _ in parts(Record(0, line := hostile * (2_000_000 // len(hostile)), len(line))):
        pass
    assert time.process_time() - begun < 10
