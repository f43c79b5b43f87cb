"""Rounds of any source as a rollout that Codex resumes.

Each round is one turn. A response is written as the client writes it: items, token report, tool outputs; the
events repeat what was said, because the client's list of sessions is made from them. What was allowed in the
old session (approvals, sandbox, permission profiles) is never written: the client has settings of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from muniment.model import Event, Facts, Loss, Message, Round, codec
from muniment.sources.base import MediaBytes, Move, made_id
from muniment.sources.codex import compose
from muniment.sources.codex.find import NAME
from muniment.sources.codex.place import EPOCH, folder, make_folder_fields
from muniment.sources.codex.records import text
from muniment.sources.codex.speech import Speech
from muniment.sources.losses import Losses

VERSION = "0.140.0"
"""The client that foreign sessions are written for."""

_LINKED = {"fork": "forked_from_id", "parent": "parent_thread_id"}
"""Links to other threads, and the fields of a head that tell them."""

_KEPT = (
    "originator",
    "cli_version",
    "source",
    "model_provider",
    "git",
    "agent_nickname",
    "agent_role",
    *_LINKED.values(),
)
"""What the head of a session of our own says again."""

_REWRITTEN = frozenset(
    {
        "turn context",
        "task started",
        "task complete",
        "task completed",
        "turn started",
        "turn complete",
        "user message",
        "agent message",
        "agent reasoning",
        "token count",
        "token usage record",
        "item UserMessage",
        "item AgentMessage",
        "item Reasoning",
    }
)
"""Quiet events that are written anew from what the session itself says."""


def write(rounds: Iterable[Round], facts: Facts, move: Move, media: MediaBytes, losses: list[Loss]) -> Iterator[bytes]:
    """The lines of a rollout in legacy mode."""
    writer = Writer(facts, move, media)
    begun = False
    for round_ in rounds:
        if not begun:
            yield writer.head(round_)
            begun = True
        yield from writer.round(round_)
    if not begun:
        yield writer.head(Round(1))
    losses.extend(writer.losses.all())


class Writer:
    """What has been written so far, as far as the next line needs it."""

    def __init__(self, facts: Facts, move: Move, media: MediaBytes) -> None:
        self.facts, self.move = facts, move
        self.own = facts.source == NAME and not facts.prompts_only
        self.session = move.session_id or facts.session_id
        self.losses = Losses(_REWRITTEN)
        self.speech = Speech(self.session, self.own, media, self.losses, facts.started or EPOCH)
        self.cwd = folder(facts.first_cwd or facts.cwd, facts, move) or None
        self.settings: tuple[str | None, str | None] = (self.cwd, None)

    def head(self, first: Round) -> bytes:
        """The line without which the client refuses the file."""
        at = self.speech.at
        payload: dict[str, Any] = {"id": self.session, "timestamp": at} | make_folder_fields(self.cwd)
        payload |= {"originator": "muniment", "cli_version": VERSION, "source": "cli"} | self._kept(first)
        if self.move.session_id not in (None, self.facts.session_id):
            # A fork is a person's session, listed as such, even where it continues a subagent.
            payload["source"] = "cli"
            payload |= {"forked_from_id": self.facts.session_id} if self.own else {}
        if self.facts.branch and "git" not in payload:
            payload["git"] = {"branch": self.facts.branch}
        return compose.line(at, "session_meta", payload)

    def _kept(self, first: Round) -> dict[str, Any]:
        """What the head of our own session said about the program; foreign ones have none.

        Of a fork that is written with what came before it, the first head is that of the session it was forked from."""
        heads = (b.detail for b in first.blocks() if isinstance(b, Event) and b.kind == "session meta")
        said = codec.mapping(next(heads, None)) if self.own else {}
        if said and said.get("id") != (self.facts.native_id or self.facts.session_id):
            links = {link.kind: link.session for link in self.facts.links}
            said |= {field: links.get(kind) for kind, field in _LINKED.items()}
            said = {name: value for name, value in said.items() if value is not None}
        return {name: said[name] for name in _KEPT if name in said}

    def round(self, round_: Round) -> Iterator[bytes]:
        """One turn."""
        self.losses.where = f"round {round_.number}"
        turn = str(made_id(f"{self.session} turn {round_.number}"))
        yield self.speech.begin(turn, round_.started)
        models = [m.model for m in round_.messages if m.role == "assistant" and m.model and not m.sidechain]
        yield from self._stopped(round_, models)
        yield from self._set(round_.messages[0].cwd if round_.messages else None, next(iter(models), None), always=True)
        for message in round_.messages:
            yield from self._message(message)
        yield from self.speech.end()

    def _stopped(self, round_: Round, answered: list[str]) -> Iterator[bytes]:
        """Models that the turn was begun with and that never answered."""
        contexts = [event for event in round_.of(Event) if self.own and event.kind == "turn context"]
        told = [model for event in contexts if (model := text(codec.mapping(event.detail), "model"))]
        for model in dict.fromkeys(model for model in told if model not in (self.settings[1], *answered)):
            yield self._context(self.cwd, model)

    def _message(self, message: Message) -> Iterator[bytes]:
        if message.sidechain:
            self.losses.add_subagent()
            return
        self.speech.at_time(message.at)
        yield from self._set(message.cwd, message.model if message.role == "assistant" else None)
        yield from self.speech.asked(message) if message.role == "user" else self.speech.answered(message)

    def _set(self, cwd: str | None, model: str | None, always: bool = False) -> Iterator[bytes]:
        """The settings that a message was made under, where they changed.

        The client skips such a line, as it lacks what was allowed; other readers learn folder and model from it."""
        known = model if model and not model.startswith("<") else None
        there = folder(cwd, self.facts, self.move) if cwd else None
        settings = (there or self.settings[0], known or self.settings[1])
        if always or settings != self.settings:
            self.settings = settings
            yield self._context(*settings)

    def _context(self, cwd: str | None, model: str | None) -> bytes:
        said = {"turn_id": self.speech.turn, "cwd": cwd, "model": model}
        return self.speech.line("turn_context", {name: value for name, value in said.items() if value})
