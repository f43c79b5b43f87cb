"""Two reversible escapes that keep hostile text from forging structure in a document.

*Lines*: a content line that would parse as structure gets one more backslash in front; Markdown shows it as it
was. *Characters*: what plain text cannot safely hold (controls, NUL, lone surrogates, the escape sign itself)
is written as `␛<hex>;`. Both touch nothing else, and both are undone exactly.
"""

from __future__ import annotations

import re

from muniment.store.scan import has_any

SIGN = "\u241b"
HEADER = r"### \S+ · (?:user|assistant)$"
MEDIA = r"!\[[^\]\n]*\]\([^)\n]*/media/[0-9a-f]{64}\.\w+\)$"
NEXT = "<!-- next -->"
CLOSED = "<!-- closed by muniment -->"
"""Below a line that is no part of the text (see `closing`)."""

_STRUCTURE = rf"(?={HEADER}|<details><summary>|</details>$|{NEXT}$|{CLOSED}$|{MEDIA})"
_ESCAPE_LINE = re.compile(rf"^(\\*){_STRUCTURE}", re.MULTILINE)
_UNESCAPE_LINE = re.compile(rf"^\\(\\*){_STRUCTURE}", re.MULTILINE)
_ESCAPE_HEADER = re.compile(rf"^(\\*)(?={HEADER})", re.MULTILINE)
_UNESCAPE_HEADER = re.compile(rf"^\\(\\*)(?={HEADER})", re.MULTILINE)

_CONTROLS = bytes(c for c in range(32) if c not in b"\t\n") + b"\x7f"
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f\u241b\ud800-\udfff]")
_UNFIT_FOR_YAML = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u241b\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_ESCAPED = re.compile(f"{SIGN}([0-9a-f]{{1,5}});")


def escape_text(text: str) -> str:
    """Free text: no line of it can be taken for structure."""
    if _may_be_header(text) or "details>" in text or "<!-- next" in text or CLOSED in text or "/media/" in text:
        return _ESCAPE_LINE.sub(r"\\\1", text)
    return text


def unescape_text(text: str) -> str:
    return _UNESCAPE_LINE.sub(r"\1", text) if "\\" in text else text


def escape_fenced(text: str) -> str:
    """Text inside a fence: only a message header could mislead there."""
    return _ESCAPE_HEADER.sub(r"\\\1", text) if _may_be_header(text) else text


def _may_be_header(text: str) -> bool:
    """The sign in a header is none of ASCII, which a string knows of itself; and hardly any text has both."""
    return not text.isascii() and "### " in text and " · " in text


def unescape_fenced(text: str) -> str:
    return _UNESCAPE_HEADER.sub(r"\1", text) if "\\" in text else text


def to_bytes(text: str) -> bytes:
    """UTF-8 without control characters. The clean case costs one pass at the speed of memory."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = None
    if data is not None and not has_any(data, _CONTROLS) and SIGN not in text:
        return data
    return safe_characters(text).encode()


def safe_characters(text: str) -> str:
    """Text with signs in place of what plain text cannot hold."""
    return _UNSAFE.sub(lambda m: f"{SIGN}{ord(m[0]):x};", text)


def to_yaml_bytes(text: str) -> bytes:
    """The same for frontmatter, where YAML refuses or changes some characters more."""
    return _UNFIT_FOR_YAML.sub(lambda m: f"{SIGN}{ord(m[0]):x};", text).encode()


def from_bytes(data: bytes) -> str:
    """The text again."""
    return unescape_characters(data.decode("utf-8", "replace"))


def unescape_characters(text: str) -> str:
    return _ESCAPED.sub(_character, text) if SIGN in text else text


def _character(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return chr(code) if code <= 0x10FFFF else match[0]
