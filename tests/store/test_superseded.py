"""Whether a later state says all that an earlier one said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from muniment.sources.opencode import SOURCE
from muniment.store import superseded
from muniment.store.rows import NOTHING, Span
from muniment.store.superseded import Grown, continues, grown

CONTINUED: list[tuple[Any, Any]] = [
    ("", "words"),
    ("wor", "words"),
    ("words \n", "words"),
    (None, {"a": 1}),
    ({}, {"command": "ls"}),
    ({"command": "l"}, {"command": "ls", "cwd": "/proj"}),
    ([1, "a"], [1, "ab", 3]),
    (True, True),
]
CONTRADICTED: list[tuple[Any, Any]] = [
    ("words", "word"),
    ("words", "Words and more"),
    ("words", None),
    ({"command": "ls"}, {"cwd": "/proj"}),
    ({"command": "ls"}, {"command": "rm"}),
    ([1, 2], [1]),
    ([1, 2], [2, 1]),
    (1, 2),
    ({"a": 1}, "a"),
]


@pytest.mark.parametrize(("before", "now"), CONTINUED)
def test_a_value_goes_on(before: Any, now: Any) -> None:
    assert continues(before, now)


@pytest.mark.parametrize(("before", "now"), CONTRADICTED)
def test_a_value_that_says_something_else_does_not(before: Any, now: Any) -> None:
    assert not continues(before, now)


def document(title: str, *said: str) -> bytes:
    """One message to a line, as the source gives them."""
    lines = [f'{{"info":{{"id":"ses_x","title":"{title}"}},"messages":[']
    for number, text in enumerate(said):
        parts = [{"id": f"prt_{number}", "type": "text", "text": text}]
        message = {"info": {"id": f"msg_{number}", "role": "user"}, "parts": parts}
        lines.append("," * bool(number) + json.dumps(message, separators=(",", ":")))
    return "\n".join([*lines, "]}\n"]).encode()


def compared(earlier: bytes, later: bytes) -> Grown | None:
    return grown(SOURCE, lambda: [earlier], lambda: [later])


def test_what_is_the_same_is_known_with_how_far_it_moved() -> None:
    before, after = document("Lamp", "one", "two", "thr"), document("The lamp", "one", "two", "three")
    found = compared(before, after)
    assert found
    start, end = before.index(b"\n") + 1, before.index(b',{"info":{"id":"msg_2"')
    assert found.same == Span(start, end - 1, len("The lamp") - len("Lamp"))
    assert [found.same.has(after.index(word)) for word in (b"ses_x", b'{"info":{"id":"msg_0"', b"three")] == [
        False,
        True,
        False,
    ]
    assert [line.count(b"msg_2") for line in found.former] == [0, 1]


def test_a_state_that_is_equal_has_nothing_former() -> None:
    found = compared(document("Lamp", "one"), document("Lamp", "one"))
    assert found
    assert found.former == ()
    assert found.same.moved == 0


def test_a_message_that_is_gone_is_not_superseded() -> None:
    assert compared(document("Lamp", "one", "two"), document("Lamp", "one")) is None


def test_damage_is_kept_and_does_not_count_as_said() -> None:
    torn = document("Lamp", "one", "two")[:-20]
    found = compared(torn, document("Lamp", "one", "two"))
    assert found
    assert found.former == (torn.splitlines()[-1],)


def test_too_much_that_changed_is_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(superseded, "CHANGED_BYTES", 100)
    assert compared(document("Lamp", "one" * 50), document("Lamp", "one" * 51)) is None


def test_where_the_first_record_says_something_nothing_is_taken_for_the_same() -> None:
    """Its round might be another now, and with it the rounds of all that follow."""
    lines = document("Lamp", "one", "two").splitlines(keepends=True)
    earlier, later = b"".join(lines[1:]), b"".join(lines[1:]).replace(b'"one"', b'"ones"')
    found = compared(earlier, later)
    assert found
    assert found.same == NOTHING
