"""A conversation of an export as lines: what is known of it, then its messages as they stand there.

When a conversation was last changed is left out. It stays in the evidence; as a line it would make every later export
of a conversation look like another one instead of its continuation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

import msgspec

from muniment.sources import documents, exports, raw_json
from muniment.sources.base import HEAD_BYTES

_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?\s*[\[,]?\s*\{\s*\"")
_MESSAGES = re.compile(rb'"chat_messages"\s*:\s*\[')
_ABOUT = re.compile(rb'"(?:uuid|created_at|name)"\s*:')
MESSAGES, CHANGED, ABOUT = "chat_messages", "updated_at", "conversation"
CONVERSATIONS = "conversations"
CLOSING = re.compile(rb'\s*\]\s*(?:\}|,\s*")')
"""The end of the list in an object around conversations."""


def matches(head: bytes) -> bool:
    """The list of messages has a name that nobody else uses; in an object, it must be that of a conversation."""
    if not _BEGINS.match(head) or not _MESSAGES.search(head) or not _ABOUT.search(head):
        return False
    alone = raw_json.unmarked(head).lstrip()
    if not alone.startswith(b"{") or MESSAGES in raw_json.fields(alone):
        return True
    return MESSAGES in raw_json.fields(alone[raw_json.place_of(alone, CONVERSATIONS) :].lstrip(b"[ \t\r\n"))


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


def unwrapped(pieces: Iterable[bytes]) -> Iterable[bytes]:
    """The same without the beginning of an object around conversations, if there is one."""
    rest = iter(pieces)
    begun = b""
    while len(begun) < HEAD_BYTES and (piece := next(rest, b"")):
        begun += piece
    return chain([begun[exports.place_of_list(begun[:HEAD_BYTES], CONVERSATIONS) :]], rest)


def readable(conversation: bytes) -> Iterator[bytes]:
    """Of one that is cut off, what can still be read."""
    return documents.lines([conversation], MESSAGES)
