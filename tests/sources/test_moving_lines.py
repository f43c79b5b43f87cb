"""Original files that are moved: each line is changed, and none is lost, however long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment import sources
from muniment.model import Facts
from muniment.sources import moving_lines
from muniment.sources.base import Move
from muniment.sources.moving_lines import changed

FACTS = Facts("01a00000-0000-7000-8000-000000000001", "x", first_cwd="/proj/old")
LINES = [b'{"cwd":"/proj/old"}', b'{"sessionId":"s","projectHash":"x"}', b'{"text":"' + b"y" * 100 + b'"}', b'{"n":1}']


@given(st.lists(st.binary(max_size=6) | st.sampled_from([b"\n", b"a\n", b"\na"]), max_size=12))
def test_the_lines_are_changed_wherever_the_pieces_end(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    assert b"".join(changed(pieces, lambda line: line)) == whole
    *lines, last = whole.split(b"\n")
    marked = b"".join(b"<" + line + b"\n" for line in lines) + (b"<" + last if last else b"")
    assert b"".join(changed(pieces, lambda line: b"<" + line)) == marked


@pytest.mark.parametrize("agent", ["claude-code", "codex", "copilot", "gemini", "pi"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_line_that_is_too_long_to_be_read_goes_along(agent: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving_lines, "MAX_LINE_BYTES", 40)
    data = b"\n".join(LINES)
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    _, moved = sources.named(agent).moved("projects/x/talk.jsonl", pieces, FACTS, Move(cwd="/proj/new"))
    made = b"".join(moved).split(b"\n")
    assert made[2:] == LINES[2:]
    assert len(made) == len(LINES)
