"""Facts: what is known of a session as a whole, folded over its rounds.

`facts.after(round)` is the only way facts change, so the facts of a session are a pure function of its rounds
and an append can go on from the facts at the start of the open round.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, structs

from muniment.model.blocks import Event, Text, Tool, Unknown
from muniment.model.codec import mapping
from muniment.model.rounds import Message, Round, Usage
from muniment.model.words import shortened, typed

MAX_RENAME_CHARS = 100
"""Of a line that gives a name; what is longer asks for something too."""
PROMPT_CHARS = 200
MIN_ORIGIN_CHARS = 8
"""Of an id that tells records of all sessions apart; shorter ones are numbers that every session begins anew."""
TITLE_RANK = {"prompt": 1, "ai": 2, "user": 3}
"""Who gave a title: a person outranks the agent, the agent outranks the first prompt."""


class Link(Struct, frozen=True, omit_defaults=True):
    """This session continues, copies or belongs to another."""

    kind: str
    session: str
    record: str | None = None


class Facts(Struct, frozen=True, omit_defaults=True):
    """What is known of a session as a whole."""

    session_id: str
    source: str
    """Name of the source format."""
    native_id: str | None = None
    """The agent's own id, where it is not the session id."""
    sidechain: str | None = None
    """Set on a subagent's own session: its id inside the parent session."""
    prompts_only: bool = False
    """The transcript is gone; what is known comes from the agent's history of prompts, the human's half at best."""
    transcript_gone: bool = False
    """The transcript is gone, and no history stands in for it: subagents or side files are all that is left."""
    rounds: int = 0
    continued: bool = False
    """Whether the next round continues the last one."""
    prompts: int = 0
    messages: int = 0
    tool_calls: int = 0
    tokens: int = 0
    counted: Usage = Usage()
    """The running total of tokens as the agent counts: the sum over the messages, unless an event tells another. That
    of a fork may begin with the tokens of the session it was forked from."""
    problems: int = 0
    started: str | None = None
    ended: str | None = None
    title: str | None = None
    title_by: str = ""
    first_prompt: str | None = None
    agent_name: str | None = None
    """A name given by /rename or its like, as the source recorded it."""
    slug: str | None = None
    """The readable name that the agent made up for the session."""
    model: str | None = None
    """The model of the latest answer."""
    cwd: str | None = None
    first_cwd: str | None = None
    branch: str | None = None
    client: str | None = None
    origin: str | None = None
    """Id of the first record that has one of its own; sessions that share it are copies or forks of one another."""
    links: tuple[Link, ...] = ()

    def after(self, round_: Round) -> Facts:
        """The facts once this round is known too."""
        usage = round_.usage
        changed: dict[str, Any] = {
            "rounds": round_.number,
            "continued": round_.continued,
            "tokens": self.tokens + usage.total,
        }
        changed["counted"] = self.counted + usage
        changed["prompts"] = self.prompts + (1 if round_.prompted and not _only_renames(round_) else 0)
        changed["messages"] = self.messages + len([m for m in round_.messages if not m.silent])
        changed["tool_calls"] = self.tool_calls + len([tool for tool in round_.of(Tool) if tool.name])
        changed["problems"] = self.problems + len([unknown for unknown in round_.of(Unknown) if unknown.damage])
        changed.update(_span(self, round_.messages))
        changed.update(_settings(self, round_.messages))
        facts = structs.replace(self, **changed)
        for event in round_.of(Event):
            if event.detail is not None:
                facts = _heard(facts, event)
        return _first(facts, round_)

    @property
    def display_title(self) -> str:
        """The best one-line name of the session."""
        title = self.title or self.first_prompt or "(no prompt)"
        if self.prompts_only:
            return f"only the {'prompts are' if self.prompts else 'name is'} left: {title}"
        return title


def _span(facts: Facts, messages: tuple[Message, ...]) -> dict[str, Any]:
    """First and last time; real files run backwards, so these are the extremes of what was written."""
    times = [m.at for m in messages if m.at]
    if not times:
        return {}
    first, last = min(times), max(times)
    return {
        "started": min(facts.started or first, first),
        "ended": max(facts.ended or last, last),
    }


def _settings(facts: Facts, messages: tuple[Message, ...]) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for message in messages:
        if message.cwd:
            changed["cwd"] = message.cwd
        if message.branch:
            changed["branch"] = message.branch
        if message.client:
            changed["client"] = message.client
        if message.model and not message.model.startswith("<"):
            changed["model"] = message.model
    if facts.first_cwd is None and "cwd" in changed:
        changed["first_cwd"] = next(m.cwd for m in messages if m.cwd)
    return changed


def _heard(facts: Facts, event: Event) -> Facts:
    """What an event says about the whole session."""
    detail = mapping(event.detail)
    if event.kind == "title":
        by = detail.get("by", "")
        later = by == "prompt" and (facts.title_by == "prompt" or facts.first_prompt is not None)
        later = later or (by == "prompt" and _only_names(str(detail.get("title"))))
        if detail.get("title") and not later and TITLE_RANK.get(by, 0) >= TITLE_RANK.get(facts.title_by, 0):
            return structs.replace(facts, title=detail["title"], title_by=by)
    elif event.kind == "running-total":
        counts = [n if type(n := detail.get(name)) is int else 0 for name in Usage.__struct_fields__]
        return structs.replace(facts, counted=Usage(*counts))
    elif event.kind == "agent-name" and isinstance(event.detail, str):
        return structs.replace(facts, agent_name=event.detail)
    elif event.kind == "slug" and isinstance(event.detail, str):
        return structs.replace(facts, slug=event.detail)
    elif event.kind == "link" and detail:
        link = Link(**detail)
        if link not in facts.links:
            return structs.replace(facts, links=(*facts.links, link))
    return facts


def _first(facts: Facts, round_: Round) -> Facts:
    if facts.origin is None:
        named = [b.ref for b in round_.blocks() if b.ref.id and len(b.ref.id) >= MIN_ORIGIN_CHARS]
        if named:
            facts = structs.replace(facts, origin=min(named, key=lambda r: r.offset).id)
    if facts.first_prompt is None and (prompt := round_.prompt) and not _only_renames(round_):
        words = " ".join(typed(" ".join(b.text for b in prompt.blocks if isinstance(b, Text))).split())
        facts = structs.replace(facts, first_prompt=shortened(words, PROMPT_CHARS) or None)
    return facts


def _only_renames(round_: Round) -> bool:
    """Whether the prompt of a round is `/rename Reed`."""
    prompt = round_.prompt
    return bool(prompt) and _only_names(next((b.text for b in prompt.blocks if isinstance(b, Text)), ""))


def _only_names(text: str) -> bool:
    """Whether a text says what the session is called, by a typed command, and asks for nothing."""
    words = text[: MAX_RENAME_CHARS + 1].split(maxsplit=1) if "/rename" in text[:20] else []
    return words[:1] == ["/rename"] and len(text) <= MAX_RENAME_CHARS and "\n" not in text.strip()
