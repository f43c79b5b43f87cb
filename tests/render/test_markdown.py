"""Markdown becomes safe markup: nothing breaks out, nothing is loaded, nothing is hidden, and none takes long."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.render import markdown
from muniment.render.visible import clip, one_line, visible

from .hostile import PAYLOADS
from .markup import assert_safe_message

MIXED = st.lists(st.sampled_from([*PAYLOADS, *"<>&\"'`*_[]()!|#-~\\\n\t ", "a", "1. ", "> ", "- ", "```"])).map("".join)


@given(st.text() | MIXED)
def test_any_text_gives_only_tags_of_markdown(text: str) -> None:
    html = markdown.render(text)
    assert_safe_message(html)
    assert markdown.render(text) == html


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payloads_stay_words(payload: str) -> None:
    assert_safe_message(markdown.render(payload))
    assert_safe_message(markdown.render(f"- a\n  {payload}\n\n> {payload}\n\n| {payload} |\n| - |\n"))


def test_an_image_is_a_link_that_shows_its_address() -> None:
    html = markdown.render("![plan](https://pics.invalid/p.png)")
    assert "<img" not in html
    assert "image: plan (https://pics.invalid/p.png)" in html


def test_an_address_that_a_browser_should_not_open_is_text() -> None:
    html = markdown.render("[run](javascript:x) and [page.ts](src/page.ts)")
    assert "<a" not in html
    assert "page.ts (src/page.ts)" in html
    assert "run (javascript:x)" in html


def test_definitions_and_comments_do_not_vanish() -> None:
    text = "".join(assert_safe_message(markdown.render("[//]: # (hidden words)\n\n<!-- more hidden words -->")).text)
    assert "(hidden words)" in text
    assert "<!-- more hidden words -->" in text


def test_the_language_of_a_fence_is_a_class_of_harmless_letters() -> None:
    html = markdown.render('```py"><b> onclick\nx = 1\n```')
    assert 'class="language-pyb"' in html
    assert "x = 1" in html
    assert "onclick" in "".join(assert_safe_message(html).text)


def test_tables_keep_their_alignment_without_styles() -> None:
    html = markdown.render("| a | b |\n| --: | :-: |\n| 1 | 2 |")
    assert '<td class="right">1</td>' in html
    assert "style" not in html


TOO_MUCH = (
    "> " * 300 + "deep",
    "\n".join("  " * n + "- x" for n in range(120)),
    "a" * 150_000,
    "> 1. " * 10 + "\n" + "- - - a\n" * 4_999,
    "*a_ " * 10_001,
)


@pytest.mark.parametrize("text", TOO_MUCH)
def test_what_is_too_deep_or_too_large_is_shown_as_it_was_written(text: str) -> None:
    html = markdown.render(text)
    assert html.startswith('<pre class="plain">')
    assert "".join(assert_safe_message(html).text) == text


def test_a_long_list_is_a_list() -> None:
    assert markdown.render("- [a] **b**\n\n" * 2_000).startswith("<ul>")
    assert markdown.render("1. a - > b\n" * 1_800).startswith("<ol>")


def test_every_word_of_a_deep_list_is_there() -> None:
    text = "\n".join("  " * n + f"- word{n}" for n in range(40))
    shown = "".join(assert_safe_message(markdown.render(text)).text)
    assert [n for n in range(40) if f"word{n}" not in shown] == []


BOMBS = {
    "brackets": "[" * 100_000,
    "pictures": "![" * 50_000,
    "stars": "*a_ " * 25_000,
    "links": "[a](" * 25_000,
    "quotes": ">" * 100_000,
    "lazy": "> " * 19 + "a\n" + "a\n" * 50_000,
    "table": "|a" * 900 + "\n" + "|-" * 900 + "\n" + "|\n" * 40_000,
    "paragraphs": ("[" * 19_000 + "\n\n") * 5,
    "pictures in paragraphs": ("![" * 9_500 + "\n\n") * 5,
    "ticks": "".join("`" * n + " " for n in range(1, 430)),
    "bullets": "- a\n" * 25_000,
    "rows": "|a|b|\n|-|-|\n" + "|x|y|\n" * 3_000,
    "lazy in paragraphs": ("> " * 18 + "a\n" + "a\n" * 800 + "\n") * 6,
    "wide tables": ("|a" * 900 + "\n" + "|-" * 900 + "\n" + "|\n" * 1_000 + "\n") * 18,
    "narrow tables": ("|a" * 8 + "\n" + "|-" * 8 + "\n" + "|\n" * 100 + "\n") * 45,
    "quotes and lists": ("> - " * 10 + "a\n\n") * 2_300,
    "lists in lists": "- - - - - - - - - a\n" * 4_900,
    "quotes and lists, just fewer": ("> - " * 10 + "a\n\n") * 740,
    "numbers in numbers": "1. 2. 3. 4. 5. 6. 7. a\n" * 2_100,
    "stars and underscores": ("*_" * 4_500 + "a" + "_*" * 4_500 + "\n\n") * 5,
}


@pytest.mark.parametrize("name", BOMBS)
def test_no_text_takes_long(name: str) -> None:
    """CPU time of this thread, with room for a machine that is four times slower."""
    before = time.thread_time()
    markdown.render(BOMBS[name])
    assert time.thread_time() - before < 2.5


# -- characters that cannot be seen


@pytest.mark.parametrize("code", [0, 7, 27, 0x7F, 0x9B, 0xAD, 0x200B, 0x200E, 0x202E, 0x2066, 0xFEFF, 0xE0041, 0xD800])
def test_what_cannot_be_seen_is_shown(code: int) -> None:
    shown = visible(f"a{chr(code)}b")
    assert chr(code) not in shown
    assert len(shown) > 2


def test_joiners_stay_where_scripts_and_emoji_need_them() -> None:
    for text in ("👩\u200d💻", "می\u200cخواهم"):
        assert visible(text) == text
    assert visible("pay\u200dpal") == "pay‹U+200D›pal"


def test_colours_of_a_terminal_are_left_out_and_conceal_nothing() -> None:
    assert visible("\x1b[8msecret\x1b[0m \x1b[2J") == "secret ␛[2J"


@given(st.text(max_size=300), st.integers(10, 200))
def test_clipping_tells_how_much_is_missing(text: str, limit: int) -> None:
    shown, cut = clip(text, limit)
    assert (cut == 0) == (shown == text)
    assert cut == 0 or (f"{cut:,}" in shown and len(text) - cut <= limit)


@given(st.text(max_size=2_000))
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text)) <= 160
    assert "\n" not in one_line(text)
