"""The progress bar is for people at a terminal: it goes to the standard error, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from muniment.surfaces.cli.bar import bar
from tests.conftest import read_all

PROGRAM = """
from muniment.surfaces.cli.bar import bar
with bar("counting", 3) as advance:
    for _ in range(3):
        advance()
"""


def test_without_a_terminal_nothing_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    with bar("counting", 2) as advance:
        advance()
        advance()
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_every_step_is_drawn_and_the_bar_is_gone_at_the_end() -> None:
    ours, theirs = pty.openpty()
    env = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stderr=theirs, stdout=subprocess.PIPE, env=env) as process:
        os.close(theirs)
        drawn = read_all(ours)
        said = process.stdout.read() if process.stdout else b""
    assert process.returncode == 0
    assert said == b""
    assert b"counting" in drawn
    assert [step for step in (b"1/3", b"2/3", b"3/3") if step not in drawn] == []
    assert drawn.rstrip().endswith(b"\x1b[2K")
