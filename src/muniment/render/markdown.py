"""Markdown of a transcript as safe markup.

Two walls: the parser takes no raw HTML, and what it gives is cleaned once more against a short list of tags. Nothing is
loaded: an image becomes a link that shows its address, and an address that a browser should not open is text. Nothing
is hidden: there are no link definitions, and a text that is too large or nested too deep is shown as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any, cast

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token

from muniment.render.visible import visible

MAX_CHARS = 100_000
MAX_NESTING = 40
"""Of tokens; the parser drops what lies deeper, so such a text is shown plain."""
MAX_PARAGRAPH = 20_000
"""Between two blank lines: some of the parser's rules take the square of that."""
MAX_BRACKETS = 3_000
"""Each may begin a link, and the parser looks for its end."""
MAX_MARKS = 20_000
"""Each may begin or end an emphasis, and the parser pairs them."""
MAX_LINES = 5_000
MAX_CELLS = 40_000
"""Lines times the columns of the widest: a short row of a table is filled up with empty cells."""

MAX_OPENINGS = 15_000
"""Of quotes and list items, each of which the parser opens and closes by itself."""

_OPENINGS = re.compile(r"^(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t\n])))+", re.MULTILINE)
_OPENING = re.compile(r">|[-+*.)]")
_ADDRESS = re.compile(r"(?:https?://|mailto:)[^\s<>\"]+", re.IGNORECASE)
_NO_LANGUAGE = re.compile(r"[^A-Za-z0-9_+#.-]")
_CLASS = re.compile(r"fence|info|image|path|plain|left|right|center|language-[A-Za-z0-9_+#.-]{1,40}")
_BLANK = re.compile(r"\n[ \t]*\n")
_INLINE = ("br", "strong", "em", "s", "a", "span", "code")
_BLOCKS = ("p", "hr", "div", "blockquote", "ul", "ol", "li", "pre", "h1", "h2", "h3", "h4", "h5", "h6")
_TAGS = {*_INLINE, *_BLOCKS, "table", "thead", "tbody", "tr", "th", "td"}
_ATTRIBUTES = {
    "a": {"href", "title", "class"},
    "ol": {"start"},
    **{tag: {"class"} for tag in ("code", "pre", "div", "span", "th", "td")},
}

Tokens = Sequence[Token]


def render(text: str) -> str:
    """The markup of a text."""
    text = visible(text)
    if _takes_long(text):
        return plain(text)
    parser = _parser()
    tokens = parser.parse(text)
    if any(token.level >= MAX_NESTING - 1 for token in tokens):
        return plain(text)
    return _clean(cast("str", parser.renderer.render(tokens, parser.options, {"links": []})))


def _takes_long(text: str) -> bool:
    if len(text) > MAX_CHARS or text.count("[") > MAX_BRACKETS or sum(map(text.count, "*_~")) > MAX_MARKS:
        return True
    lines = text.split("\n")
    if len(lines) > MAX_LINES or len(lines) * max(line.count("|") for line in lines) > MAX_CELLS:
        return True
    if sum(len(_OPENING.findall(found)) for found in _OPENINGS.findall(text)) > MAX_OPENINGS:
        return True
    return len(text) > MAX_PARAGRAPH and any(len(part) > MAX_PARAGRAPH for part in _BLANK.split(text))


def plain(text: str) -> str:
    """The text as it is, lines and all."""
    return f'<pre class="plain">{escape(visible(text), quote=False)}</pre>'


def _clean(html: str) -> str:
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=_attribute,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


def _attribute(_tag: str, name: str, value: str) -> str | None:
    return value if name != "class" or _CLASS.fullmatch(value) else None


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING})
    parser.enable(["table", "strikethrough"]).disable("reference")
    parser.validateLink = lambda url: True  # the rules below decide which address becomes a link
    for name, rule in _RULES.items():
        parser.add_render_rule(name, rule)
    return parser


# -- how some tokens are spelt; the parser calls these with itself, the tokens and the number of one


def _fence(_: Any, tokens: Tokens, at: int, *__: Any) -> str:
    info = tokens[at].info.strip()
    language = _NO_LANGUAGE.sub("", info.split()[0])[:40] if info else ""
    name = f' class="language-{language}"' if language else ""
    shown = f'<span class="info">{escape(info)}</span>' if info else ""
    code = escape(tokens[at].content, quote=False)
    return f'<div class="fence">{shown}<pre><code{name}>{code}</code></pre></div>\n'


def _code(_: Any, tokens: Tokens, at: int, *__: Any) -> str:
    return f"<pre><code>{escape(tokens[at].content, quote=False)}</code></pre>\n"


def _image(_: Any, tokens: Tokens, at: int, *__: Any) -> str:
    address = str(tokens[at].attrs.get("src", ""))
    words = escape(f"image: {tokens[at].content} ({address})")
    if _ADDRESS.fullmatch(address):
        return f'<a class="image" href="{escape(address)}">{words}</a>'
    return f'<span class="image">{words}</span>'


def _link_open(_: Any, tokens: Tokens, at: int, __: Any, env: dict[str, list[str]]) -> str:
    address = str(tokens[at].attrs.get("href", ""))
    if not _ADDRESS.fullmatch(address):
        label = tokens[at + 1].content if at + 1 < len(tokens) else ""
        env["links"].append("</span>" if label == address else f" ({escape(address)})</span>")
        return '<span class="path">'
    env["links"].append("</a>")
    title = str(tokens[at].attrs.get("title", ""))
    return f'<a href="{escape(address)}" title="{escape(title)}">' if title else f'<a href="{escape(address)}">'


def _link_close(_: Any, __: Tokens, ___: int, ____: Any, env: dict[str, list[str]]) -> str:
    return env["links"].pop()


def _cell(_: Any, tokens: Tokens, at: int, *__: Any) -> str:
    """A style would need a style attribute, which the page forbids."""
    side = str(tokens[at].attrs.get("style", "")).removeprefix("text-align:")
    return f'<{tokens[at].tag} class="{side}">' if side else f"<{tokens[at].tag}>"


_RULES = {
    "fence": _fence,
    "code_block": _code,
    "image": _image,
    "link_open": _link_open,
    "link_close": _link_close,
    "th_open": _cell,
    "td_open": _cell,
}
