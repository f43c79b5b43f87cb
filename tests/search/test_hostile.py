"""Whatever is typed, there are results or a clear word: in the library for many queries, through the shell for some."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muniment import search
from muniment.archive import Archive
from muniment.errors import NotFound
from muniment.search import KINDS, Query
from muniment.store import terms
from muniment.surfaces.cli import search as command
from tests.builder import ClaudeSession
from tests.search.worked import engagement, session_id, understand

SYNTAX = [
    *("AND", "OR", "NOT", "NEAR", "a AND", "AND a", "NOT a", "a NOT b", "a OR b", "(a", "a)", "()", "((((", "a AND (b"),
    *("NEAR(a b)", "NEAR(a b, 5)", "NEAR(", "NEAR(a b, -1)", "a NEAR b", "body:login", "aux:login", "{body aux}:login"),
    *("-body:login", "texts_fts:x", "rowid:1", "^login", "^", "login + page", "+", "- login", "--", "a:b:c", ":", "::"),
    *("*", "**", "a**", "*a", "a*b", '"', '""', '"""', '"a', 'a"', '"a"*', '"a" "', '"*"', "'", "''", "';--", "a'b"),
    *("%", "_", "a%", "[a-z]", "{", "}", "\\", "\\0", "?", "?1", ":name", "@x", "$x", "#", "/", "//", ".", "...", ","),
    *("'; DROP TABLE texts; --", '" OR 1=1 --', "$(rm -rf /)", "`id`", "${HOME}", "%s%n", "{0}", "\\x00"),
]
ODD = [
    *("\x00", "a\x00b", "\x1b[31m", "\r\n", "\t", "\x7f", "\x9b2J", "\u202e", "\u200b", "\ufeff", "\u2028", "\ufffe"),
    *("\ud800", "a\udfff", "\ud83d", "\U0001f600", "e\u0301", "\u0301", "ﬁ", "ß", "İ", "ſ", "\ue0b0", "\U0010ffff"),
    *("登", "登录", "登录页面", "登录 页面", "用React", "a登", "登a", "ー", "々", "𠮷", "ｱ", "각", "가나다"),
]
HUGE = {
    "a megabyte of one word": "x" * 1_000_000,
    "a megabyte of words": "word " * 200_000,
    "ten thousand terms": " ".join(f"t{n}" for n in range(10_000)),
    "ten thousand quotes": '"' * 10_000,
    "ten thousand phrases": '"a b" ' * 10_000,
    "ten thousand stars": "* " * 10_000,
    "ten thousand open brackets": "(" * 10_000,
    "a megabyte of signs": "登录页面" * 250_000,
    "a megabyte of nothing": "\x00" * 1_000_000,
    "a megabyte of blanks": " " * 1_000_000,
    "an endless path": "a/" * 100_000,
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    folder = tmp_path_factory.mktemp("hostile")
    home = folder / ".claude"
    archive = Archive(folder / "store", {"HOME": str(folder)})
    session = ClaudeSession(session_id("login"))
    session.exchange("mend the login page", "用React写登录页面 a b")
    session.write(home)
    archive.inscribe([home])
    understand(archive, "login", engagement("login", 1, (1, 1)))
    return archive


def ask(archive: Archive, query: Query) -> None:
    """Every way of asking gives values, or says plainly that there is nothing; anything else fails the test."""
    for way in (search.search, search.find, search.find_engagements, search.count):
        with contextlib.suppress(NotFound):
            assert way(archive.layout, query) is not None


@pytest.mark.parametrize("text", [*SYNTAX, *ODD])
def test_syntax_and_odd_characters(filled: Archive, text: str) -> None:
    ask(filled, Query(text))
    ask(filled, Query(f"login {text} page"))
    ask(filled, Query(text, ghosts=True, kinds=("user",)))


def test_a_kind_that_there_is_not_is_said(filled: Archive) -> None:
    with pytest.raises(NotFound, match="no kind of block 'tools'"):
        filled.search(Query("login", kinds=("tools",)))


@pytest.mark.parametrize("name", HUGE)
def test_huge_queries(filled: Archive, name: str) -> None:
    ask(filled, Query(HUGE[name]))


@pytest.mark.parametrize("text", [*SYNTAX, *ODD, *list(HUGE.values())[:2]])
@pytest.mark.parametrize("field", ["source", "session", "agent", "method", "project", "phase", "file"])
def test_filters_take_any_text(filled: Archive, field: str, text: str) -> None:
    ask(filled, Query("login", **{field: text[:100_000]}))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=40), st.sampled_from(["", *KINDS]))
def test_any_text(filled: Archive, text: str, kind: str) -> None:
    ask(filled, Query(text, kinds=(kind,) if kind else ()))


@settings(max_examples=150)
@given(st.text(alphabet='ab" *()登录-_:^+\x00', max_size=30))
def test_what_a_query_is_read_as_has_letters_and_no_end(text: str) -> None:
    for term in terms.parse(text):
        assert term.text.strip()
        assert len(term.text) <= terms.MAX_TERM_CHARS
        assert any(c.isalnum() for c in term.text)


@pytest.mark.parametrize("text", ["x" * 1_000_000, "a " * 10_000])
def test_a_query_that_is_cut_is_said_to_be_cut(filled: Archive, text: str) -> None:
    done = CliRunner().invoke(command.command, [text], obj=str(filled.layout.root))
    assert "only its beginning is looked for" in done.stderr


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("login", 0),
        ("", 2),
        ("   ", 2),
        ("...", 3),
        ('"', 3),
        ("*", 3),
        ("NEAR(", 3),
        ("a AND (b", 3),
        ("\x1b[31m", 3),
        ("'; DROP TABLE texts; --", 3),
        ("\udcff\udc80", 3),
        ("登录", 0),
        ("x" * 100_000, 3),
        ("t " * 50_000, 3),
    ],
)
def test_through_the_shell(filled: Archive, text: str, code: int) -> None:
    """An argument may hold no NUL and no more than 128 kB; bytes that are no text arrive as lone surrogates."""
    line = [
        sys.executable,
        "-m",
        "muniment.surfaces.cli.main",
        "--store",
        str(filled.layout.root),
        "search",
        "--",
        text,
    ]
    done = subprocess.run(line, capture_output=True, check=False)
    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr
    assert b"\x1b" not in done.stdout + done.stderr
    assert done.stderr or code == 0


@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "other"])
def test_round_files_that_are_damaged(
    archive: Archive, home: Path, inscribe: Callable[..., object], damage: str
) -> None:
    """The hit is told all the same: the index knows where it was."""
    session = ClaudeSession(session_id("login"))
    session.exchange("mend the login page", "登录页面 is mended")
    session.write(home)
    inscribe()
    for path in _round_files(archive):
        data = path.read_bytes()
        path.unlink()
        if damage != "gone":
            path.write_bytes({"empty": b"", "cut": data[: len(data) // 3], "other": b'{"round":1}'}[damage])
    for text in ("mended", "登录页"):
        (hit,) = archive.search(Query(text))
        assert (hit.round, hit.kind) == (1, "assistant")


def _round_files(archive: Archive) -> Iterator[Path]:
    return archive.layout.sessions.glob("*/*/rounds/*.json")
