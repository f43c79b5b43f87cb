"""Taking secrets out of a text, and a placeholder in their stead that tells what was there: `[redacted:jwt:1f3a9c27]`.

The tag is a keyed hash of the secret: under one key, the same secret has the same tag, so a reader sees that two places
held the same one; without the key nothing can be tried against it. A placeholder is never taken for a secret.
"""

from __future__ import annotations

import hashlib
import hmac
import os

from msgspec import Struct

from muniment.secrets.rule import Rule
from muniment.secrets.scan import Finding
from muniment.secrets.values import find_text

TAG_DIGITS = 8


def new_key() -> bytes:
    """A key for one run; what nobody keeps cannot leak."""
    return os.urandom(32)


class Replacement(Struct, frozen=True, gc=False):
    """A place in a text, and what is to stand there instead."""

    start: int
    end: int
    placeholder: str


def redact(text: str, key: bytes) -> tuple[str, list[Finding]]:
    """The text with placeholders, and where in the given text the secrets stood."""
    found = find_text(text)
    placed = [Replacement(f.start, f.end, written(f.rule, tag(text[f.start : f.end], key))) for f in found]
    return replaced(text, placed), found


def replaced(text: str, places: list[Replacement]) -> str:
    """Return the text with a placeholder at each of these places, given in order; itself if there are none."""
    pieces: list[str] = []
    at = 0
    for place in places:
        pieces += text[at : place.start], place.placeholder
        at = place.end
    return "".join([*pieces, text[at:]]) if places else text


def written(rule: Rule, tag: str) -> str:
    """Return what stands in the place of a secret."""
    return f"[redacted:{rule.id}:{tag}]"


def tag(secret: str, key: bytes) -> str:
    """The same for the same secret, and telling nothing about it."""
    return hmac.digest(key, secret.encode("utf-8", "surrogatepass"), hashlib.sha256).hex()[:TAG_DIGITS]


def preview(finding: Finding, text: str) -> str:
    """The fixed word a secret begins with, which is public, and nothing of the rest: `ghp_…`."""
    secret = text[finding.start : finding.end]
    known = [start for start in finding.rule.starts if secret.startswith(start)]
    return f"{max(known, key=len, default='')}…"
