"""Archives of older versions, whose documents close nothing, are not taken for damaged, and go on as they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builder import ClaudeSession

from muniment.archive import Archive
from muniment.inscribe import Outcome
from muniment.store import closing, escape, page


def session() -> ClaudeSession:
    made = ClaudeSession()
    made.exchange("show me", "```py\nprint(1)")
    made.exchange("and now?", "<!-- nothing")
    return made


def test_an_old_document_is_not_damaged_and_only_grows(
    archive: Archive, home: Path, inscribe: Callable[..., list[Outcome]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = session()
    path = made.write(home)
    with monkeypatch.context() as older:
        older.setattr(closing, "closed", lambda text: text)
        inscribe()
    shelf = archive.shelf(archive.sessions()[0])
    assert escape.CLOSED.encode() not in page.load_body(shelf.document)
    assert [report.note for report in archive.check_stored()] == [""]
    made.exchange("go on", "done")
    path.write_bytes(made.data)
    assert [outcome.what for outcome in inscribe()] == ["appended"]
    after = page.load_body(shelf.document)
    assert b"done" in after
    assert [report.note for report in archive.check_stored()] == [""]
    first, second = after.index(b"```py"), after.index(b"and now?")
    assert escape.CLOSED.encode() not in after[first:second], "a closed round was written again"
    archive.reindex()
    assert page.load_body(shelf.document).count(escape.CLOSED.encode()) == 2
    assert [report.note for report in archive.check_stored()] == [""]


LINES = ("", "words", "  words", "    words", "- item", "1. step", "```", "```py", "~~~", "````", "a ``` b", "<b>")
INDENTS = ("", " ", "  ", "   ", "    ", "\t", "- ", "> ")


@settings(max_examples=1500)
@given(st.lists(st.tuples(st.sampled_from(INDENTS), st.sampled_from(LINES)), min_size=1, max_size=9))
def test_what_is_told_from_the_lines_alone_is_true(lines: list[tuple[str, str]]) -> None:
    text = "\n".join(indent + line for indent, line in lines)
    if not closing._may_stay_open(text):
        assert closing._last_block(text) is None, "a header behind it would be swallowed"


def test_steps_with_code_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "_reader", lambda: pytest.fail("this takes a hundred times as long"))
    assert closing.closer("1. Install it:\n\n   ```sh\n   make\n\n   make test\n   ```\n\n2. Run it.") == ""
