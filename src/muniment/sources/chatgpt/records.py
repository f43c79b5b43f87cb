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
from msgspec import Struct

from muniment.model import codec
from muniment.sources import raw_json
from muniment.sources.chats import flat

_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?\s*[\[,]?\s*\{\s*\"")
_NODE = re.compile(rb'"mapping"\s*:\s*\{\s*(?:\}|"[^"]{0,200}"\s*:\s*\{)')
_TREE = re.compile(rb'"(?:current_node|children|parent)"\s*:')
MAPPING, CURRENT, ABOUT = "mapping", "current_node", "conversation"
_CHANGING = ("update_time", CURRENT)


class _Node(Struct):
    """One node of the tree, its message not looked into."""

    id: str | None = None
    parent: str | None = None
    message: msgspec.Raw = msgspec.Raw(b"null")


class _Author(Struct):
    role: str | None = None


class _Message(Struct):
    """What the order of nodes depends on."""

    author: _Author | None = None
    create_time: float | None = None
    recipient: str | None = None


_Tree = dict[str, _Node]
_tree = msgspec.json.Decoder(_Tree)
_told = msgspec.json.Decoder(_Message | None)


def matches(head: bytes) -> bool:
    """A tree of nodes that know their neighbours."""
    return bool(_BEGINS.match(head)) and bool(_NODE.search(head)) and bool(_TREE.search(head))


class _Conversation(NamedTuple):
    """An object of the export, its nodes told apart from what is known of all of it."""

    known: dict[str, msgspec.Raw]
    tree: _Tree
    current: Any


def taken_apart(conversation: bytes) -> _Conversation:
    """One conversation; raises what decoding raises."""
    known = raw_json.apart(conversation)
    tree = _nodes(known.pop(MAPPING, b"{}"))
    return _Conversation(known, tree, codec.loads(bytes(known.get(CURRENT, b"null"))))


def lines(conversation: _Conversation) -> Iterator[bytes]:
    """What is known of a conversation, and its nodes."""
    known = {name: value for name, value in conversation.known.items() if name not in _CHANGING}
    yield flat(raw_json.together({ABOUT: known})) + b"\n"
    order = _Order(conversation.tree)
    last = None
    for last in order.names():
        yield flat(raw_json.together(order.line(last))) + b"\n"
    if isinstance(conversation.current, str) and conversation.current != last:
        yield codec.encode({CURRENT: conversation.current}) + b"\n"


class _Order:
    """The nodes of a tree, put into the order of time."""

    def __init__(self, tree: _Tree) -> None:
        self.tree = tree
        self.messages = {name: _message(node) for name, node in tree.items()}
        self.walked = self._walk()

    def names(self) -> list[str]:
        """Parents before their children; a node without a time comes right behind its parent."""
        times: dict[str | None, float] = {}
        for name in self.walked:
            before = times.get(self.tree[name].parent, 0.0)
            times[name] = max(self.messages[name].create_time or 0.0, before)
        return sorted(self.walked, key=lambda name: times[name])

    def _walk(self) -> list[str]:
        """From the roots on; nodes that no root leads to are at the end, as the file has them."""
        children: dict[str | None, list[str]] = {}
        for name, node in self.tree.items():
            children.setdefault(node.parent if node.parent in self.tree else None, []).append(name)
        walked = list(children.get(None, ()))
        for name in walked:
            walked += children.get(name, ())
        met = set(walked)
        return walked + [name for name in self.tree if name not in met]

    def line(self, name: str) -> dict[str, Any]:
        node = self.tree[name]
        made: dict[str, Any] = {"id": name, "parent": node.parent, "message": node.message}
        if _role(self.messages[name]) == "tool" and (call := self._call(node)):
            made["answers"] = call
        return made

    def _call(self, node: _Node) -> str | None:
        """The call that a tool's message answers: calls have no ids, so it is the nearest one above."""
        parent = node.parent
        for _ in range(len(self.tree)):
            above = self.tree.get(parent or "")
            if not above or not parent:
                return None
            message = self.messages[parent]
            if _role(message) != "tool":
                return parent if is_call(_role(message), message.recipient) else None
            parent = above.parent
        return None


def is_call(role: str | None, recipient: str | None) -> bool:
    """Whether a message speaks to a tool instead of the reader."""
    return role == "assistant" and bool(recipient) and recipient != "all"


def _nodes(mapping: msgspec.Raw | bytes) -> _Tree:
    """The nodes by their names, taken apart at once where all have the usual shape."""
    try:
        return _tree.decode(mapping)
    except ValueError:
        return {name: _node(raw) for name, raw in raw_json.apart(mapping).items()}


def _node(raw: msgspec.Raw) -> _Node:
    """A node; one of another shape stands by itself, with all that it is."""
    try:
        fields: dict[str, Any] = raw_json.apart(raw)
        own = {name: codec.loads(bytes(fields[name])) for name in ("id", "parent") if name in fields}
        return msgspec.convert({**fields, **own}, _Node)
    except raw_json.DAMAGE:
        return _Node(message=raw)


def _message(node: _Node) -> _Message:
    try:
        return _told.decode(node.message) or _Message()
    except msgspec.ValidationError:
        return _Message()
    except raw_json.DAMAGE:  # half of a character stands in it, or it is damaged
        return _loosely(bytes(node.message))


def _loosely(raw: bytes) -> _Message:
    try:
        return msgspec.convert(codec.loads(raw), _Message | None) or _Message()
    except raw_json.DAMAGE:
        return _Message()


def _role(message: _Message) -> str | None:
    return message.author.role if message.author else None
