"""Where in a round secrets are, told without telling them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from muniment.model import Block, Compaction, Event, Message, Round, Text, Thinking, Tool, Unknown
from muniment.secrets.redact import preview, tag
from muniment.secrets.redactor import Redactor
from muniment.secrets.values import find_value

Part = tuple[str, str | None, Any]
"""What kind of text it is, of which tool, and the text or value itself."""


class Place(Struct, frozen=True):
    """One secret in one block, however often it stands there."""

    round: int
    kind: str
    """`user`, `assistant`, `thinking`, `tool-input`, `tool-output`, `compaction`, `event`, `unknown` or `message`."""
    tool: str | None
    rule: str
    tag: str
    """The same for the same secret, as long as the key is the same."""
    preview: str
    """What everybody may see of it: `ghp_…`."""
    count: int


def in_round(round_: Round, key: bytes) -> Iterator[Place]:
    """The secrets of a round, block by block. The name of a tool may hold one too, and is given without it."""
    hide = Redactor(key)
    for message in round_.messages:
        for kind, name, value in _parts(message):
            tool = name and hide.text(name)
            found = Counter(
                (finding.rule.id, tag(text[finding.start : finding.end], key), preview(finding, text))
                for text, finding in find_value(value)
            )
            yield from (Place(round_.number, kind, tool, *about, count) for about, count in found.items())


def _parts(message: Message) -> Iterator[Part]:
    for block in message.blocks:
        yield from _of_block(block, message.role)
    yield "message", None, [message.model, message.cwd, message.branch, message.raw]


def _of_block(block: Block, role: str) -> Iterator[Part]:
    match block:
        case Text(text):
            yield role, None, text
        case Thinking(text):
            yield "thinking", None, text
        case Tool():
            yield "tool-input", block.name, [block.name, block.input]
            yield from (("tool-output", block.name, _content(part)) for part in block.output or ())
        case Compaction(text, detail):
            yield "compaction", None, [text, detail]
        case Event(_, text, detail):
            yield "event", None, [text, detail]
        case Unknown(_, value):
            yield "unknown", None, value
        case _:
            return


def _content(part: object) -> Any:
    return part.text if isinstance(part, Text) else part.value if isinstance(part, Unknown) else None
