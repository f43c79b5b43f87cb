"""The tree of a conversation: its nodes in the order of time, and the call that each tool's message answers."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct, structs

from muniment.model import codec
from muniment.sources import raw_json

_UNSEEN = ("user_editable_context", "model_editable_context", "reasoning_recap")
"""Content that serves the program or repeats what stands elsewhere."""
HIDDEN = "is_visually_hidden_from_conversation"


class Node(Struct):
    """One node of the tree, its message not looked into."""

    id: str | None = None
    parent: str | None = None
    message: msgspec.Raw = msgspec.Raw(b"null")


class _Author(Struct):
    role: str | None = None


class _Content(Struct):
    content_type: str | None = None


class _Metadata(Struct):
    is_visually_hidden_from_conversation: bool | None = None


_NOTHING, _UNTOLD = _Content(), _Metadata()


class _Message(Struct):
    """What the order of nodes depends on."""

    author: _Author | None = None
    create_time: float | None = None
    recipient: str | None = None
    content: _Content | None = None
    metadata: _Metadata | None = None
    weight: float | None = None


Tree = dict[str, Node]
_tree = msgspec.json.Decoder(Tree)
_told = msgspec.json.Decoder(_Message | None)


class Order:
    """The nodes of a tree, put into the order of time."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.messages = {name: _message(node) for name, node in tree.items()}
        self.children = self._children()
        self.walked = self._walk()
        self.answers = self._answers()

    def names(self) -> list[str]:
        """Parents before their children; a node without a time comes right behind its parent."""
        if len(self.children) == len(self.tree):  # of every node at most one: there is but one branch
            return self.walked
        times = self._times()
        return sorted(self.walked, key=times.__getitem__)

    def line(self, name: str) -> dict[str, Any]:
        """A node without what changes when a conversation goes on."""
        node = self.tree[name]
        made: dict[str, Any] = {"id": name, "parent": node.parent, "message": node.message}
        if call := self.answers.get(name):
            made["answers"] = call
        return made

    def _times(self) -> dict[str, float]:
        """When each node came about, no sooner than what was seen before it.

        What nobody sees is made anew whenever a conversation goes on. It tells nothing of when its children came about,
        and comes before them even so.
        """
        times: dict[str, float] = {}
        seen: dict[str | None, float] = {}
        for name in self.walked:
            before, message = seen.get(self.tree[name].parent, 0.0), self.messages[name]
            times[name] = max(message.create_time or 0.0, before)
            seen[name] = times[name] if _is_seen(message) else before
        for name in reversed(self.walked):
            parent = self.tree[name].parent
            if parent in times and times[name] < times[parent]:
                times[parent] = times[name]
        return times

    def _children(self) -> dict[str | None, list[str]]:
        """Of every node that has any; the roots are those of none."""
        children: dict[str | None, list[str]] = {}
        for name, node in self.tree.items():
            children.setdefault(node.parent if node.parent in self.tree else None, []).append(name)
        return children

    def _walk(self) -> list[str]:
        """From the roots on, each branch to its end; nodes that no root leads to are last, as the file has them."""
        walked: list[str] = []
        ahead = self.children.get(None, [])[::-1]
        while ahead:
            walked.append(name := ahead.pop())
            if name in self.children:
                ahead += reversed(self.children[name])
        if len(walked) == len(self.tree):
            return walked
        met = set(walked)
        return walked + [name for name in self.tree if name not in met]

    def _answers(self) -> dict[str, str]:
        """The call that each tool's message answers: calls have no ids, so it is the nearest one above."""
        answers: dict[str, str] = {}
        for name in self.walked:
            parent = self.tree[name].parent
            if not parent or _role(self.messages[name]) != "tool":
                continue
            above = self.messages.get(parent)
            if parent in answers:
                answers[name] = answers[parent]
            elif above and is_call(_role(above), above.recipient):
                answers[name] = parent
        return answers


def nodes(mapping: msgspec.Raw | bytes) -> Tree:
    """The nodes by their names, taken apart at once where all have the usual shape."""
    try:
        return _tree.decode(mapping)
    except ValueError:
        return {name: _node(raw) for name, raw in raw_json.apart(mapping).items()}


def is_call(role: str | None, recipient: str | None) -> bool:
    """Whether a message speaks to a tool instead of the reader."""
    return role == "assistant" and bool(recipient) and recipient != "all"


def is_hidden(role: str, kind: str | None, hidden: bool | None, weight: float | None) -> bool:
    """Whether nobody was shown a message of this role and kind of content."""
    return hidden is True or weight == 0 or kind in _UNSEEN or role not in ("user", "assistant", "tool")


def _node(raw: msgspec.Raw) -> Node:
    """A node; one of another shape stands by itself, with all that it is."""
    try:
        fields: dict[str, Any] = raw_json.apart(raw)
        own = {name: codec.loads(bytes(fields[name])) for name in ("id", "parent") if name in fields}
        return msgspec.convert({**fields, **own}, Node)
    except raw_json.DAMAGE:
        return Node(message=raw)


def _message(node: Node) -> _Message:
    try:
        return _told.decode(node.message) or _Message()
    except raw_json.DAMAGE:  # of another shape somewhere, or half of a character stands in it
        return _loosely(bytes(node.message))


def _loosely(raw: bytes) -> _Message:
    """As many of the fields as are what they should be."""
    message = _Message()
    try:
        told = codec.mapping(codec.loads(raw))
    except raw_json.DAMAGE:
        return message
    for field in structs.fields(_Message):
        with suppress(msgspec.ValidationError):
            setattr(message, field.name, msgspec.convert(told.get(field.name), field.type))
    return message


def _role(message: _Message) -> str | None:
    return message.author.role if message.author else None


def _is_seen(message: _Message) -> bool:
    role = _role(message)
    kind = (message.content or _NOTHING).content_type
    hidden = (message.metadata or _UNTOLD).is_visually_hidden_from_conversation
    return role is not None and not is_hidden(role, kind, hidden, message.weight)
