"""How the stories of `stories.py` become session files of the samples: record by record, the same every time.

`python -m tests.page.sessions` writes them below src/muniment/samples; a test tells when that was forgotten.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.page.stories import STORIES, Story, Turn

SAMPLES = Path(__file__).parents[2] / "src" / "muniment" / "samples"


def files() -> Iterator[tuple[str, bytes]]:
    """Every file, by its path below the samples."""
    for story in STORIES:
        yield from (_Claude(story) if story.agent == "claude" else _Codex(story)).files()


def write(folder: Path = SAMPLES) -> None:
    for name, data in files():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


class _Clock:
    """Time goes on by so many seconds with every record, and by the pause of a turn before its prompt."""

    def __init__(self, start: str) -> None:
        self.now = datetime.fromisoformat(start)

    def tick(self, seconds: float) -> str:
        self.now += timedelta(seconds=seconds)
        return self.now.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _id(*parts: object) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "muniment sample " + " ".join(str(part) for part in parts)))


def _lines(records: list[dict[str, Any]]) -> bytes:
    return b"".join(
        json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for record in records
    )


class _Claude:
    """A session as Claude Code writes it."""

    def __init__(self, story: Story) -> None:
        self.story, self.clock, self.id = story, _Clock(story.start), _id(story.start, story.project)
        self.records: list[dict[str, Any]] = []
        self.last: str | None = None
        self.sides: list[tuple[str, bytes]] = []

    def files(self) -> Iterator[tuple[str, bytes]]:
        for turn in self.story.turns:
            self._turn(turn)
        self.records.append({"type": "ai-title", "aiTitle": self.story.title, "sessionId": self.id})
        folder = f"claude-code/projects/-home-ada-{self.story.project}"
        yield f"{folder}/{self.id}.jsonl", _lines(self.records)
        for name, data in self.sides:
            yield f"{folder}/{self.id}/subagents/{name}", data

    def _turn(self, turn: Turn) -> None:
        self.clock.tick(turn.pause * 60)
        content: Any = turn.prompt
        if turn.image:
            source = {"type": "base64", "media_type": "image/png", "data": turn.image}
            content = [{"type": "text", "text": turn.prompt}, {"type": "image", "source": source}]
        self._add("user", {"role": "user", "content": content})
        for step in turn.steps:
            self._step(step)
        self._answer({"type": "text", "text": turn.reply}, stop="end_turn")

    def _step(self, step: tuple[Any, ...]) -> None:
        kind, *rest = step
        if kind == "think":
            self._answer({"type": "thinking", "thinking": rest[0], "signature": "c2FtcGxl"})
        elif kind == "say":
            self._answer({"type": "text", "text": rest[0]})
        elif kind == "compact":
            self._compact(rest[0])
        elif kind == "Task":
            self._task(*rest)
        else:
            self._tool(kind, rest[0], rest[1], len(rest) > 2 and bool(rest[2]))

    def _tool(self, name: str, given: dict[str, Any], output: Any, failed: bool = False, **more: Any) -> str:
        tool_id = "toolu_" + _id(self.id, len(self.records)).replace("-", "")[:24]
        self._answer({"type": "tool_use", "id": tool_id, "name": name, "input": given})
        part: dict[str, Any] = {"tool_use_id": tool_id, "type": "tool_result", "content": output}
        if name == "Bash":
            part["is_error"] = failed
        self._add("user", {"role": "user", "content": [part]}, **more)
        return tool_id

    def _task(self, given: dict[str, Any], steps: list[tuple[str, dict[str, Any], str]], answer: str) -> None:
        agent = _id(self.id, "side", len(self.sides)).replace("-", "")[:8]
        result = {"status": "completed", "agentId": agent, "prompt": given["prompt"]}
        tool_id = self._tool("Task", given, [{"type": "text", "text": answer}], toolUseResult=result)
        side = _Side(self, agent)
        self.sides.append((f"agent-{agent}.jsonl", side.session(given["prompt"], steps, answer)))
        meta = {"agentType": given["subagent_type"], "description": given["description"], "toolUseId": tool_id}
        self.sides.append((f"agent-{agent}.meta.json", json.dumps(meta).encode()))

    def _compact(self, summary: str) -> None:
        about = {"trigger": "auto", "preTokens": 154_000}
        record = {"subtype": "compact_boundary", "content": "Conversation compacted", "level": "info"}
        self._chain({"type": "system", **record, "isMeta": False, "compactMetadata": about})
        text = f"This session is being continued from a previous conversation that ran out of context. {summary}"
        flags = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
        self._add("user", {"role": "user", "content": text}, **flags)

    def _answer(self, part: dict[str, Any], stop: str = "tool_use") -> None:
        number = len(self.records)
        usage = {
            "input_tokens": 14 + number,
            "cache_creation_input_tokens": 400 + 37 * number,
            "cache_read_input_tokens": 6200 + 910 * number,
            "output_tokens": 40 + len(json.dumps(part)) // 4,
        }
        message = {"model": self.story.model, "id": "msg_" + _id(self.id, number).replace("-", "")[:24]}
        message |= {"type": "message", "role": "assistant", "content": [part], "stop_reason": stop, "usage": usage}
        self._add("assistant", message)

    def _add(self, type_: str, message: dict[str, Any], **more: Any) -> None:
        self._chain({"type": type_, "message": message, **more})

    def _chain(self, record: dict[str, Any]) -> None:
        own = _id(self.id, "record", len(self.records))
        head = {"parentUuid": self.last, "isSidechain": False}
        self.records.append(head | record | {"uuid": own, "timestamp": self.clock.tick(9)} | self.fixed())
        self.last = own

    def fixed(self) -> dict[str, Any]:
        cwd = f"/home/ada/{self.story.project}"
        return {"cwd": cwd, "sessionId": self.id, "version": "2.1.205", "gitBranch": self.story.branch}


class _Side:
    """A subagent's own file."""

    def __init__(self, parent: _Claude, agent: str) -> None:
        self.parent, self.agent = parent, agent
        self.records: list[dict[str, Any]] = []

    def session(self, prompt: str, steps: list[tuple[str, dict[str, Any], str]], answer: str) -> bytes:
        self._add("user", {"role": "user", "content": prompt})
        for name, given, output in steps:
            tool_id = "toolu_" + _id(self.agent, len(self.records)).replace("-", "")[:24]
            self._answer({"type": "tool_use", "id": tool_id, "name": name, "input": given}, "tool_use")
            part = {"tool_use_id": tool_id, "type": "tool_result", "content": output}
            self._add("user", {"role": "user", "content": [part]})
        self._answer({"type": "text", "text": answer}, "end_turn")
        return _lines(self.records)

    def _answer(self, part: dict[str, Any], stop: str) -> None:
        usage = {"input_tokens": 9, "cache_creation_input_tokens": 300, "cache_read_input_tokens": 2100}
        message = {"model": "claude-haiku-4-5", "id": "msg_" + _id(self.agent, len(self.records)).replace("-", "")[:24]}
        message |= {"type": "message", "role": "assistant", "content": [part], "stop_reason": stop}
        self._add("assistant", message | {"usage": usage | {"output_tokens": 90}})

    def _add(self, type_: str, message: dict[str, Any]) -> None:
        head = {"parentUuid": self.records[-1]["uuid"] if self.records else None, "isSidechain": True}
        head |= {"agentId": self.agent, "type": type_, "message": message}
        stamp = {"uuid": _id(self.agent, "record", len(self.records)), "timestamp": self.parent.clock.tick(4)}
        self.records.append(head | stamp | self.parent.fixed())


class _Codex:
    """A session as Codex writes it."""

    def __init__(self, story: Story) -> None:
        self.story, self.clock, self.id = story, _Clock(story.start), _id(story.start, story.project)
        self.records: list[dict[str, Any]] = []
        self.calls = 0

    def files(self) -> Iterator[tuple[str, bytes]]:
        day = self.story.start[:10].replace("-", "/")
        stamp = self.story.start[:19].replace(":", "-")
        meta = {"id": self.id, "timestamp": self.story.start + ".000Z", "cwd": f"/home/ada/{self.story.project}"}
        meta |= {"originator": "codex-tui", "cli_version": "0.140.0", "source": "cli", "model_provider": "openai"}
        self._add("session_meta", meta | {"git": {"branch": self.story.branch}})
        for number, turn in enumerate(self.story.turns, 1):
            self._turn(f"t{number}", turn)
        yield f"codex/sessions/{day}/rollout-{stamp}-{self.id}.jsonl", _lines(self.records)

    def _turn(self, turn_id: str, turn: Turn) -> None:
        self.clock.tick(turn.pause * 60)
        self._event("task_started", turn_id=turn_id)
        context = {"turn_id": turn_id, "cwd": f"/home/ada/{self.story.project}", "approval_policy": "on-request"}
        self._add("turn_context", context | {"sandbox_policy": {"type": "read-only"}, "model": self.story.model})
        self._item("message", role="user", content=[{"type": "input_text", "text": turn.prompt}])
        self._event("user_message", message=turn.prompt, images=[])
        for step in turn.steps:
            self._step(step)
        self._event("agent_message", message=turn.reply)
        self._item("message", role="assistant", content=[{"type": "output_text", "text": turn.reply}])
        used = {"input_tokens": 2100 + 700 * self.calls, "cached_input_tokens": 1800 + 600 * self.calls}
        used |= {"output_tokens": 140, "reasoning_output_tokens": 30}
        used |= {"total_tokens": used["input_tokens"] + used["output_tokens"]}
        self._event("token_count", info={"total_token_usage": used, "last_token_usage": used})
        self._event("task_complete", turn_id=turn_id, last_agent_message=turn.reply)

    def _step(self, step: tuple[Any, ...]) -> None:
        self.calls += 1
        call, name, given, output = f"call_{self.calls}", step[0], step[1], step[2]
        self._item("function_call", name=name, arguments=json.dumps(given), call_id=call)
        self._item("function_call_output", call_id=call, output=output)

    def _item(self, type_: str, **payload: Any) -> None:
        self._add("response_item", {"type": type_} | payload)

    def _event(self, type_: str, **payload: Any) -> None:
        self._add("event_msg", {"type": type_} | payload)

    def _add(self, type_: str, payload: dict[str, Any]) -> None:
        self.records.append({"timestamp": self.clock.tick(3), "type": type_, "payload": payload})


if __name__ == "__main__":
    write()
