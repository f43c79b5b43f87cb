"""Taking secrets out so that the same content gives the same bytes: in packs and bundles.

Elsewhere the tag of a placeholder is a keyed hash, under a key that nobody keeps. A key that could be derived from the
archive could be tried against a weak password. So here the tag is no hash at all: it is the number of the secret in
the order in which secrets are met. Equal secrets have equal numbers, and a number tells nothing.
"""

from __future__ import annotations

from typing import Any

from muniment.secrets.redact import TAG_DIGITS, replaced
from muniment.secrets.values import find_named, with_strings


class Numbered:
    """Takes secrets out, and counts them."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        """Every secret that was met, by its number."""
        self.taken = 0
        """How many were taken out so far, equal ones counted again."""

    def text(self, text: str, name: str = "") -> str:
        """The text with a placeholder for each secret; `name` is what a member of JSON is called."""
        found = find_named(name, text)
        self.taken += len(found)
        return replaced(text, found, self._tag)

    def _tag(self, secret: str) -> str:
        return f"{self.numbers.setdefault(secret, len(self.numbers) + 1):0{TAG_DIGITS}x}"

    def value(self, value: Any) -> Any:
        """The same for anything made of JSON; what was given is not changed."""
        return with_strings(value, lambda name, text: self.text(text, name))
