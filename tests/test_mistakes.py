"""Careless and unlucky use of the commands that give it back: one line, a hint, the right exit code, no trace."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.faults.world import Ran, done, kill, one_line, owner_without_privileges, run, start

SESSION = "7298063d"
NEAR = ("context", "budget", "lineage", "instructions")
"""Commands that take a session and nothing else."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of the demo; its agents' homes and the working folder are empty."""
    folder = tmp_path_factory.mktemp("mistakes")
    done(folder / "store", "up", "--demo")
    return folder / "store"


def refused(ran: Ran, code: int) -> None:
    """It says what is wrong and what to do; a wrong option is told by its usage."""
    assert ran.code == code, ran
    assert ran.out == ""
    if code == 2:
        assert ran.err.startswith("Usage: ")
        assert "Traceback" not in ran.err
    else:
        assert one_line(ran) == [], ran
        assert "  hint: " in ran.err


@pytest.mark.parametrize("name", ["nope", "", "%", "../../etc/passwd", "\x1b[31mred", "é" * 300, "0" * 36])
@pytest.mark.parametrize("command", NEAR)
def test_a_session_that_is_not_there(store: Path, command: str, name: str) -> None:
    ran = run(store, command, name)
    refused(ran, 3)
    assert "\x1b" not in ran.err


@pytest.mark.parametrize("command", NEAR)
def test_an_archive_that_is_not_there(tmp_path: Path, command: str) -> None:
    refused(run(tmp_path / "nothing", command, "last"), 3)
    assert not (tmp_path / "nothing").exists(), "looking makes nothing"


READERS = (
    ("check", "--stored"),
    ("restore", "--all", "--to", "out"),
    ("secrets",),
    ("secrets", "--json"),
    ("html", "--all", "-o", "out"),
    ("ingest",),
    ("ingest", "--dry-run"),
    ("sessions",),
    ("sessions", "--json"),
    ("roster",),
    ("engagement", "list", "--conflicts"),
    ("search", "word"),
    ("lineage",),
)


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_a_mistyped_store_is_no_empty_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run(tmp_path / "typo", *words)
    refused(ran, 3)
    assert f"no archive at {tmp_path / 'typo'}" in ran.err
    assert not (tmp_path / "typo").exists()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_a_file_is_no_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("words\n")
    refused(run(tmp_path / "file", *words), 3)
    assert (tmp_path / "file").read_text() == "words\n"


def test_a_source_that_nobody_knows_is_told_from_an_empty_archive(store: Path) -> None:
    ran = run(store, "sessions", "--source", "claude")
    refused(ran, 3)
    assert "claude-code" in ran.err
    assert "claude-code" in run(store, "sessions", "--source", "claude", "--json").err


def test_a_folder_without_sessions_proves_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for command in ("check", "inscribe"):
        ran = run(tmp_path / "store", command, str(tmp_path / "empty"))
        refused(ran, 3)
        assert "no sessions below" in ran.err


MISTAKES: list[tuple[tuple[str, ...], int]] = [
    (("context", "0"), 4),
    (("context",), 2),
    (("context", SESSION, "--budget", "0"), 2),
    (("context", SESSION, "--budget=-5"), 2),
    (("context", SESSION, "--budget", "1e9"), 2),
    (("context", SESSION, "--budget", "1000000000"), 2),
    (("context", SESSION, "--budget", "20"), 1),
    (("context", SESSION, "--bytes-per-token", "0"), 1),
    (("context", SESSION, "--bytes-per-token", "nan"), 1),
    (("context", SESSION, "--rounds", "5-2"), 2),
    (("context", SESSION, "--rounds", "²"), 2),
    (("context", SESSION, "--ref", "rest"), 2),
    (("context", SESSION, "--as", "nobody"), 3),
    (("context", SESSION, "--as", "gemini"), 7),
    (("context", SESSION, "--since", "rubbish"), 1),
    (("context", "-e", "nope"), 3),
    (("context", "--file", "nope"), 3),
    (("continue", SESSION, "--in", "nobody"), 3),
    (("continue", SESSION, "--in", "gemini"), 7),
    (("continue", SESSION, "--in", "codex", "--rounds", "²"), 2),
    (("bundle", "nope", "-o", "x.bundle"), 3),
    (("bundle", SESSION, "-o", "/proc/nowhere/x.bundle"), 8),
    (("bundle", SESSION, "-o", "/tmp"), 6),
    (("unbundle", "/nowhere/x.bundle"), 3),
    (("unbundle", "/tmp"), 8),
    (("unbundle", "/dev/zero"), 8),
    (("unbundle", __file__), 8),
    (("continue", SESSION, "--in", "codex", "--rounds", "9-3"), 2),
    (("html", SESSION, "--rounds", "9-3"), 2),
    (("tag", SESSION, "9-3", "lamp"), 2),
    (("ingest", "--with", "foo"), 2),
    (("ingest", "--with", "openai"), 2),
    (("ingest", "--since", "rubbish"), 2),
    (("restore", "--all", SESSION), 2),
    (("search", "--source", "nope"), 3),
    (("search", "lamp", "--source", "nope"), 3),
    (("engagement", "show", "nope"), 3),
    (("engagement", "decide", "nope", "words"), 3),
]


@pytest.mark.parametrize(("words", "code"), MISTAKES, ids=[" ".join(words)[:60] for words, _ in MISTAKES])
def test_a_mistake(store: Path, words: tuple[str, ...], code: int) -> None:
    refused(run(store, *words), code)


WORDS: list[tuple[tuple[str, ...], str]] = [
    (("tag", SESSION, "9-3", "lamp"), "'9-3' ends before it begins"),
    (("restore", "--all", SESSION), "not both"),
    (("search", "--source", "nope"), "no source is called 'nope'"),
    (("ingest", "--with", "foo"), "'foo' is no extractor"),
    (("ingest", "--since", "rubbish"), "write it as 2026-03-19"),
]


@pytest.mark.parametrize(("words", "said"), WORDS, ids=[" ".join(words)[:60] for words, _ in WORDS])
def test_a_mistake_is_called_by_its_name(store: Path, words: tuple[str, ...], said: str) -> None:
    assert said in run(store, *words).err


def test_more_rounds_than_any_database_counts(store: Path) -> None:
    assert "Flaky lamp test" in done(store, "context", SESSION, "--rounds", "1-99999999999999999999").out


def test_an_archive_that_cannot_be_written_can_be_asked(store: Path, tmp_path: Path) -> None:
    wrap = owner_without_privileges()
    if wrap is None:
        pytest.skip("needs setpriv to obey file modes as root")
    kept = tmp_path / "kept"
    shutil.copytree(store, kept)
    for path in [*kept.rglob("*"), kept]:
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        for command in NEAR:
            assert done(kept, command, SESSION, wrap=wrap).err.count("Traceback") == 0
        refused(run(kept, "unbundle", __file__, wrap=wrap), 8)
    finally:
        for path in [kept, *kept.rglob("*")]:
            path.chmod(0o700)


@pytest.mark.parametrize(
    "words", [("context", SESSION, "--budget", "200000"), ("lineage", "--all"), ("budget", SESSION)]
)
def test_a_reader_who_goes_away_is_no_error(store: Path, words: tuple[str, ...]) -> None:
    process = start(store, *words)
    assert process.stdout
    process.stdout.close()
    process.stdout = None
    try:
        _, said = process.communicate(timeout=60)
    finally:
        kill(process)
    assert b"Traceback" not in said
    assert b"Exception" not in said
    assert process.returncode in (0, 1)
