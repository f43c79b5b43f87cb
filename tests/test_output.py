"""What the program prints steers no terminal: JSON and packs too, on a terminal and into a pipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builder import ClaudeSession, text, tool
from tests.test_cli import Cli

STEERING = "\x1b]0;x\x07\x7f\x9b2J\u202e\u2066\u200b"
WORDS = f"rhubarb {STEERING} pie"
FORBIDDEN = set(STEERING) - set("]0;x2J")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """An archive of one session whose words steer a terminal wherever they can stand."""
    made = Cli(tmp_path)
    session = ClaudeSession()
    session.user(WORDS)
    session.answer(text(WORDS), tool("t1", f"Do{STEERING}", {f"a{STEERING}": WORDS}))
    session.result("t1", WORDS, is_error=False)
    session.add({"type": "custom-title", "customTitle": WORDS, "sessionId": session.id})
    session.write(made.home / ".claude")
    made("inscribe")
    return made


PACKS = [("context", "last", "--as", form) for form in ("markdown", "prompt", "json")]
LISTINGS = [
    ("sessions", "--json"),
    ("show", "last", "--json"),
    ("show", "last", "1", "--json"),
    ("search", "rhubarb", "--json"),
    ("lineage", "--json"),
]


@pytest.mark.parametrize("command", PACKS + LISTINGS, ids=" ".join)
def test_nothing_that_steers_is_printed(cli: Cli, command: tuple[str, ...]) -> None:
    piped = cli(*command).stdout
    assert not FORBIDDEN & set(piped)
    assert not FORBIDDEN & set(cli.at_a_terminal(*command))
    assert "rhubarb" in piped or command[0] == "lineage"


def test_json_has_the_very_words(cli: Cli) -> None:
    assert json.loads(cli("sessions", "--json").stdout)[0]["title"] == " ".join(WORDS.split())
    pack = json.loads(cli("context", "last", "--as", "json").stdout)
    assert any(quote["text"] == WORDS for part in pack["data"] if part for quote in part.get("quotes", ()))
