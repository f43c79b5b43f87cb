"""What other agents print as a stream, as messages of an API.

{"type":"tool_use","tool_name":"…","tool_id":"…","parameters":{…},"timestamp":"…"}          gemini -o stream-json
{"type":"message","role":"assistant","content":"…","delta":true,"timestamp":"…"}
{"type":"text","timestamp":1790118246079,"sessionID":"…","part":{"type":"text","text":"…"}}  opencode run --format json
{"type":"tool_call","subtype":"started","call_id":"…","tool_call":{…},"session_id":"…"}      cursor-agent -p

An answer comes in pieces, and each stands on a line of its own: they are held until something else is printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from muniment.model import codec
from muniment.sources.chats import entries, text
from muniment.sources.messages import stream

Fields = dict[str, Any]

_PIECES = frozenset({"text", "reasoning", "tool_use", "step_start", "step_finish", "error"})
_TOLD = frozenset({"init", "system"})
"""Types of lines that name the model."""
_ANSWER = "ToolCall"
_FAILED = ("error", "failure", "rejected", "permissionDenied", "timeout")
_OUTPUTS = ("content", "stdout", "output", "errorMessage", "error", "reason", "message")


def is_line(value: Fields) -> bool:
    """A piece of an answer, or what a tool gave back."""
    return _kind_of(value) is not None


def _kind_of(value: Fields) -> str | None:
    kind = value.get("type")
    if not isinstance(kind, str):
        return None
    if kind in ("tool_use", "tool_result") and isinstance(value.get("tool_id"), str):
        return kind
    if kind == "message" and value.get("delta") is True and isinstance(value.get("content"), str):
        return "delta" if value.get("role") == "assistant" else None
    if kind == "error" and isinstance(value.get("severity"), str) and isinstance(value.get("message"), str):
        return "warning"
    if kind == "result" and isinstance(value.get("stats"), dict) and "session_id" not in value:
        return "stats"
    if kind in _PIECES and isinstance(value.get("sessionID"), str):
        return "piece" if isinstance(value.get("part"), dict) else "failed" if "error" in value else None
    if not isinstance(value.get("session_id"), str):
        return None
    if kind == "tool_call" and isinstance(value.get("tool_call"), dict) and isinstance(value.get("call_id"), str):
        return "call"
    if kind == "assistant" and "timestamp_ms" in value and stream.holds_message(value):
        return "chunk"
    return "thought" if kind == "thinking" and value.get("subtype") in ("delta", "completed") else None


class Printed:
    """A stream as far as it was read."""

    def __init__(self) -> None:
        self.model: str | None = None
        self.held: Fields | None = None
        """The answer that is being told."""
        self.given: list[Fields] = []
        """What its calls gave back."""
        self.called: set[str] = set()

    def note(self, value: Fields) -> None:
        """A line of another kind may tell which model answers."""
        if value.get("type") in _TOLD:
            self.model = text(value, "model") or self.model

    def repeats(self, value: Fields) -> bool:
        """Whether an answer that was told in pieces is told again as a whole."""
        said = "".join(part.get("text", "") for part in (self.held or {}).get("content", ()))
        message = codec.mapping(value.get("message"))
        whole = "".join(text(part, "text") or "" for part in entries(message, "content"))
        return bool(said) and value.get("type") == "assistant" and said == whole

    def flush(self) -> Iterator[Fields]:
        """The answer so far, and what its calls gave back."""
        held, given, self.held, self.given = self.held, self.given, None, []
        if held:
            yield held
        yield from given

    def take(self, value: Fields) -> Iterator[Fields]:
        """The messages that are whole now that this line has come."""
        kind = _kind_of(value)
        if kind in ("delta", "chunk", "thought"):
            yield from self._chunk(value, str(kind))
        elif kind == "tool_use":
            yield from self._answering(value)
            self._call(value["tool_id"], text(value, "tool_name"), value.get("parameters"))
        elif kind == "tool_result":
            given = value.get("output", codec.mapping(value.get("error")).get("message"))
            self._result(value, value["tool_id"], given, value.get("status") == "error")
        elif kind == "call":
            yield from self._cursor_call(value)
        elif kind == "piece":
            yield from self._piece(value, codec.mapping(value["part"]))
        else:
            yield from self._ended(value, str(kind))

    # -- pieces of an answer

    def _answering(self, value: Fields, own: str | None = None) -> Iterator[Fields]:
        """Begin an answer, unless one is being told that nothing has answered yet."""
        if self.held is None or (self.given if own is None else own != self.held.get("id")):
            yield from self.flush()
            self.held = _told(value, own, self.model, {"role": "assistant", "content": []})

    def _add(self, part: Fields, name: str = "") -> None:
        """A piece; what goes on with the one before it is put behind that."""
        content: list[Fields] = self.held["content"] if self.held else []
        if name and content and content[-1]["type"] == part["type"]:
            content[-1][name] += part[name]
        else:
            content.append(part)

    def _chunk(self, value: Fields, kind: str) -> Iterator[Fields]:
        if kind == "chunk" and self.repeats(value):
            return
        yield from self._answering(value)
        if kind == "thought" and (words := text(value, "text")):
            self._add({"type": "thinking", "thinking": words}, "thinking")
        elif kind == "delta":
            self._add({"type": "text", "text": value["content"]}, "text")
        elif kind == "chunk":
            for part in entries(codec.mapping(value["message"]), "content"):
                self._add({"type": "text", "text": text(part, "text") or ""}, "text")

    def _call(self, call_id: str, name: str | None, given: Any) -> None:
        self.called.add(call_id)
        self._add({"type": "tool_use", "id": call_id, "name": name, "input": given})

    def _result(self, value: Fields, call_id: str, output: Any, failed: bool) -> None:
        content = codec.encode(output).decode() if isinstance(output, (dict, bool, int, float)) else output
        part: Fields = {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": failed}
        self.given.append(_told(value, None, None, {"role": "user", "content": [part]}))

    def _cursor_call(self, value: Fields) -> Iterator[Fields]:
        """A call when it starts, and once more with its result."""
        call_id, (name, asked) = value["call_id"], next(iter(codec.mapping(value["tool_call"]).items()), ("", None))
        told = codec.mapping(asked)
        if call_id not in self.called:
            yield from self._answering(value)
            given = told.get("args", told.get("arguments"))
            self._call(call_id, text(told, "name") or name.removesuffix(_ANSWER), given)
        if value.get("subtype") == "completed":
            outcome, back = next(iter(codec.mapping(told.get("result")).items()), ("", told.get("result")))
            words = text(codec.mapping(back), *_OUTPUTS)
            self._result(value, call_id, back if words is None else words, outcome in _FAILED)

    def _piece(self, value: Fields, part: Fields) -> Iterator[Fields]:
        """A part of a message of opencode."""
        kind, words = value["type"], text(part, "text")
        if kind == "step_start":
            yield from self.flush()
            yield {**value, "type": "stream_event", "subtype": kind, "session_id": value["sessionID"]}
            return
        yield from self._answering(value, text(part, "messageID"))
        if kind == "step_finish":
            self._counted(codec.mapping(part.get("tokens")))
            yield from self.flush()
        elif kind == "tool_use":
            state, call_id = codec.mapping(part.get("state")), text(part, "callID", "id") or "call"
            self._call(call_id, text(part, "tool"), state.get("input"))
            self._result(value, call_id, state.get("output", state.get("error")), state.get("status") == "error")
        elif words:
            self._add({"type": "text", "text": words} if kind == "text" else {"type": "thinking", "thinking": words})

    def _counted(self, tokens: Fields) -> None:
        cache = codec.mapping(tokens.get("cache"))
        if self.held and tokens:
            self.held["usage"] = {
                "input_tokens": tokens.get("input"),
                "output_tokens": tokens.get("output"),
                "cache_read_input_tokens": cache.get("read"),
                "cache_creation_input_tokens": cache.get("write"),
            }

    # -- what ends or breaks a stream

    def _ended(self, value: Fields, kind: str) -> Iterator[Fields]:
        stats = codec.mapping(value.get("stats"))
        if self.held and stats:
            cached = {"cached_tokens": stats.get("cached")}
            told = {"prompt_tokens": stats.get("input_tokens"), "completion_tokens": stats.get("output_tokens")}
            self.held["usage"] = {**told, "prompt_tokens_details": cached}
        yield from self.flush()
        failed = value.get("error") if kind != "warning" else {"message": value["message"]}
        about = {"type": "result", "subtype": kind, "session_id": text(value, "sessionID") or ""}
        shown = {"is_error": True, "result": _words(failed)} if failed else {}
        yield {**value, **about, **shown}


def _told(value: Fields, own: str | None, model: str | None, message: Fields) -> Fields:
    """A message with what its line tells of it."""
    at = value.get("timestamp", value.get("timestamp_ms"))
    session = text(value, "sessionID", "session_id")
    about = {"timestamp": at, "id": own, "model": model, stream.ENVELOPE: {"session_id": session} if session else None}
    return {name: told for name, told in about.items() if told is not None} | message


def _words(failed: Any) -> str:
    """What is said of a failure, wherever it stands."""
    said = codec.mapping(failed)
    inner = codec.mapping(said.get("data"))
    return text(inner, "message") or text(said, "message", "name") or codec.encode(failed).decode()
