"""What a text leaves open is closed behind it, so that no Markdown reader takes the next header for part of it.

A fence without an end, or a tag like `<pre>` or `<!--`, reaches to the end of a document. The line that ends it is ours
and no part of the text, so the line below it says so; both go when the document is parsed.

    ```
    ls -la
    ```
    <!-- closed by muniment -->
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from muniment.store.escape import CLOSED, safe_characters

if TYPE_CHECKING:  # few texts need it, and it is slow to import
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_PREFIX = r"^[ \t>*+\-\d.)]*"
"""What may stand before a block: indentation, and marks of lists and quotes."""
_FENCE = re.compile(rf"({_PREFIX})(`{{3,}}|~{{3,}})([^\n]*)$", re.MULTILINE)
_ENDLESS = re.compile(rf"{_PREFIX}<(?:[!?]|(?:script|pre|style|textarea)(?![\w-]))", re.MULTILINE | re.IGNORECASE)
_TAG = re.compile(rf"{_PREFIX}<[A-Za-z/]", re.MULTILINE)
_ENDS = (("<!--", "-->"), ("<![cdata[", "]]>"), ("<?", "?>"), ("<!", ">"))
_TAGS = ("script", "pre", "style", "textarea")
_PROBE = "### x"
_OURS = re.compile(rb"\n[^\n]*\n" + re.escape(CLOSED.encode()) + rb"$", re.MULTILINE)


def closer(text: str) -> str:
    """The line that closes what a text leaves open; none if it leaves nothing."""
    if not _may_stay_open(text):
        return ""
    shown = safe_characters(text)
    last = _last_block(shown)
    end = "" if last is None else _end_of(last)
    return end if end and _last_block(f"{shown}\n{end}\n{CLOSED}") is None else ""


def closed(text: str) -> str:
    """A text with that line behind it, and the mark that it is ours."""
    end = closer(text)
    return f"{text}\n{end}\n{CLOSED}" if end else text


def opened(lines: list[str]) -> list[str]:
    """The lines of a text again."""
    ours = lines[-1:] == [CLOSED] and len(lines) > 2 and closer("\n".join(lines[:-2])) == lines[-2]
    return lines[:-2] if ours else lines


def without(body: bytes) -> bytes:
    """A document without what closes its texts: documents of older versions have nothing of the kind."""
    return _OURS.sub(b"", body) if CLOSED.encode() in body else body


def _may_stay_open(text: str) -> bool:
    """Told from the lines alone where that is certain: fences that come in pairs, and are part of nothing but a list.

    To parse a text takes a hundred times as long, and steps of a list with code in them are in every other answer."""
    if "<" in text and _ENDLESS.search(text):
        return True
    fences = list(_FENCE.finditer(text)) if "```" in text or "~~~" in text else []
    if not fences:
        return False
    if any(prefix.strip() for prefix in (fence[1] for fence in fences)) or ("<" in text and _TAG.search(text)):
        return True
    return not _are_pairs(text, fences)


def _are_pairs(text: str, fences: list[re.Match[str]]) -> bool:
    """Whether each fence has its end, with the same indentation and nothing indented less between them, which would
    end the list that they may be part of."""
    begun: re.Match[str] | None = None
    for fence in fences:
        prefix, ticks, rest = fence.groups()
        if begun is None:
            if "`" in rest and ticks[0] == "`":
                return False  # no fence, which only a look at the whole can tell
            begun = fence
        elif ticks[0] == begun[2][0] and len(ticks) >= len(begun[2]) and not rest.strip(" \t"):
            if prefix != begun[1] or not _is_indented(text[begun.end() : fence.start()], prefix):
                return False
            begun = None
    return begun is None


def _is_indented(lines: str, prefix: str) -> bool:
    return not prefix or all(line.startswith(prefix) for line in lines.split("\n") if line.strip(" \t"))


def _last_block(text: str) -> Token | None:
    """The block that a header behind the text would be part of."""
    tokens = _reader().parse(f"{text}\n\n{_PROBE}")
    opens, said = tokens[-3:-1] if len(tokens) > 2 else (None, None)
    if opens and said and opens.type == "heading_open" and opens.level == 0 and said.content == _PROBE[4:]:
        return None
    return tokens[-1]


def _end_of(block: Token) -> str:
    if block.type == "fence":
        return block.markup
    content = block.content.lstrip().lower()
    tag = next((tag for tag in _TAGS if content.startswith(f"<{tag}")), None)
    return f"</{tag}>" if tag else next((end for begin, end in _ENDS if content.startswith(begin)), "")


@cache
def _reader() -> MarkdownIt:
    """Of blocks; what stands in them does not matter."""
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark")
    made.core.ruler.enableOnly(["normalize", "block"])
    return made
