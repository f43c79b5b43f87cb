"""Full text: what is found, what is not taken for syntax, and where a hit leads."""

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.archive import Archive
from muniment.errors import NotFound
from muniment.search import Hit, Query
from muniment.store import terms
from tests.builder import ClaudeSession

Inscribe = Callable[..., object]
TEXTS = {
    "camel": "call checkToken before parseHTTPServer",
    "snake": "the file src/auth-utils.ts sets max_retries = 3",
    "phrase": "the login page is broken, the page for login is fine",
    "chinese": "我们用React写登录页面",
    "japanese": "ログイン画面を直す",
    "accent": "a naïve café",
}


@pytest.fixture
def filled(archive: Archive, home: Path, inscribe: Inscribe) -> Archive:
    for name, text in TEXTS.items():
        session = ClaudeSession(str(uuid.uuid5(uuid.NAMESPACE_URL, name)))
        session.exchange(f"about {name}", text)
        session.write(home)
    inscribe()
    return archive


def found(archive: Archive, text: str, **more: object) -> list[Hit]:
    return archive.search(Query(text, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("checkToken", "camel"),
        ("token", "camel"),
        ("Server", "camel"),
        ("parseHTTPServer", "camel"),
        ("auth-utils.ts", "snake"),
        ("src/auth-utils", "snake"),
        ("max_retries", "snake"),
        ("retries", "snake"),
        ("retri*", "snake"),
        ('"login page"', "phrase"),
        ("页面", "chinese"),
        ("登录页面", "chinese"),
        ("React", "chinese"),
        ("ログイン", "japanese"),
        ("naive cafe", "accent"),
    ],
)
def test_words_names_paths_and_signs_are_found(filled: Archive, query: str, name: str) -> None:
    assert TEXTS[name] in {hit.snippet for hit in found(filled, query)}


@pytest.mark.parametrize("query", ["录登", "页登录", '"page login"', "oken", "登陆"])
def test_what_is_not_there_is_not_found(filled: Archive, query: str) -> None:
    assert found(filled, query) == []


def test_a_hit_leads_to_its_round_and_shows_what_matched(filled: Archive) -> None:
    (hit,) = found(filled, "checktoken")
    assert (hit.round, hit.kind, hit.source) == (1, "assistant", "claude-code")
    assert [hit.snippet[start:end] for start, end in hit.marks] == ["checkToken"]


def test_filters(filled: Archive) -> None:
    assert {hit.kind for hit in found(filled, "about", kinds=("user",))} == {"user"}
    assert found(filled, "about", kinds=("thinking",)) == []
    assert found(filled, "about", source="codex") == []
    assert found(filled, "about", since="2999-01-01") == []
    assert len(found(filled, "about", until="2999-01-01", limit=3)) == 3


@pytest.mark.parametrize("query", ["", "  ", '"', "*", "()", "\x00\x1b[", "\ud800"])
def test_nothing_to_search_for_is_said(filled: Archive, query: str) -> None:
    with pytest.raises(NotFound, match="nothing to search"):
        found(filled, query)


@pytest.mark.parametrize(
    "query", ["AND OR NOT", "NEAR(a b)", "body:x", "a:b", "x" * 1_000_000, "a " * 5000, '"unclosed', "-a"]
)
def test_hostile_queries_give_results_or_none(filled: Archive, query: str) -> None:
    assert isinstance(found(filled, query), list)


@given(st.text(max_size=80))
def test_no_text_is_ever_taken_for_syntax(query: str) -> None:
    import apsw

    db = apsw.Connection(":memory:")
    db.execute("CREATE VIRTUAL TABLE f USING fts5(body, aux, content='', tokenize='unicode61 remove_diacritics 2')")
    if asked := terms.parse(query):
        list(db.execute("SELECT rowid FROM f WHERE f MATCH ?", (terms.expression(asked),)))
    db.close()
