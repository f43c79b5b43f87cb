"""A conversation of an export as lines: what is known of it, then the nodes of its tree as they came about.

A branch is an edit or another try, so the order of time is the order in which somebody saw it happen; a node's parent
tells which branch it is on. What changes whenever a conversation goes on (its times, the children of a node) is left
out: it stays in the evidence, and a later export then begins with the lines of an earlier one. Which branch is open is
a last line, where it is not the one that came about last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from muniment.model import codec
from muniment.sources import raw_json
from muniment.sources.chatgpt.order import Order, Tree, nodes

_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?\s*[\[,]?\s*\{\s*\"")
_NODE = re.compile(rb'"mapping"\s*:\s*\{\s*(?:\}|"[^"]{0,200}"\s*:\s*\{)')
_TREE = re.compile(rb'"(?:current_node|children|parent)"\s*:')
MAPPING, CURRENT, ABOUT = "mapping", "current_node", "conversation"
_CHANGING = ("update_time", CURRENT)


def matches(head: bytes) -> bool:
    """A tree of nodes that know their neighbours."""
    return bool(_BEGINS.match(head)) and bool(_NODE.search(head)) and bool(_TREE.search(head))


class _Conversation(NamedTuple):
    """An object of the export, its nodes told apart from what is known of all of it."""

    known: dict[str, msgspec.Raw]
    tree: Tree
    current: Any


def taken_apart(conversation: bytes) -> _Conversation:
    """One conversation; raises what decoding raises."""
    known = raw_json.apart(conversation)
    tree = nodes(known.pop(MAPPING, b"{}"))
    return _Conversation(known, tree, codec.loads(bytes(known.get(CURRENT, b"null"))))


def lines(conversation: _Conversation) -> Iterator[bytes]:
    """What is known of a conversation, and its nodes."""
    known = {name: value for name, value in conversation.known.items() if name not in _CHANGING}
    yield raw_json.together({ABOUT: known}) + b"\n"
    order = Order(conversation.tree)
    names = order.names()
    yield from raw_json.lines(map(order.line, names))
    if isinstance(conversation.current, str) and conversation.current not in names[-1:]:
        yield codec.encode({CURRENT: conversation.current}) + b"\n"
