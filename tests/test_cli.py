"""The command line as a user meets it: output, errors, exit codes."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builder import ClaudeSession, conversation
from tests.conftest import read_all, tree
from tests.secrets.vectors import plant

MUNIMENT = Path(sys.executable).with_name("muniment")


class Cli:
    """Runs the installed program in a user folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "user"
        self.home.mkdir()
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}

    def __call__(self, *args: str | Path, code: int = 0, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [str(MUNIMENT), *map(str, args)]
        done = subprocess.run(command, env=self.env, input=stdin, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def at_a_terminal(self, *args: str | Path, code: int = 0, typed: str = "") -> str:
        """What a person sees who calls the program and types something."""
        ours, theirs = pty.openpty()
        os.write(ours, typed.encode())
        command = [str(MUNIMENT), *map(str, args)]
        env = self.env | {"TERM": "xterm"}
        with subprocess.Popen(command, env=env, stdin=theirs, stdout=theirs, stderr=theirs) as process:
            os.close(theirs)
            shown = read_all(ours).decode()
        assert process.returncode == code, shown
        return shown


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture
def filled(cli: Cli) -> Cli:
    conversation(2).write(cli.home / ".claude")
    cli("inscribe")
    return cli


def test_up_finds_inscribes_and_reports(cli: Cli) -> None:
    conversation(2).write(cli.home / ".claude")
    done = cli("up")
    assert "1 session found: 1 new" in done.stdout
    assert "1 session on this machine; it is archived" in done.stdout
    assert "nothing is at risk" not in done.stdout, "nobody looked for secrets"
    assert str(cli.home / ".local" / "share" / "muniment" / "data" / "sessions") in done.stdout
    assert "1 unchanged" in cli("up").stdout


def test_up_with_nothing_found_offers_the_demo(cli: Cli) -> None:
    assert "up --demo" in cli("up").stderr


def test_the_demo_has_a_store_of_its_own(cli: Cli) -> None:
    assert re.search(r"(\d+) sessions found: \1 new", cli("up", "--demo").stdout)
    assert "muniment-demo" in cli("up", "--demo").stdout
    assert cli("sessions").stdout == ""


def test_up_tells_what_will_be_deleted_soon(cli: Cli) -> None:
    path = conversation(2).write(cli.home / ".claude")
    month_ago = path.stat().st_mtime - 28 * 86400
    os.utime(path, (month_ago, month_ago))
    done = cli("doctor", code=1)
    assert "1 session will be deleted by its agent and is not in the archive" in done.stdout
    assert "the archive has it" in cli("up").stdout


def test_sessions_are_listed_for_people_and_machines(filled: Cli) -> None:
    assert "prompt 0" in filled("sessions").stdout
    (row,) = json.loads(filled("sessions", "--json").stdout)
    assert (row["rounds"], row["source"], row["title"]) == (2, "claude-code", "prompt 0")


def test_a_session_can_be_named_by_id_prefix_path_or_last(filled: Cli) -> None:
    session = conversation(2)
    path = filled.home / ".claude" / "projects" / "-w" / f"{session.id}.jsonl"
    shown = [filled("show", name).stdout for name in (session.id, session.id[:6], path, "last")]
    assert len(set(shown)) == 1
    assert "prompt 1" in shown[0]


def test_a_round_is_shown_in_full(filled: Cli) -> None:
    text = filled("show", "last", "2").stdout
    assert "reply 1" in text
    assert "echo prompt 1" in text
    assert json.loads(filled("show", "last", "2", "--json").stdout)["round"] == 2
    assert filled("show", "last", "--document").stdout.startswith("---\nsession_id:")


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["show", "ffffffff"], 3, "no session"),
        (["show", "last", "99"], 3, "no round 99"),
        (["inscribe", "/nowhere"], 3, "no such file"),
        (["restore"], 2, "Give a SESSION"),
        (["export", "last", "--to", "nobody"], 3, "sessions can be written for"),
        (["export-claude", "last", "--rounds", "x"], 2, "not a range"),
        (["export-claude", "last"], 0, ""),
        (["frobnicate"], 2, "No command"),
    ],
)
def test_errors_are_one_line_with_a_hint(filled: Cli, args: list[str], code: int, words: str) -> None:
    done = filled(*args, code=code if args != ["export-claude", "last"] else 6)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_an_ambiguous_prefix_is_refused(cli: Cli) -> None:
    for number in range(2):
        conversation(1, f"aaaaaaaa-2222-4333-8444-55555555555{number}").write(cli.home / ".claude")
    cli("inscribe")
    assert "could be 2 sessions" in cli("show", "aaaa", code=4).stderr


def test_what_listings_print_of_an_id_can_be_asked_for(cli: Cli) -> None:
    """Ids that are made of the time begin alike."""
    token = plant("github-token", random.Random(1)).secret
    for number in range(2):
        session = conversation(1, f"019ddb95-{number}222-7333-8444-555555555555")
        session.exchange(f"key {number}: {token}", "done")
        session.write(cli.home / ".claude")
    cli("inscribe")
    cli("ingest")
    for listing in (cli("sessions"), cli("search", "reply"), cli("search", "--ghosts"), cli("secrets")):
        shown = set(re.findall(r"019ddb95\S*", listing.stdout))
        assert shown == {"019ddb95-0", "019ddb95-1"}
    assert "key 1" in cli("show", "019ddb95-1").stdout


def test_colours_are_for_terminals_whose_owner_wants_them(filled: Cli) -> None:
    """https://no-color.org: set, and not empty."""
    for value, coloured in (("", True), ("1", False)):
        filled.env["NO_COLOR"] = value
        for args in (("search", "prompt"), ("sessions",)):
            shown = filled.at_a_terminal(*args)
            assert "prompt" in shown
            assert ("\x1b[" in shown) is coloured


def test_a_file_of_an_unknown_format_is_refused(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello\n")
    assert "no session of a known format" in cli("inscribe", path, code=5).stderr
    assert "no sessions below" in cli("inscribe", cli.home, code=3).stderr


def test_a_store_that_is_no_folder_is_a_clear_error(cli: Cli, tmp_path: Path) -> None:
    conversation(1).write(cli.home / ".claude")
    (tmp_path / "file").write_text("x")
    done = cli("--store", tmp_path / "file", "inscribe", code=8)
    assert "hint:" in done.stderr
    assert "Traceback" not in done.stderr


def test_restore_gives_everything_back(filled: Cli) -> None:
    before = tree(filled.home / ".claude")
    path = next((filled.home / ".claude").rglob("*.jsonl"))
    path.unlink()
    assert "written" in filled("restore", "last").stdout
    assert tree(filled.home / ".claude") == before
    filled("restore", "--all")


def test_check_proves_and_append_adds(filled: Cli) -> None:
    assert "1 transcript checked, 1 without loss" in filled("check").stdout
    filled("check", "--stored")
    session = conversation(3)
    session.write(filled.home / ".claude")
    assert "1 appended" in filled("append", "last").stdout
    assert "unchanged" in filled("append").stdout


def test_damage_of_the_source_is_told_and_is_none_of_the_archive(filled: Cli) -> None:
    path = next((filled.home / ".claude").rglob("*.jsonl"))
    path.write_bytes(path.read_bytes() + b'{"type":"user","mess\n')
    filled("append", "last")
    assert "problem:" in filled("check", "--stored").stdout
    next((filled.home / ".local" / "share" / "muniment").rglob("001.json")).write_bytes(b"{}")
    assert "round file differs" in filled("check", "--stored", code=1).stdout


@pytest.mark.parametrize("rounds", ["0", "0-0", "99"])
def test_rounds_that_are_not_there_are_never_all_of_them(filled: Cli, rounds: str, tmp_path: Path) -> None:
    for command in (("html",), ("export", "--to", "codex")):
        done = filled(*command, "last", "--rounds", rounds, "-o", tmp_path / "x", code=3)
        assert "no rounds" in done.stderr
        assert "rounds rounds" not in done.stderr
    filled("continue", "last", "--in", "codex", "--rounds", rounds, code=3)
    assert not (tmp_path / "x").exists()


def test_forget_asks_first_and_leaves_no_trace(filled: Cli) -> None:
    refused = filled("forget", "last", code=1, stdin="n\n").stderr
    assert refused.endswith("muniment: not forgotten\n")  # nothing was begun, so there is nothing to go on with
    assert "prompt 0" in filled("sessions").stdout
    filled("forget", "last", "--yes")
    assert "archive is empty" in filled("sessions").stderr
    store = filled.home / ".local" / "share" / "muniment"
    assert not any(b"reply 1" in data for data in tree(store).values())


def test_a_source_without_sessions_is_no_empty_archive(filled: Cli) -> None:
    assert filled("sessions", "--source", "codex").stderr == "no sessions of codex\n"
    assert filled("sessions", "--source", "codex", "--json").stdout == "[]\n"


def test_reindex_brings_a_lost_index_back(filled: Cli) -> None:
    store = filled.home / ".local" / "share" / "muniment" / "data" / "sessions"
    listed = filled("sessions", "--json").stdout
    (store / "sessions.db").write_bytes(b"garbage" * 1000)
    assert "reindex" in filled("sessions", code=8).stderr
    filled("reindex")
    assert filled("sessions", "--json").stdout == listed
    assert "unchanged" in filled("inscribe").stdout


def test_nothing_but_text_reaches_the_terminal(cli: Cli) -> None:
    session = ClaudeSession()
    session.exchange("hi \x1b]52;c;ZXZpbA==\x07 \x1b[2J \x9b31m \u202e rtl \x00 end", "\x1b[31mred\x08\x7f")
    session.write(cli.home / ".claude")
    cli("inscribe")
    for args in (["sessions"], ["show", "last"], ["show", "last", "1"], ["show", "last", "--document"], ["doctor"]):
        text = cli(*args).stdout
        assert not [c for c in text if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 or c == "\u202e"]


def test_a_closed_pipe_is_no_error(filled: Cli) -> None:
    command = f"{MUNIMENT} show last --document | head -c 10"
    done = subprocess.run(["sh", "-c", command], env=filled.env, capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr


def test_a_transcript_that_is_not_inscribed_is_shown_and_written_as_a_page(cli: Cli, tmp_path: Path) -> None:
    path = conversation(2).write(tmp_path / "elsewhere")
    before = sorted(tmp_path.rglob("*"))
    assert "prompt 1" in cli("show", path).stdout
    assert "reply 1" in cli("show", path, "2").stdout
    assert "prompt 1" in cli("html", path, "-o", "-").stdout
    assert [made for made in sorted(tmp_path.rglob("*")) if made not in before and "muniment" in str(made)] == []


def test_a_transcript_that_has_grown_is_shown_as_it_stands_and_not_inscribed(filled: Cli) -> None:
    session = conversation(2)
    session.exchange("a later prompt", "a later reply")
    path = session.write(filled.home / ".claude")
    assert "a later prompt" in filled("show", path).stdout
    assert "a later reply" in filled("html", path, "-o", "-").stdout
    assert "a later prompt" not in filled("show", "last").stdout


def test_who_asks_for_a_session_that_is_not_there_is_told_how_it_gets_there(filled: Cli) -> None:
    for args in (["show", "ffffffff"], ["ingest", "--session", "ffffffff"]):
        assert "muniment inscribe" in filled(*args, code=3).stderr


def test_the_doctor_tells_secrets_at_rest_and_where_it_looked(cli: Cli) -> None:
    session = conversation(2)
    secret = plant("github-token", random.Random(1)).secret
    session.exchange(f"use {secret}", "done")
    session.write(cli.home / ".claude")
    cli("up")
    told = cli("doctor").stdout
    assert "1 secret at rest in 1 session (all sessions searched)" in told
    found = json.loads(cli("doctor", "--json").stdout)["secrets"]
    assert found == {"sessions": [session.id], "secrets": 1, "looked_at": 1, "of": 1}
    assert secret not in told


def test_the_doctor_calls_no_session_missing_whose_bytes_are_there_from_elsewhere(cli: Cli, tmp_path: Path) -> None:
    session = conversation(2)
    cli("inscribe", session.write(tmp_path / "backup"))
    path = session.write(cli.home / ".claude")
    assert json.loads(cli("doctor", "--json").stdout)["not_inscribed"] == []
    session.exchange("more", "done")
    session.write(cli.home / ".claude")
    assert json.loads(cli("doctor", "--json", code=1).stdout)["not_inscribed"] == [str(path)]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("command", ["sessions", "show last --document", "doctor"])
def test_output_that_cannot_be_written_is_one_error(filled: Cli, command: str) -> None:
    words = f"{MUNIMENT} {command} >/dev/full"
    done = subprocess.run(["sh", "-c", words], env=filled.env, capture_output=True, text=True, check=False)
    assert done.returncode == 8
    assert len(done.stderr.splitlines()) == 2, done.stderr


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_page_does_not_replace_a_folder_nor_a_site_a_file(
    filled: Cli, tmp_path: Path, force: tuple[str, ...]
) -> None:
    target = tmp_path / "there"
    target.mkdir()
    done = filled("html", "last", "-o", target, *force, code=6)
    assert "is a folder" in done.stderr
    assert "--force" not in done.stderr
    target.rmdir()
    target.touch()
    assert "is no folder" in filled("html", "--all", "-o", target, *force, code=6).stderr
    assert [path.name for path in tmp_path.iterdir() if path.name != "user"] == ["there"]


@pytest.mark.parametrize(("said", "why"), [("", "no JSON"), ("junk", "no JSON"), ("[3]", "names no transcript_path")])
def test_a_hook_that_is_told_nothing_says_what_it_needs(cli: Cli, said: str, why: str) -> None:
    told = cli("append", "--hook", stdin=said, code=1).stderr
    assert why in told
    assert "  hint: " in told
