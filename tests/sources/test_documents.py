"""One document as lines: the same document, however it was written and in whatever pieces it comes."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.sources import documents

PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
ENTRIES = st.lists(st.dictionaries(st.text(max_size=4), VALUES, max_size=3), max_size=4)
FIELDS = st.dictionaries(st.sampled_from(["info", "x", "notes"]), VALUES, max_size=2)
FORMS = st.sampled_from(
    [
        {"indent": 2},
        {"indent": 4, "ensure_ascii": False},
        {"separators": (",", ":")},
        {},
        {"indent": "\t"},
        {"indent": 0},
    ]
)


def lines(data: bytes, step: int = 1 << 20) -> list[bytes]:
    return b"".join(documents.lines((data[i : i + step] for i in range(0, len(data), step)), "list")).split(b"\n")


def whole(made: list[bytes]) -> tuple[dict[str, Any], list[Any]]:
    parts = [documents.decode(line) for line in made if line]
    fields = {name: value for part in parts if part.kind != "entry" for name, value in part.value.items()}
    return fields, [part.value for part in parts if part.kind == "entry"]


@settings(max_examples=300)
@given(FIELDS, ENTRIES, FIELDS, FORMS, st.integers(1, 60))
def test_the_lines_say_what_the_document_does(
    before: dict[str, Any], entries: list[Any], after: dict[str, Any], form: dict[str, Any], step: int
) -> None:
    later = {f"{name}2": value for name, value in after.items()}
    document = before | {"list": entries} | later
    made = lines(json.dumps(document, **form).encode(), step)
    assert json.loads(b"".join(made)) == document
    assert whole(made) == (before | later, entries)
    assert len(made) == len(entries) + 3


@settings(max_examples=100)
@given(
    ENTRIES.filter(lambda entries: bool(entries) and not any("list" in entry for entry in entries)), st.integers(1, 60)
)
def test_objects_that_stand_on_lines_come_out_as_they_are(entries: list[Any], step: int) -> None:
    data = b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)
    assert whole(lines(data, step)) == ({}, entries)


@settings(max_examples=150)
@given(ENTRIES, FORMS, st.data())
def test_a_document_cut_anywhere_gives_what_is_whole_of_it(entries: list[Any], form: Any, data: st.DataObject) -> None:
    document = json.dumps({"info": 1, "list": entries}, **form).encode()
    cut = data.draw(st.integers(0, len(document)))
    before, after = lines(document[:cut]), lines(document)
    assert before[:-1] == after[: len(before) - 1]


def test_an_entry_that_cannot_be_read_costs_no_other() -> None:
    made = lines(b'{"list": [\n {"a": 1},\n {"b": nonsense},\n "odd",\n {"c": 3}\n]}\n')
    assert made[1] == b'{"a":1}'
    assert made[4] == b',{"c":3}'
    for line in made[2:4]:
        with pytest.raises(ValueError, match=r"."):
            documents.decode(line)


def test_what_json_allows_is_kept_as_written() -> None:
    made = lines(b'{"list":[{"n":1.50,"e":1E5,"u":"\\u00e9","lone":"\\ud83d"}]}')
    assert made[1] == b'{"n":1.50,"e":1E5,"u":"\\u00e9","lone":"\\ud83d"}'


def test_an_entry_that_is_nested_too_deep_cannot_be_read_and_the_next_one_can() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    head, first, second, *_ = lines(b'{"list":[\n{"x":' + deep + b'}\n,{"x":1}\n]}')
    assert (head, first) == (b'{"list":[', b'{"x":' + deep + b"}")
    with pytest.raises(ValueError, match="nested too deep"):
        documents.decode(first)
    assert documents.decode(second).value == {"x": 1}
