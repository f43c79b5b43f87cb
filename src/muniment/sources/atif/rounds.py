"""One round of a trajectory: its steps to messages and blocks.

A step of the agent is one message, with its calls and what was observed of them. What the environment says by
itself is an event, with everything that a rewritten document needs again.
"""

from __future__ import annotations

from typing import Any, cast

from muniment.model import (
    Block,
    Compaction,
    Event,
    Facts,
    Media,
    Ref,
    Round,
    Text,
    Thinking,
    Tool,
    Unknown,
    Usage,
    codec,
)
from muniment.model.codec import mapping
from muniment.sources.atif import compose
from muniment.sources.builder import Draft, RoundBuilder, count, quiet

HEAD, TAIL, SYSTEM, SUBAGENT = "trajectory", "trajectory end", "system message", "subagent trajectory"


class RoundReader:
    """One round being read."""

    def __init__(self, facts: Facts, offset: int) -> None:
        self.round = RoundBuilder(facts.rounds + 1, offset)
        self.model = facts.model
        self.settings: dict[str, Any] = {}

    def head(self, fields: dict[str, Any], ref: Ref) -> None:
        """What is said of the trajectory as a whole before its steps."""
        agent, extra = mapping(fields.get("agent")), mapping(fields.get("extra"))
        self.round.add(quiet(HEAD, ref, fields))
        self.model = text(agent, "model_name") or self.model
        told = {"cwd": text(extra, "cwd"), "branch": text(extra, "branch"), "client": text(agent, "version")}
        self.settings = {name: value for name, value in told.items() if value}
        if title := text(extra, "title"):
            self.round.add(quiet("title", ref, {"title": title, "by": text(extra, "title_by") or "ai"}))

    def tail(self, fields: dict[str, Any], ref: Ref) -> None:
        """What is said behind the steps; subagents stand there with all they did."""
        for trajectory in listing(fields, "subagent_trajectories"):
            self.round.add(quiet(SUBAGENT, ref, trajectory))
            self._subagent(trajectory, ref)
        rest = {name: value for name, value in fields.items() if name != "subagent_trajectories"}
        if rest:
            self.round.add(quiet(TAIL, ref, rest))

    def _subagent(self, trajectory: dict[str, Any], ref: Ref) -> None:
        own = text(trajectory, "trajectory_id") or text(trajectory, "session_id") or "subagent"
        for step in listing(trajectory, "steps"):
            self.step(step, Ref(ref.offset, ref.length, step_id(step), at=text(step, "timestamp")), own)
        for inner in listing(trajectory, "subagent_trajectories"):
            self._subagent(inner, ref)

    def damaged(self, what: str, ref: Ref) -> None:
        """A step that cannot be read keeps its place."""
        self.round.add(Unknown(kind="damaged", damage=what, ref=ref))

    def step(self, step: dict[str, Any], ref: Ref, sidechain: str | None = None) -> None:
        """One step."""
        source = step.get("source")
        if source == "system" or source not in ("user", "agent"):
            self.round.add(self._system(step, ref))
            return
        draft = self._begun(step, ref, sidechain)
        if isinstance(thought := step.get("reasoning_content"), str) and thought:
            draft.blocks.append(Thinking(thought, ref=ref))
        draft.blocks += parts(step.get("message"), ref)
        calls = listing(step, "tool_calls")
        for number, call in enumerate(calls):
            own = text(call, "tool_call_id") or f"call {ref.id}.{number}"
            self.round.call(draft, Tool(own, text(call, "function_name"), call.get("arguments"), ref=ref))
        results = listing(mapping(step.get("observation")), "results")
        for number, result in enumerate(results):
            self._observed(draft, result, f"observation {ref.id}.{number}", ref)
        if not draft.blocks:
            draft.blocks.append(quiet("empty message", ref))
        _note(draft, step)

    def close(self) -> Round:
        """The round as it stands."""
        return self.round.close()

    def _begun(self, step: dict[str, Any], ref: Ref, sidechain: str | None) -> Draft:
        user = step.get("source") == "user"
        fields: dict[str, Any] = {"at": ref.at, "sidechain": sidechain}
        if not sidechain:
            fields |= self.settings
            self.settings = {}
            if user and is_queued(step):
                fields["queued"] = True
            elif user:
                self.round.prompted = True
        if not user:
            model = text(step, "model_name") or (None if sidechain else self.model)
            fields |= {"model": model, "usage": usage_of(mapping(step.get("metrics")))}
        return self.round.message("user" if user else "assistant", **fields)

    def _system(self, step: dict[str, Any], ref: Ref) -> Block:
        """What nobody said: the instructions at the start are quiet, what happens later is shown."""
        words = "\n\n".join(block.text for block in parts(step.get("message"), ref) if isinstance(block, Text))
        rest = {name: value for name, value in step.items() if name != "message" or value != words}
        if mapping(mapping(step.get("extra")).get("context_management")).get("type") == "compaction":
            return Compaction(words, rest, ref)
        shown = self.round.prompted or self.round.number > 1
        return Event(SYSTEM, words, rest, ref) if shown else quiet(SYSTEM, ref, step)

    def _observed(self, draft: Draft, result: dict[str, Any], spare: str, ref: Ref) -> None:
        """What came back of a call, or what was seen without one."""
        given = tuple(bare(block) for block in parts(result.get("content"), ref))
        called = text(result, "source_call_id")
        if called in self.round.calls and (given or result.get("content") == ""):
            plain = isinstance(result.get("content"), str)
            place = Ref(ref.offset, ref.length, ref.id, ref.parent, ref.at, plain=plain)
            self.round.result(called or "", output=given, result=place)
        elif given:
            draft.blocks.append(Tool(called or spare, output=given, ref=ref, result=ref))
        else:
            draft.blocks.append(quiet("observation", ref, result))


def _note(draft: Draft, step: dict[str, Any]) -> None:
    """Keep what a step that is made of the blocks would not say, or not in the same way."""
    made = compose.step(draft.frozen(), draft.blocks)
    draft.raw = {name: value for name, value in step.items() if name not in made or made[name] != value} or None


def is_queued(step: dict[str, Any]) -> bool:
    """Our mark on words that arrived while the agent worked: the format has none."""
    return mapping(mapping(step.get("extra")).get("muniment")).get("queued") is True


def step_id(step: dict[str, Any]) -> str | None:
    """The number of a step, as an id."""
    value = step.get("step_id")
    return str(value) if isinstance(value, int | str) else None


def parts(content: Any, ref: Ref) -> list[Text | Media | Unknown]:
    """A message or an observation; images lie in files of their own, which are only named."""
    if isinstance(content, str):
        return [Text(content, Ref(ref.offset, ref.length, ref.id, ref.parent, ref.at, plain=True))] if content else []
    return [_part(part, ref) for part in cast("list[Any]", content)] if isinstance(content, list) else []


def _part(part: Any, ref: Ref) -> Text | Unknown:
    fields = codec.mapping(part)
    if fields.get("type") == "text" and isinstance(fields.get("text"), str):
        return Text(fields["text"], ref)
    return Unknown(kind=str(fields.get("type")), value=part, ref=ref)


def bare(block: Text | Media | Unknown) -> Text | Media | Unknown:
    """Parts of an observation carry no place of their own."""
    return Text(block.text) if isinstance(block, Text) else block


def usage_of(said: dict[str, Any]) -> Usage | None:
    """Cached tokens are part of the prompt here; we count them apart."""
    cached = count(said, "cached_tokens")
    usage = Usage(max(0, count(said, "prompt_tokens") - cached), count(said, "completion_tokens"), cached)
    return usage if usage.total else None


def text(fields: dict[str, Any], name: str) -> str | None:
    """A field that is a string, else None."""
    value = fields.get(name)
    return value if isinstance(value, str) else None


def listing(fields: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects in a field that is an array."""
    value = fields.get(name)
    return [codec.mapping(entry) for entry in cast("list[Any]", value)] if isinstance(value, list) else []
