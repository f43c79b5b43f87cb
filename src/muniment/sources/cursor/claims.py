"""What each line says, told without the reader: the yardstick of `check`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any, cast

from muniment.model import codec
from muniment.sources.base import Claim
from muniment.sources.cursor import asked, exported

_THOUGHTS = ("reasoning", "thinking")
_PROGRAMS = re.compile(
    r"\s*<(?:user_info|rules|project_layout|agent_skills|git_status|open_and_recently|timestamp|system_|dynamic_tools"
    r"|manually_attached_skills|agent_transcripts|mcp_file_system)"
)
"""How a text begins that may be the program's; what begins with any other tag is a human's."""
_TIMES = {"timestamp", "at"}
"""Fields with a time that is better than what the text tells."""


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one line."""
    try:
        said = codec.mapping(codec.loads(line))
    except ValueError:
        return
    key = hashlib.sha256(line).hexdigest()[:16]
    message = codec.mapping(said.get("message"))
    role = said.get("role") or message.get("role")
    if (kind := said.get("exported")) in exported.KINDS:
        yield from _exported(key, kind, str(said.get("raw")))
    elif "raw" in said:
        yield from _plain(key, str(said.get("kind")), str(said["raw"]))
    elif role in ("user", "assistant", "tool") and not said.get("left"):
        if isinstance(said.get("id"), str):
            yield Claim(key, "id", said["id"])
        content = message.get("content")
        listed = [{"type": "text", "text": content}] if isinstance(content, str) and content else content
        parts = [codec.mapping(part) for part in cast("list[Any]", listed)] if isinstance(listed, list) else []
        if role == "user" and not said.keys() & _TIMES:
            yield from _time(key, [part for part in parts if part.get("type") == "text"])
        for number, part in enumerate(parts):
            yield from _part(f"{key}.{number}", part, role == "user")
    elif said.get("type") in ("turn_ended", "error") and said.get("status") != "success" and not message:
        told = [words for words in (said.get("error"), said.get("status")) if words and isinstance(words, str)]
        yield from (Claim(key, "text", words) for words in told[:1])
    else:
        yield Claim(key, f"record: {said.get('type') or role or 'about'}")


def _part(key: str, part: dict[str, Any], human: bool) -> Iterator[Claim]:
    kind = part.get("type")
    if kind == "text" and isinstance(part.get("text"), str):
        yield from _text(key, part["text"], human)
    elif kind in _THOUGHTS:
        yield Claim(key, "thinking", part.get("text") or part.get("thinking") or "")
        if part.get("signature"):
            yield Claim(key, "signature", part["signature"])
    elif kind in ("tool_use", "tool-call"):
        yield Claim(key, "tool input", part.get("input", part.get("args")))
        if own := part.get("id") or part.get("toolCallId"):
            yield Claim(key, "tool call", [own, part.get("name") or part.get("toolName")])
    elif kind == "tool-result" and part.get("toolCallId"):
        result = part.get("result", part.get("output"))
        yield Claim(key, "tool output" if isinstance(result, str) else "part: result", result)
    elif isinstance(given := part.get("image") or part.get("data"), str) and given.startswith("data:"):
        yield Claim(key, "image", given.partition(";base64,")[2])
    elif kind != "redacted-reasoning":
        yield Claim(key, f"part: {kind or 'part'}", part)


def _time(key: str, texts: list[dict[str, Any]]) -> Iterator[Claim]:
    times = [asked.time_in(part["text"]) for part in texts if isinstance(part.get("text"), str)]
    yield from [Claim(key, "time", at) for at in times if at][:1]


def _text(key: str, words: str, human: bool) -> Iterator[Claim]:
    if human and asked.is_notice(words):
        yield Claim(key, "text", words)
        return
    queries = _queries(words) if human else []
    for number, query in enumerate(queries):
        yield Claim(f"{key} {number}", "text", query)
    if not queries and not human:
        yield from _answer(key, words)
    elif not queries and not _PROGRAMS.match(words):
        yield Claim(key, "text", words)


def _queries(words: str) -> list[str]:
    """What stands in the tags; the last may have no end, where nothing but the program's stands before it."""
    *closed, last = words.split("</user_query>")
    queries = [piece.partition("<user_query>")[2].strip("\r\n") for piece in closed if "<user_query>" in piece]
    before, tag, behind = last.partition("<user_query>")
    programs = not before.strip() or (_PROGRAMS.match(before) and before.rstrip().endswith(">"))
    return [*queries, behind.strip("\r\n")] if tag and programs else queries


def _answer(key: str, words: str) -> Iterator[Claim]:
    before, _, last = words.rpartition("\n\n")
    withheld = last == "[REDACTED]"
    if withheld:
        yield Claim(key, "thinking", last)
    if before or not withheld:
        yield Claim(key, "text", before if withheld else words)


def _plain(key: str, kind: str, raw: str) -> Iterator[Claim]:
    first, _, rest = raw.partition("\n")
    if kind == "user":
        yield from _time(key, [{"text": rest}])
        yield from _text(key, rest.strip("\r\n"), True)
    elif kind == "assistant" and rest.strip("\r\n"):
        yield Claim(key, "text", rest.strip("\r\n"))
    elif kind == "answer":
        yield Claim(key, "text", raw.strip("\r\n"))
    elif kind == "thinking":
        yield Claim(key, "thinking", raw.removeprefix("[Thinking]").strip())
    elif kind == "result":
        yield Claim(key, "tool output", raw.removeprefix("[Tool result]").strip("\r\n").strip())
    elif kind == "call":
        yield Claim(key, "tool input", {"text": raw.strip().partition("\n")[2]})
    else:
        yield Claim(key, f"record: {first}")


def _exported(key: str, kind: str, raw: str) -> Iterator[Claim]:
    said = "".join(raw.split("\n", 3)[3:]).strip("\r\n")  # behind a rule, an empty line and a speaker
    if kind == "head":
        yield Claim(key, "record: exported")
    elif said:
        yield Claim(key, "text", said)
