"""What a command gave back is shown as a terminal would, whatever an agent wrapped around it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.archive import Archive
from muniment.model import Message, Round, Text, Tool
from muniment.render import html, known, results
from muniment.render.html import Request
from muniment.render.outline import WHOLE, items
from muniment.render.shown import ToolShown
from muniment.render.visible import visible
from muniment.secrets import Redactor
from tests.builder import ClaudeSession, tool

RAN = {"command": "make test"}
READ = {"file_path": "/proj/a.txt"}
PATCHED = {"command": ["apply_patch", "*** Begin Patch\n*** Add File: a.txt\n+b\n*** End Patch"]}


def shown(output: str, given_: Any = RAN, **options: Any) -> ToolShown:
    block = Tool("t", "x", given_, (Text(output),))
    made = next(items([Round(1, (Message("assistant", blocks=(block,)),))], **options)).tool
    assert made is not None
    return made


def envelope(output: str, **about: Any) -> str:
    return json.dumps({"output": output, "metadata": about or {"exit_code": 2, "duration_seconds": 1.5}})


def ended(made: ToolShown) -> tuple[str | None, int | None, float | None]:
    return made.output, made.exit_code, made.seconds


@pytest.mark.parametrize(
    ("output", "wanted"),
    [
        (envelope("one\ntwo\n"), ("one\ntwo", 2, 1.5)),
        (envelope("", exit_code=0), ("", 0, None)),
        ("Exit code: 0\nWall time: 0.2 seconds\nOutput:\nfine\n", ("fine", 0, 0.2)),
        ("Exit code: 1\nWall time: 3 seconds\nTotal output lines: 900\nOutput:\nfine", ("fine", 1, 3.0)),
        (
            "Chunk ID: a1b2c3\nWall time: 0.0512 seconds\nProcess exited with code 127\n"
            "Original token count: 6\nOutput:\nnot found\n",
            ("not found", 127, 0.0512),
        ),
        ("Exit code 1\nno such file", ("no such file", 1, None)),
        ("Exit code 1", ("", 1, None)),
        ("2 failed\n\nCommand exited with code 1", ("2 failed", 1, None)),
        ("fine\n<shellId: 30 completed with exit code 0>", ("fine", 0, None)),
        ("<exited with exit code 3>", ("", 3, None)),
        ("Output: on main\nclean\nProcess Group PGID: 61430", ("on main\nclean", None, None)),
        ("Output: (empty)\nExit Code: 1\nProcess Group PGID: 5", ("", 1, None)),
    ],
)
def test_the_output_the_exit_code_and_the_time_are_told_apart(output: str, wanted: tuple[Any, ...]) -> None:
    assert ended(shown(output)) == wanted


@pytest.mark.parametrize(
    "output",
    [
        "plain words",
        "",
        '{"output": "cut off in the mid',
        '{"output": 1, "metadata": {"exit_code": 0}}',
        '{"output": "a", "metadata": {"exit_code": true}}',
        '{"output": "a", "metadata": {"exit_code": 0, "more": "that would be lost"}}',
        '{"output": "a", "metadata": {"exit_code": 0}, "more": "that would be lost"}',
        '{"output": "a", "metadata": {"exit_code": 0, "duration_seconds": "long"}}',
        "Process running with session ID 7\nWall time: 1 seconds\nOutput:\nso far",
        "The program ended with exit code 3",
        "Exit code 1 is what it says",
    ],
)
def test_what_has_another_shape_is_all_output(output: str) -> None:
    assert ended(shown(output)) == (output, None, None)


def test_a_line_of_a_file_is_not_taken_for_an_exit_code() -> None:
    text = "Exit code: 7\n\nCommand exited with code 1"
    assert ended(shown(text, READ)) == (text, None, None)


def test_a_patch_that_went_through_a_shell_tells_how_it_ended() -> None:
    made = shown(envelope("Success.\n", exit_code=0), PATCHED)
    assert (made.view, *ended(made)) == ("diff", "Success.", 0, None)


@given(st.text(), st.integers(-255, 255))
def test_an_envelope_gives_back_its_very_output(output: str, code: int) -> None:
    assert ended(shown(envelope(output, exit_code=code)))[:2] == (visible(output).rstrip("\n"), code)


def test_a_secret_behind_an_escape_of_the_envelope_is_found() -> None:
    """In JSON the letter of the escape stands before it, so that it looks like the end of a word."""
    key = "ghp_" + "aZ3kQ9xW7bT5mN1cV8yR2dF6gH4jK0pL3sXq"
    block = Tool("t", "x", RAN, (Text(envelope(f"token:\n{key}\n", exit_code=0)),))
    opened = results.open_round(Round(1, (Message("assistant", blocks=(block,)),)))
    made = next(items([Redactor().round(opened)])).tool
    assert made
    assert key not in str(made.output)
    assert made.exit_code == 0


def test_the_page_shows_a_terminal_and_not_json(archive: Archive, home: Path) -> None:
    session = ClaudeSession()
    session.user("Run the tests")
    session.answer(tool("t1", "shell", {"command": ["bash", "-lc", "make test"]}))
    session.result("t1", envelope("2 failed <b>\n"))
    session.write(home, "-proj-shop")
    archive.inscribe()
    out = io.BytesIO()
    html.write_to(known.find(archive.layout, archive.session("last")), out, Request())
    page = out.getvalue().decode()
    assert "<pre>2 failed &lt;b&gt;</pre>" in page
    assert '<span class="state bad">exit 2 · 1.5 s</span>' in page
    assert "exit_code" not in page


@pytest.mark.parametrize("piece", ["\nExit Code: 1", "\n", " \n", "Exit code: 1\n", "Abc: d\n", "<a exit code 1>"])
def test_a_result_that_repeats_itself_is_read_in_one_go(piece: str) -> None:
    """Whatever looks like the agent's own lines and never ends costs no more than its length."""
    for beginning in ("", "Output: ", "Exit code: "):
        text = beginning + piece * 60_000 + "\nthe end"
        assert str(shown(text, limits=WHOLE).output).endswith("the end")
