"""`muniment search` as people and programs meet it: flags, sections, colours, exit codes, and what is said then."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from muniment.archive import Archive
from muniment.errors import NotFound
from muniment.model.engagements import METHODS, PHASES
from muniment.surfaces.cli import search as command
from muniment.surfaces.cli.found import METHOD_COLOURS, PHASE_COLOURS
from tests.builder import ClaudeSession
from tests.search.worked import engagement, session_id, understand

Run = Callable[..., Result]
ESCAPE = "\x1b[31mred\x1b[0m \x9b2J \u202ereversed"


@pytest.fixture
def filled(archive: Archive, home: Path, inscribe: Callable[..., object]) -> Archive:
    session = ClaudeSession(session_id("login"), cwd="/proj/login")
    session.exchange("mend the login", "the login is mended")
    session.exchange("and now", f"hostile {ESCAPE}")
    session.write(home)
    inscribe()
    return archive


@pytest.fixture
def understood(filled: Archive) -> Archive:
    now = datetime.now(UTC)
    understand(
        filled,
        "login",
        engagement(
            "login", 1, (1, 1), topic="mend the login", method="debug", outcome="it is mended", project="/proj/login"
        ),
        engagement("login", 2, (2, 2), topic=f"hostile {ESCAPE}", method="review", started=now.isoformat(), ended=None),
        agent_name="Reed",
    )
    return filled


@pytest.fixture
def run(archive: Archive) -> Run:
    def invoke(*args: str, color: bool = False) -> Result:
        return CliRunner().invoke(command.command, args, obj=str(archive.layout.root), color=color)

    return invoke


@pytest.mark.usefixtures("understood")
def test_engagements_come_first_and_then_the_text(run: Run) -> None:
    done = run("login")
    assert done.exit_code == 0
    first, second = done.stdout.index("Engagements"), done.stdout.index("In the text")
    assert first < second
    assert "Reed  debug    completed   /proj/login  mend the login" in done.stdout
    own = session_id("login")[:8]
    assert f"it is mended · turns 1 · {own}-1 · muniment show {own} 1" in done.stdout
    assert "1 engagement, " in done.stderr


@pytest.mark.usefixtures("understood")
def test_what_the_limit_leaves_out_is_said(run: Run) -> None:
    done = run("login", "--limit", "1")
    assert "1 engagement, 1 hit; " in done.stderr
    assert "there are more hits; a higher --limit shows them" in done.stderr
    assert done.stdout.count("In the text\n") == 1
    assert "there are more engagements; a higher" in run("--session", session_id("login"), "--limit", "1").stderr
    assert "there are more" not in run("--session", session_id("login"), "--limit", "2").stderr
    assert len(json.loads(run("login", "--limit", "1", "--json").stdout)["hits"]) == 1


@pytest.mark.usefixtures("understood")
def test_without_a_query_only_engagements_are_listed(run: Run) -> None:
    done = run("-m", "debug")
    assert "mend the login" in done.stdout
    assert "In the text" not in done.stdout
    assert done.stderr.startswith("1 engagement; ")


@pytest.mark.usefixtures("understood")
def test_a_filter_given_several_times_takes_any_of_its_values(run: Run) -> None:
    assert run("-m", "debug", "-m", "review").stderr.startswith("2 engagements; ")
    assert run("-m", "debug", "-m", "plan", "-a", "reed", "-a", "nobody").stderr.startswith("1 engagement; ")
    assert run("--model", "claude-x", "--model", "gpt-9").stderr.startswith("2 engagements; ")
    none = run("--open", "-p", "here", "-p", "there")
    assert isinstance(none.exception, NotFound)
    assert "with --project here --project there --open" in none.exception.hint


@pytest.mark.usefixtures("understood")
def test_days(run: Run) -> None:
    today = datetime.now(UTC).astimezone().date()
    for args in (("--today",), ("-w",), ("-d", today.isoformat()), ("--since", today.isoformat()), ("--today", "-w")):
        assert "hostile" in run(*args).stdout, args
        assert "mend" not in run(*args).stdout, args
    assert run("--date", "2026-03-19", "-a", "reed").stdout.count("turns") == 1
    assert isinstance(run("--today", "--until", "2026-03-19").exception, NotFound)
    tomorrow = today + timedelta(1)
    assert isinstance(run("--since", tomorrow.isoformat()).exception, NotFound)


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--date", "2026-02-30"),
        ("--since", "yesterday"),
        ("--until", ""),
        ("-m", "cook", "x"),
        ("--phase", "almost", "x"),
        ("--in", "everything", "x"),
        ("--limit", "0", "x"),
        ("--nonsense",),
    ],
)
@pytest.mark.usefixtures("filled")
def test_wrong_usage(run: Run, args: tuple[str, ...]) -> None:
    done = run(*args)
    assert done.exit_code == 2
    assert "Error" in done.stderr


@pytest.mark.usefixtures("filled")
def test_nothing_found_tells_what_was_searched_and_what_to_try(run: Run) -> None:
    error = run("nowhere", "--source", "codex").exception
    assert isinstance(error, NotFound)
    assert "no engagement and no block has all of: nowhere" in error.message
    assert "searched 1 session, " in error.hint
    assert "0 engagements with --source codex" in error.hint
    assert "muniment ingest" in error.hint
    assert "without some of the filters" in error.hint


@pytest.mark.usefixtures("understood")
def test_nothing_found_after_ingestion(run: Run) -> None:
    error = run("nowhere").exception
    assert isinstance(error, NotFound)
    assert "2 engagements; try fewer words" in error.hint
    assert "ingest" not in error.hint


@pytest.mark.usefixtures("understood")
def test_json_has_one_shape(run: Run) -> None:
    for args in (("login",), ("-m", "debug"), ("login", "--in", "user"), ("--file", "x.ts"), ("nowhere",)):
        told = json.loads(run(*args, "--json").stdout)
        assert list(told) == ["engagements", "files", "hits"], args
    (found,) = json.loads(run("-m", "debug", "--json").stdout)["engagements"]
    assert found["engagement_id"] == f"{session_id('login')[:8]}-1"
    assert found["turn_ranges"] == [[1, 1]]


@pytest.mark.usefixtures("understood")
def test_statistics(run: Run) -> None:
    shown = run("--stats", "-m", "debug").stdout
    assert "1 engagements  1 sessions" in shown
    assert "by project\n      1  /proj/login" in shown
    told = json.loads(run("-s", "--json").stdout)
    assert told["method"] == {"review": 1, "debug": 1}
    assert told["agent"] == {"Reed": 2}


@pytest.mark.usefixtures("filled")
def test_statistics_before_ingestion_say_so(run: Run) -> None:
    assert "muniment ingest" in run("--stats").stderr


@pytest.mark.usefixtures("understood")
def test_colours_are_those_of_method_and_phase(run: Run) -> None:
    shown = run("-m", "debug", color=True).stdout
    assert "\x1b[31mdebug   \x1b[0m" in shown
    assert "\x1b[32mcompleted  \x1b[0m" in shown
    assert "\x1b" not in run("-m", "debug").stdout
    assert set(METHOD_COLOURS) == set(METHODS)
    assert set(PHASE_COLOURS) == set(PHASES)
    assert len(set(METHOD_COLOURS.values())) == len(METHODS)


@pytest.mark.usefixtures("understood")
@pytest.mark.parametrize("args", [("hostile",), ("-m", "review"), ("--stats",), ("reversed", "--in", "assistant")])
def test_stored_escape_sequences_never_reach_the_terminal(run: Run, args: tuple[str, ...]) -> None:
    shown = run(*args, color=True).output
    assert not {"\x1b[31mred", "\x9b", "\u202e"} & {part for part in ("\x1b[31mred", "\x9b", "\u202e") if part in shown}


def shell(store: Path, *args: str, **more: str) -> subprocess.CompletedProcess[bytes]:
    line = [sys.executable, "-m", "muniment.surfaces.cli.main", "--store", str(store), "search", *args]
    return subprocess.run(line, capture_output=True, check=False, env=os.environ | more)


def test_through_the_shell(understood: Archive) -> None:
    done = shell(understood.layout.root, "login", "-w", "--since", "2020-01-01")
    assert (done.returncode, done.stdout) == (3, b"")
    done = shell(understood.layout.root, "login")
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout
    assert shell(understood.layout.root).returncode == 2


def test_an_archive_that_is_not_there(tmp_path: Path) -> None:
    done = shell(tmp_path / "none", "x")
    assert done.returncode == 3
    assert b"muniment up" in done.stderr


def test_the_command_starts_without_the_parts_that_write() -> None:
    """Half of the time of a search was importing what it does not need."""
    unneeded = {"yaml", "multiprocessing", "importlib.metadata", "muniment.batch", "muniment.sources"}
    code = f"import sys, muniment.surfaces.cli.search; print(sorted({unneeded!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"
