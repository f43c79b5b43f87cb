"""`muniment ingest`, `tag`, `roster` and `append --hook`, as a person meets them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.builder import ClaudeSession, conversation
from tests.test_cli import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def put(cli: Cli, name: str = "one", rounds: int = 4) -> ClaudeSession:
    session = conversation(rounds, cwd=f"/proj/{name}")
    session.write(cli.home / ".claude", f"-proj-{name}")
    return session


def sessions(cli: Cli) -> Path:
    return cli.home / ".local/share/muniment/data/sessions"


def test_up_ingests_what_is_new(cli: Cli) -> None:
    put(cli)
    put(cli, "ghost", rounds=1)
    assert "1 engagement in 1 session · 1 ghost" in cli("up").stdout
    assert "engagement" not in cli("up").stdout


def test_a_dry_run_changes_nothing_and_tells_the_price(cli: Cli) -> None:
    put(cli)
    cli("inscribe")
    told = cli("ingest", "--dry-run", "--with", "anthropic").stdout
    assert "1 session to read" in told
    assert "about $0." in told
    assert json.loads(cli("ingest", "--dry-run", "--with", "anthropic", "--json").stdout)["estimate"]["sessions"] == 1
    assert not (sessions(cli) / "engagements.jsonl").exists()


def test_a_dry_run_tells_ghosts_and_the_sizes_of_skeletons(cli: Cli) -> None:
    work, ghost = put(cli), put(cli, "ghost", rounds=1)
    cli("inscribe")
    told = cli("ingest", "--dry-run").stdout
    made = json.loads(cli("ingest", "--dry-run", "--json").stdout)
    rows = {row["session_id"]: row for row in made["sessions"]}
    assert (rows[work.id]["ghost"], rows[ghost.id]["ghost"], rows[ghost.id]["rounds"]) == (False, True, 1)
    assert made["skeleton_chars"] == rows[work.id]["skeleton_chars"] > 200
    assert f"1 skeleton of {made['skeleton_chars']:,} characters; 1 ghost not extracted" in told
    assert re.search(rf"^{ghost.id[:8]}\S*  +1 .* ghost ", told, re.MULTILINE)
    assert "with --dry-run one object" in cli("ingest", "--help").stdout


def test_a_model_that_is_refused_is_not_asked(cli: Cli) -> None:
    put(cli)
    cli("inscribe")
    shown = cli.at_a_terminal("ingest", "--with", "anthropic", typed="n\n", code=1)
    assert shown.rstrip().endswith("muniment: the model was not asked, and nothing was ingested")
    assert not (sessions(cli) / "engagements.jsonl").exists()


def test_outcomes_as_json(cli: Cli) -> None:
    session = put(cli)
    cli("inscribe")
    (outcome,) = json.loads(cli("ingest", "--json").stdout)
    assert (outcome["session_id"], outcome["what"], outcome["extractor"]) == (session.id, "extracted", "offline-3")


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("ingest", "--since", "yesterday"), 2, "--since"),
        (("ingest", "--session", "ffffffff"), 3, "no session"),
        (("ingest", "--with", "oracle"), 2, "no extractor"),
        (("ingest", "--with", "openai"), 2, "name of a model"),
        (("ingest", "--with", "anthropic", "--max-cost", "-1"), 2, "--max-cost"),
        (("tag", "last", "x", "mine"), 2, "no round"),
        (("tag", "last", "9", "mine"), 3, "no round 9"),
        (("tag", "last", "1"), 2, "ENGAGEMENT"),
        (("roster", "add", "last"), 2, "--name"),
        (("roster", "remove", "ffffffff"), 3, "not registered"),
        (("roster", "move"), 2, "--all"),
        (("roster", "move", "last"), 3, "no role"),
    ],
)
def test_wrong_use_gets_a_word_and_a_code(cli: Cli, args: tuple[str, ...], code: int, said: str) -> None:
    put(cli)
    cli("inscribe")
    done = cli(*args, code=code)
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_key_a_model_is_not_asked(cli: Cli) -> None:
    put(cli)
    cli("inscribe")
    done = cli("ingest", "--with", "anthropic", code=1)
    assert "ANTHROPIC_API_KEY" in done.stderr


def test_tags_and_the_roster_end_to_end(cli: Cli) -> None:
    session = put(cli)
    cli("up")
    cli("tag", session.id[:8], "1,3-4", "console-work")
    cli("roster", "add", session.id[:8], "--name", "Reed", "--role", "historian", "--move")
    (entry,) = json.loads(cli("roster", "--json").stdout)
    assert entry == {"session_id": session.id[:8], "agent_name": "Reed", "role": "historian"}
    listing = sessions(cli) / "historian" / session.id / "index.md"
    assert listing.read_text().count("console-work") == 3
    assert "Reed" in cli("roster").stdout
    cli("tag", session.id[:8], "1,3-4", "--clear")
    assert "console-work" not in listing.read_text()
    cli("roster", "remove", session.id[:8])
    assert "nobody" in cli("roster").stderr


def test_a_hook_takes_the_session_that_it_is_told_of(cli: Cli) -> None:
    session = conversation(2, cwd="/proj/one")
    path = session.write(cli.home / ".claude", "-proj-one")
    put(cli, "two")
    cli("append", "--hook", stdin=json.dumps({"session_id": session.id, "transcript_path": str(path)}))
    (row,) = json.loads(cli("sessions", "--json").stdout)
    assert row["session_id"] == session.id


@pytest.mark.parametrize("said", ["", "{}", "[]", "no JSON", '{"transcript_path": "/proj/gone.jsonl"}'])
def test_a_hook_never_holds_the_agent_up(cli: Cli, said: str) -> None:
    done = cli("append", "--hook", stdin=said, code=1)
    assert "Traceback" not in done.stderr
    assert done.stderr
