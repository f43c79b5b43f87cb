"""Where rounds begin: which records are a human's prompt, and which records before it already belong to it.

A prompt is written twice, as the item that the model sees and as the event `user_message`, in either order; old
and foreign files have one of the two. Before it stand the start of the turn, its settings and injected texts.
So records that may open a round are held until something answers them; then it is plain which of them are
prompts. What is held never outgrows the open round, and it is forgotten when a round begins, so that a reader
can begin at any round and see the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from muniment.model import Ref
from muniment.sources.codex import prompts
from muniment.sources.codex.records import Line, mapping, text

How = Literal["plain", "prompt", "queued", "injected", "damaged"]

TURN_STARTS = frozenset({"task_started", "turn_started"})
TURN_ENDS = frozenset({"task_complete", "turn_complete", "task_completed", "turn_aborted"})
_BEGINNING = TURN_STARTS | {"session_meta", "thread_settings_applied"}
_OPENING = _BEGINNING | {
    "turn_context",
    "world_state",
    "inter_agent_communication",
    "inter_agent_communication_metadata",
}
_SPEAKING = TURN_ENDS | {"agent_message", "agent_reasoning", "agent_reasoning_raw_content", "item_completed"}
_SETTING = frozenset({"ghost_snapshot"})
"""Items that are neither said nor done by anyone."""


class Placed(NamedTuple):
    """A record, and what it is in its round."""

    line: Line
    ref: Ref
    how: How = "plain"
    opens: bool = False
    """A new round begins with it."""


class Turns:
    """Sorts records into rounds."""

    def __init__(self, continued: bool = False) -> None:
        """Where a round is continued, its turn is under way."""
        self.held: list[Placed] = []
        self._forget()
        self.prompted = self.confirmed = self.turn = self.steered = continued

    @property
    def is_under_way(self) -> bool:
        """Whether the prompt's own turn runs, and an event has said so: this is known where a round is continued."""
        return self.prompted and self.confirmed and self.turn and self.steered

    def _forget(self) -> None:
        self.prompted = False
        self.confirmed = False
        """An event has said what is a human's: what none confirms is injected."""
        self.turn = False
        self.steered = False
        """The prompt's own turn still runs: what a human says now steers it."""

    def take(self, line: Line, ref: Ref) -> Iterator[Placed]:
        """The records whose place is known now."""
        record = Placed(line, ref)
        if self.held:
            if not _answers(line):
                self.held.append(record)
                return
            yield from self.release()
        elif _may_open(line):
            self.held.append(record)
            return
        self._turn(line)
        yield record

    def damaged(self, record: Placed) -> Iterator[Placed]:
        """A record that cannot be read keeps its place among the others."""
        if self.held:
            self.held.append(record)
        else:
            yield record

    def release(self, answered: bool = True) -> Iterator[Placed]:
        """What is held, now that an answer or the end of the file has come.

        At the end of a file that still grows, an event may yet tell which of several items is the prompt: till
        then they share one round, because a round that is closed must never change."""
        held, self.held = self.held, []
        spoken = _prompts(held, self.confirmed)
        if not answered and spoken and not spoken[0].confirmed:
            spoken = [spoken[0]._replace(last=spoken[-1].last), *spoken[1:]]
        begin = 0
        for position, record in enumerate(held):
            while spoken and position > spoken[0].last:
                last = spoken.pop(0).last
                begin = _beginning(held, last + 1, spoken[0].first) if spoken else 0
            opens = bool(spoken) and position == begin and self._opens(held[begin : spoken[0].first])
            if opens:
                self._forget()
            yield self._placed(record, position, spoken, opens)

    def _opens(self, before: list[Placed]) -> bool:
        """Whether the next prompt begins a round; in a turn that still runs it does not."""
        fresh = any(record.line.kind in TURN_STARTS for record in before)
        return self.prompted and (fresh or not self.steered)

    def _placed(self, record: Placed, position: int, spoken: list[Spoken], opens: bool) -> Placed:
        self._turn(record.line)
        if spoken and position == spoken[0].item:
            how: How = "queued" if self.prompted and self.steered else "prompt"
            self.steered = self.turn if how == "prompt" else self.steered
            self.prompted = True
            self.confirmed = self.confirmed or spoken[0].confirmed
            return record._replace(how=how, opens=opens)
        if any(position == later.item for later in spoken):
            return record._replace(how="queued")  # said before the event of the prompt ahead of it was written
        if record.how == "plain" and _is_user_item(record.line):
            return record._replace(how="injected", opens=opens)
        return record._replace(opens=opens)

    def _turn(self, line: Line) -> None:
        if line.kind in TURN_STARTS:
            self.turn, self.steered = True, False
        elif line.kind in TURN_ENDS:
            self.turn = self.steered = False


class Spoken(NamedTuple):
    """A prompt among the held records: the one that carries it, and the span of item and event."""

    item: int
    first: int
    last: int
    confirmed: bool


def _prompts(held: list[Placed], confirmed: bool) -> list[Spoken]:
    """Items joined to their events; an item alone counts only where no event speaks at all."""
    items = {n: record.line for n, record in enumerate(held) if record.how == "plain" and _is_user_item(record.line)}
    events = {n: said for n, record in enumerate(held) if (said := spoken_text(record.line)) is not None}
    found: list[Spoken] = []
    for event, said in events.items():
        until = next((n for n in range(event + 1, len(held)) if n in events or _begins(held[n])), len(held))
        nearest = _item_of(event, until, said, items)
        item = event if nearest is None else nearest
        found.append(Spoken(item, min(item, event), max(item, event), True))
        # What stands before a prompt can no longer be the item of a later one: its round may be closed.
        items = {n: line for n, line in items.items() if n > found[-1].first and n != item}
    if not events and not confirmed:
        found += [Spoken(n, n, n, False) for n, line in items.items() if not prompts.injected_kind(line.payload)]
    return sorted(found, key=lambda spoken: spoken.first)


def _item_of(event: int, until: int, said: str, items: dict[int, Line]) -> int | None:
    """The item that an event repeats: with its words before it, or close behind it; else the last."""
    same = [n for n, line in items.items() if said in _joined(line)]
    near = [n for n in same if n < event][-1:] or [n for n in same if event < n < until]
    if near:
        return near[0]
    others = [n for n, line in items.items() if n < event and not prompts.injected_kind(line.payload)]
    return others[-1] if others else None


def _joined(line: Line) -> tuple[str, str, str]:
    """The words of an item in the ways an event repeats them; images make the item longer than its event."""
    texts = prompts.texts_of(line.payload)
    return ("".join(texts), "\n".join(texts), texts[0] if len(texts) > 1 else "".join(texts))


def _beginning(held: list[Placed], start: int, prompt: int) -> int:
    """Where the round of a prompt begins that follows another unanswered: at the start of its run or turn."""
    return next((n for n in range(start, prompt) if _begins(held[n]) or _may_be_prompt(held[n])), prompt)


def _begins(record: Placed) -> bool:
    return record.line.kind in _BEGINNING


def _may_be_prompt(record: Placed) -> bool:
    return _is_user_item(record.line) and not prompts.injected_kind(record.line.payload)


def spoken_text(line: Line) -> str | None:
    """What a human said, if this event tells it."""
    if line.type != "event_msg":
        return None
    if line.kind == "user_message":
        plain = line.payload.get("kind") in (None, "plain")
        return (text(line.payload, "message") or "") if plain else None
    if line.kind == "item_completed":
        item = mapping(line.payload, "item")
        return "".join(prompts.texts_of(item)) if item.get("type") == "UserMessage" else None
    return None


def _is_user_item(line: Line) -> bool:
    return line.type == "response_item" and line.kind == "message" and line.payload.get("role") == "user"


def _may_open(line: Line) -> bool:
    if line.type == "response_item":
        return line.kind == "message" and line.payload.get("role") != "assistant"
    return line.kind in _OPENING or spoken_text(line) is not None


def _answers(line: Line) -> bool:
    """Whether a record shows that somebody has taken up what is held."""
    if line.type == "response_item":
        return not _may_open(line) and line.kind not in _SETTING
    return line.type == "event_msg" and line.kind in _SPEAKING and spoken_text(line) is None
