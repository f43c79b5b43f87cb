"""A conversation of an export as lines: what is known of it, then its messages as they stand there.

When a conversation was last changed is left out. It stays in the evidence; as a line it would make every later export
of a conversation look like another one instead of its continuation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from muniment.sources import documents, raw_json

_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?\s*[\[,]?\s*\{\s*\"")
_MESSAGES = re.compile(rb'"chat_messages"\s*:\s*\[')
_ABOUT = re.compile(rb'"(?:uuid|created_at|name)"\s*:')
MESSAGES, CHANGED, ABOUT = "chat_messages", "updated_at", "conversation"


def matches(head: bytes) -> bool:
    """The list of messages has a name that nobody else uses. An object that wraps conversations is somebody's own."""
    if not _BEGINS.match(head) or not _MESSAGES.search(head) or not _ABOUT.search(head):
        return False
    alone = raw_json.unmarked(head).lstrip()
    return not alone.startswith(b"{") or MESSAGES in raw_json.fields(alone)


_Fields = dict[str, msgspec.Raw]


def taken_apart(conversation: bytes) -> tuple[_Fields, list[msgspec.Raw]]:
    """What is known of a conversation, and its messages; raises what decoding raises."""
    known = raw_json.apart(conversation)
    return known, raw_json.listed(known.pop(MESSAGES, b"[]"))


def lines(conversation: tuple[_Fields, list[msgspec.Raw]]) -> Iterator[bytes]:
    """One conversation."""
    known, messages = conversation
    known.pop(CHANGED, None)
    yield raw_json.together({ABOUT: known}) + b"\n"
    yield from raw_json.lines(messages)


def readable(conversation: bytes) -> Iterator[bytes]:
    """Of one that is cut off, what can still be read."""
    return documents.lines([conversation], MESSAGES)
