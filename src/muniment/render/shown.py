"""What a person is shown of a session: the items of the conversation, in order, as plain values.

The viewer, the HTML export and whoever else shows a session take these; none of them asks again which tool this is
or how much of an output is too much. `docs/api.md` gives the same shapes as JSON.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from muniment.model import Block, Compaction, Event, Media, Text, Thinking, Tool, Unknown

Kind = Literal["user", "assistant", "thinking", "tool", "compaction", "event", "media", "unknown"]
View = Literal["shell", "diff", "write", "read", "search", "todo", "task", "web", "generic"]
KINDS: tuple[Kind, ...] = ("user", "assistant", "thinking", "tool", "compaction", "event", "media", "unknown")


class Line(Struct, frozen=True, gc=False):
    """One line of a diff."""

    op: Literal[" ", "-", "+", "@"]
    """`@` is a heading: which file, or which edit of several."""
    text: str


class Todo(Struct, frozen=True, gc=False):
    """One entry of a plan."""

    text: str
    status: str
    """As the agent wrote it: pending, in_progress, completed."""


class Field(Struct, frozen=True, gc=False):
    """One value of a tool's input that has no place of its own."""

    name: str
    value: str


class ToolShown(Struct, frozen=True):
    """A tool call with its result."""

    name: str
    """Empty if only the result is in this round."""
    title: str = ""
    """What it did, in one line."""
    view: View = "generic"
    command: str = ""
    path: str = ""
    diff: tuple[Line, ...] = ()
    todos: tuple[Todo, ...] = ()
    fields: tuple[Field, ...] = ()
    """For `write`, the field `content` is the file."""
    output: str | None = None
    """None while no result has been seen."""
    output_cut: int = 0
    is_error: bool = False
    exit_code: int | None = None
    """Of the command that was run, where the result tells it; `output` is then without the agent's own lines."""
    seconds: float | None = None
    """How long the command took."""
    side: str | None = None
    """The subagent's session that this call started."""
    media: tuple[str, ...] = ()


class Item(Struct, frozen=True):
    """One block of the conversation."""

    n: int
    kind: Kind
    round: int
    at: str | None = None
    model: str | None = None
    role: Literal["user", "assistant"] = "assistant"
    queued: bool = False
    """Words of the person that arrived while the agent worked."""
    inline_side: str | None = None
    """The subagent that said it, where an old source wrote it into the main file."""
    html: str = ""
    """Safe markup. For a tool: what of its input was written to be read, as the task of a subagent."""
    cut: int = 0
    """Characters that are not shown."""
    tool: ToolShown | None = None
    media: str | None = None
    """File name, for an image or document that stands by itself."""


class Light(Struct, frozen=True):
    """The items of a session in columns, without their contents; `kind` and `tool` are numbers into the tables."""

    kind: list[int]
    round: list[int]
    size: list[int]
    """Characters of visible text, roughly."""
    tool: list[int]
    """-1 where the item is no tool call."""
    tools: list[str]
    kinds: tuple[Kind, ...] = KINDS


class Limits(Struct, frozen=True):
    """How much of a session is shown; what is more is cut, with a word how much."""

    text: int = 200_000
    output: int = 20_000
    value: int = 4_000
    lines: int = 400
    """Of a diff or a written file."""


SHOWN = Limits()
WHOLE = Limits(text=5_000_000, output=5_000_000, value=5_000_000, lines=200_000)


def kind_of(block: Block, role: str) -> Kind | None:
    """What a block is shown as; None if there is nothing to see, as in thoughts that their provider withheld."""
    match block:
        case Text(text):
            return ("user" if role == "user" else "assistant") if text.strip() else None
        case Thinking(text):
            return "thinking" if text.strip() else None
        case Event(_, text):
            return "event" if text.strip() else None
        case Tool():
            return "tool"
        case Media():
            return "media"
        case Compaction():
            return "compaction"
        case Unknown():
            return "unknown"
