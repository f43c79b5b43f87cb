"""The skeleton of a session: what was said, turn by turn, and beside it what was done.

`text` is what a model reads: roles and turn numbers, no tool calls, no thinking. The offline extractor reads the same
turns together with their acts. Tools are told by the shape of their input, so no agent's names stand here.

However long a session is, what is held of it is little: turns that the text leaves out keep only what the offline rules
look at, which is the beginning of a prompt and both ends of an answer, and acts are never held whole.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct, structs

from muniment.model import Compaction, Event, Facts, Message, Round, Text, Tool
from muniment.model.codec import mapping
from muniment.model.rounds import text_of

MAX_CHARS = 100_000
HEAD_CHARS = 50_000
TAIL_CHARS = 10_000
OUTPUT_HEAD, OUTPUT_TAIL = 400, 800
"""Of a tool's output: a commit tells itself at the beginning, a test run at the end."""
PROMPT_CHARS, ANSWER_CHARS, CLOSING_CHARS = 4000, 1000, 2000
"""Of turns that the text leaves out: the beginning of the prompt, the end of the answer, both ends of the closing."""
COMMAND_CHARS, PATH_CHARS, EVENT_CHARS = 2400, 300, 1000
_ENDING_CHARS = 2 * TAIL_CHARS
"""Of the last turns, kept whole: a text without its secrets is shorter and reaches further back."""

_BETWEEN = "\n\n"
TESTED = re.compile(r"\b(?:pytest|jest|vitest|mocha|rspec|phpunit|ctest|unittest|tox|test)\b")
"""A command that runs tests: how that ended, its output tells."""
_SIGNED = re.compile(r"\[[a-z][\w.-]*:[\w.-]+::([^\W\d_][\w'’-]{0,40})\]")
"""How an agent signs a post, as `[claude:opus::Reed]`."""
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_PATHS = ("file_path", "path", "notebook_path", "filePath", "absolute_path", "filename")
_COMMANDS = ("command", "cmd")
_PATCHES = ("input", "patch", "patchText")
_WRITTEN = ("new_string", "old_string", "new_str", "old_str", "newString", "oldString", "newText", "oldText", "content",
            "edits", "new_source", "patch", "patchText", "diff", "file_text")  # fmt: skip


class Act(Struct, frozen=True, gc=False):
    """One tool call, as far as it tells what the work was."""

    tool: str
    paths: tuple[str, ...] = ()
    command: str = ""
    writes: bool = False
    """Whether it changes the files it names."""
    output: str = ""
    """Beginning and end of what came back."""
    failed: bool = False


class Turn(Struct, frozen=True):
    """One round as a reader hears it."""

    number: int
    at: str | None = None
    until: str | None = None
    user: str = ""
    """The prompt, and behind it what the person added while the agent worked."""
    assistant: str = ""
    acts: tuple[Act, ...] = ()
    events: tuple[tuple[str, str], ...] = ()
    """Kind and text of what happened around the conversation."""
    cwd: str | None = None
    """Where it changed in this turn."""
    branch: str | None = None
    compacted: bool = False
    prompted: bool = True
    closing: str = ""
    """What the agent said after its last act; empty if the turn was cut off before."""
    left_out: int = 0
    """Characters of prompt and answer that are not held."""


class Skeleton(Struct, frozen=True):
    """A session as extraction reads it."""

    facts: Facts
    agent_id: str
    turns: tuple[Turn, ...]
    models: tuple[str, ...] = ()
    subagents: int = 0
    signatures: tuple[str, ...] = ()
    """Names that the agent signed with, in what it said or wrote."""


def make(rounds: Iterable[Round], facts: Facts, agent_id: str, subagents: int) -> Skeleton:
    """The skeleton of a session; one round at a time is in memory."""
    kept = _Kept()
    models: dict[str, None] = {}
    signed: list[str] = []
    for round_ in rounds:
        kept.add(_turn(round_))
        signed += _signatures(round_)
        models.update({m.model: None for m in round_.messages if m.model and not m.model.startswith("<")})
    return Skeleton(facts, agent_id, tuple(kept.turns), tuple(models), subagents, tuple(signed))


class _Kept:
    """Turns as they come: the first and the last ones whole, because the text has them, and what is between briefly."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.chars = 0
        self.briefly_from = 0
        self.ending = 0
        """Characters of the turns from there on."""

    def add(self, turn: Turn) -> None:
        self.turns.append(turn)
        if self.chars < MAX_CHARS:
            self.chars += _chars(turn)
            self.briefly_from = len(self.turns)
            return
        self.ending += _chars(turn)
        while (left := self.ending - _chars(self.turns[self.briefly_from])) >= _ENDING_CHARS:
            self.turns[self.briefly_from] = _brief(self.turns[self.briefly_from])
            self.briefly_from, self.ending = self.briefly_from + 1, left


def _chars(turn: Turn) -> int:
    return len(turn.user) + len(turn.assistant)


def _brief(turn: Turn) -> Turn:
    """A turn with what is looked at where the text has nothing of it."""
    user, assistant = turn.user[:PROMPT_CHARS], turn.assistant[-ANSWER_CHARS:]
    closing = turn.closing
    if len(closing) > 2 * CLOSING_CHARS:
        closing = f"{closing[:CLOSING_CHARS]}\n…\n{closing[-CLOSING_CHARS:]}"
    left_out = _chars(turn) - len(user) - len(assistant)
    return structs.replace(turn, user=user, assistant=assistant, closing=closing, left_out=left_out)


def _turn(round_: Round) -> Turn:
    own = [message for message in round_.messages if not message.sidechain]
    users = [message for message in own if message.role == "user"]
    blocks = [block for message in own for block in message.blocks]
    times = [message.at for message in own if message.at]
    return Turn(
        number=round_.number,
        at=round_.started,
        until=max(times, default=None),
        user="\n\n".join(filter(None, map(text_of, users))),
        assistant="\n\n".join(filter(None, (text_of(message) for message in own if message.role == "assistant"))),
        acts=tuple(_brief_act(act(block)) for block in blocks if isinstance(block, Tool) and block.name),
        events=tuple((b.kind, b.text[:EVENT_CHARS]) for b in blocks if isinstance(b, Event) and b.text),
        cwd=_latest(own, "cwd"),
        branch=_latest(own, "branch"),
        compacted=any(isinstance(block, Compaction) for block in blocks),
        prompted=round_.prompted,
        closing=_closing(own),
    )


def _closing(messages: Sequence[Message]) -> str:
    said: list[str] = []
    for message in reversed(messages):
        if message.role == "user":
            continue
        for block in reversed(message.blocks):
            if isinstance(block, Tool) and block.name:
                return "\n\n".join(reversed(said))
            if isinstance(block, Text):
                said.append(block.text)
    return "\n\n".join(reversed(said))


def _signatures(round_: Round) -> Iterator[str]:
    """From the agent's own words and the inputs of its tools, not from what it read."""
    for message in round_.messages:
        if message.role == "assistant" and not message.sidechain:
            for block in message.blocks:
                said = (block.text,) if isinstance(block, Text) else _strings(block)
                for words in said:
                    if "::" in words:
                        yield from _SIGNED.findall(words)


def _strings(block: object) -> Iterator[str]:
    if isinstance(block, Tool):
        yield from (value for value in mapping(block.input).values() if isinstance(value, str))


def _latest(messages: Iterable[Message], name: str) -> str | None:
    values = [value for message in messages if (value := getattr(message, name))]
    return values[-1] if values else None


def act(tool: Tool) -> Act:
    """What a call did, told by the shape of its input."""
    given = mapping(tool.input)
    command = next((_joined(given[name]) for name in _COMMANDS if name in given), "")
    words = tool.input if isinstance(tool.input, str) else str(next(filter(None, map(given.get, _PATCHES)), ""))
    patched = _PATCHED.findall(words) or _PATCHED.findall(command)
    paths = patched or [given[name] for name in _PATHS if isinstance(given.get(name), str)]
    return Act(
        tool=tool.name or "",
        paths=tuple(paths),
        command=command,
        writes=bool(patched) or any(name in given for name in _WRITTEN),
        output=_clipped(tool),
        failed=bool(tool.is_error),
    )


def _brief_act(whole: Act) -> Act:
    """An act as far as a turn tells of it: of commands the beginning, and what came back only from tests."""
    return structs.replace(
        whole,
        paths=tuple(path[-PATH_CHARS:] for path in whole.paths),
        command=whole.command[:COMMAND_CHARS],
        output=whole.output if TESTED.search(whole.command[:COMMAND_CHARS]) else "",
    )


def _joined(command: Any) -> str:
    """A command line; some agents give it as a list."""
    return " ".join(map(str, command)) if isinstance(command, list) else str(command)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _clipped(tool: Tool) -> str:
    text = "\n".join(part.text for part in tool.output or () if isinstance(part, Text))
    if len(text) <= OUTPUT_HEAD + OUTPUT_TAIL:
        return text
    return f"{text[:OUTPUT_HEAD]}\n…\n{text[-OUTPUT_TAIL:]}"


# -- the text


def text(skeleton: Skeleton) -> str:
    """The plain transcript, cut in the middle if it is long."""
    length = chars(skeleton)
    if length <= MAX_CHARS:
        return _BETWEEN.join(_parts(skeleton))
    left_out = length - HEAD_CHARS - TAIL_CHARS
    head = _BETWEEN.join(_first(_parts(skeleton), HEAD_CHARS))[:HEAD_CHARS]
    tail = _BETWEEN.join(reversed(_first(_from_the_end(skeleton.turns), TAIL_CHARS)))[-TAIL_CHARS:]
    return f"{head}\n\n[… {left_out:,} characters left out …]\n\n{tail}"


def chars(skeleton: Skeleton) -> int:
    """How long the transcript is before it is cut."""
    parts = sum(len(part) + len(_BETWEEN) for part in _parts(skeleton)) - len(_BETWEEN)
    return parts + sum(turn.left_out for turn in skeleton.turns)


def _parts(skeleton: Skeleton) -> Iterator[str]:
    yield from _metadata(skeleton)
    yield from _spoken(skeleton.turns)


def _from_the_end(turns: Sequence[Turn]) -> Iterator[str]:
    for turn in reversed(turns):
        yield from reversed(list(_spoken((turn,))))


def _first(parts: Iterable[str], enough: int) -> list[str]:
    """As many parts as make up so many characters."""
    taken: list[str] = []
    for part in parts:
        taken.append(part)
        enough -= len(part)
        if enough <= 0:
            break
    return taken


def _metadata(skeleton: Skeleton) -> Iterator[str]:
    facts = skeleton.facts
    said = {
        "session": facts.session_id,
        "slug": facts.slug,
        "agent": skeleton.agent_id,
        "git branch": facts.branch,
        "folder": facts.first_cwd or facts.cwd,
        "models": ", ".join(skeleton.models),
        "started": facts.started,
        "ended": facts.ended,
        "turns": str(len(skeleton.turns)),
        "subagents": str(skeleton.subagents),
    }
    yield "\n".join(f"{name}: {value}" for name, value in said.items() if value)


def _spoken(turns: Iterable[Turn]) -> Iterator[str]:
    for turn in turns:
        when = f" {turn.at}" if turn.at else ""
        if turn.user:
            yield f"[{turn.number}] USER{when}\n{turn.user}"
        if turn.assistant:
            yield f"[{turn.number}] ASSISTANT\n{turn.assistant}"


def fingerprint(skeleton: Skeleton) -> str:
    """The same for the same text: what answers of models are kept under."""
    return hashlib.sha256(text(skeleton).encode("utf-8", "surrogatepass")).hexdigest()
