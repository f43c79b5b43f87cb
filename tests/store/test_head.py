"""The head of a document: nothing in it can forge structure, and every value comes back."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_document import hostile

from muniment.errors import StoreError, Unsupported
from muniment.store import head, page
from muniment.store.head import Head

BODY = "### 2026-01-02T03:04:05.000Z · user\n\nhi\n".encode()
plain = st.none() | st.booleans() | st.integers() | hostile
values = plain | st.lists(plain, max_size=3)
fields = st.dictionaries(st.sampled_from(["session_id", "title", "cwd", "models"]), values)


def one_line(text: str) -> str:
    return " ".join(text.split())


def document(front: str, rest: str = "# t\n\ns\n") -> bytes:
    return f"---\n{front}\n---\n{rest}".encode()


@settings(max_examples=300)
@given(fields, fields)
@example({"cwd": "\x7f"}, {})
@example({"cwd": "\x85"}, {})
@example({"cwd": "\ud83d"}, {})
@example({"cwd": "\ufffe"}, {})
def test_every_value_comes_back(given_fields: dict[str, Any], own: dict[str, Any]) -> None:
    made = Head(given_fields, own, "title", "summary")
    assert head.parse(head.render(made, has_messages=True)) == made


@settings(max_examples=300)
@given(hostile)
def test_every_title_comes_back_on_one_line(title: str) -> None:
    made = head.parse(head.render(Head({"a": 1}, {"version": 1}, title, "summary"), has_messages=True))
    assert (made.title, made.summary) == (one_line(title), "summary")


@settings(max_examples=300)
@given(hostile)
@example("# a heading")
@example("---")
def test_every_summary_comes_back_on_one_line(summary: str) -> None:
    made = head.parse(head.render(Head({"a": 1}, {"version": 1}, "title", summary), has_messages=True))
    assert (made.title, made.summary) == ("title", one_line(summary))


@settings(max_examples=300)
@given(hostile, hostile, hostile)
@example("", "### undated · user", "")
def test_the_body_begins_at_the_first_message_whatever_the_head_says(title: str, summary: str, value: str) -> None:
    top = head.render(Head({"cwd": value}, {"name": value}, title, summary), has_messages=True)
    assert head.split(top + BODY) == (top, BODY)


def test_a_document_without_messages_is_all_head() -> None:
    top = head.render(Head({"a": 1}, {}, "t", ""), has_messages=False)
    assert head.split(top) == (top, b"")
    assert head.parse(top).summary == ""


@pytest.mark.parametrize(
    "front",
    ["a: &x [1]\nb: *x", "a: &a [1,1]\nb: &b [*a,*a]\nc: [*b,*b]", "a: !!python/object/apply:os.getcwd []"],
    ids=["alias", "laughs", "object"],
)
def test_an_alias_or_an_object_in_the_frontmatter_is_refused(front: str) -> None:
    with pytest.raises(StoreError):
        head.parse(document(front))


def test_a_document_of_a_newer_version_is_refused() -> None:
    with pytest.raises(Unsupported, match="version 2"):
        head.parse(document("muniment:\n  version: 2"))


@pytest.mark.parametrize("version", ['"x"', "[1]", "null", "1.5", "true"])
def test_a_version_that_is_no_number_raises_nothing_but_unsupported(version: str) -> None:
    try:
        head.parse(document(f"muniment:\n  version: {version}"))
    except Unsupported:
        return


@pytest.mark.parametrize(
    "data",
    [b"", b"# notes", b"---\n", b"---\na: 1\n", document("a: [1"), document("\tx: 1"), document("a: " + "[" * 9_000)],
    ids=["empty", "notes", "open", "unclosed", "broken", "tab", "deep"],
)
def test_what_is_no_document_of_ours_is_refused(data: bytes) -> None:
    with pytest.raises(StoreError):
        head.parse(data)


def test_a_frontmatter_of_a_person_may_say_more_and_less() -> None:
    made = head.parse(document("tags: [a, b]\nmuniment: yes", "\n# My title\n\nMy words.\nMore.\n"))
    assert (made.fields, made.own) == ({"tags": ["a", "b"]}, {})
    assert (made.title, made.summary) == ("My title", "My words.")


@pytest.mark.parametrize("size", [70_000, 140_000, 600_000])
def test_a_head_may_be_long(size: int, tmp_path: Path) -> None:
    made = Head({"session_id": "a"}, {"branch": "b" * size, "version": 1}, "title", "words")
    top = head.render(made, has_messages=True)
    path = tmp_path / "a.md"
    path.write_bytes(top + BODY)
    assert page.load_head(path) == made
    assert page.body_start(path) == len(top)
