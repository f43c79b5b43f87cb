"""Words that a plain tokenizer misses."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.store import words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("getUserName", {"get", "User", "Name"}),
        ("call parseHTTPServer now", {"parse", "HTTP", "Server"}),
        ("XMLHttpRequest", {"XML", "Http", "Request"}),
        ("self.maxRetries=myLimit", {"max", "Retries", "my", "Limit"}),
        ("plain words and snake_case", set()),
        ("CONSTANT Title", set()),
        ("", set()),
    ],
)
def test_the_parts_of_a_camel_case_name_are_found(text: str, found: set[str]) -> None:
    assert set(words.hidden_words(text.encode()).split()) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("登录", {"登录", "录"}),
        ("登录页面", {"登录", "录页", "页面", "面"}),
        ("按登钮", {"按登", "登钮", "钮"}),
        ("見 the ファ", {"見", "ファ", "ァ"}),
        ("로그인", {"로그", "그인", "인"}),
        ("naïve café", set()),
    ],
)
def test_signs_of_east_asian_scripts_are_found_by_pairs(text: str, found: set[str]) -> None:
    assert set(words.hidden_words(text.encode()).split()) == found


def test_each_word_is_given_once() -> None:
    assert words.hidden_words("myName myName 登录 登录".encode()).split() == ["Name", "my", "录", "登录"]


@pytest.mark.parametrize("run", ["aB" * 500_000, "a" * 999_999 + "B", "A" * 1_000_000, "aBc" * 22])
def test_a_long_run_of_letters_is_data_and_gives_no_words(run: str) -> None:
    assert words.hidden_words(run.encode()) == ""
    assert words.hidden_words(f"{run} myName".encode()) == "Name my"


def test_a_megabyte_of_base64_gives_only_short_words() -> None:
    found = words.hidden_words(b"iVBORw0KGgoAAAANSUhEUg+QWxhZGRpbg/b3BlbiBzZXNhbWU" * 20_000).split()
    assert len(found) < 50
    assert max(map(len, found)) <= 64


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_no_text_is_too_odd_and_nothing_is_made_up(text: str) -> None:
    assert all(word in text for word in words.hidden_words(text.encode()).split())


def test_no_sign_and_no_icon_is_passed_over() -> None:
    """Texts without any are told by a few bytes; those must begin every sign and every icon that there is."""
    every = "".join(chr(code) for code in (*range(128, 0xD800), *range(0xE000, 0x110000)))
    found = re.findall(f"[{words.SIGNS}{words.ICONS}]", every)
    assert len(found) > 100_000
    assert [sign for sign in found if not words.RARE.match(sign.encode())] == []
