"""Going on in another agent: a new session where that agent looks, and the command that resumes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builder import conversation
from tests.test_cli import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    made = Cli(tmp_path)
    conversation(4, cwd="/proj/one").write(made.home / ".claude", "-proj-one")
    made("up")
    return made


def told(cli: Cli, *args: str) -> dict[str, object]:
    return json.loads(cli("continue", "last", *args, "--json").stdout)


@pytest.mark.parametrize("agent", ["codex", "claude", "pi", "opencode"])
def test_it_lies_where_the_agent_looks_with_every_word(cli: Cli, agent: str) -> None:
    made = told(cli, "--in", agent)
    (path,) = made["paths"]
    text = Path(path).read_text()
    for number in range(4):
        assert f"prompt {number}" in text
        assert f"reply {number}" in text
    assert str(made["session_id"]) in str(made["resume"])
    assert Path(path).is_relative_to(cli.home)


def test_the_original_stays_as_it_was(cli: Cli) -> None:
    (source,) = (cli.home / ".claude").rglob("*.jsonl")
    before = source.read_bytes()
    made = told(cli, "--in", "claude")
    assert source.read_bytes() == before
    assert made["session_id"] != source.stem


def test_only_some_rounds_or_those_of_an_engagement(cli: Cli) -> None:
    (path,) = told(cli, "--in", "codex", "--rounds", "2-3")["paths"]
    text = Path(path).read_text()
    assert "prompt 1" in text
    assert "prompt 3" not in text
    (found,) = json.loads(cli("search", "--method", "build", "--json").stdout)["engagements"]
    (path,) = told(cli, "--in", "codex", "--engagement", found["engagement_id"])["paths"]
    assert "prompt 3" in Path(path).read_text()


def test_an_agent_that_takes_files_is_told_of_it_first(cli: Cli) -> None:
    made = told(cli, "--in", "opencode")
    assert str(made["resume"]).startswith("opencode import ")
    assert f"opencode -s {made['session_id']}" in str(made["resume"])


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("--in", "nobody"), 3),
        (("--in", "gemini"), 7),
        (("--in", "codex", "--rounds", "7-9"), 3),
        (("--in", "codex", "--engagement", "x"), 3),
        (("--in", "codex", "--engagement", "x", "--rounds", "1"), 2),
        ((), 2),
    ],
)
def test_what_cannot_be_done_is_said(cli: Cli, args: tuple[str, ...], code: int) -> None:
    assert "Traceback" not in cli("continue", "last", *args, code=code).stderr


def test_what_became_of_the_tools_is_told(cli: Cli) -> None:
    said = cli("continue", "last", "--in", "pi").stderr
    assert "renamed: 4 × Bash is bash" in said
    assert "not carried: 4 × Bash" not in said


def test_a_session_that_names_no_folder_goes_on_in_this_one(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    asked = {"model": "x", "messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]}
    (tmp_path / "log.json").write_text(json.dumps(asked))
    cli("inscribe", tmp_path / "log.json")
    done = cli("continue", "last", "--in", "pi")
    assert "it goes on in this one" in done.stderr
    (path,) = (cli.home / ".pi").rglob("*.jsonl")
    assert json.loads(path.read_text().splitlines()[0])["cwd"] == str(Path.cwd())
