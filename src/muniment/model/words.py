"""Words for listings."""

from __future__ import annotations


def shortened(text: str, limit: int) -> str:
    """Text of at most so many characters; where some were cut off, a sign says so."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
