"""What a command gave back, without what an agent wrapped around it: its output, its exit code, how long it took.

Some agents write lines of their own above or below the output, some put all of it into JSON. It is told by the shape of
the text, as calls are by the shape of their input; a text of no known shape is all output.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Struct, structs

from muniment.model import Block, Round, Text, Tool
from muniment.model.codec import mapping

_ENVELOPE = re.compile(r'\s*\{\s*"(?:output|metadata)"')
_HEAD = re.compile(r"(?:[A-Z][A-Za-z ]{2,40}(?:: [^\n]{0,80}| -?\d+)\n){1,6}Output:\n")
_HEAD_CODE = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d{1,10})$", re.MULTILINE)
_HEAD_SECONDS = re.compile(r"^Wall time: (\d{1,9}(?:\.\d{1,9})?) seconds$", re.MULTILINE)
_FIRST_LINE = re.compile(r"Exit code:? (-?\d{1,10})(?:\n|$)")
_LAST_LINE = re.compile(r"(?:^|\n+)(?:<[^<>\n]* exit code (-?\d{1,10})>|Command exited with code (-?\d{1,10}))\s*$")
_LABELLED = re.compile(
    r"Output: (?P<output>.*?)"
    r"(?P<about>(?:\n(?:Exit Code|Signal|Background PIDs|Process Group PGID): [^\n]{1,80}){1,6})\s*\Z",
    re.DOTALL,
)
_LABELLED_CODE = re.compile(r"^Exit Code: (-?\d{1,10})$", re.MULTILINE)
_LOOKED_AT = 400
"""So far from either end may the agent's own lines reach."""


class Ended(Struct, frozen=True, gc=False):
    """The output of a tool, and how the command ended if that is told."""

    output: str
    exit_code: int | None = None
    seconds: float | None = None


def opened(block: Block) -> Block:
    """The block with a result that came as JSON spelt in lines.

    To be done before secrets are looked for: inside JSON they stand between escapes, which hide them."""
    match block:
        case Tool(output=(Text(text) as part,)) if _ENVELOPE.match(text) and (spelt := _spelt(text)) is not None:
            return structs.replace(block, output=(structs.replace(part, text=spelt),))
        case _:
            return block


def open_round(round_: Round) -> Round:
    """Return a round in which the result of every call is opened."""
    messages = (structs.replace(message, blocks=tuple(map(opened, message.blocks))) for message in round_.messages)
    return structs.replace(round_, messages=tuple(messages))


def _spelt(text: str) -> str | None:
    """An envelope as lines; None for JSON of any other shape."""
    try:
        said = mapping(msgspec.json.decode(text))
    except (msgspec.MsgspecError, RecursionError):
        return None
    output, about = said.get("output"), mapping(said.get("metadata"))
    code, seconds = about.get("exit_code"), about.get("duration_seconds", 0)
    whole = said.keys() == {"output", "metadata"} and about.keys() <= {"exit_code", "duration_seconds"}
    if not whole or not isinstance(output, str) or not _number(code, int) or not _number(seconds, int, float):
        return None
    took = f"Wall time: {seconds:.4f} seconds\n" if "duration_seconds" in about else ""
    return f"Exit code: {code}\n{took}Output:\n{output}"


def _number(value: Any, *types: type) -> bool:
    return type(value) in types and abs(value) < 10**9


def ended(text: str, ran: bool) -> Ended:
    """A result told apart; `ran` says that the tool ran a command, of which a single line may tell the exit code."""
    head = _HEAD.match(text)
    if head and (code := _HEAD_CODE.search(head[0])):
        seconds = _HEAD_SECONDS.search(head[0])
        return Ended(text[head.end() :], int(code[1]), float(seconds[1]) if seconds else None)
    return _ran(text) if ran else Ended(text)


def _ran(text: str) -> Ended:
    if line := _FIRST_LINE.match(text):
        return Ended(text[line.end() :], int(line[1]))
    if parts := _LABELLED.match(text):
        code = _LABELLED_CODE.search(parts["about"])
        output = "" if parts["output"] == "(empty)" else parts["output"]
        return Ended(output, int(code[1]) if code else None)
    end = max(len(text) - _LOOKED_AT, 0)
    if line := _LAST_LINE.search(text[end:]):
        return Ended(text[: end + line.start()], int(line[1] or line[2]))
    return Ended(text)
