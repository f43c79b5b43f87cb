"""Taking secrets out of a text, and a placeholder in their stead that tells what was there: `[redacted:jwt:1f3a9c27]`.

The tag is a keyed hash of the secret: under one key, the same secret has the same tag, so a reader sees that two places
held the same one; without the key nothing can be tried against it. A placeholder is never taken for a secret.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable

from muniment.secrets.rule import Rule
from muniment.secrets.scan import Finding, find

TAG_DIGITS = 8


def new_key() -> bytes:
    """A key for one run; what nobody keeps cannot leak."""
    return os.urandom(32)


def redact(text: str, key: bytes) -> tuple[str, list[Finding]]:
    """The text with placeholders, and where in the given text the secrets stood."""
    found = find(text)
    return replaced(text, found, lambda secret: tag(secret, key)), found


def replaced(text: str, found: list[Finding], tag_of: Callable[[str], str]) -> str:
    """The text with a placeholder at each of these places, which are met in order."""
    pieces: list[str] = []
    at = 0
    for finding in found:
        tagged = tag_of(text[finding.start : finding.end])
        pieces += text[at : finding.start], _written(finding.rule, tagged)
        at = finding.end
    return "".join([*pieces, text[at:]]) if found else text


def placeholder(rule: Rule, secret: str, key: bytes) -> str:
    """What stands in the place of a secret."""
    return _written(rule, tag(secret, key))


def _written(rule: Rule, tag: str) -> str:
    return f"[redacted:{rule.id}:{tag}]"


def tag(secret: str, key: bytes) -> str:
    """The same for the same secret, and telling nothing about it."""
    return hmac.digest(key, secret.encode("utf-8", "surrogatepass"), hashlib.sha256).hex()[:TAG_DIGITS]


def preview(finding: Finding, text: str) -> str:
    """The fixed word a secret begins with, which is public, and nothing of the rest: `ghp_…`."""
    secret = text[finding.start : finding.end]
    known = [start for start in finding.rule.starts if secret.startswith(start)]
    return f"{max(known, key=len, default='')}…"
